//! Predicts what the compiler of a driver does with a value. The rules that avoid faults of drivers depend on it.
//! The module `defects` of the backend has a table of these rules.

pub mod class;
mod found;
pub mod fuse;
