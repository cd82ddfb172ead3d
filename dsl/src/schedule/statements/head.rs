//! The header of a schedule: the bindings of its generics, and the facts after `where`.
//!
//! Refused: generics that the kernel does not have, or of another kind; facts that are not comparisons of sizes; facts that
//! contradict one another or the kernel.

use crate::algorithm::{Bindings, stated};
use crate::diag::{Error, Errors, did_you_mean, list};
use crate::facts::Prover;
use crate::nest::{Condition, Program};
use crate::syntax::Name;
use crate::syntax::expr::ExprKind;
use crate::syntax::kernel::{GenericKind, Kernel};
use crate::syntax::schedule::{Binding, Schedule};
use tilewright_launch::DType;

/// Returns the bindings of a kernel's generics. A fact that equates a symbolic dim with a literal binds that dim.
pub fn bindings(kernel: &Kernel, schedule: &Schedule) -> Result<Bindings, Errors> {
    let mut errors = Errors::new();
    let mut bindings = Bindings { span: schedule.name.span, ..Bindings::default() };
    for number in &schedule.numbers {
        if let Some(generic) = kernel.generics.iter().find(|generic| generic.name.text == number.text) {
            let error = Error::new(number.span, format!("the kernel has a generic `{number}`")).note_at(generic.name.span, "here");
            errors.push(error.help("choose another name for the number"));
        }
    }
    for (i, binding) in schedule.bindings.iter().enumerate() {
        if schedule.bindings[..i].iter().any(|b| b.name.text == binding.name.text) {
            errors.push(Error::new(binding.name.span, format!("`{}` is bound twice", binding.name)));
            continue;
        }
        errors.keep(bind(kernel, binding, &mut bindings));
    }
    for fact in &schedule.facts {
        if let Some((name, value)) = stated::equated(kernel, fact) {
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
        return Err(Error::new(name.span, format!("`{name}` is not a generic of `{}`", kernel.name)).help(help));
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
            let number = stated::number(value)
                .ok_or_else(|| Error::new(value.span, format!("`{name}` is a parameter: expected a whole number")))?;
            bindings.parameters.push((Name { text: name.text.clone(), span: value.span }, number));
        }
        GenericKind::Dim => {
            let error = Error::new(name.span, format!("`{name}` is a dim that is known only at launch"));
            let stated = stated::number(value).map_or_else(|| "…".into(), |number| number.to_string());
            return Err(error.help(format!("state it as a fact: `where {name} == {stated}`")));
        }
    }
    Ok(())
}

/// Records the facts of a schedule in a program.
pub fn facts(program: &mut Program, schedule: &Schedule) -> Result<(), Errors> {
    let mut errors = Errors::new();
    for fact in &schedule.facts {
        errors.keep(stated::note(program, fact, false));
    }
    errors.into_result()?;
    match Prover::new(program).contradiction() {
        Some(conditions) => Err(contradiction(program, schedule, &conditions).into()),
        None => Ok(()),
    }
}

/// Reports conditions that no sizes satisfy together. Some of them may be the kernel's own.
fn contradiction(program: &Program, schedule: &Schedule, conditions: &[usize]) -> Error {
    let conditions: Vec<&Condition> = conditions.iter().filter_map(|at| program.checks.conditions.get(*at)).collect();
    let (kernel, facts): (Vec<&Condition>, Vec<&Condition>) = conditions.iter().partition(|c| c.needed);
    // A fact that has bound a dim is substituted in every expression that names the dim, so it is not among the conditions.
    let binds = || schedule.facts.iter().rev().find(|fact| stated::literal(fact).is_some()).map(|fact| fact.span);
    let blame = facts.last().map(|fact| fact.span).or_else(binds).unwrap_or(schedule.name.span);
    let texts = list(conditions.iter().map(|c| &c.text));
    let what = if kernel.is_empty() { "one another" } else { "the kernel" };
    let error = Error::new(blame, format!("the facts contradict {what}: no sizes satisfy {texts}"));
    let error = kernel.iter().fold(error, |e, c| e.note_at(c.span, format!("the kernel needs `{}`", c.text)));
    error.help("this variant would never be taken: remove or correct a fact")
}
