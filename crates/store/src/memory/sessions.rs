//! Sessions of the memory store.

use parking_lot::Mutex;
use std::collections::HashMap;

use crate::clock::now_millis;
use crate::{Conversation, KeptSession};

/// Most sessions held; beyond it those that were kept longest ago go. A few MiB.
const MAX_SESSIONS: usize = 10_000;
/// Sessions that go at once, so that looking for the oldest is done seldom.
const SURPLUS: usize = MAX_SESSIONS / 10;

/// The sessions that conversations go on in.
#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<Conversation, KeptSession>>);

impl Sessions {
    pub(super) fn read(&self, of: &Conversation) -> Option<KeptSession> {
        self.0.lock().get(of).cloned()
    }

    pub(super) fn keep(&self, of: Conversation, name: Option<String>) {
        let mut sessions = self.0.lock();
        let Some(name) = name else {
            sessions.remove(&of);
            return;
        };
        if sessions.len() >= MAX_SESSIONS && !sessions.contains_key(&of) {
            let mut times: Vec<i64> = sessions.values().map(|it| it.kept_millis).collect();
            let (_, last_to_go, _) = times.select_nth_unstable(SURPLUS);
            let last_to_go = *last_to_go;
            sessions.retain(|_, it| it.kept_millis > last_to_go);
        }
        let kept_millis = now_millis();
        sessions.insert(of, KeptSession { name, kept_millis });
    }
}
