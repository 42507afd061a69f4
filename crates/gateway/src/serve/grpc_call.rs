//! Calls over gRPC on their way to their binding: the body is one message, or a conversation.

use bytes::Bytes;
use http::request::Parts;
use http::{StatusCode, Version};
use hyper::body::Incoming;
use nuncio_wire::bindings::grpc::{FRAME_HEAD_BYTES, GrpcStatus, code};
use nuncio_wire::dialects::protobuf::Package;
use nuncio_wire::{A2aError, Dialect, ErrorKind, Method, StatusTable};

use super::HttpResponse;
use super::read_body::{self, BodyRefused};
use super::service::{Head, Service, explain};
use crate::bindings::{answer, grpc};

impl Service {
    /// One operation over gRPC.
    pub(super) async fn serve_call(
        &self,
        head: &Head<'_>,
        operation: (Package, Method),
        body: Incoming,
    ) -> HttpResponse {
        let desk = grpc::Desk {
            operations: &self.operations,
            cards: &self.cards,
        };
        match self.read_message(body).await {
            Ok(body) => grpc::serve(desk, head, operation, body).await,
            Err(refused) => refused,
        }
    }

    /// Calls over gRPC that say nothing of agents and tasks.
    pub(super) async fn serve_public_call(
        &self,
        target: grpc::Target,
        body: Incoming,
    ) -> HttpResponse {
        if target == grpc::Target::Reflection {
            let patience = self.settings().body_timeout.get();
            return grpc::reflect(&self.operations, body, patience);
        }
        if !matches!(
            target,
            grpc::Target::HealthCheck | grpc::Target::HealthWatch
        ) {
            let text = "There is no such method; reflection lists what there is.";
            let error = A2aError::new(ErrorKind::MethodNotFound, text);
            return grpc::refusal(&error, StatusTable::default(), target.dialect());
        }
        match self.read_message(body).await {
            Ok(body) if target == grpc::Target::HealthCheck => grpc::check(&self.operations, body),
            Ok(body) => grpc::watch(&self.operations, body),
            Err(refused) => refused,
        }
    }

    /// The body of a call of one message.
    async fn read_message(&self, body: Incoming) -> Result<Bytes, HttpResponse> {
        let settings = self.settings();
        let max = settings.max_body_bytes + FRAME_HEAD_BYTES;
        let read = read_body::read(body, max, settings.body_timeout.get()).await;
        read.map_err(|refused| match refused {
            // gRPC's libraries all know this one.
            BodyRefused::TooLarge => grpc::refused(&GrpcStatus::new(
                code::RESOURCE_EXHAUSTED,
                explain(refused).1.message,
            )),
            BodyRefused::TooSlow | BodyRefused::Broken => {
                let table = self.operations.config().compat.statuses;
                grpc::refusal(&explain(refused).1, table.into(), Dialect::V1)
            }
        })
    }
}

/// Trailers are what gRPC cannot do without.
pub(super) fn is_grpc(parts: &Parts) -> bool {
    parts.version == Version::HTTP_2 && grpc::is_call(&parts.headers)
}

pub(super) fn not_grpc() -> HttpResponse {
    let text = "this path takes gRPC calls: HTTP/2 with Content-Type application/grpc";
    answer::refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, text)
}
