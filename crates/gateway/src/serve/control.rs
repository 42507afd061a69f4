//! The operator's door: HTTP over a Unix socket in the data directory, mode 0600.
//!
//! Who can open the socket is the operator: A2A is served here too, over all owners' tasks, and what
//! stands under `/admin` (see [`super::admin`]) is served nowhere else.

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::admin::ControlDesk;

/// Name of the socket in the data directory.
pub const SOCKET_NAME: &str = "nuncio.sock";

/// The socket, removed when dropped.
#[derive(Debug)]
pub struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl ControlSocket {
    /// Takes the socket's place. A socket that nobody answers at is a dead gateway's and is
    /// replaced; one that answers means that another gateway has this data directory.
    pub fn bind(data_dir: &Path) -> io::Result<Self> {
        let path = data_dir.join(SOCKET_NAME);
        if std::os::unix::net::UnixStream::connect(&path).is_ok() {
            let text =
                "another gateway runs there; stop it, or set NUNCIO_HOME to another directory";
            return Err(io::Error::new(io::ErrorKind::AddrInUse, text));
        }
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, path })
    }

    /// Serves until `stopping` fires.
    pub async fn serve(
        self,
        desk: Arc<ControlDesk>,
        connections: TaskTracker,
        stopping: CancellationToken,
    ) {
        loop {
            let accepted = tokio::select! {
                () = stopping.cancelled() => return,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((socket, _)) => {
                    let (desk, stopping) = (desk.clone(), stopping.clone());
                    connections.spawn(serve_one(socket, desk, stopping));
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept on the control socket for a moment");
                    tokio::time::sleep(super::limits::ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // If it cannot be removed the next start does it.
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn serve_one(socket: UnixStream, desk: Arc<ControlDesk>, stopping: CancellationToken) {
    let answer = service_fn(move |request: Request<Incoming>| {
        let desk = desk.clone();
        async move { Ok::<_, Infallible>(desk.answer(request).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(socket), answer);
    tokio::select! {
        served = connection => {
            if let Err(error) = served {
                tracing::debug!(%error, "control connection closed");
            }
        }
        () = stopping.cancelled() => {}
    }
}
