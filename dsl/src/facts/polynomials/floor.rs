//! Normal forms of floors, minima and selects, so that equal values become equal polynomials.

use super::atoms::{Atom, Formula, Select};
use super::mono::{AtomId, Mono};
use super::poly::{Poly, gcd};
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
        match (rest.as_constant(), den.as_constant()) {
            (Some(c), Some(d)) => return whole.plus(c.div_euclid(d)),
            // These two hold for every divisor.
            (Some(c @ (0 | -1)), None) => return whole.plus(c),
            _ => {}
        }
        if let Some(nested) = self.nested_floor(&rest, &den) {
            return whole.add(&nested);
        }
        if self.is_digit(&rest, &den) {
            return Some(whole);
        }
        let quotient = self.atom(Atom::Floor { num: rest, den }, 0)?;
        self.relate_floors(&quotient, &whole);
        whole.add(&quotient)
    }

    /// Records how a floor relates to floors of the same numerator in `beside` whose divisors are multiples of its divisor:
    /// `floor(a / (d * k))` is `floor(floor(a / d) / k)`. Proofs about a component of a component of an axis need these relations.
    fn relate_floors(&mut self, quotient: &Poly, beside: &Poly) {
        let floor = |cx: &Self, id: AtomId| match &cx.atoms.get(id).atom {
            Atom::Floor { num, den } => Some((num.clone(), den.clone())),
            _ => None,
        };
        let [(mono, 1)] = quotient.variable_terms() else { return };
        let Some((num, den)) = mono.single().and_then(|id| floor(self, id)) else { return };
        for outer in beside.atoms() {
            let times = floor(self, outer).filter(|(of, _)| *of == num).and_then(|(_, by)| by.exact_div(&den));
            if let Some(times) = times
                && let Some(low) = times.mul(&Poly::atom(outer)).and_then(|whole| quotient.sub(&whole))
                && let Some(high) = times.sub(&low).and_then(|p| p.plus(-1))
            {
                self.atoms.relate(outer, [low, high]);
            }
        }
    }

    /// Applies `floor((floor(a / b) + k) / c) = floor((a + k * b) / (b * c))`, where `k` is an integer without another floor of
    /// coefficient 1. The relation between the two floors is recorded, because proofs about components of fused axes need it.
    /// `None` if `rest` does not have this form.
    fn nested_floor(&mut self, rest: &Poly, den: &Poly) -> Option<Poly> {
        let singles = rest.variable_terms().iter().filter(|(_, c)| *c == 1).filter_map(|(mono, _)| mono.single());
        let mut floors = singles.filter_map(|id| match &self.atoms.get(id).atom {
            Atom::Floor { num, den } => Some((id, num.clone(), den.clone())),
            _ => None,
        });
        let (inner, num, below) = floors.next().filter(|_| floors.next().is_none())?;
        let beside = rest.sub(&Poly::atom(inner))?;
        let num = num.add(&below.mul(&beside)?)?;
        let quotient = self.floor(&num, &below.mul(den)?)?;
        if let [(mono, 1)] = quotient.variable_terms()
            && let Some(outer) = mono.single()
            && matches!(self.atoms.get(outer).atom, Atom::Floor { .. })
            && let Some(low) = den.mul(&quotient).and_then(|q| rest.sub(&q))
            && let Some(high) = low.neg().and_then(|p| p.add(den)).and_then(|p| p.plus(-1))
        {
            self.atoms.relate(outer, [low, high]);
        }
        Some(quotient)
    }

    /// True if `0 <= p < den` is proved wherever their axes are in range.
    fn is_digit(&mut self, p: &Poly, den: &Poly) -> bool {
        self.prove_briefly(p) && den.sub(p).and_then(|d| d.plus(-1)).is_some_and(|d| self.prove_briefly(&d))
    }

    /// Returns `num - den * floor(num / den)`.
    pub(in crate::facts) fn modulo(&mut self, num: &Poly, den: &Poly) -> Option<Poly> {
        let quotient = self.floor(num, den)?;
        num.sub(&den.mul(&quotient)?)
    }

    /// Returns `min(p, 0)`. The atom's polynomial has a positive last coefficient, since `min(p, 0) = p + min(-p, 0)`.
    pub(super) fn min0(&mut self, p: &Poly) -> Option<Poly> {
        if let Some(c) = p.as_constant() {
            return Some(Poly::constant(c.min(0)));
        }
        let negated = p.neg()?;
        if self.prove_briefly(p) {
            return Some(Poly::default());
        }
        if self.prove_briefly(&negated) {
            return Some(p.clone());
        }
        let flip = p.terms.last().is_some_and(|(_, c)| *c < 0);
        let atom = self.atom(Atom::Min0(if flip { negated } else { p.clone() }), 0)?;
        if flip { p.add(&atom) } else { Some(atom) }
    }

    /// Returns the smaller of two polynomials.
    pub(in crate::facts) fn min(&mut self, a: &Poly, b: &Poly) -> Option<Poly> {
        let less = self.min0(&a.sub(b)?)?;
        b.add(&less)
    }

    /// Returns the greater of two polynomials.
    pub(in crate::facts) fn max(&mut self, a: &Poly, b: &Poly) -> Option<Poly> {
        let less = self.min0(&a.sub(b)?)?;
        a.sub(&less)
    }

    /// Returns `then` if `yes` holds, `other` if `no` holds.
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

/// Returns `(q, r)` with `num = q * den + r`. For a constant divisor, the constant term is divided with a remainder of at least
/// 0, and the other coefficients are truncated.
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

/// Cancels a common divisor of the divisor's terms and of the numerator's terms except the constant one.
fn reduce(num: Poly, den: Poly) -> (Poly, Poly) {
    let g = gcd(gcd(num.content(), den.content()), den.constant_term());
    if g <= 1 {
        return (num, den);
    }
    (num.floored(g), den.floored(g))
}
