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
mod whole;

use crate::Result;
use crate::emit::Emit;
use crate::module::{Id, Type};
use masks::Mask;
use memory::Loaded;
use rspirv::spirv::{Capability, CooperativeMatrixUse as Use, Op};
use tilewright_codegen::hash::Map;
use tilewright_codegen::values::ValueId;
use tilewright_codegen::{BoundAxis, Elements, View};
use tilewright_dsl::diag::{self, Error, SpanId};
use tilewright_dsl::expr::{Binary, Expr, ExprId, Read};
use tilewright_dsl::launch::{DType, Feature, Matrices as Product};
use tilewright_dsl::nest::{Access, AxisId, BufferId, Compute, Loop, Phase, Side, Space};
use tilewright_dsl::profile::Profile;

/// The matrices of a dispatch.
#[derive(Default)]
pub(crate) struct Matrices {
    /// The sides that the enclosing loops run over, with their lengths.
    sides: Vec<(Side, AxisId, u32)>,
    /// The directive that turns loops into sides.
    made_at: SpanId,
    /// The variables of matrices, by buffer and first element.
    variables: Map<(BufferId, i64), Id>,
    /// Matrices that were loaded and have not changed since.
    loaded: Loaded,
    /// Values of rows alone that were computed, and whose fragments and memory have not changed since.
    of_rows: Vec<OfRows>,
    /// Pointers to arrays of the numbers 0, 1, 2 … in shared memory, by length.
    numbers: Vec<(u32, Id)>,
    /// The mask whose condition was decided by an enclosing branch.
    mask: Option<Mask>,
    /// Conditions by which an enclosing loop is cut in two, and whether they hold for all elements in the current part.
    cut: Vec<(ExprId, bool)>,
    /// The types of matrices that the dispatch uses.
    kinds: Vec<(DType, Use, [u32; 2])>,
    /// The products that the dispatch computes.
    pub(crate) products: Vec<Product>,
    /// Functions that combine two elements, by operation and type.
    combinations: Vec<((Binary, DType), Id)>,
    /// Fragments that were written as factors, and their use.
    factors: Map<BufferId, Use>,
    /// Fragments of sums that were converted to factors, until they change.
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

impl Matrices {
    /// Forgets the matrices that were loaded or computed from memory.
    pub(crate) fn forget(&mut self) {
        self.loaded.clear();
        self.of_rows.clear();
        self.converted.clear();
    }

    fn side(&self, wanted: Side) -> Option<(AxisId, u32)> {
        self.sides.iter().find(|(side, ..)| *side == wanted).map(|(_, axis, length)| (*axis, *length))
    }
}

impl Emit<'_> {
    /// True if the emission is nested in a loop over a side of matrices.
    pub(crate) fn in_matrices(&self) -> bool {
        !self.matrices.sides.is_empty()
    }

    /// Emits a loop over a side.
    pub(crate) fn over_side(&mut self, l: &Loop, side: Side) -> Result<()> {
        let length = self.resolving(|r| r.literal_extent(l.axis, "a side of matrices"))?;
        let value = self.resolver.values.int(0);
        self.matrices.sides.push((side, l.axis, length));
        let span = self.resolver.span;
        self.matrices.made_at = span;
        let result = self.binding(l.axis, BoundAxis { value, owner: false }, |e| {
            e.block(&l.body)?;
            e.stand_at(span);
            Ok(())
        });
        self.matrices.sides.pop();
        result
    }

    /// Emits a compute over the elements of matrices.
    pub(crate) fn matrix_compute(&mut self, c: &Compute) -> Result<()> {
        self.resolver.begin_compute(c);
        if c.phase != Phase::Update {
            return self.assign_matrices(&c.dst[c.given..], &c.value[c.given..]);
        }
        let guard = self.resolving(|r| r.item_counts())?;
        match (&c.dst[..], &c.value[..], self.matrices.side(Side::Depth)) {
            ([to], [value], Some(_)) => self.under(guard, |e| e.multiply(to, *value)),
            _ => {
                let combined = self.combined_matrices(c)?;
                self.under(guard, |e| e.assign_matrices(&c.dst[c.given..], &combined))
            }
        }
    }

    /// Returns the new state of an update, component by component, as values that read the old state.
    fn combined_matrices(&mut self, c: &Compute) -> Result<Vec<ExprId>> {
        let (monoid, exprs) = (self.resolver.monoid(c.stage)?, &self.program.exprs);
        let state = |to: &Access| exprs.read(to.buffer, self.program.buffers[to.buffer].dtype, to.index.iter().copied());
        let states: Vec<ExprId> = c.dst.iter().map(state).collect();
        let new = |combine: &ExprId| {
            exprs.replace(*combine, &mut |exprs, id| match exprs.get(id) {
                Expr::State(n) => states.get(*n as usize).copied(),
                Expr::Item(n) => c.value.get(*n as usize).copied(),
                _ => None,
            })
        };
        Ok(monoid.combine[..c.dst.len()].iter().skip(c.given).map(new).collect())
    }

    /// Assigns values to places. All values are computed before the first is stored.
    fn assign_matrices(&mut self, places: &[Access], values: &[ExprId]) -> Result<()> {
        let mut matrices = Vec::new();
        for (to, value) in places.iter().zip(values) {
            let shape = self.shape_at(to.buffer)?;
            matrices.push((to, self.matrix_value(*value, shape)?, shape));
        }
        for (to, matrix, shape) in matrices {
            if let Space::Fragment { .. } = self.program.buffers[to.buffer].space {
                let variable = self.fragment(to.buffer, &to.index, shape)?;
                if shape.role != Use::MatrixAccumulatorKHR {
                    self.matrices.factors.insert(to.buffer, shape.role);
                }
                self.keep(to.buffer, variable, matrix);
            } else {
                let guard = self.resolving(|r| r.in_range(View::ALL))?;
                self.under(guard, |e| e.store_matrix(to, matrix, shape))?;
            }
        }
        Ok(())
    }

    /// Stores a matrix in a fragment.
    fn keep(&mut self, buffer: BufferId, variable: Id, matrix: Id) {
        self.function.here().op(Op::Store, &[variable, matrix]);
        let reads = |value: ExprId| self.program.exprs.reads(value).iter().any(|read| read.buffer == buffer);
        self.matrices.of_rows.retain(|(value, ..)| !reads(*value));
        self.matrices.converted.retain(|((of, _), _)| *of != variable);
    }

    /// Emits `acc = a * b + acc`.
    fn multiply(&mut self, to: &Access, item: ExprId) -> Result<()> {
        let sum = self.shape_at(to.buffer)?;
        let Some(depth) = self.matrices.side(Side::Depth) else {
            return Err(self.error("a sum on matrix units needs a product of matrices").help("write `mma(i, j, k, …)`"));
        };
        let [a, b] = self.factors(item, sum)?;
        let shapes = [
            Shape { dtype: self.program.buffers[a.buffer].dtype, columns: (Some(depth.0), depth.1), role: Use::MatrixAKHR, ..sum },
            Shape { dtype: self.program.buffers[b.buffer].dtype, rows: depth, role: Use::MatrixBKHR, ..sum },
        ];
        let row = Product { shape: [sum.rows.1, sum.columns.1, depth.1], factors: shapes.map(|shape| shape.dtype), sum: sum.dtype };
        if !self.profile.matrices.contains(&row) {
            return Err(self.error(format!("`{}` cannot multiply matrices of {row}", self.profile.name)));
        }
        if !self.matrices.products.contains(&row) {
            self.matrices.products.push(row);
        }
        let (a, b) = (self.operand(&a, shapes[0])?, self.operand(&b, shapes[1])?);
        let variable = self.fragment(to.buffer, &to.index, sum)?;
        let (ty, level) = (self.matrix_type(sum)?, self.level());
        let before = self.ins(level, Op::Load, ty, &[variable]);
        let after = self.ins(level, Op::CooperativeMatrixMulAddKHR, ty, &[a, b, before]);
        self.keep(to.buffer, variable, after);
        Ok(())
    }

    /// Returns the factors of a product: first the factor of rows, then the factor of columns.
    fn factors(&self, item: ExprId, sum: Shape) -> Result<[Read; 2]> {
        let no_product = || self.defect("matrix units sum products of two reads, but this is not such a product");
        let Expr::Binary(Binary::Mul, a, b) = *self.program.exprs.get(item) else { return Err(no_product()) };
        let mut reads = Vec::new();
        for factor in [a, b] {
            let Expr::Read(read) = self.program.exprs.get(self.unconverted(factor)) else { return Err(no_product()) };
            reads.push(read.clone());
        }
        let of_columns =
            |read: &Read| read.index.iter().any(|e| sum.columns.0.is_some_and(|columns| self.depends_on_side(*e, columns)));
        reads.sort_by_key(of_columns);
        <[Read; 2]>::try_from(reads).map_err(|_| no_product())
    }

    /// Strips conversions of f16 to f32 from a value.
    fn unconverted(&self, mut value: ExprId) -> ExprId {
        while let Expr::Cast(DType::F32, from) = *self.program.exprs.get(value)
            && self.program.exprs.dtype(from) == DType::F16
        {
            value = from;
        }
        value
    }

    /// True if a value depends on a side.
    fn depends_on_side(&self, value: ExprId, side: AxisId) -> bool {
        self.program.exprs.uses_axis(value, &mut |axis| self.program.is_made_of(axis, side))
    }

    /// Returns a factor: a fragment, or a matrix that is loaded from memory.
    fn operand(&mut self, read: &Read, shape: Shape) -> Result<Id> {
        match self.program.buffers[read.buffer].space {
            Space::Fragment { .. } if shape.role != self.role_of(read.buffer) => self.as_factor(read, shape),
            Space::Fragment { .. } => {
                let variable = self.fragment(read.buffer, &read.index, shape)?;
                let (ty, level) = (self.matrix_type(shape)?, self.level());
                Ok(self.ins(level, Op::Load, ty, &[variable]))
            }
            _ => self.load_matrix(read, shape),
        }
    }

    /// Returns the use of the matrices of a fragment, as they were written.
    fn role_of(&self, buffer: BufferId) -> Use {
        self.matrices.factors.get(&buffer).copied().unwrap_or(Use::MatrixAccumulatorKHR)
    }

    /// Converts a fragment of sums to a factor of the same shape. A conversion is needed, because the same lane may hold other elements
    /// of a factor.
    fn as_factor(&mut self, read: &Read, shape: Shape) -> Result<Id> {
        let own = Shape { role: self.role_of(read.buffer), ..shape };
        let variable = self.fragment(read.buffer, &read.index, own)?;
        let key = (variable, shape.role);
        if let Some((_, known)) = self.matrices.converted.iter().find(|(of, _)| *of == key) {
            return Ok(*known);
        }
        self.need(Feature::MatrixConversions, "a factor that is a fragment of sums", "place it in shared memory")?;
        self.module.capability(Capability::CooperativeMatrixConversionsNV);
        self.module.extension("SPV_NV_cooperative_matrix2");
        let (own, ty, level) = (self.matrix_type(own)?, self.matrix_type(shape)?, self.level());
        let matrix = self.ins(level, Op::Load, own, &[variable]);
        let id = self.ins(level, Op::CooperativeMatrixConvertNV, ty, &[matrix]);
        self.matrices.converted.push((key, id));
        Ok(id)
    }

    /// Returns the shape of a buffer's matrices in the enclosing loops.
    fn shape_at(&self, buffer: BufferId) -> Result<Shape> {
        let dtype = self.program.buffers[buffer].dtype;
        let side = |side| self.matrices.side(side).map(|(axis, length)| (Some(axis), length));
        let spread = || match self.program.buffers[buffer].space {
            Space::Fragment { columns, spread: true, .. } => Some((None, columns)),
            _ => None,
        };
        let sides = [Side::Rows, Side::Columns, Side::Depth].map(|side| self.matrices.side(side));
        let (rows, columns, role) = match sides {
            [Some(rows), Some(_), _] => (Some(rows), side(Side::Columns), Use::MatrixAccumulatorKHR),
            [Some(rows), None, Some(_)] => (Some(rows), side(Side::Depth), Use::MatrixAKHR),
            [None, Some(_), Some(rows)] => (Some(rows), side(Side::Columns), Use::MatrixBKHR),
            [rows, ..] => (rows, spread(), Use::MatrixAccumulatorKHR),
        };
        match (rows, columns) {
            (Some(rows), Some(columns)) => Ok(Shape { dtype, rows, columns, role }),
            _ => Err(self.defect("a matrix without rows or columns")),
        }
    }

    /// Records a type of matrices, which the device must support.
    fn note_kind(&mut self, shape: Shape) -> Result<()> {
        let kind = (shape.dtype, shape.role, [shape.rows.1, shape.columns.1]);
        if self.matrices.kinds.contains(&kind) {
            return Ok(());
        }
        if !self.profile.matrices.iter().any(|row| has_kind(row, kind)) {
            let (name, [rows, columns]) = (&self.profile.name, kind.2);
            let error = Error::new(
                self.matrices.made_at,
                format!("`{name}` does not support matrices of {rows} x {columns} of {}", kind.0),
            );
            let rows = self.profile.matrices.iter().map(ToString::to_string);
            return Err(error.note_at(self.resolver.span, "needed here").help(format!("it has {}", diag::list(rows))));
        }
        self.matrices.kinds.push(kind);
        Ok(())
    }

    /// Returns the products that the device must support: those that are computed, and one of the profile's for each other type of
    /// matrices.
    pub(crate) fn needed_products(&self) -> Vec<Product> {
        let mut products = self.matrices.products.clone();
        for kind in &self.matrices.kinds {
            if !products.iter().any(|row| has_kind(row, *kind)) {
                products.extend(self.profile.matrices.iter().find(|row| has_kind(row, *kind)));
            }
        }
        products
    }

    fn matrix_type(&mut self, shape: Shape) -> Result<Id> {
        let what = "a product of matrices";
        self.need(Feature::CooperativeMatrix, what, "remove `mma`")?;
        self.need(Feature::MemoryModel, what, "remove `mma`")?;
        if shape.dtype == DType::F16 {
            self.need(Feature::F16, what, format_args!("take {}", Profile::that_have(Feature::F16)))?;
        }
        self.module.capability(Capability::CooperativeMatrixKHR);
        self.module.extension("SPV_KHR_cooperative_matrix");
        self.note_kind(shape)?;
        let of = self.scalar_type(shape.dtype)?;
        Ok(self.module.ty(Type::Matrix { of, rows: shape.rows.1, columns: shape.columns.1, role: shape.role as u32 }))
    }

    /// Returns the variable of a matrix.
    fn fragment(&mut self, buffer: BufferId, index: &[ExprId], shape: Shape) -> Result<Id> {
        let Elements::One(first) = self.resolving(|r| r.elements(buffer, index, View::ALL))? else {
            return Err(self.defect("matrices in lanes"));
        };
        if let Some(variable) = self.matrices.variables.get(&(buffer, first)) {
            return Ok(*variable);
        }
        let ty = self.matrix_type(shape)?;
        let variable = self.variable(ty);
        let name = format!("{}[{first}]", self.program.buffers[buffer].name);
        self.module.name(variable, &name);
        self.matrices.variables.insert((buffer, first), variable);
        Ok(variable)
    }

    /// Returns an error for a place whose elements do not have the layout of a matrix.
    fn no_matrix(&self, buffer: BufferId, why: &str, help: String) -> Error {
        let name = &self.program.buffers[buffer].name;
        let error = Error::new(self.matrices.made_at, format!("`{name}` cannot be loaded or stored as matrices: {why}"));
        error.note_at(self.resolver.span, "needed here").help(help)
    }
}

/// True if a product has matrices of a type.
fn has_kind(row: &Product, (dtype, role, sides): (DType, Use, [u32; 2])) -> bool {
    let [m, n, k] = row.shape;
    let [a, b] = row.factors;
    (dtype, sides)
        == match role {
            Use::MatrixAKHR => (a, [m, k]),
            Use::MatrixBKHR => (b, [k, n]),
            Use::MatrixAccumulatorKHR => (row.sum, [m, n]),
        }
}
