//! Pages of a list, from one snapshot.

use nuncio_wire::TaskState;
use rusqlite::Connection;
use rusqlite::types::ToSql;

use super::tasks::{COLUMNS, Head};
use crate::{Cursor, ListQuery, Page, StoreError};

pub(super) fn read(db: &Connection, query: &ListQuery) -> Result<Page, StoreError> {
    let mut filter = Filter::of(query);
    let snapshot = db.unchecked_transaction()?;
    let count = format!("SELECT count(*) FROM tasks{}", filter.clause());
    let total = db
        .prepare_cached(&count)?
        .query_row(&*filter.values, |row| row.get(0))?;
    if let Some(after) = &query.after {
        filter.and(
            "(status_millis, id) < (?, ?)",
            &[&after.status_millis, &after.id],
        );
    }
    let size = query.page_size as usize;
    let select = format!(
        "SELECT {COLUMNS} FROM tasks{} ORDER BY status_millis DESC, id DESC LIMIT {}",
        filter.clause(),
        size + 1
    );
    let mut select = db.prepare_cached(&select)?;
    let mut rows = select.query(&*filter.values)?;
    let mut tasks = Vec::new();
    let mut more = false;
    while let Some(row) = rows.next()? {
        more = tasks.len() == size;
        if more {
            break;
        }
        tasks.push(Head::of(row)?.complete(db, query.include)?);
    }
    drop(rows);
    snapshot.commit()?;
    let next = tasks.last().filter(|_| more).map(|last| Cursor {
        status_millis: last.status_millis,
        id: last.id.to_string(),
    });
    Ok(Page { tasks, total, next })
}

/// Conditions with their values, in order.
#[derive(Default)]
struct Filter<'q> {
    conditions: Vec<&'static str>,
    values: Vec<&'q dyn ToSql>,
}

impl<'q> Filter<'q> {
    fn of(query: &'q ListQuery) -> Self {
        let mut filter = Self::default();
        if let Some(agent) = &query.visibility.agent {
            filter.and("agent = ?", &[agent]);
        }
        if let Some(owner) = &query.visibility.owner {
            filter.and("owner = ?", &[owner]);
        }
        if let Some(context) = &query.context_id {
            filter.and("context_id = ?", &[context]);
        }
        if let Some(state) = &query.state {
            filter.and(state_condition(*state), &[]);
        }
        if let Some(from) = &query.status_from_millis {
            filter.and("status_millis >= ?", &[from]);
        }
        filter
    }

    fn and(&mut self, condition: &'static str, values: &[&'q dyn ToSql]) {
        self.conditions.push(condition);
        self.values.extend(values);
    }

    fn clause(&self) -> String {
        if self.conditions.is_empty() {
            return String::new();
        }
        format!(" WHERE {}", self.conditions.join(" AND "))
    }
}

/// A condition per state, as a state has no form of its own that outlives the query.
fn state_condition(state: TaskState) -> &'static str {
    match state {
        TaskState::Unspecified => "state = 0",
        TaskState::Submitted => "state = 1",
        TaskState::Working => "state = 2",
        TaskState::Completed => "state = 3",
        TaskState::Failed => "state = 4",
        TaskState::Canceled => "state = 5",
        TaskState::InputRequired => "state = 6",
        TaskState::Rejected => "state = 7",
        TaskState::AuthRequired => "state = 8",
    }
}
