//! Divisibility by a constant.

use crate::facts::context::Context;
use crate::facts::polynomials::atoms::Atom;
use crate::facts::polynomials::mono::AtomId;
use crate::facts::polynomials::poly::{Poly, gcd};

/// The most minima and selects that are split into cases within each other.
const MAX_CASES: u32 = 4;
/// The most multiples of an equation that are tried.
const MAX_MULTIPLES: i128 = 64;

impl Context<'_> {
    /// True if `c` provably divides the polynomial's value, term by term ([`DIVIDES_SUM`](crate::expr::rules::DIVIDES_SUM),
    /// [`DIVIDES_PRODUCT`](crate::expr::rules::DIVIDES_PRODUCT)). `c >= 1`.
    pub(in crate::facts) fn divides(&mut self, c: i128, p: &Poly) -> bool {
        self.divides_at(c, p, MAX_CASES)
    }

    fn divides_at(&mut self, c: i128, p: &Poly, cases: u32) -> bool {
        let rest = p.filter(|mono, k| {
            let factor = mono.atoms().try_fold(k, |f, atom| f.checked_mul(self.known_factor(atom)));
            factor.is_none_or(|f| f % c != 0)
        });
        rest.is_zero() || self.by_zeros(c, &rest) || (cases > 0 && self.by_cases(c, &rest, cases))
    }

    /// Returns a number that divides every value of the atom, for example by [`DIVIDES_MIN0`](crate::expr::rules::DIVIDES_MIN0). It is 0 if
    /// the atom is 0.
    fn known_factor(&self, atom: AtomId) -> i128 {
        let all = |p: &Poly| gcd(p.content(), p.constant_term());
        match &self.atoms.get(atom).atom {
            Atom::Min0(p) => all(p),
            Atom::Select(select) => gcd(all(&select.then), all(&select.other)),
            Atom::Dim(_)
            | Atom::Axis(_)
            | Atom::Floor { .. }
            | Atom::Quotient { .. }
            | Atom::Data { .. }
            | Atom::Element { .. } => 1,
        }
    }

    /// Adds a multiple of a polynomial that is 0, by [`DIVIDES_WITH_ZERO`](crate::expr::rules::DIVIDES_WITH_ZERO).
    fn by_zeros(&self, c: i128, p: &Poly) -> bool {
        let vanishes = |zero: &Poly, k: i128| {
            let sum = zero.scale(k).and_then(|z| p.add(&z));
            sum.is_some_and(|sum| sum.terms.iter().all(|(_, k)| k % c == 0))
        };
        self.zeros.iter().any(|zero| (1..c.min(MAX_MULTIPLES)).any(|k| vanishes(zero, k)))
    }

    fn by_cases(&mut self, c: i128, p: &Poly, cases: u32) -> bool {
        let split = p.atoms().into_iter().rev().find_map(|id| match &self.atoms.get(id).atom {
            Atom::Min0(inner) => Some((id, inner.clone(), Poly::default())),
            Atom::Select(select) => Some((id, select.then.clone(), select.other.clone())),
            _ => None,
        });
        let Some((id, first, second)) = split else { return false };
        [first, second].iter().all(|value| self.substitute(p, id, value).is_some_and(|p| self.divides_at(c, &p, cases - 1)))
    }
}
