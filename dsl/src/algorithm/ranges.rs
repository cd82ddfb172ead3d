//! Dimensions of intermediates whose indices do not begin at 0, as `let g[y, x]: f32[-1..H + 1, W] = …;`.
//!
//! In the program, every dimension begins at 0. An axis of the definition is the program's axis plus the start of the range, and an index
//! of a read is reduced by it. Reads are proved in bounds before, so messages have the indices of the user's range.

use super::bounds::show;
use super::{Checked, Checker};
use crate::diag::{Error, SpanId};
use crate::expr::{Binary, Compare, ExprId};
use crate::nest::{AxisId, BufferId, Space};
use crate::syntax::Name;
use crate::syntax::kernel::Dimension;
use smallvec::SmallVec;
use std::collections::HashMap;

/// The first index of a dimension, and the one after the last.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct IndexRange {
    pub(super) start: ExprId,
    pub(super) end: ExprId,
}

/// The range of each dimension. `None` for a size, whose range begins at 0.
pub(super) type Dimensions = SmallVec<[Option<IndexRange>; 4]>;

/// The ranges of tensors. A tensor without a range is left out.
#[derive(Default)]
pub(super) struct Ranges(HashMap<BufferId, Dimensions>);

impl Ranges {
    /// Notes the ranges of a tensor.
    pub(super) fn insert(&mut self, buffer: BufferId, dimensions: Dimensions) {
        if dimensions.iter().any(Option::is_some) {
            self.0.insert(buffer, dimensions);
        }
    }

    /// Returns the range of a dimension, if it has one.
    pub(super) fn of(&self, buffer: BufferId, d: usize) -> Option<IndexRange> {
        *self.0.get(&buffer)?.get(d)?
    }
}

/// A checked shape.
pub(super) struct Shape {
    pub(super) extents: Vec<ExprId>,
    pub(super) ranges: Dimensions,
}

impl Checker<'_> {
    /// Checks a shape. Sizes that are not proved to be at least 0 are checked at launch, unless the caller passes the tensor.
    pub(super) fn shape(&mut self, name: &Name, dimensions: &[Dimension], space: &Space) -> Checked<Shape> {
        let found: Vec<Checked<(ExprId, Option<IndexRange>)>> = dimensions.iter().map(|d| self.dimension(name, d, space)).collect();
        let found = found.into_iter().collect::<Checked<Vec<_>>>()?;
        let is_given = matches!(space, Space::Input | Space::Update | Space::Constant(_));
        // The shapes of arguments precede the facts.
        if !is_given {
            self.divide();
        }
        for ((extent, _), dimension) in found.iter().zip(dimensions) {
            let zero = self.program.exprs.int(0);
            let reversed = self.program.exprs.difference(zero, *extent);
            if let Some(start) = &dimension.start
                && !self.proves_nonneg(*extent)
                && self.proves_nonneg(reversed)
            {
                let (start, end) = (start.short(), dimension.end.short());
                let error = Error::new(dimension.end.span, "this range ends before it begins");
                return self.fail(error.help(format!("an axis counts upwards: `{end}..{start}`")));
            }
            match self.program.exprs.as_int(*extent) {
                Some(value) if value < 0 => {
                    let error = Error::new(dimension.end.span, format!("this size is {value}"));
                    return self.fail(error.help("a size must be at least 0"));
                }
                None if !is_given => self.at_least(*extent, 0, dimension.end.span),
                _ => {}
            }
        }
        let (extents, ranges) = found.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        Ok(Shape { extents, ranges: ranges.into() })
    }

    /// Returns the extent of a dimension, and its range if it has one.
    fn dimension(&mut self, name: &Name, dimension: &Dimension, space: &Space) -> Checked<(ExprId, Option<IndexRange>)> {
        let Dimension { start, end, inclusive } = dimension;
        let Some(first) = start else { return Ok((self.size(end)?, None)) };
        if *space != Space::Temporary {
            let error = Error::new(first.span, format!("the indices of `{name}` begin at 0"));
            let error = error.note("only an intermediate, `let …`, has ranges of indices");
            return self.fail(error.help("write the size alone, and shift the index in the reads"));
        }
        let (start, end) = (self.size(first), self.size(end));
        let (start, mut end) = (start?, end?);
        if *inclusive {
            let one = self.program.exprs.int(1);
            end = self.program.exprs.sum(end, one);
        }
        let exprs = &self.program.exprs;
        Ok((
            exprs.canonical(exprs.difference(end, start)),
            Some(IndexRange { start: exprs.canonical(start), end: exprs.canonical(end) }),
        ))
    }

    /// Returns the index of a tensor's dimension at an axis of its definition.
    pub(super) fn of_axis(&self, buffer: BufferId, d: usize, axis: AxisId) -> ExprId {
        let value = self.program.exprs.axis(axis);
        let exprs = &self.program.exprs;
        self.ranges.of(buffer, d).map_or(value, |range| exprs.canonical(exprs.sum(value, range.start)))
    }

    /// Returns the range of a dimension with an extent.
    pub(super) fn range_of_indices(&self, buffer: BufferId, d: usize, extent: ExprId) -> IndexRange {
        let from_zero = || IndexRange { start: self.program.exprs.int(0), end: extent };
        self.ranges.of(buffer, d).unwrap_or_else(from_zero)
    }

    /// Returns an index as the program has it, counted from 0. The difference of data and the start of a range could wrap, so an index
    /// that is not proved in bounds is moved to the nearest one of the range before (`clamps`), or to -1, which is out of bounds.
    pub(super) fn within_range(&self, index: ExprId, range: Option<IndexRange>, is_open: bool, clamps: bool) -> ExprId {
        let (exprs, Some(IndexRange { start, end })) = (&self.program.exprs, range) else { return index };
        if exprs.is_index(index) {
            return exprs.canonical(exprs.difference(index, start));
        }
        let from_start = |index| exprs.binary(Binary::Sub, index, start);
        if !is_open {
            return from_start(index);
        }
        if clamps {
            let last = exprs.difference(end, exprs.int(1));
            return from_start(exprs.binary(Binary::Max, exprs.binary(Binary::Min, index, last), start));
        }
        let is_inside = exprs.binary(Binary::And, exprs.compare(Compare::Le, start, index), exprs.compare(Compare::Lt, index, end));
        exprs.select(is_inside, from_start(index), exprs.int(-1))
    }

    /// Returns the shape of a tensor as users write it.
    pub(super) fn shown_shape(&self, buffer: BufferId) -> String {
        let dimension = |(d, extent): (usize, &ExprId)| match self.ranges.of(buffer, d) {
            Some(IndexRange { start, end }) => format!("{}..{}", show(&self.program, start), show(&self.program, end)),
            None => show(&self.program, *extent),
        };
        self.program.buffers[buffer].shape.iter().enumerate().map(dimension).collect::<Vec<_>>().join(", ")
    }

    /// Adds a note to an error that shows axes of the current definition, if they do not begin at 0.
    pub(super) fn counted_from_zero(&self, mut error: Error) -> Error {
        let Some(buffer) = self.definition.buffer else { return error };
        for (d, axis) in self.definition.axes.iter().enumerate() {
            if self.ranges.of(buffer, d).is_some() {
                let (name, value) = (&self.program.axes[*axis].name, self.of_axis(buffer, d, *axis));
                error =
                    error.note(format!("`{name}` counts from 0 here: the kernel's `{name}` is `{}`", show(&self.program, value)));
            }
        }
        error
    }

    /// Refuses a tensor that is defined with others if its indices begin elsewhere.
    pub(super) fn begins_like(&mut self, first: BufferId, buffer: BufferId, d: usize, span: SpanId) -> Checked<()> {
        let start = |buffer| self.ranges.of(buffer, d).map_or_else(|| self.program.exprs.int(0), |range| range.start);
        if start(first) == start(buffer) {
            return Ok(());
        }
        let names = [first, buffer].map(|buffer| self.program.buffers[buffer].name.clone());
        let starts = [first, buffer].map(|buffer| show(&self.program, start(buffer)));
        let error = Error::new(
            span,
            format!("`{}` is defined with `{}`, and their indices begin at different numbers", names[1], names[0]),
        );
        let error =
            error.note(format!("those of `{}` begin at `{}`, and those of `{}` at `{}`", names[0], starts[0], names[1], starts[1]));
        self.fail(error.help(format!("give `{}` a definition of its own", names[1])))
    }
}
