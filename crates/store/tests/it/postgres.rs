//! What only a server can break.

use nuncio_store::{Created, Durability, PostgresOptions, PostgresStore, Store, StoreError};
use nuncio_wire::TaskState;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use crate::postgres_server::{Database, GUARDED_ROLE, PASSWORD, Server};
use crate::samples::{append, artifact, finished, list, new_task, read, status};

fn options(url: &str) -> PostgresOptions {
    PostgresOptions {
        url: url.to_owned(),
        ..PostgresOptions::default()
    }
}

async fn opened(database: &Database) -> PostgresStore {
    PostgresStore::open(options(&database.url())).await.unwrap()
}

/// The text with which a store is not opened.
async fn refused(options: PostgresOptions) -> String {
    match PostgresStore::open(options).await {
        Err(StoreError::Open(text)) => {
            assert!(
                !text.contains(PASSWORD) && !text.contains("hunter2"),
                "{text}"
            );
            text
        }
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("the store was opened"),
    }
}

#[tokio::test]
async fn a_refusal_says_what_to_do_and_shows_no_password() {
    let database = Database::new();
    let url = database.url_of(GUARDED_ROLE);
    let with_password = |password: &str| PostgresOptions {
        password: Some(password.to_owned()),
        ..options(&url)
    };
    let text = refused(options(&url)).await;
    assert!(
        text.contains("set `password` in [store] to `env:NAME`"),
        "{text}"
    );
    let text = refused(with_password("hunter2")).await;
    assert!(
        text.contains("the password of guarded is another one"),
        "{text}"
    );
    let text = refused(with_password(PASSWORD)).await;
    let grant = format!("GRANT CREATE ON DATABASE {} TO guarded", database.name());
    assert!(text.contains(&grant), "{text}");

    let missing = database.url().replace("/test_", "/gone_");
    let text = refused(options(&missing)).await;
    assert!(
        text.contains("createdb -T template0 -E UTF8 -O nuncio gone_"),
        "{text}"
    );

    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let text = refused(options(&format!("postgres://u:hunter2@{free}/d"))).await;
    assert!(text.contains(&format!("postgres://u@{free}/d: ")), "{text}");
    assert!(text.contains("see that the server runs"), "{text}");
    for wrong in [
        "postgres://u:hunter2@h:x/d",
        "postgres://u@h/d?sslmode=verify-ca",
        "postgres://u@h/d?sslmode=require&sslrootcert=ca.pem",
        "postgres://u@/d?host=/tmp&sslmode=require",
    ] {
        assert!(refused(options(wrong)).await.contains("[store] url"));
    }
}

#[tokio::test]
async fn a_role_with_its_password_and_rights_gets_in() {
    let database = Database::new();
    let server = Server::shared();
    let grant = format!("GRANT CREATE ON DATABASE {} TO guarded", database.name());
    server.psql(database.name(), &grant);
    let store = PostgresStore::open(PostgresOptions {
        password: Some(PASSWORD.to_owned()),
        ..options(&database.url_of(GUARDED_ROLE))
    });
    finished(&store.await.unwrap(), "t1", 5).await;
}

#[tokio::test]
async fn what_is_no_store_is_refused_and_left_alone() {
    let server = Server::shared();
    let foreign = Database::new();
    server.psql(
        foreign.name(),
        "CREATE SCHEMA nuncio; CREATE TABLE nuncio.notes (text text)",
    );
    let text = refused(options(&foreign.url())).await;
    assert!(text.contains("belongs to another program"), "{text}");
    assert_eq!(
        server.psql(foreign.name(), "SELECT count(*) FROM nuncio.notes"),
        "0"
    );

    let newer = Database::new();
    opened(&newer).await.close().await.unwrap();
    server.psql(
        newer.name(),
        "INSERT INTO nuncio.schema_version VALUES (999)",
    );
    let text = refused(options(&newer.url())).await;
    assert!(
        text.contains("written by a newer nuncio (schema 999"),
        "{text}"
    );

    let latin = Database::new();
    let name = latin.name();
    server.psql("postgres", &format!("DROP DATABASE {name}"));
    let make = format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1'");
    server.psql("postgres", &make);
    let text = refused(options(&latin.url())).await;
    assert!(text.contains("keeps text as LATIN1"), "{text}");
}

#[tokio::test]
async fn one_gateway_at_a_time_and_a_new_epoch_after_an_unclean_stop() {
    let database = Database::new();
    let store = opened(&database).await;
    assert_eq!(store.epoch(), 1);
    let text = refused(options(&database.url())).await;
    assert!(
        text.contains("in use by another nuncio (server process "),
        "{text}"
    );
    assert!(text.contains("stop that one"), "{text}");
    finished(&store, "t1", 5).await;
    store.close().await.unwrap();
    let closed = store.create_task(new_task("t2")).await;
    assert!(
        matches!(closed, Err(StoreError::Unavailable(_))),
        "{closed:?}"
    );
    let closed = store.events("t1", 0, 1).await;
    assert!(
        matches!(closed, Err(StoreError::Unavailable(_))),
        "{closed:?}"
    );
    let store = opened(&database).await;
    assert_eq!((store.epoch(), read(&store, "t1").await.version), (1, 2));
    drop(store);
    let store = opened(&database).await;
    assert_eq!((store.epoch(), read(&store, "t1").await.version), (2, 2));
}

#[tokio::test]
async fn a_gateway_that_was_replaced_writes_nothing_more() {
    let database = Database::new();
    let first = opened(&database).await;
    first.create_task(new_task("t1")).await.unwrap();
    end_sessions(&database);
    let second = opened(&database).await;
    assert_eq!(second.epoch(), 2);
    let late = first.create_task(new_task("t2")).await;
    assert!(
        matches!(&late, Err(StoreError::Unavailable(text)) if text.contains("lock")),
        "{late:?}"
    );
    second.close().await.unwrap();
    let late = first.create_task(new_task("t3")).await;
    assert!(
        matches!(&late, Err(StoreError::Damaged(text)) if text.contains("taken")),
        "{late:?}"
    );
    let store = opened(&database).await;
    assert_eq!(store.list_tasks(list(9)).await.unwrap().total, 1);
}

/// Ends every session of stores in this database.
fn end_sessions(database: &Database) {
    let end = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE application_name = 'nuncio' AND datname = '{}'",
        database.name()
    );
    Server::shared().psql("postgres", &end);
}

/// Writers of tasks that try again what failed, as the gateway does, until they are told to stop.
struct Writers {
    stop: Arc<AtomicBool>,
    writers: Vec<tokio::task::JoinHandle<u64>>,
    /// Changes acknowledged so far.
    done: Arc<AtomicU64>,
}

/// What every task gets: three chunks and an end.
const CHANGES: u64 = 4;

impl Writers {
    fn start(store: &Arc<PostgresStore>) -> Self {
        let (stop, done) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let writers = (0..8)
            .map(|writer| {
                let (store, stop, done) = (Arc::clone(store), Arc::clone(&stop), Arc::clone(&done));
                tokio::spawn(async move {
                    let mut number = 0;
                    while !stop.load(SeqCst) {
                        write(&store, &format!("{writer}-{number}"), &done).await;
                        number += 1;
                    }
                    number
                })
            })
            .collect();
        Self {
            stop,
            writers,
            done,
        }
    }

    /// Waits until so many changes more were acknowledged.
    async fn go_on(&self, more: u64) {
        let until = self.done.load(SeqCst) + more;
        let started = Instant::now();
        while self.done.load(SeqCst) < until {
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "the writers hang"
            );
            tokio::task::yield_now().await;
        }
    }

    /// Stops and checks that everything acknowledged is there, once.
    async fn check(self, store: &PostgresStore) {
        self.stop.store(true, SeqCst);
        let mut tasks = 0;
        for (writer, handle) in self.writers.into_iter().enumerate() {
            for number in 0..handle.await.unwrap() {
                let id = format!("{writer}-{number}");
                let task = read(store, &id).await;
                assert_eq!(
                    (task.version, task.state),
                    (1 + CHANGES, TaskState::Completed)
                );
                assert_eq!(task.artifacts.unwrap().len() as u64, CHANGES - 1, "{id}");
                let events = store.events(&id, 0, 100).await.unwrap();
                assert_eq!(events.len() as u64, CHANGES, "{id}");
                for (event, text) in events.iter().zip(["one", "two", "three"]) {
                    let payload = String::from_utf8_lossy(&event.payload);
                    assert!(payload.contains(text), "{id}: {payload}");
                }
                tasks += 1;
            }
        }
        assert_eq!(store.list_tasks(list(1)).await.unwrap().total, tasks);
        assert!(tasks > 20, "{tasks}");
    }
}

async fn write(store: &PostgresStore, id: &str, done: &AtomicU64) {
    loop {
        match store.create_task(new_task(id)).await {
            // A try of which nobody was told may have made it.
            Ok(Created::New | Created::Repeated(_)) => break,
            Err(StoreError::Unavailable(_)) => {}
            Err(other) => panic!("{id}: {other:?}"),
        }
    }
    let chunks = ["one", "two", "three"];
    for (version, text) in (1..).zip(chunks) {
        let mut chunk = append(id, version, vec![artifact(id, "a", version > 1, text)]);
        chunk.durability = Durability::Committed;
        change(store, chunk).await;
        done.fetch_add(1, SeqCst);
    }
    change(
        store,
        append(id, CHANGES, vec![status(id, TaskState::Completed, 5)]),
    )
    .await;
    done.fetch_add(1, SeqCst);
}

async fn change(store: &PostgresStore, change: nuncio_store::Append) {
    let next = change.version + 1;
    loop {
        match store.append(change.clone()).await {
            Ok(version) => return assert_eq!(version, next),
            Err(StoreError::Unavailable(_)) => {}
            Err(other) => panic!("{}: {other:?}", change.task),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_end_while_writing_lose_and_double_nothing() {
    let database = Database::new();
    let store = Arc::new(opened(&database).await);
    let writers = Writers::start(&store);
    for round in 0..30 {
        writers.go_on(5 + round % 7).await;
        end_sessions(&database);
    }
    writers.check(&store).await;
    assert_eq!(store.epoch(), 1);
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stops_or_crashes_while_writing_loses_and_doubles_nothing() {
    let server = Server::own();
    let database = Database::on(&server);
    let store = Arc::new(opened(&database).await);
    let writers = Writers::start(&store);
    for mode in ["fast", "immediate", "immediate", "fast", "immediate"] {
        writers.go_on(50).await;
        server.stop(mode);
        server.start();
    }
    writers.go_on(50).await;
    writers.check(&store).await;
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_server_is_away_calls_fail_in_time_and_then_work_again() {
    let server = Server::own();
    let database = Database::on(&server);
    let store = opened(&database).await;
    store.create_task(new_task("t1")).await.unwrap();
    server.stop("fast");
    let started = Instant::now();
    let (made, changed, read_back) = tokio::join!(
        store.create_task(new_task("t2")),
        store.append(append("t1", 1, vec![status("t1", TaskState::Completed, 5)])),
        store.events("t1", 0, 9),
    );
    assert!(
        started.elapsed() < Duration::from_secs(15),
        "{:?}",
        started.elapsed()
    );
    for error in [made.err(), changed.err(), read_back.err()] {
        assert!(
            matches!(error, Some(StoreError::Unavailable(_))),
            "{error:?}"
        );
    }
    server.start();
    assert_eq!(read(&store, "t1").await.version, 1);
    let change = append("t1", 1, vec![status("t1", TaskState::Completed, 5)]);
    assert_eq!(store.append(change).await.unwrap(), 2);
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_readers_than_connections_wait_for_each_other() {
    let database = Database::new();
    let store = PostgresStore::open(PostgresOptions {
        readers: 1,
        ..options(&database.url())
    });
    let store = Arc::new(store.await.unwrap());
    finished(&*store, "t1", 5).await;
    let readers: Vec<_> = (0..500)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { read(&*store, "t1").await.version })
        })
        .collect();
    for reader in readers {
        assert_eq!(reader.await.unwrap(), 2);
    }
}
