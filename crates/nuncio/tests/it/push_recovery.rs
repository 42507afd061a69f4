//! kill -9 between a POST and its mark, again and again: every event of every acknowledged task
//! reaches its webhook, in order, and comes again only under the id it had.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::program::Place;

const KILLS: usize = 50;
/// Tasks that are sent before each kill.
const TASKS: usize = 4;
/// POSTs that may be under way to one receiver at once: so many may come twice after a kill.
const AT_ONCE: usize = 4;
/// By then every delivery has ended, unless one hangs.
const LIMIT: Duration = Duration::from_secs(120);

const CONFIG: &str = "[agents.echo]\nbackend = \"echo\"\n\
    [security]\npush_allow_addresses = [\"127.0.0.1\"]\n\
    [push]\nretry_delays = [\"50ms\", \"50ms\", \"50ms\"]\n";

/// A POST that has come and is not answered yet.
struct Post {
    id: String,
    body: Value,
    socket: TcpStream,
}

/// Webhook-ids of each task in the order in which they came first, with what came under each.
#[derive(Default)]
struct Seen {
    of_task: BTreeMap<String, Vec<(String, Value)>>,
    repeated: usize,
}

impl Seen {
    fn take(&mut self, post: &Post) {
        let body = &post.body;
        let task = [
            &body["task"]["id"],
            &body["statusUpdate"]["taskId"],
            &body["artifactUpdate"]["taskId"],
        ];
        let task = task
            .into_iter()
            .find_map(Value::as_str)
            .expect("a task's event");
        let posts = self.of_task.entry(task.to_owned()).or_default();
        match posts.iter().position(|(id, _)| *id == post.id) {
            None => posts.push((post.id.clone(), post.body.clone())),
            Some(place) => {
                assert_eq!(posts[place].1, post.body, "one id, one body");
                assert_eq!(
                    place + 1,
                    posts.len(),
                    "only the last one of a task comes again"
                );
                self.repeated += 1;
            }
        }
    }

    fn is_whole(&self, task: &str) -> bool {
        self.of_task.get(task).is_some_and(|posts| posts.len() == 3)
    }

    fn check(&self, task: &str) {
        let posts = &self.of_task[task];
        assert_eq!(posts[0].1["task"]["id"], task);
        assert!(posts[1].1["artifactUpdate"].is_object(), "{posts:?}");
        let end = &posts[2].1["statusUpdate"]["status"]["state"];
        assert_eq!(end, "TASK_STATE_COMPLETED", "{posts:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_is_killed_delivers_everything_under_one_id() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let hook = format!("http://{}/hook", listener.local_addr().expect("an address"));
    let (tell, mut posts) = mpsc::unbounded_channel();
    let receiver = tokio::spawn(receive(listener, tell));
    let place = Place::new();
    place.write("nuncio.toml", CONFIG);
    let mut seen = Seen::default();
    let mut acknowledged = BTreeSet::new();
    for kill in 0..KILLS {
        let served = place.serve(&["--config", "nuncio.toml"]);
        let sends = tokio::spawn(send_all(served.url.clone(), hook.clone(), kill));
        // The last one is seen and not answered: the gateway cannot know whether it arrived.
        for _ in 0..kill % 6 {
            let post = posts.recv().await.expect("the receiver runs");
            seen.take(&post);
            answer(post).await;
        }
        let post = posts.recv().await.expect("the receiver runs");
        seen.take(&post);
        let told = sends.await.expect("no sender panicked");
        assert!(!told.is_empty());
        acknowledged.extend(told);
        // A dropped gateway is killed with SIGKILL.
        drop(served);
        drop(post);
    }
    let _served = place.serve(&["--config", "nuncio.toml"]);
    let rest = async {
        while !acknowledged.iter().all(|task| seen.is_whole(task)) {
            let post = posts.recv().await.expect("the receiver runs");
            seen.take(&post);
            answer(post).await;
        }
    };
    tokio::time::timeout(LIMIT, rest)
        .await
        .expect("nothing is lost");
    acknowledged.iter().for_each(|task| seen.check(task));
    assert_eq!(acknowledged.len(), KILLS * TASKS);
    assert!(
        (1..=KILLS * AT_ONCE).contains(&seen.repeated),
        "{} repeats",
        seen.repeated
    );
    receiver.abort();
}

/// Sends tasks and waits for their ends; the ids of those that were acknowledged.
async fn send_all(url: String, hook: String, kill: usize) -> Vec<String> {
    let client: Client<HttpConnector, Full<Bytes>> =
        Client::builder(TokioExecutor::new()).build_http();
    let mut told = Vec::new();
    for number in 0..TASKS {
        let params = json!({
            "message": {"messageId": format!("m-{kill}-{number}"), "role": "ROLE_USER", "parts": [{"text": "hello"}]},
            "configuration": {"taskPushNotificationConfig": {"url": hook}},
        });
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
        let request = hyper::Request::post(&url)
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body.to_string())))
            .expect("a request");
        let answer = client.request(request).await.expect("it serves");
        let bytes = answer
            .into_body()
            .collect()
            .await
            .expect("a body")
            .to_bytes();
        let answer: Value = serde_json::from_slice(&bytes).expect("JSON");
        let id = answer["result"]["task"]["id"].as_str();
        told.push(id.unwrap_or_else(|| panic!("{answer}")).to_owned());
    }
    told
}

async fn receive(listener: TcpListener, tell: mpsc::UnboundedSender<Post>) {
    while let Ok((socket, _)) = listener.accept().await {
        let tell = tell.clone();
        tokio::spawn(async move {
            // A gateway that is killed leaves half a request behind, which is no POST.
            if let Some(post) = read(socket).await {
                let _ = tell.send(post);
            }
        });
    }
}

/// Reads one request. Each gets a connection of its own, as answers close theirs.
async fn read(socket: TcpStream) -> Option<Post> {
    let mut socket = BufReader::new(socket);
    let (mut id, mut length) = (None, 0);
    loop {
        let mut line = String::new();
        if socket.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        match line.trim_end().split_once(": ") {
            Some(("webhook-id", value)) => id = Some(value.to_owned()),
            Some(("content-length", value)) => length = value.parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.ok()?;
    Some(Post {
        id: id?,
        body: serde_json::from_slice(&body).ok()?,
        socket: socket.into_inner(),
    })
}

async fn answer(mut post: Post) {
    let head = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
    // Fails when the gateway was killed meanwhile.
    let _ = post.socket.write_all(head.as_bytes()).await;
}
