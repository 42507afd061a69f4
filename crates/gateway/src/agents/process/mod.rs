//! Programs behind agents: found, given a clean environment, led in a group of their own, and never
//! left behind.
//!
//! What is said to a program is its backend's business: `command` starts one for every turn, others
//! keep one alive.

mod environment;
mod find;
mod group;
mod lines;
mod stderr_tail;

pub use environment::{BASE_VARIABLES, Environment};
pub use find::{check_program, find_program};
pub use group::{Group, kill_all};
pub use lines::Lines;
pub use stderr_tail::StderrTail;
