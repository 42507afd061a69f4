//! An `http` or `https` address as the configuration takes it.

use std::fmt;
use std::str::FromStr;

use url::Url;

use super::text_setting::text_setting;

/// An absolute `http` or `https` URL with a host and without a password in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WebUrl {
    /// As it was written: some peers compare URLs byte for byte.
    text: String,
    url: Url,
}

impl WebUrl {
    /// The URL as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The URL, parsed.
    pub fn url(&self) -> &Url {
        &self.url
    }
}

impl FromStr for WebUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<WebUrl, String> {
        let url = Url::parse(text).map_err(|error| match error {
            url::ParseError::RelativeUrlWithoutBase => {
                format!("`{text}` is not a URL: write http://{text} or https://{text}")
            }
            error => format!("`{text}` is not a URL: {error}"),
        })?;
        // `localhost:8081` parses as a URL of the scheme `localhost`.
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("`{text}` must begin with http:// or https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("a URL must not hold a user name or password: use `auth`".to_owned());
        }
        Ok(WebUrl {
            text: text.to_owned(),
            url,
        })
    }
}

impl fmt::Display for WebUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

text_setting!(WebUrl, "web-url");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_was_written() {
        let url: WebUrl = "https://Agents.example.org".parse().unwrap();
        assert_eq!(url.as_str(), "https://Agents.example.org");
        assert_eq!(url.url().host_str(), Some("agents.example.org"));
    }

    #[test]
    fn says_what_to_write_instead() {
        let refused = |text: &str| text.parse::<WebUrl>().unwrap_err();
        assert!(refused("agents.example.org").contains("http://agents.example.org"));
        assert!(refused("localhost:8081").contains("must begin with http://"));
        assert!(refused("ftp://host/").contains("must begin with http://"));
        let text = refused("https://me:hunter2@host/");
        assert!(text.contains("auth") && !text.contains("hunter2"), "{text}");
        assert!(refused("http://").contains("is not a URL"));
    }
}
