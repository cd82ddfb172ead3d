//! `accumulate(as f32)`: combines the items of a reduction of integers in another dtype that has all partial results, so that the result
//! stays the same. The items are converted to the new dtype and combined in it, and the finish converts the result back. Later directives
//! see an ordinary reduction of the new dtype.
//!
//! A partial result of a sum of `n` items between `least` and `greatest` is between `n * least.min(0)` and `n * greatest.max(0)`, for every
//! order and every part of the items. Both dtypes must have these numbers: this is proved, or the launch checks `n`. `min` and `max`
//! only need the items' numbers; in an integer dtype also an item, because the result of an empty range is the end of the declared dtype.
//!
//! Refused: floats, whose sums are rounded; other reductions; dtypes that do not have the items, or too many items; and stages that other
//! directives have rewritten, because those have chosen instructions for the declared dtype.

use super::intervals::{Interval, bounds, exact};
use crate::algorithm;
use crate::diag::{Error, SpanId};
use crate::expr::{Binary, Const, Expr, ExprId};
use crate::nest::{Accumulated, AxisId, Body, Condition, Exec, Fate, Monoid, Program, State};
use crate::schedule::{Applied, StageNest};
use crate::syntax::Name;
use crate::syntax::expr::ReduceOp;
use tilewright_launch::{DType, Relation};

/// The fewest items for which partial sums are worth a dispatch.
const SHORT: i32 = 8;

/// The help for items that are too large.
const BOUND: &str = "bound the items in the kernel, for example by operands of 8 bits or by `.clamp(…)`, or leave `accumulate` out";

/// The reduction that the stage declares.
struct Declared {
    op: ReduceOp,
    dtype: DType,
    over: Vec<AxisId>,
    item: ExprId,
    finish: ExprId,
}

/// Applies the directive.
pub fn apply(nest: &mut StageNest<'_>, to: &Name, span: SpanId) -> Applied {
    let declared = declared(nest, to, span)?;
    let dtype = dtype(nest, &declared, to)?;
    is_first(nest, &declared, span)?;
    let items = bounds(nest.program, declared.item);
    has_items(nest, items, dtype, to)?;
    let what = match declared.op {
        ReduceOp::Sum => has_sums(nest, &declared, items, dtype, to)?,
        _ => has_ends(nest, &declared, dtype, to)?,
    };
    rewrite(nest, &declared, dtype, span);
    if let Some((needed, state)) = what {
        let stage = &nest.program.stages[nest.stage].name;
        nest.program.owe(format!("`{stage}` is exact in `{dtype}`, which needs `{needed}`"), state, span);
    } else {
        let stage = &nest.program.stages[nest.stage].name;
        nest.program.owe(format!("`{stage}` is exact in `{dtype}`"), State::Proved, span);
    }
    Ok(())
}

/// Returns the declared reduction. Its items must be integers, and one operation must combine them.
fn declared(nest: &StageNest<'_>, to: &Name, span: SpanId) -> Result<Declared, Error> {
    let stage = &nest.program.stages[nest.stage];
    let cannot = |why: String| Error::new(span, format!("cannot accumulate `{}` in `{to}`: {why}", stage.name));
    let Body::Reduce { monoid, over, lift, finish } = &stage.body else {
        return Err(cannot("it is not a reduction".into()).help("write it in the block of a sum: `s { accumulate(as f32); }`"));
    };
    let op = match monoid.operation(&nest.program.exprs) {
        Some((Binary::Add, dtype)) => Some((ReduceOp::Sum, dtype)),
        Some((Binary::Min, dtype)) => Some((ReduceOp::Min, dtype)),
        Some((Binary::Max, dtype)) => Some((ReduceOp::Max, dtype)),
        _ => None,
    };
    let ([item], Some((op, dtype)), true) = (&lift[..], op, stage.also.is_empty()) else {
        let error = cannot(format!("it is a reduction by `{}`", monoid.name));
        return Err(error.help("sums, `min` and `max` of integers can be accumulated in another dtype: leave `accumulate` out"));
    };
    if !dtype.is_int() {
        let error = cannot(format!("its items are {dtype}, whose sums are rounded, so that another dtype changes the result"));
        return Err(error.help(format!("convert the items in the kernel, `{}(…) {{ (…) as {to} }}`", op.name())));
    }
    Ok(Declared { op, dtype, over: over.clone(), item: *item, finish: *finish })
}

/// Returns the new dtype: a narrower integer, or f32.
fn dtype(nest: &StageNest<'_>, declared: &Declared, to: &Name) -> Result<DType, Error> {
    let stage = &nest.program.stages[nest.stage].name;
    let dtype = algorithm::dtype_named(to)?;
    let cannot = |why: String| Error::new(to.span, format!("cannot accumulate `{stage}` in `{to}`: {why}"));
    match dtype {
        DType::F32 => Ok(dtype),
        DType::F16 | DType::BF16 => {
            let most = Interval::of_dtype(dtype).greatest;
            Err(cannot(format!("it does not have all integers beyond {most}"))
                .help("write `accumulate(as f32)`, which has them up to 16777216"))
        }
        _ if dtype.is_int() && dtype.bytes() < declared.dtype.bytes() => Ok(dtype),
        _ => {
            let error = cannot(format!("it is not narrower than `{}`, the dtype of its items", declared.dtype));
            Err(error.help("write `accumulate(as f32)`, or a narrower integer such as `accumulate(as i16)`"))
        }
    }
}

/// Checks that no other directive has rewritten the stage.
fn is_first(nest: &StageNest<'_>, declared: &Declared, span: SpanId) -> Applied {
    let program = &*nest.program;
    let rewritten = |axis: &AxisId| match &program.axes[*axis].fate {
        Fate::Split(split) => Some(split.span),
        Fate::Fused { span, .. } => Some(*span),
        Fate::Live => {
            let frame = &nest.path.frames[nest.path.position(*axis)?];
            (frame.as_loop() != Some((*axis, Exec::Serial))).then_some(frame.span)
        }
    };
    let made = program.stages[nest.stage].axes.iter().chain(&declared.over).find_map(rewritten);
    let is_copied = nest.path.compute.value != [declared.item] || !nest.copies.is_empty();
    if made.is_none() && !is_copied {
        return Ok(());
    }
    let stage = &program.stages[nest.stage].name;
    let error = Error::new(span, format!("`accumulate` must come before the other directives of `{stage}`"));
    let error = match made {
        Some(made) => error.note_at(made, "this directive is applied before"),
        None => error.note("its operands are copied before"),
    };
    Err(error.help("move it up: they choose instructions for the dtype that it sets"))
}

/// Checks that the new dtype has every item.
fn has_items(nest: &StageNest<'_>, items: Interval, dtype: DType, to: &Name) -> Applied {
    if items.is_within(Interval::of_dtype(dtype)) {
        return Ok(());
    }
    let (stage, Interval { least, greatest }) = (&nest.program.stages[nest.stage].name, items);
    let all = Interval::of_dtype(dtype);
    let error = Error::new(
        to.span,
        format!("cannot accumulate `{stage}` in `{to}`: an item can be {}", if least < all.least { least } else { greatest }),
    );
    let error = error.note(format!(
        "the items are between {least} and {greatest}, and `{to}` has the integers between {} and {}",
        all.least, all.greatest
    ));
    Err(error.help(BOUND))
}

/// Returns the number of items as an expression.
fn count(program: &Program, over: &[AxisId]) -> ExprId {
    let extents = over.iter().map(|axis| program.axes[*axis].extent);
    extents.reduce(|count, extent| program.exprs.product(count, extent)).unwrap_or_else(|| program.exprs.int(1))
}

/// A condition, and how it is met.
type Met = Option<(String, State)>;

/// Checks that both dtypes have the partial results of a sum, so that it neither wraps nor is rounded. Returns the condition on the number of
/// items.
fn has_sums(nest: &mut StageNest<'_>, declared: &Declared, items: Interval, dtype: DType, to: &Name) -> Result<Met, Error> {
    let most_in = |dtype: DType| {
        let all = Interval::of_dtype(dtype);
        let below = (items.least < 0).then(|| all.least / items.least);
        let above = (items.greatest > 0).then(|| all.greatest / items.greatest);
        below.into_iter().chain(above).min()
    };
    let most = most_in(dtype).into_iter().chain(most_in(declared.dtype)).min();
    let Some(most) = most.and_then(|most| i32::try_from(most).ok()) else { return Ok(None) };
    let number = count(nest.program, &declared.over);
    let bound = nest.program.exprs.int(most.into());
    let Interval { least, greatest } = items;
    let note = format!("an item is between {least} and {greatest}, so sums of at most {most} items are exact");
    let axis = declared.over.first().map_or("k", |axis| nest.name(*axis)).to_owned();
    let help = match dtype {
        DType::F32 if most < SHORT => BOUND.to_owned(),
        DType::F32 => {
            format!(
                "sum fewer items at a time: `tile({axis}: {most} => {axis}_o); rfactor({axis}_o => part); part {{ accumulate(as f32); }}`"
            )
        }
        _ => "write `accumulate(as f32)`".into(),
    };
    needs(nest, (number, Relation::Le, bound), to, note, help).map(Some)
}

/// Checks that the new dtype has the result of an empty `min` or `max`. The identities of floats are infinities, which convert to
/// the ends of every integer dtype.
fn has_ends(nest: &mut StageNest<'_>, declared: &Declared, dtype: DType, to: &Name) -> Result<Met, Error> {
    if dtype.is_float() {
        return Ok(None);
    }
    let (number, one) = (count(nest.program, &declared.over), nest.program.exprs.int(1));
    let note = format!("without items, the result is an end of `{}`, which `{to}` does not have", declared.dtype);
    needs(nest, (number, Relation::Ge, one), to, note, "write `accumulate(as f32)`, or state a fact about the range".into())
        .map(Some)
}

/// Makes sure that a condition on the number of items holds: it is proved, or checked at launch if only dims determine it.
fn needs(
    nest: &mut StageNest<'_>,
    (left, relation, right): (ExprId, Relation, ExprId),
    to: &Name,
    note: String,
    help: String,
) -> Result<(String, State), Error> {
    let text = format!("{} {} {}", nest.text(left), relation.symbol(), nest.text(right));
    let (prover, exprs) = (nest.prover(), &nest.program.exprs);
    let (proved, refuted) = match relation {
        Relation::Le => (prover.less_equal(left, right), prover.less(right, left)),
        _ => (prover.less_equal(right, left), prover.less(left, right)),
    };
    if proved {
        return Ok((text, State::Proved));
    }
    let of_axes = exprs.uses_axis(left, &mut |_| true);
    if refuted || of_axes {
        let stage = &nest.program.stages[nest.stage].name;
        let why = if refuted { "does not hold" } else { "is not proved, and no launch can check it for each of its axes" };
        let error = Error::new(to.span, format!("cannot accumulate `{stage}` in `{to}`: `{text}` {why}"));
        return Err(error.note(note).help(help));
    }
    let condition = Condition { left, relation, right, text: text.clone(), span: to.span, needed: false };
    let known = |c: &Condition| (c.left, c.relation, c.right) == (left, relation, right);
    if !nest.program.checks.conditions.iter().any(known) {
        nest.program.checks.conditions.push(condition);
    }
    Ok((text, State::CheckedAtLaunch))
}

/// Rewrites the stage and its nest.
fn rewrite(nest: &mut StageNest<'_>, declared: &Declared, dtype: DType, span: SpanId) {
    let program = &mut *nest.program;
    let (exprs, before) = (&program.exprs, program.stages[nest.stage].body.clone());
    let monoid: Monoid = algorithm::monoid(exprs, declared.op, dtype);
    let lift = vec![converted(program, declared.item, dtype)];
    let state = exprs.cast(declared.dtype, exprs.add(Expr::State(0), dtype));
    let finish = exprs.replace(declared.finish, &mut |exprs, e| matches!(exprs.get(e), Expr::State(0)).then_some(state));
    let body = Body::Reduce { monoid, over: declared.over.clone(), lift: lift.clone(), finish };
    let note = Accumulated { stage: nest.stage, declared: before, body: body.clone(), span };
    program.stages[nest.stage].body = body;
    program.notes.accumulated.push(note);
    nest.path.compute.value = lift;
    nest.path.compute.finish = Some(finish);
}

/// Returns an integer as a value of a dtype that has it. In a float dtype, the operations on numbers that it has are computed in it, too,
/// so that they need no conversion of their results.
fn converted(program: &Program, e: ExprId, to: DType) -> ExprId {
    let (exprs, all) = (&program.exprs, Interval::of_dtype(to));
    let own = Interval::of_dtype(exprs.dtype(e));
    let is_exact = |e: ExprId| exact(program, e).is_some_and(|exact| exact.is_within(own));
    let cast = || exprs.cast(to, if exprs.is_index(e) { exprs.cast(DType::I32, e) } else { e });
    match *exprs.get(e) {
        Expr::Const(c) => exprs.constant(Const::number(c.value(), to)),
        Expr::Cast(_, a) if is_exact(e) && !exprs.is_index(a) && exprs.dtype(a) != DType::Bool => converted(program, a, to),
        Expr::Binary(op @ (Binary::Add | Binary::Sub | Binary::Mul | Binary::Min | Binary::Max), a, b)
            if to.is_float()
                && !exprs.is_index(e)
                && is_exact(e)
                && [a, b].iter().all(|side| bounds(program, *side).is_within(all)) =>
        {
            exprs.binary(op, converted(program, a, to), converted(program, b, to))
        }
        Expr::Select(cond, a, b) if !exprs.is_index(e) && [a, b].iter().all(|side| bounds(program, *side).is_within(all)) => {
            exprs.select(cond, converted(program, a, to), converted(program, b, to))
        }
        _ => cast(),
    }
}
