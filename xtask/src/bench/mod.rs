//! `cargo xtask bench`: what nuncio costs beside the least that any server costs. Owns the plan of
//! the measurement (which servers, which load, how often); the parts are `floor` (the least),
//! `load` (the generator), `served` (one server at a time, pinned to one core) and `report`.

pub mod floor;
pub mod latency;
pub mod load;
mod process_facts;
mod report;
mod served;
pub mod turns;

use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::process;
use load::{Mode, Outcome, Plan};
use report::{Findings, Growth, Start};
use served::{Options, Served, Server};

const HELP: &str = "\
Measures nuncio (memory and SQLite store) beside a bare server that parses, stores and answers the
same JSON. Server and load generator are pinned to one core each; the servers take turns in every
round; the medians are printed and, after a full run, appended to docs/reference/benchmarks.md.

Usage: cargo xtask bench [OPTIONS]

  --quick          one short round, to see that it works; appends nothing
  --only CASE,…    only these of: send-16 get-16 stream-16 stream-1 send-64 rest-16 grpc-16 growth
                   drop webhooks answers turns chunks
  --rounds N       rounds (3)
  --seconds S      length of one measurement (3)
  --no-build       takes the programs in target/release as they are
  --no-report      appends nothing to docs/reference/benchmarks.md
";

const REPORT: &str = "docs/reference/benchmarks.md";

/// Kinds of load that the servers get in every round: name, mode, connections, which servers.
const CASES: [(&str, Mode, usize, &[Server]); 7] = [
    ("send-16", Mode::Send, 16, &SERVERS),
    ("rest-16", Mode::Rest, 16, &[Server::Memory]),
    ("grpc-16", Mode::Grpc, 16, &[Server::Memory]),
    ("get-16", Mode::Get, 16, &SERVERS),
    ("stream-16", Mode::Stream, 16, &SERVERS),
    ("stream-1", Mode::Stream, 1, &SERVERS),
    ("send-64", Mode::Send, 64, &SERVERS),
];
const SERVERS: [Server; 3] = [Server::Floor, Server::Memory, Server::Sqlite];
/// Cases that are run once, after the rounds.
const GROWTH: &str = "growth";
const DROP: &str = "drop";
const WEBHOOKS: &str = "webhooks";
const ANSWERS: &str = "answers";
const SINGLE: [&str; 6] = [GROWTH, DROP, WEBHOOKS, ANSWERS, turns::TURNS, turns::CHUNKS];
/// Webhooks of each task whose answer is measured beside one without.
const MANY_WEBHOOKS: usize = 10;

/// A release build with link-time optimization takes minutes on two cores.
const BUILD_LIMIT: Duration = Duration::from_mins(30);

/// What the user asked for.
struct Settings {
    only: Vec<String>,
    rounds: usize,
    seconds: f64,
    /// Tasks that `growth` stores.
    tasks: u64,
    /// Streams that `drop` opens.
    streams: u64,
    /// Tasks whose posts `webhooks` waits for.
    posting_tasks: u64,
    /// Answers that `answers` measures.
    answers: u64,
    /// Turns that `turns` holds.
    turns: u64,
    builds: bool,
    appends: bool,
}

impl Settings {
    fn parse(arguments: &[String]) -> Result<Option<Self>> {
        let mut it = Self {
            only: Vec::new(),
            rounds: 3,
            seconds: 3.0,
            tasks: 500_000,
            streams: 10_000,
            posting_tasks: 3_000,
            answers: 1_000,
            turns: 2_000,
            builds: true,
            appends: true,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .with_context(|| format!("{argument} needs a value\n\n{HELP}"))
            };
            match argument.as_str() {
                "--help" | "-h" => return Ok(None),
                "--no-build" => it.builds = false,
                "--no-report" => it.appends = false,
                "--only" => it.only = value()?.split(',').map(str::to_owned).collect(),
                "--rounds" => it.rounds = value()?.parse().context("--rounds takes a number")?,
                "--seconds" => it.seconds = value()?.parse().context("--seconds takes a number")?,
                "--quick" => {
                    let (rounds, seconds, tasks, streams) = (1, 1.0, 50_000, 1_000);
                    it = Self {
                        rounds,
                        seconds,
                        tasks,
                        streams,
                        posting_tasks: 300,
                        answers: 50,
                        turns: 200,
                        appends: false,
                        ..it
                    };
                }
                unknown => bail!("xtask bench: unknown argument `{unknown}`\n\n{HELP}"),
            }
        }
        let known =
            |case: &str| CASES.iter().any(|(name, ..)| *name == case) || SINGLE.contains(&case);
        if let Some(unknown) = it.only.iter().find(|case| !known(case)) {
            bail!("xtask bench: there is no case `{unknown}`\n\n{HELP}");
        }
        it.appends &= it.only.is_empty();
        Ok(Some(it))
    }

    fn wants(&self, case: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|it| it == case)
    }
}

/// The `bench` task.
///
/// # Errors
/// When something does not build or start, or a server answers with an error. A mark that is not
/// met is no error: it stands in the report.
pub fn main(arguments: &[String]) -> Result<()> {
    let Some(settings) = Settings::parse(arguments)? else {
        print!("{HELP}");
        return Ok(());
    };
    if settings.builds {
        println!("bench: building for release");
        let build = [
            "build",
            "--release",
            "--quiet",
            "-p",
            "nuncio",
            "-p",
            "xtask",
            "--bins",
        ];
        process::run(&mut process::cargo(&build), BUILD_LIMIT)?;
    }
    let mut findings = Findings::default();
    for round in 1..=settings.rounds {
        for server in SERVERS {
            measure(&settings, server, &mut findings)
                .with_context(|| format!("bench: {server}, round {round}"))?;
        }
    }
    if settings.wants(GROWTH) {
        for _ in 0..settings.rounds {
            grow(&settings, Server::Floor, &mut findings)?;
            grow(&settings, Server::Memory, &mut findings)?;
        }
    }
    if settings.wants(DROP) {
        drop_streams(&settings, &mut findings)?;
    }
    for _ in 0..settings.rounds {
        post_webhooks(&settings, &mut findings)?;
        turns::measure(&settings, &mut findings.turns)?;
    }
    let report = findings.markdown();
    println!("\n{report}");
    if settings.appends {
        append(&report, settings.rounds)
    } else {
        Ok(())
    }
}

/// One server's turn of a round: every wanted case against one fresh process.
fn measure(settings: &Settings, server: Server, findings: &mut Findings) -> Result<()> {
    let wanted: Vec<_> = CASES
        .iter()
        .filter(|(name, .., servers)| settings.wants(name) && servers.contains(&server))
        .collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let served = Served::start(server, &Options::default())?;
    findings.starts.entry(server).or_default().push(Start {
        to_first_card_ms: served.to_first_card.as_secs_f64() * 1e3,
        memory_kib: served.memory_kib()?,
    });
    for (name, mode, connections, _) in wanted {
        let plan = plan(&served, *mode, *connections, settings.seconds, 0);
        let outcome = load(&plan).with_context(|| format!("case {name}"))?;
        let (rate, cpu) = (outcome.rate(), outcome.cpu);
        println!("bench: {name:9} {server:13} {rate:7.0}/s {cpu:6.1} µs CPU");
        findings
            .runs
            .entry((name, server))
            .or_default()
            .push(outcome);
    }
    Ok(())
}

fn plan(served: &Served, mode: Mode, connections: usize, seconds: f64, requests: u64) -> Plan {
    Plan {
        address: served.address,
        connections,
        seconds,
        requests,
        process: served.process(),
        ..Plan::of_no_server(mode)
    }
}

/// Runs `bench-load` on its own core.
fn load(plan: &Plan) -> Result<Outcome> {
    let binary = process::repository_root().join("target/release/bench-load");
    let mut command = served::pinned(served::LOAD_CORE);
    let printed = process::output(command.arg(binary).arg(serde_json::to_string(plan)?))?;
    serde_json::from_str(&printed).context("bench-load printed no outcome")
}

/// Fills a store that keeps everything, and looks for the longest pause on the way.
fn grow(settings: &Settings, server: Server, findings: &mut Findings) -> Result<()> {
    let options = Options {
        max_tasks: Some(settings.tasks * 2),
        ..Options::default()
    };
    let served = Served::start(server, &options)?;
    let before_kib = served.memory_kib()?;
    let outcome = load(&plan(&served, Mode::Send, 16, 0.0, settings.tasks))
        .with_context(|| format!("bench: {GROWTH}, {server}"))?;
    let (tasks, longest) = (outcome.requests, outcome.latency.longest / 1e3);
    println!("bench: growth    {server:13} {tasks} tasks, longest pause {longest:.2} ms");
    let after_kib = served.memory_kib()?;
    let growth = Growth {
        outcome,
        before_kib,
        after_kib,
    };
    findings.growth.entry(server).or_default().push(growth);
    Ok(())
}

/// One round of webhooks: as many as can be delivered, and answers with and without them.
fn post_webhooks(settings: &Settings, findings: &mut Findings) -> Result<()> {
    let options = Options {
        webhooks: true,
        ..Options::default()
    };
    for server in [Server::Memory, Server::Sqlite] {
        if settings.wants(WEBHOOKS) {
            let served = Served::start(server, &options)?;
            let plan = plan(&served, Mode::Deliver, 16, 0.0, settings.posting_tasks);
            let outcome = load(&plan).with_context(|| format!("bench: {WEBHOOKS}, {server}"))?;
            let rate = outcome.rate();
            println!("bench: webhooks  {server:13} {rate:7.0}/s");
            findings.webhooks.entry(server).or_default().push(outcome);
        }
        for webhooks in [0, MANY_WEBHOOKS] {
            if !settings.wants(ANSWERS) {
                continue;
            }
            let served = Served::start(server, &options)?;
            let plan = Plan {
                path: "/agents/asks".to_owned(),
                webhooks,
                ..plan(&served, Mode::Answer, 1, 0.0, settings.answers)
            };
            let outcome = load(&plan).with_context(|| format!("bench: {ANSWERS}, {server}"))?;
            let p99 = outcome.latency.p99;
            println!("bench: answers   {server:13} {webhooks} webhooks each: p99 {p99:.0} µs");
            findings
                .answers
                .entry((server, webhooks))
                .or_default()
                .push(outcome);
        }
    }
    Ok(())
}

/// Opens streams and drops them: of new tasks, and of one task that lives on.
fn drop_streams(settings: &Settings, findings: &mut Findings) -> Result<()> {
    let kinds = [
        (Mode::Drop, "/", "streams of new tasks"),
        (
            Mode::Subscribe,
            "/agents/slow",
            "subscribers of a live task",
        ),
    ];
    for (mode, path, streams) in kinds {
        let options = Options {
            slow_agent: mode == Mode::Subscribe,
            ..Options::default()
        };
        let served = Served::start(Server::Memory, &options)?;
        let plan = plan(&served, mode, 1, 0.0, settings.streams);
        let outcome = load(&Plan {
            path: path.to_owned(),
            ..plan
        })
        .with_context(|| format!("bench: {DROP}, {streams}"))?;
        let dropped = outcome
            .dropped
            .context("bench-load measured no dropped streams")?;
        let (before, after) = (dropped.before.memory_kib, dropped.after.memory_kib);
        println!(
            "bench: drop      {} {streams}: {before} -> {after} KiB",
            settings.streams
        );
        findings.dropped.push((streams, settings.streams, dropped));
    }
    Ok(())
}

/// Appends a dated section with the facts of the machine.
fn append(report: &str, rounds: usize) -> Result<()> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let (year, month, day) = floor::date(since.as_secs() / 86_400);
    let rustc = process::output(std::process::Command::new("rustc").arg("--version"))?;
    let version = rustc
        .split_whitespace()
        .nth(1)
        .unwrap_or_default()
        .to_owned();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let facts = format!(
        "{cores} cores, {}, rustc {version}, {rounds} rounds",
        processor()
    );
    let section = format!(
        "\n## {year:04}-{month:02}-{day:02}\n\n{facts}.\n\n{}\n",
        report.trim()
    );
    let path = process::repository_root().join(REPORT);
    let mut text = std::fs::read_to_string(&path).with_context(|| format!("no {REPORT}"))?;
    text.push_str(&section);
    std::fs::write(&path, text).with_context(|| format!("cannot write {REPORT}"))?;
    println!("bench: appended to {REPORT}");
    Ok(())
}

/// The processor's name; empty where `/proc/cpuinfo` does not tell.
fn processor() -> String {
    let facts = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = facts.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split(": ").nth(1))
        .unwrap_or("unknown processor")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Option<Settings>> {
        let arguments: Vec<String> = arguments.iter().map(|it| (*it).to_owned()).collect();
        Settings::parse(&arguments)
    }

    #[test]
    fn a_part_of_the_cases_is_never_appended() {
        assert!(parse(&[]).unwrap().unwrap().appends);
        let part = parse(&["--only", "send-16,drop", "--rounds", "5"])
            .unwrap()
            .unwrap();
        assert!(!part.appends && part.rounds == 5);
        assert!(part.wants("drop") && !part.wants("growth"));
        assert!(!parse(&["--quick"]).unwrap().unwrap().appends);
    }

    #[test]
    fn unknown_cases_and_arguments_are_named() {
        assert!(
            parse(&["--only", "sends"])
                .err()
                .unwrap()
                .to_string()
                .contains("`sends`")
        );
        assert!(
            parse(&["--fast"])
                .err()
                .unwrap()
                .to_string()
                .contains("`--fast`")
        );
        assert!(
            parse(&["--rounds"])
                .err()
                .unwrap()
                .to_string()
                .contains("needs a value")
        );
        assert!(parse(&["--help"]).unwrap().is_none());
    }
}
