//! What the benchmark found: medians over the rounds, the table, the marks met or not, and the
//! section that goes to `docs/reference/benchmarks.md`. Knows no processes; takes numbers alone.

mod marks;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::load::{Dropped, Outcome};
use super::served::Server;
use super::turns::Turns;
pub(super) use marks::Mark;

/// Measured of a server besides its load runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    pub(super) to_first_card_ms: f64,
    pub(super) memory_kib: u64,
}

/// A store that was filled, with the server's memory in KiB before and after.
#[derive(Debug)]
pub(super) struct Growth {
    pub(super) outcome: Outcome,
    pub(super) before_kib: u64,
    pub(super) after_kib: u64,
}

/// Everything one benchmark found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// By case and server, one outcome per round.
    pub(super) runs: BTreeMap<(&'static str, Server), Vec<Outcome>>,
    pub(super) starts: BTreeMap<Server, Vec<Start>>,
    /// By server and round: the run that filled the store, and what it held.
    pub(super) growth: BTreeMap<Server, Vec<Growth>>,
    /// By server and round: posts that were delivered.
    pub(super) webhooks: BTreeMap<Server, Vec<Outcome>>,
    /// By server and number of webhooks of each task: answers to questions.
    pub(super) answers: BTreeMap<(Server, usize), Vec<Outcome>>,
    /// By kind of stream: how many were dropped, and what the server held around them.
    pub(super) dropped: Vec<(&'static str, u64, Dropped)>,
    /// Turns of a live agent.
    pub(super) turns: Turns,
}

impl Findings {
    /// The median over the rounds; none when the case was not run.
    fn median(&self, case: &str, server: Server, value: fn(&Outcome) -> f64) -> Option<f64> {
        let (_, outcomes) = self
            .runs
            .iter()
            .find(|((it, of), _)| *it == case && *of == server)?;
        Some(median(outcomes.iter().map(value).collect()))
    }

    fn times_floor(&self, case: &str, server: Server, value: fn(&Outcome) -> f64) -> Option<f64> {
        Some(self.median(case, server, value)? / self.median(case, Server::Floor, value)?)
    }

    /// The report as Markdown: reads well on a terminal too.
    pub(super) fn markdown(&self) -> String {
        let mut text = String::new();
        let parts = [
            self.load(),
            self.start(),
            self.growth(),
            self.drops(),
            self.webhooks(),
            self.turns.tables(),
            self.marks(),
        ];
        for part in parts.iter().filter(|part| !part.is_empty()) {
            text.push_str(part);
            text.push('\n');
        }
        text
    }

    fn load(&self) -> String {
        if self.runs.is_empty() {
            return String::new();
        }
        let mut text = String::from(
            "| case | server | requests/s | CPU µs each | CPU x floor | p50 µs | p99 µs | first event p50 / p99 µs |\n\
             |---|---|---:|---:|---:|---:|---:|---:|\n",
        );
        for (case, server) in self.runs.keys() {
            let of = |value| self.median(case, *server, value).unwrap_or_default();
            let ratio = self.times_floor(case, *server, |it| it.cpu);
            let ratio = ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}"));
            let first = if of(|it| it.events) > 0.0 {
                format!(
                    "{:.0} / {:.0}",
                    of(|it| it.first_event.p50),
                    of(|it| it.first_event.p99)
                )
            } else {
                "–".to_owned()
            };
            let row = [
                format!("{case:9}"),
                format!("{server:13}"),
                format!("{:7.0}", of(Outcome::rate)),
                format!("{:6.1}", of(|it| it.cpu)),
                ratio,
                format!("{:6.0}", of(|it| it.latency.p50)),
                format!("{:6.0}", of(|it| it.latency.p99)),
                first,
            ];
            line(&mut text, &row);
        }
        text
    }

    fn start(&self) -> String {
        if self.starts.is_empty() {
            return String::new();
        }
        let mut text = String::from(
            "| server | start to first card ms | memory at start MB |\n|---|---:|---:|\n",
        );
        for (server, starts) in &self.starts {
            let card = median(starts.iter().map(|it| it.to_first_card_ms).collect());
            let memory = median(starts.iter().map(|it| it.memory_kib as f64).collect()) / 1024.0;
            line(
                &mut text,
                &[
                    format!("{server:13}"),
                    format!("{card:.1}"),
                    format!("{memory:.1}"),
                ],
            );
        }
        text
    }

    fn growth(&self) -> String {
        if self.growth.is_empty() {
            return String::new();
        }
        let mut text = String::from(
            "| server | tasks stored | requests/s | p99.99 ms | longest ms in the quietest round | longest work ms | bytes per task |\n\
             |---|---:|---:|---:|---:|---:|---:|\n",
        );
        for (server, rounds) in &self.growth {
            let of = |value: fn(&Growth) -> f64| median(rounds.iter().map(value).collect());
            let bytes = of(|it| {
                let kib = it.after_kib.saturating_sub(it.before_kib);
                (kib * 1024) as f64 / it.outcome.requests as f64
            });
            let row = [
                format!("{server:13}"),
                format!("{:.0}", of(|it| it.outcome.requests as f64)),
                format!("{:.0}", of(|it| it.outcome.rate())),
                format!("{:.2}", of(|it| it.outcome.latency.p9999 / 1e3)),
                format!("{:.2}", quietest(rounds)),
                format!("{:.2}", of(|it| it.outcome.longest_work / 1e3)),
                format!("{bytes:.0}"),
            ];
            line(&mut text, &row);
        }
        text
    }

    fn drops(&self) -> String {
        if self.dropped.is_empty() {
            return String::new();
        }
        let mut text = String::from(
            "| streams opened and dropped | memory before MB | 500 open MB | after MB | files before | after |\n\
             |---|---:|---:|---:|---:|---:|\n",
        );
        for (streams, opened, it) in &self.dropped {
            let megabytes = |kib: u64| format!("{:.1}", kib as f64 / 1024.0);
            let row = [
                format!("{opened} {streams}"),
                megabytes(it.before.memory_kib),
                megabytes(it.peak_kib),
                megabytes(it.after.memory_kib),
                it.before.files.to_string(),
                it.after.files.to_string(),
            ];
            line(&mut text, &row);
        }
        text
    }

    fn webhooks(&self) -> String {
        let mut text = String::new();
        if !self.webhooks.is_empty() {
            text.push_str(
                "| server | webhooks delivered | a second | CPU µs each |\n|---|---:|---:|---:|\n",
            );
        }
        for (server, rounds) in &self.webhooks {
            let of = |value: fn(&Outcome) -> f64| median(rounds.iter().map(value).collect());
            let row = [
                format!("{server:13}"),
                format!("{:.0}", of(|it| it.requests as f64)),
                format!("{:.0}", of(Outcome::rate)),
                format!("{:.1}", of(|it| it.cpu)),
            ];
            line(&mut text, &row);
        }
        if !self.answers.is_empty() {
            text.push_str(
                "\n| server | webhooks of each task | answers | p50 µs | p99 µs |\n\
                 |---|---:|---:|---:|---:|\n",
            );
        }
        for ((server, webhooks), rounds) in &self.answers {
            let of = |value: fn(&Outcome) -> f64| median(rounds.iter().map(value).collect());
            let row = [
                format!("{server:13}"),
                webhooks.to_string(),
                format!("{:.0}", of(|it| it.requests as f64)),
                format!("{:.0}", of(|it| it.latency.p50)),
                format!("{:.0}", of(|it| it.latency.p99)),
            ];
            line(&mut text, &row);
        }
        text
    }
}

const STRING: &str = "a String takes any text";

/// One row of a table.
pub(super) fn line(text: &mut String, cells: &[String]) {
    writeln!(text, "| {} |", cells.join(" | ")).expect(STRING);
}

/// The longest latency of the round that had the shortest one, in milliseconds.
fn quietest(rounds: &[Growth]) -> f64 {
    let longest = rounds.iter().map(|it| it.outcome.latency.longest / 1e3);
    longest.min_by(f64::total_cmp).unwrap_or_default()
}

/// The middle of some numbers; 0 of none.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(cpu: f64, rate: f64) -> Outcome {
        Outcome {
            requests: rate as u64,
            seconds: 1.0,
            cpu,
            ..Outcome::default()
        }
    }

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_two() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0]), 2.5);
        assert_eq!(median(Vec::new()), 0.0);
    }

    #[test]
    fn ratios_and_marks_come_from_the_medians() {
        let mut findings = Findings::default();
        let floor = vec![
            outcome(10.0, 90_000.0),
            outcome(99.0, 1.0),
            outcome(9.0, 95_000.0),
        ];
        findings.runs.insert(("send-16", Server::Floor), floor);
        findings
            .runs
            .insert(("send-16", Server::Memory), vec![outcome(25.0, 40_000.0)]);
        findings
            .runs
            .insert(("send-64", Server::Sqlite), vec![outcome(40.0, 6_000.0)]);
        let text = findings.markdown();
        assert!(text.contains("| 2.50 |"), "{text}");
        assert!(
            text.contains("NOT MET: memory SendMessage: CPU x floor at most 2 (2.50)"),
            "{text}"
        );
        assert!(text.contains("- met: SQLite: acknowledged sends"), "{text}");
        assert!(
            !text.contains("first event, p50"),
            "a case that was not run has no mark"
        );
    }
}
