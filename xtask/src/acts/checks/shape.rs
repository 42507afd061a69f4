//! The shape of A2A's objects (specification 4): which members they have, of which kinds, and which
//! must be there. Stricter than any reader: a member that the specification does not name is wrong.

use serde_json::Value;

use super::{Checked, Mismatch};

enum Kind {
    Text,
    Bool,
    /// `google.protobuf.Struct`: any object.
    Struct,
    Any,
    Time,
    /// One of these texts.
    Enum(&'static [&'static str]),
    Object(&'static Shape),
    List(&'static Kind),
    Map(&'static Kind),
}

use Kind::{Any, Bool, Enum, List, Map, Object, Struct, Text, Time};

/// An object: its name, its members, and those of which exactly one is there.
pub struct Shape {
    name: &'static str,
    /// Name, kind, whether it must be there.
    members: &'static [(&'static str, Kind, bool)],
    one_of: &'static [&'static str],
}

const STATES: &[&str] = &[
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
];

static PART: Shape = Shape {
    name: "Part",
    members: &[
        ("text", Text, false),
        ("raw", Text, false),
        ("url", Text, false),
        ("data", Any, false),
        ("metadata", Struct, false),
        ("filename", Text, false),
        ("mediaType", Text, false),
    ],
    one_of: &["text", "raw", "url", "data"],
};

/// A Message.
pub static MESSAGE: Shape = Shape {
    name: "Message",
    members: &[
        ("messageId", Text, true),
        ("contextId", Text, false),
        ("taskId", Text, false),
        ("role", Enum(&["ROLE_USER", "ROLE_AGENT"]), true),
        ("parts", List(&Object(&PART)), true),
        ("metadata", Struct, false),
        ("extensions", List(&Text), false),
        ("referenceTaskIds", List(&Text), false),
    ],
    one_of: &[],
};

static ARTIFACT: Shape = Shape {
    name: "Artifact",
    members: &[
        ("artifactId", Text, true),
        ("name", Text, false),
        ("description", Text, false),
        ("parts", List(&Object(&PART)), true),
        ("metadata", Struct, false),
        ("extensions", List(&Text), false),
    ],
    one_of: &[],
};

static STATUS: Shape = Shape {
    name: "TaskStatus",
    members: &[
        ("state", Enum(STATES), true),
        ("message", Object(&MESSAGE), false),
        ("timestamp", Time, false),
    ],
    one_of: &[],
};

/// A Task.
pub static TASK: Shape = Shape {
    name: "Task",
    members: &[
        ("id", Text, true),
        ("contextId", Text, false),
        ("status", Object(&STATUS), true),
        ("artifacts", List(&Object(&ARTIFACT)), false),
        ("history", List(&Object(&MESSAGE)), false),
        ("metadata", Struct, false),
    ],
    one_of: &[],
};

static STATUS_UPDATE: Shape = Shape {
    name: "TaskStatusUpdateEvent",
    members: &[
        ("taskId", Text, true),
        ("contextId", Text, true),
        ("status", Object(&STATUS), true),
        ("metadata", Struct, false),
    ],
    one_of: &[],
};

static ARTIFACT_UPDATE: Shape = Shape {
    name: "TaskArtifactUpdateEvent",
    members: &[
        ("taskId", Text, true),
        ("contextId", Text, true),
        ("artifact", Object(&ARTIFACT), true),
        ("append", Bool, false),
        ("lastChunk", Bool, false),
        ("metadata", Struct, false),
    ],
    one_of: &[],
};

/// A StreamResponse, also the body of a push notification.
pub static STREAM_RESPONSE: Shape = Shape {
    name: "StreamResponse",
    members: &[
        ("task", Object(&TASK), false),
        ("message", Object(&MESSAGE), false),
        ("statusUpdate", Object(&STATUS_UPDATE), false),
        ("artifactUpdate", Object(&ARTIFACT_UPDATE), false),
    ],
    one_of: &["task", "message", "statusUpdate", "artifactUpdate"],
};

/// A SendMessageResponse.
pub static SEND_RESPONSE: Shape = Shape {
    name: "SendMessageResponse",
    members: &[
        ("task", Object(&TASK), false),
        ("message", Object(&MESSAGE), false),
    ],
    one_of: &["task", "message"],
};

static INTERFACE: Shape = Shape {
    name: "AgentInterface",
    members: &[
        ("url", Text, true),
        ("protocolBinding", Text, true),
        ("tenant", Text, false),
        ("protocolVersion", Text, true),
    ],
    one_of: &[],
};

static EXTENSION: Shape = Shape {
    name: "AgentExtension",
    members: &[
        ("uri", Text, true),
        ("description", Text, false),
        ("required", Bool, false),
        ("params", Struct, false),
    ],
    one_of: &[],
};

static CAPABILITIES: Shape = Shape {
    name: "AgentCapabilities",
    members: &[
        ("streaming", Bool, false),
        ("pushNotifications", Bool, false),
        ("extensions", List(&Object(&EXTENSION)), false),
        ("extendedAgentCard", Bool, false),
    ],
    one_of: &[],
};

static REQUIREMENT: Shape = Shape {
    name: "SecurityRequirement",
    members: &[("schemes", Map(&Object(&STRING_LIST)), false)],
    one_of: &[],
};

static STRING_LIST: Shape = Shape {
    name: "StringList",
    members: &[("list", List(&Text), false)],
    one_of: &[],
};

static SCHEME: Shape = Shape {
    name: "SecurityScheme",
    members: &[
        ("apiKeySecurityScheme", Struct, false),
        ("httpAuthSecurityScheme", Struct, false),
        ("oauth2SecurityScheme", Struct, false),
        ("openIdConnectSecurityScheme", Struct, false),
        ("mtlsSecurityScheme", Struct, false),
    ],
    one_of: &[
        "apiKeySecurityScheme",
        "httpAuthSecurityScheme",
        "oauth2SecurityScheme",
        "openIdConnectSecurityScheme",
        "mtlsSecurityScheme",
    ],
};

static SKILL: Shape = Shape {
    name: "AgentSkill",
    members: &[
        ("id", Text, true),
        ("name", Text, true),
        ("description", Text, true),
        ("tags", List(&Text), true),
        ("examples", List(&Text), false),
        ("inputModes", List(&Text), false),
        ("outputModes", List(&Text), false),
        ("securityRequirements", List(&Object(&REQUIREMENT)), false),
    ],
    one_of: &[],
};

static PROVIDER: Shape = Shape {
    name: "AgentProvider",
    members: &[("url", Text, true), ("organization", Text, true)],
    one_of: &[],
};

static SIGNATURE: Shape = Shape {
    name: "AgentCardSignature",
    members: &[
        ("protected", Text, true),
        ("signature", Text, true),
        ("header", Struct, false),
    ],
    one_of: &[],
};

/// An AgentCard.
pub static AGENT_CARD: Shape = Shape {
    name: "AgentCard",
    members: &[
        ("name", Text, true),
        ("description", Text, true),
        ("supportedInterfaces", List(&Object(&INTERFACE)), true),
        ("provider", Object(&PROVIDER), false),
        ("version", Text, true),
        ("documentationUrl", Text, false),
        ("capabilities", Object(&CAPABILITIES), true),
        ("securitySchemes", Map(&Object(&SCHEME)), false),
        ("securityRequirements", List(&Object(&REQUIREMENT)), false),
        ("defaultInputModes", List(&Text), true),
        ("defaultOutputModes", List(&Text), true),
        ("skills", List(&Object(&SKILL)), true),
        ("signatures", List(&Object(&SIGNATURE)), false),
        ("iconUrl", Text, false),
    ],
    one_of: &[],
};

/// Checks that `value` is an object of this shape, all the way down.
///
/// # Errors
/// The first member that is unknown, missing or of another kind.
pub fn check(shape: &Shape, value: &Value, path: &str) -> Checked {
    let wrong = |text: String| Err(Mismatch::new(path, text, Some(value)));
    let Value::Object(fields) = value else {
        return wrong(format!("is no {}", shape.name));
    };
    for (name, field) in fields {
        let Some((_, kind, _)) = shape.members.iter().find(|(known, ..)| known == name) else {
            return wrong(format!("{} has no member `{name}`", shape.name));
        };
        check_kind(kind, field, &format!("{path}.{name}"))?;
    }
    for (name, _, required) in shape.members {
        if *required && !fields.contains_key(*name) {
            return wrong(format!("{} lacks `{name}`", shape.name));
        }
    }
    let chosen = shape
        .one_of
        .iter()
        .filter(|name| fields.contains_key(**name))
        .count();
    if !shape.one_of.is_empty() && chosen != 1 {
        return wrong(format!(
            "{} has {chosen} of {:?}, not one",
            shape.name, shape.one_of
        ));
    }
    Ok(())
}

fn check_kind(kind: &Kind, value: &Value, path: &str) -> Checked {
    let fits = match kind {
        Object(shape) => return check(shape, value, path),
        List(kind) => {
            let Some(all) = value.as_array() else {
                return Err(Mismatch::new(path, "is no list", Some(value)));
            };
            let mut numbered = all.iter().enumerate();
            return numbered
                .try_for_each(|(at, value)| check_kind(kind, value, &format!("{path}[{at}]")));
        }
        Map(kind) => {
            let Some(all) = value.as_object() else {
                return Err(Mismatch::new(path, "is no map", Some(value)));
            };
            return all
                .iter()
                .try_for_each(|(key, value)| check_kind(kind, value, &format!("{path}.{key}")));
        }
        Text => value.is_string(),
        Bool => value.is_boolean(),
        Struct => value.is_object(),
        Any => true,
        Time => value.as_str().is_some_and(is_time),
        Enum(names) => value.as_str().is_some_and(|name| names.contains(&name)),
    };
    if fits {
        Ok(())
    } else {
        Err(Mismatch::new(path, "is of another kind", Some(value)))
    }
}

/// RFC 3339 in UTC, as the protobuf JSON mapping writes it.
fn is_time(text: &str) -> bool {
    let form = "0000-00-00T00:00:00";
    let (Some(head), Some(tail)) = (text.get(..form.len()), text.get(form.len()..)) else {
        return false;
    };
    let same = |(it, form): (char, char)| {
        if form == '0' {
            it.is_ascii_digit()
        } else {
            it == form
        }
    };
    let fraction = tail.strip_suffix('Z');
    head.chars().zip(form.chars()).all(same)
        && fraction.is_some_and(|it| {
            let digits = it.strip_prefix('.');
            it.is_empty()
                || digits
                    .is_some_and(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()))
        })
}

/// Member names in `value` that are not spelled in camelCase, outside of users' own objects.
#[must_use]
pub fn snake_case_names(value: &Value) -> Vec<String> {
    match value {
        Value::Array(all) => all.iter().flat_map(snake_case_names).collect(),
        Value::Object(fields) => {
            let own = fields
                .iter()
                .filter(|(name, _)| !["metadata", "data"].contains(&name.as_str()));
            own.flat_map(|(name, value)| {
                let mut names = snake_case_names(value);
                names.extend(name.contains('_').then(|| name.clone()));
                names
            })
            .collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn task() -> Value {
        json!({
            "id": "t",
            "contextId": "c",
            "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-01-02T03:04:05.678Z"},
            "artifacts": [{"artifactId": "a", "parts": [{"text": "x"}, {"data": [1]}]}],
            "history": [{"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}],
        })
    }

    #[test]
    fn a_sound_task_passes_and_every_damage_is_seen() {
        assert_eq!(check(&TASK, &task(), "task"), Ok(()));
        let damages = [
            ("/id", json!(1)),
            ("/status/state", json!("completed")),
            ("/status/timestamp", json!("2026-01-02T03:04:05+01:00")),
            ("/status/timestamp", json!("yesterday")),
            ("/artifacts", json!({})),
            ("/artifacts/0", json!({"artifactId": "a"})),
            ("/artifacts/0/parts/0", json!({"text": "x", "url": "u"})),
            ("/artifacts/0/parts/0", json!({"kind": "text", "text": "x"})),
            ("/artifacts/0/parts/0", json!({})),
            ("/history/0/role", json!("user")),
            ("/history/0", json!({"role": "ROLE_USER", "parts": []})),
            (
                "/status",
                json!({"state": "TASK_STATE_WORKING", "final": true}),
            ),
        ];
        for (place, damage) in damages {
            let mut broken = task();
            *broken.pointer_mut(place).unwrap() = damage.clone();
            assert!(check(&TASK, &broken, "task").is_err(), "{place}: {damage}");
        }
    }

    #[test]
    fn cards_and_events_are_looked_at_as_strictly() {
        let card = json!({
            "name": "n", "description": "d", "version": "1", "capabilities": {"streaming": true},
            "supportedInterfaces": [{"url": "u", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "s", "name": "n", "description": "d", "tags": ["t"]}],
        });
        assert_eq!(check(&AGENT_CARD, &card, "card"), Ok(()));
        for member in ["name", "skills", "capabilities", "supportedInterfaces"] {
            let mut broken = card.clone();
            broken.as_object_mut().unwrap().remove(member);
            assert!(check(&AGENT_CARD, &broken, "card").is_err(), "{member}");
        }
        let mut with_url = card;
        with_url["url"] = json!("http://x");
        assert!(
            check(&AGENT_CARD, &with_url, "card").is_err(),
            "a member of 0.3"
        );
        let update = json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}});
        assert_eq!(check(&STREAM_RESPONSE, &update, ""), Ok(()));
        assert!(check(&STREAM_RESPONSE, &json!({}), "").is_err());
        assert!(check(&SEND_RESPONSE, &update, "").is_err());
    }

    #[test]
    fn names_with_underscores_are_found_but_not_users_own() {
        let value = json!({"a": [{"task_id": 1}], "metadata": {"x_y": 1}, "data": {"x_y": 1}});
        assert_eq!(snake_case_names(&value), ["task_id"]);
    }
}
