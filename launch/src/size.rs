//! Integer expressions over a launch's dims: shapes, grids, facts.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An integer expression over the dims of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// A literal.
    Const(i64),
    /// The value of a dim: an index into [`crate::Program::dims`].
    Dim(u32),
    /// The sum.
    Add(Box<Size>, Box<Size>),
    /// The difference.
    Sub(Box<Size>, Box<Size>),
    /// The product.
    Mul(Box<Size>, Box<Size>),
    /// The quotient, rounded to minus infinity.
    FloorDiv(Box<Size>, Box<Size>),
    /// The remainder of [`Size::FloorDiv`]. Its sign is the divisor's.
    FloorMod(Box<Size>, Box<Size>),
    /// The smaller.
    Min(Box<Size>, Box<Size>),
    /// The larger.
    Max(Box<Size>, Box<Size>),
}

impl Size {
    /// Returns the sum. Literals are folded, and multiples of the same size are added up.
    pub fn plus(self, other: Size) -> Size {
        match (self, other) {
            (Size::Const(0), x) | (x, Size::Const(0)) => x,
            (Size::Const(x), Size::Const(y)) => Size::Const(x.saturating_add(y)),
            (Size::Add(a, b), c) if b.multiple().1 == c.multiple().1 => a.plus(b.plus(c)),
            (a, b) => match (a.multiple(), b.multiple()) {
                ((m, x), (n, y)) if x.is_some() && x == y => {
                    Size::Const(m.saturating_add(n)).times(x.cloned().unwrap_or(Size::Const(1)))
                }
                _ => Size::Add(a.into(), b.into()),
            },
        }
    }

    /// Returns the product, with literals folded into one leading factor.
    pub fn times(self, other: Size) -> Size {
        let ((m, x), (n, y)) = (self.multiple(), other.multiple());
        let rest = match (x.cloned(), y.cloned()) {
            (Some(x), Some(y)) => Some(Size::Mul(x.into(), y.into())),
            (one, None) | (None, one) => one,
        };
        match (m.saturating_mul(n), rest) {
            (0, _) => Size::Const(0),
            (1, Some(rest)) => rest,
            (n, None) => Size::Const(n),
            (n, Some(rest)) => Size::Mul(Size::Const(n).into(), rest.into()),
        }
    }

    /// Returns the leading literal factor and the other factor. A literal has no other factor.
    fn multiple(&self) -> (i64, Option<&Size>) {
        match self {
            Size::Const(n) => (*n, None),
            Size::Mul(a, b) => match **a {
                Size::Const(n) => (n, Some(b)),
                _ => (1, Some(self)),
            },
            other => (1, Some(other)),
        }
    }

    /// True if the expression names a dim for which `f` is true.
    pub fn any_dim(&self, f: &dyn Fn(u32) -> bool) -> bool {
        match self {
            Size::Const(_) => false,
            Size::Dim(d) => f(*d),
            Size::Add(a, b)
            | Size::Sub(a, b)
            | Size::Mul(a, b)
            | Size::FloorDiv(a, b)
            | Size::FloorMod(a, b)
            | Size::Min(a, b)
            | Size::Max(a, b) => a.any_dim(f) || b.any_dim(f),
        }
    }

    /// Returns the value for these dims. `None` if it does not fit in 64 bits, on division by zero, or for a dim that does not exist.
    pub fn eval(&self, dims: &[i64]) -> Option<i64> {
        self.eval_wide(dims).and_then(|value| value.try_into().ok())
    }

    /// Returns the value for these dims, computed in 128 bits. `None` on overflow, on division by zero, or for a dim that does not exist.
    pub fn eval_wide(&self, dims: &[i64]) -> Option<i128> {
        let two = |a: &Size, b: &Size| Some((a.eval_wide(dims)?, b.eval_wide(dims)?));
        match self {
            Size::Const(c) => Some(i128::from(*c)),
            Size::Dim(d) => dims.get(*d as usize).map(|n| i128::from(*n)),
            Size::Add(a, b) => two(a, b).and_then(|(a, b)| a.checked_add(b)),
            Size::Sub(a, b) => two(a, b).and_then(|(a, b)| a.checked_sub(b)),
            Size::Mul(a, b) => two(a, b).and_then(|(a, b)| a.checked_mul(b)),
            Size::FloorDiv(a, b) => two(a, b).and_then(|(a, b)| floor_div(a, b)),
            Size::FloorMod(a, b) => two(a, b).and_then(|(a, b)| a.checked_sub(floor_div(a, b)?.checked_mul(b)?)),
            Size::Min(a, b) => two(a, b).map(|(a, b)| a.min(b)),
            Size::Max(a, b) => two(a, b).map(|(a, b)| a.max(b)),
        }
    }

    /// True if a divisor in the expression is 0 for these dims.
    pub fn divides_by_zero(&self, dims: &[i64]) -> bool {
        match self {
            Size::Const(_) | Size::Dim(_) => false,
            Size::FloorDiv(_, b) | Size::FloorMod(_, b) if b.eval(dims) == Some(0) => true,
            Size::Add(a, b)
            | Size::Sub(a, b)
            | Size::Mul(a, b)
            | Size::FloorDiv(a, b)
            | Size::FloorMod(a, b)
            | Size::Min(a, b)
            | Size::Max(a, b) => a.divides_by_zero(dims) || b.divides_by_zero(dims),
        }
    }

    /// Returns the expression as users write it. `name` returns a dim's name.
    pub fn display<'a>(&'a self, name: &'a dyn Fn(u32) -> String) -> impl fmt::Display + 'a {
        Shown(self, name, 0)
    }
}

fn floor_div(a: i128, b: i128) -> Option<i128> {
    let q = a.checked_div(b)?;
    if a % b != 0 && (a < 0) != (b < 0) { q.checked_sub(1) } else { Some(q) }
}

/// An expression, the names of its dims, and the precedence of its surroundings.
struct Shown<'a>(&'a Size, &'a dyn Fn(u32) -> String, u8);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(size, name, outer) = *self;
        let (a, b, op, level) = match size {
            Size::Const(c) => return write!(f, "{c}"),
            Size::Dim(d) => return f.write_str(&name(*d)),
            Size::Min(a, b) => return write!(f, "min({}, {})", Shown(a, name, 0), Shown(b, name, 0)),
            Size::Max(a, b) => return write!(f, "max({}, {})", Shown(a, name, 0), Shown(b, name, 0)),
            Size::Add(a, b) => (a, b, "+", 1),
            Size::Sub(a, b) => (a, b, "-", 1),
            Size::Mul(a, b) => (a, b, "*", 2),
            Size::FloorDiv(a, b) => (a, b, "/", 2),
            Size::FloorMod(a, b) => (a, b, "%", 2),
        };
        let (open, close) = if level < outer { ("(", ")") } else { ("", "") };
        write!(f, "{open}{} {op} {}{close}", Shown(a, name, level), Shown(b, name, level + 1))
    }
}

/// A comparison of two values: of sizes in a fact, or of data in a kernel. With NaN, all but `Ne` are false.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Relation {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Relation {
    /// Every comparison.
    pub const ALL: [Relation; 6] = [Relation::Eq, Relation::Ne, Relation::Lt, Relation::Le, Relation::Gt, Relation::Ge];

    /// Returns the comparison with that symbol.
    pub fn from_symbol(symbol: &str) -> Option<Relation> {
        Relation::ALL.into_iter().find(|relation| relation.symbol() == symbol)
    }

    /// True if the relation holds between `a` and `b`.
    pub fn holds<T: PartialOrd>(self, a: T, b: T) -> bool {
        match self {
            Relation::Eq => a == b,
            Relation::Ne => a != b,
            Relation::Lt => a < b,
            Relation::Le => a <= b,
            Relation::Gt => a > b,
            Relation::Ge => a >= b,
        }
    }

    /// Returns the comparison of integers that holds where this one does not.
    pub fn negated(self) -> Relation {
        match self {
            Relation::Eq => Relation::Ne,
            Relation::Ne => Relation::Eq,
            Relation::Lt => Relation::Ge,
            Relation::Le => Relation::Gt,
            Relation::Gt => Relation::Le,
            Relation::Ge => Relation::Lt,
        }
    }

    /// Returns the operator as users write it.
    pub fn symbol(self) -> &'static str {
        match self {
            Relation::Eq => "==",
            Relation::Ne => "!=",
            Relation::Lt => "<",
            Relation::Le => "<=",
            Relation::Gt => ">",
            Relation::Ge => ">=",
        }
    }
}
