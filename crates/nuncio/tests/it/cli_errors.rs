//! Failures: each with its code, its exit status and a text that names cause and peer.

use serde_json::{Value, json};

use crate::cli::nuncio;
use crate::mock_agent::{MockAgent, Reply, card, task};

#[tokio::test]
async fn the_cause_of_a_failed_connection_is_named() {
    let gone = {
        let agent = MockAgent::start(|_, _| Reply::not_found()).await;
        agent.base().to_owned()
    };
    let plain = MockAgent::start(|_, _| Reply::not_found()).await;
    let tls = plain.base().replace("http://", "https://");
    for (reference, cause) in [
        (gone.as_str(), "connection refused"),
        ("http://nobody.invalid", "the name does not resolve"),
        (tls.as_str(), "TLS failed"),
    ] {
        let ran = nuncio(&["send", "-a", reference, "hi", "-o", "json"]).await;
        assert_eq!(
            (ran.error_code().as_str(), ran.code),
            ("A2ACLI_ERR_UNREACHABLE", 3),
            "{ran:?}"
        );
        let message = ran.json()["error"]["message"].as_str().unwrap().to_owned();
        let peer = reference.split("//").nth(1).unwrap();
        assert!(
            message.contains(cause) && message.contains(peer),
            "{message}"
        );
    }
}

#[tokio::test]
async fn silence_is_bounded_by_the_timeout() {
    let agent = MockAgent::start(|_, _| Reply::silence()).await;
    let ran = nuncio(&[
        "send",
        "-a",
        agent.base(),
        "hi",
        "--timeout",
        "200ms",
        "-o",
        "json",
    ])
    .await;
    assert_eq!(
        (ran.error_code().as_str(), ran.code),
        ("A2ACLI_ERR_TIMEOUT", 5),
        "{ran:?}"
    );
}

#[tokio::test]
async fn wrong_arguments_are_usage_errors_in_the_chosen_format() {
    for arguments in [
        &["send", "-o", "json", "--no-such-flag"][..],
        &["send", "-o", "json", "hi"],
        &["send", "-o", "json", "-a", "127.0.0.1:9"],
        &[
            "send",
            "-o",
            "json",
            "-a",
            "127.0.0.1:9",
            "hi",
            "--media-type",
            "text/plain",
        ],
        &[
            "send",
            "-o",
            "json",
            "-a",
            "127.0.0.1:9",
            "hi",
            "--metadata",
            "[]",
        ],
        &[
            "send",
            "-o",
            "json",
            "-a",
            "127.0.0.1:9",
            "hi",
            "--timeout",
            "soon",
        ],
        &[
            "send",
            "-o",
            "json",
            "-a",
            "127.0.0.1:9",
            "hi",
            "--async",
            "--stream",
        ],
        &[
            "send",
            "-o",
            "json",
            "-a",
            "127.0.0.1:9",
            "hi",
            "--file",
            "no-such-file",
        ],
        &[
            "send",
            "-o",
            "json",
            "-a",
            "127.0.0.1:9",
            "hi",
            "--transport",
            "pigeon",
        ],
        &["send", "-o", "json", "-a", "ftp://h", "hi"],
        &["task", "get", "-o", "json", "-a", "127.0.0.1:9"],
    ] {
        let ran = nuncio(arguments).await;
        assert_eq!(
            (ran.error_code().as_str(), ran.code),
            ("A2ACLI_ERR_USAGE", 2),
            "{arguments:?}: {ran:?}"
        );
        let text: Vec<&str> = arguments
            .iter()
            .copied()
            .filter(|it| !["-o", "json"].contains(it))
            .collect();
        let ran = nuncio(&text).await;
        assert_eq!((ran.stdout.as_str(), ran.code), ("", 2), "{arguments:?}");
        assert!(
            ran.stderr.starts_with("Error: ") && ran.stderr.contains("Code: A2ACLI_ERR_USAGE"),
            "{ran:?}"
        );
    }
}

#[tokio::test]
async fn help_and_version_go_to_standard_output() {
    for arguments in [
        &["--help"][..],
        &["help", "send"],
        &["send", "--help"],
        &["-v"],
        &["--version"],
        &["-V"],
    ] {
        let ran = nuncio(arguments).await;
        assert!(
            ran.code == 0 && !ran.stdout.is_empty() && ran.stderr.is_empty(),
            "{arguments:?}: {ran:?}"
        );
    }
    let help = nuncio(&["send", "--help"]).await.stdout;
    for flag in [
        "--agent-card",
        "--transport",
        "--a2a-version",
        "--output",
        "--stream",
        "--wait",
        "--async",
        "--poll-interval",
        "--timeout",
        "--context-id",
        "--task-id",
        "--metadata",
        "--svc-param",
        "--bearer",
        "--api-key",
        "--config",
        "--insecure",
        "--verbose",
        "--debug",
        "--text",
        "--file",
        "--data",
        "--media-type",
    ] {
        assert!(help.contains(flag), "{flag}");
    }
}

fn interfaces(base: &str, list: &[(&str, &str, &str)]) -> Value {
    let mut card = card(base, false);
    card["supportedInterfaces"] = list
        .iter()
        .map(|(binding, version, path)| json!({"url": format!("{base}{path}"), "protocolBinding": binding, "protocolVersion": version}))
        .collect();
    card
}

#[tokio::test]
async fn the_first_interface_that_is_spoken_is_called_at_exactly_its_address() {
    for path in ["/rpc", "/rpc/", "/"] {
        let agent = MockAgent::with_card(
            move |base| {
                interfaces(
                    base,
                    &[
                        ("X-FOO", "1.0", "/x"),
                        ("jsonrpc", "1.0", path),
                        ("JSONRPC", "1.0", "/other"),
                    ],
                )
            },
            |request| Reply::result(request, json!({"task": task("COMPLETED", "x")})),
        )
        .await;
        let ran = nuncio(&[
            "send",
            "-a",
            agent.base(),
            "hi",
            "--transport",
            "rest",
            "--transport",
            "JSONRPC",
        ])
        .await;
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(agent.calls()[0].path, path);
    }
}

#[tokio::test]
async fn an_interface_that_is_down_gives_way_to_the_next() {
    let gone = {
        let agent = MockAgent::start(|_, _| Reply::not_found()).await;
        agent.base().to_owned()
    };
    let dead = format!("{gone}/rpc");
    let agent = MockAgent::with_card(
        move |base| {
            let mut card = interfaces(base, &[("JSONRPC", "1.0", "/a"), ("JSONRPC", "1.0", "/b")]);
            card["supportedInterfaces"][0]["url"] = json!(dead);
            card
        },
        |request| Reply::result(request, json!({"task": task("COMPLETED", "x")})),
    )
    .await;
    let ran = nuncio(&["send", "-a", agent.base(), "hi", "--allow-origin", &gone]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(agent.calls()[0].path, "/b");
}

#[tokio::test]
async fn older_versions_need_a_word() {
    let agent = MockAgent::with_card(
        |base| {
            json!({
                "name": "Old", "description": "d", "version": "1", "protocolVersion": "0.3.0",
                "url": format!("{base}/rpc"), "preferredTransport": "JSONRPC",
                "capabilities": {"streaming": false}, "skills": [],
                "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"]
            })
        },
        |request| {
            let task = json!({"kind": "task", "id": "task-1", "contextId": "ctx-1", "status": {"state": "completed"},
                "artifacts": [{"artifactId": "a", "parts": [{"kind": "text", "text": "Hello"}]}]});
            Reply::result(request, task)
        },
    )
    .await;
    let ran = nuncio(&["send", "-a", agent.base(), "hi", "-o", "json"]).await;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.json()["error"]["hint"]
            .as_str()
            .unwrap()
            .contains("--a2a-version 0.3"),
        "{ran:?}"
    );
    assert!(agent.calls().is_empty());
    let ran = nuncio(&[
        "send",
        "-a",
        agent.base(),
        "hi",
        "-o",
        "json",
        "--a2a-version",
        "0.3",
    ])
    .await;
    assert_eq!(
        (ran.code, ran.json()),
        (0, json!({"task": task("COMPLETED", "Hello")})),
        "{ran:?}"
    );
    let call = &agent.calls()[0];
    assert_eq!(
        (call.method(), call.header("a2a-version")),
        ("message/send", Some("0.3"))
    );
    assert_eq!(
        call.params()["message"]["parts"],
        json!([{"kind": "text", "text": "hi"}])
    );
}

#[tokio::test]
async fn a_refused_version_is_shown_and_not_worked_around() {
    let agent = MockAgent::with_card(
        |base| card(base, false),
        |request| {
            Reply::error(
                request,
                -32009,
                "Version 1.0 is not spoken here",
                "VERSION_NOT_SUPPORTED",
            )
        },
    )
    .await;
    let ran = nuncio(&["send", "-a", agent.base(), "hi", "-o", "json"]).await;
    assert_eq!(
        (ran.error_code().as_str(), ran.code),
        ("VersionNotSupportedError", 1)
    );
    assert_eq!(agent.calls().len(), 1);
}

#[tokio::test]
async fn answers_that_are_none_are_the_agents_fault() {
    for body in [
        "",
        "<html>",
        "{}",
        r#"{"jsonrpc":"2.0","id":1,"result":{"x":1}}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{"task":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"}}}}"#,
    ] {
        let agent = MockAgent::with_card(
            |base| card(base, false),
            move |_| Reply::http(200, &[], body),
        )
        .await;
        let ran = nuncio(&["send", "-a", agent.base(), "hi", "-o", "json"]).await;
        assert_eq!(
            (ran.error_code().as_str(), ran.code),
            ("InvalidAgentResponseError", 1),
            "{body}: {ran:?}"
        );
    }
}
