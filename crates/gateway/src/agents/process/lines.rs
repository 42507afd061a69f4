//! The messages that an agent writes: one JSON value on a line of its standard output.
//!
//! A line has a bound, whatever the agent writes; what is no JSON object is passed over, as agents
//! and their runners print to standard output too.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Longest line, in bytes (16 MiB): one message may carry as much. A longer one is passed over.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
/// Bytes asked of the pipe at a time: what a pipe of Linux holds.
const READ_BYTES: usize = 64 * 1024;

/// Reads messages.
#[derive(Debug)]
pub struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// The current line is longer than it may be: its bytes are dropped as they come.
    too_long: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads what `reader` gives.
    pub fn new(reader: R) -> Self {
        Self {
            reader: BufReader::with_capacity(READ_BYTES, reader),
            line: Vec::new(),
            too_long: false,
        }
    }

    /// The next JSON object with the length of its line; `None`: nothing more comes.
    pub async fn next(&mut self) -> Option<(Value, usize)> {
        loop {
            let bytes = self.reader.fill_buf().await.ok()?;
            if bytes.is_empty() {
                return None;
            }
            let end = memchr::memchr(b'\n', bytes);
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.too_long || self.line.len() + piece.len() > MAX_LINE_BYTES {
                self.too_long = true;
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(piece);
            }
            let taken = piece.len() + usize::from(end.is_some());
            self.reader.consume(taken);
            if end.is_some() {
                let skipped = std::mem::take(&mut self.too_long);
                let message = message(&self.line);
                let length = self.line.len();
                self.line.clear();
                // One long line is no reason to keep its memory as long as the program runs.
                self.line.shrink_to(READ_BYTES);
                match message {
                    Some(message) => return Some((message, length)),
                    None if skipped => tracing::warn!("an agent wrote a line that is too long"),
                    None => {}
                }
            }
        }
    }
}

/// The JSON object of a line. Bytes that are no UTF-8 become U+FFFD: a broken character in a text
/// is no reason to lose the message.
fn message(line: &[u8]) -> Option<Value> {
    let line = line.trim_ascii();
    if !line.starts_with(b"{") {
        return None;
    }
    serde_json::from_slice(line)
        .or_else(|_| serde_json::from_str(&String::from_utf8_lossy(line)))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &[u8]) -> Vec<Value> {
        let mut lines = Lines::new(text);
        let mut read = Vec::new();
        while let Some((message, _)) = lines.next().await {
            read.push(message);
        }
        read
    }

    #[tokio::test]
    async fn what_is_no_message_is_passed_over() {
        let text = b"starting...\n{\"a\":1}\n[1]\n{broken\n{\"b\":\"\xFF\"}\r\n\n{\"c\":3}";
        let expected = [
            serde_json::json!({ "a": 1 }),
            serde_json::json!({ "b": "\u{FFFD}" }),
        ];
        // The last line has no end: the agent broke off within it.
        assert_eq!(read(text).await, expected);
    }

    #[tokio::test]
    async fn a_line_without_end_takes_no_memory() {
        let mut text = b"{\"a\":\"".to_vec();
        text.resize(MAX_LINE_BYTES + 10, b'x');
        text.extend_from_slice(b"\"}\n{\"b\":2}\n");
        let mut lines = Lines::new(&text[..]);
        let next = lines.next().await.map(|(message, _)| message);
        assert_eq!(next, Some(serde_json::json!({ "b": 2 })));
        assert!(lines.line.capacity() <= READ_BYTES);
    }

    #[tokio::test]
    async fn the_memory_of_a_long_line_is_given_back() {
        let mut text = b"{\"a\":\"".to_vec();
        text.resize(MAX_LINE_BYTES / 2, b'x');
        text.extend_from_slice(b"\"}\n");
        let mut lines = Lines::new(&text[..]);
        assert_eq!(
            lines.next().await.map(|(_, length)| length),
            Some(text.len() - 1)
        );
        assert!(lines.line.capacity() <= READ_BYTES);
    }
}
