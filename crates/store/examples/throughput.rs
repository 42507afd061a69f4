//! Measures every store: pairs of create and append (artifact, status) per second with 64 tasks at
//! once, the latency of one writer alone, a read's round trip, bytes per task.
//!
//! `cargo run --release -p nuncio-store --example throughput [DIRECTORY [memory|sqlite|postgres://…]]`;
//! the SQLite file is made in DIRECTORY (default: the working directory), whose disk decides the
//! figures. PostgreSQL is measured when its URL is given, in a database that may be filled.

#![allow(clippy::print_stdout)] // an example speaks to the terminal

use bytes::Bytes;
use nuncio_store::{
    Append, Change, Durability, Include, MemoryOptions, MemoryStore, NewTask, PostgresOptions,
    PostgresStore, Repeat, SqliteOptions, SqliteStore, Store, StoreError, Visibility,
};
use nuncio_wire::TaskState;
use nuncio_wire::dialects::Dialect;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const AT_ONCE: usize = 64;

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), StoreError> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| ".".to_owned());
    let only = arguments.next();
    match only.as_deref() {
        Some("memory") => memory().await,
        Some("sqlite") => sqlite(Path::new(&directory)).await,
        Some(url) => postgres(url).await,
        None => {
            memory().await?;
            sqlite(Path::new(&directory)).await
        }
    }
}

async fn postgres(url: &str) -> Result<(), StoreError> {
    let options = PostgresOptions {
        url: url.to_owned(),
        ..PostgresOptions::default()
    };
    let store = Arc::new(PostgresStore::open(options).await?);
    measure("postgres", &store, 50_000, 1000).await?;
    store.close().await
}

async fn memory() -> Result<(), StoreError> {
    let store = Arc::new(MemoryStore::new(MemoryOptions { max_tasks: 10_000 }));
    measure("memory, full", &store, 1_000_000, 5000).await?;
    drop(store);
    let before = resident_kib();
    let store = Arc::new(MemoryStore::new(MemoryOptions {
        max_tasks: usize::MAX,
    }));
    measure("memory, growing", &store, 1_000_000, 20_000).await?;
    let held = (resident_kib() - before) * 1024;
    println!("memory: {} bytes of RSS per task", held / 1_020_000);
    Ok(())
}

async fn sqlite(directory: &Path) -> Result<(), StoreError> {
    let file = directory.join(format!("throughput-{}.db", std::process::id()));
    let store = Arc::new(SqliteStore::open(&file, SqliteOptions::default())?);
    measure("sqlite", &store, 100_000, 1000).await?;
    store.close().await?;
    let size = fs::metadata(&file)
        .map(|data| data.len())
        .unwrap_or_default();
    println!("sqlite: {} bytes of file per task", size / 101_000);
    for end in ["", "-wal", "-shm", ".lock"] {
        // Some are gone already.
        let _ = fs::remove_file(format!("{}{end}", file.display()));
    }
    Ok(())
}

async fn measure<S: Store>(
    name: &str,
    store: &Arc<S>,
    pairs: usize,
    alone: usize,
) -> Result<(), StoreError> {
    let number = Arc::new(AtomicU64::new(0));
    let slowest = Arc::new(AtomicU64::new(0));
    let start = (Instant::now(), processor_time());
    let writers: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (store, number, slowest) =
                (Arc::clone(store), Arc::clone(&number), Arc::clone(&slowest));
            tokio::spawn(async move {
                for _ in 0..pairs / AT_ONCE {
                    let begun = Instant::now();
                    pair(&*store, &id(number.fetch_add(1, Relaxed))).await?;
                    slowest.fetch_max(begun.elapsed().as_micros() as u64, Relaxed);
                }
                Ok::<_, StoreError>(())
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("a writer does not panic")?;
    }
    let (wall, processor) = (start.0.elapsed(), processor_time() - start.1);
    println!(
        "{name}: {:.0} pairs/s with {AT_ONCE} at once, {:.2} µs of processor each, slowest {} µs",
        pairs as f64 / wall.as_secs_f64(),
        processor.as_secs_f64() * 1e6 / pairs as f64,
        slowest.load(Relaxed),
    );

    let mut times = Vec::with_capacity(alone);
    for _ in 0..alone {
        let begun = Instant::now();
        pair(store.as_ref(), &id(number.fetch_add(1, Relaxed))).await?;
        times.push(begun.elapsed());
    }
    println!("{name}: one writer, a pair: {}", percentiles(times));
    let made = number.load(Relaxed);
    read_back(name, "of the last", store, made - 1..made).await?;
    read_back(name, "of the last 9000", store, made - 9000..made).await?;
    if !name.starts_with("memory") {
        read_back(name, "of all", store, 0..made).await?;
    }
    Ok(())
}

async fn read_back<S: Store>(
    name: &str,
    which: &str,
    store: &Arc<S>,
    tasks: Range<u64>,
) -> Result<(), StoreError> {
    let visible = Visibility {
        agent: Some("echo".into()),
        owner: Some("peer:alice".into()),
    };
    let mut times = Vec::new();
    for number in 0..5000 {
        let id = id(tasks.start + number * 7919 % (tasks.end - tasks.start));
        let begun = Instant::now();
        let task = store.task(&id, &visible, Include::ALL).await?;
        times.push(begun.elapsed());
        assert!(
            task.is_some_and(|task| task.version == 3),
            "every task is there"
        );
    }
    println!("{name}: a task read {which}: {}", percentiles(times));
    Ok(())
}

fn percentiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() * share / 1000).min(times.len() - 1)];
    format!("p50 {:?}, p99 {:?}, most {:?}", at(500), at(990), at(1000))
}

/// What an echo does to the store.
async fn pair<S: Store>(store: &S, id: &Arc<str>) -> Result<(), StoreError> {
    let context: Arc<str> = id.replace('-', "_").into();
    store.create_task(task(id, &context)).await?;
    let changes = vec![artifact(id, &context), status(id, &context)];
    let durability = Durability::Synced;
    let task = Arc::clone(id);
    store
        .append(Append {
            task,
            version: 1,
            lease_epoch: 0,
            changes,
            durability,
        })
        .await?;
    Ok(())
}

fn task(id: &Arc<str>, context: &Arc<str>) -> NewTask {
    thread_local! {
        static NAMES: (Arc<str>, Arc<str>) = ("echo".into(), "peer:alice".into());
    }
    let (agent, owner) = NAMES.with(Clone::clone);
    let message = format!(
        r#"{{"messageId":"{id}","contextId":"{context}","taskId":"{id}","role":"ROLE_USER","parts":[{{"text":"hello"}}]}}"#
    );
    let status = r#"{"state":"TASK_STATE_SUBMITTED","timestamp":"2026-01-01T00:00:00.000Z"}"#;
    NewTask {
        id: Arc::clone(id),
        agent,
        owner,
        context_id: Arc::clone(context),
        dialect: Dialect::V1,
        alias: None,
        alias_is_unique: false,
        state: TaskState::Submitted,
        status: Bytes::from_static(status.as_bytes()),
        status_millis: 0,
        message: exact(message),
        metadata: None,
        repeat: Repeat {
            key: None,
            key_expires_millis: 0,
            message_id: id.to_string(),
            payload_hash: [7; 32],
        },
        push_config: None,
    }
}

fn artifact(id: &str, context: &str) -> Change {
    let artifact = format!(r#"{{"artifactId":"{context}","parts":[{{"text":"hello"}}]}}"#);
    let event = format!(
        r#"{{"artifactUpdate":{{"taskId":"{id}","contextId":"{context}","artifact":{artifact}}}}}"#
    );
    let end = event.len() - 2;
    Change::Artifact {
        artifact_id: context.into(),
        append: false,
        event: exact(event),
        artifact: end - artifact.len()..end,
    }
}

fn status(id: &str, context: &str) -> Change {
    let status = r#"{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-01T00:00:00.000Z"}"#;
    let event = format!(
        r#"{{"statusUpdate":{{"taskId":"{id}","contextId":"{context}","status":{status}}}}}"#
    );
    let end = event.len() - 2;
    Change::Status {
        state: TaskState::Completed,
        event: exact(event),
        status: end - status.len()..end,
        millis: 1,
    }
}

fn exact(json: String) -> Bytes {
    json.into_bytes().into_boxed_slice().into()
}

/// Ids that rise with time, as the gateway makes them.
fn id(number: u64) -> Arc<str> {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!(
        "{:08x}-{:04x}-7000-8000-{:012x}",
        number >> 16,
        number & 0xffff,
        mixed >> 16
    )
    .into()
}

fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse().ok())
        .unwrap_or_default()
}

/// Processor time of the whole process, from `/proc` in ticks of 10 ms.
fn processor_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name
        .split(' ')
        .skip(12)
        .take(2)
        .filter_map(|text| text.parse::<u64>().ok());
    Duration::from_millis(ticks.sum::<u64>() * 10)
}
