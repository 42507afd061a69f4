//! The load generator of `cargo xtask bench`, as a process of its own: takes a plan as JSON in its
//! only argument and prints the outcome as JSON. See `bench/load/mod.rs`.

// The outcome goes to stdout, for the task that started this.
#![allow(clippy::print_stdout)]

use anyhow::{Context, Result};

fn main() -> Result<()> {
    let plan = std::env::args()
        .nth(1)
        .context("usage: bench-load PLAN (started by xtask bench)")?;
    let plan = serde_json::from_str(&plan).context("the plan is not JSON of the right form")?;
    println!(
        "{}",
        serde_json::to_string(&xtask::bench::load::run(&plan)?)?
    );
    Ok(())
}
