//! Calls other A2A agents: finds their card, picks an interface, sends, streams and follows tasks.
//!
//! The only crate of nuncio that dials out. It prints nothing and reads no environment. The way of
//! a call: [`discover`], [`choose_binding`], [`Client`], then [`Follow`] to wait for a task.

pub mod address_guard;
mod allowed_address;
mod bindings;
pub mod choose_binding;
mod client;
mod credentials;
mod dial;
pub mod discover;
mod error;
mod fleet_text;
mod follow;
pub mod http_client;
mod http_service;
mod insecure;
pub mod limits;
mod message_id;
mod origin;
mod retry;
mod secret;
mod stream;
mod task_view;
pub mod tls;
pub mod webhook;
mod webhook_keys;
mod webhook_receiver;
pub mod webhook_signature;

pub use address_guard::AddressPolicy;
pub use allowed_address::{AllowedAddress, AllowedAddressError};
pub use choose_binding::{Binding, Endpoint, VersionWish, Wish};
pub use client::{CallSettings, Client};
pub use credentials::{Credential, Credentials};
pub use discover::{CardSource, DiscoverError, Discovered};
pub use error::{ClientError, ClientErrorKind, Unreachable, is_unsafe, plain};
pub use follow::{Follow, Pace, Progress};
pub use http_client::HttpClient;
pub use http_service::{HttpService, ServiceAnswer, ServiceReply, ServiceStream};
pub use message_id::new_message_id;
pub use origin::Origin;
pub use secret::Secret;
pub use stream::{EventStream, StreamEvent};
pub use task_view::TaskView;
pub use tls::TlsSettings;
pub use webhook::{WebhookAnswer, Webhooks};
pub use webhook_keys::WebhookKeys;
pub use webhook_receiver::{RefusedPosts, WebhookReceiver};
