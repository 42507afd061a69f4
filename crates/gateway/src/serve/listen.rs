//! The accept loop: bounded in all and per address, never spinning, never leaving on an error.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection;
use super::limits::ACCEPT_PAUSE;
use super::service::Service;
use super::tls::Tls;

/// Connections that wait to be accepted, for the system to hold.
const BACKLOG: u32 = 1024;

/// Takes the address, so that a second process is told at once.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        tokio::net::TcpSocket::new_v4()?
    } else {
        tokio::net::TcpSocket::new_v6()?
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// What connections lead to, and through what.
#[derive(Clone)]
pub struct Entrance {
    /// Answers their requests.
    pub service: Arc<Service>,
    /// Handshakes come first, where there are any.
    pub tls: Option<Arc<Tls>>,
}

/// Serves connections of one listener until `stopping` fires; they are tracked by `connections`.
pub async fn accept_loop(
    listener: TcpListener,
    entrance: Entrance,
    bounds: Arc<ConnectionBounds>,
    connections: TaskTracker,
    stopping: CancellationToken,
) {
    loop {
        let place = bounds.all.clone().acquire_owned();
        let accepted = tokio::select! {
            () = stopping.cancelled() => return,
            accepted = async { (place.await, listener.accept().await) } => accepted,
        };
        let (Ok(place), accepted) = accepted else {
            return;
        };
        match accepted {
            Ok((socket, from)) => {
                let Some(address_place) = bounds.enter(from.ip()) else {
                    tracing::debug!(%from, "too many connections from this address");
                    continue;
                };
                let (entrance, stopping) = (entrance.clone(), stopping.clone());
                connections.spawn(async move {
                    connection::serve(socket, from, entrance, stopping).await;
                    drop((place, address_place));
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections for a moment");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// How many connections there may be.
pub struct ConnectionBounds {
    all: Arc<Semaphore>,
    per_address: usize,
    addresses: Mutex<HashMap<IpAddr, usize>>,
}

impl ConnectionBounds {
    /// At most `all` connections, at most `per_address` from one address.
    #[must_use]
    pub fn new(all: usize, per_address: usize) -> Arc<Self> {
        Arc::new(Self {
            all: Arc::new(Semaphore::new(all)),
            per_address,
            addresses: Mutex::default(),
        })
    }

    fn enter(self: &Arc<Self>, address: IpAddr) -> Option<AddressPlace> {
        let mut addresses = self.addresses.lock();
        let count = addresses.entry(address).or_default();
        if *count >= self.per_address {
            return None;
        }
        *count += 1;
        drop(addresses);
        Some(AddressPlace {
            bounds: self.clone(),
            address,
        })
    }
}

struct AddressPlace {
    bounds: Arc<ConnectionBounds>,
    address: IpAddr,
}

impl Drop for AddressPlace {
    fn drop(&mut self) {
        let mut addresses = self.bounds.addresses.lock();
        if let Some(count) = addresses.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                addresses.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_cannot_take_every_place() {
        let bounds = ConnectionBounds::new(10, 2);
        let (one, other) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        let first = bounds.enter(one);
        let second = bounds.enter(one);
        assert!(first.is_some() && second.is_some() && bounds.enter(one).is_none());
        assert!(bounds.enter(other).is_some());
        drop(first);
        assert!(bounds.enter(one).is_some());
        drop(second);
        assert!(bounds.addresses.lock().is_empty());
    }
}
