//! Webhooks in trouble, as the operator sees and mends them.

use http::StatusCode;
use nuncio_store::StoreError;

use super::{ControlDesk, HttpResponse, json};
use crate::bindings::answer;
use crate::push::{Remedy, Which};

impl ControlDesk {
    /// Query: `after`, where the page begins.
    pub(super) async fn push_troubles(&self, query: Option<&str>) -> HttpResponse {
        let mut after = 0;
        for (name, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            if name == "after" {
                after = value.parse().unwrap_or(after);
            }
        }
        match self.operations.engine().push().troubles(after).await {
            Ok(troubles) => json(&troubles),
            Err(error) => unreadable(&error),
        }
    }

    /// Query: `task` and `config`; without them all webhooks are meant.
    pub(super) async fn mend_push(&self, verb: &str, query: Option<&str>) -> HttpResponse {
        let remedy = match verb {
            "replay" => Remedy::Replay,
            "enable" => Remedy::Enable,
            _ => {
                let text = "deliveries can be replayed, webhooks can be enabled";
                return answer::refusal(StatusCode::NOT_FOUND, text);
            }
        };
        let mut which = Which::default();
        for (name, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            match &*name {
                "task" => which.task = Some(value.into_owned()),
                "config" => which.config = Some(value.into_owned()),
                _ => {}
            }
        }
        match self.operations.engine().push().mend(remedy, &which).await {
            Ok(mended) => json(&mended),
            Err(error) => unreadable(&error),
        }
    }
}

fn unreadable(error: &StoreError) -> HttpResponse {
    tracing::error!(%error, "webhooks could not be looked through");
    let text = format!("the store cannot be used: {error}");
    answer::refusal(StatusCode::SERVICE_UNAVAILABLE, &text)
}
