//! Combines the elements of each row of a matrix. The result is a matrix whose columns are all the same.
//!
//! If possible, this is one instruction, which calls a function of two elements (SPV_NV_cooperative_matrix2). Otherwise the matrix is
//! stored in shared memory, each lane combines the elements of some rows, and the results are loaded with stride 0.

use super::{Matrices, Shape};
use crate::Result;
use crate::context::BlockContext;
use crate::control::Structured;
use crate::module::{Id, Type};
use crate::reductions::shared::SharedUse;
use crate::writer::Writer;
use spirv::{
    Capability, CooperativeMatrixLayout as Layout, CooperativeMatrixReduce as Reduce, FunctionControl, GlslStd450Op as Ext, Op,
    StorageClass,
};
use tilewright_codegen::values::{Coordinate, ValueId};
use tilewright_dsl::expr::Binary;
use tilewright_dsl::launch::{DType, Feature};
use tilewright_dsl::nest::{AllReduce, BufferId, How, Monoid, Scope, Scratch};

impl Matrices {
    /// Emits an all-reduce in loops over the sides of matrices.
    pub(crate) fn reduce_rows(&mut self, ctx: &mut BlockContext<'_>, c: &AllReduce) -> Result<()> {
        ctx.resolver.begin(&[]);
        let monoid = ctx.resolver.monoid(c.stage)?;
        let ([src], [dst]) = (&c.src[..], &c.dst[..]) else {
            return Err(ctx.defect("rows of matrices have one component"));
        };
        let shape = self.shape_at(ctx, src.buffer)?;
        let ty = self.types.of(ctx, shape)?;
        let variable = self.fragment(ctx, src.buffer, &src.index, shape)?;
        let matrix = ctx.ins_here(Op::Load, ty, &[variable]);
        let rows = match c.how {
            How::Matrix => {
                let function = self.combination(ctx, monoid, shape.dtype)?;
                ctx.ins_here(Op::CooperativeMatrixReduceNV, ty, &[matrix, Reduce::ROW.bits(), function])
            }
            _ => ctx.rows_in_shared((c, monoid), (matrix, ty), shape)?,
        };
        let variable = self.fragment(ctx, dst.buffer, &dst.index, shape)?;
        self.keep(ctx, dst.buffer, variable, rows);
        Ok(())
    }

    /// Returns a function that combines two elements, for a reduction of rows by one instruction.
    fn combination(&mut self, w: &mut Writer<'_>, monoid: &Monoid, dtype: DType) -> Result<Id> {
        w.need(Feature::MatrixReductions, "a reduction of rows by matrices", "write `by: shared`")?;
        w.module.capability(Capability::CooperativeMatrixReductionsNV);
        w.module.extension("SPV_NV_cooperative_matrix2");
        let Some((op, _)) = monoid.of_subgroups(&w.program.exprs) else {
            return Err(w.defect("elements of rows are combined by one operation"));
        };
        if let Some((_, known)) = self.combinations.iter().find(|(of, _)| *of == (op, dtype)) {
            return Ok(*known);
        }
        let of = w.scalar_type(dtype)?;
        let ty = w.module.ty(Type::Function(of, vec![of; 2]));
        let [function, a, b, label] = w.module.ids();
        let code = w.module.functions();
        code.op(Op::Function, &[of, function, FunctionControl::NONE.bits(), ty]);
        [a, b].into_iter().for_each(|id| code.op(Op::FunctionParameter, &[of, id]));
        code.op(Op::Label, &[label]);
        let result = w.combined_elements(op, dtype, [a, b])?;
        let code = w.module.functions();
        code.op(Op::ReturnValue, &[result]);
        code.op(Op::FunctionEnd, &[]);
        self.combinations.push(((op, dtype), function));
        Ok(function)
    }
}

impl Writer<'_> {
    /// Writes the combination of two elements in a function of its own. Minima and maxima of halves are computed in f32, as everywhere.
    fn combined_elements(&mut self, op: Binary, dtype: DType, [a, b]: [Id; 2]) -> Result<Id> {
        let of = self.scalar_type(dtype)?;
        let ext = match op {
            Binary::Add => return Ok(self.module.function_op(Op::FAdd, of, &[a, b])),
            Binary::Mul => return Ok(self.module.function_op(Op::FMul, of, &[a, b])),
            Binary::Min => Ext::NMin,
            Binary::Max => Ext::NMax,
            _ => return Err(self.defect("elements of rows are combined by a sum, a product, a minimum or a maximum")),
        };
        let (wide, math) = (self.scalar_type(DType::F32)?, self.module.math());
        let is_half = dtype == DType::F16;
        let convert = |w: &mut Self, ty: Id, id: Id| if is_half { w.module.function_op(Op::FConvert, ty, &[id]) } else { id };
        let [a, b] = [a, b].map(|id| convert(self, wide, id));
        let id = self.module.function_op(Op::ExtInst, wide, &[math, ext as u32, a, b]);
        Ok(convert(self, of, id))
    }
}

impl BlockContext<'_> {
    /// Combines rows in shared memory, where each lane combines the elements of some rows. The results need no barrier after they are
    /// loaded, because the next matrix's results are written only after a later barrier.
    fn rows_in_shared(&mut self, (c, monoid): (&AllReduce, &Monoid), (matrix, ty): (Id, Id), shape: Shape) -> Result<Id> {
        let size = self.resolver.fixed_subgroup()?;
        let invocations = self.resolver.grid.local.into_iter().fold(1u32, u32::saturating_mul);
        let subgroups = (invocations / size.max(1)).max(1);
        let (rows, columns) = (shape.rows.1, shape.columns.1);
        let lies = match c.scratch {
            Some(Scratch { buffer, part, row, column }) => Strides { room: Room::Over(buffer), part, row, column },
            None => {
                let array = self.array(SharedUse::Matrices, shape.dtype, subgroups.saturating_mul(rows * columns))?;
                Strides { room: Room::Own(array), part: i64::from(rows * columns), row: columns.into(), column: 1 }
            }
        };
        let results = self.array(SharedUse::Rows, shape.dtype, subgroups.saturating_mul(rows))?;
        let subgroup = self.resolver.coordinate_value(Coordinate::Subgroup, subgroups.into());
        let [first, first_row] = [lies.part, rows.into()].map(|n| self.resolver.values.scaled(subgroup, n));
        if c.scratch.is_some() {
            self.barrier(Scope::Subgroup)?;
        }
        let (layout, stride) =
            if lies.column == 1 { (Layout::RowMajorKHR, lies.row) } else { (Layout::ColumnMajorKHR, lies.column) };
        let operands = self.lying(lies.room, shape.dtype, (first, layout, stride))?;
        self.function.here().op(Op::CooperativeMatrixStoreKHR, &[&[operands[0], matrix], &operands[1..]].concat());
        self.barrier(Scope::Subgroup)?;
        let lane = self.resolver.coordinate_value(Coordinate::SubgroupLane, size.into());
        for begin in (0..rows).step_by(size as usize) {
            let begin = self.resolver.values.int(begin.into());
            let row = self.resolver.values.plus(lane, begin);
            let count = self.resolver.values.int(rows.into());
            let inside = self.resolver.values.less(row, count);
            self.under(inside, |e| e.combine_row(monoid, shape, (lies, results), (row, [first, first_row])))?;
        }
        self.barrier(Scope::Subgroup)?;
        let operands = self.lying(Room::Own(results), shape.dtype, (first_row, Layout::ColumnMajorKHR, 0))?;
        Ok(self.ins_here(Op::CooperativeMatrixLoadKHR, ty, &operands))
    }

    fn combine_row(
        &mut self,
        monoid: &Monoid,
        shape: Shape,
        (lies, results): (Strides, Id),
        (row, [first, first_row]): (ValueId, [ValueId; 2]),
    ) -> Result<()> {
        let begin = self.resolver.values.scaled(row, lies.row);
        let begin = self.resolver.values.plus(first, begin);
        let mut all = None;
        for column in 0..shape.columns.1 {
            let column = self.resolver.values.int(i64::from(column) * lies.column);
            let at = self.resolver.values.plus(begin, column);
            let next = match lies.room {
                Room::Own(array) => self.get(&[vec![(array, shape.dtype)]], at)?,
                Room::Over(buffer) => {
                    let level = self.level();
                    let place = self.place(buffer, at, 1, level)?;
                    vec![vec![self.load_shared(place.pointer, place.of, shape.dtype)?]]
                }
            };
            all = Some(match all {
                None => next,
                Some(before) => self.combined_each(monoid, before, next)?,
            });
        }
        let to = self.resolver.values.plus(first_row, row);
        self.put(&[vec![(results, shape.dtype)]], to, &all.unwrap_or_default())
    }

    /// Returns a pointer to elements in shared memory, and the operands for layout, stride and memory access.
    fn lying(&mut self, room: Room, dtype: DType, (first, layout, stride): (ValueId, Layout, i64)) -> Result<Vec<Id>> {
        let level = self.level();
        let (place, stride) = match room {
            Room::Own(array) => {
                let of = self.scalar_type(dtype)?;
                let (pointer, first) = (self.module.pointer(StorageClass::Workgroup, of), self.scalar(first)?);
                (self.ins(level, Op::AccessChain, pointer, &[array, first]), stride)
            }
            Room::Over(buffer) => {
                let group = self.resolver.uses.shared_group(buffer);
                let first = self.resolver.values.divided(first, group.into());
                (self.place(buffer, first, group, level)?.pointer, stride / i64::from(group))
            }
        };
        let stride = u32::try_from(stride).map_err(|_| self.defect("a stride past 2^32"))?;
        let [layout, stride] = [layout as u32, stride].map(|n| self.module.uint(n));
        Ok([&[place, layout, stride], &self.memory_model.shared_operands()[..]].concat())
    }
}

/// The layout of matrices in shared memory: the offset of each subgroup from the previous one, and the steps of rows and columns.
#[derive(Clone, Copy)]
struct Strides {
    room: Room,
    part: i64,
    row: i64,
    column: i64,
}

/// The storage of a matrix's elements in shared memory.
#[derive(Clone, Copy)]
enum Room {
    /// An array of its own.
    Own(Id),
    /// The reused storage of a buffer.
    Over(BufferId),
}
