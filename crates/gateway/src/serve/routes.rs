//! The table of paths. Matches exactly, decodes once, never redirects.

use http::Method;
use nuncio_wire::bindings::rest::{Resource, Verb};
use percent_encoding::percent_decode_str;
use std::borrow::Cow;

use crate::bindings::fleet;
use crate::bindings::grpc;
use crate::bindings::rest::Target;
use crate::config::RESERVED_NAMES;

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route<'a> {
    /// The 1.0 card of an agent (none: the default one).
    Card(Option<Cow<'a, str>>),
    /// The card at the old address.
    LegacyCard(Option<Cow<'a, str>>),
    /// JSON-RPC of 1.0, slash names and 0.3.
    JsonRpc(Option<Cow<'a, str>>),
    /// An operation over HTTP+JSON, at the address of an agent (none: the default one).
    Rest(Option<Cow<'a, str>>, Target<'a>),
    /// A call over gRPC.
    Grpc(grpc::Target),
    /// JSON-RPC of the 2025-04 dialect.
    Legacy(Option<Cow<'a, str>>),
    /// Something below `/fleet/a2a/AGENT`.
    Fleet(Cow<'a, str>, fleet::Target<'a>),
    /// `POST /a2a/tasks/send`.
    LegacySend,
    /// `GET /a2a/tasks/{id}`.
    LegacyGet(Cow<'a, str>),
    /// `POST /a2a/tasks/{id}/cancel`.
    LegacyCancel(Cow<'a, str>),
    /// `GET /a2a/agents`.
    AgentList,
    /// `GET /.well-known/ai-catalog.json`.
    Catalog,
    /// `POST /callback/TASK/TOKEN`.
    Callback(Cow<'a, str>, Cow<'a, str>),
    /// `GET /health`.
    Health,
    /// `GET /ready`.
    Ready,
    /// A known path with another method; these are allowed.
    NotAllowed(&'static str),
    /// No such path.
    NotFound,
}

impl<'a> Route<'a> {
    /// The same at a host that this agent has to itself: what names none is its own.
    pub(super) fn at_host_of(self, agent: &'a str) -> Self {
        let agent = Some(Cow::Borrowed(agent));
        match self {
            Self::Card(None) => Self::Card(agent),
            Self::LegacyCard(None) => Self::LegacyCard(agent),
            Self::JsonRpc(None) => Self::JsonRpc(agent),
            Self::Rest(None, target) => Self::Rest(agent, target),
            Self::Legacy(None) => Self::Legacy(agent),
            other => other,
        }
    }
}

const READS: &str = "GET, HEAD";
const POSTS: &str = "POST";

/// The route of a request.
pub(super) fn route<'a>(method: &Method, path: &'a str) -> Route<'a> {
    let Some(rest) = path.strip_prefix('/') else {
        return Route::NotFound;
    };
    let mut segments = [""; MAX_SEGMENTS];
    let mut count = 0;
    for segment in rest.split('/') {
        if count == MAX_SEGMENTS {
            return Route::NotFound;
        }
        segments[count] = segment;
        count += 1;
    }
    let segments = &segments[..count];
    if let [_, _] = segments
        && let Some(target) = grpc::Target::of_path(path)
    {
        return match *method {
            Method::POST => Route::Grpc(target),
            _ => Route::NotAllowed(POSTS),
        };
    }
    if let ["fleet", "a2a", agent, below @ ..] = segments {
        // The address itself may end in a slash.
        let below = if *below == [""] { &[] } else { below };
        let target = fleet::Target::find(method, below);
        return match (decode(agent), target) {
            (Some(agent), Some(target)) => Route::Fleet(agent, target),
            (Some(_), None) if below.is_empty() => Route::NotAllowed(POSTS),
            _ => Route::NotFound,
        };
    }
    let reads = *method == Method::GET || *method == Method::HEAD;
    let posts = *method == Method::POST;
    match find(segments) {
        (Route::NotFound, _) => find_rest(method, segments),
        (_, allowed) if allowed == READS && !reads || allowed == POSTS && !posts => {
            Route::NotAllowed(allowed)
        }
        (route, _) => route,
    }
}

/// Paths with an operation of HTTP+JSON at their end: below the root, an agent or a tenant, those of
/// 0.3 below `/v1` of the root or an agent.
fn find_rest<'a>(method: &Method, segments: &[&'a str]) -> Route<'a> {
    let (agent, below) = match segments {
        ["agents", agent, below @ ..] => (Some(decode(agent)), below),
        below => (None, below),
    };
    let (tenant, is_old, resource) = match below {
        ["v1", below @ ..] => (None, true, Resource::find_v0_3(below)),
        below => match (Resource::find(below), below) {
            (None, [tenant, below @ ..]) => (Some(decode(tenant)), false, Resource::find(below)),
            (resource, _) => (None, false, resource),
        },
    };
    // A name that is empty or no text is nobody's, and those of our own paths are no tenant's.
    let is_nobody = |name: &Option<Option<_>>| matches!(name, Some(None));
    if is_nobody(&agent) || is_nobody(&tenant) {
        return Route::NotFound;
    }
    let (agent, tenant) = (agent.flatten(), tenant.flatten());
    let is_tenant = |name: &str| !RESERVED_NAMES.contains(&name);
    let Some(resource) = resource.filter(|_| tenant.as_deref().is_none_or(is_tenant)) else {
        return Route::NotFound;
    };
    let verb = Verb::from_name(method.as_str());
    match verb.and_then(|verb| resource.operation(verb)) {
        None => Route::NotAllowed(resource.allowed()),
        Some(operation) => Route::Rest(
            agent,
            Target {
                operation,
                resource,
                tenant,
                is_old,
            },
        ),
    }
}

/// A segment decoded once, if there is something in it.
fn decode(segment: &str) -> Option<Cow<'_, str>> {
    let decoded = percent_decode_str(segment).decode_utf8().ok()?;
    Some(decoded).filter(|text| !text.is_empty())
}

fn find<'a>(segments: &[&'a str]) -> (Route<'a>, &'static str) {
    match segments {
        [""] => (Route::JsonRpc(None), POSTS),
        [".well-known", "agent-card.json"] => (Route::Card(None), READS),
        [".well-known", "agent.json"] => (Route::LegacyCard(None), READS),
        [".well-known", "ai-catalog.json"] => (Route::Catalog, READS),
        ["health"] => (Route::Health, READS),
        ["ready"] => (Route::Ready, READS),
        ["a2a"] | ["a2a", ""] => (Route::Legacy(None), POSTS),
        ["a2a", "agents"] => (Route::AgentList, READS),
        ["a2a", "tasks", "send"] => (Route::LegacySend, POSTS),
        ["a2a", "tasks", id] => with_segment(id, Route::LegacyGet, READS),
        ["a2a", "tasks", id, "cancel"] => with_segment(id, Route::LegacyCancel, POSTS),
        ["callback", task, token] => with_segment(
            task,
            |task| decode(token).map_or(Route::NotFound, |token| Route::Callback(task, token)),
            POSTS,
        ),
        ["legacy", agent] | ["legacy", agent, ""] => {
            with_segment(agent, |agent| Route::Legacy(Some(agent)), POSTS)
        }
        ["agents", agent] | ["agents", agent, ""] => {
            with_segment(agent, |agent| Route::JsonRpc(Some(agent)), POSTS)
        }
        ["agents", agent, ".well-known", "agent-card.json"] => {
            with_segment(agent, |agent| Route::Card(Some(agent)), READS)
        }
        ["agents", agent, ".well-known", "agent.json"] => {
            with_segment(agent, |agent| Route::LegacyCard(Some(agent)), READS)
        }
        _ => (Route::NotFound, ""),
    }
}

/// Segments of the longest path there is: a push configuration of a tenant of an agent.
const MAX_SEGMENTS: usize = 7;

/// A route with one segment of the path in it, decoded once: an id is only ever an id.
fn with_segment<'a>(
    segment: &'a str,
    route: impl FnOnce(Cow<'a, str>) -> Route<'a>,
    allowed: &'static str,
) -> (Route<'a>, &'static str) {
    match decode(segment) {
        Some(decoded) => (route(decoded), allowed),
        None => (Route::NotFound, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_match_exactly_with_and_without_a_last_slash() {
        let agent = || Some(Cow::Borrowed("x"));
        for (path, expected) in [
            ("/", Route::JsonRpc(None)),
            ("/agents/x", Route::JsonRpc(agent())),
            ("/agents/x/", Route::JsonRpc(agent())),
            ("/a2a/", Route::Legacy(None)),
            ("/legacy/x", Route::Legacy(agent())),
            (
                "/callback/t/k",
                Route::Callback(Cow::Borrowed("t"), Cow::Borrowed("k")),
            ),
            (
                "/a2a/tasks/a%2Fb/cancel",
                Route::LegacyCancel(Cow::Borrowed("a/b")),
            ),
        ] {
            assert_eq!(route(&Method::POST, path), expected, "{path}");
        }
        for path in [
            "//",
            "/agents//",
            "/../etc",
            "/%2e%2e/",
            "/agents",
            "/callback/t",
            "/callback/t/",
            "/callback/t/k/",
            "/x/y",
            "/a2a/tasks/%FF",
            "/1/2/3/4/5/6/7/8",
            "/a2a/message:send",
            "/v1/extendedAgentCard",
            "/agents/x/y/v1/tasks",
            "/agents//tasks",
            "/agents/%FF/tasks",
            "//message:send",
            "/message:send/",
        ] {
            assert_eq!(route(&Method::POST, path), Route::NotFound, "{path}");
        }
    }

    #[test]
    fn another_method_is_told_what_is_allowed() {
        assert_eq!(route(&Method::GET, "/"), Route::NotAllowed("POST"));
        assert_eq!(
            route(&Method::PUT, "/.well-known/agent-card.json"),
            Route::NotAllowed("GET, HEAD")
        );
        assert_eq!(route(&Method::HEAD, "/health"), Route::Health);
    }

    #[test]
    fn operations_of_http_json_have_paths_below_root_agent_and_tenant() {
        use nuncio_wire::Method as Operation;
        let text = |text: &'static str| Some(Cow::Borrowed(text));
        for (verb, path, agent, tenant, is_old, operation) in [
            (
                "POST",
                "/message:send",
                None,
                None,
                false,
                Operation::SendMessage,
            ),
            (
                "GET",
                "/t/tasks",
                None,
                text("t"),
                false,
                Operation::ListTasks,
            ),
            (
                "HEAD",
                "/agents/x/tasks/1",
                text("x"),
                None,
                false,
                Operation::GetTask,
            ),
            (
                "POST",
                "/agents/x/t/tasks/1:cancel",
                text("x"),
                text("t"),
                false,
                Operation::CancelTask,
            ),
            (
                "GET",
                "/v1/tasks/1:subscribe",
                None,
                None,
                true,
                Operation::SubscribeToTask,
            ),
            (
                "GET",
                "/agents/x/v1/card",
                text("x"),
                None,
                true,
                Operation::GetExtendedAgentCard,
            ),
        ] {
            let found = route(&verb.parse().unwrap(), path);
            let Route::Rest(found_agent, target) = found else {
                panic!("{verb} {path}: {found:?}");
            };
            let found = (found_agent, target.tenant, target.is_old, target.operation);
            assert_eq!(found, (agent, tenant, is_old, operation), "{verb} {path}");
        }
        for (verb, path, allowed) in [
            ("GET", "/message:send", "POST"),
            ("PUT", "/tasks/1", "GET, HEAD"),
            (
                "DELETE",
                "/t/tasks/1/pushNotificationConfigs",
                "GET, HEAD, POST",
            ),
        ] {
            let found = route(&verb.parse().unwrap(), path);
            assert_eq!(found, Route::NotAllowed(allowed), "{verb} {path}");
        }
    }
}
