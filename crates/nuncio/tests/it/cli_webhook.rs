//! `--webhook` and `task push-config` against the gateway over each binding of its card: events come
//! as posts, strangers' posts count for nothing, and what was registered is gone at the end.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{Place, Served};

const WAYS: [&[&str]; 4] = [
    &["--transport", "jsonrpc"],
    &["--transport", "rest"],
    &["--transport", "grpc"],
    &["--transport", "jsonrpc", "--a2a-version", "0.3"],
];

const CONFIG: &str = "[security]\npush_allow_addresses = [\"127.0.0.1\"]\n\
    [push]\nretry_delays = [\"20ms\"]\n\
    [agents.worker]\nbackend = \"command\"\ncommand = [\"./agent.sh\"]\n";
/// Says its text, and waits for the file it names, if it names one.
const AGENT: &str = "text=$(cat); echo \"$text\"; case $text in /*) while ! test -e \"$text\"; do sleep 0.02; done;; esac; echo done";
/// By then everything has happened, unless something hangs.
const LIMIT: Duration = Duration::from_secs(20);

fn gateway() -> (Place, Served) {
    let place = Place::new();
    place.script("agent.sh", AGENT);
    place.write("nuncio.toml", CONFIG);
    let served = place.serve(&["--config", "nuncio.toml", "--store", "memory:"]);
    (place, served)
}

fn arguments<'a>(served: &'a Served, way: &[&'a str], command: &[&'a str]) -> Vec<&'a str> {
    let mut all = command.to_vec();
    all.extend(["-a", &served.url, "-o", "json"]);
    all.extend(way);
    all
}

/// Runs a command that ends well; its JSON, one value a line.
fn run(place: &Place, served: &Served, way: &[&str], command: &[&str]) -> Vec<Value> {
    let ended = place.run(&arguments(served, way, command));
    let text = ended.expect_success();
    if let Ok(whole) = serde_json::from_str(&text) {
        return vec![whole];
    }
    let lines = text.lines().map(serde_json::from_str::<Value>);
    lines.collect::<Result<_, _>>().expect("JSON lines")
}

fn webhooks(place: &Place, served: &Served, way: &[&str], task: &str) -> Vec<Value> {
    let listed = run(place, served, way, &["task", "push-config", "list", task]);
    listed[0]["configs"].as_array().expect("a list").clone()
}

#[test]
fn a_send_is_followed_by_what_is_posted() {
    let (place, served) = gateway();
    for way in WAYS {
        let command = ["send", "hello", "--webhook", "--stream"];
        let events = run(&place, &served, way, &command);
        let first = &events[0]["task"];
        let id = first["id"].as_str().expect("a task");
        let last = events.last().expect("events");
        let state = &last["statusUpdate"]["status"]["state"];
        if way.contains(&"0.3") {
            // There, whole tasks are posted.
            assert_eq!(
                last["task"]["status"]["state"], "TASK_STATE_COMPLETED",
                "{way:?} {events:?}"
            );
        } else {
            assert_eq!(state, "TASK_STATE_COMPLETED", "{way:?} {events:?}");
            let chunks = events.iter().filter(|it| it["artifactUpdate"].is_object());
            // Nobody who only asks sees those.
            assert!(chunks.count() > 0, "{way:?} {events:?}");
        }
        assert_eq!(
            webhooks(&place, &served, way, id),
            [] as [Value; 0],
            "{way:?}"
        );
        let sent = &run(&place, &served, way, &["send", "hello", "--webhook"])[0]["task"];
        assert_eq!(
            sent["artifacts"][0]["parts"][0]["text"], "hello\ndone\n",
            "{way:?} {sent}"
        );
    }
}

#[test]
fn a_forged_post_is_refused_and_changes_nothing() {
    let (place, served) = gateway();
    for (number, way) in WAYS.into_iter().enumerate() {
        let file = place.path().join(format!("go-{number}"));
        let file = file.to_str().expect("UTF-8");
        let task = &run(&place, &served, way, &["send", "--async", file])[0]["task"];
        let id = task["id"].as_str().expect("a task");
        let command = ["task", "subscribe", id, "--webhook", "--stream"];
        let mut subscribed = place.command(&arguments(&served, way, &command));
        let subscribed = subscribed.stdout(Stdio::piped()).stderr(Stdio::piped());
        let subscribed = subscribed.spawn().expect("nuncio starts");
        let began = Instant::now();
        let registered = loop {
            if let Some(config) = webhooks(&place, &served, way, id).pop() {
                break config;
            }
            assert!(began.elapsed() < LIMIT, "nothing was registered");
        };
        assert!(registered["token"].is_null(), "{registered}");
        let url = registered["url"].as_str().expect("a URL");
        let forged = format!(
            r#"{{"statusUpdate":{{"taskId":"{id}","contextId":"c","status":{{"state":"TASK_STATE_FAILED"}}}}}}"#
        );
        for token in [
            "",
            "x-a2a-notification-token: x\r\n",
            "authorization: Bearer x\r\n",
        ] {
            assert_eq!(post(url, token, &forged), "401", "{token}");
        }
        std::fs::write(file, "").expect("a file");
        let ended = subscribed.wait_with_output().expect("it ends");
        let text = String::from_utf8(ended.stdout).expect("UTF-8");
        assert!(ended.status.success(), "{way:?} {text}");
        assert!(text.contains("TASK_STATE_COMPLETED"), "{way:?} {text}");
        assert!(!text.contains("TASK_STATE_FAILED"), "{way:?} {text}");
        assert_eq!(
            webhooks(&place, &served, way, id),
            [] as [Value; 0],
            "{way:?}"
        );
    }
}

/// Keys of the gateway, and the secrets that receivers check with.
const SHARED: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const PRIVATE: &str = "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=";
const PUBLIC: &str = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
const OTHER: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx";
const BODY: &str = "push-secret";

fn signing_gateway() -> (Place, Served) {
    let mut place = Place::new();
    place.script("agent.sh", AGENT);
    let keys = "[push]\nsigning_keys = [\"env:SHARED\", \"env:PRIVATE\"]\nsecret = \"env:BODY\"";
    place.write("nuncio.toml", &CONFIG.replace("[push]", keys));
    for (name, key) in [("SHARED", SHARED), ("PRIVATE", PRIVATE), ("BODY", BODY)] {
        place.set(name, key);
    }
    let served = place.serve(&["--config", "nuncio.toml", "--store", "memory:"]);
    (place, served)
}

#[test]
fn what_the_gateway_signs_is_shown_where_the_secret_is_known() {
    let (place, served) = signing_gateway();
    for way in WAYS {
        for secrets in [&[SHARED][..], &[OTHER, PUBLIC], &[BODY], &[PUBLIC, BODY]] {
            let mut command = vec!["send", "hello", "--webhook", "--stream"];
            for secret in secrets {
                command.extend(["--webhook-secret", secret]);
            }
            let ended = place.run(&arguments(&served, way, &command));
            assert!(!ended.stderr.contains("refused"), "{}", ended.stderr);
            let shown = ended.expect_success();
            assert!(shown.contains("TASK_STATE_COMPLETED"), "{way:?} {shown}");
            // Nobody who only asks sees those.
            let chunks = shown.contains("artifactUpdate");
            assert!(chunks || way.contains(&"0.3"), "{way:?} {shown}");
        }
    }
}

#[test]
fn what_is_signed_with_another_key_is_not_shown_and_told_of() {
    let (mut place, served) = signing_gateway();
    for secret in [OTHER, "another"] {
        place.set("A2ACLI_WEBHOOK_SECRET", secret);
        let command = [
            "send",
            "hello",
            "--webhook",
            "--stream",
            "--poll-interval",
            "1s",
        ];
        let ended = place.run(&arguments(&served, &[], &command));
        assert!(
            ended.stderr.contains("signed with another key"),
            "{secret} {}",
            ended.stderr
        );
        // What was asked for is seen all the same.
        let shown = ended.expect_success();
        assert!(!shown.contains("artifactUpdate"), "{secret} {shown}");
        assert!(shown.contains("TASK_STATE_COMPLETED"), "{secret} {shown}");
    }
}

#[test]
fn a_secret_that_is_none_is_refused_before_anything_is_sent() {
    let place = Place::new();
    for (secret, why) in [
        ("whsec_c2hvcnQ=", "24 to 64 bytes"),
        (PRIVATE, "public half"),
    ] {
        let command = ["send", "-a", "127.0.0.1:9", "hi", "--webhook"];
        let ended = place.run(&[&command[..], &["--webhook-secret", secret]].concat());
        assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
        assert!(!ended.stderr.contains(secret), "{}", ended.stderr);
    }
}

/// Posts to a listener of this machine; the status of the answer.
fn post(url: &str, headers: &str, body: &str) -> String {
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut socket = TcpStream::connect(address).expect("it listens");
    let request = format!(
        "POST / HTTP/1.1\r\nhost: {address}\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("it answers");
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn the_task_is_asked_for_when_no_post_comes() {
    let (place, served) = gateway();
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", nobody.local_addr().expect("an address"));
    drop(nobody);
    let file = place.path().join("go");
    let file = file.to_str().expect("UTF-8");
    let command = [
        "send",
        file,
        "--webhook",
        "--webhook-url",
        &url,
        "--poll-interval",
        "50ms",
    ];
    let mut sent = place.command(&arguments(&served, &[], &command));
    let sent = sent.stdout(Stdio::piped()).spawn().expect("nuncio starts");
    std::fs::write(file, "").expect("a file");
    let ended = sent.wait_with_output().expect("it ends");
    let text = String::from_utf8(ended.stdout).expect("UTF-8");
    assert!(
        ended.status.success() && text.contains("TASK_STATE_COMPLETED"),
        "{text}"
    );
}

#[test]
fn webhooks_are_registered_shown_and_deleted() {
    let (place, served) = gateway();
    for way in WAYS {
        let task = &run(&place, &served, way, &["send", "hello"])[0]["task"];
        let id = task["id"].as_str().expect("a task");
        let create = [
            "task",
            "push-config",
            "create",
            id,
            "--id",
            "mine",
            "--push-url",
            "http://127.0.0.1:9/hook",
            "--push-token",
            "hush-hush",
        ];
        let created = &run(&place, &served, way, &create)[0];
        assert_eq!(created["url"], "http://127.0.0.1:9/hook", "{way:?}");
        assert!(
            !created.to_string().contains("hush-hush"),
            "{way:?} {created}"
        );
        let shown = &run(
            &place,
            &served,
            way,
            &["task", "push-config", "get", id, "mine"],
        )[0];
        assert_eq!(shown["id"], "mine", "{way:?}");
        assert_eq!(webhooks(&place, &served, way, id).len(), 1, "{way:?}");
        run(
            &place,
            &served,
            way,
            &["task", "push-config", "delete", id, "mine"],
        );
        assert_eq!(webhooks(&place, &served, way, id).len(), 0, "{way:?}");
        let gone = ["task", "push-config", "get", id, "mine"];
        let gone = place.run(&arguments(&served, way, &gone));
        assert_eq!(gone.code(), Some(1), "{way:?} {}", gone.stdout);
    }
}
