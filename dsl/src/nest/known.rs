//! The possible values of a number: an interval of finite values, and flags for infinities and NaN.
//!
//! The bounds hold for every rounding that Vulkan allows. Intervals are therefore wider by a few units in the last place, and a
//! number too small for the type's exponents can be 0, because devices may flush it. The sign of a zero does not count.

use crate::launch::{DType, FloatFormat, Numbers, Relation};

/// The possible values of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The least and the largest possible finite value. `None` if a finite value is impossible.
    finite: Option<(f64, f64)>,
    /// True if it can be -inf.
    least: bool,
    /// True if it can be +inf.
    most: bool,
    /// True if it can be NaN.
    nan: bool,
}

/// Returns the least positive number of a float type that devices do not flush to 0, the largest number, and the relative error
/// of a result. The error is several units in the last place, because a division may be off by that much.
fn of_floats(dtype: DType) -> (f64, f64, f64) {
    let format = dtype.float_format().unwrap_or(FloatFormat::F32);
    (format.least_normal, format.greatest, 8.0 * format.roundoff())
}

impl Known {
    const NOTHING: Known = Known { finite: None, least: false, most: false, nan: false };

    /// Exactly this value.
    pub fn exactly(value: f64) -> Known {
        Known {
            finite: value.is_finite().then_some((value, value)),
            least: value == f64::NEG_INFINITY,
            most: value == f64::INFINITY,
            nan: value.is_nan(),
        }
    }

    /// A finite value between these ends, inclusive.
    pub fn within(low: f64, high: f64) -> Known {
        Known { finite: (low <= high).then_some((low, high)), ..Known::NOTHING }
    }

    /// Any value of the type but infinities and NaN.
    pub fn finite(dtype: DType) -> Known {
        match dtype.numbers() {
            Numbers::Float(format) => Known::within(-format.greatest, format.greatest),
            Numbers::Int { least, greatest } => Known::within(least as f64, greatest as f64),
            Numbers::Bool => Known::within(0.0, 1.0),
        }
    }

    /// Any value of the type.
    pub fn any(dtype: DType) -> Known {
        let is_float = dtype.is_float();
        Known { least: is_float, most: is_float, nan: is_float, ..Known::finite(dtype) }
    }

    /// Returns the value if only one is possible.
    pub fn value(self) -> Option<f64> {
        match self {
            Known { finite: Some((low, high)), least: false, most: false, nan: false } => (low == high).then_some(low),
            Known { finite: None, least: true, most: false, nan: false } => Some(f64::NEG_INFINITY),
            Known { finite: None, least: false, most: true, nan: false } => Some(f64::INFINITY),
            _ => None,
        }
    }

    /// True if `value` is the only possible value.
    pub fn is(self, value: f64) -> bool {
        self.value() == Some(value)
    }

    /// True if it can be `value`.
    pub fn admits(self, value: f64) -> bool {
        match value {
            f64::NEG_INFINITY => self.least,
            f64::INFINITY => self.most,
            _ if value.is_nan() => self.nan,
            _ => self.finite.is_some_and(|(low, high)| low <= value && value <= high),
        }
    }

    /// True if it can be neither an infinity nor NaN.
    pub fn is_finite(self) -> bool {
        !self.least && !self.most && !self.nan
    }

    /// True if it can be NaN.
    pub fn can_be_nan(self) -> bool {
        self.nan
    }

    /// True if no value is possible.
    pub fn is_impossible(self) -> bool {
        self.finite.is_none() && self.is_finite()
    }

    /// The values of either.
    pub fn or(self, other: Known) -> Known {
        let finite = match (self.finite, other.finite) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, None) | (None, one) => one,
        };
        Known { finite, least: self.least || other.least, most: self.most || other.most, nan: self.nan || other.nan }
    }

    /// The same values without this infinity.
    pub fn except(self, infinity: f64) -> Known {
        Known { least: self.least && infinity != f64::NEG_INFINITY, most: self.most && infinity != f64::INFINITY, ..self }
    }

    /// The values for which the relation to a number holds. For NaN only `!=` holds.
    pub fn that_is(self, relation: Relation, number: f64) -> Known {
        let (low, high) = match relation {
            Relation::Ne => return self,
            Relation::Eq => (number, number),
            Relation::Lt | Relation::Le => (f64::NEG_INFINITY, number),
            Relation::Gt | Relation::Ge => (number, f64::INFINITY),
        };
        let least = self.least && relation.holds(f64::NEG_INFINITY, number);
        let most = self.most && relation.holds(f64::INFINITY, number);
        let finite = self.finite.map(|(a, b)| (a.max(low), b.min(high))).filter(|(a, b)| a <= b);
        let is_open = |end: f64| end == number && !relation.holds(end, number);
        let finite = finite.filter(|(a, b)| a < b || !is_open(*a));
        Known { finite, least, most, nan: false }
    }

    /// The negated values.
    pub fn negative(self) -> Known {
        Known { finite: self.finite.map(|(low, high)| (-high, -low)), least: self.most, most: self.least, nan: self.nan }
    }

    /// The absolute values.
    pub fn magnitude(self) -> Known {
        let of = |(low, high): (f64, f64)| (low.max(-high).max(0.0), high.max(-low));
        Known { finite: self.finite.map(of), least: false, most: self.least || self.most, nan: self.nan }
    }

    /// The values as results in a type: rounded, possibly flushed to 0, or infinite after an overflow.
    pub fn rounded(self, dtype: DType) -> Known {
        let Some((low, high)) = self.finite else { return self };
        if !dtype.is_float() {
            let of = Known::finite(dtype);
            let fits = of.finite.is_some_and(|(least, most)| least <= low && high <= most);
            return if fits { self } else { of };
        }
        let (least, most, part) = of_floats(dtype);
        // Numbers below the least normal number have an absolute error, which is at most that number.
        let beyond = |end: f64| if end > 0.0 { (end * (1.0 + part)).max(least) } else { end * (1.0 - part) };
        let (low, high) = (-beyond(-low), beyond(high));
        let finite = Some((low.clamp(-most, most), high.clamp(-most, most)));
        Known { finite, least: self.least || low < -most, most: self.most || high > most, nan: self.nan }.flushed(dtype)
    }

    /// The values as operands: devices may flush numbers that are too small for the type's exponents to 0.
    pub fn flushed(self, dtype: DType) -> Known {
        let least = if dtype.is_float() { of_floats(dtype).0 } else { 0.0 };
        let of = |(low, high): (f64, f64)| {
            let low = if low > 0.0 && low < least { 0.0 } else { low };
            (low, if high < 0.0 && high > -least { 0.0 } else { high })
        };
        Known { finite: self.finite.map(of), ..self }
    }

    /// The sum, before it is rounded.
    pub fn plus(self, other: Known) -> Known {
        if self.is(0.0) || other.is(0.0) {
            return if self.is(0.0) { other } else { self };
        }
        let finite = self.finite.zip(other.finite).map(|((a, b), (c, d))| (a + c, b + d));
        let opposite = self.least && other.most || self.most && other.least;
        Known {
            finite,
            // An infinity plus any finite value is that infinity.
            least: self.least && !other.is(f64::INFINITY) || other.least && !self.is(f64::INFINITY),
            most: self.most && !other.is(f64::NEG_INFINITY) || other.most && !self.is(f64::NEG_INFINITY),
            nan: self.nan || other.nan || opposite,
        }
    }

    /// The product, before it is rounded.
    pub fn times(self, other: Known) -> Known {
        let finite = self.finite.zip(other.finite).map(|((a, b), (c, d))| {
            let corners = [a * c, a * d, b * c, b * d];
            (corners.into_iter().fold(f64::INFINITY, f64::min), corners.into_iter().fold(f64::NEG_INFINITY, f64::max))
        });
        let (one, two) = (self.signs(), other.signs());
        let (infinite, others) = ((self.least || self.most), (other.least || other.most));
        // The sign of an infinity times a number depends on the sign of that number.
        let grows = |same: bool| {
            let pairs = [(self.most, two, 0), (self.least, two, 1), (other.most, one, 0), (other.least, one, 1)];
            pairs.into_iter().any(|(is, [above, below], flip)| is && if same == (flip == 0) { above } else { below })
        };
        let zero_of_infinity = infinite && other.can_be_zero() || others && self.can_be_zero();
        Known { finite, least: grows(false), most: grows(true), nan: self.nan || other.nan || zero_of_infinity }
    }

    /// The product with another number, plus `more`. Devices may round once or twice.
    pub fn times_plus(self, other: Known, more: Known, dtype: DType) -> Known {
        let product = self.times(other);
        if product.is(0.0) {
            return more;
        }
        let [once, twice] = [product, product.rounded(dtype)].map(|product| product.plus(more).rounded(dtype));
        once.or(twice)
    }

    /// Returns whether it can be above 0, and whether it can be below 0.
    fn signs(self) -> [bool; 2] {
        let (low, high) = self.finite.unwrap_or((0.0, 0.0));
        [self.most || high > 0.0, self.least || low < 0.0]
    }

    /// True if it can be 0.
    pub fn can_be_zero(self) -> bool {
        self.finite.is_some_and(|(low, high)| low <= 0.0 && high >= 0.0)
    }

    /// True if it can be a finite number below 0.
    pub fn can_be_negative(self) -> bool {
        self.finite.is_some_and(|(low, _)| low < 0.0)
    }

    /// The quotient. A quotient by 0 has either sign, because the sign of a zero does not count.
    pub fn over(self, other: Known, dtype: DType) -> Known {
        if self.is(0.0) && other.is_finite() && !other.can_be_zero() {
            return self;
        }
        let is_above = |of: Known| !of.can_be_negative() && !of.least;
        if is_above(self) && is_above(other) {
            return Known { least: other.can_be_zero(), ..Known::any(dtype).above(0.0) };
        }
        Known::any(dtype)
    }

    /// The square root.
    pub fn root(self, dtype: DType) -> Known {
        if self.is(0.0) {
            self
        } else {
            Known { nan: self.nan || self.least || self.can_be_negative(), ..Known::any(dtype) }.above(0.0)
        }
    }

    /// The values that are at least `least`, or NaN.
    fn above(self, least: f64) -> Known {
        let finite = self.finite.map(|(low, high)| (low.max(least), high)).filter(|(low, high)| low <= high);
        Known { finite, least: false, ..self }
    }

    /// True if it is finite and above 0.
    pub fn is_above_zero(self) -> bool {
        self.is_finite() && self.finite.is_some_and(|(low, _)| low > 0.0)
    }

    /// The larger (or the smaller) of both.
    pub fn extreme(self, other: Known, largest: bool) -> Known {
        if !largest {
            return self.negative().extreme(other.negative(), true).negative();
        }
        let both = self.or(other);
        // The maximum is at least the lower end of each operand.
        let at_least =
            |of: Known| if of.least || of.nan { f64::NEG_INFINITY } else { of.finite.map_or(f64::INFINITY, |(low, _)| low) };
        let low = at_least(self).max(at_least(other));
        let finite = both.finite.map(|(a, b)| (a.max(low), b)).filter(|(a, b)| a <= b);
        Known { finite, least: both.least && low == f64::NEG_INFINITY, ..both }
    }

    /// The power of a base above 1 with this exponent.
    pub fn exponential(self, dtype: DType) -> Known {
        let zero = if self.least { Known::exactly(0.0) } else { Known::NOTHING };
        let finite = if self.finite.is_some() { Known::within(0.0, of_floats(dtype).1) } else { Known::NOTHING };
        Known { most: self.most || self.finite.is_some_and(|(_, high)| high > 0.0), nan: self.nan, ..zero.or(finite) }
    }

    /// The sum of at most `count` of these values, in any order, rounded after each addition.
    pub fn summed(self, count: f64, dtype: DType) -> Known {
        let Some((low, high)) = self.finite.filter(|_| self.is_finite() && dtype.is_float()) else { return Known::any(dtype) };
        let growth = (1.0 + of_floats(dtype).2).powf(count);
        let ends = [low.min(0.0) * count * growth, high.max(0.0) * count * growth];
        if ends.iter().all(|end| end.is_finite()) { Known::within(ends[0], ends[1]).rounded(dtype) } else { Known::any(dtype) }
    }
}
