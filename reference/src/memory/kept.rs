//! The values of exact arithmetic in a tensor's memory, beside its bytes.

use crate::exec::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The words of a piece of memory that share a lock.
const WORDS: usize = 256;

/// Two cells for each word of memory. A piece without stored values takes no space.
#[derive(Debug)]
pub(crate) struct Kept(Box<[Mutex<Vec<[Cell; 2]>>]>);

impl Kept {
    pub(crate) fn new(words: usize) -> Kept {
        Kept((0..words.div_ceil(WORDS)).map(|_| Mutex::default()).collect())
    }

    /// Locks the piece of a word. A thread that panicked has left its cells whole, because each is written at once.
    fn piece(&self, word: usize) -> Option<MutexGuard<'_, Vec<[Cell; 2]>>> {
        self.0.get(word / WORDS).map(|piece| piece.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the cells of a word.
    pub(crate) fn get(&self, word: usize) -> [Cell; 2] {
        self.piece(word).and_then(|piece| piece.get(word % WORDS).copied()).unwrap_or_default()
    }

    /// Changes the cells of a word while no other thread accesses them.
    pub(crate) fn change(&self, word: usize, f: &mut dyn FnMut(&mut [Cell; 2])) {
        let Some(mut piece) = self.piece(word) else { return };
        if piece.is_empty() {
            piece.resize(WORDS, [Cell::Passed; 2]);
        }
        f(&mut piece[word % WORDS]);
    }

    /// Forgets the value of a word, because the caller has passed other bytes.
    pub(crate) fn pass(&self, word: usize) {
        if let Some(mut piece) = self.piece(word)
            && let Some(cells) = piece.get_mut(word % WORDS)
        {
            *cells = [Cell::Passed; 2];
        }
    }
}
