//! The lint of dot products that the device computes by unpacking bytes.

use super::{Advice, LintName, Look};
use tilewright_dsl::diag::list;
use tilewright_dsl::expr::Expr;
use tilewright_dsl::launch::DotSigns;
use tilewright_dsl::nest::{Compute, Exec, NodeKind, Program, walk};

impl Look<'_> {
    /// Reports dot products of other signs than the profile's `fast_dots`.
    pub(super) fn slow_dots(&mut self) {
        let mut slow = Vec::new();
        walk::within(&self.nest.plan[self.dispatch].body, &mut |node, around| {
            let dot = around.iter().find(|looped| looped.exec == Exec::Dot);
            if let (NodeKind::Compute(compute), Some(dot)) = (&node.kind, dot)
                && let Some(signs) = signs(self.nest, compute)
                && !self.subject.profile.fast_dots.contains(&signs)
            {
                slow.push((dot.span, signs));
            }
        });
        for (span, signs) in slow {
            let profile = &self.subject.profile;
            let fast: Vec<&str> = profile.fast_dots.iter().map(|signs| signs.name()).collect();
            let known = if fast.is_empty() { "none".to_owned() } else { list(fast) };
            let name = signs.name();
            let what = format!(
                "the device unpacks the bytes of a dot product of {name} factors, because `{}` has no instruction for it",
                profile.name
            );
            let advice = format!("leave `dot` out and compare, or add `{name}` to the profile's `fast_dots` ({known} so far)");
            self.note(LintName::SlowDot, span, what, Advice::general(advice));
        }
    }
}

/// Returns the signs of the factors that an update multiplies.
fn signs(program: &Program, compute: &Compute) -> Option<DotSigns> {
    let [item] = compute.value[..] else { return None };
    let Expr::Binary(_, a, b) = *program.exprs.get(item) else { return None };
    DotSigns::of([a, b].map(|factor| program.exprs.dtype(program.exprs.widened(factor))))
}
