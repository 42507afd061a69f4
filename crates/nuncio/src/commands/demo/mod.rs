//! `nuncio demo`: two real agents talk over A2A, and a tour that shows each command it runs.
//!
//! The gateway, its address book and its store live in a temporary directory that goes with the
//! demo. The agents are two scripts (`researcher.sh`, `writer.sh`) run by the `command` backend.

mod tour;

use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use clap::Args;
use nuncio_gateway::Gateway;

use crate::commands::serve;
use crate::exit_code::ExitCode;
use crate::load_config::environment::VARIABLES;
use crate::load_config::{FILE_NAME, Flags, Loaded, load, process_env};
use crate::output;

use self::tour::Tour;

/// What the researcher is asked about unless `--text` says otherwise.
const DEFAULT_TEXT: &str = "how two agents that never met can work together";

/// The agents' programs, by agent.
const SCRIPTS: [(&str, &str); 2] = [
    ("researcher", include_str!("researcher.sh")),
    ("writer", include_str!("writer.sh")),
];

/// Watch two agents work together over A2A, here and now.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// What the agents work on.
    #[arg(long, default_value = DEFAULT_TEXT)]
    text: String,
    /// End after the tour instead of staying up.
    #[arg(long)]
    once: bool,
}

/// Starts the gateway, takes the tour, and stays up until Ctrl-C.
pub(crate) async fn run(args: DemoArgs) -> ExitCode {
    match show(&args).await {
        Ok(code) => code,
        Err(error) => output::failure(&error),
    }
}

async fn show(args: &DemoArgs) -> Result<ExitCode, String> {
    let failed = |error: std::io::Error| format!("the demo cannot be set up: {error}");
    let mut signals = serve::Signals::new().map_err(failed)?;
    let home = tempfile::Builder::new()
        .prefix("nuncio-demo-")
        .tempdir()
        .map_err(failed)?;
    let program = std::env::current_exe().map_err(failed)?;
    write_files(home.path(), &program).map_err(failed)?;
    let loaded = configuration(home.path())?;
    serve::start_logging(&loaded.config.log);
    let gateway = serve::start(&loaded).await?;
    let base = serve::base_url(&loaded.config, gateway.addresses());

    let tour = Tour {
        program: &program,
        home: home.path(),
        base: &base,
        text: &args.text,
    };
    let toured = tokio::select! {
        toured = tour.take() => toured.map(|()| true),
        () = signals.next() => Ok(false),
    };
    let ended = match toured {
        Ok(true) if !args.once => {
            output::write_stdout(&closing_words(&base));
            signals.next().await;
            Ok(ExitCode::Success)
        }
        Ok(true) => Ok(ExitCode::Success),
        Ok(false) => Ok(ExitCode::Interrupted),
        Err(error) => Err(error),
    };
    stop(gateway, &loaded).await;
    ended
}

fn closing_words(base: &str) -> String {
    format!(
        "\nThe agents stay up until Ctrl-C. From another terminal:\n\n  \
         nuncio send -a {base}/agents/researcher --stream \"your topic\"\n  \
         nuncio task list -a {base}/agents/writer\n\n\
         To serve a program of your own:\n\n  \
         nuncio serve --agent me=./my-program\n"
    )
}

async fn stop(gateway: Gateway, loaded: &Loaded) {
    gateway
        .shutdown(loaded.config.server.shutdown_grace.get())
        .await;
}

/// The two programs and a configuration that serves them.
fn write_files(home: &Path, program: &Path) -> std::io::Result<()> {
    for (name, script) in SCRIPTS {
        let mut options = std::fs::OpenOptions::new();
        let path = home.join(format!("{name}.sh"));
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o700)
            .open(path)?;
        std::io::Write::write_all(&mut file, script.as_bytes())?;
    }
    let quoted = |path: &Path| toml::Value::from(path.to_string_lossy().into_owned()).to_string();
    let text = format!(
        "[server]\nlisten = [\"127.0.0.1:0\"]\nshutdown_grace = \"2s\"\n\n\
         [log]\nlevel = \"warn\"\n\n\
         [agents.writer]\nbackend = \"command\"\ncommand = [\"./writer.sh\"]\n\
         description = \"Writes a text about a topic, with the researcher's help\"\n\
         context_dir = true\nenv = {{ NUNCIO = {}, NUNCIO_HOME = {} }}\n\n\
         [agents.researcher]\nbackend = \"command\"\ncommand = [\"./researcher.sh\"]\n\
         description = \"Finds things out about a topic\"\n",
        quoted(program),
        quoted(home),
    );
    std::fs::write(home.join(FILE_NAME), text)
}

/// Loads it as `nuncio serve` would, but deaf to the user's own variables.
fn configuration(home: &Path) -> Result<Loaded, String> {
    let flags = Flags {
        config: Some(home.join(FILE_NAME)),
        home: Some(home.to_owned()),
        ..Flags::default()
    };
    // The programs still need PATH and its like.
    let settings = VARIABLES.iter().map(|variable| variable.name);
    let deaf_to: Vec<&str> = settings.chain(["NUNCIO_CONFIG", "NUNCIO_HOME"]).collect();
    let env = |name: &str| process_env(name).filter(|_| !deaf_to.contains(&name));
    load(&flags, &env).map_err(|errors| errors.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_is_a_good_configuration() {
        let home = tempfile::tempdir().unwrap();
        write_files(home.path(), Path::new("/opt/my \"nuncio\"")).unwrap();
        let loaded = configuration(home.path()).unwrap();
        assert_eq!(loaded.config.default_agent().unwrap().0, "writer");
        assert!(loaded.warnings.is_empty());
    }
}
