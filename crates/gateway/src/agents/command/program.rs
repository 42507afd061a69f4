//! A program at work for one turn: started, attended to, and never left behind.

use std::future::Future;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::Halt;
use super::output::{Gone, Output, feed};
use super::scratch::Scratch;
use super::settings::{CommandSettings, Protocol};
use super::variables::turn_variables;
use crate::agents::Turn;
use crate::agents::part_text::text_without_files;
use crate::agents::process::{Group, StderrTail, find_program, piped};

/// The running program of one turn. Dropping it kills the whole group.
pub(super) struct Program {
    // Before `child`, so that the group is killed while its number is still held by the leader.
    group: Group,
    child: Child,
    stdin: Option<ChildStdin>,
    stderr: ChildStderr,
    input: Vec<u8>,
    gone: Gone,
    pub(super) stderr_tail: StderrTail,
    pub(super) scratch: Arc<Scratch>,
}

impl Program {
    /// Starts the program. The error is for the operator: it names paths of this machine.
    pub(super) async fn start(
        settings: &CommandSettings,
        turn: &Turn,
    ) -> Result<(Self, Output), String> {
        let prepared = prepare(settings.clone(), turn.clone());
        let Prepared {
            program,
            cwd,
            context_dir,
            scratch,
        } = tokio::task::spawn_blocking(prepared)
            .await
            .map_err(|error| error.to_string())??;
        let mut child = piped(
            &program,
            &settings.command[1..],
            &cwd,
            &settings.environment,
        )
        .envs(turn_variables(turn, &scratch, context_dir.as_deref()))
        .spawn()
        .map_err(|error| format!("{} could not be started: {error}", program.display()))?;
        let group = Group::led_by(&child).ok_or("the program was gone before it ran")?;
        let stdin = child.stdin.take();
        let (stdout, stderr) = pipes(&mut child);
        let gone = Gone::new();
        let output = Output::new(stdout, gone.clone(), settings.max_output_bytes);
        let program = Self {
            group,
            child,
            stdin,
            stderr,
            input: input(settings.protocol, turn)?,
            gone,
            stderr_tail: StderrTail::default(),
            scratch: Arc::new(scratch),
        };
        Ok((program, output))
    }

    /// Feeds the program and waits until it has ended and `reading` has all of its output.
    pub(super) async fn attend(
        &mut self,
        reading: impl Future<Output = Result<(), Halt>>,
    ) -> Result<ExitStatus, Halt> {
        let feeding = feed(self.stdin.take(), &self.input);
        let ending = end_of(&mut self.child, &mut self.group, &self.gone);
        let listening = async {
            listen(&mut self.stderr_tail, &mut self.stderr, &self.gone).await;
            Ok(())
        };
        let all = async { tokio::try_join!(ending, reading, listening) };
        tokio::select! {
            ended = all => ended.map(|(status, (), ())| status),
            never = feeding => match never {},
        }
    }

    /// Lets a program that has said its last word end by itself, for as long as `grace`.
    pub(super) async fn see_out(&mut self, mut output: Output, grace: Duration) {
        let ending = end_of(&mut self.child, &mut self.group, &self.gone);
        let listening = listen(&mut self.stderr_tail, &mut self.stderr, &self.gone);
        let all = async { tokio::join!(ending, listening, output.discard()) };
        // Not in time: `stop` comes next.
        drop(tokio::time::timeout(grace, all).await);
    }

    /// Ends whatever still runs and removes the turn's directory.
    pub(super) async fn stop(mut self, grace: Duration) {
        self.group.stop(&mut self.child, grace).await;
        let scratch = self.scratch.clone();
        drop(self);
        // Removing many files takes time that other turns need.
        drop(tokio::task::spawn_blocking(move || drop(scratch)).await);
    }
}

/// Keeps the end of standard error until it is closed or the program is gone.
async fn listen(tail: &mut StderrTail, stderr: &mut ChildStderr, gone: &Gone) {
    let mut gone = gone.clone();
    tokio::select! {
        biased;
        () = tail.follow(stderr) => {}
        () = gone.drained() => {}
    }
}

/// Waits for the program and then ends what it left in its group.
async fn end_of(child: &mut Child, group: &mut Group, gone: &Gone) -> Result<ExitStatus, Halt> {
    let status = child.wait().await;
    group.sweep().await;
    gone.fire();
    status.map_err(|_| Halt::Fault("the agent's program was lost".to_owned()))
}

/// How a program ended that did not end well.
pub(super) fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("the agent's program ended with exit code {code}"),
        (None, Some(signal)) => format!("the agent's program was killed by signal {signal}"),
        (None, None) => "the agent's program ended in an unknown way".to_owned(),
    }
}

fn pipes(child: &mut Child) -> (ChildStdout, ChildStderr) {
    let stdout = child.stdout.take().expect("stdout was set to a pipe");
    let stderr = child.stderr.take().expect("stderr was set to a pipe");
    (stdout, stderr)
}

fn input(protocol: Protocol, turn: &Turn) -> Result<Vec<u8>, String> {
    match protocol {
        Protocol::Text => Ok(text_without_files(&turn.message).into_bytes()),
        Protocol::Jsonl => {
            let mut line = serde_json::to_vec(&*turn.message).map_err(|error| error.to_string())?;
            line.push(b'\n');
            Ok(line)
        }
    }
}

struct Prepared {
    program: PathBuf,
    cwd: PathBuf,
    context_dir: Option<PathBuf>,
    scratch: Scratch,
}

/// All that is looked up and made in the file system before a program starts.
fn prepare(
    settings: CommandSettings,
    turn: Turn,
) -> impl FnOnce() -> Result<Prepared, String> + Send + 'static {
    move || {
        let program = find_program(&settings.command, &settings.cwd, &settings.environment)?;
        let context_dir = settings.dirs.make(&turn)?;
        let scratch = Scratch::create(settings.scratch_dir.as_deref(), &turn.message)
            .map_err(|error| format!("the turn's directory could not be made: {error}"))?;
        let cwd = context_dir.clone().unwrap_or(settings.cwd);
        Ok(Prepared {
            program,
            cwd,
            context_dir,
            scratch,
        })
    }
}
