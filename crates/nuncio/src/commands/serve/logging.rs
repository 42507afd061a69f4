//! Sets up the log of the gateway: standard error, as text or JSON.

use nuncio_gateway::config::{LogConfig, LogFormat};
use tracing_subscriber::EnvFilter;

/// Starts logging. What other crates have to say only shows from `warn` on.
pub(crate) fn start(config: &LogConfig) {
    let level = config.level.as_str();
    let others = if level == "error" { "error" } else { "warn" };
    let ours = [
        "nuncio",
        "nuncio_gateway",
        "nuncio_store",
        "nuncio_client",
        "nuncio_wire",
    ];
    let filter = ours.iter().fold(EnvFilter::new(others), |filter, name| {
        let directive = format!("{name}={level}").parse();
        filter.add_directive(directive.expect("a crate and a level make a directive"))
    });
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // A second subscriber in one process is refused; the first one then stays.
    let _ = match config.format {
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
        LogFormat::Text => {
            let colours = std::io::IsTerminal::is_terminal(&std::io::stderr())
                && std::env::var_os("NO_COLOR").is_none();
            builder.with_ansi(colours).with_target(false).try_init()
        }
    };
}
