//! What PostgreSQL's errors mean for a caller.

use std::error::Error as _;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::StoreError;

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        let text = told(&error);
        let code = error.code().map(SqlState::code);
        let damaged = match code {
            // Values that do not fit, constraints that broke, pages and indexes that are damaged.
            Some(code) => matches!(&code[..2], "22" | "23") || matches!(code, "XX001" | "XX002"),
            // A row that is not as this program writes it.
            None => is_foreign_row(&error),
        };
        if damaged {
            Self::Damaged(text)
        } else {
            Self::Unavailable(text)
        }
    }
}

/// Whether a value could not be read, as opposed to a connection that broke.
fn is_foreign_row(error: &Error) -> bool {
    !error.is_closed() && error.to_string().starts_with("error deserializing")
}

/// Whether the server refused one statement and undid its transaction. Everything else leaves the
/// outcome of a transaction unknown: a session that is ended may have committed first.
pub(super) fn is_refusal(error: &Error) -> bool {
    error.as_db_error().is_some_and(|error| {
        !matches!(
            error.parsed_severity(),
            Some(Severity::Fatal | Severity::Panic)
        )
    })
}

/// Whether the same transaction may work when it is run again at once.
pub(super) fn is_passing(error: &Error) -> bool {
    error.code().is_some_and(|code| {
        [
            &SqlState::T_R_SERIALIZATION_FAILURE,
            &SqlState::T_R_DEADLOCK_DETECTED,
        ]
        .contains(&code)
    })
}

/// Whether the fault may lie in one job of many, so that the others are worth another try.
pub(super) fn may_be_of_one_job(error: &Error) -> bool {
    matches!(
        error.code().map(|code| &code.code()[..2]),
        Some("22" | "23" | "XX" | "54")
    )
}

/// The error in words, without statements or values.
pub(super) fn told(error: &Error) -> String {
    if let Some(error) = error.as_db_error() {
        return format!("{} ({})", error.message(), error.code().code());
    }
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// What to do about a connection that the server refused.
pub(super) fn remedy(error: &Error, user: &str, database: &str) -> String {
    let missing_password = error
        .source()
        .is_some_and(|cause| cause.to_string() == "password missing");
    match error.as_db_error().map(DbError::code) {
        Some(&SqlState::INVALID_PASSWORD) => format!(
            "the password of {user} is another one; correct what `password` in [store] names"
        ),
        Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION) => {
            format!("let {user} in (pg_hba.conf), or name another user in [store] url")
        }
        Some(&SqlState::INVALID_CATALOG_NAME) => {
            format!("make it: `createdb -T template0 -E UTF8 -O {user} {database}`")
        }
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            format!("allow it: `GRANT CREATE ON DATABASE {database} TO {user}`")
        }
        Some(&SqlState::TOO_MANY_CONNECTIONS) => {
            "raise max_connections of the server, or end other programs".to_owned()
        }
        Some(_) => "see the server's log".to_owned(),
        None if missing_password => {
            "the server asks for a password; put it into a variable and set `password` in [store] \
             to `env:NAME`"
                .to_owned()
        }
        None if error.to_string().contains("TLS") => {
            "see that the server speaks TLS, that its certificate has the host's name, and that \
             `sslrootcert` in [store] url names the authority of that certificate"
                .to_owned()
        }
        None => "see that the server runs and that [store] url names its host and port".to_owned(),
    }
}

/// Answer to whoever asks a store that was closed.
pub(super) fn closed() -> StoreError {
    StoreError::Unavailable("it is closed".to_owned())
}
