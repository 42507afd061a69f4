//! A Rust file as the rules see it: its code with comments and strings blanked out, its strings by
//! line, and where its own tests begin. Understands just enough of the language for that, and
//! never rejects a file: what it cannot read stays code.

/// A string literal of a file: the line it begins at, counted from 1, and its text as written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Literal {
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// A Rust file, split into what the rules look at.
#[derive(Debug)]
pub(crate) struct Source {
    /// Path from the repository's root, with `/` between the parts.
    pub(crate) path: String,
    /// The lines as they stand.
    pub(crate) lines: Vec<String>,
    /// The same lines with comments and the text of strings replaced by spaces.
    pub(crate) code: Vec<String>,
    pub(crate) literals: Vec<Literal>,
    /// How many lines come before the file's own test module: all lines when it has none.
    pub(crate) product_lines: usize,
}

impl Source {
    pub(crate) fn read(path: &str, text: &str) -> Self {
        let mut scanner = Scanner::new(text);
        scanner.scan();
        let code: Vec<String> = scanner.code.lines().map(str::to_owned).collect();
        let product_lines = if is_test_path(path) {
            0
        } else {
            before_tests(&code)
        };
        Self {
            path: path.to_owned(),
            lines: text.lines().map(str::to_owned).collect(),
            code,
            literals: scanner.literals,
            product_lines,
        }
    }

    /// The code lines outside tests, counted from 1.
    pub(crate) fn product_code(&self) -> impl Iterator<Item = (usize, &str)> {
        let code = self.code.iter().take(self.product_lines);
        code.enumerate()
            .map(|(index, line)| (index + 1, line.as_str()))
    }

    /// The string literals outside tests.
    pub(crate) fn product_literals(&self) -> impl Iterator<Item = &Literal> {
        self.literals
            .iter()
            .filter(|literal| literal.line <= self.product_lines)
    }
}

/// Whether a file is a test, a benchmark or a fuzz target as a whole.
fn is_test_path(path: &str) -> bool {
    let mut folders: Vec<&str> = path.split('/').collect();
    let file = folders.pop().unwrap_or_default();
    file == "tests.rs"
        || folders
            .iter()
            .any(|it| ["tests", "benches", "fuzz"].contains(it))
}

/// The number of lines before `#[cfg(test)]` on a module with a body.
fn before_tests(code: &[String]) -> usize {
    let attribute = |line: &str| line.trim() == "#[cfg(test)]";
    let module = |line: &str| line.trim_start().starts_with("mod ") && line.contains('{');
    (0..code.len())
        .find(|&at| {
            let mut item = code
                .iter()
                .skip(at + 1)
                .filter(|line| !line.trim().starts_with("#["));
            attribute(&code[at]) && item.next().is_some_and(|line| module(line))
        })
        .unwrap_or(code.len())
}

struct Scanner {
    text: Vec<char>,
    at: usize,
    line: usize,
    code: String,
    literals: Vec<Literal>,
}

impl Scanner {
    fn new(text: &str) -> Self {
        Self {
            text: text.chars().collect(),
            at: 0,
            line: 1,
            code: String::with_capacity(text.len()),
            literals: Vec::new(),
        }
    }

    fn scan(&mut self) {
        while let Some(character) = self.peek(0) {
            match (character, self.peek(1)) {
                ('/', Some('/')) => self.blank_while(|it| it != '\n'),
                ('/', Some('*')) => self.block_comment(),
                ('"', _) => self.string(),
                ('r', Some('"' | '#')) if !self.in_word() && self.raw_hashes().is_some() => {
                    self.raw_string();
                }
                ('\'', _) => self.character(),
                _ => self.keep(),
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    /// Copies one character into the code.
    fn keep(&mut self) {
        if let Some(character) = self.peek(0) {
            self.code.push(character);
            self.advance(character);
        }
    }

    /// Puts a space, or the line end, in place of one character.
    fn blank(&mut self) {
        if let Some(character) = self.peek(0) {
            self.code.push(if character == '\n' { '\n' } else { ' ' });
            self.advance(character);
        }
    }

    fn advance(&mut self, character: char) {
        self.at += 1;
        self.line += usize::from(character == '\n');
    }

    fn blank_while(&mut self, wanted: impl Fn(char) -> bool) {
        while self.peek(0).is_some_and(&wanted) {
            self.blank();
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        while self.peek(0).is_some() {
            let step = match (self.peek(0), self.peek(1)) {
                (Some('/'), Some('*')) => 1,
                (Some('*'), Some('/')) => -1,
                _ => 0,
            };
            self.blank();
            if step != 0 {
                self.blank();
                depth += step;
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        let line = self.line;
        let mut text = String::new();
        self.keep();
        while let Some(character) = self.peek(0) {
            if character == '"' {
                break;
            }
            text.push(character);
            self.blank();
            if character == '\\' {
                text.extend(self.peek(0));
                self.blank();
            }
        }
        self.keep();
        self.literals.push(Literal { line, text });
    }

    /// The number of `#` between `r` and `"`, when a raw string begins here.
    fn raw_hashes(&self) -> Option<usize> {
        let hashes = self.text[self.at + 1..]
            .iter()
            .take_while(|it| **it == '#')
            .count();
        (self.peek(1 + hashes) == Some('"')).then_some(hashes)
    }

    fn raw_string(&mut self) {
        let hashes = self.raw_hashes().unwrap_or(0);
        let line = self.line;
        for _ in 0..hashes + 2 {
            self.keep();
        }
        let mut text = String::new();
        while let Some(character) = self.peek(0) {
            let closes = (1..=hashes).all(|ahead| self.peek(ahead) == Some('#'));
            if character == '"' && closes {
                break;
            }
            text.push(character);
            self.blank();
        }
        for _ in 0..hashes + 1 {
            self.keep();
        }
        self.literals.push(Literal { line, text });
    }

    /// A character literal is blanked; a lifetime stays.
    fn character(&mut self) {
        let escaped = self.peek(1) == Some('\\');
        if !escaped && self.peek(2) != Some('\'') {
            return self.keep();
        }
        self.keep();
        self.blank();
        if escaped {
            self.blank();
        }
        self.blank_while(|it| it != '\'' && it != '\n');
        self.keep();
    }

    /// Whether the character before belongs to a name, so that an `r` here only ends it. The
    /// prefix of a byte or C string does not count.
    fn in_word(&self) -> bool {
        let before = |back: usize| self.at.checked_sub(back).map(|at| self.text[at]);
        let names = |it: Option<char>| it.is_some_and(|it| it.is_alphanumeric() || it == '_');
        match before(1) {
            Some('b' | 'c') => names(before(2)),
            other => names(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_not_code() {
        let text = "let a = \"tokio::x\"; // tokio\n/* a /* b */ tokio */ let b = '\"';\nlet c;";
        let source = Source::read("a.rs", text);
        assert_eq!(source.code[0].trim_end(), "let a = \"        \";");
        assert_eq!(source.code[1].trim(), "let b = ' ';");
        assert_eq!(source.code[2], "let c;");
        assert_eq!(
            source.literals,
            [Literal {
                line: 1,
                text: "tokio::x".to_owned()
            }]
        );
    }

    #[test]
    fn raw_strings_and_escapes_end_where_rust_ends_them() {
        let text =
            "f(r#\"a\"b\"#, \"c\\\"d\", br\"e\");\nfn g<'a>(x: &'a str) {}\nlet r = for_r#\"";
        let source = Source::read("a.rs", text);
        let texts: Vec<&str> = source.literals.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(texts[..3], ["a\"b", "c\\\"d", "e"]);
        assert_eq!(source.code[1], "fn g<'a>(x: &'a str) {}");
    }

    #[test]
    fn the_products_lines_end_at_the_test_module() {
        let text = "#[cfg(test)]\nuse a::b;\nfn c() {}\n\n#[cfg(test)]\nmod tests {\n}\n";
        assert_eq!(Source::read("src/a.rs", text).product_lines, 4);
        assert_eq!(Source::read("src/a.rs", "fn c() {}\n").product_lines, 1);
        assert_eq!(
            Source::read("tests/it/a.rs", "fn c() {}\n").product_lines,
            0
        );
    }
}
