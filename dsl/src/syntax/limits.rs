//! How much an item may hold: far more than anyone writes, and little enough that the compiler, which runs within the user's
//! build, ends soon. What is generated without a bound meets an error here, not a build that hangs.

use super::expr::Let;
use super::kernel::{Kernel, Statement};
use super::schedule::{Item, Schedule, StatementKind};
use crate::diag::{Error, SpanId};

/// Generics, arguments and outputs of a kernel, each.
const PARAMETERS: usize = 128;
/// Definitions and constants of a kernel.
const DEFINITIONS: usize = 128;
/// Facts of a kernel, and of a schedule's head.
const FACTS: usize = 64;
/// Directives of a schedule, all blocks together.
const DIRECTIVES: usize = 512;
/// Statements of a schedule that double its versions, or the choices of its constants.
const STATEMENTS: usize = 128;

/// Values that a block, or a kernel outside its definitions, gives names.
const LETS: usize = 256;

/// That a block has not too many `let`s.
pub(super) fn lets(lets: &[Let]) -> Result<(), Error> {
    beyond("values with names in one block", LETS, |n| lets.get(n).map(|l| l.name.span)).map_or(Ok(()), Err)
}

/// What a kernel has too much of. That is cut off: what is known of a wrong kernel still gives its item.
pub(super) fn kernel(kernel: &mut Kernel) -> Option<Error> {
    let error = excess(kernel);
    kernel.generics.truncate(PARAMETERS);
    kernel.params.truncate(PARAMETERS);
    kernel.outputs.truncate(PARAMETERS);
    error
}

fn excess(kernel: &Kernel) -> Option<Error> {
    let generic = |n: usize| kernel.generics.get(n).map(|g| g.name.span);
    let argument = |n: usize| kernel.params.get(n).map(|p| p.name.span);
    let output = |n: usize| kernel.outputs.get(n).map(|o| o.name.span);
    let definition = |n: usize| {
        let place = |s: &Statement| match s {
            Statement::Define(define) => Some(define.span),
            Statement::Const { name, .. } => Some(name.span),
            Statement::Let(_) => None,
        };
        kernel.statements.iter().filter_map(place).nth(n)
    };
    let value = |n: usize| {
        let place = |s: &Statement| if let Statement::Let(bound) = s { Some(bound.name.span) } else { None };
        kernel.statements.iter().filter_map(place).nth(n)
    };
    beyond("generics", PARAMETERS, generic)
        .or_else(|| beyond("values with names", LETS, value))
        .or_else(|| beyond("arguments", PARAMETERS, argument))
        .or_else(|| beyond("outputs", PARAMETERS, output))
        .or_else(|| beyond("facts", FACTS, |n| kernel.facts.get(n).map(|f| f.span)))
        .or_else(|| beyond("definitions", DEFINITIONS, definition))
}

/// What a schedule has too much of.
pub(super) fn schedule(schedule: &Schedule) -> Option<Error> {
    let of = |item: &Item| match item {
        Item::Directive(directive) => vec![directive.span],
        // What stands in a block is done for each of its stages.
        Item::Block { stages, directives } => stages.iter().flat_map(|_| directives.iter().map(|d| d.span)).collect(),
        Item::Statement(_) => Vec::new(),
    };
    let statement = |n: usize| {
        let counts = |item: &&Item| matches!(item, Item::Statement(s) if !matches!(s.kind, StatementKind::Pin(_)));
        match schedule.items.iter().filter(counts).nth(n) {
            Some(Item::Statement(statement)) => Some(statement.name),
            _ => None,
        }
    };
    beyond("facts", FACTS, |n| schedule.facts.get(n).map(|f| f.span))
        .or_else(|| beyond("directives", DIRECTIVES, |n| schedule.items.iter().flat_map(of).nth(n)))
        .or_else(|| beyond("`tune` and `specialize`", STATEMENTS, statement))
}

/// An error at the first one beyond a limit.
fn beyond(what: &str, limit: usize, place: impl Fn(usize) -> Option<SpanId>) -> Option<Error> {
    place(limit).map(|span| Error::new(span, format!("there are more than {limit} {what}")).help("that is more than is compiled"))
}
