//! What an endpoint sends: chunks of a completion, or a whole one where it does not stream.

use nuncio_client::ServiceStream;
use nuncio_wire::RawJson;
use serde::Deserialize;

use super::Halt;
use crate::agents::reply::{Heard, Source};

/// The last frame of a stream.
const DONE: &str = "[DONE]";

/// A completion as it comes.
pub(super) struct Answer {
    stream: Option<Box<ServiceStream>>,
    /// Text that was not handed on yet.
    pending: String,
    ending: Ending,
    /// Bytes that may still be said.
    left: usize,
}

/// How a completion ended.
#[derive(Debug, Default)]
pub(super) struct Ending {
    reason: Option<String>,
    /// The endpoint said that nothing more comes.
    done: bool,
    /// What it cost, as the endpoint counts.
    pub(super) usage: Option<RawJson>,
}

impl Ending {
    /// Why the answer cannot be taken for a whole one, in words for the caller.
    pub(super) fn fault(&self) -> Option<String> {
        match self.reason.as_deref() {
            Some("length") => Some("the model's answer was cut at its length limit".to_owned()),
            Some("content_filter") => {
                Some("the model's answer was withheld by a filter".to_owned())
            }
            Some(_) => None,
            None if self.done => None,
            None => Some("the model's answer broke off".to_owned()),
        }
    }
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

impl Answer {
    /// A completion that is streamed; more than `limit` bytes are not taken.
    pub(super) fn streamed(stream: Box<ServiceStream>, limit: usize) -> Self {
        Self {
            stream: Some(stream),
            pending: String::new(),
            ending: Ending::default(),
            left: limit,
        }
    }

    /// A completion that came at once.
    pub(super) fn whole(body: &[u8], limit: usize) -> Result<Self, Halt> {
        let mut answer = Self {
            stream: None,
            pending: String::new(),
            ending: Ending::default(),
            left: limit,
        };
        let json = std::str::from_utf8(body).map_err(|error| unreadable(&error.to_string()))?;
        answer.take(json)?;
        answer.ending.done = true;
        Ok(answer)
    }

    pub(super) fn ending(self) -> Ending {
        self.ending
    }

    fn take(&mut self, data: &str) -> Result<(), Halt> {
        if data.trim() == DONE {
            self.ending.done = true;
            return Ok(());
        }
        let completion: Completion =
            serde_json::from_str(data).map_err(|error| unreadable(&error.to_string()))?;
        // Errors in the middle of a stream come in place of a chunk.
        if let Some(error) = completion.error.filter(|error| !error.is_null()) {
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

impl Source for Answer {
    type Halt = Halt;

    async fn hear(&mut self, text: &mut String) -> Result<Heard, Halt> {
        loop {
            if !self.pending.is_empty() {
                text.push_str(&self.pending);
                self.pending.clear();
                return Ok(Heard::Text);
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
            self.take(&event.data)?;
            // All that came in one piece is one chunk.
            while let Some(event) = self.stream.as_mut().and_then(|stream| stream.ready()) {
                self.take(&event.data)?;
            }
        }
    }
}

fn unreadable(error: &str) -> Halt {
    let reason = "the model's endpoint answered in a way that cannot be read".to_owned();
    Halt::Fault(reason, error.to_owned())
}
