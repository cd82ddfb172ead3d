//! The exact matrices of F(m, r): Toom and Cook's interpolation at rational points, transposed to a filter (Winograd, *Arithmetic
//! Complexity of Computations*, 1980, chapter 5; Lavin and Gray, *Fast Algorithms for Convolutional Neural Networks*, 2016).
//!
//! There are `n = m + r - 1` points: `n - 1` are finite, and the last is infinite. Elementwise, `y = AT ((G w) * (BT x))` has `y[i]
//! = sum(k) w[k] x[i + k]`.

use num_rational::Ratio;
use num_traits::{CheckedDiv, CheckedMul, CheckedSub, One, Signed, ToPrimitive, Zero};

/// A coefficient.
pub type Rational = Ratio<i64>;

/// The three matrices, by rows.
#[derive(Clone, Debug)]
pub struct Matrices {
    /// `n` rows of `n`, for the input.
    pub input: Vec<Vec<Rational>>,
    /// `n` rows of `r`, for the filter.
    pub filter: Vec<Vec<Rational>>,
    /// `m` rows of `n`, for the result.
    pub result: Vec<Vec<Rational>>,
}

impl Matrices {
    /// Returns F(m, r) at `m + r - 2` finite points, or `None` if two points are equal or a coefficient overflows.
    pub fn new(m: usize, r: usize, points: &[Rational]) -> Option<Matrices> {
        let n = m + r - 1;
        if points.len() != n - 1 {
            return None;
        }
        let (mut input, mut filter) = (Vec::new(), Vec::new());
        for (j, point) in points.iter().enumerate() {
            let others = || points.iter().enumerate().filter(move |(l, _)| *l != j).map(|(_, p)| *p);
            let norm = others().try_fold(Rational::one(), |norm, p| norm.checked_mul(&point.checked_sub(&p)?))?;
            if norm.is_zero() {
                return None;
            }
            let mut row = product(others())?;
            row.push(Rational::zero());
            input.push(row);
            let powers = powers(*point, r)?;
            filter.push(powers.into_iter().map(|p| p.checked_div(&norm)).collect::<Option<_>>()?);
        }
        input.push(product(points.iter().copied())?);
        // Signs are chosen so that the first term with an even index (or else an odd one) is positive. Then neither it nor its sum
        // is negated.
        let first = |row: &[Rational]| {
            let of = |odd: usize| row.iter().copied().skip(odd).step_by(2).find(|c| !c.is_zero());
            of(0).or(of(1))
        };
        filter.push(unit(r));
        for (row, filter) in input.iter_mut().zip(&mut filter) {
            if first(row).is_some_and(|c| c.is_negative()) {
                row.iter_mut().chain(filter).for_each(|c| *c = -*c);
            }
        }
        let columns = points.iter().map(|p| powers(*p, m)).chain([Some(unit(m))]).collect::<Option<Vec<_>>>()?;
        let result = (0..m).map(|i| columns.iter().map(|column| column[i]).collect()).collect();
        Some(Matrices { input, filter, result })
    }

    /// Returns the growth of errors: `P = sum(i, p) AT[i, p]^2 |BT_p|^2 |G_p|^2 / (m r)`. Its square root is the factor by which
    /// the transforms of one dimension enlarge independent relative errors of the transformed items, compared with a direct sum.
    pub fn growth(&self) -> f64 {
        let squares = |row: &[Rational]| row.iter().map(|c| value(*c).powi(2)).sum::<f64>();
        let (m, r) = (self.result.len(), self.filter[0].len());
        let of_row = |row: &Vec<Rational>| {
            let terms = row.iter().zip(self.input.iter().zip(&self.filter));
            terms.map(|(c, (b, g))| value(*c).powi(2) * squares(b) * squares(g)).sum::<f64>()
        };
        self.result.iter().map(of_row).sum::<f64>() / (m * r) as f64
    }

    /// Returns the largest change of a result if all transformed items are rounded by one unit, and no input or weight is larger
    /// than 1.
    pub fn worst(&self) -> f64 {
        let size = |row: &[Rational]| row.iter().map(|c| value(*c).abs()).sum::<f64>();
        let of_row = |row: &Vec<Rational>| {
            let terms = row.iter().zip(self.input.iter().zip(&self.filter));
            terms.map(|(c, (b, g))| value(*c).abs() * size(b) * size(g)).sum::<f64>()
        };
        self.result.iter().map(of_row).fold(0.0, f64::max)
    }
}

/// Converts a coefficient to the nearest `f64`.
pub fn value(c: Rational) -> f64 {
    c.to_f64().unwrap_or(f64::NAN)
}

/// Returns the default points for `n - 1` finite points. Among small rationals they have the least growth.
pub fn usual(count: usize) -> Option<Vec<Rational>> {
    let pairs: &[(i64, i64)] = match count {
        3 => &[(1, 1)],
        5 => &[(2, 3), (3, 2)],
        7 => &[(1, 2), (1, 1), (2, 1)],
        _ => return None,
    };
    let both = pairs.iter().flat_map(|(a, b)| [Rational::new(*a, *b), Rational::new(-a, *b)]);
    Some([Rational::zero()].into_iter().chain(both).collect())
}

/// Returns the coefficients of the product of `x - p`, from the constant term on.
fn product(points: impl Iterator<Item = Rational>) -> Option<Vec<Rational>> {
    points.into_iter().try_fold(vec![Rational::one()], |poly, point| {
        let shifted = [Rational::zero()].into_iter().chain(poly.iter().copied());
        let scaled = poly.iter().map(|c| c.checked_mul(&point)).chain([Some(Rational::zero())]);
        shifted.zip(scaled).map(|(a, b)| a.checked_sub(&b?)).collect()
    })
}

fn powers(of: Rational, count: usize) -> Option<Vec<Rational>> {
    let next = |last: &Option<Rational>| last.map(|p| p.checked_mul(&of));
    std::iter::successors(Some(Some(Rational::one())), next).take(count).collect()
}

/// Returns the row of the infinite point, which selects the highest coefficient.
fn unit(count: usize) -> Vec<Rational> {
    (0..count).map(|k| if k + 1 == count { Rational::one() } else { Rational::zero() }).collect()
}
