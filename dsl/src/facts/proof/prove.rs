//! The search for a proof that a polynomial is at least 0.
//!
//! A polynomial is proved if none of its terms is negative ([`Query::plain`]). Otherwise the highest-ranking atom is replaced
//! by a lower or upper bound from a fact, depending on the sign of its factor. The result must then be at least 0. A select or
//! a minimum is proved in both its cases, and an axis whose factor has an unknown sign at both its ends. Depth and steps are
//! bounded. If they run out, the claim is not proved.

use crate::expr::rules::{
    AT_BOTH_ENDS, AT_LOWER_BOUND, AT_UPPER_BOUND, FLOOR_NONNEG, FLOOR_SCALED, FLOOR_WIDENED, FLOORS_COMPARED, MIN0_OF_NONNEG,
    MIN0_OF_NONPOS, NONZERO_ABOVE, NONZERO_BELOW, POSITIVE_FACTOR, SCALED_FACT,
};
use crate::facts::context::Context;
use crate::facts::polynomials::atoms::{Atom, Formula};
use crate::facts::polynomials::mono::AtomId;
use crate::facts::polynomials::poly::{Poly, Polys, gcd};
use crate::facts::sources::known::Ground;
use crate::table::Map;
use smallvec::SmallVec;

/// The depth of nested replacements and the number of polynomials in each round. Early rounds are short, so that short proofs
/// are found before the search gets lost in long ones.
pub(in crate::facts) const ROUNDS: [(u32, u32); 3] = [(4, 60), (8, 200), (12, 400)];
/// The depth and number of polynomials of the round in which minima are replaced in pairs.
const PAIRS: (u32, u32) = (8, 100);
/// The depth of side questions, for example about the sign of a factor.
const SIDE_DEPTH: u32 = 3;
/// The number of polynomials that a side question may consider.
const SIDE_STEPS: u32 = 16;
/// The most work for a claim. Each polynomial that is considered costs 1, and so does each goal derived from it.
pub(in crate::facts) const MAX_WORK: u32 = 700;
/// The cost of each question, before its polynomials.
const QUESTION: u32 = 10;
/// The most side questions nested in each other.
const MAX_LEVEL: u32 = 1;

/// A question: whether a polynomial is at least 0.
pub(in crate::facts) struct Query<'c, 'p> {
    cx: &'c mut Context<'p>,
    /// The facts for the question, and points at which they hold.
    ground: Ground,
    /// The greatest known constant lower bounds of atoms.
    lowers: Map<AtomId, Option<i128>>,
    /// Polynomials that were not proved, with the depth of the attempt.
    failed: Map<Poly, u32>,
    /// Atoms whose lower bound is being computed. They guard against cycles.
    finding: Vec<AtomId>,
    /// The number of side questions nested in each other.
    level: u32,
    /// The number of polynomials that this round may still consider.
    steps: u32,
    /// True if minima are replaced in pairs in this round.
    pairs: bool,
}

/// The sign of an integer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sign {
    NonNeg,
    NonPos,
}

impl<'c, 'p> Query<'c, 'p> {
    /// Tries to prove `p >= 0` on the given ground. Returns the ground for the next question.
    pub(in crate::facts) fn ask(cx: &'c mut Context<'p>, ground: Ground, p: &Poly, rounds: usize) -> (bool, Ground) {
        cx.spend(QUESTION);
        let (lowers, failed) = (Map::default(), Map::default());
        let mut query = Query { cx, ground, lowers, failed, finding: Vec::new(), level: 0, steps: 0, pairs: false };
        let mark = query.ground.known.mark();
        let proved = query.prove(p, rounds);
        query.ground.known.undo(mark);
        (proved, query.ground)
    }

    fn prove(&mut self, p: &Poly, rounds: usize) -> bool {
        if self.is_refuted(p) {
            return false;
        }
        self.ground.known.learn_atoms(&self.cx.atoms, p);
        self.in_pairs(p)
            || ROUNDS.into_iter().take(rounds).any(|(depth, steps)| {
                self.steps = steps;
                self.search(p.clone(), depth)
            })
            || self.is_factor(p)
    }

    /// Runs a round in which minima are replaced in pairs. Other rounds split minima into cases. Its cost is not charged to the claim.
    fn in_pairs(&mut self, p: &Poly) -> bool {
        if self.cx.nesting > 1 || self.minima(p).is_none() {
            return false;
        }
        let ((depth, steps), work) = (PAIRS, self.cx.work);
        (self.steps, self.pairs) = (steps, true);
        let proved = self.search(p.clone(), depth);
        (self.cx.work, self.pairs) = (work, false);
        self.failed.clear();
        proved
    }

    /// Adds a fact temporarily.
    fn learn(&mut self, fact: Poly) {
        self.ground.known.learn(&self.cx.atoms, fact);
        self.lowers.clear();
        self.failed.clear();
    }

    /// Tries a short proof of a condition that a step depends on.
    fn side(&mut self, p: &Poly) -> bool {
        if self.plain(p) {
            return true;
        }
        if self.level >= MAX_LEVEL {
            return false;
        }
        self.level += 1;
        let steps = std::mem::replace(&mut self.steps, SIDE_STEPS);
        let proved = self.search(p.clone(), SIDE_DEPTH);
        self.level -= 1;
        self.steps = steps;
        proved
    }

    fn search(&mut self, p: Poly, depth: u32) -> bool {
        let p = p.tightened();
        if self.plain(&p) {
            return true;
        }
        if depth == 0
            || self.steps == 0
            || self.cx.work == 0
            || self.is_refuted(&p)
            || self.failed.get(&p).is_some_and(|tried| *tried >= depth)
        {
            return false;
        }
        self.steps -= 1;
        self.cx.spend(1);
        let proved = self.is_known(&p)
            || (self.pairs && self.minima(&p).is_some_and(|goal| self.search(goal, depth - 1)))
            || self.cases(&p, depth).unwrap_or_else(|| self.replace(&p, depth));
        if !proved {
            self.failed.insert(p, depth);
        }
        proved
    }

    /// True if one fact implies `p` without a search, so that the minima in both need not be split into cases.
    fn is_known(&self, p: &Poly) -> bool {
        let Some(atom) = p.variable_terms().last().and_then(|(mono, _)| mono.atoms().next()) else { return false };
        self.ground.known.about(atom).iter().any(|place| {
            let fact = self.ground.known.get(*place);
            fact.variable_terms() == p.variable_terms() && fact.constant_term() <= p.constant_term()
        })
    }

    /// True if `p` is negative at a sample point.
    fn is_refuted(&mut self, p: &Poly) -> bool {
        self.ground.samples.iter_mut().any(|sample| self.cx.value_at(p, sample).is_some_and(|v| v < 0))
    }

    /// True if the sum of the terms' lower bounds is at least 0.
    fn plain(&mut self, p: &Poly) -> bool {
        self.plain_lower(p).is_some_and(|low| low >= 0)
    }

    /// Returns the sum of the terms' lower bounds, if each term has one, by [`PRODUCT_LOW`](crate::expr::rules::PRODUCT_LOW).
    fn plain_lower(&mut self, p: &Poly) -> Option<i128> {
        let is_minimum = |id: AtomId| matches!(self.cx.atoms.get(id).atom, Atom::Min0(_));
        // A negative multiple of a minimum with 0 is at least 0, by `MIN0_AT_MOST_ZERO`.
        if p.variable_terms().iter().any(|(mono, c)| *c < 0 && !mono.single().is_some_and(is_minimum)) {
            return None;
        }
        let mut sum = p.constant_term();
        for (mono, c) in p.variable_terms().iter().filter(|(_, c)| *c > 0) {
            let mut low = *c;
            for atom in mono.atoms() {
                let atom = self.lower(atom).filter(|low| *low >= 0)?;
                low = low.checked_mul(atom)?;
            }
            sum = sum.checked_add(low)?;
        }
        Some(sum)
    }

    /// Returns a constant lower bound of an atom.
    fn lower(&mut self, atom: AtomId) -> Option<i128> {
        if let Some(known) = self.lowers.get(&atom) {
            return *known;
        }
        if self.finding.contains(&atom) {
            return None;
        }
        self.finding.push(atom);
        let best = self.find_lower(atom);
        self.finding.pop();
        self.lowers.insert(atom, best);
        best
    }

    fn find_lower(&mut self, atom: AtomId) -> Option<i128> {
        let mut best = None;
        for place in self.ground.known.about(atom) {
            let fact = self.ground.known.get(*place);
            if let [(mono, c)] = fact.variable_terms()
                && *c > 0
                && mono.degree() == 1
            {
                // Facts are tightened, so a single coefficient is 1.
                best = best.max(fact.constant_term().checked_neg());
            }
        }
        if let Atom::Floor { num, den } = self.cx.atoms.get(atom).atom.clone() {
            let low = self.plain_lower(&num);
            let quotient = match (low, den.as_constant()) {
                (Some(low), Some(d)) => Some(low.div_euclid(d)),
                (Some(low), None) if low >= 0 => Some(0),
                _ => None,
            };
            best = best.max(quotient);
            if best.is_none() && FLOOR_NONNEG.applies(&mut Polys, &[&num, &den], |p| self.side(p)) {
                best = Some(0);
            }
        }
        best
    }

    fn sign(&mut self, p: &Poly) -> Option<Sign> {
        let negated = p.neg()?;
        if self.plain(p) {
            Some(Sign::NonNeg)
        } else if self.plain(&negated) {
            Some(Sign::NonPos)
        } else if self.side(p) {
            Some(Sign::NonNeg)
        } else if self.side(&negated) {
            Some(Sign::NonPos)
        } else {
            None
        }
    }

    /// Replaces two minima together by the bound `min(a, 0) - min(b, 0) >= min(a - b, 0)`
    /// ([`MINIMA_APART`](crate::expr::rules::MINIMA_APART)), and returns the remaining goal. So nested clamps need no cases if their
    /// operands are ordered.
    fn minima(&mut self, p: &Poly) -> Option<Poly> {
        let mut minima: SmallVec<[(AtomId, i128, Poly); 8]> = SmallVec::new();
        for (mono, c) in p.variable_terms() {
            if let Some(id) = mono.single()
                && let Atom::Min0(of) = &self.cx.atoms.get(id).atom
            {
                minima.push((id, *c, of.clone()));
            }
        }
        // Picks the pair whose operands have the most terms in common.
        let mut best: Option<(AtomId, AtomId, i128, Poly)> = None;
        for (one, c, a) in minima.iter().filter(|(_, c, _)| *c > 0) {
            for (other, d, b) in minima.iter().filter(|(_, d, _)| *d < 0) {
                let apart = a.sub(b)?;
                // If the operands do not share terms, the difference is a weaker bound than each of them.
                if apart.terms.len() < a.terms.len() + b.terms.len()
                    && best.as_ref().is_none_or(|(.., least)| apart.terms.len() < least.terms.len())
                {
                    best = Some((*one, *other, (*c).min(d.checked_neg()?), apart));
                }
            }
        }
        let (one, other, times, apart) = best?;
        let mut known = [&MIN0_OF_NONNEG, &MIN0_OF_NONPOS].map(|rule| {
            let applies = rule.applies(&mut Polys, &[&apart], |p| self.plain(p));
            applies.then(|| rule.result(&mut Polys, &[&apart])).flatten()
        });
        let bound = match known.iter_mut().find_map(Option::take) {
            Some(known) => known,
            None => self.cx.atom(Atom::Min0(apart), 0)?,
        };
        let bound = bound.scale(times)?;
        p.sub(&Poly::atom(one).sub(&Poly::atom(other))?.scale(times)?)?.add(&bound)
    }

    /// Proves `p` by the cases of a minimum or a select. `None` if `p` contains neither.
    fn cases(&mut self, p: &Poly, depth: u32) -> Option<bool> {
        let deep = self.cx.atoms.deep(p);
        // The newest atom comes first, because the others do not contain it.
        let split = deep.into_iter().rev().find_map(|id| match &self.cx.atoms.get(id).atom {
            Atom::Min0(inner) => Some((id, inner.clone(), None)),
            Atom::Select(select) => Some((id, select.then.clone(), Some(select.clone()))),
            _ => None,
        });
        let (id, first, select) = split?;
        let (yes, no, second) = match select {
            Some(select) => (select.yes, select.no, select.other),
            None => {
                let no = Formula::NonNeg(first.clone());
                (first.neg()?.plus(-1).map_or(Formula::Unknown, Formula::NonNeg), no, Poly::default())
            }
        };
        Some(self.case(p, id, &first, &yes, depth) && self.case(p, id, &second, &no, depth))
    }

    /// Proves `p >= 0` in the case where `formula` holds and the atom has this value.
    fn case(&mut self, p: &Poly, atom: AtomId, value: &Poly, formula: &Formula, depth: u32) -> bool {
        let Some(p) = self.cx.substitute(p, atom, value) else { return false };
        let (lowers, failed) = (std::mem::take(&mut self.lowers), std::mem::take(&mut self.failed));
        let (mark, samples) = (self.ground.known.mark(), std::mem::take(&mut self.ground.samples));
        let mut opposites = Vec::new();
        self.suppose(formula, &mut opposites);
        // Facts about the atom now also hold for its value.
        if !self.ground.known.about(atom).is_empty()
            && let Some((low, high)) = Poly::atom(atom).sub(value).and_then(|low| Some((low.clone(), low.neg()?)))
        {
            self.learn(low);
            self.learn(high);
        }
        self.ground.known.learn_atoms(&self.cx.atoms, &p);
        let mut outside = Vec::new();
        for mut sample in samples {
            let new = self.ground.known.since(mark);
            let agrees = new.iter().all(|f| self.cx.value_at(f, &mut sample).is_some_and(|v| v >= 0));
            if agrees { &mut self.ground.samples } else { &mut outside }.push(sample);
        }
        let unseen = self.ground.samples.is_empty();
        // If no sample is in this case, it may be impossible: then one of its facts is refuted.
        let proved = self.search(p, depth - 1) || (unseen && opposites.iter().any(|p| self.side(p)));
        self.ground.samples.extend(outside);
        self.ground.known.undo(mark);
        (self.lowers, self.failed) = (lowers, failed);
        proved
    }

    /// Learns the facts of a formula. Adds to `opposites` polynomials that refute the formula if they are at least 0.
    fn suppose(&mut self, formula: &Formula, opposites: &mut Vec<Poly>) {
        match formula {
            Formula::NonNeg(p) => {
                self.learn(p.clone());
                opposites.extend(p.neg().and_then(|p| p.plus(-1)));
            }
            Formula::Zero(p) => {
                opposites.extend(p.plus(-1));
                opposites.extend(p.neg().and_then(|p| p.plus(-1)));
                self.learn(p.clone());
                p.neg().into_iter().for_each(|p| self.learn(p));
            }
            Formula::NonZero(p) => {
                let rule = [&NONZERO_ABOVE, &NONZERO_BELOW].into_iter().find(|r| r.applies(&mut Polys, &[p], |p| self.side(p)));
                rule.and_then(|rule| rule.claimed(&mut Polys, &[p])).into_iter().for_each(|p| self.learn(p));
            }
            Formula::All(parts) => parts.iter().for_each(|part| self.suppose(part, opposites)),
            Formula::Any(_) | Formula::Unknown => {}
        }
    }

    /// True if `p + 1` is a factor of a polynomial that is at least 1 by a fact, so that [`POSITIVE_FACTOR`] applies. For example,
    /// the extent `N * (H - 3) * (H - 3)` of a fused axis is at least 1 where the axis has a value, and so is `(H - 3) * (H - 3)`.
    fn is_factor(&mut self, p: &Poly) -> bool {
        // For a single term, the bounds of the atoms are tighter.
        let Some(factor) = p.plus(1).filter(|factor| factor.variable_terms().len() > 1) else { return false };
        let Some(atom) = factor.variable_terms().last().and_then(|(mono, _)| mono.atoms().next()) else { return false };
        let places = self.ground.known.about(atom).to_vec();
        places.into_iter().any(|place| {
            let other = self.ground.known.get(place).plus(1).and_then(|whole| whole.exact_div(&factor));
            other.is_some_and(|other| !other.is_zero() && POSITIVE_FACTOR.applies(&mut Polys, &[p, &other], |p| self.side(p)))
        })
    }

    /// Proves `p` by replacing an atom by one of its bounds.
    fn replace(&mut self, p: &Poly, depth: u32) -> bool {
        // This removes floors, so it does not count as a step.
        if self.floors(p).is_some_and(|goal| self.search(goal, depth)) {
            return true;
        }
        if self.powers(p).into_iter().any(|goal| self.search(goal, depth - 1)) {
            return true;
        }
        let mut atoms: SmallVec<[AtomId; 8]> = p.atoms();
        atoms.sort_by_key(|a| std::cmp::Reverse((self.cx.atoms.get(*a).rank, *a)));
        for atom in atoms {
            let (factor, rest) = p.split(atom);
            let sign = self.sign(&factor);
            if let Some(sign) = sign {
                let mut goals = self.bounded(p, atom, &factor, &rest, sign);
                self.cx.spend(goals.len() as u32);
                goals.sort_by_cached_key(|goal| (self.encloses(p, goal, atom), goal.terms.len()));
                // A goal that is a fact ends the search, so it is looked for before any goal is searched.
                if goals.iter().any(|goal| self.is_known(goal)) || goals.into_iter().any(|goal| self.search(goal, depth - 1)) {
                    return true;
                }
            } else if self.at_both_ends(p, atom, &factor, &rest, depth) {
                return true;
            }
            // The only facts about an axis are its two bounds, and that it has a value. Another order of replacement does not help.
            let axis = matches!(self.cx.atoms.get(atom).atom, Atom::Axis(_));
            if axis && sign.is_some() && self.ground.known.about(atom).len() <= 2 {
                return false;
            }
        }
        false
    }

    /// True if `goal` has a floor or minimum of `atom` that `p` does not have. Such a goal is tried last, because it mostly undoes an
    /// earlier step: `12 * floor(k / 12) + 11` is a bound of `k`, where the search has just replaced that floor by `k`.
    fn encloses(&self, p: &Poly, goal: &Poly, atom: AtomId) -> bool {
        let known = p.atoms();
        goal.atoms().into_iter().any(|id| !known.contains(&id) && self.cx.atoms.occurs_within(atom, id))
    }

    /// Returns the remaining goals when a power is replaced by a bound of the whole power. A bound of a power does not bound its
    /// atom alone, so [`Query::bounded`] cannot use it.
    fn powers(&mut self, p: &Poly) -> Vec<Poly> {
        let mut goals = Vec::new();
        for (mono, c) in p.variable_terms() {
            let Some((atom, _)) = mono.atoms().zip(mono.atoms().skip(1)).find(|(a, b)| a == b) else { continue };
            for place in self.ground.known.about(atom).to_vec() {
                self.cx.spend(1);
                let fact = self.ground.known.get(place);
                let Some((_, k)) = fact.variable_terms().iter().find(|(m, k)| m == mono && (*k > 0) == (*c > 0)) else { continue };
                let common = gcd(*c, *k);
                let (Some(scale), Some(multiplier)) = (k.checked_abs(), c.checked_abs()) else { continue };
                goals.extend(scaled(p, &Poly::constant(scale / common), &Poly::constant(multiplier / common), &fact));
            }
        }
        goals
    }

    /// Returns the remaining goal when two floors are replaced together, by [`FLOORS_COMPARED`]. Literal divisors are multiplied until they
    /// are equal, by [`FLOOR_WIDENED`] and [`FLOOR_SCALED`]. Other divisors must be equal.
    fn floors(&self, p: &Poly) -> Option<Poly> {
        let mut floors = p.variable_terms().iter().filter_map(|(mono, c)| match &self.cx.atoms.get(mono.single()?).atom {
            Atom::Floor { num, den } => Some((*mono, *c, num, den)),
            _ => None,
        });
        let (first, second) = (floors.next()?, floors.next()?);
        let (more, less) = match (first.1, second.1) {
            (1, -1) => (first, second),
            (-1, 1) => (second, first),
            _ => return None,
        };
        let rest = p.filter(|mono, _| mono != more.0 && mono != less.0);
        if more.3 == less.3 {
            return FLOORS_COMPARED.goal(0, &mut Polys, &[more.2, less.2, &rest, more.3]);
        }
        let (d, e) = (more.3.as_constant()?, less.3.as_constant()?);
        let common = gcd(d, e);
        let [k, l] = [e / common, d / common].map(Poly::constant);
        let [a, by] = FLOOR_WIDENED.operands(&mut Polys, &[more.2, more.3, &k])?;
        let [b, _] = FLOOR_SCALED.operands(&mut Polys, &[less.2, less.3, &l])?;
        FLOORS_COMPARED.goal(0, &mut Polys, &[&a, &b, &rest, &by])
    }

    /// Proves `p` at both ends of an axis that occurs once in each of its terms, by [`AT_BOTH_ENDS`].
    fn at_both_ends(&mut self, p: &Poly, atom: AtomId, factor: &Poly, rest: &Poly, depth: u32) -> bool {
        let Atom::Axis(axis) = self.cx.atoms.get(atom).atom else { return false };
        let inside = p.atoms().iter().any(|other| self.cx.atoms.occurs_within(atom, *other));
        if inside || factor.has(atom) {
            return false;
        }
        let Some(extent) = self.cx.poly(self.cx.program.axes[axis].extent) else { return false };
        let end = |n: usize| AT_BOTH_ENDS.goal(n, &mut Polys, &[factor, rest, &extent]);
        let (Some(first), Some(last)) = (end(0), end(1)) else { return false };
        self.search(first, depth - 1) && self.search(last, depth - 1)
    }

    /// Returns the remaining goals when an atom is replaced by each of its bounds on the side that `sign`, the sign of its factor,
    /// needs. Each goal is `scale * p - multiplier * fact`, for a fact in which the atom has the factor's sign.
    fn bounded(&mut self, p: &Poly, atom: AtomId, factor: &Poly, rest: &Poly, sign: Sign) -> Vec<Poly> {
        let mut goals = Vec::new();
        if sign == Sign::NonNeg
            && let Some(low) = self.lower(atom)
        {
            goals.extend(AT_LOWER_BOUND.goal(0, &mut Polys, &[factor, rest, &Poly::constant(low)]));
        }
        for place in self.ground.known.about(atom).to_vec() {
            let fact = self.ground.known.get(place);
            let goal = self.cancelled(p, atom, factor, &fact, sign);
            goals.extend(goal.filter(|goal| goal != p));
        }
        if let Some(bound) = self.monotone(atom, sign) {
            // The bound may contain a floor that did not occur before.
            self.ground.known.learn_atoms(&self.cx.atoms, &bound);
            let rule = if sign == Sign::NonNeg { &AT_LOWER_BOUND } else { &AT_UPPER_BOUND };
            goals.extend(rule.goal(0, &mut Polys, &[factor, rest, &bound]));
        }
        let mut distinct: Vec<Poly> = Vec::with_capacity(goals.len());
        for goal in goals {
            if !distinct.contains(&goal) {
                distinct.push(goal);
            }
        }
        distinct
    }

    fn cancelled(&mut self, p: &Poly, atom: AtomId, factor: &Poly, fact: &Poly, sign: Sign) -> Option<Poly> {
        let (by, _) = fact.split(atom);
        if by.has(atom) {
            return None;
        }
        let towards = |p: &Poly| if sign == Sign::NonNeg { Some(p.clone()) } else { p.neg() };
        let (size, by) = (towards(factor)?, towards(&by)?);
        if let Some(c) = by.as_constant() {
            if c < 1 {
                return None;
            }
            let common = size.terms.iter().fold(c, |g, (_, k)| gcd(g, *k));
            let scale = c / common;
            let multiplier = Poly { terms: size.terms.iter().map(|(m, k)| (*m, k / common)).collect() };
            return scaled(p, &Poly::constant(scale), &multiplier, fact);
        }
        if !self.plain(&by) && !by.plus(-1).is_some_and(|p| self.is_factor(&p)) {
            return None;
        }
        if let Some(multiplier) = size.exact_div(&by)
            && self.side(&multiplier)
        {
            return scaled(p, &Poly::constant(1), &multiplier, fact);
        }
        self.plain(&by.plus(-1)?).then(|| scaled(p, &by, &size, fact))?
    }

    /// Returns a bound of a floor, by [`FLOOR_MONOTONE`](crate::expr::rules::FLOOR_MONOTONE): the floor of the numerator with each axis at
    /// one of its ends. A positive factor needs the lower bound, a negative one the upper bound.
    fn monotone(&mut self, atom: AtomId, sign: Sign) -> Option<Poly> {
        let Atom::Floor { num, den } = self.cx.atoms.get(atom).atom.clone() else { return None };
        let mut bound = num.clone();
        for _ in 0..4 {
            let axes = bound.atoms().into_iter().filter_map(|id| match self.cx.atoms.get(id).atom {
                Atom::Axis(axis) => Some((id, axis)),
                _ => None,
            });
            let Some((id, axis)) = axes.max_by_key(|(id, _)| self.cx.atoms.get(*id).rank) else { break };
            let (factor, rest) = bound.split(id);
            let grows = self.sign(&factor)? == Sign::NonNeg;
            // A lower bound needs a small numerator.
            let end = if grows == (sign == Sign::NonNeg) {
                Poly::default()
            } else {
                self.cx.poly(self.cx.program.axes[axis].extent)?.plus(-1)?
            };
            bound = factor.mul(&end)?.add(&rest)?;
        }
        if bound == num {
            return None;
        }
        self.cx.floor(&bound, &den)
    }
}

/// Returns the goal that proves `p` by [`SCALED_FACT`]. The caller knows that `scale >= 1` and `multiplier >= 0`.
fn scaled(p: &Poly, scale: &Poly, multiplier: &Poly, fact: &Poly) -> Option<Poly> {
    SCALED_FACT.goal(0, &mut Polys, &[p, fact, scale, multiplier])
}
