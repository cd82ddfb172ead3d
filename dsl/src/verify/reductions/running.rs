//! Checks online reductions over blocks, whose items carry over from the previous block
//! ([`Notes::running`](crate::nest::Notes::running)). The update may replace its state by an item, or add the item to the state
//! rescaled to the item's maximum, if
//! - the maximum of each block starts from the maximum of the previous block, in the same memory;
//! - a sum that replaces the state starts from that state rescaled to the new maximum. It does so once for each block, and only that update
//!   reads it. If an all-reduce combines the sum from partial results, each partial result starts from its own previous value.
//!
//! One invocation holds all of this state (`owners`). The update is skipped while a predicate of the reduction is false, and no fill
//! replaces its operands. Partial results are carried over only if there is no such predicate, because they would keep the items that the
//! update excludes.

use super::phase;
use crate::expr::{Expr, ExprId};
use crate::nest::{Access, AxisId, Body, BufferId, Compute, Exec, Monoid, NodeKind, Phase, Pred, Running, StageId, Tail};
use crate::verify::Rule;
use crate::verify::context::Checks;
use crate::verify::site::Site;
use std::collections::HashSet;

/// The update of an online reduction.
struct Update<'c, 'v> {
    site: &'c Site<'v>,
    compute: &'c Compute,
    monoid: &'c Monoid,
    running: &'c Running,
}

impl<'v> Checks<'v> {
    /// Checks that a `Resume` leaf belongs to an update that uses its item as the new state.
    pub(super) fn resume(&self, site: &Site<'_>, stage: StageId) {
        self.begins_outside(site, stage);
        let takes = |update: &Update<'_, '_>| {
            (0..update.monoid.combine.len()).any(|n| self.item(update, n) == Some(stage) && self.is_resumed(update, n, site))
        };
        if !self.running_updates().iter().any(takes) {
            let (line, name) = (self.line(site), self.stage(stage));
            let what = format!("`{line}` is not the state of `{name}` so far, or no update uses it as that");
            self.refuse(Rule::Reduction, site.span(), what);
        }
    }

    /// Checks that an update that uses items as the new state has items that carry that state over.
    pub(super) fn goes_on(&self, site: &Site<'_>, stage: StageId) {
        for update in self.running_updates().iter().filter(|update| std::ptr::eq(update.site, site)) {
            let first = update.compute.given;
            let is_right = |n: usize| {
                let (combine, item, own) = (update.monoid.combine[n], self.item_expr(update, n), self.item(update, n));
                let resumes = |site: &&Site<'_>| phase(site).is_some_and(|p| own == Some(p.0) && p.1 == Phase::Resume);
                let resumed: Vec<&Site<'_>> = self.sites.iter().filter(resumes).collect();
                match &resumed[..] {
                    [start] => combine == item && self.is_resumed(update, n, start),
                    [] => n > 0 && combine == self.program.exprs.sum(update.running.below[n], item),
                    _ => false,
                }
            };
            let over = match &self.program.stages[stage].body {
                Body::Reduce { over, .. } => self.made_of(over.iter().copied(), site).leaves,
                Body::Map(_) => continue,
            };
            let filled = self.preds_of_blocks(update).iter().any(|pred| pred.tail == Tail::RoundUp);
            let whole =
                site.loops().all(|looped| !over.contains(&looped.axis) || matches!(looped.exec, Exec::Serial | Exec::Unroll));
            let components = [0].into_iter().chain(first..update.compute.dst.len());
            if filled || !whole || !components.into_iter().all(is_right) {
                let (line, name) = (self.line(site), self.stage(stage));
                self.refuse(
                    Rule::Reduction,
                    site.span(),
                    format!("`{line}` replaces the state of `{name}` by a value that does not carry it over"),
                );
            }
        }
    }

    /// Returns the updates of reductions whose monoid was rewritten to carry items over from block to block.
    fn running_updates(&self) -> Vec<Update<'_, 'v>> {
        let of = |site: &'_ Site<'v>| {
            let (stage, Phase::Update) = phase(site)? else { return None };
            let running = self.program.notes.running.iter().find(|running| self.program.writer(running.target) == Some(stage))?;
            match (&site.node.kind, &self.program.stages[stage].body) {
                (NodeKind::Compute(compute), Body::Reduce { monoid, .. }) if monoid.goes_on(&self.program.exprs) => {
                    Some((compute, monoid, running))
                }
                _ => None,
            }
        };
        self.sites
            .iter()
            .filter_map(|site| of(site).map(|(compute, monoid, running)| Update { site, compute, monoid, running }))
            .collect()
    }

    fn item_expr(&self, update: &Update<'_, '_>, n: usize) -> ExprId {
        let exprs = &self.program.exprs;
        exprs.add(Expr::Item(n as u32), exprs.dtype(update.monoid.identity[n]))
    }

    /// Returns the stage that computes a component's items.
    fn item(&self, update: &Update<'_, '_>, n: usize) -> Option<StageId> {
        let Expr::Read(read) = self.program.exprs.get(*update.compute.value.get(n)?) else { return None };
        self.program.definition(read.buffer)
    }

    /// True if a leaf starts the items of a component from the carried-over state.
    fn is_resumed(&self, update: &Update<'_, '_>, n: usize, site: &Site<'_>) -> bool {
        let (NodeKind::Compute(start), Some(stage)) = (&site.node.kind, self.item(update, n)) else { return false };
        let ([value], Some(Expr::Read(item))) =
            (&start.value[..], update.compute.value.get(n).map(|e| self.program.exprs.get(*e).clone()))
        else {
            return false;
        };
        let mut ends = self.sites.iter().filter(|end| phase(end) == Some((stage, Phase::Finish)));
        let (Some(end), None) = (ends.next(), ends.next()) else { return false };
        let NodeKind::Compute(finish) = &end.node.kind else { return false };
        let [to] = &finish.dst[..] else { return false };
        let in_order = site.is_before(end) && end.is_before(update.site) && to.buffer == item.buffer;
        if n == 0 {
            let own = self.program.exprs.read(to.buffer, self.program.buffers[to.buffer].dtype, to.index.iter().copied());
            return in_order && *value == own && self.outlives_blocks(update, site, to.buffer);
        }
        let maximum_is_there = self
            .item(update, 0)
            .is_some_and(|max| self.sites.iter().any(|end| phase(end) == Some((max, Phase::Finish)) && end.is_before(site)));
        let [place] = &start.dst[..] else { return false };
        let has_parts = self.sites.iter().any(|site| matches!(&site.node.kind, NodeKind::AllReduce(all) if all.stage == stage));
        let parts = has_parts.then_some(place);
        in_order
            && maximum_is_there
            && parts.is_none_or(|place| self.outlives_blocks(update, site, place.buffer) && self.preds_of_blocks(update).is_empty())
            && self.is_once_a_block(update, site)
            && self.is_taken_alone(item.buffer, update.compute.stage)
            && self.so_far(update, n, site, (&item.index, &to.index), parts) == Some(*value)
    }

    /// True if a buffer's scope encloses all blocks, with no serial loops but those over blocks between the allocation and a block.
    fn outlives_blocks(&self, update: &Update<'_, '_>, site: &Site<'_>, buffer: BufferId) -> bool {
        let Some(life) = site.life(buffer) else { return false };
        let over = self.blocks(update);
        let state = update.compute.dst.iter().filter_map(|to| update.site.life(to.buffer)).max();
        let between = site.around.get(life..site.common(update.site)).unwrap_or_default();
        let looped = |around: &crate::verify::site::Around<'_>| match &around.node.kind {
            NodeKind::Loop(looped) => Some((over.contains(&looped.axis), looped.exec)),
            _ => None,
        };
        let others = between.iter().filter_map(looped).all(|(of_blocks, exec)| of_blocks || matches!(exec, Exec::Bind(..)));
        let between = between.iter().filter_map(looped).filter(|(of_blocks, _)| *of_blocks).count();
        between > 0 && others && state.is_some_and(|state| state < life)
    }

    /// True if every loop over blocks around the update also encloses the leaf that starts it.
    fn is_once_a_block(&self, update: &Update<'_, '_>, site: &Site<'_>) -> bool {
        let (over, common) = (self.blocks(update), site.common(update.site));
        [site, update.site].iter().all(|site| site.loops_from(common).all(|looped| !over.contains(&looped.axis)))
    }

    /// Returns the update's predicates on axes of blocks, except for axes past whose ends the items are already the identity.
    fn preds_of_blocks(&self, update: &Update<'_, '_>) -> Vec<Pred> {
        let over = self.blocks(update);
        let is_neutral = |pred: &Pred| pred.tail == Tail::RoundUp && self.program.notes.neutral.contains(&pred.axis);
        let reduces = |axis: AxisId| self.made_of([axis], update.site).leaves.iter().chain([&axis]).any(|leaf| over.contains(leaf));
        update.site.preds().iter().copied().filter(|pred| reduces(pred.axis) && !is_neutral(pred)).collect()
    }

    fn blocks(&self, update: &Update<'_, '_>) -> HashSet<AxisId> {
        match &self.program.stages[update.compute.stage].body {
            Body::Reduce { over, .. } => self.made_of(over.iter().copied(), update.site).leaves.into_iter().collect(),
            Body::Map(_) => HashSet::new(),
        }
    }

    /// True if only updates of a stage read a buffer.
    fn is_taken_alone(&self, buffer: BufferId, by: StageId) -> bool {
        let reads = |site: &&Site<'_>| site.touches.iter().any(|touch| touch.buffer == buffer && !touch.writes);
        self.sites.iter().filter(reads).all(|site| phase(site) == Some((by, Phase::Update)))
    }

    /// Returns the value that a sum must start from at `site`: the state, or the sum's own partial results, rescaled to the new maximum.
    /// The update reads the sum at the element that a finish writes, so the indices of both accesses pair the loops around the update with
    /// those around `site`.
    fn so_far(
        &self,
        update: &Update<'_, '_>,
        n: usize,
        site: &Site<'_>,
        (read, written): (&[ExprId], &[ExprId]),
        parts: Option<&Access>,
    ) -> Option<ExprId> {
        let (program, exprs) = (self.program, &self.program.exprs);
        let here: HashSet<AxisId> = update.site.loops().map(|looped| looped.axis).collect();
        let there: HashSet<AxisId> = site.loops().map(|looped| looped.axis).collect();
        let value_at = |place: &Access| exprs.read(place.buffer, program.buffers[place.buffer].dtype, place.index.iter().copied());
        let state = exprs.replace(*update.running.below.get(n)?, &mut |exprs, id| match exprs.get(id) {
            Expr::State(of) if parts.is_none() || *of == 0 => update.compute.dst.get(*of as usize).map(&value_at),
            Expr::Item(_) => update.compute.value.first().copied(),
            _ => None,
        });
        let mut state = program.over_leaves(state, &here);
        for (own, its) in read.iter().zip(written) {
            let (own, its) = (program.over_leaves(*own, &here), program.over_leaves(*its, &there));
            match (exprs.get(own), exprs.get(its)) {
                _ if own == its => {}
                (Expr::Axis(own), Expr::Axis(its)) => {
                    let alike = update.site.exec(*own).is_some() && update.site.exec(*own) == site.exec(*its);
                    if !alike || self.extent(*own) != self.extent(*its) {
                        return None;
                    }
                    state = program.renamed(state, *own, *its);
                }
                _ => return None,
            }
        }
        if program.named(state).into_iter().any(|axis| here.contains(&axis) && !there.contains(&axis)) {
            return None;
        }
        Some(exprs.replace(program.over_leaves(state, &there), &mut |exprs, id| match exprs.get(id) {
            Expr::State(_) => parts.map(&value_at),
            _ => None,
        }))
    }
}
