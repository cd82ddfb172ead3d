//! The number system of exact arithmetic ([`crate::field`]).
//!
//! A word of the file is an integer, a float, or bits that are neither: two halves, or a combination of floats by bits. Modules combine
//! floats by bits where a driver miscompiles a selection of floats, and test bits for NaN and signs. The patterns are recognized:
//! `(a ^ b) & mask ^ b` with a mask of all bits or none, `x ^ 0`, and the sign and the magnitude of a float. The result of all other
//! integer arithmetic on floats is unknown.

use super::numbers::Numbers;
use super::partial;
use crate::code::{Binary, Code, Combine, Partial, Slot, Ternary, Unary};
use crate::field::{Element, Field, Format, Reason};
use crate::form::Form;
use crate::memory::device::Memory;
use std::cell::RefCell;
use tilewright_launch::DType;

/// A value of 32 bits, or of a 16-bit float.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Word {
    /// An integer or a bool that the module computes.
    Int(u32),
    /// A word that the caller passes: an integer, or the name of an f32.
    Named(u32),
    Float(Element),
    /// Bits, by their number in the table of the thread.
    Bits(u32),
}

/// Bits that are neither an integer nor a float.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Bits {
    /// The low and the high half of a word, each a 16-bit float, or the bits of one as an integer.
    Halves([Word; 2]),
    /// The exclusive or of two words.
    Xor(Word, Word),
    /// All bits of a float but the sign.
    Magnitude(Element),
    /// The sign of a float.
    Sign(Element),
}

impl Default for Word {
    fn default() -> Word {
        Word::Int(0)
    }
}

impl PartialEq for Word {
    fn eq(&self, other: &Word) -> bool {
        match (self, other) {
            (Word::Int(a) | Word::Named(a), Word::Int(b) | Word::Named(b)) => a == b,
            (Word::Float(a), Word::Float(b)) => a == b,
            (Word::Bits(a), Word::Bits(b)) => a == b,
            _ => false,
        }
    }
}

/// Exact arithmetic in a thread.
pub(crate) struct Exact<'a> {
    field: &'a Field,
    /// The bits of the current workgroup.
    bits: RefCell<Vec<Bits>>,
}

const SIGN: u32 = 1 << 31;

impl<'a> Exact<'a> {
    pub(crate) fn new(field: &'a Field) -> Exact<'a> {
        Exact { field, bits: RefCell::default() }
    }

    fn bits(&self, bits: Bits) -> Word {
        let mut table = self.bits.borrow_mut();
        table.push(bits);
        Word::Bits(table.len() as u32 - 1)
    }

    fn bits_of(&self, word: Word) -> Option<Bits> {
        match word {
            Word::Bits(n) => self.bits.borrow().get(n as usize).copied(),
            _ => None,
        }
    }

    /// Returns an integer, if the word is one.
    fn int(&self, word: Word) -> Option<u32> {
        match word {
            Word::Int(i) | Word::Named(i) => Some(i),
            Word::Float(_) => None,
            Word::Bits(_) => match self.bits_of(word)? {
                Bits::Xor(a, b) => Some(self.int(a)? ^ self.int(b)?),
                Bits::Halves([low, high]) => Some(self.int(low)? | self.int(high)? << 16),
                Bits::Magnitude(_) | Bits::Sign(_) => None,
            },
        }
    }

    /// Returns the float in a word.
    fn float(&self, word: Word) -> Element {
        match word {
            Word::Float(element) => element,
            Word::Named(name) => self.field.input(Format::F32, name),
            // An integer that is computed from the name of a float, for example to round it, is not its value.
            Word::Int(_) => Element::Unknown(Reason::FloatOfBits),
            Word::Bits(_) => match self.bits_of(word) {
                Some(Bits::Xor(x, Word::Int(SIGN)) | Bits::Xor(Word::Int(SIGN), x)) => self.float(x).negated(),
                _ => Element::Unknown(Reason::FloatOfBits),
            },
        }
    }

    /// Returns a 16-bit float, given its value or its bits.
    fn half(&self, word: Word, format: Format) -> Element {
        match word {
            Word::Named(bits) => self.field.input(format, bits),
            _ => self.float(word),
        }
    }

    fn unknown(reason: Reason) -> Word {
        Word::Float(Element::Unknown(reason))
    }

    /// Returns the reason for which a word is not an integer.
    fn reason(&self, word: Word) -> Option<Reason> {
        match word {
            Word::Float(Element::Unknown(reason)) => Some(reason),
            _ if self.int(word).is_some() => None,
            _ => Some(Reason::BitsOfFloat),
        }
    }

    /// Computes an integer. It is unknown if an operand is not an integer.
    fn integers<const N: usize>(&self, operands: [Word; N], f: impl FnOnce([u32; N]) -> u32) -> Word {
        match operands.iter().find_map(|word| self.reason(*word)) {
            Some(reason) => Exact::unknown(reason),
            None => Word::Int(f(operands.map(|word| self.int(word).unwrap_or(0)))),
        }
    }

    /// Returns a truth, or an unknown word if an operand is unknown.
    fn truth(&self, operands: &[Element], truth: Option<bool>) -> Word {
        let unknown = operands.iter().find_map(|x| if let Element::Unknown(reason) = x { Some(*reason) } else { None });
        unknown.map_or(Word::Int(u32::from(truth == Some(true))), Exact::unknown)
    }

    /// Returns the halves of a word as words that hold 16 bits each.
    fn split(&self, word: Word) -> Option<[Word; 2]> {
        match (word, self.bits_of(word)) {
            (Word::Int(i), _) => Some([Word::Int(i & 0xffff), Word::Int(i >> 16)]),
            (Word::Named(i), _) => Some([Word::Named(i & 0xffff), Word::Named(i >> 16)]),
            (_, Some(Bits::Halves(halves))) => Some(halves),
            _ => None,
        }
    }

    fn xor(&self, a: Word, b: Word) -> Word {
        match (a, b, self.bits_of(a), self.bits_of(b)) {
            // A computed integer stays an integer if the zero of the launch is combined with it. With a sign, the zero is a float as well.
            _ if self.int(b) == Some(0) => a,
            (Word::Named(0), Word::Int(SIGN), ..) => self.bits(Bits::Xor(a, b)),
            _ if self.int(a) == Some(0) => b,
            _ if a == b => Word::Int(0),
            (_, _, Some(Bits::Xor(x, y)), _) if x == b => y,
            (_, _, Some(Bits::Xor(x, y)), _) if y == b => x,
            (_, _, _, Some(Bits::Xor(x, y))) if x == a => y,
            (_, _, _, Some(Bits::Xor(x, y))) if y == a => x,
            (_, _, Some(Bits::Halves(_)), _) | (_, _, _, Some(Bits::Halves(_))) => match (self.split(a), self.split(b)) {
                (Some([low, high]), Some([other, upper])) => self.bits(Bits::Halves([self.xor(low, other), self.xor(high, upper)])),
                _ => self.bits(Bits::Xor(a, b)),
            },
            // Words that the caller passes may be floats.
            (Word::Int(_), Word::Int(_), ..) => self.integers([a, b], |[a, b]| a ^ b),
            (Word::Float(x), Word::Int(SIGN), ..) | (Word::Int(SIGN), Word::Float(x), ..) => Word::Float(x.negated()),
            _ => self.bits(Bits::Xor(a, b)),
        }
    }

    fn and(&self, a: Word, b: Word) -> Word {
        let (word, mask) = match (a, b) {
            (mask @ Word::Int(_), word) | (mask @ Word::Named(_), word @ (Word::Float(_) | Word::Bits(_))) => (word, mask),
            _ => (a, b),
        };
        let Some(bits) = self.int(mask) else { return self.integers([a, b], |_| 0) };
        match (word, self.bits_of(word)) {
            (Word::Int(_), _) => self.integers([word, mask], |[a, b]| a & b),
            _ if bits == u32::MAX => word,
            _ if bits == 0 => Word::Int(0),
            (_, Some(Bits::Halves([low, high]))) => {
                self.bits(Bits::Halves([self.and_half(low, bits & 0xffff), self.and_half(high, bits >> 16)]))
            }
            (_, Some(Bits::Xor(x, y))) => self.xor(self.and(x, mask), self.and(y, mask)),
            (Word::Float(x), _) if bits == SIGN => self.bits(Bits::Sign(x)),
            (Word::Float(x), _) if bits == !SIGN => self.bits(Bits::Magnitude(x)),
            _ => self.integers([a, b], |[a, b]| a & b),
        }
    }

    fn and_half(&self, half: Word, bits: u32) -> Word {
        match bits {
            0xffff => half,
            0 => Word::Int(0),
            _ => self.integers([half], |[half]| half & bits),
        }
    }

    fn or(&self, a: Word, b: Word) -> Word {
        let one = Some(1f32.to_bits());
        match (self.bits_of(a), self.bits_of(b)) {
            _ if self.int(a) == Some(0) => b,
            _ if self.int(b) == Some(0) => a,
            (Some(Bits::Sign(x)), _) if self.int(b) == one => Word::Float(self.field.sign(x)),
            (_, Some(Bits::Sign(x))) if self.int(a) == one => Word::Float(self.field.sign(x)),
            _ => self.integers([a, b], |[a, b]| a | b),
        }
    }

    /// Compares integers. A magnitude is compared only with the bits of infinity: a number's is less, and a NaN's greater.
    fn unsigned(&self, a: Word, b: Word, of_integers: fn(u32, u32) -> bool, of_magnitude: bool) -> Word {
        let infinity = Some(f32::INFINITY.to_bits());
        let (magnitude, first) = match (self.bits_of(a), self.bits_of(b)) {
            (Some(Bits::Magnitude(x)), _) if self.int(b) == infinity => (x, true),
            (_, Some(Bits::Magnitude(x))) if self.int(a) == infinity => (x, false),
            _ => return self.integers([a, b], |[a, b]| u32::from(of_integers(a, b))),
        };
        // `|x| < inf` and `|x| <= inf` hold, `inf < |x|` does not, and `inf <= |x|` is not a test for NaN.
        match magnitude {
            Element::Unknown(reason) => Exact::unknown(reason),
            Element::Infinite { .. } => Word::Int(u32::from(of_magnitude)),
            _ if first => Word::Int(1),
            _ if of_magnitude => Exact::unknown(Reason::BitsOfFloat),
            _ => Word::Int(0),
        }
    }

    fn one(&self, op: Unary, a: Word) -> Word {
        let float = |f: &dyn Fn(Element) -> Element| Word::Float(f(self.float(a)));
        let function = |name: &str| Word::Float(self.field.function(name, &[self.float(a)]));
        let integer = |f: fn(u32) -> u32| self.integers([a], |[a]| f(a));
        match op {
            // Exact arithmetic does not round.
            Unary::Half | Unary::HalfTowardsZero | Unary::Upper => float(&|x| x),
            Unary::Same => a,
            // A name is a float from here on, so integer arithmetic on it is unknown.
            Unary::FloatBits => {
                if let Word::Named(_) = a {
                    Word::Float(self.float(a))
                } else {
                    a
                }
            }
            Unary::LowByte => integer(|a| a & 0xff),
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

    fn two(&self, op: Binary, a: Word, b: Word) -> Word {
        let field = self.field;
        let float = |f: &dyn Fn(Element, Element) -> Element| Word::Float(f(self.float(a), self.float(b)));
        let function = |name: &str| Word::Float(field.function(name, &[self.float(a), self.float(b)]));
        let integer = |f: fn(u32, u32) -> u32| self.integers([a, b], |[a, b]| f(a, b));
        let test = |f: &dyn Fn(Element, Element) -> Option<bool>| {
            let (a, b) = (self.float(a), self.float(b));
            self.truth(&[a, b], f(a, b))
        };
        let less = |a, b| field.is_less(a, b);
        match op {
            Binary::PackHalves => self.bits(Bits::Halves([a, b])),
            Binary::FAdd => float(&Element::plus),
            Binary::FSub => float(&Element::minus),
            Binary::FMul => float(&Element::times),
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
            Binary::FOrdEqual => test(&|a, b| Some(a == b)),
            Binary::FOrdNotEqual => test(&|a, b| Some(a != b)),
            Binary::FOrdLess | Binary::FUnordLess => test(&less),
            Binary::FOrdLessEqual | Binary::FUnordLessEqual => test(&|a, b| Some(a == b || less(a, b)?)),
        }
    }

    fn three(&self, op: Ternary, a: Word, b: Word, c: Word) -> Word {
        let field = self.field;
        let float = |f: &dyn Fn([Element; 3]) -> Element| Word::Float(f([a, b, c].map(|word| self.float(word))));
        match op {
            Ternary::Select => match (self.int(a), self.reason(a)) {
                (_, Some(reason)) => Exact::unknown(reason),
                (Some(0), _) => c,
                _ => b,
            },
            Ternary::Fma => float(&|[a, b, c]| a.times(b).plus(c)),
            Ternary::FMix => float(&|[a, b, t]| a.times(Element::of(1).minus(t)).plus(b.times(t))),
            Ternary::FClamp => float(&|[x, low, high]| field.min(field.max(x, low), high)),
            Ternary::SClamp => self.integers([a, b, c], |[x, low, high]| (x as i32).max(low as i32).min(high as i32) as u32),
            Ternary::UClamp => self.integers([a, b, c], |[x, low, high]| x.max(low).min(high)),
        }
    }
}

/// Returns the format of a 16-bit form; `None` for the other forms.
fn format(form: Form) -> Option<Format> {
    match form {
        Form::Half => Some(Format::F16),
        Form::BFloat => Some(Format::BF16),
        Form::Word | Form::Byte => None,
    }
}

impl Numbers for Exact<'_> {
    const IS_EXACT: bool = true;
    type Word = Word;
    type Row = Vec<Option<(Form, Word)>>;

    fn image(&self, code: &Code) -> Vec<Word> {
        let mut words: Vec<Word> = code.image.iter().map(|word| Word::Int(*word)).collect();
        for (range, format) in &code.floats {
            for (word, kept) in words[range.clone()].iter_mut().zip(&code.image[range.clone()]) {
                let bits = match format {
                    Format::F32 => *kept,
                    Format::F16 => Form::Half.bits(*kept),
                    Format::BF16 => Form::BFloat.bits(*kept),
                };
                *word = Word::Float(self.field.constant(*format, bits));
            }
        }
        words
    }

    fn begin(&self) {
        self.bits.borrow_mut().clear();
    }

    fn look(&self, word: Word) {
        if let Some(reason) = self.reason(word) {
            self.field.doubt(reason);
        }
    }

    fn word(integer: u32) -> Word {
        Word::Int(integer)
    }

    fn integer(&self, word: Word) -> u32 {
        self.int(word).unwrap_or(0)
    }

    fn unary(&self, words: &mut [Word], op: Unary, dst: Slot, a: Slot, len: u32) {
        for n in 0..len {
            words[(dst + n) as usize] = self.one(op, words[(a + n) as usize]);
        }
    }

    fn binary(&self, words: &mut [Word], op: Binary, dst: Slot, [a, b]: [Slot; 2], len: u32) {
        for n in 0..len {
            words[(dst + n) as usize] = self.two(op, words[(a + n) as usize], words[(b + n) as usize]);
        }
    }

    fn ternary(&self, words: &mut [Word], op: Ternary, dst: Slot, [a, b, c]: [Slot; 3], len: u32) {
        for n in 0..len {
            let operands = [a, b, c].map(|slot| words[(slot + n) as usize]);
            words[(dst + n) as usize] = self.three(op, operands[0], operands[1], operands[2]);
        }
    }

    fn function(&self, words: &mut [Word], name: &str, dst: Slot, operands: &[Slot], len: u32) -> bool {
        for n in 0..len {
            let operands: Vec<Element> = operands.iter().map(|slot| self.float(words[(slot + n) as usize])).collect();
            words[(dst + n) as usize] = Word::Float(self.field.function(name, &operands));
        }
        true
    }

    fn partial(&self, op: Partial, [a, b]: [Word; 2], byte: bool) -> Option<Word> {
        match op {
            Partial::FToS | Partial::FToU => Some(Exact::unknown(Reason::ToInteger)),
            _ => match [a, b].iter().find_map(|word| self.reason(*word)) {
                Some(reason) => Some(Exact::unknown(reason)),
                None => partial::compute(op, self.integer(a), self.integer(b), byte).map(Word::Int),
            },
        }
    }

    fn combine(&self, combine: Combine, a: Word, b: Word) -> Word {
        let op = match combine {
            Combine::IAdd => Binary::IAdd,
            Combine::ISub => Binary::ISub,
            Combine::FAdd => Binary::FAdd,
            Combine::IMul => Binary::IMul,
            Combine::FMul => Binary::FMul,
            Combine::SMin => Binary::SMin,
            Combine::UMin => Binary::UMin,
            Combine::FMin => Binary::FMin,
            Combine::SMax => Binary::SMax,
            Combine::UMax => Binary::UMax,
            Combine::FMax => Binary::FMax,
            Combine::And | Combine::LogicalAnd => Binary::And,
            Combine::Or => Binary::Or,
            Combine::Xor => Binary::Xor,
        };
        self.two(op, a, b)
    }

    fn identity(&self, combine: Combine) -> Word {
        match combine {
            Combine::FAdd => Word::Float(Element::ZERO),
            Combine::FMul => Word::Float(Element::of(1)),
            Combine::FMin | Combine::FMax => Word::Float(Element::Infinite { negative: combine == Combine::FMax }),
            _ => Word::Int(super::group::identity(combine)),
        }
    }

    fn poison(&self, _: u32) -> Word {
        Exact::unknown(Reason::FloatOfBits)
    }

    fn halved(&self, word: Word) -> Word {
        word
    }

    fn product(&self, [a, b, c]: [&[Word]; 3], [n, k]: [usize; 2], _: Form) -> Vec<Word> {
        let floats = |words: &[Word]| -> Vec<Element> { words.iter().map(|word| self.float(*word)).collect() };
        let (a, b, mut sums) = (floats(a), floats(b), floats(c));
        for (sums, a) in sums.chunks_exact_mut(n).zip(a.chunks_exact(k)) {
            for (a, b) in a.iter().zip(b.chunks_exact(n)) {
                sums.iter_mut().zip(b).for_each(|(sum, b)| *sum = sum.plus(a.times(*b)));
            }
        }
        sums.into_iter().map(Word::Float).collect()
    }

    fn parameter(&self, word: u32, byte: usize, form: Form) -> Word {
        let bits = word >> (8 * (byte % 4));
        match format(form) {
            Some(format) => Word::Float(self.field.input(format, bits & 0xffff)),
            None if form == Form::Byte => Word::Named(bits & 0xff),
            None => Word::Named(bits),
        }
    }

    fn load(&self, memory: &Memory, byte: usize, form: Form) -> Word {
        match memory.kept(byte) {
            Some(cells) => self.of_cells(cells, memory.load(byte / 4), byte, form),
            None => self.parameter(memory.load(byte / 4), byte, form),
        }
    }

    fn store(&self, memory: &Memory, byte: usize, form: Form, word: Word) {
        let bits = self.int(word).unwrap_or(0);
        let mask = super::tensor::mask(byte, form);
        memory.store(byte / 4, bits << (8 * (byte % 4)), mask);
        memory.keep(byte, &mut |cells, raw| match form {
            Form::Word => *cells = self.cells_of(word),
            Form::Half | Form::BFloat => {
                let mut halves = self.cells_as_halves(*cells, raw, form);
                halves[byte % 4 / 2] = Cell::Half(word);
                *cells = halves;
            }
            Form::Byte => *cells = [Cell::Passed; 2],
        });
    }

    fn update(&self, memory: &Memory, byte: usize, f: impl Fn(Word) -> Option<Word>) -> Word {
        let mut old = Word::default();
        memory.keep(byte, &mut |cells, raw| {
            old = self.of_cells(*cells, raw, byte, Form::Word);
            if let Some(new) = f(old) {
                memory.store(byte / 4, self.int(new).unwrap_or(0), 0xf);
                *cells = self.cells_of(new);
            }
        });
        old
    }

    fn row(bytes: usize) -> Self::Row {
        vec![None; bytes]
    }

    fn put(&self, row: &mut Self::Row, at: usize, form: Form, word: Word) {
        row[at..at + form.bytes() as usize].fill(None);
        row[at] = Some((form, word));
    }

    fn get(&self, row: &Self::Row, at: usize, form: Form) -> Word {
        match (row[at], row.get(at & !3).copied().flatten(), form) {
            (Some((kept, word)), ..) if kept == form => word,
            (_, Some((Form::Word, word)), Form::Half | Form::BFloat) => match self.split(word) {
                Some(halves) => Word::Float(self.half(halves[at % 4 / 2], format(form).unwrap_or(Format::F16))),
                None => Exact::unknown(Reason::FloatOfBits),
            },
            (Some((Form::Half | Form::BFloat, low)), _, Form::Word) => match row.get(at + 2).copied().flatten() {
                Some((_, high)) => self.bits(Bits::Halves([low, high])),
                None => Exact::unknown(Reason::BitsOfFloat),
            },
            _ => Exact::unknown(Reason::BitsOfFloat),
        }
    }
}

/// Half of a word of a tensor's memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Cell {
    /// Bits that the caller passed, or integers of less than 32 bits.
    #[default]
    Passed,
    /// The first half of a word.
    Whole(Word),
    /// The second half of a word.
    Rest,
    /// A 16-bit float.
    Half(Word),
}

impl Exact<'_> {
    /// Returns a scalar of a word of memory, given its cells and the bits that the caller passed.
    fn of_cells(&self, cells: [Cell; 2], raw: u32, byte: usize, form: Form) -> Word {
        match (cells, format(form)) {
            ([Cell::Passed, Cell::Passed], _) => self.parameter(raw, byte, form),
            ([Cell::Whole(word), _], None) if form == Form::Word => word,
            (_, None) if form == Form::Word => {
                let halves = self.cells_as_halves(cells, raw, Form::Half).map(|cell| match cell {
                    Cell::Half(word) => word,
                    _ => Exact::unknown(Reason::BitsOfFloat),
                });
                self.bits(Bits::Halves(halves))
            }
            (_, Some(format)) => match self.cells_as_halves(cells, raw, form)[byte % 4 / 2] {
                Cell::Half(word) => Word::Float(self.half(word, format)),
                _ => Exact::unknown(Reason::FloatOfBits),
            },
            _ => self.integers([Exact::unknown(Reason::BitsOfFloat)], |[word]| word),
        }
    }

    /// Returns the cells that hold a word. They do not refer to the table of the thread, because other threads read them.
    fn cells_of(&self, word: Word) -> [Cell; 2] {
        match (self.bits_of(word), self.int(word)) {
            (_, Some(int)) if !matches!(word, Word::Named(_)) => [Cell::Whole(Word::Int(int)), Cell::Rest],
            (Some(Bits::Halves(halves)), _) => halves.map(|half| match half {
                Word::Bits(_) => Cell::Half(Exact::unknown(Reason::BitsOfFloat)),
                half => Cell::Half(half),
            }),
            (Some(_), _) => [Cell::Whole(Exact::unknown(Reason::BitsOfFloat)), Cell::Rest],
            (None, _) => [Cell::Whole(word), Cell::Rest],
        }
    }

    /// Returns the cells of a word as two halves.
    fn cells_as_halves(&self, cells: [Cell; 2], raw: u32, form: Form) -> [Cell; 2] {
        if let [Cell::Whole(word), _] = cells {
            let halves = self.split(word).unwrap_or([Exact::unknown(Reason::FloatOfBits); 2]);
            return halves.map(Cell::Half);
        }
        let format = format(form).unwrap_or(Format::F16);
        [0, 1].map(|n| match cells[n] {
            Cell::Passed => Cell::Half(Word::Float(self.field.input(format, raw >> (16 * n) & 0xffff))),
            cell => cell,
        })
    }

    /// Returns a value of a type in a tensor's memory, or `None` if it is not written. An integer is the number of its bits.
    pub(crate) fn element(&self, memory: &Memory, byte: usize, dtype: DType) -> Option<Element> {
        let form = match dtype {
            DType::F32 | DType::I32 | DType::U32 | DType::Bool => Form::Word,
            DType::F16 => Form::Half,
            DType::BF16 => Form::BFloat,
            DType::I8 | DType::U8 => Form::Byte,
        };
        let needed = super::tensor::mask(byte, form);
        if memory.flags(byte / 4) & needed != needed {
            return None;
        }
        let word = self.load(memory, byte, form);
        Some(match self.reason(word) {
            _ if dtype.is_float() => self.float(word),
            Some(reason) => Element::Unknown(reason),
            None => Element::of(self.integer(word).into()),
        })
    }
}
