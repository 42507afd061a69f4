//! The variables of a program: a clean environment and what is configured.
//!
//! Nothing of nuncio's own environment is passed unless it is named here or in the configuration,
//! so that no credential of the gateway reaches a program by accident.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;

/// Variables every program gets if they are set: how to find programs, the home directory (git,
/// language runtimes and agent CLIs do not start without it), language, time zone, temporary files.
pub const BASE_VARIABLES: [&str; 6] = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"];
/// Where programs are looked for when nothing says where.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Variables by name. Prints only names, since values may be secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// Just these variables.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self(variables.into_iter().collect())
    }

    /// Those of the named variables that `env` knows.
    pub fn look_up<'n>(
        names: impl IntoIterator<Item = &'n str>,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let known = |name: &str| Some((OsString::from(name), OsString::from(env(name)?)));
        Self::new(names.into_iter().filter_map(known))
    }

    /// These variables and more, which win. Without any `PATH` the usual one is added.
    #[must_use]
    pub fn and(mut self, more: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.0.extend(more);
        self.0
            .entry("PATH".into())
            .or_insert_with(|| DEFAULT_PATH.into());
        self
    }

    /// The value of a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// Each variable, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &str) -> (OsString, OsString) {
        (name.into(), value.into())
    }

    #[test]
    fn only_named_variables_are_passed_and_set_ones_win() {
        let env = |name: &str| match name {
            "PATH" => Some("/bin".to_owned()),
            "OPERATOR_TOKEN" => Some("s3cret".to_owned()),
            "MODEL" => Some("small".to_owned()),
            _ => None,
        };
        let chosen = Environment::look_up(["PATH", "HOME", "MODEL"], &env);
        assert_eq!(
            chosen,
            Environment::new([pair("PATH", "/bin"), pair("MODEL", "small")])
        );
        let set = chosen.and([pair("PATH", "/opt/bin")]);
        assert_eq!(set.get("PATH"), Some(OsStr::new("/opt/bin")));
        assert_eq!(
            Environment::default().and([]).get("PATH"),
            Some(OsStr::new(DEFAULT_PATH))
        );
    }

    #[test]
    fn values_never_show() {
        let environment = Environment::new([pair("KEY", "s3cret")]);
        assert_eq!(format!("{environment:?}"), r#"["KEY"]"#);
    }
}
