//! `specialize(K % 4 == 0, N % 4 == 0)`: compiles this schedule again under additional facts. The version is chosen at launch.
//!
//! Each such statement makes a version of the variant: the same schedule, compiled as if its header also had these facts. A launch
//! takes the first version, in the order of the statements, whose facts hold for the shapes. The schedule without them comes last.
//!
//! Refused: no facts; facts that cannot be checked at launch (`finite(x)`); facts that contradict the header's; and any error of the
//! schedule's directives under the facts, which is reported at the statement. A version without an effect is a warning, and is left
//! out: either its nest and its proofs are the same as without the facts, or an earlier version is taken whenever it could be.

use crate::algorithm::stated;
use crate::diag::{Error, Errors};
use crate::facts::Prover;
use crate::nest::{Checks, Program, print};
use crate::syntax::expr::{Expr, ExprKind};
use crate::syntax::schedule::{Schedule, Statement, StatementKind};

/// A `specialize` statement of a schedule.
pub(crate) struct Specialize<'a> {
    statement: &'a Statement,
    facts: &'a [Expr],
}

/// Returns the `specialize` statements of a schedule, in order.
pub(crate) fn all(schedule: &Schedule) -> impl Iterator<Item = Specialize<'_>> {
    schedule.statements().filter_map(|statement| match &statement.kind {
        StatementKind::Specialize(facts) => Some(Specialize { statement, facts }),
        _ => None,
    })
}

impl Specialize<'_> {
    /// Returns the schedule as if its header had the facts.
    pub(crate) fn schedule(&self, schedule: &Schedule) -> Result<Schedule, Error> {
        for fact in self.facts {
            at_launch(fact)?;
        }
        let mut specialized = schedule.clone();
        specialized.facts.extend(self.facts.iter().cloned());
        specialized.specialized = true;
        Ok(specialized)
    }

    /// Prints the facts, from a program that was compiled under them.
    pub(crate) fn under(&self, program: &Program) -> String {
        let of_sizes = program.checks.conditions.iter().map(|c| (c.span, &c.text));
        let all = of_sizes.chain(program.checks.bounds.iter().map(|b| (b.span, &b.text)));
        all.filter(|(span, _)| self.statement.holds(*span)).map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Blames the facts for errors that occur only under them.
    pub(crate) fn blame(&self, errors: Errors) -> Errors {
        let blame = |error: Error| {
            if self.statement.holds(error.span) {
                return error;
            }
            let mut notes = vec![("the error is here, and does not occur without these facts".to_owned(), error.span)];
            notes.extend(error.notes);
            let message = format!("under these facts, {}", error.message);
            Error { kind: error.kind, span: self.statement.span, message, notes, help: error.help }
        };
        Errors(errors.0.into_iter().map(blame).collect())
    }

    /// Returns a warning if the program that was compiled under the facts is the same as the one compiled without them.
    pub(crate) fn is_idle(&self, plain: &Program, specialized: &Program) -> Option<Error> {
        let proved = |p: &Program| p.report.ledger.iter().map(|o| (o.what.clone(), o.state)).collect::<Vec<_>>();
        if proved(plain) != proved(specialized) || print::plan(plain) != print::plan(specialized) {
            return None;
        }
        let error = Error::new(self.statement.span, "this specialization changes nothing, and is left out");
        Some(error.note("the nest and its proofs are the same with and without these facts"))
    }

    /// Returns a warning if the facts of an earlier statement hold whenever these do. `specialized` was compiled under these facts.
    pub(crate) fn is_shadowed(&self, earlier: &[Specialize<'_>], specialized: &Program) -> Option<Error> {
        let before = earlier.iter().find(|e| e.holds_in(specialized))?;
        let error = Error::new(self.statement.span, "this specialization is never taken, and is left out");
        let error = error.note_at(before.statement.span, "the facts of this earlier one hold whenever its facts do");
        Some(error.help("write the stronger facts first"))
    }

    /// True if the facts follow from the facts of a program.
    fn holds_in(&self, program: &Program) -> bool {
        let (exprs, dims, scalars) = (program.exprs.clone(), program.dims.clone(), program.scalars.clone());
        let mut program = Program { exprs, dims, scalars, ..known(program) };
        self.facts.iter().all(|fact| {
            let (before, bounds) = (program.checks.conditions.len(), program.checks.bounds.len());
            let noted = stated::note(&mut program, fact, false).is_ok();
            let stated = program.checks.bounds.split_off(bounds);
            let follows = |at| Prover::new(&program).is_redundant(at);
            let holds = noted
                && (before..program.checks.conditions.len()).all(follows)
                && stated.iter().all(|bound| program.implies(bound));
            program.checks.conditions.truncate(before);
            holds
        })
    }
}

/// Returns a program with the facts about sizes, but without nests.
fn known(program: &Program) -> Program {
    let checks =
        Checks { conditions: program.checks.conditions.clone(), bounds: program.checks.bounds.clone(), ..Checks::default() };
    Program { parameters: program.parameters.clone(), checks, ..Program::default() }
}

/// Checks that a fact can be checked at launch.
fn at_launch(fact: &Expr) -> Result<(), Error> {
    match &fact.kind {
        ExprKind::Call { function, .. } if function.text == "finite" => {
            Err(Error::new(fact.span, "whether a tensor is finite cannot be checked at launch")
                .help("promise it in the schedule's header: `where finite(…)`"))
        }
        ExprKind::Binary(_, _, a, b) => at_launch(a).and_then(|()| at_launch(b)),
        _ => Ok(()),
    }
}
