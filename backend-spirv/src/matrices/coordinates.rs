//! The row and the column of each element of a matrix.
//!
//! The device decides which elements an invocation holds. So a matrix of row numbers and a matrix of column numbers are loaded with stride
//! 0 from an array 0, 1, 2 … in shared memory, which is written once.

use super::{Matrices, Shape};
use crate::Result;
use crate::chunks::Chunks;
use crate::context::BlockContext;
use crate::module::Id;
use crate::reductions::shared::SharedUse;
use spirv::{CooperativeMatrixLayout as Layout, CooperativeMatrixUse as Use, Op, Scope, StorageClass};
use tilewright_codegen::values::{Coordinate, ValueId};
use tilewright_dsl::expr::{Const, Expr, ExprId};
use tilewright_dsl::launch::{Bounds, DType};
use tilewright_dsl::nest::{AxisId, Program};

/// The variables of `a row + b column` of a matrix's elements, by `a` and `b`.
pub(super) type OwnParts = Vec<([i64; 2], Id)>;

impl Matrices {
    /// Returns the sides whose row or column number a value uses, each with the variable of its elements and its length. Places that the
    /// value reads and parts that are known do not count.
    pub(super) fn counted_sides(
        &mut self,
        ctx: &mut BlockContext<'_>,
        (value, known): (ExprId, &[ExprId]),
        shape: Shape,
        own: &mut OwnParts,
    ) -> Result<Vec<(AxisId, Id, u32)>> {
        let mut counted = Vec::new();
        for ((axis, length), steps) in shape.axes().zip([[1, 0], [0, 1]]) {
            if counts(ctx.program, value, axis, known) {
                counted.push((axis, self.own_parts(ctx, shape, steps, own)?, length));
            }
        }
        Ok(counted)
    }

    /// Returns the variable of `a row + b column` of each element. It is written where it is first needed, because a variable that is kept
    /// takes registers.
    pub(super) fn own_parts(
        &mut self,
        ctx: &mut BlockContext<'_>,
        shape: Shape,
        steps: [i64; 2],
        known: &mut OwnParts,
    ) -> Result<Id> {
        if let Some((_, variable)) = known.iter().find(|(of, _)| *of == steps) {
            return Ok(*variable);
        }
        let sides = [shape.rows.1, shape.columns.1];
        let shape = Shape { dtype: DType::F32, role: Use::MatrixAccumulatorKHR, ..shape };
        let (ty, numbers) = (self.types.of(ctx, shape)?, self.numbers(ctx, sides[0].max(sides[1]))?);
        let mut sum = None;
        for (step, layout) in steps.into_iter().zip([Layout::ColumnMajorKHR, Layout::RowMajorKHR]).filter(|(step, _)| *step != 0) {
            let (layout, stride) = (ctx.module.uint(layout as u32), ctx.module.uint(0));
            let operands = [&[numbers, layout, stride], &ctx.memory_model.shared_operands()[..]].concat();
            let coordinates = ctx.ins_here(Op::CooperativeMatrixLoadKHR, ty, &operands);
            let by = ctx.constant(Const::number(step as f64, DType::F32))?;
            let by = ctx.module.composite(ty, &[by]);
            let part = if step == 1 { coordinates } else { ctx.ins_here(Op::FMul, ty, &[coordinates, by]) };
            sum = Some(match sum {
                None => part,
                Some(before) => ctx.ins_here(Op::FAdd, ty, &[before, part]),
            });
        }
        let Some(sum) = sum else { return Err(ctx.defect("a coordinate of elements that uses neither rows nor columns")) };
        let variable = ctx.kept(ty, sum);
        known.push((steps, variable));
        Ok(variable)
    }

    /// Returns a pointer to 0, 1, 2 … in shared memory. The invocations write the array at the start of the dispatch.
    fn numbers(&mut self, ctx: &mut BlockContext<'_>, count: u32) -> Result<Id> {
        if let Some((_, known)) = self.numbers.iter().find(|(of, _)| *of == count) {
            return Ok(*known);
        }
        let invocations = ctx.resolver.grid.local.into_iter().fold(1u32, u32::saturating_mul).max(1);
        let array = ctx.array(SharedUse::Numbers, DType::F32, count)?;
        let of = ctx.scalar_type(DType::F32)?;
        let pointer = ctx.module.pointer(StorageClass::Workgroup, of);
        let index = ctx.coordinate(Coordinate::LocalIndex)?;
        let word = ctx.module.u32_type();
        let index = ctx.ins(0, Op::Bitcast, word, &[index]);
        for first in (0..count).step_by(invocations as usize) {
            let first = ctx.module.uint(first);
            let index = ctx.ins(0, Op::IAdd, word, &[index, first]);
            ctx.write_number(array, index, count)?;
        }
        ctx.control_barrier(0, Scope::Workgroup);
        let zero = ctx.module.uint(0);
        let first = ctx.ins(0, Op::AccessChain, pointer, &[array, zero]);
        self.numbers.push((count, first));
        Ok(first)
    }
}

impl BlockContext<'_> {
    /// Writes an index into its own element of an array of `count` elements, if the index is below `count`.
    fn write_number(&mut self, array: Id, index: Id, count: u32) -> Result<()> {
        let (of, truth) = (self.scalar_type(DType::F32)?, self.module.bool_type());
        let (pointer, count) = (self.module.pointer(StorageClass::Workgroup, of), self.module.uint(count));
        let number = self.ins(0, Op::ConvertUToF, of, &[index]);
        let inside = self.ins(0, Op::ULessThan, truth, &[index, count]);
        let merge = self.begin_if(0, inside);
        let place = self.ins(0, Op::AccessChain, pointer, &[array, index]);
        let operands = [&[place, number], &self.memory_model.shared_operands()[..]].concat();
        self.function.at(0).op(Op::Store, &operands);
        self.end_if(0, merge);
        Ok(())
    }

    /// Returns the row (or column) of an invocation's element.
    pub(super) fn coordinate_of(&mut self, variable: Id, at: Id, length: u32) -> Result<ValueId> {
        let number = self.element_of(variable, at, DType::F32)?;
        let int = self.scalar_type(DType::I32)?;
        let number = self.ins_here(Op::ConvertFToS, int, &[number]);
        let value = self.resolver.values.unknown(Bounds(0, i64::from(length) - 1), self.writer.level());
        self.define(value, Chunks::one(number));
        Ok(value)
    }
}

/// True if a value uses the row or column number of a side, other than in the places that it reads and in parts that are known.
pub(super) fn counts(program: &Program, value: ExprId, side: AxisId, known: &[ExprId]) -> bool {
    match program.exprs.get(value) {
        _ if known.contains(&value) => false,
        Expr::Read(_) => false,
        Expr::Axis(axis) => program.is_made_of(*axis, side),
        expr => expr.operands().into_iter().any(|operand| counts(program, operand, side, known)),
    }
}
