//! `[peers.NAME]`: agents elsewhere.

use std::path::PathBuf;

use nuncio_client::{Credential, Secret, VersionWish};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{SecretRef, WebUrl};

/// An agent elsewhere.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeerConfig {
    /// Where its card is: the base address or the card itself.
    #[schemars(example = serde_json::json!("https://research.example.org"))]
    pub url: WebUrl,
    /// The credential it wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!({ "type": "bearer", "token": "env:RESEARCH_TOKEN" }))]
    pub auth: Option<PeerAuth>,
    /// Authorities that may have signed its TLS certificate, as a PEM file, in place of the
    /// machine's. A relative path is meant from this file's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("tls/research-ca.pem"))]
    pub ca: Option<PathBuf>,
    /// What it is good at, besides the skills on its card.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = serde_json::json!(["research"]))]
    pub capabilities: Vec<String>,
    /// The protocol to speak: `1.0`, `0.3`, `2025-04` as OpenFang speaks it, or `hermes-fleet` as the
    /// agents of a Hermes fleet do. Without it the card decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("0.3"))]
    pub a2a_version: Option<PeerProtocol>,
    /// A note for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("The research team's agent"))]
    pub description: Option<String>,
}

/// A credential for a peer.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(inline)]
pub enum PeerAuth {
    /// `Authorization: Bearer`.
    Bearer {
        /// The token, by reference.
        token: SecretRef,
    },
    /// A key in a header.
    ApiKey {
        /// The key, by reference.
        key: SecretRef,
        /// The header's name. Without it the card decides, else `X-API-Key`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        header: Option<String>,
    },
    /// `Authorization: Basic`.
    Basic {
        /// The user's name.
        username: String,
        /// The password, by reference.
        password: SecretRef,
    },
}

impl PeerAuth {
    /// What of it is secret.
    pub fn secret_mut(&mut self) -> &mut SecretRef {
        match self {
            PeerAuth::Bearer { token } => token,
            PeerAuth::ApiKey { key, .. } => key,
            PeerAuth::Basic { password, .. } => password,
        }
    }

    /// The same for a client; `None` before its secret was resolved.
    pub fn credential(&self) -> Option<Credential> {
        let secret = |it: &SecretRef| it.secret().map(|secret| Secret::new(secret.expose()));
        Some(match self {
            PeerAuth::Bearer { token } => Credential::Bearer(secret(token)?),
            PeerAuth::ApiKey { key, header: None } => Credential::ApiKey(secret(key)?),
            PeerAuth::ApiKey {
                key,
                header: Some(name),
            } => Credential::Header {
                name: name.clone(),
                value: secret(key)?,
            },
            PeerAuth::Basic { username, password } => Credential::Basic {
                user: username.clone(),
                password: secret(password)?,
            },
        })
    }
}

/// A generation of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum PeerProtocol {
    /// A2A 1.0.
    #[serde(rename = "1.0")]
    V1_0,
    /// A2A 0.3.
    #[serde(rename = "0.3")]
    V0_3,
    /// The dialect of April 2025.
    #[serde(rename = "2025-04")]
    Legacy,
    /// The dialect of the Hermes fleet plugin.
    #[serde(rename = "hermes-fleet")]
    Fleet,
}

impl PeerProtocol {
    /// The word of the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            PeerProtocol::V1_0 => "1.0",
            PeerProtocol::V0_3 => "0.3",
            PeerProtocol::Legacy => "2025-04",
            PeerProtocol::Fleet => "hermes-fleet",
        }
    }

    /// The same as a wish of a client's, which takes whatever the card offers if there is none.
    pub fn wish(this: Option<Self>) -> VersionWish {
        match this {
            Some(PeerProtocol::V1_0) => VersionWish::Current,
            Some(PeerProtocol::V0_3) => VersionWish::Exactly(nuncio_wire::Version::V0_3),
            Some(PeerProtocol::Legacy) => VersionWish::Legacy,
            Some(PeerProtocol::Fleet) => VersionWish::Fleet,
            None => VersionWish::Any,
        }
    }
}
