//! `[server.tls]`: the listener's certificate, and whose client certificates are believed.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// TLS on every address of `listen`. The files are looked at every two seconds and taken anew when
/// they change; connections that are open stay open.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct TlsConfig {
    /// The server's certificate and those between it and its authority, in PEM form.
    pub certificate: PathBuf,
    /// Its private key, in PEM form. Only its owner and its group may be able to read it.
    pub key: PathBuf,
    /// Authorities whose client certificates are credentials: the name in the certificate's
    /// subject makes the caller `mtls:NAME`. Who shows no certificate needs another credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_ca: Option<PathBuf>,
}

impl TlsConfig {
    /// Takes relative paths from `base`.
    pub fn anchor(&mut self, base: &Path) {
        for path in [&mut self.certificate, &mut self.key]
            .into_iter()
            .chain(&mut self.client_ca)
        {
            *path = base.join(&path);
        }
    }
}
