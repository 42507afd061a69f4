//! The requests of the load generator as bytes that are made once. Before each sending only the
//! message's id is written over, so that the generator costs less than any server it drives.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

/// What a caller says; as long as a short question of a person.
pub(super) const TEXT: &str = "Please say this back to me, word by word and without any comment.";

/// Stands in a request until an id is written over it: 16 characters for 64 bits in hexadecimal.
pub(super) const ID_PLACE: &str = "id-not-set-0-0-0";

/// One HTTP/1.1 request.
#[derive(Debug, Clone)]
pub(super) struct Request {
    bytes: Vec<u8>,
    /// Where the message's id begins, when the request bears one.
    id_at: Option<usize>,
}

impl Request {
    /// `SendMessage`, which waits for the answer.
    pub(super) fn send(target: &Target) -> Self {
        Self::message(target, "SendMessage", "")
    }

    /// `SendMessage` that returns as soon as the task exists.
    pub(super) fn send_and_leave(target: &Target) -> Self {
        Self::message(
            target,
            "SendMessage",
            r#","configuration":{"returnImmediately":true}"#,
        )
    }

    /// `SendStreamingMessage`.
    pub(super) fn stream(target: &Target) -> Self {
        Self::message(target, "SendStreamingMessage", "")
    }

    /// `SendMessage` over HTTP+JSON.
    pub(super) fn send_rest(target: &Target) -> Self {
        let target = Target {
            path: format!("{}message:send", target.path),
            ..target.clone()
        };
        Self::post(&target, "application/json", &message_params(""))
    }

    /// `GetTask`.
    pub(super) fn get(target: &Target, task: &str) -> Self {
        Self::call(target, "GetTask", &format!(r#"{{"id":"{task}"}}"#))
    }

    /// `SubscribeToTask`.
    pub(super) fn subscribe(target: &Target, task: &str) -> Self {
        Self::call(target, "SubscribeToTask", &format!(r#"{{"id":"{task}"}}"#))
    }

    fn message(target: &Target, method: &str, more: &str) -> Self {
        Self::call(target, method, &message_params(more))
    }

    /// Any method over JSON-RPC.
    pub(super) fn call(target: &Target, method: &str, params: &str) -> Self {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let accepted = match method {
            "SendStreamingMessage" | "SubscribeToTask" => "text/event-stream",
            _ => "application/json",
        };
        Self::post(target, accepted, &body)
    }

    fn post(target: &Target, accepted: &str, body: &str) -> Self {
        let mut text = format!("POST {} HTTP/1.1\r\nHost: {}\r\n", target.path, target.host);
        let length = body.len();
        let headers = [
            "Content-Type: application/json".to_owned(),
            format!("Accept: {accepted}"),
            "A2A-Version: 1.0".to_owned(),
            format!("Content-Length: {length}"),
        ];
        for header in headers {
            write!(text, "{header}\r\n").expect("a String takes any text");
        }
        write!(text, "\r\n{body}").expect("a String takes any text");
        let id_at = text.find(ID_PLACE);
        Self {
            bytes: text.into_bytes(),
            id_at,
        }
    }

    /// The bytes to send, with `id` as the message's id.
    pub(super) fn with_id(&mut self, id: u64) -> &[u8] {
        if let Some(at) = self.id_at {
            write_id(&mut self.bytes[at..], id);
        }
        &self.bytes
    }

    /// The bytes to send as they are.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

fn message_params(more: &str) -> String {
    format!(
        r#"{{"message":{{"messageId":"{ID_PLACE}","role":"ROLE_USER","parts":[{{"text":"{TEXT}"}}]}}{more}}}"#
    )
}

/// Writes an id over [`ID_PLACE`].
pub(super) fn write_id(place: &mut [u8], id: u64) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (index, byte) in place[..ID_PLACE.len()].iter_mut().enumerate() {
        let digit = (id >> (60 - 4 * index)) & 0xf;
        *byte = DIGITS[digit as usize];
    }
}

/// Where requests go.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) host: String,
    pub(super) path: String,
}

/// A first message id that no earlier run against the same store has used.
pub(super) fn first_id() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    (since.as_nanos() as u64) << 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_written_over_and_the_length_holds() {
        let target = Target {
            host: "127.0.0.1:1".to_owned(),
            path: "/".to_owned(),
        };
        let mut request = Request::send(&target);
        let text = String::from_utf8(request.with_id(0xab_cdef).to_vec()).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST / HTTP/1.1\r\nHost: 127.0.0.1:1\r\n"));
        assert!(head.contains(&format!("Content-Length: {}", body.len())));
        let json: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(json["params"]["message"]["messageId"], "0000000000abcdef");
    }
}
