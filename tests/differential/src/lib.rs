//! The differential tester: generated algorithms under generated schedules are compiled, run, and judged by an evaluation that uses
//! neither nests nor SPIR-V.
//!
//! ```text
//! seed, number ─ case ─▶ kernel, schedule, profile, sizes ─ compile ─▶ refused, or words ─ validate ─▶ ─ run ─▶ values
//!                                └────────────────── evaluate ──────────────────▶ values with bounds ─ compare ─▶ judged
//! ```
//!
//! [`mutants`] tests the checks: whether a nest with one error ([`mutate`]) is detected, and by which check.
//!
//! [`pair`] is a pure function of a seed and a number, so that each case can be reproduced. The generators do not use the compiler.

pub mod board;
pub mod case;
pub mod compare;
pub mod compile;
pub mod deep;
pub mod devices;
pub mod judge;
pub mod kernel;
pub mod members;
pub mod memory;
pub mod mutants;
pub mod mutate;
pub mod positions;
pub mod race;
pub mod report;
pub mod schedule;
pub mod shifted;
pub mod shrink;
pub mod validate;

pub use case::{Case, Pair, pair};
