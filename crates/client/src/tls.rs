//! Whom a client trusts in TLS and how it shows who it is; certificates and keys read from PEM files.
//!
//! Owns the settings of a handshake, not the dialling ([`crate::http_client`] does that).

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use hyper_rustls::ConfigBuilderExt;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::insecure::AnyCertificate;

/// How handshakes with servers go.
#[derive(Clone, Debug, Default)]
pub struct TlsSettings {
    /// Which servers are believed.
    pub trust: Trust,
    /// What is shown to a server that asks who calls; nothing without it.
    pub identity: Option<Identity>,
}

/// Which server certificates are believed.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// Those of the machine's authorities, else of Mozilla's.
    #[default]
    System,
    /// Those of these authorities and of no other.
    Only(Arc<[CertificateDer<'static>]>),
    /// Every one.
    Any,
}

/// A client certificate with its chain and its private key.
#[derive(Clone)]
pub struct Identity(Arc<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>);

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl Identity {
    /// Reads both from PEM files, the certificate first in its file.
    ///
    /// # Errors
    /// Which file cannot be used and why.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, String> {
        let pair = (read_certificates(certificate)?, read_key(key)?);
        Ok(Self(Arc::new(pair)))
    }
}

impl Trust {
    /// Only the authorities of a PEM file.
    ///
    /// # Errors
    /// Why the file cannot be used.
    pub fn only(authorities: &Path) -> Result<Self, String> {
        Ok(Self::Only(read_certificates(authorities)?.into()))
    }
}

/// The certificates of a PEM file, at least one.
///
/// # Errors
/// Why the file cannot be used.
pub fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |why: &dyn fmt::Display| format!("the certificate file {}: {why}", path.display());
    let read = CertificateDer::pem_file_iter(path).map_err(|error| wrong(&error))?;
    let certificates: Result<Vec<_>, _> = read.collect();
    let certificates = certificates.map_err(|error| wrong(&error))?;
    if certificates.is_empty() {
        return Err(wrong(&"there is no certificate in PEM form in it"));
    }
    Ok(certificates)
}

/// The first private key of a PEM file, which strangers on this machine must not be able to read.
///
/// # Errors
/// Why the file cannot be used.
pub fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    use std::os::unix::fs::PermissionsExt as _;
    let shown = path.display();
    let wrong = |why: &dyn fmt::Display| format!("the key file {shown}: {why}");
    let metadata = std::fs::metadata(path).map_err(|error| wrong(&error))?;
    // A group may read it: that is how system services share a key.
    if metadata.permissions().mode() & 0o007 != 0 {
        return Err(format!(
            "everybody can read the key file {shown}: run `chmod o= {shown}`"
        ));
    }
    PrivateKeyDer::from_pem_file(path).map_err(|error| wrong(&error))
}

/// TLS 1.2 and 1.3 under these settings.
pub(crate) fn client_config(settings: &TlsSettings) -> Result<ClientConfig, String> {
    let unusable = |error: rustls::Error| format!("TLS cannot be set up: {error}");
    let provider = Arc::new(ring::default_provider());
    let builder = || {
        ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()
    };
    let builder = || builder().map_err(unusable);
    let trusting = match &settings.trust {
        Trust::Any => {
            let verifier = Arc::new(AnyCertificate::new(provider.clone()));
            let builder = builder()?.dangerous();
            builder.with_custom_certificate_verifier(verifier)
        }
        Trust::Only(authorities) => {
            let mut roots = RootCertStore::empty();
            for authority in &**authorities {
                roots.add(authority.clone()).map_err(unusable)?;
            }
            builder()?.with_root_certificates(roots)
        }
        Trust::System => match builder()?.with_native_roots() {
            Ok(rooted) => rooted,
            Err(error) => {
                tracing::debug!(%error, "no root certificates on this machine; using Mozilla's");
                builder()?.with_webpki_roots()
            }
        },
    };
    match &settings.identity {
        None => Ok(trusting.with_no_client_auth()),
        Some(Identity(pair)) => trusting
            .with_client_auth_cert(pair.0.clone(), pair.1.clone_key())
            .map_err(|error| format!("the client certificate cannot be used: {error}")),
    }
}
