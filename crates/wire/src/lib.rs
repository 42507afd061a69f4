//! The A2A protocol as data and codecs, without I/O, clock or runtime.
//!
//! The data model is that of A2A 1.0.1 (specification section 4; the proto is normative). Old
//! generations live only in [`dialects`], byte formats only in [`bindings`]; everything else in
//! nuncio sees one model. Start with [`operation`] for what can be asked and answered.

mod agent_card;
mod artifact;
pub mod bindings;
pub mod card_signature;
pub mod dialects;
mod error;
mod event;
mod json;
pub mod limits;
mod message;
pub mod operation;
mod part;
mod push_config;
mod task;
mod timestamp;
mod version;

pub use agent_card::*;
pub use artifact::Artifact;
pub use dialects::Dialect;
pub use error::{
    A2aError, ERROR_DOMAIN, ErrorDetail, ErrorKind, FieldViolation, Seconds, StatusTable,
};
pub use event::{StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent};
pub use json::{Metadata, RawJson, sorted as sorted_json};
pub use message::{Message, Role};
pub use operation::{Method, Request, Response};
pub use part::{Part, PartContent};
pub use push_config::{AuthenticationInfo, TaskPushNotificationConfig};
pub use task::{Task, TaskState, TaskStatus};
pub use timestamp::Timestamp;
pub use version::{Version, VersionError};
