//! Ids that the gateway makes: tasks, contexts, messages.

/// A new id: UUID version 7, so that ids made later sort later and index pages stay warm.
#[must_use]
pub fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// When an id of ours was made, milliseconds since the epoch; `None` for ids of others.
#[must_use]
pub fn millis_of(id: &str) -> Option<i64> {
    let (seconds, nanos) = uuid::Uuid::parse_str(id).ok()?.get_timestamp()?.to_unix();
    let millis = seconds
        .checked_mul(1000)?
        .checked_add(u64::from(nanos) / 1_000_000)?;
    i64::try_from(millis).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_when_it_was_made() {
        let before = crate::clock::now().as_millis();
        let made = millis_of(&new_id()).unwrap();
        assert!((before..=crate::clock::now().as_millis()).contains(&made));
        assert_eq!(millis_of("not ours"), None);
    }
}
