//! Lints of wasted work: stages that are recomputed where they are read, and idle invocations.

use super::{Advice, LintName, Look};
use tilewright_codegen::cost::{Covered, Long, Repeated};
use tilewright_dsl::nest::{AxisId, Exec, Level, NodeKind, walk};

/// The share of invocations that may be idle, in percent.
const IDLE: i64 = 25;

/// The number of computed elements of a stage, relative to its size, that is reported, in percent.
const REPEATED: i64 = 150;

impl Look<'_> {
    pub(super) fn work(&mut self) {
        let figures = self.figures;
        figures.cost.repeated.iter().for_each(|repeated| self.recomputed(repeated));
        figures.cost.covered.iter().for_each(|covered| self.past_the_end(covered));
        figures.cost.long.iter().for_each(|long| self.longer_than_the_axis(long));
    }

    fn recomputed(&mut self, repeated: &Repeated) {
        let Some((each, elements)) = self.known.eval(&repeated.computed).zip(self.known.eval(&repeated.elements)) else { return };
        let Some(all) = self.figures.workgroups.and_then(|n| n.checked_mul(each)) else { return };
        let Some(percent) = all.checked_mul(100).and_then(|n| n.checked_div(elements)) else { return };
        if percent < REPEATED {
            return;
        }
        let name = &repeated.name;
        let what = format!("`{name}` is computed {}.{} times as often as it has elements", percent / 100, percent % 100 / 10);
        let written = self.text(repeated.span).map(|text| format!(" instead of `{text};`")).unwrap_or_default();
        let instead = format!("write `root({name});`{written}, so that it is computed once, in its own dispatch");
        let edit = self.edit(repeated.span, format!("root({name})"));
        let advice = Advice::general(format!("make the tile larger at which `{name}` is computed"));
        self.note(LintName::Recomputed, repeated.span, what, advice.or(instead, edit));
    }

    fn past_the_end(&mut self, covered: &Covered) {
        let Some((needed, run)) = self.known.eval(&covered.needed).zip(self.known.eval(&covered.run)) else { return };
        let idle = |run: i64| run.checked_sub(needed).and_then(|n| n.checked_mul(100)).and_then(|n| n.checked_div(run));
        let Some(percent) = idle(run).filter(|percent| *percent >= IDLE) else { return };
        let axis = covered.axis.trim_end_matches('\'');
        let what =
            format!("{percent} % of the invocations are idle: the tiles of `{axis}` have room for {run}, and it has {needed}");
        let smaller = self.factor(covered.span, axis).and_then(|factor| {
            let powers = (0..30).rev().map(|n| 1i64 << n).filter(|n| *n < factor);
            powers.into_iter().find(|n| idle((needed + n - 1) / n * n).is_some_and(|percent| percent < IDLE))
        });
        let new = smaller.and_then(|factor| self.with_factor(covered.span, axis, factor));
        let advice = Advice::general(format!("make the tiles of `{axis}` smaller"));
        self.note(LintName::Idle, covered.span, what, self.written(advice, covered.span, new));
    }

    /// Reports a tile that executes all its points, if its axis is shorter at these sizes.
    fn longer_than_the_axis(&mut self, long: &Long) {
        let Some(needed) = self.known.eval(&long.needed).filter(|needed| (1..long.run).contains(needed)) else { return };
        let (axis, run) = (long.axis.trim_end_matches('\''), long.run);
        let what = format!(
            "{} of {run} points of a tile of `{axis}` are wasted: all {run} are computed, but `{axis}` has {needed}",
            run - needed
        );
        // The largest power of two that does not exceed the axis.
        let smaller = 1i64 << needed.ilog2();
        let factor = self.factor(long.span, axis).filter(|factor| *factor > smaller);
        let new = factor.and_then(|_| self.with_factor(long.span, axis, smaller));
        let advice = Advice::general(format!("make the tile of `{axis}` at most {needed} long"));
        self.note(LintName::LongTile, long.span, what, self.written(advice, long.span, new));
    }

    /// Reports a workgroup that does not consist of whole subgroups.
    pub(super) fn part_of_a_subgroup(&mut self) {
        let Some(subgroup) = self.subject.profile.subgroup.map(i64::from) else { return };
        let local: i64 = self.figures.cost.local.iter().map(|n| i64::from(*n)).product();
        let whole = (local + subgroup - 1) / subgroup * subgroup;
        let percent = (whole - local) * 100 / whole.max(1);
        let Some((axis, count)) = self.largest_in_threads().filter(|_| local > 1 && percent >= IDLE) else { return };
        let what = format!("{percent} % of the invocations are idle: a workgroup has {local}, and subgroups have {subgroup}");
        let others = local / count.max(1);
        let more = (count..=count.saturating_mul(subgroup)).find(|n| n * others % subgroup == 0);
        let factor = self.factor_of(axis);
        let span = self.nest.axes[factor].span;
        let times = self.extent(factor).map(|extent| extent / count.max(1));
        let name = self.user_name(factor).to_owned();
        let new = more.zip(times).and_then(|(more, times)| self.with_factor(span, &name, more * times));
        let advice = Advice::general(format!("let a multiple of {subgroup} invocations work together"));
        self.note(LintName::Idle, span, what, self.written(advice, span, new));
    }

    fn extent(&self, axis: AxisId) -> Option<i64> {
        self.nest.exprs.as_int(self.nest.axes[axis].extent)
    }

    /// Returns the axis with the most invocations.
    fn largest_in_threads(&self) -> Option<(AxisId, i64)> {
        let plan = self.nest.plan.get(self.dispatch)?;
        let of = |node: &tilewright_dsl::nest::Node| match &node.kind {
            NodeKind::Loop(l) if matches!(l.exec, Exec::Bind(Level::Thread, _)) => Some((l.axis, self.extent(l.axis)?)),
            _ => None,
        };
        walk::nodes(&plan.body).filter_map(of).reduce(|a, b| if b.1 > a.1 { b } else { a })
    }
}
