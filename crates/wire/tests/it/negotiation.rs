//! Method name x version header x look of the message: which dialect a request speaks.

use nuncio_wire::dialects::{Negotiation, follows_task, negotiate};
use nuncio_wire::{Dialect, ErrorKind, Method};

const LENIENT: Negotiation = Negotiation {
    strict_version: false,
    v0_3: true,
    missing_message_id: false,
};
const STRICT: Negotiation = Negotiation {
    strict_version: true,
    ..LENIENT
};
const NO_0_3: Negotiation = Negotiation {
    v0_3: false,
    ..LENIENT
};

fn dialect(method: &str, version: Option<&str>, policy: &Negotiation) -> Result<Dialect, i32> {
    let found = negotiate(method, version, None, policy);
    found
        .map(|(dialect, _)| dialect)
        .map_err(|error| error.kind.code())
}

#[test]
fn name_and_header_decide() {
    use Dialect::{V0_3, V1, V1Slash};
    for (method, version, lenient, strict, no_0_3) in [
        ("SendMessage", Some("1.0"), Ok(V1), Ok(V1), Ok(V1)),
        ("SendMessage", Some("1.0.1"), Ok(V1), Ok(V1), Ok(V1)),
        ("SendMessage", Some(" 1.0 "), Ok(V1), Ok(V1), Ok(V1)),
        ("SendMessage", Some("1.7"), Ok(V1), Err(-32009), Ok(V1)),
        ("SendMessage", None, Ok(V1), Err(-32009), Ok(V1)),
        ("SendMessage", Some(""), Ok(V1), Err(-32009), Ok(V1)),
        (
            "SendMessage",
            Some("0.3"),
            Err(-32009),
            Err(-32009),
            Err(-32009),
        ),
        (
            "message/send",
            Some("1.0"),
            Ok(V1Slash),
            Ok(V1Slash),
            Err(-32601),
        ),
        ("message/send", None, Ok(V0_3), Ok(V0_3), Err(-32601)),
        ("message/send", Some(""), Ok(V0_3), Ok(V0_3), Err(-32601)),
        ("message/send", Some("0.3"), Ok(V0_3), Ok(V0_3), Err(-32601)),
        (
            "message/send",
            Some("0.3.0"),
            Ok(V0_3),
            Ok(V0_3),
            Err(-32601),
        ),
        (
            "tasks/list",
            Some("1.0"),
            Ok(V1Slash),
            Ok(V1Slash),
            Err(-32601),
        ),
        ("tasks/list", None, Ok(V1Slash), Ok(V1Slash), Err(-32601)),
        (
            "tasks/list",
            Some("0.3"),
            Err(-32601),
            Err(-32601),
            Err(-32601),
        ),
        (
            "tasks/subscribe",
            None,
            Ok(V1Slash),
            Ok(V1Slash),
            Err(-32601),
        ),
        (
            "tasks/pushNotification/set",
            None,
            Ok(V0_3),
            Ok(V0_3),
            Err(-32601),
        ),
    ] {
        let found = [LENIENT, STRICT, NO_0_3].map(|policy| dialect(method, version, &policy));
        assert_eq!(found, [lenient, strict, no_0_3], "{method} {version:?}");
    }
}

#[test]
fn an_unknown_version_is_refused_before_anything_else() {
    for version in ["99.0", "2.0", "0.2", "1.0,0.3", "one", "1", "-1.0"] {
        let names = Method::ALL.map(Method::name);
        for method in names
            .into_iter()
            .chain(["message/send", "tasks/list", "no/such", ""])
        {
            assert_eq!(
                dialect(method, Some(version), &LENIENT),
                Err(-32009),
                "{method} {version}"
            );
        }
    }
}

#[test]
fn names_are_never_folded() {
    let long = "m".repeat(1 << 20);
    for method in [
        "__proto__",
        "SendMessage\0",
        "sendmessage",
        "sendMessage",
        "Message/Send",
        "",
        &long,
    ] {
        let error = negotiate(method, None, None, &LENIENT).unwrap_err();
        assert_eq!(
            error.kind,
            ErrorKind::MethodNotFound,
            "{}",
            &method[..method.len().min(20)]
        );
        assert!(error.message.len() < 200);
    }
}

#[test]
fn every_name_a_client_writes_is_understood() {
    for dialect in [Dialect::V1, Dialect::V1Slash, Dialect::V0_3] {
        let version = if dialect == Dialect::V0_3 {
            "0.3"
        } else {
            "1.0"
        };
        for method in Method::ALL {
            match dialect.method_name(method) {
                Some(name) => assert_eq!(
                    negotiate(name, Some(version), None, &LENIENT).unwrap(),
                    (dialect, method)
                ),
                None => assert_eq!((dialect, method), (Dialect::V0_3, Method::ListTasks)),
            }
        }
    }
}

#[test]
fn a_send_under_an_old_name_is_known_by_its_message() {
    let old = [
        r#"{"message":{"role":"user","parts":[{"text":"x"}]}}"#,
        r#"{"message":{"role":"agent","parts":[]}}"#,
        r#"{"message":{"kind":"message","parts":[{"text":"x"}]}}"#,
        r#"{"message":{"parts":[{"kind":"text","text":"x"}]}}"#,
        r#"{"message":{"parts":[{"data":{"k":1}}]}}"#,
        r#"{"message":{"parts":[{"file":{"uri":"x"}}]}}"#,
        r#"{"message":{}}"#,
        r#"{"message":5}"#,
        r#"{}"#,
    ];
    let new = [
        r#"{"message":{"role":"ROLE_USER","parts":[{"kind":"text","text":"x"}]}}"#,
        r#"{"message":{"role":1}}"#,
        r#"{"message":{"parts":[{"text":"x"}]}}"#,
        r#"{"message":{"role":"someone","parts":[{"text":""}]}}"#,
        r#"{"message":{"parts":[{"raw":"YQ=="}]}}"#,
        r#"{"message":{"parts":[{"url":"https://x"}]}}"#,
        r#"{"message":{"parts":[{"data":[1]}]}}"#,
    ];
    let sniffed =
        |params, version| negotiate("message/stream", version, Some(params), &LENIENT).unwrap();
    for version in [None, Some(""), Some("0.3")] {
        for params in old {
            let found = sniffed(params, version);
            assert_eq!(
                found,
                (Dialect::V0_3, Method::SendStreamingMessage),
                "{params}"
            );
        }
        for params in new {
            assert_eq!(sniffed(params, version).0, Dialect::V1Slash, "{params}");
        }
    }
    for params in old {
        assert_eq!(sniffed(params, Some("1.0")).0, Dialect::V1Slash, "{params}");
    }
}

#[test]
fn only_requests_without_a_message_or_a_version_follow_their_task() {
    assert!(follows_task(Dialect::V0_3, Method::GetTask, None));
    assert!(follows_task(Dialect::V0_3, Method::CancelTask, Some("")));
    assert!(!follows_task(Dialect::V0_3, Method::GetTask, Some("0.3")));
    assert!(!follows_task(Dialect::V0_3, Method::SendMessage, None));
    assert!(!follows_task(Dialect::V1Slash, Method::GetTask, None));
}

#[test]
fn a_dialect_is_stored_by_name() {
    for dialect in Dialect::ALL {
        assert_eq!(dialect.as_str().parse(), Ok(dialect));
    }
    assert!("v2".parse::<Dialect>().is_err());
}
