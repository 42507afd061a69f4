//! The load generator: a number of connections that each send, wait for the whole answer and send
//! again. Owns what is counted and when; measures the server's CPU time over the same window. Runs
//! on one thread, in a process of its own (`bench-load`), so that it never shares a core with the
//! server.

mod drop_streams;
mod grpc;
mod request;
mod response;
mod turns;
mod webhooks;

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::{JoinSet, LocalSet};

use super::latency::{Histogram, Quantiles};
use super::process_facts::CpuClock;
pub use drop_streams::{Dropped, Held};
use request::{Request, Target};
use response::Reader;

/// Load before the window: caches, allocator and the server's connections settle.
const WARM_UP: Duration = Duration::from_millis(500);
/// Tasks that `get` asks for in turn: fewer than any store keeps.
const TASKS_TO_GET: usize = 256;
/// In a counted run the server's CPU clock is read after this many answers: as many as can be on
/// their way at once, so that a look costs little and a pause still stands out.
const ANSWERS_PER_LOOK: u64 = 16;
/// What the connections do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// `SendMessage` until the answer is there.
    Send,
    /// `GetTask` on finished tasks.
    Get,
    /// `SendMessage` over HTTP+JSON.
    Rest,
    /// `SendMessage` over gRPC.
    Grpc,
    /// `SendStreamingMessage` until the stream ends.
    Stream,
    /// `SendMessage` with a webhook, until every post has come.
    Deliver,
    /// `SendMessage` to a task that asked, which has webhooks.
    Answer,
    /// `SendStreamingMessage` in one conversation with a live agent.
    Turns,
    /// The same turns with the agent itself, without a server.
    DirectTurns,
    /// One stream of as many chunks as there are `requests`.
    Chunks,
    /// `SendStreamingMessage` on a new connection, dropped after the first event.
    Drop,
    /// `SubscribeToTask` on one live task, on a new connection, dropped after the first event.
    Subscribe,
}

/// One run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    /// The server.
    pub address: SocketAddr,
    /// Path of the JSON-RPC endpoint.
    pub path: String,
    /// What the connections do.
    pub mode: Mode,
    /// Connections at once.
    pub connections: usize,
    /// Length of the window; with `requests` the run ends by count instead.
    pub seconds: f64,
    /// Number of requests to measure, without a warm-up; 0 means that `seconds` counts.
    pub requests: u64,
    /// Webhooks of each task that is answered.
    #[serde(default)]
    pub webhooks: usize,
    /// The agent to talk to without a server, and its arguments.
    #[serde(default)]
    pub program: Vec<String>,
    /// The server's process, to read its CPU time and memory from `/proc`.
    pub process: u32,
}

impl Plan {
    /// One connection to nowhere, whose process is this one.
    pub(super) fn of_no_server(mode: Mode) -> Self {
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            path: "/".to_owned(),
            mode,
            connections: 1,
            seconds: 0.0,
            requests: 0,
            webhooks: 0,
            program: Vec::new(),
            process: std::process::id(),
        }
    }
}

/// What a run measured.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// Requests answered within the window.
    pub requests: u64,
    /// Length of the window.
    pub seconds: f64,
    /// CPU time of the server per request, in microseconds.
    pub cpu: f64,
    /// From sending to the end of the answer, in microseconds.
    pub latency: Quantiles,
    /// From sending to the first byte of the answer's body, in microseconds.
    pub first_event: Quantiles,
    /// Events per stream.
    pub events: f64,
    /// Most CPU time that the server spent between two looks at its clock, in microseconds, in a
    /// counted run: a pause of the server's own making, whatever else the machine does.
    pub longest_work: f64,
    /// The most memory in KiB that the server had while chunks streamed.
    pub peak_kib: u64,
    /// What the server held around the streams of `drop` and `subscribe`.
    pub dropped: Option<Dropped>,
}

impl Outcome {
    /// Requests per second.
    pub fn rate(&self) -> f64 {
        self.requests as f64 / self.seconds
    }
}

/// Runs one plan.
///
/// # Errors
/// When the server cannot be reached, refuses, or answers with an error.
pub fn run(plan: &Plan) -> Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let local = LocalSet::new();
    local.block_on(&runtime, async {
        match plan.mode {
            Mode::Send | Mode::Rest | Mode::Grpc | Mode::Get | Mode::Stream => {
                closed_loop(plan).await
            }
            Mode::Deliver => webhooks::deliver(plan).await,
            Mode::Answer => webhooks::answer_questions(plan).await,
            Mode::Turns => turns::hold(plan).await,
            Mode::DirectTurns => turns::hold_directly(plan).await,
            Mode::Chunks => turns::stream_chunks(plan).await,
            Mode::Drop | Mode::Subscribe => drop_streams::open_and_drop(plan).await,
        }
    })
}

/// What all connections of a run share.
struct Shared {
    next_id: Cell<u64>,
    /// Requests that may still begin.
    left: Cell<u64>,
    measuring: Cell<bool>,
    events: Cell<u64>,
    latency: RefCell<Histogram>,
    first_event: RefCell<Histogram>,
    clock: CpuClock,
    /// CPU time of the server at the last look, and most between two looks.
    looked: Cell<Duration>,
    longest_work: Cell<Duration>,
}

impl Shared {
    fn new(plan: &Plan, requests: u64) -> Result<Rc<Self>> {
        let clock = CpuClock::of(plan.process)?;
        Ok(Rc::new(Self {
            clock,
            looked: Cell::new(clock.now()?),
            longest_work: Cell::default(),
            next_id: Cell::new(request::first_id()),
            left: Cell::new(if requests == 0 { u64::MAX } else { requests }),
            measuring: Cell::new(requests > 0),
            events: Cell::new(0),
            latency: RefCell::default(),
            first_event: RefCell::default(),
        }))
    }

    fn record(&self, latency: Duration, first_event: Duration, events: u64) {
        let mut latencies = self.latency.borrow_mut();
        latencies.record(latency.as_nanos() as u64);
        self.first_event
            .borrow_mut()
            .record(first_event.as_nanos() as u64);
        self.events.set(self.events.get() + events);
    }

    /// Looks at the server's clock now and then.
    fn look(&self) -> Result<()> {
        if self
            .latency
            .borrow()
            .total()
            .is_multiple_of(ANSWERS_PER_LOOK)
        {
            let now = self.clock.now()?;
            let work = now.saturating_sub(self.looked.replace(now));
            self.longest_work.set(self.longest_work.get().max(work));
        }
        Ok(())
    }

    /// The id of the next request, or none when the run is over.
    fn begin(&self) -> Option<u64> {
        self.left.set(self.left.get().checked_sub(1)?);
        self.next_id.set(self.next_id.get() + 1);
        Some(self.next_id.get())
    }
}

async fn closed_loop(plan: &Plan) -> Result<Outcome> {
    let requests = requests_of(plan).await?;
    let shared = Shared::new(plan, plan.requests)?;
    let (cpu, started) = (shared.clock.now()?, Instant::now());
    let mut connections = JoinSet::new();
    for number in 0..plan.connections {
        if plan.mode == Mode::Grpc {
            connections.spawn_local(grpc::ask_again_and_again(plan.address, Rc::clone(&shared)));
            continue;
        }
        let mut requests = requests.clone();
        let first = number % requests.len();
        requests.rotate_left(first);
        let stream = connect(plan.address).await?;
        connections.spawn_local(ask_again_and_again(
            stream,
            requests,
            Rc::clone(&shared),
            plan.requests > 0,
        ));
    }
    let (cpu, took) = if plan.requests == 0 {
        window(plan, &shared, &mut connections).await?
    } else {
        all_end(&mut connections).await?;
        (shared.clock.now()? - cpu, started.elapsed())
    };
    shared.left.set(0);
    all_end(&mut connections).await?;
    Ok(outcome(&shared, cpu, took))
}

/// Warms up, then measures for the plan's time: CPU time of the server and length of the window.
async fn window(
    plan: &Plan,
    shared: &Shared,
    connections: &mut JoinSet<Result<()>>,
) -> Result<(Duration, Duration)> {
    let mut wait = async |duration| {
        tokio::select! {
            () = tokio::time::sleep(duration) => Ok(()),
            Some(ended) = connections.join_next() => {
                ended??;
                bail!("a connection ended before the run did")
            }
        }
    };
    wait(WARM_UP).await?;
    let cpu = shared.clock.now()?;
    let started = Instant::now();
    shared.measuring.set(true);
    wait(Duration::from_secs_f64(plan.seconds)).await?;
    shared.measuring.set(false);
    let took = started.elapsed();
    Ok((shared.clock.now()? - cpu, took))
}

fn outcome(shared: &Shared, cpu: Duration, took: Duration) -> Outcome {
    let latency = shared.latency.borrow();
    let requests = latency.total();
    let each = |total: f64| {
        if requests == 0 {
            0.0
        } else {
            total / requests as f64
        }
    };
    Outcome {
        requests,
        seconds: took.as_secs_f64(),
        cpu: each(cpu.as_secs_f64() * 1e6),
        latency: latency.quantiles(),
        first_event: shared.first_event.borrow().quantiles(),
        events: each(shared.events.get() as f64),
        longest_work: shared.longest_work.get().as_secs_f64() * 1e6,
        peak_kib: 0,
        dropped: None,
    }
}

/// The requests that a connection sends in turn.
async fn requests_of(plan: &Plan) -> Result<Vec<Request>> {
    let target = Target {
        host: plan.address.to_string(),
        path: plan.path.clone(),
    };
    match plan.mode {
        Mode::Rest => Ok(vec![Request::send_rest(&target)]),
        Mode::Send | Mode::Grpc | Mode::Deliver | Mode::Answer => Ok(vec![Request::send(&target)]),
        Mode::Stream | Mode::Drop | Mode::Turns | Mode::DirectTurns | Mode::Chunks => {
            Ok(vec![Request::stream(&target)])
        }
        Mode::Get => {
            let mut sent = Vec::new();
            for _ in 0..TASKS_TO_GET {
                let task = create_task(plan.address, Request::send(&target)).await?;
                sent.push(Request::get(&target, &task));
            }
            Ok(sent)
        }
        Mode::Subscribe => {
            let task = create_task(plan.address, Request::send_and_leave(&target)).await?;
            Ok(vec![Request::subscribe(&target, &task)])
        }
    }
}

/// Sends a message and returns the id of the task it made.
async fn create_task(address: SocketAddr, mut request: Request) -> Result<String> {
    let mut stream = connect(address).await?;
    stream
        .write_all(request.with_id(request::first_id()))
        .await?;
    let mut reader = Reader::new();
    let answer = reader.answer(&mut stream).await?;
    let json: serde_json::Value = serde_json::from_slice(answer.body)?;
    let id = json["result"]["task"]["id"].as_str();
    Ok(id
        .with_context(|| format!("the answer holds no task: {json}"))?
        .to_owned())
}

async fn connect(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect(address).await;
    let stream = stream.with_context(|| format!("cannot connect to {address}"))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn ask_again_and_again(
    mut stream: TcpStream,
    mut requests: Vec<Request>,
    shared: Rc<Shared>,
    looks: bool,
) -> Result<()> {
    let mut reader = Reader::new();
    let kinds = requests.len();
    let mut turn = 0;
    while let Some(id) = shared.begin() {
        let bytes = requests[turn % kinds].with_id(id);
        turn += 1;
        let sent = Instant::now();
        stream.write_all(bytes).await?;
        let answer = reader.answer(&mut stream).await?;
        if shared.measuring.get() {
            let first = answer.first_byte - sent;
            shared.record(sent.elapsed(), first, response::events(answer.body));
            if looks {
                shared.look()?;
            }
        }
    }
    Ok(())
}

async fn all_end(connections: &mut JoinSet<Result<()>>) -> Result<()> {
    while let Some(ended) = connections.join_next().await {
        ended??;
    }
    Ok(())
}
