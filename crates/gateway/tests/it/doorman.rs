//! Stands at an address of its own before a gateway, which may move from one port to another, and shows
//! a card of 2025-04 in its place where that is wanted.

use parking_lot::Mutex;
use serde_json::json;
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// The address, and the gateway behind it.
pub struct Doorman {
    pub base: String,
    behind: Arc<Mutex<String>>,
    accepting: AbortHandle,
}

impl Doorman {
    /// Before a gateway that is still to be named. A card of 2025-04 says that the dialect is spoken at
    /// `legacy`.
    pub async fn open(legacy: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = format!("http://{}", listener.local_addr().unwrap());
        let behind = Arc::new(Mutex::new(String::new()));
        let (at, target) = (own.clone(), behind.clone());
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let card = legacy.map(|path| legacy_card(&format!("{at}{path}")));
                tokio::spawn(serve(stream, target.lock().clone(), card));
            }
        });
        Self {
            base: own,
            behind,
            accepting: accepting.abort_handle(),
        }
    }

    /// The gateway is at `base` now.
    pub fn moved_to(&self, base: &str) {
        base.clone_into(&mut self.behind.lock());
    }
}

impl Drop for Doorman {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Shows the card to who asks for it, else joins the two ends.
async fn serve(mut caller: TcpStream, behind: String, card: Option<String>) {
    let address = behind.trim_start_matches("http://");
    let mut first = vec![0; 16 * 1024];
    let Ok(read) = caller.read(&mut first).await else {
        return;
    };
    if let Some(card) = card.filter(|_| first.starts_with(b"GET /.well-known/")) {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
        let length = card.len();
        let answer = format!("{head}\r\ncontent-length: {length}\r\n\r\n{card}");
        drop(caller.write_all(answer.as_bytes()).await);
        return;
    }
    // A gateway that is gone closes the connection.
    if let Ok(mut gateway) = TcpStream::connect(address).await
        && gateway.write_all(&first[..read]).await.is_ok()
    {
        drop(copy_bidirectional(&mut caller, &mut gateway).await);
    }
}

fn legacy_card(url: &str) -> String {
    let skill = json!({"id": "s", "name": "s", "description": "d", "tags": []});
    json!({"name": "old", "description": "d", "url": url, "version": "2.0.0", "skills": [skill],
        "capabilities": {"streaming": false, "pushNotifications": false, "stateTransitionHistory": false},
        "defaultInputModes": ["text"], "defaultOutputModes": ["text"]})
    .to_string()
}
