//! Translates arithmetic instructions.

use super::Lower;
use super::slots::Value;
use crate::code::{Binary, Check, Op, Partial, Ternary, Unary};
use crate::module::types::Scalar;
use crate::words::{Id, Inst, Result, malformed, unknown};
use spirv::{GlslStd450Op as Ext, Op as Spv, PackedVectorFormat};

/// The operation of an instruction, word by word.
enum Maths {
    Unary(Unary),
    Binary(Binary),
    /// A binary operation with its operands swapped.
    Swapped(Binary),
    Ternary(Ternary),
    Checked(Partial),
    /// A comparison that is true if an operand is NaN: the negation of the opposite ordered comparison.
    Not(Binary),
}

impl Lower<'_> {
    pub(super) fn maths(&mut self, inst: &Inst) -> Result<()> {
        match inst.op {
            Spv::Bitcast => self.bitcast(inst),
            Spv::VectorTimesScalar | Spv::MatrixTimesScalar => self.scaled(inst),
            Spv::Dot => self.dot(inst),
            Spv::SDot => self.dot_of_bytes(inst, (true, true)),
            Spv::UDot => self.dot_of_bytes(inst, (false, false)),
            Spv::SUDot => self.dot_of_bytes(inst, (true, false)),
            Spv::Any | Spv::All => self.any_all(inst),
            Spv::Select => self.select(inst),
            // The result is rounded to its type. Exact conversions are aliases, and do not come here.
            Spv::FConvert => {
                let op = match self.module.types.scalar(inst.ty)? {
                    Scalar::BF16 => Unary::Upper,
                    _ if self.module.rounds_halves => Unary::Half,
                    _ => Unary::HalfTowardsZero,
                };
                self.word_by_word(inst, Maths::Unary(op), inst.from(0))
            }
            Spv::SConvert | Spv::UConvert => self.resized(inst),
            Spv::QuantizeToF16 => self.word_by_word(inst, Maths::Unary(Unary::Half), inst.from(0)),
            Spv::ExtInst => {
                let number = inst.arg(1)?;
                let Some(maths) = Ext::from_u32(number).and_then(extended) else {
                    let name = Ext::from_u32(number).map_or_else(|| number.to_string(), |e| format!("{e:?}"));
                    return unknown(format!("OpExtInst {name}"));
                };
                self.word_by_word(inst, maths, inst.from(2))
            }
            op => match plain(op) {
                Some(maths) => self.word_by_word(inst, maths, inst.from(0)),
                None => unknown(format!("Op{op:?}")),
            },
        }
    }

    /// Applies an operation to every word.
    fn word_by_word(&mut self, inst: &Inst, maths: Maths, ids: &[Id]) -> Result<()> {
        let arity = match &maths {
            Maths::Unary(_) => 1,
            Maths::Ternary(_) => 3,
            Maths::Checked(Partial::FToS | Partial::FToU) => 1,
            _ => 2,
        };
        let to = self.result(inst)?;
        let mut slots = [0; 3];
        if ids.len() < arity {
            return malformed(format!("Op{:?} has too few operands", inst.op));
        }
        for (slot, id) in slots.iter_mut().zip(&ids[..arity]) {
            self.check_planes(*id, to.planes)?;
            *slot = self.extended(inst, *id, to)?;
        }
        let [a, b, c] = slots;
        let (dst, len) = (to.at, to.planes * self.row(to.lanes));
        match maths {
            Maths::Unary(op) => self.op(Op::Unary { op, dst, a, len }),
            Maths::Binary(op) => self.op(Op::Binary { op, dst, a, b, len }),
            Maths::Swapped(op) => self.op(Op::Binary { op, dst, a: b, b: a, len }),
            Maths::Not(op) => {
                let ordered = self.temporary(to.planes, to.lanes)?.at;
                self.op(Op::Binary { op, dst: ordered, a, b, len });
                self.op(Op::Unary { op: Unary::LogicalNot, dst, a: ordered, len });
            }
            Maths::Ternary(op) => self.op(Op::Ternary { op, dst, a, b, c, len }),
            Maths::Checked(op) => {
                let byte = self.module.types.scalar(inst.ty)? == Scalar::Byte;
                self.code.checks.push(Check { op, dst, a, b, planes: to.planes, lanes: to.lanes, byte, word: inst.word });
                let at = self.code.checks.len() as u32 - 1;
                self.op(Op::Checked(at));
            }
        }
        self.rounded(inst, to)?;
        self.computed(inst, to)
    }

    /// Rounds an f32 result to 16 bits, or truncates a 32-bit result to 8 or 16 bits, if its type requires it.
    fn rounded(&mut self, inst: &Inst, at: Value) -> Result<()> {
        let exact = matches!(inst.op, Spv::FConvert | Spv::Select | Spv::FNegate);
        let op = match self.module.types.scalar(inst.ty)? {
            Scalar::F16 if !exact => Unary::Half,
            Scalar::BF16 if !exact => Unary::Upper,
            Scalar::Short => Unary::ShortAt(0),
            Scalar::Byte => Unary::ByteAt(0),
            _ => return Ok(()),
        };
        self.op(Op::Unary { op, dst: at.at, a: at.at, len: at.planes * self.row(at.lanes) });
        Ok(())
    }

    /// Returns an operand in 32 bits. Integers of 8 and 16 bits are extended by their sign if it matters.
    fn extended(&mut self, inst: &Inst, id: Id, to: Value) -> Result<u32> {
        let slot = self.operand(id, to.lanes)?;
        let narrow = |ty| self.module.types.scalar(ty).ok().filter(|scalar| matches!(scalar, Scalar::Byte | Scalar::Short));
        let (from, result) = (narrow(self.module.type_of(id)?), narrow(inst.ty));
        let Some(scalar) = from.or(result) else { return Ok(slot) };
        // Modules compute with integers of 8 bits, but only convert integers of 16 bits.
        let is_known = scalar == Scalar::Byte || matches!(inst.op, Spv::SConvert | Spv::UConvert);
        let Some(signed) = is_signed(inst.op).filter(|_| is_known) else {
            return unknown(format!("Op{:?} of {} bits", inst.op, 8 * scalar.bytes()));
        };
        if !signed || from.is_none() {
            return Ok(slot);
        }
        let wide = self.temporary(to.planes, to.lanes)?.at;
        let op = if scalar == Scalar::Byte { Unary::SignByte } else { Unary::SignShort };
        self.op(Op::Unary { op, dst: wide, a: slot, len: to.planes * self.row(to.lanes) });
        Ok(wide)
    }

    /// Converts an integer to another width.
    fn resized(&mut self, inst: &Inst) -> Result<()> {
        let from = self.module.types.scalar(self.module.type_of(inst.arg(0)?)?);
        match (from, self.module.types.scalar(inst.ty)) {
            (Ok(Scalar::Short), Ok(Scalar::Int)) if inst.op == Spv::UConvert => {
                self.word_by_word(inst, Maths::Unary(Unary::WordOfShort), inst.from(0))
            }
            // Operands are extended already, and results are truncated.
            (Ok(Scalar::Byte | Scalar::Short), Ok(Scalar::Int)) | (Ok(Scalar::Int), Ok(Scalar::Byte | Scalar::Short)) => {
                self.word_by_word(inst, Maths::Unary(Unary::Same), inst.from(0))
            }
            _ => unknown(format!("Op{:?}", inst.op)),
        }
    }

    /// Translates a selection. A single condition is copied for all components.
    fn select(&mut self, inst: &Inst) -> Result<()> {
        let condition = inst.arg(0)?;
        let to = self.result(inst)?;
        let row = self.row(to.lanes);
        self.check_planes(inst.arg(1)?, to.planes)?;
        self.check_planes(inst.arg(2)?, to.planes)?;
        let (mut c, a, b) =
            (self.operand(condition, to.lanes)?, self.operand(inst.arg(1)?, to.lanes)?, self.operand(inst.arg(2)?, to.lanes)?);
        let each = self.value(condition)?.planes;
        if each != to.planes {
            self.check_planes(condition, 1)?;
            let spread = self.temporary(to.planes, to.lanes)?.at;
            for plane in 0..to.planes {
                self.op(Op::Copy { dst: spread + plane * row, src: c, len: row });
            }
            c = spread;
        }
        self.op(Op::Ternary { op: Ternary::Select, dst: to.at, a: c, b: a, c: b, len: to.planes * row });
        self.computed(inst, to)
    }

    fn scaled(&mut self, inst: &Inst) -> Result<()> {
        let to = self.result(inst)?;
        let row = self.row(to.lanes);
        let (a, b) = (self.operand(inst.arg(0)?, to.lanes)?, self.operand(inst.arg(1)?, to.lanes)?);
        self.check_planes(inst.arg(0)?, to.planes)?;
        self.check_planes(inst.arg(1)?, 1)?;
        let op = if self.module.types.scalar(inst.ty)?.is_float() { Binary::FMul } else { Binary::IMul };
        for plane in 0..to.planes {
            self.op(Op::Binary { op, dst: to.at + plane * row, a: a + plane * row, b, len: row });
        }
        self.rounded(inst, to)?;
        self.computed(inst, to)
    }

    fn dot(&mut self, inst: &Inst) -> Result<()> {
        let to = self.result(inst)?;
        let row = self.row(to.lanes);
        let planes = self.value(inst.arg(0)?)?.planes;
        self.check_scalar(inst, to)?;
        let (a, b) = (self.operand(inst.arg(0)?, to.lanes)?, self.operand(inst.arg(1)?, to.lanes)?);
        self.check_planes(inst.arg(1)?, planes)?;
        self.op(Op::Binary { op: Binary::FMul, dst: to.at, a, b, len: row });
        for plane in 1..planes {
            let sum = self.temporary(1, to.lanes)?.at;
            self.op(Op::Copy { dst: sum, src: to.at, len: row });
            self.op(Op::Ternary { op: Ternary::Fma, dst: to.at, a: a + plane * row, b: b + plane * row, c: sum, len: row });
        }
        self.rounded(inst, to)?;
        self.computed(inst, to)
    }

    /// Translates a dot product of four bytes in each of two words.
    fn dot_of_bytes(&mut self, inst: &Inst, (first, second): (bool, bool)) -> Result<()> {
        let is_word = |id: Id| self.module.types.scalar(self.module.type_of(id)?).map(|scalar| scalar == Scalar::Int);
        let packed = inst.args.get(2) == Some(&(PackedVectorFormat::PackedVectorFormat4x8Bit as u32));
        if !packed || !is_word(inst.arg(0)?)? || !is_word(inst.arg(1)?)? || self.module.types.scalar(inst.ty)? != Scalar::Int {
            return unknown(format!("Op{:?} of other operands than four bytes in a word", inst.op));
        }
        let to = self.result(inst)?;
        self.check_scalar(inst, to)?;
        self.word_by_word(inst, Maths::Binary(Binary::Dot(first, second)), inst.from(0))
    }

    /// Refuses a result that is not a scalar.
    pub(super) fn check_scalar(&self, inst: &Inst, to: Value) -> Result<()> {
        if to.planes == 1 { Ok(()) } else { malformed(format!("the result of Op{:?} is not a scalar", inst.op)) }
    }

    fn any_all(&mut self, inst: &Inst) -> Result<()> {
        let op = if inst.op == Spv::Any { Binary::Or } else { Binary::And };
        let to = self.result(inst)?;
        let row = self.row(to.lanes);
        let planes = self.value(inst.arg(0)?)?.planes;
        self.check_scalar(inst, to)?;
        let mut all = self.operand(inst.arg(0)?, to.lanes)?;
        let first = all;
        for plane in 1..planes {
            let next = self.temporary(1, to.lanes)?.at;
            self.op(Op::Binary { op, dst: next, a: all, b: first + plane * row, len: row });
            all = next;
        }
        self.op(Op::Copy { dst: to.at, src: all, len: row });
        self.computed(inst, to)
    }

    /// Translates a bitcast between words and pairs of halves, or from f32 to integers. All other bitcasts are aliases.
    fn bitcast(&mut self, inst: &Inst) -> Result<()> {
        let of = inst.arg(0)?;
        let halves = self.module.types.scalar(inst.ty)? == Scalar::F16;
        let (to, from) = (self.result(inst)?, self.value(of)?);
        let row = self.row(to.lanes);
        let src = self.operand(of, to.lanes)?;
        let scalar = self.module.types.scalar(self.module.type_of(of)?)?;
        match (scalar == Scalar::F16, halves) {
            (false, false) if scalar == Scalar::F32 && from.planes == to.planes => {
                self.op(Op::Unary { op: Unary::FloatBits, dst: to.at, a: src, len: to.planes * row });
            }
            (true, true) if from.planes == to.planes => self.op(Op::Copy { dst: to.at, src, len: to.planes * row }),
            (false, true) if to.planes == 2 * from.planes => {
                for plane in 0..to.planes {
                    let op = if plane % 2 == 0 { Unary::LowHalf } else { Unary::HighHalf };
                    self.op(Op::Unary { op, dst: to.at + plane * row, a: src + plane / 2 * row, len: row });
                }
            }
            (false, false) if scalar == Scalar::Int && self.module.types.planes_per_word(inst.ty)? * from.planes == to.planes => {
                let per = to.planes / from.planes;
                for plane in 0..to.planes {
                    let bit = (plane % per * (32 / per)) as u8;
                    let op = if per == 2 { Unary::ShortAt(bit) } else { Unary::ByteAt(bit) };
                    self.op(Op::Unary { op, dst: to.at + plane * row, a: src + plane / per * row, len: row });
                }
            }
            (false, false) if matches!(scalar, Scalar::Byte | Scalar::Short) && to.planes * 4 == from.planes * scalar.bytes() => {
                let (per, bits) = (from.planes / to.planes, 8 * scalar.bytes() as u8);
                for plane in 0..to.planes {
                    let part = |n: u32| src + (plane * per + n) * row;
                    let mut above = part(per - 1);
                    for n in (0..per - 1).rev() {
                        let dst = if n == 0 { to.at + plane * row } else { self.temporary(1, to.lanes)?.at };
                        self.op(Op::Binary { op: Binary::Append(bits), dst, a: above, b: part(n), len: row });
                        above = dst;
                    }
                }
            }
            (true, false) if from.planes == 2 * to.planes => {
                for plane in 0..to.planes {
                    let (a, b) = (src + 2 * plane * row, src + (2 * plane + 1) * row);
                    self.op(Op::Binary { op: Binary::PackHalves, dst: to.at + plane * row, a, b, len: row });
                }
            }
            _ => return unknown("an OpBitcast between types of different sizes"),
        }
        self.computed(inst, to)
    }
}

/// Returns whether an instruction treats integers as signed, or `None` if it is not supported for 8-bit integers.
fn is_signed(op: Spv) -> Option<bool> {
    use Spv::*;
    match op {
        IAdd | ISub | IMul | UDiv | UMod | UConvert | ConvertUToF | ConvertFToU | Not | BitwiseAnd | BitwiseOr | BitwiseXor
        | IEqual | INotEqual | ULessThan | ULessThanEqual | UGreaterThan | UGreaterThanEqual => Some(false),
        SNegate | SDiv | SRem | SMod | SConvert | ConvertSToF | ConvertFToS | SLessThan | SLessThanEqual | SGreaterThan
        | SGreaterThanEqual => Some(true),
        _ => None,
    }
}

fn plain(op: Spv) -> Option<Maths> {
    use Maths::{Checked, Not, Swapped};
    let unary = |op| Some(Maths::Unary(op));
    let binary = |op| Some(Maths::Binary(op));
    match op {
        Spv::FNegate => unary(Unary::FNegate),
        Spv::SNegate => unary(Unary::SNegate),
        Spv::Not => unary(Unary::Not),
        Spv::LogicalNot => unary(Unary::LogicalNot),
        Spv::ConvertSToF => unary(Unary::SToF),
        Spv::ConvertUToF => unary(Unary::UToF),
        Spv::IsNan => unary(Unary::IsNan),
        Spv::IsInf => unary(Unary::IsInf),
        Spv::BitCount => unary(Unary::BitCount),
        Spv::BitReverse => unary(Unary::BitReverse),
        Spv::FAdd => binary(Binary::FAdd),
        Spv::FSub => binary(Binary::FSub),
        Spv::FMul => binary(Binary::FMul),
        Spv::FDiv => binary(Binary::FDiv),
        Spv::FRem => binary(Binary::FRem),
        Spv::FMod => binary(Binary::FMod),
        Spv::IAdd => binary(Binary::IAdd),
        Spv::ISub => binary(Binary::ISub),
        Spv::IMul => binary(Binary::IMul),
        Spv::BitwiseAnd | Spv::LogicalAnd => binary(Binary::And),
        Spv::BitwiseOr | Spv::LogicalOr => binary(Binary::Or),
        Spv::BitwiseXor => binary(Binary::Xor),
        Spv::LogicalNotEqual => binary(Binary::Xor),
        Spv::LogicalEqual => binary(Binary::LogicalEqual),
        Spv::IEqual => binary(Binary::IEqual),
        Spv::INotEqual => binary(Binary::INotEqual),
        Spv::SLessThan => binary(Binary::SLess),
        Spv::SLessThanEqual => binary(Binary::SLessEqual),
        Spv::SGreaterThan => Some(Swapped(Binary::SLess)),
        Spv::SGreaterThanEqual => Some(Swapped(Binary::SLessEqual)),
        Spv::ULessThan => binary(Binary::ULess),
        Spv::ULessThanEqual => binary(Binary::ULessEqual),
        Spv::UGreaterThan => Some(Swapped(Binary::ULess)),
        Spv::UGreaterThanEqual => Some(Swapped(Binary::ULessEqual)),
        Spv::FOrdEqual => binary(Binary::FOrdEqual),
        Spv::FOrdNotEqual => binary(Binary::FOrdNotEqual),
        Spv::FOrdLessThan => binary(Binary::FOrdLess),
        Spv::FOrdLessThanEqual => binary(Binary::FOrdLessEqual),
        Spv::FOrdGreaterThan => Some(Swapped(Binary::FOrdLess)),
        Spv::FOrdGreaterThanEqual => Some(Swapped(Binary::FOrdLessEqual)),
        Spv::FUnordEqual => Some(Not(Binary::FOrdNotEqual)),
        Spv::FUnordNotEqual => Some(Not(Binary::FOrdEqual)),
        Spv::FUnordLessThan => binary(Binary::FUnordLess),
        Spv::FUnordLessThanEqual => binary(Binary::FUnordLessEqual),
        Spv::FUnordGreaterThan => Some(Swapped(Binary::FUnordLess)),
        Spv::FUnordGreaterThanEqual => Some(Swapped(Binary::FUnordLessEqual)),
        Spv::SDiv => Some(Checked(Partial::SDiv)),
        Spv::UDiv => Some(Checked(Partial::UDiv)),
        Spv::SRem => Some(Checked(Partial::SRem)),
        Spv::SMod => Some(Checked(Partial::SMod)),
        Spv::UMod => Some(Checked(Partial::UMod)),
        Spv::ShiftLeftLogical => Some(Checked(Partial::ShiftLeft)),
        Spv::ShiftRightLogical => Some(Checked(Partial::ShiftRight)),
        Spv::ShiftRightArithmetic => Some(Checked(Partial::ShiftRightSigned)),
        Spv::ConvertFToS => Some(Checked(Partial::FToS)),
        Spv::ConvertFToU => Some(Checked(Partial::FToU)),
        _ => None,
    }
}

/// Returns the operation of a function of `GLSL.std.450`.
fn extended(op: Ext) -> Option<Maths> {
    let unary = match op {
        Ext::Round => Unary::Round,
        Ext::RoundEven => Unary::RoundEven,
        Ext::Trunc => Unary::Trunc,
        Ext::FAbs => Unary::FAbs,
        Ext::SAbs => Unary::SAbs,
        Ext::FSign => Unary::FSign,
        Ext::SSign => Unary::SSign,
        Ext::FindILsb => Unary::LowestBit,
        Ext::FindUMsb => Unary::HighestBit,
        Ext::Floor => Unary::Floor,
        Ext::Ceil => Unary::Ceil,
        Ext::Fract => Unary::Fract,
        Ext::Sin => Unary::Sin,
        Ext::Cos => Unary::Cos,
        Ext::Tan => Unary::Tan,
        Ext::Asin => Unary::Asin,
        Ext::Acos => Unary::Acos,
        Ext::Atan => Unary::Atan,
        Ext::Sinh => Unary::Sinh,
        Ext::Cosh => Unary::Cosh,
        Ext::Tanh => Unary::Tanh,
        Ext::Asinh => Unary::Asinh,
        Ext::Acosh => Unary::Acosh,
        Ext::Atanh => Unary::Atanh,
        Ext::Exp => Unary::Exp,
        Ext::Log => Unary::Log,
        Ext::Exp2 => Unary::Exp2,
        Ext::Log2 => Unary::Log2,
        Ext::Sqrt => Unary::Sqrt,
        Ext::InverseSqrt => Unary::InverseSqrt,
        _ => return extended_of_more(op),
    };
    Some(Maths::Unary(unary))
}

fn extended_of_more(op: Ext) -> Option<Maths> {
    Some(match op {
        Ext::Atan2 => Maths::Binary(Binary::Atan2),
        Ext::Pow => Maths::Binary(Binary::Pow),
        Ext::FMin | Ext::NMin => Maths::Binary(Binary::FMin),
        Ext::UMin => Maths::Binary(Binary::UMin),
        Ext::SMin => Maths::Binary(Binary::SMin),
        Ext::FMax | Ext::NMax => Maths::Binary(Binary::FMax),
        Ext::UMax => Maths::Binary(Binary::UMax),
        Ext::SMax => Maths::Binary(Binary::SMax),
        Ext::Step => Maths::Binary(Binary::Step),
        Ext::FClamp | Ext::NClamp => Maths::Ternary(Ternary::FClamp),
        Ext::UClamp => Maths::Ternary(Ternary::UClamp),
        Ext::SClamp => Maths::Ternary(Ternary::SClamp),
        Ext::FMix => Maths::Ternary(Ternary::FMix),
        Ext::Fma => Maths::Ternary(Ternary::Fma),
        _ => return None,
    })
}
