//! An exception of the address guard, as the configuration takes it.

use std::fmt;
use std::str::FromStr;

use super::text_setting::text_setting;

/// Addresses that callers' URLs may name although they are not public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedAddress(nuncio_client::AllowedAddress);

impl AllowedAddress {
    /// As the guard takes it.
    pub fn get(&self) -> &nuncio_client::AllowedAddress {
        &self.0
    }
}

impl FromStr for AllowedAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<AllowedAddress, String> {
        text.parse()
            .map(AllowedAddress)
            .map_err(|error: nuncio_client::AllowedAddressError| error.to_string())
    }
}

impl fmt::Display for AllowedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

text_setting!(AllowedAddress, "allowed-address");
