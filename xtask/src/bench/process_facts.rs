//! What the system knows of a server's process: CPU time, memory, open files. Reads `/proc` and
//! the process' CPU clock, so it works on Linux alone.

use std::time::Duration;

use anyhow::{Context, Result};
use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

/// The clock that runs while a process works, on any of its threads, in user mode or in the kernel.
/// It stands still while the process waits, also for a core that another process has.
#[derive(Debug, Clone, Copy)]
pub(super) struct CpuClock(ClockId);

impl CpuClock {
    /// The clock of a process.
    ///
    /// # Errors
    /// When there is no such process.
    pub(super) fn of(process: u32) -> Result<Self> {
        let process = Pid::from_raw(i32::try_from(process).context("no such process id")?);
        let clock = clock_getcpuclockid(process);
        Ok(Self(clock.with_context(|| {
            format!("process {process} has no CPU clock")
        })?))
    }

    /// CPU time used since the process began.
    ///
    /// # Errors
    /// When the process has ended.
    pub(super) fn now(self) -> Result<Duration> {
        let time = clock_gettime(self.0).context("the server has ended")?;
        Ok(Duration::from(time))
    }
}

/// Resident memory of a process in KiB.
///
/// # Errors
/// When there is no such process.
pub(super) fn memory_kib(process: u32) -> Result<u64> {
    let status = read(process, "status")?;
    resident(&status).context("/proc/PID/status has another form")
}

fn resident(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Number of open file descriptors of a process.
///
/// # Errors
/// When there is no such process.
pub(super) fn open_files(process: u32) -> Result<usize> {
    let folder = format!("/proc/{process}/fd");
    Ok(std::fs::read_dir(&folder)
        .with_context(|| format!("cannot list {folder}"))?
        .count())
}

fn read(process: u32, file: &str) -> Result<String> {
    let path = format!("/proc/{process}/{file}");
    std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_found_among_the_fields() {
        assert_eq!(resident("Name:\ta\nVmRSS:\t    5120 kB\n"), Some(5120));
    }

    #[test]
    fn this_process_has_memory_and_files() {
        let this = std::process::id();
        assert!(memory_kib(this).unwrap() > 100);
        assert!(open_files(this).unwrap() >= 3);
        let clock = CpuClock::of(this).unwrap();
        let (first, second) = (clock.now().unwrap(), clock.now().unwrap());
        assert!(second > first && first > Duration::ZERO);
    }
}
