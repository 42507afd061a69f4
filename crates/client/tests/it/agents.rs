//! Clients of scripted agents, made in one step.

use nuncio_client::choose_binding::choose;
use nuncio_client::discover::{DiscoverError, discover};
use nuncio_client::{
    AddressPolicy, CallSettings, Client, Credentials, Discovered, HttpClient, Origin, TlsSettings,
    VersionWish, Wish,
};
use nuncio_wire::operation::SendMessageRequest;
use nuncio_wire::{Message, Part, Request, Role};
use url::Url;

use crate::mock_agent::MockAgent;

pub fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

/// A policy as for an operator who named this address.
pub fn policy_for(address: &str) -> AddressPolicy {
    let mut policy = AddressPolicy::public_only();
    policy.allow(&url(address));
    policy
}

pub async fn find(address: &str) -> Result<Discovered, DiscoverError> {
    let http = HttpClient::new(policy_for(address), TlsSettings::default());
    discover(&http, &url(address), &Credentials::default()).await
}

/// A client of the agent, speaking what its card offers.
pub async fn client_of(agent: &MockAgent) -> Client {
    client_at(agent.base(), TlsSettings::default()).await
}

pub async fn client_at(address: &str, tls: TlsSettings) -> Client {
    client_with(address, tls, CallSettings::default()).await
}

pub async fn client_with(address: &str, tls: TlsSettings, settings: CallSettings) -> Client {
    let http = HttpClient::new(policy_for(address), tls);
    let found = discover(&http, &url(address), &Credentials::default())
        .await
        .unwrap();
    let origins = vec![Origin::of(&url(address)).unwrap()];
    let wish = Wish {
        bindings: Vec::new(),
        version: VersionWish::Any,
        origins,
    };
    let endpoints = choose(&found.card, found.generation, found.url(), &wish).unwrap();
    Client::new(http, found.card, endpoints, settings).unwrap()
}

/// A client that may call whatever the agent's card names.
pub async fn client_anywhere(agent: &MockAgent) -> Client {
    let found = find(agent.base()).await.unwrap();
    let mut policy = policy_for(agent.base());
    for interface in &found.card.supported_interfaces {
        policy.allow(&url(&interface.url));
    }
    let wish = Wish {
        origins: found.named_origins(),
        ..Wish::default()
    };
    let endpoints = choose(&found.card, found.generation, found.url(), &wish).unwrap();
    let http = HttpClient::new(policy, TlsSettings::default());
    Client::new(http, found.card, endpoints, CallSettings::default()).unwrap()
}

/// A message of one text.
pub fn message(text: &str) -> SendMessageRequest {
    SendMessageRequest::new(Message::new("m-1", Role::User, vec![Part::text(text)]))
}

pub fn send(text: &str) -> Request {
    Request::SendMessage(message(text))
}

pub fn stream(text: &str) -> Request {
    Request::SendStreamingMessage(message(text))
}
