//! The check of a kernel: its syntax tree becomes a [`Program`] of pure, typed stages.
//!
//! [`check`] makes the program for concrete dtypes and parameters. `kernel!` calls [`check_generic`], which checks the kernel
//! for every choice of dtypes and returns the [`Signature`] for the Rust items. All errors of a kernel are found here, once, on
//! its own axes, so that schedules never report them.
//!
//! # Modules
//! `header` (generics, arguments, outputs) → `definitions` (statements to stages; `together` joins them; `compound` refuses `+=`), with
//! `values` (expressions), `calls`, `functions` (which are inlined), `reads` (and `bounds`, which proves them in bounds), `reductions` (and
//! `combined`, which checks the combiners of `reduce`, and `several`, which makes intermediates of them) → `updates` (of `&mut` arguments), `ranges` (of indices that do not begin at 0), `order` (the order of definitions, and whether all are
//! used). All of them use `names` and `types`. A wrong name or
//! expression is *poisoned*: expressions that depend on it are wrong too, and no errors are reported for them.
//!
//! # Language rules
//! - Indices are `i32`: axes, dims, parameters. If both operands consist only of these and literals, `/` and `%` floor, and
//!   their divisor must be proved to be at least 1. On other values they truncate.
//! - A literal takes the type of the other operand, of the definition, or of the `let`.
//! - `max` and `min` ignore NaN. If the range is empty, or all items are NaN, they are the identity: the infinity (or the lowest or
//!   highest integer). An empty `sum` is 0, `prod` 1, `any` false, `all` true.
//! - `argmax` and `argmin` give the axis's value, or for several ranges the position, row-major, from 0. Among equal items they
//!   choose the lowest. NaN is never chosen, unless all items are NaN: then it is the first position. The range must not be
//!   empty. This is proved, or checked at launch.
//! - Every position, and every index that `min` or `max` reduces (`compared`), fits in 32 bits. This is proved, or checked at launch.
//! - The length of a range `lo..hi` is at least 0. This is proved, or checked at launch, too.

mod bounds;
mod calls;
mod combined;
mod compared;
mod compound;
mod definitions;
pub mod evaluate;
mod functions;
mod header;
pub mod inline;
mod names;
mod order;
mod ranges;
mod reads;
mod reductions;
mod several;
pub mod signature;
mod sizes;
pub(crate) mod stated;
mod together;
mod types;
mod updates;
mod values;

pub use evaluate::evaluate;
pub use functions::check_functions;
pub use inline::inline;
pub(crate) use order::unused;
pub(crate) use reductions::monoid;
pub use signature::{Argument, Element, Signature, Tensor, check_generic, signature};
pub(crate) use types::plain as dtype_named;
pub use values::literal;

use crate::diag::{Error, Errors, SpanId};
use crate::expr::ExprId;
use crate::nest::{AxisId, BufferId, Program};
use crate::syntax::{Kernel, Name};
use names::Names;
use reductions::Found;
use std::collections::HashSet;
use tilewright_launch::DType;

/// The values that a schedule's header gives a kernel's generics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings {
    /// `T = f32`. A dtype generic with only one choice may be left out.
    pub dtypes: Vec<(Name, DType)>,
    /// `S = 2`. The others have their defaults.
    pub parameters: Vec<(Name, i64)>,
    /// `IC == 3`: symbolic dims that become literals in every expression. (Such a dim stays in [`Program::dims`], with
    /// the literal as its value.) Facts about derived dims do not belong here.
    pub dims: Vec<(Name, i64)>,
    /// The header, for errors about missing values.
    pub span: SpanId,
}

/// Checks a kernel for concrete dtypes and parameters. The program has an empty plan.
pub fn check(kernel: &Kernel, bindings: &Bindings) -> Result<Program, Errors> {
    let result = check_with(kernel, bindings, true);
    let Err(errors) = result else { return result };
    let plain = Bindings { parameters: Vec::new(), dims: Vec::new(), ..bindings.clone() };
    let pinned = !bindings.parameters.is_empty() || !bindings.dims.is_empty();
    if !pinned || check_with(kernel, &plain, true).is_err() {
        return Err(errors);
    }
    Err(Errors(errors.0.into_iter().map(|e| blame_pins(e, bindings)).collect()))
}

/// Moves an error to the header's values, if the kernel is right without them.
fn blame_pins(error: Error, bindings: &Bindings) -> Error {
    let values = bindings.parameters.iter().map(|p| (p, "=")).chain(bindings.dims.iter().map(|d| (d, "==")));
    let Some(((first, _), _)) = values.clone().next() else { return error };
    if error.span == bindings.span || values.clone().any(|((name, _), _)| name.span == error.span) {
        return error;
    }
    let shown = crate::diag::list(values.map(|((name, value), sign)| format!("{name} {sign} {value}")));
    let mut notes = vec![("the error is here in the kernel".to_string(), error.span)];
    notes.extend(error.notes);
    Error { kind: error.kind, span: first.span, message: format!("with {shown}: {}", error.message), notes, help: error.help }
}

/// Does the same as [`check`]. The proofs about sizes can be skipped, because they do not depend on dtypes. Every `let` is checked, but the
/// program has only those that a result depends on.
fn check_with(kernel: &Kernel, bindings: &Bindings, prove: bool) -> Result<Program, Errors> {
    let program = check_all(kernel, bindings, prove)?;
    let Some((kernel, unread)) = order::without_unread(kernel) else { return Ok(program) };
    let mut program = check_all(&kernel, bindings, prove)?;
    program.report.unread = unread.into_iter().map(|name| (name.text, name.span)).collect();
    Ok(program)
}

/// Checks a kernel, and returns a program of all its statements.
fn check_all(kernel: &Kernel, bindings: &Bindings, prove: bool) -> Result<Program, Errors> {
    let mut checker = Checker::new(kernel, prove);
    checker.functions();
    checker.header(bindings);
    checker.statements();
    checker.whole();
    checker.order_updates();
    let Checker { program, errors, .. } = checker;
    errors.into_result().map(|()| program)
}

/// The result of a failure whose error was reported.
struct Poisoned;

/// The result of a check.
type Checked<T> = Result<T, Poisoned>;

/// The state of checking a kernel.
struct Checker<'a> {
    kernel: &'a Kernel,
    program: Program,
    errors: Errors,
    names: Names,
    /// True if claims about sizes are proved.
    prove: bool,
    /// The ranges of the tensors whose indices do not begin at 0.
    ranges: ranges::Ranges,
    /// The divisors in sizes that are not checked yet.
    divisors: Vec<(ExprId, SpanId)>,
    /// The buffers that are already defined.
    defined: HashSet<BufferId>,
    /// The current definition.
    definition: Definition,
    /// The tensors that are defined together with it.
    together: together::Together,
    /// The calls of functions around the current place, outermost first.
    calls: Vec<functions::Frame>,
    /// The number of calls so far.
    inlined: u32,
}

/// The state of the current definition.
#[derive(Default)]
struct Definition {
    /// The buffer that it defines. `None` for a plain `let`.
    buffer: Option<BufferId>,
    /// Its name.
    name: String,
    /// The axes on its left side.
    axes: Vec<AxisId>,
    /// The axes of the current reduction.
    running: Vec<AxisId>,
    /// Its reduction.
    reduction: Option<Found>,
    /// True within the reduction's body or ranges.
    inside: bool,
    /// True if an error about its axes was reported, so that proofs about them are skipped.
    unclear: bool,
    /// The conditions around the current place, and the values that they have here.
    conditions: Vec<(ExprId, bool)>,
}

impl<'a> Checker<'a> {
    fn new(kernel: &'a Kernel, prove: bool) -> Checker<'a> {
        Checker {
            kernel,
            program: Program { name: kernel.name.text.clone(), ..Program::default() },
            errors: Errors::new(),
            names: Names::default(),
            prove,
            ranges: ranges::Ranges::default(),
            divisors: Vec::new(),
            defined: HashSet::new(),
            definition: Definition::default(),
            together: together::Together::default(),
            calls: Vec::new(),
            inlined: 0,
        }
    }

    /// Reports an error.
    fn fail<T>(&mut self, error: Error) -> Checked<T> {
        let error = self.called_from(error);
        self.errors.push(error);
        Err(Poisoned)
    }
}
