//! What every store must do.

mod append;
mod create;
mod list;
mod repeats;
mod retention;
