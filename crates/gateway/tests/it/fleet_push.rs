//! Webhooks of the fleet plugin's dialect: registered over REST, and really delivered.

use hmac::{Hmac, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::fleet::{ADDRESS, rpc, sent};
use crate::receiver::{Act, Post, Receiver};
use crate::rig::{Answer, Rig, Store, over_stores, script_agent};

const SETTINGS: &str = "[security]\npush_allow_addresses = [\"127.0.0.1\"]\n\
    [push]\nretry_delays = [\"10ms\", \"20ms\"]\nfleet_key = \"env:GATE\"\n";
const KEY: [(&str, &str); 1] = [("x-hmac-key", "gate")];
/// Asks once, then answers.
const ASKING: &str = r#"if grep -q yes; then echo café; else echo '[INPUT_REQUIRED] sure?'; fi"#;

/// A task that waits for its caller, so that webhooks come before what they are told.
async fn waiting(store: Store) -> (Rig, String) {
    let rig = Rig::start(
        store,
        &format!("{}{SETTINGS}", script_agent("worker", ASKING, "")),
    )
    .await;
    rpc(&rig, "SendMessage", sent("t1", "order")).await;
    (rig, format!("{ADDRESS}/tasks/t1/pushNotificationConfigs"))
}

async fn create(rig: &Rig, path: &str, config: Value) -> Answer {
    rig.post(path, &KEY, &config.to_string()).await
}

fn signature(key: &[u8], body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(body);
    let hex: String = mac
        .finalize()
        .into_bytes()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256={hex}")
}

fn event(post: &Post) -> &str {
    let named = post.body["event"].as_str();
    named.unwrap_or(if post.body["artifact_update"].is_object() {
        "artifact"
    } else {
        "?"
    })
}

/// All posts until so many receivers have had the end of the task.
async fn ended(hook: &mut Receiver, receivers: usize) -> Vec<Post> {
    let mut posts = Vec::new();
    while posts
        .iter()
        .filter(|it| event(it) == "TaskCompleted")
        .count()
        < receivers
    {
        posts.push(hook.next().await);
    }
    posts
}

/// What the posts tell of, in order. A program's output may come in any number of pieces.
fn names(posts: &[Post]) -> Vec<String> {
    let mut names: Vec<_> = posts.iter().map(|post| event(post).to_string()).collect();
    let mut before = String::new();
    names.retain(|name| {
        let again = name == "artifact" && before == "artifact";
        before.clone_from(name);
        !again
    });
    names
}

over_stores! {
    async fn webhooks_are_kept_shown_without_their_secrets_and_deleted(store: Store) {
        let (rig, path) = waiting(store).await;
        let config = json!({"id": "mine", "url": "https://hooks.example/a", "hmacKey": "hunter2",
            "authentication": {"scheme": "Bearer", "credentials": "swordfish"}, "metadata": {"n": 1.50}});
        let made = create(&rig, &path, config).await;
        assert_eq!(made.status, 201, "{}", made.json);
        let id = made.json["configId"].as_str().unwrap().to_owned();
        assert_ne!(id, "mine");
        assert_eq!(made.json["config"], json!({"id": id, "taskId": "t1", "url": "https://hooks.example/a",
            "authentication": {"scheme": "Bearer"}, "metadata": {"n": 1.5}}));
        let second = create(&rig, &path, json!({"url": "https://hooks.example/b", "hmac_key": "k"})).await;
        assert_eq!(second.status, 201);
        let one = format!("{path}/{id}");
        let read = rig.get(&one, &KEY).await;
        assert_eq!((read.status, &read.json), (200, &made.json));
        let listed = rig.get(&path, &KEY).await;
        assert_eq!(listed.json["items"].as_array().unwrap().len(), 2);
        assert_eq!(listed.json["items"][0], made.json["config"]);
        for answer in [&made, &read, &listed] {
            let text = String::from_utf8_lossy(&answer.body);
            assert!(!text.contains("hunter2") && !text.contains("swordfish"), "{text}");
        }
        let deleted = rig.bare("DELETE", &one, &KEY).await;
        assert_eq!((deleted.status, deleted.body.len()), (204, 0));
        for verb in ["GET", "DELETE"] {
            let gone = rig.bare(verb, &one, &KEY).await;
            assert_eq!((gone.status, &gone.json["error"]["code"]), (404, &json!(-38000)));
        }
        for wrong in [json!({"url": "https://hooks.example/a"}), json!({"hmacKey": "k"}),
            json!({"url": "http://10.0.0.1/", "hmacKey": "k"})] {
            let refused = create(&rig, &path, wrong).await;
            assert_eq!((refused.status, &refused.json["error"]["code"]), (400, &json!(-32600)));
        }
        let nowhere = create(&rig, &path.replace("t1", "nope"), json!({"url": "https://h", "hmacKey": "k"})).await;
        assert_eq!((nowhere.status, &nowhere.json["error"]["code"]), (404, &json!(-38000)));
    }

    async fn every_operation_needs_the_key(store: Store) {
        let (rig, path) = waiting(store).await;
        let body = json!({"url": "https://hooks.example/a", "hmacKey": "k"}).to_string();
        let made = rig.post(&path, &KEY, &body).await.json["configId"].as_str().unwrap().to_owned();
        let one = format!("{path}/{made}");
        for headers in [&[][..], &[("x-hmac-key", "gat")], &[("x-hmac-key", "gate2")], &[("x-hmac-key", "")]] {
            let refused = [
                rig.post(&path, headers, &body).await,
                rig.get(&path, headers).await,
                rig.get(&one, headers).await,
                rig.bare("DELETE", &one, headers).await,
            ];
            for answer in refused {
                assert_eq!((answer.status, &answer.json["error"]["code"]), (401, &json!(-32603)), "{headers:?}");
            }
        }
        let mut inline = sent("t2", "order");
        inline["configuration"] = json!({"task_push_notification_config": {"url": "https://hooks.example/a", "hmacKey": "k"}});
        assert_eq!(rpc(&rig, "SendMessage", inline).await.status, 401);
        assert_eq!(rig.get(&one, &KEY).await.status, 200);
    }

    async fn each_webhook_gets_each_event_signed_with_its_own_key(store: Store) {
        let mut hook = Receiver::start().await;
        let (rig, path) = waiting(store).await;
        for (name, key) in [("a", "push-key"), ("b", "schlüssel\n")] {
            let config = json!({"url": format!("{}/{name}", hook.base), "hmacKey": key,
                "authentication": {"scheme": "Bearer", "credentials": name}});
            assert_eq!(create(&rig, &path, config).await.status, 201);
        }
        hook.act("/a", [Act::Answer(500)]);
        let done = rpc(&rig, "SendMessage", sent("t1", "yes")).await.json["result"]["task"].clone();
        assert_eq!(done["status"]["state"], "completed", "{done}");
        let mut posts = ended(&mut hook, 2).await;
        posts.sort_by(|one, other| one.path.cmp(&other.path));
        let (first, second): (Vec<_>, Vec<_>) = posts.into_iter().partition(|it| it.path == "/a");
        let names = names(&first);
        assert_eq!(names, ["TaskStarted", "TaskStarted", "artifact", "TaskCompleted"], "the first was tried twice");
        assert_eq!((first[0].header("webhook-id"), &first[0].raw), (first[1].header("webhook-id"), &first[1].raw));
        assert_eq!(self::names(&second), ["TaskStarted", "artifact", "TaskCompleted"]);
        for (posts, key, name) in [(&first, "push-key", "a"), (&second, "schlüssel\n", "b")] {
            for post in posts {
                assert_eq!(post.header("x-hub-signature-256"), signature(key.as_bytes(), &post.raw));
                assert_eq!(post.header("authorization"), format!("Bearer {name}"));
                assert_eq!(post.header("content-type"), "application/json");
                assert!(!post.headers.contains_key("x-a2a-notification-token"));
                let update = &post.body["artifact_update"];
                let event = if update.is_object() { update } else { &post.body };
                assert_eq!((&event["taskId"], &event["contextId"]), (&json!("t1"), &json!("t1")));
            }
        }
        let text = std::str::from_utf8(&first[2].raw).unwrap();
        assert!(text.starts_with(r#"{"artifact_update": {"artifact": {"artifact_id": "#) && text.contains("café"), "{text}");
        let text = std::str::from_utf8(&first.last().unwrap().raw).unwrap();
        assert!(text.starts_with(r#"{"contextId": "t1", "event": "TaskCompleted", "status": {"state": "completed", "timestamp": ""#), "{text}");
    }

    async fn a_send_can_bring_its_webhook(store: Store) {
        let mut hook = Receiver::start().await;
        let settings = SETTINGS.replace("fleet_key = \"env:GATE\"\n", "");
        let rig = Rig::start(store, &format!("{}{settings}", script_agent("worker", "cat", ""))).await;
        let mut params = sent("t1", "hi");
        params["configuration"] = json!({"task_push_notification_config": {"url": hook.base, "hmacKey": "k"}});
        assert_eq!(rpc(&rig, "SendMessage", params).await.status, 200);
        let posts = ended(&mut hook, 1).await;
        assert_eq!(names(&posts), ["TaskStarted", "artifact", "TaskCompleted"]);
        assert_eq!(posts[0].body["taskId"], "t1");
    }
}
