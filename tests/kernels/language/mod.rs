//! The language: its functions, reductions, indices and signatures.

mod division;
mod dtypes;
mod functions;
mod gather;
mod heads;
pub(super) mod index;
pub(super) mod instead;
pub(super) mod narrow;
mod positions;
pub(super) mod reductions;
mod semantics;
