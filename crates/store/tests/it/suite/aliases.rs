//! Ids that callers choose, where nobody may have one twice.

use nuncio_store::{Created, NewTask, StoreError};
use nuncio_wire::TaskState;

use crate::samples::{append, new_task, status};
use crate::stores::TestStore;

on_every_store!(
    an_id_in_use_is_refused_however_its_task_ended,
    a_repeat_by_its_key_comes_before_the_id,
    owners_and_agents_have_their_own_ids,
    of_many_at_once_one_gets_the_id,
);

/// A send that must get this id for its task.
fn named(id: &str, alias: &str) -> NewTask {
    let mut new = new_task(id);
    new.alias = Some(alias.to_owned());
    new.alias_is_unique = true;
    new.repeat.message_id = id.to_owned();
    new
}

async fn an_id_in_use_is_refused_however_its_task_ended(store: &TestStore) {
    assert_eq!(
        store.create_task(named("t1", "a")).await,
        Ok(Created::New),
        "the first"
    );
    let mut same = named("t2", "a");
    same.repeat = named("t1", "a").repeat;
    for new in [named("t2", "a"), same] {
        assert_eq!(store.create_task(new).await, Err(StoreError::AliasTaken));
    }
    let done = vec![status("t1", TaskState::Completed, 2)];
    store.append(append("t1", 1, done)).await.unwrap();
    assert_eq!(
        store.create_task(named("t2", "a")).await,
        Err(StoreError::AliasTaken)
    );
    let mut shared = named("t2", "a");
    shared.alias_is_unique = false;
    assert_eq!(store.create_task(shared).await, Ok(Created::New));
    assert_eq!(store.create_task(named("t3", "b")).await, Ok(Created::New));
}

async fn a_repeat_by_its_key_comes_before_the_id(store: &TestStore) {
    let keyed = |id: &str, payload: u8| {
        let mut new = named(id, "a");
        new.repeat.key = Some("k".to_owned());
        new.repeat.payload_hash = [payload; 32];
        new
    };
    assert_eq!(store.create_task(keyed("t1", 1)).await, Ok(Created::New));
    let repeated = Created::Repeated("t1".to_owned());
    assert_eq!(store.create_task(keyed("t2", 1)).await, Ok(repeated));
    assert_eq!(
        store.create_task(keyed("t2", 2)).await,
        Err(StoreError::RepeatConflict)
    );
    let mut other = keyed("t2", 1);
    other.repeat.key = Some("k2".to_owned());
    assert_eq!(store.create_task(other).await, Err(StoreError::AliasTaken));
}

async fn owners_and_agents_have_their_own_ids(store: &TestStore) {
    let mut news = vec![named("t1", "a"), named("t2", "a"), named("t3", "a")];
    news[1].owner = "peer:other".into();
    news[2].agent = "other".into();
    for new in news {
        assert_eq!(store.create_task(new).await, Ok(Created::New));
    }
}

async fn of_many_at_once_one_gets_the_id(store: &TestStore) {
    let sends: Vec<_> = (0..20)
        .map(|number| {
            let store = store.shared();
            let new = named(&format!("t{number}"), "a");
            tokio::spawn(async move { store.create_task(new).await })
        })
        .collect();
    let (mut new, mut taken) = (0, 0);
    for send in sends {
        match send.await.unwrap() {
            Ok(Created::New) => new += 1,
            Err(StoreError::AliasTaken) => taken += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((new, taken), (1, 19));
}
