//! Server-sent events: frames of one line out, any legal stream in (WHATWG HTML 9.2).
//!
//! The writer puts only numbers of ours into `id:`, so nothing a peer says can forge a frame.

use std::collections::VecDeque;
use std::fmt;
use std::io::Write as _;
use std::str::FromStr;

/// A comment frame that keeps idle links open.
pub const HEARTBEAT: &[u8] = b": keepalive\n\n";

/// The place of an event in its task: resuming after it gives the later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId {
    /// Changes when the event log may have lost its end; older ids then mean nothing.
    pub epoch: u64,
    /// The task's version after the event.
    pub version: u64,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.epoch, self.version)
    }
}

/// The text is not an id that [`EventId`] prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an event id of the form EPOCH-VERSION")]
pub struct EventIdError;

impl FromStr for EventId {
    type Err = EventIdError;

    fn from_str(text: &str) -> Result<Self, EventIdError> {
        let (epoch, version) = text.split_once('-').ok_or(EventIdError)?;
        let number = |text: &str| {
            let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            plain
                .then(|| text.parse().ok())
                .flatten()
                .ok_or(EventIdError)
        };
        Ok(Self {
            epoch: number(epoch)?,
            version: number(version)?,
        })
    }
}

/// Appends one event. `data` appends one line of JSON, which never holds a raw line break.
///
/// Readers that split text where Unicode ends a line, as the official Python SDK does, would cut a
/// frame at U+0085, U+2028 and U+2029: these become the escapes that mean the same in a string, and
/// JSON has them nowhere else.
pub fn write_frame(id: Option<EventId>, out: &mut Vec<u8>, data: impl FnOnce(&mut Vec<u8>)) {
    write_named_frame(id, None, out, data);
}

/// The same with the event's type, which only the fleet's dialect has.
pub(crate) fn write_named_frame(
    id: Option<EventId>,
    event: Option<&'static str>,
    out: &mut Vec<u8>,
    data: impl FnOnce(&mut Vec<u8>),
) {
    if let Some(id) = id {
        writeln!(out, "id: {id}").expect("a Vec takes all bytes");
    }
    if let Some(event) = event {
        writeln!(out, "event: {event}").expect("a Vec takes all bytes");
    }
    out.extend_from_slice(b"data: ");
    let begin = out.len();
    data(out);
    escape_line_ends(out, begin);
    out.extend_from_slice(b"\n\n");
}

fn escape_line_ends(out: &mut Vec<u8>, begin: usize) {
    let Some((before, ..)) = next_line_end(&out[begin..]) else {
        return;
    };
    let tail = out.split_off(begin + before);
    let mut rest = tail.as_slice();
    while let Some((before, length, escape)) = next_line_end(rest) {
        out.extend_from_slice(&rest[..before]);
        out.extend_from_slice(escape);
        rest = &rest[before + length..];
    }
    out.extend_from_slice(rest);
}

/// Where the next line end of Unicode is, its length, and its escape.
fn next_line_end(text: &[u8]) -> Option<(usize, usize, &'static [u8])> {
    memchr::memchr2_iter(0xC2, 0xE2, text).find_map(|at| match text[at..] {
        [0xC2, 0x85, ..] => Some((at, 2, br"\u0085".as_slice())),
        [0xE2, 0x80, 0xA8, ..] => Some((at, 3, br"\u2028".as_slice())),
        [0xE2, 0x80, 0xA9, ..] => Some((at, 3, br"\u2029".as_slice())),
        _ => None,
    })
}

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent {
    /// The last id the stream gave, in this event or before it.
    pub id: Option<String>,
    /// The event's type, if it has one; A2A uses none.
    pub event: Option<String>,
    /// The `data` lines, joined by line feeds.
    pub data: String,
}

/// The stream cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// One event is bigger than the reader's limit.
    #[error("an event of the stream exceeds {0} bytes")]
    TooLarge(usize),
    /// A line is not UTF-8.
    #[error("the stream is not UTF-8")]
    NotUtf8,
}

/// Bytes a line may have besides its data: the longest field name, colon, blank.
const FIELD_OVERHEAD: usize = 16;
const BYTE_ORDER_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// Reads a stream in pieces of any size; how it is cut changes nothing. Comments without end cost
/// no memory; an event takes at most the limit.
#[derive(Debug)]
pub struct SseReader {
    max_event_bytes: usize,
    /// Bytes of the mark matched so far; `None` once the stream's start is behind.
    mark: Option<usize>,
    after_carriage_return: bool,
    /// The current line is a comment: its bytes are dropped as they come.
    in_comment: bool,
    line: Vec<u8>,
    id: Option<String>,
    event: Option<String>,
    data: Option<String>,
    ready: VecDeque<SseEvent>,
    failed: Option<SseError>,
}

impl SseReader {
    /// A reader that takes events of at most `max_event_bytes` bytes.
    #[must_use]
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            max_event_bytes,
            mark: Some(0),
            after_carriage_return: false,
            in_comment: false,
            line: Vec::new(),
            id: None,
            event: None,
            data: None,
            ready: VecDeque::new(),
            failed: None,
        }
    }

    /// Takes the next bytes. Events that were whole before an error can still be fetched; after an
    /// error the reader takes nothing more.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), SseError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let fed = self.skip_mark(chunk).and_then(|rest| self.take_lines(rest));
        self.failed = fed.err();
        fed
    }

    /// The next whole event, in order.
    pub fn next_event(&mut self) -> Option<SseEvent> {
        self.ready.pop_front()
    }

    /// Drops a byte order mark at the very start, also one that comes in pieces.
    fn skip_mark<'c>(&mut self, mut chunk: &'c [u8]) -> Result<&'c [u8], SseError> {
        while let Some(matched) = self.mark {
            let Some(first) = chunk.first() else { break };
            if matched < BYTE_ORDER_MARK.len() && *first == BYTE_ORDER_MARK[matched] {
                self.mark = Some(matched + 1);
                chunk = &chunk[1..];
                continue;
            }
            self.mark = None;
            if matched < BYTE_ORDER_MARK.len() {
                self.take_lines(&BYTE_ORDER_MARK[..matched])?;
            }
        }
        Ok(chunk)
    }

    fn take_lines(&mut self, mut chunk: &[u8]) -> Result<(), SseError> {
        while !chunk.is_empty() {
            if std::mem::take(&mut self.after_carriage_return) && chunk[0] == b'\n' {
                chunk = &chunk[1..];
                continue;
            }
            let end = memchr::memchr2(b'\r', b'\n', chunk);
            self.take_piece(&chunk[..end.unwrap_or(chunk.len())])?;
            let Some(end) = end else { break };
            self.after_carriage_return = chunk[end] == b'\r';
            chunk = &chunk[end + 1..];
            self.end_line()?;
        }
        Ok(())
    }

    fn take_piece(&mut self, piece: &[u8]) -> Result<(), SseError> {
        if self.line.is_empty() && piece.first() == Some(&b':') {
            self.in_comment = true;
        }
        if self.in_comment {
            return Ok(());
        }
        let held = self.line.len() + self.data.as_ref().map_or(0, String::len);
        if held + piece.len() > self.max_event_bytes.saturating_add(FIELD_OVERHEAD) {
            return Err(SseError::TooLarge(self.max_event_bytes));
        }
        self.line.extend_from_slice(piece);
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), SseError> {
        if std::mem::take(&mut self.in_comment) {
            return Ok(());
        }
        let line = std::mem::take(&mut self.line);
        let text = std::str::from_utf8(&line).map_err(|_| SseError::NotUtf8)?;
        if text.is_empty() {
            self.end_event();
        } else {
            let (name, value) = text.split_once(':').unwrap_or((text, ""));
            self.take_field(name, value.strip_prefix(' ').unwrap_or(value))?;
        }
        // The allocation serves the next line.
        self.line = line;
        self.line.clear();
        Ok(())
    }

    fn take_field(&mut self, name: &str, value: &str) -> Result<(), SseError> {
        match name {
            "data" => {
                let data = match &mut self.data {
                    Some(data) => {
                        data.push('\n');
                        data
                    }
                    empty => empty.insert(String::new()),
                };
                if data.len() + value.len() > self.max_event_bytes {
                    return Err(SseError::TooLarge(self.max_event_bytes));
                }
                data.push_str(value);
            }
            "event" => self.event = Some(value.to_owned()).filter(|name| !name.is_empty()),
            "id" if !value.contains('\0') => {
                self.id = Some(value.to_owned()).filter(|id| !id.is_empty());
            }
            _ => {}
        }
        Ok(())
    }

    fn end_event(&mut self) {
        let event = self.event.take();
        if let Some(data) = self.data.take() {
            self.ready.push_back(SseEvent {
                id: self.id.clone(),
                event,
                data,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<SseEvent> {
        let mut reader = SseReader::new(1024);
        reader.feed(bytes).unwrap();
        std::iter::from_fn(|| reader.next_event()).collect()
    }

    fn texts(bytes: &[u8]) -> Vec<String> {
        read(bytes).into_iter().map(|event| event.data).collect()
    }

    #[test]
    fn every_legal_spelling_reads_alike() {
        for stream in [
            "data: a\ndata: b\n\n",
            "\u{feff}data: a\ndata: b\n\n",
            "data:a\r\ndata:b\r\n\r\n",
            "data:a\rdata:b\r\r",
            ": hello\nretry: 5\ndata:a\nunknown\n:\ndata: b\n\n",
        ] {
            assert_eq!(texts(stream.as_bytes()), ["a\nb"], "{stream:?}");
        }
        assert_eq!(texts(b"data\n\ndata:\n\ndata:  x\n\n"), ["", "", " x"]);
        assert_eq!(texts(b"event: x\n\n: y\n\ndata: unfinished\n"), [""; 0]);
    }

    #[test]
    fn an_id_lasts_until_the_next_one() {
        let events = read(b"id: 1-2\nevent: e\ndata: a\n\ndata: b\n\nid: 3\x00\ndata: c\n\n");
        let ids: Vec<_> = events.iter().map(|event| event.id.as_deref()).collect();
        assert_eq!(ids, [Some("1-2"); 3]);
        assert_eq!(events[0].event.as_deref(), Some("e"));
        assert_eq!(events[1].event, None);
    }

    #[test]
    fn a_frame_is_read_back() {
        let id = EventId {
            epoch: 4,
            version: 9,
        };
        let mut out = HEARTBEAT.to_vec();
        write_frame(Some(id), &mut out, |out| {
            out.extend_from_slice(b"{\"a\":1}")
        });
        let events = read(&out);
        assert_eq!(events[0].data, "{\"a\":1}");
        assert_eq!(events[0].id.as_deref().unwrap().parse(), Ok(id));
    }

    #[test]
    fn a_frame_is_one_line_to_every_reader() {
        let text = "a\u{85}\u{2028}b\u{2029}c “é” ¡\u{2027}\u{202A}";
        let mut out = b"\xE2\x80".to_vec();
        write_frame(None, &mut out, |out| {
            serde_json::to_writer(out, text).unwrap();
        });
        let frame = std::str::from_utf8(&out[2..]).unwrap();
        let data = r#"data: "a\u0085\u2028b\u2029c “é” ¡"#;
        assert_eq!(
            frame,
            format!("{data}\u{2027}\u{202A}\"\n\n"),
            "and nothing before it is touched"
        );
        let read: String = serde_json::from_str(&texts(frame.as_bytes())[0]).unwrap();
        assert_eq!(read, text);
    }

    #[test]
    fn only_printed_event_ids_are_read() {
        for text in [
            "",
            "1",
            "1-",
            "-1",
            "+1-2",
            "1-2-3",
            "a-b",
            "1-99999999999999999999",
        ] {
            assert_eq!(text.parse::<EventId>(), Err(EventIdError), "{text}");
        }
    }

    #[test]
    fn bounds_hold_and_comments_are_free() {
        let mut reader = SseReader::new(8);
        for _ in 0..10_000 {
            reader.feed(b": ping ping ping\n").unwrap();
        }
        reader.feed(b": a comment").unwrap();
        reader.feed(&[b'x'; 100_000]).unwrap();
        reader.feed(b"\ndata: 12345678\n\n").unwrap();
        assert!(reader.line.capacity() < 1024);
        assert_eq!(reader.next_event().unwrap().data, "12345678");
        assert_eq!(
            reader.feed(b"data: 123456789\n\n"),
            Err(SseError::TooLarge(8))
        );
        assert_eq!(reader.feed(b"data: 1\n\n"), Err(SseError::TooLarge(8)));
        assert_eq!(
            SseReader::new(8).feed(&[b'x'; 64]),
            Err(SseError::TooLarge(8))
        );
        assert_eq!(
            SseReader::new(64).feed(b"data: \xff\n\n"),
            Err(SseError::NotUtf8)
        );
    }
}
