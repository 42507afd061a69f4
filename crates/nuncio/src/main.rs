//! The `nuncio` binary: reads the arguments, runs one command, sets the exit status.
//!
//! What can be asked stands in `args`, what is done in `commands`, what is printed in `output`.

mod agent;
mod args;
mod client_settings;
mod commands;
mod control;
mod exit_code;
mod load_config;
mod output;
mod peers;
mod private_file;
mod reference;
mod trusted_keys;

use nuncio_gateway::agents::process::kill_all;
use std::process::ExitCode;
use std::time::Duration;

/// How long the end waits for threads that block, such as a reader of standard input or a name
/// lookup: nobody needs what they bring.
const BLOCKED_THREADS: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    let command = match args::read(std::env::args_os()) {
        Ok(command) => command,
        Err(refusal) => return refusal.report().into(),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return output::failure(&format!("cannot start: {error}")).into(),
    };
    let code = runtime.block_on(commands::run(command));
    // What still runs is dropped here, if the threads get to it in time; no program of a turn may stay.
    kill_all();
    runtime.shutdown_timeout(BLOCKED_THREADS);
    code.into()
}
