//! The shape of a refusal that comes before a binding has the word: each route's callers read another.
//!
//! Never says what is refused; that is [`super::service`]'s.

use http::{HeaderMap, StatusCode};
use nuncio_wire::{A2aError, Dialect, StatusTable};

use super::HttpResponse;
use super::routes::Route;
use super::service::Service;
use crate::bindings::{answer, fleet, grpc, jsonrpc, rest};

/// The shape of a refusal that comes before a binding has the word.
pub(super) enum Speech {
    JsonRpc,
    Rest(rest::Wording),
    Grpc(StatusTable, Dialect),
    Fleet,
    /// `{"error":"…"}`
    Plain,
}

impl Speech {
    /// The refusal; `status` where it is not the one that the error's kind has.
    pub(super) fn refuse(&self, error: &A2aError, status: Option<StatusCode>) -> HttpResponse {
        match (self, status) {
            (Self::JsonRpc, status) => jsonrpc::refused(error, status),
            (Self::Rest(wording), status) => wording.error(error, status),
            (Self::Fleet, status) => fleet::refused(error, status),
            // The status of HTTP is always 200 there.
            (Self::Grpc(table, dialect), _) => grpc::refusal(error, *table, *dialect),
            (Self::Plain, Some(status)) => answer::refusal(status, &error.message),
            (Self::Plain, None) => answer::plain_error(error),
        }
    }
}

impl Service {
    /// In which shape the callers of a route expect a refusal.
    pub(super) fn speech(&self, route: &Route<'_>, headers: &HeaderMap) -> Speech {
        let is_old = match route {
            Route::JsonRpc(_) | Route::Legacy(_) => return Speech::JsonRpc,
            Route::Fleet(..) => return Speech::Fleet,
            Route::Grpc(target) => {
                let table = self.operations.config().compat.statuses.into();
                return Speech::Grpc(table, target.dialect());
            }
            Route::Rest(_, target) => target.is_old,
            Route::NotFound | Route::NotAllowed(_) => false,
            _ => return Speech::Plain,
        };
        let agent = match route {
            Route::Rest(agent, target) => self.rest_agent(agent.as_deref(), target),
            _ => None,
        };
        let agent = agent.as_deref();
        Speech::Rest(rest::Wording::of(&self.operations, agent, headers, is_old))
    }
}
