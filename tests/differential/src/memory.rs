//! The limits of a compilation: processor time, and memory that it allocates. [`Counting`] counts the bytes of a thread; a
//! compilation has one thread.

use cpu_time::ThreadTime;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

/// The system's allocator, with counters.
pub struct Counting;

thread_local! {
    /// The bytes that this thread has allocated and not freed, and the highest number so far.
    static BYTES: Cell<(i64, i64)> = const { Cell::new((0, 0)) };
}

fn count(bytes: i64) {
    // A thread that is ending does not have the counter.
    let _ = BYTES.try_with(|counted| {
        let (now, most) = counted.get();
        counted.set((now + bytes, most.max(now + bytes)));
    });
}

// SAFETY: it is the system's allocator. Counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64 - layout.size() as i64);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// The most time and memory of a compilation.
#[derive(Clone, Copy, Debug)]
pub struct Most {
    /// Processor time.
    pub time: Duration,
    /// Allocated bytes, if [`Counting`] is the allocator.
    pub bytes: i64,
}

impl Default for Most {
    /// One second in a release build, and ten in a build with debug assertions; 300 MB.
    fn default() -> Most {
        let seconds = if cfg!(debug_assertions) { 10 } else { 1 };
        Most { time: Duration::from_secs(seconds), bytes: 300_000_000 }
    }
}

impl Most {
    /// Compiles, and returns the result with the processor time and the bytes that it needed.
    pub fn measured<T>(self, compile: impl FnOnce() -> T) -> (T, Duration, i64) {
        let before = BYTES.with(|counted| {
            let (now, _) = counted.get();
            counted.set((now, now));
            now
        });
        let start = ThreadTime::now();
        let made = compile();
        let took = start.elapsed();
        (made, took, BYTES.with(|counted| counted.get().1) - before)
    }

    /// Describes the limit that a compilation exceeded, if it did.
    pub fn exceeded(self, took: Duration, bytes: i64) -> Option<String> {
        if took > self.time {
            return Some(format!("{} ms for a compilation", took.as_millis()));
        }
        (bytes > self.bytes).then(|| format!("{} MB for a compilation", bytes / 1_000_000))
    }
}
