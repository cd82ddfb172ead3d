//! Loads and stores of matrices. The instructions need the layout and the stride of the matrix's elements in memory.
//!
//! Along one side, elements are consecutive or all the same. Along the other side, they move by a stride. A matrix that depends on one side
//! alone has stride 0, so that all its rows (or columns) are the same. Vulkan requires each row to begin at a multiple of 16 bytes, or of
//! the row's size if that is less.

use super::Shape;
use crate::Result;
use crate::emit::Emit;
use crate::module::Id;
use rspirv::spirv::{CooperativeMatrixLayout as Layout, CooperativeMatrixUse as Use, Op};
use tilewright_codegen::Steps;
use tilewright_codegen::hash::Map;
use tilewright_codegen::values::ValueId;
use tilewright_dsl::expr::{Outside, Read};
use tilewright_dsl::nest::{Access, BufferId, Space};

/// The matrices that were loaded, by buffer, layout, use and size.
pub(super) type Loaded = Map<(BufferId, Lies, u32, u32), Id>;

/// The layout of a matrix in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Lies {
    first: ValueId,
    stride: ValueId,
    by_columns: bool,
}

/// The alignment of a row in bytes, if the row has at least as many.
const ALIGNED: u32 = 16;

impl Emit<'_> {
    /// Loads a matrix from memory.
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

    /// Stores a matrix to memory.
    pub(super) fn store_matrix(&mut self, to: &Access, matrix: Id, shape: Shape) -> Result<()> {
        let place = Read { buffer: to.buffer, index: to.index.iter().copied().collect(), outside: Outside::Never };
        let lies = self.lies(&place, shape)?;
        let (pointer, how) = self.matrix_place(to.buffer, shape, lies)?;
        self.function.here().op(Op::CooperativeMatrixStoreKHR, &[&[pointer, matrix], &how[..]].concat());
        self.resolver.forget_reads_of(to.buffer);
        self.matrices.forget();
        Ok(())
    }

    /// Returns a pointer to a matrix's first element, and the operands for its layout, its stride and the memory access.
    fn matrix_place(&mut self, buffer: BufferId, shape: Shape, lies: Lies) -> Result<(Id, Vec<u32>)> {
        // A shared array may be an array of vectors. The pointer and the stride then count vectors.
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

    /// Returns the alignment in bytes of a matrix's rows (or columns).
    fn aligned(&self, buffer: BufferId, shape: Shape, lies: Lies) -> u32 {
        let row = if lies.by_columns { shape.rows.1 } else { shape.columns.1 };
        (row * self.program.buffers[buffer].dtype.bytes()).min(ALIGNED)
    }

    /// Returns the layout of the matrix at a place.
    fn lies(&mut self, place: &Read, shape: Shape) -> Result<Lies> {
        let buffer = place.buffer;
        if self.program.buffers[buffer].swizzle > 0 {
            return Err(self.no_matrix(buffer, "it is swizzled", "write `row_pad` instead of `swizzle`".into()));
        }
        let promote = self.promoting(buffer);
        if !matches!(self.program.buffers[buffer].space, Space::Shared) && !self.program.buffers[buffer].space.is_global() {
            return Err(self.no_matrix(buffer, "it is not in shared or device memory", "place it in shared memory".into()));
        }
        let axes: Vec<_> = shape.axes().collect();
        let steps = self.resolving(|r| r.steps(place, &axes))?;
        let Some(Steps { first, along }) = steps else {
            return Err(self.no_matrix(buffer, "its elements are not at fixed steps, or some are out of bounds", promote));
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
            return Err(self.no_matrix(buffer, "its elements cannot be proved to be in increasing order", promote));
        }
        let lies = Lies { first, stride, by_columns };
        let elements = self.aligned(buffer, shape, lies) / self.program.buffers[buffer].dtype.bytes();
        let group = self.resolver.uses.shared_group(buffer).max(elements.max(1));
        for (value, what) in [(first, "begin"), (stride, "step")] {
            if !self.resolver.values.is_multiple(value, group.into()) {
                let why = format!(
                    "it cannot be proved that its {} {what} at multiples of {group} elements",
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

    /// Returns the help on how to give elements fixed steps.
    fn promoting(&self, buffer: BufferId) -> String {
        let b = &self.program.buffers[buffer];
        match b.space {
            Space::Shared => format!("index the copy by an axis for rows and an axis for columns: `=> {}[…]`", b.name),
            Space::Output | Space::Update => {
                format!("promote the result, `promote({0} => {0}_s, at: workgroup, to: shared)`", b.name)
            }
            _ => format!("promote `{0}` to shared memory, `promote({0} => {0}_s, at: …, to: shared, fill: 0.0)`", b.name),
        }
    }

    /// Returns the help on how to align rows.
    fn aligning(&self, buffer: BufferId, group: u32) -> String {
        let b = &self.program.buffers[buffer];
        match (b.shape.last(), &b.space) {
            (_, Space::Shared) => format!("choose a `row_pad` and tiles that are multiples of {group}"),
            (Some(row), _) => {
                let text = tilewright_dsl::nest::print::expr(self.program, *row);
                let (name, fact) = (&b.name, format!("{text} % {group} == 0"));
                format!("state it in the schedule's header, `where {fact}`, or promote `{name}` to shared memory")
            }
            (None, _) => "promote it to shared memory".into(),
        }
    }
}
