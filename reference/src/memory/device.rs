//! The memory of tensors.
//!
//! Words are atomic, because workgroups run on several threads and a faulty module must not break this program. In a launch, each
//! buffer has a window of addresses, and begins in the middle of it. So an access that leaves the buffer is still attributed to it,
//! even if another buffer is a part of the same memory.

use super::kept::Kept;
use super::zeros;
use crate::exec::{Cell, Exact};
use crate::field::{Element, Field};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use tilewright_launch::DType;

/// A piece of device memory.
#[derive(Debug)]
pub struct Memory {
    words: Box<[AtomicU32]>,
    /// A bit for each byte of each word, which is set if the byte was written.
    written: Box<[AtomicU8]>,
    /// The number of bytes at the beginning that are known to be written.
    complete: AtomicU64,
    /// The values of exact arithmetic, if the memory is for it.
    kept: Option<Kept>,
}

/// The number of address bits within a window.
const WINDOW_BITS: u32 = 40;
/// The offset of a buffer in its window.
const MIDDLE: u64 = 1 << (WINDOW_BITS - 1);
/// The window of the parameter block. The windows of buffers follow.
const PARAMS: u64 = 1;

/// Returns the address of the parameter block of a dispatch whose block is in a buffer.
pub(crate) fn params_address() -> u64 {
    (PARAMS << WINDOW_BITS) + MIDDLE
}

/// Returns the address that a module is given for the launch's buffer with a number.
pub fn address(buffer: usize) -> u64 {
    ((PARAMS + 1 + buffer as u64) << WINDOW_BITS) + MIDDLE
}

/// The target of an address.
pub(crate) enum Meant {
    Params,
    /// The buffer with a number, which the launch need not have.
    Buffer(usize),
    Nothing,
}

/// Returns the target of an address, and the offset in it.
pub(crate) fn split(address: u64) -> (Meant, i64) {
    let (window, inside) = (address >> WINDOW_BITS, address & ((1 << WINDOW_BITS) - 1));
    let meant = match window.checked_sub(PARAMS) {
        None => Meant::Nothing,
        Some(0) => Meant::Params,
        Some(n) => Meant::Buffer(n as usize - 1),
    };
    (meant, inside as i64 - MIDDLE as i64)
}

impl Memory {
    /// Allocates at least `bytes` bytes, which count as not written. Returns `None` if there is not enough memory.
    pub fn new(bytes: u64) -> Option<Memory> {
        let count = usize::try_from(bytes.div_ceil(4)).ok()?;
        let (words, written) = (zeros(count)?, zeros(count)?);
        Some(Memory { words, written, complete: AtomicU64::new(0), kept: None })
    }

    /// Allocates memory for runs in exact arithmetic.
    pub fn exact(bytes: u64) -> Option<Memory> {
        let memory = Memory::new(bytes)?;
        let kept = Some(Kept::new(memory.words.len()));
        Some(Memory { kept, ..memory })
    }

    /// Returns the value of a type at a byte, in exact arithmetic. `None` if it was never written. An integer is the number of its bits.
    pub fn element(&self, field: &Field, at: u64, dtype: DType) -> Option<Element> {
        Exact::new(field).element(self, usize::try_from(at).ok()?, dtype)
    }

    /// Returns the values of the word that contains a byte. `None` if the memory is not for exact arithmetic.
    pub(crate) fn kept(&self, byte: usize) -> Option<[Cell; 2]> {
        self.kept.as_ref().map(|kept| kept.get(byte / 4))
    }

    /// Changes the values of the word that contains a byte, given its bits.
    pub(crate) fn keep(&self, byte: usize, f: &mut dyn FnMut(&mut [Cell; 2], u32)) {
        if let Some(kept) = &self.kept {
            kept.change(byte / 4, &mut |cells| f(cells, self.load(byte / 4)));
        }
    }

    /// Writes bytes from an offset on.
    pub fn write(&self, at: u64, bytes: &[u8]) {
        let mut from = bytes.iter();
        for (word, first, count) in parts(at, bytes.len()) {
            let mut held = self.load(word).to_le_bytes();
            held.iter_mut().skip(first).take(count).zip(&mut from).for_each(|(to, from)| *to = *from);
            self.store(word, u32::from_le_bytes(held), flags_of(first, count));
            self.kept.iter().for_each(|kept| kept.pass(word));
        }
    }

    /// Reads bytes from an offset on. If a byte was never written, its offset is returned as an error.
    pub fn read(&self, at: u64, bytes: &mut [u8]) -> Result<(), u64> {
        let length = bytes.len();
        let mut to = bytes.iter_mut();
        for (word, first, count) in parts(at, length) {
            let missing = !self.flags(word) & flags_of(first, count);
            if missing != 0 {
                return Err(4 * word as u64 + u64::from(missing.trailing_zeros()));
            }
            let held = self.load(word).to_le_bytes();
            held.iter().skip(first).take(count).zip(&mut to).for_each(|(from, to)| *to = *from);
        }
        Ok(())
    }

    /// Fills the first bytes with zeros.
    pub fn clear(&self, bytes: u64) {
        let count = (bytes.div_ceil(4)).min(self.words.len() as u64) as usize;
        for word in 0..count {
            self.store(word, 0, 0xf);
            self.kept.iter().for_each(|kept| kept.pass(word));
        }
    }

    /// Marks bytes as not written.
    pub fn forget(&self, at: u64, bytes: u64) {
        self.complete.fetch_min(at, Relaxed);
        for (word, first, count) in parts(at, bytes as usize) {
            if let Some(flags) = self.written.get(word) {
                flags.fetch_and(!flags_of(first, count), Relaxed);
            }
        }
    }

    /// True if all of these bytes were written.
    pub(crate) fn is_complete(&self, at: u64, bytes: u64) -> bool {
        if at + bytes <= self.complete.load(Relaxed) {
            return true;
        }
        let complete = parts(at, bytes as usize).all(|(word, first, count)| !self.flags(word) & flags_of(first, count) == 0);
        if complete && at == 0 {
            self.complete.fetch_max(bytes, Relaxed);
        }
        complete
    }

    /// The size in bytes.
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

    /// Writes the bytes of a word that `mask` selects.
    #[inline]
    pub(crate) fn store(&self, word: usize, value: u32, mask: u8) {
        let (Some(to), Some(flags)) = (self.words.get(word), self.written.get(word)) else { return };
        if mask == 0xf {
            to.store(value, Relaxed);
            flags.store(0xf, Relaxed);
            return;
        }
        let keep = (0..4).filter(|b| mask >> b & 1 == 0).fold(0u32, |bits, b| bits | 0xff << (8 * b));
        // The closure always returns a value, so that the update succeeds.
        let _ = to.fetch_update(Relaxed, Relaxed, |old| Some(old & keep | value & !keep));
        flags.fetch_or(mask, Relaxed);
    }
}

/// Atomic operations.
impl Memory {
    /// Changes a word atomically, unless `f` returns `None`. Returns the previous value.
    pub(crate) fn update(&self, word: usize, f: impl Fn(u32) -> Option<u32>) -> u32 {
        let Some(at) = self.words.get(word) else { return 0 };
        at.fetch_update(Relaxed, Relaxed, f).unwrap_or_else(|unchanged| unchanged)
    }
}

/// Returns the words that contain some bytes: for each, its index, the first byte in it, and the number of bytes.
fn parts(at: u64, bytes: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let (start, end) = (at as usize, at as usize + bytes);
    let words = start / 4..if bytes == 0 { start / 4 } else { end.div_ceil(4) };
    words.map(move |word| {
        let (first, last) = (start.max(4 * word), end.min(4 * word + 4));
        (word, first - 4 * word, last - first)
    })
}

/// Returns the flags of some bytes of a word.
fn flags_of(first: usize, count: usize) -> u8 {
    ((1u8 << count) - 1) << first
}
