//! Requests: the envelope is read in one scan, `params` stays text for the dialect to read.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

use super::request_id::{IdError, RequestId};
use crate::error::{A2aError, ErrorKind};
use crate::json::is_deeper_than;
use crate::limits::MAX_JSON_DEPTH;

/// A well-formed request.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// Repeated in the answer.
    pub id: RequestId,
    /// Whatever the caller wrote, known or not, of any length.
    pub method: Cow<'a, str>,
    /// JSON text of an object; `None` if absent or null.
    pub params: Option<&'a str>,
    /// The request has no id. A2A has no notifications: whoever serves the call refuses it with
    /// [`Call::refuse_notification`] once nothing else is wrong with it, because a fault in method
    /// or parameters says more to the caller.
    pub is_notification: bool,
}

impl Call<'_> {
    /// The error of a well-formed request that has no id.
    pub fn refuse_notification(&self) -> Result<(), A2aError> {
        if !self.is_notification {
            return Ok(());
        }
        Err(A2aError::new(
            ErrorKind::InvalidRequest,
            "Invalid request: `id` is required (no notifications)",
        ))
    }
}

/// A body that is no request.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The request's id, or null where none could be read.
    pub id: RequestId,
    /// What is wrong.
    pub error: A2aError,
}

impl Refused {
    fn new(id: RequestId, kind: ErrorKind, message: &'static str) -> Self {
        Self {
            id,
            error: A2aError::new(kind, message),
        }
    }

    fn parse(message: &'static str) -> Self {
        Self::new(RequestId::null(), ErrorKind::ParseError, message)
    }
}

/// Reads the envelope of a request (specification 9.1, JSON-RPC 2.0 section 4).
///
/// Refused are: what is not one JSON value in UTF-8 or is nested deeper than
/// [`MAX_JSON_DEPTH`] (-32700); arrays, since A2A has no batches, and whatever lacks `jsonrpc`,
/// `method` or an `id` of 1 KiB at most, or names one of them twice (-32600); `params` that is no
/// object (-32602). `id: null` is legal and repeated.
pub fn read_call(body: &[u8]) -> Result<Call<'_>, Refused> {
    let text = std::str::from_utf8(body)
        .map_err(|_| Refused::parse("Invalid JSON payload: the body is not UTF-8"))?;
    if is_deeper_than(text, MAX_JSON_DEPTH) {
        return Err(Refused::parse("Invalid JSON payload: nested too deeply"));
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|error| {
        if error.is_data() {
            let message = "Invalid request: the body must be one JSON-RPC 2.0 request object";
            return Refused::new(RequestId::null(), ErrorKind::InvalidRequest, message);
        }
        Refused {
            id: RequestId::null(),
            error: A2aError::new(
                ErrorKind::ParseError,
                format!("Invalid JSON payload: {error}"),
            ),
        }
    })?;
    envelope.check()
}

#[derive(Default)]
struct Envelope<'a> {
    jsonrpc: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    doubled: bool,
    /// No answer could repeat such an id.
    doubled_id: bool,
}

impl<'a> Envelope<'a> {
    fn check(self) -> Result<Call<'a>, Refused> {
        let id = self.id.map(|id| RequestId::from_json(id.get()));
        if id == Some(Err(IdError::NotUnicode)) {
            return Err(Refused::parse(
                "Invalid JSON payload: the id holds a lone surrogate",
            ));
        }
        let known = id
            .clone()
            .and_then(Result::ok)
            .unwrap_or_else(RequestId::null);
        let invalid = |message| Refused::new(known.clone(), ErrorKind::InvalidRequest, message);
        if self.doubled {
            let message = "Invalid request: a member of the envelope stands there twice";
            return Err(invalid(message));
        }
        match id {
            Some(Ok(_)) => {}
            // Refused too, but last: see `Call::is_notification`.
            None if !self.doubled_id => {}
            None => return Err(invalid("Invalid request: `id` stands there twice")),
            Some(Err(IdError::TooLong)) => {
                return Err(invalid("Invalid request: `id` must not exceed 1024 bytes"));
            }
            Some(Err(_)) => {
                return Err(invalid("Invalid request: `id` must be a string or number"));
            }
        }
        if self
            .jsonrpc
            .is_none_or(|version| version.get() != "\"2.0\"")
        {
            return Err(invalid("Invalid request: `jsonrpc` must be \"2.0\""));
        }
        let method = match self.method.map(RawValue::get) {
            Some(json) if json.starts_with('"') => read_text(json).ok_or_else(|| {
                Refused::parse("Invalid JSON payload: the method holds a lone surrogate")
            })?,
            _ => return Err(invalid("Invalid request: `method` must be a string")),
        };
        let params = match self.params.map(RawValue::get) {
            None | Some("null") => None,
            Some(json) if json.starts_with('{') => Some(json),
            Some(_) => {
                let error = A2aError::invalid_field("params", "must be an object");
                return Err(Refused { id: known, error });
            }
        };
        Ok(Call {
            is_notification: id.is_none(),
            id: known,
            method,
            params,
        })
    }
}

/// The value of a JSON string, borrowed where it has no escapes.
fn read_text(json: &str) -> Option<Cow<'_, str>> {
    if json.contains('\\') {
        return serde_json::from_str(json).ok().map(Cow::Owned);
    }
    json.get(1..json.len() - 1).map(Cow::Borrowed)
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Member {
    Jsonrpc,
    Id,
    Method,
    Params,
    #[serde(other)]
    Unknown,
}

impl<'de: 'a, 'a> Deserialize<'de> for Envelope<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EnvelopeVisitor;
        impl<'de> Visitor<'de> for EnvelopeVisitor {
            type Value = Envelope<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON-RPC request object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut envelope = Envelope::default();
                while let Some(member) = map.next_key::<Member>()? {
                    let place = match member {
                        Member::Jsonrpc => &mut envelope.jsonrpc,
                        Member::Id => &mut envelope.id,
                        Member::Method => &mut envelope.method,
                        Member::Params => &mut envelope.params,
                        Member::Unknown => {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    // Read on: a body that is not JSON at all is the worse fault.
                    let is_double = place.replace(map.next_value()?).is_some();
                    let is_id = matches!(member, Member::Id);
                    envelope.doubled |= is_double;
                    envelope.doubled_id |= is_double && is_id;
                }
                if envelope.doubled_id {
                    envelope.id = None;
                }
                Ok(envelope)
            }
        }
        deserializer.deserialize_map(EnvelopeVisitor)
    }
}

/// Appends a request; `params` is the JSON text of an object.
pub fn write_call(id: &RequestId, method: &str, params: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    id.write(out);
    out.extend_from_slice(br#","method":"#);
    serde_json::to_writer(&mut *out, method).expect("a string is always JSON");
    out.extend_from_slice(br#","params":"#);
    out.extend_from_slice(params);
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_is_taken_apart_without_reading_its_params() {
        let body =
            br#"{"params": {"a" : 1e400} ,"method":"Get\u0054ask","id":"x","jsonrpc":"2.0"}"#;
        let call = read_call(body).unwrap();
        assert_eq!(
            (call.id.to_string().as_str(), &*call.method),
            (r#""x""#, "GetTask")
        );
        assert_eq!(call.params, Some(r#"{"a" : 1e400}"#));
    }

    #[test]
    fn a_written_call_is_read_back() {
        let mut out = Vec::new();
        write_call(&RequestId::number(7), "Send\"Message", b"{}", &mut out);
        let call = read_call(&out).unwrap();
        assert_eq!(
            (call.id, &*call.method, call.params),
            (RequestId::number(7), "Send\"Message", Some("{}"))
        );
    }
}
