//! Tasks with webhooks, and the receiver of what is posted: how many posts a second arrive, and
//! whether an answer comes later because there are receivers.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::request::{TEXT, Target, first_id};
use super::response::Reader;
use super::{Outcome, Plan, Shared, connect, outcome};

/// Posts that a task of the `echo` agent makes: it began, its artifact, its end.
const POSTS_PER_TASK: u64 = 3;
/// Tasks whose posts may all be on their way. As posts come in any order, up to three times as many
/// are open, and a caller may have no more than 1000 webhooks that are.
const TASKS_UNDER_WAY: u64 = 300;
/// How long the receiver waits for the next post before it counts as lost.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time from one measured answer to the next: little enough load that only a delay shows.
const PACE: Duration = Duration::from_millis(20);
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

/// Counts posts.
#[derive(Clone)]
struct Receiver {
    url: String,
    count: Rc<Cell<u64>>,
    came: Rc<Notify>,
}

impl Receiver {
    async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/hook", listener.local_addr()?);
        let (count, came) = (Rc::new(Cell::new(0)), Rc::new(Notify::new()));
        let (counted, told) = (Rc::clone(&count), Rc::clone(&came));
        tokio::task::spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::task::spawn_local(take(stream, Rc::clone(&counted), Rc::clone(&told)));
            }
        });
        Ok(Self { url, count, came })
    }

    /// Returns when so many have come.
    async fn wait_for(&self, wanted: u64) -> Result<()> {
        while self.count.get() < wanted {
            // One thread: nothing comes between the look and the wait.
            let came = tokio::time::timeout(PATIENCE, self.came.notified()).await;
            let count = self.count.get();
            came.with_context(|| format!("{count} of {wanted} posts came"))?;
        }
        Ok(())
    }
}

/// Answers the posts of one connection; a body ends where its length says.
async fn take(mut stream: TcpStream, count: Rc<Cell<u64>>, came: Rc<Notify>) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::with_capacity(16 * 1024);
    loop {
        let whole = whole_request(&buffer)?;
        if let Some(length) = whole {
            buffer.drain(..length);
            stream.write_all(ANSWER).await?;
            count.set(count.get() + 1);
            came.notify_waiters();
        } else if stream.read_buf(&mut buffer).await? == 0 {
            return Ok(());
        }
    }
}

/// The length of the first request, if all of it is there.
fn whole_request(bytes: &[u8]) -> Result<Option<usize>> {
    let Some(head) = bytes.windows(4).position(|it| it == b"\r\n\r\n") else {
        return Ok(None);
    };
    let text = std::str::from_utf8(&bytes[..head])?.to_ascii_lowercase();
    let length = text.split("content-length:").nth(1);
    let length = length.and_then(|rest| rest.split("\r\n").next());
    let length: usize = length.context("a post has no length")?.trim().parse()?;
    Ok(Some(head + 4 + length).filter(|whole| bytes.len() >= *whole))
}

/// Makes the plan's number of tasks with a webhook each, and measures until all posts have come.
/// `requests` of the outcome counts posts.
pub(super) async fn deliver(plan: &Plan) -> Result<Outcome> {
    let receiver = Receiver::start().await?;
    let shared = Shared::new(plan, plan.requests)?;
    let (cpu, started) = (shared.clock.now()?, Instant::now());
    let mut connections = JoinSet::new();
    let sent_tasks = Rc::new(Cell::new(0u64));
    for _ in 0..plan.connections {
        let mut caller = Caller::new(plan).await?;
        let (shared, receiver, sent_tasks) =
            (Rc::clone(&shared), receiver.clone(), Rc::clone(&sent_tasks));
        connections.spawn_local(async move {
            while let Some(id) = shared.begin() {
                sent_tasks.set(sent_tasks.get() + 1);
                let done = sent_tasks.get().saturating_sub(TASKS_UNDER_WAY);
                receiver.wait_for(done * POSTS_PER_TASK).await?;
                let config = json!({ "taskPushNotificationConfig": { "url": receiver.url } });
                let sent = Instant::now();
                caller.send(&format!("m-{id}"), None, config).await?;
                shared.record(sent.elapsed(), sent.elapsed(), 0);
            }
            anyhow::Ok(())
        });
    }
    super::all_end(&mut connections).await?;
    let posts = plan.requests * POSTS_PER_TASK;
    receiver.wait_for(posts).await?;
    let (cpu, took) = (shared.clock.now()? - cpu, started.elapsed());
    let mut outcome = outcome(&shared, cpu, took);
    outcome.cpu = cpu.as_secs_f64() * 1e6 / posts as f64;
    outcome.requests = posts;
    Ok(outcome)
}

/// Answers questions of tasks with the plan's number of webhooks each, and measures the answers.
pub(super) async fn answer_questions(plan: &Plan) -> Result<Outcome> {
    let receiver = Receiver::start().await?;
    let shared = Shared::new(plan, plan.requests)?;
    let mut caller = Caller::new(plan).await?;
    let (cpu, started) = (shared.clock.now()?, Instant::now());
    let mut next = tokio::time::interval(PACE);
    while let Some(id) = shared.begin() {
        let task = caller
            .send(&format!("tck-input-required-{id}"), None, json!({}))
            .await?;
        for number in 0..plan.webhooks {
            let url = format!("{}/{number}", receiver.url);
            let params = json!({ "taskId": task, "url": url });
            caller
                .call("CreateTaskPushNotificationConfig", params)
                .await?;
        }
        next.tick().await;
        let sent = Instant::now();
        caller
            .send(&format!("m-{id}"), Some(&task), json!({}))
            .await?;
        shared.record(sent.elapsed(), sent.elapsed(), 0);
    }
    let took = started.elapsed();
    Ok(outcome(&shared, shared.clock.now()? - cpu, took))
}

/// A connection that calls.
struct Caller {
    target: Target,
    stream: TcpStream,
    reader: Reader,
    prefix: u64,
}

impl Caller {
    async fn new(plan: &Plan) -> Result<Self> {
        let address: SocketAddr = plan.address;
        Ok(Self {
            target: Target {
                host: address.to_string(),
                path: plan.path.clone(),
            },
            stream: connect(address).await?,
            reader: Reader::new(),
            prefix: first_id(),
        })
    }

    async fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        let request = super::request::Request::call(&self.target, method, &params.to_string());
        self.stream.write_all(request.bytes()).await?;
        let answer = self.reader.answer(&mut self.stream).await?;
        Ok(serde_json::from_slice(answer.body)?)
    }

    /// Sends a message and returns its task's id.
    async fn send(
        &mut self,
        message_id: &str,
        task: Option<&str>,
        configuration: Value,
    ) -> Result<String> {
        let message_id = format!("{message_id}-{:x}", self.prefix);
        let mut message = json!({
            "messageId": message_id, "role": "ROLE_USER", "parts": [{ "text": TEXT }],
        });
        if let Some(task) = task {
            message["taskId"] = task.into();
        }
        let params = json!({ "message": message, "configuration": configuration });
        let answer = self.call("SendMessage", params).await?;
        match answer["result"]["task"]["id"].as_str() {
            Some(id) => Ok(id.to_owned()),
            None => bail!("the answer holds no task: {answer}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_post_is_whole_when_its_body_is_there() {
        let post = b"POST /hook HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcPOST";
        assert_eq!(whole_request(post).unwrap(), Some(post.len() - 4));
        assert_eq!(whole_request(&post[..post.len() - 5]).unwrap(), None);
        assert!(whole_request(b"POST / HTTP/1.1\r\n\r\n").is_err());
    }
}
