//! Lists the stages that a plan does not mention.

use super::{Plan, added, nests, prepared, under};
use crate::compile::{Checked, algebra};
use crate::diag::Errors;
use crate::schedule::statements::tune::Choice;
use crate::syntax::Kernel;
use crate::syntax::schedule::Schedule;

/// Returns the names of the stages that have a nest and that neither a schedule nor its plan mentions. They have the plain
/// schedule, because the planner does not have a rule for such a stage, or the profile refuses its plans.
///
/// `facts` are the facts of the planned version, as they are written after `where`, or empty.
///
/// # Errors
/// The schedule's header or a rewrite of the algebra is wrong, or the plan is not valid.
pub fn open(kernel: &Kernel, schedule: &Schedule, facts: &str, plan: &Plan) -> Result<Vec<String>, Errors> {
    let schedule = if facts.is_empty() { schedule.clone() } else { under(schedule, facts)? };
    // A plan may have statements that rewrite the algebra.
    let schedule = added(&schedule, plan)?;
    let (program, rewritten) = algebra(kernel, &schedule, &Choice::default(), &Checked::default())?;
    let Some((program, _)) = prepared(&program, &rewritten, &schedule) else { return Ok(Vec::new()) };
    Ok(nests(&program, &schedule.items).into_iter().filter(|nest| nest.open).map(|nest| nest.name).collect())
}
