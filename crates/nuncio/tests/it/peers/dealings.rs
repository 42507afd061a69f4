//! What the client commands have to make of the agent in `tests/peers/*/server_*`.
//!
//! One function per thing that a user does; texts are compared whole where they are short.

use serde_json::{Value, json};

use super::caller::Caller;

/// An agent as its server describes it.
#[derive(Clone, Copy)]
pub(super) struct Agent {
    pub(super) name: &'static str,
    /// The versions on its card, in order.
    pub(super) versions: &'static [&'static str],
    /// The one it is called in.
    pub(super) version: &'static str,
    pub(super) streams: bool,
    /// How it is called, as cards name it.
    pub(super) binding: &'static str,
}

/// Has every dealing with the agent at `url`.
pub(super) fn judge(caller: &Caller, agent: &Agent, url: &str) {
    card(caller, agent, url);
    report(caller, agent);
    report_streamed(caller, agent);
    direct(caller);
    question(caller);
    failure(caller);
    parts(caller);
    left_alone(caller);
    cancelled(caller, agent);
    listed(caller, agent);
    refused(caller, agent);
}

fn card(caller: &Caller, agent: &Agent, url: &str) {
    let card = caller.json(&["card", "get"]);
    // The port of gRPC is known to the server alone.
    let address = match agent.binding {
        "GRPC" => card["supportedInterfaces"][0]["url"]
            .as_str()
            .map(str::to_owned),
        _ => Some(format!("{url}/rpc")),
    };
    let address = address.expect("an address");
    let interface = |version: &&str| {
        json!({
            "url": address,
            "protocolBinding": agent.binding,
            "protocolVersion": version,
        })
    };
    let interfaces: Vec<Value> = agent.versions.iter().map(interface).collect();
    assert_eq!(card["name"], agent.name, "{card}");
    assert_eq!(card["supportedInterfaces"], json!(interfaces), "{card}");
    assert_eq!(
        card["capabilities"]["streaming"].as_bool().unwrap_or(false),
        agent.streams
    );
    let text = caller.text(&["card", "get"]);
    for line in [
        format!("Name: {}", agent.name),
        format!(
            "Interface: {} {} at {address}",
            agent.binding, agent.version
        ),
        format!("Streaming: {}", if agent.streams { "yes" } else { "no" }),
        "Skill: obey: Obey - Obeys [test]".to_owned(),
    ] {
        assert!(
            text.lines().any(|it| it == line),
            "`{line}` is missing:\n{text}"
        );
    }
}

fn report(caller: &Caller, agent: &Agent) {
    let answer = caller.json(&["send", "report"]);
    let task = &answer["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{answer}");
    assert_eq!(
        texts(&task["status"]["message"]),
        ["Here it is"],
        "{answer}"
    );
    let artifacts = task["artifacts"].as_array().expect("artifacts");
    let names: Vec<&Value> = artifacts.iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["notes", "facts", "plot"], "{answer}");
    assert_eq!(texts(&artifacts[0]).concat(), "one two", "{answer}");
    assert_facts(&artifacts[1]);
    let plot = json!([
        { "raw": "AP8=", "filename": "plot.png", "mediaType": "image/png" },
        { "url": "https://example.com/plot.svg", "mediaType": "image/svg+xml" },
    ]);
    assert_eq!(artifacts[2]["parts"], plot, "{answer}");
    assert_eq!(texts(&task["history"][0]), ["report"], "{answer}");

    let text = caller.text(&["send", "report"]);
    let ids = Ids::in_text(&text);
    // An answer keeps the chunks apart as the SDK did; a stream is put together here.
    let notes = if agent.streams {
        "one two"
    } else {
        "one \n\nText:\ntwo"
    };
    let begin = format!(
        "{ids}State: TASK_STATE_COMPLETED\nStatus Message:\nHere it is\n\n\
         Artifact: notes (notes)\nText:\n{notes}\n\nArtifact: f (facts)\nData:\n{{\n"
    );
    let end = "}\n\nArtifact: plot (plot)\nFile: plot.png (image/png, 2 bytes)\n\
               File: unnamed (image/svg+xml) at https://example.com/plot.svg\n";
    assert!(text.starts_with(&begin), "{text}");
    assert!(text.ends_with(end), "{text}");
}

fn report_streamed(caller: &Caller, agent: &Agent) {
    let events = caller.lines(&["send", "report"]);
    let kinds: Vec<&str> = events.iter().map(kind).collect();
    if !agent.streams {
        assert_eq!(kinds, ["task"], "{events:?}");
        assert_eq!(events[0]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
        let ended = caller.run(&["send", "report", "--stream"]);
        assert!(
            ended.stderr.contains("the agent does not stream"),
            "{}",
            ended.stderr
        );
        return;
    }
    let expected = [
        "task",
        "statusUpdate",
        "artifactUpdate",
        "artifactUpdate",
        "artifactUpdate",
        "artifactUpdate",
        "statusUpdate",
    ];
    assert_eq!(kinds, expected, "{events:?}");
    let (notes, more) = (&events[2]["artifactUpdate"], &events[3]["artifactUpdate"]);
    assert_eq!(
        (texts(&notes["artifact"]), texts(&more["artifact"])),
        (vec!["one "], vec!["two"])
    );
    assert_eq!(
        (&more["append"], &more["lastChunk"]),
        (&json!(true), &json!(true)),
        "{more}"
    );
    assert_facts(&events[4]["artifactUpdate"]["artifact"]);
    assert_eq!(
        events[6]["statusUpdate"]["status"]["state"],
        "TASK_STATE_COMPLETED"
    );

    let text = caller.text(&["send", "report", "--stream"]);
    let ids = Ids::in_text(&text);
    let begin = format!(
        "{ids}State: TASK_STATE_SUBMITTED\n{ids}State: TASK_STATE_WORKING\n\
         Status Message:\nLooking it up\n\nArtifact: notes (notes)\nText:\none \n\n\
         Artifact: notes (notes)\nText:\ntwo\n\n"
    );
    let end = format!("{ids}State: TASK_STATE_COMPLETED\nStatus Message:\nHere it is\n\n");
    assert!(text.starts_with(&begin) && text.ends_with(&end), "{text}");
}

pub(super) fn direct(caller: &Caller) {
    let answer = caller.json(&["send", "direct"]);
    assert_eq!(texts(&answer["message"]), ["Forty-two."], "{answer}");
    let events = caller.lines(&["send", "direct"]);
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(texts(&events[0]["message"]), ["Forty-two."], "{events:?}");
    assert!(
        caller
            .text(&["send", "direct"])
            .ends_with("Text:\nForty-two.\n\n")
    );
}

/// A question, its answer by the task's id, and by the very command that the program shows.
pub(super) fn question(caller: &Caller) {
    let asked = caller.json(&["send", "ask"]);
    let task = &asked["task"];
    assert_eq!(
        task["status"]["state"], "TASK_STATE_INPUT_REQUIRED",
        "{asked}"
    );
    assert_eq!(
        texts(&task["status"]["message"]),
        ["Which colour?"],
        "{asked}"
    );
    let id = task["id"].as_str().expect("an id");
    let done = caller.json(&["send", "--task-id", id, "blue"]);
    assert_eq!(done["task"]["id"], id, "{done}");
    assert_eq!(done["task"]["contextId"], task["contextId"], "{done}");
    assert_eq!(
        done["task"]["status"]["state"], "TASK_STATE_COMPLETED",
        "{done}"
    );
    assert_eq!(
        texts(&done["task"]["artifacts"][0]),
        ["Painted it blue."],
        "{done}"
    );

    let text = caller.text(&["send", "ask"]);
    let shown = text
        .lines()
        .find_map(|line| line.strip_prefix("Continue: nuncio "));
    let shown = shown.unwrap_or_else(|| panic!("no command to continue:\n{text}"));
    let words: Vec<&str> = shown
        .split(' ')
        .map(|word| if word == "\"<reply>\"" { "green" } else { word })
        .collect();
    // Whom the caller trusts is not part of what is shown.
    let words = [words.as_slice(), &caller.trust()].concat();
    let text = caller.place.run(&words).expect_success();
    assert!(text.contains("State: TASK_STATE_COMPLETED\n"), "{text}");
    assert!(text.contains("Text:\nPainted it green.\n"), "{text}");

    let elsewhere = caller.json(&["send", "--context-id", "a-context-of-mine", "ask"]);
    assert_eq!(
        elsewhere["task"]["contextId"], "a-context-of-mine",
        "{elsewhere}"
    );
}

pub(super) fn failure(caller: &Caller) {
    let ended = caller.run(&["send", "fail"]);
    assert_eq!(
        ended.code(),
        Some(0),
        "the agent's failure is not ours: {}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("TASK_STATE_FAILED"),
        "{}",
        ended.stderr
    );
    assert!(
        ended
            .stdout
            .contains("State: TASK_STATE_FAILED\nStatus Message:\nNo luck\n")
    );
}

/// What goes out comes back as it was.
pub(super) fn parts(caller: &Caller) {
    caller.place.write(
        "data.json",
        "{\n  \"n\": 42,\n  \"list\": [\n    true\n  ]\n}\n",
    );
    std::fs::write(caller.place.path().join("two.png"), [0, 255]).expect("a file");
    let arguments = [
        "send",
        "--text",
        "parts",
        "--data",
        "data.json",
        "--file",
        "two.png",
    ];
    let answer = caller.json(&[&arguments[..], &["--text", "ä\u{2028}<&>"]].concat());
    let parts = answer["task"]["artifacts"][0]["parts"]
        .as_array()
        .expect("parts");
    assert_eq!(parts.len(), 4, "{answer}");
    assert_eq!(parts[0]["text"], "parts", "{answer}");
    assert_eq!(parts[1]["data"]["n"].as_f64(), Some(42.0), "{answer}");
    assert_eq!(parts[1]["data"]["list"], json!([true]), "{answer}");
    let file = json!({ "raw": "AP8=", "filename": "two.png", "mediaType": "image/png" });
    assert_eq!(parts[2], file, "{answer}");
    assert_eq!(parts[3]["text"], "ä\u{2028}<&>", "{answer}");
}

/// A task that is left to itself and taken up again.
pub(super) fn left_alone(caller: &Caller) {
    let left = caller.json(&["send", "--async", "gate"]);
    let id = left["task"]["id"].as_str().expect("an id");
    assert!(left["task"]["contextId"].is_string(), "{left}");
    let task = caller.json(&["task", "get", id]);
    let state = task["status"]["state"].as_str().expect("a state");
    assert!(
        ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"].contains(&state),
        "{task}"
    );

    let waiting = caller.start(&["task", "get", "--wait", id, "-o", "json"]);
    caller.text(&["send", "open"]);
    let waited = waiting.rest();
    assert_eq!(waited.len(), 1, "{waited:?}");
    assert_eq!(
        waited[0]["status"]["state"], "TASK_STATE_COMPLETED",
        "{waited:?}"
    );
    assert_eq!(texts(&waited[0]["artifacts"][0]), ["through"], "{waited:?}");
}

/// A task that somebody watches and somebody else cancels.
pub(super) fn cancelled(caller: &Caller, agent: &Agent) {
    let left = caller.json(&["send", "--async", "wait"]);
    let id = left["task"]["id"].as_str().expect("an id");
    let mut watching = caller.start(&["task", "subscribe", id, "-o", "json", "--stream"]);
    let first = watching.line();
    assert_eq!(kind(&first), "task", "{first}");
    assert_eq!(first["task"]["id"], id, "{first}");
    let answer = caller.json(&["task", "cancel", id]);
    assert_eq!(answer["status"]["state"], "TASK_STATE_CANCELED", "{answer}");
    let rest = watching.rest();
    let last = rest.last().expect("an end");
    let status = if kind(last) == "task" {
        &last["task"]
    } else {
        &last["statusUpdate"]
    };
    assert_eq!(status["status"]["state"], "TASK_STATE_CANCELED", "{rest:?}");

    // Its end can be looked at by every way.
    for way in [["task", "subscribe"], ["task", "get"]] {
        let task = caller.json(&[&way[..], &[id]].concat());
        assert_eq!(
            task["status"]["state"], "TASK_STATE_CANCELED",
            "{way:?}: {task}"
        );
    }
    let again = caller.run(&["task", "cancel", id]);
    if agent.name == "JavaScript agent" {
        assert_eq!(
            again.code(),
            Some(0),
            "this SDK cancels a cancelled task: {}",
            again.stderr
        );
    } else {
        assert_eq!(again.code(), Some(1), "{}", again.stdout);
        assert!(
            again.stderr.contains("Code: TaskNotCancelableError\n"),
            "{}",
            again.stderr
        );
    }
}

fn listed(caller: &Caller, agent: &Agent) {
    if agent.version == "0.3" {
        let (code, error) = caller.error(&["task", "list"]);
        assert_eq!(
            (code, &error["code"]),
            (Some(1), &json!("UnsupportedOperationError"))
        );
        return;
    }
    let one = caller.json(&["send", "--context-id", "listed", "report"]);
    let two = caller.json(&["send", "--context-id", "listed", "ask"]);
    let (one, two) = (&one["task"]["id"], &two["task"]["id"]);
    let ids = |page: &Value| -> Vec<Value> {
        let tasks = page["tasks"].as_array().expect("tasks").iter();
        tasks.map(|task| task["id"].clone()).collect()
    };
    let page = caller.json(&["task", "list", "--context-id", "listed"]);
    assert_eq!(ids(&page), [two.clone(), one.clone()], "{page}");
    assert_eq!(page["totalSize"], 2, "{page}");
    let arguments = ["task", "list", "--context-id", "listed", "--page-size", "1"];
    let first = caller.json(&arguments);
    assert_eq!(ids(&first), std::slice::from_ref(two), "{first}");
    let token = first["nextPageToken"].as_str().expect("a token");
    let rest = caller.json(&[&arguments[..], &["--page-token", token]].concat());
    assert_eq!(ids(&rest), std::slice::from_ref(one), "{rest}");
    let waiting = ["--context-id", "listed", "--status", "input-required"];
    let page = caller.json(&[&["task", "list"], &waiting[..]].concat());
    assert_eq!(ids(&page), std::slice::from_ref(two), "{page}");
    let text = caller.text(&["task", "list", "--context-id", "listed"]);
    assert!(text.ends_with("Tasks: 2 of 2\n"), "{text}");
}

pub(super) fn refused(caller: &Caller, agent: &Agent) {
    let done = caller.json(&["send", "report"]);
    let id = done["task"]["id"].as_str().expect("an id");
    let (code, error) = caller.error(&["send", "--task-id", id, "more"]);
    // The Python SDK 0.3 takes the id of an ended task as a bad parameter.
    let expected = match agent.versions {
        ["0.3"] => ("InvalidParamsError", -32602),
        _ => ("UnsupportedOperationError", -32004),
    };
    assert_eq!(
        (code, error["code"].as_str()),
        (Some(1), Some(expected.0)),
        "{error}"
    );
    assert_eq!(error["a2aCode"], expected.1, "{error}");
    assert!(
        error["hint"]
            .as_str()
            .is_some_and(|hint| hint.contains("--debug")),
        "{error}"
    );
    for command in [
        &["task", "get"][..],
        &["task", "cancel"],
        &["task", "subscribe"],
    ] {
        let (code, error) = caller.error(&[command, &["no-such-task"]].concat());
        assert_eq!(code, Some(1), "{command:?}: {error}");
        assert_eq!(error["code"], "TaskNotFoundError", "{command:?}: {error}");
        assert_eq!(error["a2aCode"], -32001, "{command:?}: {error}");
    }
}

/// The lines that name a task, as each text begins.
struct Ids(String);

impl Ids {
    fn in_text(text: &str) -> Ids {
        let lines: Vec<&str> = text.lines().take(2).collect();
        let named = matches!(&lines[..], [task, context]
            if task.starts_with("Task ID: ") && context.starts_with("Context ID: "));
        assert!(named, "no ids at the beginning:\n{text}");
        Ids(format!("{}\n{}\n", lines[0], lines[1]))
    }
}

impl std::fmt::Display for Ids {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which member of a `StreamResponse` is there.
fn kind(event: &Value) -> &str {
    let members = event.as_object().expect("an object");
    assert_eq!(members.len(), 1, "{event}");
    members.keys().next().expect("a member")
}

/// The texts of a message or an artifact.
pub(super) fn texts(of: &Value) -> Vec<&str> {
    let parts = of["parts"]
        .as_array()
        .unwrap_or_else(|| panic!("no parts in {of}"));
    parts
        .iter()
        .filter_map(|part| part["text"].as_str())
        .collect()
}

pub(super) fn assert_facts(artifact: &Value) {
    let data = &artifact["parts"][0]["data"];
    // The protocol buffers make doubles of all numbers.
    assert_eq!(data["count"].as_f64(), Some(42.0), "{artifact}");
    assert_eq!(data["tags"], json!(["a", "b"]), "{artifact}");
}
