//! Checks all-reduces: exactly the invocations that hold a partial result take part, and the device supports the operation.
//!
//! The invocations that combine one result (a team) differ only in the reduced axes, so each holds a partial result of the same element.
//! With subgroup arithmetic, a team consists of whole subgroups.

use super::{Partial, phase};
use crate::launch::Feature;
use crate::nest::{AllReduce, AxisId, Body, Exec, How, Level, Node, Phase, Scope, Side, Slot};
use crate::verify::Rule;
use crate::verify::context::Checks;
use crate::verify::site::Site;
use std::collections::BTreeSet;

impl Checks<'_> {
    /// Checks that an all-reduce reduces only axes over which its sources are partial. Its destination stays partial over the other axes.
    pub(super) fn all_reduce(&self, site: &Site<'_>, reduction: &AllReduce, partial: &mut Partial) {
        // An axis with one value has only one partial result, so there is nothing to combine over it.
        let over: BTreeSet<AxisId> = reduction.over.iter().copied().filter(|axis| !self.single(*axis)).collect();
        let line = self.line(site);
        for (place, to) in reduction.src.iter().zip(&reduction.dst) {
            let parts = partial.get(&place.buffer).cloned().unwrap_or_default();
            let all = reduction.how != How::Atomic || parts == over;
            if reduction.over.is_empty() || !over.is_subset(&parts) || !all {
                let what = format!("`{line}` does not reduce over the axes over which `{}` is partial", self.buffer(place.buffer));
                self.refuse(Rule::Reduction, site.span(), what);
            }
            partial.insert(to.buffer, parts.difference(&over).copied().collect());
        }
        let monoid = match &self.program.stages[reduction.stage].body {
            Body::Reduce { monoid, .. } => monoid.identity.len(),
            Body::Map(_) => 0,
        };
        if [reduction.src.len(), reduction.dst.len()] != [monoid; 2] {
            self.refuse(
                Rule::Reduction,
                site.span(),
                format!("`{line}` does not have one operand for each component of the reduction's state"),
            );
        }
        let updates = |other: &&Site<'_>| phase(other) == Some((reduction.stage, Phase::Update));
        let Some(update) = self.sites.iter().find(updates) else { return };
        if !self.is_of_scope(reduction, update) {
            let what = format!("`{line}` combines partial results of invocations that belong to another result");
            self.refuse(Rule::Reduction, site.span(), what);
        } else if reduction.how == How::Subgroup && !self.fills_subgroups(reduction, update) {
            let what = format!("`{line}` combines invocations that are not whole subgroups");
            self.refuse(Rule::Reduction, site.span(), what);
        }
        if reduction.how == How::Atomic && !reduction.dst.iter().all(|to| self.space(to.buffer).is_global()) {
            self.refuse(Rule::Reduction, site.span(), format!("`{line}` does not write device memory"));
        }
    }

    /// True if the reduced axes are bound to the levels of the all-reduce's scope. The rows of matrices belong to a subgroup.
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

    /// True if each team consists of all lanes of some subgroups: it is bound to lanes, or to the thread coordinates that vary fastest.
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

    /// Checks that the profile has the features that an all-reduce needs.
    pub(in crate::verify) fn all_reduce_limits(&self, node: &Node, reduction: &AllReduce) {
        let Body::Reduce { monoid, .. } = &self.program.stages[reduction.stage].body else { return };
        match (reduction.how, monoid.atomic(&self.program.exprs)) {
            (How::Tree, _) => {}
            (How::Matrix, _) => {
                self.feature(node, Feature::MatrixReductions);
                if monoid.of_subgroups(&self.program.exprs).is_none() {
                    let line = self.printer.line(node);
                    self.refuse(Rule::Limits, node.span, format!("`{line}`: no matrix operation on floats does this"));
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
                self.refuse(Rule::Limits, node.span, format!("`{line}`: no atomic operation does this"));
            }
        }
        if reduction.scope == Scope::Invocation {
            let name = self.stage(reduction.stage);
            self.refuse(Rule::Limits, node.span, format!("the all-reduce of `{name}` is over one invocation"));
        }
    }
}
