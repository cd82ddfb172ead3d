//! Staging buffers, which transfers use again because allocating and mapping them takes longer than many copies.

use super::memory::{Buffer, Heap, Purpose};
use crate::device::memory::lock;
use crate::error::Result;
use std::sync::{Arc, Mutex};

/// The bytes of a staging buffer.
pub(super) const CHUNK: u64 = 8 << 20;

/// The most staging buffers that are kept for each direction.
const MOST_KEPT: usize = 4;

/// The staging buffers of a device that are not in use.
pub(super) struct Staging {
    idle: Mutex<Vec<(Purpose, Arc<Buffer>)>>,
    heap: Arc<Heap>,
}

impl Staging {
    pub(super) fn new(heap: Arc<Heap>) -> Staging {
        Staging { idle: Mutex::default(), heap }
    }

    /// Returns a buffer of [`CHUNK`] bytes for uploads or downloads.
    pub(super) fn take(&self, purpose: Purpose) -> Result<Arc<Buffer>> {
        let mut idle = lock(&self.idle);
        let at = idle.iter().position(|(of, _)| *of == purpose);
        let kept = at.map(|at| idle.swap_remove(at).1);
        drop(idle);
        kept.map_or_else(|| Ok(Arc::new(Buffer::new(&self.heap, CHUNK, purpose)?)), Ok)
    }

    /// Takes a buffer back. No submission uses it.
    pub(super) fn give(&self, purpose: Purpose, buffer: Arc<Buffer>) {
        let mut idle = lock(&self.idle);
        let kept = idle.iter().filter(|(of, _)| *of == purpose).count() < MOST_KEPT;
        let excess = if kept {
            idle.push((purpose, buffer));
            None
        } else {
            Some(buffer)
        };
        drop(idle);
        drop(excess);
    }

    /// Frees the buffers that are not in use.
    pub(super) fn clear(&self) {
        let idle = std::mem::take(&mut *lock(&self.idle));
        drop(idle);
    }
}
