//! `emit(readonly: no)`: choices of the words that change no meaning.
//!
//! What a dispatch only reads is `NonWritable` in its words, and drivers load that by other instructions or at other times. Which is
//! faster differs from kernel to kernel, so a schedule can leave the mark out. In all versions of a variant.
//!
//! Refused: to say it twice.

use crate::diag::{Error, Errors};
use crate::nest::Program;
use crate::syntax::schedule::{Item, Schedule, Statement, StatementKind};

/// Notes what a schedule says of its words.
pub(crate) fn bind(program: &mut Program, schedule: &Schedule) -> Result<(), Errors> {
    let said = schedule.items.iter().filter_map(|item| match item {
        Item::Statement(Statement { kind: StatementKind::Emit(readonly), span, .. }) => Some((*readonly, *span)),
        _ => None,
    });
    let (mut errors, mut first) = (Errors::new(), None);
    for (readonly, span) in said {
        match first {
            None => (first, program.unmarked) = (Some(span), !readonly),
            Some(first) => errors.push(Error::new(span, "`readonly` is given twice").note_at(first, "first here")),
        }
    }
    errors.into_result()
}
