//! Limits on the size of an item. They are far above any hand-written item, and low enough that the compiler ends soon, because it runs
//! within the user's build. Code generated without a bound meets an error here; otherwise it could hang the build.

use super::expr::Let;
use super::kernel::{Kernel, Statement};
use super::schedule::{Item, Schedule, StatementKind};
use crate::diag::{Error, SpanId};

/// The most generics, arguments or outputs of a kernel.
const PARAMETERS: usize = 128;
/// The most definitions and constants of a kernel.
const DEFINITIONS: usize = 128;
/// The most facts of a kernel, and of a schedule's header.
const FACTS: usize = 64;
/// The most directives of a schedule, over all blocks.
const DIRECTIVES: usize = 512;
/// The most statements of a schedule that double its versions, or the candidates of its constants.
const STATEMENTS: usize = 128;

/// The most turns of the loops over members in a kernel.
const TURNS: usize = 1024;

/// The most schedules that a schedule applies, together with those that they apply.
const APPLICATIONS: usize = 512;

/// The most `let`s in a block, or in a kernel outside its definitions.
const LETS: usize = 256;

/// Checks that a block does not have too many `let`s.
pub(super) fn lets(lets: &[Let]) -> Result<(), Error> {
    beyond("values with names in one block", LETS, |n| lets.get(n).map(|l| l.name.span)).map_or(Ok(()), Err)
}

/// Checks that an item does not define and import too many functions. `before` is the number of those before this one.
pub(super) fn functions(before: usize, place: SpanId) -> Result<(), Error> {
    beyond("functions", DEFINITIONS, |n| (before >= n).then_some(place)).map_or(Ok(()), Err)
}

/// Checks that the loops over members do not have too many turns together. `before` is the number of those so far.
pub(super) fn turns(before: usize, place: SpanId) -> Result<(), Error> {
    beyond("turns of loops over members", TURNS, |n| (before > n).then_some(place)).map_or(Ok(()), Err)
}

/// Checks that a schedule does not apply too many others. `before` is the number of those that were read before this one.
pub(super) fn applications(before: usize, place: SpanId) -> Result<(), Error> {
    beyond("schedules that this one applies", APPLICATIONS, |n| (before >= n).then_some(place)).map_or(Ok(()), Err)
}

/// Returns an error if a kernel exceeds a limit, and cuts off the excess parameters, so that the kernel's item can still be generated.
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

/// Returns an error if a schedule exceeds a limit.
pub(super) fn schedule(schedule: &Schedule) -> Option<Error> {
    let of = |item: &Item| match item {
        Item::Directive(directive) => vec![directive.span],
        // Directives in a block count once for each of its stages, because they are applied to each.
        Item::Block { stages, directives } => stages.iter().flat_map(|_| directives.iter().map(|d| d.span)).collect(),
        Item::Statement(_) => Vec::new(),
    };
    let counted = schedule.statements().filter(|statement| !matches!(statement.kind, StatementKind::Pin(_)));
    let statement = |n: usize| counted.clone().nth(n).map(|statement| statement.name);
    beyond("facts", FACTS, |n| schedule.facts.get(n).map(|f| f.span))
        .or_else(|| beyond("directives", DIRECTIVES, |n| schedule.items.iter().flat_map(of).nth(n)))
        .or_else(|| beyond("`tune` and `specialize`", STATEMENTS, statement))
}

/// Returns an error at the first element beyond a limit.
fn beyond(what: &str, limit: usize, place: impl Fn(usize) -> Option<SpanId>) -> Option<Error> {
    place(limit).map(|span| {
        Error::new(span, format!("there are more than {limit} {what}"))
            .help("the compiler has this limit so that a build always ends soon: split the item")
    })
}
