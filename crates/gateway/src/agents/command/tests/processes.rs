//! Programs that fail, hang, flood and leave others behind.

use super::*;
use crate::agents::command::{Command, CommandSettings};
use crate::agents::process::Environment;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::{Duration, Instant};

/// Whether a process runs; one that is dead but not yet collected does not.
fn runs(pid: &str) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => !stat
            .rsplit(')')
            .next()
            .unwrap()
            .trim_start()
            .starts_with('Z'),
        Err(_) => false,
    }
}

#[tokio::test]
async fn an_exit_code_is_told_and_standard_error_is_not() {
    let gateway = Gateway::sh("echo partial; echo 'password in /home/op' >&2; exit 3");
    let task = gateway.send_text("x").await;
    assert_failed(&task, "the agent's program ended with exit code 3");
    assert!(
        !serde_json::to_string(&task).unwrap().contains("password"),
        "{task:?}"
    );
    assert_eq!(
        only_text(&task),
        "partial\n",
        "what was said before is kept"
    );
}

#[tokio::test]
async fn a_deadly_signal_is_told() {
    let task = Gateway::sh("kill -KILL $$").send_text("x").await;
    assert_failed(&task, "the agent's program was killed by signal 9");
}

#[tokio::test]
async fn a_question_of_a_program_that_fails_is_no_question() {
    let task = Gateway::sh("echo '[INPUT_REQUIRED] really?'; exit 1")
        .send_text("x")
        .await;
    assert_failed(&task, "the agent's program ended with exit code 1");
}

#[tokio::test]
async fn cancel_ends_the_whole_group_even_if_it_ignores_sigterm() {
    let script = "trap '' TERM
        (while :; do date > touched; sleep 0.05; done) & echo $! > grandchild
        echo $$ > leader; echo started; wait";
    let gateway = Gateway::with(script, |command| {
        command.program.kill_grace = Duration::from_millis(200).into();
    });
    let (task_id, mut reader) = gateway.watch(user(vec![Part::text("x")])).await;
    reader
        .next()
        .await
        .expect("the program says that it has started");
    let began = Instant::now();
    let everything = Visibility {
        agent: None,
        owner: None,
    };
    let (task, _) = gateway
        .engine
        .cancel_task(&task_id, &everything)
        .await
        .unwrap();
    assert_eq!(task.status.state, TaskState::Canceled);
    assert!(began.elapsed() < Duration::from_secs(5));
    for name in ["leader", "grandchild"] {
        assert!(!runs(gateway.file(name).trim()), "{name}");
    }
}

#[tokio::test]
async fn a_turn_ends_with_its_program_whoever_holds_the_pipe() {
    let gateway = Gateway::sh("sleep 1000 & echo $! > left; echo done");
    let task = gateway.send_text("x").await;
    assert_eq!(
        (task.status.state, only_text(&task)),
        (TaskState::Completed, "done\n")
    );
    assert!(!runs(gateway.file("left").trim()));
}

#[tokio::test]
async fn a_process_that_left_the_group_cannot_hold_the_turn() {
    let gateway = Gateway::sh(
        "setsid sh -c 'echo $$ > left; exec sleep 1000' &
        while [ ! -s left ]; do sleep 0.01; done; echo done",
    );
    let task = gateway.send_text("x").await;
    let pid: i32 = gateway.file("left").trim().parse().unwrap();
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    assert_eq!(
        (task.status.state, only_text(&task)),
        (TaskState::Completed, "done\n")
    );
}

#[tokio::test]
async fn a_flood_is_stopped_at_the_limit() {
    let gateway = Gateway::with("echo $$ > leader; yes | head -c 1073741824", |command| {
        command.max_output_bytes = 1_000_000;
    });
    let task = gateway.send_text("x").await;
    assert_failed(
        &task,
        "the agent's program wrote more than 1000000 bytes and was stopped",
    );
    assert!(only_text(&task).len() <= 1_000_000);
    assert!(!runs(gateway.file("leader").trim()));
}

#[tokio::test]
async fn a_program_that_runs_too_long_is_ended() {
    let gateway = Gateway::with("echo $$ > leader; exec sleep 1000", |command| {
        command.turn_timeout = Duration::from_millis(300).into();
    });
    let task = gateway.send_text("x").await;
    assert_eq!(task.status.state, TaskState::Failed);
    assert!(!runs(gateway.file("leader").trim()));
}

#[tokio::test]
async fn shutting_down_leaves_no_process() {
    let gateway = Gateway::sh("echo $$ > leader; echo started; exec sleep 1000");
    let (_, mut reader) = gateway.watch(user(vec![Part::text("x")])).await;
    reader
        .next()
        .await
        .expect("the program says that it has started");
    gateway.engine.shut_down(Duration::ZERO).await;
    assert!(!runs(gateway.file("leader").trim()));
}

#[tokio::test]
async fn a_program_that_has_vanished_fails_the_task_without_naming_paths() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("agent");
    std::fs::copy("/bin/sh", &program).unwrap();
    let gateway = Gateway::with("", |command| {
        command.command = vec![program.to_string_lossy().into_owned()];
    });
    std::fs::remove_file(&program).unwrap();
    let task = gateway.send_text("x").await;
    assert_failed(&task, "the agent's program could not be started");
}

#[test]
fn a_program_that_does_not_exist_is_not_served() {
    let here = std::env::current_dir().unwrap();
    let settings = CommandSettings::new(
        vec!["./no-such-program".to_owned()],
        here,
        Environment::new([("PATH".into(), "/bin".into())]),
    );
    assert!(
        Command::from_settings(settings)
            .unwrap_err()
            .contains("cannot be found")
    );
}
