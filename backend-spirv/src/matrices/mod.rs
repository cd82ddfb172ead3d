//! Cooperative matrices: computes in loops over a matrix's sides become instructions of a whole subgroup (SPV_KHR_cooperative_matrix).
//!
//! The loops over sides bind their axes to 0, so that every place is the place of a matrix's first element. [`memory`] finds the steps to
//! the other elements. A product is one instruction, and so is an element-wise sum, difference, product or quotient of two matrices. Any
//! other value is computed in a loop over elements ([`elements`]), unless it is an existing matrix. Fragments are variables of the
//! function, one for each matrix.
//!
//! A value in a loop over rows alone is a matrix whose columns are all the same. The buffer determines their number.

mod coordinates;
mod elements;
mod masks;
mod memory;
mod rows;
mod thresholds;
mod types;
pub(crate) mod whole;

use crate::Result;
use crate::context::BlockContext;
use crate::control::Structured;
use crate::module::Id;
use masks::Masks;
use memory::Loaded;
use smallvec::SmallVec;
use spirv::{Capability, CooperativeMatrixUse as Use, Op};
use tilewright_codegen::hash::Map;
use tilewright_codegen::values::ValueId;
use tilewright_codegen::{Elements, View};
use tilewright_dsl::diag::SpanId;
use tilewright_dsl::expr::{Binary, Expr, ExprId, Read};
use tilewright_dsl::launch::{DType, Feature, Matrices as Product};
use tilewright_dsl::nest::{Access, AxisId, BufferId, Compute, Monoid, Phase, Program, Side, Space};
use types::MatrixTypes;

/// The matrices of a dispatch.
#[derive(Default)]
pub(crate) struct Matrices {
    /// The sides that the enclosing loops run over, with their lengths.
    sides: Vec<(Side, AxisId, u32)>,
    pub(crate) types: MatrixTypes,
    pub(crate) masks: Masks,
    /// The variables of matrices, by buffer and first element.
    variables: Map<(BufferId, i64), Id>,
    /// Fragments that were written as factors, and their use.
    factors: Map<BufferId, Use>,
    known: KnownMatrices,
    /// Pointers to arrays of the numbers 0, 1, 2 … in shared memory, by length.
    numbers: Vec<(u32, Id)>,
    /// Functions that combine two elements, by operation and type.
    combinations: Vec<((Binary, DType), Id)>,
}

/// Matrices that were computed from memory and fragments, until these change.
#[derive(Default)]
struct KnownMatrices {
    /// The number of changes of memory when they were computed.
    changes: u64,
    loaded: Loaded,
    /// Values of rows alone.
    of_rows: Vec<OfRows>,
    /// Fragments of sums that were converted to factors.
    converted: Vec<((Id, Use), Id)>,
}

/// A value of rows, the places where it reads, its type, and its matrix.
type OfRows = (ExprId, Vec<ValueId>, DType, Id);

/// The type of a matrix, with the axes of its sides and its use.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Shape {
    dtype: DType,
    rows: (AxisId, u32),
    /// Without an axis, all columns are the same.
    columns: (Option<AxisId>, u32),
    role: Use,
}

impl Shape {
    /// The axes of its sides.
    fn axes(&self) -> impl Iterator<Item = (AxisId, u32)> {
        [self.rows].into_iter().chain(self.columns.0.map(|axis| (axis, self.columns.1)))
    }

    /// The same shape without an axis of columns.
    fn of_rows(self) -> Shape {
        Shape { columns: (None, self.columns.1), ..self }
    }
}

impl KnownMatrices {
    /// Returns the matrices that are valid after a number of changes of memory.
    fn after(&mut self, changes: u64) -> &mut KnownMatrices {
        if self.changes != changes {
            *self = KnownMatrices { changes, ..KnownMatrices::default() };
        }
        self
    }
}

impl Matrices {
    /// True if the emission is nested in a loop over a side of matrices.
    pub(crate) fn in_loop(&self) -> bool {
        !self.sides.is_empty()
    }

    /// Enters a loop over a side, which a directive made.
    pub(crate) fn enter(&mut self, side: Side, axis: AxisId, length: u32, directive: SpanId) {
        self.sides.push((side, axis, length));
        self.types.made_at = directive;
    }

    /// Leaves the innermost loop over a side.
    pub(crate) fn leave(&mut self) {
        self.sides.pop();
    }

    fn side(&self, wanted: Side) -> Option<(AxisId, u32)> {
        self.sides.iter().find(|(side, ..)| *side == wanted).map(|(_, axis, length)| (*axis, *length))
    }

    /// Emits a compute over the elements of matrices.
    pub(crate) fn compute(&mut self, ctx: &mut BlockContext<'_>, c: &Compute) -> Result<()> {
        ctx.resolver.begin_compute(c);
        if c.phase != Phase::Update {
            return self.assign(ctx, &c.dst[c.given..], &c.value[c.given..]);
        }
        let guard = ctx.resolving(|r| r.item_counts())?;
        match (&c.dst[..], &c.value[..], self.side(Side::Depth)) {
            ([to], [value], Some(depth)) => ctx.under(guard, |ctx| self.multiply(ctx, to, *value, depth)),
            _ => {
                let combined = new_states(ctx.program, ctx.resolver.monoid(c.stage)?, c);
                ctx.under(guard, |ctx| self.assign(ctx, &c.dst[c.given..], &combined))
            }
        }
    }

    /// Assigns values to places. All values are computed before the first is stored.
    fn assign(&mut self, ctx: &mut BlockContext<'_>, places: &[Access], values: &[ExprId]) -> Result<()> {
        let mut matrices = Vec::new();
        for (to, value) in places.iter().zip(values) {
            let shape = self.shape_at(ctx, to.buffer)?;
            matrices.push((to, self.value(ctx, *value, shape)?, shape));
        }
        for (to, matrix, shape) in matrices {
            if let Space::Fragment { .. } = ctx.program.buffers[to.buffer].space {
                let variable = self.fragment(ctx, to.buffer, &to.index, shape)?;
                if shape.role != Use::MatrixAccumulatorKHR {
                    self.factors.insert(to.buffer, shape.role);
                }
                self.keep(ctx, to.buffer, variable, matrix);
            } else {
                let guard = ctx.resolving(|r| r.in_range(View::ALL))?;
                ctx.under(guard, |ctx| self.store(ctx, to, matrix, shape))?;
            }
        }
        Ok(())
    }

    /// Stores a matrix in a fragment.
    fn keep(&mut self, ctx: &mut BlockContext<'_>, buffer: BufferId, variable: Id, matrix: Id) {
        ctx.function.here().op(Op::Store, &[variable, matrix]);
        let reads = |value: ExprId| ctx.program.exprs.reads(value).iter().any(|read| read.buffer == buffer);
        self.known.of_rows.retain(|(value, ..)| !reads(*value));
        self.known.converted.retain(|((of, _), _)| *of != variable);
    }

    /// Emits `acc = a * b + acc`.
    fn multiply(&mut self, ctx: &mut BlockContext<'_>, to: &Access, item: ExprId, depth: (AxisId, u32)) -> Result<()> {
        let (sum, program) = (self.shape_at(ctx, to.buffer)?, ctx.program);
        let Some([a, b]) = factors(program, item, sum) else {
            return Err(ctx.defect("matrix units sum products of two reads, but this is not such a product"));
        };
        let shapes = [
            Shape { dtype: program.buffers[a.buffer].dtype, columns: (Some(depth.0), depth.1), role: Use::MatrixAKHR, ..sum },
            Shape { dtype: program.buffers[b.buffer].dtype, rows: depth, role: Use::MatrixBKHR, ..sum },
        ];
        let row = Product { shape: [sum.rows.1, sum.columns.1, depth.1], factors: shapes.map(|shape| shape.dtype), sum: sum.dtype };
        self.types.note_product(ctx, row)?;
        let (a, b) = (self.operand(ctx, &a, shapes[0])?, self.operand(ctx, &b, shapes[1])?);
        let variable = self.fragment(ctx, to.buffer, &to.index, sum)?;
        let ty = self.types.of(ctx, sum)?;
        let before = ctx.ins_here(Op::Load, ty, &[variable]);
        let operands: SmallVec<[u32; 4]> = [a, b, before].into_iter().chain(signs(row)).collect();
        let after = ctx.ins_here(Op::CooperativeMatrixMulAddKHR, ty, &operands);
        self.keep(ctx, to.buffer, variable, after);
        Ok(())
    }

    /// Returns a factor: a fragment, or a matrix that is loaded from memory.
    fn operand(&mut self, ctx: &mut BlockContext<'_>, read: &Read, shape: Shape) -> Result<Id> {
        match ctx.program.buffers[read.buffer].space {
            Space::Fragment { .. } if shape.role != self.role_of(read.buffer) => self.as_factor(ctx, read, shape),
            Space::Fragment { .. } => {
                let variable = self.fragment(ctx, read.buffer, &read.index, shape)?;
                let ty = self.types.of(ctx, shape)?;
                Ok(ctx.ins_here(Op::Load, ty, &[variable]))
            }
            _ => self.load(ctx, read, shape),
        }
    }

    /// Returns the use of the matrices of a fragment, as they were written.
    fn role_of(&self, buffer: BufferId) -> Use {
        self.factors.get(&buffer).copied().unwrap_or(Use::MatrixAccumulatorKHR)
    }

    /// Converts a fragment of sums to a factor of the same shape. A conversion is needed, because the same lane may hold other elements
    /// of a factor.
    fn as_factor(&mut self, ctx: &mut BlockContext<'_>, read: &Read, shape: Shape) -> Result<Id> {
        let own = Shape { role: self.role_of(read.buffer), ..shape };
        let variable = self.fragment(ctx, read.buffer, &read.index, own)?;
        let key = (variable, shape.role);
        if let Some((_, known)) = self.known.after(ctx.resolver.changes()).converted.iter().find(|(of, _)| *of == key) {
            return Ok(*known);
        }
        ctx.need(Feature::MatrixConversions, "a factor that is a fragment of sums", "place it in shared memory")?;
        ctx.module.capability(Capability::CooperativeMatrixConversionsNV);
        ctx.module.extension("SPV_NV_cooperative_matrix2");
        let (own, ty) = (self.types.of(ctx, own)?, self.types.of(ctx, shape)?);
        let matrix = ctx.ins_here(Op::Load, own, &[variable]);
        let id = ctx.ins_here(Op::CooperativeMatrixConvertNV, ty, &[matrix]);
        self.known.converted.push((key, id));
        Ok(id)
    }

    /// Returns the shape of a buffer's matrices in the enclosing loops.
    fn shape_at(&self, ctx: &BlockContext<'_>, buffer: BufferId) -> Result<Shape> {
        let b = &ctx.program.buffers[buffer];
        let axis = |(axis, length)| (Some(axis), length);
        let sides = [Side::Rows, Side::Columns, Side::Depth].map(|side| self.side(side));
        let (rows, columns, role) = match (sides, &b.space) {
            ([Some(rows), Some(columns), _], _) => (rows, axis(columns), Use::MatrixAccumulatorKHR),
            ([Some(rows), None, Some(depth)], _) => (rows, axis(depth), Use::MatrixAKHR),
            ([None, Some(columns), Some(rows)], _) => (rows, axis(columns), Use::MatrixBKHR),
            ([Some(rows), ..], Space::Fragment { columns, spread: true, .. }) => {
                (rows, (None, *columns), Use::MatrixAccumulatorKHR)
            }
            _ => return Err(ctx.defect("a matrix without rows or columns")),
        };
        Ok(Shape { dtype: b.dtype, rows, columns, role })
    }

    /// Returns the variable of a matrix.
    fn fragment(&mut self, ctx: &mut BlockContext<'_>, buffer: BufferId, index: &[ExprId], shape: Shape) -> Result<Id> {
        let Elements::One(first) = ctx.resolving(|r| r.elements(buffer, index, View::ALL))? else {
            return Err(ctx.defect("matrices in lanes"));
        };
        if let Some(variable) = self.variables.get(&(buffer, first)) {
            return Ok(*variable);
        }
        let ty = self.types.of(ctx, shape)?;
        let variable = ctx.variable(ty);
        let name = format!("{}[{first}]", ctx.program.buffers[buffer].name);
        ctx.module.name(variable, &name);
        self.variables.insert((buffer, first), variable);
        Ok(variable)
    }
}

/// Returns the operand of a product that says which of its matrices have signs, if they are of integers.
fn signs(product: Product) -> Option<u32> {
    use spirv::CooperativeMatrixOperands as Operands;
    let [a, b] = product.factors;
    let sum = Operands::MATRIX_C_SIGNED_COMPONENTS_KHR | Operands::MATRIX_RESULT_SIGNED_COMPONENTS_KHR;
    let of = [(a, Operands::MATRIX_A_SIGNED_COMPONENTS_KHR), (b, Operands::MATRIX_B_SIGNED_COMPONENTS_KHR), (product.sum, sum)];
    let signed = of.into_iter().filter(|(dtype, _)| dtype.is_signed_int()).fold(Operands::empty(), |all, (_, bit)| all | bit);
    (!signed.is_empty()).then_some(signed.bits())
}

/// Returns the new state of an update, component by component, as values that read the old state.
fn new_states(program: &Program, monoid: &Monoid, c: &Compute) -> Vec<ExprId> {
    let exprs = &program.exprs;
    let state = |to: &Access| exprs.read(to.buffer, program.buffers[to.buffer].dtype, to.index.iter().copied());
    let states: Vec<ExprId> = c.dst.iter().map(state).collect();
    let new = |combine: &ExprId| {
        exprs.replace(*combine, &mut |exprs, id| match exprs.get(id) {
            Expr::State(n) => states.get(*n as usize).copied(),
            Expr::Item(n) => c.value.get(*n as usize).copied(),
            _ => None,
        })
    };
    monoid.combine[..c.dst.len()].iter().skip(c.given).map(new).collect()
}

/// Returns the factors of a product of two reads: first the factor of rows, then the factor of columns.
fn factors(program: &Program, item: ExprId, sum: Shape) -> Option<[Read; 2]> {
    let Expr::Binary(Binary::Mul, a, b) = *program.exprs.get(item) else { return None };
    let mut reads = Vec::new();
    for factor in [a, b] {
        let Expr::Read(read) = program.exprs.get(program.exprs.widened(factor)) else { return None };
        reads.push(read.clone());
    }
    let of_columns =
        |read: &Read| read.index.iter().any(|e| sum.columns.0.is_some_and(|columns| depends_on_side(program, *e, columns)));
    reads.sort_by_key(of_columns);
    reads.try_into().ok()
}

/// True if a value depends on a side.
fn depends_on_side(program: &Program, value: ExprId, side: AxisId) -> bool {
    program.exprs.uses_axis(value, &mut |axis| program.is_made_of(axis, side))
}
