//! Looks into JSON text that is known to be well-formed, without recursion and without copying.

/// Positions of the brackets, colons and commas that stand outside strings.
struct Structure<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Iterator for Structure<'_> {
    type Item = (usize, u8);

    fn next(&mut self) -> Option<(usize, u8)> {
        while let Some(byte) = self.bytes.get(self.at) {
            let position = self.at;
            self.at += 1;
            match byte {
                b'"' => self.skip_string(),
                b'{' | b'}' | b'[' | b']' | b':' | b',' => return Some((position, *byte)),
                _ => {}
            }
        }
        None
    }
}

impl Structure<'_> {
    fn skip_string(&mut self) {
        while let Some(found) = memchr::memchr2(b'"', b'\\', &self.bytes[self.at..]) {
            let escape = self.bytes[self.at + found] == b'\\';
            self.at = (self.at + found + 1 + usize::from(escape)).min(self.bytes.len());
            if !escape {
                return;
            }
        }
        self.at = self.bytes.len();
    }
}

fn structure(text: &str) -> Structure<'_> {
    Structure {
        bytes: text.as_bytes(),
        at: 0,
    }
}

/// Deepest nesting of arrays and objects; a scalar has depth 0.
pub(crate) fn depth_of(text: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0usize);
    for (_, byte) in structure(text) {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Whether a JSON text is nested deeper than `limit`. Counting its brackets first is many times
/// faster than following them, and settles nearly every body.
pub(crate) fn is_deeper_than(text: &str, limit: usize) -> bool {
    let brackets = text
        .bytes()
        .filter(|byte| matches!(byte, b'{' | b'['))
        .count();
    brackets > limit && depth_of(text) > limit
}

/// A member of an object, by places in the object's text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// The bracket or comma before the member.
    pub(crate) before: usize,
    colon: usize,
    /// The comma or bracket after it.
    pub(crate) after: usize,
}

impl Span {
    /// The member's value, without white space around it.
    pub(crate) fn value(self, object: &str) -> &str {
        object[self.colon + 1..self.after].trim_ascii()
    }

    /// Whether the member has this name.
    pub(crate) fn is_named(self, object: &str, name: &str) -> bool {
        let key = object[self.before + 1..self.colon].trim_ascii();
        if key.contains('\\') {
            return serde_json::from_str::<String>(key).is_ok_and(|key| key == name);
        }
        key.strip_prefix('"').and_then(|key| key.strip_suffix('"')) == Some(name)
    }
}

/// The members of an object's text, in order; doubled names stay doubled.
pub(crate) fn members(object: &str) -> impl Iterator<Item = Span> {
    let mut marks = structure(object);
    let mut depth = 0usize;
    let mut before = 0;
    let mut colon = None;
    std::iter::from_fn(move || {
        for (at, byte) in marks.by_ref() {
            match byte {
                b'{' | b'[' => depth += 1,
                b':' if depth == 1 => colon = Some(at),
                b',' if depth == 1 => {
                    let span = colon.take().map(|colon| Span {
                        before,
                        colon,
                        after: at,
                    });
                    before = at;
                    return span;
                }
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return colon.take().map(|colon| Span {
                            before,
                            colon,
                            after: at,
                        });
                    }
                }
                _ => {}
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_strings_is_no_structure() {
        assert_eq!(depth_of(r#"{"a":["[[\"{",{"b":1}]}"#), 3);
        assert_eq!(depth_of(r#""\\""#), 0);
        assert!(is_deeper_than(&"[".repeat(9), 8));
        assert!(!is_deeper_than(&"[]".repeat(9), 8));
    }

    #[test]
    fn members_are_found_by_name_and_place() {
        let object = r#" { "a:,}" : {"c":[1,2]} ,"\u0062":"x,y", "d":[] } "#;
        let found: Vec<_> = members(object).map(|span| span.value(object)).collect();
        assert_eq!(found, [r#"{"c":[1,2]}"#, r#""x,y""#, "[]"]);
        let named = members(object)
            .filter(|span| span.is_named(object, "b"))
            .count();
        assert_eq!(named, 1);
        assert_eq!(members(" {} ").count(), 0);
    }
}
