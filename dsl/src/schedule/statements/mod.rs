//! The header of a schedule, and the statements that concern a whole kernel.

pub(crate) mod emit;
pub mod head;
pub mod pin;
pub(crate) mod precompute;
pub mod specialize;
pub(crate) mod strided;
pub mod tune;
