//! Hermes' API server as a service: its addresses, its key, its refusals.
//!
//! Waits and asks again where Hermes says that it is only busy; every other refusal is a fault.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use nuncio_client::{ClientError, HttpService, ServiceAnswer, ServiceReply};
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

use crate::agents::completions::Halt;
use crate::config::HermesConfig;

/// How long Hermes may be busy (429, 503) before a turn gives up.
const BUSY_PATIENCE: Duration = Duration::from_secs(30);
/// Longest wait between two requests to a busy Hermes, whatever it asks for.
const MAX_BUSY_WAIT: Duration = Duration::from_secs(5);
/// How long a short request may take: none of them waits for a model.
pub(super) const SHORT_LIMIT: Duration = Duration::from_secs(10);

/// The API server of one Hermes, or of one of its profiles. Clones share their connections.
#[derive(Clone, Debug)]
pub(super) struct Api {
    service: HttpService,
    silence: Duration,
}

impl Api {
    pub(super) fn new(config: &HermesConfig) -> Result<Self, String> {
        let mut base = config.base_url.url().clone();
        if let Some(profile) = &config.profile {
            let mut path = base.path_segments_mut().map_err(|()| {
                format!("`base_url` {} cannot have a path", config.base_url.as_str())
            })?;
            path.pop_if_empty().extend(["p", profile]);
        }
        let key = config.api_key.secret();
        Ok(Self {
            service: HttpService::new(&base, key.map(|key| key.expose())),
            silence: config.silence_timeout.get(),
        })
    }

    /// `host:port`, as errors for the operator name it.
    pub(super) fn peer(&self) -> String {
        self.service.peer()
    }

    /// A short request and its answer, whatever its status.
    pub(super) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<ServiceAnswer, Halt> {
        self.call(method, path, HeaderMap::new(), body).await
    }

    /// The same with headers. Busy refusals are waited out.
    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Option<&Value>,
    ) -> Result<ServiceAnswer, Halt> {
        let give_up = Instant::now() + BUSY_PATIENCE;
        let body = body.map(to_bytes);
        loop {
            let asked = self
                .service
                .call(
                    method.clone(),
                    path,
                    headers.clone(),
                    body.clone(),
                    SHORT_LIMIT,
                )
                .await;
            let answer = asked.map_err(unreachable)?;
            match busy_for(&answer) {
                Some(wait) if Instant::now() + wait < give_up => tokio::time::sleep(wait).await,
                _ => return Ok(answer),
            }
        }
    }

    /// A request that is answered by a stream, or at once. Busy refusals are waited out.
    pub(super) async fn stream(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Option<&Value>,
    ) -> Result<ServiceReply, Halt> {
        let give_up = Instant::now() + BUSY_PATIENCE;
        let body = body.map(to_bytes);
        loop {
            let asked = self
                .service
                .stream(
                    method.clone(),
                    path,
                    headers.clone(),
                    body.clone(),
                    self.silence,
                )
                .await;
            let answer = match asked.map_err(unreachable)? {
                ServiceReply::Answer(answer) => answer,
                stream @ ServiceReply::Stream(..) => return Ok(stream),
            };
            match busy_for(&answer) {
                Some(wait) if Instant::now() + wait < give_up => tokio::time::sleep(wait).await,
                _ => return Ok(ServiceReply::Answer(answer)),
            }
        }
    }
}

/// How long to wait before asking again, if Hermes only was busy.
fn busy_for(answer: &ServiceAnswer) -> Option<Duration> {
    let is_busy = matches!(
        answer.status,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
    );
    let after = answer.headers.get(http::header::RETRY_AFTER);
    let after = after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
    is_busy.then(|| Duration::from_secs(after.unwrap_or(1)).min(MAX_BUSY_WAIT))
}

/// A refusal, in words for the caller and for the log.
pub(super) fn refused(answer: &ServiceAnswer) -> Halt {
    let code = serde_json::from_slice::<Value>(&answer.body).ok();
    let code = code
        .as_ref()
        .and_then(|body| body.pointer("/error/code")?.as_str());
    let reason = match (answer.status, code) {
        (_, Some("agent_incomplete")) => "the agent ended its turn without an answer".to_owned(),
        (StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE, _) => {
            "the agent is busy; try again later".to_owned()
        }
        (status, _) => format!(
            "the agent's server refused the turn (HTTP {})",
            status.as_u16()
        ),
    };
    Halt::Fault(reason, answer.refusal())
}

/// The JSON of an answer that must be a success.
pub(super) fn json_of(answer: &ServiceAnswer) -> Result<Value, Halt> {
    if !answer.status.is_success() {
        return Err(refused(answer));
    }
    serde_json::from_slice(&answer.body).map_err(|error| unreadable(&error.to_string()))
}

/// A fault: what Hermes sent makes no sense.
pub(super) fn unreadable(detail: &str) -> Halt {
    Halt::fault(
        "the agent's server answered in a way that cannot be read",
        detail,
    )
}

/// Adds a header whose value is known to be fit for one.
pub(super) fn insert(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

fn unreachable(error: ClientError) -> Halt {
    Halt::fault("the agent's server could not be reached", error.message)
}

fn to_bytes(body: &Value) -> Bytes {
    serde_json::to_vec(body)
        .expect("JSON values have a JSON form")
        .into()
}
