//! Bits that are neither an integer nor a float: two halves, or a combination of floats by bits.
//!
//! Modules combine floats by bits where a driver miscompiles a selection of floats, and test bits for NaN and signs. They also move
//! bfloat16, which are the upper halves of f32, between the halves of words. The patterns are recognized: `(a ^ b) & mask ^ b` with a mask
//! of all bits or none, `x ^ 0`, the sign and the magnitude of a float, and shifts by 16, masks and unions of halves. The result of all
//! other integer arithmetic on floats is unknown.

use super::{Exact, Word};
use crate::field::Element;

/// The sign of an f32.
pub(super) const SIGN: u32 = 1 << 31;

/// Bits that are neither an integer nor a float.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Bits {
    /// The low and the high half of a word, each a 16-bit float, or the bits of one as an integer.
    Halves([Word; 2]),
    /// The exclusive or of two words.
    Xor(Word, Word),
    /// All bits of a float but the sign.
    Magnitude(Element),
    /// The sign of a float.
    Sign(Element),
}

impl Exact<'_> {
    /// Returns the halves of a word as words that hold 16 bits each.
    pub(super) fn split(&self, word: Word) -> Option<[Word; 2]> {
        match (word, self.bits_of(word)) {
            (Word::Int(i), _) => Some([Word::Int(i & 0xffff), Word::Int(i >> 16)]),
            (Word::Named(i), _) => Some([Word::Named(i & 0xffff), Word::Named(i >> 16)]),
            (_, Some(Bits::Halves(halves))) => Some(halves),
            _ => None,
        }
    }

    /// Returns the upper half of a word whose lower half is 0, which is then the f32 of a bfloat16.
    pub(super) fn upper_half(&self, word: Word) -> Option<Word> {
        match self.bits_of(word) {
            Some(Bits::Halves([low, high])) if self.int(low) == Some(0) => Some(high),
            _ => None,
        }
    }

    /// Returns 16 bits with zeros above.
    pub(super) fn word_of_half(&self, half: Word) -> Word {
        match half {
            Word::Float(Element::Unknown(_)) => half,
            Word::Float(_) => self.bits(Bits::Halves([half, Word::Int(0)])),
            _ => half,
        }
    }

    /// Returns the half of a word that begins at a bit, as 16 bits.
    pub(super) fn half_at(&self, word: Word, bit: u8) -> Word {
        match self.split(word) {
            Some([low, high]) => {
                if bit == 0 {
                    low
                } else {
                    high
                }
            }
            None => self.integers([word], |[word]| word >> bit & 0xffff),
        }
    }

    /// Returns a word that is shifted by 16, to the left or to the right, or by 0. The upper half of an f32 is a bfloat16, because exact
    /// arithmetic does not round.
    pub(super) fn moved(&self, left: bool, word: Word, by: Word) -> Option<Word> {
        let zero = Word::Int(0);
        match (self.int(by)?, word, self.split(word)) {
            (0, ..) => Some(word),
            (16, Word::Int(_) | Word::Float(Element::Unknown(_)), _) => None,
            (16, Word::Float(_), _) if !left => Some(self.bits(Bits::Halves([word, zero]))),
            (16, _, Some([low, _])) if left => Some(self.bits(Bits::Halves([zero, low]))),
            (16, _, Some([_, high])) => Some(self.bits(Bits::Halves([high, zero]))),
            _ => None,
        }
    }

    /// Returns the union of two words. In each half, one of the words must be 0.
    fn joined(&self, a: Word, b: Word) -> Option<Word> {
        let one = |a: Word, b: Word| match (self.int(a), self.int(b)) {
            (Some(0), _) => Some(b),
            (_, Some(0)) => Some(a),
            _ => None,
        };
        let ([a, b], [c, d]) = (self.split(a)?, self.split(b)?);
        Some(self.bits(Bits::Halves([one(a, c)?, one(b, d)?])))
    }

    pub(super) fn xor(&self, a: Word, b: Word) -> Word {
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

    pub(super) fn and(&self, a: Word, b: Word) -> Word {
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
            (Word::Named(i), _) if bits == 0xffff_0000 => self.bits(Bits::Halves([Word::Int(0), Word::Named(i >> 16)])),
            (Word::Float(_), _) if bits == 0xffff_0000 => word,
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

    pub(super) fn or(&self, a: Word, b: Word) -> Word {
        let one = Some(1f32.to_bits());
        match (self.bits_of(a), self.bits_of(b)) {
            _ if self.int(a) == Some(0) => b,
            _ if self.int(b) == Some(0) => a,
            (Some(Bits::Sign(x)), _) if self.int(b) == one => Word::Float(self.field.sign(x)),
            (_, Some(Bits::Sign(x))) if self.int(a) == one => Word::Float(self.field.sign(x)),
            (Some(Bits::Halves(_)), _) | (_, Some(Bits::Halves(_))) => {
                self.joined(a, b).unwrap_or_else(|| self.integers([a, b], |[a, b]| a | b))
            }
            _ => self.integers([a, b], |[a, b]| a | b),
        }
    }

    /// Compares integers. A magnitude is compared only with the bits of infinity: a number's is less, and a NaN's greater.
    pub(super) fn unsigned(&self, a: Word, b: Word, of_integers: fn(u32, u32) -> bool, of_magnitude: bool) -> Word {
        let infinity = Some(f32::INFINITY.to_bits());
        let (magnitude, first) = match (self.bits_of(a), self.bits_of(b)) {
            (Some(Bits::Magnitude(x)), _) if self.int(b) == infinity => (x, true),
            (_, Some(Bits::Magnitude(x))) if self.int(a) == infinity => (x, false),
            _ => return self.integers([a, b], |[a, b]| u32::from(of_integers(a, b))),
        };
        // A number's magnitude is less than the bits of infinity.
        match magnitude {
            Element::Unknown(reason) => Exact::unknown(reason),
            Element::Infinite { .. } => Word::Int(u32::from(of_magnitude)),
            _ => Word::Int(u32::from(first)),
        }
    }
}
