//! Formulas: lists of instructions over parameters. The sibling modules write them, and [`super`] emits them.

use super::bits_of;
use smallvec::SmallVec;
use tilewright_dsl::launch::DType;

/// The bits of infinity, and the sign bit.
pub(super) const INFINITY: u32 = 0x7f80_0000;
pub(super) const SIGN: u32 = 0x8000_0000;

/// A reference to a step of a formula.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part(u32);

impl Part {
    /// Returns the number of the step.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An instruction. Without another note, the operands are floats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instruction {
    /// The sum.
    Add,
    /// The difference.
    Sub,
    /// The product.
    Mul,
    /// The quotient.
    Div,
    /// The product of the first two plus the third, rounded once or twice.
    MulAdd,
    /// The negative.
    Neg,
    /// The lesser of two. If the first is NaN, it is the second.
    Min,
    /// The greater of two. If the first is NaN, it is the second.
    Max,
    /// Rounds to minus infinity.
    Floor,
    /// Rounds to zero.
    Trunc,
    /// The exponential.
    Exp,
    /// The power of 2.
    Exp2,
    /// The inverse of the square root.
    InverseSqrt,
    /// The bits, as another type.
    Bitcast,
    /// The bits that are 1 in both integers.
    BitAnd,
    /// The bits that are 1 in either integer.
    BitOr,
    /// The bits that differ between two integers.
    BitXor,
    /// The sum of integers.
    IntAdd,
    /// The difference of integers.
    IntSub,
    /// An integer shifted to higher bits.
    ShiftLeft,
    /// A signed integer shifted to lower bits.
    ShiftRight,
    /// Converts a float to a signed integer.
    ToInt,
    /// Converts a signed integer to a float.
    FromInt,
    /// True if two integers are equal.
    IntEqual,
    /// True if the first unsigned integer is greater.
    IntGreater,
    /// True if the first float is less.
    Less,
    /// True if both booleans are.
    Both,
    /// True if either boolean is.
    Either,
    /// The other boolean.
    Not,
    /// True if two booleans are equal.
    Agree,
    /// The second if the first is true, else the third.
    Select,
}

impl Instruction {
    /// True if a driver could fuse or reorder the instruction, so that it must not be contracted.
    pub fn rounds(self) -> bool {
        use Instruction::{Add, Div, Mul, MulAdd, Sub};
        matches!(self, Add | Sub | Mul | Div | MulAdd)
    }
}

/// The kinds of steps. Integers are `u32`, even if an instruction takes them as signed.
#[derive(Clone, Debug)]
pub enum FormulaStep {
    /// The next parameter.
    Parameter,
    /// A literal, by its bits.
    Literal(DType, u32),
    /// An instruction's result of a type, and its operands.
    Compute(DType, Instruction, SmallVec<[Part; 3]>),
}

/// The steps of a function. Each step follows the steps that it uses.
#[derive(Default, Debug)]
pub struct Formula {
    /// The steps, in order.
    pub steps: Vec<FormulaStep>,
}

impl Formula {
    fn step(&mut self, step: FormulaStep) -> Part {
        self.steps.push(step);
        Part(self.steps.len() as u32 - 1)
    }

    pub(super) fn parameter(&mut self) -> Part {
        self.step(FormulaStep::Parameter)
    }

    fn compute(&mut self, dtype: DType, instruction: Instruction, of: &[Part]) -> Part {
        self.step(FormulaStep::Compute(dtype, instruction, SmallVec::from_slice(of)))
    }
}

/// Floats.
impl Formula {
    /// A number, rounded to `f32`.
    pub(super) fn number(&mut self, value: f64) -> Part {
        self.step(FormulaStep::Literal(DType::F32, bits_of(value)))
    }

    pub(super) fn add(&mut self, a: Part, b: Part) -> Part {
        self.compute(DType::F32, Instruction::Add, &[a, b])
    }

    pub(super) fn sub(&mut self, a: Part, b: Part) -> Part {
        self.compute(DType::F32, Instruction::Sub, &[a, b])
    }

    pub(super) fn mul(&mut self, a: Part, b: Part) -> Part {
        self.compute(DType::F32, Instruction::Mul, &[a, b])
    }

    /// A quotient. The divisor must be between 2^-126 and 2^126, because Vulkan bounds the error only there.
    pub(super) fn div(&mut self, a: Part, b: Part) -> Part {
        self.compute(DType::F32, Instruction::Div, &[a, b])
    }

    /// `a * b + c`, rounded once or twice.
    pub(super) fn mul_add(&mut self, a: Part, b: Part, c: Part) -> Part {
        self.compute(DType::F32, Instruction::MulAdd, &[a, b, c])
    }

    pub(super) fn negative(&mut self, a: Part) -> Part {
        self.compute(DType::F32, Instruction::Neg, &[a])
    }

    /// The lesser of two numbers. If the first is NaN, the result is the second.
    pub(super) fn min(&mut self, a: Part, b: Part) -> Part {
        self.compute(DType::F32, Instruction::Min, &[a, b])
    }

    /// The greater of two numbers. If the first is NaN, the result is the second.
    pub(super) fn max(&mut self, a: Part, b: Part) -> Part {
        self.compute(DType::F32, Instruction::Max, &[a, b])
    }

    pub(super) fn floor(&mut self, a: Part) -> Part {
        self.compute(DType::F32, Instruction::Floor, &[a])
    }

    pub(super) fn trunc(&mut self, a: Part) -> Part {
        self.compute(DType::F32, Instruction::Trunc, &[a])
    }

    pub(super) fn exp(&mut self, a: Part) -> Part {
        self.compute(DType::F32, Instruction::Exp, &[a])
    }

    pub(super) fn exp2(&mut self, a: Part) -> Part {
        self.compute(DType::F32, Instruction::Exp2, &[a])
    }

    pub(super) fn inverse_sqrt(&mut self, a: Part) -> Part {
        self.compute(DType::F32, Instruction::InverseSqrt, &[a])
    }

    /// A polynomial by Horner's rule. The lowest coefficient comes first.
    pub(super) fn polynomial(&mut self, coefficients: &[f32], x: Part) -> Part {
        let mut rest = coefficients.iter().rev().map(|c| f64::from(*c));
        let first = rest.next().unwrap_or(0.0);
        let first = self.number(first);
        rest.fold(first, |sum, c| {
            let c = self.number(c);
            self.mul_add(sum, x, c)
        })
    }

    /// `x + x * z * p(z)`: an odd function whose slope at 0 is 1, where `z` is the square of `x`.
    pub(super) fn odd(&mut self, coefficients: &[f32], x: Part, z: Part) -> Part {
        let p = self.polynomial(coefficients, z);
        let cube = self.mul(x, z);
        self.mul_add(cube, p, x)
    }
}

/// Bits and booleans.
impl Formula {
    pub(super) fn word(&mut self, bits: u32) -> Part {
        self.step(FormulaStep::Literal(DType::U32, bits))
    }

    /// A float's bits.
    pub(super) fn bits(&mut self, a: Part) -> Part {
        self.compute(DType::U32, Instruction::Bitcast, &[a])
    }

    /// The float with these bits.
    pub(super) fn float(&mut self, a: Part) -> Part {
        self.compute(DType::F32, Instruction::Bitcast, &[a])
    }

    pub(super) fn and(&mut self, a: Part, bits: u32) -> Part {
        let bits = self.word(bits);
        self.compute(DType::U32, Instruction::BitAnd, &[a, bits])
    }

    pub(super) fn or(&mut self, a: Part, b: Part) -> Part {
        self.compute(DType::U32, Instruction::BitOr, &[a, b])
    }

    pub(super) fn xor(&mut self, a: Part, b: Part) -> Part {
        self.compute(DType::U32, Instruction::BitXor, &[a, b])
    }

    pub(super) fn plus(&mut self, a: Part, b: Part) -> Part {
        self.compute(DType::U32, Instruction::IntAdd, &[a, b])
    }

    pub(super) fn minus(&mut self, a: Part, b: Part) -> Part {
        self.compute(DType::U32, Instruction::IntSub, &[a, b])
    }

    pub(super) fn shifted_up(&mut self, a: Part, by: u32) -> Part {
        let by = self.word(by);
        self.shifted_up_by(a, by)
    }

    pub(super) fn shifted_up_by(&mut self, a: Part, by: Part) -> Part {
        self.compute(DType::U32, Instruction::ShiftLeft, &[a, by])
    }

    /// The quotient of a signed integer and a power of two, rounded to minus infinity.
    pub(super) fn shifted_down(&mut self, a: Part, by: u32) -> Part {
        let by = self.word(by);
        self.shifted_down_by(a, by)
    }

    pub(super) fn shifted_down_by(&mut self, a: Part, by: Part) -> Part {
        self.compute(DType::U32, Instruction::ShiftRight, &[a, by])
    }

    /// Converts a float to a signed integer. The float must be an integer that 32 bits hold.
    pub(super) fn integer(&mut self, a: Part) -> Part {
        self.compute(DType::U32, Instruction::ToInt, &[a])
    }

    /// Converts a signed integer to a float.
    pub(super) fn of_integer(&mut self, a: Part) -> Part {
        self.compute(DType::F32, Instruction::FromInt, &[a])
    }

    pub(super) fn equal(&mut self, a: Part, b: u32) -> Part {
        let b = self.word(b);
        self.same_bits(a, b)
    }

    pub(super) fn same_bits(&mut self, a: Part, b: Part) -> Part {
        self.compute(DType::Bool, Instruction::IntEqual, &[a, b])
    }

    /// The lesser of two unsigned integers.
    pub(super) fn at_most(&mut self, a: Part, most: u32) -> Part {
        let most = self.word(most);
        let is_more = self.greater(a, most);
        self.select(is_more, most, a)
    }

    /// True if an unsigned integer is greater than `b`.
    pub(super) fn above(&mut self, a: Part, b: u32) -> Part {
        let b = self.word(b);
        self.greater(a, b)
    }

    pub(super) fn greater(&mut self, a: Part, b: Part) -> Part {
        self.compute(DType::Bool, Instruction::IntGreater, &[a, b])
    }

    /// True if the first float is less than the second. Neither may be NaN.
    pub(super) fn less(&mut self, a: Part, b: Part) -> Part {
        self.compute(DType::Bool, Instruction::Less, &[a, b])
    }

    pub(super) fn both(&mut self, a: Part, b: Part) -> Part {
        self.compute(DType::Bool, Instruction::Both, &[a, b])
    }

    pub(super) fn either(&mut self, a: Part, b: Part) -> Part {
        self.compute(DType::Bool, Instruction::Either, &[a, b])
    }

    pub(super) fn not(&mut self, a: Part) -> Part {
        self.compute(DType::Bool, Instruction::Not, &[a])
    }

    /// True if two booleans are equal.
    pub(super) fn agree(&mut self, a: Part, b: Part) -> Part {
        self.compute(DType::Bool, Instruction::Agree, &[a, b])
    }

    /// Returns `yes` if `cond` is true, else `no`.
    pub(super) fn select(&mut self, cond: Part, yes: Part, no: Part) -> Part {
        let dtype = match &self.steps[yes.index()] {
            FormulaStep::Parameter => DType::F32,
            FormulaStep::Literal(dtype, _) | FormulaStep::Compute(dtype, ..) => *dtype,
        };
        self.compute(dtype, Instruction::Select, &[cond, yes, no])
    }
}

/// An operand, its bits, the bits without the sign, and its absolute value.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    pub(super) itself: Part,
    pub(super) bits: Part,
    pub(super) size: Part,
    pub(super) magnitude: Part,
}

impl Formula {
    pub(super) fn operand(&mut self, itself: Part) -> Operand {
        let bits = self.bits(itself);
        let size = self.and(bits, !SIGN);
        let magnitude = self.float(size);
        Operand { itself, bits, size, magnitude }
    }

    /// The sign of an operand, as a bit.
    pub(super) fn sign(&mut self, x: Operand) -> Part {
        self.and(x.bits, SIGN)
    }

    /// True if the sign bit is set.
    pub(super) fn is_negative(&mut self, x: Operand) -> Part {
        self.above(x.bits, SIGN - 1)
    }

    /// Sets the sign of a result that is not negative.
    pub(super) fn signed(&mut self, result: Part, sign: Part) -> Part {
        let bits = self.bits(result);
        let bits = self.or(bits, sign);
        self.float(bits)
    }

    /// Returns the operand if it is NaN, else the result.
    pub(super) fn unless_nan(&mut self, x: Operand, result: Part) -> Part {
        let is_nan = self.above(x.size, INFINITY);
        self.select(is_nan, x.itself, result)
    }

    /// Returns the value of an odd function at `x`, given its value at the absolute value of `x`.
    pub(super) fn of_odd(&mut self, x: Operand, result: Part) -> Part {
        let sign = self.sign(x);
        let signed = self.signed(result, sign);
        self.unless_nan(x, signed)
    }

    /// Returns NaN if `cond` is true, else the result.
    pub(super) fn nan_if(&mut self, cond: Part, result: Part) -> Part {
        let nan = self.number(f64::NAN);
        self.select(cond, nan, result)
    }
}
