//! The guard where it counts: at the address, at every look-up, at every hop.

use nuncio_client::discover::discover;
use nuncio_client::{AddressPolicy, ClientErrorKind, Credentials, HttpClient, TlsSettings};

use crate::agents::{find, url};
use crate::mock_agent::{MockAgent, Reply, card};

#[tokio::test]
async fn without_the_operators_word_no_inner_address_is_called() {
    let agent = MockAgent::start(|_, base| Reply::json(200, &card(base, false))).await;
    let port = agent.base().rsplit(':').next().unwrap().to_owned();
    let http = HttpClient::new(AddressPolicy::public_only(), TlsSettings::default());
    for host in [
        "127.0.0.1",
        "localhost",
        "LOCALHOST",
        "2130706433",
        "0x7f.1",
        "[::1]",
        "0",
        "[::ffff:127.0.0.1]",
    ] {
        let address = url(&format!("http://{host}:{port}/"));
        let failed = discover(&http, &address, &Credentials::default())
            .await
            .unwrap_err();
        assert_eq!(
            failed.error.kind,
            ClientErrorKind::AddressRefused,
            "{host}: {}",
            failed.error
        );
    }
    assert!(agent.seen().is_empty());
}

#[tokio::test]
async fn a_redirect_leads_to_no_inner_address() {
    for location in [
        "http://169.254.169.254/latest",
        "http://127.0.0.1:1/card.json",
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
    ] {
        let agent =
            MockAgent::start(move |_, _| Reply::http(302, &[("Location", location)], "")).await;
        let failed = find(&format!("{}/card.json", agent.base()))
            .await
            .unwrap_err();
        assert_eq!(
            failed.error.kind,
            ClientErrorKind::AddressRefused,
            "{location}: {}",
            failed.error
        );
        assert_eq!(agent.seen().len(), 1);
    }
}

#[tokio::test]
async fn a_redirect_within_the_origin_is_followed() {
    let agent = MockAgent::start(|request, base| match request.path.as_str() {
        "/card.json" => Reply::http(301, &[("Location", "/moved.json")], ""),
        "/moved.json" => Reply::json(200, &card(base, false)),
        _ => Reply::not_found(),
    })
    .await;
    let found = find(&format!("{}/card.json", agent.base())).await.unwrap();
    assert_eq!(found.url().unwrap().path(), "/moved.json");
}
