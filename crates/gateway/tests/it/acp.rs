//! An agent that speaks the Agent Client Protocol behind the whole gateway.

use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

use crate::rig::{Frames, Over, Rig, Store, artifact_text, message, over_databases, over_stores};
use crate::service::text_of;

pub const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/acp_agent.py");

/// A gateway before the test agent, and where the agent keeps its sessions.
pub struct Agent {
    pub rig: Rig,
    pub sessions: tempfile::TempDir,
}

impl Agent {
    pub async fn start(over: impl Into<Over>, variables: &str, settings: &str) -> Self {
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

    pub async fn say(&self, text: &str) -> Value {
        self.rig.send(text).await
    }

    /// Sends in a conversation that is there.
    pub async fn go_on(&self, task: &Value, text: &str) -> Value {
        let mut params = message(text);
        params["message"]["contextId"] = task["contextId"].clone();
        params["message"]["messageId"] = text.into();
        self.rig.call("SendMessage", params).await["result"]["task"].take()
    }

    /// Sends these parts in a conversation of their own.
    pub async fn show(&self, parts: Value) -> Value {
        let mut params = message("");
        params["message"]["parts"] = parts;
        self.rig.call("SendMessage", params).await["result"]["task"].take()
    }

    /// The blocks of the last prompt.
    pub fn blocks(&self) -> Value {
        let prompts = self.note("blocks");
        serde_json::from_str(prompts.lines().last().unwrap()).unwrap()
    }

    /// Answers the question of a task.
    pub async fn answer(&self, task: &Value, text: &str) -> Value {
        let mut params = message(text);
        params["message"]["taskId"] = task["id"].clone();
        self.rig.call("SendMessage", params).await["result"]["task"].take()
    }

    /// A stream of a message's task, once the agent has begun.
    pub async fn begun(&self, text: &str) -> (Frames, Value) {
        let mut frames = self
            .rig
            .stream(&[], "SendStreamingMessage", message(text))
            .await;
        let id = frames.result().await["task"]["id"].clone();
        assert!(frames.result().await["artifactUpdate"].is_object());
        (frames, id)
    }

    /// What the agent has noted in a file.
    pub fn note(&self, name: &str) -> String {
        std::fs::read_to_string(self.sessions.path().join(name)).unwrap_or_default()
    }

    pub fn starts(&self) -> Vec<i32> {
        let starts = self.note("starts");
        starts.lines().map(|line| line.parse().unwrap()).collect()
    }
}

pub fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or("none")
}

pub fn said(task: &Value) -> &str {
    task["status"]["message"]["parts"][0]["text"]
        .as_str()
        .unwrap_or_default()
}

pub fn runs(pid: i32) -> bool {
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

    async fn an_agent_that_was_allowed_something_may_ask_again_in_words(store: Store) {
        let agent = Agent::start(store, "", "permissions = \"ask\"").await;
        let asked = agent.say("do both").await;
        assert!(said(&asked).contains("rm x"), "{asked}");
        let which = agent.answer(&asked, "yes").await;
        assert_eq!(state(&which), "TASK_STATE_INPUT_REQUIRED", "{which}");
        assert_eq!(said(&which), "which?");
        let done = agent.answer(&asked, "that").await;
        assert_eq!(state(&done), "TASK_STATE_COMPLETED", "{done}");
        assert_eq!(artifact_text(&done), "ECHO 2: that");
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
async fn a_message_after_a_cancelled_question_waits_until_the_agent_has_let_go() {
    let agent = Agent::start(Store::Memory, "", "permissions = \"ask\"").await;
    let asked = agent.say("be stubborn").await;
    let cancel = agent.rig.call("CancelTask", json!({ "id": asked["id"] }));
    let next = async {
        while agent.note("cancelled").is_empty() {
            tokio::task::yield_now().await;
        }
        agent.go_on(&asked, "slowly").await
    };
    let (canceled, next) = tokio::join!(cancel, next);
    assert_eq!(state(&canceled["result"]), "TASK_STATE_CANCELED");
    assert_eq!(state(&next), "TASK_STATE_COMPLETED", "{next}");
    assert_eq!(text_of(&next), "SLOWLY");
}

#[tokio::test]
async fn conversations_and_workers_have_directories_of_their_own() {
    let agent = Agent::start(Store::Memory, "", "context_dir = true").await;
    let (one, two) = (agent.say("where").await, agent.say("where").await);
    assert_ne!(artifact_text(&one), artifact_text(&two));
    assert!(artifact_text(&one).contains("/contexts/"), "{one}");
}
