//! Values of matrices that are computed element by element.
//!
//! Sums, differences, products and quotients of matrices are single instructions. A value that is the same in all columns is computed once
//! for all matrices of its rows. Any other value is computed in a loop over the elements that an invocation holds. The device decides which
//! elements these are, but it distributes all matrices of one type alike. So all matrices that a value reads are converted to one type, and
//! the loop computes each element from the elements with the same index.

use super::{OfRows, Shape};
use crate::Result;
use crate::chunks::Chunks;
use crate::emit::Emit;
use crate::module::Id;
use rspirv::spirv::{CooperativeMatrixUse as Use, LoopControl, Op, StorageClass};
use tilewright_codegen::BoundAxis;
use tilewright_dsl::expr::{Binary, Expr, ExprId, Exprs};
use tilewright_dsl::launch::{DType, Feature};
use tilewright_dsl::nest::Space;

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

impl Emit<'_> {
    /// Returns the matrix of a value.
    pub(super) fn matrix_value(&mut self, value: ExprId, shape: Shape) -> Result<Id> {
        let exprs = &self.program.exprs;
        let value = self.unmasked(value);
        let dtype = exprs.dtype(value);
        if !self.varies(value, shape) {
            return self.same_in_all(value, shape);
        }
        match exprs.get(value) {
            Expr::Read(read) => {
                let of = Shape { dtype, ..shape };
                let matrix = self.operand(read, of)?;
                self.converted(matrix, of, shape.dtype)
            }
            _ if shape.columns.0.is_some() && !self.varies_in_rows(value, shape) => self.value_of_rows(value, shape),
            Expr::Cast(to, from) if is_float(*to) && is_float(exprs.dtype(*from)) => {
                let of = Shape { dtype: exprs.dtype(*from), ..shape };
                let matrix = self.matrix_value(*from, of)?;
                self.converted(matrix, of, *to)
            }
            Expr::Binary(op, a, b) if self.is_arithmetic(value, shape) => {
                let Some(op) = instruction(*op) else { return self.each_element(value, shape) };
                let [a, b] = [self.matrix_value(*a, shape)?, self.matrix_value(*b, shape)?];
                let (ty, level) = (self.matrix_type(shape)?, self.level());
                Ok(self.ins(level, op, ty, &[a, b]))
            }
            _ => self.each_element(value, shape),
        }
    }

    /// True if a value consists of sums, differences, products and quotients of existing matrices.
    fn is_arithmetic(&self, value: ExprId, shape: Shape) -> bool {
        let exprs = &self.program.exprs;
        if !self.varies(value, shape) || (shape.columns.0.is_some() && !self.varies_in_rows(value, shape)) {
            return true;
        }
        match exprs.get(value) {
            Expr::Read(_) => true,
            Expr::Binary(op, a, b) if exprs.dtype(value) == shape.dtype && instruction(*op).is_some() => {
                self.is_arithmetic(*a, shape) && self.is_arithmetic(*b, shape)
            }
            _ => false,
        }
    }

    /// True if a value may differ between elements.
    fn varies(&self, value: ExprId, shape: Shape) -> bool {
        let exprs = &self.program.exprs;
        let fragment =
            |e: &Expr| matches!(e, Expr::Read(read) if matches!(self.program.buffers[read.buffer].space, Space::Fragment { .. }));
        exprs.any(value, &mut |e| fragment(e)) || shape.axes().any(|(side, _)| self.depends_on_side(value, side))
    }

    /// True if a value may differ between the elements of a row.
    fn varies_in_rows(&self, value: ExprId, shape: Shape) -> bool {
        let whole = |e: &Expr| match e {
            Expr::Read(read) => matches!(self.program.buffers[read.buffer].space, Space::Fragment { spread: false, .. }),
            _ => false,
        };
        self.program.exprs.any(value, &mut |e| whole(e)) || shape.columns.0.is_some_and(|side| self.depends_on_side(value, side))
    }

    /// Returns the matrix of a value that depends on rows only. It is computed once for all matrices that have these rows.
    fn value_of_rows(&mut self, value: ExprId, shape: Shape) -> Result<Id> {
        let exprs = &self.program.exprs;
        let mut places = Vec::new();
        for axis in self.program.named(value) {
            places.push(self.resolve(exprs.axis(axis))?);
        }
        let is_same = |(other, at, dtype, _): &&OfRows| (*other, at, *dtype) == (value, &places, shape.dtype);
        if let Some((.., matrix)) = self.matrices.of_rows.iter().find(is_same) {
            return Ok(*matrix);
        }
        let matrix = self.matrix_value(value, shape.of_rows())?;
        self.matrices.of_rows.push((value, places, shape.dtype, matrix));
        Ok(matrix)
    }

    /// Returns a matrix with one value in all elements.
    fn same_in_all(&mut self, value: ExprId, shape: Shape) -> Result<Id> {
        let ty = self.matrix_type(shape)?;
        let value = self.resolve(value)?;
        let literal = self.resolver.values.literal(value);
        let id = self.scalar(value)?;
        let level = self.level();
        Ok(match literal {
            Some(_) => self.module.composite(ty, &[id]),
            None => self.ins(level, Op::CompositeConstruct, ty, &[id]),
        })
    }

    fn converted(&mut self, matrix: Id, from: Shape, to: DType) -> Result<Id> {
        if from.dtype == to {
            return Ok(matrix);
        }
        let narrows = (from.dtype, to) == (DType::F32, DType::F16);
        let is_rounded = !narrows || self.rounds_to_even(Feature::Rte16, 16);
        let matrix = if is_rounded { matrix } else { self.rounded_elements(matrix, from)? };
        let (ty, level) = (self.matrix_type(Shape { dtype: to, ..from })?, self.level());
        Ok(self.ins(level, Op::FConvert, ty, &[matrix]))
    }

    /// Rounds the elements of a matrix of f32 to halves. The conversion that follows is then exact.
    fn rounded_elements(&mut self, matrix: Id, shape: Shape) -> Result<Id> {
        let ty = self.matrix_type(shape)?;
        let variable = self.kept(ty, matrix);
        self.over_elements(ty, |e, at| {
            let (element, level) = (e.element_of(variable, at, shape.dtype)?, e.level());
            let rounded = e.rounded_by_bits(level, 1, element)?;
            let place = e.element_place(variable, at, shape.dtype)?;
            e.function.here().op(Op::Store, &[place, rounded]);
            Ok(())
        })?;
        let level = self.level();
        Ok(self.ins(level, Op::Load, ty, &[variable]))
    }

    /// Computes a value from the elements of other matrices. The matrices have the widest type in the value, so that no element is rounded
    /// on the way.
    fn each_element(&mut self, value: ExprId, result: Shape) -> Result<Id> {
        let exprs = &self.program.exprs;
        // Row and column numbers are accumulators of f32. Only matrices of the same type give an invocation the same elements.
        let counts = result.axes().any(|(side, _)| self.counts(value, side));
        if counts && result.role != Use::MatrixAccumulatorKHR {
            let error = self.error("the row and column of each element of a factor are not known");
            return Err(error.help("place it in shared memory, and let `mma` read it from there"));
        }
        let wide = counts || result.dtype == DType::F32 || has_type(exprs, value, DType::F32, &mut Vec::new());
        let dtype = if wide { DType::F32 } else { result.dtype };
        let shape = Shape { dtype, ..result };
        let ty = self.matrix_type(shape)?;
        let mut sources = Vec::new();
        self.sources(value, shape, &mut sources)?;
        let variables: Vec<(ExprId, Id)> = sources.into_iter().map(|(source, matrix)| (source, self.kept(ty, matrix))).collect();
        let made = self.variable(ty);
        // Computing elements does not write memory, so that loaded matrices stay valid.
        let (loaded, of_rows) = (std::mem::take(&mut self.matrices.loaded), std::mem::take(&mut self.matrices.of_rows));
        let elements = Elements { value, shape, ty, sources: &variables, made };
        let compute = |e: &mut Self| e.compute_elements(&elements);
        match self.mask_at(value, shape)?.filter(|_| self.matrices.mask.is_none()) {
            None => compute(self)?,
            Some((cond, everywhere)) => self.in_both(cond, everywhere, compute)?,
        }
        (self.matrices.loaded, self.matrices.of_rows) = (loaded, of_rows);
        let level = self.level();
        let matrix = self.ins(level, Op::Load, ty, &[made]);
        self.converted(matrix, shape, result.dtype)
    }

    /// Computes all elements that an invocation holds.
    fn compute_elements(&mut self, of: &Elements<'_>) -> Result<()> {
        let dtype = of.shape.dtype;
        let (hold, mut own_parts) = (self.hold(), Vec::new());
        let compared = self.thresholds((of.value, &hold), of.shape, &mut own_parts)?;
        let sources = of.sources.iter().map(|(source, _)| *source);
        let known: Vec<ExprId> =
            compared.iter().map(|threshold| threshold.cond).chain(hold.iter().copied()).chain(sources).collect();
        let counted = self.counted_sides((of.value, &known), of.shape, &mut own_parts)?;
        self.over_elements(of.ty, |e, at| {
            e.resolver.forget();
            let mut bound = Vec::new();
            for (axis, variable, length) in counted {
                let value = e.coordinate_of(variable, at, length)?;
                bound.push((axis, e.resolver.bind(axis, BoundAxis { value, owner: false })?));
            }
            for (source, variable) in of.sources {
                let element = e.element_of(*variable, at, dtype)?;
                let level = e.level();
                let wanted = e.program.exprs.dtype(*source);
                let element = match wanted == dtype {
                    true => element,
                    false => {
                        let to = e.scalar_type(wanted)?;
                        e.ins(level, Op::FConvert, to, &[element])
                    }
                };
                let held = e.resolver.values.moment(wanted, 1, level);
                e.define(held, Chunks::one(element));
                e.resolver.presume(*source, held);
            }
            for cond in &hold {
                let known = e.resolver.values.boolean(true);
                e.resolver.presume(*cond, known);
            }
            for threshold in &compared {
                let value = e.compared(at, threshold)?;
                e.resolver.presume(threshold.cond, value);
            }
            let computed = e.resolve(of.value)?;
            let mut computed = e.scalar(computed)?;
            if e.program.exprs.dtype(of.value) != dtype {
                let (to, level) = (e.scalar_type(dtype)?, e.level());
                computed = e.ins(level, Op::FConvert, to, &[computed]);
            }
            for (axis, before) in bound {
                e.resolver.unbind(axis, before);
            }
            let place = e.element_place(of.made, at, dtype)?;
            e.function.here().op(Op::Store, &[place, computed]);
            Ok(())
        })?;
        // Values that were resolved in the loop are not available after it.
        self.resolver.forget();
        Ok(())
    }

    /// Collects the reads that differ by element, each as a matrix of the accumulator's type.
    fn sources(&mut self, value: ExprId, shape: Shape, found: &mut Vec<(ExprId, Id)>) -> Result<()> {
        if !self.varies(value, shape) || found.iter().any(|(known, _)| *known == value) {
            return Ok(());
        }
        let exprs = &self.program.exprs;
        match exprs.get(value) {
            Expr::Read(_) if !is_float(exprs.dtype(value)) => {
                let text = tilewright_dsl::nest::print::expr(self.program, value);
                let error = self.error(format!("`{text}` is read for each element of a matrix, but is not a float"));
                Err(error.help("promote the result to shared memory, and compute this from there"))
            }
            Expr::Read(_) => {
                let matrix = self.matrix_value(value, shape)?;
                found.push((value, matrix));
                Ok(())
            }
            _ if is_float(exprs.dtype(value)) && shape.columns.0.is_some() && !self.varies_in_rows(value, shape) => {
                let matrix = self.value_of_rows(value, shape)?;
                found.push((value, matrix));
                Ok(())
            }
            // The loop binds the axis to the row or column of each element.
            Expr::Axis(_) => Ok(()),
            expr => expr.operands().into_iter().try_for_each(|operand| self.sources(operand, shape, found)),
        }
    }

    /// Stores a matrix in a new variable.
    pub(super) fn kept(&mut self, ty: Id, matrix: Id) -> Id {
        let variable = self.variable(ty);
        self.function.here().op(Op::Store, &[variable, matrix]);
        variable
    }

    fn element_place(&mut self, variable: Id, at: Id, dtype: DType) -> Result<Id> {
        let of = self.scalar_type(dtype)?;
        let pointer = self.module.pointer(StorageClass::Function, of);
        let level = self.level();
        Ok(self.ins(level, Op::AccessChain, pointer, &[variable, at]))
    }

    pub(super) fn element_of(&mut self, variable: Id, at: Id, dtype: DType) -> Result<Id> {
        let place = self.element_place(variable, at, dtype)?;
        let (of, level) = (self.scalar_type(dtype)?, self.level());
        Ok(self.ins(level, Op::Load, of, &[place]))
    }

    /// Emits a loop over the elements that an invocation holds. The loop is marked for unrolling, because elements do not have an address.
    fn over_elements(&mut self, ty: Id, body: impl FnOnce(&mut Self, Id) -> Result<()>) -> Result<()> {
        let word = self.module.u32_type();
        let (truth, level) = (self.module.bool_type(), self.level());
        let count = self.ins(level, Op::CooperativeMatrixLengthKHR, word, &[ty]);
        let (zero, one) = (self.module.uint(0), self.module.uint(1));
        let counter = self.variable(word);
        let at = self.module.id();
        let inner = self.region(false, |e| body(e, at))?;
        let [header, test, inside, next, merge, more, after] = [(); 7].map(|()| self.module.id());
        self.written.loops += 1;
        self.function.weigh(inner.weight);
        let code = self.function.here();
        code.op(Op::Store, &[counter, zero]);
        code.op(Op::Branch, &[header]);
        code.op(Op::Label, &[header]);
        code.op(Op::LoopMerge, &[merge, next, LoopControl::UNROLL.bits()]);
        code.op(Op::Branch, &[test]);
        code.op(Op::Label, &[test]);
        code.op(Op::Load, &[word, at, counter]);
        code.op(Op::ULessThan, &[truth, more, at, count]);
        code.op(Op::BranchConditional, &[more, inside, merge]);
        code.op(Op::Label, &[inside]);
        code.append(&inner.code);
        code.op(Op::Branch, &[next]);
        code.op(Op::Label, &[next]);
        code.op(Op::IAdd, &[word, after, at, one]);
        code.op(Op::Store, &[counter, after]);
        code.op(Op::Branch, &[header]);
        code.op(Op::Label, &[merge]);
        Ok(())
    }
}

/// Returns the instruction that performs an operation on whole matrices.
fn instruction(op: Binary) -> Option<Op> {
    match op {
        Binary::Add => Some(Op::FAdd),
        Binary::Sub => Some(Op::FSub),
        Binary::Mul => Some(Op::FMul),
        Binary::Div => Some(Op::FDiv),
        _ => None,
    }
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

fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::F32)
}
