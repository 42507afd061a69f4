//! What the system knows of a server's process: CPU time, memory, open files. Reads `/proc`, so it
//! works on Linux alone.

use anyhow::{Context, Result};

/// Clock ticks per second in `/proc/PID/stat`: fixed at 100 for programs on Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// CPU time that a process has used since it began, all threads, in microseconds.
///
/// # Errors
/// When there is no such process.
pub(super) fn cpu_microseconds(process: u32) -> Result<f64> {
    let stat = read(process, "stat")?;
    let ticks = cpu_ticks(&stat).context("/proc/PID/stat has another form")?;
    Ok(ticks as f64 * 1e6 / TICKS_PER_SECOND)
}

/// Fields 14 and 15: time in user mode and in the kernel. The name (field 2) may hold anything.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let kernel: u64 = fields.next()?.parse().ok()?;
    Some(user + kernel)
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
    fn fields_are_read_past_a_name_with_blanks() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 1 0 5 1 1";
        assert_eq!(cpu_ticks(stat), Some(300));
        assert_eq!(resident("Name:\ta\nVmRSS:\t    5120 kB\n"), Some(5120));
    }

    #[test]
    fn this_process_has_memory_and_files() {
        let this = std::process::id();
        assert!(memory_kib(this).unwrap() > 100);
        assert!(open_files(this).unwrap() >= 3);
        assert!(cpu_microseconds(this).is_ok());
    }
}
