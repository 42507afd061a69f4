//! The `command` backend: a program per turn, in a process group and environment of its own.
//!
//! The turn's time limit is the engine's: here only `turn.cancel` is obeyed. What a program writes
//! is streamed with backpressure: it is not read while a commit is waited for. The contract with
//! programs is in `docs/guides/command-agents.md`. Start with [`Command::run`], then `program`.

mod decode;
mod jsonl;
mod output;
mod program;
mod scratch;
mod settings;
#[cfg(test)]
mod tests;
mod variables;

pub use settings::{CommandSettings, Protocol};
pub use variables::MAX_JSON_VARIABLE_BYTES;

use async_trait::async_trait;
use std::path::Path;
use std::time::Duration;

use self::jsonl::Lines;
use self::output::{Output, Text};
use self::program::{Program, describe};
use super::fault::{error_id, told};
use super::output_limit::TooMuch;
use super::process::{check_program, find_program};
use super::reply::{Reply, Said};
use super::{Agent, Turn, TurnEnd, TurnEvent, TurnEvents};
use crate::config::CommandConfig;
use crate::sessions::Session;
use crate::tasks::Stopped;

/// What a caller is told when a program ends well and says nothing.
const NO_ANSWER: &str = "the agent's program ended without an answer";
/// How long a chunk waits for more: joins the many small writes of a burst, and lets a program
/// that writes once and ends give one whole artifact; nobody sees the delay.
const LINGER: Duration = Duration::from_millis(2);

/// Why a program is not listened to any longer.
#[derive(Debug)]
enum Halt {
    /// The turn is over.
    Stopped,
    /// Something is wrong, in words for the caller.
    Fault(String),
    /// The program said how the turn ends.
    Ended(TurnEnd),
}

impl From<Stopped> for Halt {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

impl From<TooMuch> for Halt {
    fn from(_: TooMuch) -> Self {
        Self::Fault(TooMuch::REASON.to_owned())
    }
}

/// An agent that is a program.
#[derive(Debug)]
pub struct Command {
    settings: CommandSettings,
}

impl Command {
    /// The agent that `config` describes; directories of conversations go below `data_dir`.
    ///
    /// The error says why the program cannot be started, and what to do.
    pub fn new(config: &CommandConfig, data_dir: &Path) -> Result<Self, String> {
        Self::from_settings(CommandSettings::of(config, data_dir)?)
    }

    /// The agent with these settings, if its program can be started.
    pub fn from_settings(settings: CommandSettings) -> Result<Self, String> {
        check_program(&settings.command, &settings.cwd, &settings.environment)?;
        if let Some(dir) = &settings.scratch_dir {
            scratch::remove_left_behind(dir);
        }
        Ok(Self { settings })
    }

    async fn text(
        &self,
        program: &mut Program,
        output: Output,
        turn: &Turn,
        events: &mut TurnEvents,
    ) -> Result<TurnEnd, Halt> {
        let mut reply = Reply::of_program(turn, LINGER);
        let mut text = Text::new(output);
        let status = program.attend(reply.stream(&mut text, events)).await?;
        if !status.success() {
            reply.cut_off(events);
            return Err(Halt::Fault(describe(status)));
        }
        let said = reply.said(events);
        let files = self.hand_over_files(program, events).await?;
        match said {
            Said::Question(text) => Ok(TurnEnd::InputRequired(turn.reply_text(text))),
            Said::Nothing if files == 0 => Err(Halt::Fault(NO_ANSWER.to_owned())),
            Said::Nothing | Said::Answer => Ok(TurnEnd::Completed(None)),
        }
    }

    async fn jsonl(
        &self,
        program: &mut Program,
        mut output: Output,
        turn: &Turn,
        events: &mut TurnEvents,
    ) -> Result<TurnEnd, Halt> {
        let mut lines = Lines::new(turn);
        let end = match program.attend(lines.stream(&mut output, events)).await {
            Err(Halt::Ended(end)) => {
                program.see_out(output, self.settings.kill_grace).await;
                end
            }
            Err(halt) => return Err(halt),
            Ok(status) if !status.success() => return Err(Halt::Fault(describe(status))),
            Ok(_) => match lines.cut_short.take() {
                Some(fault) => return Err(Halt::Fault(fault)),
                None => TurnEnd::Completed(None),
            },
        };
        let takes_files = matches!(end, TurnEnd::Completed(_) | TurnEnd::InputRequired(_));
        let files = if takes_files {
            self.hand_over_files(program, events).await?
        } else {
            0
        };
        match end {
            TurnEnd::Completed(None) if files == 0 && !lines.told.gave_artifact => {
                Err(Halt::Fault(NO_ANSWER.to_owned()))
            }
            end => Ok(end),
        }
    }

    /// Gives the files the program left as artifacts; says how many there were.
    async fn hand_over_files(
        &self,
        program: &Program,
        events: &mut TurnEvents,
    ) -> Result<usize, Halt> {
        let (scratch, limit) = (program.scratch.clone(), self.settings.max_output_bytes);
        let collected = tokio::task::spawn_blocking(move || scratch.collect(limit)).await;
        let lost = || Halt::Fault("the agent's files could not be read".to_owned());
        let files = collected.map_err(|_| lost())?.map_err(Halt::Fault)?;
        let count = files.len();
        files
            .into_iter()
            .for_each(|file| events.push(TurnEvent::artifact(file)));
        Ok(count)
    }
}

#[async_trait]
impl Agent for Command {
    async fn probe(&self) -> Result<String, String> {
        let CommandSettings {
            command,
            cwd,
            environment,
            ..
        } = &self.settings;
        let program = find_program(command, cwd, environment)?;
        Ok(format!("{} can be started", program.display()))
    }

    fn answers_directly(&self) -> bool {
        self.settings.protocol == Protocol::Jsonl
    }

    async fn forget(&self, session: &Session) {
        self.settings.dirs.remove(session).await;
    }

    async fn run(&self, turn: Turn, events: &mut TurnEvents) -> TurnEnd {
        let (mut program, output) = match Program::start(&self.settings, &turn).await {
            Ok(started) => started,
            Err(reason) => {
                let id = error_id();
                tracing::error!(agent = %turn.agent, task = %turn.task_id, error_id = %id, %reason,
                    "agent program not started");
                return told("the agent's program could not be started", &id);
            }
        };
        let talk = async {
            match self.settings.protocol {
                Protocol::Text => self.text(&mut program, output, &turn, events).await,
                Protocol::Jsonl => self.jsonl(&mut program, output, &turn, events).await,
            }
        };
        let end = tokio::select! {
            biased;
            () = turn.cancel.cancelled() => Err(Halt::Stopped),
            end = talk => end,
        };
        let end = conclude(end, &turn, &program.stderr_tail.text());
        program.stop(self.settings.kill_grace).await;
        end
    }
}

/// The end of a turn, with what the program wrote to its standard error in the log only.
fn conclude(end: Result<TurnEnd, Halt>, turn: &Turn, stderr: &str) -> TurnEnd {
    match end {
        Ok(end) | Err(Halt::Ended(end)) => {
            if !stderr.is_empty() {
                tracing::debug!(agent = %turn.agent, task = %turn.task_id, ?stderr,
                    "agent program wrote to standard error");
            }
            end
        }
        Err(Halt::Stopped) => TurnEnd::Canceled,
        Err(Halt::Fault(reason)) => {
            let id = error_id();
            tracing::warn!(agent = %turn.agent, task = %turn.task_id, error_id = %id, %reason,
                ?stderr, "agent program failed");
            told(&reason, &id)
        }
    }
}
