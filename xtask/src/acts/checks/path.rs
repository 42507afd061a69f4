//! Paths into JSON: `a.b[0].c`, and `[*]` for every element of a list.

use serde_json::Value;

enum Segment {
    Member(String),
    Index(usize),
    Every,
}

/// Everything `path` reaches in `value`; nothing when a part of it is missing.
#[must_use]
pub fn reach<'v>(path: &str, value: &'v Value) -> Vec<&'v Value> {
    let Some(segments) = parse(path) else {
        return Vec::new();
    };
    let mut reached = vec![value];
    for segment in &segments {
        reached = reached
            .into_iter()
            .flat_map(|value| step(segment, value))
            .collect();
    }
    reached
}

/// The one value at `path`.
#[must_use]
pub fn get<'v>(path: &str, value: &'v Value) -> Option<&'v Value> {
    match reach(path, value)[..] {
        [one] => Some(one),
        _ => None,
    }
}

fn step<'v>(segment: &Segment, value: &'v Value) -> Vec<&'v Value> {
    match segment {
        Segment::Member(name) => value.get(name).into_iter().collect(),
        Segment::Index(index) => value.get(*index).into_iter().collect(),
        Segment::Every => value
            .as_array()
            .map(|all| all.iter().collect())
            .unwrap_or_default(),
    }
}

fn parse(path: &str) -> Option<Vec<Segment>> {
    let mut segments = Vec::new();
    for piece in path.split('.').filter(|_| !path.is_empty()) {
        let (name, mut rest) = piece.split_at(piece.find('[').unwrap_or(piece.len()));
        if !name.is_empty() {
            segments.push(Segment::Member(name.to_owned()));
        }
        while !rest.is_empty() {
            let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
            segments.push(match index {
                "*" => Segment::Every,
                number => Segment::Index(number.parse().ok()?),
            });
            rest = after;
        }
    }
    Some(segments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_reach_members_elements_and_all_of_them() {
        let value = json!({"a": {"b": [{"c": 1}, {"c": 2}, {}]}});
        assert_eq!(get("a.b[1].c", &value), Some(&json!(2)));
        assert_eq!(get("", &value), Some(&value));
        assert_eq!(reach("a.b[*].c", &value), [&json!(1), &json!(2)]);
        for missing in [
            "a.x", "a.b[3]", "a.b[2].c", "a[0]", "a.b[x]", "a.b[", "a.b[*].c",
        ] {
            assert_eq!(get(missing, &value), None, "{missing}");
        }
    }
}
