//! Translates operations on cooperative matrices, and checks the types of their operands.
//!
//! A matrix is kept as its components, like a vector. So element-wise operations are the arithmetic of vectors, and an invocation accesses
//! its own elements like a vector's. This file adds loads, stores and products, and checks that a subgroup executes all operations
//! together.

use super::Lower;
use crate::code::{Cooperation, Integer, MatrixAccess, MatrixOp, MulAdd, Op, Product};
use crate::form::Form;
use crate::module::matrix::Matrix;
use crate::module::types::{Scalar, Type};
use crate::words::{Id, Inst, Result, malformed, unknown};
use spirv::{CooperativeMatrixLayout as Layout, CooperativeMatrixOperands as Operands, CooperativeMatrixUse as Use, Op as Spv};

impl Lower<'_> {
    /// Checks an instruction that has a matrix as its result or as an operand.
    pub(super) fn of_matrices(&mut self, inst: &Inst) -> Result<()> {
        use Spv::*;
        match inst.op {
            // Phis are written by the preceding blocks. An undefined value needs no operation.
            Phi | Undef => return Ok(()),
            FNegate | FAdd | FSub | FMul | FDiv => self.check_arithmetic(inst, true)?,
            SNegate | IAdd | ISub | IMul | SDiv | UDiv => self.check_arithmetic(inst, false)?,
            MatrixTimesScalar => self.check_scaled(inst)?,
            FConvert | SConvert | UConvert | ConvertFToS | ConvertFToU | ConvertSToF | ConvertUToF | Bitcast => {
                self.check_conversion(inst)?
            }
            Load | Store | CopyObject | CompositeConstruct | CompositeExtract | CompositeInsert => {}
            CooperativeMatrixConvertNV => self.check_converted(inst)?,
            CooperativeMatrixLoadKHR
            | CooperativeMatrixStoreKHR
            | CooperativeMatrixMulAddKHR
            | CooperativeMatrixReduceNV
            | CooperativeMatrixPerElementOpNV
            | CooperativeMatrixTransposeNV => {}
            op => return unknown(format!("Op{op:?} of cooperative matrices")),
        }
        self.cooperate(inst, Cooperation::Together);
        Ok(())
    }

    pub(super) fn cooperate(&mut self, inst: &Inst, does: Cooperation) {
        self.code.matrices.push(MatrixOp { does, name: inst.op, word: inst.word });
        let at = self.code.matrices.len() as u32 - 1;
        self.op(Op::Matrix(at));
    }

    /// Returns the matrix type of a value.
    pub(super) fn matrix(&self, id: Id) -> Result<Matrix> {
        self.module.matrix_of(id).map_or_else(|| malformed(format!("%{id} is not a cooperative matrix")), Ok)
    }

    /// Returns the matrix type of an instruction's result.
    pub(super) fn made(&self, inst: &Inst) -> Result<Matrix> {
        let made = self.module.types.matrix(inst.ty);
        made.map_or_else(|| malformed(format!("the result of Op{:?} is not a cooperative matrix", inst.op)), Ok)
    }

    fn component(&self, matrix: Matrix) -> Result<Scalar> {
        self.module.types.scalar(matrix.of)
    }

    fn check_component(&self, inst: &Inst, matrix: Matrix, float: bool) -> Result<()> {
        match self.component(matrix)?.is_float() == float {
            true => Ok(()),
            false => malformed(format!("Op{:?} of a cooperative matrix of {}", inst.op, if float { "integers" } else { "floats" })),
        }
    }

    fn check_arithmetic(&self, inst: &Inst, float: bool) -> Result<()> {
        let made = self.made(inst)?;
        for id in inst.from(0) {
            if self.module.type_of(*id)? != inst.ty {
                return malformed(format!("Op{:?} of cooperative matrices of different types", inst.op));
            }
        }
        self.check_component(inst, made, float)
    }

    /// Checks a product of a matrix and a scalar. The scalar must be the same in the whole subgroup.
    fn check_scaled(&mut self, inst: &Inst) -> Result<()> {
        let made = self.made(inst)?;
        if self.module.type_of(inst.arg(0)?)? != inst.ty || self.module.type_of(inst.arg(1)?)? != made.of {
            return malformed("OpMatrixTimesScalar of other types than its result");
        }
        self.check_same(inst, inst.arg(1)?)
    }

    fn check_conversion(&self, inst: &Inst) -> Result<()> {
        let (made, from) = (self.made(inst)?, self.matrix(inst.arg(0)?)?);
        let relaxed = self.module.conversions && inst.op != Spv::Bitcast && self.becomes_factor(from, made);
        if !made.is_like(&from) && !relaxed {
            return malformed(format!("Op{:?} between cooperative matrices of different shapes or uses", inst.op));
        }
        let (from_float, to_float) = match inst.op {
            Spv::FConvert => (true, true),
            Spv::ConvertFToS | Spv::ConvertFToU => (true, false),
            Spv::ConvertSToF | Spv::ConvertUToF => (false, true),
            _ => (false, false),
        };
        self.check_component(inst, from, from_float)?;
        self.check_component(inst, made, to_float)
    }

    /// Emits a check that a scalar is the same in the whole subgroup, unless that is certain.
    fn check_same(&mut self, inst: &Inst, id: Id) -> Result<()> {
        self.check_planes(id, 1)?;
        let value = self.value(id)?;
        if value.lanes {
            self.cooperate(inst, Cooperation::Same { slot: value.at });
        }
        Ok(())
    }

    /// Translates a matrix whose elements are all one scalar.
    pub(super) fn matrix_of_one(&mut self, inst: &Inst) -> Result<()> {
        let (made, [id]) = (self.made(inst)?, inst.from(0)) else {
            return malformed(format!("the cooperative matrix %{} is not composed of a single scalar", inst.id));
        };
        if self.module.type_of(*id)? != made.of {
            return malformed(format!(
                "the cooperative matrix %{} is composed of a value that does not have the type of its components",
                inst.id
            ));
        }
        self.check_same(inst, *id)?;
        let to = self.result(inst)?;
        let (src, row) = (self.operand(*id, to.lanes)?, self.row(to.lanes));
        for plane in 0..to.planes {
            self.op(Op::Copy { dst: to.at + plane * row, src, len: row });
        }
        self.computed(inst, to)
    }

    pub(super) fn matrix_length(&mut self, inst: &Inst) -> Result<()> {
        let Some(matrix) = self.module.types.matrix(inst.arg(0)?) else {
            return malformed(format!("%{} is not a cooperative matrix type", inst.arg(0)?));
        };
        let length = self.literal(&[matrix.planes], self.divergent(inst.id))?;
        let to = self.result(inst)?;
        self.check_scalar(inst, to)?;
        self.op(Op::Copy { dst: to.at, src: length, len: self.row(to.lanes) });
        self.computed(inst, to)
    }

    pub(super) fn matrix_load(&mut self, inst: &Inst) -> Result<()> {
        let matrix = self.made(inst)?;
        let to = self.result(inst)?;
        let load = self.matrix_access(inst, matrix, inst.arg(1)?, inst.args.get(2), to)?;
        self.cooperate(inst, Cooperation::Load(load));
        self.computed(inst, to)
    }

    pub(super) fn matrix_store(&mut self, inst: &Inst) -> Result<()> {
        let object = inst.arg(1)?;
        let matrix = self.matrix(object)?;
        let (at, planes) = (self.operand(object, true)?, matrix.planes);
        let from = super::Value { at, planes, lanes: true, owned: false };
        let store = self.matrix_access(inst, matrix, inst.arg(2)?, inst.args.get(3), from)?;
        if store.row_bytes() % store.cell.bytes() != 0 {
            return unknown(format!("{:?} of parts of a shared array's scalars", inst.op));
        }
        self.cooperate(inst, Cooperation::Store(store));
        Ok(())
    }

    fn matrix_access(
        &mut self,
        inst: &Inst,
        matrix: Matrix,
        layout: Id,
        stride: Option<&Id>,
        slot: super::Value,
    ) -> Result<MatrixAccess> {
        let by_column = match Layout::from_u32(self.module.literal(layout)?) {
            Some(Layout::RowMajorKHR) => false,
            Some(Layout::ColumnMajorKHR) => true,
            other => return unknown(format!("the layout {other:?} of cooperative matrices")),
        };
        let Some(stride) = stride else { return malformed(format!("Op{:?} does not have a stride", inst.op)) };
        if !matches!(self.module.types.get(self.module.type_of(*stride)?)?, Type::Scalar(Scalar::Int)) {
            return unknown(format!("Op{:?} with a stride that is not a 32-bit integer", inst.op));
        }
        let stride = self.value(*stride)?;
        let pointer = self.pointers.get(self.module, inst.arg(0)?)?;
        let place = self.place(&pointer)?;
        use spirv::StorageClass::{PhysicalStorageBuffer, StorageBuffer, Workgroup};
        if !matches!(pointer.class, StorageBuffer | PhysicalStorageBuffer | Workgroup) {
            return malformed(format!("Op{:?} in the storage class {:?}", inst.op, pointer.class));
        }
        // The stride is counted in elements of the pointer's target type, whatever the type of the components is.
        let (unit, cell) = match self.module.types.get(pointer.of)? {
            Type::Scalar(scalar) if *scalar != Scalar::Bool => (scalar.bytes(), scalar.form()),
            // The size of a vector of three scalars in memory is not determined, because it may be padded to four.
            Type::Vector { count: 3, .. } => return unknown(format!("Op{:?} by a pointer to vectors of three", inst.op)),
            Type::Vector { of, count } => {
                let scalar = self.module.types.scalar(*of)?;
                (count * scalar.bytes(), scalar.form())
            }
            _ => return malformed(format!("Op{:?} by a pointer to neither a number nor a vector", inst.op)),
        };
        Ok(MatrixAccess {
            access: self.access(inst, &pointer, place, slot)?,
            rows: matrix.rows,
            columns: matrix.columns,
            by_column,
            form: self.component(matrix)?.form(),
            stride: stride.at,
            stride_lanes: stride.lanes,
            unit,
            // Memory that is addressed in bytes is not divided into larger cells.
            cell: if pointer.is_explicit() { Form::Byte } else { cell },
        })
    }

    pub(super) fn mul_add(&mut self, inst: &Inst) -> Result<()> {
        let result = self.made(inst)?;
        let [a, b, c] = [self.matrix(inst.arg(0)?)?, self.matrix(inst.arg(1)?)?, self.matrix(inst.arg(2)?)?];
        let uses = [a.usage, b.usage, c.usage, result.usage];
        let fit = uses == [Use::MatrixAKHR, Use::MatrixBKHR, Use::MatrixAccumulatorKHR, Use::MatrixAccumulatorKHR];
        let (m, n, k) = (result.rows, result.columns, a.columns);
        if !fit || [a.rows, b.rows, b.columns, c.rows, c.columns] != [m, k, n, m, n] {
            return malformed(format!("the shapes and uses of the product %{} do not fit", inst.id));
        }
        let product = self.product(inst, [a, b, c, result])?;
        let to = self.result(inst)?;
        let slot = |lower: &mut Self, at| lower.operand(inst.arg(at)?, true);
        let (a, b, c) = (slot(self, 0)?, slot(self, 1)?, slot(self, 2)?);
        let product = MulAdd { dst: to.at, a, b, c, rows: m, columns: n, depth: k, product };
        self.cooperate(inst, Cooperation::MulAdd(product));
        self.computed(inst, to)
    }

    fn product(&self, inst: &Inst, matrices: [Matrix; 4]) -> Result<Product> {
        let bits = Operands::from_bits_retain(inst.args.get(3).copied().unwrap_or(0));
        let mut scalars = [Scalar::F32; 4];
        for (scalar, matrix) in scalars.iter_mut().zip(matrices) {
            *scalar = self.component(matrix)?;
        }
        if scalars.iter().all(|s| s.is_float()) {
            return match bits.is_empty() {
                true => Ok(Product::Float(scalars[3].form())),
                false => malformed(format!("operands of the product %{} that are for integers", inst.id)),
            };
        }
        if scalars.iter().any(|s| s.is_float()) {
            return unknown(format!("the product %{} of integers and floats", inst.id));
        }
        let integer = |n: usize, bit| Integer { byte: scalars[n] == Scalar::Byte, signed: bits.contains(bit) };
        Ok(Product::Int {
            a: integer(0, Operands::MATRIX_A_SIGNED_COMPONENTS_KHR),
            b: integer(1, Operands::MATRIX_B_SIGNED_COMPONENTS_KHR),
            c: integer(2, Operands::MATRIX_C_SIGNED_COMPONENTS_KHR),
            result: integer(3, Operands::MATRIX_RESULT_SIGNED_COMPONENTS_KHR),
            saturating: bits.contains(Operands::SATURATING_ACCUMULATION_KHR),
        })
    }
}
