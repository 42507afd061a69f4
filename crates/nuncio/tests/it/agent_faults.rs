//! Agents at their worst, seen from outside: what floods takes no memory, and what a killed gateway leaves
//! behind ends by itself.

use nix::sys::signal::Signal;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Duration;

use crate::command_agents::{end_of_pipe, send_json};
use crate::program::Place;

/// An agent that speaks the Agent Client Protocol and does what the last word of a prompt says.
const PROGRAM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../gateway/tests/programs/acp_agent.py"
);
/// What a flood may cost: the longest line (16 MiB) as it grows, and what was said up to the limit.
const MOST_KIB: u64 = 96 * 1024;
/// A flood: 1 GiB.
const FLOOD: &str = "yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx | head -c 1073741824";

/// The configuration of such an agent, which keeps its sessions in the place.
fn acp(place: &Place, variables: &str) -> String {
    let path = std::env::var("PATH").expect("a path");
    format!(
        "[agents.acp]\nbackend = \"acp\"\ncommand = [\"python3\", {PROGRAM:?}]\n\
         env = {{ PATH = {path:?}, ACP_SESSIONS = {:?}{variables} }}\n",
        place.path()
    )
}

fn text_of(task: &Value) -> String {
    let parts = task["artifacts"][0]["parts"].as_array().expect("parts");
    parts.iter().filter_map(|it| it["text"].as_str()).collect()
}

#[test]
fn a_gibibyte_takes_no_memory_wherever_it_is_written() {
    let place = Place::new();
    place.script("text.sh", FLOOD);
    place.script(
        "line.sh",
        "cat > input; yes | tr -d '\\n' | head -c 1073741824",
    );
    place.script("noisy.sh", &format!("{FLOOD} >&2; echo done"));
    let program = |name: &str, protocol: &str| {
        format!(
            "[agents.{name}]\nbackend = \"command\"\ncommand = [\"./{name}.sh\"]\n\
             protocol = \"{protocol}\"\nmax_output_bytes = 1000000\n"
        )
    };
    let config = [
        acp(&place, ""),
        program("text", "text"),
        program("line", "jsonl"),
        program("noisy", "text"),
    ];
    place.write("nuncio.toml", &config.concat());
    let served = place.serve(&["--config", "nuncio.toml"]);
    let send = |agent: &str, text: &str| {
        let url = format!("{}/agents/{agent}", served.url);
        send_json(&place, &url, &[text])
    };
    assert_eq!(text_of(&send("acp", "hello")), "ECHO 1: hello");
    let before = served.peak_memory();
    for (agent, text, said) in [
        ("acp", "endless", Some("ECHO 1: endless")),
        ("acp", "noisy", Some("ECHO 1: noisy")),
        ("noisy", "go", Some("done\n")),
        ("text", "go", None),
        ("line", "go", None),
    ] {
        let task = send(agent, text);
        match said {
            Some(said) => assert_eq!(text_of(&task), said, "{agent} {text}"),
            None => assert_eq!(task["status"]["state"], "TASK_STATE_FAILED", "{agent}"),
        }
        let more = served.peak_memory().saturating_sub(before);
        println!("{more} KiB more after {agent} {text}");
        assert!(more < MOST_KIB, "{more} KiB after {agent} {text}");
    }
}

#[test]
fn an_agent_of_a_killed_gateway_ends_and_its_conversation_goes_on_with_the_next() {
    let place = Place::new();
    let ended = end_of_pipe(&place, "alive");
    let alive = format!(
        ", ACP_LOAD = \"1\", ACP_ALIVE = {:?}",
        place.path().join("alive")
    );
    place.write("nuncio.toml", &acp(&place, &alive));
    let served = place.serve(&["--config", "nuncio.toml"]);
    let first = send_json(&place, &served.url, &["hello"]);
    let context = first["contextId"].as_str().expect("a context");
    let mut send = place
        .command(&[
            "send",
            "-a",
            &served.url,
            "--stream",
            "-o",
            "json",
            "--context-id",
            context,
            "hang",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .expect("nuncio starts");
    let lines = BufReader::new(send.stdout.take().expect("a pipe")).lines();
    let mut lines = lines.map(|line| line.expect("UTF-8"));
    let opening: Value = lines
        .next()
        .map(|it| serde_json::from_str(&it))
        .expect("a line")
        .expect("JSON");
    let task = opening["task"]["id"].as_str().expect("a task");
    assert!(lines.any(|line| line.contains("begun")));
    served.signal(Signal::SIGKILL);
    served.wait();
    // The caller would try for a while to get its stream back.
    send.kill().expect("it still waits");
    send.wait().expect("it ends");
    let end = ended.recv_timeout(Duration::from_secs(20));
    end.expect("the agent still runs");

    place.write("nuncio.toml", &acp(&place, ", ACP_LOAD = \"1\""));
    let served = place.serve(&["--config", "nuncio.toml"]);
    let told = place
        .run(&["task", "get", "-a", &served.url, "-o", "json", task])
        .expect_success();
    let lost: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(lost["status"]["state"], "TASK_STATE_FAILED", "{lost}");
    assert_eq!(
        lost["status"]["message"]["metadata"]["reason"], "worker_lost",
        "{lost}"
    );
    let next = send_json(&place, &served.url, &["--context-id", context, "again"]);
    assert_eq!(text_of(&next), "ECHO 3: again", "{next}");
}
