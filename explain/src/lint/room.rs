//! Lints of a core's resources: only one workgroup fits a core, or an invocation needs too many registers.

use super::directive::literal;
use super::{Advice, LintName, Look};
use tilewright_codegen::cost::Limit;
use tilewright_dsl::diag::SpanId;
use tilewright_dsl::nest::{AxisDef, AxisId, Exec, NodeKind, Space, walk};
use tilewright_dsl::syntax::schedule::{Directive, DirectiveKind, Memory, Tile};

impl Look<'_> {
    pub(super) fn room(&mut self) {
        self.registers();
        self.occupancy();
    }

    /// Reports that only one workgroup fits a core, because the core is then idle while that workgroup waits at its barriers.
    fn occupancy(&mut self) {
        let (cost, profile) = (&self.figures.cost, &self.subject.profile);
        let Some(occupancy) = self.figures.occupancy.filter(|o| o.workgroups < 2 && o.limit != Limit::Invocations) else { return };
        let local: u32 = cost.local.iter().product();
        if cost.barriers == 0 || profile.core_invocations.is_some_and(|n| local.saturating_mul(2) > n) {
            return;
        }
        let (needs, has, of) = match occupancy.limit {
            Limit::SharedMemory => (cost.shared_bytes, profile.core_shared_bytes, "bytes of shared memory"),
            _ => (cost.registers.total().saturating_mul(local), profile.core_registers, "registers"),
        };
        let has = has.unwrap_or(0);
        let fits = if occupancy.workgroups == 0 { "no workgroup fits a core" } else { "one workgroup fits a core" };
        let what = format!("{fits}, because it takes {needs} of {has} {of}, so the core is idle while it waits");
        let found = match occupancy.limit {
            Limit::SharedMemory => self.less_shared(),
            _ => self.smaller_tile(),
        };
        let advice = Advice::general(format!("make the tiles smaller, so that two workgroups take no more than {has} {of}"));
        let (span, new) = found.unwrap_or((SpanId::NONE, None));
        self.note(LintName::Occupancy, span, what, self.written(advice, span, new));
    }

    /// Returns a directive and its replacement that save shared memory: one buffer instead of several, or else a smaller tile of
    /// the copied data.
    fn less_shared(&self) -> Option<(SpanId, Option<String>)> {
        let buffered = |d: &&Directive| matches!(&d.kind, DirectiveKind::Pipeline(p) if literal(&p.buffers) != Some(1));
        if let Some(pipeline) = self.directives().find(buffered) {
            return Some((pipeline.span, self.with_one_buffer(pipeline.span)));
        }
        let (span, at) = self.directives().find_map(|directive| match &directive.kind {
            DirectiveKind::Promote(copy) if copy.to == Memory::Shared => Some((directive.span, &copy.at.text)),
            _ => None,
        })?;
        let is_outer = |tile: &Tile| tile.outer.as_ref().is_some_and(|outer| outer.text == *at);
        let makes = |d: &&Directive| matches!(&d.kind, DirectiveKind::Tile { tiles, .. } if tiles.iter().any(is_outer));
        Some(self.directives().find(makes).map_or((span, None), |tile| (tile.span, self.halved(tile.span))))
    }

    fn registers(&mut self) {
        let (held, profile) = (self.figures.cost.registers, &self.subject.profile);
        let Some(has) = profile.registers.filter(|has| held.total() > *has) else { return };
        let matrices = if held.accumulators + held.operands > 0 {
            format!(" ({} of accumulators and {} of operands of matrix units)", held.accumulators, held.operands)
        } else {
            String::new()
        };
        let what = format!("an invocation holds {} registers{matrices}, and has {has}", held.total());
        let (span, new) = self.smaller_tile().unwrap_or((SpanId::NONE, None));
        let advice = Advice::general("make the tile of an invocation smaller");
        self.note(LintName::Registers, span, what, self.written(advice, span, new));
    }

    /// Returns the directive that made the tile whose elements an invocation, or a subgroup, holds at the same time, and the
    /// directive with half of its largest factor.
    fn smaller_tile(&self) -> Option<(SpanId, Option<String>)> {
        let mut spans = Vec::new();
        walk::within(&self.nest.plan.get(self.dispatch)?.body, &mut |node, around| {
            let NodeKind::Compute(compute) = &node.kind else { return };
            let holds = |space: &Space| matches!(space, Space::Register | Space::Fragment { .. });
            if compute.written().iter().any(|place| holds(&self.nest.buffers[place.buffer].space)) {
                let loops = around.iter().filter(|l| matches!(l.exec, Exec::Unroll));
                loops.for_each(|l| spans.extend(self.made_by(l.axis)));
            }
        });
        let is_tile = |span: &SpanId| self.directive(*span).is_some_and(|d| matches!(d.kind, DirectiveKind::Tile { .. }));
        spans.into_iter().find(is_tile).map(|span| (span, self.halved(span))).filter(|(_, new)| new.is_some())
    }

    /// Returns the directives that made an axis, the last one first.
    fn made_by(&self, axis: AxisId) -> Vec<SpanId> {
        let own = self.nest.axes[axis].span;
        let rest = match &self.nest.axes[axis].def {
            AxisDef::Part { of, .. } => self.made_by(*of),
            _ => Vec::new(),
        };
        [own].into_iter().chain(rest).collect()
    }
}
