//! What a subgroup does together with cooperative matrices. Which lane has which element, `module/matrix.rs` says.

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
    /// That all of the subgroup run.
    Together,
    /// That a scalar is the same in all of the subgroup.
    Same {
        slot: Slot,
    },
    Load(MatrixAccess),
    Store(MatrixAccess),
    MulAdd(MulAdd),
    Arrange(Arrangement),
}

/// So many elements, each of which is one of those that there were.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrangement {
    pub(crate) src: Slot,
    pub(crate) dst: Slot,
    /// Where the numbers of the elements begin: an index into [`Code::places`](super::Code::places).
    pub(crate) first: u32,
    pub(crate) count: u32,
}

/// A load or store of a matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatrixAccess {
    /// Where it begins, and the value's slot: an index into [`Code::accesses`].
    pub(crate) access: u32,
    pub(crate) rows: u32,
    pub(crate) columns: u32,
    /// Columns lie together, rather than rows.
    pub(crate) by_column: bool,
    pub(crate) form: Form,
    /// From a row (or column) to the next, counted in units of so many bytes.
    pub(crate) stride: Slot,
    pub(crate) stride_lanes: bool,
    pub(crate) unit: u32,
    /// How a plane of a shared array lies in memory.
    pub(crate) cell: Form,
}

/// `a * b + c`, of `rows` x `depth` by `depth` x `columns`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MulAdd {
    pub(crate) dst: Slot,
    /// Rows of lanes.
    pub(crate) a: Slot,
    pub(crate) b: Slot,
    pub(crate) c: Slot,
    pub(crate) rows: u32,
    pub(crate) columns: u32,
    pub(crate) depth: u32,
    pub(crate) product: Product,
}

/// How products are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Product {
    /// Each sum rounded to the result's form.
    Float(Form),
    Int {
        a: Integer,
        b: Integer,
        c: Integer,
        result: Integer,
        saturating: bool,
    },
}

/// How the bits of an integer are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Integer {
    pub(crate) byte: bool,
    pub(crate) signed: bool,
}
