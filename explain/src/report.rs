//! A schedule's explanation as plain data, for other programs: the output of `explain --json`. `docs/explain.md` documents every
//! field. [`SCHEMA`] is increased by changes that readers must know of.
//!
//! Places are `file:line:column`. A size over dims is text, for example `(N + 7) / 8`. Its value at the given dims is a number, or
//! null if some are missing.

use crate::figures::Figures;
use crate::source::Subject;
use crate::{Estimate, Explanation, Given, Lint, NestStep, Passed, Totals, Version, Words};
use serde::Serialize;
use std::collections::BTreeMap;
use tilewright_codegen::cost::{Apart, Bottleneck, Limit, SubgroupAccess};
use tilewright_dsl::launch::Size;
use tilewright_dsl::nest::State;
use tilewright_dsl::profile::Profile;

/// The version of a report's format.
pub const SCHEMA: u32 = 1;

/// A schedule, and the result of compiling it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct Report {
    pub schema: u32,
    pub schedule: String,
    pub kernel: String,
    pub profile: Device,
    pub dims: BTreeMap<String, i64>,
    pub example: Option<String>,
    pub exact: Option<String>,
    pub tuned: Vec<TunedConstant>,
    pub sources: Vec<SourceText>,
    pub versions: Vec<ReportedVersion>,
    pub left_out: Option<String>,
    pub warnings: Vec<String>,
    pub errors: Vec<String>,
}

/// The figures of the profile's device.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct Device {
    pub name: String,
    pub subgroup: Option<u32>,
    pub gflops: Option<u32>,
    pub matrix_gflops: Option<u32>,
    pub bandwidth: Option<u32>,
    pub registers: Option<u32>,
    pub core_registers: Option<u32>,
    pub core_shared_bytes: Option<u32>,
    pub core_invocations: Option<u32>,
    pub cores: Option<u32>,
    pub l2_bytes: Option<u32>,
    pub banks: Option<u32>,
    pub cpu: bool,
}

/// A tuned constant.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct TunedConstant {
    pub name: String,
    pub value: i64,
    pub candidates: Vec<i64>,
}

/// The text of the schedule, or of the kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct SourceText {
    pub path: String,
    pub first_line: usize,
    pub lines: Vec<String>,
}

/// The schedule as it is written, or one of its versions under more facts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct ReportedVersion {
    pub facts: Vec<String>,
    pub taken: Option<bool>,
    pub summary: Vec<String>,
    pub plan: Vec<String>,
    pub steps: Vec<ReportedStep>,
    pub ledger: Vec<Entry>,
    pub dispatches: Vec<ReportedDispatch>,
    pub flow: Vec<Intermediate>,
    pub launch: Option<Launch>,
    pub lints: Vec<Lint>,
    pub refused: Option<String>,
}

/// A nest, and what made it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct ReportedStep {
    pub title: String,
    pub place: Option<String>,
    pub lines: Vec<ReportedLine>,
}

/// A line of a nest.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct ReportedLine {
    pub text: String,
    pub new: bool,
    pub place: Option<String>,
}

/// An obligation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct Entry {
    pub state: &'static str,
    pub what: String,
    pub place: Option<String>,
}

/// A dispatch, and its cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct ReportedDispatch {
    pub name: String,
    pub grid: [String; 3],
    pub workgroups: Option<i64>,
    pub local: [u32; 3],
    pub each: Each,
    pub at_most: bool,
    pub flops: Option<i64>,
    pub matrix_flops: Option<i64>,
    pub functions: Option<i64>,
    pub shared_traffic: Option<i64>,
    pub tensors: Vec<Tensor>,
    pub compulsory: Option<i64>,
    pub roofline: Option<Time>,
    pub estimate: Option<Expected>,
    pub registers: Held,
    pub shared_bytes: u32,
    pub occupancy: Option<Fit>,
    pub accesses: Vec<AccessOf>,
    pub guards: u32,
    pub barriers: u32,
    pub spirv_bytes: usize,
    pub spirv: Words,
}

/// A tensor that a dispatch passes on to a later one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct Intermediate {
    pub tensor: String,
    pub from: usize,
    pub to: usize,
    pub bytes: Option<i64>,
}

/// The work of one workgroup.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct Each {
    pub flops: String,
    pub matrix_flops: String,
    pub functions: String,
    pub shared_read: String,
    pub shared_written: String,
}

/// The accesses of all workgroups to a tensor.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct Tensor {
    pub name: String,
    pub read: Option<i64>,
    pub written: Option<i64>,
    pub whole: Option<i64>,
}

/// The least time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct Time {
    pub nanoseconds: f64,
    pub bound: &'static str,
}

/// The estimated time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct Expected {
    pub nanoseconds: f64,
    pub bound: &'static str,
    pub busy: f64,
    pub resources: BTreeMap<&'static str, f64>,
}

/// Registers of an invocation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct Held {
    pub variables: u32,
    pub accumulators: u32,
    pub operands: u32,
}

/// The number of workgroups that fit a core, and the resource that limits it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct Fit {
    pub workgroups: u32,
    pub limit: &'static str,
}

/// An access of memory by the invocations of a subgroup.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct AccessOf {
    pub buffer: String,
    pub shared: bool,
    pub write: bool,
    pub matrix: bool,
    pub bytes: u32,
    pub apart: Option<i64>,
    pub rows_apart: bool,
    pub turns: Option<u32>,
    pub missing: Option<String>,
    pub place: Option<String>,
}

/// A launch as a whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct Launch {
    pub dispatches: usize,
    pub flops: Option<i64>,
    pub matrix_flops: Option<i64>,
    pub functions: Option<i64>,
    pub asked: Option<i64>,
    pub compulsory: Option<i64>,
    pub shared_traffic: Option<i64>,
    pub temporaries: Option<i64>,
    pub prepared: Option<i64>,
    pub shared_bytes: u32,
    pub nanoseconds: Option<f64>,
    pub estimate: Option<Time>,
    pub spirv_words: usize,
    pub errors: Vec<StatedError>,
}

/// The stated rounding error of a decomposed result.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct StatedError {
    pub result: String,
    pub expected: f64,
    pub worst: f64,
}

impl Report {
    /// Returns the explanation of a schedule as plain data.
    pub fn new(subject: &Subject, given: &Given, told: &Explanation) -> Report {
        let p = &told.profile;
        let place = |text: &String| subject.files.place(text);
        let source = |e: &crate::source::Excerpt| SourceText { path: e.path.clone(), first_line: e.first, lines: e.lines.clone() };
        let tuned = |t: &crate::Tuned| TunedConstant { name: t.name.clone(), value: t.value, candidates: t.candidates.clone() };
        Report {
            schema: SCHEMA,
            schedule: told.variant.clone(),
            kernel: told.kernel.clone(),
            profile: Device {
                name: p.name.clone(),
                subgroup: p.subgroup,
                gflops: p.gflops,
                matrix_gflops: p.matrix_gflops,
                bandwidth: p.bandwidth,
                registers: p.registers,
                core_registers: p.core_registers,
                core_shared_bytes: p.core_shared_bytes,
                core_invocations: p.core_invocations,
                cores: p.cores,
                l2_bytes: p.l2_bytes,
                banks: p.banks,
                cpu: p.cpu,
            },
            dims: given.dims.iter().cloned().collect(),
            example: told.example.as_ref().map(|example| example.from.clone()),
            exact: told.exact.clone(),
            tuned: told.tuned.iter().map(tuned).collect(),
            sources: subject.excerpts.iter().map(source).collect(),
            versions: told.versions.iter().map(|version| reported(subject, p, version)).collect(),
            left_out: told.left_out(),
            warnings: told.warnings.iter().map(place).collect(),
            errors: told.errors.iter().map(place).collect(),
        }
    }
}

/// Writes reports as one JSON text: a list.
///
/// # Errors
/// Reports of this compiler never cause one.
pub fn json(reports: &[Report]) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(reports).map(|text| text + "\n")
}

fn reported(subject: &Subject, profile: &Profile, version: &Version) -> ReportedVersion {
    let placed = |place: &Option<String>| place.as_ref().map(|place| subject.files.place(place));
    let step = |step: &NestStep| ReportedStep {
        title: step.title.split_whitespace().collect::<Vec<_>>().join(" "),
        place: placed(&step.place),
        lines: step.lines.iter().map(|l| ReportedLine { text: l.text.clone(), new: l.new, place: placed(&l.place) }).collect(),
    };
    let entry = |o: &tilewright_dsl::nest::Obligation| Entry {
        state: match o.state {
            State::Proved => "proved",
            State::Guarded => "guarded",
            State::CheckedAtLaunch => "checked_at_launch",
            State::Assumed => "assumed",
            State::Stated => "stated",
        },
        what: o.what.clone(),
        place: placed(&subject.spans.locate(o.span)),
    };
    let lint = |lint: &Lint| {
        let mut lint = lint.clone();
        lint.place = placed(&lint.place);
        lint.edit.iter_mut().for_each(|edit| edit.place = subject.files.place(&edit.place));
        lint
    };
    let dims = version.program.as_ref().map(|p| p.dims.as_slice()).unwrap_or_default();
    let name = |dim: u32| dims.get(dim as usize).map_or_else(|| "?".into(), |d| d.name.clone());
    let dispatch = |figures: &Figures| dispatch(figures, &|size| size.display(&name).to_string(), &|touch| access(subject, touch));
    let passed = |p: &Passed| Intermediate { tensor: p.tensor.clone(), from: p.from, to: p.to, bytes: p.bytes };
    ReportedVersion {
        facts: version.facts.clone(),
        taken: version.taken,
        summary: version.summary(profile).iter().map(|line| subject.files.place(line)).collect(),
        plan: version.plan.source(0).lines().map(str::to_owned).collect(),
        steps: version.steps.iter().map(step).collect(),
        ledger: version.ledger.iter().map(entry).collect(),
        dispatches: version.figures.iter().map(dispatch).collect(),
        flow: version.flow.iter().map(passed).collect(),
        launch: version.totals.as_ref().map(launch),
        lints: version.lints.iter().map(lint).collect(),
        refused: version.refused.clone(),
    }
}

fn dispatch(figures: &Figures, shown: &dyn Fn(&Size) -> String, access: &dyn Fn(&SubgroupAccess) -> AccessOf) -> ReportedDispatch {
    let cost = &figures.cost;
    let tensor = |m: &crate::Moved| Tensor { name: m.name.clone(), read: m.read, written: m.written, whole: m.whole };
    ReportedDispatch {
        name: cost.name.clone(),
        grid: cost.grid.each_ref().map(shown),
        workgroups: figures.workgroups,
        local: cost.local,
        each: Each {
            flops: shown(&cost.each.flops),
            matrix_flops: shown(&cost.each.matrix_flops),
            functions: shown(&cost.each.functions),
            shared_read: shown(&cost.each.shared_read),
            shared_written: shown(&cost.each.shared_written),
        },
        at_most: cost.at_most,
        flops: figures.flops,
        matrix_flops: figures.matrix_flops,
        functions: figures.functions,
        shared_traffic: figures.shared,
        tensors: figures.moved.iter().map(tensor).collect(),
        compulsory: figures.compulsory,
        roofline: figures.roofline.map(|r| Time { nanoseconds: r.nanoseconds, bound: bound(r.bound) }),
        estimate: figures.estimate.as_ref().map(expected),
        registers: Held {
            variables: cost.registers.variables,
            accumulators: cost.registers.accumulators,
            operands: cost.registers.operands,
        },
        shared_bytes: cost.shared_bytes,
        occupancy: figures.occupancy.map(|o| Fit { workgroups: o.workgroups, limit: limit(o.limit) }),
        accesses: figures.touches.iter().map(access).collect(),
        guards: cost.guards,
        barriers: cost.barriers,
        spirv_bytes: figures.spirv_bytes,
        spirv: figures.words,
    }
}

fn access(subject: &Subject, touch: &SubgroupAccess) -> AccessOf {
    AccessOf {
        buffer: touch.buffer.clone(),
        shared: touch.shared,
        write: touch.write,
        matrix: touch.matrix,
        bytes: touch.bytes,
        apart: match touch.apart {
            Some(Apart::Bytes(n)) => Some(n),
            _ => None,
        },
        rows_apart: touch.apart == Some(Apart::Rows),
        turns: touch.conflicts,
        missing: touch.missing.clone(),
        place: subject.spans.locate(touch.span).map(|place| subject.files.place(&place)),
    }
}

fn expected(estimate: &Estimate) -> Expected {
    Expected {
        nanoseconds: estimate.nanoseconds,
        bound: bound(estimate.bound),
        busy: estimate.busy,
        resources: estimate.resources.iter().map(|(resource, nanoseconds)| (bound(*resource), *nanoseconds)).collect(),
    }
}

fn bound(bound: Bottleneck) -> &'static str {
    match bound {
        Bottleneck::Compute => "arithmetic",
        Bottleneck::Matrices => "matrix_units",
        Bottleneck::Memory => "memory",
        Bottleneck::Caches => "caches",
        Bottleneck::Occupancy => "occupancy",
        Bottleneck::Launch => "launch",
    }
}

fn limit(limit: Limit) -> &'static str {
    match limit {
        Limit::SharedMemory => "shared_memory",
        Limit::Registers => "registers",
        Limit::Invocations => "invocations",
    }
}

pub(crate) fn launch(totals: &Totals) -> Launch {
    let error = |e: &tilewright_dsl::nest::Rounding| StatedError { result: e.result.clone(), expected: e.expected, worst: e.worst };
    Launch {
        dispatches: totals.dispatches,
        flops: totals.flops,
        matrix_flops: totals.matrix_flops,
        functions: totals.functions,
        asked: totals.asked,
        compulsory: totals.compulsory,
        shared_traffic: totals.shared,
        temporaries: totals.temporaries,
        prepared: totals.prepared,
        shared_bytes: totals.shared_bytes,
        nanoseconds: totals.nanoseconds,
        estimate: totals.estimate.map(|e| Time { nanoseconds: e.nanoseconds, bound: bound(e.bound) }),
        spirv_words: totals.words,
        errors: totals.errors.iter().map(error).collect(),
    }
}
