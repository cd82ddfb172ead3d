//! Expressions: Rust's expressions, with `x[i, j]`, `x.pad(v)[i, j]`, `x.clamp()[i, j]` and reductions.
//!
//! This file defines the trees; `parse` reads them.

mod parse;
mod several;
mod text;
mod walk;

pub(super) use parse::lets;
pub use parse::{arithmetic, block, expr, facts, let_value};
pub(super) use several::values;
pub use text::commas;

use super::Name;
use super::functions::Function;
use crate::diag::SpanId;
use crate::expr::operators::{Level, Spelling};
use crate::expr::{Binary, Compare};
use std::sync::Arc;
use tilewright_launch::DType;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// The kind, with the operands.
    pub kind: ExprKind,
    /// From its first token to its last.
    pub span: SpanId,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `3`, `3u32`.
    Int {
        /// The value.
        value: u64,
        /// The type written after it, unchecked.
        suffix: Option<String>,
    },
    /// `0.5`, `0.5f16`.
    Float {
        /// The value.
        value: f64,
        /// The type written after it, unchecked.
        suffix: Option<String>,
    },
    /// `true`, `false`.
    Bool(bool),
    /// `x`.
    Name(String),
    /// `f32::INFINITY`, at least two names.
    Path(Vec<Name>),
    /// `x[i, j]`, `x.pad(v)[i, j]`, `x.clamp()[i, j]`.
    Index {
        /// The tensor that is read.
        tensor: Name,
        /// The value of a read out of bounds.
        outside: Outside,
        /// The indices.
        index: Vec<Expr>,
    },
    /// `a.max(b)`.
    Method {
        /// `a`.
        receiver: Box<Expr>,
        /// `max`.
        name: Name,
        /// The arguments.
        args: Vec<Expr>,
    },
    /// `f(a)` or `f32::from_bits(a)`.
    Call {
        /// `f`, or the path.
        function: Name,
        /// The arguments.
        args: Vec<Expr>,
    },
    /// `-a`.
    Neg(Box<Expr>),
    /// `!a`.
    Not(Box<Expr>),
    /// `a + b`, with the place of the operator.
    Binary(BinaryOp, SpanId, Box<Expr>, Box<Expr>),
    /// `a < b`.
    Compare(Compare, SpanId, Box<Expr>, Box<Expr>),
    /// `a as f32`.
    Cast(Box<Expr>, Name),
    /// `if c { a } else { b }`.
    If {
        /// The condition.
        cond: Box<Expr>,
        /// The value if the condition holds.
        then: Block,
        /// The value otherwise.
        other: Block,
    },
    /// `{ let a = …; a * a }`.
    Block(Block),
    /// `sum(k in 0..K) { … }`.
    Reduce(Reduce),
    /// `|a, b| a + b`: only as the value of a `let`.
    Closure(Arc<Function>),
    /// `[a, b]`: only in constants.
    Array(Vec<Expr>),
}

/// The value of a read out of bounds.
#[derive(Clone, Debug, PartialEq)]
pub enum Outside {
    /// `x[i]`: reads are never out of bounds.
    Never,
    /// `x.clamp()[i]`: the nearest element.
    Clamp,
    /// `x.pad(v)[i]`: this value.
    Pad(Box<Expr>),
}

/// Statements and a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// `let a = …;`, in order.
    pub lets: Vec<Let>,
    /// The value.
    pub value: Box<Expr>,
    /// With the braces.
    pub span: SpanId,
}

/// `let a: f32 = …;`
#[derive(Clone, Debug, PartialEq)]
pub struct Let {
    /// The name.
    pub name: Name,
    /// The type, if it is written.
    pub dtype: Option<Name>,
    /// The value.
    pub value: Expr,
}

/// A reduction.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduce {
    /// The operator.
    pub op: ReduceOp,
    /// Its name and ranges, without the body.
    pub head: SpanId,
    /// The ranges, outermost first.
    pub ranges: Vec<Range>,
    /// The condition after `where`: items for which it is false are left out.
    pub only: Option<Box<Expr>>,
    /// The item that is reduced. For `reduce`, the item of each component.
    pub items: Vec<Block>,
    /// The combiner of `reduce`.
    pub combiner: Option<Arc<Combiner>>,
    /// The component that this expression is, if a list of names or results takes them apart.
    pub component: Option<usize>,
}

/// The identity and the operation after `reduce(…) { … }`: `from (0.0, 0) by |(a, n), (b, m)| (a + b, n + m)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Combiner {
    /// The identity, one value for each component of the state.
    pub identity: Vec<Expr>,
    /// The names of the components of each operand.
    pub operands: [Vec<Name>; 2],
    /// The components of the combined state.
    pub combined: Vec<Expr>,
    /// The place of the operands and the combined state.
    pub span: SpanId,
}

/// `k in lo..hi`.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The axis.
    pub axis: Name,
    /// The first value.
    pub low: Expr,
    /// The value after the last, or the last if `inclusive`.
    pub high: Expr,
    /// True for `..=`.
    pub inclusive: bool,
}

/// The reductions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ReduceOp {
    Sum,
    Prod,
    Min,
    Max,
    Any,
    All,
    Argmin,
    Argmax,
    Reduce,
}

impl ReduceOp {
    /// Every reduction.
    pub const ALL: [ReduceOp; 9] = [
        ReduceOp::Sum,
        ReduceOp::Prod,
        ReduceOp::Min,
        ReduceOp::Max,
        ReduceOp::Any,
        ReduceOp::All,
        ReduceOp::Argmin,
        ReduceOp::Argmax,
        ReduceOp::Reduce,
    ];

    /// Returns the name in kernels.
    pub fn name(self) -> &'static str {
        match self {
            ReduceOp::Sum => "sum",
            ReduceOp::Prod => "prod",
            ReduceOp::Min => "min",
            ReduceOp::Max => "max",
            ReduceOp::Any => "any",
            ReduceOp::All => "all",
            ReduceOp::Argmin => "argmin",
            ReduceOp::Argmax => "argmax",
            ReduceOp::Reduce => "reduce",
        }
    }

    /// Returns the reduction of that name.
    pub fn from_name(name: &str) -> Option<ReduceOp> {
        ReduceOp::ALL.into_iter().find(|op| op.name() == name)
    }
}

/// The operators of two operands, without comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "Rust's operators")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    BitAnd,
    BitXor,
    BitOr,
    And,
    Or,
}

impl BinaryOp {
    /// Every operator.
    const ALL: [BinaryOp; 12] = {
        use BinaryOp::*;
        [Add, Sub, Mul, Div, Rem, Shl, Shr, BitAnd, BitXor, BitOr, And, Or]
    };

    /// Returns its operation on data.
    pub fn operation(self) -> Binary {
        match self {
            BinaryOp::Add => Binary::Add,
            BinaryOp::Sub => Binary::Sub,
            BinaryOp::Mul => Binary::Mul,
            BinaryOp::Div => Binary::Div,
            BinaryOp::Rem => Binary::Rem,
            BinaryOp::Shl => Binary::Shl,
            BinaryOp::Shr => Binary::Shr,
            BinaryOp::BitAnd | BinaryOp::And => Binary::And,
            BinaryOp::BitXor => Binary::Xor,
            BinaryOp::BitOr | BinaryOp::Or => Binary::Or,
        }
    }

    /// Returns its operation on sizes and indices, whose quotients are rounded down.
    pub fn of_sizes(self) -> Option<Binary> {
        match self.operation() {
            Binary::Div => Some(Binary::FloorDiv),
            Binary::Rem => Some(Binary::FloorMod),
            op => op.is_arithmetic().then_some(op),
        }
    }

    /// Returns a shift of a size by a number as a product or a quotient: `H >> 3` is `H / 8`.
    pub fn of_shift(self, count: i64) -> Option<(BinaryOp, i64)> {
        let power = (0..31).contains(&count).then(|| 1 << count)?;
        match self {
            BinaryOp::Shl => Some((BinaryOp::Mul, power)),
            BinaryOp::Shr => Some((BinaryOp::Div, power)),
            _ => None,
        }
    }

    /// Returns the result on two sizes that are numbers. `None` if there is none.
    pub fn exact(self, a: i64, b: i64) -> Option<i64> {
        let (op, b) = self.of_shift(b).unwrap_or((self, b));
        op.of_sizes()?.exact(a, b)
    }

    fn spelling(self) -> (&'static str, Level) {
        let dtype = if matches!(self, BinaryOp::And | BinaryOp::Or) { DType::Bool } else { DType::I32 };
        match self.operation().spelling(dtype) {
            Spelling::Infix(symbol, level) => (symbol, level),
            Spelling::Method(name) => (name, Level::Postfix),
        }
    }

    /// Returns the operator as the user writes it.
    pub fn symbol(self) -> &'static str {
        self.spelling().0
    }

    /// Returns its precedence.
    pub fn level(self) -> Level {
        self.spelling().1
    }

    /// Returns the operator with that symbol.
    pub fn from_symbol(symbol: &str) -> Option<BinaryOp> {
        BinaryOp::ALL.into_iter().find(|op| op.symbol() == symbol)
    }
}
