//! What can run past its extent has a predicate where that matters: where memory that others see is written, and where
//! a reduction would count a point that there is not. (Reads are the business of [`super::bounds`].)

use super::Rule;
use super::context::Checks;
use super::site::Site;
use crate::diag::Error;
use crate::nest::{AxisId, Fate, NodeKind, Tail};

impl Checks<'_> {
    /// All of it.
    pub(super) fn predicates(&self) {
        for site in self.sites {
            self.writes_are_guarded(site);
            self.items_are_guarded(site);
        }
    }

    /// Nothing past an extent is written, and nothing twice by inactive invocations.
    fn writes_are_guarded(&self, site: &Site<'_>) {
        let visible = |touch: &&super::site::Touch| touch.writes && self.is_visible(touch.buffer);
        let written: Vec<_> = site.touches.iter().filter(visible).collect();
        if written.is_empty() {
            return;
        }
        let named = self.named(&written.iter().flat_map(|touch| touch.index.clone()).collect::<Vec<_>>());
        let mut past = self.made_of(named, site).past;
        if matches!(site.node.kind, NodeKind::Compute(_) | NodeKind::AllReduce(_)) {
            past.extend(site.loops().map(|looped| looped.axis).filter(|axis| self.has_inactive(*axis, site)));
        }
        for axis in past.into_iter().filter(|axis| !self.guarded(*axis, site)).collect::<Vec<_>>() {
            self.missing(site, axis, "would write past it");
        }
    }

    /// A reduction takes no item past an extent, unless that is the identity.
    fn items_are_guarded(&self, site: &Site<'_>) {
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
                None => self.missing(site, axis, "would add items past it, which are not proved to be the identity"),
                Some(_) => {
                    let what =
                        format!("`{}` is not proved to take the identity where `{}` is filled", self.line(site), self.name(axis));
                    self.refuse(Rule::Predicate, site.span(), what);
                }
            }
        }
    }

    /// Notes that an axis runs past its extent.
    pub(super) fn missing(&self, site: &Site<'_>, axis: AxisId, harm: &str) {
        let (line, name, extent) = (self.line(site), self.name(axis), self.printer.expr(self.extent(axis)));
        let error = Error::new(site.span(), format!("{}: `{name} < {extent}` on `{line}`", Rule::Predicate));
        let error = match &self.program.axes[axis].fate {
            Fate::Split(split) if !site.binds(axis) => {
                error.note_at(split.span, format!("`{name}` can pass {extent}, as its split is not exact; the leaf {harm}"))
            }
            _ => error.note(format!("there are more invocations than `{name}` has values; the leaf {harm}")),
        };
        self.error(error.help("list the axis among the predicates of the leaf"));
    }
}
