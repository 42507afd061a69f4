//! The daemon: listening, bindings, operations, the task engine, agent backends.

pub mod config;
