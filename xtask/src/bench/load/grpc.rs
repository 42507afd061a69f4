//! `SendMessage` over gRPC: one call at a time on each connection, its message made once.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::rt::Executor;
use hyper_util::rt::TokioIo;
use nuncio_wire::bindings::grpc;
use nuncio_wire::dialects::protobuf::Package;
use nuncio_wire::operation::SendMessageRequest;
use nuncio_wire::{Message, Method, Part, Role};

use super::request::{ID_PLACE, TEXT, write_id};
use super::{Shared, connect};

/// Runs what a connection needs on the thread of the generator.
#[derive(Clone, Copy)]
struct SameThread;

impl<F: Future + 'static> Executor<F> for SameThread {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(async move {
            future.await;
        });
    }
}

/// A call whose message's id is written over before each sending.
#[derive(Clone)]
struct Call {
    frame: Vec<u8>,
    id_at: usize,
    uri: String,
}

impl Call {
    fn new(address: SocketAddr) -> Result<Self> {
        let message = Message::new(ID_PLACE, Role::User, vec![Part::text(TEXT)]);
        let request = nuncio_wire::Request::SendMessage(SendMessageRequest::new(message));
        let message = Package::V1.write_request(request);
        let frame = grpc::frame(&message.context("the request has no protobuf form")?).to_vec();
        let place = ID_PLACE.as_bytes();
        let id_at = frame.windows(place.len()).position(|it| it == place);
        let path = grpc::path(Package::V1, Method::SendMessage).context("no such call")?;
        Ok(Self {
            frame,
            id_at: id_at.context("the id is not in the frame")?,
            uri: format!("http://{address}{path}"),
        })
    }

    fn with_id(&mut self, id: u64) -> Result<Request<Full<Bytes>>> {
        write_id(&mut self.frame[self.id_at..], id);
        let body = Full::new(Bytes::copy_from_slice(&self.frame));
        let request = Request::post(&self.uri)
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("a2a-version", "1.0");
        Ok(request.body(body)?)
    }
}

/// Calls until the run is over.
pub(super) async fn ask_again_and_again(address: SocketAddr, shared: Rc<Shared>) -> Result<()> {
    let stream = TokioIo::new(connect(address).await?);
    let (mut sender, connection) = http2::handshake(SameThread, stream).await?;
    let driving = tokio::task::spawn_local(connection);
    let mut call = Call::new(address)?;
    while let Some(id) = shared.begin() {
        let request = call.with_id(id)?;
        let sent = Instant::now();
        answer(&mut sender, request).await?;
        if shared.measuring.get() {
            shared.record(sent.elapsed(), sent.elapsed(), 0);
        }
    }
    driving.abort();
    Ok(())
}

async fn answer(
    sender: &mut SendRequest<Full<Bytes>>,
    request: Request<Full<Bytes>>,
) -> Result<()> {
    sender.ready().await?;
    let (head, body) = sender.send_request(request).await?.into_parts();
    let body = body.collect().await?;
    let status = |headers: &hyper::HeaderMap| headers.get("grpc-status").cloned();
    let status = body
        .trailers()
        .and_then(status)
        .or_else(|| status(&head.headers));
    if status.as_ref().is_none_or(|status| status != "0") {
        bail!("the server answered a call with status {status:?}");
    }
    Ok(())
}
