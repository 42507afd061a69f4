//! The doctor finds what is wrong before a caller does.

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};

use crate::program::Place;

#[test]
fn everything_is_looked_at_and_what_is_wrong_has_a_remedy() {
    let place = Place::new();
    place.script("good.sh", "cat");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    let old = slow_clock();
    place.write(
        "nuncio.toml",
        &format!(
            "[server]\nlisten = [\"{address}\"]\n\
             [agents.good]\nbackend = \"command\"\ncommand = [\"./good.sh\"]\n\
             [agents.model]\nbackend = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\n\
             [agents.gone]\nbackend = \"acp\"\ncommand = [\"no-such-agent\"]\n\
             [peers.away]\nurl = \"http://127.0.0.1:1\"\n\
             [peers.old]\nurl = \"http://{old}\"\n"
        ),
    );
    let ended = place.run(&["doctor", "-o", "json"]);
    assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
    let told: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let find = |what: &str| {
        let findings = told["findings"].as_array().expect("a list");
        let found = findings.iter().find(|it| it["what"] == what);
        found.unwrap_or_else(|| panic!("{what}: {told}")).clone()
    };
    for (what, verdict, text) in [
        (format!("address {address}"), "bad", "choose another"),
        ("store".to_owned(), "good", "can be used"),
        ("agent good".to_owned(), "good", "can be started"),
        ("agent model".to_owned(), "bad", "connection refused"),
        ("agent gone".to_owned(), "bad", "install it"),
        ("peer away".to_owned(), "odd", "127.0.0.1:1"),
        ("clock".to_owned(), "bad", "ahead of"),
    ] {
        let found = find(&what);
        assert_eq!(found["verdict"], verdict, "{found}");
        assert!(
            found["found"].as_str().expect("a text").contains(text),
            "{found}"
        );
    }
}

/// A server that takes it to be 2001.
fn slow_clock() -> SocketAddr {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = server.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in server.incoming().flatten() {
            let mut head = BufReader::new(&stream).lines();
            while head
                .next()
                .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
            {}
            let answer = "HTTP/1.1 404 Not Found\r\ndate: Mon, 01 Jan 2001 00:00:00 GMT\r\n\
                          content-length: 0\r\nconnection: close\r\n\r\n";
            // Whoever asked may have gone.
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

#[test]
fn a_gateway_that_runs_is_left_alone() {
    let place = Place::new();
    let served = place.serve(&[]);
    let told = place.run(&["doctor"]).expect_success();
    assert!(told.contains("ok   gateway: a gateway runs"), "{told}");
    assert!(told.ends_with("Nothing is wrong.\n"), "{told}");
    drop(served);
}
