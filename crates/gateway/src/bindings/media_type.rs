//! The two media types of A2A's JSON: which a request's body has, and which its answer gets.

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};

const LONG: &str = "application/a2a+json";
const SHORT: &str = "application/json";

/// A media type of A2A's JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaType {
    /// `application/json`
    Json,
    /// `application/a2a+json`, which 1.0.1 prefers on the HTTP+JSON binding.
    A2aJson,
}

impl MediaType {
    /// The type of a body, if it is JSON and, where it says so, in UTF-8.
    #[must_use]
    pub fn of_body(headers: &HeaderMap) -> Option<Self> {
        let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
        let mut pieces = value.split(';').map(str::trim);
        let media_type = Self::named(pieces.next()?)?;
        let is_utf8 = pieces.all(|parameter| match parameter.split_once('=') {
            Some((name, charset)) if name.eq_ignore_ascii_case("charset") => {
                charset.trim_matches('"').eq_ignore_ascii_case("utf-8")
            }
            _ => true,
        });
        is_utf8.then_some(media_type)
    }

    /// The type of the answer: that of the request's body, else the long one if the caller names it
    /// among those it accepts.
    #[must_use]
    pub fn of_answer(headers: &HeaderMap) -> Self {
        if let Some(media_type) = Self::of_body(headers) {
            return media_type;
        }
        let accepts = |value: &HeaderValue| {
            value.to_str().is_ok_and(|list| {
                list.split(',')
                    .filter_map(|range| range.split(';').next())
                    .any(|name| name.trim().eq_ignore_ascii_case(LONG))
            })
        };
        if headers.get_all(ACCEPT).iter().any(accepts) {
            Self::A2aJson
        } else {
            Self::Json
        }
    }

    fn named(essence: &str) -> Option<Self> {
        if essence.eq_ignore_ascii_case(SHORT) {
            Some(Self::Json)
        } else if essence.eq_ignore_ascii_case(LONG) {
            Some(Self::A2aJson)
        } else {
            None
        }
    }

    /// The type as a header has it.
    #[must_use]
    pub fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Json => SHORT,
            Self::A2aJson => LONG,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        let parsed = list.iter().map(|(name, value)| {
            (
                http::HeaderName::from_static(name),
                value.parse().expect("a value"),
            )
        });
        parsed.collect()
    }

    #[test]
    fn only_json_in_utf8_is_taken() {
        let of = |value: &str| MediaType::of_body(&headers(&[("content-type", value)]));
        for (value, taken) in [
            ("application/json", Some(MediaType::Json)),
            ("Application/JSON; charset=UTF-8", Some(MediaType::Json)),
            (
                "application/a2a+json;charset=\"utf-8\"",
                Some(MediaType::A2aJson),
            ),
            ("text/plain", None),
            ("application/json; charset=utf-16", None),
            ("application/jsonx", None),
            ("", None),
        ] {
            assert_eq!(of(value), taken, "{value}");
        }
        assert_eq!(MediaType::of_body(&HeaderMap::new()), None);
    }

    #[test]
    fn an_answer_has_the_type_of_the_body_or_the_one_accepted() {
        for (list, expected) in [
            (&[][..], MediaType::Json),
            (&[("accept", "*/*")], MediaType::Json),
            (
                &[("accept", "text/html, application/a2a+json;q=0.5")],
                MediaType::A2aJson,
            ),
            (
                &[
                    ("accept", "application/a2a+json"),
                    ("content-type", "application/json"),
                ],
                MediaType::Json,
            ),
        ] {
            assert_eq!(MediaType::of_answer(&headers(list)), expected, "{list:?}");
        }
    }
}
