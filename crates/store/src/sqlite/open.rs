//! Opens the database file: one process at a time, private to its user, in a known state.

use rusqlite::{Connection, OpenFlags};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::SqliteOptions;
use super::schema::{migrate, refuse};
use crate::StoreError;

/// How long another program may hold the file (a backup, a shell) before a call fails.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Pages of the log after which it is written back: 16 MiB. The pages that change most are then
/// written back once for hundreds of commits.
const CHECKPOINT_PAGES: u32 = 4000;
/// Page cache of the writer, KiB.
const WRITER_CACHE_KIB: i64 = 16 * 1024;
/// Page cache of one reader, KiB.
const READER_CACHE_KIB: i64 = 4 * 1024;
/// Size of a page of a new file, bytes.
const PAGE_BYTES: u64 = 4096;

/// The database opened, before its threads start.
pub(super) struct Opened {
    pub(super) writer: Connection,
    pub(super) readers: Vec<Connection>,
    pub(super) epoch: u64,
    /// Held as long as the file is in use.
    pub(super) lock: File,
}

pub(super) fn open(path: &Path, options: &SqliteOptions) -> Result<Opened, StoreError> {
    let shown = path.display().to_string();
    if path.is_dir() {
        return Err(StoreError::Open(format!(
            "cannot open the store {shown}: it is a directory; name a file in it in [store] url"
        )));
    }
    let cannot = |error: &io::Error| cannot_open(&shown, error);
    let directory = make_directory(path).map_err(|error| cannot(&error))?;
    let lock = lock(path, &shown)?;
    let made = make_file(path).map_err(|error| cannot(&error))?;
    if made {
        // The name must survive a loss of power as the content does.
        File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(|e| cannot(&e))?;
    }
    let refuse = |error: &rusqlite::Error| refuse(&shown, error);
    let mut writer = connect(path, false).map_err(|error| refuse(&error))?;
    set_up_writer(&writer, options).map_err(|error| refuse(&error))?;
    migrate(&mut writer, &shown)?;
    let epoch = begin_epoch(&mut writer, &shown)?;
    let readers = (0..options.readers.max(1))
        .map(|_| connect(path, true))
        .collect::<Result<_, _>>()
        .map_err(|error| refuse(&error))?;
    Ok(Opened {
        writer,
        readers,
        epoch,
        lock,
    })
}

/// Makes the directory of the file, for its user alone, if it is missing.
fn make_directory(path: &Path) -> io::Result<&Path> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let directory = parent.unwrap_or(Path::new("."));
    if !directory.is_dir() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
    }
    Ok(directory)
}

/// Makes the file, for its user alone, if it is missing. The log beside it takes over its mode.
fn make_file(path: &Path) -> io::Result<bool> {
    let mut options = OpenOptions::new();
    match options
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
    {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map(|_| false),
        Err(error) => Err(error),
    }
}

/// Takes the lock file beside the database. A lock on the database itself would be lost whenever
/// the process closes any other handle of it.
fn lock(path: &Path, shown: &str) -> Result<File, StoreError> {
    let mut lock_path = path.as_os_str().to_owned();
    lock_path.push(".lock");
    let lock_path = PathBuf::from(lock_path);
    let mut options = OpenOptions::new();
    let file = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&lock_path)
        .map_err(|error| cannot_open(&lock_path.display().to_string(), &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Open(format!(
            "the store {shown} is in use by another nuncio; stop that one, or give this one \
             another path in [store] url or another NUNCIO_HOME"
        ))),
        Err(TryLockError::Error(error)) => {
            Err(cannot_open(&lock_path.display().to_string(), &error))
        }
    }
}

fn cannot_open(shown: &str, error: &io::Error) -> StoreError {
    let remedy = match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "the user that runs nuncio must be able to write it and its directory"
        }
        ErrorKind::StorageFull => "make room on its disk",
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "a part of the path is a file; name another path in [store] url"
        }
        _ => "see that the path in [store] url is right and its disk works",
    };
    StoreError::Open(format!("cannot open the store {shown}: {error}; {remedy}"))
}

fn connect(path: &Path, reader: bool) -> rusqlite::Result<Connection> {
    // The reader's handle may write too: only such a handle can mend the log's index when it is
    // the first to look at it. `query_only` keeps it from writing rows.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    if reader {
        connection.pragma_update(None, "query_only", true)?;
        connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    }
    Ok(connection)
}

fn set_up_writer(connection: &Connection, options: &SqliteOptions) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| {
        let mode: String = row.get(0)?;
        if mode.eq_ignore_ascii_case("wal") {
            return Ok(());
        }
        tracing::warn!(mode, "the store's disk does not allow a write-ahead log");
        Ok(())
    })?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    connection.pragma_update_and_check(None, "wal_autocheckpoint", CHECKPOINT_PAGES, |_| Ok(()))?;
    let pages = options.max_bytes.map_or(i64::from(u32::MAX - 1), |bytes| {
        i64::try_from((bytes / PAGE_BYTES).max(1)).unwrap_or(i64::MAX)
    });
    connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
}

/// Takes the epoch, a new one if the last process did not end cleanly, and checks the file then.
fn begin_epoch(connection: &mut Connection, shown: &str) -> Result<u64, StoreError> {
    let refuse = |error: &rusqlite::Error| refuse(shown, error);
    let (epoch, clean) = read_meta(connection).map_err(|error| refuse(&error))?;
    if !clean {
        tracing::info!(
            path = shown,
            "the store was not closed cleanly: checking it"
        );
        let verdict: String = connection
            .query_row("PRAGMA quick_check(1)", (), |row| row.get(0))
            .map_err(|error| refuse(&error))?;
        if verdict != "ok" {
            return Err(StoreError::Open(format!(
                "the store {shown} is damaged ({verdict}); restore a backup, or move it away to \
                 start anew"
            )));
        }
    }
    let epoch = if clean { epoch } else { epoch + 1 };
    write_meta(connection, epoch, false).map_err(|error| refuse(&error))?;
    Ok(epoch)
}

fn read_meta(connection: &Connection) -> rusqlite::Result<(u64, bool)> {
    let mut read = connection.prepare("SELECT value FROM meta WHERE name = ?1")?;
    let epoch = read.query_row(["epoch"], |row| row.get(0))?;
    let clean = read.query_row(["clean"], |row| row.get(0))?;
    Ok((epoch, clean))
}

/// Writes epoch and state in one transaction.
pub(super) fn write_meta(connection: &Connection, epoch: u64, clean: bool) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    let write = "UPDATE meta SET value = ?2 WHERE name = ?1";
    transaction.execute(write, ("epoch", epoch))?;
    transaction.execute(write, ("clean", clean))?;
    transaction.commit()
}
