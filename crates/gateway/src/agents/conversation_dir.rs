//! A working directory per conversation, so that a program can remember.
//!
//! The name is a hash: no id of a caller ever becomes a path, and two conversations never meet.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::sessions::Session;

/// Makes the directory of a conversation below `root`, for this user alone, if it is not there yet.
pub(super) fn make(root: &Path, session: &Session) -> Result<PathBuf, String> {
    let dir = root.join(session.file_name());
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&dir);
    made.map_err(|error| format!("{} could not be made: {error}", dir.display()))?;
    Ok(dir)
}

/// Removes the directories of a conversation below these roots, with all that is in them.
pub(super) async fn remove(roots: &[&PathBuf], session: &Session) {
    for root in roots {
        let dir = root.join(session.file_name());
        match tokio::fs::remove_dir_all(&dir).await {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, dir = %dir.display(), "a directory stays");
            }
            _ => {}
        }
    }
}
