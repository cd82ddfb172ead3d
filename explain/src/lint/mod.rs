//! Lints of a schedule: patterns of the last nest that cost time on the devices of its profile. Each lint has the directive that is
//! the cause, and the text to write instead.
//!
//! A lint judges by the figures of the profile. If the profile lacks a figure that a lint needs, the lint is left out. `memory`
//! judges how neighbouring invocations access memory, `work` finds useless computation, and `room` judges the resources of a core.
//! `directive` rewrites directives. `follow` compiles the schedule with each change before it is offered. A change is dropped if the
//! compiler refuses it, or if it does not mend the access that the lint names. `consistent` leaves out lints that contradict another
//! one.

mod consistent;
mod directive;
mod follow;
mod memory;
mod room;
mod work;

use crate::figures::{Figures, Known};
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
    /// Neighbouring invocations access elements that are no neighbours.
    Uncoalesced,
    /// Banks of shared memory serve an access in several turns.
    BankConflict,
    /// A fact is missing for wide accesses.
    ScalarAccess,
    /// A stage is computed anew where it is read.
    Recomputed,
    /// Invocations have nothing to do.
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

/// Something that is worth a look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lint {
    /// Which pattern.
    pub name: LintName,
    /// The dispatch.
    pub dispatch: String,
    /// The directive (or definition) that is the cause: `file:line:column`.
    pub place: Option<String>,
    /// What is so, in a sentence.
    pub what: String,
    /// What to write instead, in a sentence.
    pub instead: String,
    /// The same as a change of the text, where it is one of a single place.
    pub edit: Option<Edit>,
}

/// A change of a schedule's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edit {
    /// Where the text begins that is replaced: `file:line:column`.
    pub place: String,
    /// The text there.
    pub from: String,
    /// What takes its place.
    pub to: String,
}

/// What to write instead.
#[derive(Default)]
struct Advice {
    /// In a sentence, if that can be said.
    instead: Option<String>,
    /// The same as a change.
    edit: Option<Edit>,
    /// What holds in general.
    general: String,
}

impl Advice {
    fn general(general: impl Into<String>) -> Advice {
        Advice { general: general.into(), ..Advice::default() }
    }

    /// With a better one.
    fn or(self, instead: String, edit: Option<Edit>) -> Advice {
        Advice { instead: Some(instead), edit, ..self }
    }
}

/// What lints look at: a dispatch, and what is known of it.
struct Look<'a> {
    subject: &'a Subject,
    nest: &'a Program,
    dispatch: usize,
    figures: &'a Figures,
    known: &'a Known,
    choice: &'a Choice,
    found: Vec<Lint>,
}

/// Everything that is worth a look in a version of a schedule.
pub(crate) fn lints(
    subject: &Subject,
    nest: &Program,
    launched: &launch::Program,
    figures: &[Figures],
    (known, choice): (&Known, &Choice),
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
    /// Notes a lint, once. Where the schedule is refused with the change, it has the general advice.
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

    /// The directive's text, if a schedule has it there.
    fn text(&self, span: SpanId) -> Option<String> {
        self.directives().into_iter().find(|directive| *directive == span).and_then(|span| self.subject.spans.source(span))
    }

    /// A change of the directive at a place.
    fn edit(&self, span: SpanId, to: String) -> Option<Edit> {
        let place = self.subject.spans.locate(span)?;
        let from = self.text(span)?;
        (from != to).then_some(Edit { place, from, to })
    }
}
