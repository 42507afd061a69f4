//! What holds for HTTP whatever the operation: heads, hosts, types, sizes, time.

use serde_json::json;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::rig::{ECHO, LIMIT, Rig, Store, message};

/// Sends raw bytes and reads until the peer closes.
async fn raw(rig: &Rig, bytes: &[u8]) -> String {
    let mut socket = TcpStream::connect(rig.base.strip_prefix("http://").unwrap())
        .await
        .unwrap();
    socket.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    tokio::time::timeout(LIMIT, socket.read_to_end(&mut answer))
        .await
        .expect("closes")
        .ok();
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

#[tokio::test]
async fn ambiguous_heads_are_refused() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let head = |lines: &str| {
        format!("POST / HTTP/1.1\r\nConnection: close\r\n{lines}Content-Length: 2\r\n\r\n{{}}")
    };
    for (lines, expected) in [
        ("", "400"),
        ("Host: localhost\r\nHost: localhost\r\n", "400"),
        (
            "Host: localhost\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n",
            "400",
        ),
        (
            "Host: localhost\r\nA2A-Version: 1.0\r\nA2A-Version: 0.3\r\n",
            "400",
        ),
        (
            "Host: localhost\r\nContent-Type: a/b\r\nContent-Type: application/json\r\n",
            "400",
        ),
        ("Host: evil.example\r\n", "403"),
        ("Host: localhost\r\nOrigin: https://evil.example\r\n", "403"),
        ("Host: localhost\r\nOrigin: null\r\n", "403"),
        ("Host: localhost\r\nContent-Type: text/plain\r\n", "415"),
        ("Host: localhost\r\n", "415"),
        (
            "Host: localhost\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n",
            "415",
        ),
        (
            "Host: localhost\r\nContent-Type: application/json\r\nOrigin: http://localhost:3000\r\n",
            "200",
        ),
    ] {
        let answer = raw(&rig, head(lines).as_bytes()).await;
        assert_eq!(status(&answer), expected, "{lines:?} {answer}");
    }
    let absolute = "POST http://evil.example/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(status(&raw(&rig, absolute.as_bytes()).await), "400");
}

#[tokio::test]
async fn a_wrong_type_is_told_as_json_rpc_too() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let answer = rig
        .post("/", &[("content-type", "text/plain")], "hello")
        .await;
    assert_eq!(
        (answer.status, answer.json["error"]["code"].as_i64()),
        (415, Some(-32005))
    );
}

#[tokio::test]
async fn bodies_are_bounded_early() {
    let rig = Rig::start(
        Store::Memory,
        &format!("{ECHO}[server]\nmax_body_bytes = 4096\nbody_timeout = \"300ms\"\n"),
    )
    .await;
    let declared = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1073741824\r\n\r\n";
    assert_eq!(status(&raw(&rig, declared.as_bytes()).await), "413");
    let mut chunked = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    chunked.extend_from_slice(format!("2000\r\n{}\r\n", "x".repeat(0x2000)).as_bytes());
    assert_eq!(status(&raw(&rig, &chunked).await), "413");
    let stalled = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 10\r\n\r\n{";
    assert_eq!(status(&raw(&rig, stalled.as_bytes()).await), "408");
    assert_eq!(
        rig.send("fits").await["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
}

#[tokio::test]
async fn a_file_of_nine_mebibytes_passes() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let mut params = message("");
    params["message"]["parts"] =
        json!([{"raw": "QUJD".repeat(9 * 1024 * 1024 / 4), "filename": "big.bin"}]);
    let answer = rig.call("SendMessage", params).await;
    assert_eq!(
        answer["result"]["task"]["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
}

#[tokio::test]
async fn slow_and_silent_peers_lose_their_connection() {
    let rig = Rig::start(
        Store::Memory,
        &format!("{ECHO}[server]\nheader_timeout = \"200ms\"\nidle_timeout = \"400ms\"\n"),
    )
    .await;
    assert_eq!(raw(&rig, b"").await, "");
    assert_eq!(
        status(&raw(&rig, b"POST / HTTP/1.1\r\nHost: loc").await),
        "408"
    );
    let served = raw(&rig, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!(status(&served), "200");
}

#[tokio::test]
async fn many_half_sent_heads_delay_nobody() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let mut held = Vec::new();
    for _ in 0..200 {
        let mut socket = TcpStream::connect(rig.base.strip_prefix("http://").unwrap())
            .await
            .unwrap();
        socket.write_all(b"POST / HT").await.unwrap();
        held.push(socket);
    }
    let good = tokio::time::timeout(Duration::from_secs(1), rig.send("x")).await;
    assert_eq!(
        good.expect("in time")["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
}

#[tokio::test]
async fn paths_and_methods_are_exact() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    assert_eq!(rig.get("/", &[]).await.status, 405);
    assert_eq!(rig.get("/", &[]).await.header("allow"), "POST");
    assert_eq!(rig.get("/nothing", &[]).await.status, 404);
    assert_eq!(rig.get("/health", &[]).await.json["status"], "ok");
    let head = http::Request::head(format!("{}/.well-known/agent-card.json", rig.base));
    let answer = rig
        .request(head.body(http_body_util::Full::default()).unwrap())
        .await;
    assert_eq!(answer.status(), 200);
    assert!(
        answer.headers()["content-length"]
            .to_str()
            .unwrap()
            .parse::<usize>()
            .unwrap()
            > 100
    );
}
