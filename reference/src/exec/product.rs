//! Products of cooperative matrices, given as all elements of each matrix, row by row.

use crate::code::Integer;
use crate::form::Form;

/// Returns `c + a * b`, summed in order of the depth. Products of 16-bit floats are exact in f32. Each sum is rounded to f32, and then
/// to the form of the result.
pub(super) fn floats(a: &[u32], b: &[u32], c: &[u32], [n, k]: [usize; 2], form: Form) -> Vec<u32> {
    let float = |words: &[u32]| -> Vec<f32> { words.iter().map(|w| f32::from_bits(*w)).collect() };
    let (a, b, mut sums) = (float(a), float(b), float(c));
    for (sums, a) in sums.chunks_exact_mut(n).zip(a.chunks_exact(k)) {
        for (a, b) in a.iter().zip(b.chunks_exact(n)) {
            match form {
                Form::Word => sums.iter_mut().zip(b).for_each(|(sum, b)| *sum += a * b),
                _ => sums.iter_mut().zip(b).for_each(|(sum, b)| *sum = form.round(*sum + a * b)),
            }
        }
    }
    sums.into_iter().map(f32::to_bits).collect()
}

impl Integer {
    fn value(self, word: u32) -> i64 {
        match (self.byte, self.signed) {
            (true, true) => (word as u8 as i8).into(),
            (true, false) => (word & 0xff).into(),
            (false, true) => (word as i32).into(),
            (false, false) => word.into(),
        }
    }

    fn range(self) -> (i128, i128) {
        match (self.byte, self.signed) {
            (true, true) => (i8::MIN.into(), i8::MAX.into()),
            (true, false) => (0, u8::MAX.into()),
            (false, true) => (i32::MIN.into(), i32::MAX.into()),
            (false, false) => (0, u32::MAX.into()),
        }
    }

    /// Returns the low bits of a number.
    fn low(self, value: i64) -> u32 {
        value as u32 & if self.byte { 0xff } else { u32::MAX }
    }
}

/// Matrices `a`, `b` and `c`, with the meaning of their bits.
pub(super) type Integers<'a> = [(&'a [u32], Integer); 3];

/// Returns the low bits of `c + a * b`.
pub(super) fn integers([(a, of_a), (b, of_b), (c, of_c)]: Integers<'_>, [n, k]: [usize; 2], result: Integer) -> Vec<u32> {
    let mut sums: Vec<i64> = c.iter().map(|w| of_c.value(*w)).collect();
    let b: Vec<i64> = b.iter().map(|w| of_b.value(*w)).collect();
    for (sums, a) in sums.chunks_exact_mut(n).zip(a.chunks_exact(k)) {
        for (a, b) in a.iter().zip(b.chunks_exact(n)) {
            let a = of_a.value(*a);
            sums.iter_mut().zip(b).for_each(|(sum, b)| *sum = sum.wrapping_add(a.wrapping_mul(*b)));
        }
    }
    sums.into_iter().map(|sum| result.low(sum)).collect()
}

/// Returns `a * b` with `c` added by saturation. Returns `None` if `a * b` overflows, because the result is then undefined.
pub(super) fn saturated([(a, of_a), (b, of_b), (c, of_c)]: Integers<'_>, [n, k]: [usize; 2], result: Integer) -> Option<Vec<u32>> {
    let (least, most) = result.range();
    let sum = |(at, c): (usize, &u32)| {
        let (row, column) = (at / n, at % n);
        let product = |d: usize| i128::from(of_a.value(a[row * k + d])) * i128::from(of_b.value(b[d * n + column]));
        let sum: i128 = (0..k).map(product).sum();
        let fits = (least..=most).contains(&sum);
        fits.then(|| result.low((sum + i128::from(of_c.value(*c))).clamp(least, most) as i64))
    };
    c.iter().enumerate().map(sum).collect()
}
