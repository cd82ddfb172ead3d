//! The elements of each stage that a block needs: constant boxes, which move with the block.

use super::work::{Survey, items};
use crate::expr::{Expr, ExprId, Outside, Read, Sides};
use crate::nest::{AxisId, BufferId, Program, Space, Stage, StageId};
use std::collections::{BTreeMap, BTreeSet};

/// The costs of a device, as numbers of operations of one invocation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// Loading an element.
    pub(super) load: i64,
    /// Storing an element, and the bytes that are moved for it. An intermediate is computed again where that costs less.
    pub(super) stored: i64,
    /// The most registers for the elements of a block that are needed at one time.
    pub(super) registers: i64,
}

/// The most operations and reads of a block, because all are unrolled.
const UNROLLED_PARTS: i64 = 3200;

/// The largest index and factor of a box, and the most elements. A larger box fits no registers.
const LARGEST: i64 = 1 << 20;

/// The indices along one dimension that a block needs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    /// The axes of the host, by their numbers, whose first element in the block moves the indices, and by how much for each.
    base: BTreeMap<usize, i64>,
    /// The first index and the last one, beside that.
    low: i64,
    high: i64,
}

impl Span {
    /// Returns the number of indices.
    fn len(&self) -> i64 {
        self.high - self.low + 1
    }

    /// Returns the distance of the next block's indices.
    fn step(&self, block: &[i64]) -> i64 {
        let step: i64 = self.base.iter().map(|(axis, times)| times.abs() * block[*axis]).sum();
        step.max(1)
    }

    /// Adds the indices of another read. `None` if blocks move them by other distances.
    fn join(&mut self, other: &Span) -> Option<()> {
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
        (self.base == other.base).then_some(())
    }
}

/// The elements of each stage of a group that a block needs.
pub(super) struct Regions<'p> {
    survey: &'p Survey<'p>,
    program: &'p Program,
    block: &'p [i64],
    costs: Costs,
    spans: BTreeMap<StageId, Vec<Span>>,
    /// The stages whose readers clamp or fill indices, each with the axes of these. The positions of its elements differ at the border. So an
    /// element that it reads at an offset along such an axis is not at a constant place in registers.
    moved: BTreeMap<StageId, BTreeSet<AxisId>>,
}

impl<'p> Regions<'p> {
    /// Returns the region of the host alone.
    pub(super) fn of(survey: &'p Survey<'p>, host: StageId, block: &'p [i64], costs: Costs) -> Regions<'p> {
        let program = survey.program;
        let axes = &program.stages[host].axes;
        // All blocks have all elements of a whole axis.
        let is_whole = |axis: usize, size: i64| program.exprs.as_int(program.axes[axes[axis]].extent) == Some(size);
        let base = |axis: usize, size: i64| if is_whole(axis, size) { BTreeMap::new() } else { BTreeMap::from([(axis, 1)]) };
        let span = |(axis, size): (usize, &i64)| Span { base: base(axis, *size), low: 0, high: size - 1 };
        let own = block.iter().enumerate().map(span).collect();
        Regions { survey, program, block, costs, spans: BTreeMap::from([(host, own)]), moved: BTreeMap::new() }
    }

    /// Returns the stages, producers first.
    pub(super) fn stages(&self) -> impl Iterator<Item = StageId> + '_ {
        self.spans.keys().copied()
    }

    /// Adds a stage if only the group reads it, and computing its elements for each block costs less than storing them. The stages `shared`
    /// may be added later.
    pub(super) fn add(&mut self, stage: StageId, shared: &BTreeSet<StageId>) {
        let buffer = self.program.stages[stage].buffer;
        let readers = self.survey.readers(stage);
        if readers.is_empty() || readers.iter().any(|reader| !self.spans.contains_key(reader)) {
            return;
        }
        let Some(spans) = self.read(buffer) else { return };
        let moved = self.moved_by(readers, stage);
        let (size, own) = (elements(&spans), product(spans.iter().map(|span| span.step(self.block))).min(LARGEST));
        let work = self.survey.work(stage, shared);
        let loads = self.loads();
        self.spans.insert(stage, spans);
        // If the stage reads at its own position along the moved axes, what a block reads is a constant box along the other axes.
        let is_apart = self.survey.reads(stage).iter().any(|read| self.is_offset(read, &moved));
        // Stored elements of the stage would be loaded once.
        let more = if is_apart { size * work.far } else { self.loads() - loads } - size;
        let parts = if is_apart { work.arithmetic + work.near } else { work.parts() };
        if (size - own) * parts + self.costs.load * more > self.costs.stored * own {
            self.spans.remove(&stage);
        } else if !moved.is_empty() {
            self.moved.insert(stage, moved);
        }
    }

    /// Returns the axes of a stage whose indices readers clamp or fill.
    fn moved_by(&self, readers: &[StageId], stage: StageId) -> BTreeSet<AxisId> {
        let Stage { buffer, axes, .. } = &self.program.stages[stage];
        let of = readers.iter().flat_map(|reader| self.survey.reads_of(*reader, *buffer));
        let sides = of.filter_map(|read| match &read.outside {
            Outside::Never => None,
            Outside::Clamp(sides) | Outside::Fill(_, sides) => Some(sides),
        });
        let moved = |sides: &Sides| {
            axes.iter().zip(sides).filter(|(_, (low, high))| *low || *high).map(|(axis, _)| *axis).collect::<Vec<_>>()
        };
        sides.flat_map(moved).collect()
    }

    /// True if a read is at an offset along one of the axes.
    fn is_offset(&self, read: &Read, axes: &BTreeSet<AxisId>) -> bool {
        let exprs = &self.program.exprs;
        let mut indices = read.index.iter().filter(|index| !matches!(exprs.get(**index), Expr::Axis(_)));
        indices.any(|index| exprs.uses_axis(*index, &mut |axis| axes.contains(&axis)))
    }

    /// Returns the elements of a buffer that the group reads. `None` if they are not at constant places in a block.
    fn read(&self, buffer: BufferId) -> Option<Vec<Span>> {
        let mut all: Option<Vec<Span>> = None;
        for reader in self.survey.readers_of(buffer).iter().filter(|reader| self.spans.contains_key(reader)) {
            for read in self.survey.reads_of(*reader, buffer) {
                if self.moved.get(reader).is_some_and(|axes| self.is_offset(read, axes)) {
                    return None;
                }
                let spans: Vec<Span> = read.index.iter().map(|index| self.span(*reader, *index)).collect::<Option<_>>()?;
                match &mut all {
                    None => all = Some(spans),
                    Some(all) => all.iter_mut().zip(&spans).try_for_each(|(all, span)| all.join(span))?,
                }
            }
        }
        all.filter(|spans| elements(spans) <= LARGEST)
    }

    /// Returns the values of an index of a read.
    fn span(&self, reader: StageId, index: ExprId) -> Option<Span> {
        let exprs = &self.program.exprs;
        let sum = exprs.linear(index);
        if !sum.rest.is_empty() || !sum.has_literals() {
            return None;
        }
        let stage = &self.program.stages[reader];
        let mut span = Span { base: BTreeMap::new(), low: sum.constant, high: sum.constant };
        for (axis, times) in &sum.axes {
            let item = || Some(Span { base: BTreeMap::new(), low: 0, high: exprs.as_int(self.program.axes[*axis].extent)? - 1 });
            let own = match stage.axes.iter().position(|own| own == axis) {
                Some(n) => self.spans[&reader][n].clone(),
                None => item()?,
            };
            own.base.into_iter().for_each(|(axis, by)| *span.base.entry(axis).or_default() += by * times);
            let ends = [own.low * times, own.high * times];
            span.low += ends[0].min(ends[1]);
            span.high += ends[0].max(ends[1]);
        }
        span.base.retain(|_, times| *times != 0);
        let is_small = |n: &i64| n.abs() <= LARGEST;
        (span.base.values().all(is_small) && is_small(&span.low) && is_small(&span.high)).then_some(span)
    }

    /// Returns the number of elements of device memory that a block loads from constant places.
    fn loads(&self) -> i64 {
        self.sources().into_iter().filter_map(|buffer| self.read(buffer)).map(|spans| elements(&spans)).sum()
    }

    /// Returns the buffers of device memory that the group reads.
    fn sources(&self) -> BTreeSet<BufferId> {
        let is_member = |buffer: BufferId| self.program.definition(buffer).is_some_and(|made| self.spans.contains_key(&made));
        let is_source = |buffer: &BufferId| {
            let space = &self.program.buffers[*buffer].space;
            space.is_global() && *space != Space::Update && !is_member(*buffer)
        };
        self.spans.keys().flat_map(|stage| self.survey.reads(*stage)).map(|read| read.buffer).filter(is_source).collect()
    }

    /// Returns the buffers of device memory whose elements a block reads several times and shares with the next block. Each has the number of
    /// elements in a block.
    pub(super) fn copies(&self) -> Vec<(BufferId, i64)> {
        let copied = |buffer: BufferId| {
            let spans = self.read(buffer)?;
            let elements = elements(&spans);
            let times: i64 = self.spans.iter().map(|(stage, spans)| self.times(*stage, spans, buffer)).sum();
            let is_copied = times > elements && spans.iter().any(|span| self.overlaps(span));
            is_copied.then_some((buffer, elements))
        };
        self.sources().into_iter().filter_map(copied).collect()
    }

    /// Returns the axes of the host, by their numbers, along which the group clamps or fills reads.
    pub(super) fn borders(&self) -> BTreeSet<usize> {
        let mut axes = BTreeSet::new();
        for (stage, read) in self.spans.keys().flat_map(|stage| self.survey.reads(*stage).iter().map(move |read| (stage, read))) {
            let (Outside::Clamp(sides) | Outside::Fill(_, sides)) = &read.outside else { continue };
            let open = read.index.iter().zip(sides).filter(|(_, (low, high))| *low || *high);
            let spans = open.filter_map(|(index, _)| self.span(*stage, *index));
            axes.extend(spans.flat_map(|span| span.base.into_keys()));
        }
        axes
    }

    /// Returns the number of times that a stage of the group reads elements of a buffer.
    fn times(&self, stage: StageId, spans: &[Span], buffer: BufferId) -> i64 {
        let each = self.survey.reads_of(stage, buffer).count() as i64;
        each * elements(spans) * items(self.program, &self.program.stages[stage]).unwrap_or(1)
    }

    /// True if neighbouring blocks need the same indices.
    fn overlaps(&self, span: &Span) -> bool {
        !span.base.is_empty() && span.len() > span.step(self.block)
    }

    /// True if neighbouring blocks along the last axis need the same elements.
    pub(super) fn slides(&self) -> bool {
        let last = self.block.len() - 1;
        let moves = |span: &Span| span.base.contains_key(&last) && self.overlaps(span);
        let read = self.sources().into_iter().filter_map(|buffer| self.read(buffer)).any(|spans| spans.iter().any(moves));
        read || self.spans.values().flatten().any(moves)
    }

    /// True if the block's elements fit in the registers of an invocation, and its code is not too long.
    pub(super) fn fits(&self, copies: &[(BufferId, i64)], shared: &BTreeSet<StageId>) -> bool {
        let parts = |(stage, spans): (&StageId, &Vec<Span>)| elements(spans) * self.survey.work(*stage, shared).parts();
        self.most_live(copies) <= self.costs.registers && self.spans.iter().map(parts).sum::<i64>() <= UNROLLED_PARTS
    }

    /// Returns the most elements that are needed at one time, of stages and of `copies`.
    fn most_live(&self, copies: &[(BufferId, i64)]) -> i64 {
        let order: Vec<StageId> = self.stages().collect();
        let uses = |buffer: BufferId| {
            let is_reader = |n: &usize| self.survey.readers_of(buffer).contains(&order[*n]);
            let at: Vec<usize> = (0..order.len()).filter(is_reader).collect();
            at.first().copied().zip(at.last().copied())
        };
        let own = order.iter().enumerate().map(|(n, stage)| {
            let last = uses(self.program.stages[*stage].buffer).map_or(n, |(_, last)| last);
            (n, last, elements(&self.spans[stage]))
        });
        let copied = copies.iter().filter_map(|(buffer, elements)| uses(*buffer).map(|(first, last)| (first, last, *elements)));
        let ranges: Vec<(usize, usize, i64)> = own.chain(copied).collect();
        let live = |n: usize| ranges.iter().filter(|(first, last, _)| (*first..=*last).contains(&n)).map(|(.., size)| size).sum();
        (0..order.len()).map(live).max().unwrap_or(0)
    }
}

/// Returns the number of elements of a region.
fn elements(spans: &[Span]) -> i64 {
    product(spans.iter().map(Span::len))
}

/// Returns a product, or the largest number if it does not fit.
fn product(factors: impl Iterator<Item = i64>) -> i64 {
    factors.fold(1, i64::saturating_mul)
}
