//! Sums of minima and maxima: a clamp of a clamp, however deep, is one interval.
//!
//! Sums, multiples and quotients by numbers distribute over minima and maxima, because they are monotone. These laws are the table
//! [`CLAMPS`](crate::expr::rules::CLAMPS). So an index is a
//! maximum of minima of plain sums, and also a minimum of maxima. An operand that another operand makes redundant is removed.
//! So a chain of clamps stays as short as one clamp: for example, `((i - 1).max(0) - 1).max(0)` is `(i - 2).max(-1).max(0)`,
//! which is `(i - 2).max(0)`. A minimum of maxima is at least a bound if each maximum has an operand that is at least the
//! bound.

use crate::expr::{Binary, Expr, ExprId, Unary};
use crate::facts::context::Context;
use crate::facts::polynomials::atoms::Atom;
use crate::facts::polynomials::mono::AtomId;
use crate::facts::polynomials::poly::Poly;
use crate::nest::AxisId;
use crate::table::Map;
use std::collections::BTreeSet;

/// The most operands of an index, over all its groups.
const MAX_OPERANDS: usize = 48;

/// The most operands before redundant ones are removed, because each pair of them may take a proof.
const MAX_COMBINED: usize = 2 * MAX_OPERANDS;

/// Groups of operands: a maximum of minima, or a minimum of maxima.
type Groups = Vec<Vec<Poly>>;

/// Converts expressions to groups of operands.
struct Grouping<'c, 'p> {
    cx: &'c mut Context<'p>,
    /// The axes that are in range.
    axes: &'c BTreeSet<AxisId>,
    /// The differences that were tested, and whether they are at least 0.
    known: Map<Poly, bool>,
    /// The groups of the expressions that were converted, because an expression can be part of many others.
    done: Map<(ExprId, bool), Option<Groups>>,
}

impl Context<'_> {
    /// True if the maxima in `e` prove that it is at least `least` where these axes are in range.
    pub(in crate::facts) fn is_above_clamped(&mut self, axes: &BTreeSet<AxisId>, e: ExprId, least: i64) -> bool {
        let mut grouping = Grouping { cx: self, axes, known: Map::default(), done: Map::default() };
        let Some(maxima) = grouping.of(e, false) else { return false };
        maxima.iter().all(|operands| {
            let rest: Vec<Poly> = operands.iter().filter_map(|p| p.plus(-least)).collect();
            rest.iter().any(|p| grouping.cx.prove_in(axes, p))
        })
    }

    /// Returns the greatest lower bound of `e` that its maxima prove.
    pub(in crate::facts) fn lower_clamped(&mut self, axes: &BTreeSet<AxisId>, e: ExprId) -> Option<i64> {
        let maxima = Grouping { cx: self, axes, known: Map::default(), done: Map::default() }.of(e, false)?;
        let least = maxima.iter().map(|operands| operands.iter().filter_map(|p| self.greatest_lower(axes, p)).max());
        least.min()?
    }

    /// Returns the least upper bound of `e` that its minima prove.
    pub(in crate::facts) fn upper_clamped(&mut self, axes: &BTreeSet<AxisId>, e: ExprId) -> Option<i64> {
        let minima = Grouping { cx: self, axes, known: Map::default(), done: Map::default() }.of(e, true)?;
        let mut greatest = |p: &Poly| self.greatest_lower(axes, &p.neg()?)?.checked_neg();
        let mut most = None;
        for operands in &minima {
            most = most.max(Some(operands.iter().filter_map(&mut greatest).min()?));
        }
        most
    }

    /// True if a polynomial contains a minimum or maximum, at any depth.
    pub(in crate::facts) fn has_minima(&self, p: &Poly) -> bool {
        let is_minimum = |id: AtomId| matches!(self.atoms.get(id).atom, Atom::Min0(_));
        let atoms = p.terms.iter().flat_map(|(mono, _)| mono.atoms());
        atoms.into_iter().any(|id| is_minimum(id) || self.atoms.get(id).within.iter().any(|id| is_minimum(*id)))
    }

    /// True if an expression contains several minima and maxima.
    pub(in crate::facts) fn is_clamped(&self, e: ExprId) -> bool {
        let mut count = 0;
        self.program.exprs.any(e, &mut |e| {
            count += u32::from(matches!(e, Expr::Binary(Binary::Min | Binary::Max, ..)));
            count > 1
        })
    }
}

impl Grouping<'_, '_> {
    /// Returns the groups of an expression. If `maximum`, the expression is the maximum of their minima; else the minimum of their
    /// maxima.
    fn of(&mut self, e: ExprId, maximum: bool) -> Option<Groups> {
        if let Some(done) = self.done.get(&(e, maximum)) {
            return done.clone();
        }
        let groups = self.converted(e, maximum);
        self.done.insert((e, maximum), groups.clone());
        groups
    }

    fn converted(&mut self, e: ExprId, maximum: bool) -> Option<Groups> {
        let exprs = &self.cx.program.exprs;
        let groups = match *exprs.get(e) {
            // Data wraps at 32 bits, so it is not monotone.
            _ if !exprs.is_index(e) => return self.plain(e),
            _ if !exprs.any(e, &mut |e| matches!(e, Expr::Binary(Binary::Min | Binary::Max, ..))) => return self.plain(e),
            Expr::Binary(Binary::Add, a, b) => {
                let (a, b) = (self.of(a, maximum)?, self.of(b, maximum)?);
                sums(&a, &b)?
            }
            Expr::Binary(Binary::Sub, a, b) => {
                let (a, b) = (self.of(a, maximum)?, self.of(b, !maximum)?);
                sums(&a, &each(b, |p| p.neg())?)?
            }
            Expr::Unary(Unary::Neg, a) => each(self.of(a, !maximum)?, |p| p.neg())?,
            Expr::Binary(Binary::Mul, a, b) => {
                let (of, times) = exprs.as_int(b).map(|n| (a, n)).or_else(|| exprs.as_int(a).map(|n| (b, n)))?;
                each(self.of(of, maximum == (times >= 0))?, |p| p.scale(times.into()))?
            }
            Expr::Binary(Binary::FloorDiv, a, b) => {
                let by = Poly::constant(exprs.as_int(b).filter(|by| *by >= 1)?);
                let of = self.of(a, maximum)?;
                each(of, |p| self.cx.floor(p, &by))?
            }
            Expr::Binary(op @ (Binary::Min | Binary::Max), a, b) => {
                let (a, b) = (self.of(a, maximum)?, self.of(b, maximum)?);
                match (op == Binary::Max) == maximum {
                    true => [a, b].concat(),
                    false if operands(&a) * b.len() + operands(&b) * a.len() > MAX_COMBINED => return None,
                    false => a.iter().flat_map(|a| b.iter().map(move |b| [&a[..], &b[..]].concat())).collect(),
                }
            }
            _ => return self.plain(e),
        };
        let groups = self.shortened(groups, maximum);
        (operands(&groups) <= MAX_OPERANDS).then_some(groups)
    }

    fn plain(&mut self, e: ExprId) -> Option<Groups> {
        Some(vec![vec![self.cx.poly(e)?]])
    }

    /// Removes redundant operands from each group, and redundant groups.
    fn shortened(&mut self, groups: Groups, maximum: bool) -> Groups {
        let groups: Groups = groups.into_iter().map(|group| self.needed(group, |g, p, q| g.in_order(p, q, maximum))).collect();
        // A minimum is at least another minimum if each of its operands is at least an operand of the other.
        self.needed(groups, |g, kept, idle| kept.iter().all(|p| idle.iter().any(|q| g.in_order(q, p, maximum))))
    }

    /// True if `p` makes `q` redundant in a minimum (or maximum).
    fn in_order(&mut self, p: &Poly, q: &Poly, minimum: bool) -> bool {
        let (low, high) = if minimum { (p, q) } else { (q, p) };
        let Some(rest) = high.sub(low) else { return false };
        if let Some(known) = self.known.get(&rest) {
            return *known;
        }
        let proved = self.cx.prove_rounds(self.axes, &rest, 1);
        self.known.insert(rest, proved);
        proved
    }

    /// Returns the items that no other item makes redundant.
    fn needed<T>(&mut self, items: Vec<T>, idles: impl Fn(&mut Self, &T, &T) -> bool) -> Vec<T> {
        let mut needed: Vec<T> = Vec::new();
        for item in items {
            if needed.iter().any(|kept| idles(self, kept, &item)) {
                continue;
            }
            needed.retain(|kept| !idles(self, &item, kept));
            needed.push(item);
        }
        needed
    }
}

/// Returns the number of operands over all groups.
fn operands(groups: &Groups) -> usize {
    groups.iter().map(Vec::len).sum()
}

/// Returns the groups of a sum.
fn sums(a: &Groups, b: &Groups) -> Option<Groups> {
    if operands(a) * operands(b) > MAX_COMBINED {
        return None;
    }
    let sum = |(a, b): (&Vec<Poly>, &Vec<Poly>)| a.iter().flat_map(|a| b.iter().map(move |b| a.add(b))).collect();
    a.iter().flat_map(|a| b.iter().map(move |b| (a, b))).map(sum).collect()
}

/// Applies a monotone function to each operand.
fn each(groups: Groups, mut f: impl FnMut(&Poly) -> Option<Poly>) -> Option<Groups> {
    groups.iter().map(|group| group.iter().map(&mut f).collect()).collect()
}
