//! Whether the clock is right: compared with the `Date` of the servers that the configuration names, and
//! with what was written to the data directory before.

use std::path::Path;
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use http::{HeaderMap, Method};
use nuncio_client::{HttpService, webhook_signature};
use nuncio_gateway::config::Config;
use url::Url;

use super::Finding;

/// How long a server may take to tell the time.
const LIMIT: Duration = Duration::from_secs(5);
/// Most servers that are asked: more say nothing new.
const MAX_SERVERS: usize = 5;
/// A difference that says nothing: `Date` counts seconds, and answers take their time.
const USUAL: Duration = Duration::from_secs(30);
/// A difference with which receivers refuse signatures that hold a time.
const TOO_MUCH: Duration = webhook_signature::TOLERANCE;
/// What helps.
const REMEDY: &str = "signatures, tokens and certificates hold times: set this clock, as with \
    `timedatectl set-ntp true`";

/// How far this clock is from another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Apart {
    Behind(std::cmp::Reverse<Duration>),
    Ahead(Duration),
}

impl Apart {
    fn of(here: SystemTime, there: SystemTime) -> Self {
        match here.duration_since(there) {
            Ok(by) => Self::Ahead(by),
            Err(error) => Self::Behind(std::cmp::Reverse(error.duration())),
        }
    }

    fn by(self) -> Duration {
        match self {
            Self::Ahead(by) | Self::Behind(std::cmp::Reverse(by)) => by,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Ahead(_) => "ahead of",
            Self::Behind(_) => "behind",
        }
    }
}

/// Looks at the clock.
pub(super) async fn look(config: &Config, home: &Path) -> Finding {
    let asked = servers(config).into_iter().map(ask);
    let told = join_all(asked).await.into_iter().flatten().collect();
    judge(told, last_written(home), SystemTime::now())
}

/// The servers that the configuration names, each once.
fn servers(config: &Config) -> Vec<Url> {
    let agents = config.agents.values();
    let agents = agents.filter_map(|agent| agent.backend.server());
    let peers = config.peers.values().map(|peer| &peer.url);
    let mut servers = Vec::new();
    for url in agents.chain(peers) {
        let mut origin = url.url().clone();
        origin.set_path("/");
        origin.set_query(None);
        if !servers.contains(&origin) && servers.len() < MAX_SERVERS {
            servers.push(origin);
        }
    }
    servers
}

/// What this clock says beside a server's; nothing if the server does not tell, or is not there: others
/// complain of that.
async fn ask(url: Url) -> Option<(String, Apart)> {
    let service = HttpService::new(&url, None);
    let before = SystemTime::now();
    let answer = service.call(Method::HEAD, "", HeaderMap::new(), None, LIMIT);
    let there = answer.await.ok()?.date()?;
    // It told the time somewhere on the way.
    let half = before.elapsed().unwrap_or_default() / 2;
    Some((service.peer(), Apart::of(before + half, there)))
}

/// When the data directory was last written to.
fn last_written(home: &Path) -> Option<SystemTime> {
    let entries = std::fs::read_dir(home).ok()?.flatten();
    let times = entries.filter_map(|entry| entry.metadata().ok()?.modified().ok());
    times.max()
}

fn judge(mut told: Vec<(String, Apart)>, written: Option<SystemTime>, now: SystemTime) -> Finding {
    if let Some(Apart::Behind(by)) = written.map(|written| Apart::of(now, written))
        && by.0 > TOO_MUCH
    {
        let by = spoken(by.0);
        let found = format!("the data directory was written to {by} from now: {REMEDY}");
        return Finding::of("clock", Err(found));
    }
    // Where one server is wrong the others are not.
    told.sort_by_key(|(_, apart)| *apart);
    let Some((peer, apart)) = told.get(told.len() / 2) else {
        let found = "no server that is named here tells the time to compare it with";
        return Finding::of("clock", Ok(found.to_owned()));
    };
    let by = apart.by();
    if by <= USUAL {
        return Finding::of("clock", Ok(format!("as {peer} has it")));
    }
    let found = format!("{} {} {peer}: {REMEDY}", spoken(by), apart.word());
    match by > TOO_MUCH {
        true => Finding::of("clock", Err(found)),
        false => Finding::odd("clock", found),
    }
}

/// A length of time in one unit.
fn spoken(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    /// This many seconds ahead.
    fn apart(seconds: i64) -> Apart {
        let by = Duration::from_secs(seconds.unsigned_abs());
        match seconds {
            0.. => Apart::Ahead(by),
            _ => Apart::Behind(std::cmp::Reverse(by)),
        }
    }

    #[test]
    fn a_clock_is_wrong_when_most_servers_say_so() {
        for (seconds, verdict, text) in [
            (&[0][..], Verdict::Good, "as s0 has it"),
            (&[-30], Verdict::Good, "as s0 has it"),
            (&[31], Verdict::Odd, "31 s ahead of s0"),
            (&[-3600], Verdict::Bad, "60 min behind s0"),
            (&[0, 90_000, 1], Verdict::Good, "as s2 has it"),
            (&[90_000, 0, 80_000], Verdict::Bad, "22 h ahead of s2"),
            (&[-90_000, 0, 2], Verdict::Good, "as s1 has it"),
            (&[], Verdict::Good, "no server"),
        ] {
            let told = seconds.iter().enumerate();
            let told = told.map(|(number, it)| (format!("s{number}"), apart(*it)));
            let finding = judge(told.collect(), Some(NOW), NOW);
            assert_eq!(finding.verdict, verdict, "{seconds:?}");
            assert!(
                finding.found.contains(text),
                "{seconds:?} {}",
                finding.found
            );
        }
    }

    #[test]
    fn what_was_written_later_than_now_shows_a_clock_that_was_set_back() {
        let written = NOW + Duration::from_secs(86_400);
        let finding = judge(Vec::new(), Some(written), NOW);
        assert_eq!(finding.verdict, Verdict::Bad);
        assert!(finding.found.contains("24 h from now"), "{}", finding.found);
        let finding = judge(Vec::new(), Some(NOW + TOO_MUCH), NOW);
        assert_eq!(finding.verdict, Verdict::Good);
    }
}
