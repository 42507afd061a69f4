//! Push configurations: kept, replaced, bounded, and their cursors.

use nuncio_store::{
    GivenUp, MAX_PUSH_CONFIGS_PER_OWNER, MAX_PUSH_CONFIGS_PER_TASK, NewPushConfig, PushAdvance,
    PushConfig, PushProgress, Store, StoreError,
};
use nuncio_wire::TaskState;
use nuncio_wire::dialects::Dialect;

use crate::samples::{append, artifact, finished, new_task, status};
use crate::stores::TestStore;

on_every_store!(
    a_configuration_is_read_as_it_was_made,
    the_one_of_a_new_task_begins_at_its_creation,
    an_id_of_the_callers_replaces_and_a_repeat_without_one_joins,
    a_replacement_leaves_old_steps_behind,
    what_was_deleted_is_gone,
    a_task_has_a_bounded_number,
    an_owner_has_a_bounded_number_of_open_ones,
    a_task_that_is_not_made_takes_no_place,
    tasks_with_something_to_send_are_found,
    what_was_given_up_is_found_and_sent_again,
    one_that_is_switched_on_again_goes_on_and_takes_its_place,
    the_operator_changes_only_what_was_seen,
);

pub(crate) fn config(id: &str, url: &str) -> NewPushConfig {
    NewPushConfig {
        id: id.into(),
        id_is_callers: true,
        dialect: Dialect::V1,
        config: url.to_owned().into(),
    }
}

pub(crate) fn step(config: &PushConfig, progress: PushProgress) -> PushAdvance {
    PushAdvance {
        task: config.task.clone(),
        id: config.id.clone(),
        revision: config.revision,
        progress,
        instead_of: None,
    }
}

/// A step that the operator takes from what was read.
fn mend(config: &PushConfig, progress: PushProgress) -> PushAdvance {
    PushAdvance {
        instead_of: Some(Box::new(config.progress.clone())),
        ..step(config, progress)
    }
}

pub(crate) fn delivered(version: u64) -> PushProgress {
    PushProgress {
        delivered: version,
        ..PushProgress::default()
    }
}

async fn ids(store: &dyn Store, task: &str) -> Vec<String> {
    let configs = store.push_configs(task).await.unwrap();
    configs.iter().map(|config| config.id.to_string()).collect()
}

async fn a_configuration_is_read_as_it_was_made(store: &TestStore) {
    store.create_task(new_task("t1")).await.unwrap();
    let change = artifact("t1", "a", false, "x");
    store.append(append("t1", 1, vec![change])).await.unwrap();
    let mut new = config("p", "\u{0}\u{ff}any bytes");
    new.dialect = Dialect::V0_3;
    let made = store.put_push_config("t1", new.clone()).await.unwrap();
    assert_eq!((&*made.task, &*made.id), ("t1", "p"));
    assert_eq!(&*made.owner, &*new_task("t1").owner);
    assert_eq!((made.dialect, &made.config), (Dialect::V0_3, &new.config));
    assert_eq!((made.revision, made.task_version), (1, 2));
    assert_eq!(made.task_state, TaskState::Submitted);
    assert_eq!(
        made.progress,
        delivered(2),
        "what was before it is not sent"
    );
    assert_eq!(made.first_status, None);
    assert!(!made.is_pending() && !made.is_done());
    assert_eq!(
        store.push_configs("t1").await.unwrap(),
        std::slice::from_ref(&made)
    );

    let failing = PushProgress {
        delivered: 2,
        attempts: 3,
        next_try_millis: 77,
        failing_since_millis: Some(5),
        off: false,
        last_status: Some(503),
        given_up: vec![GivenUp {
            version: 1,
            millis: 2,
            tries: 3,
            last_status: None,
            again: false,
        }],
    };
    assert!(
        store
            .advance_push(step(&made, failing.clone()))
            .await
            .unwrap()
    );
    let read = store.push_configs("t1").await.unwrap();
    assert_eq!(read[0].progress, failing);
    assert_eq!(store.push_configs("t2").await.unwrap(), []);
    let unknown = store.put_push_config("t2", new).await;
    assert_eq!(unknown, Err(StoreError::NotFound));
}

async fn the_one_of_a_new_task_begins_at_its_creation(store: &TestStore) {
    let mut new = new_task("t1");
    new.push_config = Some(config("p", "u"));
    store.create_task(new.clone()).await.unwrap();
    let read = store.push_configs("t1").await.unwrap();
    assert_eq!(read[0].progress, delivered(0));
    assert_eq!(read[0].first_status, Some(new.status.clone()));
    assert!(read[0].is_pending());
    // A repeat keeps the first task's.
    new.id = "t2".into();
    new.push_config = Some(config("q", "u"));
    store.create_task(new).await.unwrap();
    assert_eq!(ids(&**store, "t1").await, ["p"]);
    assert_eq!(ids(&**store, "t2").await, [] as [&str; 0]);
}

async fn an_id_of_the_callers_replaces_and_a_repeat_without_one_joins(store: &TestStore) {
    store.create_task(new_task("t1")).await.unwrap();
    let without = |id: &str, url: &str| NewPushConfig {
        id_is_callers: false,
        ..config(id, url)
    };
    let first = store.put_push_config("t1", config("p", "a")).await.unwrap();
    store
        .put_push_config("t1", without("q", "b"))
        .await
        .unwrap();
    let again = store
        .put_push_config("t1", without("r", "b"))
        .await
        .unwrap();
    assert_eq!(&*again.id, "q");
    let other = NewPushConfig {
        dialect: Dialect::V0_3,
        ..without("r", "b")
    };
    store.put_push_config("t1", other).await.unwrap();
    let second = store.put_push_config("t1", config("p", "c")).await.unwrap();
    assert_eq!((second.number, second.revision), (first.number, 2));
    assert_eq!(ids(&**store, "t1").await, ["p", "q", "r"]);
    assert_eq!(&store.push_configs("t1").await.unwrap()[0].config[..], b"c");
}

async fn a_replacement_leaves_old_steps_behind(store: &TestStore) {
    let mut new = new_task("t1");
    new.push_config = Some(config("p", "a"));
    store.create_task(new).await.unwrap();
    let first = store.push_configs("t1").await.unwrap().remove(0);
    assert!(
        store
            .advance_push(step(&first, delivered(1)))
            .await
            .unwrap()
    );
    let second = store.put_push_config("t1", config("p", "b")).await.unwrap();
    assert_eq!(
        second.progress,
        delivered(1),
        "it goes on where the other was"
    );
    assert!(
        !store
            .advance_push(step(&first, delivered(9)))
            .await
            .unwrap()
    );
    // One that was switched off begins anew, without what it missed.
    let off = PushProgress {
        off: true,
        attempts: 4,
        ..delivered(1)
    };
    assert!(store.advance_push(step(&second, off)).await.unwrap());
    let change = artifact("t1", "a", false, "x");
    store.append(append("t1", 1, vec![change])).await.unwrap();
    assert!(store.push_configs("t1").await.unwrap()[0].is_done());
    let third = store.put_push_config("t1", config("p", "c")).await.unwrap();
    assert_eq!((third.progress, third.revision), (delivered(2), 3));
}

async fn what_was_deleted_is_gone(store: &TestStore) {
    store.create_task(new_task("t1")).await.unwrap();
    store.create_task(new_task("t2")).await.unwrap();
    let made = store.put_push_config("t1", config("p", "a")).await.unwrap();
    store.put_push_config("t2", config("p", "a")).await.unwrap();
    assert!(store.delete_push_config("t1", "p").await.unwrap());
    assert!(!store.delete_push_config("t1", "p").await.unwrap());
    assert!(!store.delete_push_config("t3", "p").await.unwrap());
    assert!(!store.advance_push(step(&made, delivered(1))).await.unwrap());
    assert_eq!(ids(&**store, "t1").await, [] as [&str; 0]);
    assert_eq!(ids(&**store, "t2").await, ["p"]);
    store.discard_task("t2").await.unwrap();
    assert_eq!(ids(&**store, "t2").await, [] as [&str; 0]);
}

async fn a_task_has_a_bounded_number(store: &TestStore) {
    finished(&**store, "t1", 5).await;
    for number in 0..MAX_PUSH_CONFIGS_PER_TASK {
        let new = config(&number.to_string(), "u");
        store.put_push_config("t1", new).await.unwrap();
    }
    let full = store.put_push_config("t1", config("more", "u")).await;
    let max = MAX_PUSH_CONFIGS_PER_TASK;
    assert_eq!(
        full,
        Err(StoreError::TooManyPushConfigs { max, of: "task" })
    );
    // What is there can still be replaced, and one that goes makes place.
    store.put_push_config("t1", config("3", "v")).await.unwrap();
    store.delete_push_config("t1", "7").await.unwrap();
    store
        .put_push_config("t1", config("more", "u"))
        .await
        .unwrap();
}

async fn an_owner_has_a_bounded_number_of_open_ones(store: &TestStore) {
    let per_task = MAX_PUSH_CONFIGS_PER_TASK;
    let mut made = Vec::new();
    for number in 0..MAX_PUSH_CONFIGS_PER_OWNER {
        let task = format!("t{}", number / per_task);
        if number % per_task == 0 {
            store.create_task(new_task(&task)).await.unwrap();
        }
        let new = config(&number.to_string(), "u");
        made.push(store.put_push_config(&task, new).await.unwrap());
    }
    let last = format!("t{}", MAX_PUSH_CONFIGS_PER_OWNER / per_task);
    let mut inline = new_task("inline");
    inline.push_config = Some(config("p", "u"));
    let max = MAX_PUSH_CONFIGS_PER_OWNER;
    let of = "caller";
    let refused = StoreError::TooManyPushConfigs { max, of };
    let full = store.put_push_config(&last, config("more", "u")).await;
    assert_eq!(full, Err(refused.clone()));
    assert_eq!(store.create_task(inline.clone()).await, Err(refused));
    assert!(crate::samples::try_read(&**store, "inline").await.is_none());
    let mut others = new_task("others");
    others.owner = "peer:bob".into();
    others.push_config = Some(config("p", "u"));
    store.create_task(others).await.unwrap();

    // A task that ended makes place once its receivers have its end.
    let end = status("t0", TaskState::Completed, 9);
    store.append(append("t0", 1, vec![end])).await.unwrap();
    assert!(store.create_task(inline.clone()).await.is_err());
    assert!(
        store
            .advance_push(step(&made[0], delivered(2)))
            .await
            .unwrap()
    );
    store.create_task(inline).await.unwrap();
    assert!(
        store
            .put_push_config(&last, config("more", "u"))
            .await
            .is_err()
    );
    store.delete_push_config("t0", "1").await.unwrap();
    store
        .put_push_config(&last, config("more", "u"))
        .await
        .unwrap();
    assert!(
        store
            .put_push_config(&last, config("most", "u"))
            .await
            .is_err()
    );
    let off = PushProgress {
        off: true,
        ..PushProgress::default()
    };
    assert!(store.advance_push(step(&made[2], off)).await.unwrap());
    store
        .put_push_config(&last, config("most", "u"))
        .await
        .unwrap();
    store.discard_task("t1").await.unwrap();
    let place = config("place", "u");
    store.put_push_config(&last, place).await.unwrap();
}

async fn a_task_that_is_not_made_takes_no_place(store: &TestStore) {
    let mut new = new_task("t1");
    new.push_config = Some(config("p", "u"));
    store.create_task(new.clone()).await.unwrap();
    new.repeat.message_id = "other".to_owned();
    for _ in 0..MAX_PUSH_CONFIGS_PER_OWNER + 1 {
        let twice = store.create_task(new.clone()).await;
        assert!(matches!(twice, Err(StoreError::Damaged(_))), "{twice:?}");
    }
}

async fn tasks_with_something_to_send_are_found(store: &TestStore) {
    for id in ["open", "none", "sent", "unsent", "off", "late"] {
        store.create_task(new_task(id)).await.unwrap();
    }
    let mut made = Vec::new();
    for id in ["open", "sent", "unsent", "off"] {
        made.push(store.put_push_config(id, config("p", "u")).await.unwrap());
    }
    for id in ["none", "sent", "unsent", "late"] {
        let end = status(id, TaskState::Completed, 9);
        store.append(append(id, 1, vec![end])).await.unwrap();
    }
    store
        .put_push_config("late", config("p", "u"))
        .await
        .unwrap();
    assert!(
        store
            .advance_push(step(&made[1], delivered(2)))
            .await
            .unwrap()
    );
    let off = PushProgress {
        off: true,
        ..delivered(1)
    };
    assert!(store.advance_push(step(&made[3], off)).await.unwrap());
    let found = store.pushing_tasks().await.unwrap();
    assert_eq!(found, ["open".into(), "unsent".into()]);
}

/// A finished task whose only configuration has given up its first event and had the other.
async fn given_up(store: &dyn Store, task: &str) -> PushConfig {
    let mut new = new_task(task);
    new.push_config = Some(config("p", "u"));
    store.create_task(new).await.unwrap();
    let end = status(task, TaskState::Completed, 9);
    store.append(append(task, 1, vec![end])).await.unwrap();
    let made = store.push_configs(task).await.unwrap().remove(0);
    let mut progress = PushProgress {
        attempts: 8,
        last_status: Some(503),
        failing_since_millis: Some(3),
        ..PushProgress::default()
    };
    progress.give_up_next(7);
    let moved = store.advance_push(step(&made, progress.clone())).await;
    assert!(moved.unwrap());
    progress.deliver_next();
    assert!(store.advance_push(step(&made, progress)).await.unwrap());
    store.push_configs(task).await.unwrap().remove(0)
}

async fn troubled(store: &dyn Store) -> Vec<String> {
    let troubled = store.troubled_push_configs(0, 10).await.unwrap();
    troubled.iter().map(|it| it.task.to_string()).collect()
}

async fn what_was_given_up_is_found_and_sent_again(store: &TestStore) {
    store.create_task(new_task("good")).await.unwrap();
    let good = store.put_push_config("good", config("p", "u")).await;
    let first = given_up(&**store, "t1").await;
    let second = given_up(&**store, "t2").await;
    assert_eq!(troubled(&**store).await, ["t1", "t2"]);
    let rest = store.troubled_push_configs(first.number, 10).await.unwrap();
    assert_eq!(rest, [second]);
    let one = store.troubled_push_configs(0, 1).await.unwrap();
    assert_eq!(one, std::slice::from_ref(&first));
    let kept = &first.progress.given_up[0];
    assert_eq!((kept.version, kept.millis, kept.tries), (1, 7, 8));
    assert_eq!((kept.last_status, kept.again), (Some(503), false));
    assert!(first.is_done() && !first.is_pending());

    let again = first.progress.replayed();
    assert!(store.advance_push(mend(&first, again)).await.unwrap());
    let now = store.push_configs("t1").await.unwrap().remove(0);
    assert!(now.is_pending() && !now.is_done());
    assert_eq!((now.revision, now.progress.next()), (first.revision + 1, 1));
    let pushing = store.pushing_tasks().await.unwrap();
    assert_eq!(pushing, ["good".into(), "t1".into()]);
    // Nobody who served it before has a say any more.
    let old = step(&first, PushProgress::default());
    assert!(!store.advance_push(old).await.unwrap());
    let mut progress = now.progress.clone();
    progress.deliver_next();
    assert!(store.advance_push(step(&now, progress)).await.unwrap());
    assert_eq!(troubled(&**store).await, ["t2"]);
    assert_eq!(store.pushing_tasks().await.unwrap(), ["good".into()]);
    assert!(!good.unwrap().is_done());
}

async fn one_that_is_switched_on_again_goes_on_and_takes_its_place(store: &TestStore) {
    store.create_task(new_task("t1")).await.unwrap();
    let mut made = Vec::new();
    for number in 0..MAX_PUSH_CONFIGS_PER_OWNER {
        let task = format!("t{}", 2 + number / MAX_PUSH_CONFIGS_PER_TASK);
        if number % MAX_PUSH_CONFIGS_PER_TASK == 0 {
            store.create_task(new_task(&task)).await.unwrap();
        }
        let new = config(&number.to_string(), "u");
        made.push(store.put_push_config(&task, new).await.unwrap());
    }
    let off = PushProgress {
        off: true,
        attempts: 3,
        failing_since_millis: Some(4),
        ..delivered(1)
    };
    assert!(store.advance_push(step(&made[0], off)).await.unwrap());
    let seen = store.push_configs("t2").await.unwrap().remove(0);
    assert_eq!(troubled(&**store).await, ["t2"]);
    let change = artifact("t2", "a", false, "x");
    store.append(append("t2", 1, vec![change])).await.unwrap();
    let on = seen.progress.switched_on();
    assert!(store.advance_push(mend(&seen, on)).await.unwrap());
    let now = store.push_configs("t2").await.unwrap().remove(0);
    assert_eq!(now.progress, delivered(1), "what it missed comes");
    assert!(now.is_pending());
    assert!(troubled(&**store).await.is_empty());
    // It counts for its owner again.
    let more = config("more", "u");
    let full = store.put_push_config("t1", more.clone()).await;
    assert!(matches!(full, Err(StoreError::TooManyPushConfigs { .. })));
    store.delete_push_config("t2", "0").await.unwrap();
    store.put_push_config("t1", more).await.unwrap();
}

async fn the_operator_changes_only_what_was_seen(store: &TestStore) {
    let seen = given_up(&**store, "t1").await;
    let again = seen.progress.replayed();
    let mut moved = seen.clone();
    moved.progress.attempts += 1;
    let unseen = mend(&moved, again.clone());
    assert!(!store.advance_push(unseen).await.unwrap());
    let mut moved = seen.clone();
    moved.progress.given_up[0].tries += 1;
    let unseen = mend(&moved, again.clone());
    assert!(!store.advance_push(unseen).await.unwrap());
    assert!(
        store
            .advance_push(mend(&seen, again.clone()))
            .await
            .unwrap()
    );
    assert!(!store.advance_push(mend(&seen, again)).await.unwrap());
}
