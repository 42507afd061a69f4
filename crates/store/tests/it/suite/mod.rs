//! What every store must do.

mod aliases;
mod append;
mod create;
mod list;
pub(crate) mod push;
mod repeats;
mod retention;
mod sessions;
