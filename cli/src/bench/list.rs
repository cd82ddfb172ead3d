//! Selects the schedules to time: a file's schedules, the catalog of ready kernels, or the rows of the table.

use super::{Job, Refusal};
use crate::cost::{DispatchWork, dispatches, totals};
use crate::exit::Problem;
use crate::options::Bench;
use crate::output;
use crate::sizes::{SizedSchedule, Sizes, dims, given, known};
use crate::variant::{Compiled, compile};
use serde_json::json;
use std::collections::HashMap;
use std::collections::hash_map::Entry as HashEntry;
use std::path::Path;
use std::rc::Rc;
use tilewright_dsl::diag::{did_you_mean, list};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::schedule::tune::Choice;
use tilewright_explain::source::Source;
use tilewright_schedules::catalog::{ALL, Entry};
use tilewright_schedules::table::{ROWS, TableRow};

/// The argument for the ready kernels.
const CATALOG: &str = "catalog";

/// Returns the selected jobs.
pub(super) fn jobs(options: &Bench) -> Result<Vec<Job>, Problem> {
    if !options.is_table() && (!options.row.is_empty() || options.torch.is_some() || options.markdown) {
        return Err(Problem::usage("`--row`, `--torch` and `--markdown` are for the table; write `tilewright bench table`"));
    }
    let jobs = match options.what.as_str() {
        CATALOG => catalog(options)?,
        _ if options.is_table() => table(options)?,
        _ => file(options)?,
    };
    if jobs.is_empty() {
        return Err(Problem::usage("the options select no schedule that can be timed; `--list` shows the schedules"));
    }
    Ok(jobs)
}

/// Returns the error for a name that does not exist.
fn unknown(what: &str, name: &str, there: &[String]) -> Problem {
    let help = did_you_mean(name, there.iter().map(String::as_str)).unwrap_or_else(|| format!("there are {}", list(there)));
    Problem::usage(format!("unknown {what} `{name}`: {help}"))
}

/// A schedule of a file.
struct Listed {
    schedule: String,
    kernel: String,
    profile: String,
    /// The dims of its kernel that a caller chooses.
    dims: Vec<String>,
    /// The compiled schedule with its profile, or the compiler's errors.
    compiled: Result<(Profile, Rc<Compiled>), String>,
}

/// Returns the schedules of a file that the options select.
fn listed(options: &Bench) -> Result<Vec<Listed>, Problem> {
    let path = Path::new(&options.what);
    let source = Source::open(path)?;
    let there: Vec<String> = source.schedules().into_iter().map(str::to_owned).collect();
    if let Some(name) = options.schedule.iter().find(|name| !there.contains(name)) {
        return Err(unknown("schedule", name, &there));
    }
    let (mut all, mut kernels) = (Vec::new(), Vec::new());
    for name in there.iter().filter(|name| options.schedule.is_empty() || options.schedule.contains(name)) {
        let subject = match source.subject(name) {
            Ok(subject) => subject,
            // The kernel of the schedule is unknown.
            Err(error) => {
                let (kernel, profile, dims) = (String::new(), String::new(), Vec::new());
                all.push(Listed { schedule: name.clone(), kernel, profile, dims, compiled: Err(error.to_string()) });
                continue;
            }
        };
        let kernel = subject.kernel.name.text.clone();
        if options.kernel.is_empty() || options.kernel.contains(&kernel) {
            let compiled = compile(&source, &subject, &Choice::default());
            all.push(Listed {
                schedule: name.clone(),
                kernel: kernel.clone(),
                profile: subject.profile.name.clone(),
                dims: dims(&subject.kernel),
                compiled: compiled.map(|compiled| (subject.profile.clone(), Rc::new(compiled))),
            });
        }
        kernels.push(kernel);
    }
    match options.kernel.iter().find(|kernel| !kernels.contains(kernel)) {
        Some(kernel) => Err(unknown("kernel", kernel, &kernels)),
        None => Ok(all),
    }
}

fn file(options: &Bench) -> Result<Vec<Job>, Problem> {
    let listed = listed(options)?;
    let right: Vec<(&Listed, &Profile, &Rc<Compiled>)> = listed
        .iter()
        .filter_map(|listed| listed.compiled.as_ref().ok().map(|(profile, compiled)| (listed, profile, compiled)))
        .collect();
    if right.is_empty() && !listed.is_empty() {
        let errors: Vec<&str> = listed.iter().filter_map(|listed| Some(listed.compiled.as_ref().err()?.as_str())).collect();
        return Err(Problem::no(errors.join("\n")));
    }
    known(&options.size, listed.iter().map(|l| (l.kernel.as_str(), &l.dims[..])).filter(|(kernel, _)| !kernel.is_empty()))?;
    let asked: Vec<SizedSchedule<'_>> = right
        .iter()
        .map(|(l, _, compiled)| SizedSchedule {
            schedule: &l.schedule,
            kernel: &l.kernel,
            dims: &l.dims,
            program: &compiled.program,
        })
        .collect();
    let wrong: Vec<&[String]> = listed.iter().filter(|l| l.compiled.is_err()).map(|l| &l.dims[..]).collect();
    let mut jobs: Vec<Job> = Vec::new();
    for ((listed, profile, compiled), given) in right.iter().zip(given(&options.size, &asked, &wrong)?) {
        for sizes in given {
            jobs.push(match sizes {
                Ok(sizes) => measured(listed, profile, compiled, sizes),
                Err(why) => Job { launch: Err(Refusal { why, is_unsupported: false }), ..Job::of(listed) },
            });
        }
    }
    // Sorts the jobs so that schedules of one kernel at the same sizes are adjacent.
    jobs.sort_by(|a, b| (&a.kernel, a.sizes.to_string()).cmp(&(&b.kernel, b.sizes.to_string())));
    let wrong = listed.iter().filter_map(|listed| {
        let why = listed.compiled.as_ref().err()?.clone();
        Some(Job { launch: Err(Refusal { why, is_unsupported: false }), ..Job::of(listed) })
    });
    jobs.extend(wrong);
    Ok(jobs)
}

impl Job {
    /// Makes a job with the names of a schedule.
    fn of(listed: &Listed) -> Job {
        Job {
            work: None,
            kernel: listed.kernel.clone(),
            schedule: listed.schedule.clone(),
            profile: listed.profile.clone(),
            made_for: None,
            sizes: Sizes::default(),
            launch: Err(Refusal::default()),
            operations: None,
            bytes: None,
            dispatches: Vec::new(),
        }
    }
}

/// Makes a job that measures a schedule at some sizes.
fn measured(listed: &Listed, profile: &Profile, compiled: &Rc<Compiled>, sizes: Sizes) -> Job {
    let launch = launched(compiled.clone(), &sizes);
    let version = compiled.taken(&sizes).ok().and_then(|n| compiled.versions.get(n));
    let totals = version.and_then(|(program, costs)| totals(costs, program, &sizes));
    let dispatches = version.and_then(|(program, costs)| dispatches(costs, program, &sizes)).unwrap_or_default();
    let bytes = version.and_then(|(program, _)| sizes.dims(program).ok()?.bytes().ok());
    let operations = totals.map(|t| t.flops).filter(|n| *n > 0.0);
    Job { made_for: Some(profile.clone()), sizes, launch, operations, bytes, dispatches, ..Job::of(listed) }
}

/// Returns the variant that a job launches. A contradiction is refused here, because the runner would use the literal of the fact instead
/// of the size. The runner refuses other sizes itself.
fn launched(compiled: Rc<Compiled>, sizes: &Sizes) -> Result<Rc<Compiled>, Refusal> {
    match sizes.contradict(compiled.plain()) {
        Some(why) => Err(Refusal { why, is_unsupported: true }),
        None => Ok(compiled),
    }
}

/// Returns the selected entries of the catalog.
fn entries(options: &Bench) -> Result<Vec<&'static Entry>, Problem> {
    let there: Vec<String> = ALL.iter().map(|entry| entry.name.to_owned()).collect();
    if let Some(kernel) = options.kernel.iter().find(|kernel| !there.contains(kernel)) {
        return Err(unknown("kernel", kernel, &there));
    }
    let wanted = |entry: &&Entry| options.kernel.is_empty() || options.kernel.iter().any(|kernel| kernel == entry.name);
    let entries: Vec<&Entry> = ALL.iter().filter(wanted).collect();
    let has = |name: &str| entries.iter().any(|entry| entry.dims.iter().any(|(n, _)| *n == name));
    if let Some((name, _)) = options.size.iter().flat_map(|sizes| &sizes.0).find(|(name, _)| !has(name)) {
        return Err(Problem::usage(format!("no kernel that is timed has a size `{name}`; `--list` shows their sizes")));
    }
    Ok(entries)
}

/// Returns the selected schedules of an entry.
fn programs(options: &Bench, entry: &Entry) -> Result<Vec<Rc<Compiled>>, Problem> {
    let programs = (entry.programs)().map_err(|e| Problem::no(e.to_string()))?;
    let selected = programs.into_iter().filter(|p| options.schedule.is_empty() || options.schedule.contains(&p.variant));
    selected.map(|program| Ok(Rc::new(Compiled::of(program).map_err(Problem::no)?))).collect()
}

fn catalog(options: &Bench) -> Result<Vec<Job>, Problem> {
    let none = [Sizes(Vec::new())];
    let given = if options.size.is_empty() { &none[..] } else { &options.size };
    let mut jobs = Vec::new();
    for entry in entries(options)? {
        let programs = programs(options, entry)?;
        for sizes in given {
            let usual = entry.dims.iter().map(|(name, value)| ((*name).to_owned(), sizes.get(name).unwrap_or(*value)));
            let sizes = Sizes(usual.collect());
            jobs.extend(programs.iter().map(|compiled| ready(entry, compiled, sizes.clone())));
        }
    }
    Ok(jobs)
}

/// Returns the selected rows of the table, with their entries.
fn rows(options: &Bench) -> Result<Vec<(&'static TableRow, &'static Entry)>, Problem> {
    let there: Vec<String> = ROWS.iter().map(|row| row.name.to_owned()).collect();
    if let Some(name) = options.row.iter().find(|name| !there.contains(name)) {
        return Err(unknown("row", name, &there));
    }
    let entries = entries(options)?;
    let wanted = ROWS.iter().filter(|row| options.row.is_empty() || options.row.iter().any(|name| name == row.name));
    Ok(wanted.filter_map(|row| Some((row, *entries.iter().find(|entry| entry.name == row.entry)?))).collect())
}

fn table(options: &Bench) -> Result<Vec<Job>, Problem> {
    if !options.size.is_empty() {
        return Err(Problem::usage("the rows of the table have their own sizes; write `tilewright bench catalog` for other sizes"));
    }
    let (mut jobs, mut compiled) = (Vec::new(), HashMap::new());
    for (row, entry) in rows(options)? {
        let programs = match compiled.entry(entry.name) {
            HashEntry::Occupied(programs) => programs.into_mut(),
            HashEntry::Vacant(place) => place.insert(programs(options, entry)?),
        };
        let sizes = Sizes(row.dims.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect());
        let of_row = programs.iter().map(|compiled| Job { work: Some(row.name), ..ready(entry, compiled, sizes.clone()) });
        jobs.extend(of_row);
    }
    Ok(jobs)
}

/// Makes a job from a program of the catalog. The entry gives the number of its operations.
fn ready(entry: &Entry, compiled: &Rc<Compiled>, sizes: Sizes) -> Job {
    let program = &compiled.program;
    let (operations, bytes) = match sizes.dims(program) {
        Err(_) => (None, None),
        Ok(dims) => {
            let operations = (entry.operations)(&|name| dims.get(name).map_or(f64::NAN, |n| n as f64));
            (Some(operations).filter(|n| n.is_finite() && *n > 0.0), dims.bytes().ok())
        }
    };
    // Matrix units do nearly all operations of a program that uses them.
    let split = |operations: f64| if program.requires.matrices.is_empty() { [operations, 0.0] } else { [0.0, operations] };
    Job {
        work: None,
        kernel: entry.name.to_owned(),
        schedule: program.variant.clone(),
        profile: program.profile.clone(),
        dispatches: bytes.map(|bytes| DispatchWork { operations: split(operations.unwrap_or(0.0)), bytes }).into_iter().collect(),
        made_for: Profile::bundled(&program.profile),
        launch: launched(compiled.clone(), &sizes),
        sizes,
        operations,
        bytes,
    }
}

/// Prints the rows of the table. `scripts/anchors.py` reads the JSON.
fn shown_table(options: &Bench) -> Result<(), Problem> {
    let rows = rows(options)?;
    if options.json {
        let value = |(row, _): &(&TableRow, &Entry)| json!({ "work": row.name, "kernel": row.entry, "sizes": row.dims.iter().copied().collect::<HashMap<_, _>>() });
        output::json(&rows.iter().map(value).collect::<Vec<_>>());
        return Ok(());
    }
    let sizes = |row: &TableRow| row.dims.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",");
    let cells = rows.iter().map(|(row, _)| vec![row.name.to_owned(), row.entry.to_owned(), sizes(row)]).collect();
    output::text(output::table(&["row", "kernel", "sizes"], cells, &[]));
    Ok(())
}

/// Prints the schedules that could be timed.
pub(super) fn shown(options: &Bench) -> Result<(), Problem> {
    if options.is_table() {
        return shown_table(options);
    }
    let mut listed: Vec<(String, String, Vec<String>, Vec<String>)> = Vec::new();
    if options.what == CATALOG {
        for entry in entries(options)? {
            let sizes = entry.dims.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let name = |compiled: &Rc<Compiled>| format!("{} for {}", compiled.program.variant, compiled.program.profile);
            let schedules = programs(options, entry)?.iter().map(name).collect();
            listed.push((entry.name.to_owned(), entry.about.to_owned(), sizes, schedules));
        }
    } else {
        for Listed { schedule, kernel, profile, dims, compiled } in self::listed(options)? {
            let schedule = match compiled {
                Ok(_) => format!("{schedule} for {profile}"),
                Err(_) => format!("{schedule}, which has errors: `tilewright explain` shows them"),
            };
            match listed.iter_mut().find(|(other, ..)| *other == kernel) {
                Some((.., schedules)) => schedules.push(schedule),
                None => listed.push((kernel, String::new(), dims, vec![schedule])),
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
