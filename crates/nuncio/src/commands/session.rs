//! What every client command begins with: the layers of settings, the form of output, the log.

use crate::client_settings::{Layers, OutputOptions, output_settings, read_layers};
use crate::exit_code::ExitCode;
use crate::output::{CliError, Output};

/// A client command under way.
pub(crate) struct Session {
    pub(crate) output: Output,
    /// Events as they come.
    pub(crate) stream: bool,
    pub(crate) layers: Layers,
}

impl Session {
    /// Reads the settings of output; a failure is shown and gives the exit status.
    pub(crate) fn begin(options: &OutputOptions) -> Result<Self, ExitCode> {
        let fallback = Output {
            format: options.output.unwrap_or_default(),
            verbose: options.verbose,
        };
        let failed = |error: CliError| fallback.failure(&error);
        let layers = read_layers(options).map_err(failed)?;
        let (output, debug) = output_settings(options, &layers).map_err(failed)?;
        if debug {
            start_debug_log();
        }
        Ok(Self {
            output,
            stream: options.stream,
            layers,
        })
    }

    /// The exit status of a command, its failure shown.
    pub(crate) fn end(&self, result: Result<(), CliError>) -> ExitCode {
        match result {
            Ok(()) => ExitCode::Success,
            Err(error) => self.output.failure(&error),
        }
    }
}

/// How it is done, on standard error. The events hold no credential and no content.
fn start_debug_log() {
    let filter = tracing_subscriber::EnvFilter::new("off,nuncio=debug,nuncio_client=debug");
    // A second subscriber in one process is refused; the first one then stays.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false)
        .try_init();
}
