//! nuncio's own tasks, started as `cargo xtask …`: test suites, repository rules, the generated
//! reference and the benchmark. Owns everything a developer runs that is not the product; never
//! linked into it. Start at `main.rs` for the commands, `suites/` for what `cargo xtask test` does.

// A task speaks to the developer at the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

pub mod acts;
pub mod bench;
pub mod docs;
pub mod process;
pub mod suites;
pub mod tidy;
