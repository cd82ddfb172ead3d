//! `reorder(fh, fw, ic, ow, oc)`: puts the listed axes into this order, outermost first, within the places that they occupy. A loop
//! that is moved out of a loop that its bound depends on takes its hull, with a predicate. Axes of extent 1 are not loops, but may
//! be listed.
//!
//! Refused: a workgroup axis inside a loop that is not a workgroup axis.

use crate::diag::{Error, SpanId};
use crate::nest::path::Head;
use crate::schedule::{Applied, StageNest};
use crate::syntax::Name;

/// Applies the directive.
pub fn apply(nest: &mut StageNest<'_>, names: &[Name], span: SpanId) -> Applied {
    let axes = nest.axes(names)?;
    let mut places: Vec<usize> = axes.iter().filter_map(|a| nest.path.position(*a)).collect();
    let heads: Vec<(Head, SpanId)> = places.iter().map(|at| (nest.path.frames[*at].head, nest.path.frames[*at].span)).collect();
    places.sort_unstable();
    for (place, (head, made)) in places.into_iter().zip(heads) {
        (nest.path.frames[place].head, nest.path.frames[place].span) = (head, made);
    }
    // An axis of extent 1 in the list gets the place that its loop would have.
    let first = axes.iter().filter_map(|a| nest.path.position(*a)).min().unwrap_or(nest.path.frames.len());
    for (n, axis) in axes.iter().enumerate() {
        if nest.vanished.iter().any(|(other, _)| other == axis) {
            nest.vanish(*axis, first, &axes[..n]);
        }
    }
    check_workgroups(nest, span)?;
    nest.take_hulls(span)?;
    nest.refresh();
    Ok(())
}

/// Checks that workgroup axes enclose all other loops.
fn check_workgroups(nest: &StageNest<'_>, span: SpanId) -> Applied {
    let depth = nest.path.workgroup_depth();
    let Some(stray) = nest.path.frames[depth..].iter().find(|f| matches!(f.level(), Some((crate::nest::Level::Workgroup, _))))
    else {
        return Ok(());
    };
    let outer = nest.path.frames[depth].as_loop().map_or_else(String::new, |(a, _)| nest.name(a).to_owned());
    let inner = stray.as_loop().map_or_else(String::new, |(a, _)| nest.name(a).to_owned());
    let error = Error::new(span, format!("the workgroup axis `{inner}` would be inside the loop over `{outer}`"));
    Err(error.note_at(stray.span, format!("`{inner}` was distributed here")).help("workgroup axes enclose all loops: leave it out"))
}
