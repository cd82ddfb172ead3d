//! Tests of the language: kernels and headers that are right, and those that are refused.

mod heads;
mod right;
mod syntax;
mod values;
mod wrong;
