//! From the tree of a kernel to a [`Program`] of pure, typed, checked stages.
//!
//! [`check`] makes the program for concrete dtypes and parameters; [`check_generic`] is what `kernel!` calls: it checks
//! for every choice of dtypes and gives the [`Signature`] that the Rust items are made of. What is wrong with a kernel is
//! found here, once, on its own axes: no schedule meets it again.
//!
//! # The way
//! `header` (generics, arguments, outputs) → `definitions` (statements to stages; `compound` refuses `+=`), with `values` (expressions),
//! `literals`, `maths` (methods), `calls`, `reads` (and `bounds`, which proves them inside), `reductions` → `order` (the order of
//! definitions, and their purposes). `names` and `types` serve them all. A name or expression that is wrong is *poisoned*:
//! expressions that depend on it are wrong too, and no error is shown for them.
//!
//! # What it defines
//! - Indices are `i32`: axes, dims, parameters. `/` and `%` floor where both operands are made of these and literals alone,
//!   and their divisor must be proved to be at least 1; on other values they truncate.
//! - A literal takes the type of the other operand, of the definition, or of the `let`.
//! - `max` and `min` ignore NaN; of nothing, or of NaN alone, they are the identity: the infinity (or the lowest or highest
//!   integer). An empty `sum` is 0, `prod` 1, `any` false, `all` true.
//! - `argmax` and `argmin` give the axis's value (of several ranges: the position, row-major, from 0), the lowest among
//!   equals. NaN is never chosen, unless there is nothing else: then it is the first position. They need a range that is
//!   not empty; where that is not proved, the launch checks it.
//! - 32 bits hold every position, and every index that `min` or `max` reduces (`compared`). This is proved, or checked at launch.
//! - A range `lo..hi` whose length is not proved to be at least 0 is checked at launch too.

mod bounds;
mod calls;
mod compared;
mod compound;
mod definitions;
pub mod evaluate;
mod header;
pub mod inline;
mod literals;
mod maths;
mod names;
mod order;
mod reads;
mod reductions;
pub mod signature;
mod sizes;
pub(crate) mod stated;
mod stated_scalars;
mod types;
mod values;

pub use evaluate::evaluate;
pub use inline::inline;
pub use literals::literal;
pub use signature::{Argument, Element, Signature, Tensor, check_generic, signature};

use crate::diag::{Error, Errors, SpanId};
use crate::expr::ExprId;
use crate::nest::{AxisId, BufferId, Program};
use crate::syntax::{Kernel, Name};
use names::Names;
use reductions::Found;
use std::collections::HashSet;
use tilewright_launch::DType;

/// What a schedule's head says about a kernel's generics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings {
    /// `T = f32`. A dtype generic with one choice only may be left out.
    pub dtypes: Vec<(Name, DType)>,
    /// `S = 2`. The others have their defaults.
    pub parameters: Vec<(Name, i64)>,
    /// `IC == 3`: symbolic dims that become literals in every expression. (Such a dim stays in [`Program::dims`], with
    /// the literal as its value.) Facts about derived dims do not belong here.
    pub dims: Vec<(Name, i64)>,
    /// The head, for errors about what it lacks.
    pub span: SpanId,
}

/// The program of a kernel for concrete dtypes and parameters, with an empty plan.
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

/// An error of a kernel that is right without the head's values: theirs is the blame.
fn blame_pins(error: Error, bindings: &Bindings) -> Error {
    let values = bindings.parameters.iter().map(|p| (p, "=")).chain(bindings.dims.iter().map(|d| (d, "==")));
    let Some(((first, _), _)) = values.clone().next() else { return error };
    if error.span == bindings.span || values.clone().any(|((name, _), _)| name.span == error.span) {
        return error;
    }
    let shown = crate::diag::list(values.map(|((name, value), sign)| format!("{name} {sign} {value}")));
    let mut notes = vec![("so it is here in the kernel".to_string(), error.span)];
    notes.extend(error.notes);
    Error { kind: error.kind, span: first.span, message: format!("with {shown}: {}", error.message), notes, help: error.help }
}

/// [`check`], with the proofs about sizes or without: those do not depend on dtypes.
fn check_with(kernel: &Kernel, bindings: &Bindings, prove: bool) -> Result<Program, Errors> {
    let mut checker = Checker {
        kernel,
        program: Program { name: kernel.name.text.clone(), ..Program::default() },
        errors: Errors::new(),
        names: Names::default(),
        prove,
        defined: HashSet::new(),
        definition: Definition::default(),
    };
    checker.header(bindings);
    checker.statements();
    checker.whole();
    let Checker { program, errors, .. } = checker;
    errors.into_result().map(|()| program)
}

/// Something is wrong, and it was said.
struct Poisoned;

/// What a check gives.
type Checked<T> = Result<T, Poisoned>;

/// A kernel on its way to a program.
struct Checker<'a> {
    kernel: &'a Kernel,
    program: Program,
    errors: Errors,
    names: Names,
    /// Whether sizes are proved.
    prove: bool,
    /// The buffers whose definition stands above.
    defined: HashSet<BufferId>,
    /// The definition that is read now.
    definition: Definition,
}

/// The definition that is read now, as far as it is known.
#[derive(Default)]
struct Definition {
    /// What it defines; `None`: a plain `let`.
    buffer: Option<BufferId>,
    /// Its name.
    name: String,
    /// The axes on its left side.
    axes: Vec<AxisId>,
    /// The axes of the reduction that is read now.
    running: Vec<AxisId>,
    /// Its reduction.
    reduction: Option<Found>,
    /// Whether this is inside the reduction's body or ranges.
    inside: bool,
    /// Its axes are not what was meant, so nothing is proved of them.
    unclear: bool,
    /// The conditions around this, and whether they hold here.
    conditions: Vec<(ExprId, bool)>,
}

impl Checker<'_> {
    /// Notes an error.
    fn fail<T>(&mut self, error: Error) -> Checked<T> {
        self.errors.push(error);
        Err(Poisoned)
    }
}
