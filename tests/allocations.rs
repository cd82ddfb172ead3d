//! Counts the allocations of launches that are repeated, on the device that the environment selects.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use tilewright::{Options, Pending, Result, kernel};

kernel! {
    /// Adds to a tensor.
    pub fn add<N>(x: f32[N], y: &mut f32[N]) { y[i] = x[i] + y[i]; }
}

const ELEMENTS: usize = 1 << 20;

thread_local! {
    /// The allocations of this thread.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, which counts.
struct Counting;

fn count() {
    // A thread that is ending is not counted.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: all calls are passed on.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY (this block): the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the allocations of a call.
fn allocations(call: impl FnOnce() -> Result<()>) -> usize {
    let before = COUNT.get();
    call().expect("it runs");
    COUNT.get() - before
}

#[test]
fn recordings_allocate_nothing() {
    let device = Options::from_env().and_then(|options| options.cache(None).open()).expect("a device");
    let add = device.load(&[add::DEFAULT]).expect("it loads");
    // A launch takes longer than 8 submissions, so that all of them are unfinished in the first rounds.
    let x = device.upload([ELEMENTS], &vec![1.0f32; ELEMENTS]).expect("it uploads");
    let mut y = device.zeros::<f32>([ELEMENTS]).expect("it is allocated");
    let mut batch = device.batch();
    batch.run(&add, (&x, &mut y)).expect("it is added");
    batch.run(&add, (&x, &mut y)).expect("it is added");
    let mut recording = batch.record().expect("it is recorded");
    // Up to 8 submissions are unfinished at a time.
    let mut ahead = |depth: usize| -> Result<()> {
        let mut pending: [Option<Pending>; 8] = Default::default();
        for place in &mut pending[..depth] {
            *place = Some(recording.submit()?);
        }
        pending.iter().flatten().try_for_each(Pending::wait)
    };
    // The first rounds make the objects that the later ones use again.
    for _ in 0..4 {
        ahead(8).expect("it runs");
    }
    assert_eq!(allocations(|| (1..=8).try_for_each(&mut ahead)), 0);
    // 4 rounds of 8 submissions, and a round of each number from 1 to 8. Each submission adds twice.
    assert!(y.download().expect("it downloads").iter().all(|sum| *sum == 2.0 * (32 + 36) as f32));
}
