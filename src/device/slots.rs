//! Memory for shared values that is used again, so that a repeated submission allocates nothing.

use super::memory::lock;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// The most values that a list keeps.
const MOST: usize = 64;

/// A list of shared values. A value that only the list holds is replaced by the next one.
pub(crate) struct Slots<T>(Mutex<VecDeque<Arc<T>>>);

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots(Mutex::default())
    }
}

impl<T> Slots<T> {
    /// Shares a value, in place of the oldest one if only the list holds that.
    pub(crate) fn share(&self, value: T) -> Arc<T> {
        let mut kept = lock(&self.0);
        if let Some(oldest) = kept.front_mut()
            && let Some(place) = Arc::get_mut(oldest)
        {
            let old = std::mem::replace(place, value);
            let shared = oldest.clone();
            kept.rotate_left(1);
            drop(kept);
            // Dropped without the lock, because it may call a listener.
            drop(old);
            return shared;
        }
        let shared = Arc::new(value);
        if kept.len() < MOST {
            kept.push_back(shared.clone());
        }
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_no_other_holds_are_replaced() {
        let slots = Slots::default();
        let first = slots.share(1);
        let second = slots.share(2);
        assert_eq!((*first, *second), (1, 2));
        let place = Arc::as_ptr(&first);
        drop(first);
        let third = slots.share(3);
        assert_eq!((*second, *third, Arc::as_ptr(&third)), (2, 3, place));
        let many: Vec<Arc<usize>> = (0..2 * MOST).map(|n| slots.share(n)).collect();
        assert!(many.iter().map(|value| **value).eq(0..2 * MOST));
        assert_eq!(lock(&slots.0).len(), MOST);
    }
}
