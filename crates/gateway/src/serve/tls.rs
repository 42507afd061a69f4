//! TLS on the listener: certificates from files, taken anew when the files change, and whom a
//! client certificate names. What is spoken after the handshake is `connection`'s.

use nuncio_client::tls::{read_certificates, read_key};
use parking_lot::RwLock;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use x509_cert::Certificate;
use x509_cert::attr::AttributeValue;
use x509_cert::der::Decode as _;
use x509_cert::der::asn1::{PrintableStringRef, Utf8StringRef};
use x509_cert::der::oid::db::rfc4519::COMMON_NAME;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use crate::config::TlsConfig;

/// Pause between two looks at the files; three calls of `stat` cost nothing.
const RELOAD_INTERVAL: Duration = Duration::from_secs(2);
/// The first byte of every TLS connection: a record of the handshake (RFC 8446 section 5.1).
const HANDSHAKE_RECORD: u8 = 22;
/// Longest name of a client certificate that makes an owner, in bytes.
const MAX_NAME_BYTES: usize = 256;
/// Most of a plain request that is taken away, so that its sender reads our answer before the end.
const MAX_PLAIN_BYTES: u64 = 64 * 1024;
/// How long that may take.
const PLAIN_PATIENCE: Duration = Duration::from_secs(2);
/// What a caller is told who speaks plain HTTP.
const SPEAK_TLS: &str = r#"{"error":"this port speaks TLS: begin the address with https://"}"#;
/// What may be spoken inside TLS, the better first.
const PROTOCOLS: [&[u8]; 2] = [HTTP2, b"http/1.1"];
/// HTTP/2 by its name in the handshake (RFC 9113 section 3.1).
const HTTP2: &[u8] = b"h2";

/// The listener's side of TLS.
pub struct Tls {
    settings: TlsConfig,
    current: RwLock<Loaded>,
}

struct Loaded {
    acceptor: TlsAcceptor,
    stamps: Stamps,
}

/// What tells that a file was changed or replaced; `None` for one that is not there.
type Stamps = [Option<(u64, u64, i64, i64)>; 3];

/// A connection after its handshake.
pub(super) struct Secured {
    pub(super) stream: Box<TlsStream<TcpStream>>,
    pub(super) is_http2: bool,
    /// The name in the client's certificate, if it showed one.
    pub(super) certified: Option<Arc<str>>,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// Which file cannot be used and why.
    pub fn load(settings: &TlsConfig) -> Result<Arc<Self>, String> {
        let stamps = stamps(settings);
        let acceptor = acceptor(settings)?;
        Ok(Arc::new(Self {
            settings: settings.clone(),
            current: RwLock::new(Loaded { acceptor, stamps }),
        }))
    }

    /// Takes changed files up until `stopping` fires. Files that cannot be used are logged, and the
    /// ones before them stay in force.
    pub async fn keep_fresh(self: Arc<Self>, stopping: CancellationToken) {
        loop {
            tokio::select! {
                () = stopping.cancelled() => return,
                () = tokio::time::sleep(RELOAD_INTERVAL) => {}
            }
            let tls = self.clone();
            // Fails only when the runtime ends.
            let _ = tokio::task::spawn_blocking(move || tls.refresh()).await;
        }
    }

    fn refresh(&self) {
        let stamps = stamps(&self.settings);
        if self.current.read().stamps == stamps {
            return;
        }
        match acceptor(&self.settings) {
            Ok(acceptor) => {
                *self.current.write() = Loaded { acceptor, stamps };
                tracing::info!("the TLS certificate was changed and is in force");
            }
            Err(error) => {
                self.current.write().stamps = stamps;
                tracing::error!(%error, "the changed TLS files cannot be used; the ones before stay in force");
            }
        }
    }

    /// Takes the handshake; a caller who speaks plain HTTP is told so.
    pub(super) async fn accept(&self, mut socket: TcpStream) -> io::Result<Secured> {
        let mut first = [0];
        if socket.peek(&mut first).await? > 0 && first[0] != HANDSHAKE_RECORD {
            say_speak_tls(&mut socket).await?;
            return Err(io::Error::other("spoke no TLS"));
        }
        let acceptor = self.current.read().acceptor.clone();
        let stream = Box::new(acceptor.accept(socket).await?);
        let session = stream.get_ref().1;
        let shown = session.peer_certificates().and_then(<[_]>::first);
        let certified = shown.map(name_of).transpose()?;
        let is_http2 = session.alpn_protocol() == Some(HTTP2);
        Ok(Secured {
            stream,
            is_http2,
            certified,
        })
    }
}

async fn say_speak_tls(socket: &mut TcpStream) -> io::Result<()> {
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{SPEAK_TLS}",
        SPEAK_TLS.len()
    );
    socket.write_all(answer.as_bytes()).await?;
    socket.shutdown().await?;
    // Closing over unread bytes would reset the connection before the answer is read.
    let mut rest = Vec::new();
    let mut taken = socket.take(MAX_PLAIN_BYTES);
    let _ = tokio::time::timeout(PLAIN_PATIENCE, taken.read_to_end(&mut rest)).await;
    Ok(())
}

fn stamps(settings: &TlsConfig) -> Stamps {
    let stamp = |path: &Path| {
        let of = |data: Metadata| (data.ino(), data.size(), data.mtime(), data.mtime_nsec());
        std::fs::metadata(path).map(of).ok()
    };
    [
        stamp(&settings.certificate),
        stamp(&settings.key),
        settings.client_ca.as_deref().and_then(stamp),
    ]
}

fn acceptor(settings: &TlsConfig) -> Result<TlsAcceptor, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?;
    let builder = match &settings.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let wrong = |why: String| format!("the authorities in {}: {why}", path.display());
            let mut roots = RootCertStore::empty();
            for authority in read_certificates(path)? {
                let added = roots.add(authority);
                added.map_err(|error| wrong(error.to_string()))?;
            }
            // Who shows none is asked for another credential where one is needed.
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider)
                .allow_unauthenticated()
                .build()
                .map_err(|error| wrong(error.to_string()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let certificates = read_certificates(&settings.certificate)?;
    let mut config = builder
        .with_single_cert(certificates, read_key(&settings.key)?)
        .map_err(|error| {
            let (certificate, key) = (settings.certificate.display(), settings.key.display());
            format!("the certificate {certificate} and the key {key}: {error}")
        })?;
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// The common name of the subject, else the first name among its alternatives.
fn name_of(certificate: &CertificateDer<'_>) -> io::Result<Arc<str>> {
    let parsed = Certificate::from_der(certificate).map_err(io::Error::other)?;
    let parsed = parsed.tbs_certificate;
    let names = parsed.subject.0.iter().flat_map(|names| names.0.iter());
    let common = names
        .filter(|name| name.oid == COMMON_NAME)
        .find_map(|name| text_of(&name.value));
    let alternatives = || parsed.get::<SubjectAltName>().ok().flatten();
    let alternative = || {
        let (_, names) = alternatives()?;
        names.0.into_iter().find_map(|name| match name {
            GeneralName::UniformResourceIdentifier(name)
            | GeneralName::DnsName(name)
            | GeneralName::Rfc822Name(name) => Some(name.as_str().to_owned()),
            _ => None,
        })
    };
    let plausible = |name: &String| {
        !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.contains(char::is_control)
    };
    let name = common.or_else(alternative).filter(plausible);
    name.map(Arc::from)
        .ok_or_else(|| io::Error::other("the client certificate names nobody"))
}

/// A name in one of the two forms that certificates are to have (RFC 5280 section 4.1.2.4).
fn text_of(value: &AttributeValue) -> Option<String> {
    let utf8 = value.decode_as::<Utf8StringRef<'_>>();
    let utf8 = utf8.map(|text| text.as_str().to_owned()).ok();
    let printable = || value.decode_as::<PrintableStringRef<'_>>().ok();
    utf8.or_else(|| printable().map(|text| text.as_str().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_pair(dir: &Path) {
        let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        std::fs::write(dir.join("cert"), own.cert.pem()).unwrap();
        std::fs::write(dir.join("key"), own.signing_key.serialize_pem()).unwrap();
        set_mode(&dir.join("key"), 0o600);
    }

    fn set_mode(path: &Path, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn settings(dir: &Path) -> TlsConfig {
        TlsConfig {
            certificate: dir.join("cert"),
            key: dir.join("key"),
            client_ca: None,
        }
    }

    #[test]
    fn files_that_cannot_be_used_change_nothing_until_they_are_mended() {
        let dir = tempfile::tempdir().unwrap();
        write_pair(dir.path());
        let tls = Tls::load(&settings(dir.path())).unwrap();
        let in_force = || Arc::as_ptr(tls.current.read().acceptor.config());
        let first = in_force();
        tls.refresh();
        assert_eq!(in_force(), first);
        std::fs::write(dir.path().join("cert"), "nonsense").unwrap();
        tls.refresh();
        assert_eq!(in_force(), first);
        write_pair(dir.path());
        tls.refresh();
        assert_ne!(in_force(), first);
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said() {
        let dir = tempfile::tempdir().unwrap();
        write_pair(dir.path());
        let refused = || Tls::load(&settings(dir.path())).err().expect("refused");
        set_mode(&dir.path().join("key"), 0o604);
        assert!(refused().contains("chmod o="), "{}", refused());
        set_mode(&dir.path().join("key"), 0o640);
        assert!(Tls::load(&settings(dir.path())).is_ok());
        // Another pair's certificate.
        let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        std::fs::write(dir.path().join("cert"), other.cert.pem()).unwrap();
        assert!(refused().contains("and the key"), "{}", refused());
        std::fs::write(dir.path().join("cert"), "").unwrap();
        assert!(refused().contains("no certificate"), "{}", refused());
        std::fs::remove_file(dir.path().join("cert")).unwrap();
        assert!(refused().contains("cert"), "{}", refused());
    }
}
