//! Hermes behind the gateway through the doors of its API server.

use super::caller::Caller;
use super::hermes::{Hermes, KEY, answer, send};
use crate::program::{Place, Served};

/// Words of a message that a few of outgrow a model of 131,072 tokens.
const LONG_WORDS: usize = 20_000;
/// A session that its owner talks in, too.
const LIVE: &str = "owner-chat";

fn serve(place: &mut Place, hermes: &Hermes) -> Served {
    place.set("HERMES_KEY", KEY);
    let agent = |name: &str, more: &str| {
        format!(
            "[agents.{name}]\nbackend = \"hermes\"\nbase_url = \"{}\"\napi_key = \"env:HERMES_KEY\"\n{more}\n",
            hermes.url
        )
    };
    let completions = "door = \"completions\"";
    let live = format!("session = \"{LIVE}\"");
    let text = [
        agent("runs", ""),
        agent("completions", completions),
        agent("live-runs", &live),
        agent("live-completions", &format!("{completions}\n{live}")),
    ];
    place.write("nuncio.toml", &text.concat());
    place.serve(&["--store", "memory:"])
}

#[test]
fn it_answers_with_its_sessions_fails_when_it_fails_and_stops_when_told() {
    let hermes = Hermes::start();
    let mut place = Place::new();
    let served = serve(&mut place, &hermes);
    for agent in ["runs", "completions"] {
        place.run(&["agents", "check", agent]).expect_success();
        let left = hermes.ask(&["sessions", "api_server"]);
        assert_eq!(left, serde_json::json!([]), "a check leaves nothing behind");
    }
    for agent in ["runs", "completions"] {
        let context = format!("{agent}-1");
        assert_eq!(
            answer(&send(&served.url, agent, &context, "hello")),
            "SEEN 1"
        );
        assert_eq!(
            answer(&send(&served.url, agent, &context, "again")),
            "SEEN 2"
        );
        let other = format!("{agent}-2");
        assert_eq!(answer(&send(&served.url, agent, &other, "hello")), "SEEN 1");
        let failed = send(&served.url, agent, &other, "fail=400");
        assert_eq!(failed["status"]["state"], "TASK_STATE_FAILED", "{failed}");
        let asked = send(
            &served.url,
            agent,
            &format!("{agent}-3"),
            "say=[INPUT_REQUIRED] which?",
        );
        assert_eq!(
            asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED",
            "{asked}"
        );
    }
    stops(&hermes, &served.url);
    shares(&hermes, &served.url);
    for agent in ["runs", "completions"] {
        outgrows(&served.url, agent);
    }
}

/// How many messages of its users the model was shown.
fn seen(text: &str) -> u32 {
    let count = text.strip_prefix("SEEN ").and_then(|it| it.parse().ok());
    count.unwrap_or_else(|| panic!("no count: {text}"))
}

/// A conversation that Hermes makes shorter, since it outgrows its model, goes on with all that was said
/// after that.
fn outgrows(url: &str, agent: &str) {
    let say = |text: &str| seen(answer(&send(url, agent, "long", text)));
    let long = "word ".repeat(LONG_WORDS);
    let (mut turns, mut now) = (1, say(&long));
    while now == turns {
        assert!(turns < 12, "it was never made shorter");
        (turns, now) = (turns + 1, say(&long));
    }
    assert!(now < turns, "{agent} saw {now} in turn {turns}");
    for next in 1..4 {
        assert_eq!(
            say("and then?"),
            now + next,
            "{agent}, {next} after it was made shorter"
        );
    }
}

/// A cancelled turn leaves no answer in the session.
fn stops(hermes: &Hermes, url: &str) {
    let caller = Caller::new(&format!("{url}/agents/live-runs"), None);
    let mut held = caller.start(&["send", "hold", "--stream", "-o", "json"]);
    let begun = held.line();
    let id = begun["task"]["id"].as_str().expect("a task's id");
    let canceled = caller.json(&["task", "cancel", id]);
    assert_eq!(canceled["status"]["state"], "TASK_STATE_CANCELED");
    held.rest();
    // Hermes has no such session if it was stopped before it wrote anything.
    let said = hermes.ask(&["say", LIVE, "hello"]);
    let rows = hermes.ask(&["rows", LIVE]);
    let answers = rows.as_array().expect("rows").iter();
    let answers = answers.filter(|row| row[0] == "assistant").count();
    assert_eq!(answers, 1, "only to what was not cancelled: {said} {rows}");
}

/// Its owner and its callers go on in one session.
fn shares(hermes: &Hermes, url: &str) {
    let mut last = 0;
    for turn in ["owner", "live-runs", "owner", "live-completions", "owner"] {
        let now = match turn {
            "owner" => seen(hermes.ask(&["say", LIVE, "me"]).as_str().expect("a text")),
            agent => seen(answer(&send(url, agent, "shared", "it"))),
        };
        assert!(now > last, "{turn} saw {now} after {last}");
        last = now;
    }
}
