//! An agent that speaks the Agent Client Protocol behind the whole gateway.

use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

use crate::rig::{
    Frames, LIMIT, Over, Rig, Store, artifact_text, message, over_databases, over_stores,
};
use crate::service::text_of;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/acp_agent.py");

/// A gateway before the test agent, and where the agent keeps its sessions.
pub struct Agent {
    pub rig: Rig,
    pub sessions: tempfile::TempDir,
}

impl Agent {
    async fn start(over: impl Into<Over>, variables: &str, settings: &str) -> Self {
        let sessions = tempfile::tempdir().unwrap();
        let path = std::env::var("PATH").unwrap();
        let config = format!(
            "[agents.acp]\nbackend = \"acp\"\ncommand = [\"env\", \"python3\", {PROGRAM:?}]\n\
             env = {{ PATH = {path:?}, ACP_SESSIONS = {:?}, {variables} }}\n{settings}\n",
            sessions.path()
        );
        let rig = Rig::start(over, &config).await;
        Self { rig, sessions }
    }

    async fn say(&self, text: &str) -> Value {
        self.rig.send(text).await
    }

    /// Sends in a conversation that is there.
    async fn go_on(&self, task: &Value, text: &str) -> Value {
        let mut params = message(text);
        params["message"]["contextId"] = task["contextId"].clone();
        params["message"]["messageId"] = text.into();
        self.rig.call("SendMessage", params).await["result"]["task"].take()
    }

    /// Answers the question of a task.
    async fn answer(&self, task: &Value, text: &str) -> Value {
        let mut params = message(text);
        params["message"]["taskId"] = task["id"].clone();
        self.rig.call("SendMessage", params).await["result"]["task"].take()
    }

    /// A stream of a message's task, once the agent has begun.
    async fn begun(&self, text: &str) -> (Frames, Value) {
        let mut frames = self
            .rig
            .stream(&[], "SendStreamingMessage", message(text))
            .await;
        let id = frames.result().await["task"]["id"].clone();
        assert!(frames.result().await["artifactUpdate"].is_object());
        (frames, id)
    }

    /// What the agent has noted in a file.
    fn note(&self, name: &str) -> String {
        std::fs::read_to_string(self.sessions.path().join(name)).unwrap_or_default()
    }

    fn starts(&self) -> Vec<i32> {
        let starts = self.note("starts");
        starts.lines().map(|line| line.parse().unwrap()).collect()
    }
}

fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or("none")
}

fn said(task: &Value) -> &str {
    task["status"]["message"]["parts"][0]["text"]
        .as_str()
        .unwrap_or_default()
}

fn runs(pid: i32) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap_or("")
            .trim_start()
            .starts_with('Z')
    })
}

over_stores! {
    async fn each_conversation_has_a_session_of_one_process(store: Store) {
        let agent = Agent::start(store, "", "").await;
        let first = agent.say("hello").await;
        assert_eq!(artifact_text(&first), "ECHO 1: hello", "{first}");
        assert_eq!(artifact_text(&agent.go_on(&first, "again").await), "ECHO 2: again");
        assert_eq!(artifact_text(&agent.say("other").await), "ECHO 1: other");
        assert_eq!(agent.starts().len(), 1);
    }

    async fn a_caller_that_is_asked_decides_and_the_same_prompt_goes_on(store: Store) {
        let agent = Agent::start(store, "", "permissions = \"ask\"").await;
        let asked = agent.say("please ask").await;
        assert_eq!(state(&asked), "TASK_STATE_INPUT_REQUIRED", "{asked}");
        assert!(said(&asked).contains("rm x") && said(&asked).contains("1. Go on [go]"));
        let options = &asked["status"]["message"]["parts"][1]["data"]["permission"]["options"];
        assert_eq!(options[1]["optionId"], "no");
        let busy = agent.go_on(&asked, "meanwhile").await;
        assert_eq!(state(&busy), "TASK_STATE_REJECTED", "{busy}");
        assert!(said(&busy).contains(asked["id"].as_str().unwrap()));
        let unclear = agent.answer(&asked, "perhaps").await;
        assert_eq!(state(&unclear), "TASK_STATE_INPUT_REQUIRED");
        let done = agent.answer(&asked, "yes").await;
        assert_eq!(state(&done), "TASK_STATE_COMPLETED", "{done}");
        assert_eq!(artifact_text(&done), "I will. decided: go");
        assert_eq!(artifact_text(&agent.go_on(&asked, "next").await), "ECHO 2: next");
    }
}

over_databases! {
    async fn a_session_is_loaded_again_after_a_restart(store: Store) {
        let mut agent = Agent::start(store, "ACP_LOAD = \"1\"", "").await;
        let first = agent.say("hello").await;
        agent.rig.restart(Duration::from_secs(5)).await;
        let second = agent.go_on(&first, "again").await;
        assert_eq!(artifact_text(&second), "ECHO 2: again", "{second}");
        assert_eq!(agent.starts().len(), 2);
        assert!(!runs(agent.starts()[0]), "the first process is still there");
    }

    async fn a_session_is_resumed_where_the_agent_can_and_else_loaded(store: Store) {
        for (variables, ways) in [
            ("ACP_RESUME = \"1\"", "session/resume\n"),
            ("ACP_RESUME = \"1\", ACP_LOAD = \"1\"", "session/resume\n"),
            ("ACP_RESUME = \"refused\", ACP_LOAD = \"1\"", "session/resume\nsession/load\n"),
        ] {
            let mut agent = Agent::start(store, variables, "").await;
            let first = agent.say("hello").await;
            agent.rig.restart(Duration::from_secs(5)).await;
            let second = agent.go_on(&first, "again").await;
            assert_eq!(artifact_text(&second), "ECHO 2: again", "{variables}: {second}");
            assert_eq!(agent.note("brought_back"), ways);
        }
    }

    async fn a_session_that_is_gone_is_made_anew_with_what_was_said(store: Store) {
        let mut agent = Agent::start(store, "", "").await;
        let first = agent.say("hello").await;
        agent.rig.restart(Duration::from_secs(5)).await;
        let second = agent.go_on(&first, "show prompt").await;
        let prompt = artifact_text(&second);
        assert!(prompt.contains("Sender: hello") && prompt.contains("You: ECHO 1: hello"), "{prompt}");
        assert!(prompt.contains("[A2A message from ip:127.0.0.1]\nshow prompt"), "{prompt}");
    }

    async fn a_question_that_a_restart_took_away_is_told_to_be_lost(store: Store) {
        let mut agent = Agent::start(store, "", "permissions = \"ask\"").await;
        let asked = agent.say("please ask").await;
        agent.rig.restart(Duration::from_secs(5)).await;
        let lost = agent.answer(&asked, "yes").await;
        assert_eq!(state(&lost), "TASK_STATE_FAILED", "{lost}");
        assert!(said(&lost).contains("the work was lost"), "{lost}");
        assert_eq!(lost["status"]["message"]["metadata"]["reason"], "worker_lost", "{lost}");
        // The conversation itself goes on.
        assert_eq!(state(&agent.go_on(&asked, "next").await), "TASK_STATE_COMPLETED");
    }
}

#[tokio::test]
async fn permissions_are_denied_unless_they_are_allowed() {
    let agent = Agent::start(Store::Memory, "", "").await;
    assert_eq!(
        artifact_text(&agent.say("ask").await),
        "I will. decided: no"
    );
    for (allow, word, decided) in [
        ("delete", "ask", "go"),
        ("delete:rm x", "ask", "go"),
        ("delete:rm y", "ask", "no"),
        ("execute:rm x", "ask", "no"),
        ("*:rm *", "ask", "go"),
        // The request itself names the call by its id alone.
        ("delete:rm told", "told", "go"),
        ("execute", "told", "no"),
    ] {
        let agent = Agent::start(Store::Memory, "", &format!("allow = [{allow:?}]")).await;
        let task = agent.say(word).await;
        let said = text_of(&task);
        assert!(
            said.ends_with(&format!("decided: {decided}")),
            "{allow}: {task}"
        );
    }
}

#[tokio::test]
async fn what_the_agent_does_is_shown_and_what_it_thinks_is_not() {
    let agent = Agent::start(Store::Memory, "", "").await;
    let mut frames = agent
        .rig
        .stream(&[], "SendStreamingMessage", message("use tools"))
        .await;
    let events = frames.rest().await;
    let all = json!(events).to_string();
    assert!(
        all.contains("Edit a.txt") && !all.contains("secret plan"),
        "{all}"
    );
    let id = events[0]["task"]["id"].as_str().unwrap();
    let task = agent.rig.get_task(id).await;
    let artifacts = task["artifacts"].as_array().unwrap();
    let named = |name: &str| artifacts.iter().find(|it| it["name"] == name).unwrap();
    assert_eq!(
        named("plan")["parts"][0]["data"]["plan"][0]["content"],
        "one"
    );
    assert_eq!(named("a.txt")["parts"][0]["filename"], "a.txt");
    let card = agent.rig.get("/.well-known/agent-card.json", &[]).await;
    let card = String::from_utf8(card.body.to_vec()).unwrap();
    assert!(card.contains("command-review"), "{card}");
}

#[tokio::test]
async fn a_cancelled_turn_really_stops_and_its_late_words_are_lost() {
    for word in ["hang", "late", "deaf"] {
        let agent = Agent::start(Store::Memory, "", "kill_grace = \"200ms\"").await;
        let (_frames, id) = agent.begun(word).await;
        let answer = agent.rig.call("CancelTask", json!({ "id": id })).await;
        assert_eq!(state(&answer["result"]), "TASK_STATE_CANCELED", "{answer}");
        let again = agent.say("hello").await;
        assert_eq!(state(&again), "TASK_STATE_COMPLETED", "{word}: {again}");
        assert!(
            !agent
                .rig
                .get_task(id.as_str().unwrap())
                .await
                .to_string()
                .contains("too late")
        );
        let killed = word == "deaf";
        assert_eq!(agent.starts().len(), if killed { 2 } else { 1 }, "{word}");
        assert!(!killed || !runs(agent.starts()[0]));
    }
}

#[tokio::test]
async fn a_cancelled_question_frees_its_conversation() {
    let agent = Agent::start(Store::Memory, "", "permissions = \"ask\"").await;
    let asked = agent.say("please ask").await;
    let answer = agent
        .rig
        .call("CancelTask", json!({ "id": asked["id"] }))
        .await;
    assert_eq!(state(&answer["result"]), "TASK_STATE_CANCELED", "{answer}");
    assert_eq!(
        artifact_text(&agent.go_on(&asked, "next").await),
        "ECHO 2: next"
    );
}

#[tokio::test]
async fn a_crash_fails_the_turn_and_the_next_one_gets_a_new_process() {
    let agent = Agent::start(Store::Memory, "ACP_LOAD = \"1\"", "").await;
    let first = agent.say("hello").await;
    let crashed = agent.go_on(&first, "crash").await;
    assert_eq!(state(&crashed), "TASK_STATE_FAILED", "{crashed}");
    assert!(said(&crashed).contains("process ended"), "{crashed}");
    assert_eq!(artifact_text(&crashed), "half of it ");
    assert_eq!(
        artifact_text(&agent.go_on(&first, "again").await),
        "ECHO 3: again"
    );
}

#[tokio::test]
async fn an_agent_that_cannot_start_or_wants_a_login_says_so_to_its_operator_only() {
    let agent = Agent::start(Store::Memory, "ACP_CRASH = \"1\"", "").await;
    for _ in 0..2 {
        let failed = agent.say("hello").await;
        assert_eq!(state(&failed), "TASK_STATE_FAILED");
        assert!(
            said(&failed).starts_with("the agent could not be started"),
            "{failed}"
        );
    }
    let agent = Agent::start(Store::Memory, "ACP_LOGIN = \"1\"", "").await;
    let failed = agent.say("hello").await;
    assert!(
        said(&failed).starts_with("the agent's owner has to log it in first"),
        "{failed}"
    );
}

/// A pipe that the test agent keeps open as long as it runs.
struct Alive {
    dir: tempfile::TempDir,
}

impl Alive {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(dir.path().join("alive"))
            .status();
        assert!(made.unwrap().success());
        Self { dir }
    }

    fn variable(&self) -> String {
        format!("ACP_ALIVE = {:?}", self.dir.path().join("alive"))
    }

    /// Waits until the agent runs; the pipe gives its end when it does not any longer.
    async fn begins(&self) -> tokio::fs::File {
        let opened = tokio::fs::File::open(self.dir.path().join("alive"));
        tokio::time::timeout(LIMIT, opened).await.unwrap().unwrap()
    }
}

async fn ends(mut pipe: tokio::fs::File) {
    let mut nothing = Vec::new();
    let end = tokio::io::AsyncReadExt::read_to_end(&mut pipe, &mut nothing);
    let end = tokio::time::timeout(LIMIT, end).await;
    assert_eq!(end.expect("it still runs").unwrap(), 0);
}

#[tokio::test]
async fn a_process_that_has_not_greeted_when_its_turn_is_cancelled_is_ended() {
    let alive = Alive::new();
    let variables = format!("ACP_MUTE = \"1\", {}", alive.variable());
    let agent = Agent::start(Store::Memory, &variables, "").await;
    let task = agent.rig.start_task("x").await;
    let pipe = alive.begins().await;
    let answer = agent
        .rig
        .call("CancelTask", json!({ "id": task["id"] }))
        .await;
    assert_eq!(state(&answer["result"]), "TASK_STATE_CANCELED", "{answer}");
    ends(pipe).await;
}

#[tokio::test]
async fn a_process_that_never_greets_fails_the_turn_and_is_ended() {
    let alive = Alive::new();
    let variables = format!("ACP_MUTE = \"1\", {}", alive.variable());
    let agent = Agent::start(Store::Memory, &variables, "start_timeout = \"300ms\"").await;
    let (failed, pipe) = tokio::join!(agent.say("hello"), alive.begins());
    assert_eq!(state(&failed), "TASK_STATE_FAILED", "{failed}");
    assert!(
        said(&failed).starts_with("the agent could not be started"),
        "{failed}"
    );
    ends(pipe).await;
}

#[tokio::test]
async fn lines_that_are_no_messages_do_no_harm() {
    let agent = Agent::start(Store::Memory, "", "").await;
    assert_eq!(
        artifact_text(&agent.say("garbage").await),
        "ECHO 1: garbage"
    );
}

#[tokio::test]
async fn endings_without_an_answer_are_failures_with_a_reason() {
    let agent = Agent::start(Store::Memory, "", "").await;
    for (word, expected, text) in [
        ("empty", "TASK_STATE_FAILED", "answered with nothing"),
        ("max_tokens", "TASK_STATE_FAILED", "length limit"),
        ("refusal", "TASK_STATE_REJECTED", "refuses"),
    ] {
        let task = agent.say(word).await;
        assert_eq!(state(&task), expected, "{task}");
        assert!(said(&task).contains(text), "{task}");
    }
}

#[tokio::test]
async fn a_flood_is_stopped_at_the_limit() {
    let agent = Agent::start(Store::Memory, "", "max_output_bytes = 2000000").await;
    let flooded = agent.say("flood").await;
    assert_eq!(state(&flooded), "TASK_STATE_FAILED");
    assert!(
        said(&flooded).contains("more than it may"),
        "{}",
        said(&flooded)
    );
    assert_eq!(artifact_text(&agent.say("hello").await), "ECHO 1: hello");
}

#[tokio::test]
async fn conversations_and_workers_have_directories_of_their_own() {
    let agent = Agent::start(Store::Memory, "", "context_dir = true").await;
    let (one, two) = (agent.say("where").await, agent.say("where").await);
    assert_ne!(artifact_text(&one), artifact_text(&two));
    assert!(artifact_text(&one).contains("/contexts/"), "{one}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_conversations_are_served_side_by_side() {
    let agent = Agent::start(Store::Memory, "", "").await;
    let sends = (0..50).map(|number| {
        let mut params = message("hello");
        params["message"]["messageId"] = format!("m{number}").into();
        agent.rig.call("SendMessage", params)
    });
    for answer in futures_util::future::join_all(sends).await {
        assert_eq!(
            artifact_text(&answer["result"]["task"]),
            "ECHO 1: hello",
            "{answer}"
        );
    }
    assert_eq!(agent.starts().len(), 1);
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// A thousand turns in as many conversations, and a hundred crashes among them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_and_restarts_leave_nothing_behind() {
    let agent = Agent::start(Store::Memory, "", "").await;
    assert_eq!(state(&agent.say("hello").await), "TASK_STATE_COMPLETED");
    let files = open_files();
    for round in 0..100 {
        for turn in 0..9 {
            let task = agent.say("hello").await;
            assert_eq!(
                artifact_text(&task),
                "ECHO 1: hello",
                "{round} {turn}: {task}"
            );
        }
        assert_eq!(state(&agent.say("crash").await), "TASK_STATE_FAILED");
    }
    assert_eq!(state(&agent.say("hello").await), "TASK_STATE_COMPLETED");
    // The test's own client may have opened another connection.
    assert!(open_files() <= files + 4, "{files} {}", open_files());
    let starts = agent.starts();
    assert_eq!(starts.len(), 101);
    assert!(starts[..100].iter().all(|pid| !runs(*pid)));
    agent.rig.stop().await;
    assert!(!runs(starts[100]));
}
