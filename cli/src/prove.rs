//! `tilewright prove`: runs schedules in exact arithmetic at sizes around the boundaries of their tiles, and compares each result with the
//! algorithm.

use crate::exit::{Exit, Problem};
use crate::options::Prove;
use crate::{output, variant};
use anstyle::AnsiColor;
use serde::Serialize;
use tilewright_dsl::diag::Errors;
use tilewright_dsl::schedule::tune::Choice;
use tilewright_dsl::variant::compile;
use tilewright_explain::source::{Source, Subject};
use tilewright_prove::{Budget, Dims, Outcome, Proof, Unreached};

/// The result of a schedule, as it is printed.
#[derive(Serialize)]
struct Report {
    schedule: String,
    kernel: String,
    profile: String,
    verdict: &'static str,
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

pub(crate) fn run(options: &Prove) -> Result<Exit, Problem> {
    let source = Source::open(&options.file)?;
    let mut names: Vec<&str> = options.schedule.iter().map(String::as_str).collect();
    if names.is_empty() {
        names = source.schedules();
    }
    if names.is_empty() {
        return Err(Problem::usage(format!("{} does not contain schedules", options.file.display())));
    }
    let (mut reports, mut is_wrong) = (Vec::new(), false);
    for name in names {
        let report = source.subject(name).map_err(Problem::from).and_then(|subject| proved(&source, &subject, options));
        match report {
            Ok(report) => {
                is_wrong |= report.verdict == WRONG;
                if !options.json {
                    output::line(shown(&report));
                }
                reports.push(report);
            }
            Err(problem) => {
                is_wrong = true;
                problem.report(options.json);
            }
        }
    }
    if options.json {
        output::json(&reports);
    }
    Ok(if is_wrong { Exit::No } else { Exit::Done })
}

const WRONG: &str = "wrong";

/// Proves a schedule.
fn proved(source: &Source, subject: &Subject, options: &Prove) -> Result<Report, Problem> {
    let start = std::time::Instant::now();
    let wrong = |errors: Errors| Problem::no(source.place(errors.texts(&subject.spans).trim_end()));
    let choice = Choice(options.tune.iter().flat_map(|values| values.0.iter().cloned()).collect());
    let place = |at| subject.place(at);
    let Subject { kernel, schedule, profile, .. } = subject;
    let made = compile(kernel, schedule, profile, &choice, &place, tilewright_spirv::compile).map_err(wrong)?;
    let algorithm = variant::algorithm(source, subject)?;
    let nests = made.specialized.iter().chain([&made.nest]).collect();
    let subject = tilewright_prove::Subject::new(&made.program, &algorithm, nests);
    let budget = Budget { all: options.all, scale: options.work, seed: options.seed, ..Budget::default() };
    let sizes: Vec<Dims> = options.size.iter().map(|sizes| sizes.0.clone()).collect();
    let proof = if sizes.is_empty() {
        tilewright_prove::prove(&subject, &budget)
    } else {
        tilewright_prove::prove_at(&subject, &budget, &sizes)
    };
    let proof = proof.map_err(Problem::no)?;
    let texts = |all: &[Dims]| all.iter().map(text).collect::<Vec<_>>();
    Ok(Report {
        schedule: schedule.name.text.clone(),
        kernel: kernel.name.text.clone(),
        profile: profile.name.clone(),
        verdict: verdict(&proof),
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

/// Returns the verdict in a word or two.
fn verdict(proof: &Proof) -> &'static str {
    match (&proof.wrong, proof.equal.is_empty()) {
        (Some(_), _) => WRONG,
        (None, true) => "not shown",
        (None, false) if proof.chose => "tested exactly",
        (None, false) => "proved",
    }
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
    }
}

fn text(dims: &Dims) -> String {
    let parts: Vec<String> = dims.iter().map(|(name, value)| format!("{name}={value}")).collect();
    parts.join(",")
}

fn shown(report: &Report) -> String {
    let Report { schedule, kernel, verdict, blocks, blocks_run, .. } = report;
    let colour = match *verdict {
        WRONG => AnsiColor::Red,
        "proved" | "tested exactly" => AnsiColor::Green,
        _ => AnsiColor::Yellow,
    };
    let paths = if *verdict == "tested exactly" { format!(" on the paths of {} runs", report.runs) } else { String::new() };
    let mut lines = vec![format!(
        "{schedule} ({kernel}): {}{paths} at {} sizes; {blocks_run} of {blocks} blocks; error below 2^{:.0}; {:.1} s",
        output::coloured(colour, verdict),
        report.sizes.len(),
        report.probability,
        report.seconds,
    )];
    lines.extend(report.details.iter().map(|detail| format!("  {detail}")));
    lines.extend(report.unreached.iter().map(|what| format!("  not reached: {what}")));
    lines.join("\n")
}
