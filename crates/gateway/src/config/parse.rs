//! Text to [`Config`], with a place in the text for everything that is wrong.

use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::schema_check::check;
use super::{Config, ConfigError, ConfigErrors, json_schema};

/// Reads a configuration. `path` is only named in errors. References to secrets are not followed,
/// and nothing is checked beyond the form of each value: see [`Config::problems`].
///
/// # Errors
///
/// Bad TOML, unknown keys, values of the wrong kind: all that were found, in order.
pub fn parse(text: &str, path: &Path) -> Result<Config, ConfigErrors> {
    let table = DeTable::parse(text).map_err(|error| syntax_error(&error, text, path))?;
    let mut errors = check(&table, &json_schema());
    if !errors.is_empty() {
        errors.sort_by_key(|found| found.span.start);
        let errors = errors.into_iter().map(|found| match found.hide {
            true => found.error.at_hidden(path, text, found.span),
            false => found.error.at(path, text, found.span),
        });
        return Err(ConfigErrors(errors.collect()));
    }
    toml::from_str(text).map_err(|error| syntax_error(&error, text, path))
}

fn syntax_error(error: &toml::de::Error, text: &str, path: &Path) -> ConfigErrors {
    let message = error.message().lines().collect::<Vec<_>>().join(", ");
    let found = ConfigError::new(message);
    match error.span() {
        Some(span) => found.at(path, text, span).into(),
        None => found.into(),
    }
}

/// The byte range in `text` of what a dotted key such as `agents.reviewer.tenant` names, or of the
/// innermost table around it that is there. List items are numbers from 0.
pub fn locate(text: &str, key: &str) -> Option<Range<usize>> {
    let table = DeTable::parse(text).ok()?;
    let mut found = None;
    let mut steps = key.split('.');
    let (name, mut value) = table.get_ref().get_key_value(steps.next()?)?;
    found.replace(name.span());
    for step in steps {
        let next = match value.get_ref() {
            DeValue::Table(table) => table.get_key_value(step).map(|(name, value)| {
                found.replace(name.span());
                value
            }),
            DeValue::Array(items) => step.parse().ok().and_then(|index: usize| {
                let item: &Spanned<DeValue<'_>> = items.get(index)?;
                found.replace(item.span());
                Some(item)
            }),
            _ => None,
        };
        match next {
            Some(next) => value = next,
            None => break,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "nuncio.toml";

    fn refused(text: &str) -> String {
        parse(text, Path::new(PATH))
            .expect_err("refused")
            .to_string()
    }

    #[test]
    fn an_empty_file_is_a_configuration() {
        let config = parse("", Path::new(PATH)).unwrap();
        assert_eq!(config.server.listen, ["127.0.0.1:8081".parse().unwrap()]);
        assert!(config.agents.is_empty());
    }

    #[test]
    fn the_first_agent_of_the_file_is_the_default() {
        let text = "[agents.zeta]\nbackend = \"echo\"\n[agents.alpha]\nbackend = \"echo\"\n";
        let config = parse(text, Path::new(PATH)).unwrap();
        assert_eq!(config.default_agent().unwrap().0, "zeta");
    }

    #[test]
    fn unknown_keys_are_named_with_the_nearest_known_one() {
        let error = refused("[server]\nlisen = [\"127.0.0.1:1\"]\n");
        assert!(error.contains("unknown key `lisen` in [server]"), "{error}");
        assert!(error.contains("nuncio.toml:2:1"), "{error}");
        assert!(error.contains("did you mean `listen`?"), "{error}");

        let error = refused("[agents.a]\nbackend = \"command\"\ncomand = [\"x\"]\n");
        assert!(
            error.contains("unknown key `comand` in [agents.a]"),
            "{error}"
        );
        assert!(error.contains("did you mean `command`?"), "{error}");

        let error = refused("[agents.a]\nbackend = \"echo\"\ncommand = [\"x\"]\n");
        assert!(
            error.contains("`command` needs `backend = \"command\"`"),
            "{error}"
        );
    }

    #[test]
    fn wrong_kinds_are_named_where_they_stand() {
        let error = refused("[server]\nmax_body_bytes = \"big\"\n");
        assert!(
            error.contains("`server.max_body_bytes` must be a whole number"),
            "{error}"
        );
        assert!(error.contains("nuncio.toml:2:18"), "{error}");

        let error = refused("[agents.a]\nbackend = \"command\"\ncommand = \"./x\"\n");
        assert!(
            error.contains("`agents.a.command` must be a list, not a string"),
            "{error}"
        );

        let error = refused("[agents.a]\nbackend = \"comand\"\n");
        assert!(error.contains("did you mean `command`?"), "{error}");

        let error = refused("[agents.a]\ndescription = \"x\"\n");
        assert!(
            error.contains("[agents.a] needs the key `backend`"),
            "{error}"
        );

        let error = refused("[agents.a]\nbackend = \"command\"\n");
        assert!(
            error.contains("[agents.a] needs the key `command`"),
            "{error}"
        );

        let error = refused(
            "[agents.a]\nbackend = \"command\"\ncommand = [\"x\"]\nturn_timeout = \"ten\"\n",
        );
        assert!(error.contains("nuncio.toml:4:16"), "{error}");
        assert!(error.contains("`ten` is not a length of time"), "{error}");
    }

    #[test]
    fn all_mistakes_come_at_once() {
        let text = "[server]\nlisten = [\"here\"]\nmax_connections = 0\n[log]\nlevel = \"loud\"\n";
        let errors = parse(text, Path::new(PATH)).unwrap_err();
        let lines: Vec<_> = errors
            .0
            .iter()
            .map(|e| e.position.as_ref().unwrap().line)
            .collect();
        assert_eq!(lines, [2, 3, 5], "{errors}");
    }

    #[test]
    fn a_literal_secret_is_refused_without_repeating_it_in_words() {
        let error = refused("[security]\nbearer_token = \"hunter2\"\n");
        assert!(error.contains("`env:NAME`"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn bad_toml_is_named_with_its_place() {
        let error = refused("[server\nlisten = []\n");
        assert!(error.contains("nuncio.toml:1:"), "{error}");
    }

    #[test]
    fn finds_keys() {
        let text = "[agents.a]\ntenant = \"x\"\n[server]\nlisten = [\"a\", \"b\"]\n";
        assert_eq!(&text[locate(text, "agents.a.tenant").unwrap()], "tenant");
        assert_eq!(&text[locate(text, "server.listen.1").unwrap()], "\"b\"");
        assert_eq!(&text[locate(text, "agents.a.absent").unwrap()], "a");
        assert_eq!(locate(text, "log.level"), None);
    }
}
