//! Finds the program of a configured command, and says why it could not be started.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::environment::Environment;

/// Longest first line of a script that is looked at, in bytes (what Linux itself reads).
const MAX_SHEBANG_BYTES: u64 = 256;

/// Says why a program could not be started in `cwd`, and what to do.
///
/// For the operator: the text names paths of this machine.
pub fn check_program(
    command: &[String],
    cwd: &Path,
    environment: &Environment,
) -> Result<(), String> {
    if !cwd.is_dir() {
        return Err(format!(
            "the working directory {} does not exist: make it or change `cwd`",
            cwd.display()
        ));
    }
    find_program(command, cwd, environment).map(drop)
}

/// The program's file, absolute if `cwd` is.
///
/// The error says why it could not be started and what to do, for the operator: it names paths of
/// this machine.
pub fn find_program(
    command: &[String],
    cwd: &Path,
    environment: &Environment,
) -> Result<PathBuf, String> {
    let Some(name) = command.first().filter(|name| !name.is_empty()) else {
        return Err("`command` is empty: name the program to run".to_owned());
    };
    if name.contains('/') {
        let path = cwd.join(name);
        check_executable(&path)?;
        return Ok(path);
    }
    let search: OsString = environment.get("PATH").unwrap_or_default().to_owned();
    let found = std::env::split_paths(&search)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|path| is_executable_file(path));
    let Some(path) = found else {
        return Err(format!(
            "the program {name} is in no directory of PATH: install it or write its full path"
        ));
    };
    check_executable(&path)?;
    Ok(path)
}

fn is_executable_file(path: &Path) -> bool {
    path.is_file() && nix::unistd::access(path, nix::unistd::AccessFlags::X_OK).is_ok()
}

fn check_executable(path: &Path) -> Result<(), String> {
    let shown = path.display();
    match std::fs::metadata(path) {
        Err(error) => return Err(format!("the program {shown} cannot be found: {error}")),
        Ok(about) if !about.is_file() => return Err(format!("{shown} is not a program file")),
        Ok(_) => {}
    }
    if !is_executable_file(path) {
        return Err(format!("{shown} is not executable: run `chmod +x {shown}`"));
    }
    match interpreter(path) {
        Some(interpreter) if interpreter.is_absolute() && !interpreter.exists() => Err(format!(
            "the first line of {shown} names {}, which does not exist",
            interpreter.display()
        )),
        _ => Ok(()),
    }
}

/// What the `#!` line of a script names. A file that cannot be read may still be run.
fn interpreter(path: &Path) -> Option<PathBuf> {
    let file = std::fs::File::open(path).ok()?;
    let mut line = Vec::new();
    BufReader::new(file.take(MAX_SHEBANG_BYTES))
        .read_until(b'\n', &mut line)
        .ok()?;
    let rest = std::str::from_utf8(line.strip_prefix(b"#!")?).ok()?;
    rest.split_ascii_whitespace().next().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn check(dir: &Path, program: &str) -> Result<(), String> {
        let environment = Environment::new([("PATH".into(), "/usr/bin:/bin".into())]);
        check_program(&[program.to_owned()], dir, &environment)
    }

    fn script(dir: &Path, name: &str, text: &str, mode: u32) {
        let path = dir.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_program_is_found_in_path_or_beside_the_configuration() {
        let dir = tempfile::tempdir().unwrap();
        script(dir.path(), "run.sh", "#!/bin/sh\n", 0o755);
        assert_eq!(check(dir.path(), "sh"), Ok(()));
        assert_eq!(check(dir.path(), "./run.sh"), Ok(()));
    }

    #[test]
    fn what_cannot_start_is_said_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        script(dir.path(), "plain.sh", "#!/bin/sh\n", 0o644);
        script(dir.path(), "odd.sh", "#!/no/such/interpreter -x\n", 0o755);
        for (program, expected) in [
            (
                "no-such-program-of-nuncio",
                "install it or write its full path",
            ),
            ("./missing.sh", "cannot be found"),
            ("./plain.sh", "chmod +x"),
            (
                "./odd.sh",
                "names /no/such/interpreter, which does not exist",
            ),
            ("/", "is not a program file"),
            ("", "`command` is empty"),
        ] {
            let error = check(dir.path(), program).unwrap_err();
            assert!(error.contains(expected), "{program}: {error}");
        }
        let lost = check(&dir.path().join("nowhere"), "sh");
        assert!(lost.unwrap_err().contains("change `cwd`"));
    }
}
