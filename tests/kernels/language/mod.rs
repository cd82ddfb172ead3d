//! The language: its functions, reductions, indices and signatures.

mod calls;
mod combiners;
mod division;
mod dtypes;
mod families;
mod functions;
mod gather;
mod heads;
pub(super) mod index;
pub(super) mod instead;
mod long_indices;
pub(super) mod narrow;
mod positions;
mod ranges;
pub(super) mod reductions;
mod scatter;
mod semantics;
mod sizes;
mod together;
mod updates;
