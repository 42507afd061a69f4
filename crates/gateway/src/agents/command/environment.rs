//! The variables of a program: a clean environment, what is configured, and the turn's `A2A_*`.
//!
//! Nothing of nuncio's own environment is passed unless it is named here or in the configuration,
//! so that no credential of the gateway reaches a program by accident.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::Path;

use super::scratch::Scratch;
use crate::agents::Turn;

/// Variables every program gets if they are set: how to find programs, the home directory (git,
/// language runtimes and agent CLIs do not start without it), language, time zone, temporary files.
pub const BASE_VARIABLES: [&str; 6] = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"];
/// Where programs are looked for when nothing says where.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Longest JSON that goes into a variable, in bytes (64 KiB): the kernel takes at most 128 KiB in
/// one. Longer metadata is left out.
pub const MAX_JSON_VARIABLE_BYTES: usize = 64 * 1024;

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

/// What a program learns about its turn. These win over configured variables of the same name.
pub(super) fn turn_variables(
    turn: &Turn,
    scratch: &Scratch,
    context_dir: Option<&Path>,
) -> Vec<(&'static str, OsString)> {
    let first = turn.opening == turn.message;
    let mut variables: Vec<(&'static str, OsString)> = vec![
        ("A2A_AGENT", text(&turn.agent)),
        ("A2A_TASK_ID", text(&turn.task_id)),
        ("A2A_CONTEXT_ID", text(&turn.context_id)),
        ("A2A_MESSAGE_ID", text(&turn.message.message_id)),
        ("A2A_CALLER", text(&turn.owner)),
        ("A2A_TURN", if first { "first" } else { "continue" }.into()),
        ("A2A_FILES_DIR", scratch.files_dir().into()),
        ("A2A_FILES", scratch.file_list()),
        ("A2A_OUTPUT_DIR", scratch.output_dir().into()),
    ];
    if let Some(dir) = context_dir {
        variables.push(("A2A_CONTEXT_DIR", dir.into()));
    }
    let metadata = [
        ("A2A_METADATA", turn.metadata.as_ref()),
        ("A2A_MESSAGE_METADATA", turn.message.metadata.as_ref()),
    ];
    for (name, value) in metadata {
        if let Some(json) = value.map(nuncio_wire::Metadata::get)
            && json.len() <= MAX_JSON_VARIABLE_BYTES
        {
            variables.push((name, text(json)));
        }
    }
    variables
}

/// A variable cannot hold U+0000, and an id of a caller must not keep a program from starting.
fn text(value: &str) -> OsString {
    value.replace('\0', "\u{FFFD}").into()
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
