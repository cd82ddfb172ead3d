//! `tilewright tune`: searches for the best values of a schedule's tuned constants on a device.
//!
//! ```text
//! tune lines ─ space ─▶ candidates ─ prune ─▶ ─ judge ─▶ right ones ─ race ─▶ the best ─ duel with the default ─▶ write, record
//! ```
//!
//! A user's program never tunes when it runs. The values that are found here become the defaults in the file.

mod cache;
mod judge;
mod origin;
mod race;
mod record;
pub(crate) mod report;
mod space;
mod write;

pub(crate) use write::replace;

use crate::exit::{Exit, Problem};
use crate::options::Tune;
use crate::output;
use crate::place::runners;
use crate::reached::{Reached, Trouble};
use crate::sizes::{SizedSchedule, Sizes, dims, given, known};
use crate::variant::{Compiled, algorithm, compile, tunes};
use cache::Cache;
use indicatif::{ProgressBar, ProgressStyle};
use judge::{Judge, Verdict};
use origin::Origin;
use race::{Duel, Race};
use record::{OnDevice, Record, Tuned};
use serde_json::json;
use space::{Candidate, Space, Stage};
use std::path::Path;
use std::time::Instant;
use tilewright_dsl::schedule::tune::Choice;
use tilewright_explain::source::{Source, Subject};
use tilewright_runner::message::Clock;

/// The share of the budget that compilation may take, and the share that is reserved for the comparison at the end.
const COMPILE: f64 = 0.5;
const DUEL: f64 = 0.1;

/// Sizes on a device, by the device's number. A candidate has a time for each.
struct DeviceSizes<'a> {
    device: usize,
    sizes: &'a Sizes,
}

/// The parameters that all candidates of a schedule share.
struct Tuning<'a> {
    sizes: &'a [Sizes],
    places: Vec<DeviceSizes<'a>>,
    clock: Clock,
    seed: u64,
    unchecked: bool,
}

/// The result of tuning a schedule.
struct Outcome {
    schedule: String,
    kernel: String,
    profile: String,
    /// The devices, each with its driver.
    devices: Vec<[String; 2]>,
    sizes: Vec<Sizes>,
    space: Space,
    rows: Vec<Row>,
    /// The best choice if it is faster than the default by more than noise, otherwise the default.
    chosen: Option<Choice>,
    duel: Option<Duel>,
}

/// A candidate and its times.
struct Row {
    choices: Vec<Choice>,
    module: String,
    is_default: bool,
    is_best: bool,
    medians: Option<Vec<f64>>,
    score: Option<f64>,
    cached: bool,
    out: Option<String>,
}

/// A schedule that is tuned: its sizes, or the reason why it cannot be tuned.
struct Named {
    schedule: String,
    sizes: Result<Vec<Sizes>, Problem>,
}

pub(crate) fn run(options: &Tune) -> Result<Exit, Problem> {
    let origin = Origin::of(options)?;
    let source = origin.open()?;
    let (names, unread) = schedules(options, &origin, &source)?;
    if options.check {
        return check(options, &origin, &source, &names, unread);
    }
    // Errors in the command line are reported before any runner is started.
    let mut named = with_sizes(options, &source, names)?;
    named.extend(unread);
    let right = named.iter().filter(|named| named.sizes.is_ok()).count();
    if right == 0 {
        let problems: Vec<Problem> = named.into_iter().filter_map(|named| named.sizes.err()).collect();
        let texts: Vec<&str> = problems.iter().map(|problem| problem.text.as_str()).collect();
        let exit = problems.first().map_or(Exit::No, |first| first.exit);
        return Err(Problem { exit, text: texts.join("\n") });
    }
    let open = |runner| Reached::open(runner, &options.reach);
    let mut reached = runners(&options.runner).into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let (mut exit, mut values, end) = (Exit::Done, Vec::new(), Instant::now() + options.budget);
    let mut left = right;
    let mut failed: Vec<(&str, Problem)> = Vec::new();
    for Named { schedule, sizes } in &named {
        let sizes = match sizes {
            Ok(sizes) => sizes,
            Err(problem) => {
                failed.push((schedule, problem.clone()));
                continue;
            }
        };
        // Each schedule gets an equal share of the remaining time.
        let share = end.saturating_duration_since(Instant::now()) / u32::try_from(left).unwrap_or(1);
        left -= 1;
        let (outcome, over) = tuned(options, &origin, schedule, sizes, &mut reached, Instant::now() + share)?;
        if outcome.chosen.is_none() || outcome.space.wrong() > 0 {
            exit = Exit::No;
        }
        if let (None, Some(failed)) = (&outcome.chosen, reached.iter().find_map(|reached| reached.failed)) {
            exit = failed;
        }
        let mut written = None;
        if options.write && over.is_none() && outcome.chosen.is_some() {
            written = Some(write(options, &outcome)?);
        }
        let planned = match &outcome.chosen {
            Some(chosen) => origin.chosen(schedule, chosen)?,
            None => None,
        };
        if options.json {
            let mut value = outcome.json();
            value["written"] = json!(written.is_some());
            if options.plan {
                value["source"] = json!(planned);
            }
            values.push(value);
        } else {
            output::line(outcome.shown().trim_end());
            written.into_iter().for_each(output::line);
            planned.into_iter().for_each(|source| output::line(format_args!("\n{source}")));
        }
        if let Some(problem) = over {
            problem.report(false);
            exit = problem.exit;
            break;
        }
    }
    if options.json {
        values.extend(failed.iter().map(|(schedule, problem)| json!({ "schedule": schedule, "error": problem.text })));
        output::json(&values);
    }
    for (schedule, problem) in failed {
        Problem::no(format!("`{schedule}` is not tuned: {}", problem.text)).report(false);
        exit = if exit == Exit::Done { Exit::No } else { exit };
    }
    Ok(exit)
}

/// Returns the schedules to tune. If the options name no schedules, also returns those that cannot be read, or kernels whose planning fails.
fn schedules(options: &Tune, origin: &Origin<'_>, source: &Source) -> Result<(Vec<String>, Vec<Named>), Problem> {
    if options.plan {
        let unplanned = |(kernel, problem): (&str, &Problem)| Named { schedule: kernel.to_owned(), sizes: Err(problem.clone()) };
        return Ok((origin.planned().map(str::to_owned).collect(), origin.problems().map(unplanned).collect()));
    }
    let (mut names, mut unread) = (Vec::new(), Vec::new());
    for name in &options.schedule {
        if tunes(&source.subject(name)?).next().is_none() {
            return Err(Problem::usage(format!("`{name}` has no `tune` line; write one, as `tune B in [8, 16] = 8;`")));
        }
        names.push(name.clone());
    }
    if options.schedule.is_empty() {
        for name in source.schedules() {
            match source.subject(name) {
                Ok(subject) if tunes(&subject).next().is_some() => names.push(name.to_owned()),
                Ok(_) => {}
                Err(error) => unread.push(Named { schedule: name.to_owned(), sizes: Err(error.into()) }),
            }
        }
    }
    match names.is_empty() && unread.is_empty() {
        true => {
            let file = options.file.display();
            let text = format!("no schedule of {file} has a `tune` line; `--plan --for PROFILE` tunes the plans of its kernels");
            Err(Problem::usage(text))
        }
        false => Ok((names, unread)),
    }
}

/// A schedule with the defaults of its `tune` lines.
struct Tried {
    schedule: String,
    kernel: String,
    /// The dims of its kernel that a caller chooses.
    dims: Vec<String>,
    compiled: Result<Compiled, String>,
}

/// Returns each schedule with its sizes, or with the reason why it cannot be tuned: it does not compile, or sizes are missing.
fn with_sizes(options: &Tune, source: &Source, names: Vec<String>) -> Result<Vec<Named>, Problem> {
    let mut tried = Vec::new();
    for schedule in names {
        let subject = source.subject(&schedule)?;
        let compiled = compile(source, &subject, &Choice::default());
        tried.push(Tried { schedule, kernel: subject.kernel.name.text.clone(), dims: dims(&subject.kernel), compiled });
    }
    known(&options.size, tried.iter().map(|t| (t.kernel.as_str(), &t.dims[..])))?;
    let mut asked = Vec::new();
    for Tried { schedule, kernel, dims, compiled } in &tried {
        if let Ok(Compiled { program, .. }) = compiled {
            asked.push(SizedSchedule { schedule, kernel, dims, program });
        }
    }
    let wrong: Vec<&[String]> = tried.iter().filter(|t| t.compiled.is_err()).map(|t| &t.dims[..]).collect();
    let mut given = given(&options.size, &asked, &wrong)?.into_iter();
    let named = tried.iter().map(|Tried { schedule, compiled, .. }| {
        let sizes = match compiled {
            Err(why) => Err(Problem::no(why.clone())),
            Ok(_) => given.next().unwrap_or_default().into_iter().collect::<Result<Vec<_>, _>>().map_err(Problem::usage),
        };
        Named { schedule: schedule.clone(), sizes }
    });
    let named = named.collect();
    Ok(if options.plan { taken(named, &tried) } else { named })
}

/// Leaves each size to the first version of a kernel's plan that a launch takes there. Versions without sizes are left out.
fn taken(named: Vec<Named>, tried: &[Tried]) -> Vec<Named> {
    let mut claimed: Vec<(&str, Sizes)> = Vec::new();
    let mut kept = Vec::new();
    for (Named { schedule, sizes }, Tried { kernel, compiled, .. }) in named.into_iter().zip(tried) {
        let (mut sizes, compiled) = match (sizes, compiled) {
            (Ok(sizes), Ok(compiled)) => (sizes, compiled),
            (sizes, _) => {
                kept.push(Named { schedule, sizes });
                continue;
            }
        };
        sizes.retain(|sizes| compiled.taken(sizes).is_ok() && !claimed.contains(&(kernel.as_str(), sizes.clone())));
        claimed.extend(sizes.iter().map(|sizes| (kernel.as_str(), sizes.clone())));
        if !sizes.is_empty() {
            kept.push(Named { schedule, sizes: Ok(sizes) });
        }
    }
    kept
}

/// Returns a progress bar, which is shown if standard error is a terminal.
pub(crate) fn bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{bar:20} {pos}/{len} {elapsed} {wide_msg}") {
        bar.set_style(style);
    }
    bar
}

fn jobs(options: &Tune) -> usize {
    options.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}

/// Tunes a schedule. If a runner is given up, tuning ends with the results so far.
fn tuned(
    options: &Tune,
    origin: &Origin<'_>,
    name: &str,
    sizes: &[Sizes],
    reached: &mut [Reached],
    end: Instant,
) -> Result<(Outcome, Option<Problem>), Problem> {
    let begin = Instant::now();
    let share = |part: f64| begin + end.saturating_duration_since(begin).mul_f64(part);
    let bar = bar();
    let mut space = space::compiled(origin, name, jobs(options), Some(share(COMPILE)), &bar)?;
    let source = origin.open()?;
    let subject = source.subject(name)?;
    let algorithm = algorithm(&source, &subject)?;
    let devices: Vec<[String; 2]> = reached.iter().map(Reached::clocked).collect();
    if space.candidates.is_empty() {
        return Ok((outcome(&subject, devices, Vec::new(), space), None));
    }
    space.prune(sizes, options.all);
    let tuning = Tuning {
        places: (0..devices.len()).flat_map(|device| sizes.iter().map(move |sizes| DeviceSizes { device, sizes })).collect(),
        sizes,
        clock: options.reach.clock(),
        seed: options.seed,
        unchecked: options.unchecked,
    };
    let mut caches: Vec<Cache> = devices.iter().map(|device| Cache::open(device.clone(), options.fresh)).collect();
    let mut over = judged(&tuning, &algorithm, &mut space, reached, &caches, share(1.0 - 2.0 * DUEL), &bar);
    let candidates = std::mem::take(&mut space.candidates);
    let mut race = Race::new(&tuning, &candidates, &caches);
    if over.is_none() {
        bar.reset();
        over = race.run(reached, &mut caches, share(1.0 - DUEL), &bar).err();
    }
    let best = race.best();
    let (chosen, duel) = match &over {
        None => settled(&race, best, reached, &bar).unwrap_or_else(|problem| {
            over = Some(problem);
            (None, None)
        }),
        Some(_) => (None, None),
    };
    bar.finish_and_clear();
    let mut rows = rows(&race, best);
    rows.sort_by(|a, b| a.score.unwrap_or(f64::INFINITY).total_cmp(&b.score.unwrap_or(f64::INFINITY)));
    for device in reached {
        candidates.iter().for_each(|candidate| device.forget(&candidate.compiled));
    }
    let mut outcome = outcome(&subject, devices, sizes.to_vec(), space);
    (outcome.rows, outcome.chosen, outcome.duel) = (rows, chosen, duel);
    Ok((outcome, over))
}

/// Returns the choice, and the comparison of the best with the default if they differ.
fn settled(
    race: &Race<'_>,
    best: Option<usize>,
    reached: &mut [Reached],
    bar: &ProgressBar,
) -> Result<(Option<Choice>, Option<Duel>), Problem> {
    let choice = |n: usize| Some(race.candidates[n].choices[0].clone());
    let default = race.candidates.iter().position(|c| c.is_default).filter(|n| race.times[*n].out.is_none());
    match (best, default) {
        (Some(best), Some(default)) if best != default => match race.duel(reached, best, default, bar) {
            Ok(duel) => Ok((choice(if duel.is_won() { best } else { default }), Some(duel))),
            Err(Trouble::Refused(why) | Trouble::Unsupported(why)) => Err(Problem::no(why)),
            Err(Trouble::Over(problem)) => Err(problem),
        },
        (Some(best), _) => Ok((choice(best), None)),
        (None, _) => Ok((None, None)),
    }
}

fn outcome(subject: &Subject, devices: Vec<[String; 2]>, sizes: Vec<Sizes>, space: Space) -> Outcome {
    Outcome {
        schedule: subject.schedule.name.text.clone(),
        kernel: subject.kernel.name.text.clone(),
        profile: subject.profile.name.clone(),
        devices,
        sizes,
        space,
        rows: Vec::new(),
        chosen: None,
        duel: None,
    }
}

/// Removes the candidates that are not right. A candidate that was measured earlier was right then, so it is not checked again.
fn judged(
    tuning: &Tuning<'_>,
    algorithm: &tilewright_dsl::nest::Program,
    space: &mut Space,
    reached: &mut [Reached],
    caches: &[Cache],
    until: Instant,
    bar: &ProgressBar,
) -> Option<Problem> {
    bar.reset();
    bar.set_length(space.candidates.len() as u64);
    let mut judge = Judge::new(tuning, algorithm);
    let mut over = None;
    for (n, candidate) in std::mem::take(&mut space.candidates).into_iter().enumerate() {
        bar.set_message(format!("checking {}", candidate.choices[0]));
        bar.inc(1);
        let is_known = |place: &DeviceSizes<'_>| caches[place.device].get(&candidate.compiled.module, place.sizes).is_some();
        let known = tuning.places.iter().all(is_known);
        let verdict = match &over {
            Some(_) => Verdict::Refused(Stage::Budget, "the runner was given up before".to_owned()),
            None if known => Verdict::Right,
            None if n > 0 && Instant::now() >= until => {
                Verdict::Refused(Stage::Budget, "there was no time left to check it".to_owned())
            }
            None => judge.judge(reached, &candidate),
        };
        match verdict {
            Verdict::Right => space.candidates.push(candidate),
            Verdict::Refused(stage, why) => {
                reached.iter_mut().for_each(|reached| reached.forget(&candidate.compiled));
                refuse(space, candidate, stage, &why);
            }
            Verdict::Over(problem) => {
                refuse(space, candidate, Stage::Load, &problem.text);
                over = Some(problem);
            }
        }
    }
    over
}

fn refuse(space: &mut Space, candidate: Candidate, stage: Stage, why: &str) {
    candidate.choices.into_iter().for_each(|choice| space.refuse(choice, stage, why.to_owned()));
}

fn rows(race: &Race<'_>, best: Option<usize>) -> Vec<Row> {
    let row = |(n, candidate): (usize, &Candidate)| {
        let times = &race.times[n];
        Row {
            choices: candidate.choices.clone(),
            module: candidate.compiled.module.clone(),
            is_default: candidate.is_default,
            is_best: best == Some(n),
            medians: times.medians(),
            score: race.score(n),
            cached: times.cached,
            out: times.out.as_ref().map(|(stage, why)| format!("{}: {why}", stage.name())),
        }
    };
    race.candidates.iter().enumerate().map(row).collect()
}

/// Writes the choice into the file, and the record next to it.
fn write(options: &Tune, outcome: &Outcome) -> Result<String, Problem> {
    let Some(chosen) = &outcome.chosen else { return Ok(String::new()) };
    // Reads the file again, because an earlier schedule of the same file may have been written.
    let source = Source::open(&options.file)?;
    let subject = source.subject(&outcome.schedule)?;
    let fails = |e: std::io::Error| Problem::usage(format!("cannot read {}: {e}", options.file.display()));
    let text = std::fs::read_to_string(&options.file).map_err(fails)?;
    let now = space::default_choice(&source, &subject)?;
    if now != outcome.space.default {
        return Err(Problem::usage(format!(
            "the defaults of `{}` were changed during tuning; the file is left as it is",
            outcome.schedule
        )));
    }
    let edited = write::edited(&text, &subject, chosen)?;
    let mut record = Record::read(&options.file)?.unwrap_or_default();
    let mut tuned = Tuned::of(&outcome.space, chosen, &outcome.kernel, &outcome.profile);
    // The results of other devices for the same modules are still valid.
    if let Some(old) = record.schedules.remove(&outcome.schedule).filter(|old| old.modules == tuned.modules) {
        tuned.devices = old.devices;
    }
    for (n, [device, driver]) in outcome.devices.iter().enumerate() {
        tuned.devices.insert(format!("{device}; {driver}"), on_device(outcome, chosen, n));
    }
    record.schedules.insert(outcome.schedule.clone(), tuned);
    let record = record.text()?;
    if edited != text {
        write::replace(&options.file, &edited)?;
    }
    write::record(&options.file, &record)?;
    let file = options.file.display();
    let what = if edited == text { format!("{file} already has these values") } else { format!("{file} now has these values") };
    Ok(format!("{what}; the record is {}", record::beside(&options.file).display()))
}

/// Returns the results on a device, by its number.
fn on_device(outcome: &Outcome, chosen: &Choice, n: usize) -> OnDevice {
    let own = |row: &Row| {
        let sizes = outcome.sizes.len();
        Some(row.medians.as_ref()?.get(n * sizes..(n + 1) * sizes)?.iter().map(|ns| record::rounded(*ns)).collect())
    };
    let out = |row: &Row| Some((row.choices[0].to_string(), row.out.clone()?));
    OnDevice {
        sizes: record::sizes(&outcome.sizes),
        best: chosen.to_string(),
        before: outcome.space.default.to_string(),
        ratio: outcome.duel.map(|duel| (duel.ratio * 1e3).round() / 1e3),
        nanoseconds: outcome.rows.iter().filter_map(|row| Some((row.choices[0].to_string(), own(row)?))).collect(),
        refused: record::reasons(&outcome.space.refused).into_iter().chain(outcome.rows.iter().filter_map(out)).collect(),
    }
}

/// Reports whether the record is stale.
fn check(options: &Tune, origin: &Origin<'_>, source: &Source, names: &[String], unread: Vec<Named>) -> Result<Exit, Problem> {
    let path = record::beside(&options.file);
    let Some(record) = Record::read(&options.file)? else {
        return Err(Problem::no(format!("{} does not exist: `tilewright tune --write` makes it", path.display())));
    };
    let mut stale: Vec<(String, Vec<String>)> = Vec::new();
    for name in names {
        let lines = match record.schedules.get(name) {
            None => vec!["it was not tuned".to_owned()],
            Some(tuned) => {
                let bar = bar();
                let space = space::compiled(origin, name, jobs(options), None, &bar);
                bar.finish_and_clear();
                match space {
                    Ok(space) => tuned.stale(&space),
                    Err(problem) => vec![format!("it is wrong: {}", problem.text.trim())],
                }
            }
        };
        stale.push((name.clone(), lines));
    }
    for Named { schedule, sizes } in unread {
        stale.push((schedule, sizes.err().map(|problem| format!("it is wrong: {}", problem.text.trim())).into_iter().collect()));
    }
    if options.schedule.is_empty() {
        let there = source.schedules();
        let gone = record.schedules.keys().filter(|name| !there.contains(&name.as_str()));
        stale.extend(gone.map(|name| (name.clone(), vec!["the file no longer has it".to_owned()])));
    }
    let is_stale = stale.iter().any(|(_, lines)| !lines.is_empty());
    if options.json {
        let schedules: Vec<_> = stale.iter().map(|(name, lines)| json!({ "schedule": name, "stale": lines })).collect();
        output::json(&json!({ "record": path, "stale": is_stale, "schedules": schedules }));
    } else {
        for (name, lines) in &stale {
            match lines.is_empty() {
                true => output::line(format_args!("{name}: as it was tuned")),
                false => lines.iter().for_each(|line| output::line(format_args!("{name}: {line}"))),
            }
        }
    }
    Ok(if is_stale { Exit::No } else { Exit::Done })
}

/// Returns the first sizes that a schedule of a file was tuned for, from the record next to the file.
pub(crate) fn tuned_for(file: &Path, schedule: &str) -> Option<String> {
    let record = Record::read(file).ok()??;
    record.schedules.get(schedule)?.devices.values().find_map(|device| device.sizes.first().cloned())
}

/// Returns the median of some numbers. `None` if there are none.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted.get(sorted.len().checked_sub(1)? / 2)?, sorted.get(sorted.len() / 2)?);
    Some((low + high) / 2.0)
}
