//! An agent card as labelled text: who it is, what it can, where it is, what it wants to know.

use nuncio_client::Discovered;
use nuncio_wire::card_signature::{Unverified, Verified};
use nuncio_wire::{AgentCard, AgentSkill, SecurityScheme};

use crate::output::CliError;
use crate::output::fields::Fields;
use crate::trusted_keys;

/// What a card's signatures are worth here (a2a-cli specification 10.1). Only a good signature of a
/// trusted key makes a card verified; having none is no failure.
pub(crate) struct SignatureState(Result<Verified, Unverified>);

impl SignatureState {
    /// Checks a card against the trusted keys of its origin.
    ///
    /// # Errors
    ///
    /// When the store of trusted keys is there but cannot be read.
    pub(crate) fn of(card: &Discovered) -> Result<Self, CliError> {
        trusted_keys::check(card).map(Self).map_err(CliError::usage)
    }

    fn write(&self, fields: &mut Fields, verbose: bool) {
        let (word, detail) = match &self.0 {
            Ok(verified) => ("verified", format!("key {}", verified.kid)),
            Err(Unverified::Absent) => ("absent", String::new()),
            Err(why) => ("unverifiable", why.to_string()),
        };
        fields.field("Signature", word);
        if verbose && !detail.is_empty() {
            fields.field("Signature Detail", &detail);
        }
    }
}

/// The card for people; `verbose` adds examples and media types.
pub(crate) fn card_text(card: &AgentCard, signature: &SignatureState, verbose: bool) -> String {
    let mut fields = Fields::default();
    fields.field("Name", &card.name);
    fields.field("Description", &card.description);
    fields.field("Version", &card.version);
    if let Some(provider) = &card.provider {
        fields.field(
            "Provider",
            &format!("{} ({})", provider.organization, provider.url),
        );
    }
    fields.optional("Documentation", card.documentation_url.as_deref());
    let capabilities = &card.capabilities;
    let yes = |flag: Option<bool>| if flag == Some(true) { "yes" } else { "no" };
    fields.field("Streaming", yes(capabilities.streaming));
    fields.field("Push Notifications", yes(capabilities.push_notifications));
    fields.field("Extended Card", yes(capabilities.extended_agent_card));
    for extension in &capabilities.extensions {
        let needed = if extension.required {
            "required"
        } else {
            "optional"
        };
        fields.field("Extension", &format!("{} ({needed})", extension.uri));
    }
    for interface in &card.supported_interfaces {
        let tenant = interface
            .tenant
            .as_ref()
            .map(|it| format!(", tenant {it}"))
            .unwrap_or_default();
        let (binding, version) = (&interface.protocol_binding, &interface.protocol_version);
        fields.field(
            "Interface",
            &format!("{binding} {version} at {}{tenant}", interface.url),
        );
    }
    for (name, scheme) in &card.security_schemes {
        fields.field(
            "Security Scheme",
            &format!("{name}: {}", scheme_text(scheme)),
        );
    }
    for requirement in &card.security_requirements {
        let names: Vec<&str> = requirement.schemes.keys().map(String::as_str).collect();
        let names = if names.is_empty() {
            "nothing".to_owned()
        } else {
            names.join(" and ")
        };
        fields.field("Requires", &names);
    }
    fields.field("Input Modes", &card.default_input_modes.join(", "));
    fields.field("Output Modes", &card.default_output_modes.join(", "));
    for skill in &card.skills {
        skill_fields(&mut fields, skill, verbose);
    }
    signature.write(&mut fields, verbose);
    fields.finish()
}

fn scheme_text(scheme: &SecurityScheme) -> String {
    match scheme {
        SecurityScheme::ApiKeySecurityScheme(it) => {
            format!("API key, {} '{}'", it.location, it.name)
        }
        SecurityScheme::HttpAuthSecurityScheme(it) => format!("HTTP {}", it.scheme),
        SecurityScheme::OAuth2SecurityScheme(_) => "OAuth 2".to_owned(),
        SecurityScheme::OpenIdConnectSecurityScheme(it) => {
            format!("OpenID Connect, {}", it.open_id_connect_url)
        }
        SecurityScheme::MtlsSecurityScheme(_) => "client certificate".to_owned(),
    }
}

fn skill_fields(fields: &mut Fields, skill: &AgentSkill, verbose: bool) {
    let tags = if skill.tags.is_empty() {
        String::new()
    } else {
        format!(" [{}]", skill.tags.join(", "))
    };
    fields.field(
        "Skill",
        &format!("{}: {} - {}{tags}", skill.id, skill.name, skill.description),
    );
    if verbose {
        for example in &skill.examples {
            fields.field("Example", example);
        }
    }
}
