//! A generated algorithm as a tree, which the generator makes, the shrinker reduces, and [`super::text`] prints.
//!
//! The tree is not checked: the compiler decides whether it is a legal kernel.

use crate::schedule::tree::Fact;
use std::collections::BTreeSet;
use tilewright_launch::DType;

/// A kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Dtypes, dims and parameters, in order.
    pub generics: Vec<Generic>,
    /// Tensors and scalars, in order.
    pub arguments: Vec<Argument>,
    /// The facts that it states, for all schedules.
    pub facts: Vec<Fact>,
    /// Functions before it, and closures before its definitions.
    pub functions: Vec<Function>,
    /// Constant tables.
    pub tables: Vec<Table>,
    /// Definitions, in order.
    pub stages: Vec<Stage>,
}

/// A function or a closure.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The parameters, some with their types.
    pub params: Vec<(String, Option<Type>)>,
    /// The body.
    pub body: Expr,
    /// The form.
    pub form: FunctionForm,
}

/// The forms of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionForm {
    /// `fn f(p0: f32, p1) { … }`
    Item,
    /// `let f = |p0: f32, p1| …;`
    Closure,
}

/// A generic.
#[derive(Clone, Debug, PartialEq)]
pub struct Generic {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: GenericKind,
}

/// The kinds of generics.
#[derive(Clone, Debug, PartialEq)]
pub enum GenericKind {
    /// `T: f32 | f16`.
    Dtype(Vec<DType>),
    /// `N`: known at launch.
    Dim,
    /// `S = 2`: the kernel's default, and the value in the schedule's header.
    Parameter {
        /// The kernel's value.
        default: i64,
        /// The value in the schedule's header.
        value: i64,
    },
    /// `OH = (IH - FH) / S + 1`.
    Derived(Expr),
}

/// A type of values: a dtype, or the kernel's dtype generic `T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A dtype.
    Is(DType),
    /// `T`, which is f32 or f16.
    Generic,
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Its kind.
    pub kind: ArgumentKind,
}

/// The kinds of arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentKind {
    /// A tensor that is read.
    Input(Vec<Expr>),
    /// A tensor that is updated in place.
    Update(Vec<Expr>),
    /// A number or truth value.
    Scalar,
    /// A size: the dim of this name.
    Size,
}

/// `const W: f32[2, 3] = [[…], […]];`
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Rows, all of one length.
    pub rows: Vec<Vec<String>>,
}

/// The role of a stage's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An output.
    Output,
    /// `let s[…]: f32[…] = …;`
    Intermediate,
    /// An argument that is updated in place.
    Update,
}

/// A definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The name of its result.
    pub name: String,
    /// The role of its result.
    pub role: Role,
    /// The type of its elements.
    pub ty: Type,
    /// The shape.
    pub shape: Vec<Expr>,
    /// An axis for each dimension.
    pub axes: Vec<String>,
    /// The value at a point.
    pub value: Expr,
    /// True if it is defined together with the stage before, provided that both have the same shape.
    pub joined: bool,
}

/// An expression and its type.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Its kind.
    pub kind: ExprKind,
    /// Its type, as far as the generator knows.
    pub ty: Type,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A number, or `true` and `false`, as written.
    Literal(String),
    /// An axis, dim, parameter, scalar, or a name of a `let`.
    Name(String),
    /// `x[i, j]`, `x.clamp()[i, j]`, `x.pad(v)[i, j]`.
    Read {
        /// The tensor.
        tensor: String,
        /// The value out of bounds.
        outside: Outside,
        /// One index for each dimension.
        index: Vec<Expr>,
    },
    /// `-a`, `!a`.
    Prefix(&'static str, Box<Expr>),
    /// `a + b`, `a < b`.
    Infix(&'static str, Box<Expr>, Box<Expr>),
    /// `a.max(b)`.
    Method(Box<Expr>, &'static str, Vec<Expr>),
    /// `a as f32`; the type is the node's.
    Cast(Box<Expr>),
    /// `if c { a } else { b }`.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `{ let v = a; b }`.
    Let(String, Box<Expr>, Box<Expr>),
    /// `f(a, b)`.
    Call(String, Vec<Expr>),
    /// `{ let f = |p0, p1| …; f(a, b) }`
    Closure {
        /// Its name.
        name: String,
        /// Its parameters.
        params: Vec<String>,
        /// Its body.
        body: Box<Expr>,
        /// The arguments of its call.
        args: Vec<Expr>,
    },
    /// `sum(k in 0..K) { … }`, `sum(k in 0..K) where c { … }`.
    Reduce {
        /// The operation.
        op: &'static str,
        /// The ranges.
        ranges: Vec<Range>,
        /// The condition: operands for which it is false are left out.
        only: Option<Box<Expr>>,
        /// The operand.
        body: Box<Expr>,
    },
}

/// The value of a read that is out of bounds of its tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Outside {
    /// It is proved to be in bounds.
    Never,
    /// The nearest element.
    Clamp,
    /// This literal.
    Pad(String),
}

/// `k in 0..K`.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The axis.
    pub axis: String,
    /// The start.
    pub low: Expr,
    /// The end.
    pub high: Expr,
    /// True if the end is included: `0..=i`.
    pub inclusive: bool,
}

/// The type of axes, dims and indices.
pub const INDEX: Type = Type::Is(DType::I32);

impl Type {
    /// Returns the dtype if `T` is `generic`.
    pub fn dtype(self, generic: DType) -> DType {
        match self {
            Type::Is(dtype) => dtype,
            Type::Generic => generic,
        }
    }

    /// Returns true for integers with a sign.
    pub fn is_signed(self) -> bool {
        self.dtype(DType::F32).is_signed_int()
    }

    /// Returns true for integers of 32 bits.
    pub fn is_word(self) -> bool {
        self.dtype(DType::F32).is_word()
    }

    /// Returns true for floats.
    pub fn is_float(self) -> bool {
        self.dtype(DType::F32).is_float()
    }
}

impl Expr {
    /// A node.
    pub fn new(kind: ExprKind, ty: Type) -> Expr {
        Expr { kind, ty }
    }

    /// A whole number, as an index or size.
    pub fn int(value: i64) -> Expr {
        Expr::new(ExprKind::Literal(value.to_string()), INDEX)
    }

    /// A literal of a type.
    pub fn literal(text: impl Into<String>, ty: Type) -> Expr {
        Expr::new(ExprKind::Literal(text.into()), ty)
    }

    /// An axis or a dim.
    pub fn name(name: impl Into<String>) -> Expr {
        Expr::new(ExprKind::Name(name.into()), INDEX)
    }

    /// `self op other`, of this expression's type.
    pub fn infix(self, op: &'static str, other: Expr) -> Expr {
        let ty = self.ty;
        Expr::new(ExprKind::Infix(op, Box::new(self), Box::new(other)), ty)
    }

    /// A comparison.
    pub fn compare(self, op: &'static str, other: Expr) -> Expr {
        Expr::new(ExprKind::Infix(op, Box::new(self), Box::new(other)), Type::Is(DType::Bool))
    }

    /// `self.name(args)`, of this expression's type.
    pub fn method(self, name: &'static str, args: impl IntoIterator<Item = Expr>) -> Expr {
        let ty = self.ty;
        Expr::new(ExprKind::Method(Box::new(self), name, args.into_iter().collect()), ty)
    }

    /// `self as ty`.
    pub fn cast(self, ty: Type) -> Expr {
        Expr::new(ExprKind::Cast(Box::new(self)), ty)
    }

    /// `op(ranges) { self }`, of a type.
    pub fn reduced(self, op: &'static str, ranges: Vec<Range>, ty: Type) -> Expr {
        Expr::new(ExprKind::Reduce { op, ranges, only: None, body: Box::new(self) }, ty)
    }

    /// Returns the direct operands of this expression.
    pub fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Literal(_) | ExprKind::Name(_) => Vec::new(),
            ExprKind::Read { index, .. } => index.iter().collect(),
            ExprKind::Call(_, args) => args.iter().collect(),
            ExprKind::Closure { body, args, .. } => std::iter::once(&**body).chain(args).collect(),
            ExprKind::Prefix(_, a) | ExprKind::Cast(a) => vec![a],
            ExprKind::Infix(_, a, b) | ExprKind::Let(_, a, b) => vec![a, b],
            ExprKind::Method(a, _, args) => std::iter::once(&**a).chain(args).collect(),
            ExprKind::If(c, a, b) => vec![c, a, b],
            ExprKind::Reduce { ranges, only, body, .. } => {
                ranges.iter().flat_map(|r| [&r.low, &r.high]).chain(only.as_deref()).chain([&**body]).collect()
            }
        }
    }

    /// Returns the direct operands of this expression, mutably.
    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.kind {
            ExprKind::Literal(_) | ExprKind::Name(_) => Vec::new(),
            ExprKind::Read { index, .. } => index.iter_mut().collect(),
            ExprKind::Call(_, args) => args.iter_mut().collect(),
            ExprKind::Closure { body, args, .. } => std::iter::once(&mut **body).chain(args).collect(),
            ExprKind::Prefix(_, a) | ExprKind::Cast(a) => vec![a],
            ExprKind::Infix(_, a, b) | ExprKind::Let(_, a, b) => vec![a, b],
            ExprKind::Method(a, _, args) => std::iter::once(&mut **a).chain(args).collect(),
            ExprKind::If(c, a, b) => vec![c, a, b],
            ExprKind::Reduce { ranges, only, body, .. } => {
                let bounds = ranges.iter_mut().flat_map(|r| [&mut r.low, &mut r.high]);
                bounds.chain(only.as_deref_mut()).chain([&mut **body]).collect()
            }
        }
    }

    /// Calls `f` for this expression and all inside it.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(self);
        self.children().into_iter().for_each(|child| child.visit(f));
    }

    /// Returns the expression inside this one with a number, in the order of [`visit`](Self::visit): 0 is this expression.
    pub fn nth(&self, at: usize) -> Option<&Expr> {
        let (mut n, mut found) = (0, None);
        self.visit(&mut |e| {
            if n == at {
                found = Some(e);
            }
            n += 1;
        });
        found
    }

    /// Returns the expression inside this one with a number, mutably. Counts `at` down.
    pub fn nth_mut(&mut self, at: &mut usize) -> Option<&mut Expr> {
        if *at == 0 {
            return Some(self);
        }
        *at -= 1;
        self.children_mut().into_iter().find_map(|child| child.nth_mut(at))
    }

    /// True if it has a reduction.
    pub fn reduces(&self) -> bool {
        let mut found = false;
        self.visit(&mut |e| found |= matches!(e.kind, ExprKind::Reduce { .. }));
        found
    }

    /// Returns every name that it uses: axes, dims, tensors.
    pub fn names(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        self.visit(&mut |e| match &e.kind {
            ExprKind::Name(name) | ExprKind::Read { tensor: name, .. } => {
                names.insert(name.as_str());
            }
            _ => {}
        });
        names
    }

    /// Returns the value of an integer literal.
    pub fn as_int(&self) -> Option<i64> {
        match &self.kind {
            ExprKind::Literal(text) => text.parse().ok(),
            _ => None,
        }
    }
}

impl Stage {
    /// Returns its reduction, if it has one: the operation and the ranges. Several reductions are intermediates of the compiler.
    pub fn reduction(&self) -> Option<(&'static str, &[Range])> {
        match self.reductions()[..] {
            [one] => Some(one),
            _ => None,
        }
    }

    /// Returns all reductions.
    pub fn reductions(&self) -> Vec<(&'static str, &[Range])> {
        let mut found = Vec::new();
        self.value.visit(&mut |e| {
            if let ExprKind::Reduce { op, ranges, .. } = &e.kind {
                found.push((*op, ranges.as_slice()));
            }
        });
        found
    }
}

impl Kernel {
    /// Returns the names of the symbolic dims.
    pub fn dims(&self) -> impl Iterator<Item = &str> {
        self.generics.iter().filter(|g| g.kind == GenericKind::Dim).map(|g| g.name.as_str())
    }

    /// Returns true if it has a dtype generic.
    pub fn is_generic(&self) -> bool {
        self.generics.iter().any(|g| matches!(g.kind, GenericKind::Dtype(_)))
    }

    /// Returns a size's value, for values of the symbolic dims. `None` if a name does not have a value.
    pub fn size(&self, size: &Expr, dims: &[(String, i64)]) -> Option<i64> {
        match &size.kind {
            ExprKind::Literal(text) => text.parse().ok(),
            ExprKind::Name(name) => match &self.generics.iter().find(|g| g.name == *name)?.kind {
                GenericKind::Dim => dims.iter().find(|(n, _)| n == name).map(|(_, v)| *v),
                GenericKind::Parameter { value, .. } => Some(*value),
                GenericKind::Derived(value) => self.size(value, dims),
                GenericKind::Dtype(_) => None,
            },
            ExprKind::Infix(op, a, b) => {
                let (a, b) = (self.size(a, dims)?, self.size(b, dims)?);
                match *op {
                    "+" => a.checked_add(b),
                    "-" => a.checked_sub(b),
                    "*" => a.checked_mul(b),
                    "/" => a.checked_div_euclid(b),
                    "%" => a.checked_rem_euclid(b),
                    _ => None,
                }
            }
            ExprKind::Method(a, op @ ("min" | "max"), args) => {
                let (a, b) = (self.size(a, dims)?, self.size(args.first()?, dims)?);
                Some(if *op == "min" { a.min(b) } else { a.max(b) })
            }
            _ => None,
        }
    }
}
