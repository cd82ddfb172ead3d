//! The number of operations of functions that consist of several instructions. A test of the backend compares the figures with its
//! formulas.

pub use crate::expr::operators::Operations;
use crate::expr::{Binary, Unary};

/// Returns the operations of a function of one value, or `None` if a single instruction computes it.
pub fn of_unary(op: Unary) -> Option<Operations> {
    op.work().formula()
}

/// Returns the operations of a function of two floats, or `None` if a single instruction computes it.
pub fn of_binary(op: Binary) -> Option<Operations> {
    op.work().formula()
}
