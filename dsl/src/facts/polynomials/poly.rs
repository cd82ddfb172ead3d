//! Polynomials with integer coefficients over atoms. Their laws are the table [`SUMS`](crate::expr::rules::SUMS).
//!
//! Arithmetic is checked: a result that overflows `i128`, or has more than [`MAX_TERMS`] terms, is `None`. Every caller treats
//! it as "not proved".

use super::mono::{AtomId, Mono};
use crate::expr::Binary;
use crate::expr::rules::Algebra;
use smallvec::SmallVec;
use std::cmp::Ordering;

/// The most terms. The product of eight extents of two terms each has 256. A longer polynomial comes from an elimination that does
/// not help.
const MAX_TERMS: usize = 320;

/// A polynomial. It belongs to the [`Prover`](crate::facts::Prover) that made it, and to provers made from that one by adding assumptions.
/// Other provers number their atoms differently.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Poly {
    /// Sorted, without zero coefficients.
    pub(in crate::facts) terms: Vec<(Mono, i128)>,
}

impl Poly {
    /// Makes a constant.
    pub fn constant(value: impl Into<i128>) -> Poly {
        let value = value.into();
        Poly { terms: if value == 0 { Vec::new() } else { vec![(Mono::ONE, value)] } }
    }

    /// Makes the polynomial of one atom.
    pub fn atom(atom: AtomId) -> Poly {
        Poly { terms: vec![(Mono::atom(atom), 1)] }
    }

    /// Returns its value, if it is a constant.
    pub fn as_constant(&self) -> Option<i128> {
        match self.terms.as_slice() {
            [] => Some(0),
            [(Mono::ONE, value)] => Some(*value),
            _ => None,
        }
    }

    /// True if it is zero.
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns its constant term.
    pub(in crate::facts) fn constant_term(&self) -> i128 {
        match self.terms.first() {
            Some((Mono::ONE, c)) => *c,
            _ => 0,
        }
    }

    /// Returns its terms except the constant one.
    pub(in crate::facts) fn variable_terms(&self) -> &[(Mono, i128)] {
        match self.terms.first() {
            Some((Mono::ONE, _)) => &self.terms[1..],
            _ => &self.terms,
        }
    }

    /// Returns the sum.
    pub fn add(&self, other: &Poly) -> Option<Poly> {
        self.add_scaled(other, 1)
    }

    /// Returns the difference.
    pub fn sub(&self, other: &Poly) -> Option<Poly> {
        self.add_scaled(other, -1)
    }

    /// Returns the sum with a constant.
    pub fn plus(&self, value: impl Into<i128>) -> Option<Poly> {
        self.add(&Poly::constant(value))
    }

    /// Returns `-self`.
    pub fn neg(&self) -> Option<Poly> {
        self.scale(-1)
    }

    fn add_scaled(&self, other: &Poly, factor: i128) -> Option<Poly> {
        let (a, b) = (&self.terms, &other.terms);
        let mut terms = Vec::with_capacity(a.len() + b.len());
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let order = match (a.get(i), b.get(j)) {
                (Some(x), Some(y)) => x.0.cmp(&y.0),
                (Some(_), None) => Ordering::Less,
                _ => Ordering::Greater,
            };
            let (mono, value) = match order {
                Ordering::Less => a[i],
                Ordering::Equal => (a[i].0, a[i].1.checked_add(b[j].1.checked_mul(factor)?)?),
                Ordering::Greater => (b[j].0, b[j].1.checked_mul(factor)?),
            };
            i += usize::from(order.is_le());
            j += usize::from(order.is_ge());
            if value != 0 {
                terms.push((mono, value));
            }
        }
        (terms.len() <= MAX_TERMS).then_some(Poly { terms })
    }

    /// Returns the product.
    pub fn mul(&self, other: &Poly) -> Option<Poly> {
        if let Some(c) = other.as_constant() {
            return self.scale(c);
        }
        if let Some(c) = self.as_constant() {
            return other.scale(c);
        }
        if self.terms.len() * other.terms.len() > 16 * MAX_TERMS {
            return None;
        }
        let mut terms = Vec::with_capacity(self.terms.len() * other.terms.len());
        for (m, c) in &self.terms {
            for (n, d) in &other.terms {
                terms.push((m.times(*n)?, c.checked_mul(*d)?));
            }
        }
        Poly::collect(terms)
    }

    /// Returns the product with a constant.
    pub fn scale(&self, factor: i128) -> Option<Poly> {
        if factor == 0 {
            return Some(Poly::default());
        }
        let mut terms = self.terms.clone();
        for (_, c) in &mut terms {
            *c = c.checked_mul(factor)?;
        }
        Some(Poly { terms })
    }

    /// Makes a polynomial from terms in any order.
    fn collect(mut terms: Vec<(Mono, i128)>) -> Option<Poly> {
        terms.sort_unstable_by_key(|term| term.0);
        let mut merged: Vec<(Mono, i128)> = Vec::with_capacity(terms.len());
        for (mono, c) in terms {
            match merged.last_mut() {
                Some((last, sum)) if *last == mono => *sum = sum.checked_add(c)?,
                _ => merged.push((mono, c)),
            }
        }
        merged.retain(|(_, c)| *c != 0);
        (merged.len() <= MAX_TERMS).then_some(Poly { terms: merged })
    }

    /// Returns the terms that satisfy `f`.
    pub(in crate::facts) fn filter(&self, f: impl Fn(Mono, i128) -> bool) -> Poly {
        Poly { terms: self.terms.iter().filter(|(m, c)| f(*m, *c)).copied().collect() }
    }

    /// Returns `(a, b)` with `self = a * atom + b`, where `b` does not contain the atom in its terms.
    pub fn split(&self, atom: AtomId) -> (Poly, Poly) {
        let by = Mono::atom(atom);
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for (mono, c) in &self.terms {
            match mono.over(by) {
                Some(rest) => with.push((rest, *c)),
                None => without.push((*mono, *c)),
            }
        }
        // Division by an atom can change the order of monomials of one degree.
        with.sort_unstable_by_key(|term| term.0);
        (Poly { terms: with }, Poly { terms: without })
    }

    /// True if the atom occurs in a term. Atoms within atoms do not count.
    pub(in crate::facts) fn has(&self, atom: AtomId) -> bool {
        self.terms.iter().any(|(m, _)| m.contains(atom))
    }

    /// Returns the atoms of its terms, each once, sorted.
    pub(in crate::facts) fn atoms(&self) -> SmallVec<[AtomId; 8]> {
        let mut atoms: SmallVec<[AtomId; 8]> = self.terms.iter().flat_map(|(m, _)| m.atoms()).collect();
        atoms.sort_unstable();
        atoms.dedup();
        atoms
    }

    /// Returns the greatest common divisor of all coefficients except the constant term, or 0 if there are none.
    pub(in crate::facts) fn content(&self) -> i128 {
        self.variable_terms().iter().fold(0, |g, (_, c)| gcd(g, *c))
    }

    /// Returns a polynomial with smaller coefficients that is at least 0 for the same integers, by
    /// [`TIGHTENED`](crate::expr::rules::TIGHTENED).
    pub fn tightened(self) -> Poly {
        let g = self.content();
        if g <= 1 { self } else { self.floored(g) }
    }

    /// Divides all coefficients by `g`, which must divide all but the constant term. The constant term is floored.
    pub(in crate::facts) fn floored(&self, g: i128) -> Poly {
        let terms = self.terms.iter().map(|(m, c)| (*m, c.div_euclid(g))).filter(|(_, c)| *c != 0);
        Poly { terms: terms.collect() }
    }

    /// Returns `self / other`, if the remainder is 0.
    pub fn exact_div(&self, other: &Poly) -> Option<Poly> {
        let (quotient, rest) = self.div_rem(other)?;
        rest.is_zero().then_some(quotient)
    }

    /// Returns `(q, r)` with `self = q * other + r`, where no term of `r` is a multiple of `other`'s leading term.
    pub(super) fn div_rem(&self, other: &Poly) -> Option<(Poly, Poly)> {
        let (lead, by) = other.terms.last()?;
        let (mut quotient, mut rest) = (Poly::default(), self.clone());
        for _ in 0..MAX_TERMS {
            let multiple =
                |(m, c): &(Mono, i128)| Some((m.over(*lead).filter(|_| c.checked_rem(*by) == Some(0))?, c.checked_div(*by)?));
            let Some(term) = rest.terms.iter().rev().find_map(multiple) else {
                return Some((quotient, rest));
            };
            let term = Poly { terms: vec![term] };
            rest = rest.sub(&term.mul(other)?)?;
            quotient = quotient.add(&term)?;
        }
        None
    }
}

/// Terms of rules as polynomials, without floors, minima and choices.
pub(in crate::facts) struct Polys;

impl Algebra for Polys {
    type Value = Poly;

    fn int(&mut self, n: i64) -> Option<Poly> {
        Some(Poly::constant(n))
    }

    fn apply(&mut self, op: Binary, a: &Poly, b: &Poly) -> Option<Poly> {
        match op {
            Binary::Add => a.add(b),
            Binary::Sub => a.sub(b),
            Binary::Mul => a.mul(b),
            _ => None,
        }
    }
}

/// Returns the greatest common divisor, which is not negative.
pub fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    // The result overflows only if each operand is `i128::MIN` or 0. 1 is also a common divisor.
    i128::try_from(a).unwrap_or(1)
}
