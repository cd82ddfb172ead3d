//! Memory, and what is known of it: what was written, and by whom.
//!
//! [`device`] is the memory of tensors; [`shadow`] remembers who accessed it during a dispatch ([`trail`]), [`shared`] is a
//! workgroup's memory with the same; [`clock`] says which accesses barriers have put in order.

pub(crate) mod clock;
pub(crate) mod device;
pub(crate) mod shadow;
pub(crate) mod shared;
pub(crate) mod trail;

use crate::fault::Access;
use bytemuck::Zeroable;

/// An access that conflicts with another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) access: Access,
    /// The workgroup's number, from 0.
    pub(crate) group: u64,
    /// Its invocation's number in the workgroup.
    pub(crate) lane: u32,
}

/// So many zeros, which cost nothing until they are touched; `None` if there is no memory for them.
fn zeros<T: Zeroable>(count: usize) -> Option<Box<[T]>> {
    bytemuck::allocation::try_zeroed_slice_box(count).ok()
}
