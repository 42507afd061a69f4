//! A peer's answers and frames: JSON without an envelope.

use super::error::read_error;
use crate::dialects::{Dialect, v0_3};
use crate::error::{A2aError, ErrorKind};
use crate::event::StreamResponse;
use crate::json::is_deeper_than;
use crate::limits::MAX_JSON_DEPTH;
use crate::operation::{Method, Response};

/// Reads the body of a successful answer to `method`. What is none is an InvalidAgentResponse.
pub fn read_response(dialect: Dialect, method: Method, body: &[u8]) -> Result<Response, A2aError> {
    if method == Method::DeleteTaskPushNotificationConfig {
        // `{}`, `null` or nothing: the status has said it all.
        return Ok(Response::Deleted);
    }
    let text = checked(body)?;
    let mut response = dialect.read_response(method, text)?;
    if dialect == Dialect::V0_3 {
        v0_3::unwrap_response_parts(text, &mut response);
    }
    Ok(response)
}

/// Reads one frame of a stream, and whether it says itself that the stream ends with it. The error
/// is the peer's where the frame holds one.
pub fn read_event(dialect: Dialect, data: &str) -> Result<(StreamResponse, bool), A2aError> {
    let text = checked(data.as_bytes())?;
    match dialect.read_event(text) {
        Ok((mut event, last)) => {
            if dialect == Dialect::V0_3 {
                v0_3::unwrap_event_parts(text, &mut event);
            }
            Ok((event, last))
        }
        // A frame has no status of its own.
        Err(unreadable) => Err(read_error(0, data.as_bytes()).unwrap_or(unreadable)),
    }
}

fn checked(body: &[u8]) -> Result<&str, A2aError> {
    let wrong = |what| A2aError::new(ErrorKind::InvalidAgentResponse, what);
    let text = std::str::from_utf8(body).map_err(|_| wrong("The peer's answer is not UTF-8"))?;
    if is_deeper_than(text, MAX_JSON_DEPTH) {
        return Err(wrong("The peer's answer is nested too deeply"));
    }
    Ok(text)
}
