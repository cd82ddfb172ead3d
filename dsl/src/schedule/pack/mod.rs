//! `pack(w[o, c, y, x] => [o, c / 4, y, x, c % 4], when: dispatch, fill: 0.0)`: another layout of a tensor in memory.
//!
//! It rewrites the algebra, before there are nests: every read of the tensor becomes one at its digits, and the stage that
//! defines it gets an axis for each digit. So it stands before all directives.
//!
//! | of | `when` | what happens |
//! |---|---|---|
//! | an input | `caller` | the argument is packed: its layout is in its type |
//! | an input | `prepare` | a stage packs it once, when the caller prepares it ([`precompute`](super::precompute)) |
//! | an input | `dispatch` | a stage `w_packed` packs it at each launch |
//! | an output | `caller` | the result is packed: its layout is in its type |
//! | an output | `dispatch` | the definition fills `y_packed`, and the stage `y` unpacks it at each launch |
//! | an intermediate | | the temporary is packed |
//!
//! Where the digits of an index go beyond its extent, the memory holds `fill` (0 if nothing is said). Nothing that a kernel
//! computes depends on it: reads are at indices of the algorithm's, and a packed stage's points beyond are not written to
//! anything else. So a temporary that the kernel computes holds there what its definition makes of the nearest elements, unless a
//! `fill` is said: a result without a condition can be matrices.
//!
//! Refused: a tensor that is updated in place, a constant, what is not there; a map that is not one to one; a tensor that is
//! packed twice; a `when` that does not fit; `pack` after a directive.

mod layout;
pub(crate) mod program;
pub(crate) mod rewrite;

use super::merged;
use super::number;
use super::placement::is_placement;
use super::winograd::Stated;
use crate::diag::{Error, Errors, SpanId, did_you_mean, list};
use crate::expr::{Const, ExprId};
use crate::launch::{DType, Layout};
use crate::nest::{BufferId, Packed, Program, Space, StageId};
use crate::syntax::Name;
use crate::syntax::expr::{Expr, ExprKind};
use crate::syntax::schedule::{Directive, DirectiveKind, Item, Pack, Schedule, Statement, StatementKind, When};

/// How many digits a layout in a Rust type has at most.
const MOST_DIGITS: usize = 12;

/// What the rewrites of the algebra ask of the passes after them.
#[derive(Default)]
pub(crate) struct Rewritten {
    /// Stages that are stored although they are pointwise.
    pub(crate) stored: Vec<StageId>,
    /// Those that are computed when an input is prepared, and what says so.
    pub(crate) prepared: Vec<(StageId, SpanId)>,
    /// Decompositions whose error is stated when the schedule is complete.
    pub(crate) stated: Vec<Stated>,
}

/// Applies a schedule's packs, in order.
pub(crate) fn apply(program: &mut Program, schedule: &Schedule, rewritten: &mut Rewritten) -> Result<(), Errors> {
    let mut errors = Errors::new();
    for (pack, statement) in packs(schedule) {
        errors.keep(one(program, pack, statement, rewritten));
    }
    errors.into_result()
}

/// A schedule's packs.
pub(crate) fn packs(schedule: &Schedule) -> impl Iterator<Item = (&Pack, &Statement)> {
    schedule.items.iter().filter_map(|item| match item {
        Item::Statement(statement) => match &statement.kind {
            StatementKind::Pack(pack) => Some((pack, statement)),
            _ => None,
        },
        _ => None,
    })
}

/// That rewrites of the algebra come before all directives.
pub(crate) fn come_first(schedule: &Schedule) -> Result<(), Errors> {
    let mut errors = Errors::new();
    let mut directive: Option<SpanId> = None;
    for item in &schedule.items {
        match item {
            // To show a nest is not to schedule it, and a place is one of the algebra's rewrites.
            Item::Directive(Directive { kind: DirectiveKind::Show, .. }) => {}
            Item::Directive(Directive { kind, .. }) if is_placement(kind) => {}
            Item::Directive(Directive { span, .. }) => directive = directive.or(Some(*span)),
            Item::Block { stages, .. } => directive = directive.or(stages.first().map(|s| s.span)),
            Item::Statement(statement) if statement.kind.rewrites() => {
                if let Some(first) = directive {
                    let name = statement.called;
                    let error = Error::new(statement.span, format!("`{name}` stands after a directive"));
                    let error = error.note_at(first, "the first directive is here");
                    errors.push(error.help("rewrites of the algebra come first in a schedule: move it to the front"));
                }
            }
            Item::Statement(_) => {}
        }
    }
    errors.into_result()
}

/// That no intermediate is inlined which is packed, precomputed or part of a decomposition, and so stored.
pub(crate) fn not_inlined(schedule: &Schedule) -> Result<(), Errors> {
    let mut errors = Errors::new();
    for item in &schedule.items {
        let Item::Directive(Directive { kind: DirectiveKind::Inline(names), .. }) = item else { continue };
        for (name, stored) in names.iter().filter_map(|name| Some((name, stores(schedule, name)?))) {
            let what = match stored.kind {
                StatementKind::Pack(_) => "packed",
                StatementKind::Im2col(_) | StatementKind::Winograd(_) => "part of a decomposition",
                _ => "precomputed",
            };
            let error = Error::new(name.span, format!("`{name}` is {what}, and cannot be inlined"));
            errors.push(error.note_at(stored.span, "it is stored, by this").help("leave one of them out"));
        }
    }
    errors.into_result()
}

/// The statement that has an intermediate stored.
fn stores<'a>(schedule: &'a Schedule, name: &Name) -> Option<&'a Statement> {
    let statements = schedule.items.iter().filter_map(|item| if let Item::Statement(s) = item { Some(s) } else { None });
    statements.into_iter().find(|statement| match &statement.kind {
        StatementKind::Pack(pack) => pack.tensor.text == name.text,
        StatementKind::Precompute(names) => names.iter().any(|n| n.text == name.text),
        StatementKind::Im2col(i) => i.stages[0].text == name.text,
        StatementKind::Winograd(w) => w.stages.iter().chain([&w.result]).any(|n| n.text == name.text),
        _ => false,
    })
}

/// A tensor, and what becomes of it.
struct Packing {
    buffer: BufferId,
    /// The names of its indices.
    axes: Vec<String>,
    layout: Layout,
    fill: ExprId,
    /// Whether what is beyond the digits holds the filling; else it holds anything.
    filled: bool,
    span: SpanId,
}

fn one(program: &mut Program, pack: &Pack, statement: &Statement, rewritten: &mut Rewritten) -> Result<(), Error> {
    let buffer = tensor(program, pack)?;
    let layout = layout::layout(program, pack, program.buffers[buffer].shape.len())?;
    let fill = fill(program, pack.fill.as_ref(), program.buffers[buffer].dtype)?;
    let axes = pack.axes.iter().map(|a| a.text.clone()).collect();
    let when = when(program, pack, buffer)?;
    let computed = match program.buffers[buffer].space {
        Space::Temporary => true,
        Space::Output => when == Some(When::Dispatch),
        _ => false,
    };
    let filled = pack.fill.is_some() || !computed;
    let packing = Packing { buffer, axes, layout, fill, filled, span: statement.span };
    if when == Some(When::Caller) && packing.layout.0.len() > MOST_DIGITS {
        let error = Error::new(statement.span, format!("a caller's tensor has at most {MOST_DIGITS} dimensions in memory"));
        return Err(error.help("write fewer digits, or `when: dispatch`"));
    }
    if let (Some(When::Caller), Some(strided)) = (when, program.strided.iter().find(|s| s.buffer == buffer)) {
        let name = &pack.tensor;
        let error = Error::new(name.span, format!("`{name}` is strided, and cannot be packed by the caller"));
        return Err(error.note_at(strided.span, "strided here").help("leave one of them out, or write `when: dispatch`"));
    }
    match (when, program.buffers[buffer].space.clone()) {
        (Some(When::Caller), Space::Input) => packing.in_place(program, None),
        (Some(When::Caller), _) | (None, _) => {
            let stage = program.definition(buffer);
            rewritten.stored.extend(stage);
            packing.in_place(program, stage);
        }
        (Some(_), Space::Output) => rewritten.stored.extend(packing.of_output(program)),
        (Some(when), _) => {
            let stage = packing.of_input(program);
            rewritten.stored.push(stage);
            if when == When::Prepare {
                rewritten.prepared.push((stage, statement.span));
            }
        }
    }
    Ok(())
}

/// The tensor that a `pack` names.
fn tensor(program: &Program, pack: &Pack) -> Result<BufferId, Error> {
    let name = &pack.tensor;
    let Some((id, buffer)) = program.buffers.iter().find(|(_, b)| b.name == name.text) else {
        let names = || program.buffers.values().filter(|b| b.space.is_global()).map(|b| b.name.as_str());
        let help = did_you_mean(&name.text, names()).unwrap_or_else(|| format!("the tensors are {}", list(names())));
        return Err(Error::new(name.span, format!("the kernel has no tensor `{name}`")).help(help));
    };
    if let Some(error) = merged::one_of_several(program, id, name, "packed") {
        return Err(error.help("leave it out"));
    }
    if let Some(error) = merged::placed(program, name) {
        return Err(error);
    }
    if let Some(packed) = program.packed.iter().find(|p| p.buffer == id || p.of == Some(id)) {
        return Err(Error::new(name.span, format!("`{name}` is packed twice")).note_at(packed.span, "first here"));
    }
    match buffer.space {
        Space::Update => Err(Error::new(name.span, format!("`{name}` is updated in place, where it lies"))
            .help("pack inputs, outputs and intermediates; or make it an input and an output")),
        Space::Constant(_) => Err(Error::new(name.span, format!("`{name}` is a constant, which has no place in memory"))
            .help("write the constant in the order in which it is wanted")),
        _ => Ok(id),
    }
}

/// When a tensor is packed; `None`: it is an intermediate.
fn when(program: &Program, pack: &Pack, buffer: BufferId) -> Result<Option<When>, Error> {
    let (name, space) = (&pack.tensor, &program.buffers[buffer].space);
    let choices = match space {
        Space::Input => "`caller` (the argument is packed), `prepare` (once, before the launches) or `dispatch` (at each launch)",
        _ => "`caller` (the result is packed) or `dispatch` (it is unpacked at each launch)",
    };
    match (&pack.when, space) {
        (None, Space::Temporary) => Ok(None),
        (Some((_, span)), Space::Temporary) => {
            let error = Error::new(*span, format!("`{name}` is an intermediate: it is packed where it is computed"));
            Err(error.help("leave `when` out"))
        }
        (None, _) => {
            Err(Error::new(name.span, format!("when `{name}` is packed is not said")).help(format!("write `when:` {choices}")))
        }
        (Some((When::Prepare, span)), Space::Output) => {
            Err(Error::new(*span, format!("`{name}` is a result, which cannot be prepared")).help(format!("write {choices}")))
        }
        (Some((when, _)), _) => Ok(Some(*when)),
    }
}

/// The literal of a filling, of a tensor's type.
fn fill(program: &mut Program, fill: Option<&Expr>, dtype: DType) -> Result<ExprId, Error> {
    let value = match fill {
        None => 0.0,
        Some(expr) => match literal(expr) {
            Some(value) if dtype.is_float() || value.fract() == 0.0 => value,
            Some(_) => return Err(Error::new(expr.span, format!("this is no value of {dtype}"))),
            None => number::number(program, expr)? as f64,
        },
    };
    let constant = Const::number(value, dtype);
    match fill {
        Some(expr) if constant.value() != value && !dtype.is_float() => {
            Err(Error::new(expr.span, format!("this is no value of {dtype}")))
        }
        _ => Ok(program.exprs.constant(constant)),
    }
}

fn literal(expr: &Expr) -> Option<f64> {
    match &expr.kind {
        ExprKind::Float { value, .. } => Some(*value),
        ExprKind::Bool(value) => Some(f64::from(u8::from(*value))),
        ExprKind::Neg(a) => literal(a).map(|value| -value),
        ExprKind::Int { value, .. } => Some(*value as f64),
        _ => None,
    }
}

impl Packing {
    /// What the launch has to know of a packed tensor.
    fn packed(&self, program: &Program, buffer: BufferId, of: Option<BufferId>) -> Packed {
        let shape = program.buffers[self.buffer].shape.clone();
        Packed { buffer, of, axes: self.axes.clone(), shape, layout: self.layout.clone(), fill: self.fill, span: self.span }
    }
}
