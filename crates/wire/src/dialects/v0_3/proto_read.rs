//! What sets 0.3's proto JSON apart when it is read: how it is told from the text's form, its data
//! parts, which hold their object one level deeper, and the bytes of its files. Everything else the
//! lenient readers take.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::file_bytes::read_file_bytes;
use crate::dialects::lenient::DATA_PART_COMPAT;
use crate::event::StreamResponse;
use crate::json::Metadata;
use crate::message::Message;
use crate::operation::{Request, Response, SendMessageResponse};
use crate::part::{Part, PartContent};
use crate::task::Task;

/// The members by which the bodies of requests differ.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[serde(default, alias = "request")]
    message: Option<Sent>,
    #[serde(default)]
    id: Option<IgnoredAny>,
    #[serde(default, alias = "task_id")]
    task_id: Option<IgnoredAny>,
    #[serde(default)]
    config: Option<Config>,
    #[serde(default, alias = "push_notification_config")]
    push_notification_config: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Sent {
    #[serde(default)]
    content: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    name: Option<IgnoredAny>,
}

/// Whether the body of a request is spelled as the text of 0.3 has it, and not as its proto.
pub(crate) fn is_text_form(params: &str) -> bool {
    let Ok(body) = serde_json::from_str::<Body>(params) else {
        return false;
    };
    match (body.message, body.config) {
        (Some(message), _) => message.content.is_none(),
        (None, Some(config)) => config.name.is_none(),
        (None, None) => {
            body.id.is_some() || body.task_id.is_some() || body.push_notification_config.is_some()
        }
    }
}

/// Reads out of a message that came as the JSON of the proto, `text`, what is said otherwise there:
/// its data parts have one more object around them, the bytes of its files are text, and a
/// configuration that does not say `blocking` says false, as writers of proto leave that out.
pub(crate) fn settle_request(text: &str, request: &mut Request) {
    #[derive(Deserialize)]
    struct Sent {
        #[serde(default)]
        configuration: Option<Configuration>,
    }
    #[derive(Deserialize)]
    struct Configuration {
        #[serde(default)]
        blocking: Option<bool>,
    }
    let (Request::SendMessage(send) | Request::SendStreamingMessage(send)) = request else {
        return;
    };
    unwrap_message(&mut send.message);
    let sent = serde_json::from_str::<Sent>(text);
    let configuration = sent.ok().and_then(|sent| sent.configuration);
    if configuration.is_some_and(|it| it.blocking.is_none()) {
        send.configuration.return_immediately = true;
    }
}

/// The parts of an answer, if `text`, from which it was read, is the JSON of the proto.
pub(crate) fn unwrap_response_parts(text: &str, response: &mut Response) {
    if has_kind(text) {
        return;
    }
    match response {
        Response::SendMessage(SendMessageResponse::Task(task)) | Response::Task(task) => {
            unwrap_task(task);
        }
        Response::SendMessage(SendMessageResponse::Message(message)) => unwrap_message(message),
        _ => {}
    }
}

/// The same for an event.
pub(crate) fn unwrap_event_parts(text: &str, event: &mut StreamResponse) {
    if has_kind(text) {
        return;
    }
    match event {
        StreamResponse::Task(task) => unwrap_task(task),
        StreamResponse::Message(message) => unwrap_message(message),
        StreamResponse::StatusUpdate(update) => {
            update.status.message.iter_mut().for_each(unwrap_message);
        }
        StreamResponse::ArtifactUpdate(update) => {
            update.artifact.parts.iter_mut().for_each(unwrap_part);
        }
    }
}

/// The objects of 0.3's text say what they are, those of its proto do not.
fn has_kind(text: &str) -> bool {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Inner {
        kind: Option<IgnoredAny>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Outer {
        #[serde(default)]
        kind: Option<IgnoredAny>,
        #[serde(default)]
        task: Option<Inner>,
        #[serde(default)]
        message: Option<Inner>,
        #[serde(default)]
        status_update: Option<Inner>,
        #[serde(default)]
        artifact_update: Option<Inner>,
    }
    serde_json::from_str::<Outer>(text).is_ok_and(|outer| {
        let inner = [
            outer.task,
            outer.message,
            outer.status_update,
            outer.artifact_update,
        ];
        outer.kind.is_some() || inner.into_iter().flatten().any(|it| it.kind.is_some())
    })
}

fn unwrap_task(task: &mut Task) {
    task.status.message.iter_mut().for_each(unwrap_message);
    task.history.iter_mut().for_each(unwrap_message);
    for artifact in task.artifacts.iter_mut().flatten() {
        artifact.parts.iter_mut().for_each(unwrap_part);
    }
}

fn unwrap_message(message: &mut Message) {
    message.parts.iter_mut().for_each(unwrap_part);
}

/// `{"data":{…}}` to `{…}`; with the mark of a content that is no object, `{"data":{"value":…}}` to
/// what it holds.
fn unwrap_part(part: &mut Part) {
    if let PartContent::Raw(bytes) = &mut part.content {
        *bytes = read_file_bytes(std::mem::take(bytes));
    }
    let PartContent::Data(outer) = &part.content else {
        return;
    };
    let Ok(outer) = Metadata::from_raw(outer.clone()) else {
        return;
    };
    let Some(inner) = outer.member("data") else {
        return;
    };
    if outer.without_member("data").is_some() {
        return;
    }
    let marked = part.metadata.as_ref().filter(|it| {
        it.member(DATA_PART_COMPAT)
            .is_some_and(|m| m.get() == "true")
    });
    let value = Metadata::from_raw(inner.clone())
        .ok()
        .filter(|_| marked.is_some())
        .and_then(|object| object.member("value"));
    if value.is_some() {
        part.metadata = marked.and_then(|it| it.without_member(DATA_PART_COMPAT));
    }
    part.content = PartContent::Data(value.unwrap_or(inner));
}
