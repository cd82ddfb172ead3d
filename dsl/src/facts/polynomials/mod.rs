//! Polynomials over atoms: the form in which expressions are compared.

pub(super) mod atoms;
mod floor;
pub(super) mod mono;
pub(super) mod poly;
mod show;
pub(super) mod translate;
