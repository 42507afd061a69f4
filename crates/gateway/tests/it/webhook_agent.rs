//! The `webhook` backend: what is posted to the agent, and what becomes of the answers it posts back.

use bytes::Bytes;
use http_body_util::Full;
use nuncio_client::webhook_signature::{CheckingKey, HashKey, Signed, TOLERANCE};
use serde_json::{Value, json};

use crate::hermes::turn;
use crate::rig::{Answer, Rig, Store};
use crate::service::{Asked, Service, said, status_text, text_of};

pub const SECRET: (&str, &str) = ("hook.key", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
pub const HOOK: &str = "POST /hook";
pub const JSON: &str = "application/json";

/// A gateway before an agent that the test plays.
pub async fn webhook(store: Store, settings: &str) -> (Rig, Service) {
    let service = Service::start().await;
    let config = format!(
        "[agents.w]\nbackend = \"webhook\"\nurl = \"{}/hook\"\nsecret = \"file:{}\"\n\
         retry_delays = [\"1ms\", \"1ms\"]\n{settings}\n",
        service.base, SECRET.0
    );
    let rig = Rig::with_secrets(store, &config, &[SECRET]).await;
    (rig, service)
}

/// Takes the next message; where its answer is wanted, below the gateway's address.
pub async fn accepted(service: &mut Service) -> String {
    let asked = service.expect(HOOK).await;
    let address = address_of(&asked);
    asked.json(202, &json!({}));
    address
}

pub fn address_of(asked: &Asked) -> String {
    let url: http::Uri = asked.body["callback_url"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    url.path().to_owned()
}

pub async fn post(rig: &Rig, address: &str, media_type: &str, body: impl Into<Bytes>) -> Answer {
    let request = http::Request::post(format!("{}{address}", rig.base))
        .header("content-type", media_type)
        .body(Full::new(body.into()));
    Answer::of(rig.request(request.unwrap()).await).await
}

pub async fn answer(rig: &Rig, address: &str, text: &'static str) {
    let answered = post(rig, address, "text/plain", text).await;
    assert_eq!(answered.json["status"], "accepted", "{answered:?}");
}

pub fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or("none")
}

/// The task when it has settled.
pub async fn settled(rig: &Rig, id: &str) -> Value {
    loop {
        let task = rig.get_task(id).await;
        if !matches!(state(&task), "TASK_STATE_WORKING" | "TASK_STATE_SUBMITTED") {
            return task;
        }
        tokio::task::yield_now().await;
    }
}

/// A task that waits for its answer, and where that is to be posted.
pub async fn waiting(rig: &Rig, service: &mut Service) -> (String, String) {
    let mut params = said("x", None, None);
    params["configuration"] = json!({"returnImmediately": true});
    let started = rig.call("SendMessage", params).await;
    let id = started["result"]["task"]["id"].as_str().unwrap().to_owned();
    (id, accepted(service).await)
}

#[tokio::test]
async fn a_message_is_signed_and_its_answer_ends_the_task() {
    for scheme in ["timestamped", "hub", "standard"] {
        let (rig, mut service) = webhook(Store::Memory, &format!("signature = \"{scheme}\"")).await;
        let task = turn(&rig, said("hello", Some("c"), None), async {
            let asked = service.expect(HOOK).await;
            let (id, raw) = (asked.header("x-request-id"), asked.raw.clone());
            let key = HashKey::new(SECRET.1.as_bytes());
            match scheme {
                "hub" => assert_eq!(asked.header("x-hub-signature-256"), key.hub(&raw)),
                "timestamped" => {
                    let time = asked.header("x-webhook-timestamp").parse().unwrap();
                    let expected = key.timed(time, &raw);
                    assert_eq!(asked.header("x-webhook-signature-v2"), expected);
                }
                _ => {
                    let signed = Signed {
                        id,
                        timestamp: asked.header("webhook-timestamp"),
                        signatures: asked.header("webhook-signature"),
                    };
                    let key = CheckingKey::read(SECRET.1).unwrap();
                    let now = signed.timestamp.parse().unwrap();
                    key.check(signed, &raw, now, TOLERANCE).unwrap();
                    assert_eq!(asked.header("webhook-id"), id);
                }
            }
            let body = &asked.body;
            let (text, sender) = (&body["text"], &body["sender"]);
            assert_eq!((text, sender), (&json!("hello"), &json!("ip:127.0.0.1")));
            assert_eq!(body["context_id"], "c");
            assert_eq!(body["message"]["parts"][0]["text"], "hello");
            assert!(body["about"].as_str().unwrap().contains("INPUT_REQUIRED"));
            let address = address_of(&asked);
            asked.json(202, &json!({}));
            answer(&rig, &address, "hi").await;
        })
        .await;
        assert_eq!(
            (state(&task), text_of(&task).as_str()),
            ("TASK_STATE_COMPLETED", "hi")
        );
        assert!(!task.to_string().contains("callback"), "{task}");
    }
}

#[tokio::test]
async fn an_address_is_good_for_one_answer_and_only_with_its_token() {
    let (rig, mut service) = webhook(Store::Memory, "").await;
    let (first, address) = waiting(&rig, &mut service).await;
    let (other, other_address) = waiting(&rig, &mut service).await;
    let (task, token) = address.rsplit_once('/').unwrap();
    let other_token = other_address.rsplit_once('/').unwrap().1;
    for wrong in [
        format!("{task}/{other_token}"),
        format!("{task}/{}x", &token[..token.len() - 1]),
        format!("{task}/{token}0"),
        format!("/callback/none/{token}"),
    ] {
        let refused = post(&rig, &wrong, "text/plain", "evil").await;
        assert_eq!(refused.status, 404, "{wrong}: {refused:?}");
    }
    assert_eq!(rig.get(&address, &[]).await.status, 405);
    for nowhere in ["/callback", "/callback/x", "/callback/x/"] {
        assert_eq!(post(&rig, nowhere, JSON, "{}").await.status, 404);
    }
    answer(&rig, &address, "one").await;
    let again = post(&rig, &address, "text/plain", "two").await;
    assert_eq!(again.status, 410, "{again:?}");
    assert_eq!(text_of(&rig.get_task(&first).await), "one");
    assert_eq!(state(&rig.get_task(&other).await), "TASK_STATE_WORKING");
    answer(&rig, &other_address, "three").await;
    assert_eq!(text_of(&rig.get_task(&other).await), "three");
}

#[tokio::test]
async fn progress_comes_before_the_end_and_leaves_the_address_good() {
    let (rig, mut service) = webhook(Store::Memory, "").await;
    let mut frames = rig
        .stream(&[], "SendStreamingMessage", said("x", None, None))
        .await;
    frames.result().await;
    let address = accepted(&mut service).await;
    let working = json!({"state": "working", "message": "half way"});
    assert_eq!(
        post(&rig, &address, JSON, working.to_string()).await.status,
        200
    );
    let update = frames.result().await["statusUpdate"].take();
    assert_eq!(status_text(&update), "half way", "{update}");
    let artifact =
        json!({"artifactUpdate": {"artifact": {"artifactId": "a", "parts": [{"text": "A"}]}}});
    assert_eq!(
        post(&rig, &address, JSON, artifact.to_string())
            .await
            .status,
        200
    );
    let update = frames.result().await["artifactUpdate"].take();
    assert_eq!(update["artifact"]["parts"][0]["text"], "A", "{update}");
    let done = json!({"state": "completed"}).to_string();
    assert_eq!(post(&rig, &address, JSON, done).await.status, 200);
    let end = frames.rest().await.pop().unwrap();
    assert_eq!(state(&end["statusUpdate"]), "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn an_answer_may_be_any_end_that_a_task_has() {
    let (rig, mut service) = webhook(Store::Memory, "").await;
    let parts = json!([{"text": "a"}, {"data": {"n": 1}}]);
    let message = json!({"role": "ROLE_AGENT", "parts": parts, "metadata": {"k": 1}});
    for (body, expected, words) in [
        (message, "COMPLETED", "\"n\":1"),
        (json!({"text": "plain"}), "COMPLETED", "plain"),
        (
            json!({"state": "failed", "message": "no luck"}),
            "FAILED",
            "no luck",
        ),
        (
            json!({"state": "rejected", "message": "not that"}),
            "REJECTED",
            "not that",
        ),
        (
            json!({"state": "auth-required", "message": "log in"}),
            "AUTH_REQUIRED",
            "log in",
        ),
        (
            json!({"state": "completed"}),
            "FAILED",
            "answered with nothing",
        ),
        (json!({"state": "canceled"}), "FAILED", "nobody cancelled"),
    ] {
        let (id, address) = waiting(&rig, &mut service).await;
        let answered = post(&rig, &address, JSON, body.to_string()).await;
        assert_eq!(answered.status, 200, "{body}");
        let task = rig.get_task(&id).await;
        assert_eq!(
            state(&task),
            format!("TASK_STATE_{expected}"),
            "{body}: {task}"
        );
        assert!(task.to_string().contains(words), "{body}: {task}");
    }
}

#[tokio::test]
async fn a_question_is_answered_in_the_same_task_at_another_address() {
    let (rig, mut service) = webhook(Store::Memory, "").await;
    let (id, first) = waiting(&rig, &mut service).await;
    answer(&rig, &first, "[input_required] which?").await;
    let asked = rig.get_task(&id).await;
    assert_eq!(
        (state(&asked), status_text(&asked)),
        ("TASK_STATE_INPUT_REQUIRED", "which?")
    );
    let params = said("that", asked["contextId"].as_str(), Some(&id));
    let task = turn(&rig, params, async {
        let second = accepted(&mut service).await;
        assert_ne!(first, second);
        assert_eq!(post(&rig, &first, "text/plain", "late").await.status, 410);
        answer(&rig, &second, "thanks").await;
    })
    .await;
    assert_eq!(
        (task["id"].as_str(), text_of(&task).as_str()),
        (Some(&*id), "thanks")
    );
}

#[tokio::test]
async fn an_answer_after_the_end_changes_nothing_and_is_told_so() {
    let (rig, mut service) = webhook(Store::Memory, "turn_timeout = \"300ms\"").await;
    let (canceled, address) = waiting(&rig, &mut service).await;
    rig.call("CancelTask", json!({"id": canceled})).await;
    let (late, late_address) = waiting(&rig, &mut service).await;
    let timed_out = settled(&rig, &late).await;
    assert_eq!(
        timed_out["status"]["message"]["metadata"]["reason"],
        "turn_timeout"
    );
    for (id, address, expected) in [
        (&canceled, &address, "TASK_STATE_CANCELED"),
        (&late, &late_address, "TASK_STATE_FAILED"),
    ] {
        let refused = post(&rig, address, "text/plain", "late").await;
        assert_eq!(refused.status, 410, "{refused:?}");
        let task = rig.get_task(id).await;
        assert_eq!((state(&task), text_of(&task).as_str()), (expected, ""));
    }
}

#[tokio::test]
async fn a_delivery_ends_the_task_and_asks_for_no_answer() {
    let (rig, mut service) = webhook(Store::Memory, "deliver_only = true").await;
    let task = turn(&rig, said("note", None, None), async {
        let asked = service.expect(HOOK).await;
        assert!(asked.body["callback_url"].is_null() && asked.body["about"].is_null());
        asked.json(200, &json!({"status": "delivered"}));
    })
    .await;
    assert_eq!(state(&task), "TASK_STATE_COMPLETED");
    assert!(status_text(&task).contains("Delivered"), "{task}");
}

#[tokio::test]
async fn an_agent_may_reach_the_gateway_under_another_name() {
    let service = Service::start().await;
    let config = format!(
        "[agents.w]\nbackend = \"webhook\"\nurl = \"{}/hook\"\nsecret = \"file:{}\"\n\
         callback_base = \"http://gateway.internal:8081/a2a/\"\n",
        service.base, SECRET.0
    );
    let mut service = service;
    let rig = Rig::with_secrets(Store::Memory, &config, &[SECRET]).await;
    rig.start_task("x").await;
    let asked = service.expect(HOOK).await;
    let url = asked.body["callback_url"].as_str().unwrap().to_owned();
    let path = url
        .strip_prefix("http://gateway.internal:8081/a2a")
        .expect("below its base");
    let request = http::Request::post(format!("{}{path}", rig.base))
        .header("host", "gateway.internal:8081")
        .body(Full::new(Bytes::from_static(b"hi")));
    let answered = Answer::of(rig.request(request.unwrap()).await).await;
    assert_eq!(answered.status, 200, "{answered:?}");
}
