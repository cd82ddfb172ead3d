//! Checks a launch against the evaluation of its algorithm. The tests and `tilewright tune` share it.
//!
//! ```text
//! algorithm, sizes ─ Inputs ─▶ random inputs ─ a device ─▶ results ─ compare ─▶ the elements without a bound, or a wrong element
//!                                    └─ wanted ─▶ expected results with error bounds ──▶┘
//! ```
//!
//! The crate does not launch anything: `tilewright tune` launches in a runner, and the tests in their own process.

mod compare;
mod inputs;
mod wanted;

pub use compare::{Compared, Wrong, compare};
pub use inputs::{Fill, Inputs};
pub use wanted::wanted;
