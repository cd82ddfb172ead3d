//! The generator's state while it makes a kernel: the readable tensors, the axes in scope, and the remaining size of expressions.

use super::tree::{Argument, ArgumentKind, Expr, Kernel, Type};
use fastrand::Rng;
use tilewright_check::Fill;
use tilewright_launch::DType;

/// The most tensor arguments, unless a dim needs one more.
const MOST_INPUTS: usize = 5;

/// A kernel in the making.
pub(super) struct Builder<'r> {
    pub(super) random: &'r mut Rng,
    pub(super) kernel: Kernel,
    /// The relations between dims of convolutions.
    pub(super) windows: Vec<Window>,
    /// The fills of inputs; inputs that are not named have small values.
    pub(super) fills: Vec<(String, Fill)>,
    /// The sizes that a stage's shape can have.
    pub(super) extents: Vec<Expr>,
    /// The types of tensors in this kernel.
    pub(super) palette: Vec<Type>,
    /// Intermediates that are defined.
    pub(super) defined: Vec<Defined>,
    /// The axes that can be named here.
    pub(super) scope: Vec<Axis>,
    /// The tensor that the stage updates in place, and its type.
    pub(super) update: Option<(String, Type)>,
    /// The number of nodes that an expression may still have.
    pub(super) fuel: u32,
    /// The names made so far with `let`.
    pub(super) lets: u32,
    /// True if inputs may have integers of all bits and floats that are not numbers.
    pub(super) wild: bool,
    /// True if indices have terms that exceed 2^31.
    pub(super) large: bool,
}

/// `output axis * stride + tap * dilation` lies within `size`.
#[derive(Clone)]
pub(super) struct Window {
    pub(super) outer: Expr,
    pub(super) taps: Expr,
    pub(super) size: Expr,
    pub(super) stride: Expr,
    pub(super) dilation: Option<Expr>,
}

/// An axis in scope.
#[derive(Clone)]
pub(super) struct Axis {
    pub(super) name: String,
    /// Its values lie in `0..within`.
    pub(super) within: Expr,
}

/// An intermediate.
#[derive(Clone)]
pub(super) struct Defined {
    pub(super) name: String,
    pub(super) ty: Type,
    pub(super) shape: Vec<Expr>,
    /// The largest absolute value of its elements.
    pub(super) size: f64,
    /// True if a later stage reads it.
    pub(super) read: bool,
}

/// A value: its expression, and its known properties.
pub(super) struct Value {
    pub(super) expr: Expr,
    /// Its largest absolute value.
    pub(super) size: f64,
    /// True if a device computes it without an error.
    pub(super) exact: bool,
}

impl Value {
    pub(super) fn new(expr: Expr, size: f64, exact: bool) -> Value {
        Value { expr, size, exact }
    }
}

impl Builder<'_> {
    /// Returns true with a probability of `share` percent.
    pub(super) fn percent(&mut self, share: u8) -> bool {
        self.random.u8(..100) < share
    }

    /// Returns a random element.
    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.random.usize(..from.len())].clone()
    }

    /// An axis in scope.
    pub(super) fn axis(&mut self) -> Option<Axis> {
        if self.scope.is_empty() { None } else { Some(self.scope[self.random.usize(..self.scope.len())].clone()) }
    }

    /// Uses up one node of the expression; false if none are left.
    pub(super) fn burn(&mut self) -> bool {
        let more = self.fuel > 0;
        self.fuel = self.fuel.saturating_sub(1);
        more
    }

    /// Declares an input.
    pub(super) fn input(&mut self, ty: Type, shape: Vec<Expr>) -> String {
        let name = format!("x{}", self.kernel.arguments.len());
        self.kernel.arguments.push(Argument { name: name.clone(), ty, kind: ArgumentKind::Input(shape) });
        let odd = self.wild && ty != Type::Is(DType::Bool);
        if odd {
            self.fills.push((name.clone(), Fill::Wild));
        }
        name
    }

    /// Returns true if another input may be declared.
    pub(super) fn may_declare(&self) -> bool {
        self.kernel.arguments.len() < MOST_INPUTS
    }

    /// Returns a scalar argument of a type: an existing or a new one.
    pub(super) fn scalar(&mut self, ty: Type) -> Expr {
        let known = self.kernel.arguments.iter().find(|a| a.ty == ty && a.kind == ArgumentKind::Scalar);
        let name = known.map(|a| a.name.clone()).unwrap_or_else(|| {
            let name = format!("a{}", self.kernel.arguments.len());
            self.kernel.arguments.push(Argument { name: name.clone(), ty, kind: ArgumentKind::Scalar });
            name
        });
        Expr { ty, ..Expr::name(name) }
    }

    /// Returns a new name for a `let`.
    pub(super) fn fresh_let(&mut self) -> String {
        self.lets += 1;
        format!("v{}", self.lets)
    }
}
