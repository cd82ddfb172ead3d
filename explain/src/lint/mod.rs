//! Lints of a schedule: patterns of the last nest that cost time on the devices of its profile. Each lint has the directive that is
//! the cause, and the text to write instead.
//!
//! A lint judges by the figures of the profile. If the profile lacks a figure that a lint needs, the lint is left out (`needs`).
//! `memory` judges how neighbouring invocations access memory, `work` finds useless computation, and `room` judges the resources of
//! a core. `device` judges the size of a dispatch, `reuse` its requests of memory, and `rounding` its sums. These three guess the
//! figures that a profile lacks, so they judge schedules of every profile. `dots` judges dot products by the profile's instructions.
//!
//! `directive` finds and rewrites directives. `follow` compiles the schedule with each change before it is offered. A change is dropped if the
//! compiler refuses it, or if it does not improve the access that the lint names. `planner` compiles the schedule without the
//! directives of a stage, and offers the planner's. `consistent` leaves out lints that contradict another one, and
//! `importance` sorts the others.

mod consistent;
mod device;
mod directive;
mod dots;
mod follow;
mod importance;
mod memory;
mod needs;
mod planner;
mod reuse;
mod room;
mod rounding;
mod work;

pub(crate) use needs::left_out;

use crate::Given;
use crate::figures::{DimValues, Figures};
use crate::source::Subject;
use planner::{Replanned, chains_of};
use serde::Serialize;
use std::cell::OnceCell;
use std::fmt;
use tilewright_dsl::chains::FloatChain;
use tilewright_dsl::diag::{Errors, SpanId};
use tilewright_dsl::nest::Program;
use tilewright_dsl::plan::Plan;

/// The patterns, by stable names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LintName {
    /// Neighbouring invocations access elements that are not neighbours.
    Uncoalesced,
    /// Banks of shared memory serve an access in several turns.
    BankConflict,
    /// A fact is missing for wide accesses.
    ScalarAccess,
    /// A stage is recomputed where it is read.
    Recomputed,
    /// Invocations are idle.
    Idle,
    /// A tile that executes all its points is longer than its axis.
    LongTile,
    /// A core has room for one workgroup.
    Occupancy,
    /// An invocation holds more registers than it has.
    Registers,
    /// A dispatch has fewer workgroups than the device has cores, or few invocations.
    FewWorkgroups,
    /// Tensors are requested many times their size.
    Reread,
    /// A sum adds many numbers one after another.
    LongChain,
    /// A device computes a dot product without an instruction for it.
    SlowDot,
}

impl LintName {
    /// All patterns.
    pub const ALL: [LintName; 12] = [
        LintName::Uncoalesced,
        LintName::BankConflict,
        LintName::ScalarAccess,
        LintName::Recomputed,
        LintName::Idle,
        LintName::LongTile,
        LintName::Occupancy,
        LintName::Registers,
        LintName::FewWorkgroups,
        LintName::Reread,
        LintName::LongChain,
        LintName::SlowDot,
    ];
}

impl fmt::Display for LintName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LintName::Uncoalesced => "uncoalesced",
            LintName::BankConflict => "bank_conflict",
            LintName::ScalarAccess => "scalar_access",
            LintName::Recomputed => "recomputed",
            LintName::Idle => "idle",
            LintName::LongTile => "long_tile",
            LintName::Occupancy => "occupancy",
            LintName::Registers => "registers",
            LintName::FewWorkgroups => "few_workgroups",
            LintName::Reread => "reread",
            LintName::LongChain => "long_chain",
            LintName::SlowDot => "slow_dot",
        })
    }
}

/// A pattern that was found in a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lint {
    /// The pattern.
    pub name: LintName,
    /// The dispatch.
    pub dispatch: String,
    /// The directive (or definition) that is the cause: `file:line:column`.
    pub place: Option<String>,
    /// The problem, in a sentence.
    pub what: String,
    /// The advice, in a sentence.
    pub instead: String,
    /// The advice as a change of the text, if it changes a single place.
    pub edit: Option<Edit>,
    /// The lines of the directives that the planner writes, if the advice is to remove directives.
    pub plan: Vec<String>,
}

/// A change of a schedule's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edit {
    /// The start of the replaced text: `file:line:column`.
    pub place: String,
    /// The replaced text.
    pub from: String,
    /// The new text.
    pub to: String,
}

/// An advice for a lint.
#[derive(Default)]
struct Advice {
    /// The advice for this schedule, in a sentence, if there is one.
    instead: Option<String>,
    /// The advice as a change.
    edit: Option<Edit>,
    /// The planner's directives, if the advice is to use them.
    plan: Plan,
    /// The advice that holds in general.
    general: String,
}

impl Advice {
    fn general(general: impl Into<String>) -> Advice {
        Advice { general: general.into(), ..Advice::default() }
    }

    /// Adds a better advice.
    fn or(self, instead: String, edit: Option<Edit>) -> Advice {
        Advice { instead: Some(instead), edit, ..self }
    }
}

/// A version of a schedule, as far as lints judge it.
pub(crate) struct JudgedVersion<'a> {
    pub(crate) nest: &'a Program,
    /// The directives that the planner wrote for the version.
    pub(crate) plan: &'a Plan,
    pub(crate) figures: &'a [Figures],
    pub(crate) known: &'a DimValues,
    /// True unless a launch at the given sizes takes another version, or refuses them.
    pub(crate) is_run: bool,
}

/// The input of lints: a dispatch and its figures; and the lints found so far.
struct Look<'a> {
    subject: &'a Subject,
    given: &'a Given,
    version: &'a JudgedVersion<'a>,
    nest: &'a Program,
    known: &'a DimValues,
    dispatch: usize,
    figures: &'a Figures,
    /// The longest chains of the dispatch's float reductions.
    chains: Vec<FloatChain>,
    /// The schedule without the directives of the dispatch's stages, if the planner plans them. It is compiled when a lint needs it.
    planned: OnceCell<Option<Replanned>>,
    found: Vec<Lint>,
}

/// Returns the lints of a version of a schedule.
pub(crate) fn lints(subject: &Subject, given: &Given, version: &JudgedVersion<'_>, warnings: &Errors) -> Vec<Lint> {
    let JudgedVersion { nest, known, .. } = *version;
    let mut found = Vec::new();
    for (dispatch, figures) in version.figures.iter().enumerate() {
        let (chains, planned) = (chains_of(nest, dispatch), OnceCell::new());
        let mut look = Look { subject, given, version, nest, known, dispatch, figures, chains, planned, found: Vec::new() };
        look.memory();
        look.part_of_a_subgroup();
        look.room();
        look.slow_dots();
        // The sizes choose the version, so the figures of other versions at these sizes do not matter.
        if version.is_run {
            look.work();
            look.size();
            look.reread();
            look.long_chains();
        }
        found.append(&mut look.found);
    }
    importance::by_importance(consistent::without_contradictions(found, subject, warnings), version.figures)
}

impl Look<'_> {
    /// Adds a lint, once. If the schedule does not compile with the change, the lint has the general advice.
    fn note(&mut self, name: LintName, span: SpanId, what: String, advice: Advice) {
        let Advice { instead, edit, plan, general } = advice;
        let (instead, edit) = match edit {
            Some(edit) if !self.compiles(&edit) => (None, None),
            edit => (instead, edit),
        };
        let place = self.subject.spans.locate(span);
        let (dispatch, instead) = (self.figures.cost.name.clone(), instead.unwrap_or(general));
        let plan = plan.source(0).lines().map(str::to_owned).collect();
        let lint = Lint { name, dispatch, place, what, instead, edit, plan };
        if !self.found.contains(&lint) {
            self.found.push(lint);
        }
    }

    /// Returns an edit that replaces a directive.
    fn edit(&self, span: SpanId, to: String) -> Option<Edit> {
        let place = self.subject.spans.locate(span)?;
        let from = self.text(span)?;
        (from != to).then_some(Edit { place, from, to })
    }
}
