//! Calls: of functions and closures, and of `f32::from_bits`. For other calls, the error names the method, cast, reduction or definition to
//! write.

use super::names::Symbol;
use super::values::maths::{is_method, nearest_method};
use super::{Checked, Checker, Poisoned};
use crate::diag::{Error, SpanId, did_you_mean};
use crate::expr::ExprId;
use crate::syntax::Name;
use crate::syntax::expr::{Expr, ExprKind};
use crate::syntax::words::{self, Argument};
use tilewright_launch::DType;

impl Checker<'_> {
    /// Checks a call.
    pub(super) fn call(&mut self, span: SpanId, function: &Name, args: &[Expr], wanted: Option<DType>) -> Checked<ExprId> {
        match self.names.find(&function.text) {
            Some((_, Symbol::Function(callee))) => {
                let callee = callee.clone();
                return self.inlined(span, &callee, args, wanted);
            }
            Some((_, Symbol::Poisoned)) => return Err(Poisoned),
            _ => {}
        }
        if let Some(of) = function.text.strip_suffix("::from_bits") {
            return self.float_of_bits(&Name { text: last(of).into(), span: function.span }, args);
        }
        let error = Error::new(function.span, format!("cannot call `{function}` in a kernel"));
        let (of, name) = function.text.rsplit_once("::").unwrap_or(("", function.as_str()));
        let args_as_text: Vec<Argument> = args.iter().map(Argument::from).collect();
        let of_other_languages = words::help(words::VALUES, name, &args_as_text);
        let error = match (name, args) {
            _ if of.is_empty() && self.is_tensor(name) => {
                let error = Error::new(function.span, format!("`{name}` is a tensor, and its indices are in brackets"));
                let index: Vec<String> = args.iter().map(Expr::short).collect();
                error.help(format!("write `{name}[{}]`", index.join(", ")))
            }
            ("from" | "try_from" | "from_f32" | "from_f64", [value]) if DType::from_name(last(of)).is_some() => {
                error.help(format!("write `{} as {}`", value.short_operand(), last(of)))
            }
            (name, [value]) if DType::from_name(name).is_some() => {
                error.help(format!("a value is converted by a cast: write `{} as {name}`", value.short_operand()))
            }
            _ if of_other_languages.is_some() => error.maybe_help(of_other_languages),
            (name, [receiver, rest @ ..]) if is_method(name) => {
                error.help(format!("maths is written as a method: `{}`", method(receiver, name, rest)))
            }
            (_, args) if args.iter().any(|arg| matches!(&arg.kind, ExprKind::Name(name) if self.is_tensor(name))) => {
                let error = error.note("a kernel cannot call another kernel");
                error.help(format!(
                    "write its definition here, `let {name}_of[i]: f32[N] = …;`, and read that; or launch it first, and pass its result"
                ))
            }
            (name, []) if !of.is_empty() => error.help(format!("a constant is written without parentheses: `{of}::{name}`")),
            // A function that could not be parsed may have this name.
            _ if !self.kernel.whole => return Err(Poisoned),
            _ => self.unknown_function(error, function, of, name),
        };
        self.fail(error)
    }

    /// Explains the call of an unknown function.
    fn unknown_function(&self, error: Error, function: &Name, of: &str, name: &str) -> Error {
        if !of.is_empty() {
            let error = error.note("a call names a function alone, without its path");
            return error.help(format!("write `use {function};` before the kernel, and call `{name}(…)`"));
        }
        let known = self.names.those(|symbol| matches!(symbol, Symbol::Function(_)));
        let help = did_you_mean(name, known).or_else(|| nearest_method(name));
        error
            .note("it is not defined by a `fn` before the kernel, by a closure, or by a `use` of a function of `functions!`")
            .help(format!("define it before the kernel, `fn {name}(v: f32) -> f32 {{ … }}`, or import it, `use self::{name};`"))
            .maybe_help(help)
    }
}

/// The last name of a path.
fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// Writes a call as a method of its first argument.
fn method(receiver: &Expr, name: &str, rest: &[Expr]) -> String {
    let rest: Vec<String> = rest.iter().map(Expr::short).collect();
    format!("{}.{name}({})", receiver.short_operand(), rest.join(", "))
}
