//! Exact arithmetic: a run of a kernel on the reference device in which floats are elements of a prime field.
//!
//! Two formulas that are equal have equal values there, without rounding, and two that differ nearly always have different values. So a
//! result can be compared with the plain evaluation of the algorithm for equality. `tilewright prove` does this; `docs/exactness.md`
//! defines the claim.

pub use tilewright_reference::field::{Covered, Element, Field, Format, ModuleName, Number, Rational, Reason, module_name};
