//! Where settings come from: flag, variable, local file, global file, default.

use crate::cli::Program;
use crate::mock_agent::{MockAgent, Reply, card, task};
use serde_json::json;

async fn agent() -> MockAgent {
    MockAgent::with_card(
        |base| card(base, false),
        |request| Reply::result(request, json!({"task": task("COMPLETED", "x")})),
    )
    .await
}

#[tokio::test]
async fn each_layer_beats_the_ones_below() {
    let agent = agent().await;
    let program = Program::new();
    program.file(
        ".config/a2a-cli/.env",
        "A2ACLI_CONTEXT_ID=global\nA2ACLI_OUTPUT=json\n",
    );
    let send = ["send", "-a", agent.base(), "hi"];
    let context = |at: usize| agent.calls()[at].params()["message"]["contextId"].clone();

    let ran = program.run(&send).await;
    assert_eq!((ran.code, context(0)), (0, json!("global")), "{ran:?}");
    ran.json();
    program.file(".env", "OTHER=1\nA2ACLI_CONTEXT_ID=local\n");
    program.run(&send).await;
    assert_eq!(context(1), "local");
    program.file("mine.env", "A2ACLI_CONTEXT_ID=named\n");
    program
        .run(&[&send[..], &["--config", "mine.env"]].concat())
        .await;
    assert_eq!(context(2), "named");
    let program = program.variable("A2ACLI_CONTEXT_ID", "variable");
    program.run(&send).await;
    assert_eq!(context(3), "variable");
    program
        .run(&[&send[..], &["--context-id", "flag"]].concat())
        .await;
    assert_eq!(context(4), "flag");
}

#[tokio::test]
async fn show_names_every_setting_and_its_source() {
    let program = Program::new().variable("A2ACLI_TIMEOUT", "5m");
    program.file(".env", "A2ACLI_OUTPUT=json\n");
    let ran = program.run(&["config", "show"]).await;
    let shown = ran.json();
    let of = |name: &str| {
        shown
            .as_array()
            .unwrap()
            .iter()
            .find(|it| it["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(
        (&of("timeout")["value"], &of("timeout")["source"]),
        (&json!("5m"), &json!("environment"))
    );
    assert!(of("output")["source"].as_str().unwrap().ends_with("/.env"));
    assert_eq!(of("insecure")["source"], "built-in");
    assert_eq!(of("bearer")["value"], json!(null));
}

#[tokio::test]
async fn a_wrong_value_names_its_place() {
    let program = Program::new();
    program.file(".env", "A2ACLI_TIMEOUT=soon\n");
    let ran = program.run(&["send", "-a", "127.0.0.1:9", "hi"]).await;
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("A2ACLI_TIMEOUT in ") && ran.stderr.contains("'soon'"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn insecure_warns_and_more_so_with_a_credential() {
    let agent = agent().await;
    let program = Program::new();
    let ran = program
        .run(&[
            "send",
            "-a",
            agent.base(),
            "hi",
            "--insecure",
            "--bearer",
            "x",
        ])
        .await;
    assert!(
        ran.stderr.contains("Warning: --insecure") && ran.stderr.contains("a credential is sent"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn nothing_is_remembered_between_runs() {
    let agent = agent().await;
    let program = Program::new();
    program.run(&["send", "-a", agent.base(), "hi"]).await;
    let left: Vec<_> = std::fs::read_dir(program.home()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
