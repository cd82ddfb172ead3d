//! `show`: a warning at its place that prints the current nest. It does not rewrite the nest.

use crate::diag::{Error, SpanId};
use crate::nest::Program;
use crate::nest::print::Printer;

/// Returns the warning of the directive.
pub fn apply(program: &Program, dispatch: usize, span: SpanId) -> Error {
    Error::new(span, format!("the nest here:\n{}", Printer::new(program).dispatch(&program.plan[dispatch]))).asked()
}
