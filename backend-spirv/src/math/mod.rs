//! Operations: the SPIR-V instructions of each of the language's functions.
//!
//! SPIR-V leaves operations undefined that the language defines: division by zero, shifts by more than 31, casts out of range. Each of
//! these gets extra instructions, unless a literal operand makes them unnecessary. Functions of floats whose instruction is not good
//! enough are in [`formulas`](tilewright_codegen::formulas).

pub(super) mod bits;
mod dots;
mod floats;
pub(super) mod functions;
pub(super) mod narrow;
mod rules;

use crate::Result;
use crate::context::BlockContext;
use crate::module::Id;
use crate::writer::Writer;
use rules::Operand;
use smallvec::SmallVec;
use spirv::{GlslStd450Op as Ext, Op};
use tilewright_codegen::formulas::function_of;
use tilewright_codegen::values::{Op as ValueOp, ValueId};
use tilewright_dsl::expr::rules::{FLOOR_BY_POWER, FLOOR_BY_QUOT, MOD_BY_POWER, MOD_BY_QUOT, UDIV_BY_POWER, UMOD_BY_POWER};
use tilewright_dsl::expr::{Binary, Compare, Const, Unary};
use tilewright_dsl::launch::{DType, Feature};

/// The context of an operation: its level, number of components and types.
#[derive(Clone, Copy)]
pub(crate) struct Site {
    pub(crate) level: u32,
    /// The number of components.
    pub(crate) n: u32,
    /// The type of the operands. For a selection, the type of the selected values.
    pub(crate) of: DType,
    /// The type of the result.
    pub(crate) dtype: DType,
}

impl BlockContext<'_> {
    /// Writes an operation.
    pub(crate) fn math(&mut self, op: ValueOp, at: Site, ids: &[Id], of: &[ValueId]) -> Result<Id> {
        let computes = !matches!(op, ValueOp::Select | ValueOp::Cast(_));
        let is_of_bits = matches!(op, ValueOp::Unary(Unary::ToBits));
        if at.of == DType::F16 && computes && !is_of_bits {
            self.half_arithmetic("arithmetic in f16")?;
        }
        if let Some(function) = function_of(op).filter(|_| at.of == DType::F32) {
            let operands = match op {
                ValueOp::Binary(Binary::Rem | Binary::RemEuclid | Binary::DivEuclid) => {
                    self.with_hidden_zeros(at, [ids[0], ids[1]], [of[0], of[1]])?.to_vec()
                }
                _ => ids.to_vec(),
            };
            return self.call(&function, at, &operands);
        }
        match op {
            ValueOp::Unary(op) => self.unary(op, at, ids[0]),
            ValueOp::Binary(op @ (Binary::Min | Binary::Max)) if at.of.is_float() => self.float_extreme(op, at, ids, of),
            ValueOp::Binary(op) if at.of.is_float() => self.float_binary(op, at, ids, of),
            ValueOp::Binary(op) => self.int_binary(op, at, ids, of),
            ValueOp::Compare(op) => {
                let result = self.comparison(op, at, ids[0], ids[1])?;
                if at.of.is_float() { self.with_nan(op, at, result, ids, of) } else { Ok(result) }
            }
            ValueOp::Select => self.choice_of(at, ids, of),
            ValueOp::Cast(to) if to == at.of => Ok(ids[0]),
            ValueOp::Cast(to) => {
                let id = self.hidden_integer(at, to, ids[0], of[0])?;
                if to == DType::F32 && at.of.is_int() {
                    self.rounds_integer(of[0]);
                }
                self.cast(at, to, id)
            }
            ValueOp::Narrow(to) => self.narrow(at, to, ids[0]),
            ValueOp::Index => Ok(ids[0]),
            ValueOp::Fma => self.fused(at, ids, of),
            ValueOp::Splat(_) | ValueOp::Extract(_) | ValueOp::Part(_) | ValueOp::Join | ValueOp::Dot { .. } => {
                Err(self.defect("operations on lanes are not arithmetic"))
            }
        }
    }

    fn float_binary(&mut self, op: Binary, at: Site, ids: &[Id], of: &[ValueId]) -> Result<Id> {
        let operands = match op {
            Binary::Mul | Binary::Div => self.with_hidden_zeros(at, [ids[0], ids[1]], [of[0], of[1]])?,
            _ => [ids[0], ids[1]],
        };
        match float_op(op) {
            Some(op) => self.same(at, op, &operands),
            None => Err(self.error(format!("`{op:?}` is not defined for `{}`, only for integers", at.of))),
        }
    }

    fn int_binary(&mut self, op: Binary, at: Site, ids: &[Id], of: &[ValueId]) -> Result<Id> {
        let (a, b, literal) = (ids[0], ids[1], self.resolver.values.literal(of[1]));
        let signed = at.of == DType::I32;
        let truth = at.of == DType::Bool;
        match op {
            Binary::And if truth => self.same(at, Op::LogicalAnd, &[a, b]),
            Binary::And => self.and_of_bits(at, ids, of),
            Binary::Or if truth => self.same(at, Op::LogicalOr, &[a, b]),
            Binary::Xor if truth => self.same(at, Op::LogicalNotEqual, &[a, b]),
            Binary::Or => self.combined_bits(Op::BitwiseOr, at, ids, of),
            Binary::Xor => self.combined_bits(Op::BitwiseXor, at, ids, of),
            _ if truth => Err(self.error(format!("`{op:?}` is not defined for bools"))),
            Binary::Add => self.same(at, Op::IAdd, &[a, b]),
            Binary::Sub => self.same(at, Op::ISub, &[a, b]),
            Binary::Mul => self.same(at, Op::IMul, &[a, b]),
            Binary::MulHi => self.high_product(at, a, b),
            Binary::Min | Binary::Max => self.int_extreme(op, at, ids, of),
            Binary::Shl | Binary::Shr => {
                let by = match literal {
                    Some(count) if count.bits < 32 => b,
                    _ => {
                        let mask = self.all(at.of, at.n, 31)?;
                        self.same(at, Op::BitwiseAnd, &[b, mask])?
                    }
                };
                let op = match (op, signed) {
                    (Binary::Shl, _) => Op::ShiftLeftLogical,
                    (_, true) => Op::ShiftRightArithmetic,
                    (_, false) => Op::ShiftRightLogical,
                };
                self.same(at, op, &[a, by])
            }
            Binary::Div | Binary::Rem => self.division(op, at, a, b, literal),
            Binary::FloorDiv | Binary::FloorMod => {
                let natural = of.iter().all(|v| !signed || self.resolver.values.nonnegative(*v));
                self.floor(op, at, a, b, natural, literal)
            }
            Binary::IntPow => Err(self.defect("a power of integers is a product")),
            Binary::DivEuclid | Binary::RemEuclid | Binary::Pow | Binary::Atan2 | Binary::CopySign => {
                Err(self.error(format!("`{op:?}` is for floats, not `{}`", at.of)))
            }
        }
    }
}

impl Writer<'_> {
    pub(crate) fn half_arithmetic(&mut self, what: &str) -> Result<()> {
        self.need(Feature::F16, what, "compute in f32 with `as f32`")?;
        // If the result is a bool, `scalar_type` was not called for f16, so that the capability is not declared yet.
        self.module.capability(spirv::Capability::Float16);
        Ok(())
    }

    /// Writes an instruction whose result has the site's type.
    pub(crate) fn same(&mut self, at: Site, op: Op, ids: &[Id]) -> Result<Id> {
        let ty = self.vector_type(at.dtype, at.n)?;
        Ok(self.ins(at.level, op, ty, ids))
    }

    /// Writes an extended instruction whose result has the site's type.
    pub(crate) fn same_ext(&mut self, at: Site, op: Ext, ids: &[Id]) -> Result<Id> {
        let ty = self.vector_type(at.dtype, at.n)?;
        let mut operands: SmallVec<[u32; 6]> = SmallVec::from_slice(&[self.module.math(), op as u32]);
        operands.extend_from_slice(ids);
        Ok(self.ins(at.level, Op::ExtInst, ty, &operands))
    }

    /// Writes an instruction whose result is a bool for each component.
    pub(crate) fn test(&mut self, at: Site, op: Op, ids: &[Id]) -> Result<Id> {
        self.same(Site { dtype: DType::Bool, ..at }, op, ids)
    }

    fn number(&mut self, at: Site, value: f64) -> Result<Id> {
        self.all(at.of, at.n, Const::number(value, at.of).bits)
    }

    fn unary(&mut self, op: Unary, at: Site, a: Id) -> Result<Id> {
        match (op, at.of) {
            (Unary::IsNan, _) => return self.is_nan(at, a),
            (Unary::ToBits, _) => return self.bits_of_float(at, a),
            (Unary::FromBits, _) => return self.float_of_bits(at, a),
            (Unary::Not, DType::Bool) => return self.test(at, Op::LogicalNot, &[a]),
            (Unary::Not, _) => return self.same(at, Op::Not, &[a]),
            (Unary::Neg, dtype) if dtype.is_float() => return self.same(at, Op::FNegate, &[a]),
            (Unary::Neg, _) => return self.same(at, Op::SNegate, &[a]),
            (Unary::CountOnes | Unary::LeadingZeros | Unary::TrailingZeros, DType::U32) => return self.bits_of(op, at, a),
            (Unary::Abs | Unary::Sign, dtype) if !dtype.is_float() => return self.int_unary(op, at, a),
            (Unary::Sign, _) => return self.sign(at, a),
            (Unary::Fract, _) => {
                // As in Rust, the result has the sign of the operand.
                let whole = self.same_ext(at, Ext::Trunc, &[a])?;
                return self.same(at, Op::FSub, &[a, whole]);
            }
            _ => {}
        }
        let ext = match op {
            Unary::Abs => Ext::FAbs,
            Unary::Floor => Ext::Floor,
            Unary::Ceil => Ext::Ceil,
            Unary::RoundTiesEven => Ext::RoundEven,
            Unary::Trunc => Ext::Trunc,
            Unary::Sqrt => Ext::Sqrt,
            Unary::InverseSqrt => Ext::InverseSqrt,
            Unary::Exp => Ext::Exp,
            Unary::Exp2 => Ext::Exp2,
            Unary::Sin => Ext::Sin,
            Unary::Cos => Ext::Cos,
            _ => return Err(self.error(format!("`{op:?}` is not defined for `{}`", at.of))),
        };
        if !at.of.is_float() {
            return Err(self.error(format!("`{op:?}` is not defined for `{}`, only for floats", at.of)));
        }
        self.same_ext(at, ext, &[a])
    }

    fn int_unary(&mut self, op: Unary, at: Site, a: Id) -> Result<Id> {
        match (op, at.of) {
            (Unary::Abs, DType::I32) => self.absolute(at, a),
            (Unary::Abs, _) => Ok(a),
            (_, DType::I32) => self.same_ext(at, Ext::SSign, &[a]),
            _ => {
                let one = self.all(at.of, at.n, 1)?;
                self.same_ext(at, Ext::UMin, &[a, one])
            }
        }
    }

    /// Returns 1 with the operand's sign, or NaN if the operand is NaN.
    fn sign(&mut self, at: Site, a: Id) -> Result<Id> {
        if at.of == DType::F16 {
            let wide = Site { of: DType::F32, dtype: DType::F32, ..at };
            let widened = self.same(wide, Op::FConvert, &[a])?;
            let signed = self.one_with_sign(wide, widened)?;
            let nan = self.is_nan(wide, widened)?;
            let sign = self.choice_of_bits(wide, (nan, at.level), [widened, signed])?;
            return self.same(at, Op::FConvert, &[sign]);
        }
        let signed = self.one_with_sign(at, a)?;
        let nan = self.is_nan(at, a)?;
        self.same(at, Op::Select, &[nan, a, signed])
    }

    /// Returns 1 with the sign of a number in f32.
    fn one_with_sign(&mut self, at: Site, a: Id) -> Result<Id> {
        let words = self.vector_type(DType::U32, at.n)?;
        let (mask, one) = (self.all(DType::U32, at.n, 1 << 31)?, self.all(DType::U32, at.n, 1f32.to_bits())?);
        let bits = self.ins(at.level, Op::Bitcast, words, &[a]);
        let sign = self.ins(at.level, Op::BitwiseAnd, words, &[bits, mask]);
        let signed = self.ins(at.level, Op::BitwiseOr, words, &[sign, one]);
        self.same(at, Op::Bitcast, &[signed])
    }

    pub(crate) fn comparison(&mut self, op: Compare, at: Site, a: Id, b: Id) -> Result<Id> {
        use Compare::*;
        let (signed, unsigned, float) = match op {
            Eq => (Op::IEqual, Op::IEqual, Op::FOrdEqual),
            Ne => (Op::INotEqual, Op::INotEqual, Op::FUnordNotEqual),
            Lt => (Op::SLessThan, Op::ULessThan, Op::FOrdLessThan),
            Le => (Op::SLessThanEqual, Op::ULessThanEqual, Op::FOrdLessThanEqual),
            Gt => (Op::SGreaterThan, Op::UGreaterThan, Op::FOrdGreaterThan),
            Ge => (Op::SGreaterThanEqual, Op::UGreaterThanEqual, Op::FOrdGreaterThanEqual),
        };
        let op = match (at.of, op) {
            (DType::Bool, Eq) => Op::LogicalEqual,
            (DType::Bool, Ne) => Op::LogicalNotEqual,
            (DType::Bool, _) => return Err(self.error("bools cannot be ordered")),
            (DType::I32, _) => signed,
            (DType::U32, _) => unsigned,
            (DType::F32 | DType::F16, _) => float,
            (DType::BF16 | DType::I16 | DType::U16 | DType::I8 | DType::U8 | DType::I64, _) => return Err(self.not_computed(at.of)),
        };
        self.test(at, op, &[a, b])
    }
}

/// Integers.
impl Writer<'_> {
    /// Writes a truncated division. A division by zero gives 0, and the lowest integer divided by -1 gives itself
    /// ([`QUOT_BY_ZERO`](tilewright_dsl::expr::rules::QUOT_BY_ZERO), [`QUOT_OF_LOWEST`](tilewright_dsl::expr::rules::QUOT_OF_LOWEST)).
    fn division(&mut self, op: Binary, at: Site, a: Id, b: Id, literal: Option<Const>) -> Result<Id> {
        let signed = at.of == DType::I32;
        let divide = if signed { Op::SDiv } else { Op::UDiv };
        let harmless = literal.is_some_and(|c| c.bits != 0 && (!signed || c.bits != u32::MAX));
        let zero = self.all(at.of, at.n, 0)?;
        let by_zero = if harmless { None } else { Some(self.test(at, Op::IEqual, &[b, zero])?) };
        let mut by = b;
        if let Some(by_zero) = by_zero {
            let mut bad = by_zero;
            if signed {
                let (lowest, minus) = (self.all(at.of, at.n, 1 << 31)?, self.all(at.of, at.n, u32::MAX)?);
                let (is_lowest, is_minus) = (self.test(at, Op::IEqual, &[a, lowest])?, self.test(at, Op::IEqual, &[b, minus])?);
                let overflows = self.test(at, Op::LogicalAnd, &[is_lowest, is_minus])?;
                bad = self.test(at, Op::LogicalOr, &[bad, overflows])?;
            }
            let one = self.all(at.of, at.n, 1)?;
            by = self.same(at, Op::Select, &[bad, one, b])?;
        }
        let quotient = self.quotient(divide, at, at.dtype, a, by)?;
        if op == Binary::Rem {
            // `REM_BY_QUOT`. In the two bad cases the divisor is 1, so that the remainder is 0. `SRem` is not used, because its result
            // for negative numbers is unreliable.
            let part = self.same(at, Op::IMul, &[quotient, by])?;
            return self.same(at, Op::ISub, &[a, part]);
        }
        match by_zero {
            Some(by_zero) => self.same(at, Op::Select, &[by_zero, zero, quotient]),
            None => Ok(quotient),
        }
    }

    /// Writes a division that is rounded to minus infinity. The divisor is at least 1. If no operand is negative (`natural`), it is
    /// unsigned, by [`FLOOR_IS_UNSIGNED`](tilewright_dsl::expr::rules::FLOOR_IS_UNSIGNED) and
    /// [`MOD_IS_UNSIGNED`](tilewright_dsl::expr::rules::MOD_IS_UNSIGNED).
    fn floor(&mut self, op: Binary, at: Site, a: Id, b: Id, natural: bool, literal: Option<Const>) -> Result<Id> {
        if let Some(by) = literal.map(|c| c.bits).filter(|b| b.is_power_of_two() && *b < 1 << 31) {
            let rule = match (op, at.of) {
                (Binary::FloorDiv, DType::I32) => &FLOOR_BY_POWER,
                (Binary::FloorDiv, _) => &UDIV_BY_POWER,
                (_, DType::I32) => &MOD_BY_POWER,
                _ => &UMOD_BY_POWER,
            };
            return self.by_rule(rule, at, &[Operand::Id(a), Operand::Literal(by.trailing_zeros().into())]);
        }
        if natural {
            let op = if op == Binary::FloorDiv { Op::UDiv } else { Op::UMod };
            if at.of == DType::U32 {
                return self.quotient(op, at, at.dtype, a, b);
            }
            let words = self.vector_type(DType::U32, at.n)?;
            let (a, b) = (self.ins(at.level, Op::Bitcast, words, &[a]), self.ins(at.level, Op::Bitcast, words, &[b]));
            let result = self.quotient(op, at, DType::U32, a, b)?;
            return self.same(at, Op::Bitcast, &[result]);
        }
        let quotient = self.quotient(Op::SDiv, at, at.dtype, a, b)?;
        let part = self.same(at, Op::IMul, &[quotient, b])?;
        let rest = self.same(at, Op::ISub, &[a, part])?;
        let rule = if op == Binary::FloorDiv { &FLOOR_BY_QUOT } else { &MOD_BY_QUOT };
        self.by_rule(rule, at, &[a, b, quotient, rest].map(Operand::Id))
    }
}

/// Casts.
impl Writer<'_> {
    fn cast(&mut self, at: Site, to: DType, a: Id) -> Result<Id> {
        let ty = self.vector_type(to, at.n)?;
        let float = at.of.is_float();
        match (at.of, to) {
            (DType::F16, DType::F32) if !self.native_f16() => Ok(a),
            (DType::F32, DType::F16) => self.narrowed(at.level, at.n, a),
            (DType::F16, DType::F32) => Ok(self.ins(at.level, Op::FConvert, ty, &[a])),
            // A half is exact in f32. An integer that is rounded twice, to f32 and to f16, is out of the range of halves, so that the
            // result is the same.
            (DType::F16, _) | (_, DType::F16) => {
                let wide = self.cast(Site { dtype: DType::F32, ..at }, DType::F32, a)?;
                self.cast(Site { of: DType::F32, ..at }, to, wide)
            }
            (_, DType::I32 | DType::U32) if float => self.saturated(at, to, a),
            (DType::Bool, _) => {
                let (one, zero) = (Const::number(1.0, to), Const::number(0.0, to));
                let (one, zero) = (self.all(to, at.n, one.bits)?, self.all(to, at.n, zero.bits)?);
                Ok(self.ins(at.level, Op::Select, ty, &[a, one, zero]))
            }
            (_, DType::Bool) => {
                let zero = self.number(at, 0.0)?;
                self.comparison(Compare::Ne, at, a, zero)
            }
            (DType::I32, DType::F32) => Ok(self.ins(at.level, Op::ConvertSToF, ty, &[a])),
            (DType::U32, DType::F32) => Ok(self.ins(at.level, Op::ConvertUToF, ty, &[a])),
            (DType::I32, DType::U32) | (DType::U32, DType::I32) => Ok(self.ins(at.level, Op::Bitcast, ty, &[a])),
            (from, to) => Err(self.not_computed(if from.is_narrow() { from } else { to })),
        }
    }

    /// Converts a float to an integer. A value out of range becomes the nearest integer, and NaN becomes 0.
    fn saturated(&mut self, at: Site, to: DType, a: Id) -> Result<Id> {
        let at = Site { dtype: DType::F32, ..at };
        let signed = to == DType::I32;
        // The first two are the least and the greatest float in the range, and the third is the end of the range.
        let (low, high, end) =
            if signed { (-2_147_483_648.0, 2_147_483_520.0, 2_147_483_648.0) } else { (0.0, 4_294_967_040.0, 4_294_967_296.0) };
        let (low, high, end) = (self.number(at, low)?, self.number(at, high)?, self.number(at, end)?);
        let above = self.same_ext(at, Ext::NMax, &[a, low])?;
        let inside = self.same_ext(at, Ext::NMin, &[above, high])?;
        let ty = self.vector_type(to, at.n)?;
        let value = self.ins(at.level, if signed { Op::ConvertFToS } else { Op::ConvertFToU }, ty, &[inside]);
        let most = self.all(to, at.n, if signed { i32::MAX as u32 } else { u32::MAX })?;
        let over = self.test(at, Op::FOrdGreaterThanEqual, &[a, end])?;
        let value = self.ins(at.level, Op::Select, ty, &[over, most, value]);
        let (nan, zero) = (self.is_nan(at, a)?, self.all(to, at.n, 0)?);
        Ok(self.ins(at.level, Op::Select, ty, &[nan, zero, value]))
    }
}

/// Returns the instruction that performs an operation on floats, or on matrices of floats.
pub(crate) fn float_op(op: Binary) -> Option<Op> {
    match op {
        Binary::Add => Some(Op::FAdd),
        Binary::Sub => Some(Op::FSub),
        Binary::Mul => Some(Op::FMul),
        Binary::Div => Some(Op::FDiv),
        _ => None,
    }
}
