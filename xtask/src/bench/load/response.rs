//! Reads the answers of a server on one connection: just enough of HTTP/1.1 (status, length,
//! chunks) to know where an answer ends, and the moment its first body byte came.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// Room for one read; an answer of the benchmark fits in one.
const READ_BYTES: usize = 16 * 1024;
/// An answer longer than this is not one of the benchmark.
const ANSWER_BYTES: usize = 1024 * 1024;

/// One answer.
#[derive(Debug)]
pub(super) struct Answer<'a> {
    pub(super) body: &'a [u8],
    /// When the first byte of the body was there.
    pub(super) first_byte: Instant,
}

/// Buffers of one connection, used again for every answer.
#[derive(Debug)]
pub(super) struct Reader {
    buffer: Vec<u8>,
    filled: usize,
    body: Vec<u8>,
}

/// Where the body of an answer ends.
#[derive(Debug, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self {
            buffer: vec![0; READ_BYTES],
            filled: 0,
            body: Vec::new(),
        }
    }

    /// Reads one whole answer.
    ///
    /// # Errors
    /// When the connection ends, the status is not 200, or the body is no JSON-RPC result.
    pub(super) async fn answer(&mut self, stream: &mut TcpStream) -> Result<Answer<'_>> {
        self.filled = 0;
        self.body.clear();
        let (head, framing) = self.head(stream).await?;
        let first_byte = match framing {
            Framing::Length(length) => {
                while self.filled < head + length {
                    self.fill(stream).await?;
                }
                self.body
                    .extend_from_slice(&self.buffer[head..head + length]);
                Instant::now()
            }
            Framing::Chunked => self.chunks(stream, head).await?,
        };
        check_result(&self.body)?;
        Ok(Answer {
            body: &self.body,
            first_byte,
        })
    }

    /// Reads until the first event of a stream is there, and leaves the rest unread.
    ///
    /// # Errors
    /// When the connection ends or the status is not 200.
    pub(super) async fn first_event(&mut self, stream: &mut TcpStream) -> Result<()> {
        self.filled = 0;
        let (head, _) = self.head(stream).await?;
        while find(&self.buffer[head..self.filled], b"data:").is_none() {
            self.fill(stream).await?;
        }
        Ok(())
    }

    /// Reads up to the end of the head and returns where the body begins.
    async fn head(&mut self, stream: &mut TcpStream) -> Result<(usize, Framing)> {
        loop {
            self.fill(stream).await?;
            if let Some(end) = find(&self.buffer[..self.filled], b"\r\n\r\n") {
                let framing = read_head(&self.buffer[..end]).with_context(|| {
                    String::from_utf8_lossy(&self.buffer[..self.filled]).into_owned()
                })?;
                return Ok((end + 4, framing));
            }
        }
    }

    /// Reads chunks into the body and returns when the first one was there.
    async fn chunks(&mut self, stream: &mut TcpStream, mut at: usize) -> Result<Instant> {
        let mut first = None;
        loop {
            let line = loop {
                match find(&self.buffer[at..self.filled], b"\r\n") {
                    Some(length) => break length,
                    None => self.fill(stream).await?,
                }
            };
            let size = chunk_size(&self.buffer[at..at + line])?;
            let data = at + line + 2;
            while self.filled < data + size + 2 {
                self.fill(stream).await?;
            }
            if size == 0 {
                return first.context("the stream had no event");
            }
            first.get_or_insert_with(Instant::now);
            self.body.extend_from_slice(&self.buffer[data..data + size]);
            at = data + size + 2;
        }
    }

    async fn fill(&mut self, stream: &mut TcpStream) -> Result<()> {
        if self.filled == self.buffer.len() {
            if self.filled >= ANSWER_BYTES {
                bail!("an answer is longer than {ANSWER_BYTES} bytes");
            }
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        let read = stream.read(&mut self.buffer[self.filled..]).await?;
        if read == 0 {
            bail!("the server closed the connection within an answer");
        }
        self.filled += read;
        Ok(())
    }
}

fn read_head(head: &[u8]) -> Result<Framing> {
    let head = std::str::from_utf8(head).context("the head of an answer is not UTF-8")?;
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1))
        .unwrap_or_default();
    if status != "200" {
        bail!("the server answered with status {status}");
    }
    for line in lines {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        if name.eq_ignore_ascii_case("content-length") {
            return Ok(Framing::Length(
                value.trim().parse().context("a bad content-length")?,
            ));
        }
        if name.eq_ignore_ascii_case("transfer-encoding") && value.trim() == "chunked" {
            return Ok(Framing::Chunked);
        }
    }
    bail!("an answer has neither a length nor chunks")
}

fn chunk_size(line: &[u8]) -> Result<usize> {
    let text = std::str::from_utf8(line).context("a chunk begins with no size")?;
    let digits = text.split(';').next().unwrap_or_default().trim();
    usize::from_str_radix(digits, 16).with_context(|| format!("`{text}` is no size of a chunk"))
}

/// A JSON-RPC error comes with status 200 too: the answer must hold a result, or be the bare one of
/// HTTP+JSON.
fn check_result(body: &[u8]) -> Result<()> {
    if find(body, b"\"result\"").is_none() && !body.starts_with(b"{\"task\"") {
        bail!(
            "the server answered without a result: {}",
            String::from_utf8_lossy(body)
        );
    }
    Ok(())
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len())
        .position(|window| window == wanted)
}

/// Number of events in the body of a stream.
pub(super) fn events(body: &[u8]) -> u64 {
    body.split(|byte| *byte == b'\n')
        .filter(|line| line.starts_with(b"data:"))
        .count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    /// Sends each piece in its own write and returns what the reader makes of them.
    async fn read(pieces: &[&str]) -> Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let mut stream = TcpStream::connect(listener.local_addr()?).await?;
        let (mut server, _) = listener.accept().await?;
        server.set_nodelay(true)?;
        let writing = async {
            for piece in pieces {
                server.write_all(piece.as_bytes()).await?;
                tokio::task::yield_now().await;
            }
            anyhow::Ok(())
        };
        let mut reader = Reader::new();
        let (written, answer) = tokio::join!(writing, reader.answer(&mut stream));
        written?;
        Ok(String::from_utf8(answer?.body.to_vec())?)
    }

    #[tokio::test]
    async fn an_answer_ends_at_its_length() {
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n";
        assert_eq!(
            read(&[head, "{\"resu", "lt\":1}"]).await.unwrap(),
            "{\"result\":1}"
        );
    }

    #[tokio::test]
    async fn chunks_are_joined_and_events_counted() {
        let pieces = &[
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n14\r\ndata: {\"result\":1}\n\n",
            "\r\n9\r\ndata: 2\n\n\r\n",
            "0\r\n\r\n",
        ];
        let body = read(pieces).await.unwrap();
        assert_eq!(body, "data: {\"result\":1}\n\ndata: 2\n\n");
        assert_eq!(events(body.as_bytes()), 2);
    }

    #[tokio::test]
    async fn a_refusal_is_shown() {
        let refused = read(&["HTTP/1.1 429 Slow\r\ncontent-length: 2\r\n\r\nno"]).await;
        assert!(format!("{:#}", refused.unwrap_err()).contains("status 429"));
        let failed = read(&["HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n{\"error\":1}"]).await;
        assert!(failed.unwrap_err().to_string().contains("{\"error\":1}"));
    }
}
