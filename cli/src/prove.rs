//! `tilewright prove`: runs schedules in exact arithmetic at sizes around the boundaries of their tiles, and compares each result with the
//! algorithm.

use crate::exit::{Exit, Problem};
use crate::options::Prove;
use crate::sizes::{self, SizedSchedule, Sizes};
use crate::{output, variant};
use anstyle::AnsiColor;
use serde::Serialize;
use tilewright_dsl::diag::Errors;
use tilewright_dsl::schedule::tune::Choice;
use tilewright_dsl::variant::compile;
use tilewright_explain::source::{Source, Subject};
use tilewright_prove::{Budget, Dims, Outcome, Proof, Unreached, Verdict, prove, prove_at, text};

/// The result of a schedule, as it is printed.
#[derive(Serialize)]
struct Report {
    schedule: String,
    kernel: String,
    profile: String,
    verdict: String,
    /// The reasons, or the element that differs.
    details: Vec<String>,
    /// The sizes at which all results were equal.
    sizes: Vec<String>,
    /// The sizes at which a result depends on a missing law.
    not_shown: Vec<String>,
    /// The sizes that suffice to reach the same blocks.
    needed: Vec<String>,
    runs: u64,
    blocks: usize,
    blocks_run: usize,
    unreached: Vec<String>,
    degree: u32,
    /// The binary logarithm of the bound on the probability of a wrong verdict.
    probability: f64,
    seconds: f64,
}

impl Report {
    fn is_wrong(&self) -> bool {
        self.verdict == Verdict::Wrong.to_string()
    }
}

/// Returns a number of things: `1 size`, `2 sizes`.
fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

pub(crate) fn run(options: &Prove) -> Result<Exit, Problem> {
    let source = Source::open(&options.file)?;
    let (subjects, mut problems) = variant::selected(&source, &options.file, &options.schedule, &options.size)?;
    let choice = Choice(options.tune.iter().flat_map(|values| values.0.iter().cloned()).collect());
    let budget = Budget { all: options.all, scale: options.work, seed: options.seed, ..Budget::default() };
    let mut reports = Vec::new();
    for subject in &subjects {
        match proved(&source, subject, &choice, &budget, &options.size) {
            Ok(report) => {
                if !options.json {
                    output::line(shown(&report));
                }
                reports.push(report);
            }
            Err(problem) if subjects.len() == 1 => return Err(problem),
            Err(problem) => problems.push(problem),
        }
    }
    if options.json {
        output::json(&reports);
    }
    problems.iter().for_each(|problem| problem.report(false));
    let is_right = problems.is_empty() && reports.iter().all(|report| !report.is_wrong());
    Ok(if is_right { Exit::Done } else { Exit::No })
}

/// Proves a schedule with the usual limits. Returns a line about the result, and false if the schedule is wrong.
pub(crate) fn described(source: &Source, subject: &Subject, choice: &Choice) -> Result<(String, bool), Problem> {
    let report = proved(source, subject, choice, &Budget::default(), &[])?;
    let details = report.details.iter().chain(&report.unreached);
    let line = [summary(&report, &report.verdict)].iter().chain(details).cloned().collect::<Vec<_>>().join("; ");
    Ok((line, !report.is_wrong()))
}

/// Proves a schedule, at the given sizes if there are any.
fn proved(source: &Source, subject: &Subject, choice: &Choice, budget: &Budget, size: &[Sizes]) -> Result<Report, Problem> {
    let start = std::time::Instant::now();
    let wrong = |errors: Errors| Problem::no(source.place(errors.texts(&subject.spans).trim_end()));
    let place = |at| subject.place(at);
    let Subject { kernel, schedule, profile, .. } = subject;
    let made = compile(kernel, schedule, profile, choice, &place, tilewright_spirv::compile).map_err(wrong)?;
    let algorithm = variant::algorithm(source, subject)?;
    let nests = made.specialized.iter().chain([&made.nest]).collect();
    let subject = tilewright_prove::Subject::new(&made.program, &algorithm, nests);
    let dims = sizes::dims(kernel);
    let sized = SizedSchedule { schedule: &schedule.name.text, kernel: kernel.name.as_str(), dims: &dims, program: &made.program };
    let asked: Vec<Dims> = match size.is_empty() {
        true => Vec::new(),
        false => sizes::given(size, &[sized], &[])?.into_iter().flatten().filter_map(|sizes| Some(sizes.ok()?.0)).collect(),
    };
    let proof = if asked.is_empty() { prove(&subject, budget) } else { prove_at(&subject, budget, &asked) }.map_err(Problem::no)?;
    let texts = |all: &[Dims]| all.iter().map(text).collect::<Vec<_>>();
    Ok(Report {
        schedule: schedule.name.text.clone(),
        kernel: kernel.name.text.clone(),
        profile: profile.name.clone(),
        verdict: proof.verdict().to_string(),
        details: details(&proof),
        sizes: proof.equal.iter().map(|(dims, _)| text(dims)).collect(),
        not_shown: proof.not_shown.iter().map(|(dims, _)| text(dims)).collect(),
        needed: texts(&proof.needed),
        runs: proof.equal.iter().map(|(_, fields)| fields).sum(),
        blocks: proof.blocks[1],
        blocks_run: proof.blocks[0],
        unreached: proof.unreached.iter().map(unreached).collect(),
        degree: proof.degree,
        probability: proof.probability(),
        seconds: start.elapsed().as_secs_f64(),
    })
}

fn details(proof: &Proof) -> Vec<String> {
    let mut details = Vec::new();
    for (dims, reasons) in &proof.not_shown {
        let reasons: Vec<&str> = reasons.iter().map(String::as_str).collect();
        details.push(format!("not shown at {}: {}", text(dims), reasons.join(", ")));
    }
    match &proof.wrong {
        Some((dims, Outcome::Different { tensor, index, wanted, got })) => {
            details.push(format!("`{tensor}`{index:?} is {got}, not {wanted} at {}", text(dims)));
        }
        Some((dims, Outcome::Fault(fault))) => details.push(format!("{fault} at {}", text(dims))),
        _ => {}
    }
    details
}

fn unreached(what: &Unreached) -> String {
    match what {
        Unreached::Block { dispatch, place: Some(place) } => format!("a block of `{dispatch}` ({place})"),
        Unreached::Block { dispatch, place: None } => format!("a block of `{dispatch}`"),
        Unreached::Version(version) => format!("the version `{version}`, which no small size takes"),
        Unreached::Tiles(version) => format!("the second tiles of all axes of `{version}` together, which take too much work"),
    }
}

/// Returns a line for a report, with the verdict as it is to be shown.
fn summary(report: &Report, verdict: &str) -> String {
    let Report { blocks, blocks_run, probability, .. } = report;
    let paths = if report.verdict == Verdict::Tested.to_string() {
        format!(" on the paths of {}", counted(report.runs as usize, "run"))
    } else {
        String::new()
    };
    let sizes = counted(report.sizes.len(), "size");
    format!("{verdict}{paths} at {sizes}; {blocks_run} of {blocks} blocks; error below 2^{probability:.0}")
}

fn shown(report: &Report) -> String {
    let colour = if report.is_wrong() {
        AnsiColor::Red
    } else if report.sizes.is_empty() {
        AnsiColor::Yellow
    } else {
        AnsiColor::Green
    };
    let Report { schedule, kernel, seconds, .. } = report;
    let summary = summary(report, &output::coloured(colour, &report.verdict));
    let mut lines = vec![format!("{schedule} ({kernel}): {summary}; {seconds:.1} s")];
    lines.extend(report.details.iter().map(|detail| format!("  {detail}")));
    lines.extend(report.unreached.iter().map(|what| format!("  not reached: {what}")));
    lines.join("\n")
}
