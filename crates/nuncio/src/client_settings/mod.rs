//! The settings of the client commands: flags over variables over files over defaults, checked and
//! ready for use. `layers` knows where values come from, `options` how flags are spelled.

mod duration;
mod layers;
mod options;

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum as _;
use nuncio_client::tls::{Identity, Trust};
use nuncio_client::{Binding, Credential, Origin, Pace, Secret, VersionWish};
use url::Url;

pub(crate) use duration::parse_duration;
pub(crate) use layers::{Layers, Source, variable_name};
pub(crate) use options::{AgentOptions, OutputOptions, WaitOptions};

use crate::output::{CliError, Format, Output};

/// Pause between two polls when nothing else is said (a2a-cli specification 6.5).
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Shortest pause between two polls: less would be a busy loop on somebody else's server.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The word for the dialect that names no version.
const LEGACY_VERSION: &str = nuncio_wire::dialects::openfang::PROTOCOL_VERSION;
const FLEET_VERSION: &str = nuncio_wire::dialects::hermes_fleet::PROTOCOL_VERSION;

/// One setting as `config show` lists it.
pub(crate) struct KnownSetting {
    /// The long flag without its dashes.
    pub(crate) name: &'static str,
    /// What holds when nobody says anything.
    pub(crate) default: Option<&'static str>,
    /// Whether its value must not be shown.
    pub(crate) secret: bool,
}

const fn setting(name: &'static str, default: Option<&'static str>) -> KnownSetting {
    KnownSetting {
        name,
        default,
        secret: false,
    }
}

const fn secret(name: &'static str) -> KnownSetting {
    KnownSetting {
        name,
        default: None,
        secret: true,
    }
}

/// Every setting that a variable or a file may set.
pub(crate) const KNOWN_SETTINGS: [KnownSetting; 24] = [
    setting("agent-card", None),
    setting("transport", Some("the card's order")),
    setting("a2a-version", Some("the highest 1.x of both sides")),
    setting("output", Some("text")),
    setting("wait", Some("on for send, off for task get")),
    setting("async", Some("false")),
    setting("poll-interval", Some("2s, at first shorter")),
    setting("timeout", None),
    setting("context-id", None),
    setting("task-id", None),
    setting("metadata", None),
    setting("push-url", None),
    secret("push-token"),
    secret("webhook-secret"),
    // It may hold a credential of a scheme that is not known here.
    secret("svc-param"),
    secret("bearer"),
    secret("api-key"),
    setting("allow-origin", Some("the card's own origin")),
    setting("ca-cert", Some("the machine's authorities")),
    setting("client-cert", None),
    setting("client-key", None),
    setting("insecure", Some("false")),
    setting("verbose", Some("false")),
    setting("debug", Some("false")),
];

/// How to reach and address one agent.
#[derive(Clone, Debug)]
pub(crate) struct AgentSettings {
    /// As it was given; `None` when nobody named an agent.
    pub(crate) reference: Option<String>,
    /// Whether the reference stood on the command line, so that a follow-up needs it too.
    pub(crate) reference_by_flag: bool,
    pub(crate) bindings: Vec<Binding>,
    pub(crate) version: VersionWish,
    /// The version as it stood on the command line, likewise.
    pub(crate) version_by_flag: Option<String>,
    pub(crate) service_parameters: Vec<(String, String)>,
    pub(crate) credentials: Vec<Credential>,
    pub(crate) allowed_origins: Vec<Url>,
    pub(crate) insecure: bool,
    /// Authorities, in place of the machine's, and of the peer's entry.
    pub(crate) authorities: Option<Trust>,
    pub(crate) identity: Option<Identity>,
}

/// How long to wait and how often to ask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitSettings {
    pub(crate) pace: Pace,
    pub(crate) timeout: Option<Duration>,
    /// Said outright; each command has its own default.
    pub(crate) wait: Option<bool>,
}

/// Reads the layers below the flags and the settings that decide how errors are shown.
pub(crate) fn read_layers(options: &OutputOptions) -> Result<Layers, CliError> {
    Layers::read(options.config.as_deref())
}

/// The output settings. A wrong value outside the flags is an error, shown in the default format.
pub(crate) fn output_settings(
    options: &OutputOptions,
    layers: &Layers,
) -> Result<(Output, bool), CliError> {
    let read = |text: &str| Format::from_str(text, true).map_err(|_| "use text or json".to_owned());
    let format = match options.output {
        Some(format) => format,
        None => from_layers(layers, "output", read)?.unwrap_or_default(),
    };
    let verbose = switch(options.verbose, "verbose", layers)?;
    let debug = switch(options.debug, "debug", layers)?;
    Ok((Output { format, verbose }, debug))
}

/// The settings about the agent.
pub(crate) fn agent_settings(
    options: &AgentOptions,
    layers: &Layers,
) -> Result<AgentSettings, CliError> {
    let text = |flag: &Option<String>, name| {
        flag.clone()
            .or_else(|| layers.get(name).map(|(value, _)| value.to_owned()))
    };
    let bindings = match from_layers(layers, "transport", |text| list(text, parse))? {
        Some(bindings) if options.transport.is_empty() => bindings,
        _ => options.transport.clone(),
    };
    let version = text(&options.a2a_version, "a2a-version");
    let version = version.map_or(Ok(VersionWish::Current), |text| version_wish(&text))?;
    let bearer = text(&options.bearer, "bearer").map(|it| Credential::Bearer(Secret::new(it)));
    let api_key = text(&options.api_key, "api-key").map(|it| Credential::ApiKey(Secret::new(it)));
    let settings = AgentSettings {
        reference: text(&options.agent_card, "agent-card"),
        reference_by_flag: options.agent_card.is_some(),
        bindings,
        version,
        version_by_flag: options.a2a_version.clone(),
        service_parameters: repeated(&options.svc_param, "svc-param", layers, service_parameter)?,
        credentials: bearer.into_iter().chain(api_key).collect(),
        allowed_origins: repeated(&options.allow_origin, "allow-origin", layers, origin)?,
        insecure: switch(options.insecure, "insecure", layers)?,
        authorities: file_setting(options.ca_cert.as_ref(), "ca-cert", layers)
            .map(|path| Trust::only(&path))
            .transpose()
            .map_err(CliError::usage)?,
        identity: identity(options, layers)?,
    };
    Ok(settings)
}

fn file_setting(flag: Option<&PathBuf>, name: &str, layers: &Layers) -> Option<PathBuf> {
    flag.cloned()
        .or_else(|| layers.get(name).map(|(value, _)| value.into()))
}

/// A client certificate needs its key and the key its certificate, wherever they come from.
fn identity(options: &AgentOptions, layers: &Layers) -> Result<Option<Identity>, CliError> {
    let certificate = file_setting(options.client_cert.as_ref(), "client-cert", layers);
    let key = file_setting(options.client_key.as_ref(), "client-key", layers);
    match (certificate, key) {
        (None, None) => Ok(None),
        (Some(certificate), Some(key)) => Identity::read(&certificate, &key)
            .map(Some)
            .map_err(CliError::usage),
        _ => {
            let text = "a client certificate and its key belong together: give both \
                        --client-cert and --client-key";
            Err(CliError::usage(text))
        }
    }
}

/// The settings about waiting.
pub(crate) fn wait_settings(
    options: &WaitOptions,
    layers: &Layers,
) -> Result<WaitSettings, CliError> {
    let duration = |flag: Option<Duration>, name| match flag {
        Some(duration) => Ok(Some(duration)),
        None => from_layers(layers, name, parse_duration),
    };
    let interval = duration(options.poll_interval, "poll-interval")?;
    let pace = Pace {
        interval: interval
            .unwrap_or(DEFAULT_POLL_INTERVAL)
            .max(MIN_POLL_INTERVAL),
        ramp: interval.is_none(),
    };
    let wait = if options.wait {
        Some(true)
    } else {
        from_layers(layers, "wait", boolean)?
    };
    Ok(WaitSettings {
        pace,
        timeout: duration(options.timeout, "timeout")?,
        wait,
    })
}

/// A switch that a flag can only turn on.
pub(crate) fn switch(flag: bool, name: &str, layers: &Layers) -> Result<bool, CliError> {
    if flag {
        Ok(true)
    } else {
        Ok(from_layers(layers, name, boolean)?.unwrap_or(false))
    }
}

/// A text setting of the layers below the flags.
pub(crate) fn text_setting(flag: Option<&String>, name: &str, layers: &Layers) -> Option<String> {
    flag.cloned()
        .or_else(|| layers.get(name).map(|(value, _)| value.to_owned()))
}

fn from_layers<T>(
    layers: &Layers,
    name: &str,
    read: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, CliError> {
    let Some((text, source)) = layers.get(name) else {
        return Ok(None);
    };
    read(text).map(Some).map_err(|reason| {
        let variable = variable_name(name);
        let place = match source {
            Source::File(path) => format!("{variable} in {}", path.display()),
            _ => variable,
        };
        CliError::usage(format!("{place}: {reason}"))
    })
}

/// A repeatable setting: flags, else one line or comma-separated entries of a variable.
pub(crate) fn repeated<T>(
    flags: &[String],
    name: &str,
    layers: &Layers,
    read: fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, CliError> {
    if flags.is_empty() {
        return Ok(from_layers(layers, name, |text| list(text, read))?.unwrap_or_default());
    }
    let read_flag =
        |text: &String| read(text).map_err(|reason| CliError::usage(format!("--{name}: {reason}")));
    flags.iter().map(read_flag).collect()
}

fn list<T>(text: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    text.split([',', '\n'])
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .map(read)
        .collect()
}

fn parse<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

fn boolean(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err("use true or false".to_owned()),
    }
}

fn version_wish(text: &str) -> Result<VersionWish, CliError> {
    match text.trim() {
        "any" | "auto" => Ok(VersionWish::Any),
        LEGACY_VERSION => Ok(VersionWish::Legacy),
        FLEET_VERSION => Ok(VersionWish::Fleet),
        version => version.parse().map(VersionWish::Exactly).map_err(|error| {
            let text = format!("--a2a-version: {error}, nor 'any', '2025-04' or 'hermes-fleet'");
            CliError::usage(text)
        }),
    }
}

fn service_parameter(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("use NAME:VALUE")?;
    let (name, value) = (name.trim(), value.trim());
    let header = http::HeaderName::from_bytes(name.as_bytes()).is_ok();
    if !header || http::HeaderValue::from_str(value).is_err() {
        return Err("the name or the value cannot stand in a header".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}

fn origin(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("'{text}': {error}"))?;
    if Origin::of(&url).is_none() {
        return Err(format!(
            "'{text}' is no origin such as https://agents.example.org"
        ));
    }
    Ok(url)
}
