//! Functions that no instruction computes, made of those that are.

use super::{Op, ValueId, Values};
use tilewright_dsl::expr::{Binary, Compare, Const, Unary};
use tilewright_dsl::launch::DType;

/// Where `erf` changes from a polynomial to what is left to 1.
const ERF_MIDDLE: f64 = 0.90625;

/// `erf(x) = x + x p(x x)` up to [`ERF_MIDDLE`]: `p` from the constant up. The relative error is below 0.22 * 2^-24.
const ERF_SMALL: [f32; 6] = [0.128_379_15, -0.376_125_16, 0.112_820_53, -0.026_775_526, 0.005_006_701, -0.000_606_199_44];

/// `erf(x) = 1 - exp2(q(x))` beyond [`ERF_MIDDLE`]: `q` from the constant up. The relative error is below 0.001 * 2^-24 up to 4,
/// where `exp2(q(x))` is less than half of 2^-24. Beyond, `q` falls, at infinity to minus infinity.
const ERF_LARGE: [f32; 8] = [
    0.000_246_616_66,
    -1.629_519_5,
    -0.913_779_44,
    -0.156_156_61,
    0.036_201_682,
    -0.006_003_096,
    0.000_623_800_4,
    -0.000_030_173_85,
];

impl Values {
    /// `a * b + c` of floats: in f32 an `Fma`, which is never more than a product and a sum. In f16 it can be.
    pub(crate) fn mul_add(&mut self, a: ValueId, b: ValueId, c: ValueId) -> ValueId {
        if self.dtype(a) == DType::F32 {
            return self.apply(Op::Fma, &[a, b, c]);
        }
        let product = self.apply(Op::Binary(Binary::Mul), &[a, b]);
        self.apply(Op::Binary(Binary::Add), &[product, c])
    }

    /// The error function, which is odd and at most 1.
    ///
    /// Both polynomials are minimax ones, found by the algorithm of Remez: `p` for the relative error of `erf`, `q`, which is
    /// `log2(1 - erf(x))`, for what its error makes of that of `erf`. Their coefficients are rounded to f32. Of every seventh
    /// f32 from 1e-4 to 20, with `exp2` rounded correctly, the result is off by 1.20 ULP at most where products and sums are
    /// fused, and by 1.43 where they are not. What Vulkan allows `exp2` (3 + 2 |x| ULP) adds less than 2 ULP, and less the
    /// nearer `erf` is to 1. The language promises 2^-21 of the result, which is at least 4 ULP.
    ///
    /// A NaN is taken for small, as comparisons with it are false, and stays NaN. A zero keeps its sign. The operand itself is
    /// compared, and not its size, as drivers know no range of the former ([`crate::nan`]).
    pub(crate) fn erf(&mut self, of: ValueId) -> ValueId {
        if self.dtype(of) != DType::F32 {
            let dtype = self.dtype(of);
            let wide = self.apply(Op::Cast(DType::F32), &[of]);
            let result = self.erf(wide);
            return self.apply(Op::Cast(dtype), &[result]);
        }
        let square = self.apply(Op::Binary(Binary::Mul), &[of, of]);
        let ratio = self.polynomial(&ERF_SMALL, square);
        let small = self.mul_add(ratio, of, of);

        let (one, size) = (self.float(1.0), self.apply(Op::Unary(Unary::Abs), &[of]));
        let bits = self.polynomial(&ERF_LARGE, size);
        let left = self.apply(Op::Unary(Unary::Exp2), &[bits]);
        let above = self.apply(Op::Binary(Binary::Sub), &[one, left]);
        let below = self.apply(Op::Unary(Unary::Neg), &[above]);

        let (middle, opposite) = (self.float(ERF_MIDDLE), self.float(-ERF_MIDDLE));
        let is_below = self.apply(Op::Compare(Compare::Lt), &[of, opposite]);
        let is_above = self.apply(Op::Compare(Compare::Gt), &[of, middle]);
        let rest = self.apply(Op::Select, &[is_below, below, small]);
        self.apply(Op::Select, &[is_above, above, rest])
    }

    /// A polynomial in f32, by Horner's rule.
    fn polynomial(&mut self, coefficients: &[f32], x: ValueId) -> ValueId {
        let mut rest = coefficients.iter().rev().map(|c| f64::from(*c));
        let first = rest.next().unwrap_or(0.0);
        let first = self.float(first);
        rest.fold(first, |sum, c| {
            let c = self.float(c);
            self.mul_add(sum, x, c)
        })
    }

    fn float(&mut self, value: f64) -> ValueId {
        self.constant(Const::number(value, DType::F32))
    }
}
