//! What makes two sends of this dialect the same one.

use crate::json::sorted;

/// SHA-256 over the parameters with their names in order: members that only changed places make no
/// other payload. The plugin shows its first 16 hexadecimal digits.
#[must_use]
pub fn payload_hash(params: &str) -> [u8; 32] {
    let text = sorted(params.as_bytes());
    let digest = ring::digest::digest(&ring::digest::SHA256, &text);
    let mut hash = [0; 32];
    hash.copy_from_slice(digest.as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use super::payload_hash;

    #[test]
    fn the_order_of_members_does_not_count() {
        let begin = |json: &str| {
            let hash = payload_hash(json);
            hash[..8]
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        };
        let one =
            r#"{"id":"t1","message":{"role":1,"parts":[{"text":"hi"}]},"idempotencyKey":"k1"}"#;
        let same = r#"{"message": {"parts": [{"text": "hi"}], "role": 1}, "idempotencyKey": "k1", "id": "t1"}"#;
        assert_eq!(begin(one), "ebbbc4284a788a5b");
        assert_eq!(begin(same), "ebbbc4284a788a5b");
        assert_ne!(begin(&one.replace("hi", "ho")), "ebbbc4284a788a5b");
    }
}
