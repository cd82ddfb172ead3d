//! Reductions across invocations.

pub(super) mod all_reduce;
mod atomics;
pub(super) mod shared;
mod subgroups;
