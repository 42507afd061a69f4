//! `chat`: a conversation with an agent, a line at a time. The context goes along from line to line, and
//! the task while it waits for an answer.
//!
//! What is typed comes through `lines`, what is shown goes through `screen`, `turn` is one line's way.

mod lines;
mod screen;
mod turn;

use clap::Args;
use nuncio_client::Client;

use self::lines::{Entry, Interrupts, Lines};
use self::turn::Turned;
use crate::agent::connect;
use crate::client_settings::{
    AgentOptions, AgentSettings, OutputOptions, WaitOptions, WaitSettings, agent_settings,
    text_setting, wait_settings,
};
use crate::commands::session::Session;
use crate::commands::wait::{agent_flags, quoted};
use crate::exit_code::ExitCode;
use crate::output::{self, CliError, Fields, Format};

/// Converse with an agent, a line at a time.
///
/// On a terminal lines can be edited, and Ctrl-C cancels the task in hand; once more leaves, as Ctrl-D
/// does. Lines may be piped in, too: each answer is then printed as `nuncio send` prints it. The output
/// is text in any case.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nuncio chat -a https://agents.example.org
  nuncio chat -a localhost:8081 --context-id CONTEXT
  printf 'What is new?\\nAnd since when?\\n' | nuncio chat -a localhost:8081")]
pub(crate) struct ChatArgs {
    /// Go on in this context [env: A2ACLI_CONTEXT_ID]
    #[arg(long, value_name = "ID")]
    context_id: Option<String>,
    /// Go on with this task: it is shown, and the first line answers what it asks
    /// [env: A2ACLI_TASK_ID]
    #[arg(long, value_name = "ID")]
    task_id: Option<String>,
    #[command(flatten)]
    agent: AgentOptions,
    #[command(flatten)]
    wait: WaitOptions,
    #[command(flatten)]
    output: OutputOptions,
}

/// A conversation under way.
struct Chat {
    session: Session,
    agent: AgentSettings,
    wait: WaitSettings,
    client: Client,
    is_on_terminal: bool,
    interrupts: Interrupts,
    /// The conversation, once the agent has named it.
    context_id: Option<String>,
    /// The task that waits for an answer.
    task_id: Option<String>,
    /// How the last line failed that did.
    failed: Option<ExitCode>,
}

/// Runs the command.
pub(crate) async fn run(args: ChatArgs) -> ExitCode {
    let mut session = match Session::begin(&args.output) {
        Ok(session) => session,
        Err(code) => return code,
    };
    // For people, whatever a variable asks of commands that are made for programs.
    session.output.format = Format::Text;
    let output = session.output;
    match converse(args, session).await {
        Ok(code) => code,
        Err(error) => output.failure(&error),
    }
}

async fn converse(args: ChatArgs, session: Session) -> Result<ExitCode, CliError> {
    let layers = &session.layers;
    let agent = agent_settings(&args.agent, layers)?;
    let wait = wait_settings(&args.wait, layers)?;
    let context_id = text_setting(args.context_id.as_ref(), "context-id", layers);
    let task_id = text_setting(args.task_id.as_ref(), "task-id", layers);
    let mut lines = Lines::open()?;
    let client = connect(&agent).await?;
    let mut chat = Chat {
        session,
        agent,
        wait,
        client,
        is_on_terminal: lines.are_typed(),
        interrupts: Interrupts::listen(),
        context_id,
        task_id: None,
        failed: None,
    };
    if let Some(id) = task_id
        && chat.pick_up(id).await? == Turned::Left
    {
        return Ok(ExitCode::Interrupted);
    }
    let end = chat.go_on(&mut lines).await?;
    chat.say_how_to_come_back();
    Ok(end)
}

impl Chat {
    /// Takes line after line until somebody leaves.
    async fn go_on(&mut self, lines: &mut Lines) -> Result<ExitCode, CliError> {
        loop {
            let prompt = if self.task_id.is_some() {
                "answer> "
            } else {
                "> "
            };
            let turned = match lines.next(prompt, &mut self.interrupts).await? {
                Entry::Line(line) if line.trim().is_empty() => continue,
                Entry::Line(line) => self.say(line).await,
                Entry::Interrupted => match self.task_id.take() {
                    Some(id) => self.cancel(&id).await,
                    None => Turned::Left,
                },
                Entry::End if self.is_on_terminal => return Ok(ExitCode::Success),
                Entry::End => return Ok(self.failed.unwrap_or(ExitCode::Success)),
            };
            if turned == Turned::Left {
                return Ok(ExitCode::Interrupted);
            }
        }
    }

    /// On a terminal the ids are not shown with every answer.
    fn say_how_to_come_back(&self) {
        let Some(context) = self.context_id.as_ref().filter(|_| self.is_on_terminal) else {
            return;
        };
        let flags = agent_flags(&self.agent);
        let mut command = format!("nuncio chat{flags} --context-id {}", quoted(context));
        if let Some(task) = &self.task_id {
            command += &format!(" --task-id {}", quoted(task));
        }
        let mut fields = Fields::default();
        fields.field("Continue", &command);
        output::write_stdout(&fields.finish());
    }
}
