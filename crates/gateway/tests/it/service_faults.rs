//! What can go wrong with a service behind an agent, over every backend that has one: each fault ends
//! the task as FAILED with a short reason, and none of them as a hang.

use bytes::Bytes;
use serde_json::json;

use crate::hermes::{KEY, turn};
use crate::rig::{LIMIT, Rig, Store};
use crate::service::{Asked, Feed, Service, said, status_text, text_of};

/// A backend whose answer is a stream of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    OpenAi,
    HermesCompletions,
    HermesRuns,
    HermesPlugin,
    OpenFang,
}

pub const ALL: [Backend; 5] = [
    Backend::OpenAi,
    Backend::HermesCompletions,
    Backend::HermesRuns,
    Backend::HermesPlugin,
    Backend::OpenFang,
];

impl Backend {
    pub fn config(self, base: &str) -> String {
        let hermes = |door: &str| {
            let key = KEY.0;
            format!("backend = \"hermes\"\ndoor = \"{door}\"\napi_key = \"file:{key}\"")
        };
        let own = match self {
            Self::OpenAi => "backend = \"openai\"\nmodel = \"m\"".to_owned(),
            Self::HermesCompletions => hermes("completions"),
            Self::HermesRuns => hermes("runs"),
            Self::HermesPlugin => hermes("plugin"),
            Self::OpenFang => "backend = \"openfang\"\nagent = \"a\"".to_owned(),
        };
        format!(
            "[agents.a]\n{own}\nbase_url = \"{base}\"\nsilence_timeout = \"500ms\"\nmax_output_bytes = 100000\n"
        )
    }

    /// Takes the requests of a turn; the one that its answer is the answer to.
    pub async fn asked(self, service: &mut Service) -> Asked {
        if let Self::HermesRuns = self {
            service.next().await.json(404, &json!({}));
            service
                .expect("POST /v1/runs")
                .await
                .json(202, &json!({"run_id": "run_1"}));
        }
        if let Self::OpenFang = self {
            let listed = json!([{"id": "1", "name": "a"}]);
            service.expect("GET /api/agents").await.json(200, &listed);
        }
        service.next().await
    }

    /// An event with this data as it is sent.
    fn event(self, data: &serde_json::Value) -> String {
        let name = match self {
            Self::OpenFang if data["content"].is_string() => "event: chunk\n",
            Self::OpenFang if data["done"] == true => "event: done\n",
            Self::OpenFang => "event: error\n",
            _ => "",
        };
        format!("{name}data: {data}\n\n")
    }

    pub async fn sends(self, feed: &Feed, data: &serde_json::Value) {
        assert!(feed.raw(self.event(data)).await, "nobody listens");
    }

    pub fn text(self, text: &str) -> serde_json::Value {
        match self {
            Self::HermesRuns => json!({"event": "message.delta", "delta": text}),
            // It says all at its end.
            Self::HermesPlugin => json!({"event": "note", "text": text}),
            Self::OpenFang => json!({"content": text, "done": false}),
            _ => json!({"choices": [{"index": 0, "delta": {"content": text}}]}),
        }
    }

    /// Answers with this text and nothing else.
    pub async fn answer(self, feed: Feed, text: &str) {
        self.sends(&feed, &self.text(text)).await;
        let end = match self {
            Self::HermesRuns => json!({"event": "run.completed", "output": "x"}),
            Self::HermesPlugin => json!({"event": "end", "state": "completed", "text": text}),
            Self::OpenFang => json!({"done": true}),
            _ => return feed.done().await,
        };
        self.sends(&feed, &end).await;
    }

    /// What it says when it fails in the middle of an answer, and whether that ends its turn.
    fn error(self) -> (serde_json::Value, bool) {
        match self {
            // vLLM sends errors in place of a chunk, Ollama likewise.
            Self::OpenAi | Self::HermesCompletions => {
                let error = json!({"message": "inner words", "type": "server_error", "code": 500});
                (json!({ "error": error }), false)
            }
            Self::HermesRuns => (json!({"event": "run.failed", "error": "inner words"}), true),
            Self::HermesPlugin => {
                let end = json!({"event": "end", "state": "failed", "text": "inner words"});
                (end, true)
            }
            Self::OpenFang => (json!({"error": "inner words"}), false),
        }
    }

    /// A run that is given up is stopped.
    async fn given_up(self, fault: Fault, service: &mut Service, feed: Option<Feed>) {
        if let Self::HermesRuns = self {
            service
                .expect("POST /v1/runs/run_1/stop")
                .await
                .json(200, &json!({}));
        }
        if let Some(feed) = feed {
            feed.closed().await;
        }
        // A stream that has ended there needs no stop.
        if let (Self::OpenFang, false) = (self, matches!(fault, Fault::EndsEarly)) {
            let stop = service.expect("POST /api/agents/1/stop").await;
            stop.json(200, &json!({}));
        }
    }
}

/// A way to go wrong in the middle of an answer.
#[derive(Clone, Copy, Debug)]
enum Fault {
    BreaksOff,
    EndsEarly,
    Hangs,
    Floods,
    InvalidUtf8,
    BrokenJson,
    TellsAnError,
}

async fn go_wrong(backend: Backend, fault: Fault, feed: Feed) -> Option<Feed> {
    match fault {
        Fault::BreaksOff => feed.break_off().await,
        Fault::EndsEarly => drop(feed),
        Fault::Hangs => return Some(feed),
        Fault::Floods => {
            let event = backend.event(&backend.text(&"x".repeat(1000)));
            while feed.raw(event.clone()).await {}
            return Some(feed);
        }
        Fault::InvalidUtf8 => {
            let event = b"event: message\ndata: {\"a\": \"\xFF\xFE\n\n";
            feed.raw(Bytes::from_static(event)).await;
            return Some(feed);
        }
        Fault::BrokenJson => {
            let whole = backend.event(&backend.text(""));
            let half = whole.split_inclusive('{').next().unwrap();
            feed.raw(format!("{half}\n\n")).await;
            return Some(feed);
        }
        Fault::TellsAnError => {
            let (error, is_end) = backend.error();
            backend.sends(&feed, &error).await;
            return (!is_end).then_some(feed);
        }
    }
    None
}

async fn ends_as_failed(backend: Backend, fault: Fault) {
    let mut service = Service::start().await;
    let rig = Rig::with_secrets(Store::Memory, &backend.config(&service.base), &[KEY]).await;
    let task = turn(&rig, said("x", None, None), async {
        let feed = backend.asked(&mut service).await.stream();
        backend.sends(&feed, &backend.text("so far")).await;
        let feed = go_wrong(backend, fault, feed).await;
        if !(matches!(fault, Fault::TellsAnError) && backend.error().1) {
            backend.given_up(fault, &mut service, feed).await;
        }
    })
    .await;
    assert_eq!(
        task["status"]["state"], "TASK_STATE_FAILED",
        "{backend:?} {fault:?}: {task}"
    );
    assert!(status_text(&task).contains("error id"), "{task}");
    let so_far = match backend {
        Backend::HermesPlugin => "",
        _ => "so far",
    };
    assert!(
        text_of(&task).starts_with(so_far),
        "{backend:?} {fault:?}: {task}"
    );
    assert!(text_of(&task).len() <= 110_000, "bounded");
    assert!(!task.to_string().contains("inner words"), "{task}");
}

async fn over_all(fault: Fault) {
    let run = async {
        for backend in ALL {
            ends_as_failed(backend, fault).await;
        }
    };
    tokio::time::timeout(LIMIT, run).await.expect("hangs");
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_a_failure() {
    over_all(Fault::BreaksOff).await;
}

#[tokio::test]
async fn an_answer_that_ends_without_an_end_is_a_failure() {
    over_all(Fault::EndsEarly).await;
}

#[tokio::test]
async fn silence_is_a_failure() {
    over_all(Fault::Hangs).await;
}

#[tokio::test]
async fn a_flood_is_stopped() {
    over_all(Fault::Floods).await;
}

#[tokio::test]
async fn what_is_no_text_is_a_failure() {
    over_all(Fault::InvalidUtf8).await;
}

#[tokio::test]
async fn what_is_no_json_is_a_failure() {
    over_all(Fault::BrokenJson).await;
}

#[tokio::test]
async fn an_error_in_the_middle_is_a_failure_and_its_words_stay_inside() {
    over_all(Fault::TellsAnError).await;
}

#[tokio::test]
async fn a_service_that_is_away_is_a_failure_and_the_next_turn_is_tried_anew() {
    for backend in ALL {
        let mut service = Service::start().await;
        let rig = Rig::with_secrets(Store::Memory, &backend.config(&service.base), &[KEY]).await;
        let away = async { drop(service.next().await) };
        let task = turn(&rig, said("x", Some("c"), None), away).await;
        assert_eq!(task["status"]["state"], "TASK_STATE_FAILED", "{backend:?}");
        assert!(
            !task.to_string().contains("127.0.0.1"),
            "inner addresses: {task}"
        );
        let task = turn(&rig, said("y", Some("c"), None), async {
            let feed = backend.asked(&mut service).await.stream();
            backend.answer(feed, "back").await;
        })
        .await;
        assert_eq!(text_of(&task), "back", "{backend:?}: {task}");
    }
}

#[tokio::test]
async fn a_busy_agent_is_asked_again_when_it_says() {
    for backend in [
        Backend::HermesCompletions,
        Backend::HermesRuns,
        Backend::HermesPlugin,
    ] {
        let mut service = Service::start().await;
        let rig = Rig::with_secrets(Store::Memory, &backend.config(&service.base), &[KEY]).await;
        let task = turn(&rig, said("x", None, None), async {
            for status in [429, 503] {
                let busy = service.next().await;
                let body = json!({"error": {"code": "rate_limit_exceeded"}}).to_string();
                busy.bytes(status, &[("retry-after", "0")], body.into());
            }
            let feed = backend.asked(&mut service).await.stream();
            backend.answer(feed, "at last").await;
        })
        .await;
        assert_eq!(text_of(&task), "at last", "{backend:?}: {task}");
    }
}

#[tokio::test]
async fn fifty_conversations_wait_for_a_place_and_each_gets_it() {
    for backend in ALL {
        let mut service = Service::start().await;
        let config = backend.config(&service.base) + "max_concurrent_turns = 1\n";
        let rig = Rig::with_secrets(Store::Memory, &config, &[KEY]).await;
        let sends = (0..50).map(|_| rig.call("SendMessage", said("x", None, None)));
        let play = async {
            for number in 0..50 {
                let asked = match (backend, number) {
                    // It is looked for once.
                    (Backend::OpenFang, 1..) => service.next().await,
                    _ => backend.asked(&mut service).await,
                };
                let feed = asked.stream();
                assert!(service.is_quiet(), "{backend:?}: two at once");
                backend.answer(feed, "done").await;
            }
        };
        let (answers, ()) = tokio::join!(futures_util::future::join_all(sends), play);
        for answer in answers {
            assert_eq!(text_of(&answer["result"]["task"]), "done", "{answer}");
        }
    }
}

#[tokio::test]
async fn two_conversations_are_answered_side_by_side() {
    for backend in [
        Backend::OpenAi,
        Backend::HermesCompletions,
        Backend::HermesPlugin,
    ] {
        let mut service = Service::start().await;
        let rig = Rig::with_secrets(Store::Memory, &backend.config(&service.base), &[KEY]).await;
        let send = || rig.call("SendMessage", said("x", None, None));
        let play = async {
            let asked = (service.next().await, service.next().await);
            for (asked, text) in [(asked.1, "second"), (asked.0, "first")] {
                backend.answer(asked.stream(), text).await;
            }
        };
        let (one, other, ()) = tokio::join!(send(), send(), play);
        let mut texts = [one, other].map(|it| text_of(&it["result"]["task"]));
        texts.sort();
        assert_eq!(texts, ["first", "second"], "{backend:?}");
    }
}
