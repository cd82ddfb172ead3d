//! The meaning of names. There is one namespace, and names cannot be shadowed.

use super::{Checked, Checker, Poisoned};
use crate::diag::{Error, SpanId, did_you_mean};
use crate::expr::ExprId;
use crate::nest::BufferId;
use crate::syntax::{Expr, Name};
use tilewright_launch::DType;

/// The meaning of a name.
#[derive(Clone, Debug)]
pub(super) enum Symbol {
    /// A dtype generic.
    Dtype(DType),
    /// A dim or parameter: an index.
    Size(ExprId),
    /// A scalar argument.
    Scalar(ExprId),
    /// A tensor.
    Tensor(BufferId),
    /// An axis: an index.
    Axis(ExprId),
    /// The value of a `let`, or of a constant without a shape.
    Value(ExprId),
    /// The value of a `let` that consists of literals without a type. Each use determines the type.
    Literal(Box<Expr>),
    /// A wrong name, whose error was reported.
    Poisoned,
}

impl Symbol {
    /// Returns the kind of the symbol, for messages.
    pub(super) fn what(&self) -> &'static str {
        match self {
            Symbol::Dtype(_) => "a dtype",
            Symbol::Size(_) => "a dim",
            Symbol::Scalar(_) => "a scalar",
            Symbol::Tensor(_) => "a tensor",
            Symbol::Axis(_) => "an axis",
            Symbol::Value(_) | Symbol::Literal(_) => "a value",
            Symbol::Poisoned => "unknown",
        }
    }
}

/// The names that can be used at the current place, outermost first.
#[derive(Default)]
pub(super) struct Names {
    entries: Vec<(String, SpanId, Symbol)>,
}

impl Names {
    /// Returns the place where a name is declared, and its meaning.
    pub(super) fn find(&self, name: &str) -> Option<(SpanId, &Symbol)> {
        self.entries.iter().rev().find(|(n, ..)| n == name).map(|(_, span, symbol)| (*span, symbol))
    }

    /// Returns the names of symbols that satisfy `f`.
    pub(super) fn those(&self, f: impl Fn(&Symbol) -> bool) -> Vec<&str> {
        self.entries.iter().filter(|(_, _, s)| f(s)).map(|(n, ..)| n.as_str()).collect()
    }

    /// Returns the current scope, for [`Names::leave`].
    pub(super) fn enter(&self) -> usize {
        self.entries.len()
    }

    /// Forgets the names that were declared after [`Names::enter`] returned this scope.
    pub(super) fn leave(&mut self, scope: usize) {
        self.entries.truncate(scope);
    }
}

impl Checker<'_> {
    /// Declares a name, unless it is taken.
    pub(super) fn declare(&mut self, name: &Name, symbol: Symbol) -> Checked<()> {
        if let Some((span, old)) = self.names.find(&name.text) {
            let error = Error::new(name.span, format!("the name `{name}` is taken"));
            let error = match old {
                Symbol::Poisoned => error.note_at(span, "it is declared here"),
                old => error.note_at(span, format!("it is {} here", old.what())),
            };
            return self.fail(error.help("choose another name, because names cannot be shadowed"));
        }
        if DType::from_name(&name.text).is_some() {
            return self.fail(Error::new(name.span, format!("`{name}` is the name of a dtype")).help("choose another name"));
        }
        self.names.entries.push((name.text.clone(), name.span, symbol));
        Ok(())
    }

    /// Declares a name as wrong, so that no errors are reported for its uses.
    pub(super) fn poison(&mut self, name: &Name) {
        if self.names.find(&name.text).is_none() {
            self.names.entries.push((name.text.clone(), name.span, Symbol::Poisoned));
        }
    }

    /// Returns the meaning of a name. An unknown name is an error, in which `what` says the expected kind.
    pub(super) fn find(&mut self, name: &str, span: SpanId, what: &str) -> Checked<Symbol> {
        match self.names.find(name) {
            Some((_, Symbol::Poisoned)) => Err(Poisoned),
            Some((_, symbol)) => Ok(symbol.clone()),
            // A part of the kernel that could not be parsed may have declared it.
            None if !self.kernel.whole => Err(Poisoned),
            None => {
                let error = self.unknown(name, span, what);
                self.fail(error)
            }
        }
    }

    fn unknown(&self, name: &str, span: SpanId, what: &str) -> Error {
        let error = Error::new(span, format!("unknown {what} `{name}`"));
        if let Some(define) = super::order::definitions(self.kernel).find(|d| d.name.text == name) {
            return self.too_early(&define.name, span);
        }
        if ["threads", "thread", "workgroup", "grid", "lane"].contains(&name) {
            return error.help("`schedule!` says how a kernel runs on a device, not the kernel");
        }
        if let Some(found) = &self.definition.reduction
            && found.over.iter().any(|a| self.program.axes[*a].name == name)
        {
            return error.note_at(found.head, "the axes of a reduction can be used only in its braces");
        }
        let plain = self.definition.buffer.is_none() && what == "value";
        let help = plain.then(|| "a plain `let` is outside all definitions, so it cannot use axes".into());
        error.maybe_help(help).maybe_help(did_you_mean(name, self.names.those(|_| true)))
    }
}
