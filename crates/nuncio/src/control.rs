//! Asks the running gateway over the Unix socket in the data directory.
//!
//! HTTP/1.1 over the socket `nuncio.sock`. Whoever can open the socket is the operator; the file
//! is for its owner only.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use nuncio_gateway::SOCKET_NAME;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

/// The gateway answers from memory: who needs longer hangs.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// 16 MiB, in bytes: thousands of agents.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// Fetches `path` from the gateway that runs with this data directory.
///
/// # Errors
///
/// A text that says what to do when no gateway runs or it does not answer.
pub(crate) async fn get<T: DeserializeOwned>(home: &Path, path: &str) -> Result<T, String> {
    let socket = home.join(SOCKET_NAME);
    match tokio::time::timeout(TIME_LIMIT, ask(socket.clone(), path)).await {
        Ok(answer) => answer,
        Err(_) => Err(format!(
            "the gateway at {} does not answer",
            socket.display()
        )),
    }
}

async fn ask<T: DeserializeOwned>(socket: PathBuf, path: &str) -> Result<T, String> {
    let stream = UnixStream::connect(&socket)
        .await
        .map_err(|error| unreachable(&socket, &error))?;
    let broken = |error: &dyn std::error::Error| {
        format!(
            "the gateway at {} gave no proper answer: {error}",
            socket.display()
        )
    };
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|e| broken(&e))?;
    let request = hyper::Request::get(path)
        .header(hyper::header::HOST, "localhost")
        .body(Empty::<Bytes>::new())
        .map_err(|error| broken(&error))?;
    // The connection is driven while the answer is awaited, and dropped with it.
    let answer = async {
        let response = sender
            .send_request(request)
            .await
            .map_err(|error| broken(&error))?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES)
            .collect()
            .await;
        let body = body.map_err(|error| broken(error.as_ref()))?.to_bytes();
        if !status.is_success() {
            return Err(format!(
                "the gateway at {} answers {status}",
                socket.display()
            ));
        }
        serde_json::from_slice(&body).map_err(|error| broken(&error))
    };
    tokio::pin!(answer);
    tokio::select! {
        answer = &mut answer => answer,
        ended = connection => match ended {
            Ok(()) => answer.await,
            Err(error) => Err(broken(&error)),
        },
    }
}

fn unreachable(socket: &Path, error: &std::io::Error) -> String {
    let shown = socket.parent().unwrap_or(socket).display();
    match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused => format!(
            "no gateway runs with the data directory {shown}: start one with `nuncio serve`, or \
             name its directory with --home"
        ),
        std::io::ErrorKind::PermissionDenied => {
            format!("the gateway in {shown} belongs to another user: ask as that user")
        }
        _ => format!("cannot reach the gateway in {shown}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::UnixListener;

    /// A gateway that answers one request with `response` and hands back what it was asked.
    async fn asked(response: &'static str) -> (Result<Value, String>, String) {
        let home = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(home.path().join(SOCKET_NAME)).unwrap();
        let gateway = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = vec![0; 4096];
            let length = stream.read(&mut asked).await.unwrap();
            stream.write_all(response.as_bytes()).await.unwrap();
            String::from_utf8(asked[..length].to_vec()).unwrap()
        };
        tokio::join!(get(home.path(), "/admin/agents"), gateway)
    }

    #[tokio::test]
    async fn reads_the_answer() {
        let (answer, asked) =
            asked("HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n{\"agents\":[]}").await;
        assert!(
            asked.starts_with("GET /admin/agents HTTP/1.1\r\n"),
            "{asked}"
        );
        assert_eq!(answer.unwrap(), serde_json::json!({ "agents": [] }));
    }

    #[tokio::test]
    async fn a_bad_answer_is_an_error() {
        let (answer, _) = asked("HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n").await;
        assert!(answer.unwrap_err().contains("answers 500"));
        let (answer, _) = asked("HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{}").await;
        assert!(answer.unwrap_err().contains("no proper answer"));
        let (answer, _) = asked("nonsense\r\n\r\n").await;
        assert!(answer.unwrap_err().contains("no proper answer"));
    }

    #[tokio::test]
    async fn no_gateway_is_said() {
        let home = tempfile::tempdir().unwrap();
        let error = get::<Value>(home.path(), "/admin/agents")
            .await
            .unwrap_err();
        assert!(error.contains("nuncio serve"), "{error}");
        drop(UnixListener::bind(home.path().join(SOCKET_NAME)).unwrap());
        let error = get::<Value>(home.path(), "/admin/agents")
            .await
            .unwrap_err();
        assert!(error.contains("nuncio serve"), "{error}");
    }
}
