//! Device memory that tensors share, and the memory of temporaries.

use super::access::Gate;
use super::backend::Buffer;
use crate::error::{Error, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Locks a mutex and ignores poison, because no holder of these locks can leave a broken state behind.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a number that no other call returns; never 0.
pub(crate) fn fresh_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The bytes of the widest load or store.
pub(crate) const WIDEST: u64 = 16;

/// Returns the bytes to allocate for a tensor of `bytes` bytes: at least [`WIDEST`] bytes.
pub(crate) fn allocated(bytes: u64) -> u64 {
    bytes.max(1).next_multiple_of(WIDEST)
}

/// The limit of all memory of a device together: see [`crate::Options::memory`].
pub(crate) struct Quota {
    limit: u64,
    taken: AtomicU64,
}

impl Quota {
    pub(crate) fn new(limit: Option<u64>) -> Arc<Quota> {
        Arc::new(Quota { limit: limit.unwrap_or(u64::MAX), taken: AtomicU64::new(0) })
    }

    /// Takes bytes from the quota. Dropping the share returns them.
    pub(crate) fn take(self: &Arc<Quota>, bytes: u64) -> Result<Share> {
        let fits = |taken: u64| taken.checked_add(bytes).filter(|all| *all <= self.limit);
        let taken = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        taken.map_err(|taken| Error::OutOfMemory {
            what: format!("{bytes} bytes: of the {} that `Options::memory` allows, {taken} are taken", self.limit),
        })?;
        Ok(Share { bytes, of: self.clone() })
    }
}

/// A part of a [`Quota`].
pub(crate) struct Share {
    bytes: u64,
    of: Arc<Quota>,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.of.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A piece of device memory, which tensors of several shapes can share.
pub(crate) struct Memory {
    id: u64,
    buffer: Box<dyn Buffer>,
    bytes: u64,
    _share: Share,
    /// Controls the accesses of the device and the host to the contents.
    gate: Gate,
    contents: Mutex<Contents>,
    /// The batches in command buffers of the caller that read it, and those that write it.
    recorded: Mutex<(usize, usize)>,
}

/// The state of a memory's contents. Memory begins as [`Contents::Nothing`], because it may hold the bytes of a tensor that was dropped.
#[derive(Clone)]
enum Contents {
    /// It was not written, and no launch is known that will write it.
    Nothing,
    /// A launch of this batch writes it, and the batch has not been submitted.
    Batch(u64),
    /// A submission writes it, and was not seen to end.
    InFlight,
    /// The submission that was to write it has failed.
    Failed(Arc<Error>),
    /// The host has written it, or the submission that writes it was seen to end. This state is final.
    Written,
}

impl Memory {
    pub(crate) fn new(buffer: Box<dyn Buffer>, share: Share) -> Memory {
        let bytes = share.bytes;
        Memory::of(buffer, bytes, share, Contents::Nothing)
    }

    /// Wraps memory of the caller, which has contents and is not counted in a quota.
    pub(crate) fn foreign(buffer: Box<dyn Buffer>, bytes: u64) -> Memory {
        let share = Share { bytes: 0, of: Quota::new(None) };
        Memory::of(buffer, bytes, share, Contents::Written)
    }

    fn of(buffer: Box<dyn Buffer>, bytes: u64, share: Share, contents: Contents) -> Memory {
        let (gate, contents) = (Gate::default(), Mutex::new(contents));
        Memory { id: fresh_id(), buffer, bytes, _share: share, gate, contents, recorded: Mutex::default() }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Returns the number of allocated bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn buffer(&self) -> &dyn Buffer {
        &*self.buffer
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Checks that it has contents, or that a submission gives it contents, or that a launch of `batch` (0: none) does before it is read.
    pub(crate) fn check_ready(&self, batch: u64, what: impl FnOnce() -> String) -> Result<()> {
        match &*lock(&self.contents) {
            Contents::Written | Contents::InFlight => Ok(()),
            Contents::Batch(writer) if *writer == batch => Ok(()),
            Contents::Batch(_) => Err(Error::NotSubmitted { what: what() }),
            Contents::Failed(error) => Err((**error).clone()),
            Contents::Nothing => Err(Error::NeverWritten { what: what() }),
        }
    }

    /// Checks that the submission that was to write it has not failed.
    pub(crate) fn check_contents(&self) -> Result<()> {
        if let Contents::Failed(error) = &*lock(&self.contents) { Err((**error).clone()) } else { Ok(()) }
    }

    /// Notes that all of it was written: by the host, or by a submission that was seen to end.
    pub(crate) fn set_written(&self) {
        *lock(&self.contents) = Contents::Written;
    }

    /// Notes that a launch of a batch is the first to write it.
    pub(crate) fn set_batch(&self, batch: u64) {
        self.replace(|contents| matches!(contents, Contents::Nothing), Contents::Batch(batch));
    }

    /// Notes that a submission writes it.
    pub(crate) fn set_in_flight(&self) {
        self.replace(|contents| !matches!(contents, Contents::Written), Contents::InFlight);
    }

    /// Notes that the submission that was to write it has failed.
    pub(crate) fn set_failed(&self, error: &Arc<Error>) {
        self.replace(|contents| matches!(contents, Contents::InFlight), Contents::Failed(error.clone()));
    }

    /// Counts a batch in a command buffer of the caller that accesses it. No other access overlaps the call.
    pub(crate) fn record(&self, writes: bool) {
        let (readers, writers) = &mut *lock(&self.recorded);
        *(if writes { writers } else { readers }) += 1;
    }

    /// Ends the access that [`Memory::record`] began.
    pub(crate) fn end_record(&self, writes: bool) {
        let (readers, writers) = &mut *lock(&self.recorded);
        *(if writes { writers } else { readers }) -= 1;
    }

    /// True if an access conflicts with a batch in a command buffer of the caller.
    pub(crate) fn is_recorded(&self, writes: bool) -> bool {
        let (readers, writers) = *lock(&self.recorded);
        writers > 0 || (writes && readers > 0)
    }

    /// Notes that the batch that was to write it was not submitted.
    pub(crate) fn abandon(&self) {
        self.replace(|contents| matches!(contents, Contents::Batch(_)), Contents::Nothing);
    }

    fn replace(&self, old: impl FnOnce(&Contents) -> bool, new: Contents) {
        let mut contents = lock(&self.contents);
        if old(&contents) {
            *contents = new;
        }
    }
}

/// Memory of temporaries between launches.
#[derive(Default)]
pub(crate) struct Pool(Vec<Arc<Memory>>);

impl Pool {
    /// The most bytes that are kept, unless the last launch had more. The oldest memory is dropped first.
    const KEPT_BYTES: u64 = 256 << 20;

    /// Removes and returns the smallest memory of at least `bytes`, unless it is far too large.
    pub(crate) fn take(&mut self, bytes: u64) -> Option<Arc<Memory>> {
        let fits = |m: &Arc<Memory>| (bytes..=bytes.saturating_mul(4).max(4096)).contains(&m.bytes());
        let (at, _) = self.0.iter().enumerate().filter(|(_, m)| fits(m)).min_by_key(|(_, m)| m.bytes())?;
        Some(self.0.remove(at))
    }

    /// Takes the memory of a launch back, and returns the oldest memory that exceeds [`Pool::KEPT_BYTES`]. The memory of this launch is kept, so
    /// that launches with large temporaries do not allocate each time.
    pub(crate) fn give(&mut self, memory: impl IntoIterator<Item = Arc<Memory>>) -> Vec<Arc<Memory>> {
        let bytes = |memory: &[Arc<Memory>]| memory.iter().map(|m| m.bytes()).sum::<u64>();
        let older = self.0.len();
        self.0.extend(memory);
        let most = Pool::KEPT_BYTES.max(bytes(&self.0[older..]));
        let (mut total, mut excess) = (bytes(&self.0), 0);
        while let Some(m) = self.0.get(excess).filter(|_| total > most) {
            total -= m.bytes();
            excess += 1;
        }
        self.0.drain(..excess).collect()
    }

    /// Removes and returns all memory.
    pub(crate) fn drain(&mut self) -> Vec<Arc<Memory>> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nowhere;

    impl Buffer for Nowhere {
        fn address(&self) -> u64 {
            0
        }
    }

    fn memory(bytes: u64) -> Arc<Memory> {
        Arc::new(Memory::new(Box::new(Nowhere), Quota::new(None).take(bytes).expect("the limit is not set")))
    }

    #[test]
    fn memory_is_used_again_where_it_fits() {
        let mut pool = Pool::default();
        pool.give([memory(1 << 20), memory(8192), memory(16384)]);
        assert_eq!(pool.take(8000).map(|m| m.bytes()), Some(8192));
        assert_eq!(pool.take(8000).map(|m| m.bytes()), Some(16384));
        assert_eq!(pool.take(8000).map(|m| m.bytes()), None, "the remaining memory is far too large");
        assert_eq!(pool.take((1 << 20) + 1).map(|m| m.bytes()), None);
        assert_eq!(pool.drain().len(), 1);
    }

    #[test]
    fn a_quota_is_not_exceeded_and_what_is_dropped_comes_back() {
        let quota = Quota::new(Some(100));
        let (a, b) = (quota.take(60).expect("it fits"), quota.take(40).expect("it fits"));
        let error = quota.take(1).err().expect("nothing is left").to_string();
        assert_eq!(error, "out of memory: 1 bytes: of the 100 that `Options::memory` allows, 100 are taken");
        drop(a);
        assert!(quota.take(61).is_err() && quota.take(u64::MAX).is_err());
        let c = quota.take(60).expect("it has come back");
        drop((b, c));
        assert_eq!(quota.taken.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_pool_does_not_grow_without_bounds() {
        let mut pool = Pool::default();
        for _ in 0..10 {
            pool.give([memory(100 << 20)]);
        }
        pool.give([memory(1 << 30), memory(1 << 30)]);
        assert_eq!(pool.0.iter().map(|m| m.bytes()).collect::<Vec<_>>(), [1 << 30, 1 << 30], "the last launch needed both");
        pool.give([memory(100 << 20)]);
        assert_eq!(pool.drain().len(), 1);
    }
}
