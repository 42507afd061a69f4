//! The agents that the SDKs talk to: one gateway with `echo` and a program for each behaviour.

use crate::program::{Place, Served};

/// Writes 160 KiB, more than a pipe holds, so that they come in several chunks.
const CHUNKS: &str = "cat >/dev/null; yes 0123456789abcde | head -c 163840";

/// Asks back once, then answers with what it was told.
const ASKS: &str = r#"said=$(cat)
case $A2A_TURN in
first) echo "[INPUT_REQUIRED] Which colour?" ;;
*) printf 'Painted it %s.' "$said" ;;
esac"#;

/// Runs until it is cancelled.
const PATIENT: &str = "cat >/dev/null; echo started; exec sleep 600";

/// Ends badly, with words that are for the operator only.
const FAILS: &str = "cat >/dev/null; echo 'hunter2' >&2; exit 3";

/// Progress, a text in three chunks, data, files, and words at the end.
const REPORT: &str = r#"cat >/dev/null; cat <<'END'
{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","message":{"role":"ROLE_AGENT","parts":[{"text":"Looking it up"}]}}}}
{"artifactUpdate":{"artifact":{"artifactId":"notes","name":"notes","parts":[{"text":"one "}]}}}
{"artifactUpdate":{"artifact":{"artifactId":"notes","name":"notes","parts":[{"text":"two "}]},"append":true}}
{"artifactUpdate":{"artifact":{"artifactId":"notes","name":"notes","parts":[{"text":"three"}]},"append":true,"lastChunk":true}}
{"artifactUpdate":{"artifact":{"artifactId":"facts","name":"facts","parts":[{"data":{"count":42,"tags":["a","b"]}}]},"lastChunk":true}}
{"artifactUpdate":{"artifact":{"artifactId":"plot","name":"plot","parts":[{"raw":"AP8=","filename":"plot.png","mediaType":"image/png"},{"url":"https://example.com/plot.svg","filename":"plot.svg","mediaType":"image/svg+xml"}]},"lastChunk":true}}
{"statusUpdate":{"status":{"state":"TASK_STATE_COMPLETED","message":{"role":"ROLE_AGENT","parts":[{"text":"Here it is"}]}}}}
END"#;

/// Answers with a message instead of a task.
const ORACLE: &str = r#"cat >/dev/null
echo '{"message":{"role":"ROLE_AGENT","parts":[{"text":"Forty-two."}]}}'"#;

/// A name, how the program is spoken to, and the program.
type Program = (&'static str, &'static str, &'static str);

const PROGRAMS: [Program; 6] = [
    ("chunks", "text", CHUNKS),
    ("asks", "text", ASKS),
    ("patient", "text", PATIENT),
    ("fails", "text", FAILS),
    ("report", "jsonl", REPORT),
    ("oracle", "jsonl", ORACLE),
];

const SETTINGS: &str = "[log]\nlevel = \"warn\"\n\
    [security]\npush_allow_addresses = [\"127.0.0.1\"]\n";

const ECHO: &str = "[agents.echo]\nbackend = \"echo\"\n\
    description = \"Repeats what it is sent\"\n";

/// Starts the gateway; `more` is added to its configuration.
pub(super) fn serve(place: &Place, store: &str, more: &str) -> Served {
    let programs = PROGRAMS.iter().map(|program| agent(place, program));
    let text = SETTINGS.to_owned() + ECHO + &programs.collect::<String>();
    place.write("nuncio.toml", &(text + more));
    place.serve(&["--store", store])
}

/// Starts a gateway for each of the programs alone, for those who can name a gateway but no agent.
/// A name with its gateway, each in a place of its own.
pub(super) fn serve_apart(store: &str, more: &str) -> Vec<(&'static str, Place, Served)> {
    let serve = |program: &Program| {
        let place = Place::new();
        let text = SETTINGS.to_owned() + &agent(&place, program);
        place.write("nuncio.toml", &(text + more));
        let served = place.serve(&["--store", store]);
        (program.0, place, served)
    };
    PROGRAMS.iter().map(serve).collect()
}

/// Writes a program; its part of the configuration.
fn agent(place: &Place, (name, protocol, body): &Program) -> String {
    place.script(&format!("{name}.sh"), body);
    format!(
        "[agents.{name}]\nbackend = \"command\"\ncommand = [\"./{name}.sh\"]\n\
         protocol = \"{protocol}\"\n"
    )
}
