//! Origins: what "the same server" means when a card names addresses and a credential is attached.
//!
//! Scheme, host and port must agree. Two exceptions: an upgrade from http to https of one host, and
//! the names of this machine's loopback, which servers on a laptop mix freely.

use std::fmt;

use url::{Host, Url};

/// Scheme, host and port of an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    https: bool,
    host: String,
    port: u16,
}

impl Origin {
    /// The origin of an http or https URL; `None` for every other URL.
    #[must_use]
    pub fn of(url: &Url) -> Option<Self> {
        let https = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let host = match url.host()? {
            Host::Domain(name) => name.trim_end_matches('.').to_owned(),
            Host::Ipv4(ip) => ip.to_string(),
            Host::Ipv6(ip) => format!("[{ip}]"),
        };
        Some(Self {
            https,
            host,
            port: url.port_or_known_default()?,
        })
    }

    /// Whether what is meant for `self` may also go to `other`.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let same_host = self.host == other.host;
        let upgrade = !self.https && other.https && self.port == 80 && other.port == 443;
        if same_host && upgrade {
            return true;
        }
        let loopback = self.is_loopback() && other.is_loopback();
        self.https == other.https && self.port == other.port && (same_host || loopback)
    }

    /// Whether the host is this machine itself.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        matches!(self.host.as_str(), "localhost" | "[::1]")
            || self.host.ends_with(".localhost")
            || self
                .host
                .parse::<std::net::Ipv4Addr>()
                .is_ok_and(|ip| ip.is_loopback())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, usual) = if self.https {
            ("https", 443)
        } else {
            ("http", 80)
        };
        write!(f, "{scheme}://{}", self.host)?;
        if self.port == usual {
            Ok(())
        } else {
            write!(f, ":{}", self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(a: &str, b: &str) -> bool {
        let origin = |text| Origin::of(&Url::parse(text).unwrap()).unwrap();
        origin(a).covers(&origin(b))
    }

    #[test]
    fn an_origin_covers_itself_its_upgrade_and_the_names_of_loopback() {
        for (a, b) in [
            ("https://h/a", "https://H./b"),
            ("http://h", "https://h"),
            ("http://localhost:81", "http://127.0.0.1:81"),
            ("http://127.0.0.1:81", "http://[::1]:81"),
        ] {
            assert!(covers(a, b), "{a} {b}");
        }
    }

    #[test]
    fn everything_else_is_another_origin() {
        for (a, b) in [
            ("https://h", "http://h"),
            ("https://h", "https://g"),
            ("https://h", "https://h:8443"),
            ("http://h:81", "https://h"),
            ("http://localhost:81", "http://localhost:82"),
            ("http://localhost:81", "http://10.0.0.1:81"),
        ] {
            assert!(!covers(a, b), "{a} {b}");
        }
    }
}
