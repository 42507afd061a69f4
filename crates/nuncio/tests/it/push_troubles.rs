//! The operator's commands for webhooks that do not work.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;

use serde_json::Value;

use crate::program::Place;

const CONFIG: &str = "[agents.echo]\nbackend = \"echo\"\n\
    [security]\npush_allow_addresses = [\"127.0.0.1\"]\n\
    [push]\nretry_delays = [\"5ms\"]\n";

/// Answers one request after the other with these statuses, then with 200; tells each webhook-id.
fn receive(listener: TcpListener, statuses: &'static [u16]) -> mpsc::Receiver<String> {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let statuses = statuses.iter().copied().chain(std::iter::repeat(200));
        for (socket, status) in listener.incoming().zip(statuses) {
            let mut socket = BufReader::new(socket.expect("a connection"));
            let (mut id, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                socket.read_line(&mut line).expect("a line");
                match line.trim_end().split_once(": ") {
                    Some(("webhook-id", value)) => id = value.to_owned(),
                    Some(("content-length", value)) => length = value.parse().expect("a number"),
                    Some(_) => {}
                    None if line == "\r\n" => break,
                    None => {}
                }
            }
            let mut body = vec![0; length];
            socket.read_exact(&mut body).expect("a body");
            let answer =
                format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let sent = socket.get_mut().write_all(answer.as_bytes());
            sent.expect("the gateway reads");
            if tell.send(id).is_err() {
                return;
            }
        }
    });
    told
}

/// The webhooks in trouble, once the first is in this state.
fn listed(place: &Place, state: &str) -> Value {
    loop {
        let listed = place.run(&["push", "list", "-o", "json"]).expect_success();
        let listed: Value = serde_json::from_str(&listed).expect("JSON");
        if listed["troubles"][0]["state"] == state {
            return listed["troubles"][0].clone();
        }
    }
}

#[test]
fn the_operator_lists_replays_and_enables() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let origin = format!("http://{}", listener.local_addr().expect("an address"));
    // The first event is given up, the second switches the webhook off.
    let posts = receive(listener, &[500, 500, 410]);
    let place = Place::new();
    place.write("nuncio.toml", CONFIG);
    let served = place.serve(&["--config", "nuncio.toml"]);
    let hook = format!("{origin}/hidden");
    let sent = ["send", "-a", &served.url, "--push-url", &hook, "hello"];
    place.run(&sent).expect_success();
    let next = || posts.recv().expect("the receiver runs");
    let first = next();
    assert_eq!(next(), first);
    let second = next();
    let trouble = listed(&place, "off");
    assert_eq!(trouble["given_up"][0]["webhook_id"], first.as_str());
    let shown = place.run(&["push", "list"]).expect_success();
    assert!(shown.contains(&format!("Receiver: {origin}\n")), "{shown}");
    assert!(!shown.contains("hidden"), "{shown}");
    assert!(
        shown.contains("after 2 tries, the last answered 500"),
        "{shown}"
    );

    let vague = place.run(&["push", "replay"]);
    assert_eq!(vague.code(), Some(2), "{}", vague.stderr);
    let off = place.run(&["push", "replay", "--all"]);
    assert_eq!(off.code(), Some(1), "{}", off.stdout);
    assert!(off.stdout.contains("enable it first"), "{}", off.stdout);
    let task = trouble["task"].as_str().expect("a task");
    let enabled = place.run(&["push", "enable", task]).expect_success();
    assert!(enabled.contains("Outcome: done"), "{enabled}");
    let rest = [next(), next()];
    assert_eq!(rest[0], second);
    listed(&place, "gave up");

    // What is to be sent again is still known after a restart.
    drop(served);
    let _served = place.serve(&["--config", "nuncio.toml"]);
    place.run(&["push", "replay", "--all"]).expect_success();
    assert_eq!(next(), first);
    let idle = place.run(&["push", "enable", task]).expect_success();
    assert!(idle.contains("No webhook needs it"), "{idle}");
}
