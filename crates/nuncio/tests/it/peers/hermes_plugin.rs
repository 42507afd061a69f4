//! Hermes behind the gateway through nuncio's plugin in it: turns in the chats of its own gateway.

use super::caller::Caller;
use super::hermes::{Hermes, KEY, answer, send};
use crate::program::{Place, Served};

/// The chat of its owner, as Hermes' platforms name it.
const LIVE: &str = "chat:dm:room";

fn serve(place: &mut Place, hermes: &Hermes) -> Served {
    place.set("HERMES_KEY", KEY);
    let agent = |name: &str, key: &str, more: &str| {
        format!(
            "[agents.{name}]\nbackend = \"hermes\"\ndoor = \"plugin\"\nbase_url = \"{}\"\napi_key = \"env:{key}\"\n{more}\n",
            hermes.plugin
        )
    };
    let text = [
        agent("chats", "HERMES_KEY", ""),
        agent("live", "HERMES_KEY", &format!("session = \"{LIVE}\"")),
        agent("stranger", "WRONG_KEY", ""),
    ];
    place.set("WRONG_KEY", "fedcba9876543210fedcba9876543210");
    place.write("nuncio.toml", &text.concat());
    place.serve(&["--store", "memory:"])
}

fn seen(text: &str) -> u32 {
    let count = text.strip_prefix("SEEN ").and_then(|it| it.parse().ok());
    count.unwrap_or_else(|| panic!("no count: {text}"))
}

#[test]
fn it_takes_turns_in_live_chats_and_in_chats_of_its_own() {
    let hermes = Hermes::start();
    let mut place = Place::new();
    let served = serve(&mut place, &hermes);
    place.run(&["agents", "check", "chats"]).expect_success();
    let left = hermes.ask(&["sessions", "nuncio"]);
    assert_eq!(left, serde_json::json!([]), "a check leaves nothing behind");
    in_chats_of_its_own(&served.url);
    shares_the_owners_chat(&hermes, &served.url);
    text_is_only_text(&hermes, &served.url);
    gives_the_owners_answers_to_the_owner(&hermes, &served.url);
    stops(&hermes, &served.url);
    tells_what_came_in(&hermes);
}

fn in_chats_of_its_own(url: &str) {
    assert_eq!(answer(&send(url, "chats", "1", "hello")), "SEEN 1");
    assert_eq!(answer(&send(url, "chats", "1", "again")), "SEEN 2");
    assert_eq!(answer(&send(url, "chats", "2", "hello")), "SEEN 1");
    let failed = send(url, "chats", "2", "fail=400");
    assert_eq!(failed["status"]["state"], "TASK_STATE_FAILED", "{failed}");
    let asked = send(url, "chats", "3", "say=[INPUT_REQUIRED] which?");
    let state = &asked["status"]["state"];
    assert_eq!(state, "TASK_STATE_INPUT_REQUIRED", "{asked}");
    let refused = send(url, "stranger", "1", "hello");
    assert_eq!(refused["status"]["state"], "TASK_STATE_FAILED", "{refused}");
}

/// Its owner, then a caller, then its owner: one history.
fn shares_the_owners_chat(hermes: &Hermes, url: &str) {
    hermes.say("me");
    hermes.hear("SEEN 1");
    assert_eq!(answer(&send(url, "live", "1", "it")), "SEEN 2");
    hermes.say("me again");
    hermes.hear("SEEN 3");
    assert_eq!(answer(&send(url, "live", "2", "another")), "SEEN 4");
}

/// What a person could have Hermes do by text alone, a caller cannot.
fn text_is_only_text(hermes: &Hermes, url: &str) {
    for command in ["/new", "/help", "restart gateway"] {
        seen(answer(&send(url, "live", "1", command)));
    }
    assert_eq!(seen(answer(&send(url, "live", "1", "goes on"))), 8);
    hermes.home.write("notes.txt", "the owner's own notes");
    let shown = send(url, "live", "1", "show @file:notes.txt");
    let shown = answer(&shown);
    assert!(shown.contains("notes.txt"), "{shown}");
    assert!(!shown.contains("the owner's own notes"), "{shown}");
    hermes.say("show @file:notes.txt");
    let heard = hermes.hear("SHOWN");
    let shown = heard.last().expect("it was heard");
    assert!(shown.contains("the owner's own notes"), "{shown}");
}

/// What the owner writes while a caller's turn runs is answered to the owner alone.
fn gives_the_owners_answers_to_the_owner(hermes: &Hermes, url: &str) {
    let caller = Caller::new(&format!("{url}/agents/live"), None);
    let mut held = caller.start(&["send", "hold", "--stream", "-o", "json"]);
    held.line();
    hermes.holds();
    hermes.say("say=for the owner");
    hermes.hear("for the owner");
    let (ended, _) = held.end();
    let text = serde_json::Value::from(ended).to_string();
    assert!(text.contains("TASK_STATE_FAILED"), "{text}");
    assert!(!text.contains("for the owner"), "{text}");
}

/// A cancelled turn is stopped in Hermes, and the chat is free.
fn stops(hermes: &Hermes, url: &str) {
    let caller = Caller::new(&format!("{url}/agents/live"), None);
    let mut held = caller.start(&["send", "hold", "--stream", "-o", "json"]);
    let begun = held.line();
    let id = begun["task"]["id"].as_str().expect("a task's id");
    hermes.holds();
    let canceled = caller.json(&["task", "cancel", id]);
    assert_eq!(canceled["status"]["state"], "TASK_STATE_CANCELED");
    held.end();
    hermes.say("say=here I am");
    let heard = hermes.hear("here I am");
    assert_eq!(heard.len(), 1, "the answer of a stopped turn: {heard:?}");
}

fn tells_what_came_in(hermes: &Hermes) {
    for command in ["/a2a_metrics", "/a2a-metrics"] {
        hermes.say(command);
        let heard = hermes.hear("A2A messages to this Hermes");
        let told = heard.last().expect("it was heard");
        for line in [
            "\nreceived: ",
            "\ncompleted: ",
            "\nfailed: ",
            "\ncanceled: 1",
            "\nunder way: 0",
            "context_length",
        ] {
            assert!(told.contains(line), "{line}: {told}");
        }
    }
}
