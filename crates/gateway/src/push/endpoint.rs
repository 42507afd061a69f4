//! What all deliveries to one address share: their places, and since when nothing gets through.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use tokio::sync::Semaphore;

/// Tries at once to one endpoint.
const MAX_TRIES_AT_ONCE: usize = 4;
/// An endpoint that has only failed for so long is switched off: five days, in milliseconds.
const OFF_AFTER_MILLIS: i64 = 5 * 24 * 60 * 60 * 1000;
/// Forgotten endpoints are swept out when there are twice as many entries as after the last sweep,
/// but not below this.
const SWEEP_FROM: usize = 1024;

/// One address that is posted to.
pub(super) struct Endpoint {
    pub(super) places: Semaphore,
    failing_since: Mutex<Option<i64>>,
}

impl Endpoint {
    /// A try got through.
    pub(super) fn succeeded(&self) {
        *self.failing_since.lock() = None;
    }

    /// A try failed. Since when all of them do, and whether that is long enough to stop.
    pub(super) fn failed(&self, now: i64) -> (i64, bool) {
        let since = *self.failing_since.lock().get_or_insert(now);
        (since, now.saturating_sub(since) >= OFF_AFTER_MILLIS)
    }
}

/// The endpoints that somebody posts to.
#[derive(Default)]
pub(super) struct Endpoints(Mutex<Known>);

#[derive(Default)]
struct Known {
    by_url: HashMap<Box<str>, Weak<Endpoint>>,
    sweep_at: usize,
}

impl Endpoints {
    /// The operator says that it works again: what failed before counts no more.
    pub(super) fn forgive(&self, url: &str) {
        if let Some(endpoint) = self.0.lock().by_url.get(url).and_then(Weak::upgrade) {
            endpoint.succeeded();
        }
    }

    /// The endpoint with this address. One that nobody posted to just now is taken to have failed
    /// since the time that its configuration remembers.
    pub(super) fn get(&self, url: &str, failing_since: Option<i64>) -> Arc<Endpoint> {
        let mut known = self.0.lock();
        if let Some(endpoint) = known.by_url.get(url).and_then(Weak::upgrade) {
            return endpoint;
        }
        let endpoint = Arc::new(Endpoint {
            places: Semaphore::new(MAX_TRIES_AT_ONCE),
            failing_since: Mutex::new(failing_since),
        });
        if known.by_url.len() >= known.sweep_at.max(SWEEP_FROM) {
            known
                .by_url
                .retain(|_, endpoint| endpoint.strong_count() > 0);
            known.sweep_at = known.by_url.len() * 2;
        }
        known.by_url.insert(url.into(), Arc::downgrade(&endpoint));
        endpoint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_days_of_failures_alone_switch_off() {
        let endpoints = Endpoints::default();
        let endpoint = endpoints.get("https://h/", None);
        assert_eq!(endpoint.failed(10), (10, false));
        assert_eq!(endpoint.failed(9 + OFF_AFTER_MILLIS), (10, false));
        assert_eq!(endpoint.failed(10 + OFF_AFTER_MILLIS), (10, true));
        assert!(Arc::ptr_eq(
            &endpoint,
            &endpoints.get("https://h/", Some(1))
        ));
        endpoints.forgive("https://h/");
        assert_eq!(
            endpoint.failed(11 + OFF_AFTER_MILLIS),
            (11 + OFF_AFTER_MILLIS, false)
        );
        drop(endpoint);
        let later = endpoints.get("https://h/", Some(5));
        assert_eq!(later.failed(5 + OFF_AFTER_MILLIS), (5, true));
    }
}
