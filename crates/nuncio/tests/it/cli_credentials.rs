//! Credentials: placed as the card says, sent to one origin only, never shown.

use serde_json::{Value, json};

use crate::cli::{Program, Ran, nuncio};
use crate::mock_agent::{MockAgent, Reply, Request, card, task};

fn with_scheme(base: &str, scheme: &Value) -> Value {
    let mut card = card(base, false);
    card["securitySchemes"] = json!({"s": scheme});
    card["securityRequirements"] = json!([{"schemes": {"s": {"list": []}}}]);
    card
}

/// An agent that wants this scheme and lets in who is let in by `opens`.
async fn guarded(scheme: Value, opens: fn(&Request) -> bool) -> MockAgent {
    MockAgent::with_card(
        move |base| with_scheme(base, &scheme),
        move |request| {
            if opens(request) {
                Reply::result(request, json!({"task": task("COMPLETED", "in")}))
            } else {
                Reply::http(401, &[("WWW-Authenticate", "Bearer realm=\"mock\"")], "")
            }
        },
    )
    .await
}

fn bearer() -> Value {
    json!({"httpAuthSecurityScheme": {"scheme": "Bearer"}})
}

fn api_key(place: &str) -> Value {
    json!({"apiKeySecurityScheme": {"location": place, "name": "Key"}})
}

async fn sent(agent: &MockAgent, flags: &[&str]) -> Ran {
    nuncio(&[&["send", "-a", agent.base(), "hi", "-o", "json"][..], flags].concat()).await
}

#[tokio::test]
async fn each_credential_goes_where_the_card_wants_it() {
    let agent = guarded(bearer(), |it| {
        it.header("authorization") == Some("Bearer s3cret")
    })
    .await;
    assert_eq!(sent(&agent, &["--bearer", "s3cret"]).await.code, 0);
    let agent = guarded(api_key("header"), |it| it.header("key") == Some("s3cret")).await;
    assert_eq!(sent(&agent, &["--api-key", "s3cret"]).await.code, 0);
    let agent = guarded(api_key("query"), |it| it.query == "Key=s3cret").await;
    assert_eq!(sent(&agent, &["--api-key", "s3cret"]).await.code, 0);
    let agent = guarded(api_key("cookie"), |it| {
        it.header("cookie") == Some("Key=s3cret")
    })
    .await;
    assert_eq!(sent(&agent, &["--api-key", "s3cret"]).await.code, 0);
    let agent = guarded(api_key("header"), |it| it.header("key") == Some("s3cret")).await;
    assert_eq!(sent(&agent, &["--svc-param", "Key:s3cret"]).await.code, 0);
}

#[tokio::test]
async fn a_missing_credential_is_told_from_a_refused_one() {
    let agent = guarded(bearer(), |_| false).await;
    let ran = sent(&agent, &[]).await;
    assert_eq!(
        (ran.error_code().as_str(), ran.code),
        ("A2ACLI_ERR_CREDENTIALS_MISSING", 4)
    );
    assert!(
        ran.json()["error"]["hint"]
            .as_str()
            .unwrap()
            .contains("--bearer")
    );
    assert!(agent.calls().is_empty(), "nothing is sent before that");
    let ran = sent(&agent, &["--bearer", "wrong"]).await;
    assert_eq!(
        (ran.error_code().as_str(), ran.code),
        ("A2ACLI_ERR_AUTH_FAILED", 4)
    );
    assert_eq!(ran.json()["error"]["a2aCode"], 401);
    // The card says nothing, the server does.
    let agent = MockAgent::with_card(|base| card(base, false), |_| Reply::http(401, &[], "")).await;
    assert_eq!(
        sent(&agent, &[]).await.error_code(),
        "A2ACLI_ERR_CREDENTIALS_MISSING"
    );
}

#[tokio::test]
async fn no_output_shows_a_secret() {
    for scheme in [bearer(), api_key("query"), api_key("cookie")] {
        let agent = guarded(scheme, |_| false).await;
        for flags in [&["--bearer", "s3cret"], &["--api-key", "s3cret"]] {
            let ran = sent(
                &agent,
                &[
                    &flags[..],
                    &["--debug", "--verbose", "--svc-param", "X-Own: s3cret"],
                ]
                .concat(),
            )
            .await;
            assert!(!ran.shown().contains("s3cret"), "{}", ran.shown());
        }
    }
    let program = Program::new()
        .variable("A2ACLI_BEARER", "s3cret")
        .variable("A2ACLI_API_KEY", "s3cret");
    let ran = program.run(&["config", "show"]).await;
    assert!(
        ran.stdout.contains("bearer: [secret] (environment)") && !ran.shown().contains("s3cret")
    );
}

#[tokio::test]
async fn a_card_cannot_send_the_call_elsewhere() {
    let other = MockAgent::with_card(
        |base| card(base, false),
        |request| Reply::result(request, json!({"task": task("COMPLETED", "x")})),
    )
    .await;
    let other_base = other.base().to_owned();
    for (url, refused) in [
        (
            format!("{other_base}/rpc"),
            "is another origin than the card's",
        ),
        ("http://169.254.169.254/rpc".to_owned(), "is another origin"),
        ("file:///etc/passwd".to_owned(), "is not http or https"),
        (
            "http://user:pw@127.0.0.1/rpc".to_owned(),
            "carries a user name or password",
        ),
    ] {
        let agent = MockAgent::with_card(
            move |base| {
                let mut card = card(base, false);
                card["supportedInterfaces"][0]["url"] = json!(url);
                card
            },
            |_| Reply::not_found(),
        )
        .await;
        let ran = sent(&agent, &["--bearer", "s3cret"]).await;
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(
            ran.json()["error"]["message"]
                .as_str()
                .unwrap()
                .contains(refused),
            "{ran:?}"
        );
    }
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn the_operators_word_opens_another_origin() {
    let other = MockAgent::with_card(
        |base| card(base, false),
        |request| Reply::result(request, json!({"task": task("COMPLETED", "x")})),
    )
    .await;
    let url = format!("{}/rpc", other.base());
    let agent = MockAgent::with_card(
        move |base| {
            let mut card = card(base, false);
            card["supportedInterfaces"][0]["url"] = json!(url);
            card
        },
        |_| Reply::not_found(),
    )
    .await;
    let ran = sent(&agent, &["--allow-origin", other.base()]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[tokio::test]
async fn a_card_behind_a_credential_gets_it_only_when_it_asks() {
    let agent = MockAgent::start(|request, base| {
        match (request.path.as_str(), request.header("authorization")) {
            ("/.well-known/agent-card.json", Some("Bearer s3cret")) => {
                Reply::json(200, &card(base, false))
            }
            ("/.well-known/agent-card.json", _) => {
                Reply::http(401, &[("WWW-Authenticate", "Bearer")], "")
            }
            _ => Reply::not_found(),
        }
    })
    .await;
    let ran = nuncio(&["card", "get", "-a", agent.base(), "--bearer", "s3cret"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let shown: Vec<bool> = agent
        .seen()
        .iter()
        .map(|it| it.header("authorization").is_some())
        .collect();
    assert_eq!(shown, [false, true]);
    let ran = nuncio(&["card", "get", "-a", agent.base(), "-o", "json"]).await;
    assert_eq!(
        (ran.error_code().as_str(), ran.code),
        ("A2ACLI_ERR_CREDENTIALS_MISSING", 4)
    );
}

#[tokio::test]
async fn a_redirected_card_fetch_takes_no_credential_along_and_leads_to_no_inner_address() {
    let other =
        MockAgent::start(|_, _| Reply::http(401, &[("WWW-Authenticate", "Bearer")], "")).await;
    let target = format!("{}/card.json", other.base());
    let agent = MockAgent::start(move |_, _| Reply::http(302, &[("Location", &target)], "")).await;
    // The other port of this machine is an inner address that nobody named.
    let ran = nuncio(&[
        "card",
        "get",
        "-a",
        agent.base(),
        "--bearer",
        "s3cret",
        "-o",
        "json",
    ])
    .await;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(other.seen().is_empty(), "{:?}", other.seen());
    let ran = nuncio(&[
        "card",
        "get",
        "-a",
        agent.base(),
        "--bearer",
        "s3cret",
        "--allow-origin",
        other.base(),
    ])
    .await;
    assert_eq!(
        ran.code, 4,
        "the operator's word lets the call through: {ran:?}"
    );
    let endless =
        MockAgent::start(|_, _| Reply::http(302, &[("Location", "/again.json")], "")).await;
    let ran = nuncio(&["card", "get", "-a", endless.base(), "-o", "json"]).await;
    assert_eq!(ran.error_code(), "A2ACLI_ERR_CARD_INVALID");
    assert!(endless.seen().len() <= 12, "{}", endless.seen().len());
}
