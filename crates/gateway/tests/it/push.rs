//! Push notifications as a receiver sees them: what comes, in which order, and what happens when
//! the receiver misbehaves.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use std::collections::BTreeSet;
use std::time::Duration;

use crate::receiver::{Act, Post, Receiver};
use crate::rig::{ECHO, Rig, Store, message, over_stores, script_agent};

/// Loopback is allowed, and retries come at once.
const QUICK: &str = "[security]\npush_allow_addresses = [\"127.0.0.1\"]\n\
    [push]\nretry_delays = [\"10ms\", \"20ms\", \"30ms\"]\nslow_down = \"0s\"\n";
/// A failed delivery is not tried again while a test lasts.
const PATIENT: &str = "[security]\npush_allow_addresses = [\"127.0.0.1\"]\n\
    [push]\nretry_delays = [\"1h\"]\n";
const CREATE: &str = "CreateTaskPushNotificationConfig";

/// Asks once, then answers with two chunks.
const ASKING: &str = r#"read -r line
case $line in
*yes*)
  echo '{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"text":"one"}]}}}'
  echo '{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"text":"two"}]},"append":true}}' ;;
*) echo '{"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"q","role":"ROLE_AGENT","parts":[{"text":"sure?"}]}}}}' ;;
esac"#;

async fn asking(store: Store) -> Rig {
    let agent = script_agent("worker", ASKING, "protocol = \"jsonl\"");
    Rig::start(store, &format!("{agent}{QUICK}")).await
}

fn with_hook(text: &str, config: Value) -> Value {
    let mut params = message(text);
    params["configuration"] = json!({"taskPushNotificationConfig": config});
    params
}

/// Sends with a webhook and waits for the end; the task's id.
async fn send(rig: &Rig, text: &str, config: Value) -> String {
    let answer = rig.call("SendMessage", with_hook(text, config)).await;
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"]["task"]["id"].as_str().unwrap().to_owned()
}

fn gists(posts: &[Post]) -> Vec<String> {
    posts.iter().map(Post::gist).collect()
}

/// What every receiver of an echoed text gets.
fn echoed(text: &str) -> [String; 3] {
    ["task TASK_STATE_WORKING", text, "TASK_STATE_COMPLETED"].map(str::to_owned)
}

async fn echo(store: Store) -> Rig {
    Rig::start(store, &format!("{ECHO}{QUICK}")).await
}

over_stores! {
    async fn each_event_comes_once_in_order_with_what_was_asked_for(store: Store) {
        let mut hook = Receiver::start().await;
        let rig = echo(store).await;
        let config = json!({"url": format!("{}/h?a=b", hook.base), "token": "t-1",
            "authentication": {"scheme": "Bearer", "credentials": "x"}});
        let task = send(&rig, "hello", config).await;
        let posts = hook.take(3).await;
        assert_eq!(gists(&posts), echoed("hello"));
        assert_eq!(posts[0].body["task"]["id"], task.as_str());
        assert_eq!(posts[0].body["task"]["history"][0]["parts"][0]["text"], "hello");
        assert_eq!(posts[2].body["statusUpdate"]["taskId"], task.as_str());
        let mut ids = BTreeSet::new();
        for post in &posts {
            assert_eq!(post.header("content-type"), "application/a2a+json");
            assert_eq!(post.header("authorization"), "Bearer x");
            assert_eq!(post.header("x-a2a-notification-token"), "t-1");
            assert!(post.header("webhook-timestamp").parse::<u64>().is_ok());
            assert_eq!(post.header("x-a2a-signature"), "", "there is no key");
            ids.insert(post.header("webhook-id").to_owned());
        }
        assert_eq!(ids.len(), 3);
        let list = rig.call("ListTaskPushNotificationConfigs", json!({"taskId": task})).await;
        assert_eq!(list["result"]["configs"].as_array().unwrap().len(), 1, "{list}");
    }

    async fn a_webhook_of_any_send_is_used(store: Store) {
        let mut hook = Receiver::start().await;
        let rig = echo(store).await;
        let config = json!({"url": hook.base});
        let mut at_once = with_hook("a", config.clone());
        at_once["configuration"]["returnImmediately"] = json!(true);
        rig.call("SendMessage", at_once).await;
        assert_eq!(gists(&hook.take(3).await), echoed("a"));
        rig.stream(&[], "SendStreamingMessage", with_hook("b", config)).await.rest().await;
        assert_eq!(gists(&hook.take(3).await), echoed("b"));
    }

    async fn several_webhooks_get_everything_with_their_own_credentials(store: Store) {
        let mut hook = Receiver::start().await;
        let rig = asking(store).await;
        let task = rig.send("start").await["id"].clone();
        for name in ["a", "b", "c"] {
            let config = json!({"taskId": task, "url": format!("{}/{name}", hook.base),
                "authentication": {"scheme": "Basic", "credentials": name}});
            assert!(rig.call(CREATE, config).await["error"].is_null());
        }
        let mut answer = message("yes");
        answer["message"]["taskId"] = task;
        rig.call("SendMessage", answer).await;
        let mut posts = hook.take(12).await;
        posts.sort_by(|a, b| a.path.cmp(&b.path));
        for (name, posts) in ["a", "b", "c"].iter().zip(posts.chunks(4)) {
            let expected = ["TASK_STATE_WORKING", "one", "two", "TASK_STATE_COMPLETED"];
            assert_eq!(gists(posts), expected, "what was before it was registered is not sent");
            assert!(posts.iter().all(|post| post.header("authorization") == format!("Basic {name}")));
        }
    }

    async fn an_agent_that_dies_fails_its_task_alike_by_stream_and_push(store: Store) {
        for (script, reason) in [("echo inner >&2; exit 3", "exit code 3"), ("kill -9 $$", "signal 9")] {
            let mut hook = Receiver::start().await;
            let agent = script_agent("worker", script, "");
            let rig = Rig::start(store, &format!("{agent}{QUICK}")).await;
            let params = with_hook("x", json!({"url": hook.base}));
            let mut frames = rig.stream(&[], "SendStreamingMessage", params).await;
            let task = frames.result().await["task"]["id"].clone();
            let streamed = frames.rest().await.pop().unwrap();
            let pushed = hook.take(2).await.pop().unwrap().body;
            assert_eq!(streamed, pushed);
            let status = &pushed["statusUpdate"]["status"];
            assert_eq!(status["state"], "TASK_STATE_FAILED", "{pushed}");
            let said = status["message"]["parts"][0]["text"].as_str().unwrap();
            assert!(said.contains(reason) && !said.contains("inner"), "{pushed}");
            assert_eq!((&pushed["statusUpdate"]["taskId"], &status["message"]["taskId"]), (&task, &task));
            assert_eq!(rig.get_task(task.as_str().unwrap()).await["status"], *status);
        }
    }

    async fn a_follow_up_can_bring_a_webhook(store: Store) {
        let mut hook = Receiver::start().await;
        let rig = asking(store).await;
        let task = rig.send("start").await["id"].clone();
        let mut answer = with_hook("yes", json!({"url": hook.base}));
        answer["message"]["taskId"] = task;
        rig.call("SendMessage", answer).await;
        let expected = ["TASK_STATE_WORKING", "one", "two", "TASK_STATE_COMPLETED"];
        assert_eq!(gists(&hook.take(4).await), expected);
    }

    async fn a_webhook_keeps_the_generation_it_was_registered_in(store: Store) {
        let mut hook = Receiver::start().await;
        let rig = asking(store).await;
        let task = rig.send("start").await["id"].clone();
        let set = "tasks/pushNotificationConfig/set";
        let old = json!({"taskId": task, "pushNotificationConfig": {"url": format!("{}/old", hook.base),
            "authentication": {"schemes": ["Basic", "Bearer"], "credentials": "a.b.c"}}});
        let old = rig.call_in("0.3", set, old).await;
        assert!(old["error"].is_null(), "{old}");
        let slash = json!({"taskId": task, "url": format!("{}/slash", hook.base)});
        let slash = rig.call(set, slash).await;
        assert!(slash["error"].is_null(), "{slash}");
        let mut answer = message("yes");
        answer["message"]["taskId"] = task.clone();
        rig.call("SendMessage", answer).await;
        let (old, slash): (Vec<_>, Vec<_>) = hook.take(8).await.into_iter().partition(|post| post.path == "/old");
        assert_eq!(gists(&slash), ["TASK_STATE_WORKING", "one", "two", "TASK_STATE_COMPLETED"]);
        assert_eq!(gists(&old), ["task working", "task working", "task working", "task completed"]);
        let text = |post: &Post| {
            let parts = post.body["artifacts"][0]["parts"].as_array().cloned().unwrap_or_default();
            parts.iter().map(|part| part["text"].as_str().unwrap()).collect::<String>()
        };
        assert_eq!(old.iter().map(text).collect::<Vec<_>>(), ["", "one", "onetwo", "onetwo"]);
        assert!(old.iter().all(|post| post.header("authorization") == "Bearer a.b.c"));
        assert!(old.iter().all(|post| post.body["id"] == task && post.header("content-type") == "application/json"));
        assert_eq!(old[3].body["artifacts"][0]["parts"][0]["kind"], "text");
    }

    async fn a_try_that_fails_is_repeated_under_one_id(store: Store) {
        let mut hook = Receiver::start().await;
        let key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let config = format!("{ECHO}{QUICK}secret = \"file:secret\"\nsigning_keys = [\"file:one\", \"file:two\"]\n");
        let files = [("secret", "push-secret"), ("one", key), ("two", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx")];
        let rig = Rig::with_secrets(store, &config, &files).await;
        hook.act("/", [Act::Answer(503), Act::Answer(429), Act::Answer(500)]);
        send(&rig, "café \u{1f600}", json!({"url": hook.base})).await;
        let posts = hook.take(6).await;
        assert_eq!(gists(&posts[..4]), vec!["task TASK_STATE_WORKING"; 4]);
        assert_eq!(gists(&posts[3..]), echoed("café \u{1f600}"));
        let id = |post: &Post| post.header("webhook-id").to_owned();
        assert!(posts[..4].iter().all(|post| id(post) == id(&posts[0]) && post.raw == posts[0].raw));
        assert_ne!(id(&posts[3]), id(&posts[4]));
        for post in &posts {
            let signed = [format!("{}.{}.", id(post), post.header("webhook-timestamp")).as_bytes(), &post.raw].concat();
            let expected = format!("v1,{}", STANDARD.encode(hmac(&STANDARD.decode(&key[6..]).unwrap(), &signed)));
            let (first, second) = post.header("webhook-signature").split_once(' ').unwrap();
            assert_eq!(first, expected);
            assert!(second.starts_with("v1,") && second != first);
            let hex: String = hmac(b"push-secret", &post.raw).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(post.header("x-a2a-signature"), hex);
            let text = std::str::from_utf8(&post.raw).unwrap();
            assert!(text.contains("\"contextId\": ") && !text.contains("\\u"), "canonical: {text}");
        }
    }

    async fn the_shared_token_signs_where_there_is_no_other_key(store: Store) {
        let mut hook = Receiver::start().await;
        let rig = Rig::start(store, &format!("{ECHO}{}", QUICK.replacen("]\n", "]\nbearer_token = \"env:SHARED\"\n", 1))).await;
        let params = with_hook("x", json!({"url": hook.base}));
        let sent = rig.call_as(&[("authorization", "Bearer shared")], "SendMessage", params).await;
        assert!(sent["error"].is_null(), "{sent}");
        let post = hook.next().await;
        let hex: String = hmac(b"shared", &post.raw).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(post.header("x-a2a-signature"), hex);
    }

    async fn a_delivery_that_fails_for_good_is_given_up_and_the_next_comes(store: Store) {
        let mut hook = Receiver::start().await;
        let rig = echo(store).await;
        hook.act("/", vec![Act::Answer(500); 4]);
        send(&rig, "x", json!({"url": hook.base})).await;
        let posts = hook.take(6).await;
        assert_eq!(gists(&posts[..4]), vec!["task TASK_STATE_WORKING"; 4]);
        assert_eq!(gists(&posts[4..]), echoed("x")[1..]);
    }

    async fn a_receiver_that_hangs_is_timed_out_and_delays_no_other(store: Store) {
        let mut hook = Receiver::start().await;
        let rig = Rig::start(store, &format!("{ECHO}{QUICK}timeout = \"1s\"\n")).await;
        hook.act("/bad", [Act::Hang]);
        let bad = json!({"url": format!("{}/bad", hook.base)});
        send(&rig, "a", bad).await;
        let first = hook.next().await;
        assert_eq!((first.path.as_str(), first.gist().as_str()), ("/bad", "task TASK_STATE_WORKING"));
        send(&rig, "b", json!({"url": format!("{}/good", hook.base)})).await;
        let (good, bad): (Vec<_>, Vec<_>) = hook.take(6).await.into_iter().partition(|post| post.path == "/good");
        assert_eq!(gists(&good), echoed("b"));
        assert_eq!(gists(&bad), echoed("a"));
        assert_eq!(bad[0].header("webhook-id"), first.header("webhook-id"));
    }

    async fn a_redirect_is_a_failure_and_never_followed(store: Store) {
        let mut hook = Receiver::start().await;
        let rig = echo(store).await;
        for status in [301, 302, 307, 308] {
            let elsewhere = format!("{}/elsewhere", hook.base);
            hook.act("/", [Act::With(status, "location", elsewhere)]);
        }
        send(&rig, "x", json!({"url": hook.base, "token": "t"})).await;
        let posts = hook.take(6).await;
        assert!(posts.iter().all(|post| post.path == "/"), "{posts:?}");
        assert_eq!(gists(&posts[3..]), [&echoed("x")[..1], &echoed("x")[1..]].concat());
    }

    async fn a_receiver_that_is_gone_gets_nothing_more(store: Store) {
        let mut hook = Receiver::start().await;
        let rig = echo(store).await;
        hook.act("/gone", [Act::Answer(410)]);
        let task = send(&rig, "a", json!({"id": "c", "url": format!("{}/gone", hook.base)})).await;
        assert_eq!(hook.next().await.path, "/gone");
        // It is still there to be looked at.
        let kept = rig.call("GetTaskPushNotificationConfig", json!({"taskId": task, "id": "c"})).await;
        assert_eq!(kept["result"]["id"], "c", "{kept}");
        for text in ["b", "c"] {
            send(&rig, text, json!({"url": format!("{}/good", hook.base)})).await;
            assert_eq!(gists(&hook.take(3).await), echoed(text));
        }
        assert!(hook.more().is_none());
    }

    async fn a_deleted_webhook_gets_nothing_that_was_queued(store: Store) {
        let mut hook = Receiver::start().await;
        let rig = Rig::start(store, &format!("{ECHO}{QUICK}timeout = \"300ms\"\n")).await;
        hook.act("/bad", vec![Act::Hang; 9]);
        let task = send(&rig, "a", json!({"id": "c", "url": format!("{}/bad", hook.base)})).await;
        assert_eq!(hook.next().await.path, "/bad");
        let deleted = rig.call("DeleteTaskPushNotificationConfig", json!({"taskId": task, "id": "c"})).await;
        assert!(deleted["error"].is_null(), "{deleted}");
        // Longer than the time limit and the wait of the deleted one.
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert!(hook.more().is_none());
    }

    async fn a_finished_task_takes_a_webhook_and_sends_nothing(store: Store) {
        let mut hook = Receiver::start().await;
        let rig = echo(store).await;
        let task = rig.send("x").await["id"].clone();
        let made = rig.call(CREATE, json!({"taskId": task, "url": format!("{}/late", hook.base)})).await;
        assert!(made["error"].is_null(), "{made}");
        send(&rig, "y", json!({"url": format!("{}/inline", hook.base)})).await;
        assert!(hook.take(3).await.iter().all(|post| post.path == "/inline"));
        assert!(hook.more().is_none());
    }

    async fn one_endpoint_has_four_tries_at_once_and_tasks_do_not_wait_for_each_other(store: Store) {
        let mut hook = Receiver::start().await;
        let config = format!("{ECHO}{}", PATIENT.replace("[\"1h\"]", "[\"1h\"]\ntimeout = \"2s\""));
        let rig = Rig::start(store, &config).await;
        hook.act("/", vec![Act::Hang; 4]);
        let mut tasks = BTreeSet::new();
        for number in 0..6 {
            tasks.insert(send(&rig, &number.to_string(), json!({"url": hook.base})).await);
        }
        let hanging = hook.take(4).await;
        // The other two begin when the four have timed out; both then run to their end.
        let rest = hook.take(6).await;
        let of = |post: &Post| {
            let body = &post.body;
            let id = [&body["task"]["id"], &body["statusUpdate"]["taskId"], &body["artifactUpdate"]["taskId"]];
            id.into_iter().find_map(Value::as_str).unwrap().to_owned()
        };
        let first: BTreeSet<_> = hanging.iter().map(of).collect();
        let second: BTreeSet<_> = rest.iter().map(of).collect();
        assert_eq!((first.len(), second.len()), (4, 2));
        assert!(first.is_disjoint(&second));
        for task in &second {
            let of_task: Vec<_> = rest.iter().filter(|post| of(post) == *task).map(Post::gist).collect();
            assert_eq!((of_task.len(), of_task[2].as_str()), (3, "TASK_STATE_COMPLETED"));
        }
    }

    async fn a_text_of_any_size_arrives_whole(store: Store) {
        let mut hook = Receiver::start().await;
        let rig = echo(store).await;
        let text = "漢字 \"quoted\" \n".repeat(100_000);
        send(&rig, &text, json!({"url": hook.base})).await;
        assert_eq!(gists(&hook.take(3).await), echoed(&text));
    }

    async fn the_kits_own_agent_posts_to_loopback_unless_others_are_served_beside_it(store: Store) {
        let mut hook = Receiver::start().await;
        let kit = "[agents.kit]\nbackend = \"conformance\"\nprofile = \"acts\"\n";
        let config = json!({"url": hook.base.replace("127.0.0.1", "localhost")});
        let rig = Rig::start(store, kit).await;
        send(&rig, "tck-complete-task", config.clone()).await;
        assert!(hook.next().await.gist().starts_with("task "));
        let rig = Rig::start(store, &format!("{kit}{ECHO}")).await;
        let refused = rig.call("SendMessage", with_hook("x", config)).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }

    async fn an_address_that_is_not_allowed_is_not_dialled(store: Store) {
        let mut hook = Receiver::start().await;
        // The name is public as far as anybody can see when it is registered.
        let config = format!("{ECHO}{}", QUICK.replace("127.0.0.1", "inner.localhost.example:80"));
        let rig = Rig::start(store, &config).await;
        let refused = rig.call("SendMessage", with_hook("x", json!({"url": hook.base}))).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        assert!(hook.more().is_none());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_pending_is_sent_after_a_restart() {
    let mut hook = Receiver::start().await;
    let mut rig = Rig::start(Store::Sqlite, &format!("{ECHO}{PATIENT}")).await;
    hook.act("/", [Act::Hang]);
    send(&rig, "x", json!({"url": hook.base})).await;
    let broken_off = hook.next().await;
    rig.restart(Duration::from_secs(5)).await;
    let posts = hook.take(3).await;
    assert_eq!(gists(&posts), echoed("x"));
    assert_eq!(
        posts[0].header("webhook-id"),
        broken_off.header("webhook-id")
    );
    rig.restart(Duration::from_secs(5)).await;
    send(&rig, "y", json!({"url": hook.base})).await;
    assert_eq!(
        gists(&hook.take(3).await),
        echoed("y"),
        "what was delivered is not sent again"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_try_waits_for_its_time_over_a_restart() {
    let mut hook = Receiver::start().await;
    let mut rig = Rig::start(Store::Sqlite, &format!("{ECHO}{PATIENT}")).await;
    hook.act("/", [Act::Answer(500)]);
    send(&rig, "x", json!({"url": format!("{}/", hook.base)})).await;
    assert_eq!(hook.next().await.gist(), "task TASK_STATE_WORKING");
    // The failure is stored before the next look at the same endpoint ends.
    send(&rig, "y", json!({"url": format!("{}/marker", hook.base)})).await;
    hook.take(3).await;
    rig.restart(Duration::from_secs(5)).await;
    send(&rig, "z", json!({"url": format!("{}/marker", hook.base)})).await;
    assert!(hook.take(3).await.iter().all(|post| post.path == "/marker"));
}

fn hmac(key: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(bytes);
    mac.finalize().into_bytes().to_vec()
}
