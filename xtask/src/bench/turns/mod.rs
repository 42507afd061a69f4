//! What the gateway adds to a turn of a live agent: the time of a turn over that of the same turn
//! without it, the way of the first word, and long answers of many small chunks.

pub mod agent;

use std::fmt::Write as _;

use anyhow::{Context, Result};

use super::load::{Mode, Outcome, Plan};
use super::report::{Mark, line, median};
use super::served::{self, Options, Served, Server};
use super::{Settings, load, plan};
use crate::process;

/// Names of the cases.
pub(super) const TURNS: &str = "turns";
pub(super) const CHUNKS: &str = "chunks";
/// Chunks of a long answer, and of one ten times as long.
const FEW_CHUNKS: u64 = 10_000;
const MANY_CHUNKS: u64 = 100_000;
/// As much memory may an answer ten times as long take above the shorter one, in MB: ten times its
/// text, which is what the task holds.
const FLAT_MB: f64 = 20.0;

/// What was found, an outcome per round.
#[derive(Debug, Default)]
pub(super) struct Turns {
    direct: Vec<Outcome>,
    gateway: Vec<Outcome>,
    few: Vec<Outcome>,
    many: Vec<Outcome>,
}

/// One round.
pub(super) fn measure(settings: &Settings, found: &mut Turns) -> Result<()> {
    let options = Options {
        acp_agent: true,
        ..Options::default()
    };
    if settings.wants(TURNS) {
        let direct = load(&Plan {
            program: program(),
            requests: settings.turns,
            ..Plan::of_no_server(Mode::DirectTurns)
        });
        found
            .direct
            .push(direct.context("turns without a gateway")?);
        let served = Served::start(Server::Memory, &options)?;
        let turns = load(&plan(&served, Mode::Turns, 1, 0.0, settings.turns))?;
        let (direct, through) = (found.direct.last().map_or(0.0, p50), p50(&turns));
        println!("bench: turns     p50 {through:.0} µs, without the gateway {direct:.0} µs");
        found.gateway.push(turns);
    }
    if settings.wants(CHUNKS) {
        for (count, outcomes) in [(FEW_CHUNKS, &mut found.few), (MANY_CHUNKS, &mut found.many)] {
            let served = Served::start(Server::Sqlite, &options)?;
            let streamed = load(&plan(&served, Mode::Chunks, 1, 0.0, count))?;
            let (ms, peak) = (millis(&streamed), megabytes(&streamed));
            println!("bench: chunks    {count} in {ms:.0} ms, memory at most {peak:.1} MB");
            outcomes.push(streamed);
        }
    }
    Ok(())
}

/// The agent without a gateway, on the core that it would share with it.
fn program() -> Vec<String> {
    let agent = process::repository_root().join("target/release/bench-agent");
    let mut command = served::pinned(served::SERVER_CORE);
    command.arg(agent);
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|it| it.to_string_lossy().into_owned()).collect()
}

fn p50(outcome: &Outcome) -> f64 {
    outcome.latency.p50
}

fn millis(outcome: &Outcome) -> f64 {
    outcome.seconds * 1e3
}

fn megabytes(outcome: &Outcome) -> f64 {
    outcome.peak_kib as f64 / 1024.0
}

impl Turns {
    /// Two tables, each only if its case was run.
    pub(super) fn tables(&self) -> String {
        let mut text = String::new();
        let of = |rounds: &[Outcome], value: fn(&Outcome) -> f64| {
            median(rounds.iter().map(value).collect())
        };
        if !self.gateway.is_empty() {
            text.push_str(
                "| turns of an ACP agent | p50 µs | p99 µs | first word p50 µs | p99 µs |\n\
                 |---|---:|---:|---:|---:|\n",
            );
        }
        for (way, rounds) in [
            ("directly", &self.direct),
            ("over the gateway", &self.gateway),
        ] {
            if rounds.is_empty() {
                continue;
            }
            let row = [
                way.to_owned(),
                format!("{:.0}", of(rounds, p50)),
                format!("{:.0}", of(rounds, |it| it.latency.p99)),
                format!("{:.0}", of(rounds, |it| it.first_event.p50)),
                format!("{:.0}", of(rounds, |it| it.first_event.p99)),
            ];
            line(&mut text, &row);
        }
        if !self.few.is_empty() {
            writeln!(
                text,
                "\n| chunks of 20 bytes, SQLite | ms | CPU µs each | memory at most MB |"
            )
            .and_then(|()| writeln!(text, "|---:|---:|---:|---:|"))
            .expect("a String takes any text");
        }
        for (count, rounds) in [(FEW_CHUNKS, &self.few), (MANY_CHUNKS, &self.many)] {
            if rounds.is_empty() {
                continue;
            }
            let row = [
                count.to_string(),
                format!("{:.0}", of(rounds, millis)),
                format!("{:.1}", of(rounds, |it| it.cpu) / count as f64),
                format!("{:.1}", of(rounds, megabytes)),
            ];
            line(&mut text, &row);
        }
        text
    }

    /// The marks whose case was run.
    pub(super) fn marks(&self) -> Vec<Mark> {
        let of = |rounds: &[Outcome], value: fn(&Outcome) -> f64| {
            let values: Vec<f64> = rounds.iter().map(value).collect();
            (!values.is_empty()).then(|| median(values))
        };
        let less = |a: Option<f64>, b: Option<f64>| Some(a? - b?);
        let added = less(of(&self.gateway, p50), of(&self.direct, p50)).map(|it| it / 1e3);
        let first_word = of(&self.gateway, |it| it.first_event.p50 / 1e3);
        let (few, many) = (of(&self.few, millis), of(&self.many, millis));
        let times = few.zip(many).map(|(few, many)| many / few);
        let grown = less(of(&self.many, megabytes), of(&self.few, megabytes));
        [
            Mark::at_most(
                "a turn over the gateway: p50 above the same directly",
                added,
                1.0,
                " ms",
            ),
            Mark::at_most(
                "an agent's first word to the caller, p50",
                first_word,
                2.0,
                " ms",
            ),
            Mark::at_most("100,000 chunks in one task: time x 10,000", times, 12.0, ""),
            Mark::at_most(
                "memory of 100,000 chunks above 10,000",
                grown,
                FLAT_MB,
                " MB",
            ),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}
