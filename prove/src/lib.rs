//! Proves that a schedule computes what its kernel says, in exact arithmetic.
//!
//! ```text
//! nest, facts ─ sizes ─▶ candidates ─ names ─▶ inputs ─┬─ evaluate_in ──────────────▶ elements of the algorithm ─┐
//!                                                      └─ launch on Device::exact ──▶ elements of the module ────┴─▶ Outcome
//! ```
//!
//! The reference device runs the SPIR-V words of a compiled schedule over a prime field ([`tilewright::exact`]), and the plain
//! evaluation computes the algorithm over the same field. Results must be equal, at sizes around the boundaries of all tiles, until
//! each block of the modules has run. `docs/exactness.md` states what this shows.

mod arithmetic;
mod case;
pub mod launch;
mod names;
mod proof;
mod sizes;
pub mod views;

pub use arithmetic::Exact;
pub use case::{Case, Outcome, run, run_with};
pub use proof::{Budget, Proof, Subject, Unreached, Verdict, prove, prove_at};

/// Sizes by the names of the dims.
pub type Dims = Vec<(String, i64)>;

/// Returns sizes as pairs of borrowed names.
fn named(dims: &Dims) -> Vec<(&str, i64)> {
    dims.iter().map(|(name, size)| (name.as_str(), *size)).collect()
}

/// Returns sizes as a text: `M=129,N=65`.
pub fn text(dims: &Dims) -> String {
    let parts: Vec<String> = dims.iter().map(|(name, size)| format!("{name}={size}")).collect();
    parts.join(",")
}
