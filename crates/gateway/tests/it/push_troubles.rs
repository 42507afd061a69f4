//! Webhooks in trouble, as the operator sees and mends them at the control socket.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use crate::receiver::{Act, Post, Receiver};
use crate::rig::{ECHO, Rig, message, over_stores};

/// Loopback is allowed, and each event is tried four times within moments.
const QUICK: &str = "[security]\npush_allow_addresses = [\"127.0.0.1\"]\n\
    [push]\nretry_delays = [\"5ms\", \"5ms\", \"5ms\"]\nslow_down = \"0s\"\n";

/// Asks at the control socket.
async fn operator(rig: &Rig, method: &str, path: &str) -> Value {
    let socket = rig.dir.path().join(nuncio_gateway::SOCKET_NAME);
    let mut socket = UnixStream::connect(socket).await.unwrap();
    let request =
        format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{answer}");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

/// The webhooks in trouble, once they are as wanted.
async fn troubles(rig: &Rig, wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    loop {
        let answer = operator(rig, "GET", "/admin/push").await;
        let found = answer["troubles"].as_array().unwrap();
        if wanted(found) {
            return found.clone();
        }
        tokio::task::yield_now().await;
    }
}

fn is(state: &'static str) -> impl Fn(&[Value]) -> bool {
    move |found| found.len() == 1 && found[0]["state"] == state
}

async fn send(rig: &Rig, hook: &Receiver) -> String {
    let mut params = message("hello");
    let url = format!("{}/?key=hidden", hook.base);
    params["configuration"] = json!({"taskPushNotificationConfig": {"id": "c", "url": url}});
    let answer = rig.call("SendMessage", params).await;
    answer["result"]["task"]["id"].as_str().unwrap().to_owned()
}

fn ids(posts: &[Post]) -> Vec<&str> {
    posts.iter().map(|post| post.header("webhook-id")).collect()
}

over_stores! {
    async fn what_was_given_up_is_listed_and_sent_again_in_order(store: Store) {
        let mut hook = Receiver::start().await;
        let rig = Rig::start(store, &format!("{ECHO}{QUICK}")).await;
        hook.act("/", vec![Act::Answer(503); 8]);
        let task = send(&rig, &hook).await;
        let posts = hook.take(9).await;
        let missed = [posts[0].header("webhook-id"), posts[4].header("webhook-id")];
        let found = troubles(&rig, is("gave up")).await;
        let trouble = &found[0];
        assert_eq!((&trouble["task"], &trouble["config"]), (&json!(task), &json!("c")));
        assert_eq!(trouble["receiver"], hook.base, "its path and query may be secrets");
        assert!(!json!(found).to_string().contains("hidden"), "{found:?}");
        let told = trouble["given_up"].as_array().unwrap();
        let told_ids: Vec<_> = told.iter().map(|it| it["webhook_id"].as_str().unwrap()).collect();
        assert_eq!(told_ids, missed);
        assert!(told.iter().all(|it| it["tries"] == 4 && it["last_status"] == 503), "{told:?}");

        hook.act("/", [Act::Answer(500)]);
        let replayed = operator(&rig, "POST", "/admin/push/replay").await;
        let expected = json!({"changed": [{"task": task, "config": "c"}], "refused": []});
        assert_eq!(replayed, expected);
        let again = hook.take(3).await;
        assert_eq!(ids(&again), [missed[0], missed[0], missed[1]]);
        assert_eq!((&again[1].raw, &again[2].raw), (&posts[0].raw, &posts[4].raw));
        troubles(&rig, <[Value]>::is_empty).await;
        assert!(hook.more().is_none());
    }

    async fn a_webhook_that_was_switched_off_goes_on_where_it_stood(store: Store) {
        let mut hook = Receiver::start().await;
        let rig = Rig::start(store, &format!("{ECHO}{QUICK}")).await;
        hook.act("/", [Act::Answer(410)]);
        let task = send(&rig, &hook).await;
        let refused = hook.next().await;
        let found = troubles(&rig, is("off")).await;
        assert_eq!((&found[0]["last_status"], &found[0]["next_version"]), (&json!(410), &json!(1)));
        assert!(found[0]["failing_since"].is_string(), "{found:?}");
        let replayed = operator(&rig, "POST", "/admin/push/replay").await;
        assert_eq!(replayed, json!({"changed": [], "refused": []}), "nothing was given up");
        let path = format!("/admin/push/enable?task={task}&config=c");
        let enabled = operator(&rig, "POST", &path).await;
        assert_eq!(enabled["changed"], json!([{"task": task, "config": "c"}]), "{enabled}");
        let posts = hook.take(3).await;
        assert_eq!(posts[0].raw, refused.raw);
        assert_eq!(ids(&posts)[0], refused.header("webhook-id"));
        assert_eq!(posts[2].gist(), "TASK_STATE_COMPLETED");
        troubles(&rig, <[Value]>::is_empty).await;
        let again = operator(&rig, "POST", &path).await;
        assert_eq!(again["changed"], json!([]), "it is on");
    }
}
