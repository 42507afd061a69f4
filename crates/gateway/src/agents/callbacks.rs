//! Where agents post answers and news of tasks: which turn waits at which address.
//!
//! An address holds an id, the task's or one of the turn's own, and a token, which is compared in constant
//! time and good for one turn. An answer is acknowledged when the turn has stored it, and not before.

use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use subtle::ConstantTimeEq as _;
use tokio::sync::{mpsc, oneshot};

use crate::config::Secret;

/// Posts that wait until the turn looks at them; the next sender waits for a place.
const MAX_WAITING: usize = 16;
/// Addresses that are remembered after their turns, to say so to whoever posts there late.
const MAX_REMEMBERED: usize = 1024;

/// Bytes of a token: not to be guessed.
const TOKEN_BYTES: usize = 32;

/// A token for an address.
pub(super) fn new_token() -> String {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).expect("the system gives random numbers");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All turns that wait for a post.
#[derive(Debug, Default)]
pub struct Callbacks {
    places: Mutex<Places>,
}

#[derive(Debug, Default)]
struct Places {
    by_task: HashMap<Arc<str>, Place>,
    /// Addresses whose turns are over, the oldest first.
    over: VecDeque<(Arc<str>, Secret)>,
}

#[derive(Debug)]
enum Place {
    /// The turn goes on after a restart: before it, or after it while the turn has not had its place
    /// yet. What its token is it will say.
    Expected,
    Open(Secret, mpsc::Sender<Callback>),
}

/// What was posted.
#[derive(Debug)]
pub struct Callback {
    /// The media type it says it has.
    pub media_type: Option<String>,
    /// What was posted.
    pub body: Bytes,
    /// Where to say what became of it. Dropped: the turn is over.
    pub(super) reply: oneshot::Sender<Verdict>,
}

impl Callback {
    /// Acknowledges what holds nothing that would have to be kept.
    pub(super) fn noted(self) {
        // Whoever posted it may have gone.
        let _ = self.reply.send(Verdict::Stored);
    }
}

/// What a turn says of a post.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It is stored.
    Stored,
    /// It is stored once this is told.
    StoredWith(oneshot::Receiver<()>),
    /// It cannot be read, for this reason.
    Unreadable(String),
}

/// What became of a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// It is stored.
    Taken,
    /// It cannot be read, for this reason; the address stays good.
    Unreadable(String),
    /// The turn is over: answered, cancelled, or out of time. Nothing was changed.
    Over,
    /// The turn will wait there, soon: the gateway restarts.
    NotYet,
    /// There is and was no such address, as far as is remembered.
    Unknown,
}

impl Callbacks {
    /// Whether a post to this address has a chance; else why not. So that no body is read for nothing.
    ///
    /// # Errors
    /// What the post would come to.
    pub fn admit(&self, task: &str, token: &str) -> Result<(), Receipt> {
        self.find(task, token).map(drop)
    }

    /// Hands a post to the turn that waits for it, and waits until that has stored it.
    pub async fn post(
        &self,
        task: &str,
        token: &str,
        media_type: Option<String>,
        body: Bytes,
    ) -> Receipt {
        let turn = match self.find(task, token) {
            Ok(turn) => turn,
            Err(receipt) => return receipt,
        };
        let (reply, verdict) = oneshot::channel();
        let callback = Callback {
            media_type,
            body,
            reply,
        };
        // Whether the turn is over or only the gateway, its place tells.
        let unseen = || self.admit(task, token).err().unwrap_or(Receipt::NotYet);
        if turn.send(callback).await.is_err() {
            return unseen();
        }
        match verdict.await {
            Ok(Verdict::Stored) => Receipt::Taken,
            Ok(Verdict::StoredWith(stored)) => match stored.await {
                Ok(()) => Receipt::Taken,
                // A cancel came first, or the store is away while the gateway stops: the next try is
                // told which.
                Err(_) => Receipt::NotYet,
            },
            Ok(Verdict::Unreadable(reason)) => Receipt::Unreadable(reason),
            Err(_) => unseen(),
        }
    }

    fn find(&self, task: &str, token: &str) -> Result<mpsc::Sender<Callback>, Receipt> {
        let is = |kept: &Secret| bool::from(kept.expose().as_bytes().ct_eq(token.as_bytes()));
        let places = self.places.lock();
        match places.by_task.get(task) {
            Some(Place::Open(kept, turn)) if is(kept) => return Ok(turn.clone()),
            Some(Place::Expected) => return Err(Receipt::NotYet),
            _ => {}
        }
        let mut over = places.over.iter();
        let was_good = over.any(|(it, kept)| **it == *task && is(kept));
        Err(if was_good {
            Receipt::Over
        } else {
            Receipt::Unknown
        })
    }

    /// A turn of this task will wait, once it has its place.
    pub(super) fn expect(&self, task: &str) {
        let mut places = self.places.lock();
        places.by_task.insert(task.into(), Place::Expected);
    }

    /// Opens the address of a turn, until it is closed.
    pub(super) fn open(self: &Arc<Self>, task: &Arc<str>, token: &Secret) -> Opening {
        let (tell, posts) = mpsc::channel(MAX_WAITING);
        let place = Place::Open(token.clone(), tell);
        self.places.lock().by_task.insert(task.clone(), place);
        Opening {
            callbacks: self.clone(),
            task: task.clone(),
            posts,
        }
    }

    /// A turn waits no longer, or will not do so after all.
    pub(super) fn close(&self, task: &str) {
        let mut places = self.places.lock();
        if let Some((task, Place::Open(token, _))) = places.by_task.remove_entry(task) {
            if places.over.len() == MAX_REMEMBERED {
                places.over.pop_front();
            }
            places.over.push_back((task, token));
        }
    }
}

/// The address of a turn, while it is open. Dropped without being closed it is expected again: the
/// gateway stops, and the turn goes on after its next start.
#[derive(Debug)]
pub(super) struct Opening {
    callbacks: Arc<Callbacks>,
    task: Arc<str>,
    posts: mpsc::Receiver<Callback>,
}

impl Opening {
    /// A post that is there already.
    pub(super) fn next_now(&mut self) -> Option<Callback> {
        self.posts.try_recv().ok()
    }

    /// The next post with the right token. Cancel-safe.
    pub(super) async fn next(&mut self) -> Callback {
        match self.posts.recv().await {
            Some(callback) => callback,
            // The sender is kept as long as the address is open.
            None => std::future::pending().await,
        }
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        let mut places = self.callbacks.places.lock();
        if let Some(place @ Place::Open(..)) = places.by_task.get_mut(&self.task) {
            *place = Place::Expected;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_is_good_for_its_task_and_turn_alone() {
        let callbacks = Arc::new(Callbacks::default());
        let (task, token): (Arc<str>, _) = ("t".into(), Secret::new("right"));
        callbacks.expect("t");
        assert_eq!(callbacks.admit("t", "right"), Err(Receipt::NotYet));
        let mut opening = callbacks.open(&task, &token);
        for (task, token) in [("t", "wrong"), ("t", ""), ("u", "right")] {
            assert_eq!(callbacks.admit(task, token), Err(Receipt::Unknown));
        }
        let post = callbacks.post("t", "right", None, Bytes::from_static(b"x"));
        let take = async {
            let callback = opening.next().await;
            assert_eq!(callback.body, "x");
            let unreadable = Verdict::Unreadable("why".to_owned());
            callback.reply.send(unreadable).unwrap();
        };
        let unreadable = Receipt::Unreadable("why".to_owned());
        assert_eq!(tokio::join!(post, take).0, unreadable);
        let unseen = callbacks.post("t", "right", None, Bytes::new());
        let end = async {
            callbacks.close("t");
            drop(opening);
        };
        assert_eq!(tokio::join!(unseen, end).0, Receipt::Over);
        assert_eq!(callbacks.admit("t", "right"), Err(Receipt::Over));
        assert_eq!(callbacks.admit("t", "wrong"), Err(Receipt::Unknown));
        let next = callbacks.open(&task, &Secret::new("new"));
        assert_eq!(callbacks.admit("t", "right"), Err(Receipt::Over));
        assert_eq!(callbacks.admit("t", "new"), Ok(()));
        let unseen = callbacks.post("t", "new", None, Bytes::new());
        let stop = async { drop(next) };
        assert_eq!(tokio::join!(unseen, stop).0, Receipt::NotYet);
    }

    #[tokio::test]
    async fn a_post_is_acknowledged_when_it_is_stored() {
        let callbacks = Arc::new(Callbacks::default());
        let mut opening = callbacks.open(&"t".into(), &Secret::new("k"));
        for (is_stored, expected) in [(true, Receipt::Taken), (false, Receipt::NotYet)] {
            let post = callbacks.post("t", "k", None, Bytes::new());
            let take = async {
                let (store, stored) = oneshot::channel();
                let reply = opening.next().await.reply;
                reply.send(Verdict::StoredWith(stored)).unwrap();
                if is_stored {
                    store.send(()).unwrap();
                }
            };
            assert_eq!(tokio::join!(post, take).0, expected);
        }
    }
}
