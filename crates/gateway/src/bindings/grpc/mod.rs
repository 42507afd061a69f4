//! gRPC (specification 10): the services of 1.0 and 0.3, gRPC's health and reflection beside them.
//!
//! A call is an HTTP/2 request like any other until its body is read: `target` names what its path
//! asks for, `call` runs an operation, `events` streams, `outcome` writes how a call ended. Frames
//! and messages are `nuncio_wire`'s.

mod call;
mod deadline;
mod events;
mod health;
mod outcome;
mod reflection;
mod target;

pub use call::{Desk, serve};
pub use health::{check, watch};
pub use outcome::{refusal, refused};
pub use reflection::reflect;
pub use target::{Target, is_call};

use nuncio_wire::bindings::grpc::{health as health_service, reflection as reflection_service};
use nuncio_wire::dialects::protobuf::Package;

use crate::operations::Operations;

/// Full names of the services there are.
fn services(operations: &Operations) -> Vec<&'static str> {
    let mut names = vec![Package::V1.service()];
    if operations.config().compat.v0_3 {
        names.push(Package::V0_3.service());
    }
    names.push(health_service::SERVICE);
    names.extend(reflection_service::SERVICES);
    names
}
