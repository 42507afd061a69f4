//! Where the database is, read from a URL; how that is shown without the password.

use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::PostgresOptions;
use super::tls::Wish;
use crate::StoreError;

/// How long one address may take to answer.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// A silent connection is probed after this time.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
/// Between two probes.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// Probes without an answer after which a connection is given up.
const KEEPALIVE_RETRIES: u32 = 3;

/// A database and who asks for it.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    /// What connections are encrypted with, if they are.
    pub(super) tls: Option<MakeRustlsConnect>,
    /// Without password and parameters.
    pub(super) shown: String,
    pub(super) user: String,
    pub(super) database: String,
}

impl Address {
    /// Reads `postgres://USER@HOST:PORT/DATABASE`. Blames the operator without repeating the URL,
    /// which may hold a password.
    pub(super) fn of(options: &PostgresOptions) -> Result<Self, StoreError> {
        let (wish, url) = Wish::take(&options.url).map_err(StoreError::Open)?;
        let mut config: Config = url.parse().map_err(|_| {
            StoreError::Open(
                "[store] url is no PostgreSQL URL: write postgres://USER@HOST:PORT/DATABASE"
                    .to_owned(),
            )
        })?;
        if let Some(password) = &options.password {
            config.password(password);
        }
        let Some(user) = config.get_user().map(str::to_owned) else {
            return Err(StoreError::Open(
                "[store] url names no user: write postgres://USER@HOST:PORT/DATABASE".to_owned(),
            ));
        };
        if config.get_hosts().is_empty() {
            return Err(StoreError::Open(
                "[store] url names no host: write postgres://USER@HOST:PORT/DATABASE, or \
                 postgres://USER@/DATABASE?host=/DIRECTORY for a Unix socket"
                    .to_owned(),
            ));
        }
        let tls = wish.connector().map_err(StoreError::Open)?;
        let socket = |host: &Host| matches!(host, Host::Unix(_));
        if tls.is_some() && config.get_hosts().iter().any(socket) {
            return Err(StoreError::Open(
                "a Unix socket knows no TLS: leave out `sslmode` in [store] url".to_owned(),
            ));
        }
        let database = config.get_dbname().unwrap_or(&user).to_owned();
        config
            .application_name("nuncio")
            .connect_timeout(CONNECT_LIMIT)
            .keepalives_idle(KEEPALIVE_IDLE)
            .keepalives_interval(KEEPALIVE_INTERVAL)
            .keepalives_retries(KEEPALIVE_RETRIES)
            // After a failover the standby that became the primary is found among the hosts.
            .target_session_attrs(TargetSessionAttrs::ReadWrite);
        let shown = format!("postgres://{user}@{}/{database}", hosts(&config));
        Ok(Self {
            config,
            tls,
            shown,
            user,
            database,
        })
    }
}

impl Address {
    /// Whether what is stored may cross a network in the open.
    pub(super) fn is_open_to_others(&self) -> bool {
        self.tls.is_none()
            && self.config.get_hosts().iter().any(|host| match host {
                Host::Tcp(name) => {
                    let address: Option<std::net::IpAddr> = name.parse().ok();
                    name != "localhost" && !address.is_some_and(|address| address.is_loopback())
                }
                Host::Unix(_) => false,
            })
    }
}

/// The hosts with their ports, as in the URL.
fn hosts(config: &Config) -> String {
    let ports = config.get_ports();
    let port = |index: usize| ports.get(index).or(ports.first()).copied();
    let hosts = config.get_hosts().iter().enumerate();
    let shown: Vec<_> = hosts
        .map(|(index, host)| {
            let host = match host {
                Host::Tcp(name) => name.clone(),
                Host::Unix(path) => path.display().to_string(),
            };
            match port(index) {
                Some(port) => format!("{host}:{port}"),
                None => host,
            }
        })
        .collect();
    shown.join(",")
}
