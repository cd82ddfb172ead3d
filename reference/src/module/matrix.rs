//! Cooperative matrices of a subgroup: their shapes, and the distribution of their elements.
//!
//! Elements are numbered row by row. Element `e` is the component `e / size` of invocation `e % size`, in a subgroup of `size`
//! invocations. If the number of elements is not a multiple of `size`, the remaining last components are copies of the first
//! elements. Element-wise operations compute them too, but no other operation uses them.

use super::Module;
use super::types::{Scalar, Type};
use crate::words::{Id, Inst, Result, malformed, unknown};
use spirv::CooperativeMatrixUse as Use;

/// The type of a cooperative matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Matrix {
    /// The type of its components.
    pub(crate) of: Id,
    pub(crate) rows: u32,
    pub(crate) columns: u32,
    pub(crate) usage: Use,
    /// The number of components of each invocation.
    pub(crate) planes: u32,
}

/// The maximal number of elements of a matrix, which is more than any device supports.
const MOST_ELEMENTS: u32 = 1 << 16;

/// The scope of a subgroup.
const SUBGROUP: u32 = 3;

impl Matrix {
    /// True if another matrix has the same numbers of rows and columns, and the same use.
    pub(crate) fn is_like(&self, other: &Matrix) -> bool {
        (self.rows, self.columns, self.usage) == (other.rows, other.columns, other.usage)
    }
}

impl Module {
    /// Reads the type of a cooperative matrix, for subgroups of a size.
    pub(super) fn matrix(&self, inst: &Inst, subgroup: u32) -> Result<Type> {
        let of = inst.arg(0)?;
        let number = |at: usize| self.literal(inst.arg(at)?);
        let (scope, rows, columns, usage) = (number(1)?, number(2)?, number(3)?, number(4)?);
        if scope != SUBGROUP {
            return unknown(format!("cooperative matrices of the scope number {scope}: only the scope of a subgroup"));
        }
        let elements = rows.checked_mul(columns).filter(|n| (1..=MOST_ELEMENTS).contains(n));
        let Some(elements) = elements else {
            return unknown(format!("cooperative matrices of {rows} x {columns}: they have 1 to {MOST_ELEMENTS} elements"));
        };
        let Some(usage) = Use::from_u32(usage) else {
            return unknown(format!("cooperative matrices of the use number {usage}"));
        };
        match self.types.get(of)? {
            Type::Scalar(Scalar::Bool) => malformed(format!("the type %{} is a cooperative matrix of booleans", inst.id)),
            Type::Scalar(_) => Ok(Type::Matrix(Matrix { of, rows, columns, usage, planes: elements.div_ceil(subgroup.max(1)) })),
            Type::Wide => unknown("cooperative matrices of integers of 64 bits"),
            _ => malformed(format!("the type %{} is a cooperative matrix of a type that is not numeric", inst.id)),
        }
    }

    /// Returns the matrix type of a value, if it is a matrix.
    pub(crate) fn matrix_of(&self, id: Id) -> Option<Matrix> {
        self.types.matrix(self.type_of(id).ok()?)
    }
}
