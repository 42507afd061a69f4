//! Credentials of a request: Bearer, `X-API-Key`, or Basic with the token as password; else the
//! client certificate of its connection.
//!
//! Tokens are kept as SHA-256 and compared without an early end; no token is ever logged.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use nuncio_wire::{A2aError, ErrorKind};
use sha2::{Digest as _, Sha256};
use std::net::IpAddr;
use subtle::{Choice, ConstantTimeEq as _};

use super::caller::{Caller, Standing};
use crate::agents::conformance;
use crate::config::Config;

/// Longest credential that is looked at, 8 KiB: what is longer was never issued.
const MAX_CREDENTIAL_BYTES: usize = 8 * 1024;

/// Checks credentials against the configured tokens.
#[derive(Debug)]
pub struct Authenticator {
    tokens: Vec<Token>,
    /// Whether a client certificate is a credential here.
    certificates: bool,
    trusted: Vec<String>,
    /// Whether the tokens of conformance kits are known, too.
    conformance: bool,
}

struct Token {
    digest: [u8; 32],
    /// `None`: the shared token, whose bearers are told apart by address.
    peer: Option<String>,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Token")
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

/// Why a request is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// No credential, or one that is not known: 401.
    Unauthenticated(A2aError),
    /// A known peer that is not trusted: 403.
    Untrusted(A2aError),
}

impl Authenticator {
    /// The tokens of this configuration, whose secrets have been resolved.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let certificates = config.takes_client_certificates();
        let config = &config.security;
        let digest = |text: &str| Sha256::digest(text.as_bytes()).into();
        let mut tokens: Vec<Token> = Vec::new();
        for (peer, reference) in &config.peer_tokens {
            if let Some(secret) = reference.secret() {
                tokens.push(Token {
                    digest: digest(secret.expose()),
                    peer: Some(peer.clone()),
                });
            }
        }
        if let Some(secret) = config
            .bearer_token
            .as_ref()
            .and_then(|reference| reference.secret())
        {
            tokens.push(Token {
                digest: digest(secret.expose()),
                peer: None,
            });
        }
        Self {
            tokens,
            certificates,
            trusted: config.trusted_peers.clone(),
            conformance: false,
        }
    }

    /// Lets callers show the tokens of conformance kits, for a gateway that serves an agent of that
    /// backend. They open nothing else, and nothing at all where the gateway has tokens of its own.
    #[must_use]
    pub fn with_conformance_tokens(mut self, known: bool) -> Self {
        self.conformance = known && self.tokens.is_empty();
        self
    }

    /// Who sent this head from `address`, over a connection whose client certificate names
    /// `certified`. A token in the head goes before the certificate.
    pub fn caller(
        &self,
        headers: &HeaderMap,
        address: IpAddr,
        certified: Option<&str>,
    ) -> Result<Caller, Denied> {
        if self.tokens.is_empty() && !self.certificates {
            let caller = Caller::address(address);
            let shown = self.conformance.then(|| presented(headers)).flatten();
            let suffices = shown.and_then(|token| conformance::token_suffices(&token));
            return Ok(match suffices {
                Some(suffices) => caller.standing(Standing::Conformance { suffices }),
                None => caller,
            });
        }
        let presented = if self.tokens.is_empty() {
            None
        } else {
            presented(headers)
        };
        let presented = match (presented, certified.filter(|_| self.certificates)) {
            (Some(presented), _) => presented,
            (None, Some(name)) => {
                let caller = Caller::certified(name);
                self.check_trust(&caller.owner)?;
                return Ok(caller);
            }
            (None, None) => return Err(unauthenticated(self.wanted())),
        };
        let token = self.find(&presented).ok_or_else(|| {
            unauthenticated("The credential is not known to this agent; ask its operator for one.")
        })?;
        let Some(peer) = &token.peer else {
            return Ok(Caller::address(address).standing(Standing::Proven));
        };
        self.check_trust(peer)?;
        Ok(Caller::peer(peer))
    }

    /// Lets nobody pass who is not on the list of trusted peers, where there is one.
    fn check_trust(&self, name: &str) -> Result<(), Denied> {
        if self.trusted.is_empty() || self.trusted.iter().any(|trusted| trusted == name) {
            return Ok(());
        }
        let text = format!(
            "Peer '{name}' is not trusted here; ask the operator to add it to trusted_peers."
        );
        let error = A2aError::new(ErrorKind::PermissionDenied, text);
        Err(Denied::Untrusted(error))
    }

    /// What a caller who has shown nothing is to show.
    fn wanted(&self) -> &'static str {
        match (self.tokens.is_empty(), self.certificates) {
            (true, _) => "This agent needs a client certificate.",
            (false, true) => {
                "This agent needs a credential: send Authorization: Bearer TOKEN, or show a client \
                 certificate."
            }
            (false, false) => "This agent needs a credential: send Authorization: Bearer TOKEN.",
        }
    }

    /// Compares with every token, so that the time taken says nothing about which was close.
    fn find(&self, presented: &[u8]) -> Option<&Token> {
        let digest: [u8; 32] = Sha256::digest(presented).into();
        let mut found = None;
        for token in &self.tokens {
            let equal: Choice = token.digest.ct_eq(&digest);
            if bool::from(equal) {
                found = Some(token);
            }
        }
        found
    }
}

fn unauthenticated(text: &'static str) -> Denied {
    Denied::Unauthenticated(A2aError::new(ErrorKind::Unauthenticated, text))
}

/// The token in the head, wherever it stands.
fn presented(headers: &HeaderMap) -> Option<Vec<u8>> {
    if let Some(value) = headers.get(AUTHORIZATION) {
        let (scheme, rest) = value.to_str().ok()?.split_once(' ')?;
        let rest = rest.trim();
        let token = if scheme.eq_ignore_ascii_case("bearer") {
            rest.as_bytes().to_vec()
        } else if scheme.eq_ignore_ascii_case("basic") {
            let pair = STANDARD.decode(rest).ok()?;
            let colon = memchr::memchr(b':', &pair)?;
            pair[colon + 1..].to_vec()
        } else {
            return None;
        };
        return Some(token).filter(|token| is_plausible(token));
    }
    let key = headers.get("x-api-key")?.as_bytes().to_vec();
    Some(key).filter(|token| is_plausible(token))
}

fn is_plausible(token: &[u8]) -> bool {
    !token.is_empty() && token.len() <= MAX_CREDENTIAL_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Secret, SecretRef, SecurityConfig, TlsConfig};
    use std::net::Ipv4Addr;

    const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn config(trusted: &[&str]) -> Config {
        let token = |text: &str| SecretRef::given(Secret::new(text), "test");
        let mut config = SecurityConfig::default();
        config
            .peer_tokens
            .insert("alice".to_owned(), token("alice-token"));
        config
            .peer_tokens
            .insert("bob".to_owned(), token("bob-token"));
        config.bearer_token = Some(token("shared-token"));
        config.trusted_peers = trusted.iter().map(|name| (*name).to_owned()).collect();
        Config {
            security: config,
            ..Config::default()
        }
    }

    fn authenticator(trusted: &[&str]) -> Authenticator {
        Authenticator::new(&config(trusted))
    }

    fn head(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())])
    }

    #[test]
    fn a_token_names_its_peer_in_every_form_it_may_be_sent() {
        let basic = format!("Basic {}", STANDARD.encode("any:alice-token"));
        for (name, value) in [
            ("authorization", "Bearer alice-token"),
            ("authorization", "bearer alice-token"),
            ("authorization", basic.as_str()),
            ("x-api-key", "alice-token"),
        ] {
            let caller = authenticator(&[]).caller(&head(name, value), HOME, None);
            assert_eq!(caller, Ok(Caller::peer("alice")), "{value}");
        }
        let shared =
            authenticator(&[]).caller(&head("authorization", "Bearer shared-token"), HOME, None);
        assert_eq!(&*shared.unwrap().owner, "ip:127.0.0.1");
    }

    #[test]
    fn what_is_no_known_token_is_nobody() {
        for value in [
            "Bearer ",
            "Bearer wrong",
            "alice-token",
            "Digest alice-token",
            "Basic !",
        ] {
            let denied = authenticator(&[]).caller(&head("authorization", value), HOME, None);
            assert!(matches!(denied, Err(Denied::Unauthenticated(_))), "{value}");
        }
        let denied = authenticator(&[]).caller(&HeaderMap::new(), HOME, None);
        assert!(matches!(denied, Err(Denied::Unauthenticated(_))));
    }

    #[test]
    fn a_list_of_trusted_peers_keeps_the_others_out() {
        let head = |token: &str| head("authorization", &format!("Bearer {token}"));
        let gate = authenticator(&["alice"]);
        assert_eq!(
            gate.caller(&head("alice-token"), HOME, None),
            Ok(Caller::peer("alice"))
        );
        assert!(matches!(
            gate.caller(&head("bob-token"), HOME, None),
            Err(Denied::Untrusted(_))
        ));
    }

    #[test]
    fn a_certificate_is_a_credential_where_its_authority_is_named() {
        let mut config = config(&["mtls:builder", "alice"]);
        let by = |config: &Config, headers: &HeaderMap, name: Option<&str>| {
            Authenticator::new(config).caller(headers, HOME, name)
        };
        let nothing = HeaderMap::new();
        let unknown = by(&config, &nothing, Some("builder"));
        assert!(matches!(unknown, Err(Denied::Unauthenticated(_))));
        config.server.tls = Some(TlsConfig {
            certificate: "c".into(),
            key: "k".into(),
            client_ca: Some("a".into()),
        });
        let builder = Ok(Caller::certified("builder"));
        assert_eq!(by(&config, &nothing, Some("builder")), builder);
        let other = by(&config, &nothing, Some("other"));
        assert!(matches!(other, Err(Denied::Untrusted(_))));
        let alice = head("authorization", "Bearer alice-token");
        assert_eq!(
            by(&config, &alice, Some("builder")),
            Ok(Caller::peer("alice"))
        );
        let wrong = head("authorization", "Bearer wrong");
        let wrong = by(&config, &wrong, Some("builder"));
        assert!(matches!(wrong, Err(Denied::Unauthenticated(_))));
        // With no tokens at all, nobody gets in without a certificate.
        config.security.peer_tokens.clear();
        config.security.bearer_token = None;
        let anonymous = by(&config, &alice, None);
        assert!(matches!(anonymous, Err(Denied::Unauthenticated(_))));
        assert_eq!(by(&config, &alice, Some("builder")), builder);
    }
}
