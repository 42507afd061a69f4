//! Reads a request's body: whole, bounded in bytes and time, refused early where its length says so.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use std::time::Duration;

/// Why a body is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyRefused {
    /// More bytes than are taken.
    TooLarge,
    /// It did not come in time.
    TooSlow,
    /// The peer broke off, or its framing is wrong.
    Broken,
}

/// The whole body, if it has at most `max` bytes and comes within `limit`.
pub(super) async fn read(
    body: Incoming,
    max: usize,
    limit: Duration,
) -> Result<Bytes, BodyRefused> {
    if body.size_hint().lower() > max as u64 {
        return Err(BodyRefused::TooLarge);
    }
    tokio::time::timeout(limit, collect(body, max))
        .await
        .unwrap_or(Err(BodyRefused::TooSlow))
}

async fn collect(mut body: Incoming, max: usize) -> Result<Bytes, BodyRefused> {
    let mut first = Bytes::new();
    let mut whole: Option<BytesMut> = None;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| BodyRefused::Broken)?.into_data() else {
            continue;
        };
        let length = whole.as_ref().map_or(first.len(), BytesMut::len);
        if length + data.len() > max {
            return Err(BodyRefused::TooLarge);
        }
        match &mut whole {
            Some(whole) => whole.extend_from_slice(&data),
            // Most bodies are one frame, which is taken as it is.
            None if first.is_empty() => first = data,
            None => {
                let mut joined = BytesMut::with_capacity(length + data.len());
                joined.extend_from_slice(&first);
                joined.extend_from_slice(&data);
                whole = Some(joined);
            }
        }
    }
    Ok(whole.map_or(first, BytesMut::freeze))
}
