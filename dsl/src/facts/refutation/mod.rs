//! The search for a point at which a claim is false.

pub(super) mod counterexample;
mod eval;
pub(super) mod samples;
