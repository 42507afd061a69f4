//! The directory of one turn: files that came with the message, files the program leaves.
//!
//! Lives exactly as long as the turn. Never follows a link a program put there.

use bytes::Bytes;
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use nuncio_wire::{Artifact, Message, Part, PartContent};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

use crate::agents::file_name::{FileNames, media_type_of};
use crate::ids;

/// Most files one turn may hand over: as many as a message may have parts.
const MAX_OUTPUT_FILES: usize = 100;
/// Largest single file, in bytes (11 MiB): with base64 around it, it still fits into one event.
const MAX_OUTPUT_FILE_BYTES: u64 = 11 * 1024 * 1024;

/// Ends the number of our process in the name of a turn's directory.
const SEPARATOR: char = '-';

/// Removes the directories that processes of nuncio left below `parent` when they were killed.
pub(super) fn remove_left_behind(parent: &Path) {
    // Nothing there: nothing was left.
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.split_once(SEPARATOR)?.0.parse().ok());
        if let Some(owner) = owner
            && kill(Pid::from_raw(owner), None) == Err(Errno::ESRCH)
            && let Err(error) = fs::remove_dir_all(entry.path())
        {
            tracing::warn!(%error, "a directory of an earlier run stays");
        }
    }
}

/// The directory of one turn, removed when dropped.
#[derive(Debug)]
pub(super) struct Scratch {
    dir: TempDir,
    names: Vec<String>,
}

impl Scratch {
    /// Makes the directory below `parent` and writes the message's `raw` parts into it.
    pub(super) fn create(parent: Option<&Path>, message: &Message) -> io::Result<Self> {
        let prefix = format!("{}{SEPARATOR}", std::process::id());
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix);
        let dir = match parent {
            Some(parent) => {
                fs::create_dir_all(parent)?;
                builder.tempdir_in(parent)?
            }
            None => builder.tempdir()?,
        };
        let mut scratch = Self {
            dir,
            names: Vec::new(),
        };
        fs::create_dir(scratch.files_dir())?;
        fs::create_dir(scratch.output_dir())?;
        let mut names = FileNames::default();
        for part in &message.parts {
            if let PartContent::Raw(bytes) = &part.content {
                let name = names.give(part.filename.as_deref(), part.media_type.as_deref());
                fs::write(scratch.files_dir().join(&name), bytes)?;
                scratch.names.push(name);
            }
        }
        Ok(scratch)
    }

    /// Where the message's files are.
    pub(super) fn files_dir(&self) -> PathBuf {
        self.dir.path().join("in")
    }

    /// Where the program leaves files for the caller.
    pub(super) fn output_dir(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    /// Full paths of the message's files in the order of its parts, one per line.
    pub(super) fn file_list(&self) -> OsString {
        let dir = self.files_dir();
        let mut list = OsString::new();
        for (index, name) in self.names.iter().enumerate() {
            if index > 0 {
                list.push("\n");
            }
            list.push(dir.join(name));
        }
        list
    }

    /// The regular files of the output directory as artifacts, by name. Directories and links in
    /// it are passed over. An error is for the caller.
    pub(super) fn collect(&self, max_bytes: u64) -> Result<Vec<Artifact>, String> {
        let unreadable = |_| "the agent's files could not be read".to_owned();
        let mut names = Vec::new();
        for entry in fs::read_dir(self.output_dir()).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            if entry.file_type().map_err(unreadable)?.is_file() {
                names.push(entry.file_name());
            }
        }
        if names.len() > MAX_OUTPUT_FILES {
            return Err(format!("the agent left more than {MAX_OUTPUT_FILES} files"));
        }
        names.sort();
        let mut left = max_bytes;
        let mut artifacts = Vec::with_capacity(names.len());
        for name in names {
            let limit = left.min(MAX_OUTPUT_FILE_BYTES);
            let bytes = read_file(&self.output_dir().join(&name), limit).map_err(unreadable)?;
            let Some(bytes) = bytes else {
                let bound = if limit < left { limit } else { max_bytes };
                return Err(format!(
                    "the agent's files exceed the limit of {bound} bytes"
                ));
            };
            left -= bytes.len() as u64;
            artifacts.push(file_artifact(&name.to_string_lossy(), bytes));
        }
        Ok(artifacts)
    }
}

/// The file's bytes; `None` if there are more than `limit`.
fn read_file(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let no_follow = nix::fcntl::OFlag::O_NOFOLLOW | nix::fcntl::OFlag::O_NONBLOCK;
    let file = File::options()
        .read(true)
        .custom_flags(no_follow.bits())
        .open(path)?;
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

fn file_artifact(name: &str, bytes: Vec<u8>) -> Artifact {
    let guess = || match std::str::from_utf8(&bytes) {
        Ok(_) => "text/plain",
        Err(_) => "application/octet-stream",
    };
    let media_type = media_type_of(name).unwrap_or_else(guess);
    let mut part = Part::new(PartContent::Raw(Bytes::from(bytes)));
    part.media_type = Some(media_type.to_owned());
    part.filename = Some(name.to_owned());
    let mut artifact = Artifact::new(ids::new_id(), vec![part]);
    artifact.name = Some(name.to_owned());
    artifact
}

#[cfg(test)]
mod tests {
    use super::*;
    use nuncio_wire::Role;

    fn raw(name: &str, bytes: &[u8]) -> Part {
        let mut part = Part::new(PartContent::Raw(Bytes::copy_from_slice(bytes)));
        part.filename = Some(name.to_owned());
        part
    }

    #[test]
    fn files_of_the_message_stay_inside_and_keep_their_order() {
        let message = Message::new(
            "m",
            Role::User,
            vec![raw("../../z", b"1"), Part::text("t"), raw("a", b"2")],
        );
        let scratch = Scratch::create(None, &message).unwrap();
        let list = scratch.file_list().into_string().unwrap();
        let paths: Vec<&Path> = list.lines().map(Path::new).collect();
        assert_eq!(
            paths,
            [scratch.files_dir().join("z"), scratch.files_dir().join("a")]
        );
        assert_eq!(fs::read(paths[0]).unwrap(), b"1");
        let place = scratch.files_dir();
        drop(scratch);
        assert!(!place.exists());
    }

    #[test]
    fn only_what_dead_processes_left_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let mut dead = std::process::Command::new("true").spawn().unwrap();
        dead.wait().unwrap();
        let message = Message::new("m", Role::User, vec![]);
        let ours = Scratch::create(Some(parent.path()), &message).unwrap();
        let left = parent.path().join(format!("{}-x", dead.id()));
        fs::create_dir_all(left.join("in")).unwrap();
        fs::create_dir(parent.path().join("other")).unwrap();
        remove_left_behind(parent.path());
        assert!(!left.exists());
        assert!(ours.files_dir().exists() && parent.path().join("other").exists());
    }

    #[test]
    fn output_files_become_artifacts_and_links_do_not() {
        let scratch = Scratch::create(None, &Message::new("m", Role::User, vec![])).unwrap();
        let out = scratch.output_dir();
        fs::write(out.join("b.bin"), [0xFF, 0]).unwrap();
        fs::write(out.join("a.png"), b"png").unwrap();
        fs::create_dir(out.join("dir")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", out.join("link")).unwrap();
        let artifacts = scratch.collect(5).unwrap();
        let seen: Vec<_> = artifacts
            .iter()
            .map(|a| {
                (
                    a.parts[0].filename.as_deref(),
                    a.parts[0].media_type.as_deref(),
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                (Some("a.png"), Some("image/png")),
                (Some("b.bin"), Some("application/octet-stream"))
            ]
        );
        assert_eq!(
            scratch.collect(4).unwrap_err(),
            "the agent's files exceed the limit of 4 bytes"
        );
    }
}
