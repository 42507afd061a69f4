//! Messages: one turn of a conversation (specification 4.1.4).

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;

use crate::error::FieldViolation;
use crate::json::{Metadata, json_object};
use crate::limits::{MAX_ID_CHARS, MAX_LIST_ENTRIES, MAX_PARTS};
use crate::part::{Part, PartContent};

/// One turn of a conversation, from the user or from the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Made by the sender; required.
    pub message_id: String,
    /// The conversation it belongs to; the server infers or makes it when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// The task it continues; a server never takes a new task's id from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Who speaks; required.
    pub role: Role,
    /// The content; at least one part.
    pub parts: Vec<Part>,
    /// User JSON about the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// URIs of the extensions that took part in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// Other tasks it refers to; informational.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reference_task_ids: Vec<String>,
}

json_object!(required Message {
    message_id: "messageId" | "message_id",
    context_id: "contextId" | "context_id",
    task_id: "taskId" | "task_id",
    role: "role",
    parts: "parts",
    metadata: "metadata",
    extensions: "extensions",
    reference_task_ids: "referenceTaskIds" | "reference_task_ids",
});

impl Message {
    /// A message with these parts and no ids but its own.
    #[must_use]
    pub fn new(message_id: impl Into<String>, role: Role, parts: Vec<Part>) -> Self {
        Self {
            message_id: message_id.into(),
            context_id: None,
            task_id: None,
            role,
            parts,
            metadata: None,
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        }
    }

    /// All text parts, joined by newlines; empty when there is none.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.parts.iter().filter_map(Part::as_text).collect();
        texts.join("\n")
    }

    /// Checks what a caller sends: required members, ids, bounds, U+0000 (specification 5.7).
    pub(crate) fn validate(&self, path: &str, violations: &mut Vec<FieldViolation>) {
        let mut wrong = |field: &str, description: String| {
            violations.push(FieldViolation::new(format!("{path}.{field}"), description));
        };
        if self.message_id.is_empty() {
            wrong("messageId", "is required".to_owned());
        } else if let Err(reason) = check_free_id(&self.message_id) {
            wrong("messageId", reason);
        }
        if self.role == Role::Unspecified {
            wrong("role", format!("is required: {}", Role::ALLOWED));
        }
        if self.parts.is_empty() {
            wrong("parts", "must have at least one part".to_owned());
        }
        if let Some(Err(reason)) = self.context_id.as_deref().map(check_id) {
            wrong("contextId", reason);
        }
        if let Some(Err(reason)) = self.metadata.as_ref().map(Metadata::check_limits) {
            wrong("metadata", reason);
        }
        if let Some(Err(reason)) = self.task_id.as_deref().map(no_nul) {
            wrong("taskId", reason);
        }
        let lists = [
            ("extensions", &self.extensions),
            ("referenceTaskIds", &self.reference_task_ids),
        ];
        for (field, list) in lists {
            if let Err(reason) = check_list(list) {
                wrong(field, reason);
            }
        }
        if self.parts.len() > MAX_PARTS {
            // One fault is told, not one for each of perhaps a million parts.
            return wrong(
                "parts",
                format!("must not have more than {MAX_PARTS} parts"),
            );
        }
        for (index, part) in self.parts.iter().enumerate() {
            if let Err((field, reason)) = check_part(part) {
                wrong(&format!("parts[{index}].{field}"), reason);
            }
        }
    }
}

fn check_part(part: &Part) -> Result<(), (&'static str, String)> {
    match &part.content {
        PartContent::Text(text) => no_nul(text).map_err(|reason| ("text", reason))?,
        PartContent::Url(url) if url.is_empty() => {
            return Err(("url", "must not be empty".to_owned()));
        }
        PartContent::Url(url) => no_nul(url).map_err(|reason| ("url", reason))?,
        PartContent::Data(data) => data.check_depth().map_err(|reason| ("data", reason))?,
        PartContent::Raw(_) => {}
    }
    if let Some(name) = &part.filename {
        no_nul(name).map_err(|reason| ("filename", reason))?;
    }
    if let Some(media_type) = &part.media_type {
        no_nul(media_type).map_err(|reason| ("mediaType", reason))?;
    }
    if let Some(metadata) = &part.metadata {
        metadata
            .check_limits()
            .map_err(|reason| ("metadata", reason))?;
    }
    Ok(())
}

/// Names and ids in a list that is only repeated.
pub(crate) fn check_list(list: &[String]) -> Result<(), String> {
    if list.len() > MAX_LIST_ENTRIES {
        return Err(format!(
            "must not have more than {MAX_LIST_ENTRIES} entries"
        ));
    }
    list.iter().try_for_each(|entry| no_nul(entry))
}

/// U+0000 cannot be stored by every store, so none takes it.
pub(crate) fn no_nul(text: &str) -> Result<(), String> {
    if memchr::memchr(0, text.as_bytes()).is_some() {
        return Err("must not contain U+0000".to_owned());
    }
    Ok(())
}

/// An id that is only repeated, never used as a key of ours.
pub(crate) fn check_free_id(id: &str) -> Result<(), String> {
    no_nul(id)?;
    if id.chars().count() > MAX_ID_CHARS {
        return Err(format!("must not be longer than {MAX_ID_CHARS} characters"));
    }
    Ok(())
}

/// A context id that a caller chooses: 1 to 128 of `A-Z a-z 0-9 . _ : -`, not starting with a dot.
pub(crate) fn check_id(id: &str) -> Result<(), String> {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':' | b'-');
    if id.len() > MAX_ID_CHARS || id.starts_with('.') || !id.bytes().all(plain) {
        return Err(format!(
            "must be 1 to {MAX_ID_CHARS} of A-Z a-z 0-9 . _ : - and must not start with a dot"
        ));
    }
    Ok(())
}

/// Who speaks in a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub enum Role {
    /// Not said; never valid in a request.
    #[default]
    #[serde(rename = "ROLE_UNSPECIFIED")]
    Unspecified,
    /// The client.
    #[serde(rename = "ROLE_USER")]
    User,
    /// The agent.
    #[serde(rename = "ROLE_AGENT")]
    Agent,
}

impl Role {
    const ALLOWED: &'static str = "ROLE_USER or ROLE_AGENT";

    /// Its number in protobuf.
    #[must_use]
    pub fn number(self) -> i32 {
        self as i32
    }

    /// The role with this number in protobuf.
    #[must_use]
    pub fn from_number(number: i32) -> Option<Self> {
        match number {
            0 => Some(Self::Unspecified),
            1 => Some(Self::User),
            2 => Some(Self::Agent),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Role {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RoleVisitor;
        impl Visitor<'_> for RoleVisitor {
            type Value = Role;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(Role::ALLOWED)
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<Role, E> {
                match name {
                    "ROLE_USER" => Ok(Role::User),
                    "ROLE_AGENT" => Ok(Role::Agent),
                    "ROLE_UNSPECIFIED" => Ok(Role::Unspecified),
                    _ => Err(E::invalid_value(de::Unexpected::Str(name), &self)),
                }
            }
            // An enum may also arrive as its number (ProtoJSON).
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Role, E> {
                let known = i32::try_from(number).ok().and_then(Role::from_number);
                known.ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(number), &self))
            }
        }
        deserializer.deserialize_any(RoleVisitor)
    }
}
