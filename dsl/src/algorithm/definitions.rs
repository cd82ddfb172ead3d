//! Statements: definitions become stages, and constants and `let`s become names.

use super::names::Symbol;
use super::together::Together;
use super::{Checked, Checker, Definition};
use crate::diag::Error;
use crate::nest::{AxisKind, Body, BufferId, Space, Stage};
use crate::syntax::Name;
use crate::syntax::expr::{BinaryOp, Expr, ExprKind, Let};
use crate::syntax::kernel::{Define, Statement};

impl Checker<'_> {
    /// Checks all statements.
    pub(super) fn statements(&mut self) {
        let kernel = self.kernel;
        for (n, statement) in kernel.statements.iter().enumerate() {
            match statement {
                Statement::Define(define) => {
                    if !define.joined {
                        self.together = Together::of(&kernel.statements[n..]);
                    }
                    self.define(n, define);
                    self.end_together();
                }
                Statement::Const { name, ty, value } => {
                    if self.constant(name, ty, value).is_err() {
                        self.poison(name);
                    }
                }
                Statement::Let(bound) => self.plain_let(bound),
            }
            self.definition = Definition::default();
        }
    }

    /// Checks `let c = …;`.
    fn plain_let(&mut self, bound: &Let) {
        if self.bind(bound).is_err() {
            self.poison(&bound.name);
        }
    }

    /// Checks a definition, which is statement number `n`.
    fn define(&mut self, n: usize, define: &Define) {
        if let Some(compound) = define.compound {
            let error = self.compound(define, compound);
            self.errors.push(error);
            self.poison(&define.name);
            return;
        }
        let Ok(buffer) = self.target(n, define) else {
            self.poison(&define.name);
            return;
        };
        self.definition = Definition { buffer: Some(buffer), name: define.name.text.clone(), ..Definition::default() };
        let scope = self.names.enter();
        let axes = self.left_side(define, buffer);
        let dtype = self.program.buffers[buffer].dtype;
        let value = self.value_as(&define.value, dtype).and_then(|value| {
            self.stored(&define.value, value)?;
            Ok(value)
        });
        self.names.leave(scope);
        self.together.buffers.push(buffer);
        let (Ok(()), Ok(value)) = (axes, value) else { return };
        let axes = std::mem::take(&mut self.definition.axes);
        match &mut self.together.stage {
            Some(stage) => stage.also.push((buffer, value)),
            none => {
                let (name, body, also, span) = (define.name.text.clone(), Body::Map(value), Vec::new(), define.span);
                *none = Some(Stage { name, buffer, axes, body, also, span });
            }
        }
    }

    /// Returns the buffer that a definition defines.
    fn target(&mut self, n: usize, define: &Define) -> Checked<BufferId> {
        let name = &define.name;
        if let Some(ty) = &define.ty {
            return self.tensor(name, ty, Space::Temporary);
        }
        let buffer = match self.names.find(&name.text) {
            Some((_, Symbol::Tensor(buffer))) => *buffer,
            Some((_, Symbol::Poisoned)) => return Err(super::Poisoned),
            Some((span, other)) => {
                let error = Error::new(name.span, format!("`{name}` is {}, not a tensor to define", other.what()));
                return self.fail(error.note_at(span, "it is declared here"));
            }
            None => {
                let kernel = self.kernel;
                let outputs = kernel.outputs.iter().map(|o| o.name.as_str());
                let error = Error::new(name.span, format!("unknown output `{name}`"));
                let error = error.help(format!("an intermediate is `let {name}[…]: f32[…] = …;`"));
                return self.fail(error.maybe_help(crate::diag::did_you_mean(&name.text, outputs)));
            }
        };
        let earlier = self.kernel.statements[..n].iter().find_map(|s| match s {
            Statement::Define(d) if d.name.text == name.text => Some(d.span),
            _ => None,
        });
        let declared = self.program.buffers[buffer].span;
        match (&self.program.buffers[buffer].space, earlier) {
            (Space::Input, _) => {
                let error = Error::new(name.span, format!("`{name}` is an input"));
                self.fail(
                    error.note_at(declared, "it is declared here").help("declare a tensor that is updated in place as `&mut`"),
                )
            }
            (Space::Constant(_), _) => {
                self.fail(Error::new(name.span, format!("`{name}` is a constant")).note_at(declared, "it is declared here"))
            }
            (_, Some(first)) => {
                let error = Error::new(define.span, format!("`{name}` is defined twice"));
                let error = error.note_at(first, "it is defined here");
                self.fail(
                    error.help("a definition gives every element: write one definition, and choose by `if … { … } else { … }`"),
                )
            }
            _ => Ok(buffer),
        }
    }

    /// Declares the axes on the left side.
    fn left_side(&mut self, define: &Define, buffer: BufferId) -> Checked<()> {
        let shape = self.program.buffers[buffer].shape.clone();
        let mut result = Ok(());
        if shape.len() != define.index.len() {
            let message = format!("`{}` has {} dimensions, not {}", define.name, shape.len(), define.index.len());
            let declared = self.program.buffers[buffer].span;
            let error = Error::new(define.span, message).note_at(declared, format!("its shape is [{}]", self.shown_shape(buffer)));
            result = self.fail(error.help("the left side names one axis for each dimension"));
        }
        for (d, index) in define.index.iter().enumerate() {
            let ExprKind::Name(text) = &index.kind else {
                let error = not_an_axis(define, index);
                result = self.fail(error);
                continue;
            };
            let name = Name { text: text.clone(), span: index.span };
            if define.index[..d].iter().any(|i| i.as_name() == Some(text)) {
                let error = Error::new(
                    index.span,
                    format!("`{}[…]` names the axis `{text}` twice, so it defines only the diagonal", define.name),
                );
                result =
                    self.fail(error.help(format!(
                        "name two axes, and choose the value: `if i == j {{ … }} else {{ {} }}`",
                        zero(self, buffer)
                    )));
                continue;
            }
            let Some(extent) = shape.get(d) else {
                self.poison(&name);
                continue;
            };
            let axis = match self.common_axis(define, d, *extent) {
                Ok(axis) => axis.unwrap_or_else(|| self.axis(&name, *extent, AxisKind::Parallel)),
                Err(poisoned) => {
                    result = Err(poisoned);
                    continue;
                }
            };
            let value = self.of_axis(buffer, d, axis);
            match self.declare(&name, Symbol::Axis(value)) {
                Ok(()) => self.definition.axes.push(axis),
                Err(poisoned) => result = Err(poisoned),
            }
        }
        // Names of a wrong left side are poisoned, so that the right side reports no further errors about them.
        if result.is_err() {
            self.definition.unclear = true;
            for index in &define.index {
                super::order::names(index).into_iter().for_each(|text| self.poison(&Name { text, span: index.span }));
            }
        }
        result
    }
}

/// Returns a zero of a buffer's type, for help.
pub(super) fn zero(checker: &Checker<'_>, buffer: BufferId) -> &'static str {
    let dtype = checker.program.buffers[buffer].dtype;
    if dtype.is_float() {
        "0.0"
    } else if dtype.is_int() {
        "0"
    } else {
        "false"
    }
}

/// Returns the error for an index on the left side that is not a name.
fn not_an_axis(define: &Define, index: &Expr) -> Error {
    let name = &define.name;
    let scatter = contains_read(index);
    let message = if scatter {
        format!("`{name}[…]` is defined at an index that depends on data")
    } else {
        format!("the left side of `{name}[…]` must name axes")
    };
    let error = Error::new(index.span, message);
    match &index.kind {
        _ if scatter => error.note("a definition gives every element").help(format!(
            "reduce the values that belong to each element: `{name}[b] = sum(i in 0..N) where {} == b {{ x[i] }};`",
            index.short()
        )),
        ExprKind::Int { .. } => error
            .note("a definition gives every element, not one of them")
            .help(format!("name an axis, and choose the value: `{name}[i] = if i == 0 {{ … }} else {{ … }};`")),
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, ..) => error
            .note("a definition gives every element")
            .help(format!("shift the reads instead, `{name}[i] = x.pad(0.0)[i - 1];`, or choose by `if`")),
        ExprKind::Binary(BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem, ..) => error
            .note("a definition gives every element")
            .help(format!("divide in the reads instead: `{name}[i] = if i % 2 == 0 {{ x[i / 2] }} else {{ … }};`")),
        _ => error.help(format!("write `{name}[i, j] = …;`")),
    }
}

/// True if an expression reads a tensor.
pub(super) fn contains_read(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Index { .. } => true,
        ExprKind::Neg(a) | ExprKind::Cast(a, _) | ExprKind::Not(a) => contains_read(a),
        ExprKind::Binary(_, _, a, b) => contains_read(a) || contains_read(b),
        ExprKind::Method { receiver, args, .. } => contains_read(receiver) || args.iter().any(contains_read),
        ExprKind::Call { args, .. } => args.iter().any(contains_read),
        _ => false,
    }
}
