//! Facts about dims: they are not negative, derived dims have their definitions, and the program's conditions and the prover's
//! assumptions hold.
//!
//! If possible, an equation becomes a replacement, so that polynomials are compared after it. For example, `N % 4 == 0` becomes
//! `N = 4 * q`, and the definition `OW = floor(n / S) + 1` of a derived dim replaces the floor by `OW - 1`. Inequalities, and
//! whatever else an equation implies, become facts.

use crate::expr::rules::{NONZERO_ABOVE, NONZERO_BELOW};
use crate::expr::{Binary, Expr, ExprId};
use crate::facts::context::Context;
use crate::facts::polynomials::atoms::{Atom, Formula};
use crate::facts::polynomials::congruence::root;
use crate::facts::polynomials::mono::AtomId;
use crate::facts::polynomials::poly::{Poly, Polys, gcd};
use crate::facts::polynomials::translate::comparison;
use crate::nest::{Condition, DimId};
use std::collections::{BTreeSet, HashMap};
use tilewright_launch::Relation;

/// The most equations that are derived from one equation, one after another.
const MAX_EQUATIONS: u32 = 64;

impl Context<'_> {
    /// Loads the program's dims, and the conditions whose index `take` accepts.
    pub(in crate::facts) fn load(&mut self, take: &dyn Fn(usize) -> bool) {
        let program = self.program;
        for (id, dim) in program.dims.iter() {
            if dim.derived.is_none() {
                let dim = self.dim(id);
                self.facts.extend(dim);
            }
        }
        // Conditions on symbolic dims come first, because the divisor of a derived dim may be positive only by such a condition.
        let taken = || program.checks.conditions.iter().enumerate().filter(|(i, _)| take(*i)).map(|(_, c)| c);
        let (late, early): (Vec<&Condition>, Vec<&Condition>) = taken().partition(|c| self.is_late(c));
        self.telling(early).into_iter().for_each(|c| self.condition(c));
        for (id, dim) in program.dims.iter() {
            if let Some(value) = dim.derived {
                self.define(id, value);
            }
        }
        self.telling(late).into_iter().for_each(|c| self.condition(c));
        self.find_signs();
    }

    /// Removes divisibility conditions that others imply, because each is a replacement and the replacements of one dim would
    /// accumulate. For example, a multiple of 8 is a multiple of 4. The largest divisors come first. Conditions are also dropped if
    /// the common multiple exceeds the largest dim.
    fn telling<'c>(&self, conditions: Vec<&'c Condition>) -> Vec<&'c Condition> {
        let exprs = &self.program.exprs;
        let modulus = |c: &Condition| match *exprs.get(c.left) {
            Expr::Binary(Binary::FloorMod | Binary::Rem, of, by)
                if c.relation == Relation::Eq && exprs.as_int(c.right) == Some(0) =>
            {
                exprs.as_int(by).filter(|by| *by >= 1).map(|by| (of, by))
            }
            _ => None,
        };
        let mut order: Vec<(usize, ExprId, i64)> =
            conditions.iter().enumerate().filter_map(|(n, c)| modulus(c).map(|(of, by)| (n, of, by))).collect();
        order.sort_by_key(|(_, _, by)| std::cmp::Reverse(*by));
        let (mut common, mut idle) = (HashMap::new(), BTreeSet::new());
        for (n, of, by) in order {
            let (known, by) = (common.entry(of).or_insert(1i128), i128::from(by));
            let both = *known / gcd(*known, by) * by;
            if both == *known || both > i128::from(i32::MAX) {
                idle.insert(n);
            } else {
                *known = both;
            }
        }
        conditions.into_iter().enumerate().filter(|(n, _)| !idle.contains(n)).map(|(_, c)| c).collect()
    }

    /// True if a condition names a derived dim.
    fn is_late(&self, condition: &Condition) -> bool {
        let exprs = &self.program.exprs;
        let derived = |e: &Expr| matches!(e, Expr::Dim(d) if self.program.dims[*d].derived.is_some());
        [condition.left, condition.right].into_iter().any(|side| exprs.any(side, &mut { derived }))
    }

    /// Loads a derived dim: its definition becomes an equation.
    fn define(&mut self, id: DimId, value: ExprId) {
        let definition = self.poly(value);
        let dim = self.dim(id);
        if let Some(zero) = definition.zip(dim).and_then(|(p, dim)| p.sub(&dim)) {
            self.equate(zero, MAX_EQUATIONS);
        }
        // Launches refuse sizes for which a derived dim is negative.
        let dim = self.dim(id);
        self.facts.extend(dim);
    }

    fn condition(&mut self, condition: &Condition) {
        let difference = self.poly(condition.left).zip(self.poly(condition.right)).and_then(|(a, b)| a.sub(&b));
        if let Some(formula) = difference.and_then(|d| comparison(condition.relation, &d, true)) {
            self.suppose(&formula);
        }
    }

    /// Assumes that a formula holds.
    pub(in crate::facts) fn suppose(&mut self, formula: &Formula) {
        match formula {
            Formula::NonNeg(p) => self.push_fact(p),
            Formula::Zero(p) => self.equate(p.clone(), MAX_EQUATIONS),
            Formula::NonZero(p) => {
                let p = self.resolve(p);
                self.nonzeros.extend(p);
            }
            Formula::All(parts) => parts.iter().for_each(|part| self.suppose(part)),
            Formula::Any(parts) => {
                let possible: Vec<&Formula> = parts.iter().filter(|part| !self.is_impossible(part)).collect();
                match possible.as_slice() {
                    [] => self.absurd = true,
                    [only] => self.suppose(only),
                    _ => {}
                }
            }
            Formula::Unknown => {}
        }
    }

    fn push_fact(&mut self, p: &Poly) {
        let Some(p) = self.resolve(p) else { return };
        match p.as_constant() {
            Some(c) => self.absurd |= c < 0,
            None => self.facts.push(p.tightened()),
        }
    }

    /// True if the facts refute a formula.
    fn is_impossible(&mut self, formula: &Formula) -> bool {
        let none = BTreeSet::new();
        let mut negative = |p: Option<Poly>| p.is_some_and(|p| self.prove_in(&none, &p));
        match formula {
            Formula::NonNeg(p) => negative(p.neg().and_then(|p| p.plus(-1))),
            Formula::Zero(p) => negative(p.plus(-1)) || negative(p.neg().and_then(|p| p.plus(-1))),
            Formula::NonZero(p) => negative(Some(p.clone())) && negative(p.neg()),
            Formula::All(parts) => parts.iter().any(|part| self.is_impossible(part)),
            Formula::Any(parts) => parts.iter().all(|part| self.is_impossible(part)),
            Formula::Unknown => false,
        }
    }

    /// Adds the equation `p = 0`. At most `left` more equations are derived from it. An equation may lack a solution
    /// ([`NO_SOLUTION`](crate::expr::rules::NO_SOLUTION)).
    fn equate(&mut self, p: Poly, left: u32) {
        let Some(p) = self.resolve(&p) else { return };
        let g = p.content();
        if g == 0 || p.constant_term() % g != 0 {
            // `p` is a constant, or cannot be 0 for integers.
            self.absurd |= !p.is_zero();
            return;
        }
        let p = if g > 1 { p.floored(g) } else { p };
        if left == 0 {
            return self.remember_zero(p);
        }
        if let Some((quotient, rest)) = self.exact_floor(&p) {
            // `p` implies both: the floor equals the quotient, and the rest is a multiple of the divisor.
            self.equate(rest, left - 1);
            return self.equate(quotient, left - 1);
        }
        if let Some((atom, value)) = self.solvable(&p) {
            return self.replace_atom(atom, value, left);
        }
        if let Some((atom, value)) = self.divisible(&p) {
            self.replace_atom(atom, value, left);
            return self.equate(p, left - 1);
        }
        self.remember_zero(p);
    }

    fn remember_zero(&mut self, p: Poly) {
        self.facts.extend(p.neg());
        self.facts.push(p.clone());
        self.zeros.push(p);
    }

    /// Uses [`EXACT_QUOTIENT`](crate::expr::rules::EXACT_QUOTIENT). Matches `p = ±(r - den * floor)` where the floor occurs only once.
    /// Then `p = 0` says that `r = den * q` for a quotient `q` that equals the floor. Returns the two polynomials that are 0: the floor
    /// minus `q`, and `r - den * q`.
    fn exact_floor(&mut self, p: &Poly) -> Option<(Poly, Poly)> {
        for id in p.atoms() {
            let Atom::Floor { den, .. } = self.atoms.get(id).atom.clone() else { continue };
            let (factor, rest) = p.split(id);
            if self.atoms.occurs(id, &rest) || self.atoms.occurs(id, &factor) {
                continue;
            }
            let rest = if factor == den {
                rest.neg()?
            } else if factor.neg()? == den {
                rest
            } else {
                continue;
            };
            if rest.as_constant().is_some() {
                continue;
            }
            let quotient = self.atom(Atom::Quotient { num: rest.clone(), den: den.clone() }, 0)?;
            return Some((Poly::atom(id).sub(&quotient)?, rest.sub(&den.mul(&quotient)?)?));
        }
        None
    }

    /// Solves an equation for an atom. Floors are preferred to dims, and derived dims to symbolic ones.
    fn solvable(&self, p: &Poly) -> Option<(AtomId, Poly)> {
        let mut best: Option<(u32, AtomId, Poly)> = None;
        for id in p.atoms() {
            let (factor, rest) = p.split(id);
            let value = match factor.as_constant() {
                Some(1) => rest.neg(),
                Some(-1) => Some(rest),
                _ => None,
            };
            let entry = self.atoms.get(id);
            let order = match entry.atom {
                Atom::Floor { .. } => 1000 + entry.rank,
                Atom::Dim(_) | Atom::Axis(_) => 10 + entry.rank,
                Atom::Quotient { .. } => 1,
                // Splitting these into cases proves more than a replacement.
                Atom::Min0(_) | Atom::Select(_) | Atom::Data { .. } | Atom::Element { .. } => continue,
            };
            if let Some(value) = value
                && !self.atoms.occurs(id, &value)
                && best.as_ref().is_none_or(|(o, i, _)| (order, id) > (*o, *i))
            {
                best = Some((order, id, value));
            }
        }
        best.map(|(_, id, value)| (id, value))
    }

    /// For `f * x + g * (…) + c = 0`, where `f` and `g` are coprime, returns `x` and `g * q + r`. `q` is a new quotient, and `r` solves
    /// `f * r + c = 0` modulo `g`.
    fn divisible(&mut self, p: &Poly) -> Option<(AtomId, Poly)> {
        for id in p.atoms() {
            let (factor, rest) = p.split(id);
            let simple = matches!(self.atoms.get(id).atom, Atom::Dim(_) | Atom::Axis(_) | Atom::Quotient { .. });
            let (g, Some(f)) = (rest.content(), factor.as_constant()) else { continue };
            if !simple || g < 2 || gcd(f, g) != 1 {
                continue;
            }
            let Some(r) = root(f, rest.constant_term(), g) else { continue };
            let num = Poly::atom(id).plus(-r)?;
            let quotient = self.atom(Atom::Quotient { num, den: Poly::constant(g) }, 0)?;
            return Some((id, quotient.scale(g)?.plus(r)?));
        }
        None
    }

    /// Replaces an atom by a value everywhere.
    fn replace_atom(&mut self, id: AtomId, value: Poly, left: u32) {
        // The facts from the atom's definition also hold for the value.
        let facts = self.atoms.facts(id);
        self.facts.extend(facts);
        self.equal.insert(id, value);
        self.forget();
        let facts = std::mem::take(&mut self.facts);
        self.facts = self.resolve_facts(facts);
        self.absurd |= self.facts.iter().any(|f| f.as_constant().is_some_and(|c| c < 0));
        self.facts.retain(|f| f.as_constant().is_none());
        let nonzeros = std::mem::take(&mut self.nonzeros);
        self.nonzeros = nonzeros.iter().filter_map(|p| self.resolve(p)).collect();
        let keys: Vec<(AtomId, Poly)> = self.equal.iter().map(|(id, value)| (*id, value.clone())).collect();
        for (id, value) in keys {
            match self.resolve(&value) {
                Some(value) => self.equal.insert(id, value),
                None => self.equal.remove(&id),
            };
        }
        let zeros = std::mem::take(&mut self.zeros);
        // A floor that has a value may now have another spelling, because atoms in it were replaced. The new spelling has the same value.
        let stale = self.respelled();
        for zero in zeros.into_iter().chain(stale) {
            self.equate(zero, left.saturating_sub(1));
        }
    }

    fn respelled(&mut self) -> Vec<Poly> {
        let keys: Vec<AtomId> = self.equal.keys().copied().collect();
        let mut zeros = Vec::new();
        for id in keys {
            let Atom::Floor { num, den } = self.atoms.get(id).atom.clone() else { continue };
            if !self.atoms.get(id).within.iter().any(|a| self.equal.contains_key(a)) {
                continue;
            }
            let spelled = self.resolve(&num).zip(self.resolve(&den)).and_then(|(num, den)| self.floor(&num, &den));
            let difference = spelled.and_then(|s| s.sub(self.equal.get(&id)?));
            zeros.extend(difference.and_then(|d| self.resolve(&d)).filter(|d| !d.is_zero()));
        }
        zeros
    }

    fn resolve_facts(&mut self, polys: Vec<Poly>) -> Vec<Poly> {
        let mut resolved: Vec<Poly> = Vec::with_capacity(polys.len());
        for p in polys {
            if let Some(p) = self.resolve(&p).map(Poly::tightened)
                && !resolved.contains(&p)
            {
                resolved.push(p);
            }
        }
        resolved
    }

    /// Adds a fact for each nonzero polynomial whose sign is provable.
    pub(in crate::facts) fn find_signs(&mut self) {
        let none = BTreeSet::new();
        for p in self.nonzeros.clone() {
            if p.is_zero() {
                self.absurd = true;
                continue;
            }
            let mut rules = [&NONZERO_ABOVE, &NONZERO_BELOW].into_iter();
            let rule = rules.find(|rule| rule.applies(&mut Polys, &[&p], |p| self.prove_in(&none, p)));
            rule.and_then(|rule| rule.claimed(&mut Polys, &[&p])).iter().for_each(|p| self.push_fact(p));
        }
        self.forget();
    }

    /// True if the facts provably contradict each other, so that no sizes satisfy them. False if no contradiction is found.
    pub(in crate::facts) fn is_absurd(&mut self) -> bool {
        let none = BTreeSet::new();
        let refuted = |cx: &mut Self, p: &Poly| p.neg().and_then(|p| p.plus(-1)).is_some_and(|p| cx.prove_in(&none, &p));
        self.absurd || self.facts.clone().iter().any(|fact| refuted(self, fact))
    }
}

/// Returns a minimal set of conditions that cannot all hold, by their indices. It leaves out one condition after another.
/// `absurd` says whether the given conditions contradict each other.
pub(in crate::facts) fn contradicting(absurd: impl Fn(&[usize]) -> bool, count: usize) -> Option<Vec<usize>> {
    let mut kept: Vec<usize> = (0..count).collect();
    if !absurd(&kept) {
        return None;
    }
    for candidate in 0..count {
        let fewer: Vec<usize> = kept.iter().copied().filter(|i| *i != candidate).collect();
        if absurd(&fewer) {
            kept = fewer;
        }
    }
    Some(kept)
}

impl Context<'_> {
    /// True if a condition is proved.
    pub(in crate::facts) fn holds(&mut self, condition: &Condition) -> bool {
        let Some((a, b)) = self.poly(condition.left).zip(self.poly(condition.right)) else { return false };
        let none = BTreeSet::new();
        let mut at_most = |a: &Poly, b: &Poly, distance: i64| {
            let difference = b.sub(a).and_then(|p| p.plus(-distance));
            difference.is_some_and(|p| self.prove_in(&none, &p))
        };
        match condition.relation {
            Relation::Eq => at_most(&a, &b, 0) && at_most(&b, &a, 0),
            Relation::Ne => at_most(&a, &b, 1) || at_most(&b, &a, 1),
            Relation::Lt => at_most(&a, &b, 1),
            Relation::Le => at_most(&a, &b, 0),
            Relation::Gt => at_most(&b, &a, 1),
            Relation::Ge => at_most(&b, &a, 0),
        }
    }
}
