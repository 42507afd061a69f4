//! What is public: agent cards at their well-known addresses and the list of agents
//! (specification 8.2, 8.6).
//!
//! A card is a function of agent, base URL and version; each is built once and kept.

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderName, HeaderValue,
    IF_NONE_MATCH, LAST_MODIFIED, VARY,
};
use http::{HeaderMap, Response, StatusCode};
use nuncio_wire::dialects::{hermes_fleet, openfang, v0_3};
use nuncio_wire::{AgentCard, Version};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use super::{ai_catalog, answer};
use crate::agents::ServedAgent;
use crate::card::{BaseUrl, CardMaker};
use crate::serve::service::header;
use crate::serve::{Body, HttpResponse};

/// How long a reader may keep a card, in seconds: short, so that a changed skill is soon seen.
const MAX_AGE_SECONDS: u32 = 60;
/// Most cards kept: one per agent, form and address they were asked at.
const MAX_KEPT: usize = 1_024;

/// Serves cards.
pub struct Cards {
    maker: Arc<CardMaker>,
    /// When this configuration came into force: no card is younger.
    since: HeaderValue,
    kept: Mutex<HashMap<CardKey, Kept>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Form {
    /// Pure 1.0.
    V1,
    /// 1.0 with the members of 0.3 beside.
    Merged,
    /// For the old address.
    Legacy,
    /// For the fleet.
    Fleet,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct CardKey {
    agent: Arc<str>,
    form: Form,
    base: BaseUrl,
    /// Of the agent's own skills.
    revision: u64,
}

#[derive(Clone)]
struct Kept {
    body: Bytes,
    etag: HeaderValue,
}

impl Cards {
    /// The cards that this maker makes.
    #[must_use]
    pub fn new(maker: Arc<CardMaker>) -> Arc<Self> {
        let since = httpdate::fmt_http_date(SystemTime::now());
        Arc::new(Self {
            maker,
            since: HeaderValue::from_str(&since).expect("an HTTP date is a header value"),
            kept: Mutex::default(),
        })
    }

    /// The card of `agent`, or of the default one: pure 1.0, or merged with 0.3 where the
    /// configuration or the reader asks for it.
    pub fn card(&self, base: &BaseUrl, agent: Option<&str>, headers: &HeaderMap) -> HttpResponse {
        const VERSION: HeaderName = HeaderName::from_static("a2a-version");
        let version = header(headers, &VERSION).and_then(|text| text.parse::<Version>().ok());
        let compat = &self.maker.config().compat;
        let kit = self.agent(agent).and_then(|agent| agent.conformance);
        let by_default = compat.merged_card || kit.is_some_and(|switches| switches.merged_card);
        let merged = compat.v0_3 && (by_default || version == Some(Version::V0_3));
        let form = if merged { Form::Merged } else { Form::V1 };
        let mut response = self.serve(base, agent, headers, form);
        response
            .headers_mut()
            .insert(VARY, HeaderValue::from_static("A2A-Version"));
        response
    }

    /// The card at the old address, for readers of every generation.
    pub fn legacy_card(
        &self,
        base: &BaseUrl,
        agent: Option<&str>,
        headers: &HeaderMap,
    ) -> HttpResponse {
        self.serve(base, agent, headers, Form::Legacy)
    }

    /// The card in the fleet's dialect.
    pub fn fleet_card(&self, base: &BaseUrl, agent: &str, headers: &HeaderMap) -> HttpResponse {
        self.serve(base, Some(agent), headers, Form::Fleet)
    }

    /// The public card of `agent` as a value, for answers that carry one.
    #[must_use]
    pub fn of_agent(&self, base: &BaseUrl, agent: &ServedAgent) -> AgentCard {
        self.maker.public(agent, base)
    }

    /// Every agent's card in the form of the old address, by name.
    pub fn agent_list(&self, base: &BaseUrl) -> HttpResponse {
        let mut names: Vec<_> = self.maker.agents().listed().collect();
        names.sort_by(|one, other| one.name.cmp(&other.name));
        let mut body = br#"{"agents":["#.to_vec();
        for (index, agent) in names.iter().enumerate() {
            if index > 0 {
                body.push(b',');
            }
            body.extend_from_slice(&self.kept(agent, Form::Legacy, base).body);
        }
        body.extend_from_slice(format!(r#"],"total":{}}}"#, names.len()).as_bytes());
        readable_by_pages(answer::json(StatusCode::OK, body))
    }

    /// Every agent with the address of its card, as an AI Catalog.
    pub fn catalog(&self, base: &BaseUrl) -> HttpResponse {
        let mut response =
            answer::json(StatusCode::OK, ai_catalog::write(self.maker.agents(), base));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, ai_catalog::MEDIA_TYPE);
        headers.insert(CACHE_CONTROL, cache_control());
        readable_by_pages(response)
    }

    /// When the agent's card last changed.
    fn changed(&self, agent: &ServedAgent) -> HeaderValue {
        let Some(changed) = agent.known_about().changed else {
            return self.since.clone();
        };
        let changed = httpdate::fmt_http_date(changed);
        HeaderValue::from_str(&changed).expect("an HTTP date is a header value")
    }

    fn agent(&self, name: Option<&str>) -> Option<Arc<ServedAgent>> {
        let agents = self.maker.agents();
        name.map_or_else(|| agents.default_agent(), |name| agents.get(name))
    }

    fn serve(
        &self,
        base: &BaseUrl,
        agent: Option<&str>,
        headers: &HeaderMap,
        form: Form,
    ) -> HttpResponse {
        let Some(agent) = self.agent(agent) else {
            let text = "there is no agent of this name here; see /a2a/agents";
            return answer::refusal(StatusCode::NOT_FOUND, text);
        };
        let kept = self.kept(&agent, form, base);
        let fresh = header(headers, &IF_NONE_MATCH).is_some_and(|tags| matches(tags, &kept.etag));
        let mut response = if fresh {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
                .headers_mut()
                .insert(answer::A2A_VERSION, answer::V1_0);
            response
        } else {
            let mut response = answer::json(StatusCode::OK, Vec::new());
            *response.body_mut() = Body::whole(kept.body);
            response
        };
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, cache_control());
        headers.insert(ETAG, kept.etag);
        headers.insert(LAST_MODIFIED, self.changed(&agent));
        readable_by_pages(response)
    }

    fn kept(&self, agent: &Arc<ServedAgent>, form: Form, base: &BaseUrl) -> Kept {
        let base = &base.of_agent(agent);
        let key = CardKey {
            agent: agent.name.clone(),
            form,
            base: base.clone(),
            revision: agent.known_about().revision,
        };
        if let Some(kept) = self.kept.lock().get(&key) {
            return kept.clone();
        }
        let kept = self.make(agent, form, base);
        let mut table = self.kept.lock();
        if table.len() >= MAX_KEPT {
            table.clear();
        }
        table.insert(key, kept.clone());
        kept
    }
}

impl Cards {
    /// The tag is that of the unsigned card: ECDSA signs the same card differently each time.
    fn make(&self, agent: &Arc<ServedAgent>, form: Form, base: &BaseUrl) -> Kept {
        let mut card = self.maker.public(agent, base);
        let mut body = encode(&card, form, &agent.name, base);
        let etag = etag(&body);
        // Each form is signed as it is served; readers of the others know no signatures.
        if matches!(form, Form::V1 | Form::Merged) {
            card.signatures = self.maker.signatures(&body);
            if !card.signatures.is_empty() {
                body = encode(&card, form, &agent.name, base);
            }
        }
        Kept {
            etag,
            body: Bytes::from(body),
        }
    }
}

fn cache_control() -> HeaderValue {
    let text = format!("public, max-age={MAX_AGE_SECONDS}");
    HeaderValue::from_str(&text).expect("digits and ASCII make a header value")
}

fn encode(card: &AgentCard, form: Form, name: &str, base: &BaseUrl) -> Vec<u8> {
    let pure = || serde_json::to_vec(card).expect("a card has a JSON form");
    match form {
        Form::V1 => pure(),
        Form::Merged => v0_3::write_merged_card(card).unwrap_or_else(pure),
        Form::Legacy => openfang::write_card(card, &base.legacy_url(name)),
        Form::Fleet => hermes_fleet::write_card(card, name, &base.fleet_url(name)),
    }
}

/// Weak, from the content: two replicas with the same configuration give the same tag.
fn etag(body: &[u8]) -> HeaderValue {
    use std::fmt::Write as _;
    let mut tag = "W/\"".to_owned();
    for byte in &Sha256::digest(body)[..16] {
        let _ = write!(tag, "{byte:02x}");
    }
    tag.push('"');
    HeaderValue::from_str(&tag).expect("hexadecimal digits and quotes make a header value")
}

/// Weak comparison with a list of tags (RFC 9110 section 13.1.2).
fn matches(tags: &str, etag: &HeaderValue) -> bool {
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let ours = opaque(etag.to_str().unwrap_or_default());
    tags.split(',')
        .any(|tag| tag.trim() == "*" || opaque(tag) == ours)
}

/// Cards are public: pages of any origin may read them.
fn readable_by_pages(mut response: HttpResponse) -> HttpResponse {
    response
        .headers_mut()
        .insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_compared_weakly() {
        let tag = etag(b"x");
        let text = tag.to_str().unwrap();
        assert!(matches(text, &tag) && matches(&text[2..], &tag) && matches("*", &tag));
        assert!(matches(&format!("\"a\", {text}"), &tag) && !matches("\"a\"", &tag));
    }
}
