//! The differential tester: generated algorithms under generated schedules, compiled, run, and judged by an evaluation that
//! knows neither nests nor words.
//!
//! ```text
//! seed, number ─ case ─▶ kernel, schedule, profile, sizes ─ compile ─▶ refused, or words ─ validate ─▶ ─ run ─▶ values
//!                                └────────────────── evaluate ──────────────────▶ values with bounds ─ compare ─▶ judged
//! ```
//!
//! [`mutants`] asks the other question: whether a nest with one thing wrong ([`mutate`]) is found out, and by whom.
//!
//! [`pair`] is a pure function of a seed and a number, so each case can be had again. The generators ask the compiler nothing.

pub mod board;
pub mod case;
pub mod compare;
pub mod compile;
pub mod deep;
pub mod inputs;
pub mod judge;
pub mod kernel;
pub mod memory;
pub mod mutants;
pub mod mutate;
pub mod positions;
pub mod report;
pub mod run;
pub mod schedule;
pub mod shrink;
pub mod validate;
mod views;
pub mod wanted;

pub use case::{Case, Pair, pair};
