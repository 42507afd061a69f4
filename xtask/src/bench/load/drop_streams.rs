//! Streams that are opened and dropped unread, in waves, and what the server holds before and
//! after: memory and file descriptors. A server that forgets a dropped stream shows it here.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;

use super::request::Request;
use super::response::Reader;
use super::{Outcome, Plan, Shared, connect, outcome, requests_of};
use crate::bench::latency::Histogram;
use crate::bench::process_facts;

/// Streams that are open at once in `drop`: with the server's end in one process' default limit of
/// 1,024 file descriptors.
const OPEN_AT_ONCE: u64 = 500;
/// Streams before the first look at what the server holds: more tasks than its store keeps, and
/// several full waves.
const SETTLING_STREAMS: u64 = 2_000;
/// A server has this long to notice that its callers are gone.
const SETTLE: Duration = Duration::from_secs(3);

/// What a server holds before and after streams were opened and dropped.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Dropped {
    /// After as many streams as settle its pools.
    pub before: Held,
    /// Most memory seen while a wave was open, in KiB.
    pub peak_kib: u64,
    /// Some seconds after the last stream was dropped.
    pub after: Held,
}

/// Memory and open files of a process.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Held {
    /// Resident memory in KiB.
    pub memory_kib: u64,
    /// Number of file descriptors.
    pub files: usize,
}

impl Held {
    /// What the process holds once it had time to notice that its callers are gone.
    async fn of(process: u32) -> Result<Self> {
        tokio::time::sleep(SETTLE).await;
        let memory_kib = process_facts::memory_kib(process)?;
        Ok(Self {
            memory_kib,
            files: process_facts::open_files(process)?,
        })
    }
}

/// Opens streams and drops them, and compares what the server holds before and after.
pub(super) async fn open_and_drop(plan: &Plan) -> Result<Outcome> {
    let request = requests_of(plan).await?.remove(0);
    let shared = Shared::new(plan, SETTLING_STREAMS + plan.requests)?;
    drop_waves(plan, &request, &shared, SETTLING_STREAMS).await?;
    let before = Held::of(plan.process).await?;
    *shared.latency.borrow_mut() = Histogram::default();
    let cpu = shared.clock.now()?;
    let started = Instant::now();
    let peak_kib = drop_waves(plan, &request, &shared, plan.requests).await?;
    let took = started.elapsed();
    let cpu = shared.clock.now()? - cpu;
    let dropped = Dropped {
        before,
        peak_kib,
        after: Held::of(plan.process).await?,
    };
    Ok(Outcome {
        dropped: Some(dropped),
        ..outcome(&shared, cpu, took)
    })
}

/// Opens streams in waves and drops each wave at once; returns the most memory seen, in KiB.
async fn drop_waves(plan: &Plan, request: &Request, shared: &Shared, streams: u64) -> Result<u64> {
    let mut peak = 0;
    let mut opened = Vec::new();
    for number in 1..=streams {
        let Some(id) = shared.begin() else { break };
        let mut request = request.clone();
        let sent = Instant::now();
        let mut stream = connect(plan.address).await?;
        stream.write_all(request.with_id(id)).await?;
        Reader::new().first_event(&mut stream).await?;
        shared
            .latency
            .borrow_mut()
            .record(sent.elapsed().as_nanos() as u64);
        opened.push(stream);
        if number % OPEN_AT_ONCE == 0 || number == streams {
            peak = peak.max(process_facts::memory_kib(plan.process)?);
            opened.clear();
        }
    }
    Ok(peak)
}
