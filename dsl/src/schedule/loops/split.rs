//! `split(oc, [2, _, 4] => r, t, v)`: splits one axis into several, outermost first.
//!
//! Refused: an axis that no longer exists or is already distributed, unrolled or in lanes; factors below 1 or beyond a known
//! extent; two inferred factors; a list without an inferred factor that does not cover the axis; `exact` that is not proved;
//! `round_up` where it would change the meaning; the cases that [`super::shift`] and [`super::peel`] refuse.

use super::{peel, shift};
use crate::diag::{Error, SpanId};
use crate::expr::{Binary, ExprId};
use crate::nest::path::{Frame, Head};
use crate::nest::{AxisId, Exec, Fate, Split, State, Tail};
use crate::schedule::{Applied, StageNest};
use crate::syntax::Name;
use crate::syntax::schedule::{Factor, TailWord};

/// The maximum number of loops around a stage, and of its guarded axes. The backend stores predicates in a 64-bit mask.
const MOST_LOOPS: usize = 48;

/// Applies the directive.
pub fn apply(
    nest: &mut StageNest<'_>,
    axis: &Name,
    factors: &[Factor],
    tail: Option<TailWord>,
    names: &[Name],
    span: SpanId,
) -> Applied {
    if names.len() != factors.len() {
        let error = Error::new(span, format!("{} factors make {0} parts, and {} names are given", factors.len(), names.len()));
        return Err(error.help(format!("name all parts, outermost first: `=> {}`", vec!["_"; factors.len()].join(", "))));
    }
    let id = nest.axis(axis)?;
    let mut numbers = Vec::new();
    for factor in factors {
        numbers.push(match factor {
            Factor::Number(expr) => Some((nest.positive(expr, "a factor")?, expr.span)),
            Factor::Inferred(span) if numbers.contains(&None) => {
                return Err(Error::new(*span, "only one factor can be inferred").help("give the others as numbers"));
            }
            Factor::Inferred(_) => None,
        });
    }
    for (i, name) in names.iter().enumerate() {
        // A part may keep the axis's own name, like the inner part of a tile.
        if name.text != axis.text {
            nest.fresh(&name.text, name.span, "… => another_name")?;
        }
        if names[..i].contains(name) || names[..i].iter().any(|n| n.text == name.text) {
            return Err(Error::new(name.span, format!("two parts are named `{name}`")).help("give each part a name of its own"));
        }
    }
    let parts: Vec<String> = names.iter().map(|n| n.text.clone()).collect();
    split(nest, id, axis.span, &numbers, tail, &parts, span).map(|_| ())
}

/// In a version for additional facts, an axis can be shorter than the tile in the schedule. The tile is then reduced to the whole
/// axis.
fn whole(nest: &StageNest<'_>, extent: ExprId, factors: &[Option<(i64, SpanId)>]) -> Option<Vec<Option<(i64, SpanId)>>> {
    let have = nest.program.exprs.as_int(extent)?.max(1);
    match factors {
        [outer, Some((factor, at))] if nest.program.specialized && *factor > have => Some(vec![*outer, Some((have, *at))]),
        _ => None,
    }
}

/// Splits an axis in place into parts of the given extents (`None` is inferred). Returns the parts.
pub fn split(
    nest: &mut StageNest<'_>,
    axis: AxisId,
    blame: SpanId,
    factors: &[Option<(i64, SpanId)>],
    tail: Option<TailWord>,
    names: &[String],
    span: SpanId,
) -> Result<Vec<AxisId>, Error> {
    let at = plain(nest, axis, blame)?;
    if nest.path.frames.len() + factors.len() > MOST_LOOPS
        || nest.program.predicates(&nest.program.root_axes(nest.stage)).len() >= MOST_LOOPS
    {
        let error =
            Error::new(span, format!("`{}` has more than {MOST_LOOPS} loops or guards", nest.program.stages[nest.stage].name));
        return Err(error.help("split fewer times"));
    }
    let extent = nest.program.axes[axis].extent;
    let whole = whole(nest, extent, factors);
    let factors = whole.as_deref().unwrap_or(factors);
    let product = factors.iter().flatten().try_fold(1i64, |p, (f, _)| p.checked_mul(*f)).filter(|p| *p <= i64::from(i32::MAX));
    let Some(product) = product else {
        return Err(Error::new(span, "the product of the factors is larger than 2^31"));
    };
    // A tile that is longer than the axis is intended if a keyword says how its tail is handled.
    let meant = tail.is_some_and(|t| matches!(t.tail, Tail::RoundUp | Tail::Guard));
    if let (Some(have), false) = (nest.program.exprs.as_int(extent), meant)
        && let Some((factor, at)) = factors.iter().flatten().find(|(f, _)| *f > have.max(1))
    {
        let error = Error::new(*at, format!("the factor {factor} is larger than the extent {have} of `{}`", nest.name(axis)));
        return Err(error.help(format!("write at most {}, or write `guard` after it to leave the tail idle", have.max(1))));
    }
    if let Some(have) = nest.program.exprs.as_int(extent)
        && (have + product - 1) / product * product > i64::from(i32::MAX)
    {
        let error = Error::new(span, format!("the parts of `{}`, of extent {have}, reach beyond 2^31", nest.name(axis)));
        return Err(error.help("indices have 32 bits: choose smaller factors"));
    }
    let exact = is_exact(nest, axis, factors, product, span)?;
    let tail = check_tail(nest, axis, factors, product, exact, tail, span)?;
    let inferred = if exact { floor(nest, extent, product) } else { ceil(nest, extent, product) };
    let mut extents: Vec<ExprId> = Vec::new();
    for factor in factors {
        extents.push(factor.map_or(inferred, |(f, _)| nest.program.exprs.int(f)));
    }
    let mut parts = Vec::new();
    for (i, (extent, name)) in extents.into_iter().zip(names).enumerate() {
        parts.push(nest.add_part(name.clone(), axis, i, extent, span));
    }
    let exact = exact || tail == Tail::Shift;
    nest.program.axes[axis].fate = Fate::Split(Split { parts: parts.clone(), exact, tail, span });
    // An axis of extent 1 is not a loop, but it can need one when it is rounded up. The loop is then innermost, because no place is
    // given.
    let innermost =
        nest.path.frames.iter().position(|f| matches!(f.as_loop(), Some((_, Exec::Lanes | Exec::Dot | Exec::Matrix(_)))));
    let place = at.or(innermost).unwrap_or(nest.path.frames.len());
    if let Some(at) = at {
        nest.path.remove(at);
    }
    let loops = parts.iter().filter(|p| !nest.program.is_single(**p));
    let frames: Vec<Frame> = loops.map(|p| Frame::looped(*p, Exec::Serial, span)).collect();
    nest.path.frames.splice(place..place, frames);
    for (n, part) in parts.iter().enumerate() {
        nest.vanish(*part, place, &parts[..n]);
    }
    if nest.serial.contains(&axis) {
        nest.serial.extend(&parts);
    }
    nest.refresh();
    Ok(parts)
}

/// Splits an axis by a number that divides it. The outer part takes the axis's name and its loop at `at`. The inner part is
/// returned, and does not have a loop yet.
pub(in crate::schedule) fn inner(
    nest: &mut StageNest<'_>,
    (axis, at): (AxisId, Option<usize>),
    name: &Name,
    (count, word): (i64, &str),
    span: SpanId,
) -> AxisId {
    let by = nest.program.exprs.int(count);
    let extent = nest.program.axes[axis].extent;
    let outer_extent = nest.program.exprs.binary(Binary::FloorDiv, extent, by);
    let outer = nest.add_part(name.text.clone(), axis, 0, outer_extent, span);
    let inner_name = nest.unused(&format!("{name}_{word}"));
    let inner = nest.add_part(inner_name, axis, 1, by, span);
    nest.program.axes[axis].fate = Fate::Split(Split { parts: vec![outer, inner], exact: true, tail: Tail::Exact, span });
    if nest.serial.contains(&axis) {
        nest.serial.insert(outer);
    }
    if let Some(at) = at {
        if nest.program.is_single(outer) {
            nest.path.remove(at);
        } else {
            nest.path.frames[at].head = Head::Loop { axis: outer, exec: Exec::Serial };
        }
    }
    inner
}

/// Returns the place of an axis's loop, or `None` if it does not have one. Reports an error if the loop is not a plain serial loop.
pub fn plain(nest: &StageNest<'_>, axis: AxisId, blame: SpanId) -> Result<Option<usize>, Error> {
    let Some(at) = nest.path.position(axis) else { return Ok(None) };
    let frame = &nest.path.frames[at];
    let done = match frame.as_loop() {
        Some((_, Exec::Serial)) | None => return Ok(Some(at)),
        Some((_, Exec::Unroll)) => "unrolled",
        Some((_, Exec::Lanes)) => "in lanes",
        Some((_, Exec::Dot)) => "in a dot product",
        Some((_, Exec::Matrix(_))) => "a side of matrices",
        Some((_, Exec::Bind(..))) => "distributed",
        Some((_, Exec::Step(_))) => "pipelined",
    };
    let error = Error::new(blame, format!("axis `{}` is already {done}", nest.name(axis)));
    Err(error.note_at(frame.span, format!("it was {done} here")).help("put this directive before that one"))
}

/// True if the parts are proved to have exactly the points of the axis.
fn is_exact(
    nest: &StageNest<'_>,
    axis: AxisId,
    factors: &[Option<(i64, SpanId)>],
    product: i64,
    span: SpanId,
) -> Result<bool, Error> {
    let extent = nest.program.axes[axis].extent;
    if factors.contains(&None) {
        return Ok(nest.prover().divides(product, extent));
    }
    if nest.program.exprs.as_int(extent) == Some(product) {
        return Ok(true);
    }
    if nest.prover().upper(extent).is_some_and(|most| most <= product) {
        return Ok(false);
    }
    let error = Error::new(span, format!("the parts have {product} points, which are not proved to cover `{}`", nest.name(axis)));
    let text = nest.text(extent);
    Err(error.note(format!("`{}` runs over `0..{text}`", nest.name(axis))).help("write `_` for one of the factors"))
}

/// Checks the keyword after the factor, and records the obligation. Returns the resulting tail.
fn check_tail(
    nest: &mut StageNest<'_>,
    axis: AxisId,
    factors: &[Option<(i64, SpanId)>],
    product: i64,
    exact: bool,
    tail: Option<TailWord>,
    span: SpanId,
) -> Result<Tail, Error> {
    let extent = nest.text(nest.program.axes[axis].extent);
    let fact = format!("{} % {product} == 0", parenthesized(&extent));
    if exact {
        // Literal divisibility is not recorded in the ledger.
        if product != 1 && nest.program.exprs.as_int(nest.program.axes[axis].extent).is_none() {
            nest.program.owe(format!("`{fact}`: the split of `{}` is exact", nest.name(axis)), State::Proved, span);
        }
        return Ok(Tail::Exact);
    }
    match tail {
        Some(TailWord { tail: Tail::Exact, span }) => {
            let error = Error::new(span, format!("`exact` needs `{fact}`, which is not proved"));
            return Err(
                error.help(format!("state it in the schedule's header, `where {fact}`, or write `guard` instead of `exact`"))
            );
        }
        Some(TailWord { tail: Tail::RoundUp, span }) if nest.program.can_fill(axis) => {
            return super::round_up::check(nest, axis, span).map(|()| Tail::RoundUp);
        }
        Some(TailWord { tail: Tail::Shift, span }) => return shift::check(nest, axis, factors, span),
        Some(TailWord { tail: Tail::Peel, span }) => return peel::check(nest, axis, factors, span),
        _ => {}
    }
    nest.program.owe(format!("the split of `{}` runs beyond `{extent}`", nest.name(axis)), State::Guarded, span);
    Ok(if matches!(tail, Some(TailWord { tail: Tail::RoundUp, .. })) { Tail::RoundUp } else { Tail::Guard })
}

/// Parenthesizes text that cannot precede an operator as it is.
pub fn parenthesized(text: &str) -> String {
    if text.chars().all(|c| c.is_alphanumeric() || c == '_') { text.to_owned() } else { format!("({text})") }
}

fn floor(nest: &mut StageNest<'_>, extent: ExprId, by: i64) -> ExprId {
    let by = nest.program.exprs.int(by);
    nest.program.exprs.binary(Binary::FloorDiv, extent, by)
}

fn ceil(nest: &mut StageNest<'_>, extent: ExprId, by: i64) -> ExprId {
    let by = nest.program.exprs.int(by);
    nest.program.exprs.ceil_div(extent, by)
}
