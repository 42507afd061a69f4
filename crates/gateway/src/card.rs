//! What an agent says of itself: its card, from its configuration and the address it is asked at.
//!
//! Addresses come from `server.public_url`; without one from a trusted proxy, else from the socket
//! the reader came in by, which it can reach. What others say in a request counts for nothing.

use nuncio_wire::card_signature::{self, SigningKey};
use nuncio_wire::{
    AgentCapabilities, AgentCard, AgentCardSignature, AgentExtension, AgentInterface,
    AgentProvider, AgentSkill, HttpAuthSecurityScheme, Metadata, MutualTlsSecurityScheme, RawJson,
    SecurityRequirement, SecurityScheme, StringList,
};
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use url::Url;

use crate::agents::{About, Agents, ServedAgent};
use crate::config::{Config, ExtensionConfig, Secret, SkillConfig};

/// Where the gateway is reached, without a slash at the end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BaseUrl(Arc<str>);

impl BaseUrl {
    /// The public URL, else the address `at`.
    #[must_use]
    pub fn of(config: &Config, at: SocketAddr) -> Self {
        match &config.server.public_url {
            Some(url) => Self(url.as_str().trim_end_matches('/').into()),
            None => Self(format!("{}://{at}", config.scheme()).into()),
        }
    }

    /// The address that a trusted proxy was called at.
    #[must_use]
    pub fn told(url: &str) -> Self {
        Self(url.trim_end_matches('/').into())
    }

    /// The same for an agent that may have a host of its own: there it is at the root.
    #[must_use]
    pub fn of_agent(&self, agent: &ServedAgent) -> Self {
        let own = agent.config.host.as_deref().and_then(|host| {
            let mut url = Url::parse(&self.0).ok()?;
            url.set_host(Some(host)).ok()?;
            Some(Self(url.origin().ascii_serialization().into()))
        });
        own.unwrap_or_else(|| self.clone())
    }

    /// The name or address of the host, without its port.
    #[must_use]
    pub fn host(&self) -> String {
        let url = url::Url::parse(&self.0).ok();
        let host = url.as_ref().and_then(url::Url::host_str);
        host.unwrap_or("localhost").to_owned()
    }

    /// Where an agent's card is.
    #[must_use]
    pub fn card_url(&self, name: &str, at_root: bool) -> String {
        const PATH: &str = "/.well-known/agent-card.json";
        format!("{}{PATH}", self.rest_url(name, at_root))
    }

    /// Where an agent takes JSON-RPC: at the root, or below its name.
    #[must_use]
    pub fn agent_url(&self, name: &str, at_root: bool) -> String {
        if at_root {
            format!("{}/", self.0)
        } else {
            format!("{}/agents/{name}", self.0)
        }
    }

    /// The base of an agent's HTTP+JSON paths, which begin with a slash of their own.
    #[must_use]
    pub fn rest_url(&self, name: &str, at_root: bool) -> String {
        if at_root {
            self.0.to_string()
        } else {
            format!("{}/agents/{name}", self.0)
        }
    }

    /// Where gRPC is taken, as `host:port`; `None` behind a path, which gRPC calls do not have.
    #[must_use]
    pub fn grpc_address(&self) -> Option<String> {
        let url: Url = self.0.parse().ok()?;
        let port = url.port_or_known_default()?;
        let host = url.host_str()?;
        (url.path() == "/").then(|| format!("{host}:{port}"))
    }

    /// The same as a URL.
    fn grpc_url(&self) -> Option<String> {
        self.grpc_address().map(|_| self.0.to_string())
    }

    /// Where an agent takes the 2025-04 dialect.
    #[must_use]
    pub fn legacy_url(&self, name: &str) -> String {
        format!("{}/legacy/{name}", self.0)
    }

    /// Where an agent behind a webhook posts its answer for a turn.
    #[must_use]
    pub fn callback_url(&self, task: &str, token: &Secret) -> String {
        format!("{}/callback/{task}/{}", self.0, token.expose())
    }

    /// Where an agent takes the fleet's dialect.
    #[must_use]
    pub fn fleet_url(&self, name: &str) -> String {
        format!("{}/fleet/a2a/{name}", self.0)
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Makes cards, public and extended, and signs them.
#[derive(Debug)]
pub struct CardMaker {
    agents: Arc<Agents>,
    config: Arc<Config>,
    keys: Vec<SigningKey>,
}

impl CardMaker {
    /// Cards of these agents, signed with the configured keys, whose secrets have been resolved.
    ///
    /// # Errors
    /// Which key cannot be used and why.
    pub fn new(agents: Arc<Agents>, config: Arc<Config>) -> Result<Self, String> {
        let references = config.server.card_keys.iter().enumerate();
        let keys = references.map(|(index, reference)| {
            let text = reference.secret().map_or("", |secret| secret.expose());
            SigningKey::read(text)
                .map_err(|error| format!("server.card_keys[{index}] ({reference}): {error}"))
        });
        Ok(Self {
            keys: keys.collect::<Result<_, _>>()?,
            agents,
            config,
        })
    }

    /// The agents whose cards are made.
    #[must_use]
    pub fn agents(&self) -> &Arc<Agents> {
        &self.agents
    }

    /// The configuration in force.
    #[must_use]
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// The card that everybody sees, unsigned.
    #[must_use]
    pub fn public(&self, agent: &ServedAgent, base: &BaseUrl) -> AgentCard {
        build(agent, &self.agents, &self.config, &base.of_agent(agent))
    }

    /// The signed card for callers with a credential, if the agent has one.
    #[must_use]
    pub fn extended(&self, agent: &ServedAgent, base: &BaseUrl) -> Option<AgentCard> {
        let extended = agent.config.extended.as_ref()?;
        let mut card = self.public(agent, base);
        card.skills.extend(extended.skills.iter().map(skill));
        if let Some(description) = &extended.description {
            card.description.clone_from(description);
        }
        if let Some(url) = &extended.documentation_url {
            card.documentation_url = Some(url.as_str().to_owned());
        }
        let json = serde_json::to_vec(&card).expect("a card has a JSON form");
        card.signatures = self.signatures(&json);
        Some(card)
    }

    /// Signatures of every key over the JSON of a card, which is exactly what is served but for
    /// them. None where no key is configured.
    #[must_use]
    pub fn signatures(&self, card: &[u8]) -> Vec<AgentCardSignature> {
        let signed = self.keys.iter().flat_map(|key| {
            card_signature::sign(card, key).unwrap_or_else(|error| {
                tracing::error!(%error, kid = key.public().kid(), "a card goes out unsigned");
                Vec::new()
            })
        });
        signed.collect()
    }
}

/// The card of `agent` (specification 4.4.1). No required member is left empty.
#[must_use]
fn build(agent: &ServedAgent, agents: &Agents, config: &Config, base: &BaseUrl) -> AgentCard {
    let settings = &agent.config;
    let at_root = agents.is_at_root(agent);
    let name = settings
        .name
        .clone()
        .unwrap_or_else(|| agent.name.to_string());
    let about = agent.known_about().about;
    let own_description = Some(&about.description).filter(|text| !text.is_empty());
    let description = settings.description.as_ref().or(own_description).cloned();
    let description = description.unwrap_or_else(|| format!("The agent '{name}'."));
    let mut card = AgentCard {
        supported_interfaces: interfaces(agent, at_root, config, base),
        provider: settings.provider.as_ref().map(|provider| AgentProvider {
            url: provider.url.as_str().to_owned(),
            organization: provider.organization.clone(),
        }),
        version: settings.version.clone(),
        documentation_url: settings
            .documentation_url
            .as_ref()
            .map(|url| url.as_str().to_owned()),
        capabilities: AgentCapabilities {
            streaming: Some(settings.capabilities.streaming),
            push_notifications: Some(settings.capabilities.push_notifications),
            extensions: settings
                .capabilities
                .extensions
                .iter()
                .map(extension)
                .collect(),
            extended_agent_card: Some(settings.extended.is_some()),
        },
        default_input_modes: match settings.input_modes {
            None if !about.input_modes.is_empty() => about.input_modes.clone(),
            _ => settings.input_modes(),
        },
        default_output_modes: match settings.output_modes {
            None if !about.output_modes.is_empty() => about.output_modes.clone(),
            _ => settings.output_modes(),
        },
        skills: skills(agent, &about, &name, &description),
        icon_url: settings
            .icon_url
            .as_ref()
            .map(|url| url.as_str().to_owned()),
        name,
        description,
        ..AgentCard::default()
    };
    let is_required = config.has_credentials() || agent.requires_credential();
    if is_required || settings.extended.is_some() {
        declare_schemes(&mut card, config, is_required);
    }
    card
}

/// Every binding in 1.0, then again in 0.3 where that is served.
fn interfaces(
    agent: &ServedAgent,
    at_root: bool,
    config: &Config,
    base: &BaseUrl,
) -> Vec<AgentInterface> {
    let name = &agent.name;
    let kit_wants_urls = agent.conformance.is_some_and(|kit| kit.grpc_urls);
    let versions = ["1.0", "0.3"].into_iter();
    versions
        .take(if config.compat.v0_3 { 2 } else { 1 })
        .flat_map(|version| {
            let grpc = match version {
                // Without a path and without a tenant there is only the agent of the host.
                "0.3" if !at_root => None,
                "0.3" if kit_wants_urls => base.grpc_url(),
                _ => base.grpc_address(),
            };
            let bindings = [
                ("JSONRPC", Some(base.agent_url(name, at_root))),
                ("HTTP+JSON", Some(base.rest_url(name, at_root))),
                (GRPC, grpc),
            ];
            bindings.map(|(binding, url)| {
                Some(AgentInterface {
                    url: url?,
                    protocol_binding: binding.to_owned(),
                    tenant: tenant_at(agent, at_root, binding, version),
                    protocol_version: version.to_owned(),
                })
            })
        })
        .flatten()
        .collect()
}

const GRPC: &str = "GRPC";

/// What a request must name: the configured tenant; over gRPC, where no path names the agent, its
/// name. 0.3 knows no tenants; there the address alone names the agent.
fn tenant_at(agent: &ServedAgent, at_root: bool, binding: &str, version: &str) -> Option<String> {
    if version == "0.3" {
        return None;
    }
    let name = (binding == GRPC && !at_root).then(|| agent.name.to_string());
    agent.config.tenant.clone().or(name)
}

fn extension(configured: &ExtensionConfig) -> AgentExtension {
    let params = Some(&configured.params).filter(|params| !params.is_empty());
    AgentExtension {
        uri: configured.uri.clone(),
        description: configured.description.clone(),
        required: configured.required,
        params: params.map(|params| {
            let json = RawJson::of(params).expect("values of a file have a JSON form");
            Metadata::from_raw(json).expect("a table is an object")
        }),
    }
}

/// The configured skills, then those that the agent tells of itself; without any, one that is the
/// agent itself.
fn skills(agent: &ServedAgent, about: &About, name: &str, description: &str) -> Vec<AgentSkill> {
    let mut skills: Vec<AgentSkill> = agent.config.skills.iter().map(skill).collect();
    for own in &about.skills {
        if skills.iter().all(|skill| skill.id != own.id) {
            skills.push(own.clone());
        }
    }
    if skills.is_empty() {
        return vec![AgentSkill {
            id: "general".to_owned(),
            name: name.to_owned(),
            description: description.to_owned(),
            tags: vec!["general".to_owned()],
            ..AgentSkill::default()
        }];
    }
    skills
}

/// A configured skill as cards have it.
pub fn skill(configured: &SkillConfig) -> AgentSkill {
    let or_name = |text: &str| {
        if text.is_empty() {
            configured.name.clone()
        } else {
            text.to_owned()
        }
    };
    AgentSkill {
        id: configured.id.clone(),
        name: configured.name.clone(),
        description: or_name(&configured.description),
        tags: if configured.tags.is_empty() {
            vec![configured.id.clone()]
        } else {
            configured.tags.clone()
        },
        examples: configured.examples.clone(),
        input_modes: configured.input_modes.clone(),
        output_modes: configured.output_modes.clone(),
        security_requirements: Vec::new(),
    }
}

/// What a caller may show: a token, a client certificate, or one of them where both will do.
fn declare_schemes(card: &mut AgentCard, config: &Config, is_required: bool) {
    let mut schemes = BTreeMap::new();
    if config.has_tokens() || !config.takes_client_certificates() {
        let scheme = HttpAuthSecurityScheme {
            description: "A token given out by this agent's operator.".to_owned(),
            scheme: "Bearer".to_owned(),
            bearer_format: String::new(),
        };
        let scheme = SecurityScheme::HttpAuthSecurityScheme(scheme);
        schemes.insert("bearer".to_owned(), scheme);
    }
    if config.takes_client_certificates() {
        let scheme = MutualTlsSecurityScheme {
            description: "A client certificate of this agent's operator.".to_owned(),
        };
        let scheme = SecurityScheme::MtlsSecurityScheme(scheme);
        schemes.insert("mtls".to_owned(), scheme);
    }
    if is_required {
        let requirement = |name: &String| SecurityRequirement {
            schemes: BTreeMap::from([(name.clone(), StringList::default())]),
        };
        card.security_requirements = schemes.keys().map(requirement).collect();
    }
    card.security_schemes = schemes;
}
