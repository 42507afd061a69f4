//! A working directory per conversation, so that a program can remember.
//!
//! The name is a hash: no id of a caller ever becomes a path, and two conversations never meet.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::Turn;
use crate::sessions::Session;

/// Directory of the data directory that holds those of conversations.
const CONTEXT_DIRS: &str = "contexts";
/// Directory of the data directory that holds those of workers.
const WORKER_DIRS: &str = "workers";

/// Where the directories of an agent's conversations are.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConversationDirs {
    /// `None`: conversations have none.
    contexts: Option<PathBuf>,
    /// `None`: workers have none.
    workers: Option<PathBuf>,
}

impl ConversationDirs {
    /// Directories below the data directory: for workers, and for every conversation if that is wanted.
    ///
    /// # Errors
    /// The working directory is gone, to which `data_dir` is relative.
    pub(super) fn below(data_dir: &Path, for_all: bool) -> Result<Self, String> {
        let contexts = for_all.then(|| absolute(&data_dir.join(CONTEXT_DIRS)));
        Ok(Self {
            contexts: contexts.transpose()?,
            workers: Some(absolute(&data_dir.join(WORKER_DIRS))?),
        })
    }

    /// Makes the directory of a turn's conversation, for this user alone, if it is not there yet;
    /// `None`: it has none.
    pub(super) fn make(&self, turn: &Turn) -> Result<Option<PathBuf>, String> {
        let root = if turn.is_worker {
            &self.workers
        } else {
            &self.contexts
        };
        let dir = root.as_ref().map(|it| it.join(turn.session.file_name()));
        if let Some(dir) = &dir {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
            made.map_err(|error| format!("{} could not be made: {error}", dir.display()))?;
        }
        Ok(dir)
    }

    /// Removes the directories of a conversation, with all that is in them.
    pub(super) async fn remove(&self, session: &Session) {
        for root in self.contexts.iter().chain(&self.workers) {
            let dir = root.join(session.file_name());
            match tokio::fs::remove_dir_all(&dir).await {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(%error, dir = %dir.display(), "a directory stays");
                }
                _ => {}
            }
        }
    }
}

/// The path from the root. The error names it.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))
}
