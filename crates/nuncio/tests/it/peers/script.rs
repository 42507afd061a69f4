//! The scripts in `tests/peers` that use an SDK: where they are and how they are started.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names the folder that holds an install of each SDK.
const PLACE: &str = "NUNCIO_TEST_PEERS";

/// A script with the interpreter whose packages it needs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Script {
    /// The Python SDK 1.x.
    Python1(&'static str),
    /// The Python SDK 0.3.
    Python03(&'static str),
    /// Python with the Hermes fleet plugin.
    Fleet(&'static str),
    /// Python with Hermes itself.
    Hermes(&'static str),
    /// Python without an SDK.
    Plain(&'static str),
    /// The JavaScript SDKs, which lie side by side.
    Node(&'static str),
}

impl Script {
    /// A file of an installed JavaScript package.
    pub(super) fn package(file: &str) -> PathBuf {
        place().join("js/node_modules").join(file)
    }

    /// The command that runs it. Where no SDKs were set up there is nothing to test with.
    pub(super) fn command(self) -> Command {
        let sdks = place();
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers");
        let (interpreter, script) = match self {
            Script::Python1(name) => (
                sdks.join("py1/bin/python"),
                scripts.join("python").join(name),
            ),
            Script::Python03(name) => (
                sdks.join("py03/bin/python"),
                scripts.join("python").join(name),
            ),
            Script::Fleet(name) => (
                sdks.join("fleet/bin/python"),
                scripts.join("python").join(name),
            ),
            Script::Hermes(name) => (
                sdks.join("hermes/bin/python"),
                scripts.join("python").join(name),
            ),
            Script::Plain(name) => (PathBuf::from("python3"), scripts.join("python").join(name)),
            Script::Node(name) => (PathBuf::from("node"), scripts.join("js").join(name)),
        };
        let mut command = Command::new(interpreter);
        command.arg(script).stdin(Stdio::null()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        // Compiled files would land beside the scripts.
        command.env(PLACE, sdks).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}

fn place() -> PathBuf {
    let sdks = std::env::var_os(PLACE).map(PathBuf::from);
    sdks.expect("the SDKs are set up by `cargo xtask test peers`: run that")
}
