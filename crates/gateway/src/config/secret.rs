//! Secrets: named in the configuration, never written there, never shown.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::text_setting::text_setting;

/// 64 KiB, in bytes: larger than any token or key, small enough to catch a wrong path.
const MAX_SECRET_FILE_BYTES: u64 = 64 * 1024;

/// A secret value. It prints as `[secret]`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes `value` as it is.
    pub fn new(value: impl Into<String>) -> Secret {
        Secret(value.into())
    }

    /// The value itself, for the one place that compares or sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// Where a secret comes from, and, once [`SecretRef::resolve`] has run, the secret.
#[derive(Clone, Debug)]
pub struct SecretRef {
    source: SecretSource,
    value: Option<Secret>,
}

/// Where a secret comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// `env:NAME`: an environment variable.
    Env(String),
    /// `file:PATH`: a file that only its owner can read; a trailing line end is not part of it.
    File(PathBuf),
    /// Handed over by the program itself; the text says from where.
    Given(String),
}

impl SecretRef {
    /// A secret that is at hand already; `from` says where it came from.
    pub fn given(value: Secret, from: impl Into<String>) -> SecretRef {
        SecretRef {
            source: SecretSource::Given(from.into()),
            value: Some(value),
        }
    }

    /// Where the secret comes from.
    pub fn source(&self) -> &SecretSource {
        &self.source
    }

    /// The secret; `None` before [`SecretRef::resolve`].
    pub fn secret(&self) -> Option<&Secret> {
        self.value.as_ref()
    }

    /// Fetches the secret: `env` looks a variable up, relative files are meant from `base`.
    ///
    /// # Errors
    ///
    /// A text that says what to do when the variable is not set, or the file cannot be read, is
    /// empty, or can be read by others than its owner.
    pub fn resolve(
        &mut self,
        env: &dyn Fn(&str) -> Option<String>,
        base: &Path,
    ) -> Result<(), String> {
        let value = match &self.source {
            SecretSource::Env(name) => env(name)
                .filter(|value| !value.is_empty())
                .ok_or_else(|| format!("the environment variable {name} is not set"))?,
            SecretSource::File(path) => read_secret_file(&base.join(path))?,
            SecretSource::Given(_) => return Ok(()),
        };
        self.value = Some(Secret(value));
        Ok(())
    }
}

fn read_secret_file(path: &Path) -> Result<String, String> {
    use std::io::Read as _;
    use std::os::unix::fs::PermissionsExt as _;

    let shown = path.display();
    let failed = |error: std::io::Error| format!("cannot read the secret file {shown}: {error}");
    let file = std::fs::File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(format!("{shown} is not a file"));
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(format!(
            "others can read the secret file {shown}: run `chmod 600 {shown}`"
        ));
    }
    let mut value = String::new();
    file.take(MAX_SECRET_FILE_BYTES + 1)
        .read_to_string(&mut value)
        .map_err(failed)?;
    if value.len() as u64 > MAX_SECRET_FILE_BYTES {
        return Err(format!(
            "the secret file {shown} has more than {MAX_SECRET_FILE_BYTES} bytes"
        ));
    }
    let value = value.trim_end_matches(['\r', '\n']);
    if value.is_empty() {
        return Err(format!("the secret file {shown} is empty"));
    }
    Ok(value.to_owned())
}

impl FromStr for SecretRef {
    type Err = String;

    fn from_str(text: &str) -> Result<SecretRef, String> {
        let source = match text.split_once(':') {
            Some(("env", name)) if is_variable_name(name) => SecretSource::Env(name.to_owned()),
            Some(("env", _)) => return Err("write `env:NAME` with the name of a variable".into()),
            Some(("file", path)) if !path.is_empty() => SecretSource::File(path.into()),
            Some(("keyring", _)) => {
                return Err(
                    "this version cannot read a keyring: use `env:NAME` or `file:PATH`".to_owned(),
                );
            }
            // The text may be the secret itself: it is not repeated.
            _ => {
                return Err(
                    "a secret is not written here but referred to: put it into an \
                     environment variable and write `env:NAME`, or into a file of mode 0600 and \
                     write `file:PATH`"
                        .to_owned(),
                );
            }
        };
        Ok(SecretRef {
            source,
            value: None,
        })
    }
}

fn is_variable_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            SecretSource::Env(name) => write!(f, "env:{name}"),
            SecretSource::File(path) => write!(f, "file:{}", path.display()),
            SecretSource::Given(from) => write!(f, "[secret from {from}]"),
        }
    }
}

text_setting!(SecretRef, "secret-reference");

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn resolve(text: &str, base: &Path) -> Result<String, String> {
        let mut reference: SecretRef = text.parse()?;
        let env = |name: &str| match name {
            "SET" => Some("from-env".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        reference.resolve(&env, base)?;
        Ok(reference.secret().expect("resolved").expose().to_owned())
    }

    #[test]
    fn variables_are_looked_up_and_empty_ones_count_as_absent() {
        let here = Path::new(".");
        assert_eq!(resolve("env:SET", here).unwrap(), "from-env");
        assert!(
            resolve("env:EMPTY", here)
                .unwrap_err()
                .contains("EMPTY is not set")
        );
        assert!(
            resolve("env:ABSENT", here)
                .unwrap_err()
                .contains("ABSENT is not set")
        );
    }

    #[test]
    fn files_must_be_for_their_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        std::fs::write(&path, "from-file\n").unwrap();
        let set_mode = |mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set_mode(0o644);
        assert!(
            resolve("file:token", dir.path())
                .unwrap_err()
                .contains("chmod 600")
        );
        set_mode(0o600);
        assert_eq!(resolve("file:token", dir.path()).unwrap(), "from-file");
        std::fs::write(&path, "\n").unwrap();
        assert!(
            resolve("file:token", dir.path())
                .unwrap_err()
                .contains("is empty")
        );
        assert!(
            resolve("file:absent", dir.path())
                .unwrap_err()
                .contains("cannot read")
        );
    }

    #[test]
    fn a_literal_secret_is_refused_and_not_repeated() {
        for text in [
            "hunter2",
            "hunter2:x",
            "env:hunter2-x",
            "keyring:hunter2",
            "",
        ] {
            let error = resolve(text, Path::new(".")).unwrap_err();
            assert!(
                error.contains("env:NAME") && !error.contains("hunter2"),
                "{error}"
            );
        }
    }

    #[test]
    fn never_shows() {
        let reference = SecretRef::given(Secret::new("hunter2"), "A2A_BEARER_TOKEN");
        assert!(!format!("{reference:?} {reference}").contains("hunter2"));
        assert!(
            !serde_json::to_string(&reference)
                .unwrap()
                .contains("hunter2")
        );
    }
}
