//! The listener: sockets, connections, heads, bodies, paths. Knows HTTP and nothing of tasks.
//!
//! `listen` accepts, `tls` takes handshakes, `connection` serves one socket, `service` takes one request through the
//! layers (head, host, route, identity, body) to its binding, `control` does so for the operator's
//! Unix socket, `routes` is the table of paths.

pub mod admin;
mod body;
mod callback;
mod connection;
pub mod control;
mod cross_origin;
mod forwarded;
mod gathered_writes;
mod grpc_call;
mod head;
mod limits;
pub mod listen;
mod read_body;
mod routes;
pub mod service;
mod socket_guard;
mod speech;
pub mod tls;

pub use body::Body;

/// An answer on its way out.
pub type HttpResponse = http::Response<Body>;
