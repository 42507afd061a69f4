//! Bodies of answers: whole, or made as the stream goes.

use bytes::Bytes;
use futures_core::Stream;
use http::HeaderMap;
use hyper::body::{Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The body of an answer.
pub enum Body {
    /// All of it, or nothing.
    Whole(Option<Bytes>),
    /// Pieces as they come.
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
    /// All of it, then trailers.
    WithTrailers(Option<Bytes>, Option<Box<HeaderMap>>),
    /// Pieces as they come, the last of which may be trailers.
    Frames(Pin<Box<dyn Stream<Item = Frame<Bytes>> + Send>>),
}

impl Body {
    /// No bytes.
    #[must_use]
    pub fn empty() -> Self {
        Self::Whole(None)
    }

    /// These bytes.
    #[must_use]
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Whole(Some(bytes.into()))
    }

    /// The pieces of `stream`, until it ends.
    #[must_use]
    pub fn stream(stream: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self::Stream(Box::pin(stream))
    }

    /// These bytes, then these trailers.
    #[must_use]
    pub fn with_trailers(bytes: Bytes, trailers: HeaderMap) -> Self {
        Self::WithTrailers(Some(bytes), Some(Box::new(trailers)))
    }

    /// The frames of `stream`, until it ends.
    #[must_use]
    pub fn frames(stream: impl Stream<Item = Frame<Bytes>> + Send + 'static) -> Self {
        Self::Frames(Box::pin(stream))
    }

    /// Keeps `guard` until the last piece of a stream is gone; a whole body drops it at once.
    #[must_use]
    pub fn holding<G: Send + Unpin + 'static>(self, guard: G) -> Self {
        match self {
            // Bodies with trailers go over HTTP/2, whose connections keep no guard.
            Self::Whole(_) | Self::WithTrailers(..) | Self::Frames(_) => self,
            Self::Stream(pieces) => Self::stream(Holding {
                pieces,
                _guard: guard,
            }),
        }
    }
}

struct Holding<G> {
    pieces: Pin<Box<dyn Stream<Item = Bytes> + Send>>,
    _guard: G,
}

impl<G: Unpin> Stream for Holding<G> {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.get_mut().pieces.as_mut().poll_next(cx)
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Stream(stream) => stream
                .as_mut()
                .poll_next(cx)
                .map(|piece| piece.map(|piece| Ok(Frame::data(piece)))),
            Self::WithTrailers(bytes, trailers) => {
                let data = bytes.take().map(Frame::data);
                let end = || trailers.take().map(|trailers| Frame::trailers(*trailers));
                Poll::Ready(data.or_else(end).map(Ok))
            }
            Self::Frames(stream) => stream.as_mut().poll_next(cx).map(|frame| frame.map(Ok)),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None) | Self::WithTrailers(None, None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Self::Stream(_) | Self::WithTrailers(..) | Self::Frames(_) => SizeHint::default(),
        }
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Whole(_) => "Body::Whole",
            Self::Stream(_) => "Body::Stream",
            Self::WithTrailers(..) => "Body::WithTrailers",
            Self::Frames(_) => "Body::Frames",
        })
    }
}
