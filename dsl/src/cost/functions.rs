//! The number of operations of functions that consist of several instructions ([`leaves`](super::leaves) uses it). A test of the backend
//! compares the figures with its formulas.

use crate::expr::{Binary, Unary};

/// The number of operations of one call of a float function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operations {
    /// Float operations. A fused multiplication and addition counts as two.
    pub flops: i64,
    /// Exponentials and roots.
    pub functions: i64,
    /// Instructions, including those on bits and booleans.
    pub instructions: i64,
}

const fn of(flops: i64, functions: i64, instructions: i64) -> Option<Operations> {
    Some(Operations { flops, functions, instructions })
}

/// Returns the operations of a function of one value, or `None` if a single instruction computes it.
pub fn of_unary(op: Unary) -> Option<Operations> {
    match op {
        Unary::Round => of(3, 0, 14),
        Unary::Ln => of(18, 0, 38),
        Unary::Log2 => of(16, 0, 35),
        Unary::Tan => of(34, 0, 39),
        Unary::Asin => of(35, 1, 40),
        Unary::Acos => of(37, 1, 40),
        Unary::Atan => of(25, 0, 28),
        Unary::Sinh => of(35, 0, 44),
        Unary::Cosh => of(25, 0, 34),
        Unary::Tanh => of(17, 1, 24),
        Unary::Asinh => of(35, 1, 57),
        Unary::Acosh => of(34, 1, 57),
        Unary::Atanh => of(25, 0, 43),
        Unary::Erf => of(29, 1, 28),
        _ => None,
    }
}

/// Returns the operations of a function of two floats, or `None` if a single instruction computes it.
pub fn of_binary(op: Binary) -> Option<Operations> {
    match op {
        Binary::Pow => of(68, 0, 137),
        Binary::Atan2 => of(27, 0, 52),
        Binary::Rem => of(18, 0, 56),
        _ => None,
    }
}
