//! What is said to an MCP server, however it is reached: `initialize`, then `tools/list` page by page.

use async_trait::async_trait;
use serde_json::{Value, json};

/// The version that is offered.
const PROTOCOL_VERSION: &str = "2025-11-25";
/// Versions that a server may answer with; lists of tools are the same in all of them.
const KNOWN_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", PROTOCOL_VERSION];
/// Most tools that are read: more than a reader of cards looks at.
const MAX_TOOLS: usize = 200;
/// Most pages that are asked for: a server may say for ever that there is more.
const MAX_PAGES: usize = 20;

/// A way to a server, for one exchange.
#[async_trait]
pub(super) trait Channel: Send {
    /// Asks and waits for the answer's `result`. The error is for the operator.
    async fn call(&mut self, method: &'static str, params: Value) -> Result<Value, String>;

    /// Says what has no answer.
    async fn notify(&mut self, method: &'static str) -> Result<(), String>;

    /// The version that both sides speak from now on.
    fn agreed(&mut self, version: &str);
}

/// The tools of a server, as it lists them.
pub(super) async fn list_tools(channel: &mut dyn Channel) -> Result<Vec<Value>, String> {
    let params = json!({
        "protocolVersion": PROTOCOL_VERSION,
        "capabilities": {},
        "clientInfo": { "name": "nuncio", "version": env!("CARGO_PKG_VERSION") },
    });
    let about = channel.call("initialize", params).await?;
    let version = about["protocolVersion"].as_str().unwrap_or_default();
    if !KNOWN_VERSIONS.contains(&version) {
        let version = nuncio_client::plain(version);
        return Err(format!(
            "it speaks version `{version}` of MCP, which is not known here"
        ));
    }
    channel.agreed(version);
    channel.notify("notifications/initialized").await?;
    if about["capabilities"]["tools"].is_null() {
        return Ok(Vec::new());
    }
    let mut tools = Vec::new();
    let mut params = json!({});
    for _ in 0..MAX_PAGES {
        let mut page = channel.call("tools/list", params).await?;
        let Value::Array(listed) = page["tools"].take() else {
            return Err("its list of tools is none".to_owned());
        };
        tools.extend(listed);
        tools.truncate(MAX_TOOLS);
        let cursor = page["nextCursor"].take();
        if cursor.is_null() || tools.len() == MAX_TOOLS {
            break;
        }
        params = json!({ "cursor": cursor });
    }
    Ok(tools)
}

/// A request as JSON-RPC has it.
pub(super) fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A message without an answer.
pub(super) fn notification(method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": method })
}

/// The answer to the request `id`, if `message` is that.
pub(super) fn answer(message: &mut Value, id: u64) -> Option<Result<Value, String>> {
    if message["id"].as_u64() != Some(id) || message.get("method").is_some() {
        return None;
    }
    let error = &message["error"];
    if error.is_null() {
        return Some(Ok(message["result"].take()));
    }
    let text = error["message"]
        .as_str()
        .unwrap_or("an error without a text");
    Some(Err(format!("it answered: {}", nuncio_client::plain(text))))
}

/// What a request of the server gets: it may look whether we are there, and nothing else.
pub(super) fn reply(message: &Value) -> Option<Value> {
    let (id, method) = (message.get("id")?, message.get("method")?.as_str()?);
    Some(match method {
        "ping" => json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
        _ => {
            let error = json!({ "code": -32601, "message": "Method not found" });
            json!({ "jsonrpc": "2.0", "id": id, "error": error })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers in turn, the last first.
    struct Scripted {
        answers: Vec<Result<Value, String>>,
        asked: Vec<(&'static str, Value)>,
        version: String,
    }

    #[async_trait]
    impl Channel for Scripted {
        async fn call(&mut self, method: &'static str, params: Value) -> Result<Value, String> {
            self.asked.push((method, params));
            self.answers.pop().unwrap_or(Err("nothing more".to_owned()))
        }

        async fn notify(&mut self, method: &'static str) -> Result<(), String> {
            self.asked.push((method, Value::Null));
            Ok(())
        }

        fn agreed(&mut self, version: &str) {
            version.clone_into(&mut self.version);
        }
    }

    fn about(version: &str) -> Result<Value, String> {
        Ok(json!({ "protocolVersion": version, "capabilities": { "tools": {} } }))
    }

    async fn list(
        mut answers: Vec<Result<Value, String>>,
    ) -> (Result<Vec<Value>, String>, Scripted) {
        answers.reverse();
        let mut channel = Scripted {
            answers,
            asked: Vec::new(),
            version: String::new(),
        };
        (list_tools(&mut channel).await, channel)
    }

    #[tokio::test]
    async fn pages_are_read_to_the_last() {
        let (tools, channel) = list(vec![
            about("2025-06-18"),
            Ok(json!({ "tools": [{ "name": "a" }], "nextCursor": "next" })),
            Ok(json!({ "tools": [{ "name": "b" }] })),
        ])
        .await;
        assert_eq!(
            tools,
            Ok(vec![json!({ "name": "a" }), json!({ "name": "b" })])
        );
        assert_eq!(channel.version, "2025-06-18");
        let methods: Vec<_> = channel.asked.iter().map(|(method, _)| *method).collect();
        let expected = [
            "initialize",
            "notifications/initialized",
            "tools/list",
            "tools/list",
        ];
        assert_eq!(methods, expected);
        assert_eq!(channel.asked[3].1, json!({ "cursor": "next" }));
    }

    #[tokio::test]
    async fn a_list_has_an_end() {
        let page = || Ok(json!({ "tools": [{ "name": "a" }], "nextCursor": "more" }));
        let mut answers = vec![about("2025-11-25")];
        answers.extend((0..MAX_PAGES + 5).map(|_| page()));
        assert_eq!(list(answers).await.0.unwrap().len(), MAX_PAGES);
        let many: Vec<_> = (0..MAX_TOOLS + 1).map(|_| json!({ "name": "a" })).collect();
        let answers = vec![about("2025-11-25"), Ok(json!({ "tools": many }))];
        assert_eq!(list(answers).await.0.unwrap().len(), MAX_TOOLS);
    }

    #[tokio::test]
    async fn a_server_without_tools_is_not_asked_for_them() {
        let about = Ok(json!({ "protocolVersion": "2024-11-05", "capabilities": {} }));
        assert_eq!(list(vec![about]).await.0, Ok(Vec::new()));
    }

    #[tokio::test]
    async fn what_is_no_server_says_so() {
        for (answers, text) in [
            (vec![about("1999-01-01")], "1999-01-01"),
            (vec![Ok(json!({}))], "is not known"),
            (
                vec![about("2025-11-25"), Ok(json!({ "tools": 1 }))],
                "list of tools",
            ),
            (vec![about("2025-11-25")], "nothing more"),
        ] {
            let error = list(answers).await.0.unwrap_err();
            assert!(error.contains(text), "{error}");
        }
    }

    #[test]
    fn an_answer_is_told_from_what_the_server_asks() {
        let mut ours = json!({ "id": 1, "result": { "a": 1 } });
        assert_eq!(answer(&mut ours, 1), Some(Ok(json!({ "a": 1 }))));
        assert_eq!(answer(&mut json!({ "id": 2, "result": {} }), 1), None);
        let mut refused = json!({ "id": 1, "error": { "code": 1, "message": "no" } });
        assert_eq!(
            answer(&mut refused, 1),
            Some(Err("it answered: no".to_owned()))
        );
        let mut asked = json!({ "id": 1, "method": "ping" });
        assert_eq!(answer(&mut asked, 1), None);
        assert_eq!(reply(&asked).unwrap()["result"], json!({}));
        let roots = reply(&json!({ "id": "x", "method": "roots/list" })).unwrap();
        assert_eq!(
            (&roots["id"], &roots["error"]["code"]),
            (&json!("x"), &json!(-32601))
        );
        assert_eq!(reply(&json!({ "method": "notifications/message" })), None);
    }
}
