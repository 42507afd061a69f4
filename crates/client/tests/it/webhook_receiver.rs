//! The receiver of posts: what is signed wrongly, not at all or long ago is refused, counted and not shown,
//! and a delivery that comes again is shown once.

use std::time::{Duration, SystemTime};

use nuncio_client::webhook_signature::{HashKey, SigningKey, TOLERANCE};
use nuncio_client::{RefusedPosts, WebhookKeys, WebhookReceiver};
use nuncio_wire::StreamResponse;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const SHARED: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OTHER: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx";
const HOUR: i64 = 3600;

struct Rig {
    receiver: WebhookReceiver,
}

impl Rig {
    async fn new(secrets: &[&str]) -> Rig {
        let mut keys = WebhookKeys::default();
        for secret in secrets {
            keys.add(secret).unwrap();
        }
        let any = "127.0.0.1:0".parse().unwrap();
        let receiver = WebhookReceiver::listen(any, None, keys).await.unwrap();
        Rig { receiver }
    }

    fn token(&self) -> String {
        let token = self.receiver.config().token.as_ref().unwrap();
        format!("x-a2a-notification-token: {token}\r\n")
    }

    /// Posts; the status of the answer.
    async fn post(&self, headers: &str, body: &str) -> u16 {
        let url = &self.receiver.config().url;
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let mut socket = TcpStream::connect(address).await.unwrap();
        let length = body.len();
        let head = format!("POST / HTTP/1.1\r\nhost: {address}\r\n{headers}");
        let request = format!("{head}content-length: {length}\r\n\r\n{body}");
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.unwrap();
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// The task of the next event.
    async fn next_task(&mut self) -> String {
        match self.receiver.next().await {
            StreamResponse::StatusUpdate(update) => update.task_id,
            other => panic!("{other:?}"),
        }
    }
}

fn event(task: &str) -> String {
    format!(
        r#"{{"statusUpdate":{{"taskId":"{task}","contextId":"c","status":{{"state":"TASK_STATE_WORKING"}}}}}}"#
    )
}

/// The headers of Standard Webhooks for a post that was signed so many seconds ago.
fn signed(secret: &str, id: &str, age: i64, body: &str) -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let time = i64::try_from(since.unwrap().as_secs()).unwrap() - age;
    let key = SigningKey::read(secret).unwrap();
    let signature = key.sign(id, time, body.as_bytes());
    format!("webhook-id: {id}\r\nwebhook-timestamp: {time}\r\nwebhook-signature: {signature}\r\n")
}

#[tokio::test]
async fn only_fresh_posts_of_the_key_are_shown_and_each_delivery_once() {
    let mut rig = Rig::new(&[SHARED]).await;
    let token = rig.token();
    let (forged, true_one) = (event("forged"), event("true"));
    let good = signed(SHARED, "msg_1", 0, &true_one);
    let tolerance = i64::try_from(TOLERANCE.as_secs()).unwrap();
    for (why, headers, body) in [
        ("unsigned", String::new(), &forged),
        ("another key", signed(OTHER, "msg_2", 0, &forged), &forged),
        ("another body", good.clone(), &forged),
        ("old", signed(SHARED, "msg_3", HOUR, &forged), &forged),
        (
            "ahead",
            signed(SHARED, "msg_4", -tolerance - 60, &forged),
            &forged,
        ),
    ] {
        let status = rig.post(&format!("{token}{headers}"), body).await;
        assert_eq!(status, 401, "{why}");
    }
    let strange = format!("x-a2a-notification-token: x\r\n{good}");
    assert_eq!(rig.post(&strange, &true_one).await, 401);
    for _ in 0..3 {
        let status = rig.post(&format!("{token}{good}"), &true_one).await;
        assert_eq!(status, 200);
    }
    let last = event("last");
    let headers = signed(SHARED, "msg_5", 0, &last);
    assert_eq!(rig.post(&format!("{token}{headers}"), &last).await, 200);
    assert_eq!(rig.next_task().await, "true");
    assert_eq!(rig.next_task().await, "last");
    let refused = RefusedPosts {
        strange: 1,
        unsigned: 1,
        wrong: 2,
        stale: 2,
    };
    assert_eq!(rig.receiver.refused(), refused);
}

#[tokio::test]
async fn a_change_of_keys_loses_nothing() {
    let mut rig = Rig::new(&[OTHER, SHARED]).await;
    let token = rig.token();
    for (number, secret) in [SHARED, OTHER].into_iter().enumerate() {
        let body = event(&number.to_string());
        let headers = signed(secret, &format!("msg_{number}"), 0, &body);
        assert_eq!(rig.post(&format!("{token}{headers}"), &body).await, 200);
        assert_eq!(rig.next_task().await, number.to_string());
    }
}

#[tokio::test]
async fn a_hash_over_the_body_stands_for_a_token_that_hermes_does_not_send() {
    let mut rig = Rig::new(&["push-secret"]).await;
    let body = event("t");
    let hash = |secret: &str| {
        let hash = HashKey::new(secret.as_bytes()).over_body(body.as_bytes());
        format!("x-a2a-signature: {hash}\r\n")
    };
    assert_eq!(rig.post("", &body).await, 401);
    assert_eq!(rig.post(&hash("other"), &body).await, 401);
    assert_eq!(rig.post(&hash("push-secret"), &body).await, 200);
    assert_eq!(rig.next_task().await, "t");
    let refused = rig.receiver.refused();
    assert_eq!((refused.unsigned, refused.wrong), (1, 1));
}

#[tokio::test]
async fn without_a_key_the_token_is_what_counts() {
    let mut rig = Rig::new(&[]).await;
    let token = rig.token();
    let body = event("t");
    let hash = "x-a2a-signature: 00\r\n";
    assert_eq!(rig.post(hash, &body).await, 401);
    assert_eq!(rig.receiver.refused().strange, 1);
    assert_eq!(rig.post(&format!("{token}{hash}"), &body).await, 200);
    assert_eq!(rig.next_task().await, "t");
}

#[tokio::test]
async fn nesting_without_end_is_refused_like_anything_else() {
    let rig = Rig::new(&["push-secret"]).await;
    let body = "[".repeat(500_000) + &"]".repeat(500_000);
    let posted = rig.post("x-a2a-signature: 00\r\n", &body);
    let status = tokio::time::timeout(Duration::from_secs(10), posted).await;
    assert_eq!(status.unwrap(), 401);
}
