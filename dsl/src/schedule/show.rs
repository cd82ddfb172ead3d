//! `show`: a warning at its place, with the nest as it stands there. Nothing is rewritten.

use super::StageNest;
use crate::diag::{Error, SpanId};
use crate::nest::print::Printer;

/// The directive: the warning.
pub fn apply(nest: &mut StageNest<'_>, span: SpanId) -> Error {
    nest.store();
    Error::new(span, format!("the nest here:\n{}", Printer::new(nest.program).dispatch(&nest.program.plan[nest.dispatch])))
}
