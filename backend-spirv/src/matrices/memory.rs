//! Loads and stores of matrices. The instructions need the layout and the stride of the matrix's elements in memory.
//!
//! Along one side, elements are consecutive or all the same. Along the other side, they move by a stride. A matrix that depends on one side
//! alone has stride 0, so that all its rows (or columns) are the same. Vulkan requires each row to begin at a multiple of 16 bytes, or of
//! the row's size if that is less.

use super::{Matrices, Shape};
use crate::Result;
use crate::context::BlockContext;
use crate::module::Id;
use spirv::{CooperativeMatrixLayout as Layout, CooperativeMatrixUse as Use, Op};
use tilewright_codegen::Steps;
use tilewright_codegen::hash::Map;
use tilewright_codegen::values::ValueId;
use tilewright_dsl::diag::Error;
use tilewright_dsl::expr::{Outside, Read};
use tilewright_dsl::nest::{Access, Buffer, BufferId, Program, Space};

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

impl Matrices {
    /// Loads a matrix from memory.
    pub(super) fn load(&mut self, ctx: &mut BlockContext<'_>, read: &Read, shape: Shape) -> Result<Id> {
        let lies = self.lies(ctx, read, shape)?;
        let key = (read.buffer, lies, shape.role as u32, shape.rows.1 << 16 | shape.columns.1);
        if let Some(id) = self.known.after(ctx.resolver.changes()).loaded.get(&key) {
            return Ok(*id);
        }
        let ty = self.types.of(ctx, shape)?;
        let (pointer, how) = ctx.matrix_place(read.buffer, shape, lies)?;
        let id = ctx.ins_here(Op::CooperativeMatrixLoadKHR, ty, &[&[pointer], &how[..]].concat());
        self.known.loaded.insert(key, id);
        Ok(id)
    }

    /// Stores a matrix to memory.
    pub(super) fn store(&mut self, ctx: &mut BlockContext<'_>, to: &Access, matrix: Id, shape: Shape) -> Result<()> {
        let place = Read { buffer: to.buffer, index: to.index.iter().copied().collect(), outside: Outside::Never };
        let lies = self.lies(ctx, &place, shape)?;
        let (pointer, how) = ctx.matrix_place(to.buffer, shape, lies)?;
        ctx.function.here().op(Op::CooperativeMatrixStoreKHR, &[&[pointer, matrix], &how[..]].concat());
        ctx.resolver.forget_reads_of(to.buffer);
        Ok(())
    }

    /// Returns the layout of the matrix at a place.
    fn lies(&self, ctx: &mut BlockContext<'_>, place: &Read, shape: Shape) -> Result<Lies> {
        let (buffer, b) = (place.buffer, &ctx.program.buffers[place.buffer]);
        if b.swizzle > 0 {
            return Err(self.no_matrix(ctx, buffer, "it is swizzled", "write `row_pad` instead of `swizzle`".into()));
        }
        let promote = promoting(b);
        if !matches!(b.space, Space::Shared) && !b.space.is_global() {
            return Err(self.no_matrix(ctx, buffer, "it is not in shared or device memory", "place it in shared memory".into()));
        }
        let axes: Vec<_> = shape.axes().collect();
        let steps = ctx.resolving(|r| r.steps(place, &axes))?;
        let Some(Steps { first, along }) = steps else {
            return Err(self.no_matrix(ctx, buffer, "its elements are not at fixed steps, or some are out of bounds", promote));
        };
        let zero = ctx.resolver.values.int(0);
        let [down, across] = [along[0], along.get(1).copied().unwrap_or(zero)];
        let values = &ctx.resolver.values;
        let (stride, by_columns) = match (values.as_int(down), values.as_int(across)) {
            (_, Some(1)) => (down, false),
            (Some(1), _) => (across, true),
            (Some(0), Some(0)) => (zero, false),
            _ => {
                return Err(self.no_matrix(ctx, buffer, "its elements are consecutive along neither rows nor columns", promote));
            }
        };
        if !values.nonnegative(stride) {
            return Err(self.no_matrix(ctx, buffer, "its elements cannot be proved to be in increasing order", promote));
        }
        let lies = Lies { first, stride, by_columns };
        let elements = aligned(ctx.program, buffer, shape, lies) / b.dtype.bytes();
        let group = ctx.resolver.uses.shared_group(buffer).max(elements.max(1));
        for (value, what) in [(first, "begin"), (stride, "step")] {
            if !values.is_multiple(value, group.into()) {
                let lines = if by_columns { "columns" } else { "rows" };
                let why = format!("it cannot be proved that its {lines} {what} at multiples of {group} elements");
                return Err(self.no_matrix(ctx, buffer, &why, aligning(ctx.program, buffer, group)));
            }
        }
        if shape.role != Use::MatrixAccumulatorKHR && values.as_int(stride) == Some(0) {
            return Err(self.no_matrix(ctx, buffer, "a factor varies along both of its sides", promote));
        }
        Ok(lies)
    }

    /// Returns an error for a place whose elements do not have the layout of a matrix.
    fn no_matrix(&self, ctx: &BlockContext<'_>, buffer: BufferId, why: &str, help: String) -> Error {
        let name = &ctx.program.buffers[buffer].name;
        let error = Error::new(self.types.made_at, format!("`{name}` cannot be loaded or stored as matrices: {why}"));
        error.note_at(ctx.function.span, "needed here").help(help)
    }
}

impl BlockContext<'_> {
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
        let aligned = aligned(self.program, buffer, shape, lies);
        self.buffers.widen(buffer, aligned);
        let access = self.memory_operands(buffer, place.aligned.map(|_| aligned));
        let layout = if lies.by_columns { Layout::ColumnMajorKHR } else { Layout::RowMajorKHR };
        let (layout, stride) = (self.module.uint(layout as u32), self.scalar(stride)?);
        Ok((place.pointer, [layout, stride].into_iter().chain(access).collect()))
    }
}

/// Returns the alignment in bytes of a matrix's rows (or columns).
fn aligned(program: &Program, buffer: BufferId, shape: Shape, lies: Lies) -> u32 {
    let row = if lies.by_columns { shape.rows.1 } else { shape.columns.1 };
    (row * program.buffers[buffer].dtype.bytes()).min(ALIGNED)
}

/// Returns the help on how to give elements fixed steps.
fn promoting(b: &Buffer) -> String {
    match b.space {
        Space::Shared => format!("index the copy by an axis for rows and an axis for columns: `=> {}[…]`", b.name),
        Space::Output | Space::Update => {
            format!("promote the result, `promote({0} => {0}_s, at: workgroup, to: shared)`", b.name)
        }
        _ => format!("promote `{0}` to shared memory, `promote({0} => {0}_s, at: …, to: shared, fill: 0.0)`", b.name),
    }
}

/// Returns the help on how to align rows.
fn aligning(program: &Program, buffer: BufferId, group: u32) -> String {
    let b = &program.buffers[buffer];
    match (b.shape.last(), &b.space) {
        (_, Space::Shared) => format!("choose a `row_pad` and tiles that are multiples of {group}"),
        (Some(row), _) => {
            let text = tilewright_dsl::nest::print::expr(program, *row);
            let (name, fact) = (&b.name, format!("{text} % {group} == 0"));
            format!("state it in the schedule's header, `where {fact}`, or promote `{name}` to shared memory")
        }
        (None, _) => "promote it to shared memory".into(),
    }
}
