//! The exit statuses of every command: they say whether nuncio did its job, never what an agent
//! decided (a2a-cli specification 11.6).

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitCode {
    /// The job is done, whatever the task's state.
    Success,
    /// Something failed that has no status of its own.
    Failure,
    /// A wrong argument, flag or combination.
    Usage,
    /// No such card, or the agent cannot be reached.
    Unreachable,
    /// A credential is missing or was refused.
    Authentication,
    /// The wait budget is used up.
    Timeout,
    /// Ctrl-C: 128 + SIGINT, as shells expect it.
    Interrupted,
}

impl ExitCode {
    /// The number the process ends with.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Unreachable => 3,
            Self::Authentication => 4,
            Self::Timeout => 5,
            Self::Interrupted => 130,
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}
