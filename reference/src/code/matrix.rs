//! Operations of a whole subgroup on cooperative matrices. `module/matrix.rs` defines which lane holds which element.

use super::Slot;
use crate::form::Form;

/// An operation of a whole subgroup on cooperative matrices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatrixOp {
    pub(crate) does: Cooperation,
    /// The instruction, for messages.
    pub(crate) name: spirv::Op,
    pub(crate) word: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Cooperation {
    /// Checks that all invocations of the subgroup are active.
    Together,
    /// Checks that a scalar is the same in all invocations of the subgroup.
    Same {
        slot: Slot,
    },
    Load(MatrixAccess),
    Store(MatrixAccess),
    MulAdd(MulAdd),
    Arrange(Arrangement),
}

/// Builds a matrix of `count` elements. Each is copied from an element of `src`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrangement {
    pub(crate) src: Slot,
    pub(crate) dst: Slot,
    /// The numbers of the copied elements: an index into [`Code::places`](super::Code::places).
    pub(crate) first: u32,
    pub(crate) count: u32,
}

/// A load or store of a matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatrixAccess {
    /// The place of the first element, and the value's slot: an index into [`Code::accesses`].
    pub(crate) access: u32,
    pub(crate) rows: u32,
    pub(crate) columns: u32,
    /// True if the elements of a column are consecutive, false if the elements of a row are.
    pub(crate) by_column: bool,
    pub(crate) form: Form,
    /// The distance between rows (or columns), in units of `unit` bytes.
    pub(crate) stride: Slot,
    pub(crate) stride_lanes: bool,
    pub(crate) unit: u32,
    /// The form of a plane of a shared array.
    pub(crate) cell: Form,
}

/// `a * b + c`, where `a` is `rows` x `depth` and `b` is `depth` x `columns`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MulAdd {
    pub(crate) dst: Slot,
    /// The rows of lanes of the operands.
    pub(crate) a: Slot,
    pub(crate) b: Slot,
    pub(crate) c: Slot,
    pub(crate) rows: u32,
    pub(crate) columns: u32,
    pub(crate) depth: u32,
    pub(crate) product: Product,
}

/// The arithmetic of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Product {
    /// Rounds each sum to the form of the result.
    Float(Form),
    Int {
        a: Integer,
        b: Integer,
        c: Integer,
        result: Integer,
        saturating: bool,
    },
}

/// The meaning of an integer's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Integer {
    pub(crate) byte: bool,
    pub(crate) signed: bool,
}
