//! Intervals: the sizes or numbers between which an integer is at all points of a launch.
//!
//! The compiler derives an [`Interval`] for each index that may not fit in 32 bits. The launch evaluates its two ends for the given dims
//! ([`crate::Limit`]). [`Bounds`] are the same in numbers, for all dims that a launch admits.

use crate::Size;

/// The most that a dim, or a tensor's element count, can be: 2^31 - 2^24. The distance to 2^31 leaves room for small additions within an
/// index (a halo, the tail of a tile), so that these fit in 32 bits without a check of their own.
pub const MOST: i64 = (1 << 31) - (1 << 24);

/// The range of 32-bit indices.
pub const REACH: Bounds = Bounds(i32::MIN as i64, i32::MAX as i64);

/// The least and the greatest value of an integer. `i64::MIN` and `i64::MAX` mean that there is no bound, and arithmetic keeps them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Bounds(pub i64, pub i64);

impl Bounds {
    /// No bound on either side.
    pub const NONE: Bounds = Bounds(i64::MIN, i64::MAX);

    /// Returns the bounds of one number.
    pub const fn of(value: i64) -> Bounds {
        Bounds(value, value)
    }

    /// True if the other bounds include all of these numbers.
    pub fn is_within(self, other: Bounds) -> bool {
        self.0 >= other.0 && self.1 <= other.1
    }

    /// Returns the bounds of the sum.
    pub fn plus(self, other: Bounds) -> Bounds {
        Bounds(add(self.0, other.0), add(self.1, other.1))
    }

    /// Returns the bounds of the difference.
    pub fn minus(self, other: Bounds) -> Bounds {
        self.plus(Bounds(negated(other.1), negated(other.0)))
    }

    /// Returns the bounds of the product.
    pub fn times(self, other: Bounds) -> Bounds {
        let corners = [mul(self.0, other.0), mul(self.0, other.1), mul(self.1, other.0), mul(self.1, other.1)];
        corners.into_iter().fold(Bounds(i64::MAX, i64::MIN), |b, c| Bounds(b.0.min(c), b.1.max(c)))
    }

    /// Returns the bounds of the quotient, rounded down. The divisor is at least 1.
    pub fn over(self, by: Bounds) -> Bounds {
        let by = Bounds(by.0.max(1), by.1.max(1));
        let end = |n: i64, by: i64| if n == i64::MIN || n == i64::MAX { n } else { n.div_euclid(by) };
        Bounds(end(self.0, if self.0 >= 0 { by.1 } else { by.0 }), end(self.1, if self.1 >= 0 { by.0 } else { by.1 }))
    }

    /// Returns the bounds of the remainder of that quotient.
    pub fn modulo(self, by: Bounds) -> Bounds {
        let most = add(by.1, -1).max(0);
        Bounds(0, if self.0 >= 0 { most.min(self.1) } else { most })
    }

    /// Returns the bounds of the smaller of the two.
    pub fn least(self, other: Bounds) -> Bounds {
        Bounds(self.0.min(other.0), self.1.min(other.1))
    }

    /// Returns the bounds of the larger of the two.
    pub fn most(self, other: Bounds) -> Bounds {
        Bounds(self.0.max(other.0), self.1.max(other.1))
    }

    /// Returns the bounds that include both.
    pub fn either(self, other: Bounds) -> Bounds {
        Bounds(self.0.min(other.0), self.1.max(other.1))
    }
}

fn is_end(n: i64) -> bool {
    n == i64::MIN || n == i64::MAX
}

fn add(a: i64, b: i64) -> i64 {
    match (is_end(a), is_end(b)) {
        (true, _) => a,
        (_, true) => b,
        _ => a.saturating_add(b),
    }
}

fn negated(a: i64) -> i64 {
    match a {
        i64::MIN => i64::MAX,
        i64::MAX => i64::MIN,
        _ => -a,
    }
}

fn mul(a: i64, b: i64) -> i64 {
    match (a, b) {
        (0, _) | (_, 0) => 0,
        _ if is_end(a) || is_end(b) => {
            if (a < 0) == (b < 0) {
                i64::MAX
            } else {
                i64::MIN
            }
        }
        _ => a.saturating_mul(b),
    }
}

impl Size {
    /// Returns the bounds for all dims that a launch admits, each in `0..=`[`MOST`].
    pub fn bounds(&self) -> Bounds {
        match self {
            Size::Const(c) => Bounds::of(*c),
            Size::Dim(_) => Bounds(0, MOST),
            Size::Add(a, b) => a.bounds().plus(b.bounds()),
            Size::Sub(a, b) => a.bounds().minus(b.bounds()),
            Size::Mul(a, b) => a.bounds().times(b.bounds()),
            Size::FloorDiv(a, b) => a.bounds().over(b.bounds()),
            Size::FloorMod(a, b) => a.bounds().modulo(b.bounds()),
            Size::Min(a, b) => a.bounds().least(b.bounds()),
            Size::Max(a, b) => a.bounds().most(b.bounds()),
        }
    }
}

impl Size {
    /// Returns the number of the size's parts.
    fn parts(&self) -> usize {
        match self {
            Size::Const(_) | Size::Dim(_) => 1,
            Size::Add(a, b)
            | Size::Sub(a, b)
            | Size::Mul(a, b)
            | Size::FloorDiv(a, b)
            | Size::FloorMod(a, b)
            | Size::Min(a, b)
            | Size::Max(a, b) => 1 + a.parts() + b.parts(),
        }
    }

    /// True if the size is at most `count + slack`, provided that all dims in `count` are at least 1. `count` is a product of dims and
    /// literals. `false` if this cannot be shown.
    pub fn exceeds_by_at_most(&self, count: &Size, slack: i64) -> bool {
        let Some(count) = Product::of(count) else { return false };
        let Some(sum) = self.upper() else { return false };
        // A product of some of the count's dims is at most the product of all of them.
        let parts = sum.products.iter().all(|p| p.dims_within(&count));
        let times: f64 = sum.products.iter().map(|p| p.times).sum();
        parts && times <= count.times && sum.constant <= slack as f64
    }

    /// Returns an upper bound as a sum of products, or `None` if none is found. A quotient that is rounded down is bounded by the exact
    /// quotient.
    fn upper(&self) -> Option<Sum> {
        match self {
            Size::Const(c) => Some(Sum { products: vec![], constant: *c as f64 }),
            Size::Dim(d) => Some(Sum { products: vec![Product { times: 1.0, dims: vec![*d] }], constant: 0.0 }),
            Size::Add(a, b) => {
                let (mut a, b) = (a.upper()?, b.upper()?);
                a.products.extend(b.products);
                (a.products.len() <= PRODUCTS).then_some(())?;
                Some(Sum { constant: a.constant + b.constant, ..a })
            }
            Size::Sub(a, b) => {
                let a = a.upper()?;
                let least = b.bounds().0;
                (least > i64::MIN).then_some(Sum { constant: a.constant - least as f64, ..a })
            }
            Size::Mul(a, b) if a.bounds().0 >= 0 && b.bounds().0 >= 0 => a.upper()?.times(&b.upper()?),
            Size::FloorDiv(a, b) => {
                let by = b.bounds().0;
                a.upper()?.times(&Sum { products: vec![], constant: 1.0 / by as f64 }).filter(|_| by >= 1)
            }
            Size::FloorMod(_, b) => b.upper(),
            Size::Min(a, b) => a.upper().or_else(|| b.upper()),
            Size::Max(a, b) => match (a.as_ref(), b.as_ref()) {
                (other, Size::Const(c)) | (Size::Const(c), other) => {
                    let sum = other.upper()?;
                    Some(Sum { constant: sum.constant.max(*c as f64), ..sum })
                }
                _ => None,
            },
            Size::Mul(..) => None,
        }
    }
}

/// A sum of products of dims with non-negative factors. The factors are rounded, but they result from few operations, and the values that
/// they are compared with have slack.
struct Sum {
    products: Vec<Product>,
    constant: f64,
}

impl Sum {
    /// Returns the product of two sums that are not negative. Returns `None` if it has too many terms.
    fn times(&self, other: &Sum) -> Option<Sum> {
        if (self.products.len() + 1) * (other.products.len() + 1) > PRODUCTS {
            return None;
        }
        let constant = |s: &Sum| Product { times: s.constant.max(0.0), dims: vec![] };
        let all = |s: &Sum| s.products.iter().cloned().chain([constant(s)]).collect::<Vec<_>>();
        let (mut products, mut constant) = (Vec::new(), 0.0);
        for a in all(self) {
            for b in all(other) {
                let times = a.times * b.times;
                let dims: Vec<u32> = a.dims.iter().chain(&b.dims).copied().collect();
                match (dims.is_empty(), times == 0.0) {
                    (_, true) => {}
                    (true, _) => constant += times,
                    _ => products.push(Product { times, dims }),
                }
            }
        }
        Some(Sum { products, constant })
    }
}

/// A product of dims and a factor.
#[derive(Clone)]
struct Product {
    times: f64,
    dims: Vec<u32>,
}

impl Product {
    fn of(size: &Size) -> Option<Product> {
        match size {
            Size::Const(c @ 1..) => Some(Product { times: *c as f64, dims: vec![] }),
            Size::Dim(d) => Some(Product { times: 1.0, dims: vec![*d] }),
            Size::Mul(a, b) => {
                let (mut a, b) = (Product::of(a)?, Product::of(b)?);
                a.dims.extend(b.dims);
                Some(Product { times: a.times * b.times, ..a })
            }
            _ => None,
        }
    }

    /// True if its dims are among the other's, each at most as often.
    fn dims_within(&self, other: &Product) -> bool {
        let mut left = other.dims.clone();
        self.dims.iter().all(|dim| left.iter().position(|d| d == dim).map(|at| left.swap_remove(at)).is_some())
    }
}

/// The most products in an upper bound of a size. If a bound needs more, none is found.
const PRODUCTS: usize = 256;

/// The most parts of an interval's end. The number is limited, because the launch evaluates them, and an operation on intervals can
/// repeat an end several times.
const PARTS: usize = 1 << 12;

/// The least and the greatest size of an integer over all points of a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interval {
    /// The lower end.
    pub least: Size,
    /// The upper end.
    pub most: Size,
}

impl Interval {
    /// Returns the interval of one size.
    pub fn of(size: Size) -> Interval {
        Interval { least: size.clone(), most: size }
    }

    /// Returns `0..extent`. For an empty extent, it is 0.
    pub fn below(extent: Size) -> Interval {
        Interval { least: Size::Const(0), most: larger(extent.plus(Size::Const(-1)), Size::Const(0)) }
    }

    /// Returns the interval, if its ends are short enough to be evaluated at each launch.
    pub fn if_short(self) -> Option<Interval> {
        (self.least.parts() <= PARTS && self.most.parts() <= PARTS).then_some(self)
    }

    /// Returns the bounds of the numbers in the interval.
    pub fn bounds(&self) -> Bounds {
        Bounds(self.least.bounds().0, self.most.bounds().1)
    }

    /// Returns the interval of the sum.
    pub fn plus(self, other: Interval) -> Interval {
        Interval { least: self.least.plus(other.least), most: self.most.plus(other.most) }
    }

    /// Returns the interval of the product with a literal.
    pub fn scaled(self, by: i64) -> Interval {
        let (least, most) = (self.least.times(Size::Const(by)), self.most.times(Size::Const(by)));
        if by < 0 { Interval { least: most, most: least } } else { Interval { least, most } }
    }

    /// Returns the interval of the product.
    pub fn times(self, other: Interval) -> Interval {
        if self.least.bounds().0 >= 0 && other.least.bounds().0 >= 0 {
            return Interval { least: self.least.times(other.least), most: self.most.times(other.most) };
        }
        let most = self.magnitude().times(other.magnitude());
        Interval { least: most.clone().times(Size::Const(-1)), most }
    }

    /// Returns an upper bound of the absolute value.
    fn magnitude(self) -> Size {
        if self.least.bounds().0 >= 0 { self.most } else { larger(self.least.times(Size::Const(-1)), self.most) }
    }

    /// Returns the interval of the quotient, rounded down. The divisor is at least 1.
    pub fn over(self, by: Interval) -> Interval {
        let by = Interval { least: larger(by.least, Size::Const(1)), most: larger(by.most, Size::Const(1)) };
        let quotient = |a: Size, b: Size| if b == Size::Const(1) { a } else { Size::FloorDiv(a.into(), b.into()) };
        // A larger divisor increases a negative quotient and decreases a non-negative one.
        let least = match self.least.bounds() {
            Bounds(0.., _) => quotient(self.least, by.most),
            Bounds(_, ..0) => quotient(self.least, by.least.clone()),
            _ => smaller(quotient(self.least.clone(), by.most), quotient(self.least, by.least.clone())),
        };
        // If the dividend is negative, -1 is a sufficient upper bound.
        Interval { least, most: quotient(larger(self.most, Size::Const(-1)), by.least) }
    }

    /// Returns the interval of the remainder of that quotient.
    pub fn modulo(self, by: Interval) -> Interval {
        let below = Interval::below(by.most);
        let most = if self.least.bounds().0 >= 0 { smaller(below.most, self.most) } else { below.most };
        Interval { least: Size::Const(0), most }
    }

    /// Returns the interval of the smaller of the two.
    pub fn least(self, other: Interval) -> Interval {
        Interval { least: smaller(self.least, other.least), most: smaller(self.most, other.most) }
    }

    /// Returns the interval of the larger of the two.
    pub fn most(self, other: Interval) -> Interval {
        Interval { least: larger(self.least, other.least), most: larger(self.most, other.most) }
    }

    /// Returns the interval that includes both.
    pub fn either(self, other: Interval) -> Interval {
        Interval { least: smaller(self.least, other.least), most: larger(self.most, other.most) }
    }
}

/// Returns the smaller of two sizes, without a side that is never the smaller one.
fn smaller(a: Size, b: Size) -> Size {
    match (a.bounds(), b.bounds()) {
        (x, y) if x.1 <= y.0 => a,
        (x, y) if y.1 <= x.0 => b,
        _ if a == b => a,
        _ => Size::Min(a.into(), b.into()),
    }
}

/// Returns the larger of two sizes, without a side that is never the larger one.
fn larger(a: Size, b: Size) -> Size {
    match (a.bounds(), b.bounds()) {
        (x, y) if x.0 >= y.1 => a,
        (x, y) if y.0 >= x.1 => b,
        _ if a == b => a,
        _ => Size::Max(a.into(), b.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dim(n: u32) -> Size {
        Size::Dim(n)
    }

    /// Returns every point of a box with its value, and the interval that is claimed for it.
    fn holds(interval: &Interval, dims: &[i64], values: impl IntoIterator<Item = i64>) {
        let (least, most) = (interval.least.eval_wide(dims).expect("known"), interval.most.eval_wide(dims).expect("known"));
        let bounds = interval.bounds();
        for value in values {
            assert!((least..=most).contains(&i128::from(value)), "{value} for {dims:?}: {interval:?}");
            assert!((bounds.0..=bounds.1).contains(&value), "{value} for {dims:?}: {bounds:?}");
        }
    }

    #[test]
    fn the_negative_of_an_open_end_is_open() {
        assert_eq!(Bounds::of(0).minus(Bounds::NONE), Bounds::NONE);
        assert_eq!(Bounds::of(0).minus(Bounds(3, i64::MAX)), Bounds(i64::MIN, -3));
        assert_eq!(Bounds::of(0).minus(Bounds(3, i64::MAX)).over(Bounds::of(1 << 40)).0, i64::MIN);
    }

    #[test]
    fn intervals_hold_every_value() {
        for n in 0..6 {
            for m in 1..5 {
                let (i, j) = (Interval::below(dim(0)), Interval::below(dim(1)));
                let by = Interval::of(dim(1));
                let dims = [n, m];
                let points = || (0..n).flat_map(|i| (0..m).map(move |j| (i, j)));
                let shifted = i.clone().plus(Interval::of(Size::Const(-3)));
                holds(&i.clone().plus(j.clone()), &dims, points().map(|(i, j)| i + j));
                holds(&i.clone().times(j.clone()), &dims, points().map(|(i, j)| i * j));
                holds(&i.clone().scaled(-7), &dims, points().map(|(i, _)| i * -7));
                holds(&shifted.clone().times(j.clone().scaled(-2)), &dims, points().map(|(i, j)| (i - 3) * (-2 * j)));
                holds(&shifted.clone().over(by.clone()), &dims, points().map(|(i, _)| (i - 3i64).div_euclid(m)));
                holds(&i.clone().over(j.clone().plus(Interval::of(Size::Const(1)))), &dims, points().map(|(i, j)| i / (j + 1)));
                holds(&shifted.clone().modulo(by.clone()), &dims, points().map(|(i, _)| (i - 3i64).rem_euclid(m)));
                holds(&i.clone().modulo(by.clone()), &dims, points().map(|(i, _)| i % m));
                holds(&shifted.clone().least(j.clone()), &dims, points().map(|(i, j)| (i - 3).min(j)));
                holds(&shifted.clone().most(j.clone()), &dims, points().map(|(i, j)| (i - 3).max(j)));
                holds(&shifted.clone().either(j.clone()), &dims, points().flat_map(|(i, j)| [i - 3, j]));
            }
        }
    }

    #[test]
    fn no_bound_stays_none() {
        let cube = Bounds(0, MOST).times(Bounds(0, MOST)).times(Bounds(0, MOST));
        assert_eq!(cube, Bounds(0, i64::MAX));
        assert_eq!(cube.minus(Bounds::of(i64::MAX - 1)).1, i64::MAX);
        assert_eq!(cube.over(Bounds::of(1 << 40)).1, i64::MAX);
        assert!(!cube.is_within(REACH));
        assert!(Bounds(0, MOST).plus(Bounds::of(1 << 23)).is_within(REACH));
    }

    #[test]
    fn element_counts_bound_what_is_made_of_their_dims() {
        let count = dim(0).times(dim(1)).times(Size::Const(3));
        let up = |size: Size| size.plus(Size::Const(127));
        let tiles = |size| Size::FloorDiv(up(size).into(), Size::Const(128).into());
        let slack = 1 << 20;
        assert!(up(dim(0).times(dim(1))).exceeds_by_at_most(&count, slack));
        assert!(tiles(dim(0).times(dim(1))).times(Size::Const(128)).plus(Size::Const(-1)).exceeds_by_at_most(&count, slack));
        assert!(tiles(dim(0)).times(tiles(dim(1))).exceeds_by_at_most(&count, slack));
        let by = larger(dim(1), Size::Const(1));
        assert!(Size::FloorDiv(dim(0).times(dim(1)).into(), by.into()).exceeds_by_at_most(&count, slack));
        assert!(!Size::FloorDiv(dim(0).times(dim(1)).into(), dim(1).into()).exceeds_by_at_most(&count, slack));
        assert!(!dim(0).times(dim(0)).exceeds_by_at_most(&count, slack));
        assert!(!dim(0).times(dim(2)).exceeds_by_at_most(&count, slack));
        assert!(!dim(0).times(dim(1)).times(Size::Const(4)).exceeds_by_at_most(&count, slack));
        assert!(!dim(0).plus(Size::Const(slack + 1)).exceeds_by_at_most(&count, slack));
    }

    #[test]
    fn sizes_are_bounded_by_what_a_launch_admits() {
        let tiles = Size::FloorDiv(dim(0).plus(Size::Const(127)).into(), Size::Const(128).into());
        assert_eq!(tiles.bounds(), Bounds(0, (MOST + 127) / 128));
        assert!(tiles.times(Size::Const(128)).bounds().is_within(REACH));
        assert!(!dim(0).times(dim(1)).bounds().is_within(REACH));
    }
}
