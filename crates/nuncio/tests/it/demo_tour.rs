//! `nuncio demo --once`: the whole tour, with two real agents, ends well and leaves nothing behind.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::program::Place;

#[test]
fn two_agents_talk_and_the_tour_ends_well() {
    let mut place = Place::new();
    let temporary = place.path().join("temporary");
    std::fs::create_dir(&temporary).expect("a directory");
    place.set("TMPDIR", temporary.to_str().expect("UTF-8"));
    // Settings of the user must not change the tour.
    place.set("A2ACLI_OUTPUT", "json");
    place.set("A2A_PORT", "1");

    let said = place
        .run(&["demo", "--once", "--text", "it's about tides"])
        .expect_success();
    for line in [
        "  - its longest word is \"about\"",
        "  State: TASK_STATE_INPUT_REQUIRED",
        "  The researcher answered with 3 findings. Who is the text for?",
        "  For my colleagues: \"it's about tides\"",
        "  - it has 3 words and 13 letters",
        "  State: TASK_STATE_COMPLETED",
    ] {
        assert!(
            said.contains(&format!("{line}\n")),
            "`{line}` is missing:\n{said}"
        );
    }
    assert!(
        said.contains("$ nuncio send -a researcher --stream 'it'\\''s about tides'\n"),
        "{said}"
    );
    let left: Vec<_> = std::fs::read_dir(&temporary)
        .expect("a directory")
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_demo_stays_up_until_it_is_interrupted() {
    let mut place = Place::new();
    let temporary = place.path().join("temporary");
    std::fs::create_dir(&temporary).expect("a directory");
    place.set("TMPDIR", temporary.to_str().expect("UTF-8"));
    let mut demo = place
        .command(&["demo"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("nuncio starts");
    let mut lines = BufReader::new(demo.stdout.take().expect("a pipe")).lines();
    let mut next_with = |text: &str| {
        let line = lines
            .by_ref()
            .map(|line| line.expect("UTF-8"))
            .find(|line| line.contains(text));
        line.unwrap_or_else(|| panic!("`{text}` was never said"))
    };
    next_with("stay up until Ctrl-C");
    let offered = next_with("nuncio send -a http");
    let researcher = offered
        .split_whitespace()
        .nth(3)
        .expect("an address")
        .to_owned();
    let said = place
        .run(&["send", "-a", &researcher, "tides"])
        .expect_success();
    assert!(said.contains("its longest word is \"tides\""), "{said}");

    let id = nix::unistd::Pid::from_raw(i32::try_from(demo.id()).expect("a process id"));
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGINT).expect("it runs");
    assert_eq!(demo.wait().expect("it ends").code(), Some(0));
    let left: Vec<_> = std::fs::read_dir(&temporary)
        .expect("a directory")
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
