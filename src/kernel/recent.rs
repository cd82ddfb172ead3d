//! A list of the values that were used last, by lists of words.

use crate::device::memory::lock;
use std::sync::Mutex;

/// The most values that a list keeps.
const MOST: usize = 64;

/// Values by their keys, which are lists of words. If there are too many, the value that was used longest ago is dropped.
pub(crate) struct Recent<W, V>(Mutex<Vec<(Box<[W]>, V)>>);

impl<W, V> Default for Recent<W, V> {
    fn default() -> Self {
        Recent(Mutex::default())
    }
}

impl<W: Copy + Eq, V: Clone> Recent<W, V> {
    /// Returns the value of a key.
    pub(crate) fn get(&self, key: &[W]) -> Option<V> {
        self.find(|known| known == key)
    }

    /// Returns the value of the key for which a function returns true. The caller makes sure that it is at most one.
    pub(crate) fn find(&self, is_wanted: impl FnMut(&[W]) -> bool) -> Option<V> {
        used(&mut lock(&self.0), is_wanted)
    }

    /// Adds the value of a key, unless it has one by now.
    pub(crate) fn keep(&self, key: &[W], value: V) {
        let mut kept = lock(&self.0);
        if used(&mut kept, |known| known == key).is_some() {
            return;
        }
        let oldest = (kept.len() >= MOST).then(|| kept.remove(0));
        kept.push((key.into(), value));
        // Dropped without the lock, because a driver's message may call a listener.
        drop(kept);
        drop(oldest);
    }
}

/// Returns the value of the key for which a function returns true. It becomes the last one.
fn used<W, V: Clone>(kept: &mut [(Box<[W]>, V)], mut is_wanted: impl FnMut(&[W]) -> bool) -> Option<V> {
    let at = kept.iter().rposition(|(known, _)| is_wanted(known))?;
    kept[at..].rotate_left(1);
    kept.last().map(|(_, value)| value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_that_was_used_longest_ago_goes_first() {
        let kept = Recent::default();
        for n in 0..MOST as u32 {
            kept.keep(&[n, 7], n);
        }
        assert_eq!(kept.get(&[0, 7]), Some(0));
        kept.keep(&[1000, 7], 1);
        kept.keep(&[1000, 7], 2);
        assert_eq!(lock(&kept.0).len(), MOST);
        assert_eq!([kept.get(&[0, 7]), kept.get(&[1, 7]), kept.get(&[2, 7])], [Some(0), None, Some(2)]);
        assert_eq!([kept.get(&[1000, 7]), kept.get(&[1000])], [Some(1), None]);
    }
}
