//! `pack(w[o, c, y, x] => [o, c / 4, y, x, c % 4], when: dispatch, fill: 0.0)`: gives a tensor another layout in memory.
//!
//! It rewrites the algebra before nests exist: every read of the tensor becomes a read at the components of its indices, as of a
//! mixed-radix number, and the stage that defines it gets an axis for each component. So it must precede all directives.
//!
//! | tensor | `when` | what happens |
//! |---|---|---|
//! | an input | `caller` | the argument is packed: its layout is in its type |
//! | an input | `prepare` | a stage packs it once, when the caller prepares it ([`precompute`](crate::schedule::statements::precompute)) |
//! | an input | `dispatch` | a stage `w_packed` packs it at each launch |
//! | an output | `caller` | the result is packed: its layout is in its type |
//! | an output | `dispatch` | the definition fills `y_packed`, and the stage `y` unpacks it at each launch |
//! | an intermediate | | the temporary is packed |
//!
//! If the components of an index exceed its extent, the memory holds `fill` (0 by default). The results of a kernel do not depend
//! on it: reads are at indices of the algorithm, and the elements of a packed stage that are out of bounds are not used elsewhere.
//! So a temporary that the kernel computes holds there the value of its definition at the nearest elements, unless `fill` is given.
//! In this way the result does not have a condition, and can be computed on matrices.
//!
//! Refused: a tensor that is updated in place, a constant, or a name that does not exist; a map that is not one to one; a tensor
//! that is packed twice; a `when` that does not fit; `pack` after a directive.

mod layout;
pub(crate) mod program;
pub(crate) mod rewrite;

use super::winograd::Stated;
use crate::diag::{Error, Errors, SpanId, did_you_mean, list};
use crate::expr::{Const, ExprId};
use crate::launch::{DType, Layout};
use crate::nest::{BufferId, Packed, Program, Space, StageId};
use crate::schedule::{number, stage_names};
use crate::syntax::Name;
use crate::syntax::expr::{Expr, ExprKind};
use crate::syntax::schedule::{Directive, DirectiveKind, Item, Pack, Schedule, Statement, StatementKind, When};

/// The maximum number of components of a layout in a Rust type.
const MOST_DIGITS: usize = 12;

/// The requests of the rewrites of the algebra to later passes.
#[derive(Clone, Default)]
pub(crate) struct Rewritten {
    /// Stages that are stored although they are pointwise.
    pub(crate) stored: Vec<StageId>,
    /// Stages that are computed when an input is prepared, each with the place of the statement.
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

/// Returns a schedule's packs.
pub(crate) fn packs(schedule: &Schedule) -> impl Iterator<Item = (&Pack, &Statement)> {
    schedule.statements().filter_map(|statement| match &statement.kind {
        StatementKind::Pack(pack) => Some((pack, statement)),
        _ => None,
    })
}

/// Checks that rewrites of the algebra precede all directives.
pub(crate) fn come_first(schedule: &Schedule) -> Result<(), Errors> {
    let mut errors = Errors::new();
    let mut directive: Option<SpanId> = None;
    for item in &schedule.items {
        match item {
            // `show` does not schedule a nest, and a placement is itself a rewrite of the algebra.
            Item::Directive(Directive { kind, span, .. }) if kind.shapes() => directive = directive.or(Some(*span)),
            Item::Block { stages, .. } => directive = directive.or(stages.first().map(|s| s.span)),
            Item::Statement(statement) if statement.kind.rewrites() => {
                if let Some(first) = directive {
                    let name = statement.called;
                    let error = Error::new(statement.span, format!("`{name}` is written after a directive"));
                    let error = error.note_at(first, "the first directive is here");
                    errors.push(error.help("rewrites of the algebra come first in a schedule: move it to the front"));
                }
            }
            Item::Directive(_) | Item::Statement(_) => {}
        }
    }
    errors.into_result()
}

/// Checks that an intermediate which is packed, precomputed or part of a decomposition is not inlined, because it is stored.
pub(crate) fn not_inlined(schedule: &Schedule) -> Result<(), Errors> {
    let mut errors = Errors::new();
    for directive in schedule.directives() {
        let DirectiveKind::Inline(names) = &directive.kind else { continue };
        for (name, stored) in names.iter().filter_map(|name| Some((name, stores(schedule, name)?))) {
            let what = match stored.kind {
                StatementKind::Pack(_) => "packed",
                StatementKind::Im2col(_) | StatementKind::Winograd(_) => "part of a decomposition",
                _ => "precomputed",
            };
            let error = Error::new(name.span, format!("`{name}` is {what}, and cannot be inlined"));
            errors.push(error.note_at(stored.span, "it is stored by this statement").help("leave one of them out"));
        }
    }
    errors.into_result()
}

/// Returns the statement that requires an intermediate to be stored.
fn stores<'a>(schedule: &'a Schedule, name: &Name) -> Option<&'a Statement> {
    schedule.statements().find(|statement| match &statement.kind {
        StatementKind::Pack(pack) => pack.tensor.text == name.text,
        StatementKind::Precompute(names) => names.iter().any(|n| n.text == name.text),
        StatementKind::Im2col(i) => i.stages[0].text == name.text,
        StatementKind::Winograd(w) => w.stages.iter().chain([&w.result]).any(|n| n.text == name.text),
        _ => false,
    })
}

/// A tensor, and its packed layout.
struct Packing {
    buffer: BufferId,
    /// The names of its indices.
    axes: Vec<String>,
    layout: Layout,
    fill: ExprId,
    /// True if the elements out of bounds must hold the fill. Otherwise they may hold any value.
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
        return Err(error.help("write fewer components, or `when: dispatch`"));
    }
    if let (Some(When::Caller), Some(strided)) = (when, program.statements.strided.iter().find(|s| s.buffer == buffer)) {
        let name = &pack.tensor;
        let error = Error::new(name.span, format!("`{name}` is strided, and cannot be packed by the caller"));
        return Err(error.note_at(strided.span, "strided here").help("leave one of them out, or write `when: dispatch`"));
    }
    match (when, program.buffers[buffer].space.clone()) {
        (Some(When::Caller), Space::Input) => packing.in_place(program, None),
        (Some(When::Caller), _) | (None, _) => {
            let stage = program.writer(buffer);
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

/// Finds the tensor that a `pack` names.
fn tensor(program: &Program, pack: &Pack) -> Result<BufferId, Error> {
    let name = &pack.tensor;
    let Some((id, buffer)) = program.buffers.iter().find(|(_, b)| b.name == name.text) else {
        if let Some(error) = stage_names::unread(program, name) {
            return Err(error);
        }
        let names = || program.buffers.values().filter(|b| b.space.is_global()).map(|b| b.name.as_str());
        let help = did_you_mean(&name.text, names()).unwrap_or_else(|| format!("the tensors are {}", list(names())));
        return Err(Error::new(name.span, format!("`{name}` is not a tensor of the kernel")).help(help));
    };
    if let Some(error) = stage_names::one_of_several(program, id, name, "packed") {
        return Err(error.help("leave it out"));
    }
    if let Some(error) = stage_names::merged_and_placed(program, name) {
        return Err(error);
    }
    if let Some(packed) = program.statements.packed.iter().find(|p| p.buffer == id || p.of == Some(id)) {
        return Err(Error::new(name.span, format!("`{name}` is packed twice")).note_at(packed.span, "first here"));
    }
    match buffer.space {
        Space::Update => Err(Error::new(name.span, format!("`{name}` is updated in place, and cannot be packed"))
            .help("pack inputs, outputs and intermediates; or make it an input and an output")),
        Space::Constant(_) => Err(Error::new(name.span, format!("`{name}` is a constant, which is not stored in memory"))
            .help("write the constant in the required order")),
        _ => Ok(id),
    }
}

/// Returns when a tensor is packed, or `None` for an intermediate.
fn when(program: &Program, pack: &Pack, buffer: BufferId) -> Result<Option<When>, Error> {
    let (name, space) = (&pack.tensor, &program.buffers[buffer].space);
    let choices = match space {
        Space::Input => "`caller` (the argument is packed), `prepare` (once, before the launches) or `dispatch` (at each launch)",
        _ => "`caller` (the result is packed) or `dispatch` (it is unpacked at each launch)",
    };
    match (&pack.when, space) {
        (None, Space::Temporary) => Ok(None),
        (Some((_, span)), Space::Temporary) => {
            let error =
                Error::new(*span, format!("`{name}` is an intermediate: it is always packed by the stage that computes it"));
            Err(error.help("leave `when` out"))
        }
        (None, _) => Err(Error::new(name.span, format!("`{name}` needs `when`, which says when it is packed"))
            .help(format!("write `when:` {choices}"))),
        (Some((When::Prepare, span)), Space::Output) => {
            Err(Error::new(*span, format!("`{name}` is a result, which cannot be prepared")).help(format!("write {choices}")))
        }
        (Some((when, _)), _) => Ok(Some(*when)),
    }
}

/// Returns the constant of a fill, in the type of the tensor.
fn fill(program: &mut Program, fill: Option<&Expr>, dtype: DType) -> Result<ExprId, Error> {
    let value = match fill {
        None => 0.0,
        Some(expr) => match literal(expr) {
            Some(value) if dtype.is_float() || value.fract() == 0.0 => value,
            Some(_) => return Err(Error::new(expr.span, format!("this is not a value of {dtype}"))),
            None => number::number(program, expr)? as f64,
        },
    };
    let constant = Const::number(value, dtype);
    match fill {
        Some(expr) if constant.value() != value && !dtype.is_float() => {
            Err(Error::new(expr.span, format!("this is not a value of {dtype}")))
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
    /// Describes a packed tensor for the launch.
    fn packed(&self, program: &Program, buffer: BufferId, of: Option<BufferId>) -> Packed {
        let shape = program.buffers[self.buffer].shape.clone();
        Packed { buffer, of, axes: self.axes.clone(), shape, layout: self.layout.clone(), fill: self.fill, span: self.span }
    }
}
