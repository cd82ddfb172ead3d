//! The numbers of a plan that can become tuned constants.
//!
//! A plan is written twice: with literals, which the compiler applies, and with constants (`tune THREADS in [128, 256] = 256;`), for
//! `tilewright tune`. A [`Number`] has both forms. Its display contains both, and [`rendered`] takes one of them.

use std::collections::BTreeSet;
use std::fmt;

/// A tuned constant of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Its name.
    pub name: String,
    /// The planned value.
    pub value: i64,
    /// The candidates, the planned value among them, in increasing order.
    pub candidates: Vec<i64>,
}

/// A number: a literal, or an expression of tuned constants.
#[derive(Clone, Debug)]
pub(super) struct Number {
    /// Its planned value.
    pub(super) value: i64,
    /// The expression, if it is not a literal.
    tuned: Option<String>,
}

/// The characters around both forms of a number. No directive contains them.
const MARKS: [char; 3] = ['\u{1}', '\u{2}', '\u{3}'];

impl From<i64> for Number {
    fn from(value: i64) -> Number {
        Number { value, tuned: None }
    }
}

impl From<&Number> for Number {
    fn from(number: &Number) -> Number {
        number.clone()
    }
}

impl Number {
    /// Returns the number that a constant stands for.
    pub(super) fn of(constant: &Constant) -> Number {
        Number { value: constant.value, tuned: Some(constant.name.clone()) }
    }

    /// Returns the product with another number.
    pub(super) fn times(&self, other: impl Into<Number>) -> Number {
        let other = other.into();
        let tuned = match (self.form(), other.form()) {
            _ if self.tuned.is_none() && other.tuned.is_none() => None,
            (_, one) if one == "1" => Some(self.form()),
            (one, other) if one == "1" => Some(other),
            (one, other) => Some(format!("{one} * {other}")),
        };
        Number { value: self.value.saturating_mul(other.value), tuned }
    }

    /// Returns the quotient by another number, which divides it and is not 0.
    pub(super) fn over(&self, other: impl Into<Number>) -> Number {
        let other = other.into();
        let parted = |text: String| if text.contains(' ') { format!("({text})") } else { text };
        let tuned = match (&self.tuned, &other.tuned) {
            (None, None) => None,
            _ => Some(format!("{} / {}", parted(self.form()), parted(other.form()))),
        };
        Number { value: self.value.checked_div(other.value).unwrap_or(1), tuned }
    }

    fn form(&self) -> String {
        self.tuned.clone().unwrap_or_else(|| self.value.to_string())
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [open, middle, close] = MARKS;
        match &self.tuned {
            None => write!(f, "{}", self.value),
            Some(tuned) => write!(f, "{open}{}{middle}{tuned}{close}", self.value),
        }
    }
}

/// Returns a text with the numbers in it as literals, or as constants.
pub(super) fn rendered(text: &str, tuned: bool) -> String {
    let [open, middle, close] = MARKS;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, marked)) = rest.split_once(open) {
        out += before;
        let (number, after) = marked.split_once(close).unwrap_or((marked, ""));
        let (literal, constant) = number.split_once(middle).unwrap_or((number, number));
        out += if tuned { constant } else { literal };
        rest = after;
    }
    out + rest
}

/// Returns the candidates near a value: half of it, the value and its double, within bounds.
pub(super) fn near(value: i64, bounds: std::ops::RangeInclusive<i64>) -> Vec<i64> {
    let all = [value / 2, value, value.saturating_mul(2)];
    all.into_iter().filter(|n| *n == value || bounds.contains(n)).collect::<BTreeSet<_>>().into_iter().collect()
}
