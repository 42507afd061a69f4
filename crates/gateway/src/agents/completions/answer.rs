//! What an endpoint sends: chunks of a completion, or a whole one where it does not stream.
//!
//! Hermes adds to both how its turn ended (`hermes`), and to a stream which tools it uses.

use nuncio_client::ServiceStream;
use nuncio_wire::bindings::sse::SseEvent;
use nuncio_wire::{Metadata, RawJson};
use serde::Deserialize;

use super::Halt;
use crate::agents::reply::{Heard, Source};
use crate::agents::{Turn, TurnEvent};

/// The last frame of a stream.
const DONE: &str = "[DONE]";
/// The event by which Hermes tells of its tools.
const TOOL_PROGRESS: &str = "hermes.tool.progress";
/// How Hermes calls an answer that was cut.
const OUTPUT_TRUNCATED: &str = "output_truncated";
/// What the caller of a cut answer is told.
const CUT: &str = "the model's answer was cut at its length limit";

/// A completion as it comes.
pub(crate) struct Answer<'a> {
    turn: &'a Turn,
    stream: Option<Box<ServiceStream>>,
    /// Text that was not handed on yet.
    pending: String,
    /// A tool that came into use after that text.
    tool: Option<String>,
    ending: Ending,
    /// Bytes that may still be said.
    left: usize,
}

/// How a completion ended.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    reason: Option<String>,
    hermes: Option<HermesEnd>,
    /// Whether the agent used a tool: then its turn is not to be repeated.
    pub(crate) used_tools: bool,
    /// The endpoint said that nothing more comes.
    done: bool,
    /// What it cost, as the endpoint counts.
    usage: Option<RawJson>,
}

impl Ending {
    /// Why the answer cannot be taken for a whole one: in words for the caller, and more for the log.
    pub(crate) fn fault(&self) -> Option<(String, String)> {
        if let Some(fault) = self.hermes.as_ref().and_then(HermesEnd::fault) {
            return Some(fault);
        }
        let reason = match self.reason.as_deref() {
            Some("length") => CUT,
            Some("content_filter") => "the model's answer was withheld by a filter",
            Some("error") => "the model ended with an error",
            Some(_) => return None,
            None if self.done => return None,
            None => "the model's answer broke off",
        };
        Some((reason.to_owned(), String::new()))
    }

    /// Tells the log what the answer cost.
    pub(crate) fn log_usage(&self, turn: &Turn) {
        if let Some(usage) = &self.usage {
            tracing::info!(agent = %turn.agent, task = %turn.task_id, usage = %usage.get(), "model used");
        }
    }

    /// What the answer cost, beside it.
    pub(crate) fn about(&self) -> Option<Metadata> {
        self.usage.as_ref().map(as_metadata)
    }
}

/// Usage as user JSON about an answer.
pub(crate) fn as_metadata(usage: &RawJson) -> Metadata {
    Metadata::parse(format!(r#"{{"usage":{}}}"#, usage.get()))
        .expect("JSON in an object is an object")
}

/// How Hermes says that its turn ended.
#[derive(Debug, Deserialize)]
struct HermesEnd {
    #[serde(default)]
    completed: Option<bool>,
    #[serde(default)]
    partial: Option<bool>,
    #[serde(default)]
    failed: Option<bool>,
    #[serde(default)]
    error: Option<serde_json::Value>,
    #[serde(default)]
    error_code: Option<String>,
}

impl HermesEnd {
    fn fault(&self) -> Option<(String, String)> {
        let is_whole = self.completed != Some(false)
            && self.partial != Some(true)
            && self.failed != Some(true)
            && self.error_code.is_none();
        if is_whole {
            return None;
        }
        let reason = match self.error_code.as_deref() {
            Some(OUTPUT_TRUNCATED) => CUT,
            _ if self.failed == Some(true) => "the agent's turn failed",
            _ => "the agent did not complete its turn",
        };
        let detail = self.error.as_ref().map(ToString::to_string);
        Some((reason.to_owned(), detail.unwrap_or_default()))
    }
}

/// What Hermes tells of a tool.
#[derive(Deserialize)]
struct ToolProgress {
    #[serde(default)]
    tool: String,
    #[serde(default)]
    status: String,
}

/// A chunk of a stream, or a whole completion.
#[derive(Deserialize)]
struct Completion {
    #[serde(default)]
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<RawJson>,
    #[serde(default)]
    error: Option<serde_json::Value>,
    #[serde(default)]
    hermes: Option<HermesEnd>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default, alias = "message")]
    delta: Option<Delta>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(default)]
    content: Option<String>,
}

impl<'a> Answer<'a> {
    /// A completion that is streamed; more than `limit` bytes are not taken.
    pub(crate) fn streamed(turn: &'a Turn, stream: Box<ServiceStream>, limit: usize) -> Self {
        Self {
            turn,
            stream: Some(stream),
            pending: String::new(),
            tool: None,
            ending: Ending::default(),
            left: limit,
        }
    }

    /// A completion that came at once.
    pub(crate) fn whole(turn: &'a Turn, body: &[u8], limit: usize) -> Result<Self, Halt> {
        let mut answer = Self {
            turn,
            stream: None,
            pending: String::new(),
            tool: None,
            ending: Ending::default(),
            left: limit,
        };
        let json = std::str::from_utf8(body).map_err(|error| unreadable(&error.to_string()))?;
        answer.take(json)?;
        answer.ending.done = true;
        Ok(answer)
    }

    pub(crate) fn ending(self) -> Ending {
        self.ending
    }

    fn take_event(&mut self, event: &SseEvent) -> Result<(), Halt> {
        match event.event.as_deref() {
            None | Some("" | "message" | "error") => self.take(&event.data),
            Some(TOOL_PROGRESS) => {
                let progress: Result<ToolProgress, _> = serde_json::from_str(&event.data);
                if let Ok(progress) = progress
                    && progress.status == "running"
                {
                    self.ending.used_tools = true;
                    self.tool = Some(progress.tool);
                }
                Ok(())
            }
            // Other events are additions that need not be understood.
            Some(_) => Ok(()),
        }
    }

    fn take(&mut self, data: &str) -> Result<(), Halt> {
        if data.trim() == DONE {
            self.ending.done = true;
            return Ok(());
        }
        let completion: Completion =
            serde_json::from_str(data).map_err(|error| unreadable(&error.to_string()))?;
        // Errors in the middle of a stream come in place of a chunk.
        let error = completion.error.filter(|error| !error.is_null());
        if let Some(hermes) = completion.hermes {
            let kept = self.ending.hermes.insert(hermes);
            kept.error = kept.error.take().or(error);
        } else if let Some(error) = error {
            let reason = "the model's endpoint reported an error".to_owned();
            return Err(Halt::Fault(reason, error.to_string()));
        }
        if let Some(usage) = completion.usage.filter(|usage| usage.get() != "null") {
            self.ending.usage = Some(usage);
        }
        let Some(choice) = completion.choices.into_iter().next() else {
            return Ok(());
        };
        if let Some(reason) = choice.finish_reason {
            self.ending.reason = Some(reason);
        }
        let text = choice.delta.and_then(|delta| delta.content);
        let text = text.unwrap_or_default();
        self.left = self.left.checked_sub(text.len()).ok_or_else(|| {
            let reason = "the model said more than it may and was stopped".to_owned();
            Halt::Fault(reason, "max_output_bytes".to_owned())
        })?;
        self.pending.push_str(&text);
        Ok(())
    }
}

impl Source for Answer<'_> {
    type Halt = Halt;

    async fn hear(&mut self, text: &mut String) -> Result<Heard, Halt> {
        loop {
            if !self.pending.is_empty() {
                text.push_str(&self.pending);
                self.pending.clear();
                return Ok(Heard::Text);
            }
            if let Some(tool) = self.tool.take() {
                return Ok(Heard::Event(tool_in_use(self.turn, &tool)));
            }
            let Some(stream) = self.stream.as_mut().filter(|_| !self.ending.done) else {
                return Ok(Heard::End);
            };
            let event = stream.next().await.map_err(|error| {
                let reason = "the model's answer broke off".to_owned();
                Halt::Fault(reason, error.message)
            })?;
            let Some(event) = event else {
                return Ok(Heard::End);
            };
            self.take_event(&event)?;
            // All that came in one piece is one chunk.
            while self.tool.is_none()
                && let Some(event) = self.stream.as_mut().and_then(|stream| stream.ready())
            {
                self.take_event(&event)?;
            }
        }
    }
}

/// Progress for the caller: the tool's name, not what it is given, which is the operator's.
pub(crate) fn tool_in_use(turn: &Turn, tool: &str) -> TurnEvent {
    TurnEvent::Progress {
        message: Some(turn.reply_text(format!("Using the tool {tool}."))),
        metadata: None,
    }
}

fn unreadable(error: &str) -> Halt {
    let reason = "the model's endpoint answered in a way that cannot be read".to_owned();
    Halt::Fault(reason, error.to_owned())
}
