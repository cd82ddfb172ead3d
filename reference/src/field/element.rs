//! The values of exact arithmetic: an element of the field, an infinity, or an unknown value.

use super::prime::{Exponents, Modulus, Q, Values};
use std::fmt;
use std::num::NonZeroU64;

/// A float of a kernel in exact arithmetic.
#[derive(Clone, Copy, Debug)]
pub enum Element {
    /// A number.
    Number(Number),
    /// An infinity. Few laws hold for it: it is the identity of `max` or `min`, it absorbs sums, and `exp(-inf)` is 0.
    Infinite {
        /// True for minus infinity.
        negative: bool,
    },
    /// A value that depends on a law that the field lacks.
    Unknown(Reason),
}

/// An element of the field, with a bound of its degree as a rational function of the inputs.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    /// The residue modulo the prime of values.
    pub(super) value: u64,
    /// The residue modulo the prime of exponents. An exponential has none.
    pub(super) exponent: Option<Exponent>,
    /// The degrees of the numerator and of the denominator.
    pub(super) degree: [u32; 2],
    /// The sign of the real number that it stands for, if it is known. It is known of constants, scalars, exponentials and their products.
    pub(super) sign: Option<Sign>,
}

/// A residue modulo the prime of exponents, from 1 to the prime, which stands for 0. So a number without an exponent takes no more memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exponent(NonZeroU64);

impl Exponent {
    const ZERO: Exponent = Exponent(NonZeroU64::new(Q).expect("a prime is not 0"));

    /// Returns the exponent of a residue.
    #[inline]
    pub(super) fn of(residue: u64) -> Exponent {
        NonZeroU64::new(residue).map_or(Exponent::ZERO, Exponent)
    }

    /// Returns the residue, or the prime for 0.
    #[inline]
    pub(super) fn get(self) -> u64 {
        self.0.get()
    }

    #[inline]
    fn plus(self, other: Exponent) -> Exponent {
        Exponent::of(Exponents::add(self.get(), other.get()))
    }

    #[inline]
    fn times(self, other: Exponent) -> Exponent {
        Exponent::of(Exponents::mul(self.get(), other.get()))
    }

    fn inverse(self) -> Option<Exponent> {
        if self.get() == Q { None } else { Exponents::inverse(self.get()).map(Exponent::of) }
    }
}

/// The sign of a number that is not 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sign {
    Positive,
    Negative,
}

impl Sign {
    fn times(self, other: Sign) -> Sign {
        if self == other { Sign::Positive } else { Sign::Negative }
    }

    pub(super) fn of(number: f64) -> Option<Sign> {
        if number > 0.0 { Some(Sign::Positive) } else { (number < 0.0).then_some(Sign::Negative) }
    }
}

/// The reason why a value is unknown: the law that it would need.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reason {
    /// A NaN constant.
    Nan,
    /// `inf - inf`.
    InfinityLessInfinity,
    /// An infinity as a factor, a divisor or the operand of a function.
    InfinityInArithmetic,
    /// A quotient by an element that is 0.
    DivisionByZero,
    /// An exponential whose operand contains an exponential.
    ExpOfExp,
    /// A float that is converted to an integer.
    ToInteger,
    /// Bits of a float in integer arithmetic, except for the patterns by which modules select, negate and test floats.
    BitsOfFloat,
    /// A float that is made of the bits of an integer.
    FloatOfBits,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Nan => "NaN",
            Reason::InfinityLessInfinity => "a difference of two infinities",
            Reason::InfinityInArithmetic => "an infinity in a product, a quotient or a function",
            Reason::DivisionByZero => "a quotient by zero",
            Reason::ExpOfExp => "an exponential of an exponential",
            Reason::ToInteger => "a float that is converted to an integer",
            Reason::BitsOfFloat => "integer arithmetic on the bits of a float",
            Reason::FloatOfBits => "a float of the bits of an integer",
        })
    }
}

/// Two elements are equal if their values are. An exponent is not compared, because exponentials have none. An unknown value is
/// not equal to any.
impl PartialEq for Element {
    fn eq(&self, other: &Element) -> bool {
        match (self, other) {
            (Element::Number(a), Element::Number(b)) => a.value == b.value,
            (Element::Infinite { negative: a }, Element::Infinite { negative: b }) => a == b,
            _ => false,
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Number(n) => match n.small() {
                Some(small) => write!(f, "{small}"),
                None => write!(f, "#{:016x}", n.value),
            },
            Element::Infinite { negative } => f.write_str(if *negative { "-inf" } else { "inf" }),
            Element::Unknown(reason) => write!(f, "not shown ({reason})"),
        }
    }
}

impl Element {
    /// The number 0.
    pub const ZERO: Element = Element::Number(Number { value: 0, exponent: Some(Exponent::ZERO), degree: [0, 0], sign: None });

    /// Returns a whole number.
    pub fn of(number: i64) -> Element {
        Element::Number(Number::of(number.into()))
    }

    /// Returns the bound of its degree.
    pub fn degree(&self) -> u32 {
        match self {
            Element::Number(n) => n.degree[0].max(n.degree[1]),
            _ => 0,
        }
    }

    /// Returns the sum.
    #[must_use]
    #[inline]
    pub fn plus(self, other: Element) -> Element {
        use Element::{Infinite, Number as N, Unknown};
        match (self, other) {
            (N(a), N(b)) => N(a.plus(b)),
            (Unknown(reason), _) | (_, Unknown(reason)) => Unknown(reason),
            (Infinite { negative: a }, Infinite { negative: b }) if a != b => Unknown(Reason::InfinityLessInfinity),
            (Infinite { negative }, _) | (_, Infinite { negative }) => Infinite { negative },
        }
    }

    /// Returns the number with the opposite sign.
    #[must_use]
    pub fn negated(self) -> Element {
        match self {
            Element::Number(n) => Element::Number(n.negated()),
            Element::Infinite { negative } => Element::Infinite { negative: !negative },
            Element::Unknown(reason) => Element::Unknown(reason),
        }
    }

    /// Returns the difference.
    #[must_use]
    pub fn minus(self, other: Element) -> Element {
        self.plus(other.negated())
    }

    /// Returns the product.
    #[must_use]
    #[inline]
    pub fn times(self, other: Element) -> Element {
        use Element::{Number as N, Unknown};
        match (self, other) {
            (N(a), N(b)) => N(a.times(b)),
            (Unknown(reason), _) | (_, Unknown(reason)) => Unknown(reason),
            (special, N(factor)) | (N(factor), special) => match factor.sign {
                Some(Sign::Positive) => special,
                Some(Sign::Negative) => special.negated(),
                None => Unknown(Reason::InfinityInArithmetic),
            },
            _ => Unknown(Reason::InfinityInArithmetic),
        }
    }

    /// Returns the quotient.
    #[must_use]
    pub fn over(self, other: Element) -> Element {
        use Element::{Infinite, Number as N, Unknown};
        match (self, other) {
            (N(a), N(b)) => a.over(b).map_or(Unknown(Reason::DivisionByZero), N),
            (Unknown(reason), _) | (_, Unknown(reason)) => Unknown(reason),
            (N(_), Infinite { .. }) => Element::ZERO,
            _ => Unknown(Reason::InfinityInArithmetic),
        }
    }
}

impl Number {
    /// Returns a whole number.
    pub(super) fn of(number: i128) -> Number {
        let (value, exponent) = (Values::of(number), Some(Exponent::of(Exponents::of(number))));
        Number { value, exponent, degree: [0, 0], sign: Sign::of(number as f64) }
    }

    /// Returns a quotient of two whole numbers; `None` if a prime divides the divisor.
    pub(super) fn ratio(numerator: i128, denominator: i128) -> Option<Number> {
        Number::of(numerator).over(Number::of(denominator))
    }

    /// True if it is made of constants only.
    pub(super) fn is_constant(self) -> bool {
        self.degree == [0, 0]
    }

    /// Returns the whole number of at most 32 bits that it is.
    pub(super) fn small(self) -> Option<i64> {
        whole(self.value, 1 << 32)
    }

    /// Returns the number that it is, if that is a whole number of at most 32 bits, or below 512 with at most 44 binary places, as the floats
    /// 1.5 and 0.1 are. One of 128 random elements is such a number, too.
    pub(super) fn real(self) -> Option<f64> {
        const PLACES: u64 = 1 << 44;
        // An f64 holds whole numbers of 53 bits.
        let scaled = || whole(Values::mul(self.value, PLACES), 1 << 53).map(|scaled| scaled as f64 / PLACES as f64);
        self.small().map(|small| small as f64).or_else(scaled)
    }

    #[inline]
    fn plus(self, other: Number) -> Number {
        let ([n, d], [m, e]) = (self.degree, other.degree);
        Number {
            value: Values::add(self.value, other.value),
            exponent: self.exponent.zip(other.exponent).map(|(a, b)| a.plus(b)),
            degree: [n.saturating_add(e).max(m.saturating_add(d)), d.saturating_add(e)],
            sign: self.sign.filter(|sign| Some(*sign) == other.sign),
        }
    }

    fn negated(self) -> Number {
        Number {
            value: Values::sub(0, self.value),
            exponent: self.exponent.map(|e| Exponent::of(Exponents::sub(0, e.get()))),
            sign: self.sign.map(|sign| sign.times(Sign::Negative)),
            ..self
        }
    }

    #[inline]
    pub(super) fn times(self, other: Number) -> Number {
        let ([n, d], [m, e]) = (self.degree, other.degree);
        Number {
            value: Values::mul(self.value, other.value),
            exponent: self.exponent.zip(other.exponent).map(|(a, b)| a.times(b)),
            degree: [n.saturating_add(m), d.saturating_add(e)],
            sign: self.sign.zip(other.sign).map(|(a, b)| a.times(b)),
        }
    }

    pub(super) fn over(self, other: Number) -> Option<Number> {
        let ([n, d], [m, e]) = (self.degree, other.degree);
        let exponent = match (self.exponent, other.exponent) {
            (Some(a), Some(b)) => Some(a.times(b.inverse()?)),
            _ => None,
        };
        let value = Values::mul(self.value, Values::inverse(other.value)?);
        let sign = self.sign.zip(other.sign).map(|(a, b)| a.times(b));
        Some(Number { value, exponent, degree: [n.saturating_add(e), d.saturating_add(m)], sign })
    }
}

/// Returns the whole number that a residue is, if it is not above `most` in size.
fn whole(value: u64, most: u64) -> Option<i64> {
    let away = Values::PRIME - value;
    match (value <= most, away <= most) {
        (true, _) => Some(value as i64),
        (_, true) => Some(-(away as i64)),
        _ => None,
    }
}
