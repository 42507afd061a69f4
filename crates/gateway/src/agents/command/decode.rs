//! Bytes of a program as text, piece by piece, without ever breaking a character.

/// Decodes UTF-8 that arrives in pieces. What is no UTF-8 becomes U+FFFD.
#[derive(Debug, Default)]
pub(super) struct Utf8Pieces {
    /// The beginning of a character whose end has not come yet: at most 3 bytes.
    carried: Vec<u8>,
}

impl Utf8Pieces {
    /// Appends the text of the next piece to `out`.
    pub(super) fn push(&mut self, piece: &[u8], out: &mut String) {
        if self.carried.is_empty() {
            self.decode(piece, out);
        } else {
            let mut joined = std::mem::take(&mut self.carried);
            joined.extend_from_slice(piece);
            self.decode(&joined, out);
        }
    }

    /// Says that nothing more comes: a character cut short becomes U+FFFD.
    pub(super) fn finish(&mut self, out: &mut String) {
        if !std::mem::take(&mut self.carried).is_empty() {
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }

    fn decode(&mut self, mut bytes: &[u8], out: &mut String) {
        loop {
            match std::str::from_utf8(bytes) {
                Ok(text) => return out.push_str(text),
                Err(error) => {
                    let (valid, rest) = bytes.split_at(error.valid_up_to());
                    out.push_str(std::str::from_utf8(valid).unwrap_or_default());
                    let Some(wrong) = error.error_len() else {
                        self.carried = rest.to_vec();
                        return;
                    };
                    out.push(char::REPLACEMENT_CHARACTER);
                    bytes = &rest[wrong..];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_pieces(bytes: &[u8], size: usize) -> String {
        let (mut pieces, mut out) = (Utf8Pieces::default(), String::new());
        for piece in bytes.chunks(size) {
            pieces.push(piece, &mut out);
        }
        pieces.finish(&mut out);
        out
    }

    #[test]
    fn any_cut_gives_the_same_text() {
        let bytes = "a é 日本 👩‍👩‍👧 \u{2028} z".as_bytes();
        let wrong = [
            b"ok \xF0\x9F\x92 \xC3(\x80\xED\xA0\x80 ".as_slice(),
            bytes,
            b"\xE6\x97",
        ]
        .concat();
        for size in 1..=wrong.len() {
            assert_eq!(in_pieces(bytes, size), "a é 日本 👩‍👩‍👧 \u{2028} z", "{size}");
            assert_eq!(
                in_pieces(&wrong, size),
                String::from_utf8_lossy(&wrong),
                "{size}"
            );
        }
    }
}
