//! `emit(readonly: no)`: choices of the emitted SPIR-V that do not change its meaning.
//!
//! Buffers that a dispatch only reads are marked `NonWritable`, and drivers load them by different instructions or at different
//! times. Which is faster depends on the kernel, so a schedule can omit the mark. The choice applies to all versions of a variant.
//!
//! Refused: stating the choice twice.

use crate::diag::{Error, Errors};
use crate::nest::Program;
use crate::syntax::schedule::{Schedule, Statement, StatementKind};

/// Records the choices of a schedule.
pub(crate) fn bind(program: &mut Program, schedule: &Schedule) -> Result<(), Errors> {
    let (mut errors, mut first) = (Errors::new(), None);
    for Statement { kind, span, .. } in schedule.statements() {
        let (StatementKind::Emit(readonly), span) = (kind, *span) else { continue };
        match first {
            None => (first, program.statements.unmarked) = (Some(span), !readonly),
            Some(first) => errors.push(Error::new(span, "`readonly` is given twice").note_at(first, "first here")),
        }
    }
    errors.into_result()
}
