//! What only a file can break.

use nuncio_store::{Created, SqliteOptions, SqliteStore, Store, StoreError, StoreOptions, open};
use nuncio_wire::TaskState;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::tempdir;

use crate::samples::{append, artifact, finished, list, message, new_task, read, status, try_read};
use crate::stores::quick_directory;

fn opened(path: &Path) -> SqliteStore {
    SqliteStore::open(path, SqliteOptions::default()).unwrap()
}

fn refused(path: &Path) -> String {
    match SqliteStore::open(path, SqliteOptions::default()) {
        Err(StoreError::Open(text)) => text,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("{} was opened", path.display()),
    }
}

#[tokio::test]
async fn a_clean_stop_keeps_everything_and_the_epoch() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("nuncio.db");
    let store = opened(&path);
    assert_eq!(store.epoch(), 1);
    let mut new = new_task("t1");
    new.alias = Some("alias".to_owned());
    new.repeat.key = Some("key".to_owned());
    store.create_task(new.clone()).await.unwrap();
    let changes = vec![
        artifact("t1", "a", false, "x"),
        message("m"),
        status("t1", TaskState::Working, 7),
    ];
    store.append(append("t1", 1, changes)).await.unwrap();
    let before = read(&store, "t1").await;
    let events = store.events("t1", 0, 9).await.unwrap();
    store.close().await.unwrap();
    let closed = store.create_task(new_task("t2")).await;
    assert!(
        matches!(closed, Err(StoreError::Unavailable(_))),
        "{closed:?}"
    );
    drop(store);

    let store = opened(&path);
    assert_eq!(store.epoch(), 1);
    assert_eq!(
        format!("{:?}", read(&store, "t1").await),
        format!("{before:?}")
    );
    assert_eq!(store.events("t1", 0, 9).await.unwrap(), events);
    assert_eq!(store.unfinished_tasks().await.unwrap().len(), 1);
    new.id = "t3".into();
    assert_eq!(
        store.create_task(new).await.unwrap(),
        Created::Repeated("t1".to_owned())
    );
    let changes = vec![
        artifact("t1", "a", true, "y"),
        status("t1", TaskState::Completed, 8),
    ];
    assert_eq!(store.append(append("t1", 3, changes)).await.unwrap(), 5);
}

#[tokio::test]
async fn an_unclean_stop_raises_the_epoch_once() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("nuncio.db");
    let store = opened(&path);
    finished(&store, "t1", 5).await;
    drop(store);
    let store = opened(&path);
    assert_eq!(store.epoch(), 2);
    assert_eq!(read(&store, "t1").await.version, 2);
    store.close().await.unwrap();
    drop(store);
    assert_eq!(opened(&path).epoch(), 2);
    assert_eq!(opened(&path).epoch(), 3);
}

#[test]
fn a_second_opener_is_refused_until_the_first_is_gone() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("nuncio.db");
    let first = opened(&path);
    let text = refused(&path);
    assert!(text.contains(path.to_str().unwrap()), "{text}");
    assert!(
        text.contains("in use by another nuncio; stop that one"),
        "{text}"
    );
    drop(first);
    opened(&path);
}

#[test]
fn the_file_is_private_and_its_directory_is_made() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("new/deeper/nuncio.db");
    let _store = opened(&path);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    for file in ["nuncio.db", "nuncio.db-wal", "nuncio.db.lock"] {
        assert_eq!(mode(&path.with_file_name(file)), 0o600, "{file}");
    }
}

#[test]
fn what_is_no_store_is_refused_and_left_alone() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("text"), "these are notes and no database ".repeat(50)).unwrap();
    let text = refused(&at("text"));
    assert!(text.contains("no SQLite database; move it away"), "{text}");
    assert!(
        fs::read_to_string(at("text"))
            .unwrap()
            .starts_with("these are notes")
    );

    fs::create_dir(at("folder")).unwrap();
    assert!(refused(&at("folder")).contains("it is a directory"));
    assert!(refused(&at("text/nuncio.db")).contains("part of the path is a file"));

    let foreign = rusqlite::Connection::open(at("foreign")).unwrap();
    foreign
        .execute_batch("CREATE TABLE notes (text TEXT)")
        .unwrap();
    drop(foreign);
    assert!(refused(&at("foreign")).contains("database of another program"));
}

#[test]
fn a_newer_schema_is_refused() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("nuncio.db");
    drop(opened(&path));
    let newer = rusqlite::Connection::open(&path).unwrap();
    newer.pragma_update(None, "user_version", 999).unwrap();
    drop(newer);
    let text = refused(&path);
    assert!(
        text.contains("written by a newer nuncio (schema 999"),
        "{text}"
    );
}

#[tokio::test]
async fn damage_is_noticed_after_an_unclean_stop() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("nuncio.db");
    let store = opened(&path);
    for number in 0..200 {
        finished(&store, &format!("t{number}"), number).await;
    }
    store.close().await.unwrap();
    drop(store);
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[8192..end].fill(0xa5);
    fs::write(&path, &bytes).unwrap();
    let text = refused(&path);
    assert!(text.contains("damaged"), "{text}");
    assert!(text.contains("restore a backup"), "{text}");
    assert_eq!(
        fs::read(&path).unwrap().len(),
        end,
        "nothing is deleted by itself"
    );
}

#[tokio::test]
async fn a_full_disk_refuses_loses_nothing_and_recovers() {
    let directory = quick_directory();
    let path = directory.path().join("nuncio.db");
    let options = SqliteOptions {
        max_bytes: Some(1024 * 1024),
        max_finished_tasks: 0,
        ..SqliteOptions::default()
    };
    let store = SqliteStore::open(&path, options).unwrap();
    let mut kept = Vec::new();
    let error = loop {
        let id = format!("t{}", kept.len());
        let mut new = new_task(&id);
        new.message = vec![b'x'; 8000].into();
        match store.create_task(new).await {
            Ok(_) => kept.push(id),
            Err(error) => break error,
        }
    };
    assert!(
        matches!(&error, StoreError::Unavailable(text) if text.contains("full")),
        "{error}"
    );
    assert!(kept.len() > 50);
    assert_eq!(
        store.list_tasks(list(1)).await.unwrap().total,
        kept.len() as u64
    );
    assert!(
        try_read(&store, &format!("t{}", kept.len()))
            .await
            .is_none()
    );
    for id in &kept {
        let end = status(id, TaskState::Completed, 5);
        // Ending a task may need a page more than there is.
        let _ = store.append(append(id, 1, vec![end])).await;
    }
    while store.enforce_retention().await.unwrap() > 0 {}
    store.create_task(new_task("again")).await.unwrap();
    assert_eq!(read(&store, "again").await.version, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tasks_write_at_once() {
    let directory = quick_directory();
    let store = std::sync::Arc::new(opened(&directory.path().join("nuncio.db")));
    let writers: Vec<_> = (0..64)
        .map(|writer| {
            let store = std::sync::Arc::clone(&store);
            tokio::spawn(async move {
                for number in 0..20 {
                    let id = format!("{writer}-{number}");
                    store.create_task(new_task(&id)).await.unwrap();
                    let work = vec![
                        artifact(&id, "a", false, "x"),
                        artifact(&id, "a", true, "y"),
                    ];
                    store.append(append(&id, 1, work)).await.unwrap();
                    let end = status(&id, TaskState::Completed, number);
                    store.append(append(&id, 3, vec![end])).await.unwrap();
                    let task = read(&*store, &id).await;
                    assert_eq!((task.version, task.state), (4, TaskState::Completed));
                    assert_eq!(store.events(&id, 2, 9).await.unwrap().len(), 2);
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(store.list_tasks(list(1)).await.unwrap().total, 64 * 20);
}

#[tokio::test]
async fn a_setting_names_the_store() {
    let directory = tempdir().unwrap();
    let options = StoreOptions {
        directory: directory.path().to_owned(),
        ..StoreOptions::default()
    };
    finished(&*open("memory:", &options).await.unwrap(), "t1", 5).await;
    let store = open("sqlite:sub/nuncio.db", &options).await.unwrap();
    finished(&*store, "t1", 5).await;
    drop(store);
    assert!(directory.path().join("sub/nuncio.db").is_file());
    let absolute = format!(
        "sqlite://{}",
        directory.path().join("sub/nuncio.db").display()
    );
    let store = open(&absolute, &options).await.unwrap();
    assert_eq!(read(&*store, "t1").await.version, 2);
    for wrong in [
        "",
        "memory",
        "sqlite:",
        "sqlite://",
        "mysql://root:secret@host/db",
        "memory:x",
    ] {
        let error = open(wrong, &options).await.err().expect("refused");
        let error = error.to_string();
        assert!(error.contains("must be memory: or sqlite:PATH"), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}
