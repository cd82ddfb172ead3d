//! Sizes over dims as readable polynomials. For example, `(M + 7) / 8 * ((N + 7) / 8) * (128 * K)` becomes `2 M N K`.
//!
//! A rounded number of tiles counts as the unrounded quotient. So a formula is exact if all tiles are full, and says `about` if they
//! need not be.

use std::collections::BTreeMap;
use std::fmt::Write;
use tilewright_dsl::launch::Size;

/// The beginning of a formula that counts whole tiles.
pub const ABOUT: &str = "about ";

/// The most terms of a formula. A longer one is not readable.
const TERMS: usize = 6;

/// A polynomial over atoms: dims, and other expressions that are neither sums nor products.
#[derive(Clone, Debug, Default)]
struct Polynomial {
    /// The coefficient of each product of atoms. The atoms of a product are sorted.
    terms: BTreeMap<Vec<Atom>, Ratio>,
    /// True if a rounded quotient counts as the unrounded one.
    is_rounded: bool,
}

/// A factor of a term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Atom {
    /// A dim, by its index.
    Dim(u32),
    /// Anything else, as users write it.
    Other(String),
}

/// A fraction in lowest terms, with a positive denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ratio(i128, i128);

impl Ratio {
    fn new(numerator: i128, denominator: i128) -> Option<Ratio> {
        let (mut a, mut b) = (numerator.unsigned_abs(), denominator.unsigned_abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let by = i128::try_from(a).ok().filter(|by| *by != 0)?;
        let sign = if denominator < 0 { -1 } else { 1 };
        Some(Ratio(numerator.checked_div(by)?.checked_mul(sign)?, denominator.checked_div(by)?.checked_mul(sign)?))
    }

    fn plus(self, other: Ratio) -> Option<Ratio> {
        let sum = self.0.checked_mul(other.1)?.checked_add(other.0.checked_mul(self.1)?)?;
        Ratio::new(sum, self.1.checked_mul(other.1)?)
    }

    fn times(self, other: Ratio) -> Option<Ratio> {
        Ratio::new(self.0.checked_mul(other.0)?, self.1.checked_mul(other.1)?)
    }
}

impl Polynomial {
    fn constant(value: i64) -> Polynomial {
        let terms = if value == 0 { BTreeMap::new() } else { BTreeMap::from([(Vec::new(), Ratio(value.into(), 1))]) };
        Polynomial { terms, is_rounded: false }
    }

    fn atom(atom: Atom) -> Polynomial {
        Polynomial { terms: BTreeMap::from([(vec![atom], Ratio(1, 1))]), is_rounded: false }
    }

    fn plus(mut self, other: &Polynomial, times: Ratio) -> Option<Polynomial> {
        for (atoms, ratio) in &other.terms {
            let sum = self.terms.remove(atoms).unwrap_or(Ratio(0, 1)).plus(ratio.times(times)?)?;
            if sum.0 != 0 {
                self.terms.insert(atoms.clone(), sum);
            }
        }
        self.is_rounded |= other.is_rounded;
        Some(self)
    }

    fn times(&self, other: &Polynomial) -> Option<Polynomial> {
        let mut product = Polynomial { terms: BTreeMap::new(), is_rounded: self.is_rounded || other.is_rounded };
        for (a, x) in &self.terms {
            for (b, y) in &other.terms {
                let mut atoms: Vec<Atom> = a.iter().chain(b).cloned().collect();
                atoms.sort();
                let one = Polynomial { terms: BTreeMap::from([(atoms, x.times(*y)?)]), is_rounded: false };
                product = product.plus(&one, Ratio(1, 1))?;
            }
        }
        Some(product)
    }

    /// Divides by a literal. The quotient is rounded to minus infinity, so a constant below the divisor only changes the rounding,
    /// and is dropped.
    fn divided(mut self, by: i64) -> Option<Polynomial> {
        if by <= 0 {
            return None;
        }
        let constant = self.terms.get(&Vec::new()).copied();
        let is_rounding = |Ratio(n, d): Ratio| d == 1 && (0..i128::from(by)).contains(&n) && self.terms.len() > 1;
        if constant.is_some_and(is_rounding) {
            self.terms.remove(&Vec::new());
            self.is_rounded = true;
        }
        Polynomial::default().plus(&self, Ratio::new(1, by.into())?)
    }

    fn of(size: &Size, name: &dyn Fn(u32) -> String) -> Option<Polynomial> {
        let two = |a: &Size, b: &Size| Some((Polynomial::of(a, name)?, Polynomial::of(b, name)?));
        match size {
            Size::Const(value) => Some(Polynomial::constant(*value)),
            Size::Dim(dim) => Some(Polynomial::atom(Atom::Dim(*dim))),
            Size::Add(a, b) => two(a, b).and_then(|(a, b)| a.plus(&b, Ratio(1, 1))),
            Size::Sub(a, b) => two(a, b).and_then(|(a, b)| a.plus(&b, Ratio(-1, 1))),
            Size::Mul(a, b) => two(a, b).and_then(|(a, b)| a.times(&b)),
            Size::FloorDiv(a, b) => match **b {
                Size::Const(by) => Polynomial::of(a, name)?.divided(by),
                _ => Some(Polynomial::atom(Atom::Other(format!("({})", size.display(name))))),
            },
            Size::FloorMod(..) => Some(Polynomial::atom(Atom::Other(format!("({})", size.display(name))))),
            Size::Min(..) | Size::Max(..) => Some(Polynomial::atom(Atom::Other(size.display(name).to_string()))),
        }
    }

    fn shown(&self, name: &dyn Fn(u32) -> String) -> String {
        // The highest powers first.
        let mut terms: Vec<(&Vec<Atom>, &Ratio)> = self.terms.iter().collect();
        terms.sort_by_key(|(atoms, _)| std::cmp::Reverse(atoms.len()));
        let mut text = String::new();
        for (atoms, Ratio(n, d)) in terms {
            let sign = match (text.is_empty(), *n < 0) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            let size = n.unsigned_abs();
            let number = if *d == 1 { size.to_string() } else { format!("{size}/{d}") };
            text += sign;
            if number != "1" || atoms.is_empty() {
                text += &number;
            }
            for group in atoms.chunk_by(|a, b| a == b) {
                let atom = match &group[0] {
                    Atom::Dim(dim) => name(*dim),
                    Atom::Other(text) => text.clone(),
                };
                let space = if text.is_empty() || text.ends_with([' ', '-']) { "" } else { " " };
                let power = if group.len() > 1 { format!("^{}", group.len()) } else { String::new() };
                let _ = write!(text, "{space}{atom}{power}");
            }
        }
        if text.is_empty() { "0".into() } else { text }
    }
}

/// Returns a size as a polynomial of dims, with `about` in front if tiles need not be full. A size with too many terms, or
/// coefficients beyond 128 bits, is shown as it is computed.
pub fn formula(size: &Size, name: &dyn Fn(u32) -> String) -> String {
    match Polynomial::of(size, name).filter(|polynomial| polynomial.terms.len() <= TERMS) {
        Some(polynomial) if polynomial.is_rounded => format!("{ABOUT}{}", polynomial.shown(name)),
        Some(polynomial) => polynomial.shown(name),
        None => size.display(name).to_string(),
    }
}

/// The sign of a size at all sizes of the dims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// It is never positive.
    NotPositive,
    /// It is never negative.
    NotNegative,
}

/// Returns the sign of `x * a - y * b`, if all its terms have the same one. Rounded numbers of tiles count as unrounded.
pub(super) fn sign((x, a): (i64, &Size), (y, b): (i64, &Size)) -> Option<Sign> {
    let name = |dim: u32| dim.to_string();
    let (a, b) = (Polynomial::of(a, &name)?, Polynomial::of(b, &name)?);
    let difference = Polynomial::default().plus(&a, Ratio(x.into(), 1))?.plus(&b, Ratio((-y).into(), 1))?;
    // The sign of other atoms than dims is not known.
    let is_dim = |atom: &Atom| matches!(atom, Atom::Dim(_));
    let all =
        |is_right: fn(i128) -> bool| difference.terms.iter().all(|(atoms, ratio)| is_right(ratio.0) && atoms.iter().all(is_dim));
    match () {
        () if all(|n| n <= 0) => Some(Sign::NotPositive),
        () if all(|n| n >= 0) => Some(Sign::NotNegative),
        () => None,
    }
}
