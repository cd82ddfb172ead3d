//! Arithmetic on words.

use super::bits::Bits;
use super::{Exact, Word};
use crate::code::{Binary, Ternary, Unary};
use crate::exec::maths::{dot, signed, unsigned};
use crate::field::{Element, Format, Reason};

impl Exact<'_> {
    pub(super) fn one(&self, op: Unary, a: Word) -> Word {
        let float = |f: &dyn Fn(Element) -> Element| Word::Float(f(self.float(a)));
        let function = |name: &str| Word::Float(self.field.function(name, &[self.float(a)]));
        let integer = |f: fn(u32) -> u32| self.integers([a], |[a]| f(a));
        match op {
            // Exact arithmetic does not round.
            Unary::Half | Unary::HalfTowardsZero | Unary::Upper => float(&|x| x),
            Unary::Same => a,
            // A name is a float from here on, so integer arithmetic on it is unknown.
            Unary::FloatBits => match a {
                Word::Named(_) => Word::Float(self.float(a)),
                _ if self.upper_half(a).is_some() => Word::Float(self.float(a)),
                _ => a,
            },
            Unary::WordOfShort => self.word_of_half(a),
            Unary::ShortAt(bit) => self.half_at(a, bit),
            Unary::SignShort => integer(|a| a as u16 as i16 as i32 as u32),
            Unary::ByteAt(bit) => self.integers([a], |[a]| a >> bit & 0xff),
            Unary::SignByte => integer(|a| a as u8 as i8 as i32 as u32),
            Unary::LowHalf | Unary::HighHalf => Word::Float(match self.split(a) {
                Some(halves) => self.half(halves[usize::from(op == Unary::HighHalf)], Format::F16),
                None => Element::Unknown(self.reason(a).unwrap_or(Reason::FloatOfBits)),
            }),
            Unary::FNegate => float(&Element::negated),
            Unary::SNegate => integer(|a| 0u32.wrapping_sub(a)),
            Unary::Not => integer(|a| !a),
            Unary::LogicalNot => integer(|a| a ^ 1),
            Unary::SToF => self.number(a, |a| (a as i32).into()),
            Unary::UToF => self.number(a, |a| a.into()),
            Unary::IsNan => self.truth(&[self.float(a)], Some(false)),
            Unary::IsInf => self.truth(&[self.float(a)], Some(matches!(self.float(a), Element::Infinite { .. }))),
            Unary::FAbs => float(&|x| self.field.abs(x)),
            Unary::FSign => float(&|x| if x == Element::ZERO { x } else { self.field.sign(x) }),
            Unary::Fract => float(&|x| x.minus(self.field.function("floor", &[x]))),
            Unary::Sqrt => float(&|x| self.field.sqrt(x)),
            Unary::InverseSqrt => float(&|x| self.field.inverse_sqrt(x)),
            Unary::Exp => float(&|x| self.field.exp(x)),
            Unary::Exp2 => float(&|x| self.field.exp2(x)),
            Unary::Floor => function("floor"),
            Unary::Ceil => function("ceil"),
            Unary::Trunc => function("trunc"),
            Unary::Round => function("round"),
            Unary::RoundEven => function("round_ties_even"),
            Unary::Log => function("ln"),
            Unary::Log2 => function("log2"),
            Unary::Sin => function("sin"),
            Unary::Cos => function("cos"),
            Unary::Tan => function("tan"),
            Unary::Asin => function("asin"),
            Unary::Acos => function("acos"),
            Unary::Atan => function("atan"),
            Unary::Sinh => function("sinh"),
            Unary::Cosh => function("cosh"),
            Unary::Tanh => function("tanh"),
            Unary::Asinh => function("asinh"),
            Unary::Acosh => function("acosh"),
            Unary::Atanh => function("atanh"),
            Unary::SAbs => integer(|a| (a as i32).wrapping_abs() as u32),
            Unary::SSign => integer(|a| (a as i32).signum() as u32),
            Unary::BitCount => integer(u32::count_ones),
            Unary::BitReverse => integer(u32::reverse_bits),
            Unary::HighestBit => integer(|a| 31u32.wrapping_sub(a.leading_zeros())),
            Unary::LowestBit => integer(|a| if a == 0 { u32::MAX } else { a.trailing_zeros() }),
        }
    }

    fn number(&self, a: Word, f: fn(u32) -> i64) -> Word {
        match self.int(a) {
            Some(int) => Word::Float(Element::of(f(int))),
            None => Exact::unknown(self.reason(a).unwrap_or(Reason::BitsOfFloat)),
        }
    }

    /// Computes an operation of two words. It is inlined, so that a caller that names the operation contains no other.
    #[inline(always)]
    pub(super) fn two(&self, op: Binary, a: Word, b: Word) -> Word {
        let field = self.field;
        let float = |f: &dyn Fn(Element, Element) -> Element| Word::Float(f(self.float(a), self.float(b)));
        let function = |name: &str| Word::Float(field.function(name, &[self.float(a), self.float(b)]));
        let integer = |f: fn(u32, u32) -> u32| match (a, b) {
            (Word::Int(a) | Word::Named(a), Word::Int(b) | Word::Named(b)) => Word::Int(f(a, b)),
            _ => self.integers([a, b], |[a, b]| f(a, b)),
        };
        let test = |f: &dyn Fn(Element, Element) -> Option<bool>| {
            let (a, b) = (self.float(a), self.float(b));
            self.truth(&[a, b], f(a, b))
        };
        let less = |a, b| field.is_less(a, b);
        match op {
            Binary::PackHalves => self.bits(Bits::Halves([a, b])),
            Binary::Append(bits) => self.integers([a, b], |[a, b]| a << bits | b),
            Binary::Dot(false, false) => integer(|a, b| dot(a, b, unsigned, unsigned)),
            Binary::Dot(true, true) => integer(|a, b| dot(a, b, signed, signed)),
            Binary::Dot(true, false) => integer(|a, b| dot(a, b, signed, unsigned)),
            Binary::Dot(false, true) => integer(|a, b| dot(a, b, unsigned, signed)),
            Binary::FAdd => Word::Float(self.float(a).plus(self.float(b))),
            Binary::FSub => Word::Float(self.float(a).minus(self.float(b))),
            Binary::FMul => Word::Float(self.float(a).times(self.float(b))),
            Binary::FDiv => float(&Element::over),
            Binary::FRem => function("rem"),
            Binary::FMod => function("mod"),
            Binary::FMin => float(&|a, b| field.min(a, b)),
            Binary::FMax => float(&|a, b| field.max(a, b)),
            Binary::Pow => function("powf"),
            Binary::Atan2 => function("atan2"),
            Binary::Step => float(&|edge, x| Element::of(i64::from(less(x, edge) != Some(true)))),
            Binary::IAdd => integer(u32::wrapping_add),
            Binary::ISub => integer(u32::wrapping_sub),
            Binary::IMul => integer(u32::wrapping_mul),
            Binary::SMin => integer(|a, b| (a as i32).min(b as i32) as u32),
            Binary::SMax => integer(|a, b| (a as i32).max(b as i32) as u32),
            Binary::UMin => integer(u32::min),
            Binary::UMax => integer(u32::max),
            Binary::And => self.and(a, b),
            Binary::Or => self.or(a, b),
            Binary::Xor => self.xor(a, b),
            Binary::IEqual => integer(|a, b| u32::from(a == b)),
            Binary::INotEqual => integer(|a, b| u32::from(a != b)),
            Binary::SLess => integer(|a, b| u32::from((a as i32) < b as i32)),
            Binary::SLessEqual => integer(|a, b| u32::from(a as i32 <= b as i32)),
            Binary::ULess => self.unsigned(a, b, |a, b| a < b, false),
            Binary::ULessEqual => self.unsigned(a, b, |a, b| a <= b, true),
            Binary::LogicalEqual => integer(|a, b| a ^ b ^ 1),
            Binary::FOrdEqual => test(&|a, b| field.are_equal(a, b)),
            Binary::FOrdNotEqual => test(&|a, b| field.are_equal(a, b).map(|equal| !equal)),
            Binary::FOrdLess | Binary::FUnordLess => test(&less),
            Binary::FOrdLessEqual | Binary::FUnordLessEqual => test(&|a, b| Some(a == b || less(a, b)?)),
        }
    }

    /// Computes an operation of three words. It is inlined, too.
    #[inline(always)]
    pub(super) fn three(&self, op: Ternary, a: Word, b: Word, c: Word) -> Word {
        let field = self.field;
        let float = |f: &dyn Fn([Element; 3]) -> Element| Word::Float(f([a, b, c].map(|word| self.float(word))));
        match op {
            Ternary::Select => match (self.int(a), self.reason(a)) {
                (_, Some(reason)) => Exact::unknown(reason),
                (Some(0), _) => c,
                _ => b,
            },
            Ternary::Fma => Word::Float(self.float(a).times(self.float(b)).plus(self.float(c))),
            Ternary::FMix => float(&|[a, b, t]| a.times(Element::of(1).minus(t)).plus(b.times(t))),
            Ternary::FClamp => float(&|[x, low, high]| field.min(field.max(x, low), high)),
            Ternary::SClamp => self.integers([a, b, c], |[x, low, high]| (x as i32).max(low as i32).min(high as i32) as u32),
            Ternary::UClamp => self.integers([a, b, c], |[x, low, high]| x.max(low).min(high)),
        }
    }
}
