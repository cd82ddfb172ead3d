//! Calls of functions and closures, which are inlined: the arguments become names, and the body is checked as a block in the function's own
//! scope. So later passes see plain expressions, and an argument is one shared expression however often the body uses it.

use super::names::{Callee, Names, Symbol};
use super::types::{self, article};
use super::values::DEEPEST;
use super::{Checked, Checker, Poisoned};
use crate::diag::{Error, Errors, SpanId, list};
use crate::expr::ExprId;
use crate::nest::Scalar;
use crate::syntax::expr::{Expr, Let};
use crate::syntax::functions::Param;
use crate::syntax::kernel::Generic;
use crate::syntax::{Function, Functions, Kernel, Name};
use std::collections::HashMap;
use std::sync::Arc;
use tilewright_launch::DType;

/// The most calls of a kernel, including those within functions. It is limited, because functions that call each other several times
/// multiply.
const CALLS: u32 = 4096;

/// The greatest sum of the heights of the bodies that are checked within each other, because the check recurses on rustc's stack.
const HEIGHT: u32 = 512;

/// The most choices of dtypes for which a function is checked alone.
const CHOICES: usize = 64;

/// A call whose body is being checked.
pub(super) struct Frame {
    pub(super) function: Arc<Function>,
    /// The place of the call.
    span: SpanId,
    /// The names at the call.
    pub(super) around: Names,
    /// The sum of the heights of the bodies up to this call.
    height: u32,
}

impl Checker<'_> {
    /// Returns the names of the functions of a scope.
    pub(super) fn scope(&self, scope: usize) -> Names {
        let (functions, mut names) = (&self.kernel.functions, Names::default());
        for scoped in functions.scopes.get(scope).into_iter().flatten() {
            let function = scoped.function.and_then(|n| functions.all.get(n));
            let symbol = function.map_or(Symbol::Poisoned, |f| Symbol::Function(Callee::Item(f.clone())));
            names.push(&scoped.name, symbol);
        }
        names
    }

    /// Declares the names of the item's own functions, and refuses those that call themselves.
    pub(super) fn functions(&mut self) {
        cycles(&self.kernel.functions).into_iter().for_each(|error| self.errors.push(error));
        for scoped in self.kernel.functions.scopes.first().into_iter().flatten() {
            let function = scoped.function.and_then(|n| self.kernel.functions.all.get(n));
            match function.cloned() {
                // Declaring fails only if the name is taken, and reports that.
                Some(function) => drop(self.declare(&scoped.name, Symbol::Function(Callee::Item(function)))),
                None => self.poison(&scoped.name),
            }
        }
    }

    /// Returns the value of a call.
    pub(super) fn inlined(&mut self, span: SpanId, callee: &Callee, args: &[Expr], wanted: Option<DType>) -> Checked<ExprId> {
        let function = callee.function().clone();
        let height = self.calls.last().map_or(0, |frame| frame.height) + function.body.height();
        self.may_call(span, &function, args, height)?;
        let within = match callee {
            Callee::Item(function) => self.scope(function.scope),
            Callee::Closure(_, names) => names.clone(),
        };
        let given = self.arguments(span, (&function, &within), args, wanted)?;
        let around = std::mem::replace(&mut self.names, within);
        self.calls.push(Frame { function: function.clone(), span, around, height });
        let value = self.body(&function, given, wanted);
        if let Some(frame) = self.calls.pop() {
            self.names = frame.around;
        }
        let value = value?;
        if self.program.exprs.depth(value) > DEEPEST {
            let error = Error::new(span, format!("the call of `{}` is computed in more than {DEEPEST} steps", function.name));
            return self.fail(error.help("define a part of it as an intermediate: `let s[i]: f32[N] = …;`"));
        }
        Ok(value)
    }

    /// Checks the number of arguments, and the limits.
    fn may_call(&mut self, span: SpanId, function: &Arc<Function>, args: &[Expr], height: u32) -> Checked<()> {
        let (name, takes) = (&function.name, function.params.len());
        if takes != args.len() {
            let plural = if takes == 1 { "" } else { "s" };
            let error = Error::new(span, format!("`{name}` takes {takes} argument{plural}, not {}", args.len()));
            return self.fail(error.note_at(function.span, "it is defined here"));
        }
        // A function that calls itself is an error of its definition.
        if self.calls.iter().any(|frame| Arc::ptr_eq(&frame.function, function)) {
            return Err(Poisoned);
        }
        self.inlined += 1;
        let what = match self.inlined {
            // The limit is reported once.
            n if n > CALLS + 1 => return Err(Poisoned),
            n if n > CALLS => format!("there are more than {CALLS} calls in this kernel, with those in its functions"),
            _ if height > HEIGHT => format!("`{name}` is called within too many other calls"),
            _ => return Ok(()),
        };
        self.fail(Error::new(span, what).help("define a part of it as an intermediate: `let s[i]: f32[N] = …;`"))
    }

    /// Returns the meanings of the generics and the parameters, in order. `callee` is the function and the names that it sees.
    fn arguments(
        &mut self,
        span: SpanId,
        callee: (&Function, &Names),
        args: &[Expr],
        wanted: Option<DType>,
    ) -> Checked<Vec<(Name, Symbol)>> {
        let (function, mut within) = (callee.0, callee.1.clone());
        let (mut given, mut values) = (Vec::new(), HashMap::new());
        for (generic, choices) in &function.generics {
            let dtype = self.generic(span, function, (generic, choices), args, wanted, &mut values)?;
            within.push(generic, Symbol::Dtype(dtype));
            given.push((generic.clone(), Symbol::Dtype(dtype)));
        }
        let mut result = Ok(());
        for (n, (param, arg)) in function.params.iter().zip(args).enumerate() {
            let known = values.get(&n).map(|value| Ok(Symbol::Value(*value)));
            match known.unwrap_or_else(|| self.argument_of(function, &within, param, arg)) {
                Ok(symbol) => given.push((param.name.clone(), symbol)),
                Err(poisoned) => result = Err(poisoned),
            }
        }
        result.map(|()| given)
    }

    /// Returns the meaning of a parameter whose dtype is not a generic.
    fn argument_of(&mut self, function: &Function, within: &Names, param: &Param, arg: &Expr) -> Checked<Symbol> {
        let Some(dtype) = &param.dtype else {
            return self.meaning(&Let { name: param.name.clone(), dtype: None, value: arg.clone() });
        };
        let around = std::mem::replace(&mut self.names, within.clone());
        let wanted = self.dtype(dtype);
        self.names = around;
        let (wanted, before) = (wanted?, self.errors.0.len());
        let value = self.value_as(arg, wanted);
        self.note_since(before, arg.span, param.name.span, || {
            format!("the parameter `{}` of `{}` is {} here", param.name, function.name, article(wanted))
        });
        value.map(Symbol::Value)
    }

    /// Adds a note to the errors at a place that were reported after the first `before` ones.
    fn note_since(&mut self, before: usize, span: SpanId, at: SpanId, note: impl Fn() -> String) {
        for error in self.errors.0.iter_mut().skip(before).filter(|error| error.span == span) {
            error.notes.push((note(), at));
        }
    }

    /// Returns the dtype of a generic: the dtype of the arguments whose parameters have it. Adds the values of these arguments to `values`, by
    /// their numbers, because an argument is checked once.
    fn generic(
        &mut self,
        span: SpanId,
        function: &Function,
        (generic, choices): (&Name, &[Name]),
        args: &[Expr],
        wanted: Option<DType>,
        values: &mut HashMap<usize, ExprId>,
    ) -> Checked<DType> {
        let has_it = |dtype: &Option<Name>| dtype.as_ref().is_some_and(|dtype| dtype.text == generic.text);
        let choices: Vec<DType> = choices.iter().filter_map(|choice| types::plain(choice).ok()).collect();
        let numbers: Vec<usize> = (0..args.len()).filter(|n| has_it(&function.params[*n].dtype)).collect();
        let parts: Vec<&Expr> = numbers.iter().map(|n| &args[*n]).collect();
        let only = choices.first().copied().filter(|_| choices.len() == 1);
        let wanted = wanted.filter(|_| has_it(&function.result)).or(only);
        let before = self.errors.0.len();
        let ids = self.uniform(&format!("`{}`", function.name), span, &parts, wanted);
        self.note_since(before, span, generic.span, || format!("these arguments have one dtype, `{generic}`"));
        let ids = ids?;
        let Some(dtype) = ids.first().map(|id| self.program.exprs.dtype(*id)).or(wanted) else {
            let error = Error::new(span, format!("no argument determines the dtype `{generic}` of `{}`", function.name));
            return self.fail(error.note_at(generic.span, "it is declared here"));
        };
        if !choices.contains(&dtype) && !choices.is_empty() {
            let at = parts.first().map_or(span, |part| part.span);
            let error = Error::new(at, format!("`{generic}` of `{}` is not `{dtype}`", function.name));
            return self.fail(error.note_at(generic.span, format!("it is one of {}", list(&choices))));
        }
        for ((n, part), id) in numbers.into_iter().zip(parts).zip(ids) {
            values.insert(n, self.has_type(part, id, dtype)?);
        }
        Ok(dtype)
    }

    /// Checks a body, in the function's scope.
    fn body(&mut self, function: &Function, given: Vec<(Name, Symbol)>, wanted: Option<DType>) -> Checked<ExprId> {
        let mut result = Ok(());
        for (name, symbol) in given {
            if self.declare(&name, symbol).is_err() {
                self.poison(&name);
                result = Err(Poisoned);
            }
        }
        let dtype = function.result.as_ref().map(|name| self.dtype(name)).transpose()?;
        let value = self.block(&function.body, dtype.or(wanted));
        result?;
        match (value?, dtype) {
            (value, Some(dtype)) => self.has_type(&function.body.value, value, dtype),
            (value, None) => Ok(value),
        }
    }

    /// Adds the places of the calls around to an error in a function.
    pub(super) fn called_from(&self, error: Error) -> Error {
        self.calls
            .iter()
            .rev()
            .fold(error, |error, frame| error.note_at(frame.span, format!("`{}` is called here", frame.function.name)))
    }
}

/// Checks the functions that an item itself defines, each alone and for each choice of its dtypes. A part that depends on a parameter without a
/// dtype is checked only where the function is called. `generics` are the generics of the kernel after the functions, which errors name.
pub fn check_functions(functions: &Functions, generics: &[Generic]) -> Result<(), Errors> {
    let (functions, whole) = (functions.clone(), functions.are_whole());
    let kernel = Kernel { functions, whole, generics: generics.to_vec(), ..Kernel::default() };
    let mut errors = Errors::new();
    for (_, function) in kernel.functions.own() {
        for choice in choices(function) {
            let mut checker = Checker::new(&kernel, true);
            checker.functions();
            let param = |checker: &mut Checker<'_>, param: &Param| match &param.dtype {
                None => Symbol::Poisoned,
                Some(dtype) => match checker.dtype(dtype) {
                    Ok(dtype) => {
                        let scalar = checker.program.scalars.push(Scalar { name: param.name.text.clone(), dtype });
                        Symbol::Scalar(checker.program.exprs.scalar(scalar, dtype))
                    }
                    Err(_) => Symbol::Poisoned,
                },
            };
            choice.iter().for_each(|(name, dtype)| drop(checker.declare(name, Symbol::Dtype(*dtype))));
            let given = function.params.iter().map(|p| (p.name.clone(), param(&mut checker, p))).collect();
            let _ = checker.body(function, given, None);
            errors.extend(checker.errors);
        }
    }
    errors.into_result()
}

/// Returns the choices of a function's dtypes, up to a limit.
fn choices(function: &Function) -> Vec<Vec<(Name, DType)>> {
    let mut all: Vec<Vec<(Name, DType)>> = vec![Vec::new()];
    for (name, choices) in &function.generics {
        let dtypes: Vec<DType> = choices.iter().filter_map(|choice| types::plain(choice).ok()).collect();
        let more = |choice: &Vec<(Name, DType)>| {
            dtypes.iter().map(|dtype| choice.iter().cloned().chain([(name.clone(), *dtype)]).collect()).collect::<Vec<Vec<_>>>()
        };
        all = all.iter().flat_map(more).take(CHOICES).collect();
    }
    all
}

/// Returns the errors of functions that call themselves.
pub(super) fn cycles(functions: &Functions) -> Vec<Error> {
    let mut found: Vec<Error> = Vec::new();
    let mut named: Vec<usize> = Vec::new();
    for (start, function) in functions.own() {
        if named.contains(&start) {
            continue;
        }
        let Some(path) = path_to_itself(functions, start) else { continue };
        let through: Vec<&str> = path.iter().map(|n| functions.all[*n].name.as_str()).collect();
        named.extend(&path);
        let through = if through.is_empty() { String::new() } else { format!(" through {}", list(through)) };
        let error = Error::new(function.name.span, format!("the function `{}` calls itself{through}", function.name));
        let error = error.note("calls are replaced by the function's value, which would never end");
        found.push(error.help("a repeated computation is a reduction of the kernel, `sum(k in 0..K) { … }`"));
    }
    found
}

/// Returns the functions between a function and its call of itself. `None` if it does not call itself.
fn path_to_itself(functions: &Functions, start: usize) -> Option<Vec<usize>> {
    let called = |from: usize| -> Vec<usize> {
        let Some(function) = functions.all.get(from) else { return Vec::new() };
        function.calls().into_iter().filter_map(|name| functions.find(function.scope, name)).collect()
    };
    let mut before: Vec<Option<usize>> = vec![None; functions.all.len()];
    let mut open = vec![start];
    while let Some(from) = open.pop() {
        for to in called(from) {
            if to == start {
                let path = std::iter::successors(Some(from), |n| before[*n]).take_while(|n| *n != start);
                let mut path: Vec<usize> = path.collect();
                path.reverse();
                return Some(path);
            }
            if before[to].is_none() {
                before[to] = Some(from);
                open.push(to);
            }
        }
    }
    None
}
