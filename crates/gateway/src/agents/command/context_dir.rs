//! A working directory per conversation, so that a program can remember.
//!
//! The name is a hash: no id of a caller ever becomes a path, and two conversations never meet.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::agents::Turn;

/// The directory's name: SHA-256 of agent, owner and context in hexadecimal.
#[must_use]
pub fn context_dir_name(agent: &str, owner: &str, context_id: &str) -> String {
    let mut hash = Sha256::new();
    for field in [agent, owner, context_id] {
        // With its length before it, no field can reach into the next one.
        hash.update((field.len() as u64).to_be_bytes());
        hash.update(field);
    }
    let mut name = String::with_capacity(64);
    for byte in hash.finalize() {
        // Writing to a String cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// Makes the turn's directory below `root`, for this user alone, if it is not there yet.
pub(super) fn context_dir(root: &Path, turn: &Turn) -> Result<PathBuf, String> {
    let dir = root.join(context_dir_name(&turn.agent, &turn.owner, &turn.context_id));
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&dir);
    made.map_err(|error| format!("{} could not be made: {error}", dir.display()))?;
    Ok(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_conversation_has_its_own_name_and_fields_do_not_run_together() {
        let name = context_dir_name("a", "peer:b", "c");
        assert_eq!(name.len(), 64);
        assert_eq!(name, context_dir_name("a", "peer:b", "c"));
        for (agent, owner, context) in [
            ("a", "peer:b", "d"),
            ("a", "peer:bc", ""),
            ("apeer:", "b", "c"),
            ("a", "operator", "c"),
        ] {
            assert_ne!(
                name,
                context_dir_name(agent, owner, context),
                "{agent} {owner} {context}"
            );
        }
    }
}
