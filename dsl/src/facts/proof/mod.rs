//! The search for a proof, and the rules that it tries.

mod clamps;
mod divides;
mod ends;
pub(super) mod prove;
mod wraps;
