//! Lists: order, filters, pages.

use nuncio_store::{Cursor, Include, ListQuery, Store, Visibility};
use nuncio_wire::TaskState;

use crate::samples::{append, artifact, finished, list, new_task, status};
use crate::stores::TestStore;

on_every_store!(
    the_newest_status_comes_first_and_equal_times_by_id,
    filters_hold_at_once,
    pages_have_no_gap_while_tasks_arrive,
    a_page_brings_what_was_asked_for,
    a_cursor_need_not_name_a_task,
);

async fn ids(store: &dyn Store, query: ListQuery) -> Vec<String> {
    let page = store.list_tasks(query).await.unwrap();
    page.tasks.iter().map(|task| task.id.to_string()).collect()
}

async fn the_newest_status_comes_first_and_equal_times_by_id(store: &TestStore) {
    for (id, millis) in [("b", 5), ("a", 5), ("c", 5), ("z", 1), ("d", 9), ("n", -4)] {
        let mut new = new_task(id);
        new.status_millis = millis;
        store.create_task(new).await.unwrap();
    }
    assert_eq!(
        ids(&**store, list(100)).await,
        ["d", "c", "b", "a", "z", "n"]
    );
    // A new status takes a task to the front.
    store
        .append(append("z", 1, vec![status("z", TaskState::Working, 10)]))
        .await
        .unwrap();
    assert_eq!(
        ids(&**store, list(100)).await,
        ["z", "d", "c", "b", "a", "n"]
    );
    assert_eq!(ids(&**store, list(2)).await, ["z", "d"]);
}

async fn filters_hold_at_once(store: &TestStore) {
    for number in 0..16 {
        let id = &format!("t{number:02}");
        let mut new = new_task(id);
        new.owner = if number & 1 == 0 {
            "peer:alice"
        } else {
            "peer:bob"
        }
        .into();
        new.context_id = if number & 2 == 0 { "c0" } else { "c1" }.into();
        new.status_millis = number;
        store.create_task(new).await.unwrap();
        if number & 4 != 0 {
            let change = status(id, TaskState::Completed, number);
            store.append(append(id, 1, vec![change])).await.unwrap();
        }
    }
    for mask in 0..16u8 {
        let set = |bit: u8| mask & bit != 0;
        let mut query = list(100);
        query.visibility.owner = set(1).then(|| "peer:bob".into());
        query.context_id = set(2).then(|| "c1".to_owned());
        query.state = set(4).then_some(TaskState::Completed);
        query.status_from_millis = set(8).then_some(8);
        let expected: Vec<String> = (0..16u8)
            .rev()
            .filter(|number| number & mask & 7 == mask & 7 && (!set(8) || *number >= 8))
            .map(|number| format!("t{number:02}"))
            .collect();
        let page = store.list_tasks(query.clone()).await.unwrap();
        assert_eq!(page.total, expected.len() as u64, "{query:?}");
        assert_eq!(page.next, None);
        assert_eq!(ids(&**store, query).await, expected);
    }
}

async fn pages_have_no_gap_while_tasks_arrive(store: &TestStore) {
    for number in 0..25 {
        finished(&**store, &format!("old-{number:02}"), 100 + number / 3).await;
    }
    let mut query = list(4);
    let mut seen = Vec::new();
    for round in 0.. {
        let page = store.list_tasks(query.clone()).await.unwrap();
        assert_eq!(page.total, 25 + round);
        assert!(page.tasks.len() == 4 || page.next.is_none());
        seen.extend(page.tasks.iter().map(|task| task.id.to_string()));
        finished(&**store, &format!("new-{round}"), 1000 + round as i64).await;
        match page.next {
            Some(next) => query.after = Some(next),
            None => break,
        }
    }
    let mut expected: Vec<_> = (0..25)
        .map(|n| (100 + n / 3, format!("old-{n:02}")))
        .collect();
    expected.sort_by(|a, b| b.cmp(a));
    assert_eq!(
        seen,
        expected.into_iter().map(|(_, id)| id).collect::<Vec<_>>()
    );
}

async fn a_page_brings_what_was_asked_for(store: &TestStore) {
    store.create_task(new_task("t1")).await.unwrap();
    store
        .append(append("t1", 1, vec![artifact("t1", "a", false, "x")]))
        .await
        .unwrap();
    let cases = [
        (Include::ALL, 1, Some(1)),
        (Include::NOTHING, 0, None),
        (
            Include {
                history: Some(5),
                artifacts: false,
            },
            1,
            None,
        ),
    ];
    for (include, history, artifacts) in cases {
        let page = store
            .list_tasks(ListQuery {
                include,
                ..list(10)
            })
            .await
            .unwrap();
        let task = &page.tasks[0];
        assert_eq!(task.history.len(), history);
        assert_eq!(task.artifacts.as_ref().map(Vec::len), artifacts);
        assert_eq!(task.version, 2);
    }
    let other = Visibility {
        agent: Some("other".into()),
        owner: None,
    };
    let page = store
        .list_tasks(ListQuery {
            visibility: other,
            ..list(10)
        })
        .await
        .unwrap();
    assert_eq!((page.tasks.len(), page.total, page.next), (0, 0, None));
}

async fn a_cursor_need_not_name_a_task(store: &TestStore) {
    for (id, millis) in [("a", 1), ("b", 2), ("c", 2)] {
        finished(&**store, id, millis).await;
    }
    for (millis, id, expected) in [
        (2, "bb", vec!["b", "a"]),
        (2, "", vec!["a"]),
        (3, "x", vec!["c", "b", "a"]),
        (0, "x", vec![]),
    ] {
        let after = Some(Cursor {
            status_millis: millis,
            id: id.to_owned(),
        });
        assert_eq!(
            ids(&**store, ListQuery { after, ..list(10) }).await,
            expected
        );
    }
}
