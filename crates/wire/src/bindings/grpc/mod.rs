//! gRPC (specification 10) as bytes: the frames around messages, the status at the end of a call,
//! deadlines, and gRPC's own services for health and reflection.
//!
//! What is inside a frame is [`crate::dialects::protobuf`]'s; connections are the server's.

mod frame;
pub mod health;
pub mod reflection;
mod status;
mod timeout;

pub use frame::{FRAME_HEAD_BYTES, FrameError, FrameReader, frame};
pub use status::{DETAILS, GrpcStatus, MESSAGE, STATUS, code};
pub use timeout::{read_timeout, write_timeout};

use crate::dialects::protobuf::Package;
use crate::operation::Method;

/// Media type of gRPC bodies; `+proto` may follow.
pub const CONTENT_TYPE: &str = "application/grpc";

/// The path of an operation; `None` where the generation has no such operation.
#[must_use]
pub fn path(package: Package, method: Method) -> Option<String> {
    let name = package.method_name(method)?;
    Some(format!("/{}/{name}", package.service()))
}

/// Whether a media type is gRPC's with protobuf inside.
#[must_use]
pub fn is_content_type(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case(CONTENT_TYPE)
        || essence.eq_ignore_ascii_case("application/grpc+proto")
}
