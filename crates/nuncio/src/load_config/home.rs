//! The data directory: where it is, and that only its owner gets in.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use nuncio_gateway::config::{ConfigError, ConfigErrors};

use super::Env;

/// `--home`, `NUNCIO_HOME`, `$XDG_DATA_HOME/nuncio`, `~/.local/share/nuncio`: the first there is.
///
/// # Errors
///
/// When nothing says where a home could be.
pub(crate) fn data_dir(flag: Option<&Path>, env: Env<'_>) -> Result<PathBuf, ConfigErrors> {
    let set = |name: &str| env(name).map(PathBuf::from);
    let named = flag.map(Path::to_owned).or_else(|| set("NUNCIO_HOME"));
    let found = named
        // The XDG specification has relative paths ignored.
        .or_else(|| {
            Some(
                set("XDG_DATA_HOME")
                    .filter(|path| path.is_absolute())?
                    .join("nuncio"),
            )
        })
        .or_else(|| Some(set("HOME")?.join(".local/share/nuncio")))
        .ok_or_else(|| ConfigError::new("there is no data directory: set NUNCIO_HOME or HOME"))?;
    std::path::absolute(&found).map_err(|error| {
        let shown = found.display();
        ConfigError::new(format!("{shown} cannot be a data directory: {error}")).into()
    })
}

/// Makes the data directory, for its owner only, if it is not there.
///
/// # Errors
///
/// A text that names the directory and what to do.
pub(crate) fn create(home: &Path) -> Result<(), String> {
    let mut builder = std::fs::DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(home)
        .map_err(|error| {
            let shown = home.display();
            format!(
                "cannot make the data directory {shown}: {error}; choose another with NUNCIO_HOME"
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(flag: Option<&str>, vars: &[(&str, &str)]) -> Option<PathBuf> {
        let env = |name: &str| {
            vars.iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| (*v).to_owned())
        };
        data_dir(flag.map(Path::new), &env).ok()
    }

    #[test]
    fn the_first_that_is_named_wins() {
        let all = [
            ("NUNCIO_HOME", "/n"),
            ("XDG_DATA_HOME", "/x"),
            ("HOME", "/h"),
        ];
        assert_eq!(found(Some("/f"), &all), Some("/f".into()));
        assert_eq!(found(None, &all), Some("/n".into()));
        assert_eq!(found(None, &all[1..]), Some("/x/nuncio".into()));
        assert_eq!(
            found(None, &all[2..]),
            Some("/h/.local/share/nuncio".into())
        );
        let relative = [("XDG_DATA_HOME", "x"), ("HOME", "/h")];
        assert_eq!(
            found(None, &relative),
            Some("/h/.local/share/nuncio".into())
        );
        assert_eq!(found(None, &[]), None);
    }

    #[test]
    fn only_the_owner_gets_in() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("a/b");
        create(&home).unwrap();
        create(&home).unwrap();
        let mode = std::fs::metadata(&home).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
