//! The process group of a program: everything it started, and how all of it ends.
//!
//! A process that leaves the group on purpose (`setsid`) is out of reach.

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::LazyLock;
use std::time::Duration;
use tokio::process::Child;
use tokio::time::{sleep, timeout};

/// First pause between two looks at a group that is ending: no event tells when the last member
/// is gone. Doubles up to [`LAST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(2);
/// Longest pause between two looks.
const LAST_PAUSE: Duration = Duration::from_millis(100);
/// How long killed processes may take to vanish. Killing cannot be refused, so this passes only
/// where nobody collects orphans or one hangs in the kernel.
const VANISH_LIMIT: Duration = Duration::from_secs(1);

/// The groups that have not ended, for [`kill_all`].
static LIVE: LazyLock<Mutex<Live>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Live {
    groups: HashSet<Pid>,
    /// Nothing is to run any longer.
    is_over: bool,
}

/// Kills every program that an agent of this process runs, and every one that is started later: this
/// process ends at once and cannot wait until each of its tasks has been dropped.
pub fn kill_all() {
    LIVE.lock().kill_all();
}

impl Live {
    fn add(&mut self, group: Pid) {
        self.groups.insert(group);
        if self.is_over {
            signal(group, Signal::SIGKILL);
        }
    }

    fn kill_all(&mut self) {
        self.is_over = true;
        for group in &self.groups {
            signal(*group, Signal::SIGKILL);
        }
    }
}

/// A group that is gone already needs no signal.
fn signal(group: Pid, signal: Signal) {
    let _ = killpg(group, signal);
}

/// A process group that is killed at the latest when this is dropped.
#[derive(Debug)]
pub struct Group {
    id: Pid,
    over: bool,
}

impl Group {
    /// The group led by `leader`, which was started in a group of its own.
    ///
    /// `None` if the leader was waited for already.
    pub fn led_by(leader: &Child) -> Option<Self> {
        let id = leader.id().and_then(|id| i32::try_from(id).ok())?;
        let id = Pid::from_raw(id);
        LIVE.lock().add(id);
        Some(Self { id, over: false })
    }

    /// Ends all of it: SIGTERM, after `grace` SIGKILL. Returns when it is gone.
    pub async fn stop(&mut self, leader: &mut Child, grace: Duration) {
        if self.over {
            return;
        }
        signal(self.id, Signal::SIGTERM);
        // A stopped process takes SIGTERM only when it goes on.
        signal(self.id, Signal::SIGCONT);
        if timeout(grace, self.gone(leader)).await.is_err() {
            signal(self.id, Signal::SIGKILL);
            if timeout(VANISH_LIMIT, self.gone(leader)).await.is_err() {
                tracing::warn!(
                    group = self.id.as_raw(),
                    "killed processes have not vanished yet"
                );
            }
        }
        self.end();
    }

    /// Kills what the leader left behind when it exited. Must follow the wait for the leader at
    /// once: while a member lives, the group's number cannot be given to anybody else.
    pub async fn sweep(&mut self) {
        if self.over {
            return;
        }
        if self.has_members() {
            signal(self.id, Signal::SIGKILL);
            if timeout(VANISH_LIMIT, self.empty()).await.is_err() {
                tracing::warn!(
                    group = self.id.as_raw(),
                    "killed processes have not vanished yet"
                );
            }
        }
        self.end();
    }

    /// It is gone: from now on its number may be somebody else's.
    fn end(&mut self) {
        self.over = true;
        LIVE.lock().groups.remove(&self.id);
    }

    async fn gone(&self, leader: &mut Child) {
        // An error means that it was collected before.
        drop(leader.wait().await);
        self.empty().await;
    }

    async fn empty(&self) {
        let mut pause = FIRST_PAUSE;
        while self.has_members() {
            sleep(pause).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }

    /// Whether anybody is left, after the leader was waited for.
    fn has_members(&self) -> bool {
        // Orphans come to us where nuncio is the first process of a container.
        let any_of_group = Pid::from_raw(-self.id.as_raw());
        while let Ok(status) = waitpid(any_of_group, Some(WaitPidFlag::WNOHANG)) {
            if status == WaitStatus::StillAlive {
                break;
            }
        }
        killpg(self.id, None) != Err(Errno::ESRCH) && has_living_members(self.id)
    }
}

/// Whether one of the group still runs. The dead count as members until somebody collects them,
/// which the first process of many containers never does.
#[cfg(target_os = "linux")]
fn has_living_members(group: Pid) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return true;
    };
    processes.flatten().any(|process| {
        let is_process = process
            .file_name()
            .as_encoded_bytes()
            .iter()
            .all(u8::is_ascii_digit);
        let stat = is_process.then(|| std::fs::read_to_string(process.path().join("stat")).ok());
        stat.flatten()
            .is_some_and(|stat| is_living_member(&stat, group))
    })
}

/// Reads `pid (name) state parent group …`; a name may hold anything, so its end is looked for.
#[cfg(target_os = "linux")]
fn is_living_member(stat: &str, group: Pid) -> bool {
    let Some((_, rest)) = stat.rsplit_once(')') else {
        return false;
    };
    let mut fields = rest.split_ascii_whitespace();
    let (state, of) = (fields.next(), fields.nth(1));
    of.and_then(|of| of.parse().ok()) == Some(group.as_raw()) && !matches!(state, Some("Z" | "X"))
}

#[cfg(not(target_os = "linux"))]
fn has_living_members(_: Pid) -> bool {
    true
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.over {
            signal(self.id, Signal::SIGKILL);
            self.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;
    use tokio::io::{AsyncBufReadExt, BufReader};
    use tokio::process::Command;

    /// A shell in a group of its own, once it has printed its first line.
    async fn started(script: &str) -> (Group, Child) {
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .stdout(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let group = Group::led_by(&child).unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).await.unwrap();
        assert_eq!(line, "ready\n");
        (group, child)
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_dead_are_no_members() {
        let group = Pid::from_raw(77);
        for (stat, living) in [
            ("80 (sh) S 1 77 77 0", true),
            ("80 (a) Z 1) R 5 77 77 0", true),
            ("80 (sh) Z 1 77 77 0", false),
            ("80 (sh) S 77 78 77 0", false),
            ("garbage", false),
        ] {
            assert_eq!(is_living_member(stat, group), living, "{stat}");
        }
    }

    #[tokio::test]
    async fn dropping_a_group_kills_it() {
        let (group, mut child) = started("trap '' TERM; echo ready; sleep 1000").await;
        drop(group);
        assert_eq!(child.wait().await.unwrap().signal(), Some(9));
    }

    #[tokio::test]
    async fn at_the_end_all_are_killed_and_what_comes_later_too() {
        let script = "trap '' TERM; echo ready; sleep 1000";
        let (early, mut early_child) = started(script).await;
        let (late, mut late_child) = started(script).await;
        let mut live = Live::default();
        live.add(early.id);
        live.kill_all();
        assert_eq!(early_child.wait().await.unwrap().signal(), Some(9));
        assert!(late_child.try_wait().unwrap().is_none());
        live.add(late.id);
        assert_eq!(late_child.wait().await.unwrap().signal(), Some(9));
    }

    #[tokio::test]
    async fn a_polite_program_may_clean_up() {
        let (mut group, mut child) =
            started("trap 'exit 7' TERM; sh -c 'echo ready; exec sleep 1000' & wait").await;
        group.stop(&mut child, Duration::from_secs(60)).await;
        assert_eq!(child.wait().await.unwrap().code(), Some(7));
    }
}
