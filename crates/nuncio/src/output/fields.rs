//! The floor of text output: one `Label: value` a line, and blocks for what needs several lines
//! (a2a-cli specification 11.2).
//!
//! What a stranger wrote cannot move a cursor, colour a screen or begin a field of its own line.

use std::fmt::Write;

use nuncio_client::is_unsafe;

/// Labelled lines in the making.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    text: String,
}

impl Fields {
    /// One line. Line breaks in the value become blanks.
    pub(crate) fn field(&mut self, label: &str, value: &str) -> &mut Self {
        let line: String = value
            .chars()
            .map(|c| if is_unsafe(c) { ' ' } else { c })
            .collect();
        let _ = writeln!(self.text, "{label}: {}", line.trim());
        self
    }

    /// One line if there is a value.
    pub(crate) fn optional(&mut self, label: &str, value: Option<&str>) -> &mut Self {
        if let Some(value) = value {
            self.field(label, value);
        }
        self
    }

    /// A block: its label alone on a line, the content, one blank line.
    pub(crate) fn block(&mut self, label: &str, content: &str) -> &mut Self {
        let content = printable(content);
        let _ = writeln!(self.text, "{label}:\n{}\n", content.trim_end_matches('\n'));
        self
    }

    /// The lines.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// A text of several lines that cannot move a cursor or colour a screen.
pub(crate) fn printable(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' => c,
        c if is_unsafe(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    text.replace("\r\n", "\n").chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::Fields;

    #[test]
    fn a_stranger_can_neither_move_the_cursor_nor_forge_a_field() {
        let mut fields = Fields::default();
        fields
            .field("Name", "a\nState: \u{1b}[2Jb")
            .block("Text", "x\r\ny\u{1b}[31mz\n\n");
        assert_eq!(
            fields.finish(),
            "Name: a State:  [2Jb\nText:\nx\ny\u{fffd}[31mz\n\n"
        );
    }
}
