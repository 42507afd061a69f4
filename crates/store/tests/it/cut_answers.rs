//! Answers of PostgreSQL that get lost: what the server has committed is recognised, once.
//!
//! A proxy stands between store and server. Told to, it lets the next request through, waits for
//! the server's answer, drops that and cuts the connection.

use nuncio_store::{Created, Durability, PostgresOptions, PostgresStore, Store};
use nuncio_wire::TaskState;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

use crate::postgres_server::{Database, Server};
use crate::samples::{append, artifact, list, message, new_task, read, status};

/// Name of the socket that a client looks for in the server's directory.
const SOCKET: &str = ".s.PGSQL.5432";

/// A proxy for one database, and the store behind it.
struct Rig {
    store: PostgresStore,
    cut: Arc<AtomicBool>,
    _folder: tempfile::TempDir,
    _database: Database,
}

impl Rig {
    async fn start() -> Self {
        let database = Database::new();
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let cut = Arc::new(AtomicBool::new(false));
        let server = Server::shared().directory().join(SOCKET);
        tokio::spawn(serve(listener, server, Arc::clone(&cut)));
        let host = |folder: &Path| format!("host={}", folder.display());
        let url = database
            .url()
            .replace(&host(Server::shared().directory()), &host(folder.path()));
        let options = PostgresOptions {
            url,
            ..PostgresOptions::default()
        };
        Self {
            store: PostgresStore::open(options).await.unwrap(),
            cut,
            _folder: folder,
            _database: database,
        }
    }

    /// The next answer is lost.
    fn cut(&self) {
        self.cut.store(true, SeqCst);
    }

    fn was_cut(&self) -> bool {
        !self.cut.load(SeqCst)
    }
}

async fn serve(listener: UnixListener, server: PathBuf, cut: Arc<AtomicBool>) {
    while let Ok((client, _)) = listener.accept().await {
        let to_server = UnixStream::connect(&server).await.unwrap();
        tokio::spawn(carry(client, to_server, Arc::clone(&cut)));
    }
}

async fn carry(client: UnixStream, server: UnixStream, cut: Arc<AtomicBool>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let requests = tokio::spawn(async move {
        // Ends with either side; then there is nobody to tell.
        let _ = tokio::io::copy(&mut from_client, &mut to_server).await;
    });
    let mut buffer = vec![0; 64 * 1024];
    let mut dropped = false;
    while let Ok(length @ 1..) = from_server.read(&mut buffer).await {
        dropped |= cut.swap(false, SeqCst);
        if !dropped {
            if to_client.write_all(&buffer[..length]).await.is_err() {
                break;
            }
            continue;
        }
        // Until the server is ready for more, and so has committed: `Z`, length 5, `I` (idle).
        if buffer[..length].ends_with(b"Z\0\0\0\x05I") {
            break;
        }
    }
    requests.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_was_made_is_made_once() {
    let rig = Rig::start().await;
    rig.cut();
    assert_eq!(
        rig.store.create_task(new_task("t1")).await,
        Ok(Created::New)
    );
    assert!(rig.was_cut());
    assert_eq!(rig.store.list_tasks(list(9)).await.unwrap().total, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_was_taken_is_taken_once() {
    let rig = Rig::start().await;
    rig.store.create_task(new_task("t1")).await.unwrap();
    rig.cut();
    let chunk = append("t1", 1, vec![artifact("t1", "a", false, "x")]);
    assert_eq!(rig.store.append(chunk).await, Ok(2));
    assert!(rig.was_cut());
    rig.cut();
    let said = append("t1", 2, vec![message("more")]);
    assert_eq!(rig.store.append(said).await, Ok(2));
    assert!(rig.was_cut());
    rig.cut();
    let end = append("t1", 2, vec![status("t1", TaskState::Completed, 5)]);
    assert_eq!(rig.store.append(end).await, Ok(3));
    assert!(rig.was_cut());
    let task = read(&rig.store, "t1").await;
    assert_eq!((task.version, task.history.len()), (3, 2));
    assert_eq!(rig.store.events("t1", 0, 9).await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chunk_that_needs_no_sync_is_taken_once() {
    let rig = Rig::start().await;
    rig.store.create_task(new_task("t1")).await.unwrap();
    rig.cut();
    let mut chunk = append("t1", 1, vec![artifact("t1", "a", false, "x")]);
    chunk.durability = Durability::Committed;
    assert_eq!(rig.store.append(chunk).await, Ok(2));
    assert!(rig.was_cut());
    assert_eq!(rig.store.events("t1", 0, 9).await.unwrap().len(), 1);
}
