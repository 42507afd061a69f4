//! `cargo xtask acts`: runs the declarative conformance suite ACTS against nuncio's own agent, over
//! one binding after the other. Owns the command line and the passes.
//!
//! `corpus` reads the cases, `bindings` asks, `checks` judge, `run` puts them together, `errata`
//! knows which cases are wrong.

pub mod bindings;
pub mod checks;
mod client_step;
pub mod corpus;
pub mod errata;
pub mod report;
pub mod run;
pub mod sut;
pub mod variables;
pub mod webhook;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::process;
use corpus::{Corpus, Test, Transport};
use report::{Judged, Report};
use run::{Bench, Outcome, Verdict, is_for};
use sut::{Profile, Sut};
use webhook::Receiver;

const HELP: &str = "\
Runs the conformance suite ACTS against nuncio's conformance backend

Usage: cargo xtask acts --corpus DIR [OPTIONS]

Options:
  --corpus DIR         folder with suite.acts.yaml
  --transport NAME     jsonrpc, rest, grpc or all (default)
  -t, --test ID        only this test; may be given several times
  --json FILE          writes the report; with several bindings, FILE-BINDING
  --nuncio PROGRAM     tests this program instead of building one
  -v, --verbose        shows every test
";

/// Builds from nothing on a slow machine.
const BUILD_LIMIT: Duration = Duration::from_mins(30);

/// Tests that an agent without optional capabilities is run again for.
const REDUCED: [&str; 4] = [
    "CORE-CAP-001",
    "CORE-CAP-002",
    "PUSH-CFG-004",
    "SEC-EXTCARD-003",
];
/// Tests that an agent which asks everybody for a credential is run again for.
const AUTH: [&str; 5] = [
    "SEC-AUTH-001",
    "SEC-AUTH-002",
    "SEC-AUTH-003",
    "SEC-AUTH-004",
    "SEC-AUTH-006",
];

struct Options {
    corpus: PathBuf,
    transports: Vec<Transport>,
    tests: Vec<String>,
    json: Option<PathBuf>,
    nuncio: Option<PathBuf>,
    verbose: bool,
}

/// The `acts` task.
///
/// # Errors
/// When the corpus cannot be read, the agent does not start, or any test fails after errata.
pub fn main(arguments: &[String]) -> Result<()> {
    if arguments.iter().any(|it| it == "--help" || it == "-h") {
        print!("{HELP}");
        return Ok(());
    }
    let options = read_arguments(arguments)?;
    let (corpus, rewrites) = corpus::load(&options.corpus)?;
    let count: usize = corpus.suites.iter().map(|suite| suite.tests.len()).sum();
    println!("acts: {count} tests, {rewrites} mechanical rewrites");
    let program = match &options.nuncio {
        Some(program) => program.clone(),
        None => build()?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let mut reports = Vec::new();
    for transport in &options.transports {
        println!("\n==> {transport}");
        let report = runtime.block_on(measure(&corpus, &options, &program, *transport));
        reports.push(report.with_context(|| format!("over {transport}"))?);
    }
    println!();
    for report in &reports {
        write_json(&options, &corpus, report)?;
        println!("{}", report.line());
    }
    let failed = reports.iter().filter(|report| !report.is_clean());
    let failed: Vec<_> = failed.map(|report| report.transport.to_string()).collect();
    if !failed.is_empty() {
        bail!("acts: FAILED over {}", failed.join(", "));
    }
    println!(
        "acts: all tests that apply passed, over {} bindings",
        reports.len()
    );
    Ok(())
}

fn read_arguments(arguments: &[String]) -> Result<Options> {
    let mut options = Options {
        corpus: PathBuf::new(),
        transports: Transport::ALL.to_vec(),
        tests: Vec::new(),
        json: None,
        nuncio: None,
        verbose: false,
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || {
            let value = arguments.next();
            value.with_context(|| format!("xtask acts: `{argument}` needs a value\n\n{HELP}"))
        };
        match argument.as_str() {
            "--corpus" => options.corpus = PathBuf::from(value()?),
            "--transport" => options.transports = transports(value()?)?,
            "-t" | "--test" => options.tests.push(value()?.clone()),
            "--json" => options.json = Some(PathBuf::from(value()?)),
            "--nuncio" => options.nuncio = Some(std::path::absolute(value()?)?),
            "-v" | "--verbose" => options.verbose = true,
            unknown => bail!("xtask acts: there is no option `{unknown}`\n\n{HELP}"),
        }
    }
    if options.corpus.as_os_str().is_empty() {
        bail!("xtask acts: say with --corpus where the suite is\n\n{HELP}");
    }
    Ok(options)
}

fn transports(name: &str) -> Result<Vec<Transport>> {
    if name == "all" {
        return Ok(Transport::ALL.to_vec());
    }
    let named = Transport::ALL.into_iter().find(|it| it.to_string() == name);
    let named =
        named.with_context(|| format!("`{name}` is none of jsonrpc, rest, grpc and all"))?;
    Ok(vec![named])
}

fn build() -> Result<PathBuf> {
    process::run(
        &mut process::cargo(&["build", "--quiet", "-p", "nuncio"]),
        BUILD_LIMIT,
    )?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| process::repository_root().join("target"));
    Ok(target.join("debug/nuncio"))
}

/// The passes over one binding: each with an agent of its own.
async fn measure(
    corpus: &Corpus,
    options: &Options,
    program: &Path,
    transport: Transport,
) -> Result<Report> {
    let began = Instant::now();
    let mut judged = Vec::new();
    let chosen = |test: &Test| {
        let named = options.tests.is_empty() || options.tests.contains(&test.id);
        named && is_for(test, transport)
    };
    let mut pass = Pass {
        corpus,
        program,
        transport,
        profile: Profile::Default,
    };
    pass.run(&chosen, &mut judged).await?;
    for (profile, again) in [(Profile::Reduced, &REDUCED[..]), (Profile::Auth, &AUTH[..])] {
        let again = |test: &Test| chosen(test) && again.contains(&test.id.as_str());
        if corpus
            .suites
            .iter()
            .flat_map(|suite| &suite.tests)
            .any(again)
        {
            pass.profile = profile;
            let mut once_more = Vec::new();
            pass.run(&again, &mut once_more).await?;
            put_instead_of_skips(&mut judged, once_more);
        }
    }
    for judged in &judged {
        if options.verbose || judged.is_worth_telling() {
            println!("{}", judged.lines());
        }
    }
    Ok(Report {
        transport,
        judged,
        took: began.elapsed(),
    })
}

/// One agent and the tests it is run for.
struct Pass<'p> {
    corpus: &'p Corpus,
    program: &'p Path,
    transport: Transport,
    profile: Profile,
}

impl Pass<'_> {
    async fn run(&self, chosen: &dyn Fn(&Test) -> bool, judged: &mut Vec<Judged>) -> Result<()> {
        let version = &self.corpus.spec_version;
        let sut = Sut::start(self.program, self.profile, version).await?;
        let peer = sut.peer(self.transport, version);
        let receiver = Receiver::start().await?;
        let bench = Bench {
            peer: peer
                .with_context(|| format!("the card names no {} interface", self.transport))?,
            card: &sut.card,
            profile: self.profile,
            variables: &self.corpus.variables,
            receiver: &receiver,
        };
        for suite in &self.corpus.suites {
            for test in suite.tests.iter().filter(|test| chosen(test)) {
                let of = (suite.id.as_str(), suite.name.as_str());
                let raw = bench.run(test).await;
                judged.push(match errata::about(&test.id) {
                    None => Judged::new(of, test, self.profile, raw),
                    Some(erratum) => {
                        let corrected: Outcome = bench.run(&erratum.correct(test)?).await;
                        let mut both = Judged::new(of, test, self.profile, corrected);
                        both.raw = Some((raw, erratum));
                        both
                    }
                });
            }
        }
        Ok(())
    }
}

/// What another agent was asked for counts where the first one had to be passed over.
fn put_instead_of_skips(judged: &mut [Judged], once_more: Vec<Judged>) {
    for again in once_more {
        let same = judged.iter_mut().find(|it| it.test.0 == again.test.0);
        if let Some(first) = same
            && matches!(first.corrected.verdict, Verdict::Skip(_))
        {
            *first = again;
        }
    }
}

fn write_json(options: &Options, corpus: &Corpus, report: &Report) -> Result<()> {
    let Some(file) = &options.json else {
        return Ok(());
    };
    let mut file = file.clone();
    if options.transports.len() > 1 {
        let stem = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        file.set_file_name(format!("{stem}-{}.json", report.transport));
    }
    let versions = (corpus.acts_version.as_str(), corpus.spec_version.as_str());
    let now = jiff::Timestamp::now().to_string();
    let text = serde_json::to_string_pretty(&report.json(versions, &now))?;
    std::fs::write(&file, text + "\n").with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Result<Options> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        read_arguments(&words)
    }

    #[test]
    fn the_command_line_is_read_and_slips_are_named() {
        let options = arguments("--corpus c -t A -t B --transport rest -v").unwrap();
        assert_eq!(options.tests, ["A", "B"]);
        assert_eq!(options.transports, [Transport::Rest]);
        assert!(options.verbose);
        let slips = [
            ("", "--corpus"),
            ("--corpus", "needs a value"),
            ("--corpus c --transport soap", "`soap`"),
            ("--corpus c --wrong", "`--wrong`"),
        ];
        for (line, complaint) in slips {
            let error = format!("{:#}", arguments(line).err().unwrap());
            assert!(error.contains(complaint), "{line}: {error}");
        }
    }
}
