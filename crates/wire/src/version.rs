//! Protocol versions as they stand in `A2A-Version`: `Major.Minor` (specification 3.6).

use std::fmt;
use std::str::FromStr;

/// A protocol version. Patch numbers are read and dropped: they must not influence negotiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// 1 in `1.0`.
    pub major: u32,
    /// 0 in `1.0`.
    pub minor: u32,
}

impl Version {
    /// The version nuncio speaks by default.
    pub const V1_0: Self = Self { major: 1, minor: 0 };
    /// The older version nuncio also speaks.
    pub const V0_3: Self = Self { major: 0, minor: 3 };
    /// HTTP header, gRPC metadata key and query parameter that carry the version.
    pub const HEADER: &'static str = "A2A-Version";
}

/// The text is not a version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a protocol version such as 1.0")]
pub struct VersionError(pub String);

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let wrong = || VersionError(text.chars().take(16).collect());
        let mut numbers = text.split('.');
        let (Some(major), Some(minor)) = (numbers.next(), numbers.next()) else {
            return Err(wrong());
        };
        let patch_is_number = numbers.next().is_none_or(is_number);
        if !is_number(major) || !is_number(minor) || !patch_is_number || numbers.next().is_some() {
            return Err(wrong());
        }
        Ok(Self {
            major: major.parse().map_err(|_| wrong())?,
            minor: minor.parse().map_err(|_| wrong())?,
        })
    }
}

/// Digits only: `parse` alone would also take a sign.
fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_with_dots_are_versions() {
        for (text, version) in [
            ("1.0", Version::V1_0),
            ("1.0.1", Version::V1_0),
            ("0.3", Version::V0_3),
        ] {
            assert_eq!(text.parse(), Ok(version));
        }
        for text in ["", "1", "one", "1.0,0.3", "+1.0", "1.0.1.0", "1.", " 1.0"] {
            assert!(text.parse::<Version>().is_err(), "{text:?}");
        }
    }
}
