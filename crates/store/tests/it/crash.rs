//! A process that is killed while it writes loses nothing it acknowledged.
//!
//! The test runs itself again as a child that prints a line for every acknowledged write; the
//! parent reads the lines, kills the child and looks into the store.

use nuncio_store::{Created, Durability, Store, StoreOptions, open};
use nuncio_wire::TaskState;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use tempfile::tempdir;

use crate::postgres_server::Database;
use crate::samples::{append, artifact, new_task, status, try_read};

/// Names the store to the child.
const CHILD: &str = "NUNCIO_STORE_CRASH_CHILD";
/// Deaths of one run.
const KILLS: u64 = 12;
const WRITERS: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_loses_nothing_acknowledged_to_kill() {
    if let Ok(url) = std::env::var(CHILD) {
        return write_until_killed(&url).await;
    }
    let directory = tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("nuncio.db").display());
    nothing_is_lost("crash::sqlite_loses_nothing_acknowledged_to_kill", &url).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_loses_nothing_acknowledged_to_kill() {
    if let Ok(url) = std::env::var(CHILD) {
        return write_until_killed(&url).await;
    }
    let database = Database::new();
    let url = database.url();
    nothing_is_lost("crash::postgres_loses_nothing_acknowledged_to_kill", &url).await;
}

/// Kills a process that runs `test` over the store again and again.
async fn nothing_is_lost(test: &str, url: &str) {
    let mut acknowledged = HashMap::new();
    for round in 1..=KILLS {
        // Not always at the same point of a batch.
        kill_after(test, url, 40 + 37 * round as usize, &mut acknowledged);
        let store = open(url, &StoreOptions::default()).await.unwrap();
        assert_eq!(
            store.epoch(),
            round * 2,
            "child and parent each follow an unclean stop"
        );
        check(&*store, &acknowledged).await;
    }
    assert!(acknowledged.len() > 100);
}

/// Starts a child, reads some acknowledgements, kills it and reads the rest.
fn kill_after(test: &str, url: &str, lines: usize, acknowledged: &mut HashMap<String, u64>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, url)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut seen = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let mut words = line.split(' ');
        if words.next() != Some("acknowledged") {
            continue;
        }
        // The last line may be cut.
        if let (Some(id), Some(version), Some("end")) = (words.next(), words.next(), words.next()) {
            acknowledged.insert(id.to_owned(), version.parse().unwrap());
        }
        seen += 1;
        if seen == lines {
            child.kill().unwrap();
        }
    }
    assert!(!child.wait().unwrap().success());
    assert!(seen >= lines, "the child died by itself");
}

async fn check(store: &dyn Store, acknowledged: &HashMap<String, u64>) {
    for (id, version) in acknowledged {
        let task = try_read(store, id)
            .await
            .unwrap_or_else(|| panic!("{id} is lost"));
        assert!(
            task.version >= *version,
            "{id}: {} < {version}",
            task.version
        );
        let events = store.events(id, 0, 10).await.unwrap();
        assert_eq!(events.len() as u64, task.version - 1, "{id}");
        let artifacts = task.artifacts.unwrap().len() as u64;
        assert_eq!(artifacts, task.version.min(3) - 1, "{id}");
        let mut again = new_task("again");
        again.repeat = new_task(id).repeat;
        again.repeat.key = Some(id.clone());
        let created = store.create_task(again).await.unwrap();
        assert_eq!(created, Created::Repeated(id.clone()), "the key is lost");
    }
}

/// Writes tasks and prints what was acknowledged, until the parent ends it.
async fn write_until_killed(url: &str) {
    let store = open(url, &StoreOptions::default()).await.unwrap();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| tokio::spawn(write(Arc::clone(&store), writer)))
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
}

async fn write(store: Arc<dyn Store>, writer: usize) {
    for number in 0.. {
        let id = format!("{}-{writer}-{number}", std::process::id());
        let mut new = new_task(&id);
        new.repeat.key = Some(id.clone());
        store.create_task(new).await.unwrap();
        acknowledge(&id, 1);
        for version in [1, 2] {
            let mut chunk = append(&id, version, vec![artifact(&id, "a", version > 1, "x")]);
            chunk.durability = Durability::Committed;
            acknowledge(&id, store.append(chunk).await.unwrap());
        }
        let end = status(&id, TaskState::Completed, number);
        acknowledge(&id, store.append(append(&id, 3, vec![end])).await.unwrap());
    }
}

fn acknowledge(id: &str, version: u64) {
    let line = format!("acknowledged {id} {version} end\n");
    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
}
