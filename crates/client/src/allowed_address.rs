//! An exception of the address guard, as an operator writes it.
//!
//! `10.0.0.0/8`, `127.0.0.1`, `127.0.0.1:9000`, `[::1]:9000`, `hooks.internal`, `hooks.internal:443`.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Addresses that may be called although they are not public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedAddress {
    text: String,
    who: Who,
    /// `None`: every port.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Who {
    /// A host by its name, whatever it resolves to. In lower case, without the root dot.
    Name(String),
    /// The addresses of a network.
    Network(IpAddr, u8),
}

/// The text is no address, network or host name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no address: write `10.0.0.0/8`, `127.0.0.1`, `127.0.0.1:9000`, `[::1]:9000`, \
     `hooks.internal` or `hooks.internal:443`"
)]
pub struct AllowedAddressError(String);

impl AllowedAddress {
    /// Whether this allows `ip`, which `host` (as an URL has it) stands for, at `port`. Without an
    /// address only the name counts.
    pub(crate) fn covers(&self, host: &str, port: u16, ip: Option<IpAddr>) -> bool {
        let here = match &self.who {
            Who::Name(name) => name == host,
            Who::Network(network, prefix) => ip.is_some_and(|ip| inside(ip, *network, *prefix)),
        };
        here && self.port.is_none_or(|allowed| allowed == port)
    }
}

/// An IPv4 address inside an IPv6 one counts as itself.
fn inside(ip: IpAddr, network: IpAddr, prefix: u8) -> bool {
    match (ip.to_canonical(), network) {
        (IpAddr::V4(ip), IpAddr::V4(network)) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
            u32::from(ip) & mask == u32::from(network) & mask
        }
        (IpAddr::V6(ip), IpAddr::V6(network)) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
            u128::from(ip) & mask == u128::from(network) & mask
        }
        _ => false,
    }
}

impl FromStr for AllowedAddress {
    type Err = AllowedAddressError;

    fn from_str(text: &str) -> Result<Self, AllowedAddressError> {
        let refused = || AllowedAddressError(text.to_owned());
        let (who, port) = if let Some((network, prefix)) = text.split_once('/') {
            let network: IpAddr = network.parse().map_err(|_| refused())?;
            let prefix: u8 = prefix.parse().map_err(|_| refused())?;
            let bits = if network.is_ipv4() { 32 } else { 128 };
            if prefix > bits {
                return Err(refused());
            }
            (Who::Network(network, prefix), None)
        } else if let Ok(ip) = text.parse::<IpAddr>() {
            (single(ip), None)
        } else {
            let (host, port) = match text.rsplit_once(':') {
                Some((host, port)) => (host, Some(port.parse().map_err(|_| refused())?)),
                None => (text, None),
            };
            let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
            match bare.unwrap_or(host).parse::<IpAddr>() {
                Ok(ip) => (single(ip), port),
                Err(_) => (Who::Name(host_name(host).ok_or_else(refused)?), port),
            }
        };
        let text = text.to_owned();
        Ok(Self { text, who, port })
    }
}

fn single(ip: IpAddr) -> Who {
    Who::Network(ip, if ip.is_ipv4() { 32 } else { 128 })
}

/// A name as URLs have it after parsing.
fn host_name(text: &str) -> Option<String> {
    match url::Host::parse(text).ok()? {
        url::Host::Domain(name) => Some(name.trim_end_matches('.').to_owned()),
        _ => None,
    }
}

impl fmt::Display for AllowedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AddressPolicy;
    use url::Url;

    fn allows(allowed: &str, url: &str) -> bool {
        let mut policy = AddressPolicy::public_only();
        policy.allow_address(allowed.parse().unwrap());
        policy.check_url(&Url::parse(url).unwrap()).is_ok()
    }

    #[test]
    fn an_exception_covers_its_addresses_and_no_others() {
        for (allowed, url) in [
            ("127.0.0.0/8", "http://127.1.2.3:9/"),
            ("127.0.0.1", "http://127.0.0.1:9/"),
            ("127.0.0.1", "http://[::ffff:127.0.0.1]:9/"),
            ("127.0.0.1:9", "http://127.0.0.1:9/"),
            ("[::1]:9", "http://[::1]:9/"),
            ("::1", "http://[::1]/"),
            ("0.0.0.0/0", "http://10.0.0.1/"),
            ("127.0.0.1", "http://localhost:9/"),
            ("localhost", "http://LOCALHOST.:9/"),
            ("LocalHost:9", "http://localhost:9/"),
        ] {
            assert!(allows(allowed, url), "{allowed} {url}");
        }
        for (allowed, url) in [
            ("127.0.0.0/16", "http://127.1.2.3/"),
            ("127.0.0.1:9", "http://127.0.0.1:8/"),
            ("127.0.0.2", "http://localhost/"),
            ("localhost", "http://127.0.0.1/"),
            ("::1", "http://127.0.0.1/"),
        ] {
            assert!(!allows(allowed, url), "{allowed} {url}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "10.0.0.0/33",
            "10.0.0.0/x",
            "a b",
            "host:port",
            "http://h",
            "h:70000",
        ] {
            assert!(text.parse::<AllowedAddress>().is_err(), "{text}");
        }
    }
}
