//! What can only be seen of the configuration as a whole.

use std::collections::HashMap;

use super::agents::{check_caller_name, check_host_name, check_name, check_path_name};
use super::extensions::wrong_extensions;
use super::{Config, PeerAuth, SecretRef, StoreUrl};

/// Keys that sign a notification: the present one and those of a change.
const MAX_SIGNING_KEYS: usize = 4;
/// Further tries of one notification.
const MAX_RETRY_DELAYS: usize = 20;
/// Longest wait between two tries: a receiver that is away longer has lost its place anyway.
const MAX_RETRY_DELAY: std::time::Duration = std::time::Duration::from_secs(7 * 24 * 60 * 60);

/// Something about a configuration that does not fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The dotted key it is about; [`super::locate`] finds it in a file.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
    /// Whether the gateway can start all the same.
    pub severity: Severity,
}

/// How bad a [`Problem`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The gateway does not start.
    Error,
    /// The gateway starts, and says it.
    Warning,
}

impl Config {
    /// Everything that does not fit together. The gateway starts if there is no
    /// [`Severity::Error`] among it.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Problems(Vec::new());
        self.check_names(&mut problems);
        self.check_agents(&mut problems);
        self.check_hosts(&mut problems);
        self.check_reach(&mut problems);
        self.check_cards(&mut problems);
        self.check_trust(&mut problems);
        self.check_push(&mut problems);
        self.check_openfang(&mut problems);
        self.check_profiles(&mut problems);
        if self.store.password.is_some() && !matches!(self.store.url, StoreUrl::Postgres(_)) {
            let message = "ignored: only a store at `postgres://…` has a password".to_owned();
            problems.warning("store.password".to_owned(), message);
        }
        problems.0
    }

    /// Every secret of the configuration with its dotted key.
    pub fn secrets_mut(&mut self) -> Vec<(String, &mut SecretRef)> {
        let mut secrets = Vec::new();
        for (name, token) in &mut self.security.peer_tokens {
            secrets.push((format!("security.peer_tokens.{name}"), token));
        }
        if let Some(token) = &mut self.security.bearer_token {
            secrets.push(("security.bearer_token".to_owned(), token));
        }
        if let Some(secret) = &mut self.push.secret {
            secrets.push(("push.secret".to_owned(), secret));
        }
        if let Some(key) = &mut self.push.fleet_key {
            secrets.push(("push.fleet_key".to_owned(), key));
        }
        for (index, key) in self.push.signing_keys.iter_mut().enumerate() {
            secrets.push((format!("push.signing_keys.{index}"), key));
        }
        for (index, key) in self.server.card_keys.iter_mut().enumerate() {
            secrets.push((format!("server.card_keys.{index}"), key));
        }
        for (name, peer) in &mut self.peers {
            let mut backends = self.agents.values().map(|agent| &agent.backend);
            let is_behind_us = backends.any(|backend| backend.peer() == Some(name));
            let auth = peer.auth.as_mut().filter(|_| is_behind_us);
            if let Some(secret) = auth.and_then(PeerAuth::secret_mut) {
                secrets.push((format!("peers.{name}.auth"), secret));
            }
        }
        for (name, agent) in &mut self.agents {
            for (key, secret) in agent.backend.secrets_mut() {
                secrets.push((format!("agents.{name}.{key}"), secret));
            }
            for (server, config) in &mut agent.mcp_servers {
                let key = format!("agents.{name}.mcp_servers.{server}.bearer");
                secrets.extend(config.bearer.as_mut().map(|bearer| (key, bearer)));
            }
        }
        if let Some(password) = &mut self.store.password {
            secrets.push(("store.password".to_owned(), password));
        }
        secrets
    }

    /// Profiles of Hermes are agents by their names.
    fn check_profiles(&self, problems: &mut Problems) {
        for (index, profile) in self.workers.hermes_profiles.iter().enumerate() {
            let key = format!("workers.hermes_profiles.{index}");
            match self.agents.get(profile) {
                _ if check_name(profile).is_err() => {
                    let message = format!(
                        "`{profile}` is no name of a profile: those have 1 to 64 of `a-z 0-9 - _`"
                    );
                    problems.error(key, message);
                }
                Some(agent) if !agent.workers_only => {
                    problems.error(key, format!("an agent has the name `{profile}`, too"));
                }
                Some(_) => {}
                None => {
                    let message = "it is not known where Hermes is; name its directory";
                    problems.error("workers.hermes_home".to_owned(), message.to_owned());
                }
            }
        }
    }

    fn check_push(&self, problems: &mut Problems) {
        let push = &self.push;
        for (key, count, most) in [
            (
                "push.signing_keys",
                push.signing_keys.len(),
                MAX_SIGNING_KEYS,
            ),
            (
                "push.retry_delays",
                push.retry_delays.len(),
                MAX_RETRY_DELAYS,
            ),
        ] {
            if count > most {
                problems.error(key, format!("there are {count}, but at most {most} may be"));
            }
        }
        if push.timeout.get().is_zero() {
            problems.error("push.timeout", "`timeout` must be longer than 0".to_owned());
        }
        let longest = push
            .retry_delays
            .iter()
            .position(|delay| delay.get() > MAX_RETRY_DELAY);
        if let Some(index) = longest {
            let message = "a wait between two tries must not exceed 7d".to_owned();
            problems.error(format!("push.retry_delays.{index}"), message);
        }
    }

    fn check_names(&self, problems: &mut Problems) {
        let mut check = |table: &str, name: &str, check: fn(&str) -> Result<(), String>| {
            if let Err(message) = check(name) {
                problems.error(format!("{table}.{name}"), message);
            }
        };
        self.agents
            .keys()
            .for_each(|name| check("agents", name, check_path_name));
        self.peers
            .keys()
            .for_each(|name| check("peers", name, check_name));
        let callers = self.security.peer_tokens.keys();
        callers.for_each(|name| check("security.peer_tokens", name, check_caller_name));
    }

    fn check_agents(&self, problems: &mut Problems) {
        let mut tenants: HashMap<&str, &str> = HashMap::new();
        for (name, agent) in &self.agents {
            let tenant = agent.tenant.as_ref().unwrap_or(name);
            let key = format!("agents.{name}.tenant");
            if let Err(message) = check_path_name(tenant)
                && agent.tenant.is_some()
            {
                problems.error(key, message);
            } else if let Some(other) = tenants.insert(tenant, name) {
                problems.error(
                    key,
                    format!("agent `{other}` has the tenant `{tenant}` too"),
                );
            }
            if let Some((key, message)) = agent.backend.problem(&self.peers) {
                problems.error(format!("agents.{name}.{key}"), message);
            }
            for (server, config) in &agent.mcp_servers {
                let key = format!("agents.{name}.mcp_servers.{server}");
                if let Err(message) = check_name(server) {
                    problems.error(key, message);
                } else if let Some((last, message)) = config.problem() {
                    problems.error(format!("{key}.{last}"), message);
                }
            }
            let mut skills = std::collections::HashSet::new();
            for (index, skill) in agent.skills.iter().enumerate() {
                if !skills.insert(&skill.id) {
                    let key = format!("agents.{name}.skills.{index}");
                    problems.error(key, format!("the skill `{}` is there twice", skill.id));
                }
            }
            for (index, message) in wrong_extensions(&agent.capabilities.extensions) {
                let key = format!("agents.{name}.capabilities.extensions.{index}");
                problems.error(key, message);
            }
        }
    }

    /// A host leads to one agent, and the gateway's own to none but the default one.
    fn check_hosts(&self, problems: &mut Problems) {
        let public = self.server.public_url.as_ref();
        let public = public.and_then(|url| url.url().host_str());
        let mut hosts: HashMap<String, &str> = HashMap::new();
        for (name, agent) in &self.agents {
            let Some(host) = &agent.host else { continue };
            let key = format!("agents.{name}.host");
            if let Err(message) = check_host_name(host) {
                problems.error(key, message);
            } else if public.is_some_and(|public| public.eq_ignore_ascii_case(host)) {
                let message = format!("`{host}` is the gateway's own host (server.public_url)");
                problems.error(key, message);
            } else if let Some(other) = hosts.insert(host.to_ascii_lowercase(), name) {
                problems.error(key, format!("agent `{other}` has the host `{host}` too"));
            }
        }
    }

    /// Other machines only get in with a credential.
    fn check_reach(&self, problems: &mut Problems) {
        if self.server.listen.is_empty() {
            problems.error(
                "server.listen",
                "there is no address to listen on".to_owned(),
            );
        }
        for (index, address) in self.server.listen.iter().enumerate() {
            let key = format!("server.listen.{index}");
            if self.server.listen[..index].contains(address) && address.port() != 0 {
                problems.error(key, format!("{address} is there twice"));
            } else if !address.ip().to_canonical().is_loopback() && !self.has_credentials() {
                problems.0.push(Problem {
                    key,
                    message: format!(
                        "other machines can reach {address}, and no caller needs a credential"
                    ),
                    hint: Some(
                        "set A2A_BEARER_TOKEN, A2A_PEER_TOKENS or `[security] peer_tokens`, or \
                         listen on 127.0.0.1"
                            .to_owned(),
                    ),
                    severity: Severity::Error,
                });
            }
        }
        if let Some(public) = &self.server.public_url
            && (public.url().query().is_some() || public.url().fragment().is_some())
        {
            let message = "`public_url` must not have a query or a fragment".to_owned();
            problems.error("server.public_url", message);
        }
    }

    /// What is signed is set, and what only some may see can be seen by somebody.
    fn check_cards(&self, problems: &mut Problems) {
        if !self.server.card_keys.is_empty() && self.server.public_url.is_none() {
            problems.0.push(Problem {
                key: "server.card_keys".to_owned(),
                message: "a signed card names set addresses only, and there is no `public_url`"
                    .to_owned(),
                hint: Some("set `[server] public_url`, or take `card_keys` away".to_owned()),
                severity: Severity::Error,
            });
        }
        for (name, agent) in &self.agents {
            let Some(extended) = &agent.extended else {
                continue;
            };
            for (index, skill) in extended.skills.iter().enumerate() {
                let mut before = agent.skills.iter().chain(&extended.skills[..index]);
                if before.any(|other| other.id == skill.id) {
                    let key = format!("agents.{name}.extended.skills.{index}");
                    problems.error(key, format!("the skill `{}` is there twice", skill.id));
                }
            }
            if !self.has_credentials() {
                problems.warning(
                    format!("agents.{name}.extended"),
                    "nobody can see the extended card, because no caller has a credential: set \
                     `[security] peer_tokens` or `bearer_token`"
                        .to_owned(),
                );
            }
        }
    }

    fn check_trust(&self, problems: &mut Problems) {
        for (index, name) in self.security.trusted_peers.iter().enumerate() {
            let known = self.security.peer_tokens.contains_key(name)
                || name.starts_with("ip:")
                || (name.starts_with("mtls:") && self.takes_client_certificates());
            if !known {
                problems.0.push(Problem {
                    key: format!("security.trusted_peers.{index}"),
                    message: format!("no token of `peer_tokens` belongs to `{name}`"),
                    hint: None,
                    severity: Severity::Warning,
                });
            }
        }
        for (name, peer) in &self.peers {
            let plain = peer.url.url().scheme() == "http";
            let local = match peer.url.url().host() {
                Some(url::Host::Domain(host)) => host == "localhost",
                Some(url::Host::Ipv4(ip)) => ip.is_loopback() || ip.is_private(),
                Some(url::Host::Ipv6(ip)) => ip.is_loopback() || ip.is_unique_local(),
                None => false,
            };
            let secret = matches!(
                peer.auth,
                Some(PeerAuth::Bearer { .. } | PeerAuth::ApiKey { .. } | PeerAuth::Basic { .. })
            );
            if plain && !local && secret {
                problems.warning(
                    format!("peers.{name}.url"),
                    format!("the credential for `{name}` travels unencrypted: use https"),
                );
            }
        }
    }

    fn check_openfang(&self, problems: &mut Problems) {
        if let Some(path) = &self.a2a.listen_path
            && path.trim_end_matches('/') != "/a2a"
        {
            problems.warning(
                "a2a.listen_path".to_owned(),
                format!("ignored: OpenFang's dialect is served at /a2a, not at {path}"),
            );
        }
        if !self.a2a.enabled && !self.a2a.external_agents.is_empty() {
            problems.warning(
                "a2a.external_agents".to_owned(),
                "ignored: they become peers only with `enabled = true`".to_owned(),
            );
        }
    }
}

struct Problems(Vec<Problem>);

impl Problems {
    fn error(&mut self, key: impl Into<String>, message: String) {
        let (key, severity) = (key.into(), Severity::Error);
        self.0.push(Problem {
            key,
            message,
            hint: None,
            severity,
        });
    }

    fn warning(&mut self, key: String, message: String) {
        self.0.push(Problem {
            key,
            message,
            hint: None,
            severity: Severity::Warning,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;
    use std::path::Path;

    fn problems(text: &str) -> Vec<(String, Severity)> {
        let config = parse(text, Path::new("nuncio.toml")).unwrap();
        config
            .problems()
            .into_iter()
            .map(|problem| (problem.key, problem.severity))
            .collect()
    }

    fn error(key: &str) -> Vec<(String, Severity)> {
        vec![(key.to_owned(), Severity::Error)]
    }

    fn warning(key: &str) -> Vec<(String, Severity)> {
        vec![(key.to_owned(), Severity::Warning)]
    }

    #[test]
    fn other_machines_need_a_credential() {
        let wide = "[server]\nlisten = [\"127.0.0.1:1\", \"0.0.0.0:1\"]\n";
        assert_eq!(problems(wide), error("server.listen.1"));
        let with_token = format!("{wide}[security]\nbearer_token = \"env:T\"\n");
        assert_eq!(problems(&with_token), []);
        assert_eq!(
            problems("[server]\nlisten = [\"[::1]:1\", \"127.8.8.8:1\"]\n"),
            []
        );
    }

    #[test]
    fn extensions_are_uris_that_stand_there_once() {
        let with = |list: &str| {
            problems(&format!(
                "[agents.a]\nbackend = \"echo\"\ncapabilities = {{ extensions = [{list}] }}\n"
            ))
        };
        let (one, other) = ("{ uri = \"urn:x:a\" }", "{ uri = \"urn:x:b\" }");
        assert_eq!(with(&format!("{one}, {other}")), []);
        let key = |index: usize| error(&format!("agents.a.capabilities.extensions.{index}"));
        assert_eq!(with(&format!("{one}, {other}, {one}")), key(2));
        for wrong in ["", "a b", "urn:a,urn:b", "urn:ä"] {
            assert_eq!(with(&format!("{{ uri = \"{wrong}\" }}")), key(0), "{wrong}");
        }
    }

    #[test]
    fn names_and_tenants_are_told_apart() {
        assert_eq!(
            problems("[agents.Big]\nbackend = \"echo\"\n"),
            error("agents.Big")
        );
        assert_eq!(
            problems("[agents.tasks]\nbackend = \"echo\"\n"),
            error("agents.tasks")
        );
        let two = |a: &str, b: &str| {
            format!("[agents.a]\nbackend = \"echo\"\n{a}\n[agents.b]\nbackend = \"echo\"\n{b}\n")
        };
        assert_eq!(
            problems(&two("tenant = \"x\"", "tenant = \"x\"")),
            error("agents.b.tenant")
        );
        assert_eq!(
            problems(&two("tenant = \"b\"", "")),
            error("agents.b.tenant")
        );
        assert_eq!(problems(&two("tenant = \"b\"", "tenant = \"a\"")), []);
        assert_eq!(
            problems(&two("tenant = \"v1\"", "")),
            error("agents.a.tenant")
        );
    }

    #[test]
    fn a_host_leads_to_one_agent() {
        let two = |a: &str, b: &str| {
            let agent = |name: &str, host: &str| {
                format!("[agents.{name}]\nbackend = \"echo\"\nhost = \"{host}\"\n")
            };
            agent("a", a) + &agent("b", b)
        };
        assert_eq!(problems(&two("a.example", "b.example")), []);
        let key = "agents.b.host";
        assert_eq!(problems(&two("a.example", "A.example")), error(key));
        assert_eq!(problems(&two("a.example", "b.example:80")), error(key));
        let public = "[server]\npublic_url = \"https://b.example/x\"\n";
        let own = format!("{public}{}", two("a.example", "b.example"));
        assert_eq!(problems(&own), error(key));
    }

    #[test]
    fn an_agent_behind_us_has_an_address_or_a_peer_that_is_there() {
        let with = |settings: &str| {
            problems(&format!(
                "[agents.a]\nbackend = \"a2a\"\n{settings}\n[peers.p]\nurl = \"https://x.example\"\n"
            ))
        };
        assert_eq!(with(""), error("agents.a.backend"));
        assert_eq!(with("peer = \"q\""), error("agents.a.peer"));
        for right in ["url = \"https://y.example\"", "peer = \"p\""] {
            assert_eq!(with(right), [], "{right}");
        }
    }

    #[test]
    fn a_password_without_a_server_is_warned_of() {
        let password = "[store]\npassword = \"env:P\"\n";
        assert_eq!(problems(password), warning("store.password"));
        let url = "url = \"postgres://nuncio@db/tasks\"\n";
        assert_eq!(problems(&format!("{password}{url}")), []);
    }

    #[test]
    fn openfang_is_understood_and_says_what_it_ignores() {
        let agents = "[[a2a.external_agents]]\nname = \"R\"\nurl = \"http://h\"\n";
        assert_eq!(problems(&format!("[a2a]\nenabled = true\n{agents}")), []);
        assert_eq!(problems(agents), warning("a2a.external_agents"));
        assert_eq!(
            problems("[a2a]\nlisten_path = \"/x\"\n"),
            warning("a2a.listen_path")
        );
        assert_eq!(problems("[a2a]\nlisten_path = \"/a2a\"\n"), []);
    }

    #[test]
    fn credentials_on_open_wires_are_warned_of() {
        let peer = |url: &str| {
            format!(
                "[peers.p]\nurl = \"{url}\"\nauth = {{ type = \"bearer\", token = \"env:T\" }}\n"
            )
        };
        assert_eq!(
            problems(&peer("http://peer.example")),
            warning("peers.p.url")
        );
        assert_eq!(problems(&peer("https://peer.example")), []);
        assert_eq!(problems(&peer("http://127.0.0.1:1")), []);
    }
}
