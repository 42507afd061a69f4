//! `card get` and `discover`: where cards lie, what they look like, what is no card.

use serde_json::json;

use crate::cli::{Program, nuncio};
use crate::mock_agent::{MockAgent, Reply, card};

/// An agent whose card lies at this path only.
async fn card_at(path: &'static str) -> MockAgent {
    MockAgent::start(move |request, base| {
        if request.path == path {
            Reply::json(200, &card(base, true))
        } else {
            Reply::not_found()
        }
    })
    .await
}

#[tokio::test]
async fn a_card_is_found_wherever_it_may_rightly_lie() {
    for (path, asked) in [
        ("/.well-known/agent-card.json", "/a2a"),
        ("/a2a/.well-known/agent-card.json", "/a2a"),
        ("/.well-known/agent.json", "/a2a"),
        ("/cards/mine", "/cards/mine"),
        ("/cards/mine.json", "/cards/mine.json"),
        ("/.well-known/agent-card.json", ""),
        ("/.well-known/agent.json", "/"),
    ] {
        let agent = card_at(path).await;
        let reference = format!("{}{asked}", agent.base());
        let ran = nuncio(&["card", "get", "-a", &reference, "-o", "json"]).await;
        assert_eq!(ran.code, 0, "{path} for {asked}: {ran:?}");
        assert_eq!(ran.json()["name"], "Mock");
        let verbose = nuncio(&["discover", &reference, "--verbose"]).await;
        let tries: Vec<&str> = verbose
            .stderr
            .lines()
            .filter(|line| line.starts_with("Tried: "))
            .collect();
        assert!(
            tries.last().unwrap().ends_with(&format!("{path}: found")),
            "{tries:?}"
        );
    }
}

#[tokio::test]
async fn a_card_is_also_read_from_a_file() {
    let program = Program::new();
    program.file(
        "card.json",
        &card("https://agent.example", true).to_string(),
    );
    let url = format!("file://{}/card.json", program.home().display());
    for reference in ["card.json", "./card.json", &url] {
        let ran = program.run(&["card", "get", "-a", reference]).await;
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.stdout.contains("Name: Mock\n"));
        assert!(
            ran.stdout
                .contains("Interface: JSONRPC 1.0 at https://agent.example/rpc\n")
        );
    }
}

#[tokio::test]
async fn text_shows_what_the_agent_is_and_wants() {
    let agent = MockAgent::with_card(
        |base| {
            let mut card = card(base, true);
            card["description"] = json!("two\nlines \u{1b}[31mred");
            card["securitySchemes"] =
                json!({"k": {"apiKeySecurityScheme": {"location": "header", "name": "K"}}});
            card["securityRequirements"] = json!([{"schemes": {"k": {"list": []}}}]);
            card
        },
        |_| Reply::not_found(),
    )
    .await;
    let ran = nuncio(&["card", "get", agent.base()]).await;
    for line in [
        "Description: two lines  [31mred",
        "Streaming: yes",
        "Push Notifications: no",
        "Security Scheme: k: API key, header 'K'",
        "Requires: k",
        "Skill: s: s - d [t]",
    ] {
        assert!(
            ran.stdout.lines().any(|it| it == line),
            "{line}: {}",
            ran.stdout
        );
    }
    assert!(!ran.stdout.contains('\u{1b}'));
}

#[tokio::test]
async fn what_is_no_card_is_told_from_no_card() {
    let missing = MockAgent::start(|_, _| Reply::not_found()).await;
    let ran = nuncio(&["card", "get", "-a", missing.base(), "-o", "json"]).await;
    assert_eq!(
        (ran.error_code().as_str(), ran.code),
        ("A2ACLI_ERR_CARD_NOT_FOUND", 3)
    );

    for body in [
        "<html>",
        "{}",
        r#"{"name":"x"}"#,
        "[1]",
        &"[".repeat(100_000),
    ] {
        let body = body.to_owned();
        let broken = MockAgent::start(move |_, _| Reply::http(200, &[], body.clone())).await;
        let ran = nuncio(&["card", "get", "-a", broken.base(), "-o", "json"]).await;
        assert_eq!(
            (ran.error_code().as_str(), ran.code),
            ("A2ACLI_ERR_CARD_INVALID", 1),
            "{ran:?}"
        );
    }
    let huge = MockAgent::start(|_, _| Reply::http(200, &[], vec![b' '; 300 * 1024])).await;
    let ran = nuncio(&["card", "get", "-a", huge.base(), "-o", "json"]).await;
    assert_eq!(ran.error_code(), "A2ACLI_ERR_CARD_INVALID");
}

#[tokio::test]
async fn a_card_that_lacks_members_fails_validation_only_when_asked() {
    let agent = MockAgent::with_card(
        |base| {
            let mut card = card(base, true);
            card["skills"] = json!([]);
            card.as_object_mut().unwrap().remove("version");
            card
        },
        |_| Reply::not_found(),
    )
    .await;
    assert_eq!(nuncio(&["card", "get", "-a", agent.base()]).await.code, 0);
    let ran = nuncio(&[
        "card",
        "get",
        "-a",
        agent.base(),
        "--validate",
        "-o",
        "json",
    ])
    .await;
    assert_eq!(
        (ran.error_code().as_str(), ran.code),
        ("A2ACLI_ERR_CARD_INVALID", 1)
    );
    assert!(ran.stdout.contains("version, skills"), "{}", ran.stdout);
}

#[tokio::test]
async fn a_discovered_agent_can_be_called_by_its_new_name() {
    let agent = card_at("/.well-known/agent-card.json").await;
    let program = Program::new();
    let ran = program
        .run(&["discover", agent.base(), "--register", "mock"])
        .await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("Registered: mock"));
    let ran = program
        .run(&["card", "get", "-a", "mock", "-o", "json"])
        .await;
    assert_eq!(ran.json()["name"], "Mock");
}
