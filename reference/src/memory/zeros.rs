//! Atomic zeros that cost nothing until they are touched.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// An atomic integer and the plain one that it is like.
pub(crate) trait Atomic: Sized {
    /// So many zeros, if there is memory for them.
    fn zeros(count: usize) -> Option<Box<[Self]>>;
}

macro_rules! atomic {
    ($($plain:ty => $atomic:ty),*) => {$(
        impl Atomic for $atomic {
            fn zeros(count: usize) -> Option<Box<[Self]>> {
                // Asked for first, as the allocation of a `vec!` that fails ends the program.
                Vec::<$plain>::new().try_reserve_exact(count).ok()?;
                let plain: *mut [$plain] = Box::into_raw(vec![0 as $plain; count].into_boxed_slice());
                // SAFETY: an atomic integer has the size, alignment and values of the plain one, and the box is given up.
                Some(unsafe { Box::from_raw(plain as *mut [$atomic]) })
            }
        }
    )*};
}

atomic!(u8 => AtomicU8, u32 => AtomicU32, u64 => AtomicU64);
