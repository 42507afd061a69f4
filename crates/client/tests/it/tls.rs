//! TLS: certificates are checked unless somebody says otherwise.

use std::sync::Arc;

use nuncio_client::tls::Trust;
use nuncio_client::{ClientErrorKind, TlsSettings, Unreachable};
use nuncio_wire::Response;
use rcgen::generate_simple_self_signed;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::agents::{client_at, find, send};
use crate::mock_agent::{MockAgent, Reply, card, task};

/// Speaks TLS with a certificate of its own in front of a plain agent; gives its address.
async fn tls_in_front_of(agent: &MockAgent) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    let own = generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let behind = agent.base().trim_start_matches("http://").to_owned();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, behind) = (acceptor.clone(), behind.clone());
            tokio::spawn(async move {
                if let (Ok(mut tls), Ok(mut plain)) = (
                    acceptor.accept(stream).await,
                    TcpStream::connect(behind).await,
                ) {
                    let _ = tokio::io::copy_bidirectional(&mut tls, &mut plain).await;
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn an_unknown_certificate_is_refused_unless_all_are_taken() {
    let agent = MockAgent::start(|request, base| match request.verb.as_str() {
        "GET" => {
            let port = request.header("host").unwrap().rsplit(':').next().unwrap();
            assert!(base.starts_with("http://"));
            Reply::json(200, &card(&format!("https://127.0.0.1:{port}"), false))
        }
        _ => Reply::result(request, json!({"task": task("COMPLETED", "x")})),
    })
    .await;
    let address = tls_in_front_of(&agent).await;
    let failed = find(&address).await.unwrap_err();
    assert_eq!(
        failed.error.kind,
        ClientErrorKind::Unreachable(Unreachable::Tls)
    );
    assert!(failed.error.hint.unwrap().contains("--insecure"));
    assert!(agent.seen().is_empty());
    let any = TlsSettings {
        trust: Trust::Any,
        identity: None,
    };
    let answer = client_at(&address, any)
        .await
        .call(send("hi"))
        .await
        .unwrap();
    assert!(matches!(answer, Response::SendMessage(_)));
}
