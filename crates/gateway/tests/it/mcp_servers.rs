//! Tools of an agent's MCP servers on its card, over both ways to a server.

use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::rig::{LIMIT, Rig, Store, message};
use crate::service::{Asked, Service};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/mcp_server.py");
const CARD: &str = "/.well-known/agent-card.json";
/// The longest that a card may wait for all of its servers, with a margin for a busy machine.
const CARD_LIMIT: Duration = Duration::from_secs(6);
/// Pause between two looks at what tells of nothing.
const LOOK: Duration = Duration::from_millis(10);

/// The table of a server that is a program.
fn program(name: &str, arguments: &[&str], settings: &str) -> String {
    let path = std::env::var("PATH").unwrap();
    let mut command = vec!["env", "python3", PROGRAM];
    command.extend(arguments);
    format!(
        "[agents.echo.mcp_servers.{name}]\ncommand = {command:?}\n\
         env = {{ PATH = {path:?}, FETCHES = \"Gets a page\" }}\n{settings}\n"
    )
}

async fn rig(servers: &str) -> Rig {
    let skills = "skills = [{ id = \"own\", name = \"Own\" }]";
    let config = format!("[agents.echo]\nbackend = \"echo\"\n{skills}\n{servers}");
    Rig::start(Store::Memory, &config).await
}

fn ids(card: &Value) -> Vec<&str> {
    let skills = card["skills"].as_array().unwrap();
    skills.iter().map(|it| it["id"].as_str().unwrap()).collect()
}

/// Asks for the card until it has this skill.
async fn card_with(rig: &Rig, id: &str) -> Value {
    let began = Instant::now();
    loop {
        let card = rig.get(CARD, &[]).await.json;
        if ids(&card).contains(&id) {
            return card;
        }
        assert!(began.elapsed() < LIMIT, "{card}");
    }
}

/// The process that has noted itself there. Nothing tells of a file or of somebody else's end.
async fn pid_in(mark: &str) -> String {
    let began = Instant::now();
    loop {
        if let Some(pid) = std::fs::read_to_string(mark)
            .ok()
            .filter(|it| !it.is_empty())
        {
            return pid;
        }
        assert!(began.elapsed() < LIMIT, "it never began");
        tokio::time::sleep(LOOK).await;
    }
}

async fn ended(pid: &str) {
    let began = Instant::now();
    while runs(pid) {
        assert!(began.elapsed() < LIMIT, "{pid} runs on");
        tokio::time::sleep(LOOK).await;
    }
}

fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or("").starts_with(" Z"))
}

#[tokio::test]
async fn tools_of_a_program_stand_after_the_configured_skills() {
    let rig = rig(&program("web", &["good"], "")).await;
    let card = card_with(&rig, "mcp-web-search").await;
    assert_eq!(ids(&card), ["own", "mcp-web-search", "mcp-web-fetch"]);
    let search = json!({ "id": "mcp-web-search", "name": "Web search", "description": "Finds pages",
        "tags": ["mcp", "web"] });
    assert_eq!(card["skills"][1], search);
    // The environment is clean but for what was set.
    assert_eq!(card["skills"][2]["description"], "Gets a page");
}

#[tokio::test]
async fn only_advertised_tools_are_told_of() {
    let restricted = program("web", &["good"], "advertised_tools = [\"fetch\"]");
    let rig_of_one = rig(&restricted).await;
    let card = card_with(&rig_of_one, "mcp-web-fetch").await;
    assert_eq!(ids(&card), ["own", "mcp-web-fetch"]);
    // It would hang if it were asked.
    let rig_of_none = rig(&program("web", &["mute"], "advertised_tools = []")).await;
    let began = Instant::now();
    let card = rig_of_none.get(CARD, &[]).await.json;
    assert_eq!(ids(&card), ["own"]);
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn servers_that_fail_cost_the_others_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mark = dir.path().join("pid");
    let mark = mark.to_str().unwrap();
    let away = "[agents.echo.mcp_servers.away]\nurl = \"http://127.0.0.1:9/mcp\"\n\
                [agents.echo.mcp_servers.missing]\ncommand = [\"no-such-program-anywhere\"]\n";
    let servers = [
        program("broken", &["broken"], ""),
        program("mute", &["mute", mark], "timeout = \"3s\""),
        program("endless", &["endless"], "timeout = \"3s\""),
        away.to_owned(),
        program("web", &["good"], ""),
    ];
    let rig = rig(&servers.concat()).await;
    let began = Instant::now();
    let card = rig.get(CARD, &[]).await.json;
    assert!(began.elapsed() < CARD_LIMIT, "{:?}", began.elapsed());
    assert_eq!(ids(&card)[0], "own");
    let card = card_with(&rig, "mcp-web-search").await;
    assert_eq!(ids(&card), ["own", "mcp-web-search", "mcp-web-fetch"]);
    // It was ended when its time was over.
    ended(&pid_in(mark).await).await;
}

#[tokio::test]
async fn a_slow_server_is_on_a_later_card() {
    let dir = tempfile::tempdir().unwrap();
    let go = dir.path().join("go");
    let slow = program("slow", &["slow", go.to_str().unwrap()], "");
    let rig = rig(&slow).await;
    let before = rig.get(CARD, &[]).await;
    assert_eq!(ids(&before.json), ["own"]);
    std::fs::write(&go, "").unwrap();
    card_with(&rig, "mcp-slow-search").await;
    let after = rig.get(CARD, &[]).await;
    assert_ne!(before.header("etag"), after.header("etag"));
}

#[tokio::test]
async fn a_gateway_that_stops_leaves_no_server_behind() {
    let dir = tempfile::tempdir().unwrap();
    let mark = dir.path().join("pid");
    let mark = mark.to_str().unwrap();
    let rig = rig(&program("mute", &["mute", mark], "")).await;
    rig.get(CARD, &[]).await;
    let pid = pid_in(mark).await;
    assert!(runs(&pid));
    rig.stop().await;
    ended(&pid).await;
}

fn result(asked: &Asked, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": asked.body["id"], "result": result })
}

fn about() -> Value {
    json!({ "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
        "serverInfo": { "name": "s", "version": "1" } })
}

#[tokio::test]
async fn a_server_at_an_address_may_answer_in_streams_and_keep_a_session() {
    let mut service = Service::start().await;
    let table = format!(
        "[agents.echo]\nbackend = \"echo\"\n\
         [agents.echo.mcp_servers.far]\nurl = \"{}/tools/mcp\"\nbearer = \"file:token\"\n",
        service.base
    );
    let rig = Rig::with_secrets(Store::Memory, &table, &[("token", "t0ken")]).await;
    let play = async {
        let asked = service.expect("POST /tools/mcp").await;
        assert_eq!(asked.body["method"], "initialize");
        assert_eq!(asked.header("authorization"), "Bearer t0ken");
        assert_eq!(
            asked.header("accept"),
            "application/json, text/event-stream"
        );
        let begun = result(&asked, &about());
        let headers = [
            ("content-type", "application/json"),
            ("mcp-session-id", "s1"),
        ];
        asked.bytes(200, &headers, begun.to_string().into());
        let asked = service.expect("POST /tools/mcp").await;
        assert_eq!(asked.body["method"], "notifications/initialized");
        assert_eq!(asked.header("mcp-session-id"), "s1");
        asked.bytes(202, &[], "".into());
        let asked = service.expect("POST /tools/mcp").await;
        assert_eq!(asked.body["method"], "tools/list");
        assert_eq!(asked.header("mcp-session-id"), "s1");
        assert_eq!(asked.header("mcp-protocol-version"), "2025-06-18");
        let listed = result(&asked, &json!({ "tools": [{ "name": "dig" }] }));
        let feed = asked.stream();
        assert!(feed.raw("id: 1\ndata: \n\n").await);
        feed.data(&json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": {} }))
            .await;
        feed.data(&listed).await;
        let ended = service.expect("DELETE /tools/mcp").await;
        assert_eq!(ended.header("mcp-session-id"), "s1");
        ended.bytes(405, &[], "".into());
    };
    let (card, ()) = tokio::join!(rig.get(CARD, &[]), play);
    assert_eq!(ids(&card.json), ["mcp-far-dig"], "{}", card.json);
    // It is believed for a while.
    rig.get(CARD, &[]).await;
    assert!(service.is_quiet());
}

#[tokio::test]
async fn an_agent_of_the_client_protocol_is_given_the_servers() {
    const AGENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/acp_agent.py");
    let path = std::env::var("PATH").unwrap();
    for (over_http, expected) in [("", 1), ("1", 2)] {
        let kept = tempfile::tempdir().unwrap();
        let config = format!(
            "[agents.acp]\nbackend = \"acp\"\ncommand = [\"env\", \"python3\", {AGENT:?}]\n\
             env = {{ PATH = {path:?}, ACP_SESSIONS = {:?}, ACP_HTTP = \"{over_http}\" }}\n\
             [agents.acp.mcp_servers.near]\ncommand = [\"sh\", \"-c\", \"exit 1\"]\n\
             env = {{ KEY = \"v\" }}\nadvertised_tools = []\n\
             [agents.acp.mcp_servers.gone]\ncommand = [\"no-such-program-anywhere\"]\n\
             [agents.acp.mcp_servers.far]\nurl = \"http://127.0.0.1:9/mcp\"\nbearer = \"file:token\"\n",
            kept.path()
        );
        let rig = Rig::with_secrets(Store::Memory, &config, &[("token", "t0ken")]).await;
        let told = rig.call("SendMessage", message("hello")).await;
        let state = &told["result"]["task"]["status"]["state"];
        assert_eq!(state, "TASK_STATE_COMPLETED", "{told}");
        let given = std::fs::read_to_string(kept.path().join("mcp_servers")).unwrap();
        let given: Value = serde_json::from_str(&given).unwrap();
        let given = given.as_array().unwrap();
        assert_eq!(given.len(), expected, "{given:?}");
        let near = &given[0];
        assert_eq!(
            (&near["name"], &near["args"]),
            (&json!("near"), &json!(["-c", "exit 1"]))
        );
        assert!(near["command"].as_str().unwrap().ends_with("/sh"));
        let key = json!({ "name": "KEY", "value": "v" });
        assert!(near["env"].as_array().unwrap().contains(&key));
        if let Some(far) = given.get(1) {
            let header = json!({ "name": "Authorization", "value": "Bearer t0ken" });
            let far_expected = json!({ "type": "http", "name": "far",
                "url": "http://127.0.0.1:9/mcp", "headers": [header] });
            assert_eq!(far, &far_expected);
        }
    }
}
