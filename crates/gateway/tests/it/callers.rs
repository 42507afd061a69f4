//! Callers of live agents: what one says stays out of what another does, and one that leaves stops nothing.

use serde_json::json;

use crate::acp::{Agent, state};
use crate::hermes::KEY;
use crate::owners::TOKENS;
use crate::rig::{Rig, Store, artifact_text};
use crate::service::{Service, said, text_of};
use crate::service_faults::{ALL, Backend};
use crate::upstream::ended;

#[tokio::test]
async fn a_program_works_on_when_its_caller_is_gone_in_the_middle_of_a_stream() {
    let agent = Agent::start(Store::Memory, "", "").await;
    let (frames, id) = agent.begun("gate").await;
    drop(frames);
    std::fs::write(agent.sessions.path().join("go"), "").unwrap();
    let task = ended(&agent.rig, &id).await;
    assert_eq!(state(&task), "TASK_STATE_COMPLETED", "{task}");
    assert_eq!(text_of(&task), "begun ended");
    assert_eq!(agent.note("cancelled"), "");
}

#[tokio::test]
async fn the_same_context_id_of_two_callers_never_meets_in_a_program() {
    let agent = Agent::start(Store::Memory, "", TOKENS).await;
    let send = async |who: &str, text: &str| {
        let bearer = format!("Bearer {who}");
        let params = said(text, Some("shared-name"), None);
        let answer = agent
            .rig
            .call_as(&[("authorization", &bearer)], "SendMessage", params)
            .await;
        artifact_text(&answer["result"]["task"]).to_owned()
    };
    assert_eq!(send("alice", "hello").await, "ECHO 1: hello");
    assert_eq!(send("bob", "hi").await, "ECHO 1: hi");
    assert_eq!(send("alice", "again").await, "ECHO 2: again");
}

#[tokio::test]
async fn a_service_works_on_when_its_caller_is_gone_in_the_middle_of_a_stream() {
    for backend in ALL {
        let mut service = Service::start().await;
        let rig = Rig::with_secrets(Store::Memory, &backend.config(&service.base), &[KEY]).await;
        let mut frames = rig
            .stream(&[], "SendStreamingMessage", said("x", None, None))
            .await;
        let id = frames.result().await["task"]["id"].clone();
        let feed = backend.asked(&mut service).await.stream();
        if backend != Backend::HermesPlugin {
            backend.sends(&feed, &backend.text("begun, ")).await;
            assert!(frames.result().await["artifactUpdate"].is_object());
        }
        drop(frames);
        backend.answer(feed, "ended").await;
        let task = ended(&rig, &id).await;
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
        assert!(text_of(&task).ends_with("ended"), "{backend:?}: {task}");
    }
}

/// Takes one turn of a service that remembers nothing; all that it was asked.
async fn forgetful(backend: Backend, service: &mut Service) -> String {
    let mut all = String::new();
    loop {
        let asked = service.next().await;
        all.push_str(&format!(
            "{} {:?} {}\n",
            asked.line, asked.headers, asked.body
        ));
        match &*asked.line {
            line if line.contains("/api/sessions/") => asked.json(404, &json!({})),
            "POST /v1/runs" => asked.json(202, &json!({"run_id": "run_1"})),
            _ => {
                backend.answer(asked.stream(), "ok").await;
                return all;
            }
        }
    }
}

/// What our sessions are called there.
fn sessions(asked: &str) -> Vec<&str> {
    let words = asked.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.filter(|word| word.starts_with("nuncio-a-")).collect()
}

#[tokio::test]
async fn the_same_context_id_of_two_callers_never_meets_at_a_service() {
    // An agent of OpenFang is one for all by design.
    for backend in ALL.into_iter().filter(|it| *it != Backend::OpenFang) {
        let mut service = Service::start().await;
        let config = backend.config(&service.base) + TOKENS;
        let rig = Rig::with_secrets(Store::Memory, &config, &[KEY]).await;
        let mut turn = async |who: &str, text: &str| {
            let headers = [("authorization", &*format!("Bearer {who}"))];
            let params = said(text, Some("shared-name"), None);
            let send = rig.call_as(&headers, "SendMessage", params);
            let (answer, asked) = tokio::join!(send, forgetful(backend, &mut service));
            let state = &answer["result"]["task"]["status"]["state"];
            assert_eq!(state, "TASK_STATE_COMPLETED", "{backend:?}: {answer}");
            asked
        };
        turn("alice", "my word is swordfish").await;
        let alice = turn("alice", "which?").await;
        assert!(alice.contains("swordfish"), "{backend:?}: {alice}");
        for _ in 0..2 {
            let bob = turn("bob", "which?").await;
            assert!(!bob.contains("swordfish"), "{backend:?}: {bob}");
            let hers = sessions(&alice);
            assert_eq!(hers.is_empty(), backend == Backend::OpenAi, "{alice}");
            assert!(!sessions(&bob).iter().any(|it| hers.contains(it)), "{bob}");
        }
    }
}
