//! The queue of finished tasks, oldest first: who goes when place is needed.

use std::collections::VecDeque;

/// Entries of one segment: 8 KiB of pointers.
const SEGMENT: usize = 1024;

/// A queue in segments, so that its growth never moves what is in it.
pub(super) struct Queue<T> {
    segments: VecDeque<VecDeque<T>>,
}

impl<T> Queue<T> {
    pub(super) fn new() -> Self {
        Self {
            segments: VecDeque::new(),
        }
    }

    pub(super) fn push(&mut self, entry: T) {
        match self.segments.back_mut() {
            Some(segment) if segment.len() < SEGMENT => segment.push_back(entry),
            // The first segment grows as needed: a small store shall stay small.
            None => self.segments.push_back(VecDeque::from([entry])),
            Some(_) => {
                let mut segment = VecDeque::with_capacity(SEGMENT);
                segment.push_back(entry);
                self.segments.push_back(segment);
            }
        }
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        let entry = self.segments.front_mut()?.pop_front();
        if self.segments.len() > 1 && self.segments.front().is_some_and(VecDeque::is_empty) {
            self.segments.pop_front();
        }
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_in_order_over_segments() {
        let mut queue = Queue::new();
        assert_eq!(queue.pop(), None);
        for entry in 0..3000 {
            queue.push(entry);
        }
        for entry in 0..2500 {
            assert_eq!(queue.pop(), Some(entry));
        }
        for entry in 3000..4000 {
            queue.push(entry);
        }
        assert_eq!(
            std::iter::from_fn(|| queue.pop()).collect::<Vec<_>>(),
            (2500..4000).collect::<Vec<_>>()
        );
        queue.push(1);
        assert_eq!(queue.pop(), Some(1));
    }
}
