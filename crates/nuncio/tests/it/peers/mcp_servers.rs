//! The tools of MCP's own reference server on a card, over both ways to it.

use std::time::{Duration, Instant};

use super::script::Script;
use super::server::Server;
use crate::program::{Place, Served};

/// A server that starts on a busy machine is on a card by then.
const LIMIT: Duration = Duration::from_secs(30);

fn serve(place: &Place, server: &str) -> Served {
    let text =
        format!("[agents.echo]\nbackend = \"echo\"\n[agents.echo.mcp_servers.all]\n{server}\n");
    place.write("nuncio.toml", &text);
    place.serve(&["--store", "memory:"])
}

/// The skills of the card, once there are any of the server.
fn skills(place: &Place, served: &Served) -> Vec<(String, String)> {
    let began = Instant::now();
    loop {
        let got = place.run(&["card", "get", "-a", &served.url, "-o", "json"]);
        let card: serde_json::Value = serde_json::from_str(&got.expect_success()).expect("JSON");
        let listed = card["skills"].as_array().expect("a list").iter();
        let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
        let listed = listed.map(|skill| (text(&skill["id"]), text(&skill["description"])));
        let listed: Vec<_> = listed.collect();
        if listed[0].0 != "general" {
            return listed;
        }
        assert!(began.elapsed() < LIMIT, "{card}; log: {}", place.log());
    }
}

fn judge(skills: &[(String, String)]) {
    let echo = skills.iter().find(|(id, _)| id == "mcp-all-echo");
    let (_, description) = echo.expect("the tool that every version has");
    assert!(description.to_lowercase().contains("echo"), "{skills:?}");
    assert!(skills.len() > 5, "{skills:?}");
    assert!(
        skills.iter().all(|(id, _)| id.starts_with("mcp-all-")),
        "{skills:?}"
    );
}

#[test]
fn tools_of_the_reference_server_as_a_program() {
    let place = Place::new();
    let program = Script::package("@modelcontextprotocol/server-everything/dist/index.js");
    let path = std::env::var("PATH").expect("a PATH");
    let server =
        format!("command = [\"node\", {program:?}, \"stdio\"]\nenv = {{ PATH = {path:?} }}");
    let served = serve(&place, &server);
    judge(&skills(&place, &served));
}

#[test]
fn tools_of_the_reference_server_at_an_address() {
    let place = Place::new();
    let there = Server::start(Script::Node("mcp_over_http.js"), &[]);
    let served = serve(&place, &format!("url = \"{}/mcp\"", there.url));
    judge(&skills(&place, &served));
}
