//! A stream of events as it comes in: bytes to SSE events to the model, whatever the packets.
//!
//! Ends when the connection ends; whether that was too early is for [`crate::follow`] to say.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use nuncio_wire::bindings::{jsonrpc, rest, sse};
use nuncio_wire::dialects::Dialect;
use nuncio_wire::operation::SendMessageResponse;
use nuncio_wire::{ErrorKind, Part, Response, StreamResponse};
use url::Url;

use crate::bindings::exchange::invalid;
use crate::bindings::grpc::Messages;
use crate::error::{ClientError, ClientErrorKind};
use crate::http_client::{lost, peer_of};
use crate::limits::{MAX_ANSWER_BYTES, STREAM_SILENCE};

/// One event with its place in the stream.
#[derive(Clone, Debug)]
pub struct StreamEvent {
    /// The SSE id, to resume after it, where the server gives ids.
    pub id: Option<String>,
    /// What happened.
    pub event: StreamResponse,
    /// Whether the server said that nothing follows.
    pub last: bool,
}

/// The events of one call. Dropping it closes the stream and harms no task.
#[derive(Debug)]
pub struct EventStream {
    source: Source,
    dialect: Dialect,
    url: Url,
    silence: Duration,
    task_known: bool,
    /// Opened on a task that was there already.
    attached: bool,
    begun: bool,
    /// Text of the artifacts so far, in a stream of a Hermes fleet.
    heard: String,
    over: bool,
}

/// What each frame of a stream is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Framing {
    /// A JSON-RPC answer whose result is an event.
    JsonRpc,
    /// An event.
    Bare,
}

#[derive(Debug)]
enum Source {
    Body {
        body: Incoming,
        framing: Framing,
        reader: sse::SseReader,
        failed: Option<ClientError>,
    },
    Messages(Box<Messages>),
    Answer(Option<StreamResponse>),
}

impl EventStream {
    pub(crate) fn new(body: Incoming, framing: Framing, dialect: Dialect, url: Url) -> Self {
        let reader = sse::SseReader::new(MAX_ANSWER_BYTES);
        let source = Source::Body {
            body,
            framing,
            reader,
            failed: None,
        };
        Self {
            source,
            dialect,
            url,
            silence: STREAM_SILENCE,
            task_known: false,
            attached: false,
            begun: false,
            heard: String::new(),
            over: false,
        }
    }

    /// The events of a gRPC call. gRPC servers say nothing while nothing happens: that the connection
    /// is alive is told by the connection's own probes.
    pub(crate) fn of_messages(messages: Messages, dialect: Dialect, url: Url) -> Self {
        Self {
            source: Source::Messages(Box::new(messages)),
            dialect,
            url,
            silence: Duration::MAX,
            task_known: false,
            attached: false,
            begun: false,
            heard: String::new(),
            over: false,
        }
    }

    /// How long the stream may be silent once its task is known, if somebody has set it.
    pub(crate) fn with_silence(self, silence: Option<Duration>) -> Self {
        Self {
            silence: silence.unwrap_or(self.silence),
            ..self
        }
    }

    /// The stream of a task that was there before it.
    pub(crate) fn attached(self) -> Self {
        Self {
            task_known: true,
            attached: true,
            ..self
        }
    }

    /// Whether it may not tell all there is: events came before it, and it need not begin with the
    /// task, as servers of 0.3 leave it out; or it has no texts, as those of a Hermes fleet.
    pub(crate) fn may_miss_something(&self) -> bool {
        self.attached || self.dialect == Dialect::Fleet
    }

    /// Whether it gave nothing of a task that was there before it: an error then only says that
    /// the server does not show this task by a stream.
    pub(crate) fn is_refused(&self) -> bool {
        self.attached && !self.begun
    }

    /// A stream of the one event that an ordinary answer stands for.
    pub(crate) fn of_answer(
        response: Response,
        dialect: Dialect,
        url: Url,
    ) -> Result<Self, ClientError> {
        let event = match response {
            Response::SendMessage(SendMessageResponse::Task(task)) | Response::Task(task) => {
                StreamResponse::Task(task)
            }
            Response::SendMessage(SendMessageResponse::Message(message)) => {
                StreamResponse::Message(message)
            }
            _ => {
                let text = format!("{} answered a stream with something else", peer_of(&url));
                return Err(ClientError::new(ClientErrorKind::InvalidAnswer, text));
            }
        };
        let source = Source::Answer(Some(event));
        Ok(Self {
            source,
            dialect,
            url,
            silence: STREAM_SILENCE,
            task_known: true,
            attached: false,
            begun: false,
            heard: String::new(),
            over: false,
        })
    }

    /// The next event; `None` when the stream is over. After an error it is over too.
    ///
    /// Once the task is known, silence of [`STREAM_SILENCE`] counts as a lost connection: the task
    /// can then be asked for. Before that there is nothing else to do than to wait.
    ///
    /// # Errors
    /// The peer's error, if it ended the stream with one; a lost connection; an event that is none.
    pub async fn next(&mut self) -> Option<Result<StreamEvent, ClientError>> {
        if self.over {
            return None;
        }
        let mut next = self.read_next().await;
        if let Some(Ok(event)) = next.as_mut().filter(|_| self.dialect == Dialect::Fleet) {
            self.hear(&mut event.event);
        }
        match &next {
            Some(Ok(event)) => {
                self.over = event.last;
                self.begun = true;
                self.task_known |= !matches!(event.event, StreamResponse::Message(_));
            }
            Some(Err(_)) | None => self.over = true,
        }
        next
    }

    /// The last event of a fleet's stream repeats what its artifacts said; once is enough.
    fn hear(&mut self, event: &mut StreamResponse) {
        let text = |parts: &[Part]| -> String { parts.iter().filter_map(Part::as_text).collect() };
        match event {
            StreamResponse::ArtifactUpdate(update) => {
                self.heard.push_str(&text(&update.artifact.parts));
            }
            StreamResponse::StatusUpdate(update) if !self.heard.is_empty() => {
                let message = update.status.message.take();
                update.status.message = message.filter(|it| text(&it.parts) != self.heard);
            }
            _ => {}
        }
    }

    async fn read_next(&mut self) -> Option<Result<StreamEvent, ClientError>> {
        let (body, framing, reader, failed) = match &mut self.source {
            Source::Body {
                body,
                framing,
                reader,
                failed,
            } => (body, *framing, reader, failed),
            Source::Messages(messages) => {
                let silence = if self.task_known {
                    self.silence
                } else {
                    Duration::MAX
                };
                return match tokio::time::timeout(silence, messages.next_event()).await {
                    Ok(next) => next,
                    Err(_) => Some(Err(silent(&self.url, silence))),
                };
            }
            Source::Answer(event) => {
                return event.take().map(|event| {
                    Ok(StreamEvent {
                        id: None,
                        event,
                        last: true,
                    })
                });
            }
        };
        loop {
            while let Some(frame) = reader.next_event() {
                if !frame.data.trim().is_empty() {
                    return Some(read_frame(frame, framing, self.dialect, &self.url));
                }
            }
            if let Some(error) = failed.take() {
                return Some(Err(error));
            }
            let silence = if self.task_known {
                self.silence
            } else {
                Duration::MAX
            };
            let frame = match tokio::time::timeout(silence, body.frame()).await {
                Ok(frame) => frame?,
                Err(_) => return Some(Err(silent(&self.url, silence))),
            };
            let data = match frame.map(hyper::body::Frame::into_data) {
                Ok(Ok(data)) => data,
                Ok(Err(_trailers)) => continue,
                Err(error) => return Some(Err(lost(&self.url, &error))),
            };
            // Events that were whole before the fault still count.
            *failed = reader.feed(&data).err().map(|error| {
                let text = format!("{}: {error}", peer_of(&self.url));
                ClientError::new(ClientErrorKind::InvalidAnswer, text)
            });
        }
    }
}

fn read_frame(
    frame: sse::SseEvent,
    framing: Framing,
    dialect: Dialect,
    url: &Url,
) -> Result<StreamEvent, ClientError> {
    let (event, last) = match framing {
        Framing::JsonRpc => {
            let answer = jsonrpc::read_answer(frame.data.as_bytes())
                .map_err(|error| invalid(url, &error))?;
            let result = answer.outcome.map_err(ClientError::protocol)?;
            dialect
                .read_event(result)
                .map_err(|error| invalid(url, &error))?
        }
        Framing::Bare => {
            rest::read_event(dialect, &frame.data).map_err(|error| match error.kind {
                // Ours, of a frame that cannot be read; or the peer's own word for the same.
                ErrorKind::InvalidAgentResponse => invalid(url, &error),
                _ => ClientError::protocol(error),
            })?
        }
    };
    Ok(StreamEvent {
        id: frame.id,
        event,
        last,
    })
}

fn silent(url: &Url, silence: Duration) -> ClientError {
    let text = format!(
        "{} sent nothing for {} s",
        peer_of(url),
        silence.as_secs_f64()
    );
    ClientError::new(ClientErrorKind::ConnectionLost, text)
}
