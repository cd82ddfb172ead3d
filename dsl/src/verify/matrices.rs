//! Cooperative matrices: what subgroups hold of them, and that whole subgroups compute with whole matrices.
//!
//! - Only computes in loops over a matrix's sides touch fragments, at places that these loops count as the buffer's shape says.
//! - No invocation of a subgroup computes another value there, and every subgroup as many matrices as the others.
//! - No predicate cuts a matrix: neither what is stored, nor what is summed.

use super::Rule;
use super::context::Checks;
use super::site::{Site, Touch};
use crate::expr::ExprId;
use crate::launch::Feature;
use crate::nest::{AxisId, AxisKind, BufferId, Compute, Exec, Fate, Level, Loop, NodeKind, Phase, Side, Space, Tail};
use std::collections::BTreeMap;

/// The sides of an accumulator, and of the factors.
const ROLES: [[Side; 2]; 3] = [[Side::Rows, Side::Columns], [Side::Rows, Side::Depth], [Side::Depth, Side::Columns]];

impl Checks<'_> {
    /// All of it.
    pub(super) fn matrices(&self) {
        let mut sides = BTreeMap::new();
        for site in self.sites {
            site.touches.iter().for_each(|touch| self.touches_whole(site, touch, &mut sides));
            match &site.node.kind {
                NodeKind::Compute(compute) if site.is_matrix() => {
                    self.by_subgroups(site);
                    self.is_uncut(site, compute);
                }
                NodeKind::AllReduce(_) if site.is_matrix() => self.by_subgroups(site),
                _ => {}
            }
        }
    }

    /// A fragment is reached at the first element of a matrix, counted from there by the loops over its sides: the same ones wherever the
    /// buffer is touched, which make it an accumulator or one of the factors. Where the device converts them, an accumulator is read as a
    /// factor, too.
    fn touches_whole(&self, site: &Site<'_>, touch: &Touch, known: &mut BTreeMap<BufferId, [Side; 2]>) {
        let Space::Fragment { rows, columns, spread } = *self.space(touch.buffer) else { return };
        if spread {
            return self.touches_rows(site, touch, rows);
        }
        let [.., row, column] = &touch.index[..] else { return };
        let [first, second] = [(*row, rows), (*column, columns)].map(|(index, extent)| self.side_of(site, index, extent));
        let sides = first.zip(second).map(|(first, second)| [first, second]).filter(|sides| ROLES.contains(sides));
        // A device can make a sum's matrices a factor's.
        let becomes = |own: [Side; 2]| own == ROLES[0] && !touch.writes && self.profile.has(Feature::MatrixConversions);
        let is_same = |sides: [Side; 2]| {
            let own = *known.entry(touch.buffer).or_insert(sides);
            own == sides || becomes(own)
        };
        if !sides.is_some_and(is_same) {
            let (line, name) = (self.line(site), self.buffer(touch.buffer));
            let what = format!("`{line}` touches parts of the matrices of {rows} x {columns} in `{name}`");
            self.refuse(Rule::Limits, site.span(), what);
        }
    }

    /// A fragment whose columns are one is reached at the first of a matrix's rows.
    fn touches_rows(&self, site: &Site<'_>, touch: &Touch, rows: u32) {
        let side = touch.index.last().and_then(|row| self.side_of(site, *row, rows));
        if side != Some(Side::Rows) {
            let (line, name) = (self.line(site), self.buffer(touch.buffer));
            self.refuse(Rule::Limits, site.span(), format!("`{line}` touches parts of the rows of {rows} in `{name}`"));
        }
    }

    /// The side that an index counts, from a multiple of its extent on.
    fn side_of(&self, site: &Site<'_>, index: ExprId, extent: u32) -> Option<Side> {
        let sum = self.sum(self.program.over_leaves(index, &site.loops().map(|l| l.axis).collect()));
        let side = |axis: &AxisId| match site.exec(*axis) {
            Some(Exec::Matrix(side)) => Some(side),
            _ => None,
        };
        let mut sides = sum.axes.iter().filter_map(|(axis, times)| Some((side(axis)?, *axis, *times)));
        let (found, axis, times) = sides.next()?;
        let extent = i64::from(extent);
        let others = sum.axes.iter().filter(|(other, _)| **other != axis).all(|(_, times)| times % extent == 0);
        let whole = self.literal(axis) == Some(extent) && times == 1 && sum.constant % extent == 0 && sum.rest.is_empty();
        (sides.next().is_none() && others && whole).then_some(found)
    }

    /// No loop around tells the invocations of a subgroup apart, and nothing is read that they have of their own.
    fn by_subgroups(&self, site: &Site<'_>) {
        let tells = |looped: &&Loop| matches!(looped.exec, Exec::Bind(Level::Thread | Level::Lane, _));
        if let Some(looped) = site.loops().find(tells) {
            let (line, name) = (self.line(site), self.name(looped.axis));
            self.refuse(Rule::Uniformity, site.span(), format!("`{line}` depends on `{name}`, which differs within a subgroup"));
        }
        if let Some(touch) = site.touches.iter().find(|touch| *self.space(touch.buffer) == Space::Register) {
            let (line, name) = (self.line(site), self.buffer(touch.buffer));
            self.refuse(Rule::Uniformity, site.span(), format!("`{line}` touches `{name}`, which each invocation has for itself"));
        }
    }

    fn is_uncut(&self, site: &Site<'_>, compute: &Compute) {
        // Before lowering a reduction has no place for its result yet.
        if compute.phase == Phase::Whole && compute.finish.is_some() {
            return;
        }
        let stores = compute.dst.iter().any(|to| !self.is_private(to.buffer));
        for pred in &compute.preds {
            // The axis itself can end within a matrix, or where it ends can differ there.
            let named = self.named(&[self.extent(pred.axis)]);
            let leaves = self.made_of(named.into_iter().chain([pred.axis]), site).leaves;
            let in_sides = leaves.iter().any(|leaf| matches!(site.exec(*leaf), Some(Exec::Matrix(_))));
            let guarded = self.program.axes[pred.axis].kind == AxisKind::Reduction && pred.tail != Tail::RoundUp;
            let sums = compute.phase != Phase::Finish && guarded;
            if in_sides && (stores || sums) {
                let (line, name) = (self.line(site), self.name(pred.axis));
                self.refuse(Rule::Limits, site.span(), format!("`{line}`: the end of `{name}` cuts matrices"));
            }
            if self.program.axes[pred.axis].fate == Fate::Live {
                let (line, name) = (self.line(site), self.name(pred.axis));
                let what = format!("`{line}`: not all subgroups multiply as many matrices, as `{name}` leaves some out");
                self.refuse(Rule::Uniformity, site.span(), what);
            }
        }
    }
}
