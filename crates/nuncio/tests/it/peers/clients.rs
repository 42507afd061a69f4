//! The SDKs as clients of `nuncio serve`: the same conversation with each of them.

use super::agents::{serve, serve_apart};
use super::conversation::{Generation, Ways, judge};
use super::outcomes::Outcomes;
use super::script::Script;
use crate::program::Place;

/// Everybody who asks gets a card that readers of 0.3 understand.
const MERGED_CARD: &str = "[compat]\nmerged_card = true\n";

/// One conversation: who has it, over which store, with which addition to the configuration.
fn converse(script: Script, arguments: &[&str], generation: Generation, store: &str, more: &str) {
    let mut command = script.command();
    let place = Place::new();
    let served = serve(&place, store, more);
    let outcomes = Outcomes::of(command.arg(&served.url).args(arguments));
    let ways = Ways {
        has_hooks: !matches!(script, Script::Node(_)),
        loses_details: matches!(
            (script, arguments),
            (Script::Node("client_0_3.js"), ["rest"])
        ),
    };
    judge(&outcomes, generation, ways, &served.url);
    assert_eq!(outcomes.complaints(), Vec::<&str>::new());
}

#[test]
fn python_1_over_memory() {
    converse(
        Script::Python1("client_1.py"),
        &[],
        Generation::V1,
        "memory:",
        "",
    );
}

#[test]
fn python_1_over_sqlite() {
    converse(
        Script::Python1("client_1.py"),
        &[],
        Generation::V1,
        "sqlite:n.db",
        "",
    );
}

#[test]
fn python_1_over_grpc() {
    converse(
        Script::Python1("client_1.py"),
        &["grpc"],
        Generation::V1,
        "sqlite:n.db",
        "",
    );
}

#[test]
fn python_1_over_http_json() {
    converse(
        Script::Python1("client_1.py"),
        &["rest"],
        Generation::V1,
        "sqlite:n.db",
        "",
    );
}

#[test]
fn python_0_3_over_http_json() {
    converse(
        Script::Python03("client_0_3.py"),
        &["rest"],
        Generation::V0_3,
        "memory:",
        MERGED_CARD,
    );
}

/// gRPC of 0.3 has neither paths nor tenants: it reaches the one agent of a gateway.
fn converse_apart(script: Script, words: &[&str]) {
    let apart = serve_apart("memory:", MERGED_CARD);
    let gateways = apart
        .iter()
        .map(|(name, _, it)| format!("{name}={}", it.url));
    let gateways: Vec<String> = gateways.collect();
    let arguments = gateways.iter().map(String::as_str);
    let arguments: Vec<&str> = arguments.chain(words.iter().copied()).collect();
    converse(script, &arguments, Generation::V0_3, "memory:", MERGED_CARD);
}

#[test]
fn python_0_3_over_grpc() {
    converse_apart(Script::Python03("client_0_3.py"), &["grpc"]);
}

#[test]
fn python_1_that_speaks_0_3_over_grpc() {
    converse_apart(Script::Python1("client_1.py"), &["older", "grpc"]);
}

#[test]
fn javascript_1_over_http_json() {
    converse(
        Script::Node("client_1.js"),
        &["rest"],
        Generation::V1,
        "memory:",
        "",
    );
}

#[test]
fn javascript_1_over_grpc() {
    converse(
        Script::Node("client_1.js"),
        &["grpc"],
        Generation::V1,
        "memory:",
        "",
    );
}

#[test]
fn python_0_3_with_the_merged_card() {
    converse(
        Script::Python03("client_0_3.py"),
        &[],
        Generation::V0_3,
        "memory:",
        MERGED_CARD,
    );
}

#[test]
fn python_0_3_that_asks_for_its_card() {
    let arguments = ["card-header"];
    converse(
        Script::Python03("client_0_3.py"),
        &arguments,
        Generation::V0_3,
        "sqlite:n.db",
        "",
    );
}

/// It names the version in a header, which clients of the older SDKs do not.
#[test]
fn python_1_that_speaks_0_3() {
    let arguments = ["older"];
    converse(
        Script::Python1("client_1.py"),
        &arguments,
        Generation::V0_3,
        "memory:",
        "",
    );
}

#[test]
fn python_1_that_speaks_0_3_over_http_json() {
    let arguments = ["older", "rest"];
    converse(
        Script::Python1("client_1.py"),
        &arguments,
        Generation::V0_3,
        "memory:",
        "",
    );
}

#[test]
fn javascript_1_over_memory() {
    converse(
        Script::Node("client_1.js"),
        &[],
        Generation::V1,
        "memory:",
        "",
    );
}

#[test]
fn javascript_1_over_sqlite() {
    converse(
        Script::Node("client_1.js"),
        &[],
        Generation::V1,
        "sqlite:n.db",
        "",
    );
}

#[test]
fn javascript_0_3_with_the_merged_card() {
    converse(
        Script::Node("client_0_3.js"),
        &[],
        Generation::V0_3,
        "sqlite:n.db",
        MERGED_CARD,
    );
}

#[test]
fn javascript_0_3_over_http_json() {
    converse(
        Script::Node("client_0_3.js"),
        &["rest"],
        Generation::V0_3,
        "memory:",
        MERGED_CARD,
    );
}

/// A merged card is no pure card of 1.0, but readers of 1.0 still choose 1.0 by it.
#[test]
fn javascript_1_with_the_merged_card() {
    converse(
        Script::Node("client_1.js"),
        &[],
        Generation::V1,
        "memory:",
        MERGED_CARD,
    );
}
