//! Registers and fragments: checks that their indices are constant, and that each dimension belongs to the right invocations.
//!
//! An axis bound to invocations is the whole index of a dimension, and every access to the buffer indexes that dimension by an axis of the
//! same slot. So an invocation reads only elements that it has written.

use crate::diag::Error;
use crate::expr::{Expr, ExprId};
use crate::nest::{AxisId, AxisKind, BufferId, Exec, Level, Slot, Space};
use crate::verify::Rule;
use crate::verify::context::Checks;
use crate::verify::site::{Site, SiteAccess};
use std::collections::HashMap;

/// The owner of a dimension: a level, a slot, and the number of owners.
pub(in crate::verify) type Owner = Option<(Level, Slot, Option<i64>)>;

impl Checks<'_> {
    /// Checks every access of registers and fragments.
    pub(in crate::verify) fn owners(&self) {
        let mut known: HashMap<(BufferId, usize), (Owner, &Site<'_>)> = HashMap::new();
        for site in self.sites {
            for touch in site.touches.iter().filter(|touch| self.is_private(touch.buffer)) {
                for (dimension, index) in touch.index.iter().enumerate() {
                    self.constant(site, touch, *index);
                    let owner = self.owner(site, *index);
                    let first = *known.entry((touch.buffer, dimension)).or_insert((owner, site));
                    if first.0 != owner {
                        self.other_owner(site, touch, first.1);
                    }
                }
                if touch.writes {
                    self.owned(site, touch);
                }
            }
        }
    }

    /// True if a buffer belongs to an invocation or a subgroup.
    pub(in crate::verify) fn is_private(&self, buffer: BufferId) -> bool {
        matches!(self.space(buffer), Space::Register | Space::Fragment { .. })
    }

    /// Returns the invocations that an index selects.
    pub(in crate::verify) fn owner(&self, site: &Site<'_>, index: ExprId) -> Owner {
        let Expr::Axis(axis) = self.program.exprs.get(index) else { return None };
        match site.exec(*axis) {
            Some(Exec::Bind(level, slot)) if level != Level::Workgroup => Some((level, self.same_slot(slot), self.literal(*axis))),
            _ => None,
        }
    }

    fn constant(&self, site: &Site<'_>, touch: &SiteAccess, index: ExprId) {
        let texts = || (self.line(site), self.buffer(touch.buffer), self.printer.expr(index));
        // An element of a constant table at a constant index is a literal.
        let opaque = |e: &Expr| match e {
            Expr::Read(read) => !matches!(self.space(read.buffer), Space::Constant(_)),
            _ => matches!(e, Expr::Dim(_) | Expr::Scalar(_)),
        };
        if self.program.exprs.any(index, &mut |e| opaque(e)) {
            let (line, name, text) = texts();
            let what = format!(
                "`{line}` indexes `{name}` by `{text}`, which is known only at run time, but registers need constant indices"
            );
            return self.refuse(Rule::Owner, site.span(), what);
        }
        for leaf in self.made_of(self.named(&[index]), site).leaves {
            let wrong = match site.exec(leaf) {
                None | Some(Exec::Unroll | Exec::Lanes | Exec::Dot | Exec::Matrix(_)) => continue,
                Some(Exec::Bind(Level::Workgroup, _)) | Some(Exec::Serial) if self.single(leaf) => continue,
                Some(Exec::Serial) => "is the axis of a loop that is not unrolled",
                Some(Exec::Step(_)) => "is the step of a pipeline",
                Some(Exec::Bind(Level::Workgroup, _)) => "is bound to workgroups",
                Some(Exec::Bind(..)) if self.owner(site, index).is_some() => continue,
                Some(Exec::Bind(..)) => "is bound to invocations, so it must be the whole index of a dimension",
            };
            let ((line, name, text), leaf) = (texts(), self.name(leaf));
            let what = format!("`{line}` indexes `{name}` by `{text}`, where `{leaf}` {wrong}");
            self.refuse(Rule::Owner, site.span(), what);
        }
    }

    /// Checks that each parallel axis that is bound inside the buffer's scope owns a dimension. Otherwise, different invocations would
    /// write the same element.
    fn owned(&self, site: &Site<'_>, touch: &SiteAccess) {
        let Some(life) = site.life(touch.buffer) else { return };
        let reduced = self.made_of(self.reduced(site), site).leaves;
        let owners: Vec<ExprId> = touch.index.iter().copied().filter(|index| self.owner(site, *index).is_some()).collect();
        let owns = |axis: AxisId| owners.contains(&self.provers.value(axis));
        let lost = site.loops_from(life).find(|looped| {
            matches!(looped.exec, Exec::Bind(level, _) if level != Level::Workgroup)
                && self.program.axes[looped.axis].kind == AxisKind::Parallel
                && !reduced.contains(&looped.axis)
                && !self.single(looped.axis)
                && !owns(looped.axis)
        });
        if let Some(looped) = lost {
            let (line, axis, name) = (self.line(site), self.name(looped.axis), self.buffer(touch.buffer));
            let what =
                format!("`{line}` writes another `{name}` in each invocation of `{axis}`, but `{axis}` indexes no dimension of it");
            self.refuse(Rule::Owner, site.span(), what);
        }
    }

    fn other_owner(&self, site: &Site<'_>, touch: &SiteAccess, first: &Site<'_>) {
        let (line, first, name) = (self.line(site), self.line(first), self.buffer(touch.buffer));
        let what = format!("{}: `{line}` accesses elements of `{name}` that belong to another invocation", Rule::Owner);
        self.error(Error::new(site.span(), what).note(format!("`{first}` distributes it in another way")));
    }
}
