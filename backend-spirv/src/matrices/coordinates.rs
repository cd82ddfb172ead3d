//! The row and the column of each element of a matrix.
//!
//! The device decides which elements an invocation holds. So a matrix of row numbers and a matrix of column numbers are loaded with stride
//! 0 from an array 0, 1, 2 … in shared memory, which is written once.

use super::Shape;
use crate::Result;
use crate::chunks::Chunks;
use crate::emit::Emit;
use crate::module::Id;
use rspirv::spirv::{CooperativeMatrixLayout as Layout, CooperativeMatrixUse as Use, Op, Scope, SelectionControl, StorageClass};
use tilewright_codegen::values::{Coordinate, ValueId};
use tilewright_dsl::expr::{Const, Expr, ExprId};
use tilewright_dsl::launch::{Bounds, DType};
use tilewright_dsl::nest::AxisId;

/// The variables of `a row + b column` of a matrix's elements, by `a` and `b`.
pub(super) type OwnParts = Vec<([i64; 2], Id)>;

impl Emit<'_> {
    /// Returns the sides whose row or column number a value uses, each with the variable of its elements and its length. Places that the
    /// value reads and parts that are known do not count.
    pub(super) fn counted_sides(
        &mut self,
        (value, known): (ExprId, &[ExprId]),
        shape: Shape,
        own: &mut OwnParts,
    ) -> Result<Vec<(AxisId, Id, u32)>> {
        let mut counted = Vec::new();
        for ((axis, length), steps) in shape.axes().zip([[1, 0], [0, 1]]) {
            if self.counts_unless(value, axis, known) {
                counted.push((axis, self.own_parts(shape, steps, own)?, length));
            }
        }
        Ok(counted)
    }

    /// True if a value uses the row or column number of a side, other than in the places that it reads.
    pub(super) fn counts(&self, value: ExprId, side: AxisId) -> bool {
        self.counts_unless(value, side, &[])
    }

    fn counts_unless(&self, value: ExprId, side: AxisId, known: &[ExprId]) -> bool {
        let exprs = &self.program.exprs;
        match exprs.get(value) {
            _ if known.contains(&value) => false,
            Expr::Read(_) => false,
            Expr::Axis(axis) => self.program.is_made_of(*axis, side),
            expr => expr.operands().into_iter().any(|operand| self.counts_unless(operand, side, known)),
        }
    }

    /// Returns the variable of `a row + b column` of each element. It is written where it is first needed, because a variable that is kept
    /// takes registers.
    pub(super) fn own_parts(&mut self, shape: Shape, steps: [i64; 2], known: &mut OwnParts) -> Result<Id> {
        if let Some((_, variable)) = known.iter().find(|(of, _)| *of == steps) {
            return Ok(*variable);
        }
        let sides = [shape.rows.1, shape.columns.1];
        let shape = Shape { dtype: DType::F32, role: Use::MatrixAccumulatorKHR, ..shape };
        let (ty, numbers, level) = (self.matrix_type(shape)?, self.numbers(sides[0].max(sides[1]))?, self.level());
        let mut sum = None;
        for (step, layout) in steps.into_iter().zip([Layout::ColumnMajorKHR, Layout::RowMajorKHR]).filter(|(step, _)| *step != 0) {
            let (layout, stride) = (self.module.uint(layout as u32), self.module.uint(0));
            let operands: Vec<u32> = [numbers, layout, stride].into_iter().chain(self.shared_operands()).collect();
            let coordinates = self.ins(level, Op::CooperativeMatrixLoadKHR, ty, &operands);
            let by = self.constant(Const::number(step as f64, DType::F32))?;
            let by = self.module.composite(ty, &[by]);
            let part = if step == 1 { coordinates } else { self.ins(level, Op::FMul, ty, &[coordinates, by]) };
            sum = Some(match sum {
                None => part,
                Some(before) => self.ins(level, Op::FAdd, ty, &[before, part]),
            });
        }
        let Some(sum) = sum else { return Err(self.defect("a coordinate of elements that uses neither rows nor columns")) };
        let variable = self.kept(ty, sum);
        known.push((steps, variable));
        Ok(variable)
    }

    /// Returns a pointer to 0, 1, 2 … in shared memory. The invocations write the array at the start of the dispatch.
    fn numbers(&mut self, count: u32) -> Result<Id> {
        if let Some((_, known)) = self.matrices.numbers.iter().find(|(of, _)| *of == count) {
            return Ok(*known);
        }
        let invocations = self.resolver.grid.local.into_iter().fold(1u32, u32::saturating_mul).max(1);
        let array = self.shared_array(usize::MAX, DType::F32, count)?;
        let of = self.scalar_type(DType::F32)?;
        let pointer = self.module.pointer(StorageClass::Workgroup, of);
        let index = self.coordinate(Coordinate::LocalIndex)?;
        let word = self.module.u32_type();
        let index = self.ins(0, Op::Bitcast, word, &[index]);
        for first in (0..count).step_by(invocations as usize) {
            let first = self.module.uint(first);
            let index = self.ins(0, Op::IAdd, word, &[index, first]);
            self.write_number(array, index, count)?;
        }
        let semantics = self.barrier_semantics();
        let (scope, semantics) = (self.module.uint(Scope::Workgroup as u32), self.module.uint(semantics));
        self.function.at(0).op(Op::ControlBarrier, &[scope, scope, semantics]);
        self.written.barriers += 1;
        let zero = self.module.uint(0);
        let first = self.ins(0, Op::AccessChain, pointer, &[array, zero]);
        self.matrices.numbers.push((count, first));
        Ok(first)
    }

    /// Writes an index into its own element of an array of `count` elements, if the index is below `count`.
    fn write_number(&mut self, array: Id, index: Id, count: u32) -> Result<()> {
        let (of, truth) = (self.scalar_type(DType::F32)?, self.module.bool_type());
        let (pointer, count) = (self.module.pointer(StorageClass::Workgroup, of), self.module.uint(count));
        let number = self.ins(0, Op::ConvertUToF, of, &[index]);
        let inside = self.ins(0, Op::ULessThan, truth, &[index, count]);
        let [yes, merge, place] = [(); 3].map(|()| self.module.id());
        let access = self.shared_operands();
        let code = self.function.at(0);
        code.op(Op::SelectionMerge, &[merge, SelectionControl::NONE.bits()]);
        code.op(Op::BranchConditional, &[inside, yes, merge]);
        code.op(Op::Label, &[yes]);
        code.op(Op::AccessChain, &[pointer, place, array, index]);
        code.op(Op::Store, &[&[place, number], &access[..]].concat());
        code.op(Op::Branch, &[merge]);
        code.op(Op::Label, &[merge]);
        self.written.branches += 1;
        Ok(())
    }

    /// Returns the row (or column) of an invocation's element.
    pub(super) fn coordinate_of(&mut self, variable: Id, at: Id, length: u32) -> Result<ValueId> {
        let number = self.element_of(variable, at, DType::F32)?;
        let (int, level) = (self.scalar_type(DType::I32)?, self.level());
        let number = self.ins(level, Op::ConvertFToS, int, &[number]);
        let value = self.resolver.values.unknown(Bounds(0, i64::from(length) - 1), level);
        self.define(value, Chunks::one(number));
        Ok(value)
    }
}
