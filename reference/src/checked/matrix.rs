//! Checks of loads and stores of cooperative matrices: all rows (or columns) must be in bounds.

use super::bounds::Footprint;
use super::rewrite::Rewriter;
use crate::module::matrix::Matrix;
use crate::words::{Id, Inst, Result, unknown};
use spirv::{CooperativeMatrixLayout as Layout, Op};

/// The operands of a load or store: the matrix, its footprint in elements of the pointer, and the position of the stride.
pub(super) struct MatrixAccess {
    pub(super) footprint: Footprint,
    stride_at: usize,
}

impl Rewriter<'_> {
    /// Writes a load or store of a matrix with its checks.
    pub(super) fn matrix(&mut self, inst: &Inst) -> Result<()> {
        let pointer = inst.arg(0)?;
        let access = self.matrix_access(inst)?;
        let safe = self.safe(inst, pointer, Some(access.footprint))?;
        self.record_matrix(inst, pointer, &access, safe.is_bad)?;
        let mut args = inst.args.clone();
        args[0] = safe.pointer;
        args[access.stride_at] = safe.stride.unwrap_or(access.footprint.stride);
        self.code.inst(&Inst { args, ..inst.clone() });
        Ok(())
    }

    fn matrix_access(&self, inst: &Inst) -> Result<MatrixAccess> {
        // A store names the matrix after the pointer.
        let (of, layout_at) = match inst.op {
            Op::CooperativeMatrixLoadKHR => (inst.ty, 1),
            _ => (self.module.type_of(inst.arg(1)?)?, 2),
        };
        let Some(matrix) = self.module.types.matrix(of) else { return unknown(format!("Op{:?} of another type", inst.op)) };
        let stride = inst.arg(layout_at + 1)?;
        let (lines, row) = match Layout::from_u32(self.module.literal(inst.arg(layout_at)?)?) {
            Some(Layout::RowMajorKHR) => (matrix.rows, matrix.columns),
            Some(Layout::ColumnMajorKHR) => (matrix.columns, matrix.rows),
            _ => return unknown("a layout of cooperative matrices that is neither row-major nor column-major"),
        };
        let row = self.row_elements(inst.arg(0)?, matrix, row)?;
        Ok(MatrixAccess { footprint: Footprint { lines, row, stride }, stride_at: layout_at + 1 })
    }

    /// Returns the number of elements of a pointer that `count` components of a matrix are.
    fn row_elements(&self, pointer: Id, matrix: Matrix, count: u32) -> Result<u32> {
        let of = self.pointers.get(self.module, pointer)?.of;
        let bytes = self.module.types.planes(of)?.saturating_mul(self.module.types.scalar(of)?.bytes());
        Ok((count.saturating_mul(self.module.types.scalar(matrix.of)?.bytes())).div_ceil(bytes.max(1)))
    }
}
