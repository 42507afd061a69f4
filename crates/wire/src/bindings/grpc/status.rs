//! How a call ended: the code, the text and the details that stand in its trailers
//! (specification 10.6).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use prost::Message as _;
use prost_types::Any;
use std::collections::BTreeMap;

use crate::dialects::protobuf::Package;
use crate::dialects::protobuf::generated::google::rpc as pb;
use crate::error::{A2aError, ERROR_DOMAIN, ErrorKind, FieldViolation, StatusTable};
use crate::part::decode_base64;

/// Trailer that holds the code.
pub const STATUS: &str = "grpc-status";
/// Trailer that holds the text, percent-encoded.
pub const MESSAGE: &str = "grpc-message";
/// Trailer that holds the details: a `google.rpc.Status` in base64.
pub const DETAILS: &str = "grpc-status-details-bin";

/// Codes that no kind of error has.
pub mod code {
    /// It went well.
    pub const OK: u8 = 0;
    /// The caller gave up.
    pub const CANCELLED: u8 = 1;
    /// The caller's time is over.
    pub const DEADLINE_EXCEEDED: u8 = 4;
    /// Too large, or too many.
    pub const RESOURCE_EXHAUSTED: u8 = 8;
    /// No such method.
    pub const UNIMPLEMENTED: u8 = 12;
    /// A fault on our side.
    pub const INTERNAL: u8 = 13;
    /// Not now.
    pub const UNAVAILABLE: u8 = 14;
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrpcStatus {
    /// Number of the status; 0 is success.
    pub code: u8,
    /// For people.
    pub message: String,
    /// The serialised `google.rpc.Status`; empty if there is none.
    pub details: Vec<u8>,
}

/// What `grpc-message` cannot hold as it is.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%');
/// Longest text in a trailer, in bytes: all trailers together must fit the peer's 8 KiB.
const MAX_MESSAGE_BYTES: usize = 1_024;
/// Longest details, in bytes before base64, for the same reason.
const MAX_DETAILS_BYTES: usize = 3 * 1_024;

const TYPE_URLS: &str = "type.googleapis.com/";
const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const BAD_REQUEST: &str = "type.googleapis.com/google.rpc.BadRequest";
const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

impl GrpcStatus {
    /// Success.
    #[must_use]
    pub fn ok() -> Self {
        Self::new(code::OK, "")
    }

    /// A status without details.
    #[must_use]
    pub fn new(code: u8, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: Vec::new(),
        }
    }

    /// The status of a refused request, with its details.
    #[must_use]
    pub fn of_error(error: &A2aError, table: StatusTable) -> Self {
        let code = error.kind.grpc_code(table);
        let message = cut(&error.message);
        let mut status = pb::Status {
            code: code.into(),
            message: message.to_owned(),
            details: details_of(error),
        };
        // The reason alone is better than trailers that no peer takes.
        while status.encoded_len() > MAX_DETAILS_BYTES && status.details.len() > 1 {
            status.details.pop();
        }
        Self {
            code,
            message: message.to_owned(),
            details: status.encode_to_vec(),
        }
    }

    /// The same in the words of a package: readers of 0.3 look for the error's name in front of the
    /// text, as their SDKs write it, and nowhere else.
    #[must_use]
    pub fn of_call(error: &A2aError, table: StatusTable, package: Package) -> Self {
        let mut status = Self::of_error(error, table);
        if package == Package::V0_3 {
            status.message = format!("{}: {}", error.kind.name(), status.message);
        }
        status
    }

    /// The value of [`MESSAGE`]; `None` if there is no text.
    #[must_use]
    pub fn message_value(&self) -> Option<String> {
        let text = cut(&self.message);
        (!text.is_empty()).then(|| utf8_percent_encode(text, ESCAPED).to_string())
    }

    /// The value of [`DETAILS`]; `None` if there are none.
    #[must_use]
    pub fn details_value(&self) -> Option<String> {
        (!self.details.is_empty()).then(|| STANDARD_NO_PAD.encode(&self.details))
    }

    /// Reads the values of the three trailers. What cannot be read counts as absent; a status that
    /// is no number is none.
    #[must_use]
    pub fn read(status: &str, message: Option<&str>, details: Option<&str>) -> Option<Self> {
        let message = message.map(|text| percent_decode_str(text).decode_utf8_lossy());
        let details = details.and_then(|text| decode_base64(text.trim()).ok());
        Some(Self {
            code: status.trim().parse().ok()?,
            message: message.unwrap_or_default().into_owned(),
            details: details.map(Vec::from).unwrap_or_default(),
        })
    }

    /// The error a peer meant: by the reason in its details, else by the name in front of its text,
    /// as SDKs of 0.3 write it, else by the code.
    #[must_use]
    pub fn to_error(&self) -> A2aError {
        let status = pb::Status::decode(self.details.as_slice()).unwrap_or_default();
        let message = if self.message.is_empty() {
            status.message.clone()
        } else {
            self.message.clone()
        };
        let named = |kind: ErrorKind| {
            let text = message.strip_prefix(kind.name())?.strip_prefix(':')?;
            Some((kind, text.trim_start().to_owned()))
        };
        let by_name = ErrorKind::ALL.into_iter().find_map(named);
        let (kind, message) = by_name.unwrap_or_else(|| (kind_of_code(self.code), message));
        let mut error = A2aError::new(kind, message);
        for detail in &status.details {
            read_detail(detail, self.code, &mut error);
        }
        error
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_MESSAGE_BYTES)]
}

fn details_of(error: &A2aError) -> Vec<Any> {
    let any = |type_url: &str, value: Vec<u8>| Any {
        type_url: type_url.to_owned(),
        value,
    };
    let info = pb::ErrorInfo {
        reason: error.kind.reason().to_owned(),
        domain: ERROR_DOMAIN.to_owned(),
        metadata: error.info.clone(),
    };
    let mut details = vec![any(ERROR_INFO, info.encode_to_vec())];
    if !error.violations.is_empty() {
        let violation = |violation: &FieldViolation| pb::bad_request::FieldViolation {
            field: violation.field.clone(),
            description: violation.description.clone(),
        };
        let field_violations = error.violations.iter().map(violation).collect();
        let bad = pb::BadRequest { field_violations };
        details.push(any(BAD_REQUEST, bad.encode_to_vec()));
    }
    if let Some(seconds) = error.retry_after {
        let delay = prost_types::Duration {
            seconds: seconds.into(),
            nanos: 0,
        };
        let retry = pb::RetryInfo {
            retry_delay: Some(delay),
        };
        details.push(any(RETRY_INFO, retry.encode_to_vec()));
    }
    details
}

fn read_detail(detail: &Any, code: u8, error: &mut A2aError) {
    let name = detail.type_url.rsplit('/').next().unwrap_or_default();
    match format!("{TYPE_URLS}{name}").as_str() {
        ERROR_INFO => {
            let info = pb::ErrorInfo::decode(detail.value.as_slice()).unwrap_or_default();
            error.kind = kind_of(code, &info.reason);
            error.info = info.metadata;
        }
        BAD_REQUEST => {
            let bad = pb::BadRequest::decode(detail.value.as_slice()).unwrap_or_default();
            let fields = bad.field_violations.into_iter();
            error.violations = fields
                .map(|v| FieldViolation::new(v.field, v.description))
                .collect();
        }
        RETRY_INFO => {
            let retry = pb::RetryInfo::decode(detail.value.as_slice()).unwrap_or_default();
            error.retry_after = retry
                .retry_delay
                .and_then(|delay| u32::try_from(delay.seconds).ok());
        }
        _ => {}
    }
}

/// Reasons are shared by few kinds, and those differ by code.
fn kind_of(code: u8, reason: &str) -> ErrorKind {
    let mut named = ErrorKind::ALL
        .into_iter()
        .filter(|kind| kind.reason() == reason);
    let both = named
        .clone()
        .find(|kind| kind.grpc_code(StatusTable::V1_0_1) == code);
    both.or_else(|| named.next())
        .unwrap_or_else(|| kind_of_code(code))
}

/// What a bare code can mean; servers without details use the codes of gRPC's own library.
fn kind_of_code(number: u8) -> ErrorKind {
    const BY_CODE: [(u8, ErrorKind); 9] = [
        (3, ErrorKind::InvalidParams),
        (5, ErrorKind::TaskNotFound),
        (7, ErrorKind::PermissionDenied),
        (code::RESOURCE_EXHAUSTED, ErrorKind::ResourceExhausted),
        (9, ErrorKind::UnsupportedOperation),
        (11, ErrorKind::InvalidParams),
        (code::UNIMPLEMENTED, ErrorKind::MethodNotFound),
        (code::UNAVAILABLE, ErrorKind::Unavailable),
        (16, ErrorKind::Unauthenticated),
    ];
    let known: BTreeMap<u8, ErrorKind> = BTreeMap::from(BY_CODE);
    known.get(&number).copied().unwrap_or(ErrorKind::Internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_error_comes_back_as_itself() {
        let tables = [StatusTable::V1_0_1, StatusTable::V1_0_0];
        for (table, package) in tables
            .into_iter()
            .flat_map(|table| [(table, Package::V1), (table, Package::V0_3)])
        {
            for kind in ErrorKind::ALL {
                let error = A2aError::new(kind, "100 % of Ürümqi\nis missing").with("taskId", "t");
                let error = A2aError {
                    violations: vec![FieldViolation::new("message.parts[0]", "is wrong")],
                    retry_after: Some(3),
                    ..error
                };
                let sent = GrpcStatus::of_call(&error, table, package);
                let message = sent.message_value();
                let details = sent.details_value();
                assert!(message.as_deref().is_some_and(str::is_ascii));
                let read = GrpcStatus::read(
                    &sent.code.to_string(),
                    message.as_deref(),
                    details.as_deref(),
                );
                let read = read.unwrap().to_error();
                // Not JSON and not a request are one reason and one code.
                let expected = match kind {
                    ErrorKind::InvalidRequest => ErrorKind::ParseError,
                    kind => kind,
                };
                assert_eq!(
                    read,
                    A2aError {
                        kind: expected,
                        ..error
                    }
                );
            }
        }
    }

    #[test]
    fn a_bare_code_is_understood_and_long_texts_are_cut() {
        let read = GrpcStatus::read("5", Some("no%20such task"), Some("!!")).unwrap();
        let error = read.to_error();
        assert_eq!(error.kind, ErrorKind::TaskNotFound);
        assert_eq!(error.message, "no such task");
        assert_eq!(GrpcStatus::read("x", None, None), None);
        let named = GrpcStatus::new(code::UNIMPLEMENTED, "TaskNotCancelableError: no");
        assert_eq!(named.to_error().kind, ErrorKind::TaskNotCancelable);

        let many = (0..500).map(|i| FieldViolation::new(format!("f{i}"), "ü".repeat(9)));
        let status = GrpcStatus::of_error(
            &A2aError::invalid_params(many.collect()),
            StatusTable::V1_0_1,
        );
        assert!(status.details.len() <= MAX_DETAILS_BYTES);
        assert!(status.message.len() <= MAX_MESSAGE_BYTES);
        assert_eq!(status.to_error().kind, ErrorKind::InvalidParams);
    }
}
