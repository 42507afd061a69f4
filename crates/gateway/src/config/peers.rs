//! `[peers.NAME]`: agents elsewhere.

use std::path::{Path, PathBuf};

use nuncio_client::tls::{Identity, Trust};
use nuncio_client::{Credential, Secret, TlsSettings, VersionWish};
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
    /// A client certificate, shown in the TLS handshake.
    Mtls {
        /// The certificate and those that lead to its authority, as a PEM file. A relative path is meant
        /// from this file's directory.
        certificate: PathBuf,
        /// Its private key, as a PEM file that not everybody can read, likewise.
        key: PathBuf,
    },
}

impl PeerConfig {
    /// Relative paths are meant from `base`.
    pub(super) fn anchor(&mut self, base: &Path) {
        if let Some(ca) = &mut self.ca {
            *ca = base.join(&*ca);
        }
        if let Some(auth) = &mut self.auth {
            auth.anchor(base);
        }
    }

    /// How handshakes with it go; its relative paths are meant from `base`.
    ///
    /// # Errors
    /// Which setting names a file that cannot be used, and why.
    pub fn tls(&self, base: &Path) -> Result<TlsSettings, String> {
        let trust = self.ca.as_ref().map(|ca| Trust::only(&base.join(ca)));
        let trust = trust
            .transpose()
            .map_err(|error| format!("`ca`: {error}"))?;
        let identity = self.auth.as_ref().map(|auth| auth.identity(base));
        Ok(TlsSettings {
            trust: trust.unwrap_or_default(),
            identity: identity.transpose()?.flatten(),
        })
    }
}

impl PeerAuth {
    /// Relative paths are meant from `base`.
    pub(super) fn anchor(&mut self, base: &Path) {
        if let PeerAuth::Mtls { certificate, key } = self {
            *certificate = base.join(&*certificate);
            *key = base.join(&*key);
        }
    }

    /// What is shown in the handshake, if it is a certificate; its relative paths are meant from `base`.
    ///
    /// # Errors
    /// Which file cannot be used and why.
    pub fn identity(&self, base: &Path) -> Result<Option<Identity>, String> {
        let PeerAuth::Mtls { certificate, key } = self else {
            return Ok(None);
        };
        Identity::read(&base.join(certificate), &base.join(key))
            .map(Some)
            .map_err(|error| format!("`auth`: {error}"))
    }

    /// What of it is secret; the key of a certificate stays in its file.
    pub fn secret_mut(&mut self) -> Option<&mut SecretRef> {
        match self {
            PeerAuth::Bearer { token } => Some(token),
            PeerAuth::ApiKey { key, .. } => Some(key),
            PeerAuth::Basic { password, .. } => Some(password),
            PeerAuth::Mtls { .. } => None,
        }
    }

    /// The same for a client, if it is sent with each request; `None` also before its secret was resolved.
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
            PeerAuth::Mtls { .. } => return None,
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
