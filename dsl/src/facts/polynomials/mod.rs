//! Polynomials over atoms: the form in which expressions are compared.

pub(super) mod atoms;
pub mod congruence;
mod floor;
pub mod mono;
pub mod poly;
mod show;
pub(super) mod translate;
