//! Turns of an agent that speaks the Agent Client Protocol: over the gateway as a stream, and with
//! the agent itself as its own client. The difference is what the gateway adds.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::request::{Request, TEXT, Target, first_id};
use super::{Outcome, Plan, Shared, connect, outcome};
use crate::bench::process_facts;
use crate::bench::turns::agent::{CHUNK, CHUNKS, SPOKEN_AT, now_nanos};

/// Turns before those that count: the agent starts, its session begins.
const FIRST_TURNS: u64 = 20;
/// The end of a body in chunks (RFC 9112 section 7.1).
const END: &[u8] = b"\r\n0\r\n\r\n";
/// As much of a stream is kept as its last event may be long, in bytes.
const KEPT: usize = 16 * 1024;
/// The state of a task that went well.
const COMPLETED: &[u8] = b"TASK_STATE_COMPLETED";
/// The server's memory is looked at this often while a long answer streams.
const LOOK: Duration = Duration::from_millis(20);

/// Holds the plan's number of turns in one conversation, each as a stream. `first_event` of the
/// outcome is the time from the agent's first word to its arrival here.
pub(super) async fn hold(plan: &Plan) -> Result<Outcome> {
    let shared = Shared::new(plan, plan.requests + FIRST_TURNS)?;
    let mut stream = connect(plan.address).await?;
    let conversation = format!("turns-{:x}", first_id());
    let (mut cpu, mut started) = (shared.clock.now()?, Instant::now());
    let mut turn = 0;
    while let Some(id) = shared.begin() {
        if turn == FIRST_TURNS {
            (cpu, started) = (shared.clock.now()?, Instant::now());
        }
        let request = say(plan, &conversation, id, TEXT);
        let sent = Instant::now();
        stream.write_all(request.bytes()).await?;
        let heard = hear(&mut stream, &mut || Ok(())).await?;
        if turn >= FIRST_TURNS {
            let first = heard.first_word.context("the agent said no moment")?;
            shared.record(sent.elapsed(), first, 0);
        }
        turn += 1;
    }
    let took = started.elapsed();
    Ok(outcome(&shared, shared.clock.now()? - cpu, took))
}

/// One long answer of the plan's number of chunks. `seconds` of the outcome is the time that it
/// took, `peak_kib` the most memory that the server had meanwhile.
pub(super) async fn stream_chunks(plan: &Plan) -> Result<Outcome> {
    let shared = Shared::new(plan, 1)?;
    let mut stream = connect(plan.address).await?;
    let conversation = format!("chunks-{:x}", first_id());
    let greeting = say(plan, &conversation, first_id(), TEXT);
    stream.write_all(greeting.bytes()).await?;
    hear(&mut stream, &mut || Ok(())).await?;
    let text = format!("{CHUNKS} {}", plan.requests);
    let request = say(plan, &conversation, first_id(), &text);
    let (cpu, started) = (shared.clock.now()?, Instant::now());
    let (mut looked, mut peak_kib) = (started, process_facts::memory_kib(plan.process)?);
    stream.write_all(request.bytes()).await?;
    hear(&mut stream, &mut || {
        if looked.elapsed() >= LOOK {
            peak_kib = peak_kib.max(process_facts::memory_kib(plan.process)?);
            looked = Instant::now();
        }
        Ok(())
    })
    .await?;
    let took = started.elapsed();
    shared.record(took, took, plan.requests);
    let said = text_of_last_task(plan, &conversation).await?;
    let wanted = plan.requests * CHUNK.len() as u64;
    if said != wanted {
        bail!("the task holds {said} bytes of text, the agent said {wanted}");
    }
    let mut outcome = outcome(&shared, shared.clock.now()? - cpu, took);
    outcome.peak_kib = peak_kib;
    Ok(outcome)
}

/// Bytes of text in the artifacts of the conversation's last task.
async fn text_of_last_task(plan: &Plan, conversation: &str) -> Result<u64> {
    let target = target(plan);
    let params = json!({ "contextId": conversation, "pageSize": 1, "includeArtifacts": true });
    let request = Request::call(&target, "ListTasks", &params.to_string());
    let mut stream = connect(plan.address).await?;
    stream.write_all(request.bytes()).await?;
    let mut answer = Vec::new();
    let body = loop {
        if stream.read_buf(&mut answer).await? == 0 {
            bail!("the server closed the connection within an answer");
        }
        let head = answer.windows(4).position(|it| it == b"\r\n\r\n");
        let body = head.map(|head| &answer[head + 4..]);
        // An answer is whole when it is JSON.
        if let Some(json) = body.and_then(|it| serde_json::from_slice::<Value>(it).ok()) {
            break json;
        }
    };
    let artifacts = body["result"]["tasks"][0]["artifacts"].as_array();
    let parts = artifacts.into_iter().flatten();
    let parts = parts.flat_map(|it| it["parts"].as_array().into_iter().flatten());
    Ok(parts
        .filter_map(|part| part["text"].as_str())
        .map(|text| text.len() as u64)
        .sum())
}

fn target(plan: &Plan) -> Target {
    Target {
        host: plan.address.to_string(),
        path: plan.path.clone(),
    }
}

fn say(plan: &Plan, conversation: &str, id: u64, text: &str) -> Request {
    let target = target(plan);
    let message = json!({
        "messageId": format!("{id:x}"), "contextId": conversation, "role": "ROLE_USER",
        "parts": [{ "text": text }],
    });
    let params = json!({ "message": message }).to_string();
    Request::call(&target, "SendStreamingMessage", &params)
}

/// What came of one stream.
struct Heard {
    /// From the agent's first word to its arrival; none where it said no moment.
    first_word: Option<Duration>,
}

/// Reads a stream to its end; `look` is called after each read.
async fn hear(stream: &mut TcpStream, look: &mut impl FnMut() -> Result<()>) -> Result<Heard> {
    let (mut kept, mut first_word) = (Vec::with_capacity(2 * KEPT), None);
    loop {
        if stream.read_buf(&mut kept).await? == 0 {
            bail!("the server closed the connection within a stream");
        }
        look()?;
        if first_word.is_none() {
            first_word = spoken_at(&kept)
                .map(|spoken| Duration::from_nanos(now_nanos().saturating_sub(spoken)));
        }
        if kept.ends_with(END) {
            if !holds(&kept, COMPLETED) {
                bail!("a turn failed: {}", String::from_utf8_lossy(&kept));
            }
            return Ok(Heard { first_word });
        }
        let gone = kept.len().saturating_sub(KEPT);
        kept.drain(..gone);
    }
}

/// The moment that the agent said, once all of it is there.
fn spoken_at(bytes: &[u8]) -> Option<u64> {
    let at = bytes
        .windows(SPOKEN_AT.len())
        .position(|it| it == SPOKEN_AT.as_bytes())?;
    let rest = &bytes[at + SPOKEN_AT.len()..];
    let digits = rest.iter().position(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
}

fn holds(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|it| it == wanted)
}

/// Holds the plan's number of turns with the agent itself.
pub(super) async fn hold_directly(plan: &Plan) -> Result<Outcome> {
    let mut agent = Agent::start(&plan.program).await?;
    let shared = Shared::new(plan, plan.requests + FIRST_TURNS)?;
    let (started, mut turn) = (Instant::now(), 0);
    while shared.begin().is_some() {
        let sent = Instant::now();
        let spoken = agent.prompt(TEXT).await?;
        if turn >= FIRST_TURNS {
            shared.record(sent.elapsed(), spoken, 0);
        }
        turn += 1;
    }
    agent.end().await?;
    Ok(outcome(&shared, Duration::ZERO, started.elapsed()))
}

/// The agent, and a conversation with it.
struct Agent {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    session: Value,
    last_id: u64,
}

impl Agent {
    async fn start(program: &[String]) -> Result<Self> {
        let (name, arguments) = program.split_first().context("no program to talk to")?;
        let mut child = Command::new(name)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let input = child.stdin.take().context("no standard input")?;
        let output = child.stdout.take().context("no standard output")?;
        let mut agent = Self {
            child,
            input,
            output: BufReader::new(output).lines(),
            session: Value::Null,
            last_id: 0,
        };
        agent
            .request("initialize", json!({ "protocolVersion": 1 }))
            .await?;
        let params = json!({ "cwd": "/", "mcpServers": [] });
        let (session, _) = agent.request("session/new", params).await?;
        agent.session = session["sessionId"].clone();
        Ok(agent)
    }

    /// One turn: the time from the agent's first word to its arrival.
    async fn prompt(&mut self, text: &str) -> Result<Duration> {
        let prompt = json!([{ "type": "text", "text": text }]);
        let params = json!({ "sessionId": self.session, "prompt": prompt });
        let (_, first_word) = self.request("session/prompt", params).await?;
        first_word.context("the agent said no moment")
    }

    async fn request(&mut self, method: &str, params: Value) -> Result<(Value, Option<Duration>)> {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.input
            .write_all(format!("{request}\n").as_bytes())
            .await?;
        let mut first_word = None;
        while let Some(line) = self.output.next_line().await? {
            if let Some(spoken) = spoken_at(line.as_bytes()) {
                let took = Duration::from_nanos(now_nanos().saturating_sub(spoken));
                first_word.get_or_insert(took);
                continue;
            }
            let mut answer: Value = serde_json::from_str(&line)?;
            if answer["id"] == id {
                return Ok((answer["result"].take(), first_word));
            }
        }
        bail!("the agent ended within a request")
    }

    async fn end(mut self) -> Result<()> {
        drop(self.input);
        self.child.wait().await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_counts_once_its_last_digit_is_there() {
        assert_eq!(spoken_at(b"\"text\":\"spoken at 17\"}"), Some(17));
        assert_eq!(spoken_at(b"\"text\":\"spoken at 17"), None);
        assert_eq!(spoken_at(b"\"text\":\"spoken a"), None);
    }
}
