//! Conversations as the operator reads them.

use http::StatusCode;

use super::{ControlDesk, HttpResponse, json};
use crate::bindings::answer;
use crate::sessions::record::{self, Wanted};

impl ControlDesk {
    pub(super) async fn conversations(&self, query: Option<&str>) -> HttpResponse {
        let wanted = Wanted::of_query(query.unwrap_or_default());
        let store = self.operations.engine().store();
        match record::read(store, &wanted).await {
            Ok(conversations) => json(&conversations),
            Err(error) => {
                tracing::error!(%error, "conversations could not be read");
                let text = format!("the store cannot be read: {error}");
                answer::refusal(StatusCode::SERVICE_UNAVAILABLE, &text)
            }
        }
    }
}
