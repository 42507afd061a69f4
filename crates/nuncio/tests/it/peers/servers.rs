//! The SDKs as servers, called with the client commands: the same dealings with each of them.

use super::caller::Caller;
use super::dealings::{self, Agent};
use super::script::Script;
use super::server::Server;

const PYTHON_1: Agent = Agent {
    name: "Python agent",
    versions: &["1.0"],
    version: "1.0",
    streams: true,
    binding: "JSONRPC",
};
const PYTHON_BOTH: Agent = Agent {
    versions: &["1.0", "0.3"],
    ..PYTHON_1
};
const PYTHON_0_3: Agent = Agent {
    versions: &["0.3"],
    version: "0.3",
    ..PYTHON_1
};
const JAVASCRIPT_1: Agent = Agent {
    name: "JavaScript agent",
    ..PYTHON_1
};

fn deal(script: Script, agent: Agent) {
    let mut arguments = Vec::new();
    if agent.versions.len() > 1 {
        arguments.push("both");
    }
    if !agent.streams {
        arguments.push("no-streaming");
    }
    if agent.binding == "GRPC" {
        arguments.push("grpc");
    }
    let server = Server::start(script, &arguments);
    // Versions below 1.0 are spoken only when asked for.
    let wish = Some(agent.version).filter(|version| *version != "1.0");
    let mut caller = Caller::new(&server.url, wish);
    if agent.binding == "GRPC" {
        caller = caller.trusting_the_card();
    }
    dealings::judge(&caller, &agent, &server.url);
}

#[test]
fn python_1_that_streams() {
    deal(Script::Python1("server_1.py"), PYTHON_1);
}

#[test]
fn python_1_that_does_not_stream() {
    deal(
        Script::Python1("server_1.py"),
        Agent {
            streams: false,
            ..PYTHON_1
        },
    );
}

#[test]
fn python_of_both_versions_in_the_newer_one() {
    deal(Script::Python1("server_1.py"), PYTHON_BOTH);
}

#[test]
fn python_of_both_versions_in_the_older_one() {
    let agent = Agent {
        version: "0.3",
        ..PYTHON_BOTH
    };
    deal(Script::Python1("server_1.py"), agent);
}

#[test]
fn python_0_3_that_streams() {
    deal(Script::Python03("server_0_3.py"), PYTHON_0_3);
}

#[test]
fn python_0_3_that_does_not_stream() {
    deal(
        Script::Python03("server_0_3.py"),
        Agent {
            streams: false,
            ..PYTHON_0_3
        },
    );
}

#[test]
fn python_1_over_grpc() {
    let agent = Agent {
        binding: "GRPC",
        ..PYTHON_1
    };
    deal(Script::Python1("server_1.py"), agent);
}

#[test]
fn python_1_over_grpc_that_does_not_stream() {
    let agent = Agent {
        binding: "GRPC",
        streams: false,
        ..PYTHON_1
    };
    deal(Script::Python1("server_1.py"), agent);
}

#[test]
fn javascript_1_that_streams() {
    deal(Script::Node("server_1.js"), JAVASCRIPT_1);
}

#[test]
fn javascript_1_that_does_not_stream() {
    deal(
        Script::Node("server_1.js"),
        Agent {
            streams: false,
            ..JAVASCRIPT_1
        },
    );
}

#[test]
fn an_older_version_is_spoken_only_when_asked_for() {
    let server = Server::start(Script::Python03("server_0_3.py"), &[]);
    let ended = Caller::new(&server.url, None).run(&["send", "report"]);
    assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("protocol version 0.3"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("give --a2a-version 0.3"),
        "{}",
        ended.stderr
    );
}
