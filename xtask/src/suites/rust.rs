//! The suites that cargo runs: format, lint, unit and integration tests, documentation examples and
//! the tour of `nuncio demo`. Uses cargo-nextest where it is installed (faster, kills hung tests)
//! and plain `cargo test` where it is not, so that a bare toolchain is enough.

use std::time::Duration;

use anyhow::Result;

use super::install;
use crate::process::{self, cargo};

/// The tests that need the official SDKs: module `peers` of nuncio's integration tests.
const PEERS: &str = "binary_id(nuncio::it) and test(/^peers::/)";

pub(super) fn format(limit: Duration) -> Result<()> {
    process::run(&mut cargo(&["fmt", "--all", "--check"]), limit)
}

pub(super) fn lint(limit: Duration) -> Result<()> {
    let arguments = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--quiet",
        "--",
        "-D",
        "warnings",
    ];
    process::run(&mut cargo(&arguments), limit)
}

pub(super) fn unit(limit: Duration) -> Result<()> {
    install::ensure(
        "unit",
        "PostgreSQL's server",
        install::postgres_works,
        &["postgresql"],
    )?;
    if has_nextest() {
        let all_but_peers = format!("not ({PEERS})");
        let arguments = ["nextest", "run", "--workspace", "-E", &all_but_peers];
        return process::run(&mut cargo(&arguments), limit);
    }
    process::run(
        &mut cargo(&["test", "--quiet", "--workspace", "--lib", "--bins"]),
        limit,
    )?;
    let arguments = [
        "test",
        "--quiet",
        "--workspace",
        "--test",
        "*",
        "--",
        "--skip",
        "peers::",
    ];
    process::run(&mut cargo(&arguments), limit)
}

pub(super) fn doc(limit: Duration) -> Result<()> {
    process::run(
        &mut cargo(&["test", "--quiet", "--doc", "--workspace"]),
        limit,
    )
}

pub(super) fn demo(limit: Duration) -> Result<()> {
    let arguments = ["run", "--quiet", "-p", "nuncio", "--", "demo", "--once"];
    process::run(&mut cargo(&arguments), limit)
}

/// Runs the tests of module `peers` with the folder that holds the SDKs.
pub(super) fn peers(sdks: &std::path::Path, limit: Duration) -> Result<()> {
    let nextest = [
        "nextest", "run", "-p", "nuncio", "--test", "it", "-E", PEERS,
    ];
    let plain = [
        "test", "--quiet", "-p", "nuncio", "--test", "it", "--", "peers::",
    ];
    let mut command = if has_nextest() {
        cargo(&nextest)
    } else {
        cargo(&plain)
    };
    process::run(command.env("NUNCIO_TEST_PEERS", sdks), limit)
}

fn has_nextest() -> bool {
    process::succeeds(&mut cargo(&["nextest", "--version"]))
}
