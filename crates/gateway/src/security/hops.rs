//! The way that a message came through gateways. Each that passes it on adds itself, so that none passes
//! it on twice and no ring of them goes round for ever.
//!
//! The list comes from whoever sends: a made-up one can only make it longer, one left out begins anew.

use http::{HeaderMap, HeaderName, HeaderValue};
use std::fmt;

use crate::ids;

/// The header that carries the list: names with commas between them.
const HEADER: HeaderName = HeaderName::from_static("x-fleet-hops");
/// Most gateways that a message is passed through: no sensible way is longer, and where one of a ring
/// forgets the others the ring still ends.
const MAX_HOPS: usize = 8;
/// Most bytes of a gateway's name that are kept: ours have 36, and the list goes on in a header.
const MAX_NAME_BYTES: usize = 64;

/// The gateways that a message came through, the first one first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hops(Vec<String>);

/// One agent of one gateway that passes messages on, by a name that nobody else has.
#[derive(Debug)]
pub struct Hop(String);

/// Why a message is not passed on, for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoesInCircles {
    /// It was here before.
    Again,
    /// It has come too far.
    TooFar,
}

impl Hops {
    /// What a request's head tells. What is no text stands for a gateway, too.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Self {
        let lists = headers.get_all(&HEADER).into_iter();
        let names = lists.flat_map(|list| list.to_str().unwrap_or("?").split(','));
        let names = names.map(str::trim).filter(|name| !name.is_empty());
        let names = names.map(|name| name.chars().take(MAX_NAME_BYTES).collect());
        Self(names.take(MAX_HOPS).collect())
    }
}

impl Hop {
    /// A new name.
    #[must_use]
    pub fn new() -> Self {
        Self(ids::new_id())
    }

    /// The head with which a message goes on from here that came by `hops`.
    pub fn passes_on(&self, hops: &Hops) -> Result<(HeaderName, HeaderValue), GoesInCircles> {
        if hops.0.contains(&self.0) {
            return Err(GoesInCircles::Again);
        }
        if hops.0.len() >= MAX_HOPS {
            return Err(GoesInCircles::TooFar);
        }
        let names = hops.0.iter().chain([&self.0]);
        let list = names.map(String::as_str).collect::<Vec<_>>().join(", ");
        let list = HeaderValue::from_str(&list);
        Ok((HEADER, list.expect("names are visible ASCII")))
    }
}

impl fmt::Display for GoesInCircles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Again => f.write_str(
                "This message has come back to an agent that had passed it on: the agents behind the \
                 gateways go round in a circle.",
            ),
            Self::TooFar => write!(
                f,
                "This message has come through {MAX_HOPS} gateways and is passed on no further."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(lists: &[&[u8]]) -> Hops {
        let mut headers = HeaderMap::new();
        for list in lists {
            headers.append(HEADER, HeaderValue::from_bytes(list).unwrap());
        }
        Hops::of(&headers)
    }

    #[test]
    fn a_ring_of_any_length_ends_where_it_began() {
        for length in 1..=MAX_HOPS {
            let ring: Vec<Hop> = (0..length).map(|_| Hop::new()).collect();
            let mut hops = Hops::default();
            for hop in &ring {
                let (_, list) = hop.passes_on(&hops).unwrap();
                hops = through(&[list.as_bytes()]);
            }
            assert_eq!(ring[0].passes_on(&hops), Err(GoesInCircles::Again));
        }
    }

    #[test]
    fn a_list_that_was_tampered_with_only_gets_longer() {
        let hop = Hop::new();
        for list in [
            &b""[..],
            b"-1",
            b"999",
            b" , ,,",
            b"\xff\xfe",
            &[b'x'; 5000],
        ] {
            let (_, onward) = hop.passes_on(&through(&[list])).unwrap();
            let onward = through(&[onward.as_bytes()]);
            assert_eq!(hop.passes_on(&onward), Err(GoesInCircles::Again));
            assert!(onward.0.len() <= 2 && onward.0.iter().all(|it| it.len() <= MAX_NAME_BYTES));
        }
        let (_, own) = hop.passes_on(&Hops::default()).unwrap();
        let doubled = through(&[b"a,b", own.as_bytes(), b"\xff"]);
        assert_eq!(doubled.0.len(), 4);
        assert_eq!(hop.passes_on(&doubled), Err(GoesInCircles::Again));
        let far = ["x"; 1000].join(",");
        assert_eq!(
            hop.passes_on(&through(&[far.as_bytes()])),
            Err(GoesInCircles::TooFar)
        );
    }
}
