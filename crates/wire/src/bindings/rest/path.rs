//! Paths below an agent's base: which resource they name and which verbs it takes
//! (specification 11.3).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::borrow::Cow;

use crate::operation::Method;

/// The verbs of the binding. HEAD is GET without the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are those of HTTP
pub enum Verb {
    Get,
    Post,
    Delete,
}

impl Verb {
    /// The verb as it stands in a request.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }

    /// Reads the verb of a request; names of methods are never folded (RFC 9110 section 9.1).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "GET" | "HEAD" => Some(Self::Get),
            "POST" => Some(Self::Post),
            "DELETE" => Some(Self::Delete),
            _ => None,
        }
    }
}

/// What a path names, with its ids decoded once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource<'a> {
    /// `message:send`
    Send,
    /// `message:stream`
    Stream,
    /// `tasks`
    Tasks,
    /// `tasks/{id}`
    Task(Cow<'a, str>),
    /// `tasks/{id}:cancel`
    Cancel(Cow<'a, str>),
    /// `tasks/{id}:subscribe`
    Subscribe(Cow<'a, str>),
    /// `tasks/{id}/pushNotificationConfigs`
    PushConfigs(Cow<'a, str>),
    /// `tasks/{id}/pushNotificationConfigs/{configId}`: the task, then the configuration
    PushConfig(Cow<'a, str>, Cow<'a, str>),
    /// `extendedAgentCard`; `card` in 0.3
    ExtendedCard,
}

const PUSH_CONFIGS: &str = "pushNotificationConfigs";

impl<'a> Resource<'a> {
    /// The resource that the raw segments of a path name below the base of the binding.
    #[must_use]
    pub fn find(segments: &[&'a str]) -> Option<Self> {
        match segments {
            ["extendedAgentCard"] => Some(Self::ExtendedCard),
            segments => Self::find_common(segments),
        }
    }

    /// The same for the segments after `v1`, where 0.3 has its paths.
    #[must_use]
    pub fn find_v0_3(segments: &[&'a str]) -> Option<Self> {
        match segments {
            ["card"] => Some(Self::ExtendedCard),
            segments => Self::find_common(segments),
        }
    }

    fn find_common(segments: &[&'a str]) -> Option<Self> {
        Some(match *segments {
            ["tasks"] => Self::Tasks,
            [verb] => match &*decode(verb)? {
                "message:send" => Self::Send,
                "message:stream" => Self::Stream,
                _ => return None,
            },
            ["tasks", task] => Self::task(decode(task)?),
            ["tasks", task, PUSH_CONFIGS] => Self::PushConfigs(decode(task)?),
            ["tasks", task, PUSH_CONFIGS, config] => {
                Self::PushConfig(decode(task)?, decode(config)?)
            }
            _ => return None,
        })
    }

    /// A task or what is to be done with it: the colon may have come encoded.
    fn task(segment: Cow<'a, str>) -> Self {
        for (suffix, resource) in [
            (":cancel", Self::Cancel as fn(Cow<'a, str>) -> Self),
            (":subscribe", Self::Subscribe),
        ] {
            let Some(length) = segment.strip_suffix(suffix).map(str::len) else {
                continue;
            };
            if length > 0 {
                return resource(cut(segment, length));
            }
        }
        Self::Task(segment)
    }

    /// The operation that `verb` asks for here; `None` if the resource does not take it.
    #[must_use]
    pub fn operation(&self, verb: Verb) -> Option<Method> {
        Some(match (self, verb) {
            (Self::Send, Verb::Post) => Method::SendMessage,
            (Self::Stream, Verb::Post) => Method::SendStreamingMessage,
            (Self::Tasks, Verb::Get) => Method::ListTasks,
            (Self::Task(_), Verb::Get) => Method::GetTask,
            (Self::Cancel(_), Verb::Post) => Method::CancelTask,
            // The proto has GET, the table of the text POST.
            (Self::Subscribe(_), Verb::Get | Verb::Post) => Method::SubscribeToTask,
            (Self::PushConfigs(_), Verb::Post) => Method::CreateTaskPushNotificationConfig,
            (Self::PushConfigs(_), Verb::Get) => Method::ListTaskPushNotificationConfigs,
            (Self::PushConfig(..), Verb::Get) => Method::GetTaskPushNotificationConfig,
            (Self::PushConfig(..), Verb::Delete) => Method::DeleteTaskPushNotificationConfig,
            (Self::ExtendedCard, Verb::Get) => Method::GetExtendedAgentCard,
            _ => return None,
        })
    }

    /// The verbs the resource takes, as the `Allow` header lists them.
    #[must_use]
    pub fn allowed(&self) -> &'static str {
        match self {
            Self::Send | Self::Stream | Self::Cancel(_) => "POST",
            Self::Tasks | Self::Task(_) | Self::ExtendedCard => "GET, HEAD",
            Self::Subscribe(_) | Self::PushConfigs(_) => "GET, HEAD, POST",
            Self::PushConfig(..) => "GET, HEAD, DELETE",
        }
    }

    /// The task the path names.
    #[must_use]
    pub fn task_id(&self) -> Option<&str> {
        match self {
            Self::Task(task)
            | Self::Cancel(task)
            | Self::Subscribe(task)
            | Self::PushConfigs(task)
            | Self::PushConfig(task, _) => Some(task),
            Self::Send | Self::Stream | Self::Tasks | Self::ExtendedCard => None,
        }
    }

    /// Appends the path to the base of the binding; it begins with a slash.
    pub(crate) fn write(&self, out: &mut String) {
        match self {
            Self::Send => out.push_str("/message:send"),
            Self::Stream => out.push_str("/message:stream"),
            Self::ExtendedCard => out.push_str("/extendedAgentCard"),
            Self::Tasks => out.push_str("/tasks"),
            Self::Task(task) | Self::Cancel(task) | Self::Subscribe(task) => {
                out.push_str("/tasks/");
                out.push_str(&encode(task));
                match self {
                    Self::Cancel(_) => out.push_str(":cancel"),
                    Self::Subscribe(_) => out.push_str(":subscribe"),
                    _ => {}
                }
            }
            Self::PushConfigs(task) | Self::PushConfig(task, _) => {
                out.push_str("/tasks/");
                out.push_str(&encode(task));
                out.push('/');
                out.push_str(PUSH_CONFIGS);
                if let Self::PushConfig(_, config) = self {
                    out.push('/');
                    out.push_str(&encode(config));
                }
            }
        }
    }
}

/// The first `length` bytes of a text that is borrowed if it was.
fn cut(text: Cow<'_, str>, length: usize) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..length]),
        Cow::Owned(mut text) => {
            text.truncate(length);
            Cow::Owned(text)
        }
    }
}

/// One segment, decoded once; `None` if it is empty or no UTF-8.
fn decode(segment: &str) -> Option<Cow<'_, str>> {
    let decoded = percent_decode_str(segment).decode_utf8().ok()?;
    Some(decoded).filter(|text| !text.is_empty())
}

/// What need not be encoded anywhere in a URL (RFC 3986 section 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A text as it may stand in a segment of a path or in a query.
pub(super) fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str) -> Option<Resource<'_>> {
        Resource::find(&path.split('/').collect::<Vec<_>>())
    }

    #[test]
    fn ids_are_decoded_once_and_the_colon_may_be_encoded() {
        let id = |text: &'static str| Cow::Borrowed(text);
        for (path, resource) in [
            ("message:send", Resource::Send),
            ("message%3Astream", Resource::Stream),
            ("tasks/a%2Fb", Resource::Task(id("a/b"))),
            ("tasks/a%252Fb", Resource::Task(id("a%2Fb"))),
            ("tasks/..", Resource::Task(id(".."))),
            ("tasks/x:cancel", Resource::Cancel(id("x"))),
            ("tasks/x%3Acancel", Resource::Cancel(id("x"))),
            ("tasks/x%3asubscribe", Resource::Subscribe(id("x"))),
            ("tasks/:cancel", Resource::Task(id(":cancel"))),
            (
                "tasks/x/pushNotificationConfigs/c%20d",
                Resource::PushConfig(id("x"), id("c d")),
            ),
        ] {
            assert_eq!(found(path), Some(resource), "{path}");
        }
        for path in [
            "message:send/",
            "tasks/",
            "tasks/%FF",
            "tasks/x/history",
            "Tasks",
            "card",
            "",
        ] {
            assert_eq!(found(path), None, "{path}");
        }
    }

    #[test]
    fn what_is_written_is_found() {
        for path in [
            "/message:send",
            "/tasks/a%2Fb%3Ac:cancel",
            "/tasks/%C3%A4/pushNotificationConfigs/c",
            "/extendedAgentCard",
        ] {
            let mut written = String::new();
            found(&path[1..]).unwrap().write(&mut written);
            assert_eq!(written, path);
        }
    }
}
