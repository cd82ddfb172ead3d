//! A schedule's head: what its generics are bound to, and the facts after `where`.
//!
//! Refused: generics that the kernel has not, or of another kind; facts that are no comparisons of sizes; facts that
//! contradict one another or the kernel.

use crate::algorithm::Bindings;
use crate::diag::{Error, Errors, did_you_mean, list};
use crate::expr::{Binary, ExprId};
use crate::facts::Prover;
use crate::nest::{Condition, Program, Space};
use crate::syntax::expr::{BinaryOp, Expr, ExprKind};
use crate::syntax::kernel::{GenericKind, Kernel};
use crate::syntax::schedule::{Binding, Schedule};
use crate::syntax::{Name, kernel};
use tilewright_launch::{DType, Relation};

/// What a schedule binds a kernel's generics to. A fact that equates a symbolic dim with a literal binds that dim.
pub fn bindings(kernel: &Kernel, schedule: &Schedule) -> Result<Bindings, Errors> {
    let mut errors = Errors::new();
    let mut bindings = Bindings { span: schedule.name.span, ..Bindings::default() };
    for (i, binding) in schedule.bindings.iter().enumerate() {
        if schedule.bindings[..i].iter().any(|b| b.name.text == binding.name.text) {
            errors.push(Error::new(binding.name.span, format!("`{}` is bound twice", binding.name)));
            continue;
        }
        errors.keep(bind(kernel, binding, &mut bindings));
    }
    for fact in &schedule.facts {
        if let Some((name, value)) = equated(kernel, fact) {
            bindings.dims.push((name, value));
        }
    }
    errors.into_result().map(|()| bindings)
}

fn bind(kernel: &Kernel, binding: &Binding, bindings: &mut Bindings) -> Result<(), Error> {
    let Binding { name, value } = binding;
    let Some(generic) = kernel.generics.iter().find(|g| g.name.text == name.text) else {
        let names = kernel.generics.iter().filter(|g| !matches!(g.kind, GenericKind::Dim)).map(|g| g.name.as_str());
        let help = did_you_mean(&name.text, names.clone()).unwrap_or_else(|| format!("a schedule can bind {}", list(names)));
        return Err(Error::new(name.span, format!("`{}` has no generic `{name}`", kernel.name)).help(help));
    };
    match &generic.kind {
        GenericKind::Dtype(choices) => {
            let dtype = match &value.kind {
                ExprKind::Name(text) => DType::from_name(text),
                _ => None,
            };
            let dtype = dtype.ok_or_else(|| Error::new(value.span, format!("`{name}` is a dtype: one of {}", list(choices))))?;
            bindings.dtypes.push((Name { text: name.text.clone(), span: value.span }, dtype));
        }
        GenericKind::Value(_) => {
            let number = number(value)
                .ok_or_else(|| Error::new(value.span, format!("`{name}` is a parameter: a whole number is wanted")))?;
            bindings.parameters.push((Name { text: name.text.clone(), span: value.span }, number));
        }
        GenericKind::Dim => {
            let error = Error::new(name.span, format!("`{name}` is a dim that is known only at launch"));
            return Err(error.help(format!("state it as a fact: `where {name} == …`")));
        }
    }
    Ok(())
}

fn number(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Int { value, suffix: None } => i64::try_from(*value).ok(),
        ExprKind::Neg(a) => number(a)?.checked_neg(),
        _ => None,
    }
}

/// `N == 3`.
fn literal(fact: &Expr) -> Option<(Name, i64)> {
    let ExprKind::Compare(crate::expr::Compare::Eq, _, a, b) = &fact.kind else { return None };
    match (&a.kind, &b.kind) {
        (ExprKind::Name(dim), _) => Some((Name { text: dim.clone(), span: a.span }, number(b)?)),
        (_, ExprKind::Name(dim)) => Some((Name { text: dim.clone(), span: b.span }, number(a)?)),
        _ => None,
    }
}

/// The same of a symbolic dim.
fn equated(kernel: &kernel::Kernel, fact: &Expr) -> Option<(Name, i64)> {
    let (dim, value) = literal(fact)?;
    let symbolic = |g: &kernel::Generic| g.name.text == dim.text && matches!(g.kind, GenericKind::Dim);
    kernel.generics.iter().any(symbolic).then_some((dim, value))
}

/// Notes the facts of a schedule in a program.
pub fn facts(program: &mut Program, schedule: &Schedule) -> Result<(), Errors> {
    let (mut errors, needed) = (Errors::new(), program.conditions.len());
    for fact in &schedule.facts {
        errors.keep(note(program, fact));
    }
    errors.into_result()?;
    match Prover::new(program).contradiction() {
        Some(conditions) => Err(contradiction(program, schedule, &conditions, needed).into()),
        None => Ok(()),
    }
}

/// Conditions that no sizes satisfy together; the first `needed` of the program's are the kernel's own.
fn contradiction(program: &Program, schedule: &Schedule, conditions: &[usize], needed: usize) -> Error {
    let known = |at: &usize| program.conditions.get(*at);
    let (kernel, facts): (Vec<usize>, Vec<usize>) = conditions.iter().partition(|at| **at < needed);
    // A fact that has bound a dim is in all that names the dim, and in no condition.
    let binds = || schedule.facts.iter().rev().find(|fact| literal(fact).is_some()).map(|fact| fact.span);
    let blame = facts.iter().filter_map(known).next_back().map(|fact| fact.span).or_else(binds).unwrap_or(schedule.name.span);
    let texts = list(conditions.iter().filter_map(known).map(|c| &c.text));
    let what = if kernel.is_empty() { "one another" } else { "the kernel" };
    let error = Error::new(blame, format!("the facts contradict {what}: no sizes satisfy {texts}"));
    let error = kernel.iter().filter_map(known).fold(error, |e, c| e.note_at(c.span, format!("the kernel needs `{}`", c.text)));
    error.help("this variant would never be taken: drop or correct a fact")
}

/// Notes one fact.
pub(super) fn note(program: &mut Program, fact: &Expr) -> Result<(), Error> {
    match &fact.kind {
        ExprKind::Compare(op, _, a, b) => {
            let (left, right) = (size(program, a)?, size(program, b)?);
            let relation = relation(*op);
            let show = |e| crate::nest::print::expr(program, e);
            let text = match (&a.kind, &b.kind) {
                (ExprKind::Name(name), _) => format!("{name} {} {}", relation.symbol(), show(right)),
                (_, ExprKind::Name(name)) => format!("{} {} {name}", show(left), relation.symbol()),
                _ => format!("{} {} {}", show(left), relation.symbol(), show(right)),
            };
            program.conditions.push(Condition { left, relation, right, text, span: fact.span });
            Ok(())
        }
        ExprKind::Binary(BinaryOp::And, _, a, b) => note(program, a).and_then(|()| note(program, b)),
        ExprKind::Call { function, args } if function.text == "finite" => finite(program, args, fact),
        _ => Err(Error::new(fact.span, "this is no fact")
            .help("a fact compares two sizes, `OW % 8 == 0`, or says `finite(x)` of a tensor")),
    }
}

fn relation(op: crate::expr::Compare) -> Relation {
    use crate::expr::Compare;
    match op {
        Compare::Eq => Relation::Eq,
        Compare::Ne => Relation::Ne,
        Compare::Lt => Relation::Lt,
        Compare::Le => Relation::Le,
        Compare::Gt => Relation::Gt,
        Compare::Ge => Relation::Ge,
    }
}

fn finite(program: &mut Program, args: &[Expr], fact: &Expr) -> Result<(), Error> {
    let [Expr { kind: ExprKind::Name(name), span }] = args else {
        return Err(Error::new(fact.span, "`finite` takes one tensor"));
    };
    let given = |b: &&crate::nest::Buffer| matches!(b.space, Space::Input | Space::Update);
    let Some((id, buffer)) = program.buffers.iter().find(|(_, b)| b.name == *name && given(b)) else {
        let names = list(program.buffers.values().filter(given).map(|b| &b.name));
        return Err(Error::new(*span, format!("there is no input `{name}`")).help(format!("the inputs are {names}")));
    };
    if !buffer.dtype.is_float() {
        return Err(Error::new(*span, format!("`{name}` is of {}, whose values are all finite", buffer.dtype)));
    }
    program.finite.push(id);
    Ok(())
}

/// A size over a program's dims and parameters.
fn size(program: &mut Program, expr: &Expr) -> Result<ExprId, Error> {
    match &expr.kind {
        ExprKind::Int { value, suffix: None } => match i32::try_from(*value) {
            Ok(value) => Ok(program.exprs.int(i64::from(value))),
            Err(_) => Err(Error::new(expr.span, "this size is beyond 2^31")),
        },
        ExprKind::Name(name) => named(program, name, expr),
        ExprKind::Neg(a) => {
            let (zero, a) = (program.exprs.int(0), size(program, a)?);
            Ok(program.exprs.difference(zero, a))
        }
        ExprKind::Binary(op, _, a, b) => {
            let (a, b) = (size(program, a)?, size(program, b)?);
            let op = match op {
                BinaryOp::Add => Binary::Add,
                BinaryOp::Sub => Binary::Sub,
                BinaryOp::Mul => Binary::Mul,
                BinaryOp::Div | BinaryOp::Rem if program.exprs.as_int(b).is_none_or(|b| b < 1) => {
                    return Err(Error::new(expr.span, "a fact divides by a number that is at least 1"));
                }
                BinaryOp::Div => Binary::FloorDiv,
                BinaryOp::Rem => Binary::FloorMod,
                _ => return Err(Error::new(expr.span, format!("there is no `{}` of sizes", op.symbol()))),
            };
            Ok(program.exprs.binary(op, a, b))
        }
        ExprKind::Block(block) if block.lets.is_empty() => size(program, &block.value),
        _ => {
            Err(Error::new(expr.span, "this is no size").help("a size is made of dims, parameters, whole numbers and `+ - * / %`"))
        }
    }
}

fn named(program: &mut Program, name: &str, expr: &Expr) -> Result<ExprId, Error> {
    if let Some((_, value)) = program.parameters.iter().find(|(n, _)| n == name) {
        let value = *value;
        return Ok(program.exprs.int(value));
    }
    if let Some((id, _)) = program.dims.iter().find(|(_, d)| d.name == name) {
        // Of a dim that is bound to a literal, the launch compares the shapes that it stands in with that literal.
        return Ok(program.exprs.dim(id));
    }
    let names = program.dims.values().map(|d| d.name.as_str()).chain(program.parameters.iter().map(|(n, _)| n.as_str()));
    let help = did_you_mean(name, names.clone()).unwrap_or_else(|| format!("the dims and parameters are {}", list(names)));
    Err(Error::new(expr.span, format!("the kernel has no dim `{name}`")).help(help))
}
