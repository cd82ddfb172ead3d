//! Elements of `i64`, as pairs of words with the low word first. No instruction of 64 bits is needed.

use crate::module::Id;
use crate::writer::Writer;
use spirv::Op;

impl Writer<'_> {
    /// Returns the 32-bit numbers that are nearest to `count` elements of 64 bits. Such a number is the low word if the high word only
    /// extends its sign. Otherwise it is the least or the greatest `i32`, by the sign of the high word.
    pub(super) fn nearest_of_64(&mut self, pairs: Id, count: u32, level: u32) -> Id {
        let (int, truth) = (self.module.ty(crate::module::Type::Int { signed: true }), self.module.bool_type());
        let (ints, truths) = (self.module.vector(int, count), self.module.vector(truth, count));
        let [low, high] = [0, 1].map(|n| self.every_second(pairs, n, count, level));
        let [low, high] = [low, high].map(|word| self.ins(level, Op::Bitcast, ints, &[word]));
        let by = self.same_ints(31, count);
        let sign = self.ins(level, Op::ShiftRightArithmetic, ints, &[low, by]);
        let fits = self.ins(level, Op::IEqual, truths, &[high, sign]);
        let (beyond, greatest) = (self.ins(level, Op::ShiftRightArithmetic, ints, &[high, by]), self.same_ints(i32::MAX, count));
        let end = self.ins(level, Op::BitwiseXor, ints, &[beyond, greatest]);
        self.ins(level, Op::Select, ints, &[fits, low, end])
    }

    /// Returns the pairs of words of `count` numbers of 32 bits: each number, and its sign in a word of its own.
    pub(super) fn extended_to_64(&mut self, numbers: Id, count: u32, level: u32) -> Id {
        let int = self.module.ty(crate::module::Type::Int { signed: true });
        let (ints, words) = (self.module.vector(int, count), self.words_type(count));
        let by = self.same_ints(31, count);
        let high = self.ins(level, Op::ShiftRightArithmetic, ints, &[numbers, by]);
        let [low, high] = [numbers, high].map(|of| self.ins(level, Op::Bitcast, words, &[of]));
        let pairs = self.words_type(2 * count);
        if count == 1 {
            return self.ins(level, Op::CompositeConstruct, pairs, &[low, high]);
        }
        let order: Vec<u32> = [low, high].into_iter().chain((0..count).flat_map(|n| [n, count + n])).collect();
        self.ins(level, Op::VectorShuffle, pairs, &order)
    }

    /// Returns every second word, from the first or the second on.
    fn every_second(&mut self, pairs: Id, first: u32, count: u32, level: u32) -> Id {
        let words = self.words_type(count);
        if count == 1 {
            return self.ins(level, Op::CompositeExtract, words, &[pairs, first]);
        }
        let order: Vec<u32> = [pairs, pairs].into_iter().chain((0..count).map(|n| 2 * n + first)).collect();
        self.ins(level, Op::VectorShuffle, words, &order)
    }

    /// Returns an `i32` in every component.
    fn same_ints(&mut self, value: i32, count: u32) -> Id {
        let int = self.module.ty(crate::module::Type::Int { signed: true });
        let one = self.module.constant(int, value.cast_unsigned());
        if count == 1 {
            return one;
        }
        let ty = self.module.vector(int, count);
        self.module.composite(ty, &vec![one; count as usize])
    }
}
