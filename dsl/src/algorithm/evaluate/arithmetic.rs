//! The arithmetic of floats in an evaluation.

use super::float::{Float, Product};
use crate::expr::{Binary, Compare, Const, Unary};
use tilewright_launch::DType;

/// The floats of an evaluation, and their operations.
pub trait Arithmetic {
    /// A value of a float type.
    type Float: Copy;

    /// The facts about the factors of a product on which its error depends.
    type Product: Default;

    /// Returns the value of a constant.
    fn constant(&self, c: Const) -> Self::Float;

    /// Returns the value of an integer.
    fn of_int(&self, int: i64) -> Self::Float;

    /// Converts to an integer type as Rust's `as` does.
    fn to_int(&self, x: Self::Float, to: DType) -> i64;

    /// Converts to a float type.
    fn rounded(&self, x: Self::Float, to: DType) -> Self::Float;

    /// Returns the bits of a float of a type.
    fn to_bits(&self, x: Self::Float, dtype: DType) -> i64;

    /// Returns the float of a type with these bits.
    fn of_bits(&self, bits: u32, dtype: DType) -> Self::Float;

    /// Applies a function of one value, computed in a type.
    fn unary(&self, op: Unary, x: Self::Float, dtype: DType) -> Self::Float;

    /// Applies a function of two values, computed in a type.
    fn binary(&self, op: Binary, x: Self::Float, y: Self::Float, dtype: DType) -> Self::Float;

    /// True if a comparison holds.
    fn compare(&self, op: Compare, x: Self::Float, y: Self::Float) -> bool;

    /// True if a value is NaN.
    fn is_nan(&self, x: Self::Float) -> bool;

    /// True if a value is not 0.
    fn is_nonzero(&self, x: Self::Float) -> bool;

    /// Adds a factor to a product.
    fn multiply(&self, product: &mut Self::Product, factor: Self::Float);

    /// Returns the value of a product whose factors are multiplied in any order, given its value in one order.
    fn in_any_order(&self, product: &Self::Product, whole: Self::Float, dtype: DType) -> Self::Float;
}

/// Values in f64, with a bound on a device's error.
#[derive(Clone, Copy, Debug)]
pub struct Bounded;

impl Arithmetic for Bounded {
    type Float = Float;
    type Product = Product;

    fn constant(&self, c: Const) -> Float {
        Float::exact(c.value())
    }

    fn of_int(&self, int: i64) -> Float {
        Float::exact(int as f64)
    }

    fn to_int(&self, x: Float, to: DType) -> i64 {
        match to {
            DType::U32 => (x.value as u32).into(),
            DType::I16 => (x.value as i16).into(),
            DType::U16 => (x.value as u16).into(),
            DType::I8 => (x.value as i8).into(),
            DType::U8 => (x.value as u8).into(),
            DType::I32 | DType::I64 | DType::F32 | DType::F16 | DType::BF16 | DType::Bool => (x.value as i32).into(),
        }
    }

    fn rounded(&self, x: Float, to: DType) -> Float {
        x.rounded(to)
    }

    fn to_bits(&self, x: Float, dtype: DType) -> i64 {
        dtype.to_bits(x.value).into()
    }

    fn of_bits(&self, bits: u32, dtype: DType) -> Float {
        Float::of_bits(bits, dtype)
    }

    fn unary(&self, op: Unary, x: Float, dtype: DType) -> Float {
        x.unary(op, dtype)
    }

    fn binary(&self, op: Binary, x: Float, y: Float, dtype: DType) -> Float {
        x.binary(op, y, dtype)
    }

    fn compare(&self, op: Compare, x: Float, y: Float) -> bool {
        op.holds(x.value, y.value)
    }

    fn is_nan(&self, x: Float) -> bool {
        x.value.is_nan()
    }

    fn is_nonzero(&self, x: Float) -> bool {
        x.value != 0.0
    }

    fn multiply(&self, product: &mut Product, factor: Float) {
        *product = product.times(factor);
    }

    fn in_any_order(&self, product: &Product, whole: Float, dtype: DType) -> Float {
        product.in_any_order(whole, dtype)
    }
}
