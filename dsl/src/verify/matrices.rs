//! Cooperative matrices: checks how subgroups hold them, and that whole subgroups compute with whole matrices.
//!
//! - Only computes in loops over a matrix's sides access fragments, and these loops match the buffer's shape.
//! - All invocations of a subgroup compute the same value there, and all subgroups compute equally many matrices.
//! - No predicate covers only a part of a matrix, neither of a stored matrix nor of a summed one.

use super::Rule;
use super::context::Checks;
use super::site::{Site, SiteAccess};
use crate::expr::ExprId;
use crate::launch::Feature;
use crate::nest::{AxisId, AxisKind, BufferId, Compute, Exec, Fate, Level, Loop, NodeKind, Phase, Side, Space, Tail};
use std::collections::BTreeMap;

/// The sides of an accumulator and of the two factors.
const ROLES: [[Side; 2]; 3] = [[Side::Rows, Side::Columns], [Side::Rows, Side::Depth], [Side::Depth, Side::Columns]];

impl Checks<'_> {
    /// Checks every leaf that accesses matrices.
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

    /// Checks that a fragment is accessed at the first element of a matrix, with loops over its sides. Every access of the buffer must use
    /// the same sides, because they make it an accumulator or one of the factors. If the device converts matrices, an accumulator may also
    /// be read as a factor.
    fn touches_whole(&self, site: &Site<'_>, touch: &SiteAccess, known: &mut BTreeMap<BufferId, [Side; 2]>) {
        let Space::Fragment { rows, columns, spread } = *self.space(touch.buffer) else { return };
        if spread {
            return self.touches_rows(site, touch, rows);
        }
        let [.., row, column] = &touch.index[..] else { return };
        let [first, second] = [(*row, rows), (*column, columns)].map(|(index, extent)| self.side_of(site, index, extent));
        let sides = first.zip(second).map(|(first, second)| [first, second]).filter(|sides| ROLES.contains(sides));
        // The device can convert an accumulator to a factor.
        let becomes = |own: [Side; 2]| own == ROLES[0] && !touch.writes && self.profile.has(Feature::MatrixConversions);
        let is_same = |sides: [Side; 2]| {
            let own = *known.entry(touch.buffer).or_insert(sides);
            own == sides || becomes(own)
        };
        if !sides.is_some_and(is_same) {
            let (line, name) = (self.line(site), self.buffer(touch.buffer));
            let what = format!("`{line}` does not access whole matrices of {rows} x {columns} in `{name}`");
            self.refuse(Rule::Limits, site.span(), what);
        }
    }

    /// Checks that a fragment with one column is accessed at the first row of a matrix.
    fn touches_rows(&self, site: &Site<'_>, touch: &SiteAccess, rows: u32) {
        let side = touch.index.last().and_then(|row| self.side_of(site, *row, rows));
        if side != Some(Side::Rows) {
            let (line, name) = (self.line(site), self.buffer(touch.buffer));
            self.refuse(Rule::Limits, site.span(), format!("`{line}` does not access whole columns of {rows} rows in `{name}`"));
        }
    }

    /// Returns the matrix side that an index counts, if the index starts at a multiple of the side's extent.
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

    /// Checks that no enclosing loop differs within a subgroup, and that the leaf reads no registers of single invocations.
    fn by_subgroups(&self, site: &Site<'_>) {
        let tells = |looped: &&Loop| matches!(looped.exec, Exec::Bind(Level::Thread | Level::Lane, _));
        if let Some(looped) = site.loops().find(tells) {
            let (line, name) = (self.line(site), self.name(looped.axis));
            self.refuse(Rule::Uniformity, site.span(), format!("`{line}` depends on `{name}`, which differs within a subgroup"));
        }
        if let Some(touch) = site.touches.iter().find(|touch| *self.space(touch.buffer) == Space::Register) {
            let (line, name) = (self.line(site), self.buffer(touch.buffer));
            self.refuse(Rule::Uniformity, site.span(), format!("`{line}` accesses `{name}`, which differs in each invocation"));
        }
    }

    fn is_uncut(&self, site: &Site<'_>, compute: &Compute) {
        // Before lowering, a reduction does not have a destination for its result yet.
        if compute.phase == Phase::Whole && compute.finish.is_some() {
            return;
        }
        let stores = compute.dst.iter().any(|to| !self.is_private(to.buffer));
        for pred in &compute.preds {
            // Either the axis ends within a matrix, or its extent varies there.
            let named = self.named(&[self.extent(pred.axis)]);
            let leaves = self.made_of(named.into_iter().chain([pred.axis]), site).leaves;
            let in_sides = leaves.iter().any(|leaf| matches!(site.exec(*leaf), Some(Exec::Matrix(_))));
            let guarded = self.program.axes[pred.axis].kind == AxisKind::Reduction && pred.tail != Tail::RoundUp;
            let sums = compute.phase != Phase::Finish && guarded;
            if in_sides && (stores || sums) {
                let (line, name) = (self.line(site), self.name(pred.axis));
                self.refuse(Rule::Limits, site.span(), format!("`{line}`: `{name}` ends within a matrix"));
            }
            if self.program.axes[pred.axis].fate == Fate::Live {
                let (line, name) = (self.line(site), self.name(pred.axis));
                let what = format!("`{line}`: not all subgroups multiply equally many matrices, because `{name}` excludes some");
                self.refuse(Rule::Uniformity, site.span(), what);
            }
        }
    }
}
