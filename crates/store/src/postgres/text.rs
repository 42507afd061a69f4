//! Text of strangers in PostgreSQL, which refuses the character NUL.
//!
//! NUL is stored as U+0001 and `0`, U+0001 as U+0001 and `1`; all else stands as it is.

use bytes::BytesMut;
use std::borrow::Cow;
use std::error::Error;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

/// Text that may hold any character.
#[derive(Debug)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'a> Text<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', '\u{1}']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace('\u{1}', "\u{1}1").replace('\0', "\u{1}0"))
}

fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1}') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\u{1}0", "\0").replace("\u{1}1", "\u{1}"))
}

impl ToSql for Text<'_> {
    fn to_sql(
        &self,
        of: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        (&*escape(&self.0)).to_sql(of, out)
    }

    fn accepts(of: &Type) -> bool {
        <&str as ToSql>::accepts(of)
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Text<'a> {
    fn from_sql(of: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        <&str>::from_sql(of, raw).map(unescape).map(Self)
    }

    fn accepts(of: &Type) -> bool {
        <&str as FromSql>::accepts(of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_as_it_went() {
        for text in [
            "",
            "plain",
            "\0",
            "\u{1}",
            "\u{1}0",
            "\u{1}1",
            "a\0\u{1}\0b",
            "\0\u{1}0",
        ] {
            assert!(!escape(text).contains('\0'));
            assert_eq!(unescape(&escape(text)), text);
        }
        assert_ne!(escape("\0"), escape("\u{1}0"));
    }
}
