//! `show`: a warning at its place, with the nest as it stands there. Nothing is rewritten.

use crate::diag::{Error, SpanId};
use crate::nest::Program;
use crate::nest::print::Printer;

/// The directive: the warning.
pub fn apply(program: &Program, dispatch: usize, span: SpanId) -> Error {
    Error::new(span, format!("the nest here:\n{}", Printer::new(program).dispatch(&program.plan[dispatch]))).asked()
}
