//! An agent that answers at once and does nothing else: the least that a turn costs. Says the moment
//! at which it spoke, or as many chunks as it is asked for.

use std::io::{BufRead, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// What a long answer consists of: 20 bytes.
pub(crate) const CHUNK: &str = "twenty bytes of text";
/// What stands before the moment of a short answer.
pub(crate) const SPOKEN_AT: &str = "spoken at ";
/// What a prompt for a long answer ends with, followed by the number of chunks.
pub(crate) const CHUNKS: &str = "chunks";

/// Nanoseconds since 1970 by the clock that all processes of a machine share.
pub(crate) fn now_nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX)
}

/// Answers requests until the input ends.
///
/// # Errors
/// When a line is no JSON, or nobody reads.
pub fn run(input: impl BufRead, output: impl Write) -> Result<()> {
    let mut output = std::io::BufWriter::new(output);
    for line in input.lines() {
        let request: Value = serde_json::from_str(&line?).context("a line is no JSON")?;
        let Some(id) = request.get("id") else {
            continue;
        };
        let result = match request["method"].as_str() {
            Some("initialize") => json!({ "protocolVersion": 1, "agentCapabilities": {} }),
            Some("session/new") => json!({ "sessionId": format!("session-{id}") }),
            Some("session/prompt") => {
                answer(&request["params"], &mut output)?;
                json!({ "stopReason": "end_turn" })
            }
            _ => json!({}),
        };
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

fn answer(params: &Value, output: &mut impl Write) -> Result<()> {
    let session = &params["sessionId"];
    let blocks = params["prompt"].as_array().map_or(&[][..], Vec::as_slice);
    let text = blocks.iter().rev().find_map(|block| block["text"].as_str());
    let words: Vec<&str> = text.unwrap_or_default().split_whitespace().collect();
    if let [.., CHUNKS, count] = words[..] {
        let line = chunk(session, CHUNK);
        for _ in 0..count.parse::<u64>()? {
            writeln!(output, "{line}")?;
        }
    } else {
        let line = chunk(session, &format!("{SPOKEN_AT}{}", now_nanos()));
        writeln!(output, "{line}")?;
        // A model takes its time after its first word, too.
        output.flush()?;
    }
    Ok(())
}

fn chunk(session: &Value, text: &str) -> Value {
    let update = json!({
        "sessionUpdate": "agent_message_chunk",
        "content": { "type": "text", "text": text },
    });
    let params = json!({ "sessionId": session, "update": update });
    json!({ "jsonrpc": "2.0", "method": "session/update", "params": params })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(requests: &[Value]) -> Vec<Value> {
        let input: String = requests.iter().map(|it| format!("{it}\n")).collect();
        let mut output = Vec::new();
        run(input.as_bytes(), &mut output).unwrap();
        let text = String::from_utf8(output).unwrap();
        let parse = |line: &str| serde_json::from_str(line).unwrap();
        text.lines().map(parse).collect()
    }

    fn prompt(text: &str) -> Value {
        let params = json!({ "sessionId": "s", "prompt": [{ "type": "text", "text": text }] });
        json!({ "jsonrpc": "2.0", "id": 7, "method": "session/prompt", "params": params })
    }

    #[test]
    fn a_prompt_is_answered_by_the_moment_and_the_end_of_the_turn() {
        let lines = lines_of(&[prompt("what time is it?")]);
        let said = lines[0]["params"]["update"]["content"]["text"].as_str();
        assert!(said.unwrap().starts_with(SPOKEN_AT));
        assert_eq!(lines[1]["result"]["stopReason"], "end_turn");
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn as_many_chunks_are_said_as_are_asked_for() {
        let lines = lines_of(&[prompt("say it in chunks 30")]);
        assert_eq!(lines.len(), 31);
        let said = &lines[29]["params"]["update"]["content"]["text"];
        assert_eq!(said, CHUNK);
        assert_eq!(CHUNK.len(), 20);
    }
}
