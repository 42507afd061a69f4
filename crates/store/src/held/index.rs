//! A hash index cut into many small shards.
//!
//! Owns the locks and the growth: each shard holds a thousandth of the entries, so a growing shard
//! moves few of them and nobody waits long. Entries are found by a hash that the caller made and
//! told apart by what the caller compares; the index never hashes a text again.

use parking_lot::{Mutex, MutexGuard};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// Shards of one index. At a million entries each holds about a thousand, which move to a bigger
/// table in some 10 µs; an empty index takes 64 KiB.
const SHARDS: usize = 1024;

/// Entries by hash, behind one lock per shard.
pub(crate) struct Index<T> {
    shards: Box<[Mutex<Shard<T>>]>,
}

impl<T> Index<T> {
    pub(crate) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect(),
        }
    }

    /// Locks the shard in which entries with this hash stand.
    pub(crate) fn lock(&self, hash: u64) -> MutexGuard<'_, Shard<T>> {
        // Bits from the middle: the table inside uses both ends of the hash.
        self.shards[(hash >> 32) as usize % SHARDS].lock()
    }

    /// The shards one after the other, each locked only while it is looked at.
    pub(crate) fn shards(&self) -> impl Iterator<Item = MutexGuard<'_, Shard<T>>> {
        self.shards.iter().map(Mutex::lock)
    }
}

/// One shard, locked.
pub(crate) struct Shard<T> {
    entries: HashMap<u64, Slot<T>, BuildHasherDefault<GivenHash>>,
}

/// What stands under one hash: nearly always one entry.
enum Slot<T> {
    One(T),
    #[allow(clippy::box_collection)] // keeps a slot at 16 bytes; this case is rare
    More(Box<VecDeque<T>>),
}

impl<T> Slot<T> {
    fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        let (one, more) = match self {
            Self::One(entry) => (Some(entry), None),
            Self::More(entries) => (None, Some(entries.iter())),
        };
        one.into_iter().chain(more.into_iter().flatten())
    }

    fn push(&mut self, entry: T) {
        if let Self::More(entries) = self {
            entries.push_back(entry);
        } else if let Self::One(first) = std::mem::replace(self, Self::More(Box::default()))
            && let Self::More(entries) = self
        {
            entries.extend([first, entry]);
        }
    }
}

impl<T> Default for Shard<T> {
    fn default() -> Self {
        Self {
            entries: HashMap::default(),
        }
    }
}

impl<T> Shard<T> {
    /// The entries with this hash, in the order they were put in.
    pub(crate) fn all(&self, hash: u64) -> impl DoubleEndedIterator<Item = &T> {
        self.entries.get(&hash).into_iter().flat_map(Slot::iter)
    }

    /// The first entry that `is` accepts.
    pub(crate) fn find(&self, hash: u64, is: impl Fn(&T) -> bool) -> Option<&T> {
        self.all(hash).find(|entry| is(entry))
    }

    /// Puts an entry behind those with the same hash.
    pub(crate) fn insert(&mut self, hash: u64, entry: T) {
        match self.entries.entry(hash) {
            Entry::Vacant(vacant) => {
                vacant.insert(Slot::One(entry));
            }
            Entry::Occupied(mut occupied) => occupied.get_mut().push(entry),
        }
    }

    /// Takes out the first entry that `is` accepts.
    pub(crate) fn remove(&mut self, hash: u64, is: impl Fn(&T) -> bool) -> Option<T> {
        match self.entries.get_mut(&hash)? {
            Slot::One(entry) if is(entry) => match self.entries.remove(&hash)? {
                Slot::One(entry) => Some(entry),
                Slot::More(_) => None,
            },
            Slot::One(_) => None,
            Slot::More(entries) => {
                let place = entries.iter().position(is)?;
                let taken = entries.remove(place);
                if entries.is_empty() {
                    self.entries.remove(&hash);
                }
                taken
            }
        }
    }

    /// Every entry of the shard, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.values().flat_map(Slot::iter)
    }
}

/// Hands on the hash it is given.
#[derive(Default)]
struct GivenHash(u64);

impl Hasher for GivenHash {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_with_one_hash_are_told_apart() {
        let mut shard = Shard::default();
        for entry in ["a", "b", "c"] {
            shard.insert(7, entry);
        }
        shard.insert(8, "d");
        assert_eq!(shard.all(7).collect::<Vec<_>>(), [&"a", &"b", &"c"]);
        assert_eq!(shard.remove(7, |entry| *entry == "b"), Some("b"));
        assert_eq!(shard.find(7, |entry| *entry == "b"), None);
        assert_eq!(shard.remove(7, |_| true), Some("a"));
        assert_eq!(shard.remove(7, |_| true), Some("c"));
        assert_eq!(shard.remove(7, |_| true), None);
        assert_eq!(shard.iter().collect::<Vec<_>>(), [&"d"]);
        assert_eq!(shard.remove(8, |entry| *entry == "x"), None);
        assert_eq!(shard.remove(8, |entry| *entry == "d"), Some("d"));
    }
}
