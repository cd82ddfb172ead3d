//! Checks that a leaf computes the value of its stage. Expressions name the algorithm's axes in every form of a nest, and directives change
//! them only to read a copy (`copies`) or to compute a stage where it is read (`placed`). So both values are compared structurally, up to
//! equal indices and sums of axes. A value that invocations share must not depend on the invocation.

pub(super) mod accumulated;
pub(super) mod copies;
mod placed;

use super::Rule;
use super::context::Checks;
use super::site::Site;
use crate::expr::{Expr, ExprId};
use crate::nest::{Access, AxisId, Body, BufferId, Compute, Exec, Level, NodeKind, Phase, Pipelined, Space, StageId};
use placed::Wanted;
use std::collections::HashSet;
use tilewright_launch::DType;

impl Checks<'_> {
    /// Checks the value of every leaf.
    pub(super) fn values(&self) {
        for site in self.sites {
            let NodeKind::Compute(compute) = &site.node.kind else { continue };
            self.same_for_all(site, compute);
            let wanted = self.in_step(site, compute.stage, self.wanted(site, compute.stage));
            let is_right = match (&wanted.body, compute.phase) {
                (Body::Map(value), Phase::Whole) => self.same(compute, &[&[*value][..], &wanted.also].concat(), &[]),
                (Body::Reduce { lift, finish, .. }, Phase::Whole) => self.same(compute, &[&lift[..], &[*finish]].concat(), &[]),
                (Body::Reduce { lift, .. }, Phase::Update | Phase::Atomic) => {
                    self.same(compute, lift.get(..compute.dst.len()).unwrap_or(lift), &[])
                }
                (Body::Reduce { finish, .. }, Phase::Finish) => {
                    let stored = [&[*finish][..], &wanted.also].concat();
                    self.same(compute, &stored, &self.accumulators(compute))
                }
                _ => true,
            };
            self.is_own_element(site, compute, &wanted.body);
            if !is_right {
                let (line, stage) = (self.line(site), self.stage(compute.stage));
                self.refuse(Rule::Value, site.span(), format!("`{line}` does not compute the value of `{stage}`"));
            }
        }
    }

    /// Rewrites the definition of a prefetched copy to the step that a leaf fetches for. (A store reads registers and is not rewritten.)
    fn in_step(&self, site: &Site<'_>, stage: StageId, mut wanted: Wanted) -> Wanted {
        let made = |p: &Pipelined| {
            p.made
                .filter(|made| p.stage == stage && made.registers.is_none() && site.binds(made.step))
                .map(|made| (p.axis, made.step))
        };
        if let (Some((axis, step)), Body::Map(value)) = (self.program.notes.pipelines.iter().find_map(made), &mut wanted.body) {
            *value = self.program.renamed(*value, axis, step);
        }
        wanted
    }

    /// Checks that a stage writes device memory at axes (its own, or those that replace them), or at the elements that items choose. (A stage
    /// that is fused into another's nest may write back at other indices.)
    fn is_own_element(&self, site: &Site<'_>, compute: &Compute, body: &Body) {
        let is_hosted = self.program.notes.hosts.contains_key(&compute.stage);
        let items = match body {
            Body::Reduce { lift, .. } if matches!(compute.phase, Phase::Whole | Phase::Update | Phase::Atomic) => Some(lift),
            _ => None,
        };
        let reduced = self.made_of(self.reduced(site), site).leaves;
        let by_items = |at: ExprId| {
            let named = || self.made_of(self.named(&[at]), site).leaves;
            items.is_some() && (!self.program.exprs.reads(at).is_empty() || named().iter().any(|leaf| reduced.contains(leaf)))
        };
        let is_chosen = |n: usize, at: ExprId| items.is_some_and(|lift| self.is_chosen(compute, lift, n, at));
        let own = |to: &Access| {
            let is_free = is_hosted || !self.space(to.buffer).is_global();
            to.index.iter().enumerate().all(|(n, at)| match self.program.exprs.get(*at) {
                Expr::Axis(_) => true,
                _ if by_items(*at) && self.is_visible(to.buffer) => is_chosen(n, *at),
                _ => is_free || is_chosen(n, *at),
            })
        };
        if !compute.dst.iter().all(own) {
            let (line, name) = (self.line(site), self.stage(compute.stage));
            self.refuse(Rule::Value, site.span(), format!("`{line}` writes another element than `{name}` defines"));
        }
    }

    /// Checks that the value written to an element of shared memory depends only on invocations that the element's index determines.
    fn same_for_all(&self, site: &Site<'_>, compute: &Compute) {
        let shared = compute.dst.iter().filter(|to| *self.space(to.buffer) == Space::Shared);
        for (to, value) in shared.zip(&compute.value) {
            // The partial results of a reduction that is not yet lowered will be combined.
            let told = self.made_of(self.named(&to.index).into_iter().chain(self.reduced(site)), site).leaves;
            let differs = self.made_of(self.named(&[*value]), site).leaves.into_iter().find(|axis| {
                let bound = matches!(site.exec(*axis), Some(Exec::Bind(level, _)) if level != Level::Workgroup);
                bound && !told.contains(axis) && !self.single(*axis)
            });
            if let Some(axis) = differs {
                let (line, name) = (self.line(site), self.name(axis));
                self.refuse(
                    Rule::Value,
                    site.span(),
                    format!("`{line}` writes a different value for each `{name}` to an element that all of them share"),
                );
            }
        }
    }

    /// True if the values are the wanted ones.
    fn same(&self, compute: &Compute, wanted: &[ExprId], accumulators: &[BufferId]) -> bool {
        let values: Vec<ExprId> = compute.values().collect();
        // (`owners` and `matrices` check the reads of fragments.)
        let is_told = |value: &ExprId| match self.program.exprs.get(*value) {
            Expr::Read(read) => !self.is_untold(read.buffer, accumulators),
            _ => true,
        };
        let pairs = values.iter().zip(wanted).filter(|(value, _)| is_told(value)).map(|(value, wanted)| (*value, *wanted));
        values.len() == wanted.len() && self.are_same(compute, pairs.collect(), accumulators)
    }

    /// True if a buffer cannot be traced: matrices, and memory other than the accumulators, which no stage defines.
    pub(in crate::verify) fn is_untold(&self, buffer: BufferId, accumulators: &[BufferId]) -> bool {
        let is_local = !self.space(buffer).is_global() && !matches!(self.space(buffer), Space::Constant(_));
        let is_matrix = || matches!(self.space(buffer), Space::Fragment { .. });
        is_local && !accumulators.contains(&buffer) && (is_matrix() || self.program.definition(buffer).is_none())
    }

    /// True if each value of a leaf equals the wanted value of its pair. A value reads an accumulator where the wanted one names the state,
    /// and a copy where the wanted one reads the tensor.
    pub(in crate::verify) fn are_same(&self, compute: &Compute, pairs: Vec<(ExprId, ExprId)>, accumulators: &[BufferId]) -> bool {
        let axes = &self.program.stages[compute.stage].axes;
        // An element is written back from memory that is indexed by other axes, or data choose it.
        let stored_at = |axis: &AxisId| {
            let place = axes.iter().position(|a| a == axis)?;
            let first = *compute.dst.first()?.index.get(place)?;
            compute.dst.iter().all(|to| to.index.get(place) == Some(&first)).then_some(first)
        };
        let (exprs, local) = (&self.program.exprs, compute.dst.iter().all(|to| !self.space(to.buffer).is_global()));
        // The wanted index at the element that the leaf writes.
        let placed = |wanted: ExprId| exprs.with_axes(wanted, &mut |axis| stored_at(&axis));
        let is_of_axes = |value: ExprId| exprs.dtype(value) == DType::I32 && exprs.reads(value).is_empty();
        let traced = |value: ExprId| self.provers.traced.value(value);
        let mut open: Vec<(ExprId, ExprId)> = pairs.into_iter().map(|(value, wanted)| (traced(value), traced(wanted))).collect();
        let mut seen = HashSet::new();
        while let Some((value, wanted)) = open.pop() {
            if value == wanted || !seen.insert((value, wanted)) {
                continue;
            }
            match (exprs.get(value), exprs.get(wanted)) {
                (Expr::Read(read), Expr::State(n)) if accumulators.get(*n as usize) == Some(&read.buffer) => {}
                // Local memory may be filled where the stage defines no element.
                (Expr::Select(_, element, fill), other)
                    if local && matches!(exprs.get(*fill), Expr::Const(_)) && !matches!(other, Expr::Select(..)) =>
                {
                    open.push((*element, wanted));
                }
                (Expr::Read(read), _) if self.is_untold(read.buffer, accumulators) => {}
                (Expr::Read(read), Expr::Read(wanted)) => match self.same_read(read, wanted) {
                    Some(left) => open.extend(left),
                    None => return false,
                },
                (_, Expr::Read(wanted)) if self.same_element(value, wanted) => {}
                // In conditions and casts, other axes may replace the stage's.
                _ if is_of_axes(value) && (self.same_index(value, wanted) || self.same_index(value, placed(wanted))) => {}
                (_, Expr::Axis(axis)) => match stored_at(axis).filter(|place| *place != wanted) {
                    Some(place) => open.push((value, traced(place))),
                    None => return false,
                },
                // The operations match. The operands are compared in turn.
                (a, b) if a.map(&mut |_| value) == b.map(&mut |_| value) => open.extend(a.operands().into_iter().zip(b.operands())),
                _ => return false,
            }
        }
        true
    }

    /// Returns the buffers that hold a reduction's state, one for each component.
    fn accumulators(&self, finish: &Compute) -> Vec<BufferId> {
        let update = |site: &Site<'_>| match &site.node.kind {
            NodeKind::Compute(c) if c.stage == finish.stage && c.phase == Phase::Update => {
                Some(c.dst.iter().map(|place| place.buffer).collect())
            }
            _ => None,
        };
        // One update writes all components. Another may write only the first ones.
        let mut state: Vec<BufferId> = self.sites.iter().filter_map(update).max_by_key(Vec::len).unwrap_or_default();
        // An all-reduce writes the complete state to its destination.
        for site in self.sites {
            if let NodeKind::AllReduce(c) = &site.node.kind
                && c.stage == finish.stage
                && c.src.iter().map(|place| place.buffer).eq(state.iter().copied())
            {
                state = c.dst.iter().map(|place| place.buffer).collect();
            }
        }
        state
    }
}
