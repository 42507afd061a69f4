//! Errors of the client commands: one code, one text, one next step, one exit status
//! (a2a-cli specification 11.4, 11.6).
//!
//! A failure that the protocol names keeps the protocol's name; ours begin with `A2ACLI_ERR_`.

use std::borrow::Cow;

use nuncio_client::{ClientError, ClientErrorKind};
use serde::Serialize;

use crate::exit_code::ExitCode;
use crate::output::fields::Fields;

/// An error as it is shown.
#[derive(Clone, Debug)]
pub(crate) struct CliError {
    code: Cow<'static, str>,
    message: String,
    hint: Option<String>,
    a2a_code: Option<i64>,
    pub(crate) exit: ExitCode,
}

/// The one JSON shape that is not the protocol's.
#[derive(Serialize)]
pub(crate) struct Envelope<'a> {
    error: EnvelopeError<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EnvelopeError<'a> {
    code: &'a str,
    message: &'a str,
    hint: Option<&'a str>,
    a2a_code: Option<i64>,
}

impl CliError {
    fn new(code: &'static str, exit: ExitCode, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            hint: None,
            a2a_code: None,
            exit,
        }
    }

    /// A wrong argument, flag or combination.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new("A2ACLI_ERR_USAGE", ExitCode::Usage, message)
    }

    /// The wait budget is used up.
    pub(crate) fn timeout(message: impl Into<String>) -> Self {
        Self::new("A2ACLI_ERR_TIMEOUT", ExitCode::Timeout, message)
    }

    /// Nothing else fits.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new("A2ACLI_ERR_INTERNAL", ExitCode::Failure, message)
    }

    /// The reference leads to no card.
    pub(crate) fn card_not_found(message: impl Into<String>) -> Self {
        Self::new("A2ACLI_ERR_CARD_NOT_FOUND", ExitCode::Unreachable, message)
    }

    /// The card lacks what it must have.
    pub(crate) fn card_invalid(message: impl Into<String>) -> Self {
        Self::new("A2ACLI_ERR_CARD_INVALID", ExitCode::Failure, message)
    }

    /// No trusted key signed the card.
    pub(crate) fn card_unverified(message: impl Into<String>) -> Self {
        Self::new("A2ACLI_ERR_CARD_UNVERIFIED", ExitCode::Failure, message)
    }

    /// The agent requires a credential and none was given.
    pub(crate) fn credentials_missing(message: impl Into<String>) -> Self {
        Self::new(
            "A2ACLI_ERR_CREDENTIALS_MISSING",
            ExitCode::Authentication,
            message,
        )
    }

    /// Ctrl-C.
    pub(crate) fn interrupted(message: impl Into<String>) -> Self {
        Self::new("A2ACLI_ERR_INTERNAL", ExitCode::Interrupted, message)
    }

    /// What went wrong.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Adds the next step, in place of an earlier one.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the next step if there is none yet.
    pub(crate) fn or_hint(mut self, hint: impl FnOnce() -> String) -> Self {
        if self.hint.is_none() {
            self.hint = Some(hint());
        }
        self
    }

    /// Whether the error is the protocol's.
    pub(crate) fn is_protocol(&self) -> bool {
        !self.code.starts_with("A2ACLI_ERR_")
    }

    /// Whether a credential is what is wrong.
    pub(crate) fn is_about_credentials(&self) -> bool {
        self.exit == ExitCode::Authentication
    }

    pub(crate) fn envelope(&self) -> Envelope<'_> {
        Envelope {
            error: EnvelopeError {
                code: &self.code,
                message: &self.message,
                hint: self.hint.as_deref(),
                a2a_code: self.a2a_code,
            },
        }
    }

    /// Labelled lines for standard error.
    pub(crate) fn text(&self) -> String {
        let mut fields = Fields::default();
        fields
            .field("Error", &self.message)
            .field("Code", &self.code);
        if let Some(code) = self.a2a_code {
            fields.field("A2A Code", &code.to_string());
        }
        fields.optional("Hint", self.hint.as_deref());
        fields.finish()
    }
}

impl From<ClientError> for CliError {
    fn from(error: ClientError) -> Self {
        use ClientErrorKind as Kind;
        let (code, exit): (Cow<'static, str>, ExitCode) = match &error.kind {
            Kind::Usage => ("A2ACLI_ERR_USAGE".into(), ExitCode::Usage),
            Kind::CardNotFound => ("A2ACLI_ERR_CARD_NOT_FOUND".into(), ExitCode::Unreachable),
            Kind::CardInvalid => ("A2ACLI_ERR_CARD_INVALID".into(), ExitCode::Failure),
            Kind::Unreachable(_) => ("A2ACLI_ERR_UNREACHABLE".into(), ExitCode::Unreachable),
            Kind::CredentialsMissing => (
                "A2ACLI_ERR_CREDENTIALS_MISSING".into(),
                ExitCode::Authentication,
            ),
            Kind::AuthFailed => ("A2ACLI_ERR_AUTH_FAILED".into(), ExitCode::Authentication),
            Kind::TimedOut => ("A2ACLI_ERR_TIMEOUT".into(), ExitCode::Timeout),
            Kind::Protocol(error) => (error.kind.name().into(), ExitCode::Failure),
            // The peer broke the protocol, which has a name for that.
            Kind::InvalidAnswer => ("InvalidAgentResponseError".into(), ExitCode::Failure),
            _ => ("A2ACLI_ERR_INTERNAL".into(), ExitCode::Failure),
        };
        Self {
            code,
            message: error.message,
            hint: error.hint,
            a2a_code: error.code,
            exit,
        }
    }
}
