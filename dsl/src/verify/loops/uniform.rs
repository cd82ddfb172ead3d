//! Checks that barriers, collectives, shared copies and matrices run under uniform control: no loop around them has an extent that differs
//! among the invocations that must arrive together. ([`super::sides`] checks branches.)

use crate::expr::ExprId;
use crate::nest::{Exec, Level, NodeKind, Scope};
use crate::verify::Rule;
use crate::verify::context::Checks;
use crate::verify::site::Site;

impl Checks<'_> {
    /// Checks every leaf at which invocations must arrive together.
    pub(in crate::verify) fn uniform(&self) {
        for site in self.sites {
            if let Some(scope) = together(site) {
                self.arrives(site, scope);
            }
        }
    }

    fn arrives(&self, site: &Site<'_>, scope: Scope) {
        for looped in site.loops().filter(|looped| !matches!(looped.exec, Exec::Bind(..))) {
            if let Some(why) = self.varies(site, &[self.extent(looped.axis)], scope) {
                let (line, name) = (self.line(site), self.name(looped.axis));
                let what = format!("`{line}` is nested in the loop over `{name}`, whose extent depends on {why}");
                self.refuse(Rule::Uniformity, site.span(), what);
            }
        }
    }

    /// Returns the reason why expressions differ among the invocations of a scope, if they do.
    fn varies(&self, site: &Site<'_>, exprs: &[ExprId], scope: Scope) -> Option<String> {
        if exprs.iter().any(|e| !self.program.exprs.reads(*e).is_empty()) {
            return Some("data".into());
        }
        let leaves = self.made_of(self.named(exprs), site).leaves;
        leaves
            .into_iter()
            .find_map(|leaf| match site.exec(leaf) {
                Some(Exec::Bind(level @ (Level::Thread | Level::Lane), slot)) => Some((leaf, level, slot)),
                Some(Exec::Bind(Level::Subgroup, slot)) if scope == Scope::Workgroup => Some((leaf, Level::Subgroup, slot)),
                _ => None,
            })
            .map(|(leaf, level, slot)| format!("`{}`, which is bound to {}", self.name(leaf), Self::slot(level, slot)))
    }
}

/// Returns the scope whose invocations must arrive together at a leaf.
fn together(site: &Site<'_>) -> Option<Scope> {
    match &site.node.kind {
        NodeKind::Barrier { scope } => Some(*scope),
        NodeKind::AllReduce(reduction) => Some(reduction.scope),
        NodeKind::Compute(_) if site.is_matrix() => Some(Scope::Subgroup),
        _ => None,
    }
    .filter(|scope| matches!(scope, Scope::Subgroup | Scope::Workgroup))
}
