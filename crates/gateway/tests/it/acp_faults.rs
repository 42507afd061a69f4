//! What can go wrong with an agent that speaks the Agent Client Protocol: none of it ends as a hang, and
//! nothing of it is left behind.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use crate::acp::{Agent, PROGRAM, runs, said, state};
use crate::rig::{LIMIT, Rig, Store, artifact_text, message, over_databases};
use crate::service::text_of;
use crate::upstream::ended as ended_task;

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

#[tokio::test]
async fn the_pauses_between_starts_grow_and_are_not_waited_for_when_they_are_long() {
    let agent = Agent::start(Store::Memory, "ACP_CRASH = \"1\"", "").await;
    let fail = async || {
        let failed = agent.say("hello").await;
        let reason = said(&failed);
        assert!(
            reason.starts_with("the agent could not be started"),
            "{reason}"
        );
    };
    // Each a start of its own, as long as the pause before it is short.
    for starts in 1..=5 {
        fail().await;
        assert_eq!(agent.starts().len(), starts);
    }
    let times = agent.note("times");
    let times: Vec<f64> = times.lines().map(|it| it.parse().unwrap()).collect();
    for (times, planned) in times.windows(2).zip([0.2, 0.4, 0.8, 1.6]) {
        let pause = times[1] - times[0];
        assert!(pause >= 0.79 * planned, "{pause} {planned}");
    }
    for _ in 0..10 {
        fail().await;
    }
    // One more where all of this took so long that little of the pause was left.
    assert!(agent.starts().len() <= 6, "{:?}", agent.starts());
}

#[tokio::test]
async fn turns_that_wait_for_a_start_share_its_failure() {
    let alive = Alive::new();
    let variables = format!("ACP_CRASH = \"1\", {}", alive.variable());
    let agent = Agent::start(Store::Memory, &variables, "").await;
    let mut tasks = Vec::new();
    for number in 0..10 {
        let mut params = message("hello");
        params["message"]["messageId"] = format!("m{number}").into();
        params["configuration"] = json!({ "returnImmediately": true });
        let answer = agent.rig.call("SendMessage", params).await;
        tasks.push(answer["result"]["task"]["id"].clone());
    }
    for id in &tasks {
        let is_at_work = async || {
            let task = agent.rig.get_task(id.as_str().unwrap()).await;
            state(&task) == "TASK_STATE_WORKING"
        };
        while !is_at_work().await {
            tokio::task::yield_now().await;
        }
    }
    let _pipe = alive.begins().await;
    for id in &tasks {
        let task = ended_task(&agent.rig, id).await;
        assert!(
            said(&task).starts_with("the agent could not be started"),
            "{task}"
        );
    }
    // One more for a turn that came to the door just after.
    assert!(agent.starts().len() <= 2, "{:?}", agent.starts());
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
    let agent = Agent::start(Store::Memory, &variables, "start_timeout = \"3s\"").await;
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
async fn a_flood_of_anything_is_stopped_at_the_limit() {
    const MOST: usize = 500_000;
    let agent = Agent::start(Store::Memory, "", &format!("max_output_bytes = {MOST}")).await;
    for kind in ["texts", "calls", "diffs", "images", "plans"] {
        let flooded = agent.say(&format!("flood-{kind}")).await;
        assert_eq!(state(&flooded), "TASK_STATE_FAILED", "{kind}");
        let reason = said(&flooded);
        assert!(reason.contains("more than it may"), "{kind}: {reason}");
        // In base64, with ids.
        assert!(flooded.to_string().len() < 2 * MOST, "{kind}");
        assert_eq!(artifact_text(&agent.say("hello").await), "ECHO 1: hello");
    }
    assert_eq!(agent.starts().len(), 1, "it was cancelled, not killed");
}

#[tokio::test]
async fn a_question_counts_against_the_limit_too() {
    let settings = "max_output_bytes = 50000\npermissions = \"ask\"";
    let agent = Agent::start(Store::Memory, "", settings).await;
    let task = agent.say("titles").await;
    assert_eq!(state(&task), "TASK_STATE_FAILED");
    assert!(said(&task).contains("more than it may"), "{}", said(&task));
    assert!(task.to_string().len() < 10_000);
    assert_eq!(artifact_text(&agent.say("hello").await), "ECHO 1: hello");
}

#[tokio::test]
async fn a_question_for_which_there_is_no_room_while_another_waits_is_refused() {
    let agent = Agent::start(Store::Memory, "", "permissions = \"ask\"").await;
    let asked = agent.say("crowd").await;
    assert_eq!(state(&asked), "TASK_STATE_INPUT_REQUIRED", "{asked}");
    let refused = async {
        while agent.note("beside").is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LIMIT, refused).await.unwrap();
    assert_eq!(agent.note("beside"), "no");
    // What is told there holds nobody else up.
    assert_eq!(artifact_text(&agent.say("hello").await), "ECHO 1: hello");
    let done = agent.answer(&asked, "yes").await;
    assert_eq!(state(&done), "TASK_STATE_COMPLETED");
    assert!(text_of(&done).ends_with("decided: go"));
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

#[tokio::test]
async fn a_program_that_has_vanished_fails_the_turn_without_naming_paths() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("agent.py");
    std::fs::copy(PROGRAM, &program).unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    let config = format!("[agents.acp]\nbackend = \"acp\"\ncommand = [{program:?}]\n");
    let rig = Rig::start(Store::Memory, &config).await;
    std::fs::remove_file(&program).unwrap();
    for _ in 0..2 {
        let failed = rig.send("hello").await;
        assert_eq!(state(&failed), "TASK_STATE_FAILED", "{failed}");
        assert!(
            said(&failed).starts_with("the agent could not be started"),
            "{failed}"
        );
        assert!(!failed.to_string().contains("agent.py"), "{failed}");
    }
}

#[tokio::test]
async fn a_process_that_dies_between_turns_is_missed_by_nobody() {
    for variables in ["ACP_LOAD = \"1\"", ""] {
        let alive = Alive::new();
        let variables = [variables, &alive.variable()].join(", ");
        let variables = variables.trim_start_matches(", ");
        let agent = Agent::start(Store::Memory, variables, "").await;
        let (first, pipe) = tokio::join!(agent.say("hello"), alive.begins());
        let pid = agent.starts()[0];
        kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
        ends(pipe).await;
        let collected = async {
            while Path::new("/proc").join(pid.to_string()).exists() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LIMIT, collected).await.unwrap();
        let (second, _pipe) = tokio::join!(agent.go_on(&first, "again"), alive.begins());
        assert_eq!(state(&second), "TASK_STATE_COMPLETED", "{second}");
        assert_eq!(agent.starts().len(), 2);
    }
}

#[tokio::test]
async fn a_turn_that_takes_too_long_is_cancelled_in_the_agent() {
    for (word, starts) in [("hang", 1), ("deaf", 2)] {
        // The agent has to start within it, too.
        let settings = "turn_timeout = \"3s\"\nkill_grace = \"200ms\"";
        let agent = Agent::start(Store::Memory, "", settings).await;
        let failed = agent.say(word).await;
        assert_eq!(state(&failed), "TASK_STATE_FAILED", "{failed}");
        assert_eq!(reason(&failed), "turn_timeout", "{failed}");
        let next = agent.say("hello").await;
        assert_eq!(artifact_text(&next), "ECHO 1: hello", "{word}: {next}");
        assert_eq!(agent.starts().len(), starts, "{word}");
    }
}

#[tokio::test]
async fn an_agent_that_makes_no_session_holds_its_turn_no_longer_than_its_time() {
    let settings = "turn_timeout = \"500ms\"";
    let agent = Agent::start(Store::Memory, "ACP_NO_SESSION = \"1\"", settings).await;
    let failed = agent.say("hello").await;
    assert_eq!(reason(&failed), "turn_timeout", "{failed}");
}

fn reason(task: &Value) -> &Value {
    &task["status"]["message"]["metadata"]["reason"]
}

over_databases! {
    async fn a_session_that_cannot_be_loaded_is_made_anew_with_what_was_said(store: Store) {
        let mut agent = Agent::start(store, "ACP_LOAD = \"1\"", "").await;
        let first = agent.say("hello").await;
        for entry in std::fs::read_dir(agent.sessions.path()).unwrap().flatten() {
            if entry.file_name().to_string_lossy().starts_with("s-") {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
        agent.rig.restart(Duration::from_secs(5)).await;
        let second = agent.go_on(&first, "show prompt").await;
        let prompt = artifact_text(&second);
        assert!(prompt.contains("You: ECHO 1: hello"), "{prompt}");
        assert_eq!(agent.note("brought_back"), "session/load\n");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_conversations_wait_for_a_place_and_each_gets_it() {
    let agent = Agent::start(Store::Memory, "", "max_concurrent_turns = 2").await;
    let sends = (0..50).map(|number| {
        let mut params = message("counted");
        params["message"]["messageId"] = format!("m{number}").into();
        agent.rig.call("SendMessage", params)
    });
    for answer in futures_util::future::join_all(sends).await {
        let task = &answer["result"]["task"];
        assert_eq!(state(task), "TASK_STATE_COMPLETED", "{answer}");
        let at_once: u32 = artifact_text(task).parse().unwrap();
        assert!((1..=2).contains(&at_once), "{at_once} at once");
    }
}
