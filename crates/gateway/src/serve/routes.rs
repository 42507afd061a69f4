//! The table of paths. Matches exactly, decodes once, never redirects.

use http::Method;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route<'a> {
    /// The 1.0 card of an agent (none: the default one).
    Card(Option<Cow<'a, str>>),
    /// The card at the old address.
    LegacyCard(Option<Cow<'a, str>>),
    /// JSON-RPC of 1.0, slash names and 0.3.
    JsonRpc(Option<Cow<'a, str>>),
    /// JSON-RPC of the 2025-04 dialect.
    Legacy(Option<Cow<'a, str>>),
    /// `POST /a2a/tasks/send`.
    LegacySend,
    /// `GET /a2a/tasks/{id}`.
    LegacyGet(Cow<'a, str>),
    /// `POST /a2a/tasks/{id}/cancel`.
    LegacyCancel(Cow<'a, str>),
    /// `GET /a2a/agents`.
    AgentList,
    /// `GET /health`.
    Health,
    /// `GET /ready`.
    Ready,
    /// A known path with another method; these are allowed.
    NotAllowed(&'static str),
    /// No such path.
    NotFound,
}

const READS: &str = "GET, HEAD";
const POSTS: &str = "POST";

/// The route of a request.
pub(super) fn route<'a>(method: &Method, path: &'a str) -> Route<'a> {
    let reads = *method == Method::GET || *method == Method::HEAD;
    let posts = *method == Method::POST;
    let (route, allowed) = find(path);
    match route {
        Route::NotFound => Route::NotFound,
        _ if allowed == READS && !reads || allowed == POSTS && !posts => Route::NotAllowed(allowed),
        route => route,
    }
}

fn find(path: &str) -> (Route<'_>, &'static str) {
    let Some(rest) = path.strip_prefix('/') else {
        return (Route::NotFound, "");
    };
    let mut segments = [""; MAX_SEGMENTS];
    let mut count = 0;
    for segment in rest.split('/') {
        if count == MAX_SEGMENTS {
            return (Route::NotFound, "");
        }
        segments[count] = segment;
        count += 1;
    }
    match &segments[..count] {
        [""] => (Route::JsonRpc(None), POSTS),
        [".well-known", "agent-card.json"] => (Route::Card(None), READS),
        [".well-known", "agent.json"] => (Route::LegacyCard(None), READS),
        ["health"] => (Route::Health, READS),
        ["ready"] => (Route::Ready, READS),
        ["a2a"] | ["a2a", ""] => (Route::Legacy(None), POSTS),
        ["a2a", "agents"] => (Route::AgentList, READS),
        ["a2a", "tasks", "send"] => (Route::LegacySend, POSTS),
        ["a2a", "tasks", id] => with_segment(id, Route::LegacyGet, READS),
        ["a2a", "tasks", id, "cancel"] => with_segment(id, Route::LegacyCancel, POSTS),
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

/// Segments of the longest path there is.
const MAX_SEGMENTS: usize = 4;

/// A route with one segment of the path in it, decoded once: an id is only ever an id.
fn with_segment<'a>(
    segment: &'a str,
    route: impl FnOnce(Cow<'a, str>) -> Route<'a>,
    allowed: &'static str,
) -> (Route<'a>, &'static str) {
    match percent_decode_str(segment).decode_utf8() {
        Ok(decoded) if !decoded.is_empty() => (route(decoded), allowed),
        _ => (Route::NotFound, ""),
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
            "/x/y",
            "/a2a/tasks/%FF",
            "/1/2/3/4/5",
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
}
