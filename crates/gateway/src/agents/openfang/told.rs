//! What OpenFang streams while its agent is at work: text in pieces, tools in use, and after each call of the
//! model a `done`. How the whole turn ended it does not say; that shows in what came last.

use nuncio_client::ServiceStream;
use nuncio_wire::RawJson;
use nuncio_wire::bindings::sse::SseEvent;
use serde::Deserialize;
use serde_json::json;

use super::quiet::Quiet;
use crate::agents::Turn;
use crate::agents::completions::{Halt, tool_in_use};
use crate::agents::reply::{Heard, Source};

/// What stands between what was said before a tool was used and after.
const BREAK: &str = "\n\n";

/// A turn's answer as it comes.
pub(super) struct Telling<'a> {
    turn: &'a Turn,
    stream: Box<ServiceStream>,
    quiet: Quiet,
    /// Text that was not handed on yet.
    pending: String,
    /// A tool that came into use after that text.
    tool: Option<String>,
    /// Whether a tool was asked for since the last call of the model.
    wants_tool: bool,
    /// Whether what was said before a tool was used is to be set apart.
    is_apart: bool,
    /// Whether the last call of the model has ended, and asked for no tool.
    is_complete: bool,
    has_ended: bool,
    usage: Usage,
    /// Bytes that may still be said.
    left: usize,
}

/// What a turn cost, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Usage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

impl Usage {
    /// As JSON, if there is any.
    pub(super) fn json(self) -> Option<RawJson> {
        if self == Self::default() {
            return None;
        }
        let (input, output) = (self.input_tokens, self.output_tokens);
        RawJson::of(&json!({ "input_tokens": input, "output_tokens": output })).ok()
    }
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    content: String,
}

#[derive(Deserialize)]
struct Tool {
    #[serde(default)]
    tool: String,
}

#[derive(Deserialize)]
struct Done {
    #[serde(default)]
    usage: Usage,
}

#[derive(Deserialize)]
struct Phase {
    #[serde(default)]
    phase: String,
}

impl<'a> Telling<'a> {
    /// The answer in this stream; more than `limit` bytes are not taken.
    pub(super) fn new(turn: &'a Turn, stream: Box<ServiceStream>, limit: usize) -> Self {
        Self {
            turn,
            stream,
            quiet: Quiet::default(),
            pending: String::new(),
            tool: None,
            wants_tool: false,
            is_apart: false,
            is_complete: false,
            has_ended: false,
            usage: Usage::default(),
            left: limit,
        }
    }

    /// What the turn cost.
    ///
    /// # Errors
    /// It did not come to its end.
    pub(super) fn ending(&self) -> Result<Usage, Halt> {
        match self.is_complete {
            true => Ok(self.usage),
            // OpenFang closes the stream without a word when its turn fails.
            false => Err(Halt::fault(
                "the agent ended its turn without an answer",
                "",
            )),
        }
    }

    fn take(&mut self, event: &SseEvent) -> Result<(), Halt> {
        match event.event.as_deref().unwrap_or_default() {
            "chunk" => {
                let chunk: Chunk = read(&event.data)?;
                self.say(&chunk.content)
            }
            "tool_use" => {
                let tool: Tool = read(&event.data)?;
                self.wants_tool = true;
                self.is_complete = false;
                self.tool = Some(tool.tool).filter(|name| !name.is_empty());
                Ok(())
            }
            "done" => {
                let done: Done = read(&event.data)?;
                self.usage.input_tokens += done.usage.input_tokens;
                self.usage.output_tokens += done.usage.output_tokens;
                self.is_complete = !std::mem::take(&mut self.wants_tool);
                self.is_apart = true;
                Ok(())
            }
            "phase" => {
                let phase: Phase = read(&event.data)?;
                match phase.phase.as_str() {
                    "done" => self.is_complete = true,
                    "error" => return Err(Halt::fault("the agent's turn failed", "phase error")),
                    "thinking" | "tool_use" => self.is_complete = false,
                    _ => {}
                }
                Ok(())
            }
            "error" => Err(Halt::fault("the agent's turn failed", event.data.clone())),
            // Other events are additions that need not be understood.
            _ => Ok(()),
        }
    }

    fn say(&mut self, content: &str) -> Result<(), Halt> {
        self.left = self.left.checked_sub(content.len()).ok_or_else(|| {
            let reason = "the agent said more than it may and was stopped";
            Halt::fault(reason, "max_output_bytes")
        })?;
        if content.is_empty() {
            return Ok(());
        }
        self.is_complete = false;
        if std::mem::take(&mut self.is_apart) {
            self.quiet.hear(BREAK, &mut self.pending);
        }
        self.quiet.hear(content, &mut self.pending);
        Ok(())
    }
}

impl Source for Telling<'_> {
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
            if self.has_ended {
                return Ok(Heard::End);
            }
            let event = self.stream.next().await;
            let event = event
                .map_err(|error| Halt::fault("the agent's answer broke off", error.message))?;
            let Some(event) = event else {
                self.has_ended = true;
                self.quiet.end(&mut self.pending);
                continue;
            };
            self.take(&event)?;
            // All that came in one piece is one chunk.
            while self.tool.is_none()
                && let Some(event) = self.stream.ready()
            {
                self.take(&event)?;
            }
        }
    }
}

fn read<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, Halt> {
    serde_json::from_str(data).map_err(|error| super::unreadable(&error.to_string()))
}
