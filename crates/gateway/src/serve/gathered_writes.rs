//! Writes of an HTTP/2 connection, gathered: what one turn of the connection has to say goes to the
//! socket in one call.
//!
//! Without it an answer of headers, message and trailers is two calls and two packets, as each data
//! frame is flushed before the next frame is made.

use bytes::{Buf as _, BytesMut};
use parking_lot::Mutex;
use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::socket_guard::Socket;

/// As much is gathered, in bytes, before it is written: one record of TLS (RFC 8446 section 5.1).
const MAX_GATHERED: usize = 16 * 1024;

/// A socket that keeps what is written until [`GatheredWrites::poll`] ends a turn. Its clones are
/// the same socket: one for the connection, one for whoever polls it.
pub(super) struct GatheredWrites<S>(Arc<Mutex<Gathered<S>>>);

struct Gathered<S> {
    socket: S,
    waiting: BytesMut,
}

impl<S: Socket> GatheredWrites<S> {
    pub(super) fn new(socket: S) -> Self {
        let waiting = BytesMut::new();
        Self(Arc::new(Mutex::new(Gathered { socket, waiting })))
    }

    /// One turn of `connection`, which writes to a clone of this, and then the writing itself.
    pub(super) fn poll<E: Into<Box<dyn Error + Send + Sync>>>(
        &self,
        connection: Pin<&mut impl Future<Output = Result<(), E>>>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Box<dyn Error + Send + Sync>>> {
        let served = connection.poll(cx).map_err(Into::into);
        // A connection that is over has shut its socket down, which wrote the rest.
        if served.is_pending()
            && let Poll::Ready(Err(error)) = self.0.lock().poll_write_out(cx)
        {
            return Poll::Ready(Err(error.into()));
        }
        served
    }
}

impl<S> Clone for GatheredWrites<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: Socket> Gathered<S> {
    fn poll_write_out(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut socket = Pin::new(&mut self.socket);
        while !self.waiting.is_empty() {
            let written = ready!(socket.as_mut().poll_write(cx, &self.waiting))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.waiting.advance(written);
        }
        socket.poll_flush(cx)
    }
}

impl<S: Socket> AsyncRead for GatheredWrites<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0.lock().socket).poll_read(cx, buf)
    }
}

impl<S: Socket> AsyncWrite for GatheredWrites<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut gathered = self.0.lock();
        if gathered.waiting.len() >= MAX_GATHERED {
            ready!(gathered.poll_write_out(cx))?;
        }
        let taken = bytes.len().min(MAX_GATHERED - gathered.waiting.len());
        gathered.waiting.extend_from_slice(&bytes[..taken]);
        Poll::Ready(Ok(taken))
    }

    /// The end of the turn does it.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut gathered = self.0.lock();
        ready!(gathered.poll_write_out(cx))?;
        Pin::new(&mut gathered.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::pin::pin;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn what_a_turn_writes_is_read_in_one_piece_and_nothing_is_lost() {
        let (socket, mut peer) = tokio::io::duplex(1024);
        let gathered = GatheredWrites::new(socket);
        let (mut writer, (go, went)) = (gathered.clone(), tokio::sync::oneshot::channel());
        let long = vec![7; 3 * MAX_GATHERED];
        let sent = long.clone();
        let connection = async move {
            for piece in [b"head".as_slice(), b"data", b"trailers"] {
                writer.write_all(piece).await?;
                writer.flush().await?;
            }
            let _ = went.await;
            writer.write_all(&sent).await?;
            writer.shutdown().await
        };
        let serving = async {
            let mut connection = pin!(connection);
            poll_fn(|cx| gathered.poll(connection.as_mut(), cx)).await
        };
        let reading = async {
            let mut piece = [0; 64];
            let length = peer.read(&mut piece).await.unwrap();
            assert_eq!(&piece[..length], b"headdatatrailers");
            go.send(()).unwrap();
            let mut rest = Vec::new();
            peer.read_to_end(&mut rest).await.unwrap();
            assert!(rest == long);
        };
        let (served, ()) = tokio::join!(serving, reading);
        served.unwrap();
    }

    #[tokio::test]
    async fn a_socket_that_takes_nothing_holds_the_writer_back() {
        let (socket, mut peer) = tokio::io::duplex(16);
        let gathered = GatheredWrites::new(socket);
        let mut writer = gathered.clone();
        let endless = async move {
            loop {
                writer.write_all(&[1; 1024]).await?;
            }
            #[allow(unreachable_code)]
            io::Result::Ok(())
        };
        let mut endless = pin!(endless);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        for _ in 0..10 {
            assert!(gathered.poll(endless.as_mut(), &mut cx).is_pending());
        }
        // What went out in the first turn made room that the second one has filled.
        assert_eq!(gathered.0.lock().waiting.len(), MAX_GATHERED);
        drop(peer.read(&mut [0; 16]).await);
        drop(peer);
        assert!(matches!(
            gathered.poll(endless.as_mut(), &mut cx),
            Poll::Ready(Err(_))
        ));
    }
}
