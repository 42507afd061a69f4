//! Which dialect a JSON-RPC request speaks: its method's name, its version header and, for a send
//! under an old name, the look of its message (specification 3.6, appendix A).

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::Dialect;
use super::protobuf::Package;
use crate::error::{A2aError, ErrorKind};
use crate::operation::Method;
use crate::version::Version;

/// What a server is willing to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiation {
    /// Only exactly `1.0` is 1.0: an absent version means 0.3 as the specification says, and a
    /// later minor version is refused.
    pub strict_version: bool,
    /// Serve the method names of 0.3.
    pub v0_3: bool,
    /// Make up the id of a message that has none instead of refusing it; whoever reads the request
    /// passes the new id to [`Dialect::read_request_with`].
    pub missing_message_id: bool,
}

impl Default for Negotiation {
    fn default() -> Self {
        Self {
            strict_version: false,
            v0_3: true,
            missing_message_id: false,
        }
    }
}

/// What the version header says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Nothing,
    V1,
    V0_3,
}

/// Finds dialect and operation of a request. `version` is the value of `A2A-Version`, `params` the
/// JSON text that came with it. Names are never folded.
///
/// Errors: VersionNotSupported before anything else, then MethodNotFound. Operations without a
/// message show nothing of their generation: without a version they count as 0.3, and the caller
/// should prefer the dialect the task was made in (see [`follows_task`]).
pub fn negotiate(
    method: &str,
    version: Option<&str>,
    params: Option<&str>,
    policy: &Negotiation,
) -> Result<(Dialect, Method), A2aError> {
    let asked = read_version(version, policy)?;
    if let Some(known) = Method::from_name(method) {
        return match asked {
            Asked::V1 => Ok((Dialect::V1, known)),
            Asked::Nothing if !policy.strict_version => Ok((Dialect::V1, known)),
            Asked::Nothing => Err(unsupported("", "names of 1.0 need A2A-Version: 1.0")),
            Asked::V0_3 => Err(unsupported("0.3", "this method name belongs to 1.0")),
        };
    }
    let unknown = || {
        let shown: String = method.chars().take(MAX_SHOWN_CHARS).collect();
        A2aError::new(
            ErrorKind::MethodNotFound,
            format!("Method not found: {shown}"),
        )
    };
    let (known, origin) = slash_method(method)
        .filter(|_| policy.v0_3)
        .ok_or_else(unknown)?;
    match (asked, origin) {
        (Asked::V0_3, Origin::V1Slash) => Err(unknown()),
        (Asked::V1, _) | (Asked::Nothing, Origin::V1Slash) => Ok((Dialect::V1Slash, known)),
        (Asked::Nothing | Asked::V0_3, Origin::V0_3) => {
            let sends = matches!(known, Method::SendMessage | Method::SendStreamingMessage);
            let new = sends && params.is_some_and(is_visibly_v1);
            Ok((if new { Dialect::V1Slash } else { Dialect::V0_3 }, known))
        }
    }
}

/// Finds the dialect of a request over HTTP+JSON, where the path and not a name tells the generations
/// apart: `is_old_path` says that it begins with `/v1`, the prefix of 0.3.
///
/// Errors: VersionNotSupported, and MethodNotFound for old paths where 0.3 is not served.
pub fn negotiate_rest(
    is_old_path: bool,
    version: Option<&str>,
    policy: &Negotiation,
) -> Result<Dialect, A2aError> {
    if is_old_path && !policy.v0_3 {
        let text = "Nothing is served below /v1: A2A 0.3 is switched off here.";
        return Err(A2aError::new(ErrorKind::MethodNotFound, text));
    }
    match (read_version(version, policy)?, is_old_path) {
        (Asked::V0_3 | Asked::Nothing, true) => Ok(Dialect::V0_3),
        (Asked::V1, true) => Err(unsupported("1.0", "the paths of 1.0 have no /v1 in front")),
        (Asked::V1, false) => Ok(Dialect::V1),
        (Asked::Nothing, false) if !policy.strict_version => Ok(Dialect::V1),
        (Asked::Nothing, false) => Err(unsupported("", "paths of 1.0 need A2A-Version: 1.0")),
        (Asked::V0_3, false) => Err(unsupported("0.3", "the paths of 0.3 begin with /v1")),
    }
}

/// Finds the dialect of a request to the gRPC service of `package` (specification 10). `version` is
/// the metadata `a2a-version`.
///
/// Errors: VersionNotSupported where the service is another version's, MethodNotFound where that of
/// 0.3 is switched off.
pub fn negotiate_grpc(
    package: Package,
    version: Option<&str>,
    policy: &Negotiation,
) -> Result<Dialect, A2aError> {
    if package == Package::V0_3 && !policy.v0_3 {
        let text = "There is no such service: A2A 0.3 is switched off here.";
        return Err(A2aError::new(ErrorKind::MethodNotFound, text));
    }
    match (read_version(version, policy)?, package) {
        (Asked::V1, Package::V1) | (Asked::V0_3 | Asked::Nothing, Package::V0_3) => {
            Ok(package.dialect())
        }
        (Asked::Nothing, Package::V1) if !policy.strict_version => Ok(Dialect::V1),
        (Asked::Nothing, Package::V1) => {
            Err(unsupported("", "the service of 1.0 needs a2a-version: 1.0"))
        }
        (Asked::V0_3, Package::V1) => Err(unsupported("0.3", "this is the service of 1.0")),
        (Asked::V1, Package::V0_3) => Err(unsupported("1.0", "this is the service of 0.3")),
    }
}

/// Most characters of an unknown method's name that an error repeats.
const MAX_SHOWN_CHARS: usize = 64;

/// Whether a request under an old name shows nothing of its generation, so that it should be read
/// and answered in the dialect of the task it is about.
#[must_use]
pub fn follows_task(dialect: Dialect, method: Method, version: Option<&str>) -> bool {
    let sends = matches!(method, Method::SendMessage | Method::SendStreamingMessage);
    dialect == Dialect::V0_3 && !sends && version.is_none_or(|version| version.trim().is_empty())
}

fn read_version(version: Option<&str>, policy: &Negotiation) -> Result<Asked, A2aError> {
    let text = version.map(str::trim).unwrap_or_default();
    if text.is_empty() {
        return Ok(Asked::Nothing);
    }
    match text.parse::<Version>() {
        Ok(Version::V1_0) => Ok(Asked::V1),
        Ok(Version { major: 1, .. }) if !policy.strict_version => Ok(Asked::V1),
        Ok(Version::V0_3) => Ok(Asked::V0_3),
        _ => Err(unsupported(text, "this server speaks 1.0 and 0.3")),
    }
}

fn unsupported(version: &str, why: &str) -> A2aError {
    let shown: String = version.chars().take(16).collect();
    let message = format!("Protocol version '{shown}' is not supported here: {why}");
    A2aError::new(ErrorKind::VersionNotSupported, message).with("version", shown)
}

/// Who brought an old name up: those that 0.3 never had cannot mean 0.3.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    V0_3,
    V1Slash,
}

fn slash_method(name: &str) -> Option<(Method, Origin)> {
    let method = match name {
        "message/send" => Method::SendMessage,
        "message/stream" => Method::SendStreamingMessage,
        "tasks/get" => Method::GetTask,
        "tasks/cancel" => Method::CancelTask,
        "tasks/resubscribe" => Method::SubscribeToTask,
        // The second name is that of 0.2.
        "tasks/pushNotificationConfig/set" | "tasks/pushNotification/set" => {
            Method::CreateTaskPushNotificationConfig
        }
        "tasks/pushNotificationConfig/get" | "tasks/pushNotification/get" => {
            Method::GetTaskPushNotificationConfig
        }
        "tasks/pushNotificationConfig/list" => Method::ListTaskPushNotificationConfigs,
        "tasks/pushNotificationConfig/delete" => Method::DeleteTaskPushNotificationConfig,
        "agent/getAuthenticatedExtendedCard" | "agent/authenticatedExtendedCard" => {
            Method::GetExtendedAgentCard
        }
        "tasks/list" => return Some((Method::ListTasks, Origin::V1Slash)),
        "tasks/subscribe" => return Some((Method::SubscribeToTask, Origin::V1Slash)),
        "tasks/pushNotificationConfig/create" => {
            return Some((Method::CreateTaskPushNotificationConfig, Origin::V1Slash));
        }
        _ => return None,
    };
    Some((method, Origin::V0_3))
}

/// The old name of an operation that a client uses.
pub(super) fn slash_name(method: Method) -> &'static str {
    match method {
        Method::SendMessage => "message/send",
        Method::SendStreamingMessage => "message/stream",
        Method::GetTask => "tasks/get",
        Method::ListTasks => "tasks/list",
        Method::CancelTask => "tasks/cancel",
        Method::SubscribeToTask => "tasks/resubscribe",
        Method::CreateTaskPushNotificationConfig => "tasks/pushNotificationConfig/set",
        Method::GetTaskPushNotificationConfig => "tasks/pushNotificationConfig/get",
        Method::ListTaskPushNotificationConfigs => "tasks/pushNotificationConfig/list",
        Method::DeleteTaskPushNotificationConfig => "tasks/pushNotificationConfig/delete",
        Method::GetExtendedAgentCard => "agent/getAuthenticatedExtendedCard",
    }
}

/// The members of a send by which the generations differ.
#[derive(Deserialize)]
struct Sent<'a> {
    #[serde(borrow)]
    message: SentMessage<'a>,
}

#[derive(Deserialize)]
struct SentMessage<'a> {
    #[serde(borrow, default)]
    role: Option<&'a RawValue>,
    #[serde(default)]
    kind: Option<IgnoredAny>,
    #[serde(borrow, default)]
    parts: Vec<SentPart<'a>>,
}

#[derive(Deserialize)]
struct SentPart<'a> {
    #[serde(default)]
    kind: Option<IgnoredAny>,
    #[serde(default)]
    text: Option<IgnoredAny>,
    #[serde(default)]
    raw: Option<IgnoredAny>,
    #[serde(default)]
    url: Option<IgnoredAny>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

impl SentPart<'_> {
    /// In 0.3 a data part without a `kind` still holds an object.
    fn has_content_of_v1(&self) -> bool {
        let data = self.data.is_some_and(|data| !data.get().starts_with('{'));
        self.text.is_some() || self.raw.is_some() || self.url.is_some() || data
    }
}

/// Whether a message under an old name has the looks of 1.0: by its role, else by parts that have
/// content but no `kind`.
fn is_visibly_v1(params: &str) -> bool {
    let Ok(Sent { message }) = serde_json::from_str::<Sent<'_>>(params) else {
        return false;
    };
    match message.role.map(RawValue::get) {
        Some("\"user\"" | "\"agent\"") => false,
        Some(role) if role.starts_with("\"ROLE_") => true,
        Some(role) if role.bytes().all(|byte| byte.is_ascii_digit()) => true,
        _ => {
            let kinds = message.kind.is_some() || message.parts.iter().any(|p| p.kind.is_some());
            !kinds && message.parts.iter().any(SentPart::has_content_of_v1)
        }
    }
}
