//! Matrices from memory and to it: how their elements lie, which the instructions must be told by a layout and a stride.
//!
//! One side's elements are consecutive, or there is one element for all of them; the other side moves by a stride. A matrix that depends on
//! one side alone has stride 0 (all rows, or all columns, are one). Vulkan wants each row at a multiple of 16 bytes, or of its own
//! size, if that is less.

use super::Shape;
use crate::Result;
use crate::emit::Emit;
use crate::hash::Map;
use crate::module::Id;
use crate::resolve::Steps;
use crate::resolve::values::ValueId;
use rspirv::spirv::{CooperativeMatrixLayout as Layout, CooperativeMatrixUse as Use, Op};
use tilewright_dsl::expr::{Outside, Read};
use tilewright_dsl::nest::{Access, BufferId, Space};

/// What was loaded, by where it lies.
pub(super) type Loaded = Map<(BufferId, Lies, u32, u32), Id>;

/// How a matrix lies in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Lies {
    first: ValueId,
    stride: ValueId,
    by_columns: bool,
}

/// Bytes that a row begins at a multiple of, if it has as many.
const ALIGNED: u32 = 16;

impl Emit<'_> {
    /// A matrix from memory.
    pub(super) fn load_matrix(&mut self, read: &Read, shape: Shape) -> Result<Id> {
        let lies = self.lies(read, shape)?;
        let key = (read.buffer, lies, shape.role as u32, shape.rows.1 << 16 | shape.columns.1);
        if let Some(id) = self.matrices.loaded.get(&key) {
            return Ok(*id);
        }
        let ty = self.matrix_type(shape)?;
        let (pointer, how) = self.matrix_place(read.buffer, shape, lies)?;
        let (level, operands) = (self.level(), [&[pointer], &how[..]].concat());
        let id = self.ins(level, Op::CooperativeMatrixLoadKHR, ty, &operands);
        self.matrices.loaded.insert(key, id);
        Ok(id)
    }

    /// A matrix to memory.
    pub(super) fn store_matrix(&mut self, to: &Access, matrix: Id, shape: Shape) -> Result<()> {
        let place = Read { buffer: to.buffer, index: to.index.iter().copied().collect(), outside: Outside::Never };
        let lies = self.lies(&place, shape)?;
        let (pointer, how) = self.matrix_place(to.buffer, shape, lies)?;
        self.function.here().op(Op::CooperativeMatrixStoreKHR, &[&[pointer, matrix], &how[..]].concat());
        self.resolver.reads.forget(to.buffer);
        self.matrices.forget();
        Ok(())
    }

    /// The pointer to a matrix's first element; its layout, its stride, and how memory is accessed.
    fn matrix_place(&mut self, buffer: BufferId, shape: Shape, lies: Lies) -> Result<(Id, Vec<u32>)> {
        // A shared array may be one of vectors, which both place and stride count then.
        let group = match self.program.buffers[buffer].space {
            Space::Shared => self.resolver.uses.shared_group(buffer),
            _ => 1,
        };
        let [first, stride] = [lies.first, lies.stride].map(|value| self.resolver.values.divided(value, group.into()));
        let level = self.level();
        let place = self.place(buffer, first, group, level)?;
        let aligned = self.aligned(buffer, shape, lies);
        self.buffers.widen(buffer, aligned);
        let access = self.memory_operands(buffer, place.aligned.map(|_| aligned));
        let layout = if lies.by_columns { Layout::ColumnMajorKHR } else { Layout::RowMajorKHR };
        let (layout, stride) = (self.module.uint(layout as u32), self.scalar(stride)?);
        Ok((place.pointer, [layout, stride].into_iter().chain(access).collect()))
    }

    /// The bytes at whose multiples a matrix's rows (or columns) begin.
    fn aligned(&self, buffer: BufferId, shape: Shape, lies: Lies) -> u32 {
        let row = if lies.by_columns { shape.rows.1 } else { shape.columns.1 };
        (row * self.program.buffers[buffer].dtype.bytes()).min(ALIGNED)
    }

    /// How the matrix at a place lies.
    fn lies(&mut self, place: &Read, shape: Shape) -> Result<Lies> {
        let buffer = place.buffer;
        if self.program.buffers[buffer].swizzle > 0 {
            return Err(self.no_matrix(buffer, "it is swizzled", "write `row_pad` instead of `swizzle`".into()));
        }
        let promote = self.promoting(buffer);
        if !matches!(self.program.buffers[buffer].space, Space::Shared) && !self.program.buffers[buffer].space.is_global() {
            return Err(self.no_matrix(buffer, "it is no array in shared or device memory", "place it there".into()));
        }
        let axes: Vec<_> = shape.axes().collect();
        let steps = self.resolving(|r| r.steps(place, &axes))?;
        let Some(Steps { first, along }) = steps else {
            return Err(self.no_matrix(buffer, "its elements do not lie at fixed steps, or past an end", promote));
        };
        let zero = self.resolver.values.int(0);
        let [down, across] = [along[0], along.get(1).copied().unwrap_or(zero)];
        let step = |e: &Self, value| e.resolver.values.as_int(value);
        let (stride, by_columns) = match (step(self, down), step(self, across)) {
            (_, Some(1)) => (down, false),
            (Some(1), _) => (across, true),
            (Some(0), Some(0)) => (zero, false),
            _ => {
                return Err(self.no_matrix(buffer, "its elements are consecutive along neither rows nor columns", promote));
            }
        };
        if !self.resolver.values.nonnegative(stride) {
            return Err(self.no_matrix(buffer, "its elements are not proved to lie in increasing order", promote));
        }
        let lies = Lies { first, stride, by_columns };
        let elements = self.aligned(buffer, shape, lies) / self.program.buffers[buffer].dtype.bytes();
        let group = self.resolver.uses.shared_group(buffer).max(elements.max(1));
        for (value, what) in [(first, "begin"), (stride, "step")] {
            if !self.resolver.values.is_multiple(value, group.into()) {
                let why = format!(
                    "that its {} {what} at multiples of {group} elements is not proved",
                    if by_columns { "columns" } else { "rows" }
                );
                return Err(self.no_matrix(buffer, &why, self.aligning(buffer, group)));
            }
        }
        if shape.role != Use::MatrixAccumulatorKHR && self.resolver.values.as_int(stride) == Some(0) {
            return Err(self.no_matrix(buffer, "a factor varies along both of its sides", promote));
        }
        Ok(lies)
    }

    /// What would make elements lie at steps.
    fn promoting(&self, buffer: BufferId) -> String {
        let b = &self.program.buffers[buffer];
        match b.space {
            Space::Shared => format!("name what indexes the copy, an axis for rows and one for columns: `=> {}[…]`", b.name),
            Space::Output | Space::Update => {
                format!("promote the result, `promote({0} => {0}_s, at: workgroup, to: shared)`", b.name)
            }
            _ => format!("promote `{0}` to shared memory, `promote({0} => {0}_s, at: …, to: shared, fill: 0.0)`", b.name),
        }
    }

    /// What would make rows lie at multiples.
    fn aligning(&self, buffer: BufferId, group: u32) -> String {
        let b = &self.program.buffers[buffer];
        match (b.shape.last(), &b.space) {
            (_, Space::Shared) => format!("choose a `row_pad` that {group} divides, and tiles of as many"),
            (Some(row), _) => {
                let text = tilewright_dsl::nest::print::expr(self.program, *row);
                let (name, fact) = (&b.name, format!("{text} % {group} == 0"));
                format!("state it in the schedule's head, `where {fact}`, or promote `{name}` to shared memory")
            }
            (None, _) => "promote it to shared memory".into(),
        }
    }
}
