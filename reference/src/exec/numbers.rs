//! The number systems in which a module can run. A system defines the words of the file, and everything that depends on the floats
//! in them; the rest of the executor moves words, and reads integers from them.

use super::tensor::mask;
use super::{group, maths, partial, product};
use crate::code::{Binary, Code, Combine, Partial, Slot, Ternary, Unary};
use crate::form::Form;
use crate::half;
use crate::memory::device::Memory;
use std::fmt::Debug;

/// A number system, with the state that a thread needs.
pub(crate) trait Numbers {
    /// True if floats are exact. The executor then reports the words on which decisions depend.
    const IS_EXACT: bool;

    /// A word of the file. A 32-bit value of the module is one word.
    type Word: Copy + Default + PartialEq + Debug + Send;

    /// Returns the initial contents of the file.
    fn image(&self, code: &Code) -> Vec<Self::Word>;

    /// Begins a workgroup.
    fn begin(&self) {}

    /// Looks at a word on which a branch, an index or the operands of other invocations depend.
    fn look(&self, _word: Self::Word) {}

    /// Returns an integer as a word.
    fn word(integer: u32) -> Self::Word;

    /// Returns the integer in a word.
    fn integer(&self, word: Self::Word) -> u32;

    /// Computes a function of a row of words.
    fn unary(&self, words: &mut [Self::Word], op: Unary, dst: Slot, a: Slot, len: u32);

    /// Computes a function of two rows of words.
    fn binary(&self, words: &mut [Self::Word], op: Binary, dst: Slot, operands: [Slot; 2], len: u32);

    /// Computes a function of three rows of words.
    fn ternary(&self, words: &mut [Self::Word], op: Ternary, dst: Slot, operands: [Slot; 3], len: u32);

    /// Computes the function of a module with a name, word by word. Returns false if its instructions must be run instead.
    fn function(&self, words: &mut [Self::Word], name: &str, dst: Slot, operands: &[Slot], len: u32) -> bool;

    /// Computes an operation that may be undefined. `None` if it is.
    fn partial(&self, op: Partial, operands: [Self::Word; 2], byte: bool) -> Option<Self::Word>;

    /// Combines two values of invocations.
    fn combine(&self, combine: Combine, a: Self::Word, b: Self::Word) -> Self::Word;

    /// Returns the identity of a combination.
    fn identity(&self, combine: Combine) -> Self::Word;

    /// Returns the value that is taken from an inactive invocation. It is an unusual word, so that its use does not go unnoticed.
    fn poison(&self, word: u32) -> Self::Word;

    /// Rounds a float to a half.
    fn halved(&self, word: Self::Word) -> Self::Word;

    /// Returns `c + a * b` for matrices of floats: all elements of each, row by row, with `n` columns and a depth of `k`.
    fn product(&self, matrices: [&[Self::Word]; 3], size: [usize; 2], form: Form) -> Vec<Self::Word>;

    /// Converts a value of a parameter block to the form in the file.
    fn parameter(&self, word: u32, byte: usize, form: Form) -> Self::Word;

    /// Loads a scalar from a tensor's memory.
    fn load(&self, memory: &Memory, byte: usize, form: Form) -> Self::Word;

    /// Stores a scalar to a tensor's memory.
    fn store(&self, memory: &Memory, byte: usize, form: Form, word: Self::Word);

    /// Changes a word of a tensor's memory atomically, unless `f` returns `None`. Returns the previous value.
    fn update(&self, memory: &Memory, byte: usize, f: impl Fn(Self::Word) -> Option<Self::Word>) -> Self::Word;

    /// Bytes of shared memory, as scalars of one form are put into them and scalars of another form are taken out.
    type Row;

    /// Returns a row of this many bytes.
    fn row(bytes: usize) -> Self::Row;

    /// Puts a scalar into a row.
    fn put(&self, row: &mut Self::Row, at: usize, form: Form, word: Self::Word);

    /// Takes a scalar out of a row.
    fn get(&self, row: &Self::Row, at: usize, form: Form) -> Self::Word;
}

/// The floats of the module's types, in words of 32 bits.
#[derive(Clone, Copy)]
pub(crate) struct Rounded {
    fast: bool,
}

impl Rounded {
    pub(crate) fn new() -> Rounded {
        Rounded { fast: maths::has_fast() }
    }
}

impl Numbers for Rounded {
    const IS_EXACT: bool = false;
    type Word = u32;
    type Row = Vec<u8>;

    fn image(&self, code: &Code) -> Vec<u32> {
        code.image.clone()
    }

    #[inline(always)]
    fn word(integer: u32) -> u32 {
        integer
    }

    #[inline(always)]
    fn integer(&self, word: u32) -> u32 {
        word
    }

    fn unary(&self, words: &mut [u32], op: Unary, dst: Slot, a: Slot, len: u32) {
        maths::unary(self.fast, words, op, dst, a, len);
    }

    fn binary(&self, words: &mut [u32], op: Binary, dst: Slot, operands: [Slot; 2], len: u32) {
        maths::binary(self.fast, words, op, dst, operands, len);
    }

    fn ternary(&self, words: &mut [u32], op: Ternary, dst: Slot, operands: [Slot; 3], len: u32) {
        maths::ternary(self.fast, words, op, dst, operands, len);
    }

    fn function(&self, _: &mut [u32], _: &str, _: Slot, _: &[Slot], _: u32) -> bool {
        false
    }

    fn partial(&self, op: Partial, [a, b]: [u32; 2], byte: bool) -> Option<u32> {
        partial::compute(op, a, b, byte)
    }

    fn combine(&self, combine: Combine, a: u32, b: u32) -> u32 {
        group::apply(combine, a, b)
    }

    fn identity(&self, combine: Combine) -> u32 {
        group::identity(combine)
    }

    fn poison(&self, word: u32) -> u32 {
        word
    }

    fn halved(&self, word: u32) -> u32 {
        half::round(f32::from_bits(word)).to_bits()
    }

    fn product(&self, [a, b, c]: [&[u32]; 3], size: [usize; 2], form: Form) -> Vec<u32> {
        product::floats(a, b, c, size, form)
    }

    #[inline(always)]
    fn parameter(&self, word: u32, byte: usize, form: Form) -> u32 {
        form.keep(word >> (8 * (byte % 4)))
    }

    #[inline(always)]
    fn load(&self, memory: &Memory, byte: usize, form: Form) -> u32 {
        self.parameter(memory.load(byte / 4), byte, form)
    }

    #[inline(always)]
    fn store(&self, memory: &Memory, byte: usize, form: Form, word: u32) {
        memory.store(byte / 4, form.bits(word) << (8 * (byte % 4)), mask(byte, form));
    }

    fn update(&self, memory: &Memory, byte: usize, f: impl Fn(u32) -> Option<u32>) -> u32 {
        memory.update(byte / 4, f)
    }

    fn row(bytes: usize) -> Vec<u8> {
        vec![0; bytes]
    }

    fn put(&self, row: &mut Vec<u8>, at: usize, form: Form, word: u32) {
        let bits = form.bits(word).to_le_bytes();
        let size = form.bytes() as usize;
        row[at..at + size].copy_from_slice(&bits[..size]);
    }

    fn get(&self, row: &Vec<u8>, at: usize, form: Form) -> u32 {
        let bits = (0..).zip(&row[at..at + form.bytes() as usize]).fold(0, |bits, (n, b)| bits | u32::from(*b) << (8 * n));
        form.keep(bits)
    }
}
