//! A range of addresses: `10.0.0.0/8`, `fd00::/8`, or one address.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use super::text_setting::text_setting;

/// A range of IP addresses in CIDR notation (RFC 4632, RFC 4291 section 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    network: IpAddr,
    prefix: u8,
}

impl Cidr {
    /// Whether `address` lies in the range. An IPv4 address in IPv6 clothes counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.network, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => same_prefix(
                u128::from(network.to_bits()) << 96,
                u128::from(address.to_bits()) << 96,
                self.prefix,
            ),
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                same_prefix(network.to_bits(), address.to_bits(), self.prefix)
            }
            _ => false,
        }
    }
}

fn same_prefix(a: u128, b: u128, prefix: u8) -> bool {
    prefix == 0 || (a ^ b) >> (128 - u32::from(prefix)) == 0
}

impl FromStr for Cidr {
    type Err = String;

    fn from_str(text: &str) -> Result<Cidr, String> {
        let refused =
            || format!("`{text}` is not a range of addresses: write 10.0.0.0/8, fd00::/8 or an IP");
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let network: IpAddr = address.parse().map_err(|_| refused())?;
        let longest = if network.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(prefix) => prefix.parse().map_err(|_| refused())?,
            None => longest,
        };
        if prefix > longest {
            return Err(refused());
        }
        Ok(Cidr { network, prefix })
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.prefix)
    }
}

text_setting!(Cidr, "cidr");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contains_by_prefix() {
        for (range, address, inside) in [
            ("10.0.0.0/8", "10.255.1.2", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.1.1.1", true),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("0.0.0.0/0", "8.8.8.8", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("fd00::/8", "fd12::1", true),
            ("fd00::/8", "fe80::1", false),
            ("::1", "::1", true),
        ] {
            let range: Cidr = range.parse().unwrap();
            assert_eq!(
                range.contains(address.parse().unwrap()),
                inside,
                "{range} {address}"
            );
        }
    }

    #[test]
    fn refuses_what_is_no_range() {
        for text in [
            "",
            "10.0.0.0/33",
            "::/129",
            "host/8",
            "10.0.0.0/",
            "10.0.0.0/-1",
        ] {
            assert!(text.parse::<Cidr>().is_err(), "{text}");
        }
    }
}
