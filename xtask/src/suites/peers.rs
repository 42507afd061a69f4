//! The `peers` suite: installs the official SDKs under `target/peers/` and runs the tests that talk
//! to them. Owns the set-up; the tests are module `peers` of nuncio's integration tests. Versions
//! are pinned in `crates/nuncio/tests/peers/`; an install is used again until those files change.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::install::{self, INSTALL_LIMIT};
use super::rust;
use crate::process;

/// Where the pinned versions and the scripts of the peers lie.
const PINS: &str = "crates/nuncio/tests/peers";

/// Name of the folder below `target/peers/`, and the requirement file it is made from.
const PYTHONS: [(&str, &str); 4] = [
    ("py1", "requirements-1.txt"),
    ("py03", "requirements-0.3.txt"),
    ("fleet", "requirements-fleet.txt"),
    ("hermes", "requirements-hermes.txt"),
];

/// The oldest Python and Node that the peers run on: Hermes wants the newest.
const OLDEST_PYTHON: (u32, u32) = (3, 11);
const OLDEST_NODE: u32 = 20;

/// A package index is a remote service: a second try costs seconds, a failed run costs the whole.
const INSTALL_TRIES: u32 = 3;

pub(super) fn run(limit: Duration) -> Result<()> {
    let sdks = process::repository_root().join("target/peers");
    fs::create_dir_all(&sdks).with_context(|| format!("cannot create {}", sdks.display()))?;
    for (name, requirements) in PYTHONS {
        set_up_python(&sdks.join(name), requirements)?;
    }
    set_up_node(&sdks.join("js"))?;
    rust::peers(&sdks, limit)
}

fn set_up_python(folder: &Path, requirements: &str) -> Result<()> {
    let pins = process::repository_root().join(PINS).join(requirements);
    let stamp = Stamp::of(folder, &[&pins])?;
    if stamp.is_fresh() {
        return Ok(());
    }
    install::ensure(
        "peers",
        "Python 3.11 or later with venv and pip",
        python_works,
        &["python3", "python3-venv"],
    )?;
    println!("peers: installing {requirements} into {}", folder.display());
    install(folder, |folder| {
        process::run(
            Command::new("python3").args(["-m", "venv"]).arg(folder),
            INSTALL_LIMIT,
        )?;
        let pip = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-r",
        ];
        let mut command = Command::new(folder.join("bin/python"));
        process::run(command.args(pip).arg(&pins), INSTALL_LIMIT)
    })?;
    stamp.write()
}

fn set_up_node(folder: &Path) -> Result<()> {
    let pins = process::repository_root().join(PINS);
    let files = [pins.join("package.json"), pins.join("package-lock.json")];
    let stamp = Stamp::of(folder, &[&files[0], &files[1]])?;
    if stamp.is_fresh() {
        return Ok(());
    }
    install::ensure(
        "peers",
        "Node 20 or later with npm",
        node_works,
        &["nodejs", "npm"],
    )?;
    println!("peers: installing package.json into {}", folder.display());
    install(folder, |folder| {
        fs::create_dir_all(folder)?;
        for file in &files {
            fs::copy(
                file,
                folder.join(file.file_name().expect("a pinned file has a name")),
            )?;
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"])
            .current_dir(folder);
        process::run(&mut npm, INSTALL_LIMIT)
    })?;
    stamp.write()
}

/// Runs `steps` on an empty folder until they succeed, a few times.
fn install(folder: &Path, steps: impl Fn(&Path) -> Result<()>) -> Result<()> {
    let mut tries = 1;
    loop {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        match steps(folder) {
            Ok(()) => return Ok(()),
            Err(error) if tries < INSTALL_TRIES => {
                println!("peers: {error:#}; trying again");
                tries += 1;
            }
            Err(error) => {
                return Err(error.context("peers: cannot install the SDKs (is the network up?)"));
            }
        }
    }
}

fn python_works() -> bool {
    let (major, minor) = OLDEST_PYTHON;
    let program =
        format!("import ensurepip, sys, venv; sys.exit(sys.version_info < ({major}, {minor}))");
    process::succeeds(Command::new("python3").args(["-c", &program]))
}

fn node_works() -> bool {
    let version = process::output(Command::new("node").arg("--version")).unwrap_or_default();
    let major = version
        .trim_start_matches('v')
        .split('.')
        .next()
        .and_then(|it| it.parse().ok());
    let new_enough = major.is_some_and(|major: u32| major >= OLDEST_NODE);
    new_enough && process::succeeds(Command::new("npm").arg("--version"))
}

/// The mark of a finished install: a hash of the files it was made from.
struct Stamp {
    file: std::path::PathBuf,
    hash: String,
}

impl Stamp {
    fn of(folder: &Path, pins: &[&Path]) -> Result<Self> {
        let mut hasher = DefaultHasher::new();
        for pin in pins {
            let text = fs::read(pin).with_context(|| format!("cannot read {}", pin.display()))?;
            text.hash(&mut hasher);
        }
        Ok(Self {
            file: folder.join(".stamp"),
            hash: format!("{:016x}", hasher.finish()),
        })
    }

    fn is_fresh(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|found| found == self.hash)
    }

    fn write(&self) -> Result<()> {
        fs::write(&self.file, &self.hash)
            .with_context(|| format!("cannot write {}", self.file.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_install_is_fresh_until_its_pins_change() {
        let folder = std::env::temp_dir().join(format!("xtask-stamp-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let pins = folder.join("pins.txt");
        fs::write(&pins, "a==1").unwrap();
        let stamp = Stamp::of(&folder, &[&pins]).unwrap();
        assert!(!stamp.is_fresh());
        stamp.write().unwrap();
        assert!(Stamp::of(&folder, &[&pins]).unwrap().is_fresh());
        fs::write(&pins, "a==2").unwrap();
        assert!(!Stamp::of(&folder, &[&pins]).unwrap().is_fresh());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn every_version_is_pinned() {
        let pins = process::repository_root().join(PINS);
        for (_, requirements) in PYTHONS {
            let text = fs::read_to_string(pins.join(requirements)).unwrap();
            let names = text
                .lines()
                .filter(|line| !line.is_empty() && !line.starts_with('#'));
            assert!(names.clone().count() > 0 && names.clone().all(|line| line.contains("==")));
        }
    }
}
