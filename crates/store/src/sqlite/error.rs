//! What SQLite's errors mean for a caller.

use rusqlite::{Error, ErrorCode, ffi};

use crate::StoreError;

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        let damaged = matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        ) || matches!(
            error,
            Error::FromSqlConversionFailure(..) | Error::IntegralValueOutOfRange(..)
        );
        if damaged {
            Self::Damaged(error.to_string())
        } else {
            Self::Unavailable(error.to_string())
        }
    }
}

/// Whether the disk refused to sync. What it wrote before is then in doubt, and a later sync that
/// works proves nothing: the kernel reports a lost page once.
pub(super) fn is_failed_sync(error: &Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    matches!(
        code,
        Some(ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC)
    )
}

/// Answer to whoever asks a store whose threads have ended.
pub(super) fn closed() -> StoreError {
    StoreError::Unavailable("it is closed".to_owned())
}
