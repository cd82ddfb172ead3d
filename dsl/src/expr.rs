//! Expressions: the values that stages compute, and the indices of their reads. They are hash-consed and typed.
//!
//! Values and indices are expressions of one kind, because indices can depend on data. Both can be `i32`, but their arithmetic
//! differs: the arithmetic of an *index* ([`Exprs::is_index`]) is exact for all sizes, and the arithmetic of *data* wraps at 32
//! bits. An index becomes data by a cast, a store, or arithmetic with data, which take its low 32 bits. The prover
//! ([`crate::facts`]) reads indices that are integer polynomials. Expressions have neither effects nor control flow: `if` is a
//! [`Expr::Select`], whose reads are clamped if only its condition proves that they are in bounds.

use crate::arena::{Id as _, id};
use crate::ids::{AxisId, BufferId, DimId, ScalarId};
use crate::table::{Map, Set};
use elsa::FrozenVec;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::fmt;
use tilewright_launch::DType;

id! {
    /// An expression of an [`Exprs`].
    ExprId
}

/// A typed literal. `bits` contains the IEEE bits of a float in its own width, the two's complement of an integer in 32 bits
/// (an 8-bit type uses only the low 8), or 0 or 1 for a bool.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Const {
    /// The type.
    pub dtype: DType,
    /// The bits, the upper ones zero.
    pub bits: u32,
}

/// An expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Expr {
    /// A literal.
    Const(Const),
    /// The value of an axis: `i32`, `0 <= axis < extent`. If no loop binds the axis, its [`crate::nest::Fate`] gives the value over
    /// the axes that are bound.
    Axis(AxisId),
    /// The value of a dim: `i32`.
    Dim(DimId),
    /// A scalar argument.
    Scalar(ScalarId),
    /// An element of a buffer.
    Read(Read),
    /// A function of one value.
    Unary(Unary, ExprId),
    /// A function of two values of one type.
    Binary(Binary, ExprId, ExprId),
    /// A comparison of two values of one type; a `bool`.
    Compare(Compare, ExprId, ExprId),
    /// The second value if the first (a `bool`) is true, otherwise the third.
    Select(ExprId, ExprId, ExprId),
    /// For floats, the product of the first two plus the third, rounded once or twice.
    MulAdd(ExprId, ExprId, ExprId),
    /// Rust's `as`: floats to integers saturate, and NaN gives 0. Integers to narrower integers wrap. A cast of an index to `i32`
    /// makes it data.
    Cast(DType, ExprId),
    /// In a [`crate::nest::Monoid`]'s `combine`, component `n` of the current state. In a reduction's `finish`, component `n` of
    /// the result.
    State(u32),
    /// In a [`crate::nest::Monoid`]'s `combine`, component `n` of the item.
    Item(u32),
}

/// A read of one element.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Read {
    /// The buffer.
    pub buffer: BufferId,
    /// One index per dimension, `i32`.
    pub index: SmallVec<[ExprId; 4]>,
    /// The treatment of out-of-bounds indices.
    pub outside: Outside,
}

/// The treatment of out-of-bounds indices.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Outside {
    /// All indices are proved in bounds.
    Never,
    /// The nearest element: `x.clamp()[…]`, and reads that only an `if` around them keeps in bounds. A read of an empty tensor is
    /// never executed, or its result is never used.
    Clamp(Sides),
    /// This value, of the buffer's type: `x.pad(v)[…]`, or a filled copy.
    Fill(ExprId, Sides),
}

/// The sides on which an index may be out of bounds: for each dimension, below 0, and at or above the extent. For a side that
/// is proved in bounds it is `false`, and the backend emits no check.
pub type Sides = SmallVec<[(bool, bool); 4]>;

/// The largest size, with shared parts counted each time, of an expression that a walk without a memory of shared parts may visit.
/// On larger expressions such a walk can take exponential time.
const WALKED: u32 = 1 << 10;

/// The hash-consed expressions of a program. Equal expressions have equal ids.
#[derive(Clone, Default)]
pub struct Exprs {
    /// Nodes never move, so expressions can be added through a shared reference.
    nodes: FrozenVec<Box<Node>>,
    known: RefCell<Map<(Expr, DType), ExprId>>,
    /// The constants that stand for rationals, because their type does not have the number.
    rationals: RefCell<Vec<Rational>>,
}

/// A constant that stands for a quotient of two whole numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rational {
    /// The nearest number of its type.
    pub constant: Const,
    /// The numerator.
    pub numerator: i64,
    /// The denominator.
    pub denominator: i64,
}

#[derive(Clone, Debug)]
struct Node {
    expr: Expr,
    dtype: DType,
    /// The number of parts. Shared parts count each time.
    size: u32,
    /// The depth of nesting.
    depth: u32,
    /// True if its arithmetic is exact.
    index: bool,
}

impl fmt::Debug for Exprs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.nodes.iter()).finish()
    }
}

impl Exprs {
    /// Makes an empty set of expressions.
    pub fn new() -> Exprs {
        Exprs::default()
    }

    /// Returns the expression of an id.
    #[inline]
    pub fn get(&self, id: ExprId) -> &Expr {
        &self.nodes[id.index()].expr
    }

    /// Returns the type of an expression.
    #[inline]
    pub fn dtype(&self, id: ExprId) -> DType {
        self.nodes[id.index()].dtype
    }

    /// Returns the id of an expression of a type, which is added if needed. It is taken as it is, while the methods in
    /// [`crate::expr::build`] fold constants first.
    pub fn add(&self, expr: Expr, dtype: DType) -> ExprId {
        let key = (expr, dtype);
        if let Some(id) = self.known.borrow().get(&key) {
            return *id;
        }
        let operands = key.0.operands();
        let size = operands.iter().fold(1u32, |size, id| size.saturating_add(self.size(*id)));
        let depth = operands.iter().map(|id| self.depth(*id)).max().unwrap_or(0).saturating_add(1);
        let index = self.is_new_index(&key.0, dtype);
        let id = ExprId::new(self.nodes.len());
        self.nodes.push(Box::new(Node { expr: key.0.clone(), dtype, size, depth, index }));
        self.known.borrow_mut().insert(key, id);
        id
    }

    /// True if an expression is an index: an `i32` made of axes, dims and literals by `+ - * / %`, `min`, `max`, `abs`, `signum`
    /// and selects. Its arithmetic is exact. All other expressions are data.
    #[inline]
    pub fn is_index(&self, id: ExprId) -> bool {
        self.nodes[id.index()].index
    }

    fn is_new_index(&self, expr: &Expr, dtype: DType) -> bool {
        let all = |parts: &[ExprId]| dtype == DType::I32 && parts.iter().all(|part| self.is_index(*part));
        match expr {
            Expr::Const(_) => dtype == DType::I32,
            Expr::Axis(_) | Expr::Dim(_) | Expr::Unary(Unary::Index, _) => true,
            Expr::Unary(op, a) => op.is_arithmetic() && all(&[*a]),
            Expr::Binary(op, a, b) => op.is_arithmetic() && all(&[*a, *b]),
            Expr::Select(_, a, b) => all(&[*a, *b]),
            _ => false,
        }
    }

    /// Returns the number of parts of an expression. Shared parts count each time.
    #[inline]
    pub fn size(&self, id: ExprId) -> u32 {
        self.nodes[id.index()].size
    }

    /// True if an expression is short enough for a walk that visits shared parts each time. A longer expression is treated as
    /// unknown.
    pub fn is_walkable(&self, id: ExprId) -> bool {
        self.size(id) <= WALKED
    }

    /// Returns the number of distinct parts of some expressions.
    pub fn parts(&self, of: impl IntoIterator<Item = ExprId>) -> usize {
        let (mut open, mut seen): (Vec<ExprId>, Set<ExprId>) = (of.into_iter().collect(), Set::default());
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                self.get(id).each_operand(&mut |operand| open.push(operand));
            }
        }
        seen.len()
    }

    /// Returns the depth of nesting of an expression.
    pub fn depth(&self, id: ExprId) -> u32 {
        self.nodes[id.index()].depth
    }

    /// Returns the number of expressions.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

impl Expr {
    /// Returns the operands of the expression.
    pub fn operands(&self) -> SmallVec<[ExprId; 4]> {
        let mut operands = SmallVec::new();
        self.each_operand(&mut |operand| operands.push(operand));
        operands
    }

    /// Calls `f` for each operand of the expression.
    pub fn each_operand(&self, f: &mut dyn FnMut(ExprId)) {
        match self {
            Expr::Const(_) | Expr::Axis(_) | Expr::Dim(_) | Expr::Scalar(_) | Expr::State(_) | Expr::Item(_) => {}
            Expr::Read(read) => {
                read.index.iter().for_each(|i| f(*i));
                if let Outside::Fill(fill, _) = &read.outside {
                    f(*fill);
                }
            }
            Expr::Unary(_, a) | Expr::Cast(_, a) => f(*a),
            Expr::Binary(_, a, b) | Expr::Compare(_, a, b) => {
                f(*a);
                f(*b);
            }
            Expr::Select(a, b, c) | Expr::MulAdd(a, b, c) => {
                f(*a);
                f(*b);
                f(*c);
            }
        }
    }

    /// Returns the same expression with other operands.
    pub fn map(&self, f: &mut dyn FnMut(ExprId) -> ExprId) -> Expr {
        match self {
            Expr::Const(_) | Expr::Axis(_) | Expr::Dim(_) | Expr::Scalar(_) | Expr::State(_) | Expr::Item(_) => self.clone(),
            Expr::Read(read) => {
                let index = read.index.iter().map(|i| f(*i)).collect();
                let outside = match &read.outside {
                    Outside::Fill(fill, sides) => Outside::Fill(f(*fill), sides.clone()),
                    other => other.clone(),
                };
                Expr::Read(Read { buffer: read.buffer, index, outside })
            }
            Expr::Unary(op, a) => Expr::Unary(*op, f(*a)),
            Expr::Cast(to, a) => Expr::Cast(*to, f(*a)),
            Expr::Binary(op, a, b) => Expr::Binary(*op, f(*a), f(*b)),
            Expr::Compare(op, a, b) => Expr::Compare(*op, f(*a), f(*b)),
            Expr::Select(c, a, b) => Expr::Select(f(*c), f(*a), f(*b)),
            Expr::MulAdd(a, b, c) => Expr::MulAdd(f(*a), f(*b), f(*c)),
        }
    }
}

pub mod build;
mod erf;
pub mod extents;
pub mod linear;
pub mod operators;
pub mod rules;

pub use operators::{Binary, Compare, Unary};
