//! Checks that an axis that can exceed its extent has a predicate wherever shared or device memory is written, and wherever a reduction
//! would take items past the end. ([`bounds`](crate::verify::memory::bounds) checks the reads.)

use crate::diag::Error;
use crate::expr::ExprId;
use crate::nest::{AxisId, Fate, NodeKind, Tail};
use crate::verify::Rule;
use crate::verify::context::Checks;
use crate::verify::site::{Site, SiteAccess};

impl Checks<'_> {
    /// Checks the predicates of every leaf.
    pub(in crate::verify) fn predicates(&self) {
        for site in self.sites {
            self.writes_are_guarded(site);
            self.items_are_guarded(site);
        }
    }

    /// Checks that no element past an extent is written, and that inactive invocations write no element again.
    fn writes_are_guarded(&self, site: &Site<'_>) {
        let visible = |touch: &&SiteAccess| touch.writes && self.is_visible(touch.buffer);
        let written: Vec<_> = site.touches.iter().filter(visible).collect();
        if written.is_empty() {
            return;
        }
        // An element that items choose is clamped to its axis.
        let chosen: Vec<ExprId> = self.chosen_places(site).into_iter().map(|(_, at)| at).collect();
        let places = written.iter().flat_map(|touch| &touch.index).copied().filter(|at| !chosen.contains(at));
        let named = self.named(&places.collect::<Vec<_>>());
        let mut past = self.made_of(named, site).past;
        if matches!(site.node.kind, NodeKind::Compute(_) | NodeKind::AllReduce(_)) {
            let inactive = site.loops().map(|looped| looped.axis).filter(|axis| self.has_inactive(*axis, site));
            past.extend(inactive.filter(|axis| !self.is_done_together(site, *axis, &written)));
        }
        for axis in past.into_iter().filter(|axis| !self.guarded(*axis, site)).collect::<Vec<_>>() {
            self.missing(site, axis, "would write past it");
        }
    }

    /// True if all invocations of an axis execute a leaf together, inactive ones included: the leaf fills memory whose scope is inside the
    /// loop over the axis, and its value does not depend on the axis. (`races` checks that no two of them write one element.)
    fn is_done_together(&self, site: &Site<'_>, axis: AxisId, written: &[&SiteAccess]) -> bool {
        let place = |is: &dyn Fn(&NodeKind) -> bool| site.around.iter().position(|around| is(&around.node.kind));
        let looped = place(&|node| matches!(node, NodeKind::Loop(l) if l.axis == axis));
        let within = |touch: &&SiteAccess| {
            let life = place(&|node| matches!(node, NodeKind::Alloc { buffer, .. } if *buffer == touch.buffer));
            looped.zip(life).is_some_and(|(looped, life)| looped < life)
        };
        matches!(site.node.kind, NodeKind::Compute(_)) && written.iter().all(within) && !self.depends_on(site, &[]).contains(&axis)
    }

    /// Checks that a reduction takes no item past an extent, unless the item is the identity.
    fn items_are_guarded(&self, site: &Site<'_>) {
        if self.never_runs(site) {
            return;
        }
        let reduced = self.reduced(site);
        for axis in self.made_of(reduced, site).past {
            let pred = site.preds().iter().find(|pred| pred.axis == axis);
            let right = match pred.map(|pred| pred.tail) {
                Some(Tail::Guard | Tail::Exact) => true,
                filled => self.item_is_identity(site, axis, filled == Some(Tail::RoundUp)),
            };
            if right {
                continue;
            }
            match pred {
                None => self.missing(site, axis, "would add items past it that are not proved to be the identity"),
                Some(_) => {
                    let what = format!(
                        "the items of `{}` are not proved to be the identity where `{}` is filled",
                        self.line(site),
                        self.name(axis)
                    );
                    self.refuse(Rule::Predicate, site.span(), what);
                }
            }
        }
    }

    /// Reports that an axis exceeds its extent.
    pub(in crate::verify) fn missing(&self, site: &Site<'_>, axis: AxisId, harm: &str) {
        let (line, name, extent) = (self.line(site), self.name(axis), self.printer.expr(self.extent(axis)));
        let error = Error::new(site.span(), format!("{}: `{name} < {extent}` on `{line}`", Rule::Predicate));
        let error = match &self.program.axes[axis].fate {
            Fate::Split(split) if !site.binds(axis) => {
                error.note_at(split.span, format!("`{name}` can exceed {extent}, because its split is not exact; the leaf {harm}"))
            }
            _ => error.note(format!("there are more invocations than `{name}` has values; the leaf {harm}")),
        };
        self.error(error.help("add the axis to the predicates of the leaf"));
    }
}
