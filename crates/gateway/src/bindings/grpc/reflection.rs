//! gRPC's reflection service: one answer per question for as long as the caller asks.

use bytes::Bytes;
use futures_util::stream::unfold;
use http_body_util::BodyExt as _;
use hyper::body::{Frame, Incoming};
use nuncio_wire::StatusTable;
use nuncio_wire::bindings::grpc::{FrameReader, GrpcStatus, code, frame, reflection};
use std::sync::Arc;
use std::time::Duration;

use super::health::MAX_QUESTION_BYTES;
use super::{outcome, services};
use crate::operations::Operations;
use crate::serve::{Body, HttpResponse};

/// Answers `ServerReflectionInfo`; a caller may pause for `patience` between two questions.
#[must_use]
pub fn reflect(operations: &Arc<Operations>, body: Incoming, patience: Duration) -> HttpResponse {
    let conversation = Conversation {
        services: services(operations),
        body,
        reader: FrameReader::new(MAX_QUESTION_BYTES),
        patience,
        over: false,
    };
    let frames = unfold(conversation, |mut conversation| async move {
        let frame = conversation.next().await?;
        Some((frame, conversation))
    });
    outcome::with_body(Body::frames(frames))
}

struct Conversation {
    services: Vec<&'static str>,
    body: Incoming,
    reader: FrameReader,
    patience: Duration,
    over: bool,
}

impl Conversation {
    async fn next(&mut self) -> Option<Frame<Bytes>> {
        if self.over {
            return None;
        }
        let outcome = match self.question().await {
            Ok(Some(question)) => reflection::answer(&question, &self.services)
                .map_err(|error| GrpcStatus::of_error(&error, StatusTable::default())),
            Ok(None) => Err(GrpcStatus::ok()),
            Err(status) => Err(status),
        };
        Some(match outcome {
            Ok(answer) => Frame::data(frame(&answer)),
            Err(status) => {
                self.over = true;
                Frame::trailers(outcome::trailers(&status))
            }
        })
    }

    /// The next question; `None` when there are no more.
    async fn question(&mut self) -> Result<Option<Bytes>, GrpcStatus> {
        loop {
            if let Some(message) = self.reader.next_message().map_err(outcome::not_a_frame)? {
                return Ok(Some(message));
            }
            let frame = tokio::time::timeout(self.patience, self.body.frame()).await;
            let frame = frame.map_err(|_| {
                let text = "No question came for a while; call again.";
                GrpcStatus::new(code::DEADLINE_EXCEEDED, text)
            })?;
            match frame {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        self.reader.feed(data);
                    }
                }
                Some(Err(_)) => {
                    return Err(GrpcStatus::new(code::CANCELLED, "The caller broke off."));
                }
            }
        }
    }
}
