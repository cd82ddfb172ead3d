//! Tests that the macros end for any tokens, with items or with errors, quickly, without a panic and without a stack overflow.
//! Accepted items are compiled to SPIR-V.

mod extremes;
mod mangled;
mod support;
