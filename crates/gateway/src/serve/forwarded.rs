//! What a proxy in front says of a request (RFC 7239 and the older `X-Forwarded-*`): who the caller
//! is and under which address it called.
//!
//! Believed only of the proxies that are configured; from anybody else the headers do not exist.

use http::HeaderMap;
use http::header::HOST;
use http::uri::Authority;
use std::net::IpAddr;

use super::service::Peer;
use crate::card::BaseUrl;
use crate::config::{Cidr, Config};

/// Longest prefix of a path that is taken, in bytes.
const MAX_PREFIX_BYTES: usize = 256;
/// Most hops that are looked at: nobody stands behind more proxies of their own.
const MAX_HOPS: usize = 16;

/// Who called: the peer, or whom a trusted proxy names.
pub(super) fn caller_address(config: &Config, peer: Peer, headers: &HeaderMap) -> IpAddr {
    let proxies = &config.server.trusted_proxies;
    let from = peer.from.ip().to_canonical();
    if is_trusted(proxies, from) {
        outermost(proxies, from, &hops(headers)).0
    } else {
        from
    }
}

/// Where it was called, as cards give it: the set URL, else what a trusted proxy says, else our end
/// of the connection.
pub(super) fn base_url(config: &Config, peer: Peer, headers: &HeaderMap) -> BaseUrl {
    let proxies = &config.server.trusted_proxies;
    let from = peer.from.ip().to_canonical();
    let told = (config.server.public_url.is_none() && is_trusted(proxies, from)).then(|| {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        let hop = outermost(proxies, from, &hops(headers)).1;
        hop.base(host, config.scheme())
    });
    told.flatten()
        .unwrap_or_else(|| BaseUrl::of(config, peer.at))
}

fn is_trusted(proxies: &[Cidr], address: IpAddr) -> bool {
    proxies.iter().any(|range| range.contains(address))
}

/// What one proxy says of the request it got.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Hop {
    from: Option<IpAddr>,
    proto: Option<String>,
    host: Option<String>,
    prefix: Option<String>,
}

impl Hop {
    /// The address that the caller used, if the proxy says anything of it that can be true.
    ///
    /// Nothing said of the scheme: the proxy passes on what it got.
    fn base(&self, host_header: Option<&str>, scheme: &'static str) -> Option<BaseUrl> {
        if self.proto.is_none() && self.host.is_none() && self.prefix.is_none() {
            return None;
        }
        let proto = match self.proto.as_deref() {
            None => scheme,
            Some(proto) if proto.eq_ignore_ascii_case("https") => "https",
            Some(proto) if proto.eq_ignore_ascii_case("http") => "http",
            Some(_) => return None,
        };
        let host = self.host.as_deref().or(host_header)?;
        let authority: Authority = host.parse().ok()?;
        if authority.host().is_empty() || authority.as_str().contains('@') {
            return None;
        }
        let prefix = self.prefix.as_deref().unwrap_or_default();
        let prefix = prefix.trim_end_matches('/');
        is_prefix(prefix).then(|| BaseUrl::told(&format!("{proto}://{authority}{prefix}")))
    }
}

/// Nothing, or a plain absolute path.
fn is_prefix(prefix: &str) -> bool {
    let fits = |segment: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
        !matches!(segment, "" | "." | "..") && segment.bytes().all(plain)
    };
    prefix.is_empty()
        || prefix.len() <= MAX_PREFIX_BYTES
            && prefix
                .strip_prefix('/')
                .is_some_and(|path| path.split('/').all(fits))
}

/// Goes from our own neighbour outwards as long as each speaker is trusted: the last address named
/// is the caller, and what was said beside it is what the outermost trusted proxy saw.
fn outermost(proxies: &[Cidr], peer: IpAddr, hops: &[Hop]) -> (IpAddr, Hop) {
    let mut seen = (peer, Hop::default());
    for hop in hops.iter().rev().take(MAX_HOPS) {
        seen.1 = hop.clone();
        let Some(from) = hop.from else { break };
        seen.0 = from;
        if !is_trusted(proxies, from) {
            break;
        }
    }
    seen
}

/// What the proxies said, the nearest last. The older headers go before `Forwarded`: nearly every
/// proxy sets them, and many let a caller's own `Forwarded` through.
fn hops(headers: &HeaderMap) -> Vec<Hop> {
    let [addresses, protos, hosts, prefixes] = [
        "x-forwarded-for",
        "x-forwarded-proto",
        "x-forwarded-host",
        "x-forwarded-prefix",
    ]
    .map(|name| list(headers, name));
    if [&addresses, &protos, &hosts, &prefixes]
        .iter()
        .all(|it| it.is_empty())
    {
        let forwarded = list(headers, "forwarded");
        return forwarded.iter().map(|element| standard(element)).collect();
    }
    let count = addresses.len().max(1);
    (0..count)
        .map(|at| {
            // Many proxies set one value for the whole way and only lengthen the addresses.
            let beside = |values: &[String]| {
                let own = (values.len() == count).then(|| values.get(at)).flatten();
                own.or(values.last()).cloned()
            };
            Hop {
                from: addresses.get(at).and_then(|text| address(text)),
                proto: beside(&protos),
                host: beside(&hosts),
                prefix: beside(&prefixes),
            }
        })
        .collect()
}

/// The elements of a list over all headers of a name; what is no text ends up as an empty element.
fn list(headers: &HeaderMap, name: &str) -> Vec<String> {
    let values = headers.get_all(name).iter();
    let texts = values.map(|value| value.to_str().unwrap_or_default());
    texts
        .flat_map(|text| text.split(','))
        .map(|element| element.trim().to_owned())
        .collect()
}

/// One element of `Forwarded` (RFC 7239 section 4).
fn standard(element: &str) -> Hop {
    let mut hop = Hop::default();
    for pair in element.split(';') {
        let Some((name, value)) = pair.split_once('=') else {
            continue;
        };
        let value = value.trim().trim_matches('"');
        match name.trim().to_ascii_lowercase().as_str() {
            "for" => hop.from = address(value),
            "proto" => hop.proto = Some(value.to_owned()),
            "host" => hop.host = Some(value.to_owned()),
            _ => {}
        }
    }
    hop
}

/// An address with or without a port, IPv6 with or without brackets; `unknown` and made-up names
/// are none.
fn address(text: &str) -> Option<IpAddr> {
    let bracketed = text
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
        .map(|(address, _)| address);
    let plain = || text.parse::<std::net::SocketAddr>().map(|it| it.ip()).ok();
    let parsed = bracketed.unwrap_or(text).parse::<IpAddr>().ok();
    parsed.or_else(plain).map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn config(public_url: Option<&str>) -> Arc<Config> {
        let mut config = Config::default();
        config.server.trusted_proxies = vec!["10.0.0.0/8".parse().unwrap(), "::1".parse().unwrap()];
        config.server.public_url = public_url.map(|url| url.parse().unwrap());
        Arc::new(config)
    }

    fn seen(config: &Config, from: &str, headers: &[(&'static str, &str)]) -> (String, String) {
        let mut map = HeaderMap::new();
        map.insert(HOST, "inner:8081".parse().unwrap());
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        let peer = Peer {
            from: std::net::SocketAddr::new(from.parse().unwrap(), 5),
            at: "10.0.0.9:8081".parse().unwrap(),
        };
        let from = caller_address(config, peer, &map).to_string();
        (from, base_url(config, peer, &map).to_string())
    }

    const OLD: [(&str, &str); 4] = [
        ("x-forwarded-for", "203.0.113.7"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "agents.example"),
        ("x-forwarded-prefix", "/a2a/"),
    ];

    #[test]
    fn a_proxy_counts_only_where_it_is_trusted() {
        let config = config(None);
        let told = ("203.0.113.7".into(), "https://agents.example/a2a".into());
        assert_eq!(seen(&config, "10.1.1.1", &OLD), told);
        assert_eq!(seen(&config, "::ffff:10.1.1.1", &OLD), told);
        for stranger in ["192.0.2.1", "127.0.0.1", "2001:db8::1"] {
            let ignored = (stranger.into(), "http://10.0.0.9:8081".into());
            assert_eq!(seen(&config, stranger, &OLD), ignored);
            let forwarded = [("forwarded", "for=203.0.113.7;proto=https;host=x.example")];
            assert_eq!(seen(&config, stranger, &forwarded), ignored);
        }
    }

    #[test]
    fn a_set_url_wins_over_every_proxy() {
        let config = config(Some("https://set.example/"));
        let expected = ("203.0.113.7".into(), "https://set.example".into());
        assert_eq!(seen(&config, "10.1.1.1", &OLD), expected);
    }

    #[test]
    fn the_caller_is_the_first_address_behind_the_trusted_ones() {
        let config = config(None);
        for (header, value, caller) in [
            (
                "x-forwarded-for",
                "6.6.6.6, 203.0.113.7, 10.2.2.2",
                "203.0.113.7",
            ),
            ("x-forwarded-for", "10.3.3.3, 10.2.2.2", "10.3.3.3"),
            (
                "x-forwarded-for",
                "203.0.113.7, unknown, 10.2.2.2",
                "10.2.2.2",
            ),
            ("x-forwarded-for", "[2001:db8::7]:443", "2001:db8::7"),
            ("x-forwarded-for", "203.0.113.7:1234", "203.0.113.7"),
            ("x-forwarded-for", "nonsense", "10.1.1.1"),
            (
                "forwarded",
                "for=6.6.6.6, for=\"[2001:db8::7]:4711\";proto=https",
                "2001:db8::7",
            ),
            ("forwarded", "for=_hidden", "10.1.1.1"),
            ("forwarded", "FOR=203.0.113.7", "203.0.113.7"),
        ] {
            assert_eq!(
                seen(&config, "10.1.1.1", &[(header, value)]).0,
                caller,
                "{value}"
            );
        }
        // A caller's own `Forwarded` may have been let through.
        let both = [
            ("forwarded", "for=6.6.6.6"),
            ("x-forwarded-for", "203.0.113.7"),
        ];
        assert_eq!(seen(&config, "10.1.1.1", &both).0, "203.0.113.7");
    }

    #[test]
    fn what_the_outermost_trusted_proxy_saw_is_the_address() {
        let config = config(None);
        let base = |headers: &[(&'static str, &str)]| seen(&config, "10.1.1.1", headers).1;
        let chain = "for=6.6.6.6;host=evil.example, for=203.0.113.7;proto=https;host=agents.example, for=10.2.2.2;proto=http;host=mid";
        assert_eq!(base(&[("forwarded", chain)]), "https://agents.example");
        assert_eq!(
            base(&[("x-forwarded-proto", "https")]),
            "https://inner:8081"
        );
        assert_eq!(
            base(&[("x-forwarded-for", "1.2.3.4")]),
            "http://10.0.0.9:8081"
        );
        for (name, value) in [
            ("x-forwarded-host", "me@evil.example"),
            ("x-forwarded-host", "evil.example/path"),
            ("x-forwarded-host", ""),
            ("x-forwarded-proto", "javascript"),
            ("x-forwarded-prefix", "//evil.example"),
            ("x-forwarded-prefix", "/../x"),
            ("x-forwarded-prefix", "/a b"),
            ("x-forwarded-prefix", "evil"),
        ] {
            assert_eq!(
                base(&[(name, value)]),
                "http://10.0.0.9:8081",
                "{name}: {value}"
            );
        }
    }
}
