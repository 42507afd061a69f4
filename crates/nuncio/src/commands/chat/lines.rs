//! Where the lines of a conversation come from: an editor on a terminal, else standard input as it is.

use std::io::{self, IsTerminal as _};

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use tokio::io::{AsyncBufReadExt as _, BufReader, Stdin};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::output::CliError;

/// The lines.
pub(super) enum Lines {
    /// Typed; the editor is away while it reads.
    Typed(Option<Box<DefaultEditor>>),
    Piped(tokio::io::Lines<BufReader<Stdin>>),
}

/// What came.
#[derive(Debug)]
pub(super) enum Entry {
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Nothing more will come.
    End,
}

impl Lines {
    /// Finds out where lines come from. Where nobody could see a prompt, none is waited for.
    ///
    /// # Errors
    /// When they would have to be typed without being asked for, or the terminal is of no use.
    pub(super) fn open() -> Result<Self, CliError> {
        if !io::stdin().is_terminal() {
            let stdin = BufReader::new(tokio::io::stdin());
            return Ok(Self::Piped(stdin.lines()));
        }
        if !io::stdout().is_terminal() {
            let error = CliError::usage("chat shows what it asks on a terminal, and there is none");
            return Err(error.with_hint("pipe the lines in, or use nuncio send"));
        }
        match DefaultEditor::new() {
            Ok(editor) => Ok(Self::Typed(Some(Box::new(editor)))),
            Err(error) => Err(unreadable(&error)),
        }
    }

    /// Whether somebody types them.
    pub(super) fn are_typed(&self) -> bool {
        matches!(self, Self::Typed(_))
    }

    /// The next line, asked for with `prompt` where it is typed.
    ///
    /// # Errors
    /// When the input cannot be read.
    pub(super) async fn next(
        &mut self,
        prompt: &'static str,
        interrupts: &mut Interrupts,
    ) -> Result<Entry, CliError> {
        match self {
            Self::Typed(editor) => edit(editor, prompt).await,
            Self::Piped(lines) => tokio::select! {
                biased;
                () = interrupts.next() => Ok(Entry::Interrupted),
                line = lines.next_line() => match line {
                    Ok(Some(line)) => Ok(Entry::Line(line)),
                    Ok(None) => Ok(Entry::End),
                    Err(error) => Err(unreadable(&error)),
                },
            },
        }
    }
}

/// Has a line edited, on a thread that may wait. The terminal gives Ctrl-C as a key meanwhile.
async fn edit(
    place: &mut Option<Box<DefaultEditor>>,
    prompt: &'static str,
) -> Result<Entry, CliError> {
    let mut editor = place.take().expect("one line is read at a time");
    let reading = tokio::task::spawn_blocking(move || {
        let line = editor.readline(prompt);
        if let Ok(line) = &line {
            // A history that takes no more is no reason to end.
            let _ = editor.add_history_entry(line);
        }
        (editor, line)
    });
    let (editor, line) = reading.await.map_err(|error| unreadable(&error))?;
    *place = Some(editor);
    match line {
        Ok(line) => Ok(Entry::Line(line)),
        Err(ReadlineError::Interrupted) => Ok(Entry::Interrupted),
        Err(ReadlineError::Eof) => Ok(Entry::End),
        Err(error) => Err(unreadable(&error)),
    }
}

fn unreadable(error: &dyn std::fmt::Display) -> CliError {
    CliError::internal(format!("standard input cannot be read: {error}"))
}

/// Ctrl-C while no line is edited.
pub(super) struct Interrupts(Option<Signal>);

impl Interrupts {
    /// Listens from now on. Where that cannot be had, Ctrl-C ends the process.
    pub(super) fn listen() -> Self {
        Self(signal(SignalKind::interrupt()).ok())
    }

    /// The next one. Cancel-safe.
    pub(super) async fn next(&mut self) {
        if let Some(signal) = &mut self.0
            && signal.recv().await.is_some()
        {
            return;
        }
        std::future::pending().await
    }
}
