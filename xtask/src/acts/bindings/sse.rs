//! Server-sent events (WHATWG HTML 9.2) as far as streams of A2A need them: the `data` of each
//! event, as JSON.

use serde_json::Value;
use std::collections::VecDeque;

use super::Trouble;
use super::http::Reply;

/// The events of a body.
#[derive(Debug)]
pub(super) struct Frames {
    reply: Reply,
    lines: Lines,
}

impl Frames {
    pub(super) fn new(reply: Reply) -> Self {
        Self {
            reply,
            lines: Lines::default(),
        }
    }

    /// The next event; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Value>, Trouble> {
        loop {
            if let Some(data) = self.lines.ready.pop_front() {
                return serde_json::from_str(&data).map(Some).map_err(|error| {
                    Trouble::Shape(format!("an event is no JSON ({error}): {data}"))
                });
            }
            let Some(piece) = self.reply.piece().await? else {
                return Ok(None);
            };
            self.lines.feed(&piece);
        }
    }
}

/// Cuts bytes into lines and lines into events.
#[derive(Debug, Default)]
struct Lines {
    line: Vec<u8>,
    data: Vec<String>,
    ready: VecDeque<String>,
}

impl Lines {
    fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' => self.end_line(),
                b'\r' => {}
                other => self.line.push(*other),
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        if line.is_empty() {
            if !self.data.is_empty() {
                self.ready.push_back(self.data.join("\n"));
                self.data.clear();
            }
        } else if let Some(data) = line.strip_prefix("data:") {
            self.data
                .push(data.strip_prefix(' ').unwrap_or(data).to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_cut_out_of_any_pieces() {
        let text = "id: 1-1\r\ndata: {\"a\":\r\ndata:1}\r\n\r\n: keepalive\n\nevent: x\ndata: 2\n\ndata: 3\n";
        let mut lines = Lines::default();
        for byte in text.bytes() {
            lines.feed(&[byte]);
        }
        let events: Vec<_> = lines.ready.into();
        assert_eq!(
            events,
            ["{\"a\":\n1}", "2"],
            "an event without its end is none"
        );
    }
}
