//! What is timed: the schedules of a file, or the catalog of ready kernels.

use super::Job;
use crate::cost::{least, totals};
use crate::exit::Problem;
use crate::options::Bench;
use crate::output;
use crate::sizes::{Sizes, symbolic};
use crate::variant::{Compiled, compile};
use serde_json::json;
use std::path::Path;
use std::rc::Rc;
use tilewright_dsl::diag::{did_you_mean, list};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::schedule::tune::Choice;
use tilewright_explain::source::Source;
use tilewright_launch::Program;
use tilewright_schedules::catalog::{ALL, Entry};

/// The word for the ready kernels.
const CATALOG: &str = "catalog";

/// What is asked for.
pub(super) fn jobs(options: &Bench) -> Result<Vec<Job>, Problem> {
    let jobs = if options.what == CATALOG { catalog(options)? } else { file(options)? };
    if jobs.is_empty() {
        return Err(Problem::usage("nothing of that name can be timed; `--list` shows what can"));
    }
    Ok(jobs)
}

/// A name that is none of those there are.
fn unknown(what: &str, name: &str, there: &[String]) -> Problem {
    let help = did_you_mean(name, there.iter().map(String::as_str)).unwrap_or_else(|| format!("there are {}", list(there)));
    Problem::usage(format!("there is no {what} `{name}`: {help}"))
}

/// The schedules of a file, compiled.
fn compiled(options: &Bench) -> Result<Vec<(Profile, Compiled)>, Problem> {
    let path = Path::new(&options.what);
    let source = Source::open(path)?;
    let there: Vec<String> = source.schedules().into_iter().map(str::to_owned).collect();
    if let Some(name) = options.schedule.iter().find(|name| !there.contains(name)) {
        return Err(unknown("schedule", name, &there));
    }
    let mut all = Vec::new();
    let mut kernels: Vec<String> = Vec::new();
    for name in there.iter().filter(|name| options.schedule.is_empty() || options.schedule.contains(name)) {
        let subject = source.subject(name)?;
        let kernel = subject.kernel.name.text.clone();
        if options.kernel.is_empty() || options.kernel.contains(&kernel) {
            all.push((subject.profile.clone(), compile(&source, &subject, &Choice::default()).map_err(Problem::no)?));
        }
        kernels.push(kernel);
    }
    match options.kernel.iter().find(|kernel| !kernels.contains(kernel)) {
        Some(kernel) => Err(unknown("kernel", kernel, &kernels)),
        None => Ok(all),
    }
}

fn file(options: &Bench) -> Result<Vec<Job>, Problem> {
    let none = [Sizes(Vec::new())];
    let given = if options.size.is_empty() { &none[..] } else { &options.size };
    let mut jobs: Vec<Job> = Vec::new();
    for (profile, compiled) in compiled(options)? {
        let compiled = Rc::new(compiled);
        for sizes in given {
            let sizes = sizes.of(&compiled.program).map_err(Problem::usage)?;
            let Program { kernel, variant, .. } = compiled.program.clone();
            // What no launch takes is an error of the runner's words.
            let version = compiled.taken(&sizes).ok().and_then(|n| compiled.versions.get(n));
            let totals = version.and_then(|(program, costs)| totals(costs, program, &sizes, &profile));
            let bytes = version.and_then(|(program, _)| sizes.dims(program).ok()?.bytes().ok());
            jobs.push(Job {
                kernel,
                schedule: variant,
                profile: profile.name.clone(),
                compiled: compiled.clone(),
                operations: totals.map(|t| t.flops).filter(|n| *n > 0.0),
                bytes,
                least: totals.and_then(|t| t.least),
                sizes,
            });
        }
    }
    // Schedules of one kernel at the same sizes stand beside each other.
    jobs.sort_by(|a, b| (&a.kernel, a.sizes.to_string()).cmp(&(&b.kernel, b.sizes.to_string())));
    Ok(jobs)
}

/// The entries of the catalog that are asked for.
fn entries(options: &Bench) -> Result<Vec<&'static Entry>, Problem> {
    const ENTRIES: &[Entry] = &ALL;
    let there: Vec<String> = ENTRIES.iter().map(|entry| entry.name.to_owned()).collect();
    if let Some(kernel) = options.kernel.iter().find(|kernel| !there.contains(kernel)) {
        return Err(unknown("kernel", kernel, &there));
    }
    let wanted = |entry: &&Entry| options.kernel.is_empty() || options.kernel.iter().any(|kernel| kernel == entry.name);
    let entries: Vec<&Entry> = ENTRIES.iter().filter(wanted).collect();
    let has = |name: &str| entries.iter().any(|entry| entry.dims.iter().any(|(n, _)| *n == name));
    if let Some((name, _)) = options.size.iter().flat_map(|sizes| &sizes.0).find(|(name, _)| !has(name)) {
        return Err(Problem::usage(format!("no kernel that is timed has a size `{name}`; `--list` shows their sizes")));
    }
    Ok(entries)
}

fn programs(options: &Bench, entry: &Entry) -> Result<Vec<Program>, Problem> {
    let programs = (entry.programs)().map_err(|e| Problem::no(e.to_string()))?;
    Ok(programs.into_iter().filter(|p| options.schedule.is_empty() || options.schedule.contains(&p.variant)).collect())
}

fn catalog(options: &Bench) -> Result<Vec<Job>, Problem> {
    let none = [Sizes(Vec::new())];
    let given = if options.size.is_empty() { &none[..] } else { &options.size };
    let mut jobs = Vec::new();
    for entry in entries(options)? {
        for sizes in given {
            let usual = entry.dims.iter().map(|(name, value)| ((*name).to_owned(), sizes.get(name).unwrap_or(*value)));
            let sizes = Sizes(usual.collect());
            for program in programs(options, entry)? {
                jobs.push(ready(entry, program, sizes.clone())?);
            }
        }
    }
    Ok(jobs)
}

/// A program of the catalog, which says itself what it computes.
fn ready(entry: &Entry, program: Program, sizes: Sizes) -> Result<Job, Problem> {
    let (operations, bytes) = match sizes.dims(&program) {
        Err(_) => (None, None),
        Ok(dims) => {
            let operations = (entry.operations)(&|name| dims.get(name).map_or(f64::NAN, |n| n as f64));
            (Some(operations).filter(|n| n.is_finite() && *n > 0.0), dims.bytes().ok())
        }
    };
    let profile = Profile::bundled(&program.profile);
    // Of a program on matrix units, these do nearly all.
    let split = |operations: f64| if program.requires.matrices.is_empty() { [operations, 0.0] } else { [0.0, operations] };
    let known = profile.zip(operations.zip(bytes));
    let least = known.and_then(|(profile, (operations, bytes))| least(split(operations), bytes, &profile));
    Ok(Job {
        kernel: entry.name.to_owned(),
        schedule: program.variant.clone(),
        profile: program.profile.clone(),
        sizes,
        compiled: Rc::new(Compiled::of(program).map_err(Problem::no)?),
        operations,
        bytes,
        least,
    })
}

/// Prints what could be timed.
pub(super) fn shown(options: &Bench) -> Result<(), Problem> {
    let mut listed: Vec<(String, String, Vec<String>, Vec<String>)> = Vec::new();
    if options.what == CATALOG {
        for entry in entries(options)? {
            let sizes = entry.dims.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let schedules = programs(options, entry)?.iter().map(|p| format!("{} for {}", p.variant, p.profile)).collect();
            listed.push((entry.name.to_owned(), entry.about.to_owned(), sizes, schedules));
        }
    } else {
        for (profile, Compiled { program, .. }) in compiled(options)? {
            let sizes: Vec<String> = symbolic(&program).into_iter().map(str::to_owned).collect();
            let schedule = format!("{} for {}", program.variant, profile.name);
            match listed.iter_mut().find(|(kernel, ..)| *kernel == program.kernel) {
                Some((.., schedules)) => schedules.push(schedule),
                None => listed.push((program.kernel, String::new(), sizes, vec![schedule])),
            }
        }
    }
    if options.json {
        let value = |(kernel, about, sizes, schedules): &(String, String, Vec<String>, Vec<String>)| json!({ "kernel": kernel, "about": about, "sizes": sizes, "schedules": schedules });
        output::json(&listed.iter().map(value).collect::<Vec<_>>());
        return Ok(());
    }
    for (kernel, about, sizes, schedules) in listed {
        output::line(format_args!("{} {about}", output::heading(format_args!("{kernel:<18}"))));
        output::line(format_args!("{:<18} sizes: {}", "", sizes.join(",")));
        schedules.iter().for_each(|schedule| output::line(format_args!("{:<18} {schedule}", "")));
    }
    Ok(())
}
