//! `unroll(ic, ow)`: unrolls loops. An extent that is not a literal needs a proved bound; the loop is unrolled up to that bound,
//! with predicates.
//!
//! Refused: an extent without a proved bound; more than [`LIMIT`] copies of the innermost body in total, or more than
//! [`OPERATIONS`] operations in these copies.

use super::split;
use crate::diag::{Error, SpanId};
use crate::nest::path::Head;
use crate::nest::{AxisId, Exec};
use crate::schedule::{Applied, StageNest};
use crate::syntax::Name;

/// The maximum number of copies of the innermost body. Drivers take seconds to compile more.
pub const LIMIT: i64 = 4096;

/// The maximum number of operations in all copies.
pub const OPERATIONS: i64 = 1 << 16;

/// Applies the directive.
pub fn apply(nest: &mut StageNest<'_>, names: &[Name], span: SpanId) -> Applied {
    for (axis, name) in nest.axes(names)?.into_iter().zip(names) {
        split::plain(nest, axis, name.span)?;
        let Some(at) = split::plain(nest, axis, name.span)? else { continue };
        let axis = bounded(nest, axis, name, span)?;
        nest.path.frames[at].head = Head::Loop { axis, exec: Exec::Unroll };
        nest.path.frames[at].span = span;
        check_copies(nest, name)?;
    }
    nest.refresh();
    Ok(())
}

/// Returns the axis itself if its extent is a literal, otherwise its hull.
fn bounded(nest: &mut StageNest<'_>, axis: AxisId, name: &Name, span: SpanId) -> Result<AxisId, Error> {
    let extent = nest.program.axes[axis].extent;
    if nest.program.exprs.as_int(extent).is_some() {
        return Ok(axis);
    }
    let on_loops = nest.on_loops(extent);
    match nest.prover().upper(on_loops) {
        Some(most) => {
            // If the axis is always empty, one iteration is unrolled, under its predicate.
            let most = nest.program.exprs.int(most.max(1));
            Ok(nest.hull(axis, most, span))
        }
        None => {
            let text = nest.text(extent);
            let error = Error::new(name.span, format!("`{name}` has the extent `{text}`, for which no bound is proved"));
            Err(error
                .help(format!("tile it and unroll the inner part, or state a bound in the schedule's header: `where {text} <= 8`")))
        }
    }
}

fn check_copies(nest: &StageNest<'_>, name: &Name) -> Applied {
    let copies = nest.path.frames.iter().filter_map(|f| match f.as_loop() {
        Some((axis, Exec::Unroll)) => nest.program.exprs.as_int(nest.program.axes[axis].extent),
        _ => None,
    });
    let copies = copies.fold(1i64, i64::saturating_mul);
    let operations = operations(nest);
    let total = copies.saturating_mul(operations);
    if copies > LIMIT {
        let error = Error::new(name.span, format!("unrolling `{name}` makes {copies} copies of the innermost body"));
        return Err(error.help(format!("the limit is {LIMIT} copies: unroll a smaller tile")));
    }
    if copies > 1 && total > OPERATIONS {
        let what = format!("unrolling `{name}` makes {copies} copies of {operations} operations");
        return Err(
            Error::new(name.span, what).help(format!("the limit is {OPERATIONS} operations in total: unroll a smaller tile"))
        );
    }
    Ok(())
}

/// Counts the operations of the innermost body, including index operations.
fn operations(nest: &StageNest<'_>) -> i64 {
    let mut count = 0;
    for value in &nest.path.compute.value {
        nest.program.exprs.any(*value, &mut |_| {
            count += 1;
            false
        });
    }
    count
}
