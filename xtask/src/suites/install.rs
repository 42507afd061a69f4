//! What suites need from the system and may install: Debian packages, as root. Everywhere else the
//! developer is told what to install.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::process;

/// One install downloads some 30 MB, and OpenCode takes some 180 MB where it is unpacked.
pub(super) const INSTALL_LIMIT: Duration = Duration::from_mins(10);

/// Installs the Debian `packages` when the tool that `suite` needs does not work and this is root on
/// Debian; else says what to install.
pub(super) fn ensure(
    suite: &str,
    tool: &str,
    works: fn() -> bool,
    packages: &[&str],
) -> Result<()> {
    if works() {
        return Ok(());
    }
    if is_debian_root() {
        println!(
            "{suite}: {tool} is missing; installing {}",
            packages.join(" ")
        );
        let mut update = Command::new("apt-get");
        process::run(update.args(["update", "-qq"]), INSTALL_LIMIT)?;
        let mut install = Command::new("apt-get");
        install
            .args(["install", "-qq", "-y", "--no-install-recommends"])
            .args(packages);
        process::run(
            install.env("DEBIAN_FRONTEND", "noninteractive"),
            INSTALL_LIMIT,
        )?;
        if works() {
            return Ok(());
        }
    }
    let packages = packages.join(" ");
    bail!("{suite}: needs {tool}; on Debian or Ubuntu: `apt-get install {packages}`")
}

/// The programs of PostgreSQL that tests run servers with, in the PATH or where Debian puts them.
pub(super) fn postgres_works() -> bool {
    let in_path = process::succeeds(Command::new("initdb").arg("--version"));
    let versions = std::fs::read_dir("/usr/lib/postgresql");
    in_path
        || versions.is_ok_and(|versions| {
            versions
                .flatten()
                .any(|version| version.path().join("bin/initdb").is_file())
        })
}

fn is_debian_root() -> bool {
    let user = process::output(Command::new("id").arg("-u")).unwrap_or_default();
    user.trim() == "0" && Path::new("/etc/debian_version").exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_named_with_its_packages() {
        let message = "unit: needs Quill; on Debian or Ubuntu: `apt-get install quill`";
        if !is_debian_root() {
            let error = ensure("unit", "Quill", || false, &["quill"])
                .unwrap_err()
                .to_string();
            assert_eq!(error, message);
        }
        assert!(ensure("unit", "Quill", || true, &["quill"]).is_ok());
    }
}
