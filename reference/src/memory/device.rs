//! The memory of a tensor.
//!
//! Words are atomic, as workgroups run on several threads: what a module does wrongly must not break this program. A
//! buffer's address lies in the middle of a window of its own, so that an access that leaves the buffer is still known to
//! be meant for it.

use super::zeros;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// A buffer in device memory.
#[derive(Debug)]
pub struct Memory {
    words: Box<[AtomicU32]>,
    /// A bit for each byte of each word: whether it was written.
    written: Box<[AtomicU8]>,
    /// Whether all of it was, as far as is known.
    complete: AtomicBool,
    window: u64,
}

/// Bits of an address within its window.
const WINDOW_BITS: u32 = 40;
/// Where in its window a buffer begins.
const MIDDLE: u64 = 1 << (WINDOW_BITS - 1);
/// The window of the parameter block.
const PARAMS: u64 = 1;
/// Windows that were given back.
static FREE: Mutex<Vec<u64>> = Mutex::new(Vec::new());
static NEXT: AtomicU64 = AtomicU64::new(PARAMS + 1);

/// The address of the parameter block of a dispatch whose block lies in a buffer.
pub(crate) fn params_address() -> u64 {
    (PARAMS << WINDOW_BITS) + MIDDLE
}

/// A buffer's window and an offset in the buffer.
pub(crate) fn split(address: u64) -> (u64, i64) {
    let inside = address & ((1 << WINDOW_BITS) - 1);
    (address >> WINDOW_BITS, inside as i64 - MIDDLE as i64)
}

/// Whether a window is that of the parameter block.
pub(crate) fn is_params(window: u64) -> bool {
    window == PARAMS
}

impl Memory {
    /// At least `bytes` bytes that nothing has written; `None` if there is not as much memory.
    pub fn new(bytes: u64) -> Option<Memory> {
        let count = usize::try_from(bytes.div_ceil(4)).ok()?;
        let (words, written) = (zeros(count)?, zeros(count)?);
        let kept = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let window = kept.unwrap_or_else(|| NEXT.fetch_add(1, Relaxed));
        if window >= 1 << (64 - WINDOW_BITS) {
            return None;
        }
        Some(Memory { words, written, complete: AtomicBool::new(false), window })
    }

    /// The address that modules are given.
    pub fn address(&self) -> u64 {
        (self.window << WINDOW_BITS) + MIDDLE
    }

    /// Writes the first bytes.
    pub fn write(&self, bytes: &[u8]) {
        for (n, chunk) in bytes.chunks(4).enumerate() {
            let mut word = self.load(n).to_le_bytes();
            word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
            self.store(n, u32::from_le_bytes(word), (1u8 << chunk.len()) - 1);
        }
    }

    /// Reads the first bytes; the place of one that nothing has written is an error.
    pub fn read(&self, bytes: &mut [u8]) -> Result<(), u64> {
        for (n, chunk) in bytes.chunks_mut(4).enumerate() {
            let missing = !self.flags(n) & ((1u8 << chunk.len()) - 1);
            if missing != 0 {
                return Err(4 * n as u64 + u64::from(missing.trailing_zeros()));
            }
            let word = self.load(n).to_le_bytes();
            chunk.iter_mut().zip(word).for_each(|(to, from)| *to = from);
        }
        Ok(())
    }

    /// Fills the first bytes with zeros.
    pub fn clear(&self, bytes: u64) {
        let count = (bytes.div_ceil(4)).min(self.words.len() as u64) as usize;
        (0..count).for_each(|n| self.store(n, 0, 0xf));
    }

    /// What it holds means nothing any more.
    pub fn forget(&self) {
        self.complete.store(false, Relaxed);
        self.written.iter().for_each(|flags| flags.store(0, Relaxed));
    }

    /// Whether the first bytes were all written.
    pub(crate) fn is_complete(&self, bytes: u64) -> bool {
        if self.complete.load(Relaxed) {
            return true;
        }
        let (whole, rest) = ((bytes / 4) as usize, (bytes % 4) as u32);
        let last = rest == 0 || self.flags(whole) & ((1 << rest) - 1) == (1 << rest) - 1;
        let complete = last && self.written.iter().take(whole).all(|flags| flags.load(Relaxed) == 0xf);
        self.complete.store(complete, Relaxed);
        complete
    }

    pub(crate) fn window(&self) -> u64 {
        self.window
    }

    /// Bytes that there are.
    pub(crate) fn bytes(&self) -> u64 {
        4 * self.words.len() as u64
    }

    #[inline]
    pub(crate) fn load(&self, word: usize) -> u32 {
        self.words.get(word).map_or(0, |w| w.load(Relaxed))
    }

    #[inline]
    pub(crate) fn flags(&self, word: usize) -> u8 {
        self.written.get(word).map_or(0, |w| w.load(Relaxed))
    }

    /// Writes the bytes of a word that `mask` names.
    #[inline]
    pub(crate) fn store(&self, word: usize, value: u32, mask: u8) {
        let (Some(to), Some(flags)) = (self.words.get(word), self.written.get(word)) else { return };
        if mask == 0xf {
            to.store(value, Relaxed);
            flags.store(0xf, Relaxed);
            return;
        }
        let keep = (0..4).filter(|b| mask >> b & 1 == 0).fold(0u32, |bits, b| bits | 0xff << (8 * b));
        // The closure always has a value.
        let _ = to.fetch_update(Relaxed, Relaxed, |old| Some(old & keep | value & !keep));
        flags.fetch_or(mask, Relaxed);
    }
}

/// Atomic operations.
impl Memory {
    /// Changes a word at once, unless `f` says to leave it; what it was before.
    pub(crate) fn update(&self, word: usize, f: impl Fn(u32) -> Option<u32>) -> u32 {
        let Some(at) = self.words.get(word) else { return 0 };
        at.fetch_update(Relaxed, Relaxed, f).unwrap_or_else(|unchanged| unchanged)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(self.window);
    }
}
