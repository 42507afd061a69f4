//! gRPC's health service: who asks for what, and the answer.

use prost::Message as _;

use crate::dialects::protobuf::generated::grpc::health::v1 as pb;
use crate::error::{A2aError, ErrorKind};

/// Full name of the service.
pub const SERVICE: &str = "grpc.health.v1.Health";

/// What is known of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It answers.
    Serving,
    /// It does not, for now or any more.
    NotServing,
    /// There is no service of this name; only a watch answers so.
    ServiceUnknown,
}

/// The name of the service that is asked for; empty: the whole server.
pub fn read_request(message: &[u8]) -> Result<String, A2aError> {
    let request = pb::HealthCheckRequest::decode(message);
    request.map(|request| request.service).map_err(|error| {
        let text = format!("The message is no HealthCheckRequest: {error}");
        A2aError::new(ErrorKind::ParseError, text)
    })
}

/// The message of an answer.
#[must_use]
pub fn write_response(health: Health) -> Vec<u8> {
    use pb::health_check_response::ServingStatus;
    let status = match health {
        Health::Serving => ServingStatus::Serving,
        Health::NotServing => ServingStatus::NotServing,
        Health::ServiceUnknown => ServingStatus::ServiceUnknown,
    };
    pb::HealthCheckResponse {
        status: status.into(),
    }
    .encode_to_vec()
}
