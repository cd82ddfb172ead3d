//! How the invocations of a subgroup access memory together: the width of each access, the distance between neighbouring invocations, and
//! the number of turns in which the banks of shared memory serve them. All are found by computing the addresses for the first subgroup, in
//! the first iteration of all other loops.
//!
//! A bank serves words of different rows one after another. Wide accesses need several turns for their bytes alone, which are not counted
//! as conflicts. The rows of matrices are served in pieces of 16 bytes, as many in each turn as the banks allow.

use super::place::{Point, element, over, value};
use std::collections::{BTreeMap, BTreeSet};
use tilewright_dsl::diag::SpanId;
use tilewright_dsl::expr::{ExprId, Outside};
use tilewright_dsl::facts::Prover;
use tilewright_dsl::launch::Size;
use tilewright_dsl::nest::{
    Access, AxisDef, AxisId, Block, BufferId, Compute, Dispatch, Exec, Fate, Level, NodeKind, Pred, Program, Slot, Space, print,
};
use tilewright_dsl::profile::Profile;

/// The bytes of the widest access.
const WIDEST: i64 = 16;

/// The bytes of a matrix's row that are served at once.
const ROW: i64 = 16;

/// An access of memory by the invocations of a subgroup together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubgroupAccess {
    /// The buffer's name.
    pub buffer: String,
    /// True if the buffer is in shared memory, and false if it is in device memory.
    pub shared: bool,
    /// True for a write.
    pub write: bool,
    /// True if a matrix is loaded or stored.
    pub matrix: bool,
    /// True if the access belongs to a copy that `promote` made.
    pub copy: bool,
    /// The bytes that an invocation accesses at once.
    pub bytes: u32,
    /// The distance between the accesses of neighbouring invocations, in shared memory too. `None` if it depends on data, if there are no
    /// neighbours, or if a matrix is accessed.
    pub apart: Option<Apart>,
    /// The number of turns that the banks need for what conflict-free accesses would take in one. `None` for device memory, or if the
    /// profile does not give the banks.
    pub conflicts: Option<u32>,
    /// The fact that would make the access wide, if it accesses single elements.
    pub missing: Option<String>,
    /// Another loop along which the elements are neighbours.
    pub next: Option<Next>,
    /// The directive that distributed the accessed elements to neighbouring invocations. For a matrix, the directive that made the buffer.
    pub span: SpanId,
    /// The directive (or definition) that made the buffer.
    pub made: SpanId,
}

/// A loop along which elements are neighbours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// The axis, by the user's name.
    pub axis: String,
    /// True if each of its values belongs to a different invocation.
    pub bound: bool,
    /// The axis of the enclosing serial loop over the other part of the same axis, if there is one, and the directive that made that loop.
    pub outer: Option<(String, SpanId)>,
    /// The directive that chose the loop's execution.
    pub span: SpanId,
}

/// The distance between neighbouring invocations in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// The most frequent distance in bytes, or 0 if neighbours access the same element.
    Bytes(i64),
    /// Neighbours access different rows of the tensor, whose length is known only at launch.
    Rows,
}

/// An enclosing loop.
#[derive(Clone, Copy)]
struct Around {
    axis: AxisId,
    exec: Exec,
    extent: Option<i64>,
    span: SpanId,
}

/// An access of a compute.
struct Placed<'c> {
    write: bool,
    /// True if the compute is a copy.
    copy: bool,
    place: Access,
    /// The predicates of the compute.
    preds: &'c [Pred],
    /// True if the last index can be out of bounds, so that it is clamped.
    can_leave: bool,
}

struct AccessWalk<'p> {
    program: &'p Program,
    profile: &'p Profile,
    local: [i64; 3],
    open: Vec<Around>,
    found: Vec<SubgroupAccess>,
}

/// Returns the accesses of a dispatch, without duplicates.
pub(super) fn touches(program: &Program, profile: &Profile, dispatch: &Dispatch) -> Vec<SubgroupAccess> {
    let local = dispatch.local.map(i64::from);
    let mut walk = AccessWalk { program, profile, local, open: Vec::new(), found: Vec::new() };
    walk.block(&dispatch.body);
    walk.found
}

impl AccessWalk<'_> {
    fn block(&mut self, block: &Block) {
        for node in block {
            match &node.kind {
                NodeKind::Loop(looped) => {
                    let extent = self.program.exprs.as_int(self.program.axes[looped.axis].extent);
                    self.open.push(Around { axis: looped.axis, exec: looped.exec, extent, span: node.span });
                    self.block(&looped.body);
                    self.open.pop();
                }
                NodeKind::Alloc { body, .. } => self.block(body),
                // Both blocks make the same accesses. The first runs in full tiles.
                NodeKind::Branch { then, .. } => self.block(then),
                NodeKind::Compute(compute) => self.compute(compute),
                NodeKind::AllReduce(_) | NodeKind::Barrier { .. } => {}
            }
        }
    }

    fn compute(&mut self, compute: &Compute) {
        let mut places: Vec<Placed<'_>> = Vec::new();
        let (preds, copy) = (&compute.preds[..], self.program.stages[compute.stage].is_copy(self.program));
        for read in compute.value.iter().flat_map(|value| self.program.exprs.reads(*value)) {
            let place = Access { buffer: read.buffer, index: read.index.to_vec() };
            places.push(Placed { write: false, copy, place, preds, can_leave: leaves_row(&read.outside) });
        }
        let written = compute.written().iter().cloned();
        places.extend(written.map(|place| Placed { write: true, copy, place, preds, can_leave: false }));
        for placed in places {
            let touch = self.touch(&placed);
            self.found.extend(touch.filter(|touch| !self.found.contains(touch)));
        }
    }

    fn touch(&self, placed: &Placed<'_>) -> Option<SubgroupAccess> {
        let Placed { write, copy, place, .. } = placed;
        let (write, copy) = (*write, *copy);
        let buffer = &self.program.buffers[place.buffer];
        let shared = buffer.space == Space::Shared;
        if !shared && !buffer.space.is_global() {
            return None;
        }
        let index = over(self.program, &place.index, &self.open.iter().map(|o| o.axis).collect());
        let matrix = self.open.iter().any(|o| matches!(o.exec, Exec::Matrix(_)));
        let (width, missing) = if matrix { (1, None) } else { self.width(placed, &index) };
        let bytes = self.element_bytes(place.buffer).checked_mul(width)?;
        let neighbour = self.neighbours();
        Some(SubgroupAccess {
            buffer: buffer.name.clone(),
            shared,
            write,
            matrix,
            copy,
            bytes: u32::try_from(bytes).ok()?,
            apart: if matrix { None } else { self.apart(place.buffer, &index) },
            conflicts: match self.profile.banks.filter(|_| shared) {
                Some(banks) if matrix => self.rows(place.buffer, &index, i64::from(banks)),
                Some(banks) => self.conflicts(place.buffer, &index, bytes, i64::from(banks)),
                None => None,
            },
            missing,
            next: if matrix { None } else { self.next(place.buffer, &index, neighbour.map(|n| n.axis)) },
            span: neighbour.filter(|_| !matrix).map_or(buffer.span, |around| around.span),
            made: buffer.span,
        })
    }

    fn element_bytes(&self, buffer: BufferId) -> i64 {
        match self.program.buffers[buffer].space {
            Space::Shared => self.program.element_bytes(buffer, self.profile),
            _ => i64::from(self.program.buffers[buffer].dtype.bytes()),
        }
    }

    /// Returns the loop in which neighbouring invocations differ.
    fn neighbours(&self) -> Option<Around> {
        let fastest = |exec: Exec| match exec {
            Exec::Bind(Level::Lane, _) | Exec::Bind(Level::Thread, Slot::Linear) => true,
            Exec::Bind(Level::Thread, slot) => (0..3).find(|n| self.local[*n] > 1) == Some(slot.index()),
            _ => false,
        };
        self.open.iter().rev().find(|o| fastest(o.exec)).copied()
    }

    /// Returns the first iteration of all loops, with the coordinates of one invocation of the first subgroup. Returns `None` if that
    /// invocation is inactive.
    fn point(&self, invocation: i64) -> Option<Point> {
        let [x, y, _] = self.local.map(|n| n.max(1));
        let coordinates = [invocation % x, invocation / x % y, invocation / x / y];
        let mut point = Point::new();
        for around in &self.open {
            let at = match around.exec {
                Exec::Bind(Level::Thread, Slot::Linear) | Exec::Bind(Level::Lane, _) => invocation,
                Exec::Bind(Level::Thread, slot) => coordinates[slot.index()],
                _ => 0,
            };
            if at > 0 && around.extent.is_some_and(|extent| at >= extent) {
                return None;
            }
            point.insert(around.axis, at);
        }
        Some(point)
    }

    /// Returns the points of the first subgroup's invocations.
    fn points(&self) -> Vec<Point> {
        let all: i64 = self.local.iter().product();
        let subgroup = self.profile.subgroup.map_or(32, i64::from);
        (0..all.min(subgroup)).filter_map(|n| self.point(n)).collect()
    }

    fn values(&self, index: &[ExprId], point: &Point) -> Option<Vec<i64>> {
        index.iter().map(|e| value(self.program, *e, point)).collect()
    }

    /// Returns the distance between two addresses in elements. Returns `None` if they are in different rows whose length is known only at
    /// launch.
    fn between(&self, buffer: BufferId, from: &[i64], to: &[i64]) -> Option<i64> {
        let b = &self.program.buffers[buffer];
        if b.space == Space::Shared {
            return Some(element(self.program, b, to)? - element(self.program, b, from)?);
        }
        let (mut stride, mut sum) = (Some(1i64), 0i64);
        let strides = self.program.strides(buffer);
        for (d, (from, to)) in from.iter().zip(to).enumerate().rev() {
            let by = strides.map_or(stride, |strides| self.program.exprs.as_int(strides[d]));
            if from != to {
                sum = sum.checked_add((to - from).checked_mul(by?)?)?;
            }
            let extent = b.shape.get(d).and_then(|n| self.program.exprs.as_int(*n));
            stride = stride.zip(extent).and_then(|(stride, extent)| stride.checked_mul(extent));
        }
        Some(sum)
    }

    /// Returns the innermost loop along which elements are neighbours, except for the loop over the axis `but`.
    fn next(&self, buffer: BufferId, index: &[ExprId], but: Option<AxisId>) -> Option<Next> {
        let first = self.point(0)?;
        let start = self.values(index, &first)?;
        let is_next = |around: &&Around| {
            let place = self.values(index, &Point::from_iter(first.iter().map(|(a, n)| (*a, *n)).chain([(around.axis, 1)])));
            Some(around.axis) != but && place.and_then(|place| self.between(buffer, &start, &place)) == Some(1)
        };
        let kinds = |exec: Exec| matches!(exec, Exec::Serial | Exec::Unroll | Exec::Bind(Level::Thread | Level::Lane, _));
        let found = self.open.iter().rev().filter(|o| kinds(o.exec) && o.extent != Some(1)).find(is_next)?;
        let name = |axis: AxisId| self.program.axes[axis].name.trim_end_matches('\'').to_owned();
        let outer = match &self.program.axes[found.axis].def {
            AxisDef::Part { of, part } => match &self.program.axes[*of].fate {
                Fate::Split(split) => part.checked_sub(1).and_then(|n| split.parts.get(n)).copied(),
                _ => None,
            },
            _ => None,
        };
        let outer = outer.filter(|axis| self.open.iter().any(|o| o.axis == *axis && o.exec == Exec::Serial));
        let bound = matches!(found.exec, Exec::Bind(..));
        Some(Next {
            axis: name(found.axis),
            bound,
            outer: outer.map(|axis| (name(axis), self.program.axes[axis].span)),
            span: found.span,
        })
    }

    /// Returns the most frequent distance between neighbours.
    fn apart(&self, buffer: BufferId, index: &[ExprId]) -> Option<Apart> {
        let places: Vec<Vec<i64>> = self.points().iter().map(|p| self.values(index, p)).collect::<Option<_>>()?;
        let mut counts: BTreeMap<Option<i64>, usize> = BTreeMap::new();
        for pair in places.windows(2) {
            *counts.entry(self.between(buffer, &pair[0], &pair[1]).map(i64::abs)).or_default() += 1;
        }
        let (most, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        Some(most.map_or(Apart::Rows, |elements| Apart::Bytes(elements * self.element_bytes(buffer))))
    }

    /// Returns the number of elements that an invocation accesses at once, and the fact that is missing for a wider access. The elements
    /// come from a loop in lanes, or, for reads, an unrolled loop, along which elements are neighbours.
    fn width(&self, placed: &Placed<'_>, index: &[ExprId]) -> (i64, Option<String>) {
        let Placed { write, copy, place: Access { buffer, .. }, .. } = *placed;
        let most = WIDEST / self.element_bytes(buffer).max(1);
        let Some(first) = self.point(0) else { return (1, None) };
        let is_along = |around: &&Around| {
            let mut next = first.clone();
            next.insert(around.axis, 1);
            let places = self.values(index, &first).zip(self.values(index, &next));
            places.and_then(|(a, b)| self.between(buffer, &a, &b)) == Some(1)
        };
        let together = |exec: Exec| matches!(exec, Exec::Lanes | Exec::Dot) || exec == Exec::Unroll && !write;
        let along = self.open.iter().rev().filter(|o| together(o.exec)).find(is_along);
        let Some((along, extent)) = along.and_then(|o| Some((o, o.extent.filter(|n| *n > 1)?))) else {
            return (1, if copy { self.missing_of_copy(buffer, index, most) } else { None });
        };
        let width = (extent & extent.wrapping_neg()).min(most);
        if matches!(along.exec, Exec::Lanes | Exec::Dot) || width == 1 {
            return (width.max(1), None);
        }
        let program = self.program;
        let zero = program.exprs.int(0);
        let start = index.last().map(|last| program.exprs.with_axes(*last, &mut |axis| (axis == along.axis).then_some(zero)));
        let unaligned = start.and_then(|start| self.unaligned(buffer, start, width));
        match (self.clamped(placed, along.axis), unaligned) {
            (None, None) => (width, None),
            // Whole tiles come first, because the fact about them often proves the alignment, too.
            (Some(fact), _) => (1, fact),
            (None, Some(fact)) => (1, fact),
        }
    }

    /// Returns `Some` if the index of each element is clamped separately, so that the read is not a vector. The index may pass the
    /// end of the buffer, or the end of an axis that `along` is a part of. The inner value is the fact that makes the axis's tiles
    /// whole, if the fact is about dims.
    fn clamped(&self, placed: &Placed<'_>, along: AxisId) -> Option<Option<String>> {
        let program = self.program;
        if placed.can_leave {
            return Some(None);
        }
        let names = |axis: AxisId| {
            let is_made = &mut |a| program.is_made_of(a, axis);
            placed.place.index.iter().any(|index| program.exprs.uses_axis(*index, is_made))
        };
        let clamps = placed.preds.iter().map(|pred| pred.axis);
        let mut clamps = clamps.filter(|axis| program.is_made_of(*axis, along) && names(*axis)).peekable();
        clamps.peek()?;
        let facts: Option<Vec<String>> = clamps.map(|axis| self.whole_tiles(axis)).collect();
        Some(facts.map(|facts| facts.join(", ")))
    }

    /// Returns the fact that makes an axis's tiles whole, if the fact is about dims.
    fn whole_tiles(&self, axis: AxisId) -> Option<String> {
        let (program, of) = (self.program, &self.program.axes[axis]);
        let Fate::Split(split) = &of.fate else { return None };
        let lengths = split.parts.get(1..)?.iter().map(|part| program.exprs.as_int(program.axes[*part].extent));
        let length = lengths.collect::<Option<Vec<i64>>>()?.into_iter().try_fold(1i64, i64::checked_mul)?;
        self.is_dim(of.extent).then(|| format!("{} % {length} == 0", factor(print::expr(program, of.extent))))
    }

    /// Returns `Some` if a vector that begins in `column` is not proved to be aligned. The inner value is the missing fact about the row's
    /// length or the column, if the fact is about dims, because a schedule can state only such facts.
    fn unaligned(&self, buffer: BufferId, column: ExprId, width: i64) -> Option<Option<String>> {
        let (b, prover) = (&self.program.buffers[buffer], Prover::on_leaves(self.program));
        let text = |e: ExprId| format!("{} % {width} == 0", factor(print::expr(self.program, e)));
        let row = b.shape.last().copied().filter(|_| b.shape.len() > 1);
        if row.is_some() && i64::from(b.row_pad) % width != 0 {
            return Some(Some(format!("row_pad % {width} == 0")));
        }
        let missing = [Some(column), row].into_iter().flatten().find(|e| !prover.divides(width, *e))?;
        Some(self.is_dim(missing).then(|| text(missing)))
    }

    /// True if an expression is a non-constant size over dims.
    fn is_dim(&self, e: ExprId) -> bool {
        tilewright_dsl::lower::launch::size(self.program, e).is_some_and(|size| !matches!(size, Size::Const(_)))
    }

    /// Returns the fact that a copy of single elements lacks for wider accesses, if the fact is about dims.
    fn missing_of_copy(&self, buffer: BufferId, index: &[ExprId], most: i64) -> Option<String> {
        let b = &self.program.buffers[buffer];
        let row = b.shape.last().filter(|_| b.space.is_global() && b.shape.len() > 1 && most > 1)?;
        let is_next = matches!(self.apart(buffer, index), Some(Apart::Bytes(n)) if n == self.element_bytes(buffer));
        let prover = Prover::on_leaves(self.program);
        let lacks = is_next && self.is_dim(*row) && !prover.divides(most, *row);
        lacks.then(|| format!("{} % {most} == 0", factor(print::expr(self.program, *row))))
    }

    /// Returns the number of turns that the banks need for accesses of so many bytes per invocation, where conflict-free accesses need one.
    fn conflicts(&self, buffer: BufferId, index: &[ExprId], bytes: i64, banks: i64) -> Option<u32> {
        let size = self.element_bytes(buffer);
        let starts: Vec<i64> = self
            .points()
            .iter()
            .map(|p| Some(element(self.program, &self.program.buffers[buffer], &self.values(index, p)?)? * size))
            .collect::<Option<_>>()?;
        let together = (banks * 4 / bytes.max(4)).max(1);
        Some(most_turns(&starts, together as usize, bytes, banks))
    }

    /// Returns the same number for a matrix, whose rows (or columns) are served in groups as large as the banks allow.
    fn rows(&self, buffer: BufferId, index: &[ExprId], banks: i64) -> Option<u32> {
        let first = self.point(0)?;
        let (b, size) = (&self.program.buffers[buffer], self.element_bytes(buffer));
        let at = |axis: AxisId, n: i64| {
            let mut point = first.clone();
            point.insert(axis, n);
            Some(element(self.program, b, &self.values(index, &point)?)? * size)
        };
        let start = element(self.program, b, &self.values(index, &first)?)? * size;
        let sides: Vec<Around> = self.open.iter().filter(|o| matches!(o.exec, Exec::Matrix(_))).copied().collect();
        let moves = |o: &&Around| at(o.axis, 1).is_some_and(|next| next != start);
        let along = sides.iter().filter(moves).find(|o| at(o.axis, 1) == Some(start + size))?;
        // All elements of the other side are the same row, which is served once.
        let Some(across) = sides.iter().filter(moves).find(|o| o.axis != along.axis) else { return Some(1) };
        let bytes = ROW.min(along.extent? * size);
        let starts: Vec<i64> = (0..across.extent?).map(|n| at(across.axis, n)).collect::<Option<_>>()?;
        Some(most_turns(&starts, (banks * 4 / ROW).max(1) as usize, bytes, banks))
    }
}

/// Returns the largest number of different words of one bank that a group of `together` accesses needs.
fn most_turns(starts: &[i64], together: usize, bytes: i64, banks: i64) -> u32 {
    let turns = |starts: &[i64]| {
        let words: BTreeSet<i64> = starts.iter().flat_map(|s| s.div_euclid(4)..=(s + bytes - 1).div_euclid(4)).collect();
        let mut counts: BTreeMap<i64, u32> = BTreeMap::new();
        words.iter().for_each(|word| *counts.entry(word.rem_euclid(banks)).or_default() += 1);
        counts.into_values().max().unwrap_or(1)
    };
    starts.chunks(together).map(turns).max().unwrap_or(1)
}

/// True if the last index of a read can be out of bounds.
fn leaves_row(outside: &Outside) -> bool {
    match outside {
        Outside::Never => false,
        Outside::Clamp(sides) | Outside::Fill(_, sides) => sides.last().is_some_and(|(low, high)| *low || *high),
    }
}

/// Puts an expression in parentheses, unless it is a single word.
fn factor(text: String) -> String {
    if text.contains(' ') { format!("({text})") } else { text }
}
