//! Memory, with a record of its writes and of the invocations that accessed it.
//!
//! [`device`] is the memory of tensors. [`shadow`] records who accessed it during a dispatch ([`trail`]). [`shared`] is a
//! workgroup's memory with such a record. [`clock`] records which accesses barriers have ordered.

pub(crate) mod clock;
pub(crate) mod device;
pub(crate) mod kept;
pub(crate) mod shadow;
pub(crate) mod shared;
pub(crate) mod trail;

use crate::fault::Access;
use bytemuck::Zeroable;

/// An access that conflicts with another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) access: Access,
    /// The number of the workgroup, from 0.
    pub(crate) group: u64,
    /// The number of the invocation in the workgroup.
    pub(crate) lane: u32,
}

/// Allocates zeros, which take memory only once they are accessed. Returns `None` if there is not enough memory.
fn zeros<T: Zeroable>(count: usize) -> Option<Box<[T]>> {
    bytemuck::allocation::try_zeroed_slice_box(count).ok()
}
