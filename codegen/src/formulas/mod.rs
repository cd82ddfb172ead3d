//! Functions that no instruction computes well on every device: each is one named function of the module, which its uses call.
//!
//! Vulkan bounds the error of `exp`, `sqrt`, `sin`, `cos` and a division. It gives no useful bound for the other functions of
//! `GLSL.std.450`, and leaves zeros, infinities and NaN to the driver (`docs/drivers.md`). So this folder makes them of sums, products,
//! divisions, integer operations and the few instructions that have a bound. Every result is Rust's at zeros, infinities and NaN, because
//! these are tested on the operand's bits: a driver may assume that a comparison of floats never meets NaN.
//!
//! A [`Formula`] is a list of instructions over parameters, without control flow. The emitter writes it to the module once for each
//! number of components and calls it, so that the reference device and other tools see one operation; drivers inline the calls. All
//! formulas are of `f32`. [`Values::function`](crate::values::Values::function) widens operands in `f16` and rounds the result.

#![allow(clippy::excessive_precision, reason = "nine digits name each `f32`")]

mod angles;
mod apply;
mod division;
mod exponentials;
mod formula;
mod logarithms;
mod power;
mod rounding;
mod signs;

use crate::values::Op as ValueOp;
pub use formula::{Formula, FormulaStep, Instruction, Part};
use tilewright_dsl::expr::{Binary, Const, Unary};
use tilewright_dsl::launch::DType;

/// The name of a function, the number of its operands, and the writer of its formula.
pub struct Function {
    /// The name, for example `tanh`.
    pub name: &'static str,
    /// The number of operands.
    pub operands: usize,
    write: fn(&mut Formula, &[Part]) -> Part,
}

/// Returns the function that computes an operation on `f32`; `None` if an instruction computes it.
pub fn function_of(op: ValueOp) -> Option<Function> {
    let unary = |name, write| Some(Function { name, operands: 1, write });
    let binary = |name, write| Some(Function { name, operands: 2, write });
    match op {
        ValueOp::Unary(op) => match op {
            Unary::Round => unary("round", rounding::round),
            Unary::Ln => unary("ln", logarithms::ln),
            Unary::Log2 => unary("log2", logarithms::log2),
            Unary::Log10 => unary("log10", logarithms::log10),
            Unary::Ln1p => unary("ln_1p", logarithms::ln_1p),
            Unary::ExpM1 => unary("exp_m1", exponentials::exp_m1),
            Unary::Tan => unary("tan", angles::tan),
            Unary::Asin => unary("asin", angles::asin),
            Unary::Acos => unary("acos", angles::acos),
            Unary::Atan => unary("atan", angles::atan),
            Unary::Sinh => unary("sinh", exponentials::sinh),
            Unary::Cosh => unary("cosh", exponentials::cosh),
            Unary::Tanh => unary("tanh", exponentials::tanh),
            Unary::Asinh => unary("asinh", logarithms::asinh),
            Unary::Acosh => unary("acosh", logarithms::acosh),
            Unary::Atanh => unary("atanh", logarithms::atanh),
            Unary::Erf => unary("erf", exponentials::erf),
            _ => None,
        },
        ValueOp::Binary(Binary::Pow) => binary("powf", power::powf),
        ValueOp::Binary(Binary::Atan2) => binary("atan2", angles::atan2),
        ValueOp::Binary(Binary::Rem) => binary("rem", division::remainder),
        ValueOp::Binary(Binary::RemEuclid) => binary("rem_euclid", division::euclidean_remainder),
        ValueOp::Binary(Binary::DivEuclid) => binary("div_euclid", division::euclidean_quotient),
        ValueOp::Binary(Binary::CopySign) => binary("copysign", signs::copysign),
        _ => None,
    }
}

/// Returns the function that rounds to the nearest number of f16.
pub fn nearest_half() -> Function {
    Function { name: "nearest_half", operands: 1, write: rounding::nearest_half }
}

/// Returns the function that rounds to the nearest number of bfloat16.
pub fn nearest_bfloat() -> Function {
    Function { name: "nearest_bfloat", operands: 1, write: rounding::nearest_bfloat }
}

impl Function {
    /// Returns the formula, and the instruction that computes the result.
    pub fn formula(&self) -> (Formula, Part) {
        let mut formula = Formula::default();
        let operands: Vec<Part> = (0..self.operands).map(|_| formula.parameter()).collect();
        let result = (self.write)(&mut formula, &operands);
        (formula, result)
    }

    /// Returns the operations of one call: ordinary float operations, where a product and a sum count as two, and exponentials and roots.
    pub(crate) fn operations(&self) -> (i64, i64) {
        use Instruction::{Add, Div, Exp, Exp2, Floor, InverseSqrt, Max, Min, Mul, MulAdd, Sub, Trunc};
        let (mut flops, mut functions) = (0, 0);
        for step in &self.formula().0.steps {
            match step {
                FormulaStep::Compute(_, MulAdd, _) => flops += 2,
                FormulaStep::Compute(_, Add | Sub | Mul | Div | Min | Max | Floor | Trunc, _) => flops += 1,
                FormulaStep::Compute(_, Exp | Exp2 | InverseSqrt, _) => functions += 1,
                FormulaStep::Parameter | FormulaStep::Literal(..) | FormulaStep::Compute(..) => {}
            }
        }
        (flops, functions)
    }
}

/// The bits of a number in `f32`.
fn bits_of(value: f64) -> u32 {
    Const::number(value, DType::F32).bits
}
