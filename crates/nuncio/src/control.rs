//! Asks the running gateway over the Unix socket in the data directory.
//!
//! HTTP/1.1 over the socket `nuncio.sock`. Whoever can open the socket is the operator; the file
//! is for its owner only.

use std::path::Path;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::Method;
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use nuncio_gateway::SOCKET_NAME;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

/// The gateway answers from memory: who needs longer hangs.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// 16 MiB, in bytes: thousands of agents.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// Why the gateway gave no answer.
#[derive(Debug)]
pub(crate) enum ControlError {
    /// No gateway runs with this data directory; the text says what to do.
    NoGateway(String),
    /// It refused, or could not be understood.
    Failed(String),
}

impl ControlError {
    /// What to tell the user.
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::NoGateway(text) | Self::Failed(text) => text,
        }
    }
}

/// Fetches `path` from the gateway that runs with this data directory.
///
/// # Errors
///
/// When no gateway runs or it does not answer.
pub(crate) async fn get<T: DeserializeOwned>(home: &Path, path: &str) -> Result<T, ControlError> {
    within(TIME_LIMIT, home, ask(home, Method::GET, path, Vec::new())).await
}

/// Asks the gateway that runs with this data directory to do something, which may take `limit`.
///
/// # Errors
///
/// When no gateway runs, or it refuses or does not answer in time.
pub(crate) async fn post<T: DeserializeOwned>(
    home: &Path,
    path: &str,
    limit: Duration,
) -> Result<T, ControlError> {
    within(limit, home, ask(home, Method::POST, path, Vec::new())).await
}

/// The same with a JSON body: A2A is served at the socket, too.
///
/// # Errors
///
/// When no gateway runs, or it refuses or does not answer in time.
pub(crate) async fn post_json<T: DeserializeOwned>(
    home: &Path,
    path: &str,
    body: Vec<u8>,
    limit: Duration,
) -> Result<T, ControlError> {
    within(limit, home, ask(home, Method::POST, path, body)).await
}

async fn within<T>(
    limit: Duration,
    home: &Path,
    asked: impl Future<Output = Result<T, ControlError>>,
) -> Result<T, ControlError> {
    tokio::time::timeout(limit, asked)
        .await
        .unwrap_or_else(|_| {
            let socket = home.join(SOCKET_NAME);
            let text = format!("the gateway at {} does not answer", socket.display());
            Err(ControlError::Failed(text))
        })
}

async fn ask<T: DeserializeOwned>(
    home: &Path,
    method: Method,
    path: &str,
    body: Vec<u8>,
) -> Result<T, ControlError> {
    let socket = home.join(SOCKET_NAME);
    let stream = UnixStream::connect(&socket)
        .await
        .map_err(|error| unreachable(&socket, &error))?;
    let broken = |error: &dyn std::error::Error| {
        ControlError::Failed(format!(
            "the gateway at {} gave no proper answer: {error}",
            socket.display()
        ))
    };
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|e| broken(&e))?;
    let request = hyper::Request::builder()
        .method(method)
        .uri(path)
        .header(hyper::header::HOST, "localhost")
        .header(hyper::header::CONTENT_TYPE, "application/json")
        .body(Full::<Bytes>::from(body))
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
            return Err(ControlError::Failed(refusal(&body).unwrap_or_else(|| {
                format!("the gateway at {} answers {status}", socket.display())
            })));
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

/// What the gateway says of its refusal.
fn refusal(body: &[u8]) -> Option<String> {
    let answer: serde_json::Value = serde_json::from_slice(body).ok()?;
    Some(answer.get("error")?.as_str()?.to_owned())
}

fn unreachable(socket: &Path, error: &std::io::Error) -> ControlError {
    let shown = socket.parent().unwrap_or(socket).display();
    match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused => {
            ControlError::NoGateway(format!(
                "no gateway runs with the data directory {shown}: start one with `nuncio serve`, \
                 or name its directory with --home"
            ))
        }
        std::io::ErrorKind::PermissionDenied => ControlError::Failed(format!(
            "the gateway in {shown} belongs to another user: ask as that user"
        )),
        _ => ControlError::Failed(format!("cannot reach the gateway in {shown}: {error}")),
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
        let (answer, asked) = tokio::join!(get(home.path(), "/admin/agents"), gateway);
        (answer.map_err(ControlError::into_text), asked)
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
        let refused = "HTTP/1.1 404 No\r\ncontent-length: 18\r\n\r\n{\"error\":\"no `x`\"}";
        assert_eq!(asked(refused).await.0.unwrap_err(), "no `x`");
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
        assert!(matches!(error, ControlError::NoGateway(_)));
        assert!(error.into_text().contains("nuncio serve"));
        drop(UnixListener::bind(home.path().join(SOCKET_NAME)).unwrap());
        let error = get::<Value>(home.path(), "/admin/agents")
            .await
            .unwrap_err();
        assert!(matches!(error, ControlError::NoGateway(_)));
        assert!(error.into_text().contains("nuncio serve"));
    }
}
