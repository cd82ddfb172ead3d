//! The meaning of names. There is one namespace, and names cannot be shadowed.

use super::{Checked, Checker, Poisoned};
use crate::diag::{Error, SpanId, did_you_mean, list};
use crate::expr::ExprId;
use crate::nest::BufferId;
use crate::syntax::{Expr, Function, Name, families};
use std::rc::Rc;
use std::sync::Arc;
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
    Literal(Rc<Literal>),
    /// A function or a closure.
    Function(Callee),
    /// A wrong name, whose error was reported.
    Poisoned,
}

/// An expression of literals without a type.
#[derive(Debug)]
pub(super) struct Literal {
    /// The expression.
    pub(super) value: Expr,
    /// The names at its place.
    pub(super) names: Names,
    /// True if one of the literals is a float.
    pub(super) is_float: bool,
    /// True if they are integers and parameters, which can be exponents.
    pub(super) is_whole: bool,
    /// The number of literals.
    pub(super) weight: usize,
}

/// A function or a closure that can be called.
#[derive(Clone, Debug)]
pub(super) enum Callee {
    /// A function, which sees the functions of its scope.
    Item(Arc<Function>),
    /// A closure, which sees the names at its place.
    Closure(Arc<Function>, Names),
}

impl Callee {
    /// Returns its parameters and body.
    pub(super) fn function(&self) -> &Arc<Function> {
        match self {
            Callee::Item(function) | Callee::Closure(function, _) => function,
        }
    }
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
            Symbol::Function(Callee::Item(_)) => "a function",
            Symbol::Function(Callee::Closure(..)) => "a closure",
            Symbol::Poisoned => "unknown",
        }
    }
}

/// The names that can be used at a place, as a list from the innermost on. A copy of the list keeps the names of its place, which closures
/// need.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(Option<Rc<Declared>>);

/// A name, and those that are declared before it.
#[derive(Debug)]
struct Declared {
    name: String,
    span: SpanId,
    symbol: Symbol,
    before: Names,
}

impl Drop for Names {
    /// Drops the list in a loop, because a recursion could exceed rustc's stack.
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(entry) = next.and_then(Rc::into_inner) {
            next = { entry }.before.0.take();
        }
    }
}

impl Names {
    fn entries(&self) -> impl Iterator<Item = &Declared> {
        std::iter::successors(self.0.as_deref(), |entry| entry.before.0.as_deref())
    }

    /// Returns the place where a name is declared, and its meaning.
    pub(super) fn find(&self, name: &str) -> Option<(SpanId, &Symbol)> {
        self.entries().find(|entry| entry.name == name).map(|entry| (entry.span, &entry.symbol))
    }

    /// Returns the same for a member of the family of this name or, if the name is a member's, for the tensor of the family's name.
    fn of_family(&self, name: &str) -> Option<(SpanId, &Symbol)> {
        match families::parts(name) {
            Some((family, _)) => self.find(family),
            None => self
                .entries()
                .find(|e| families::parts(&e.name).is_some_and(|(family, _)| family == name))
                .map(|e| (e.span, &e.symbol)),
        }
    }

    /// Returns the names of symbols that satisfy `f`, in order of declaration.
    pub(super) fn those(&self, f: impl Fn(&Symbol) -> bool) -> Vec<&str> {
        let mut found: Vec<&str> = self.entries().filter(|entry| f(&entry.symbol)).map(|entry| entry.name.as_str()).collect();
        found.reverse();
        found
    }

    /// Adds a name.
    pub(super) fn push(&mut self, name: &Name, symbol: Symbol) {
        let before = std::mem::take(self);
        self.0 = Some(Rc::new(Declared { name: name.text.clone(), span: name.span, symbol, before }));
    }

    /// Returns the current scope, for [`Names::leave`].
    pub(super) fn enter(&self) -> Names {
        self.clone()
    }

    /// Forgets the names that were declared after [`Names::enter`] returned this scope.
    pub(super) fn leave(&mut self, scope: Names) {
        *self = scope;
    }
}

impl Checker<'_> {
    /// Declares a name, unless it is taken. The names of a wrong left side do not take it.
    pub(super) fn declare(&mut self, name: &Name, symbol: Symbol) -> Checked<()> {
        let unclear = |old: &Symbol| self.definition.unclear && matches!(old, Symbol::Poisoned);
        let old = self.names.find(&name.text).or_else(|| self.names.of_family(&name.text));
        if let Some((span, old)) = old.filter(|(_, old)| !unclear(old)) {
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
        self.names.push(name, symbol);
        Ok(())
    }

    /// Declares a name as wrong, so that no errors are reported for its uses.
    pub(super) fn poison(&mut self, name: &Name) {
        if self.names.find(&name.text).is_none() {
            self.names.push(name, Symbol::Poisoned);
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
        if let Some(frame) = self.calls.last()
            && (frame.around.find(name).is_some() || super::order::definitions(self.kernel).any(|d| d.name.text == name))
        {
            let function = &frame.function.name;
            return error.help(match self.names.find(&function.text) {
                Some(_) => {
                    format!("a function sees only its parameters: pass `{name}` to `{function}`, or write a closure in the kernel")
                }
                None => format!("a closure sees the names that are declared before it: pass `{name}` to `{function}`"),
            });
        }
        // Functions that are checked alone have a kernel without a name.
        if self.kernel.name.text.is_empty() {
            let error = error.help(format!("a function sees only its parameters: pass `{name}` as one"));
            return error.maybe_help(did_you_mean(name, self.names.those(|_| true)));
        }
        if let Some(define) = super::order::definitions(self.kernel).find(|d| d.name.text == name) {
            return self.too_early(&define.name, span);
        }
        if let Some(help) = self.of_family(name) {
            return error.help(help);
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

    /// Returns the help for a name that is not a member of a family, but nearly.
    fn of_family(&self, name: &str) -> Option<String> {
        let family = families::parts(name).map_or(name, |(family, _)| family);
        let tensors = self.names.those(|symbol| matches!(symbol, Symbol::Tensor(_)));
        let members: Vec<&str> =
            tensors.iter().copied().filter(|t| families::parts(t).is_some_and(|(of, _)| of == family)).collect();
        match (families::parts(name), members.first()) {
            (None, Some(first)) => Some(format!("`{name}` is a family: read one of its members, `{first}[…]`")),
            (Some(_), Some(_)) => Some(format!("the members of `{family}` up to here are {}", list(&members))),
            (Some((_, number)), None) if tensors.contains(&family) => {
                Some(format!("`{family}` is not a family: write `{family}[{number}, …]`"))
            }
            _ => None,
        }
    }
}
