//! TLS on the listener: every binding through it, client certificates as credentials, certificates
//! that change, and callers who speak none.

use nuncio_client::choose_binding::choose;
use nuncio_client::discover::discover;
use nuncio_client::tls::{Identity, Trust};
use nuncio_client::{
    AddressPolicy, Binding, CallSettings, Client, ClientError, ClientErrorKind, Credentials,
    EventStream, HttpClient, Origin, TlsSettings, VersionWish, Wish, new_message_id,
};
use nuncio_wire::operation::{GetTaskRequest, SendMessageRequest, SendMessageResponse};
use nuncio_wire::{
    ErrorKind, Message, Part, PartContent, Request, Response, Role, StreamResponse, TaskState,
};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use url::Url;

use crate::rig::{ECHO, LIMIT, Rig, Store, script_agent};

const TLS: &str = "[server.tls]\ncertificate = \"cert.pem\"\nkey = \"key.pem\"\n";
const MTLS: &str =
    "[server.tls]\ncertificate = \"cert.pem\"\nkey = \"key.pem\"\nclient_ca = \"ca.pem\"\n";

/// An authority that gives out certificates.
struct Authority {
    pem: String,
    der: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let own = params.self_signed(&key).unwrap();
        Self {
            pem: own.pem(),
            der: own.der().clone(),
            issuer: Issuer::new(params, key),
        }
    }

    /// A certificate for this address or name, and its key, as PEM.
    fn issue(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// A gateway with a certificate of this authority, whose clients it believes.
    async fn gateway(&self, config: &str) -> Rig {
        let (certificate, key) = self.issue("127.0.0.1");
        let files = [
            ("cert.pem", certificate.as_str()),
            ("key.pem", &key),
            ("ca.pem", &self.pem),
        ];
        Rig::with_secrets(Store::Memory, config, &files).await
    }

    fn identity(&self, dir: &Path, name: &str) -> Identity {
        let (certificate, key) = self.issue(name);
        let path = |kind: &str| dir.join(format!("{name}-{kind}.pem"));
        write_private(&path("cert"), &certificate);
        write_private(&path("key"), &key);
        Identity::read(&path("cert"), &path("key")).unwrap()
    }

    fn trusted(&self, identity: Option<Identity>) -> TlsSettings {
        TlsSettings {
            trust: Trust::Only([self.der.clone()].into()),
            identity,
        }
    }
}

fn write_private(path: &Path, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    // In one step, as certificates are to be replaced.
    let new = path.with_extension("new");
    std::fs::write(&new, text).unwrap();
    std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::rename(&new, path).unwrap();
    path.to_owned()
}

async fn client(rig: &Rig, tls: TlsSettings, binding: Binding) -> Result<Client, ClientError> {
    let url: Url = rig.base.parse().unwrap();
    let mut policy = AddressPolicy::public_only();
    policy.allow(&url);
    let http = HttpClient::new(policy, tls);
    let found = discover(&http, &url, &Credentials::default()).await;
    let found = found.map_err(|error| error.error)?;
    let wish = Wish {
        bindings: vec![binding],
        version: VersionWish::Current,
        origins: vec![Origin::of(&url).unwrap()],
    };
    let endpoints = choose(&found.card, found.generation, found.url(), &wish)?;
    Client::new(http, found.card, endpoints, CallSettings::default())
}

fn message(text: &str) -> SendMessageRequest {
    SendMessageRequest::new(Message::new(
        new_message_id(),
        Role::User,
        vec![Part::text(text)],
    ))
}

/// Sends and gives the finished task's id and the text of its first artifact.
async fn send(client: &Client, text: &str) -> Result<(String, String), ClientError> {
    match client.call(Request::SendMessage(message(text))).await? {
        Response::SendMessage(SendMessageResponse::Task(task)) => {
            let PartContent::Text(text) = &task.artifacts.as_ref().unwrap()[0].parts[0].content
            else {
                panic!("{task:?}");
            };
            Ok((task.id.clone(), text.clone()))
        }
        other => panic!("{other:?}"),
    }
}

/// Reads a stream to its end; the state it ends in.
async fn last_state(stream: &mut EventStream) -> Option<TaskState> {
    let mut last = None;
    while let Some(event) = stream.next().await {
        last = match event.unwrap().event {
            StreamResponse::Task(task) => Some(task.status.state),
            StreamResponse::StatusUpdate(update) => Some(update.status.state),
            _ => last,
        };
    }
    last
}

const BINDINGS: [Binding; 3] = [Binding::JsonRpc, Binding::Rest, Binding::Grpc];

#[tokio::test]
async fn cards_calls_and_streams_go_through_tls_in_every_binding() {
    let authority = Authority::new();
    let rig = authority.gateway(&format!("{ECHO}{TLS}")).await;
    for binding in BINDINGS {
        let client = client(&rig, authority.trusted(None), binding)
            .await
            .unwrap();
        let port = rig.base.rsplit(':').next().unwrap();
        for interface in &client.card().supported_interfaces {
            let expected = match interface.protocol_binding.as_str() {
                "GRPC" => format!("127.0.0.1:{port}"),
                _ => format!("https://127.0.0.1:{port}"),
            };
            assert!(interface.url.starts_with(&expected), "{}", interface.url);
        }
        assert_eq!(client.endpoint().url.scheme(), "https", "{binding}");
        assert_eq!(
            send(&client, "hello").await.unwrap().1,
            "hello",
            "{binding}"
        );
        let request = Request::SendStreamingMessage(message("streamed"));
        let mut stream = client.stream(request).await.unwrap();
        assert_eq!(
            last_state(&mut stream).await,
            Some(TaskState::Completed),
            "{binding}"
        );
    }
}

/// A connection that speaks this protocol inside TLS.
async fn secured(
    rig: &Rig,
    authority: &Authority,
    protocol: &str,
) -> tokio_rustls::client::TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.der.clone()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let address = rig.base.trim_start_matches("https://");
    let socket = TcpStream::connect(address).await.unwrap();
    let name = "127.0.0.1".try_into().unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    connector.connect(name, socket).await.unwrap()
}

#[tokio::test]
async fn http_1_is_spoken_inside_tls_where_it_is_agreed_on() {
    let authority = Authority::new();
    let rig = authority.gateway(&format!("{ECHO}{TLS}")).await;
    let mut stream = secured(&rig, &authority, "http/1.1").await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    let request = b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_client_certificate_is_a_credential_and_an_owner_of_its_own() {
    let authority = Authority::new();
    let rig = authority.gateway(&format!("{ECHO}{MTLS}")).await;
    let dir = tempfile::tempdir().unwrap();
    for binding in BINDINGS {
        let of = |name: &str| authority.trusted(Some(authority.identity(dir.path(), name)));
        let alice = client(&rig, of("alice"), binding).await.unwrap();
        let bob = client(&rig, of("bob"), binding).await.unwrap();
        let (id, _) = send(&alice, "hers").await.unwrap();
        let get = || {
            Request::GetTask(GetTaskRequest {
                tenant: None,
                id: id.clone(),
                history_length: None,
            })
        };
        assert!(alice.call(get()).await.is_ok(), "{binding}");
        let foreign = bob.call(get()).await.unwrap_err();
        assert!(foreign.is_protocol(ErrorKind::TaskNotFound), "{foreign}");
        // Everybody may read the card, and it says what is wanted.
        let nobody = client(&rig, authority.trusted(None), binding)
            .await
            .unwrap();
        let wanted = &nobody.card().security_requirements;
        assert!(
            wanted.len() == 1 && wanted[0].schemes.contains_key("mtls"),
            "{wanted:?}"
        );
        let refused = send(&nobody, "mine").await.unwrap_err();
        assert_eq!(
            refused.kind,
            ClientErrorKind::CredentialsMissing,
            "{refused}"
        );
        // Another authority's certificate ends the handshake.
        let stranger = Authority::new().identity(dir.path(), "alice");
        let refused = client(&rig, authority.trusted(Some(stranger)), binding).await;
        let refused = refused.err().expect("refused");
        assert!(refused.message.contains("fatal alert"), "{refused:?}");
    }
}

#[tokio::test]
async fn an_agent_behind_us_that_asks_for_a_certificate_is_shown_one() {
    let authority = Authority::new();
    let behind = authority.gateway(&format!("{ECHO}{MTLS}")).await;
    let (certificate, key) = authority.issue("relay");
    let files = [
        ("ca.pem", authority.pem.as_str()),
        ("relay.pem", &certificate),
        ("relay-key.pem", &key),
    ];
    let auth = "{ type = \"mtls\", certificate = \"relay.pem\", key = \"relay-key.pem\" }";
    let peer = format!("[peers.behind]\nurl = {:?}\nca = \"ca.pem\"\n", behind.base);
    let agent = "[agents.relay]\nbackend = \"a2a\"\npeer = \"behind\"\n";
    // The credential of the peer, one of the agent's own, and none.
    for (config, is_let_in) in [
        (format!("{peer}auth = {auth}\n{agent}"), true),
        (
            format!("{peer}{agent}url = {:?}\nauth = {auth}\n", behind.base),
            true,
        ),
        (format!("{peer}{agent}"), false),
    ] {
        let rig = Rig::with_secrets(Store::Memory, &config, &files).await;
        let client = client(&rig, TlsSettings::default(), Binding::JsonRpc).await;
        let answer = client
            .unwrap()
            .call(Request::SendMessage(message("through")))
            .await;
        let Ok(Response::SendMessage(SendMessageResponse::Task(task))) = answer else {
            panic!("{answer:?}");
        };
        let is_done = task.status.state == TaskState::Completed;
        assert_eq!(is_done, is_let_in, "{config}: {task:?}");
    }
}

#[tokio::test]
async fn a_changed_certificate_is_taken_up_and_open_streams_go_on() {
    let (before, after) = (Authority::new(), Authority::new());
    let script = "echo begun; while ! test -e \"$DONE\"; do sleep 0.05; done; echo done";
    let dir = tempfile::tempdir().unwrap();
    let done = dir.path().join("done");
    let settings = format!("env = {{ DONE = {:?} }}", done.display().to_string());
    let agent = script_agent("worker", script, &settings);
    let rig = before.gateway(&format!("{agent}\n{TLS}")).await;
    let open = client(&rig, before.trusted(None), Binding::JsonRpc)
        .await
        .unwrap();
    let request = Request::SendStreamingMessage(message("go"));
    let mut stream = open.stream(request).await.unwrap();
    stream.next().await.unwrap().unwrap();

    let (certificate, key) = after.issue("127.0.0.1");
    write_private(&rig.dir.path().join("cert.pem"), &certificate);
    write_private(&rig.dir.path().join("key.pem"), &key);
    let taken_up = async {
        while client(&rig, after.trusted(None), Binding::JsonRpc)
            .await
            .is_err()
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LIMIT, taken_up)
        .await
        .expect("never taken up");
    assert!(
        client(&rig, before.trusted(None), Binding::JsonRpc)
            .await
            .is_err()
    );

    std::fs::write(&done, "").unwrap();
    assert_eq!(last_state(&mut stream).await, Some(TaskState::Completed));
}

#[tokio::test]
async fn plain_http_is_told_to_speak_tls() {
    let authority = Authority::new();
    let rig = authority.gateway(&format!("{ECHO}{TLS}")).await;
    let address = rig.base.trim_start_matches("https://").to_owned();
    for start in [
        "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let mut socket = TcpStream::connect(&address).await.unwrap();
        socket.write_all(start.as_bytes()).await.unwrap();
        socket.shutdown().await.unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(
            head.contains(&format!("content-length: {}", body.len())),
            "{head}"
        );
        assert!(body.contains("https://"), "{body}");
    }
}

#[tokio::test]
async fn who_never_finishes_the_handshake_is_cut_off() {
    let authority = Authority::new();
    let config = format!("[server]\nheader_timeout = \"200ms\"\n{TLS}{ECHO}");
    let rig = authority.gateway(&config).await;
    let address = rig.base.trim_start_matches("https://").to_owned();
    for start in [&b""[..], b"\x16\x03\x01\x02\x00\x01\x00"] {
        let mut socket = TcpStream::connect(&address).await.unwrap();
        socket.write_all(start).await.unwrap();
        let mut answer = Vec::new();
        let ended = tokio::time::timeout(LIMIT, socket.read_to_end(&mut answer)).await;
        ended.expect("left open").ok();
    }
}
