//! The bytes of files in the protocol buffers of 0.3, over gRPC and as the JSON of REST.
//!
//! By the type of the field they are the file's own. The official Python SDKs, of both generations
//! and both as clients and servers, put there the base64 text that JSON-RPC carries, take nothing
//! else and fail on what is no UTF-8; others, as the JavaScript SDK, put the file's bytes. Who of them asks over
//! REST, [`crate::bindings::rest::Form`] knows.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use crate::part::encode_base64;

/// What is sent: what those can read who would fail on the other form.
pub(crate) fn write_file_bytes(file: &[u8]) -> Bytes {
    encode_base64(file).into()
}

/// The file that came. Bytes that are base64 text to the last letter, padding included, are taken
/// for such text: hardly any file is, but for one of a single short word.
pub(crate) fn read_file_bytes(bytes: Bytes) -> Bytes {
    match STANDARD.decode(&bytes) {
        Ok(file) => file.into(),
        Err(_) => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_back_whatever_is_in_them() {
        for file in ["", "a", "hello", "aGVsbG8=", "ä\0"] {
            let file = Bytes::from_static(file.as_bytes());
            assert_eq!(read_file_bytes(write_file_bytes(&file)), file);
        }
        let every_byte: Bytes = (0..=u8::MAX).collect();
        assert_eq!(read_file_bytes(write_file_bytes(&every_byte)), every_byte);
    }

    #[test]
    fn bytes_that_are_no_base64_text_are_the_file() {
        for file in [
            &b"\x00\xff"[..],
            b"hello",
            b"a b\n",
            b"aGVsbG8",
            b"aGVs\n",
            b"-_-_",
        ] {
            assert_eq!(read_file_bytes(Bytes::from_static(file)), file);
        }
    }
}
