//! What of a model's text is not meant for anybody: thoughts between `<think>` and `</think>`, and the words
//! by which an agent of OpenFang says that it does not want to say anything.

/// How thoughts begin and end.
const THOUGHT: (&str, &str) = ("<think>", "</think>");
/// Whole replies that are none, in any case.
const SILENCE: [&str; 3] = ["NO_REPLY", "[silent]", "[[silent]]"];
/// Longest of them, in bytes.
const MAX_SILENCE: usize = 10;

/// Lets through what is said. What may still turn out to be something else is held back.
#[derive(Debug, Default)]
pub(super) struct Quiet {
    held: String,
    is_thinking: bool,
    /// Whether something was let through that is no blank.
    has_spoken: bool,
}

impl Quiet {
    /// Takes the next piece, and adds what is said to `text`.
    pub(super) fn hear(&mut self, piece: &str, text: &mut String) {
        self.held.push_str(piece);
        let mut said = String::new();
        loop {
            let mark = if self.is_thinking {
                THOUGHT.1
            } else {
                THOUGHT.0
            };
            let Some(at) = self.held.find(mark) else {
                let kept = self.held.len() - tail(&self.held, mark);
                let passed: String = self.held.drain(..kept).collect();
                if !self.is_thinking {
                    said.push_str(&passed);
                }
                break;
            };
            let passed: String = self.held.drain(..at + mark.len()).collect();
            if !self.is_thinking {
                said.push_str(&passed[..at]);
            }
            self.is_thinking = !self.is_thinking;
        }
        self.speak(said, text);
    }

    /// Nothing more comes: adds what was held back, unless it is silence.
    pub(super) fn end(&mut self, text: &mut String) {
        let held = std::mem::take(&mut self.held);
        let is_silence = SILENCE
            .iter()
            .any(|it| held.trim().eq_ignore_ascii_case(it));
        if !self.is_thinking && (self.has_spoken || !is_silence) {
            text.push_str(&held);
        }
    }

    /// Lets a text through, unless all so far may be silence yet.
    fn speak(&mut self, said: String, text: &mut String) {
        if self.has_spoken {
            text.push_str(&said);
            return;
        }
        if said.is_empty() {
            return;
        }
        let all = said.trim_start();
        let may_be_silence = all.trim_end().len() <= MAX_SILENCE
            && SILENCE.iter().any(|it| begins(it, all.trim_end()));
        if may_be_silence {
            self.held.insert_str(0, all);
        } else {
            self.has_spoken = true;
            text.push_str(all);
        }
    }
}

/// Bytes at the end of `text` that may be the beginning of `mark`.
fn tail(text: &str, mark: &str) -> usize {
    let longest = mark.len().min(text.len() + 1) - 1;
    let fits = |length: &usize| text.as_bytes().ends_with(&mark.as_bytes()[..*length]);
    (1..=longest).rev().find(fits).unwrap_or(0)
}

fn begins(text: &str, start: &str) -> bool {
    let head = text.as_bytes().get(..start.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, size: usize) -> String {
        let (mut quiet, mut out) = (Quiet::default(), String::new());
        let chars: Vec<_> = text.chars().collect();
        for piece in chars.chunks(size) {
            quiet.hear(&piece.iter().collect::<String>(), &mut out);
        }
        quiet.end(&mut out);
        out
    }

    #[test]
    fn thoughts_and_silence_are_left_out_however_the_text_is_cut() {
        for (text, expected) in [
            ("hello", "hello"),
            ("<think>hm</think>\n\nhello", "hello"),
            ("a<think>b</think>c<think>d", "ac"),
            ("1 < 2 <thi", "1 < 2 <thi"),
            ("</think> x", "</think> x"),
            ("NO_REPLY", ""),
            (" no_reply \n", ""),
            ("<think>x</think>[Silent]", ""),
            ("[[silent]]", ""),
            ("NO_REPLY is a word", "NO_REPLY is a word"),
            ("NO_", "NO_"),
            ("[INPUT_REQUIRED] which?", "[INPUT_REQUIRED] which?"),
            ("über <think>ä</think>ö", "über ö"),
            ("", ""),
        ] {
            for size in 1..=text.chars().count().max(1) {
                assert_eq!(said(text, size), expected, "{text} by {size}");
            }
        }
    }

    #[test]
    fn words_are_let_through_at_once() {
        let (mut quiet, mut out) = (Quiet::default(), String::new());
        quiet.hear("No", &mut out);
        assert_eq!(out, "");
        quiet.hear(" way", &mut out);
        assert_eq!(out, "No way");
        quiet.hear("!", &mut out);
        assert_eq!(out, "No way!");
    }
}
