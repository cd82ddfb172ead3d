//! Directives that compute on the matrices of a subgroup.

pub mod fragment;
pub mod mma;
