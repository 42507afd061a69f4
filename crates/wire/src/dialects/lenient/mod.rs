//! Readers that take every generation's spelling of an object at once.
//!
//! The 0.3 dialect reads its requests with them, and a client reads whatever a peer answers: peers
//! mix generations, leave out `kind`, write snake_case. What is ambiguous is an error, never a
//! guess between two contents.

mod event;
mod object;
mod part;
mod push;

pub(super) use event::{read, read_event, read_task};
pub(super) use object::{AnyMessage, AnyTask, any_state};
pub(super) use part::{
    AnyPart, DATA_PART_COMPAT, FILENAME, MEDIA_TYPE, implied_media_type, take_labels, unwrap_data,
};
pub(super) use push::{AnyPushConfig, read_push_configs};

/// Converts each entry.
pub(super) fn all<T, U: From<T>>(list: Vec<T>) -> Vec<U> {
    list.into_iter().map(U::from).collect()
}
