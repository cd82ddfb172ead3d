//! `tune B in [64, 128] = 64`: a constant of the schedule with candidate values.
//!
//! Every number of a directive can be an expression of tuned constants. The macros compile the defaults. A tuner compiles every
//! [`Choice`] of [`choices`] by [`crate::variant::compile`], and gets the error of each choice that is refused.
//!
//! Refused: no candidates; a candidate that is below 1 or repeated; a default that is not a candidate; a name that the kernel or
//! another tuned constant has. A constant that is not used is a warning.

use super::head;
use crate::algorithm;
use crate::diag::{Error, Errors, SpanId, list};
use crate::nest::{Program, Tuned};
use crate::schedule::number;
use crate::syntax::Kernel;
use crate::syntax::schedule::{Schedule, StatementKind, Tune};
use std::fmt;

/// The maximum number of choices of a schedule.
pub const MAX_CHOICES: usize = 4096;

/// Values of tuned constants by name. Constants that are not named have their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice(pub Vec<(String, i64)>);

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<String> = self.0.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        f.write_str(&values.join(", "))
    }
}

/// Returns all choices that a schedule's tuned constants allow; the last constant varies fastest. A schedule without tuned
/// constants has one empty choice.
///
/// # Errors
/// Reports errors of the schedule's header or its tuned constants, and more than [`MAX_CHOICES`] choices.
pub fn choices(kernel: &Kernel, schedule: &Schedule) -> Result<Vec<Choice>, Errors> {
    let mut program = algorithm::check(kernel, &head::bindings(kernel, schedule)?)?;
    bind(&mut program, kernel, schedule, &Choice::default())?;
    let count = program.statements.tuned.iter().try_fold(1usize, |n, t| n.checked_mul(t.candidates.len()));
    if count.is_none_or(|n| n > MAX_CHOICES) {
        let blame = program.statements.tuned.last().map_or(schedule.name.span, |t| t.span);
        let error = Error::new(blame, format!("the tuned constants make more than {MAX_CHOICES} choices"));
        return Err(error.help("give some of them fewer candidates").into());
    }
    let mut all = vec![Choice::default()];
    for tuned in &program.statements.tuned {
        let with = |choice: &Choice, value: i64| Choice([choice.0.as_slice(), &[(tuned.name.clone(), value)]].concat());
        all = all.iter().flat_map(|choice| tuned.candidates.iter().map(move |value| with(choice, *value))).collect();
    }
    Ok(all)
}

/// Records a schedule's tuned constants, with the values of a choice, in a program.
pub(crate) fn bind(program: &mut Program, kernel: &Kernel, schedule: &Schedule, choice: &Choice) -> Result<(), Errors> {
    let mut errors = Errors::new();
    let mut found: Vec<Tuned> = Vec::new();
    for statement in schedule.statements() {
        let StatementKind::Tune(tune) = &statement.kind else { continue };
        if let Some(tuned) = errors.keep(one(program, kernel, tune, &found)) {
            found.push(tuned);
        }
    }
    for (name, value) in &choice.0 {
        errors.keep(choose(&mut found, name, *value, schedule.name.span));
    }
    program.statements.tuned = found;
    errors.into_result()
}

fn one(program: &mut Program, kernel: &Kernel, tune: &Tune, before: &[Tuned]) -> Result<Tuned, Errors> {
    let Tune { name, candidates, default } = tune;
    is_free(program, kernel, tune, before)?;
    if candidates.is_empty() {
        return Err(Error::new(name.span, format!("`{name}` needs at least one candidate"))
            .help(format!("write `tune {name} in [1, 2] = 1;`"))
            .into());
    }
    let (mut errors, mut values) = (Errors::new(), Vec::new());
    for candidate in candidates {
        match number::at_least(program, 0, candidate, "a candidate") {
            Ok(value) if values.contains(&value) => {
                errors.push(Error::new(candidate.span, format!("`{name}` has the candidate {value} twice")));
            }
            Ok(value) => values.push(value),
            Err(error) => errors.push(error),
        }
    }
    errors.into_result()?;
    let value = number::at_least(program, 0, default, "a default")?;
    if !values.contains(&value) {
        let error = Error::new(default.span, format!("the default of `{name}`, {value}, is not one of its candidates"));
        return Err(error.help(format!("the candidates are {}", list(&values))).into());
    }
    Ok(Tuned { name: name.text.clone(), value, candidates: values, used: false, span: name.span })
}

/// Checks that a name does not have another meaning in the schedule.
fn is_free(program: &Program, kernel: &Kernel, tune: &Tune, before: &[Tuned]) -> Result<(), Error> {
    let name = &tune.name;
    if let Some(other) = before.iter().find(|t| t.name == name.text) {
        return Err(Error::new(name.span, format!("`{name}` is tuned twice")).note_at(other.span, "first here"));
    }
    let generic = kernel.generics.iter().find(|g| g.name.text == name.text).map(|g| ("a generic", g.name.span));
    let axis = || program.axes.values().find(|a| a.name == name.text).map(|a| ("an axis", a.span));
    let tensor = || program.buffers.values().find(|b| b.name == name.text).map(|b| ("a tensor", b.span));
    match generic.or_else(axis).or_else(tensor) {
        None => Ok(()),
        Some((what, span)) => {
            let error = Error::new(name.span, format!("the kernel has {what} `{name}`"));
            Err(error.note_at(span, "here").help("choose another name for the tuned constant"))
        }
    }
}

fn choose(found: &mut [Tuned], name: &str, value: i64, blame: SpanId) -> Result<(), Error> {
    let names = list(found.iter().map(|t| &t.name));
    let Some(tuned) = found.iter_mut().find(|t| t.name == name) else {
        let help = if found.is_empty() {
            format!("write `tune {name} in [1, 2] = 1;`")
        } else {
            format!("its tuned constants are {names}")
        };
        return Err(Error::new(blame, format!("`{name}` is not a tuned constant of the schedule")).help(help));
    };
    if !tuned.candidates.contains(&value) {
        let error = Error::new(tuned.span, format!("{value} is not a candidate of `{name}`"));
        return Err(error.help(format!("the candidates are {}", list(&tuned.candidates))));
    }
    tuned.value = value;
    Ok(())
}

/// Returns warnings for constants that no number uses.
pub(crate) fn unused(program: &Program) -> Errors {
    let warn = |t: &Tuned| Error::new(t.span, format!("the tuned constant `{}` is not used", t.name)).help("remove it");
    Errors(program.statements.tuned.iter().filter(|t| !t.used).map(warn).collect())
}
