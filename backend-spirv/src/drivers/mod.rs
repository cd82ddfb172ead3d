//! The rules that avoid faults of drivers. Code that breaks one of them is valid SPIR-V, and some driver compiles it wrongly or slowly.
//! `docs/drivers.md` describes the faults.
//!
//! [`tilewright_codegen::drivers`] predicts what a driver's compiler may know about a value, without SPIR-V. The modules here write the
//! instructions that hide it. [`crate::defects`] is the table of these rules.

mod choice;
pub(super) mod hidden;
mod integers;
pub(super) mod loops;
mod nan;
