//! A running gateway: started from a configuration, stopped with grace.

use nuncio_store::{
    MemoryOptions, PostgresOptions, SqliteOptions, Store, StoreError, StoreOptions,
};
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agents::Agents;
use crate::bindings::cards::Cards;
use crate::card::{BaseUrl, CardMaker};
use crate::config::{Config, SecretRef};
use crate::operations::Operations;
use crate::push::Push;
use crate::security::HostCheck;
use crate::serve::admin::ControlDesk;
use crate::serve::control::ControlSocket;
use crate::serve::listen::{ConnectionBounds, Entrance, accept_loop, bind};
use crate::serve::service::Service;
use crate::serve::tls::Tls;
use crate::tasks::Engine;

/// Pause between two looks for tasks that are past their retention.
const RETENTION_INTERVAL: Duration = Duration::from_secs(60);

/// Why a gateway does not start, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address cannot be taken.
    #[error("cannot listen on {address}: {why}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause with its remedy.
        why: String,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A key for cards cannot be used.
    #[error("{0}")]
    CardKey(String),
    /// The listener's certificate cannot be used.
    #[error("cannot serve TLS: {0}")]
    Tls(String),
    /// An agent cannot be served.
    #[error("{0}")]
    Agent(String),
    /// Push notifications cannot be sent as configured.
    #[error("{0}")]
    Push(String),
    /// The data directory cannot hold the control socket.
    #[error("cannot make the control socket in {path}: {error}")]
    ControlSocket {
        /// The data directory.
        path: String,
        /// The cause.
        error: io::Error,
    },
}

/// A gateway that serves.
pub struct Gateway {
    addresses: Vec<SocketAddr>,
    engine: Arc<Engine>,
    push: Arc<Push>,
    store: Arc<dyn Store>,
    connections: TaskTracker,
    stopping: CancellationToken,
}

impl Gateway {
    /// Opens the store, recovers its tasks and starts to listen. Secrets in `config` have been
    /// resolved; relative paths of the store are taken from `data_dir`.
    pub async fn start(config: Arc<Config>, data_dir: &Path) -> Result<Self, StartError> {
        let tls = config.server.tls.as_ref().map(Tls::load);
        let tls = tls.transpose().map_err(StartError::Tls)?;
        let mut listeners = Vec::new();
        for address in &config.server.listen {
            listeners.push(bind(*address).map_err(|error| cannot_listen(*address, &error))?);
        }
        let addresses: Vec<SocketAddr> = listeners
            .iter()
            .filter_map(|listener| listener.local_addr().ok())
            .collect();
        let agents = Arc::new(
            Agents::start(&config, data_dir, addresses.first().copied())
                .map_err(StartError::Agent)?,
        );
        let maker = CardMaker::new(agents.clone(), config.clone()).map_err(StartError::CardKey)?;
        let maker = Arc::new(maker);
        let store = open_store(&config, data_dir).await?;
        let (push, woken) = Push::new(store.clone(), &config).map_err(StartError::Push)?;
        let engine = Engine::new(store.clone(), agents, push.clone());
        let recovered = engine.recover().await?;
        push.start(woken).await?;
        tracing::info!(?recovered, "store opened");

        let operations = Arc::new(Operations::new(engine.clone(), maker.clone()));
        let cards = Cards::new(maker);
        let hosts = HostCheck::new(&config, &addresses);
        let service = Service::new(operations.clone(), cards, hosts);
        let bounds = ConnectionBounds::new(
            config.server.max_connections,
            config.server.max_connections_per_address,
        );
        let (connections, stopping) = (TaskTracker::new(), CancellationToken::new());
        let control = ControlSocket::bind(data_dir).map_err(|error| StartError::ControlSocket {
            path: data_dir.display().to_string(),
            error,
        })?;
        if let Some(first) = addresses.first() {
            let desk = Arc::new(ControlDesk {
                operations,
                service: service.clone(),
                at: *first,
                base: BaseUrl::of(&config, *first),
            });
            let serving = control.serve(desk, connections.clone(), stopping.clone());
            connections.spawn(serving);
        }
        if let Some(tls) = &tls {
            connections.spawn(tls.clone().keep_fresh(stopping.clone()));
        }
        let entrance = Entrance { service, tls };
        for listener in listeners {
            let (entrance, bounds) = (entrance.clone(), bounds.clone());
            let (tracked, stopping) = (connections.clone(), stopping.clone());
            connections.spawn(accept_loop(listener, entrance, bounds, tracked, stopping));
        }
        connections.spawn(keep_retention(store.clone(), stopping.clone()));
        Ok(Self {
            addresses,
            engine,
            push,
            store,
            connections,
            stopping,
        })
    }

    /// Where it listens, with the ports the system chose.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Waits until the gateway cannot go on, because its store is beyond use. End the process then,
    /// with an exit code that says so.
    pub async fn broken(&self) {
        self.engine.store_broken().await;
    }

    /// Stops: no new connections, running requests and turns get `grace`, the store ends cleanly.
    pub async fn shutdown(self, grace: Duration) {
        self.stopping.cancel();
        self.engine.shut_down(grace).await;
        self.connections.close();
        // Streams of tasks that wait for their caller have no end of their own.
        let _ = tokio::time::timeout(LAST_WORDS, self.connections.wait()).await;
        self.push.stop().await;
        if let Err(error) = self.store.close().await {
            tracing::error!(%error, "the store did not end cleanly");
        }
    }
}

/// How long answers may take to leave after the last turn ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Opens the store that a gateway with this configuration uses, which no gateway may have open.
///
/// # Errors
/// [`StoreError::Open`] with the reason and what to do.
pub async fn open_store(config: &Config, data_dir: &Path) -> Result<Arc<dyn Store>, StoreError> {
    let settings = &config.store;
    // 0 means without end, to the operator.
    let max_finished_tasks = match settings.max_finished_tasks {
        0 => u64::MAX,
        most => most as u64,
    };
    let retention_days = match settings.retention_days {
        0 => u32::MAX,
        days => days,
    };
    let password = settings.password.as_ref().and_then(SecretRef::secret);
    let options = StoreOptions {
        directory: data_dir.to_owned(),
        memory: MemoryOptions {
            max_tasks: settings.max_tasks,
        },
        sqlite: SqliteOptions {
            max_finished_tasks,
            retention_days,
            ..SqliteOptions::default()
        },
        postgres: PostgresOptions {
            password: password.map(|password| password.expose().to_owned()),
            max_finished_tasks,
            retention_days,
            ..PostgresOptions::default()
        },
    };
    nuncio_store::open(&settings.url.to_string(), &options).await
}

/// Deletes what is past its retention, a little at a time.
async fn keep_retention(store: Arc<dyn Store>, stopping: CancellationToken) {
    loop {
        tokio::select! {
            () = stopping.cancelled() => return,
            () = tokio::time::sleep(RETENTION_INTERVAL) => {}
        }
        loop {
            match store.enforce_retention().await {
                Ok(0) => break,
                Ok(deleted) => tracing::debug!(deleted, "tasks past their retention"),
                Err(error) => {
                    tracing::warn!(%error, "retention waits");
                    break;
                }
            }
        }
    }
}

fn cannot_listen(address: SocketAddr, error: &io::Error) -> StartError {
    let why = match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "port {} is in use, perhaps by another nuncio; stop it or choose another port with --listen {}:0",
            address.port(),
            address.ip()
        ),
        io::ErrorKind::PermissionDenied => format!(
            "the system does not allow port {}; choose one above 1023 with --listen",
            address.port()
        ),
        io::ErrorKind::AddrNotAvailable => {
            "this machine has no such address; choose one it has with --listen".to_owned()
        }
        _ => error.to_string(),
    };
    StartError::Listen { address, why }
}
