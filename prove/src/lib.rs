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
pub use proof::{Budget, Proof, Subject, Unreached, prove, prove_at};

/// Sizes by the names of the dims.
pub type Dims = Vec<(String, i64)>;

/// Returns the literal that facts give a dim of a program.
fn literal(program: &tilewright_launch::Program, name: &str) -> Option<i64> {
    let at = program.dims.iter().position(|dim| dim.name == name)?;
    match &program.dims[at].derived {
        Some(tilewright_launch::Size::Const(literal)) => Some(*literal),
        Some(_) => None,
        None => program.facts.iter().find_map(|fact| fact.condition.equates(at)),
    }
}
