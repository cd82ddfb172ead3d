//! Checks that the parts of a split axis reach its end, and that the parts of an exact split do not exceed it.
//!
//! A loop that was moved out of a loop on which its range depends runs over a hull: the largest range that it can have, over the axes
//! around its new place. The hull bounds the old range only where all axes are within their extents. So the range is rewritten until it
//! names only the hull's axes ([`cuts`]). Each of those axes then counts as an axis of its own that is within its extent.

use crate::expr::{Binary, Expr, ExprId, Exprs};
use crate::facts::{Poly, Prover};
use crate::nest::{AxisDef, AxisId, Fate, Program};
use crate::verify::context::Checks;
use crate::verify::site::Site;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Returns, for each axis that its parts may not reach, its extent over the axes that the parts' extents name.
pub(in crate::verify) fn cuts(program: &Program) -> BTreeMap<AxisId, ExprId> {
    let mut cuts = BTreeMap::new();
    for axis in program.axes.ids() {
        let extent = program.axes[axis].extent;
        let Fate::Split(split) = &program.axes[axis].fate else { continue };
        if split.exact || !program.exprs.uses_axis(extent, &mut |_| true) {
            continue;
        }
        let mut named = BTreeSet::new();
        for part in &split.parts {
            program.exprs.uses_axis(program.axes[*part].extent, &mut |axis| {
                named.insert(axis);
                false
            });
        }
        let kept = kept(program, &named);
        let cut = program.over_leaves(extent, &kept);
        if cut != extent {
            cuts.insert(axis, cut);
        }
    }
    cuts
}

/// Returns the axes that were split into one part of the same extent, compared over the loops.
pub(in crate::verify) fn aliases(program: &Program, sites: &[Vec<Site<'_>>]) -> BTreeSet<AxisId> {
    let looped: HashSet<AxisId> = sites.iter().flatten().flat_map(|site| site.loops().map(|looped| looped.axis)).collect();
    let live: HashSet<AxisId> = program.axes.ids().filter(|axis| program.axes[*axis].fate == Fate::Live).collect();
    let one = |axis: &AxisId| match &program.axes[*axis].fate {
        Fate::Split(split) if split.exact && split.parts.len() == 1 => Some((*axis, split.parts[0])),
        _ => None,
    };
    let ones: Vec<(AxisId, AxisId)> = program.axes.ids().filter_map(|axis| one(&axis)).collect();
    let same = |axis: AxisId| {
        let extent = program.axes[axis].extent;
        let extent = program.over_leaves(extent, &live);
        // An axis with one value and no loop has the value 0, so the two extents differ only in its name.
        let Program { exprs, axes, .. } = program;
        exprs.with_axes(extent, &mut |axis| {
            (!looped.contains(&axis) && exprs.as_int(axes[axis].extent) == Some(1)).then(|| exprs.int(0))
        })
    };
    ones.into_iter().filter(|(axis, part)| same(*axis) == same(*part)).map(|(axis, _)| axis).collect()
}

/// Returns the axes that are not rewritten: the named ones, and those that no named axis is computed from.
fn kept(program: &Program, named: &BTreeSet<AxisId>) -> HashSet<AxisId> {
    let mut above = BTreeSet::new();
    let mut open: Vec<AxisId> = named.iter().copied().collect();
    while let Some(axis) = open.pop() {
        let made: Vec<AxisId> = match &program.axes[axis].def {
            AxisDef::Root(_) | AxisDef::Made => Vec::new(),
            AxisDef::Part { of, .. } => vec![*of],
            AxisDef::Fused(digits) => digits.clone(),
        };
        open.extend(made.into_iter().filter(|axis| !named.contains(axis) && above.insert(*axis)));
    }
    program.axes.ids().filter(|axis| !above.contains(axis)).collect()
}

/// True if the literals in an expression alone prove that it is at most `most`.
fn at_most(exprs: &Exprs, id: ExprId, most: i64) -> bool {
    let literal = |e: ExprId| exprs.as_int(e);
    match *exprs.get(id) {
        _ if !exprs.is_walkable(id) => false,
        Expr::Binary(Binary::Min, a, b) => at_most(exprs, a, most) || at_most(exprs, b, most),
        Expr::Binary(Binary::Max, a, b) => at_most(exprs, a, most) && at_most(exprs, b, most),
        Expr::Binary(Binary::Add, a, b) => literal(b).and_then(|n| most.checked_sub(n)).is_some_and(|most| at_most(exprs, a, most)),
        Expr::Binary(Binary::FloorDiv, a, by) => {
            let most = literal(by).filter(|by| *by > 0).and_then(|by| most.checked_mul(by)?.checked_add(by - 1));
            most.is_some_and(|most| at_most(exprs, a, most))
        }
        Expr::Binary(Binary::FloorMod, _, by) => literal(by).is_some_and(|by| by > 0 && by - 1 <= most),
        _ => literal(id).is_some_and(|n| n <= most),
    }
}

impl<'v> Checks<'v> {
    /// True if the parts of a split reach the end of its axis.
    pub(in crate::verify) fn covers(&self, axis: AxisId) -> bool {
        let Fate::Split(split) = &self.program.axes[axis].fate else { return true };
        // A loop with a negative extent runs no iteration.
        if split.parts.iter().any(|part| self.program.exprs.as_int(self.extent(*part)).is_some_and(|n| n < 0)) {
            return false;
        }
        let extent = self.extent(axis);
        let cut = self.provers.cuts.get(&axis).copied().unwrap_or(extent);
        let reach = |prover: &Prover<'v>, extent: ExprId| {
            self.product(prover, &split.parts).is_some_and(|product| prover.less_equal(extent, &product))
        };
        let (roots, leaves) = (&self.provers.roots, &self.provers.leaves);
        let hull = |provers: &[&Prover<'v>]| match split.parts[..] {
            [part] => [extent, cut].into_iter().any(|extent| self.grows(provers, extent, self.extent(part))),
            _ => false,
        };
        // If an axis is past its own extent, its parts do not need to reach a value.
        let inside = || {
            let extents: Vec<ExprId> = split.parts.iter().map(|part| self.extent(*part)).chain([extent]).collect();
            let inside = self.provers.inside(&extents);
            inside.is_impossible() || reach(&inside, extent) || hull(&[&inside, leaves, roots])
        };
        self.provers.aliases.contains(&axis)
            || reach(roots, extent)
            || reach(leaves, extent)
            || (cut != extent && reach(roots, cut))
            || hull(&[leaves, roots])
            || self.has_whole_part(&split.parts, extent)
            || self.is_rounded_up(&split.parts, extent)
            || inside()
    }

    /// True if one part is as long as the axis and the others have literal extents. The extents are compared as expressions, so that
    /// this holds also of an extent that the prover has no polynomial for, such as a quotient whose divisor may be 0.
    fn has_whole_part(&self, parts: &[AxisId], extent: ExprId) -> bool {
        self.beside_literals(parts).is_some_and(|(part, _)| self.has_term(part, extent))
    }

    /// True if the only symbolic part is the extent divided by the product of the literal parts, rounded up. This is the form that a split
    /// by factors has. The prover splits minima in the extent into cases, and may give up if there are too many.
    fn is_rounded_up(&self, parts: &[AxisId], extent: ExprId) -> bool {
        let (exprs, roots) = (&self.program.exprs, &self.provers.roots);
        let Some((quotient, by)) = self.beside_literals(parts) else { return false };
        let Expr::Binary(Binary::FloorDiv, sum, divisor) = exprs.get(quotient) else { return false };
        let wanted = roots.poly(extent).and_then(|extent| extent.plus(by - 1));
        let is_sum = *sum == exprs.sum(extent, exprs.int(by - 1)) || wanted.is_some() && roots.poly(*sum) == wanted;
        exprs.as_int(*divisor) == Some(by) && is_sum
    }

    /// Returns the extent of the only part whose extent is not a literal, and the product of the others, which is at least 1.
    fn beside_literals(&self, parts: &[AxisId]) -> Option<(ExprId, i64)> {
        let extents = || parts.iter().map(|part| self.extent(*part));
        let mut others = extents().filter(|e| self.program.exprs.as_int(*e).is_none());
        let by = extents().filter_map(|e| self.program.exprs.as_int(e)).try_fold(1i64, i64::checked_mul)?;
        let part = others.next()?;
        (others.next().is_none() && by > 0).then_some((part, by))
    }

    /// True if the axis stays below its extent while its parts are within theirs.
    pub(super) fn stays_within(&self, axis: AxisId, parts: &[AxisId]) -> bool {
        let (roots, extent) = (&self.provers.roots, self.extent(axis));
        self.provers.aliases.contains(&axis)
            || self.value_of(parts).is_some_and(|value| roots.less(&value, extent))
            || self.provers.leaves.less(self.provers.value(axis), extent)
            // Components in range give a value below the product of their extents.
            || self.product(roots, parts).is_some_and(|product| roots.less_equal(&product, extent))
    }

    /// True if one expression is at most the other because it has the same form and its operands are at most the other's. Hulls have this
    /// form, and the prover sees only the whole expression.
    pub(in crate::verify) fn grows(&self, provers: &[&Prover<'v>], less: ExprId, more: ExprId) -> bool {
        use Binary::{Add, FloorDiv, Max, Min, Mul, Sub};
        let exprs = &self.program.exprs;
        // A quotient has a value only where its divisor is not 0, so a divisor that is not negative is positive there.
        let nonneg = |e: ExprId| match exprs.as_int(e) {
            Some(n) => n > 0,
            None => provers.iter().any(|prover| prover.nonneg(e)),
        };
        if less == more {
            return true;
        }
        let part = match (exprs.get(less), exprs.get(more)) {
            _ if !exprs.is_walkable(less) || !exprs.is_walkable(more) => false,
            (Expr::Binary(op, a, b), Expr::Binary(other, c, d)) if op == other => match op {
                Add | Min | Max => self.grows(provers, *a, *c) && self.grows(provers, *b, *d),
                Sub => self.grows(provers, *a, *c) && self.grows(provers, *d, *b),
                FloorDiv | Mul if b == d && nonneg(*b) => self.grows(provers, *a, *c),
                _ => false,
            },
            (Expr::Binary(Min, a, b), _) => self.grows(provers, *a, more) || self.grows(provers, *b, more),
            _ => false,
        };
        part || exprs.as_int(more).is_some_and(|most| at_most(exprs, less, most))
            || provers.iter().any(|prover| prover.less_equal(less, more))
    }

    /// Returns the value of an axis in terms of its parts, each within its extent.
    fn value_of(&self, parts: &[AxisId]) -> Option<Poly> {
        let roots = &self.provers.roots;
        parts.iter().try_fold(Poly::constant(0), |value, part| {
            let scaled = if value.is_zero() { value } else { value.mul(&roots.poly(self.extent(*part))?)? };
            scaled.add(&roots.poly(self.provers.value(*part))?)
        })
    }
}
