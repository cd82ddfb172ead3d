//! The number system of exact arithmetic ([`crate::field`]).
//!
//! A word of the file is an integer, a float, or [`bits`] that are neither. [`maths`] has the arithmetic, and [`cells`] the words of a
//! tensor's memory.

mod bits;
mod cells;
mod maths;

pub(crate) use cells::Cell;

use super::group;
use super::numbers::Numbers;
use super::partial;
use super::tensor::mask;
use crate::code::{Binary, Code, Combine, Partial, Slot, Ternary, Unary};
use crate::field::{Element, Field, Format, Reason};
use crate::form::Form;
use crate::memory::device::Memory;
use bits::{Bits, SIGN};
use cells::format;
use std::cell::RefCell;

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
    bits: RefCell<Table>,
}

/// The bits of the current workgroup.
#[derive(Default)]
struct Table {
    /// The number of the first bits. Numbers of earlier workgroups are not used again, because registers still have them.
    first: u32,
    /// The bits, each with the integer that they are, if they are one.
    bits: Vec<(Bits, Option<u32>)>,
}

impl Table {
    fn get(&self, number: u32) -> Option<(Bits, Option<u32>)> {
        self.bits.get(number.wrapping_sub(self.first) as usize).copied()
    }
}

impl<'a> Exact<'a> {
    pub(crate) fn new(field: &'a Field) -> Exact<'a> {
        Exact { field, bits: RefCell::default() }
    }

    fn bits(&self, bits: Bits) -> Word {
        let integer = match bits {
            Bits::Xor(a, b) => self.int(a).zip(self.int(b)).map(|(a, b)| a ^ b),
            Bits::Halves([low, high]) => self.int(low).zip(self.int(high)).map(|(low, high)| low | high << 16),
            Bits::Magnitude(_) | Bits::Sign(_) => None,
        };
        let mut table = self.bits.borrow_mut();
        table.bits.push((bits, integer));
        Word::Bits(table.first.wrapping_add(table.bits.len() as u32 - 1))
    }

    fn bits_of(&self, word: Word) -> Option<Bits> {
        match word {
            Word::Bits(n) => self.bits.borrow().get(n).map(|(bits, _)| bits),
            _ => None,
        }
    }

    /// Returns an integer, if the word is one.
    fn int(&self, word: Word) -> Option<u32> {
        match word {
            Word::Int(i) | Word::Named(i) => Some(i),
            Word::Float(_) => None,
            Word::Bits(n) => self.bits.borrow().get(n)?.1,
        }
    }

    /// Returns the float in a word.
    #[inline]
    fn float(&self, word: Word) -> Element {
        match word {
            Word::Float(element) => element,
            _ => self.other_float(word),
        }
    }

    /// Returns the float in a word that is not a float.
    fn other_float(&self, word: Word) -> Element {
        match word {
            Word::Float(element) => element,
            Word::Named(name) => self.field.input(Format::F32, name),
            // An integer that is computed from the name of a float, for example to round it, is not its value.
            Word::Int(_) => Element::Unknown(Reason::FloatOfBits),
            Word::Bits(_) => match self.bits_of(word) {
                Some(Bits::Xor(x, Word::Int(SIGN)) | Bits::Xor(Word::Int(SIGN), x)) => self.float(x).negated(),
                _ => match self.upper_half(word) {
                    Some(upper) => self.half(upper, Format::BF16),
                    None => Element::Unknown(Reason::FloatOfBits),
                },
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

    /// Changes the cells of a word of a tensor's memory for the store of a scalar.
    fn store_cells(&self, cells: &mut [Cell; 2], raw: u32, (byte, form): (usize, Form), word: Word) {
        let is_small = matches!(form, Form::Byte | Form::Short) && self.reason(word).is_none();
        match (form, is_small.then(|| self.cells_with_integer(*cells, byte, word)).flatten()) {
            (_, Some(integers)) => *cells = integers,
            (Form::Word, None) => *cells = self.cells_of(word),
            (Form::Byte, None) => {
                if let Some(reason) = self.reason(word) {
                    *cells = [Cell::Whole(Exact::unknown(reason)), Cell::Rest];
                }
            }
            (Form::Half | Form::BFloat | Form::Short, None) => {
                let mut halves = self.cells_as_halves(*cells, raw);
                halves[byte % 4 / 2] = Cell::Half(word);
                *cells = halves;
            }
        }
    }

    /// Returns a truth, or an unknown word if an operand is unknown.
    fn truth(&self, operands: &[Element], truth: Option<bool>) -> Word {
        let unknown = operands.iter().find_map(|x| if let Element::Unknown(reason) = x { Some(*reason) } else { None });
        unknown.map_or(Word::Int(u32::from(truth == Some(true))), Exact::unknown)
    }
}

/// Applies a function to each word of two rows.
#[inline]
fn rows(words: &mut [Word], dst: Slot, [a, b]: [Slot; 2], len: u32, f: impl Fn(Word, Word) -> Word) {
    for n in 0..len {
        words[(dst + n) as usize] = f(words[(a + n) as usize], words[(b + n) as usize]);
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
        let mut table = self.bits.borrow_mut();
        table.first = table.first.wrapping_add(table.bits.len() as u32);
        table.bits.clear();
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

    fn binary(&self, words: &mut [Word], op: Binary, dst: Slot, operands: [Slot; 2], len: u32) {
        // The operations that take most of the time have loops of their own.
        match op {
            Binary::FAdd => rows(words, dst, operands, len, |a, b| self.two(Binary::FAdd, a, b)),
            Binary::FMul => rows(words, dst, operands, len, |a, b| self.two(Binary::FMul, a, b)),
            Binary::IAdd => rows(words, dst, operands, len, |a, b| self.two(Binary::IAdd, a, b)),
            Binary::IMul => rows(words, dst, operands, len, |a, b| self.two(Binary::IMul, a, b)),
            op => rows(words, dst, operands, len, |a, b| self.two(op, a, b)),
        }
    }

    fn ternary(&self, words: &mut [Word], op: Ternary, dst: Slot, [a, b, c]: [Slot; 3], len: u32) {
        for n in 0..len {
            let [a, b, c] = [words[(a + n) as usize], words[(b + n) as usize], words[(c + n) as usize]];
            words[(dst + n) as usize] = match op {
                Ternary::Fma => self.three(Ternary::Fma, a, b, c),
                op => self.three(op, a, b, c),
            };
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
        let moved = match op {
            Partial::ShiftLeft | Partial::ShiftRight => self.moved(op == Partial::ShiftLeft, a, b),
            _ => None,
        };
        match op {
            _ if moved.is_some() => moved,
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
            _ => Word::Int(group::identity(combine)),
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
            None => Word::Named(form.keep(bits)),
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
        memory.store(byte / 4, bits << (8 * (byte % 4)), mask(byte, form));
        memory.keep(byte, &mut |cells, raw| {
            self.store_cells(cells, raw, (byte, form), word);
            // A byte that is not known hides the others of its word. Their bits are cleared, so that the host reads what a device copies.
            if form == Form::Byte && matches!(cells, [Cell::Whole(word), _] if self.reason(*word).is_some()) {
                memory.store(byte / 4, 0, memory.flags(byte / 4));
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A lane that is not active computes with the words that an earlier workgroup left in its registers.
    #[test]
    fn bits_of_earlier_workgroups_have_no_value() {
        let field = Field::new(1, &[], &[]).expect("no constants");
        let exact = Exact::new(&field);
        let [a, b] = [3, 5].map(Word::Named);
        let left = [exact.bits(Bits::Xor(a, b)), exact.bits(Bits::Xor(b, a))];
        assert_eq!(left.map(|word| exact.int(word)), [Some(6); 2]);
        exact.begin();
        for word in left {
            let new = exact.bits(Bits::Xor(word, b));
            assert_eq!((exact.int(word), exact.int(new)), (None, None));
            assert!(matches!(exact.float(new), Element::Unknown(_)));
        }
    }

    #[test]
    fn long_chains_of_bits() {
        let field = Field::new(1, &[], &[]).expect("no constants");
        let exact = Exact::new(&field);
        let chain = (1..=100_000).fold(Word::Named(1), |word, n| exact.xor(word, Word::Named(n)));
        assert_eq!(exact.int(chain), Some((1..=100_000).fold(1, |all, n| all ^ n)));
    }
}
