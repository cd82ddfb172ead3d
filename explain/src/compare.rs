//! Compares several schedules of one kernel: the cost of a launch of each at the same sizes.
//!
//! If a schedule is specialized, the version that a launch would take counts. If a launch would take none, the comparison gives the
//! reason in place of numbers. The speed of a device comes from each schedule's own profile, and from other requested profiles.

use crate::admit;
use crate::figures::{DimValues, Figures, figures};
use crate::source::{Source, SourceError};
use crate::totals::{Totals, least};
use thiserror::Error;
use tilewright_dsl::algorithm::signature::signature;
use tilewright_dsl::diag::{did_you_mean, list};
use tilewright_dsl::launch::Program;
use tilewright_dsl::nest;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::schedule::tune::Choice;
use tilewright_dsl::syntax::schedule::{Schedule, StatementKind};
use tilewright_dsl::variant;

/// Schedules of one kernel, compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The kernel's name.
    pub kernel: String,
    /// The schedules, in the order in which they were named.
    pub schedules: Vec<Compared>,
    /// The profiles, besides each schedule's own, whose times are given.
    pub profiles: Vec<Profile>,
    /// The costs for each set of sizes.
    pub at: Vec<Sized>,
}

/// A schedule that is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Its name.
    pub name: String,
    /// Its profile.
    pub profile: Profile,
}

/// The costs of the schedules at some sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Sized {
    /// The sizes.
    pub dims: Vec<(String, i64)>,
    /// For every schedule, the version that is taken, or the reason why a launch does not take it.
    pub costs: Vec<Result<Taken, String>>,
}

/// The version of a schedule that a launch takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    /// The facts of its `specialize`; `None` for the plain schedule.
    pub under: Option<String>,
    /// Its cost.
    pub totals: Totals,
    /// The least time in nanoseconds by each of [`Comparison::profiles`].
    pub judged: Vec<Option<f64>>,
}

/// The reason for which schedules cannot be compared.
#[derive(Debug, Error)]
pub enum CompareError {
    /// A schedule is not found.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// There are not two schedules.
    #[error("{}: name two schedules or more to compare", match .0 { 0 => "no schedule is named", _ => "one schedule is named" })]
    Few(usize),
    /// A schedule is named twice.
    #[error("`{0}` is named twice; name each schedule once")]
    Twice(String),
    /// Two schedules are for different kernels.
    #[error(
        "`{first}` and `{second}` are schedules of different kernels, `{}` and `{}`: schedules of one kernel can be compared",
        kernels[0], kernels[1]
    )]
    Kernels {
        /// A schedule.
        first: String,
        /// One of another kernel.
        second: String,
        /// Their kernels.
        kernels: [String; 2],
    },
    /// There are no sizes.
    #[error("no sizes are given; write `--size {}` for each set of sizes", unset(.0))]
    NoSizes(Vec<String>),
    /// A size is given for a dim that the kernel does not have.
    #[error("`{name}` is not a symbolic dim of `{kernel}`{}; there are {}", meant(name, there), list(there))]
    UnknownDim {
        /// The kernel.
        kernel: String,
        /// The name that was given a value.
        name: String,
        /// The dims that can have one.
        there: Vec<String>,
    },
    /// A dim has two values in one set of sizes.
    #[error("`{0}` has two values in one set of sizes; write `--size` again for another set")]
    TwoValues(String),
    /// A dim has no value.
    #[error("the sizes {} do not give {}", shown(.sizes), list(.missing))]
    Missing {
        /// The sizes.
        sizes: Vec<(String, i64)>,
        /// The dims without a value.
        missing: Vec<String>,
    },
    /// A profile does not have the rates of its device.
    #[error("the profile `{0}` lacks `gflops` or `bandwidth`, so it gives no times")]
    NoRates(String),
    /// A schedule is wrong.
    #[error("`{name}` is wrong:\n{errors}")]
    Wrong {
        /// The schedule.
        name: String,
        /// The compiler's errors, with places.
        errors: String,
    },
}

/// Returns ` (did you mean `N`?)` if a similar name exists.
pub(crate) fn meant(name: &str, there: &[String]) -> String {
    did_you_mean(name, there.iter().map(String::as_str)).map_or_else(String::new, |help| format!(" ({help})"))
}

/// Returns `N=…,H=…`.
fn unset(dims: &[String]) -> String {
    dims.iter().map(|dim| format!("{dim}=…")).collect::<Vec<_>>().join(",")
}

/// Returns `N=1,H=4`.
pub(crate) fn shown(sizes: &[(String, i64)]) -> String {
    sizes.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
}

/// A compiled schedule: every version, in the order in which a launch tries them.
struct Compiled {
    name: String,
    profile: Profile,
    versions: Vec<(nest::Program, Program)>,
}

/// Compares schedules of a file at sets of sizes, by their own profiles and by `profiles`. Schedules with tuned constants get their
/// values from `choice`.
///
/// # Errors
/// If a schedule is not found, is wrong or is of another kernel, or if sizes do not give each dim once.
pub fn compare(
    source: &Source,
    names: &[&str],
    sizes: &[Vec<(String, i64)>],
    choice: &Choice,
    profiles: &[Profile],
) -> Result<Comparison, CompareError> {
    if names.len() < 2 {
        return Err(CompareError::Few(names.len()));
    }
    if let Some((_, twice)) = names.iter().enumerate().find(|(n, name)| names[..*n].contains(name)) {
        return Err(CompareError::Twice((*twice).into()));
    }
    if let Some(profile) = profiles.iter().find(|p| p.gflops.is_none() || p.bandwidth.is_none()) {
        return Err(CompareError::NoRates(profile.name.clone()));
    }
    let kernel = one_kernel(source, names)?;
    let symbolic = symbolic(source, names[0])?;
    sizes.iter().try_for_each(|dims| known_dims(&kernel, &symbolic, dims))?;
    let compiled = names.iter().map(|name| compiled(source, name, choice)).collect::<Result<Vec<_>, _>>()?;
    let mut sizes = sizes.to_vec();
    if sizes.is_empty() {
        let open = |name: &&String| compiled.iter().any(|compiled| missing(compiled, &[]).contains(name));
        match symbolic.iter().filter(open).cloned().collect::<Vec<_>>() {
            open if open.is_empty() => sizes.push(Vec::new()),
            open => return Err(CompareError::NoSizes(open)),
        }
    }
    let at = sizes.into_iter().map(|dims| at(&compiled, dims, profiles)).collect::<Result<_, _>>()?;
    let schedules = compiled.into_iter().map(|c| Compared { name: c.name, profile: c.profile }).collect();
    Ok(Comparison { kernel, schedules, profiles: profiles.to_vec(), at })
}

/// Returns the name of the kernel that all schedules are for.
fn one_kernel(source: &Source, names: &[&str]) -> Result<String, CompareError> {
    let mut first: Option<(String, String)> = None;
    for name in names {
        let tokens = source.tokens(name)?.kernel.to_string();
        let kernel = source.subject(name)?.kernel.name.text;
        match &first {
            Some((of, text)) if *text != tokens => {
                let (first, second) = (names[0].to_owned(), (*name).to_owned());
                return Err(CompareError::Kernels { first, second, kernels: [of.clone(), kernel] });
            }
            Some(_) => {}
            None => first = Some((kernel, tokens)),
        }
    }
    Ok(first.map(|(kernel, _)| kernel).unwrap_or_default())
}

fn compiled(source: &Source, name: &str, choice: &Choice) -> Result<Compiled, CompareError> {
    let subject = source.subject(name)?;
    let wrong = |errors: String| CompareError::Wrong { name: name.into(), errors: source.place(errors.trim_end()) };
    let choice = Choice(choice.0.iter().filter(|(tuned, _)| tunes(&subject.schedule, tuned)).cloned().collect());
    let made = variant::compile(
        &subject.kernel,
        &subject.schedule,
        &subject.profile,
        &choice,
        &|at| subject.place(at),
        tilewright_spirv::compile,
    )
    .map_err(|errors| wrong(errors.texts(&subject.spans)))?;
    // In the order of a launch: the plain schedule is the last.
    let programs = made.program.into_versions().map_err(wrong)?;
    let nests = made.specialized.into_iter().chain([made.nest]);
    Ok(Compiled { name: name.into(), profile: subject.profile, versions: nests.zip(programs).collect() })
}

/// Returns true if a schedule has a tuned constant of that name.
fn tunes(schedule: &Schedule, name: &str) -> bool {
    schedule.statements().any(|statement| matches!(&statement.kind, StatementKind::Tune(tune) if tune.name.text == name))
}

/// Returns the dims of a schedule's kernel that a caller chooses, including those that the schedule's facts make literals.
fn symbolic(source: &Source, name: &str) -> Result<Vec<String>, CompareError> {
    let subject = source.subject(name)?;
    Ok(signature(&subject.kernel).dims.into_iter().map(|dim| dim.text).collect())
}

/// Returns the dims that lack a value in a version of a schedule.
fn missing(compiled: &Compiled, dims: &[(String, i64)]) -> Vec<String> {
    let mut all = Vec::new();
    for (_, program) in &compiled.versions {
        let known = DimValues::new(program, dims);
        let lacks = program.dims.iter().enumerate().filter(|(n, dim)| dim.derived.is_none() && !known.has(*n));
        all.extend(lacks.map(|(_, dim)| dim.name.clone()).filter(|name| !all.contains(name)).collect::<Vec<_>>());
    }
    all
}

/// Checks that the kernel has all dims of a set of sizes, and that each occurs once.
fn known_dims(kernel: &str, symbolic: &[String], dims: &[(String, i64)]) -> Result<(), CompareError> {
    for (n, (name, _)) in dims.iter().enumerate() {
        if !symbolic.contains(name) {
            return Err(CompareError::UnknownDim { kernel: kernel.into(), name: name.clone(), there: symbolic.to_vec() });
        }
        if dims[..n].iter().any(|(other, _)| other == name) {
            return Err(CompareError::TwoValues(name.clone()));
        }
    }
    Ok(())
}

fn at(compiled: &[Compiled], dims: Vec<(String, i64)>, profiles: &[Profile]) -> Result<Sized, CompareError> {
    // If a fact of a schedule makes a dim a literal, the schedule needs no value of that dim, and the others are compared without it.
    let lack: Vec<Vec<String>> = compiled.iter().map(|compiled| missing(compiled, &dims)).collect();
    if let Some(missing) = lack.first().filter(|_| lack.iter().all(|missing| !missing.is_empty())) {
        return Err(CompareError::Missing { sizes: dims, missing: missing.clone() });
    }
    let costs = compiled.iter().zip(&lack).map(|(compiled, missing)| match missing[..] {
        [] => taken(compiled, &dims, profiles),
        _ => Err(CompareError::Missing { sizes: dims.clone(), missing: missing.clone() }.to_string()),
    });
    let costs = costs.collect();
    Ok(Sized { dims, costs })
}

/// Returns the version of a schedule that a launch takes at some sizes, or the reason why it takes none.
fn taken(compiled: &Compiled, dims: &[(String, i64)], profiles: &[Profile]) -> Result<Taken, String> {
    let mut why = String::new();
    for (nest, program) in &compiled.versions {
        let known = DimValues::new(program, dims);
        let refused = || known.all().map_or_else(|| Some("64 bits do not hold a dim".into()), |all| admit::refusal(program, &all));
        match known.contradicted(program, dims).or_else(refused) {
            Some(refusal) => why = refusal,
            None => return Ok(cost(compiled, nest, program, &known, profiles)),
        }
    }
    Err(why)
}

fn cost(compiled: &Compiled, nest: &nest::Program, program: &Program, known: &DimValues, profiles: &[Profile]) -> Taken {
    let figures: Vec<Figures> = figures(nest, program, &compiled.profile, known);
    let under = program.variant.split_once(" where ").map(|(_, facts)| facts.to_owned());
    let totals = Totals::new(&figures, program, known, &nest.report.rounding, &compiled.profile);
    Taken { under, totals, judged: profiles.iter().map(|profile| least(&figures, profile)).collect() }
}
