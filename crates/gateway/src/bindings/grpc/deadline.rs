//! How long a caller waits: `grpc-timeout`. It ends the wait and never the task.

use http::HeaderMap;
use nuncio_wire::A2aError;
use nuncio_wire::bindings::grpc::{GrpcStatus, code, read_timeout};
use std::pin::Pin;
use std::time::Duration;
use tokio::time::Instant;

/// The latest deadline that is kept: ten years are as good as none.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3_600);

/// When a call must have ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline(Option<Instant>);

impl Deadline {
    /// The deadline in a call's metadata, counted from now.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, A2aError> {
        let Some(value) = headers.get("grpc-timeout") else {
            return Ok(Self(None));
        };
        let time = value.to_str().ok().and_then(read_timeout).ok_or_else(|| {
            let text = "must be up to eight digits and one of H, M, S, m, u, n";
            A2aError::invalid_field("grpc-timeout", text)
        })?;
        Ok(Self(Some(Instant::now() + time.min(LONGEST))))
    }

    /// The output of `work`, or the status of a call whose time is over. Work is large, so it stays
    /// where it is.
    pub(super) async fn wait<T>(
        self,
        work: Pin<&mut impl Future<Output = T>>,
    ) -> Result<T, GrpcStatus> {
        let Some(deadline) = self.0 else {
            return Ok(work.await);
        };
        let over = |_| {
            let text = "The deadline of the call is over; the task goes on: read it with GetTask.";
            GrpcStatus::new(code::DEADLINE_EXCEEDED, text)
        };
        tokio::time::timeout_at(deadline, work).await.map_err(over)
    }
}
