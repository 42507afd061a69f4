//! Ids that a client makes: those of its messages. Tasks and contexts get theirs from the server.

/// A new random id in the form of a UUID (RFC 9562, version 4).
///
/// # Panics
/// When the system has no random numbers to give.
#[must_use]
pub fn new_message_id() -> String {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).expect("the system gives random numbers");
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

#[cfg(test)]
mod tests {
    use super::new_message_id;

    #[test]
    fn an_id_is_a_random_uuid() {
        let id = new_message_id();
        assert_eq!(id.len(), 36);
        assert_eq!(&id[14..15], "4");
        assert_ne!(id, new_message_id());
    }
}
