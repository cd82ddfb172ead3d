//! Checks memory that is used for several purposes at different times. While a shared buffer is used for another one, or as the scratch of
//! an all-reduce, it is dead. For scratch, each subgroup stores only to a part that no other subgroup accesses.

use crate::nest::{AllReduce, BufferId, Exec, Level, NodeKind, Scratch, Space};
use crate::verify::Rule;
use crate::verify::context::Checks;
use crate::verify::site::{Site, SiteAccess};

impl Checks<'_> {
    /// Checks every all-reduce with scratch.
    pub(in crate::verify) fn scratch(&self) {
        for site in self.sites {
            if let NodeKind::AllReduce(reduction) = &site.node.kind
                && let Some(scratch) = reduction.scratch
            {
                let refuse = |why: &str| {
                    let (line, name) = (self.line(site), self.buffer(scratch.buffer));
                    self.refuse(Rule::Race, site.span(), format!("`{line}` uses `{name}` as scratch, {why}"));
                };
                if !self.is_stored(reduction, scratch) {
                    refuse("where such a matrix cannot be stored");
                }
                if self.touches_of(scratch.buffer).any(|touch| !self.is_in_part(reduction, touch, scratch)) {
                    refuse("where other subgroups may access the same elements");
                }
                if !self.is_dead(site, scratch.buffer) || self.program.overlaid(scratch.buffer).is_some() {
                    refuse("which is still in use there");
                }
            }
        }
    }

    /// Checks that every write to a buffer finds the buffers dead that have memory in common with it.
    pub(in crate::verify) fn overlaid(&self) {
        for site in self.sites {
            for touch in site.touches.iter().filter(|touch| touch.writes) {
                let others = self.program.notes.overlaid.keys().filter(|other| self.program.overlay(touch.buffer, **other));
                for other in others.filter(|other| !self.is_dead(site, **other)) {
                    let (line, name) = (self.line(site), self.buffer(*other));
                    self.refuse(Rule::Race, site.span(), format!("`{line}` overwrites `{name}`, which is still in use there"));
                }
            }
        }
    }

    fn touches_of(&self, buffer: BufferId) -> impl Iterator<Item = (&Site<'_>, &SiteAccess)> {
        let touches = self.sites.iter().flat_map(|site| site.touches.iter().map(move |touch| (site, touch)));
        touches.filter(move |(_, touch)| touch.buffer == buffer)
    }

    /// Returns the number of elements of the buffer, followed by the stride of each dimension. Returns `None` if they are unknown or
    /// irregular.
    fn strides_over(&self, scratch: Scratch) -> Option<Vec<i64>> {
        let buffer = &self.program.buffers[scratch.buffer];
        let (mut strides, mut pad) = (vec![1i64], i64::from(buffer.row_pad));
        for extent in buffer.shape.iter().rev() {
            let extent = self.program.exprs.as_int(*extent)?.checked_add(std::mem::take(&mut pad))?;
            strides.push(strides.last()?.checked_mul(extent)?);
        }
        strides.reverse();
        Some(strides).filter(|_| buffer.space == Space::Shared && buffer.versions == 1 && buffer.swizzle == 0)
    }

    /// True if a matrix can be stored with these strides: rows or columns are contiguous, aligned to 16 bytes, and in bounds.
    fn is_stored(&self, reduction: &AllReduce, scratch: Scratch) -> bool {
        let [src] = &reduction.src[..] else { return false };
        let [own, over] = [src.buffer, scratch.buffer].map(|buffer| self.program.buffers[buffer].dtype);
        let is_aligned = |n: i64| n * i64::from(own.bytes()) % 16 == 0;
        let Space::Fragment { rows, columns, .. } = *self.space(src.buffer) else { return false };
        let by_rows = scratch.column == 1 && scratch.row >= columns.into() && is_aligned(scratch.row);
        let by_columns = scratch.row == 1 && scratch.column >= rows.into() && is_aligned(scratch.column);
        let subgroups = self.profile.subgroup.and_then(|size| self.invocations().checked_div(size.into())).unwrap_or(0);
        let reach = [(subgroups, scratch.part), (rows.into(), scratch.row), (columns.into(), scratch.column)];
        let last: i64 = reach.iter().map(|(n, step)| (n - 1).saturating_mul(*step)).fold(0, i64::saturating_add);
        let inside = self.strides_over(scratch).is_some_and(|strides| scratch.part >= 0 && last < strides[0]);
        own == over && (by_rows || by_columns) && is_aligned(scratch.part) && inside
    }

    /// True if an access, and the elements of the subgroup's matrix, are in the same part of one subgroup.
    fn is_in_part(&self, reduction: &AllReduce, (site, touch): (&Site<'_>, &SiteAccess), scratch: Scratch) -> bool {
        let [src] = &reduction.src[..] else { return false };
        let Space::Fragment { rows, columns, .. } = *self.space(src.buffer) else { return false };
        let (Some(strides), Some(size)) = (self.strides_over(scratch), self.profile.subgroup.map(i64::from)) else { return false };
        let reach = [(rows, scratch.row), (columns, scratch.column)];
        touch.index.iter().enumerate().any(|(dimension, index)| {
            let told = self.teller(site, *index, &|level| level == Level::Subgroup);
            let Some(((.., count), times)) = told else { return false };
            let (outer, run) = (strides[dimension], times * strides[dimension + 1]);
            // Steps of `outer` lead to the next run of the same subgroup. All other steps must stay within one run.
            let within = reach.into_iter().filter(|(_, step)| *step != outer);
            let last: i64 = within.map(|(n, step)| (i64::from(n) - 1) * step).sum();
            count * size == self.invocations() && run == scratch.part && count * run <= outer && last < run
        })
    }

    /// True if a buffer is dead at a leaf: its scope has ended, or all its accesses precede or all follow the leaf, in every iteration.
    fn is_dead(&self, site: &Site<'_>, buffer: BufferId) -> bool {
        let Some(life) = site.life(buffer) else { return true };
        let within: Vec<&Site<'_>> =
            self.touches_of(buffer).map(|(other, _)| other).filter(|other| other.common(site) > life).collect();
        let repeats = |other: &&Site<'_>| {
            let common = &site.around[life..site.common(other)];
            common.iter().any(|around| match &around.node.kind {
                NodeKind::Loop(looped) => matches!(looped.exec, Exec::Serial | Exec::Unroll),
                _ => false,
            })
        };
        let is_before = |other: &&Site<'_>| other.is_before(site);
        !within.iter().any(repeats) && (within.iter().all(is_before) || !within.iter().any(is_before))
    }
}
