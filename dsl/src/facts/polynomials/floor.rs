//! Normal forms of floors, minima and selects, so that equal values become equal polynomials.

use super::atoms::{Atom, Formula, Select};
use super::mono::{AtomId, Mono};
use super::poly::{Poly, Polys, gcd};
use crate::expr::Binary;
use crate::expr::rules::{
    Algebra, FLOOR_OF_DIGIT, FLOOR_OF_FLOOR, FLOOR_REST_HIGH, FLOOR_REST_LOW, Folded, LITERAL_QUOTIENTS, MAX_BY_MIN0, MIN_BY_MIN0,
    MIN0_OF_NONNEG, MIN0_OF_NONPOS, MOD_BY_FLOOR, folded,
};
use crate::facts::context::Context;

impl Context<'_> {
    /// Returns `num / den`, rounded towards minus infinity. The caller must know that `den >= 1` wherever this is evaluated.
    ///
    /// Multiples of the divisor are taken out of the floor, `floor(floor(a / b) / c)` becomes `floor(a / (b * c))`, a common
    /// divisor is cancelled, and the floor of a numerator that is provably in `0..den` is 0.
    pub(in crate::facts) fn floor(&mut self, num: &Poly, den: &Poly) -> Option<Poly> {
        if den.as_constant() == Some(1) {
            return Some(num.clone());
        }
        let (whole, rest) = take_out(num, den)?;
        let (rest, den) = reduce(rest, den.clone());
        if den.as_constant() == Some(1) {
            return whole.add(&rest);
        }
        if let Some(quotient) = of_literals(&rest, &den) {
            return whole.plus(quotient);
        }
        if let Some(nested) = self.nested_floor(&rest, &den) {
            return whole.add(&nested);
        }
        if FLOOR_OF_DIGIT.applies(&mut Polys, &[&rest, &den], |p| self.prove_briefly(p)) {
            return Some(whole);
        }
        let quotient = self.atom(Atom::Floor { num: rest, den }, 0)?;
        self.relate_floors(&quotient, &whole);
        whole.add(&quotient)
    }

    /// Records how a floor relates to floors of the same numerator in `beside` whose divisors are multiples of its divisor:
    /// `floor(a / (d * k))` is `floor(floor(a / d) / k)`, by [`FLOOR_BY_PRODUCT`](crate::expr::rules::FLOOR_BY_PRODUCT). Proofs about a
    /// component of a component of an axis need these relations.
    fn relate_floors(&mut self, quotient: &Poly, beside: &Poly) {
        let floor = |cx: &Self, id: AtomId| match &cx.atoms.get(id).atom {
            Atom::Floor { num, den } => Some((num.clone(), den.clone())),
            _ => None,
        };
        let [(mono, 1)] = quotient.variable_terms() else { return };
        let Some((num, den)) = mono.single().and_then(|id| floor(self, id)) else { return };
        for outer in beside.atoms() {
            let times = floor(self, outer).filter(|(of, _)| *of == num).and_then(|(_, by)| by.exact_div(&den));
            if let Some(times) = times {
                self.relate_rest(outer, quotient, &times, &Poly::atom(outer));
            }
        }
    }

    /// Records the facts about the remainder of a quotient `num / den`, in which `atom` occurs.
    fn relate_rest(&mut self, atom: AtomId, num: &Poly, den: &Poly, quotient: &Poly) {
        let facts = [&FLOOR_REST_LOW, &FLOOR_REST_HIGH].map(|rule| rule.claimed(&mut Polys, &[num, den, quotient]));
        if let [Some(low), Some(high)] = facts {
            self.atoms.relate(atom, [low, high]);
        }
    }

    /// Applies [`FLOOR_OF_FLOOR`] to `(floor(a / b) + k) / c`, where `k` is an integer without another floor of coefficient 1. The relation
    /// between the two floors is recorded, because proofs about components of fused axes need it. `None` if `rest` does not have this
    /// form.
    fn nested_floor(&mut self, rest: &Poly, den: &Poly) -> Option<Poly> {
        let singles = rest.variable_terms().iter().filter(|(_, c)| *c == 1).filter_map(|(mono, _)| mono.single());
        let mut floors = singles.filter_map(|id| match &self.atoms.get(id).atom {
            Atom::Floor { num, den } => Some((id, num.clone(), den.clone())),
            _ => None,
        });
        let (inner, num, below) = floors.next().filter(|_| floors.next().is_none())?;
        let beside = rest.sub(&Poly::atom(inner))?;
        let quotient = FLOOR_OF_FLOOR.result(self, &[&num, &below, &beside, den])?;
        if let [(mono, 1)] = quotient.variable_terms()
            && let Some(outer) = mono.single()
            && matches!(self.atoms.get(outer).atom, Atom::Floor { .. })
        {
            self.relate_rest(outer, rest, den, &quotient);
        }
        Some(quotient)
    }

    /// Returns `num - den * floor(num / den)`.
    pub(in crate::facts) fn modulo(&mut self, num: &Poly, den: &Poly) -> Option<Poly> {
        MOD_BY_FLOOR.result(self, &[num, den])
    }

    /// Returns `min(p, 0)`. The atom's polynomial has a positive last coefficient, by
    /// [`MIN0_FLIPPED`](crate::expr::rules::MIN0_FLIPPED).
    pub(super) fn min0(&mut self, p: &Poly) -> Option<Poly> {
        if let Some(c) = p.as_constant() {
            return Some(Poly::constant(c.min(0)));
        }
        for rule in [&MIN0_OF_NONNEG, &MIN0_OF_NONPOS] {
            if rule.applies(&mut Polys, &[p], |p| self.prove_briefly(p)) {
                return rule.result(&mut Polys, &[p]);
            }
        }
        let negated = p.neg()?;
        let flip = p.terms.last().is_some_and(|(_, c)| *c < 0);
        let atom = self.atom(Atom::Min0(if flip { negated } else { p.clone() }), 0)?;
        if flip { p.add(&atom) } else { Some(atom) }
    }

    /// Returns the smaller of two polynomials.
    pub(in crate::facts) fn min(&mut self, a: &Poly, b: &Poly) -> Option<Poly> {
        MIN_BY_MIN0.result(self, &[a, b])
    }

    /// Returns the greater of two polynomials.
    pub(in crate::facts) fn max(&mut self, a: &Poly, b: &Poly) -> Option<Poly> {
        MAX_BY_MIN0.result(self, &[a, b])
    }

    /// Returns `then` if `yes` holds, `other` if `no` holds. Equal values need no condition
    /// ([`CHOICE_OF_EQUAL`](crate::expr::rules::CHOICE_OF_EQUAL)).
    pub(super) fn choice(&mut self, yes: Formula, no: Formula, then: Poly, other: Poly) -> Option<Poly> {
        if then == other {
            return Some(then);
        }
        self.atom(Atom::Select(Box::new(Select { yes, no, then, other })), 0)
    }

    /// Replaces an atom by a value, also within other atoms.
    pub(in crate::facts) fn substitute(&mut self, p: &Poly, atom: AtomId, value: &Poly) -> Option<Poly> {
        self.rebuild(p, &mut |_, id| (id == atom).then(|| value.clone()), &|cx, id| cx.atoms.occurs_within(atom, id))
    }

    /// Replaces each atom for which `f` has a value. Atoms for which `inside` is true are rebuilt from their changed parts.
    pub(in crate::facts) fn rebuild(
        &mut self,
        p: &Poly,
        f: &mut dyn FnMut(&mut Self, AtomId) -> Option<Poly>,
        inside: &dyn Fn(&Self, AtomId) -> bool,
    ) -> Option<Poly> {
        let mut values: Vec<(AtomId, Poly)> = Vec::new();
        for id in p.atoms() {
            if let Some(value) = f(self, id) {
                values.push((id, value));
            } else if inside(self, id) {
                values.push((id, self.remake(id, f, inside)?));
            }
        }
        if values.is_empty() {
            return Some(p.clone());
        }
        let mut sum = Poly::default();
        for (mono, c) in &p.terms {
            let mut term = Poly::constant(*c);
            for atom in mono.atoms() {
                let value = values.iter().find(|(id, _)| *id == atom);
                term = match value {
                    Some((_, value)) => term.mul(value)?,
                    None => term.mul(&Poly::atom(atom))?,
                };
            }
            sum = sum.add(&term)?;
        }
        Some(sum)
    }

    fn remake(
        &mut self,
        id: AtomId,
        f: &mut dyn FnMut(&mut Self, AtomId) -> Option<Poly>,
        inside: &dyn Fn(&Self, AtomId) -> bool,
    ) -> Option<Poly> {
        match self.atoms.get(id).atom.clone() {
            Atom::Dim(_) | Atom::Axis(_) | Atom::Quotient { .. } | Atom::Data { .. } => Some(Poly::atom(id)),
            Atom::Floor { num, den } => {
                let (num, den) = (self.rebuild(&num, f, inside)?, self.rebuild(&den, f, inside)?);
                self.floor(&num, &den)
            }
            Atom::Element { of, to, index } => {
                let index = index.iter().map(|at| self.rebuild(at, f, inside)).collect::<Option<_>>()?;
                self.element(of, to, index)
            }
            Atom::Min0(p) => {
                let p = self.rebuild(&p, f, inside)?;
                self.min0(&p)
            }
            Atom::Select(select) => {
                let (then, other) = (self.rebuild(&select.then, f, inside)?, self.rebuild(&select.other, f, inside)?);
                let yes = select.yes.map(&mut |p| self.rebuild(p, f, inside));
                let no = select.no.map(&mut |p| self.rebuild(p, f, inside));
                self.choice(yes, no, then, other)
            }
        }
    }
}

/// Terms of rules as polynomials, with floors and minima in normal form.
impl Algebra for Context<'_> {
    type Value = Poly;

    fn int(&mut self, n: i64) -> Option<Poly> {
        Polys.int(n)
    }

    fn apply(&mut self, op: Binary, a: &Poly, b: &Poly) -> Option<Poly> {
        match op {
            Binary::FloorDiv => self.floor(a, b),
            Binary::FloorMod => self.modulo(a, b),
            Binary::Min if b.is_zero() => self.min0(a),
            Binary::Min => self.min(a, b),
            Binary::Max => self.max(a, b),
            _ => Polys.apply(op, a, b),
        }
    }
}

/// Returns the quotient of literals, or of a literal by any divisor.
fn of_literals(num: &Poly, den: &Poly) -> Option<i128> {
    if let (Some(c), Some(d)) = (num.as_constant(), den.as_constant()) {
        return Some(c.div_euclid(d));
    }
    let [num, den] = [num, den].map(|p| p.as_constant().and_then(|c| i64::try_from(c).ok()));
    match folded(LITERAL_QUOTIENTS, Binary::FloorDiv, [num, den])? {
        Folded::Int(n) => Some(n.into()),
        Folded::Operand(_) => None,
    }
}

/// Returns `(q, r)` with `num = q * den + r`, for [`FLOOR_OF_MULTIPLE`](crate::expr::rules::FLOOR_OF_MULTIPLE). For a constant divisor,
/// the constant term is divided with a remainder of at least 0, and the other coefficients are truncated.
fn take_out(num: &Poly, den: &Poly) -> Option<(Poly, Poly)> {
    let Some(d) = den.as_constant() else {
        let (quotient, rest) = num.div_rem(den)?;
        // For a divisor with several terms, the remainder can have more terms than the numerator. Then no quotient is taken out.
        let shorter = den.terms.len() == 1 || rest.terms.len() < num.terms.len();
        return Some(if shorter { (quotient, rest) } else { (Poly::default(), num.clone()) });
    };
    let mut whole = num.clone();
    for (mono, c) in &mut whole.terms {
        *c = if *mono == Mono::ONE { c.div_euclid(d) } else { c.checked_div(d)? };
    }
    whole.terms.retain(|(_, c)| *c != 0);
    let rest = num.sub(&whole.scale(d)?)?;
    Some((whole, rest))
}

/// Cancels a common divisor of the divisor's terms and of the numerator's terms except the constant one, by
/// [`FLOOR_OF_COMMON_FACTOR`](crate::expr::rules::FLOOR_OF_COMMON_FACTOR).
fn reduce(num: Poly, den: Poly) -> (Poly, Poly) {
    let g = gcd(gcd(num.content(), den.content()), den.constant_term());
    if g <= 1 {
        return (num, den);
    }
    (num.floored(g), den.floored(g))
}
