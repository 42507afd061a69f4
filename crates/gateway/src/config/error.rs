//! What is wrong with a configuration, where, and what to do about it.

use std::fmt;
use std::ops::Range;
use std::path::Path;

/// Everything that is wrong with one configuration, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Where, if it stands in a file.
    pub position: Option<Position>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

/// A place in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The file, as it was named.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The line itself.
    pub text: String,
    /// How many characters are meant, at least 1.
    pub width: usize,
}

impl ConfigError {
    /// Something that stands in no file.
    pub fn new(message: impl Into<String>) -> ConfigError {
        ConfigError {
            position: None,
            message: message.into(),
            hint: None,
        }
    }

    /// The same with what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> ConfigError {
        self.hint = Some(hint.into());
        self
    }

    /// The same at a place in a file.
    #[must_use]
    pub fn at(mut self, path: &Path, text: &str, span: Range<usize>) -> ConfigError {
        self.position = Some(Position::of(path, text, span));
        self
    }

    /// The same at a place in a file whose text may be a secret: the line is shown without it.
    #[must_use]
    pub fn at_hidden(mut self, path: &Path, text: &str, span: Range<usize>) -> ConfigError {
        let mut position = Position::of(path, text, span);
        let before: String = position.text.chars().take(position.column - 1).collect();
        position.text = format!("{before}[secret]");
        position.width = "[secret]".len();
        self.position = Some(position);
        self
    }
}

impl Position {
    /// The place of a byte range of `text`; a range over several lines stands for its first.
    pub fn of(path: &Path, text: &str, span: Range<usize>) -> Position {
        let start = text.floor_char_boundary(span.start);
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[line_start..].lines().next().unwrap_or_default();
        let column = before[line_start..].chars().count();
        let end = text.floor_char_boundary(span.end).max(start);
        let meant = text[start..end]
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .count();
        Position {
            path: path.display().to_string(),
            line: before.matches('\n').count() + 1,
            column: column + 1,
            text: line.to_owned(),
            width: meant.max(1),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let mut margin = String::new();
        if let Some(Position {
            path,
            line,
            column,
            text,
            width,
        }) = &self.position
        {
            let number = line.to_string();
            margin = " ".repeat(number.len());
            // A tab keeps its width in the line of carets by being repeated there.
            let indent: String = text
                .chars()
                .take(column - 1)
                .map(|c| if c == '\t' { '\t' } else { ' ' })
                .collect();
            let carets = "^".repeat(*width);
            write!(
                f,
                "\n{margin}--> {path}:{line}:{column}\n{margin} |\n{number} | {text}"
            )?;
            write!(f, "\n{margin} | {indent}{carets}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n{margin} = help: {hint}")?;
        }
        Ok(())
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> ConfigErrors {
        ConfigErrors(vec![error])
    }
}

impl std::error::Error for ConfigError {}
impl std::error::Error for ConfigErrors {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_line_and_what_is_meant() {
        let text = "[server]\n\tlisten = 5\n";
        let error = ConfigError::new("`server.listen` must be a list")
            .with_hint("write `listen = [\"127.0.0.1:8081\"]`")
            .at(Path::new("nuncio.toml"), text, 19..20);
        assert_eq!(
            error.to_string(),
            "`server.listen` must be a list\n --> nuncio.toml:2:11\n  |\n2 | \tlisten = 5\n  | \t         ^\n  = help: write `listen = [\"127.0.0.1:8081\"]`"
        );
    }

    #[test]
    fn counts_characters_and_survives_the_ends() {
        let text = "ä = \"ö\"";
        let position = Position::of(Path::new("f"), text, 5..9);
        assert_eq!((position.line, position.column, position.width), (1, 5, 3));
        let position = Position::of(Path::new("f"), text, 90..99);
        assert_eq!((position.line, position.column, position.width), (1, 8, 1));
        let position = Position::of(Path::new("f"), "", 0..0);
        assert_eq!((position.line, position.column), (1, 1));
    }
}
