//! The operator's kill switch of one agent: open, draining or paused. Outlives a restart.
//!
//! What it means for messages is decided where they are taken and where turns begin: a draining agent
//! ends what it has and takes nothing new; a paused one also begins no turn that waits.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tokio::sync::watch;

/// What an agent takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    /// Everything.
    #[default]
    Open,
    /// Answers to its questions; no new tasks.
    Draining,
    /// Nothing, and waiting turns do not begin.
    Paused,
}

impl Gate {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Draining => "draining",
            Self::Paused => "paused",
        }
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Gate {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Open, Self::Draining, Self::Paused]
            .into_iter()
            .find(|gate| gate.as_str() == text)
            .ok_or(())
    }
}

/// Directory of the data directory in which gates that are not open are written down.
const GATES_DIR: &str = "gates";

/// The gate of one agent.
#[derive(Debug)]
pub struct AgentGate {
    now: watch::Sender<Gate>,
    file: PathBuf,
}

impl AgentGate {
    /// The gate as it was left, if it was not left open.
    pub fn of(agent: &str, data_dir: &Path) -> Self {
        let file = data_dir.join(GATES_DIR).join(agent);
        let left = std::fs::read_to_string(&file).unwrap_or_default();
        let gate = left.trim().parse().unwrap_or_default();
        if gate != Gate::Open {
            tracing::warn!(agent, %gate, "an agent is not open: `nuncio agents resume` opens it");
        }
        Self {
            now: watch::Sender::new(gate),
            file,
        }
    }

    /// How it stands.
    pub fn now(&self) -> Gate {
        *self.now.borrow()
    }

    /// Sets it, and writes it down for the next start.
    ///
    /// # Errors
    /// The gate is set, but could not be written down.
    pub fn set(&self, gate: Gate) -> std::io::Result<()> {
        self.now.send_replace(gate);
        if gate == Gate::Open {
            return match std::fs::remove_file(&self.file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        if let Some(dir) = self.file.parent() {
            std::fs::create_dir_all(dir)?;
        }
        std::fs::write(&self.file, gate.as_str())
    }

    /// Returns when turns may begin.
    pub async fn lets_turns_begin(&self) {
        let mut now = self.now.subscribe();
        // The sender lives as long as we do.
        let _ = now.wait_for(|gate| *gate != Gate::Paused).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_stays_as_it_was_left() {
        let dir = tempfile::tempdir().unwrap();
        let gate = AgentGate::of("a", dir.path());
        assert_eq!(gate.now(), Gate::Open);
        gate.lets_turns_begin().await;
        gate.set(Gate::Paused).unwrap();
        let again = AgentGate::of("a", dir.path());
        assert_eq!(again.now(), Gate::Paused);
        again.set(Gate::Draining).unwrap();
        again.lets_turns_begin().await;
        again.set(Gate::Open).unwrap();
        again.set(Gate::Open).unwrap();
        assert_eq!(AgentGate::of("a", dir.path()).now(), Gate::Open);
    }
}
