//! `nuncio serve` as a user starts it: what it says, what stops it, what it refuses.

use std::io::Read as _;
use std::process::Stdio;

use nix::sys::signal::Signal;

use crate::program::Place;

#[test]
fn without_a_configuration_an_echo_answers() {
    let place = Place::new();
    let served = place.serve(&[]);
    let said = place
        .run(&["send", "-a", &served.url, "hello there"])
        .expect_success();
    assert!(said.contains("hello there"), "{said}");
    assert!(place.path().join("nuncio.db").exists());
    let agents = place
        .run(&["agents", "list", "-o", "json"])
        .expect_success();
    let agents: serde_json::Value = serde_json::from_str(&agents).expect("JSON");
    assert_eq!(agents["agents"][0]["name"], "echo");
    assert_eq!(agents["agents"][0]["url"], format!("{}/", served.url));

    served.signal(Signal::SIGTERM);
    let url = served.url.clone();
    let (status, rest) = served.wait();
    assert_eq!(status.code(), Some(0));
    assert!(
        rest.contains(&format!("{url}/.well-known/agent-card.json")),
        "{rest}"
    );
    assert!(
        rest.contains(&format!("Try: nuncio send -a {url} \"hello\"")),
        "{rest}"
    );
    let ended = place.run(&["agents", "list"]);
    assert_eq!(ended.code(), Some(1));
    assert!(ended.stderr.contains("nuncio serve"), "{}", ended.stderr);
}

#[test]
fn a_program_is_served_without_a_file() {
    let place = Place::new();
    place.script("shout.sh", "tr a-z A-Z");
    let served = place.serve(&["--agent", "shout=./shout.sh", "--store", "memory:"]);
    let said = place
        .run(&["send", "-a", &served.url, "hello"])
        .expect_success();
    assert!(said.contains("HELLO"), "{said}");
    assert!(!place.path().join("nuncio.db").exists());
}

#[test]
fn a_port_in_use_is_named_with_its_holder_and_a_way_out() {
    let place = Place::new();
    let holder = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = holder.local_addr().expect("an address").to_string();
    let ended = place.run(&["serve", "--listen", &address]);
    assert_eq!(ended.code(), Some(1));
    assert!(
        ended
            .stderr
            .contains(&format!("cannot listen on {address}")),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("--listen"), "{}", ended.stderr);
    if cfg!(target_os = "linux") {
        let me = format!("(process {})", std::process::id());
        assert!(ended.stderr.contains(&me), "{}", ended.stderr);
    }
}

#[test]
fn other_machines_only_get_in_with_a_credential() {
    let mut place = Place::new();
    let ended = place.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(ended.code(), Some(1));
    assert!(
        ended
            .stderr
            .contains("--listen: other machines can reach 0.0.0.0:0"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("A2A_BEARER_TOKEN"),
        "{}",
        ended.stderr
    );

    place.set("A2A_PEER_TOKENS", "alice:hunter2");
    let served = place.serve_as(&["serve", "--listen", "0.0.0.0:0"]);
    let refused = place.run(&["send", "-a", &served.url, "hello"]);
    assert_eq!(refused.code(), Some(4), "{}", refused.stderr);
    let said = place.run(&["send", "-a", &served.url, "--bearer", "hunter2", "hello"]);
    assert!(said.expect_success().contains("hello"));
    assert!(!place.log().contains("hunter2"));
}

#[test]
fn flags_count_before_variables_before_the_file() {
    let mut place = Place::new();
    place.write(
        "nuncio.toml",
        "[agents.a]\nbackend = \"echo\"\nname = \"From File\"\n[log]\nlevel = \"error\"\n",
    );
    let name = |place: &Place| {
        let served = place.serve(&["--store", "memory:"]);
        place
            .run(&["card", "get", "-a", &served.url])
            .expect_success()
    };
    assert!(name(&place).contains("Name: From File\n"));
    place.set("A2A_AGENT_NAME", "From Variable");
    // The flag of `serve` wins over the address of the variable, which nothing could listen on.
    place.set("A2A_HOST", "192.0.2.1");
    assert!(name(&place).contains("Name: From Variable\n"));
}

#[test]
fn a_variable_without_a_key_warns_at_start() {
    let mut place = Place::new();
    place.set("A2A_WEBHOOK_SECRET", "hunter2");
    let served = place.serve(&["--store", "memory:"]);
    served.signal(Signal::SIGINT);
    assert_eq!(served.wait().0.code(), Some(0));
    let log = place.log();
    assert!(
        log.contains("A2A_WEBHOOK_SECRET is set and ignored"),
        "{log}"
    );
    assert!(!log.contains("hunter2"), "{log}");
}

#[test]
fn a_second_signal_ends_turns_and_all_at_once() {
    let place = Place::new();
    let held = place.path().join("held");
    nix::unistd::mkfifo(&held, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    place.script("slow.sh", "exec 3>held; exec sleep 600");
    place.write(
        "nuncio.toml",
        "[server]\nshutdown_grace = \"10m\"\n[log]\nlevel = \"error\"\n",
    );
    let arguments = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--store",
        "memory:",
        "--agent",
        "slow=./slow.sh",
    ];
    let mut served = place.serve_with(&arguments, Stdio::piped());
    let send = place
        .command(&["send", "-a", &served.url, "go"])
        .stdout(Stdio::null())
        .spawn();
    let mut send = send.expect("nuncio starts");
    // Opens once the program has opened the other end, and ends when the program is gone.
    let mut program = std::fs::File::open(&held).expect("the turn begins");
    served.signal(Signal::SIGINT);
    served.await_on_stderr("stopping");
    served.signal(Signal::SIGINT);
    assert_eq!(served.wait().0.code(), Some(130));
    assert_eq!(
        program
            .read_to_end(&mut Vec::new())
            .expect("the program ends"),
        0
    );
    let _ = send.kill();
    let _ = send.wait();
}

#[test]
fn an_agent_that_cannot_start_is_named() {
    let place = Place::new();
    let ended = place.run(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--agent",
        "gone=./gone.sh",
    ]);
    assert_eq!(ended.code(), Some(1));
    assert!(ended.stderr.contains("gone.sh"), "{}", ended.stderr);
}

#[test]
fn a_store_that_cannot_be_opened_is_named() {
    let place = Place::new();
    let ended = place.run(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--store",
        "sqlite:/proc/no/n.db",
    ]);
    assert_eq!(ended.code(), Some(1));
    assert!(ended.stderr.contains("/proc/no/n.db"), "{}", ended.stderr);
}
