//! All-reduces: exactly the invocations that have a part of the result take part, and the device can do it.
//!
//! The members of a team differ only in the axes that are reduced, so each has a part of the same result. With subgroup arithmetic a team
//! is whole subgroups.

use super::Rule;
use super::context::Checks;
use super::reductions::{Partial, phase};
use super::site::Site;
use crate::launch::Feature;
use crate::nest::{AllReduce, AxisId, Body, Exec, How, Level, Node, Phase, Scope, Side, Slot};
use std::collections::BTreeSet;

impl Checks<'_> {
    /// An all-reduce is over axes that its sources are partial over; what it writes is partial over the rest.
    pub(super) fn all_reduce(&self, site: &Site<'_>, reduction: &AllReduce, partial: &mut Partial) {
        // Of one value there is one part.
        let over: BTreeSet<AxisId> = reduction.over.iter().copied().filter(|axis| !self.single(*axis)).collect();
        let line = self.line(site);
        for (place, to) in reduction.src.iter().zip(&reduction.dst) {
            let parts = partial.get(&place.buffer).cloned().unwrap_or_default();
            let all = reduction.how != How::Atomic || parts == over;
            if reduction.over.is_empty() || !over.is_subset(&parts) || !all {
                let what = format!("`{line}` is not over the axes that `{}` has parts of", self.buffer(place.buffer));
                self.refuse(Rule::Reduction, site.span(), what);
            }
            partial.insert(to.buffer, parts.difference(&over).copied().collect());
        }
        let monoid = match &self.program.stages[reduction.stage].body {
            Body::Reduce { monoid, .. } => monoid.identity.len(),
            Body::Map(_) => 0,
        };
        if [reduction.src.len(), reduction.dst.len()] != [monoid; 2] {
            self.refuse(Rule::Reduction, site.span(), format!("`{line}` is not of the components of the reduction's state"));
        }
        let updates = |other: &&Site<'_>| phase(other) == Some((reduction.stage, Phase::Update));
        let Some(update) = self.sites.iter().find(updates) else { return };
        if !self.is_of_scope(reduction, update) {
            let what = format!("`{line}` takes the parts of invocations that are none of this result");
            self.refuse(Rule::Reduction, site.span(), what);
        } else if reduction.how == How::Subgroup && !self.fills_subgroups(reduction, update) {
            let what = format!("`{line}` is over invocations that do not fill subgroups");
            self.refuse(Rule::Reduction, site.span(), what);
        }
        if reduction.how == How::Atomic && !reduction.dst.iter().all(|to| self.space(to.buffer).is_global()) {
            self.refuse(Rule::Reduction, site.span(), format!("`{line}` does not write device memory"));
        }
    }

    /// The levels that the reduced axes are bound to are those of the scope. Rows of matrices are a subgroup's.
    fn is_of_scope(&self, reduction: &AllReduce, update: &Site<'_>) -> bool {
        let columns = |axis: &AxisId| update.exec(*axis) == Some(Exec::Matrix(Side::Columns));
        if reduction.over.iter().any(columns) {
            let how = matches!(reduction.how, How::Tree | How::Matrix);
            return reduction.over.len() == 1 && reduction.scope == Scope::Subgroup && how;
        }
        let levels: Option<BTreeSet<Level>> = reduction
            .over
            .iter()
            .map(|axis| match update.exec(*axis) {
                Some(Exec::Bind(level, _)) => Some(level),
                _ => None,
            })
            .collect();
        let Some(levels) = levels else { return false };
        let lanes = levels.iter().all(|level| *level == Level::Lane);
        match (reduction.scope, reduction.how) {
            (Scope::Device, How::Atomic) => true,
            (Scope::Subgroup, How::Tree | How::Subgroup) => lanes,
            (Scope::Workgroup, How::Tree | How::Subgroup) => !lanes && !levels.contains(&Level::Workgroup),
            _ => false,
        }
    }

    /// A team is all lanes of some subgroups: by lane, or by threads that count fastest.
    fn fills_subgroups(&self, reduction: &AllReduce, update: &Site<'_>) -> bool {
        let Some(size) = self.profile.subgroup.map(i64::from) else { return false };
        let bound = |level, slot| reduction.over.iter().any(|axis| update.exec(*axis) == Some(Exec::Bind(level, slot)));
        let slots = [Slot::X, Slot::Y, Slot::Z];
        if [&slots[..], &[Slot::Linear]].concat().into_iter().any(|slot| bound(Level::Lane, slot)) {
            return true;
        }
        if bound(Level::Thread, Slot::Linear) {
            return self.invocations() % size == 0;
        }
        let counts = slots.map(|slot| (bound(Level::Thread, slot), self.width(Level::Thread, slot).unwrap_or(1)));
        let beyond = counts.iter().position(|(reduced, count)| !reduced && *count > 1).unwrap_or(counts.len());
        let within = counts[beyond..].iter().all(|(reduced, count)| !reduced || *count == 1);
        within && counts[..beyond].iter().map(|(_, count)| count).product::<i64>() % size == 0
    }

    /// What the profile must have for an all-reduce.
    pub(super) fn all_reduce_limits(&self, node: &Node, reduction: &AllReduce) {
        let Body::Reduce { monoid, .. } = &self.program.stages[reduction.stage].body else { return };
        match (reduction.how, monoid.atomic(&self.program.exprs)) {
            (How::Tree, _) => {}
            (How::Matrix, _) => {
                self.feature(node, Feature::MatrixReductions);
                if monoid.of_subgroups(&self.program.exprs).is_none() {
                    let line = self.printer.line(node);
                    self.refuse(Rule::Limits, node.span, format!("`{line}`, and no operation on floats does that"));
                }
            }
            (How::Subgroup, _) => {
                let plain = monoid.of_subgroups(&self.program.exprs).is_some();
                self.feature(node, if plain { Feature::SubgroupArithmetic } else { Feature::SubgroupShuffle });
                self.feature(node, Feature::SubgroupSize);
            }
            (How::Atomic, Some(feature)) => feature.into_iter().for_each(|feature| self.feature(node, feature)),
            (How::Atomic, None) => {
                let line = self.printer.line(node);
                self.refuse(Rule::Limits, node.span, format!("`{line}`, and no atomic operation does that"));
            }
        }
        if reduction.scope == Scope::Invocation {
            let name = self.stage(reduction.stage);
            self.refuse(Rule::Limits, node.span, format!("the all-reduce of `{name}` is over one invocation"));
        }
    }
}
