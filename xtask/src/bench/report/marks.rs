//! The marks that the product promises, each met or not by what was found.

use std::fmt::Write as _;

use super::{Findings, Growth, STRING, median};
use crate::bench::MANY_WEBHOOKS;
use crate::bench::load::{Dropped, Outcome};
use crate::bench::served::Server;

impl Findings {
    /// CPU of a binding over that of JSON-RPC.
    fn times_json_rpc(&self, case: &str) -> Option<f64> {
        let of = |case| self.median(case, Server::Memory, |it| it.cpu);
        Some(of(case)? / of("send-16")?)
    }

    /// The slowest answers with many webhooks over those without.
    fn times_without_webhooks(&self, server: Server) -> Option<f64> {
        let of = |webhooks| {
            let rounds = self.answers.get(&(server, webhooks))?;
            Some(median(rounds.iter().map(|it| it.latency.p99).collect()))
        };
        Some(of(MANY_WEBHOOKS)? / of(0)?)
    }

    /// One line for each.
    pub(super) fn marks(&self) -> String {
        let mut text = String::new();
        for mark in self.all_marks() {
            let verdict = if mark.met { "met" } else { "NOT MET" };
            writeln!(text, "- {verdict}: {} ({})", mark.claim, mark.found).expect(STRING);
        }
        text
    }

    /// Every mark whose case was run.
    fn all_marks(&self) -> Vec<Mark> {
        let cpu = self.times_floor("send-16", Server::Memory, |it| it.cpu);
        let durable = self.median("send-64", Server::Sqlite, Outcome::rate);
        let streams = self.median("stream-16", Server::Memory, Outcome::rate);
        let first = self.median("stream-1", Server::Memory, |it| it.first_event.p50);
        let work = |it: &Growth| it.outcome.longest_work / 1e3;
        let pause = self.growth.get(&Server::Memory);
        let pause = pause.map(|rounds| median(rounds.iter().map(work).collect()));
        let delivered = self.webhooks.get(&Server::Sqlite);
        let delivered = delivered.map(|rounds| median(rounds.iter().map(Outcome::rate).collect()));
        let mut marks: Vec<Mark> = [
            Mark::at_most("memory SendMessage: CPU x floor", cpu, 2.0, ""),
            Mark::at_least(
                "SQLite: acknowledged sends at 64 connections",
                durable,
                5_000.0,
                "/s",
            ),
            Mark::at_least("three-event streams", streams, 20_000.0, "/s"),
            Mark::at_most("first event, p50", first, 150.0, " µs"),
            Mark::at_most(
                "longest pause of the server's own while the store grows",
                pause,
                5.0,
                " ms",
            ),
            Mark::at_most(
                "HTTP+JSON SendMessage: CPU x JSON-RPC",
                self.times_json_rpc("rest-16"),
                1.3,
                "",
            ),
            Mark::at_most(
                "gRPC SendMessage: CPU x JSON-RPC",
                self.times_json_rpc("grpc-16"),
                1.3,
                "",
            ),
            Mark::at_least("webhooks delivered, SQLite", delivered, 1_000.0, "/s"),
            Mark::at_most(
                "p99 of an answer with 10 webhooks x without, memory",
                self.times_without_webhooks(Server::Memory),
                1.1,
                "",
            ),
            Mark::at_most(
                "p99 of an answer with 10 webhooks x without, SQLite",
                self.times_without_webhooks(Server::Sqlite),
                1.1,
                "",
            ),
        ]
        .into_iter()
        .flatten()
        .collect();
        let flat = |(streams, opened, dropped): &(&str, u64, Dropped)| {
            Mark::flat(&format!("{opened} {streams}"), dropped)
        };
        marks.extend(self.dropped.iter().map(flat));
        marks.extend(self.turns.marks());
        marks
    }
}

/// A promise of the product, and what was found.
pub(in crate::bench) struct Mark {
    claim: String,
    found: String,
    met: bool,
}

impl Mark {
    /// Met by a value up to the bound; none where nothing was found.
    pub(in crate::bench) fn at_most(
        claim: &str,
        found: Option<f64>,
        bound: f64,
        unit: &str,
    ) -> Option<Self> {
        let found = found?;
        let claim = format!("{claim} at most {bound}{unit}");
        Some(Self {
            claim,
            found: format!("{found:.2}{unit}"),
            met: found <= bound,
        })
    }

    /// Met by a value from the bound on.
    fn at_least(claim: &str, found: Option<f64>, bound: f64, unit: &str) -> Option<Self> {
        let found = found?;
        let claim = format!("{claim} at least {bound}{unit}");
        Some(Self {
            claim,
            found: format!("{found:.0}{unit}"),
            met: found >= bound,
        })
    }

    /// Memory counts as flat when all streams together left less than this behind.
    fn flat(streams: &str, dropped: &Dropped) -> Self {
        const LEFT_KIB: u64 = 2 * 1024;
        let (before, after) = (dropped.before, dropped.after);
        let left = after.memory_kib.saturating_sub(before.memory_kib);
        let files = after.files.saturating_sub(before.files);
        Self {
            claim: format!("memory and open files flat: {streams} opened and dropped"),
            found: format!("{left} KiB and {files} files more"),
            met: left <= LEFT_KIB && files == 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::load::Held;

    #[test]
    fn left_over_files_break_the_mark() {
        let before = Held {
            memory_kib: 100,
            files: 9,
        };
        let met = |memory_kib, files| {
            let after = Held { memory_kib, files };
            Mark::flat(
                "streams",
                &Dropped {
                    before,
                    peak_kib: 900,
                    after,
                },
            )
            .met
        };
        assert!(met(100, 9));
        assert!(!met(100, 10));
        assert!(!met(9000, 9));
    }
}
