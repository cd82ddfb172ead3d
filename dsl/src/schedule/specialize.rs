//! `specialize(K % 4 == 0, N % 4 == 0)`: this schedule again under more facts, chosen at launch.
//!
//! Each such statement makes a version of the variant: the same schedule, compiled as if its head had these facts too. A launch takes
//! the first version, in the statements' order, whose facts hold for the shapes; the schedule without them comes last.
//!
//! Refused: no facts; facts that no launch can tell (`finite(x)`); facts that contradict the head's; and what the schedule's
//! directives refuse under them, which is said at the statement. A version that nobody would miss is a warning, and is left out: its
//! nest and its proofs are those of the schedule without it, or an earlier version is taken wherever it could be.

use crate::algorithm::stated;
use crate::diag::{Error, Errors};
use crate::facts::Prover;
use crate::nest::{Program, print};
use crate::syntax::expr::{Expr, ExprKind};
use crate::syntax::schedule::{Item, Schedule, Statement, StatementKind};

/// A schedule's `specialize`.
pub(crate) struct Specialize<'a> {
    statement: &'a Statement,
    facts: &'a [Expr],
}

/// Those of a schedule, in order.
pub(crate) fn all(schedule: &Schedule) -> impl Iterator<Item = Specialize<'_>> {
    schedule.items.iter().filter_map(|item| match item {
        Item::Statement(statement) => match &statement.kind {
            StatementKind::Specialize(facts) => Some(Specialize { statement, facts }),
            _ => None,
        },
        _ => None,
    })
}

impl Specialize<'_> {
    /// The schedule, as if its head had the facts.
    pub(crate) fn schedule(&self, schedule: &Schedule) -> Result<Schedule, Error> {
        for fact in self.facts {
            at_launch(fact)?;
        }
        let mut specialized = schedule.clone();
        specialized.facts.extend(self.facts.iter().cloned());
        specialized.specialized = true;
        Ok(specialized)
    }

    /// The facts as text, from a program that was compiled under them.
    pub(crate) fn under(&self, program: &Program) -> String {
        let of_sizes = program.conditions.iter().map(|c| (c.span, &c.text));
        let all = of_sizes.chain(program.bounds.iter().map(|b| (b.span, &b.text)));
        all.filter(|(span, _)| self.statement.holds(*span)).map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// What is wrong under the facts alone is blamed on them.
    pub(crate) fn blame(&self, errors: Errors) -> Errors {
        let blame = |error: Error| {
            if self.statement.holds(error.span) {
                return error;
            }
            let mut notes = vec![("so it is here, where it is right without these facts".to_owned(), error.span)];
            notes.extend(error.notes);
            let message = format!("under these facts, {}", error.message);
            Error { kind: error.kind, span: self.statement.span, message, notes, help: error.help }
        };
        Errors(errors.0.into_iter().map(blame).collect())
    }

    /// The warning, where a program that was compiled under the facts is the one that was compiled without them.
    pub(crate) fn is_idle(&self, plain: &Program, specialized: &Program) -> Option<Error> {
        let proved = |p: &Program| p.ledger.iter().map(|o| (o.what.clone(), o.state)).collect::<Vec<_>>();
        if proved(plain) != proved(specialized) || print::plan(plain) != print::plan(specialized) {
            return None;
        }
        let error = Error::new(self.statement.span, "this specialization changes nothing, and is left out");
        Some(error.note("the nest is the same with and without these facts, and so is what is proved of it"))
    }

    /// The warning, where the facts of an earlier one hold wherever these do. `specialized` was compiled under these.
    pub(crate) fn is_shadowed(&self, earlier: &[Specialize<'_>], specialized: &Program) -> Option<Error> {
        let before = earlier.iter().find(|e| e.holds_in(specialized))?;
        let error = Error::new(self.statement.span, "this specialization is never taken, and is left out");
        let error = error.note_at(before.statement.span, "wherever its facts hold, those of an earlier one do");
        Some(error.help("write the stronger facts first"))
    }

    /// Whether the facts follow from what a program knows.
    fn holds_in(&self, program: &Program) -> bool {
        let (exprs, dims, scalars) = (program.exprs.clone(), program.dims.clone(), program.scalars.clone());
        let mut program = Program { exprs, dims, scalars, ..known(program) };
        self.facts.iter().all(|fact| {
            let (before, bounds) = (program.conditions.len(), program.bounds.len());
            let noted = stated::note(&mut program, fact, false).is_ok();
            let stated = program.bounds.split_off(bounds);
            let follows = |at| Prover::new(&program).is_redundant(at);
            let holds =
                noted && (before..program.conditions.len()).all(follows) && stated.iter().all(|bound| program.implies(bound));
            program.conditions.truncate(before);
            holds
        })
    }
}

/// What is known of a program's sizes, without its nests.
fn known(program: &Program) -> Program {
    let (parameters, conditions, bounds) = (program.parameters.clone(), program.conditions.clone(), program.bounds.clone());
    Program { parameters, conditions, bounds, ..Program::default() }
}

/// That a fact is one that a launch can tell.
fn at_launch(fact: &Expr) -> Result<(), Error> {
    match &fact.kind {
        ExprKind::Call { function, .. } if function.text == "finite" => {
            Err(Error::new(fact.span, "no launch can tell whether a tensor is finite")
                .help("promise it in the schedule's head: `where finite(…)`"))
        }
        ExprKind::Binary(_, _, a, b) => at_launch(a).and_then(|()| at_launch(b)),
        _ => Ok(()),
    }
}
