//! TLS to the database: what the URL says of it, and whose certificates are believed.
//!
//! The modes are libpq's, but a connection that is encrypted is always to the server that was named:
//! `require` checks the certificate as `verify-full` does.

use percent_encoding::percent_decode_str;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;

/// What the parameters of a URL say of TLS.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Wish {
    /// Whether connections are encrypted.
    encrypted: bool,
    /// The file of the authorities; without it the machine's are believed.
    authorities: Option<PathBuf>,
}

impl Wish {
    /// Takes what concerns TLS out of a URL, for parsers that know less of it.
    pub(super) fn take(url: &str) -> Result<(Self, String), String> {
        let (place, parameters) = url.split_once('?').unwrap_or((url, ""));
        let mut wish = Self::default();
        let mut others = Vec::new();
        for parameter in parameters.split('&').filter(|it| !it.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", mode)) => wish.encrypted = is_encrypted(mode)?,
                Some(("sslrootcert", "system")) => wish.authorities = None,
                Some(("sslrootcert", path)) => wish.authorities = Some(absolute(path)?),
                _ => others.push(parameter),
            }
        }
        if !wish.encrypted {
            others.push("sslmode=disable");
            if wish.authorities.is_some() {
                let text = "`sslrootcert` in [store] url needs `sslmode=verify-full`";
                return Err(text.to_owned());
            }
        } else {
            others.push("sslmode=require");
        }
        Ok((wish, format!("{place}?{}", others.join("&"))))
    }

    /// What connections are encrypted with, if they are. Reads the authorities.
    pub(super) fn connector(&self) -> Result<Option<MakeRustlsConnect>, String> {
        if !self.encrypted {
            return Ok(None);
        }
        let roots = match &self.authorities {
            Some(path) => named_roots(path)?,
            None => system_roots()?,
        };
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS cannot be set up: {error}"))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Some(MakeRustlsConnect::new(config)))
    }
}

fn is_encrypted(mode: &str) -> Result<bool, String> {
    match mode {
        "disable" | "prefer" => Ok(false),
        "require" | "verify-full" => Ok(true),
        _ => Err(
            "`sslmode` in [store] url must be `disable`, `prefer` (which is without TLS here), \
             `require` or `verify-full` (which both check the server's certificate)"
                .to_owned(),
        ),
    }
}

fn absolute(path: &str) -> Result<PathBuf, String> {
    let wrong = || "`sslrootcert` in [store] url must be `system` or an absolute path".to_owned();
    let path = percent_decode_str(path).decode_utf8();
    let path = PathBuf::from(&*path.map_err(|_| wrong())?);
    if path.is_absolute() {
        Ok(path)
    } else {
        Err(wrong())
    }
}

fn named_roots(path: &Path) -> Result<RootCertStore, String> {
    let wrong = |why: &dyn std::fmt::Display| {
        format!("`sslrootcert` in [store] url: {}: {why}", path.display())
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| wrong(&error))? {
        let certificate = certificate.map_err(|error| wrong(&error))?;
        roots.add(certificate).map_err(|error| wrong(&error))?;
    }
    if roots.is_empty() {
        return Err(wrong(&"there is no certificate in PEM form in it"));
    }
    Ok(roots)
}

fn system_roots() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(
            "this machine has no root certificates: name the authority of the database's \
             certificate in [store] url with `sslrootcert=/PATH`"
                .to_owned(),
        );
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_concerns_tls_is_taken_out_of_the_url() {
        let taken = |url: &str| Wish::take(url).unwrap();
        let open = (
            Wish::default(),
            "postgres://u@h/d?sslmode=disable".to_owned(),
        );
        for url in ["postgres://u@h/d", "postgres://u@h/d?sslmode=prefer"] {
            assert_eq!(taken(url), open);
        }
        let (wish, rest) = taken(
            "postgres://u@h/d?connect_timeout=3&sslmode=verify-full&sslrootcert=/etc/a%20b.pem",
        );
        assert_eq!(rest, "postgres://u@h/d?connect_timeout=3&sslmode=require");
        assert!(wish.encrypted && wish.authorities == Some("/etc/a b.pem".into()));
        for wrong in [
            "sslmode=verify-ca",
            "sslmode=require&sslrootcert=a.pem",
            "sslrootcert=/a",
        ] {
            let error = Wish::take(&format!("postgres://u@h/d?{wrong}")).unwrap_err();
            assert!(error.contains("[store] url"), "{error}");
        }
    }
}
