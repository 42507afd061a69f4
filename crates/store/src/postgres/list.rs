//! Pages of a list: the count and the page in one statement, so from one snapshot.

use tokio_postgres::types::ToSql;

use super::link::Link;
use super::tasks::{COLUMNS, PARTS, int, most_messages, record, version_of};
use super::text::Text;
use crate::{Cursor, ListQuery, Page, StoreError};

pub(super) async fn read(link: &Link, query: &ListQuery) -> Result<Page, StoreError> {
    let mut filter = Filter::of(query);
    let counted = filter.clause();
    if let Some(after) = &query.after {
        let millis = filter.value(Box::new(after.status_millis));
        let id = filter.value(Box::new(Text::of(&after.id)));
        filter.and(format!("(t.status_millis, t.id) < ({millis}, {id})"));
    }
    let size = query.page_size as usize;
    let limit = filter.value(Box::new(int(size as u64 + 1)));
    let select = format!(
        "WITH page AS MATERIALIZED (SELECT t.* FROM tasks t{} \
             ORDER BY t.status_millis DESC, t.id DESC LIMIT {limit}) \
         SELECT c.total, {COLUMNS} FROM (SELECT count(*) AS total FROM tasks t{counted}) c \
         LEFT JOIN page t ON true {PARTS} ORDER BY t.status_millis DESC, t.id DESC",
        filter.clause(),
    );
    let values: Vec<&(dyn ToSql + Sync)> =
        filter.values.iter().map(|value| &**value as _).collect();
    let rows = link.query(&select, &values).await?;
    let total = rows.first().map_or(Ok(0), |row| version_of(row, 0))?;
    // Without a task the one row holds the count alone.
    let is_task =
        |row: &&tokio_postgres::Row| matches!(row.try_get::<_, Option<i16>>(7), Ok(Some(_)));
    let tasks = rows
        .iter()
        .filter(is_task)
        .take(size)
        .map(|row| record(row, 1, query.include))
        .collect::<Result<Vec<_>, _>>()?;
    let more = rows.len() > size;
    let next = tasks.last().filter(|_| more).map(|last| Cursor {
        status_millis: last.status_millis,
        id: last.id.to_string(),
    });
    Ok(Page { tasks, total, next })
}

/// Conditions with their values.
struct Filter<'q> {
    conditions: Vec<String>,
    values: Vec<Box<dyn ToSql + Sync + Send + 'q>>,
}

impl<'q> Filter<'q> {
    fn of(query: &'q ListQuery) -> Self {
        // The first two are those of `PARTS`.
        let mut filter = Self {
            conditions: Vec::new(),
            values: vec![
                Box::new(most_messages(query.include)),
                Box::new(query.include.artifacts),
            ],
        };
        if let Some(agent) = &query.visibility.agent {
            filter.equals("t.agent", Box::new(Text::of(agent)));
        }
        if let Some(owner) = &query.visibility.owner {
            filter.equals("t.owner", Box::new(Text::of(owner)));
        }
        if let Some(context) = &query.context_id {
            filter.equals("t.context_id", Box::new(Text::of(context)));
        }
        if let Some(state) = &query.state {
            filter.equals("t.state", Box::new(i16::from(state.number())));
        }
        if let Some(from) = query.status_from_millis {
            let from = filter.value(Box::new(from));
            filter.and(format!("t.status_millis >= {from}"));
        }
        filter
    }

    /// Takes a value and returns its name in the statement.
    fn value(&mut self, value: Box<dyn ToSql + Sync + Send + 'q>) -> String {
        self.values.push(value);
        format!("${}", self.values.len())
    }

    fn equals(&mut self, column: &str, value: Box<dyn ToSql + Sync + Send + 'q>) {
        let value = self.value(value);
        self.and(format!("{column} = {value}"));
    }

    fn and(&mut self, condition: String) {
        self.conditions.push(condition);
    }

    fn clause(&self) -> String {
        if self.conditions.is_empty() {
            return String::new();
        }
        format!(" WHERE {}", self.conditions.join(" AND "))
    }
}
