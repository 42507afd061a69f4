//! What has to come of the conversation in `tests/peers/*/scenario.*`, whatever SDK has it.
//!
//! One function per step; each shows the whole step when it fails. The notation is explained in
//! `tests/peers/python/notation.py`.

use serde_json::{Value, json};

use super::outcomes::Outcomes;

/// What differs between the versions of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generation {
    /// 1.0: ListTasks exists, and a history of length 0 is none.
    V1,
    /// 0.3: no list, and a history of length 0 is all of it.
    V0_3,
}

/// What a client does its own way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ways {
    /// It registers webhooks, too.
    pub(super) has_hooks: bool,
    /// It loses the names of files and whether a chunk adds to an artifact, as the JavaScript SDK 0.3 does
    /// where it reads the JSON of the proto.
    pub(super) loses_details: bool,
}

/// Judges every step of a conversation with the gateway at `url`.
pub(super) fn judge(outcomes: &Outcomes, generation: Generation, ways: Ways, url: &str) {
    let name = |name| if ways.loses_details { "-" } else { name };
    let adds = if ways.loses_details { "" } else { "+" };
    card(outcomes.step("card"), generation, url);
    send(outcomes.step("send"), name("two.bin"));
    chunks(outcomes.step("chunks"), adds);
    line_ends(outcomes.step("line_ends"));
    let names = [name("plot.png"), name("plot.svg")];
    report(
        outcomes.step("stream"),
        outcomes.step("report"),
        names,
        adds,
    );
    direct(outcomes.step("direct"));
    failure(outcomes.step("failure"));
    ask(outcomes.step("ask"));
    get(outcomes.step("get"), generation);
    cancel(outcomes.step("cancel"));
    leave(outcomes.step("leave"));
    subscribe(outcomes.step("subscribe"));
    resubscribe(outcomes.step("resubscribe"));
    if ways.has_hooks {
        push(outcomes.step("push"));
    }
    errors(outcomes.step("errors"));
    assert_eq!(
        outcomes.has_step("list_tasks"),
        generation == Generation::V1
    );
    if generation == Generation::V1 {
        list_tasks(outcomes.step("list_tasks"));
    }
}

fn card(card: &Value, generation: Generation, url: &str) {
    let address = url.trim_start_matches("http://");
    let all = |version: &str| {
        [
            json!(["JSONRPC", version, format!("{url}/")]),
            json!(["HTTP+JSON", version, url]),
            json!(["GRPC", version, address]),
        ]
    };
    let interfaces = match generation {
        Generation::V1 => [all("1.0"), all("0.3")].concat(),
        Generation::V0_3 => {
            // The card says 0.3.0 of itself, where it names one address, and 0.3 of an interface.
            let listed = card["interfaces"].as_array().expect("a list");
            let version = listed[0][1].as_str().expect("a version");
            assert!(["0.3", "0.3.0"].contains(&version), "{card}");
            all(version)[..if listed.len() == 1 { 1 } else { 3 }].to_vec()
        }
    };
    let expected = json!({
        "name": "echo",
        "description": "Repeats what it is sent",
        "interfaces": interfaces,
        "streaming": true,
        "skills": ["general"],
        "modes": [["text/plain", "application/json", "*/*"], ["text/plain", "application/json"]],
    });
    assert_eq!(card, &expected);
}

fn send(task: &Value, name: &str) {
    let parts = r#""hello"; data {"deep": [true, null], "n": 42}"#;
    let parts = format!("{parts}; file {name} application/octet-stream AP8=");
    assert_task(
        task,
        "COMPLETED",
        json!([]),
        json!([format!("artifact - {parts}")]),
    );
    assert_eq!(task["history"], json!([format!("user {parts}")]), "{task}");
    assert_ne!(task["context"], task["id"], "{task}");
}

fn chunks(step: &Value, adds: &str) {
    let whole = step["joined"].as_str().expect("text");
    assert!(whole.starts_with("163840 characters "), "{step}");
    assert_task(
        &step["whole"],
        "COMPLETED",
        json!([]),
        json!([format!("artifact - {whole}")]),
    );
    assert_eq!(
        step["ends"],
        json!(["task WORKING", "status COMPLETED"]),
        "{step}"
    );
    let marks: Vec<&str> = step["marks"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let [first, middle @ .., last] = marks.as_slice() else {
        panic!("too few chunks: {step}")
    };
    let (goes_on, ends) = (format!("-{adds}"), format!("-{adds}."));
    assert_eq!((*first, *last), ("-", ends.as_str()), "{step}");
    assert!(middle.iter().all(|mark| *mark == goes_on), "{step}");
}

fn line_ends(step: &Value) {
    assert_eq!(step, &json!({ "streamed": [true], "sent": true }));
}

fn report(streamed: &Value, task: &Value, [png, svg]: [&str; 2], adds: &str) {
    let facts = r#"data {"count": 42, "tags": ["a", "b"]}"#;
    let plot =
        format!("file {png} image/png AP8=; link {svg} image/svg+xml https://example.com/plot.svg");
    let events = json!([
        "task WORKING",
        "status WORKING \"Looking it up\"",
        "artifact notes \"one \"",
        format!("artifact notes{adds} \"two \""),
        format!("artifact notes{adds}. \"three\""),
        format!("artifact facts. {facts}"),
        format!("artifact plot. {plot}"),
        "status COMPLETED \"Here it is\"",
    ]);
    assert_eq!(streamed, &events);
    let artifacts = json!([
        "artifact notes \"one two three\"",
        format!("artifact facts {facts}"),
        format!("artifact plot {plot}"),
    ]);
    assert_task(task, "COMPLETED", json!(["\"Here it is\""]), artifacts);
}

fn direct(step: &Value) {
    assert_eq!(step["sent"]["line"], "message \"Forty-two.\"", "{step}");
    assert_eq!(step["sent"]["task"], "", "a message of no task: {step}");
    assert_ne!(step["sent"]["context"], "", "{step}");
    assert_eq!(
        step["streamed"],
        json!(["message \"Forty-two.\""]),
        "{step}"
    );
}

fn failure(task: &Value) {
    let said = task["says"][0].as_str().expect("words");
    assert!(
        said.starts_with("\"the agent's program ended with exit code 3 (error id "),
        "{task}"
    );
    assert!(!task.to_string().contains("hunter2"), "{task}");
    assert_task(task, "FAILED", json!([said]), json!([]));
}

fn ask(step: &Value) {
    let (first, second) = (&step["first"], &step["second"]);
    assert_task(
        first,
        "INPUT_REQUIRED",
        json!(["\"Which colour?\""]),
        json!([]),
    );
    assert_task(
        second,
        "COMPLETED",
        json!([]),
        json!(["artifact - \"Painted it blue.\""]),
    );
    assert_eq!(
        second["history"],
        json!(["user \"paint it\"", "user \"blue\""]),
        "{step}"
    );
    assert_eq!(
        first["id"], second["id"],
        "the answer goes on in the task: {step}"
    );
    assert_eq!(first["context"], second["context"], "{step}");
    let streamed = json!([
        ["task WORKING", "status INPUT_REQUIRED \"Which colour?\""],
        [
            "task WORKING",
            "artifact -. \"Painted it green.\"",
            "status COMPLETED"
        ],
    ]);
    assert_eq!(step["streamed"], streamed);
}

fn get(step: &Value, generation: Generation) {
    let all = json!(["user \"paint it\"", "user \"blue\""]);
    let none = if generation == Generation::V1 {
        json!([])
    } else {
        all.clone()
    };
    let lengths = [
        ("all", all.clone()),
        ("none", none),
        ("one", json!(["user \"blue\""])),
        ("many", all),
    ];
    for (name, history) in lengths {
        let task = &step[name];
        assert_task(
            task,
            "COMPLETED",
            json!([]),
            json!(["artifact - \"Painted it blue.\""]),
        );
        assert_eq!(task["history"], history, "{name}: {step}");
    }
}

fn list_tasks(step: &Value) {
    let page = |name: &str, ids: Value, total: u64| {
        let page = &step[name];
        let tasks = page["tasks"].as_array().expect("a list");
        let found: Vec<&Value> = tasks.iter().map(|task| &task["id"]).collect();
        assert_eq!(json!(found), ids, "{name}: {step}");
        assert_eq!(page["total"], total, "{name}: {step}");
        assert!(
            tasks.iter().all(|task| task["line"] == "task COMPLETED"),
            "{name}: {step}"
        );
    };
    page("whole", json!([step["two"], step["one"]]), 2);
    page("page", json!([step["two"]]), 2);
    page("rest", json!([step["one"]]), 2);
    page("working", json!([]), 0);
    page("detailed", json!([step["other"]]), 1);
    assert_ne!(step["page"]["token"], "", "{step}");
    for last in ["whole", "rest", "working", "detailed"] {
        assert_eq!(step[last]["token"], "", "{last}: {step}");
    }
    assert_eq!(
        step["whole"]["tasks"][0]["artifacts"],
        json!([]),
        "only when asked for: {step}"
    );
    assert_eq!(
        step["detailed"]["tasks"][0]["artifacts"],
        json!(["artifact - \"other\""]),
        "{step}"
    );
}

fn cancel(step: &Value) {
    let lines = json!([
        "task WORKING",
        "artifact - \"started\\n\"",
        "status CANCELED"
    ]);
    assert_eq!(step["lines"], lines, "{step}");
    for task in [&step["answer"], &step["after"]] {
        assert_task(
            task,
            "CANCELED",
            json!([]),
            json!(["artifact - \"started\\n\""]),
        );
    }
    assert_eq!(step["again"]["code"], -32002, "{step}");
}

fn leave(task: &Value) {
    let state = task["line"].as_str().expect("a line");
    assert!(
        ["task SUBMITTED", "task WORKING"].contains(&state),
        "{task}"
    );
}

fn subscribe(step: &Value) {
    let events = json!([
        "task INPUT_REQUIRED",
        "status WORKING",
        "artifact -. \"Painted it blue.\"",
        "status COMPLETED",
    ]);
    assert_eq!(step["watched"], json!([events, events]), "{step}");
    assert_eq!(step["ended"]["code"], -32004, "{step}");
}

fn resubscribe(step: &Value) {
    let first = json!([
        "task WORKING",
        "artifact - \"started\\n\"",
        "status CANCELED"
    ]);
    assert_eq!(step["first"], first, "{step}");
    assert_eq!(
        step["second"],
        json!(["task WORKING", "status CANCELED"]),
        "{step}"
    );
}

/// Webhooks, and what came to them: of a task in 1.0 its events, in 0.3 the task each time.
fn push(step: &Value) {
    let (made, read) = (&step["made"], &step["read"]);
    assert_eq!(made, read, "{step}");
    assert_eq!(made["token"], "", "it is not told again: {step}");
    let url = made["url"].as_str().expect("an address");
    assert!(url.ends_with("/kept"), "{step}");
    if let Some(listed) = step.get("listed") {
        let listed = listed.as_array().expect("a list");
        assert_eq!((listed.len(), &listed[0]), (2, made), "{step}");
        assert_eq!(step["gone"]["code"], -32001, "{step}");
    }
    assert_eq!(step["none"]["code"], -32001, "{step}");
    assert_eq!(
        step["tokens"],
        json!(["a-token", "a-token", "a-token"]),
        "{step}"
    );
    assert_eq!(step["late"], 0, "{step}");
    for (name, first, artifact) in [
        ("kept", "status WORKING", "artifact -. \"Painted it blue.\""),
        ("inline", "task WORKING", "artifact -. \"hello\""),
    ] {
        let events = json!([first, artifact, "status COMPLETED"]);
        let tasks = json!(["task WORKING", "task WORKING", "task COMPLETED"]);
        let posts = &step[name];
        assert!([&events, &tasks].contains(&posts), "{name}: {step}");
    }
}

fn errors(step: &Value) {
    let codes = [
        ("get unknown", -32001),
        ("cancel unknown", -32001),
        ("watch unknown", -32001),
        ("send to unknown", -32001),
        ("stream to unknown", -32001),
        ("send to ended", -32004),
        ("other context", -32602),
        ("no parts", -32602),
        ("other agent", -32001),
    ];
    for (name, code) in codes {
        assert_eq!(step[name]["code"], code, "{name}: {step}");
    }
    assert_eq!(
        step.as_object().map(serde_json::Map::len),
        Some(codes.len()),
        "{step}"
    );
}

fn assert_task(task: &Value, state: &str, says: Value, artifacts: Value) {
    assert_eq!(task["line"], format!("task {state}"), "{task}");
    assert_eq!(task["says"], says, "{task}");
    assert_eq!(task["artifacts"], artifacts, "{task}");
}
