//! Page tokens of ListTasks: opaque, and good only for the caller and the filters they were made
//! for.
//!
//! A token is the cursor and a MAC over cursor, caller and filters under a key that lives as long
//! as the process; after a restart a client starts its list anew.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac as _};
use nuncio_store::{Cursor, ListQuery};
use nuncio_wire::A2aError;
use sha2::Sha256;

/// Bytes of the MAC in a token: 128 bits.
const MAC_BYTES: usize = 16;
/// Bytes of the time in a token.
const TIME_BYTES: usize = 8;

/// Makes and reads page tokens.
pub(super) struct PageTokens {
    key: [u8; 32],
}

impl PageTokens {
    pub(super) fn new() -> Self {
        let mut key = [0; 32];
        getrandom::fill(&mut key).expect("the operating system has random bytes");
        Self { key }
    }

    pub(super) fn write(&self, cursor: &Cursor, query: &ListQuery) -> String {
        let mut token = cursor.status_millis.to_be_bytes().to_vec();
        token.extend_from_slice(cursor.id.as_bytes());
        let mac = self.mac(&token, query);
        token.extend_from_slice(&mac.finalize().into_bytes()[..MAC_BYTES]);
        URL_SAFE_NO_PAD.encode(token)
    }

    pub(super) fn read(&self, token: &str, query: &ListQuery) -> Result<Cursor, A2aError> {
        let wrong = || {
            let text = "is not a token of this list: repeat the request that gave it, with the same filters";
            A2aError::invalid_field("pageToken", text)
        };
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| wrong())?;
        let cut = bytes.len().checked_sub(MAC_BYTES).ok_or_else(wrong)?;
        let (cursor, mac) = bytes.split_at(cut);
        self.mac(cursor, query)
            .verify_truncated_left(mac)
            .map_err(|_| wrong())?;
        let (time, id) = cursor.split_first_chunk::<TIME_BYTES>().ok_or_else(wrong)?;
        Ok(Cursor {
            status_millis: i64::from_be_bytes(*time),
            id: std::str::from_utf8(id).map_err(|_| wrong())?.to_owned(),
        })
    }

    fn mac(&self, cursor: &[u8], query: &ListQuery) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC takes any key length");
        mac.update(cursor);
        // The text form is unambiguous: strings are quoted and escaped in it.
        let filters = format!(
            "{:?} {:?} {:?} {:?}",
            query.visibility, query.context_id, query.state, query.status_from_millis
        );
        mac.update(filters.as_bytes());
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nuncio_store::{Include, Visibility};

    fn query(owner: &str, context: Option<&str>) -> ListQuery {
        ListQuery {
            visibility: Visibility {
                agent: None,
                owner: Some(owner.into()),
            },
            context_id: context.map(str::to_owned),
            state: None,
            status_from_millis: None,
            page_size: 1,
            after: None,
            include: Include::NOTHING,
        }
    }

    #[test]
    fn a_token_is_good_for_its_caller_and_filters_only() {
        let tokens = PageTokens::new();
        let cursor = Cursor {
            status_millis: 7,
            id: "t".to_owned(),
        };
        let token = tokens.write(&cursor, &query("alice", None));
        assert_eq!(tokens.read(&token, &query("alice", None)), Ok(cursor));
        assert!(tokens.read(&token, &query("bob", None)).is_err());
        assert!(tokens.read(&token, &query("alice", Some("c"))).is_err());
        assert!(
            PageTokens::new()
                .read(&token, &query("alice", None))
                .is_err()
        );
        for forged in ["", "x", "' OR 1=1", &token[1..], &"A".repeat(500)] {
            assert!(
                tokens.read(forged, &query("alice", None)).is_err(),
                "{forged}"
            );
        }
    }
}
