//! A working directory per conversation, so that a program can remember.
//!
//! The name is a hash: no id of a caller ever becomes a path, and two conversations never meet.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::sessions::Session;

/// Makes the directory of a conversation below `root`, for this user alone, if it is not there yet.
pub(super) fn context_dir(root: &Path, session: &Session) -> Result<PathBuf, String> {
    let dir = root.join(session.file_name());
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&dir);
    made.map_err(|error| format!("{} could not be made: {error}", dir.display()))?;
    Ok(dir)
}
