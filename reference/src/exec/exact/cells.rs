//! The words of a tensor's memory.

use super::bits::Bits;
use super::{Exact, Word};
use crate::exec::numbers::Numbers;
use crate::exec::tensor::mask;
use crate::field::{Element, Format, Reason};
use crate::form::Form;
use crate::memory::device::Memory;
use tilewright_launch::DType;

/// Returns the format of a 16-bit form; `None` for the other forms.
pub(super) fn format(form: Form) -> Option<Format> {
    match form {
        Form::Half => Some(Format::F16),
        Form::BFloat => Some(Format::BF16),
        Form::Word | Form::Short | Form::Byte => None,
    }
}

/// Half of a word of a tensor's memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Cell {
    /// Bits that the caller passed, or a copy of them.
    #[default]
    Passed,
    /// An integer of less than 32 bits that the module computed. Its bits are in the memory.
    Integer,
    /// The first half of a word.
    Whole(Word),
    /// The second half of a word.
    Rest,
    /// A 16-bit float.
    Half(Word),
}

impl Exact<'_> {
    /// Returns a scalar of a word of memory, given its cells and the bits that the caller passed.
    pub(super) fn of_cells(&self, cells: [Cell; 2], raw: u32, byte: usize, form: Form) -> Word {
        match (cells, format(form)) {
            ([Cell::Passed, Cell::Passed], _) => self.parameter(raw, byte, form),
            ([Cell::Whole(word), _], None) if form == Form::Word => word,
            (_, None) if form == Form::Word => {
                let halves = self.cells_as_halves(cells, raw).map(|cell| match cell {
                    Cell::Half(word) => word,
                    _ => Exact::unknown(Reason::BitsOfFloat),
                });
                self.bits(Bits::Halves(halves))
            }
            (_, Some(format)) => match self.cells_as_halves(cells, raw)[byte % 4 / 2] {
                Cell::Half(word) => Word::Float(self.half(word, format)),
                _ => Exact::unknown(Reason::FloatOfBits),
            },
            _ => {
                let Cell::Half(half) = self.cells_as_halves(cells, raw)[byte % 4 / 2] else {
                    return Exact::unknown(Reason::BitsOfFloat);
                };
                if form == Form::Short { half } else { self.integers([half], |[half]| half >> (8 * (byte % 2)) & 0xff) }
            }
        }
    }

    /// Returns the cells that hold a word. They do not refer to the table of the thread, because other threads read them.
    pub(super) fn cells_of(&self, word: Word) -> [Cell; 2] {
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

    /// Returns the cells of a word after an integer of less than 32 bits is stored to a part of it. `None` if the other part is not an
    /// integer.
    pub(super) fn cells_with_integer(&self, cells: [Cell; 2], byte: usize, word: Word) -> Option<[Cell; 2]> {
        let in_memory = |word: Word| if let Word::Named(_) = word { Cell::Passed } else { Cell::Integer };
        let is_integer = |word: Word| self.reason(word).is_none();
        let mut cells = match cells {
            [Cell::Whole(word), _] => is_integer(word).then(|| [in_memory(word); 2])?,
            halves => {
                let [low, high] = halves.map(|cell| match cell {
                    Cell::Half(word) => is_integer(word).then(|| in_memory(word)),
                    cell => Some(cell),
                });
                [low?, high?]
            }
        };
        cells[byte % 4 / 2] = in_memory(word);
        Some(cells)
    }

    /// Returns the cells of a word as two halves.
    pub(super) fn cells_as_halves(&self, cells: [Cell; 2], raw: u32) -> [Cell; 2] {
        if let [Cell::Whole(word), _] = cells {
            let halves = self.split(word).unwrap_or([Exact::unknown(Reason::FloatOfBits); 2]);
            return halves.map(Cell::Half);
        }
        [0, 1].map(|n| match cells[n] {
            Cell::Passed => Cell::Half(Word::Named(raw >> (16 * n) & 0xffff)),
            Cell::Integer => Cell::Half(Word::Int(raw >> (16 * n) & 0xffff)),
            cell => cell,
        })
    }

    /// Returns a value of a type in a tensor's memory, or `None` if it is not written. An integer is the number of its bits.
    pub(crate) fn element(&self, memory: &Memory, byte: usize, dtype: DType) -> Option<Element> {
        let form = match dtype {
            DType::I64 => return self.long(memory, byte),
            DType::F32 | DType::I32 | DType::U32 | DType::Bool => Form::Word,
            DType::F16 => Form::Half,
            DType::BF16 => Form::BFloat,
            DType::I16 | DType::U16 => Form::Short,
            DType::I8 | DType::U8 => Form::Byte,
        };
        let needed = mask(byte, form);
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

    /// Returns an integer of two words, the low one first, or `None` if one of them is not written.
    fn long(&self, memory: &Memory, byte: usize) -> Option<Element> {
        let mut value = 0;
        for at in [byte + 4, byte] {
            let needed = mask(at, Form::Word);
            if memory.flags(at / 4) & needed != needed {
                return None;
            }
            let word = self.load(memory, at, Form::Word);
            if let Some(reason) = self.reason(word) {
                return Some(Element::Unknown(reason));
            }
            value = value << 32 | u64::from(self.integer(word));
        }
        Some(Element::of(value.cast_signed()))
    }
}
