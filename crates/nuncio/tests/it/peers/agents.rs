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

/// Each program with its name and how it is spoken to.
const PROGRAMS: [(&str, &str, &str); 6] = [
    ("chunks", "text", CHUNKS),
    ("asks", "text", ASKS),
    ("patient", "text", PATIENT),
    ("fails", "text", FAILS),
    ("report", "jsonl", REPORT),
    ("oracle", "jsonl", ORACLE),
];

/// Starts the gateway; `more` is added to its configuration.
pub(super) fn serve(place: &Place, store: &str, more: &str) -> Served {
    let mut text = "[log]\nlevel = \"warn\"\n[agents.echo]\nbackend = \"echo\"\n\
                    description = \"Repeats what it is sent\"\n"
        .to_owned();
    for (name, protocol, body) in PROGRAMS {
        place.script(&format!("{name}.sh"), body);
        text += &format!(
            "[agents.{name}]\nbackend = \"command\"\ncommand = [\"./{name}.sh\"]\n\
             protocol = \"{protocol}\"\n"
        );
    }
    place.write("nuncio.toml", &(text + more));
    place.serve(&["--store", store])
}
