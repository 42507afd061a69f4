//! Which members of a card are signed (specification 8.4.1).
//!
//! Required members always stay; those that the proto marks `optional` stay when they are set;
//! all others go when they hold their default. The text says so, but the official SDKs drop every
//! empty value, so both forms exist here.

use super::CanonicalError;
use super::jcs::Json;

/// Which members a signature covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CanonicalForm {
    /// As the specification says. Members it does not know are covered as they stand.
    Specification,
    /// As the official SDKs do it: members that 1.0 does not have are left out, and so is every
    /// empty text, list and object, even where it is required.
    Sdk,
}

impl CanonicalForm {
    /// Both, in the order in which a verifier tries them.
    pub const ALL: [Self; 2] = [Self::Specification, Self::Sdk];
}

/// The bytes that are signed: `card` without its signatures, in canonical form (RFC 8785).
///
/// # Errors
/// When the card is no JSON object, has a name twice, or holds a number that no double does.
pub fn canonicalize(card: &[u8], form: CanonicalForm) -> Result<Vec<u8>, CanonicalError> {
    Ok(Card::read(card)?.canonical(form))
}

/// A received card, read once for every form and signature.
pub(super) struct Card(Vec<(String, Json)>);

impl Card {
    pub(super) fn read(card: &[u8]) -> Result<Self, CanonicalError> {
        match serde_json::from_slice(card) {
            Ok(Json::Object(members)) => Ok(Self(members)),
            Ok(_) => Err(CanonicalError("it is no JSON object".to_owned())),
            Err(error) => Err(CanonicalError(error.to_string())),
        }
    }

    pub(super) fn canonical(&self, form: CanonicalForm) -> Vec<u8> {
        let unsigned = self.0.iter().filter(|(name, _)| name != "signatures");
        let card = Json::Object(unsigned.cloned().collect());
        let card = keep_present(card, &CARD, form);
        let card = match form {
            CanonicalForm::Specification => card,
            CanonicalForm::Sdk => without_empty(card),
        };
        card.to_canonical().into_bytes()
    }

    /// Members at the top of the card that only [`CanonicalForm::Specification`] covers.
    pub(super) fn unknown_members(&self) -> Vec<String> {
        let Shape::Message(known) = CARD else {
            return Vec::new();
        };
        let unknown = |name: &str| name != "signatures" && !known.iter().any(|it| it.name == name);
        let names = self.0.iter().map(|(name, _)| name);
        names.filter(|name| unknown(name)).cloned().collect()
    }
}

/// The presence rules, from the outside in.
fn keep_present(value: Json, shape: &Shape, form: CanonicalForm) -> Json {
    match (value, shape) {
        (Json::Object(members), Shape::Message(known)) => {
            let kept = members.into_iter().filter_map(|(name, value)| {
                let Some(member) = known.iter().find(|member| member.name == name) else {
                    return (form == CanonicalForm::Specification).then_some((name, value));
                };
                // ProtoJSON takes null for absent.
                if value == Json::Null {
                    return None;
                }
                let value = keep_present(value, &member.shape, form);
                let stays = member.presence == Presence::Kept || !value.is_default();
                stays.then_some((name, value))
            });
            Json::Object(kept.collect())
        }
        (Json::Object(members), Shape::Map(of)) => {
            let kept = members
                .into_iter()
                .map(|(name, value)| (name, keep_present(value, of, form)));
            Json::Object(kept.collect())
        }
        (Json::List(items), Shape::List(of)) => {
            let kept = items.into_iter().map(|item| keep_present(item, of, form));
            Json::List(kept.collect())
        }
        (value, _) => value,
    }
}

/// Drops every null and empty value, and what becomes empty by that.
fn without_empty(value: Json) -> Json {
    match value {
        Json::Object(members) => {
            let kept = members
                .into_iter()
                .map(|(name, value)| (name, without_empty(value)))
                .filter(|(_, value)| !value.is_empty());
            Json::Object(kept.collect())
        }
        Json::List(items) => {
            let kept = items.into_iter().map(without_empty);
            Json::List(kept.filter(|item| !item.is_empty()).collect())
        }
        value => value,
    }
}

/// What a value is in the proto, as far as presence needs it.
enum Shape {
    /// A scalar, or JSON of the card's author.
    Plain,
    Message(&'static [Member]),
    List(&'static Shape),
    Map(&'static Shape),
}

struct Member {
    name: &'static str,
    presence: Presence,
    shape: Shape,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// Required, `optional`, or one of a oneof: stays as it is set.
    Kept,
    /// Goes with its default.
    Implicit,
}

/// Required or `optional`.
const fn kept(name: &'static str, shape: Shape) -> Member {
    Member {
        name,
        presence: Presence::Kept,
        shape,
    }
}

/// Neither.
const fn implicit(name: &'static str, shape: Shape) -> Member {
    Member {
        name,
        presence: Presence::Implicit,
        shape,
    }
}

use Shape::{List, Map, Message, Plain};

const TEXTS: Shape = List(&Plain);
const CARD: Shape = Message(&[
    kept("name", Plain),
    kept("description", Plain),
    kept("supportedInterfaces", List(&INTERFACE)),
    implicit("provider", PROVIDER),
    kept("version", Plain),
    kept("documentationUrl", Plain),
    kept("capabilities", CAPABILITIES),
    implicit("securitySchemes", Map(&SCHEME)),
    implicit("securityRequirements", List(&REQUIREMENT)),
    kept("defaultInputModes", TEXTS),
    kept("defaultOutputModes", TEXTS),
    kept("skills", List(&SKILL)),
    kept("iconUrl", Plain),
]);
const INTERFACE: Shape = Message(&[
    kept("url", Plain),
    kept("protocolBinding", Plain),
    implicit("tenant", Plain),
    kept("protocolVersion", Plain),
]);
const PROVIDER: Shape = Message(&[kept("url", Plain), kept("organization", Plain)]);
const CAPABILITIES: Shape = Message(&[
    kept("streaming", Plain),
    kept("pushNotifications", Plain),
    implicit("extensions", List(&EXTENSION)),
    kept("extendedAgentCard", Plain),
]);
const EXTENSION: Shape = Message(&[
    implicit("uri", Plain),
    implicit("description", Plain),
    implicit("required", Plain),
    implicit("params", Plain),
]);
const SKILL: Shape = Message(&[
    kept("id", Plain),
    kept("name", Plain),
    kept("description", Plain),
    kept("tags", TEXTS),
    implicit("examples", TEXTS),
    implicit("inputModes", TEXTS),
    implicit("outputModes", TEXTS),
    implicit("securityRequirements", List(&REQUIREMENT)),
]);
const REQUIREMENT: Shape = Message(&[implicit("schemes", Map(&SCOPES))]);
const SCOPES: Shape = Message(&[implicit("list", TEXTS)]);
const SCHEME: Shape = Message(&[
    kept(
        "apiKeySecurityScheme",
        Message(&[
            implicit("description", Plain),
            kept("location", Plain),
            kept("name", Plain),
        ]),
    ),
    kept(
        "httpAuthSecurityScheme",
        Message(&[
            implicit("description", Plain),
            kept("scheme", Plain),
            implicit("bearerFormat", Plain),
        ]),
    ),
    kept(
        "oauth2SecurityScheme",
        Message(&[
            implicit("description", Plain),
            kept("flows", FLOWS),
            implicit("oauth2MetadataUrl", Plain),
        ]),
    ),
    kept(
        "openIdConnectSecurityScheme",
        Message(&[
            implicit("description", Plain),
            kept("openIdConnectUrl", Plain),
        ]),
    ),
    kept(
        "mtlsSecurityScheme",
        Message(&[implicit("description", Plain)]),
    ),
]);
const FLOWS: Shape = Message(&[
    kept(
        "authorizationCode",
        Message(&[
            kept("authorizationUrl", Plain),
            kept("tokenUrl", Plain),
            implicit("refreshUrl", Plain),
            kept("scopes", Map(&Plain)),
            implicit("pkceRequired", Plain),
        ]),
    ),
    kept(
        "clientCredentials",
        Message(&[
            kept("tokenUrl", Plain),
            implicit("refreshUrl", Plain),
            kept("scopes", Map(&Plain)),
        ]),
    ),
    kept(
        "implicit",
        Message(&[
            implicit("authorizationUrl", Plain),
            implicit("refreshUrl", Plain),
            implicit("scopes", Map(&Plain)),
        ]),
    ),
    kept(
        "password",
        Message(&[
            implicit("tokenUrl", Plain),
            implicit("refreshUrl", Plain),
            implicit("scopes", Map(&Plain)),
        ]),
    ),
    kept(
        "deviceCode",
        Message(&[
            kept("deviceAuthorizationUrl", Plain),
            kept("tokenUrl", Plain),
            implicit("refreshUrl", Plain),
            kept("scopes", Map(&Plain)),
        ]),
    ),
]);

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(card: &str, form: CanonicalForm) -> String {
        String::from_utf8(canonicalize(card.as_bytes(), form).unwrap()).unwrap()
    }

    #[test]
    fn what_is_required_or_optional_stays_and_other_defaults_go() {
        let card = r#"{ "skills": [], "version": "", "iconUrl": "", "provider": null,
            "capabilities": {"streaming": false, "extensions": [{"uri": "u", "required": false,
                "params": {"empty": [], "no": false, "n": 1.0}}]},
            "securitySchemes": {"b": {"mtlsSecurityScheme": {"description": ""}}},
            "securityRequirements": [{"schemes": {"b": {"list": []}}}],
            "supportedInterfaces": [{"url": "", "tenant": ""}],
            "url": "", "signatures": [1] }"#;
        assert_eq!(
            canonical(card, CanonicalForm::Specification),
            r#"{"capabilities":{"extensions":[{"params":{"empty":[],"n":1,"no":false},"uri":"u"}],"streaming":false},"iconUrl":"","securityRequirements":[{"schemes":{"b":{}}}],"securitySchemes":{"b":{"mtlsSecurityScheme":{}}},"skills":[],"supportedInterfaces":[{"url":""}],"url":"","version":""}"#
        );
        assert_eq!(
            canonical(card, CanonicalForm::Sdk),
            r#"{"capabilities":{"extensions":[{"params":{"n":1,"no":false},"uri":"u"}],"streaming":false}}"#
        );
    }

    #[test]
    fn spelling_order_and_escapes_do_not_matter() {
        let one = r#"{"name":"\u00e9","version":"1","x":1.0}"#;
        let other = "{\"x\":1,  \"version\":\"1\",\n\"name\":\"é\"}";
        for form in CanonicalForm::ALL {
            assert_eq!(canonical(one, form), canonical(other, form));
        }
        assert!(canonicalize(br#"{"a":1,"a":1}"#, CanonicalForm::Specification).is_err());
        assert!(canonicalize(b"[]", CanonicalForm::Specification).is_err());
    }
}
