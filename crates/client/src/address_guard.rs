//! Which addresses may be called. Checked on the URL and again on every resolved address, in the
//! connector that dials, so that no redirect and no second look-up leads past it.
//!
//! What the operator named passes by its exact host and port; what a stranger named must be public.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use crate::allowed_address::AllowedAddress;

/// The rule about addresses for one client.
#[derive(Clone, Debug, Default)]
pub struct AddressPolicy {
    private_allowed: bool,
    exceptions: BTreeSet<(String, u16)>,
    allowed: Vec<AllowedAddress>,
}

impl AddressPolicy {
    /// Only addresses of the public internet.
    #[must_use]
    pub fn public_only() -> Self {
        Self::default()
    }

    /// Every address, inner ones too. For networks where all parties are trusted.
    #[must_use]
    pub fn allow_private() -> Self {
        Self {
            private_allowed: true,
            ..Self::default()
        }
    }

    /// Allows the exact host and port of `url`, whatever it resolves to.
    pub fn allow(&mut self, url: &Url) {
        if let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) {
            self.exceptions.insert((normal_host(host), port));
        }
    }

    /// Allows every address of this exception, inner ones too.
    pub fn allow_address(&mut self, allowed: AllowedAddress) {
        self.allowed.push(allowed);
    }

    /// Whether the operator named the host of this URL: by its name, or by an address that stands in
    /// the URL itself.
    #[must_use]
    pub fn is_allowed_by_name(&self, url: &Url) -> bool {
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return false;
        };
        let (name, ip) = match host {
            Host::Ipv4(ip) => (ip.to_string(), Some(ip.into())),
            Host::Ipv6(ip) => (format!("[{ip}]"), Some(ip.into())),
            Host::Domain(name) if is_loopback_name(name) => {
                (normal_host(name), Some(Ipv4Addr::LOCALHOST.into()))
            }
            Host::Domain(name) => (normal_host(name), None),
        };
        self.exceptions.contains(&(name.clone(), port))
            || self.allowed.iter().any(|a| a.covers(&name, port, ip))
    }

    /// Checks what stands in the URL: scheme, user info, a literal address, the name of loopback.
    ///
    /// # Errors
    /// Says why the URL may not be called.
    pub fn check_url(&self, url: &Url) -> Result<(), AddressRefused> {
        let refused = |reason| AddressRefused {
            what: shown(url),
            reason,
        };
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused(Reason::Scheme));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused(Reason::UserInfo));
        }
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(refused(Reason::NoHost));
        };
        match host {
            Host::Ipv4(ip) => self.check_address(&ip.to_string(), port, ip.into()),
            Host::Ipv6(ip) => self.check_address(&format!("[{ip}]"), port, ip.into()),
            // Its address is known before it is looked up (RFC 6761 section 6.3).
            Host::Domain(name) if is_loopback_name(name) => {
                self.check_address(name, port, Ipv4Addr::LOCALHOST.into())
            }
            Host::Domain(_) => Ok(()),
        }
    }

    /// Checks one address that `host` resolved to.
    ///
    /// # Errors
    /// Names the kind of address that is refused.
    pub fn check_address(&self, host: &str, port: u16, ip: IpAddr) -> Result<(), AddressRefused> {
        let name = normal_host(host);
        if self.private_allowed
            || self.allowed.iter().any(|a| a.covers(&name, port, Some(ip)))
            || self.exceptions.contains(&(name, port))
        {
            return Ok(());
        }
        match special_use(ip) {
            None => Ok(()),
            Some(kind) => Err(AddressRefused {
                what: format!("{host}:{port} ({ip})"),
                reason: Reason::Special(kind),
            }),
        }
    }
}

/// One spelling per host: the root dot and the letters' case do not count.
fn normal_host(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

fn is_loopback_name(host: &str) -> bool {
    let name = normal_host(host);
    name == "localhost" || name.ends_with(".localhost")
}

/// Scheme, host and port; never user info, path or query.
fn shown(url: &Url) -> String {
    match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{}://{host}:{port}", url.scheme()),
        (Some(host), None) => format!("{}://{host}", url.scheme()),
        (None, _) => format!("{}:", url.scheme()),
    }
}

/// An address that may not be called, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressRefused {
    what: String,
    reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Scheme,
    UserInfo,
    NoHost,
    Special(&'static str),
}

impl fmt::Display for AddressRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = &self.what;
        match self.reason {
            Reason::Scheme => write!(f, "{what} is not an http or https address"),
            Reason::UserInfo => {
                write!(
                    f,
                    "{what} carries a user name or password in its address; give credentials apart"
                )
            }
            Reason::NoHost => write!(f, "{what} names no host"),
            Reason::Special(kind) => write!(
                f,
                "{what} is {kind} address, which only the operator may allow"
            ),
        }
    }
}

impl std::error::Error for AddressRefused {}

/// IPv4 ranges that are not the public internet (RFC 6890 and its updates): network, prefix, kind.
const SPECIAL_V4: [(Ipv4Addr, u8, &str); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, "an unspecified"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "a private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "a shared"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "a loopback"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "a link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "a private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "a reserved"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "a documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a relay"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "a private"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "a benchmark"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "a documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "a documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "a multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "a reserved"),
];

/// IPv6 ranges that are not the public internet (RFC 6890 and its updates): network, prefix, kind.
const SPECIAL_V6: [(Ipv6Addr, u8, &str); 11] = [
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0, 0, 0), 96, "a reserved"),
    (
        Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0),
        48,
        "a translation",
    ),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64, "a discard"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "a reserved"),
    (
        Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0),
        32,
        "a documentation",
    ),
    (
        Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0),
        20,
        "a documentation",
    ),
    (Ipv6Addr::new(0x5f00, 0, 0, 0, 0, 0, 0, 0), 16, "a reserved"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "a private"),
    (
        Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0),
        10,
        "a link-local",
    ),
    (
        Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0),
        10,
        "a site-local",
    ),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "a multicast"),
];

/// What special use the address has; `None` for addresses of the public internet.
fn special_use(ip: IpAddr) -> Option<&'static str> {
    match ip {
        IpAddr::V4(v4) => special_v4(v4),
        IpAddr::V6(v6) => match embedded_v4(v6) {
            Some(v4) => special_v4(v4),
            None if v6 == Ipv6Addr::LOCALHOST => Some("a loopback"),
            None => special_v6(v6),
        },
    }
}

fn special_v4(ip: Ipv4Addr) -> Option<&'static str> {
    let inside = |&&(network, prefix, _): &&(Ipv4Addr, u8, &str)| {
        let shift = 32 - u32::from(prefix);
        u32::from(ip) >> shift == u32::from(network) >> shift
    };
    SPECIAL_V4.iter().find(inside).map(|&(_, _, kind)| kind)
}

fn special_v6(ip: Ipv6Addr) -> Option<&'static str> {
    let inside = |&&(network, prefix, _): &&(Ipv6Addr, u8, &str)| {
        let shift = 128 - u32::from(prefix);
        u128::from(ip) >> shift == u128::from(network) >> shift
    };
    SPECIAL_V6.iter().find(inside).map(|&(_, _, kind)| kind)
}

/// The IPv4 address that packets to this IPv6 address reach: mapped (RFC 4291), NAT64 (RFC 6052)
/// and 6to4 (RFC 3056).
fn embedded_v4(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = ip.segments();
    let join = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0xffff) | (0x64, 0xff9b, 0, 0, 0, 0) => Some(join(g, h)),
        (0x2002, ..) => Some(join(b, c)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_loopback_are_refused_before_they_are_looked_up() {
        for url in [
            "http://localhost/",
            "http://localhost./",
            "http://LOCALHOST/",
            "http://%6c%6fcalhost/",
            "http://local\u{ad}host/",
            "http://a.localhost:1/",
        ] {
            assert!(check(url).unwrap_err().contains("a loopback"), "{url}");
        }
        assert!(check("http://localhost.example.com/").is_ok());
    }

    fn check(url: &str) -> Result<(), String> {
        let url = Url::parse(url).map_err(|error| error.to_string())?;
        AddressPolicy::public_only()
            .check_url(&url)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn both_edges_of_each_range_are_refused_and_their_neighbours_are_not() {
        for (network, prefix, kind) in SPECIAL_V4 {
            let first = u32::from(network);
            let last = first | (u32::MAX >> prefix);
            for ip in [first, last] {
                assert_eq!(
                    special_use(Ipv4Addr::from(ip).into()),
                    Some(kind),
                    "{network}/{prefix}"
                );
            }
        }
        for outside in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "191.255.255.255",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.255",
            "192.88.100.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255",
            "198.51.101.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
        ] {
            assert_eq!(special_use(outside.parse().unwrap()), None, "{outside}");
        }
    }

    #[test]
    fn inner_addresses_stay_refused_inside_ipv6() {
        for ip in [
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "fe80::1",
            "fc00::1",
            "fdff::1",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
        ] {
            assert!(special_use(ip.parse().unwrap()).is_some(), "{ip}");
        }
        for ip in [
            "2606:4700::1111",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
            "2002:101:101::",
        ] {
            assert_eq!(special_use(ip.parse().unwrap()), None, "{ip}");
        }
    }

    #[test]
    fn every_spelling_of_an_inner_address_is_the_same_address() {
        for url in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://\u{2460}\u{2461}\u{2466}.0.0.1/",
            "http://0/",
            "http://[::]/",
            "http://\u{ff11}\u{ff12}\u{ff17}.0.0.1/",
            "http://127\u{3002}0\u{3002}0\u{3002}1/",
            "http://[::1]/",
            "http://[::ffff:7f00:1]/",
            "http:127.0.0.1",
            "http://127.0.0.1\\@good.com",
        ] {
            assert!(
                check(url).unwrap_err().contains("only the operator"),
                "{url}"
            );
        }
    }

    #[test]
    fn other_schemes_and_user_info_are_refused() {
        for url in [
            "file:///etc/passwd",
            "gopher://127.0.0.1/",
            "ftp://h/",
            "data:,x",
            "unix:/run/x",
        ] {
            assert!(
                check(url).unwrap_err().contains("not an http or https"),
                "{url}"
            );
        }
        assert!(
            check("http://good@example.com/")
                .unwrap_err()
                .contains("user name")
        );
        assert!(check("https://example.com/").is_ok());
    }

    #[test]
    fn what_the_operator_named_passes_by_its_exact_host_and_port() {
        let mut policy = AddressPolicy::public_only();
        policy.allow(&Url::parse("http://LOCALHOST.:8081/x").unwrap());
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        assert!(policy.check_address("localhost", 8081, loopback).is_ok());
        assert!(policy.check_address("localhost", 8082, loopback).is_err());
        assert!(policy.check_address("127.0.0.1", 8081, loopback).is_err());
    }
}
