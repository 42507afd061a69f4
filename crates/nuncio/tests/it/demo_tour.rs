//! `nuncio demo --once`: the whole tour, with two real agents, ends well and leaves nothing behind.

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
