//! Files of the data directory that hold what is this user's alone. They are replaced as a whole, by one
//! process at a time.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Waits until nobody else changes the file; others wait until the lock is dropped.
///
/// # Errors
///
/// When the lock, which stands beside the file, cannot be had.
pub(crate) fn lock(file: &Path) -> io::Result<File> {
    let lock = open(&file.with_extension("lock"))?;
    lock.lock()?;
    Ok(lock)
}

/// Replaces the file: whoever reads it sees the old text or the new one.
///
/// # Errors
///
/// When it cannot be written; then the old text stands.
pub(crate) fn replace(file: &Path, text: &str) -> io::Result<()> {
    let mut new = file.as_os_str().to_owned();
    new.push(".new");
    let new = PathBuf::from(new);
    let mut out = open(&new)?;
    out.set_len(0)?;
    out.write_all(text.as_bytes())?;
    out.sync_all()?;
    std::fs::rename(&new, file)
}

/// Opens a file for writing that nobody else may read. What is in it stays.
fn open(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .create(true)
        .write(true)
        .truncate(false)
        .mode(0o600)
        .open(file)
}
