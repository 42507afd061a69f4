//! `POST /callback/TASK/TOKEN`: where an agent behind a webhook posts its answer. The token is the
//! credential; nothing else is asked for.

use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use hyper::body::Incoming;

use super::HttpResponse;
use super::read_body;
use super::service::{Service, explain, header};
use crate::agents::Receipt;
use crate::bindings::answer;

/// When an agent should come back whose turn has not been taken up again yet, in seconds.
const COME_BACK: HeaderValue = HeaderValue::from_static("2");

impl Service {
    /// Hands the answer to the turn that waits for it, and says what became of it.
    pub(super) async fn serve_callback(
        &self,
        task: &str,
        token: &str,
        parts: &Parts,
        body: Incoming,
    ) -> HttpResponse {
        let callbacks = self.operations.agents().callbacks();
        if let Err(receipt) = callbacks.admit(task, token) {
            return told(receipt);
        }
        let settings = self.settings();
        let limit = settings.body_timeout.get();
        let body = match read_body::read(body, settings.max_body_bytes, limit).await {
            Ok(body) => body,
            Err(refused) => {
                let (status, error) = explain(refused);
                return answer::refusal(status, &error.message);
            }
        };
        let media_type = header(&parts.headers, &CONTENT_TYPE).map(str::to_owned);
        told(callbacks.post(task, token, media_type, body).await)
    }
}

fn told(receipt: Receipt) -> HttpResponse {
    let (status, text) = match receipt {
        Receipt::Taken => return answer::text_json(r#"{"status":"accepted"}"#),
        Receipt::Unreadable(reason) => return answer::refusal(StatusCode::BAD_REQUEST, &reason),
        Receipt::Over => (
            StatusCode::GONE,
            "The turn is over: it was answered, cancelled, or ran out of time. Nothing was changed.",
        ),
        Receipt::NotYet => (
            StatusCode::SERVICE_UNAVAILABLE,
            "The gateway has just started and will take the answer soon; post it again.",
        ),
        Receipt::Unknown => (
            StatusCode::NOT_FOUND,
            "No turn waits for an answer at this address.",
        ),
    };
    let mut response = answer::refusal(status, text);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, COME_BACK);
    }
    response
}
