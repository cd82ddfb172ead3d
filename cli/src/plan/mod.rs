//! `tilewright plan`: prints the schedules that the planner writes for kernels.
//!
//! ```text
//! kernels of FILE, a profile ─ versions ─▶ facts, directives and reasons ─ text ─▶ a Rust file ─ out ─▶ printed, written or compared
//! ```

mod out;
mod text;
mod versions;

use crate::exit::{Exit, Problem};
use crate::options::Plan;
use crate::output;
use serde_json::{Value, json};
use std::path::Path;
use text::Form;
use tilewright_explain::source::{Bound, Item, Source, SourceError, Subject};
use versions::Planned;

pub(crate) fn run(options: &Plan) -> Result<Exit, Problem> {
    out::precheck(options)?;
    let source = Source::open(&options.file)?;
    let (mut planned, mut problems) = (Vec::new(), Vec::new());
    for (_, plan) in plans(&options.kernels(), &source)? {
        match plan {
            Ok(plan) => planned.push(plan),
            Err(problem) => problems.push(problem),
        }
    }
    if planned.is_empty()
        && let Some(last) = problems.pop()
    {
        problems.iter().for_each(|problem| problem.report(false));
        return Err(last);
    }
    let form = if options.tune { Form::Tuned } else { Form::Plain };
    let text = text::file(&planned, &source.profile_path(&options.profile)?, source.tilewright(), form);
    let exit = match options.write.as_ref().or(options.check.as_ref()) {
        Some(file) if !problems.is_empty() => {
            let help = "select kernels with `--kernel`, without those that fail";
            output::message(format_args!("{} is not written or compared; {help}", file.display()));
            Exit::No
        }
        Some(file) if options.check.is_some() => out::check(options, file, &text)?,
        Some(file) => out::write(options, file, &text, &planned)?,
        None => printed(options, &text, &planned),
    };
    problems.iter().for_each(|problem| problem.report(false));
    Ok(if problems.is_empty() { exit } else { Exit::No })
}

/// The kernels that are planned.
pub(crate) struct Kernels<'o> {
    /// Their file.
    pub(crate) file: &'o Path,
    /// Their names. None selects all.
    pub(crate) names: &'o [String],
    /// The profile that they are planned for.
    pub(crate) profile: &'o str,
    /// The values of generics.
    pub(crate) bind: &'o [Bound],
}

/// A planned schedule whose numbers are tuned constants, and whose dims are pinned.
pub(crate) struct Tunable {
    /// The kernel's name.
    pub(crate) kernel: String,
    /// The schedule's name.
    pub(crate) name: String,
    /// The content of `schedule!`.
    pub(crate) text: String,
}

/// A value for the kernel of this name.
pub(crate) type OfKernel<T> = (String, T);

/// Plans kernels, and returns the schedules of each in the order in which a launch tries them, and the kernels whose planning fails.
pub(crate) fn tunable(kernels: &Kernels<'_>, source: &Source) -> Result<(Vec<Tunable>, Vec<OfKernel<Problem>>), Problem> {
    let profile = source.profile_path(kernels.profile)?.path;
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for (kernel, planned) in plans(kernels, source)? {
        match planned {
            Ok(planned) => found.extend((1..).zip(&planned.versions).map(|(n, version)| {
                let name = planned.name(n);
                let text = text::schedule(&planned, version, &name, &profile, Form::Pinned);
                Tunable { kernel: kernel.clone(), name, text }
            })),
            Err(problem) => problems.push((kernel, problem)),
        }
    }
    Ok((found, problems))
}

/// Plans the selected kernels. A kernel that cannot be parsed or planned does not stop the others. Returns each with its name.
fn plans(options: &Kernels<'_>, source: &Source) -> Result<Vec<OfKernel<Result<Planned, Problem>>>, Problem> {
    let profile = source.profile_named(options.profile)?;
    let there = source.kernels();
    let kernels = asked(options, &there)?;
    let parsed = |kernel: &Item| source.unscheduled(&kernel.name, &profile, &[]);
    let subjects: Vec<_> = kernels.into_iter().map(|kernel| (kernel, parsed(kernel))).collect();
    for (n, bound) in options.bind.iter().enumerate() {
        if options.bind[..n].iter().any(|other| other.name == bound.name) {
            return Err(Problem::usage(format!("`{}` has two values", bound.name)));
        }
        let mut generics = subjects.iter().filter_map(|(_, subject)| subject.as_ref().ok()).flat_map(|s| &s.kernel.generics);
        if generics.all(|generic| generic.name.text != bound.name) {
            return Err(Problem::usage(format!("`{}` is not a generic of a selected kernel", bound.name)));
        }
    }
    let prefix = |kernel: &Item| match there.len() {
        1 => String::new(),
        _ => format!("{}_", kernel.name.trim_start_matches("r#").to_uppercase()),
    };
    let plan = |(kernel, subject): (&Item, Result<Subject, SourceError>)| {
        let planned = subject.map_err(Problem::from);
        let planned = planned.and_then(|subject| versions::planned(source, &subject, (kernel, &prefix(kernel)), options.bind));
        (kernel.name.clone(), planned)
    };
    Ok(subjects.into_iter().map(plan).collect())
}

/// Returns the selected kernels, in the order of the file.
fn asked<'k>(options: &Kernels<'_>, there: &'k [Item]) -> Result<Vec<&'k Item>, Problem> {
    if there.is_empty() {
        return Err(Problem::usage(format!("{} does not contain kernels", options.file.display())));
    }
    if let Some(name) = options.names.iter().find(|name| there.iter().all(|kernel| kernel.name != **name)) {
        let there = there.iter().map(|kernel| kernel.name.clone()).collect();
        return Err(SourceError::NoKernel { name: name.clone(), there }.into());
    }
    Ok(there.iter().filter(|kernel| options.names.is_empty() || options.names.contains(&kernel.name)).collect())
}

/// Prints the plan.
fn printed(options: &Plan, text: &str, planned: &[Planned]) -> Exit {
    match options.json {
        true => output::json(&report(text, planned)),
        false => output::raw(text.as_bytes()),
    }
    Exit::Done
}

/// Returns the plan as data.
fn report(text: &str, planned: &[Planned]) -> Value {
    json!({ "kernels": planned.iter().map(Planned::report).collect::<Vec<_>>(), "source": text })
}
