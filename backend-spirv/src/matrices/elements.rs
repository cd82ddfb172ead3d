//! Values of matrices that are computed element by element.
//!
//! Sums, differences, products and quotients of matrices are single instructions. A value that is the same in all columns is computed once
//! for all matrices of its rows. Any other value is computed in a loop over the elements that an invocation holds. The device decides which
//! elements these are, but it distributes all matrices of one type alike. So all matrices that a value reads are converted to one type, and
//! the loop computes each element from the elements with the same index.

use super::coordinates::counts;
use super::{KnownMatrices, Matrices, OfRows, Shape, depends_on_side};
use crate::Result;
use crate::chunks::Chunks;
use crate::context::BlockContext;
use crate::control::{Counter, Structured};
use crate::math::float_op;
use crate::module::Id;
use spirv::{CooperativeMatrixUse as Use, LoopControl, Op, StorageClass};
use tilewright_codegen::BoundAxis;
use tilewright_dsl::expr::{Binary, Expr, ExprId, Exprs};
use tilewright_dsl::launch::{DType, Feature};
use tilewright_dsl::nest::{Program, Space};

/// A value that is computed element by element, and its matrices.
struct Elements<'e> {
    value: ExprId,
    /// The sides and element type of the matrices.
    shape: Shape,
    ty: Id,
    /// The expressions that differ by element, each with the variable of its matrix.
    sources: &'e [(ExprId, Id)],
    /// The variable of the result.
    made: Id,
}

impl Matrices {
    /// Returns the matrix of a value.
    pub(super) fn value(&mut self, ctx: &mut BlockContext<'_>, value: ExprId, shape: Shape) -> Result<Id> {
        let (program, exprs) = (ctx.program, &ctx.program.exprs);
        let value = self.masks.unmasked(exprs, value);
        let dtype = exprs.dtype(value);
        if !shape.varies(program, value) {
            return self.same_in_all(ctx, value, shape);
        }
        match exprs.get(value) {
            Expr::Read(read) => {
                let of = Shape { dtype, ..shape };
                let matrix = self.operand(ctx, read, of)?;
                self.converted(ctx, matrix, of, shape.dtype)
            }
            _ if !shape.varies_in_rows(program, value) => self.value_of_rows(ctx, value, shape),
            Expr::Cast(to, from) if to.is_float() && exprs.dtype(*from).is_float() || is_of_integers(program, value) => {
                let of = Shape { dtype: exprs.dtype(*from), ..shape };
                let matrix = self.value(ctx, *from, of)?;
                let own = Shape { dtype: *to, ..shape };
                let matrix = self.converted(ctx, matrix, of, *to)?;
                self.converted(ctx, matrix, own, shape.dtype)
            }
            Expr::Binary(op, a, b) if shape.is_arithmetic(program, value) => {
                let Some(op) = matrix_op(*op, dtype) else { return self.each_element(ctx, value, shape) };
                let [a, b] = [self.value(ctx, *a, shape)?, self.value(ctx, *b, shape)?];
                let ty = self.types.of(ctx, shape)?;
                Ok(ctx.ins_here(op, ty, &[a, b]))
            }
            _ => self.each_element(ctx, value, shape),
        }
    }

    /// Returns the matrix of a value that depends on rows only. It is computed once for all matrices that have these rows.
    fn value_of_rows(&mut self, ctx: &mut BlockContext<'_>, value: ExprId, shape: Shape) -> Result<Id> {
        let program = ctx.program;
        let axes = program.named(value).into_iter();
        let places = axes.map(|axis| ctx.resolve(program.exprs.axis(axis))).collect::<Result<Vec<_>>>()?;
        let is_same = |(other, at, dtype, _): &&OfRows| (*other, at, *dtype) == (value, &places, shape.dtype);
        if let Some((.., matrix)) = self.known.after(ctx.resolver.changes()).of_rows.iter().find(is_same) {
            return Ok(*matrix);
        }
        let matrix = self.value(ctx, value, shape.of_rows())?;
        self.known.after(ctx.resolver.changes()).of_rows.push((value, places, shape.dtype, matrix));
        Ok(matrix)
    }

    /// Returns a matrix with one value in all elements.
    fn same_in_all(&mut self, ctx: &mut BlockContext<'_>, value: ExprId, shape: Shape) -> Result<Id> {
        let ty = self.types.of(ctx, shape)?;
        let value = ctx.resolve(value)?;
        let id = ctx.scalar(value)?;
        Ok(match ctx.resolver.values.literal(value) {
            Some(_) => ctx.module.composite(ty, &[id]),
            None => ctx.ins_here(Op::CompositeConstruct, ty, &[id]),
        })
    }

    fn converted(&mut self, ctx: &mut BlockContext<'_>, matrix: Id, from: Shape, to: DType) -> Result<Id> {
        if from.dtype == to {
            return Ok(matrix);
        }
        if from.dtype.is_int() {
            return self.converted_integers(ctx, matrix, from, to);
        }
        let narrows = (from.dtype, to) == (DType::F32, DType::F16);
        let is_rounded = !narrows || ctx.rounds_to_even(Feature::Rte16, 16);
        let matrix = if is_rounded { matrix } else { self.rounded_elements(ctx, matrix, from)? };
        let ty = self.types.of(ctx, Shape { dtype: to, ..from })?;
        Ok(ctx.ins_here(Op::FConvert, ty, &[matrix]))
    }

    /// Converts a matrix of integers to floats, which are f32 first.
    fn converted_integers(&mut self, ctx: &mut BlockContext<'_>, matrix: Id, from: Shape, to: DType) -> Result<Id> {
        ctx.rounds_to_even(Feature::Rte32, 32);
        let wide = Shape { dtype: DType::F32, ..from };
        let ty = self.types.of(ctx, wide)?;
        let op = if from.dtype.is_signed_int() { Op::ConvertSToF } else { Op::ConvertUToF };
        let matrix = ctx.ins_here(op, ty, &[matrix]);
        self.converted(ctx, matrix, wide, to)
    }

    /// Rounds the elements of a matrix of f32 to halves. The conversion that follows is then exact.
    fn rounded_elements(&mut self, ctx: &mut BlockContext<'_>, matrix: Id, shape: Shape) -> Result<Id> {
        let ty = self.types.of(ctx, shape)?;
        let variable = ctx.kept(ty, matrix);
        ctx.over_elements(ty, |ctx, at| {
            let (element, level) = (ctx.element_of(variable, at, shape.dtype)?, ctx.level());
            let rounded = ctx.rounded_by_bits(level, 1, element)?;
            let place = ctx.element_place(variable, at, shape.dtype)?;
            ctx.function.here().op(Op::Store, &[place, rounded]);
            Ok(())
        })?;
        Ok(ctx.ins_here(Op::Load, ty, &[variable]))
    }

    /// Computes a value from the elements of other matrices. The matrices have the widest type in the value, so that no element is rounded
    /// on the way.
    fn each_element(&mut self, ctx: &mut BlockContext<'_>, value: ExprId, result: Shape) -> Result<Id> {
        let exprs = &ctx.program.exprs;
        // Row and column numbers are accumulators of f32. Only matrices of the same type give an invocation the same elements.
        let counts = result.axes().any(|(side, _)| counts(ctx.program, value, side, &[]));
        if counts && result.role != Use::MatrixAccumulatorKHR {
            let error = ctx.error("the row and column of each element of a factor are not known");
            return Err(error.help("place it in shared memory, and let `mma` read it from there"));
        }
        let wide = counts || result.dtype == DType::F32 || has_type(exprs, value, DType::F32, &mut Vec::new());
        let dtype = if wide { DType::F32 } else { result.dtype };
        let shape = Shape { dtype, ..result };
        let ty = self.types.of(ctx, shape)?;
        let mut sources = Vec::new();
        self.sources(ctx, value, shape, &mut sources)?;
        let variables: Vec<(ExprId, Id)> = sources.into_iter().map(|(source, matrix)| (source, ctx.kept(ty, matrix))).collect();
        let made = ctx.variable(ty);
        let before = std::mem::take(self.known.after(ctx.resolver.changes()));
        let elements = Elements { value, shape, ty, sources: &variables, made };
        let axes: Vec<_> = shape.axes().collect();
        match self.masks.of(ctx, value, &axes)? {
            None => self.compute_elements(ctx, &elements)?,
            Some((cond, everywhere)) => ctx.either(everywhere, |ctx, everywhere| {
                self.masks.enter_branch(cond, everywhere);
                self.compute_elements(ctx, &elements)?;
                self.masks.leave_branch();
                Ok(())
            })?,
        }
        // Computing elements does not write memory, so that loaded matrices stay valid.
        self.known = KnownMatrices { changes: ctx.resolver.changes(), converted: Vec::new(), ..before };
        let matrix = ctx.ins_here(Op::Load, ty, &[made]);
        self.converted(ctx, matrix, shape, result.dtype)
    }

    /// Computes all elements that an invocation holds.
    fn compute_elements(&mut self, ctx: &mut BlockContext<'_>, of: &Elements<'_>) -> Result<()> {
        let dtype = of.shape.dtype;
        let (hold, mut own_parts) = (self.masks.hold(), Vec::new());
        let compared = self.thresholds(ctx, (of.value, &hold), of.shape, &mut own_parts)?;
        let sources = of.sources.iter().map(|(source, _)| *source);
        let known: Vec<ExprId> =
            compared.iter().map(|threshold| threshold.cond).chain(hold.iter().copied()).chain(sources).collect();
        let counted = self.counted_sides(ctx, (of.value, &known), of.shape, &mut own_parts)?;
        ctx.over_elements(of.ty, |ctx, at| {
            ctx.resolver.forget();
            let mut bound = Vec::new();
            for (axis, variable, length) in counted {
                let value = ctx.coordinate_of(variable, at, length)?;
                bound.push((axis, ctx.resolver.bind(axis, BoundAxis { value, owner: false })?));
            }
            for (source, variable) in of.sources {
                let element = ctx.element_of(*variable, at, dtype)?;
                let wanted = ctx.program.exprs.dtype(*source);
                let element = ctx.converted_element(element, dtype, wanted)?;
                let held = ctx.now(wanted, Chunks::one(element));
                ctx.resolver.presume(*source, held);
            }
            let known = ctx.resolver.values.boolean(true);
            hold.iter().for_each(|cond| ctx.resolver.presume(*cond, known));
            for threshold in &compared {
                let value = ctx.compared(at, threshold)?;
                ctx.resolver.presume(threshold.cond, value);
            }
            let computed = ctx.resolve(of.value)?;
            let computed = ctx.scalar(computed)?;
            let computed = ctx.converted_element(computed, ctx.program.exprs.dtype(of.value), dtype)?;
            for (axis, before) in bound {
                ctx.resolver.unbind(axis, before);
            }
            let place = ctx.element_place(of.made, at, dtype)?;
            ctx.function.here().op(Op::Store, &[place, computed]);
            Ok(())
        })?;
        // Values that were resolved in the loop are not available after it.
        ctx.resolver.forget();
        Ok(())
    }

    /// Collects the reads that differ by element, each as a matrix of the accumulator's type.
    fn sources(&mut self, ctx: &mut BlockContext<'_>, value: ExprId, shape: Shape, found: &mut Vec<(ExprId, Id)>) -> Result<()> {
        let (program, exprs) = (ctx.program, &ctx.program.exprs);
        if !shape.varies(program, value) || found.iter().any(|(known, _)| *known == value) {
            return Ok(());
        }
        match exprs.get(value) {
            Expr::Cast(..) if is_of_integers(program, value) => found.push((value, self.value(ctx, value, shape)?)),
            Expr::Read(_) if !exprs.dtype(value).is_float() => {
                let text = tilewright_dsl::nest::print::expr(program, value);
                let error = ctx.error(format!("`{text}` is read for each element of a matrix, but is not a float"));
                return Err(error.help("promote the result to shared memory, and compute this from there"));
            }
            Expr::Read(_) => found.push((value, self.value(ctx, value, shape)?)),
            _ if exprs.dtype(value).is_float() && !shape.varies_in_rows(program, value) => {
                found.push((value, self.value_of_rows(ctx, value, shape)?));
            }
            // The loop binds the axis to the row or column of each element.
            Expr::Axis(_) => {}
            expr => expr.operands().into_iter().try_for_each(|operand| self.sources(ctx, operand, shape, found))?,
        }
        Ok(())
    }
}

impl BlockContext<'_> {
    /// Stores a matrix in a new variable.
    pub(super) fn kept(&mut self, ty: Id, matrix: Id) -> Id {
        let variable = self.variable(ty);
        self.function.here().op(Op::Store, &[variable, matrix]);
        variable
    }

    fn element_place(&mut self, variable: Id, at: Id, dtype: DType) -> Result<Id> {
        let of = self.scalar_type(dtype)?;
        let pointer = self.module.pointer(StorageClass::Function, of);
        Ok(self.ins_here(Op::AccessChain, pointer, &[variable, at]))
    }

    pub(super) fn element_of(&mut self, variable: Id, at: Id, dtype: DType) -> Result<Id> {
        let place = self.element_place(variable, at, dtype)?;
        let of = self.scalar_type(dtype)?;
        Ok(self.ins_here(Op::Load, of, &[place]))
    }

    /// Converts an element of a matrix.
    fn converted_element(&mut self, element: Id, from: DType, to: DType) -> Result<Id> {
        if from == to {
            return Ok(element);
        }
        let ty = self.scalar_type(to)?;
        Ok(self.ins_here(Op::FConvert, ty, &[element]))
    }

    /// Emits a loop over the elements that an invocation holds. The loop is marked for unrolling, because elements do not have an address.
    fn over_elements(&mut self, ty: Id, body: impl FnOnce(&mut Self, Id) -> Result<()>) -> Result<()> {
        let word = self.module.u32_type();
        let truth = self.module.bool_type();
        let end = self.ins_here(Op::CooperativeMatrixLengthKHR, word, &[ty]);
        let (start, one) = (self.module.uint(0), self.module.uint(1));
        let (variable, at) = (self.variable(word), self.module.id());
        let inner = self.region(false, |ctx| body(ctx, at))?;
        let counter = Counter { types: [word, truth], less: Op::ULessThan, variable, start, end, one, at };
        self.repeat(&counter, None, &inner, LoopControl::UNROLL, inner.weight);
        Ok(())
    }
}

impl Shape {
    /// True if a value may differ between elements.
    fn varies(&self, program: &Program, value: ExprId) -> bool {
        let fragment =
            |e: &Expr| matches!(e, Expr::Read(read) if matches!(program.buffers[read.buffer].space, Space::Fragment { .. }));
        program.exprs.any(value, &mut |e| fragment(e)) || self.axes().any(|(side, _)| depends_on_side(program, value, side))
    }

    /// True if a value may differ between the elements of a row, or the matrix is one of rows alone.
    fn varies_in_rows(&self, program: &Program, value: ExprId) -> bool {
        let whole = |e: &Expr| match e {
            Expr::Read(read) => matches!(program.buffers[read.buffer].space, Space::Fragment { spread: false, .. }),
            _ => false,
        };
        self.columns.0.is_none_or(|side| depends_on_side(program, value, side)) || program.exprs.any(value, &mut |e| whole(e))
    }

    /// True if a value consists of sums, differences, products and quotients of existing matrices.
    fn is_arithmetic(&self, program: &Program, value: ExprId) -> bool {
        if !self.varies(program, value) || !self.varies_in_rows(program, value) {
            return true;
        }
        match program.exprs.get(value) {
            Expr::Read(_) => true,
            Expr::Binary(op, a, b) if program.exprs.dtype(value) == self.dtype && matrix_op(*op, self.dtype).is_some() => {
                self.is_arithmetic(program, *a) && self.is_arithmetic(program, *b)
            }
            _ => false,
        }
    }
}

/// Returns the instruction that performs an operation on matrices.
fn matrix_op(op: Binary, dtype: DType) -> Option<Op> {
    match op {
        _ if dtype.is_float() => float_op(op),
        Binary::Add => Some(Op::IAdd),
        Binary::Sub => Some(Op::ISub),
        Binary::Mul => Some(Op::IMul),
        _ => None,
    }
}

/// True if a value is a fragment of integers that is converted to floats.
fn is_of_integers(program: &Program, value: ExprId) -> bool {
    let exprs = &program.exprs;
    let Expr::Cast(to, from) = *exprs.get(value) else { return false };
    let is_fragment =
        |e: &Expr| matches!(e, Expr::Read(read) if matches!(program.buffers[read.buffer].space, Space::Fragment { .. }));
    to.is_float() && exprs.dtype(from).is_word() && is_fragment(exprs.get(from))
}

/// True if a part of an expression has a type. The indices of reads do not count.
fn has_type(exprs: &Exprs, value: ExprId, dtype: DType, seen: &mut Vec<ExprId>) -> bool {
    if seen.contains(&value) {
        return false;
    }
    seen.push(value);
    let is_index = matches!(exprs.get(value), Expr::Read(_));
    exprs.dtype(value) == dtype
        || (!is_index && exprs.get(value).operands().into_iter().any(|part| has_type(exprs, part, dtype, seen)))
}
