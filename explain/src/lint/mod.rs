//! Lints of a schedule: patterns of the last nest that cost time on the devices of its profile. Each lint has the directive that is
//! the cause, and the text to write instead.
//!
//! A lint judges by the figures of the profile. If the profile lacks a figure that a lint needs, the lint is left out. `memory`
//! judges how neighbouring invocations access memory, `work` finds useless computation, and `room` judges the resources of a core.
//! `directive` rewrites directives. `follow` compiles the schedule with each change before it is offered. A change is dropped if the
//! compiler refuses it, or if it does not improve the access that the lint names. `consistent` leaves out lints that contradict another
//! one.

mod consistent;
mod directive;
mod follow;
mod memory;
mod room;
mod work;

use crate::figures::{DimValues, Figures};
use crate::source::Subject;
use serde::Serialize;
use std::fmt;
use tilewright_dsl::diag::{Errors, SpanId};
use tilewright_dsl::launch;
use tilewright_dsl::nest::Program;
use tilewright_dsl::schedule::tune::Choice;

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

/// The input of lints: a dispatch and its figures; and the lints found so far.
struct Look<'a> {
    subject: &'a Subject,
    nest: &'a Program,
    dispatch: usize,
    figures: &'a Figures,
    known: &'a DimValues,
    choice: &'a Choice,
    found: Vec<Lint>,
}

/// Returns the lints of a version of a schedule.
pub(crate) fn lints(
    subject: &Subject,
    nest: &Program,
    launched: &launch::Program,
    figures: &[Figures],
    (known, choice): (&DimValues, &Choice),
    warnings: &Errors,
) -> Vec<Lint> {
    let mut found = Vec::new();
    for (dispatch, figures) in figures.iter().enumerate().take(launched.dispatches.len()) {
        let mut look = Look { subject, nest, dispatch, figures, known, choice, found: Vec::new() };
        look.memory();
        look.work();
        look.room();
        found.append(&mut look.found);
    }
    consistent::without_contradictions(found, subject, warnings)
}

impl Look<'_> {
    /// Adds a lint, once. If the schedule does not compile with the change, the lint has the general advice.
    fn note(&mut self, name: LintName, span: SpanId, what: String, advice: Advice) {
        let Advice { instead, edit, general } = advice;
        let (instead, edit) = match edit {
            Some(edit) if !self.compiles(&edit) => (None, None),
            edit => (instead, edit),
        };
        let place = self.subject.spans.locate(span);
        let (dispatch, instead) = (self.figures.cost.name.clone(), instead.unwrap_or(general));
        let lint = Lint { name, dispatch, place, what, instead, edit };
        if !self.found.contains(&lint) {
            self.found.push(lint);
        }
    }

    /// Returns the text of a directive, if the span is one of the schedule's directives.
    fn text(&self, span: SpanId) -> Option<String> {
        self.directives().into_iter().find(|directive| *directive == span).and_then(|span| self.subject.spans.source(span))
    }

    /// Returns an edit that replaces a directive.
    fn edit(&self, span: SpanId, to: String) -> Option<Edit> {
        let place = self.subject.spans.locate(span)?;
        let from = self.text(span)?;
        (from != to).then_some(Edit { place, from, to })
    }
}
