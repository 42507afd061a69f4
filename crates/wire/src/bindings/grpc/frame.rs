//! Frames: a flag, a length of four bytes, a message.

use bytes::{Buf as _, Bytes, BytesMut};

/// Bytes before each message.
pub const FRAME_HEAD_BYTES: usize = 5;

/// Why bytes are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The message is compressed, which was not offered.
    #[error("the message is compressed; send it as it is (grpc-encoding: identity)")]
    Compressed,
    /// The message is longer than the reader takes.
    #[error("the message is longer than {0} bytes")]
    TooLong(usize),
    /// The first byte is neither 0 nor 1.
    #[error("the body is no gRPC message")]
    Malformed,
}

/// A message with its head, as it goes out.
#[must_use]
pub fn frame(message: &[u8]) -> Bytes {
    let length = u32::try_from(message.len()).expect("a message is far below 4 GiB");
    let mut framed = Vec::with_capacity(FRAME_HEAD_BYTES + message.len());
    framed.push(0);
    framed.extend_from_slice(&length.to_be_bytes());
    framed.extend_from_slice(message);
    Bytes::from(framed)
}

/// Cuts messages out of bytes as they come.
#[derive(Debug)]
pub struct FrameReader {
    buffer: BytesMut,
    max_message: usize,
}

impl FrameReader {
    /// A reader of messages of at most so many bytes.
    #[must_use]
    pub fn new(max_message: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            max_message,
        }
    }

    /// A reader of bytes that are all there; they are not copied if nobody else holds them.
    #[must_use]
    pub fn of(bytes: Bytes, max_message: usize) -> Self {
        Self {
            buffer: bytes.into(),
            max_message,
        }
    }

    /// Adds bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole message; `None` if more bytes are needed. Errors are final.
    pub fn next_message(&mut self) -> Result<Option<Bytes>, FrameError> {
        let Some((head, _)) = self.buffer.split_first_chunk::<FRAME_HEAD_BYTES>() else {
            return Ok(None);
        };
        let length = self.length(*head)?;
        if self.buffer.len() < FRAME_HEAD_BYTES + length {
            return Ok(None);
        }
        self.buffer.advance(FRAME_HEAD_BYTES);
        Ok(Some(self.buffer.split_to(length).freeze()))
    }

    fn length(&self, head: [u8; FRAME_HEAD_BYTES]) -> Result<usize, FrameError> {
        let [flag, a, b, c, d] = head;
        match flag {
            0 => {}
            1 => return Err(FrameError::Compressed),
            _ => return Err(FrameError::Malformed),
        }
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if length > self.max_message {
            return Err(FrameError::TooLong(self.max_message));
        }
        Ok(length)
    }

    /// Whether bytes of an unfinished message are left.
    #[must_use]
    pub fn is_inside(&self) -> bool {
        !self.buffer.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_whole_however_they_are_cut() {
        let bytes = [frame(b"one"), frame(b""), frame(&[7; 300])].concat();
        for step in [1, 2, 5, 7, bytes.len()] {
            let mut reader = FrameReader::new(300);
            let mut found = Vec::new();
            for piece in bytes.chunks(step) {
                reader.feed(piece);
                while let Some(message) = reader.next_message().unwrap() {
                    found.push(message.len());
                }
            }
            assert_eq!(found, [3, 0, 300], "in pieces of {step}");
            assert!(!reader.is_inside());
        }
    }

    #[test]
    fn what_is_no_frame_is_refused_before_its_bytes_are_kept() {
        for (head, error) in [
            ([1, 0, 0, 0, 1], FrameError::Compressed),
            ([0, 0xff, 0, 0, 0], FrameError::TooLong(300)),
            (*b"{\"a\":", FrameError::Malformed),
        ] {
            let mut reader = FrameReader::new(300);
            reader.feed(&head);
            assert_eq!(reader.next_message(), Err(error));
        }
    }
}
