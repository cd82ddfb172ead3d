//! Checks that no two invocations write one element: each has a different index, or a predicate excludes it. Several invocations may update
//! one element with atomics, if each adds a different partial result.

use crate::diag::Error;
use crate::expr::{Binary, Expr, ExprId};
use crate::nest::{AllReduce, AxisDef, AxisId, Exec, Fate, Level, NodeKind, Phase};
use crate::verify::Rule;
use crate::verify::context::Checks;
use crate::verify::reductions::phase;
use crate::verify::site::{Site, SiteAccess};
use std::collections::BTreeSet;

impl Checks<'_> {
    /// Checks every write to memory that other invocations can read.
    pub(in crate::verify) fn races(&self) {
        for site in self.sites {
            for touch in site.touches.iter().filter(|touch| touch.writes && self.is_visible(touch.buffer)) {
                self.disjoint(site, touch);
            }
        }
    }

    fn disjoint(&self, site: &Site<'_>, touch: &SiteAccess) {
        let told = self.told(site, &self.fixed(site, &touch.index));
        let whole = match &site.node.kind {
            NodeKind::Compute(compute) if matches!(compute.phase, Phase::Whole | Phase::Atomic) => {
                self.made_of(self.reduced(site), site).leaves
            }
            NodeKind::AllReduce(reduction) => reduction.over.iter().copied().collect(),
            _ => BTreeSet::new(),
        };
        let global = self.space(touch.buffer).is_global();
        let mut reached = match &site.node.kind {
            NodeKind::AllReduce(reduction) => self.own_parts(site, reduction),
            _ => 1,
        };
        for looped in site.loops() {
            let Exec::Bind(level, slot) = looped.exec else { continue };
            if level == Level::Workgroup && (!global || self.single(looped.axis)) {
                continue;
            }
            // Before lowering, the invocations of these axes hold partial results that lowering will combine. Atomic updates may meet.
            let is_reduced = whole.contains(&looped.axis);
            if !told.contains(&looped.axis) && !is_reduced {
                // A copy inside other loops has a different index in each invocation.
                if level == Level::Workgroup {
                    return self.race(site, touch, &format!("workgroups with different `{}`", self.name(looped.axis)));
                }
                continue;
            }
            reached *= match level {
                Level::Workgroup => 1,
                Level::Subgroup | Level::Lane | Level::Thread => self.width(level, slot).unwrap_or(1),
            };
        }
        let matrix = site.is_matrix();
        let wanted = match self.profile.subgroup.filter(|_| matrix) {
            Some(size) => self.invocations() / i64::from(size),
            None => self.invocations(),
        };
        if reached < wanted {
            let who = format!("{} invocations of a workgroup at a time", wanted / reached.max(1));
            self.race(site, touch, &who);
        }
    }

    /// Returns the number of invocations that hold different partial results of an all-reduce's source, because of loops that do not
    /// enclose the all-reduce.
    fn own_parts(&self, site: &Site<'_>, reduction: &AllReduce) -> i64 {
        let updates = |other: &&Site<'_>| phase(other) == Some((reduction.stage, Phase::Update));
        let Some(update) = self.sites.iter().find(updates) else { return 1 };
        let apart = reduction.over.iter().filter(|axis| !site.binds(**axis)).filter_map(|axis| update.exec(*axis));
        let widths = apart.filter_map(|exec| match exec {
            Exec::Bind(level, slot) => self.width(level, slot),
            _ => None,
        });
        widths.product()
    }

    /// Returns the expressions that have one value for all writers of an element: its indices, and the axes that predicates restrict to one
    /// value.
    fn fixed(&self, site: &Site<'_>, index: &[ExprId]) -> Vec<ExprId> {
        let ones = site.preds().iter().map(|pred| pred.axis).filter(|one| self.single(*one));
        index.iter().copied().chain(ones.map(|one| self.provers.value(one))).collect()
    }

    /// Returns the axes whose values the index determines.
    pub(in crate::verify) fn told(&self, site: &Site<'_>, index: &[ExprId]) -> BTreeSet<AxisId> {
        let mut told: BTreeSet<AxisId> = BTreeSet::new();
        for e in index {
            told.extend(self.told_by(*e));
        }
        // A quotient and its remainder together determine the dividend.
        for e in index {
            if let Expr::Binary(Binary::FloorDiv, a, b) = self.program.exprs.get(*e)
                && index.iter().any(|other| *self.program.exprs.get(*other) == Expr::Binary(Binary::FloorMod, *a, *b))
            {
                told.extend(self.told_by(*a));
            }
        }
        let mut open: Vec<AxisId> = told.iter().copied().collect();
        while let Some(axis) = open.pop() {
            let more = match &self.program.axes[axis].fate {
                _ if site.binds(axis) => continue,
                // One index may belong to two tiles, because the last tile overlaps the one before it.
                Fate::Split(split) if split.shifted().is_some() => continue,
                Fate::Split(split) => split.parts.clone(),
                Fate::Fused { into, .. } => match &self.program.axes[*into].def {
                    AxisDef::Fused(digits) if self.tells_all(&told, *into, digits) => vec![*into],
                    _ => continue,
                },
                Fate::Live => continue,
            };
            open.extend(more.into_iter().filter(|axis| told.insert(*axis)));
        }
        told
    }

    /// True if axes determine every component of a fused axis, either directly or by another stage's axis for the same component.
    fn tells_all(&self, told: &BTreeSet<AxisId>, fused: AxisId, digits: &[AxisId]) -> bool {
        let is = |axis: &AxisId, n: usize| matches!(self.program.axes[*axis].fate, Fate::Fused { into, digit, .. } if into == fused && digit == n);
        digits.iter().enumerate().all(|(n, d)| told.contains(d) || self.single(*d) || told.iter().any(|axis| is(axis, n)))
    }

    /// Returns the axes that one index determines: all axes of a sum in which each step is longer than all smaller ones together.
    fn told_by(&self, index: ExprId) -> Vec<AxisId> {
        let sum = self.sum(index);
        if sum.rest.iter().any(|(e, _)| !self.named(&[*e]).is_empty()) {
            return Vec::new();
        }
        let mut steps: Vec<(i64, AxisId)> = sum.axes.iter().map(|(axis, times)| (times.abs(), *axis)).collect();
        steps.sort();
        let mut below = 0;
        for (i, (times, axis)) in steps.iter().enumerate() {
            if *times <= below {
                return Vec::new();
            }
            // The axis with the largest step needs no bound.
            if i + 1 < steps.len() {
                let Some(most) = self.most(*axis) else { return Vec::new() };
                below += times * (most - 1);
            }
        }
        steps.into_iter().map(|(_, axis)| axis).collect()
    }

    fn race(&self, site: &Site<'_>, touch: &SiteAccess, who: &str) {
        let (line, name) = (self.line(site), self.buffer(touch.buffer));
        let what = format!("{}: `{line}`: {who} write the same elements of `{name}`", Rule::Race);
        self.error(Error::new(site.span(), what));
    }
}
