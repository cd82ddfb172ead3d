//! Copies that are indexed by listed axes: `promote(p => p_s[j, *], …)`.
//!
//! A list serves the reads that depend on a listed axis and on no other axis that varies under the place. Their indices must agree
//! in the dimensions that listed axes index; the copy holds the elements at all values of the listed axes. `*` stands for the other
//! dimensions, in the tensor's order; in each of them, the copy holds the range that is read.

use super::footprint::{Footprint, Seen, common_outside, dimension_name, ranged, replaced, unbounded};
use super::{Wanted, call, made_axis};
use crate::diag::{Error, list};
use crate::expr::ExprId;
use crate::nest::AxisId;
use crate::schedule::StageNest;
use crate::schedule::invocations::is_invocation;
use crate::syntax::Name;
use crate::syntax::schedule::Listed;

/// Returns the footprint of a copy with a list.
pub(super) fn of(nest: &mut StageNest<'_>, wanted: &Wanted<'_>, seen: Vec<Seen>, of: &Listed) -> Result<Footprint, Error> {
    let ids = nest.axes(&of.axes)?;
    for (axis, name) in ids.iter().zip(&of.axes) {
        check_listed(nest, wanted, *axis, name)?;
    }
    let left_out: Vec<Vec<AxisId>> = seen.iter().map(|s| left_out(nest, wanted, s, &ids)).collect();
    if left_out.iter().all(|left| !left.is_empty()) {
        return Err(leaves_out(nest, wanted, &seen, &left_out, of));
    }
    let mut taken: Vec<&Seen> = seen.iter().zip(&left_out).filter(|(_, left)| left.is_empty()).map(|(s, _)| s).collect();
    // Reads that do not depend on a listed axis belong to another copy, unless all reads are like this.
    if taken.iter().any(|s| depends(nest, s, &ids)) {
        taken.retain(|s| depends(nest, s, &ids));
    }
    let dimensions = 0..taken[0].index.len();
    let by_list: Vec<bool> = dimensions.map(|d| taken.iter().any(|s| uses(nest, s.index[d], &ids))).collect();
    let rest = |d: usize| of.rest.is_some() && !by_list[d];
    for other in &taken[1..] {
        let same = |d: usize| rest(d) || other.index[d] == taken[0].index[d];
        let outside = of.rest.is_some() || other.read.outside == taken[0].read.outside;
        if !(0..by_list.len()).all(same) || !outside {
            return Err(differ(nest, wanted, [taken[0], other], &by_list, of));
        }
    }
    // If a read does not depend on a listed axis, its element is the same for all values of the axis, and is read even if the axis
    // is empty.
    let (mut axes, mut place, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
    for (axis, name) in ids.iter().zip(&of.axes) {
        let depends = taken[0].index.iter().any(|index| uses(nest, *index, &[*axis]));
        let extent = if depends { literal(nest, wanted, *axis, name)? } else { 1 };
        let made = made_axis(nest, &name.text, extent, name.span);
        axes.push(made);
        place.push(if depends { nest.program.exprs.axis(*axis) } else { nest.program.exprs.int(0) });
        pairs.extend(depends.then_some((*axis, made)));
    }
    let mut index: Vec<ExprId> = taken[0].index.iter().map(|i| replaced(nest, *i, &pairs)).collect();
    let read_at = taken.iter().map(|s| s.index.iter().map(|i| replaced(nest, *i, &pairs)).collect()).collect();
    let mut places: Vec<(ExprId, Vec<ExprId>)> = taken.iter().map(|s| (s.id, place.clone())).collect();
    let mut names: Vec<String> = of.axes.iter().map(|name| name.text.clone()).collect();
    for d in (0..by_list.len()).filter(|d| rest(*d)) {
        let (range, at) = ranged(nest, wanted, &taken, d)?;
        let name = dimension_name(nest, taken[0], d, &mut names);
        let axis = made_axis(nest, &name, range.width, wanted.span);
        axes.push(axis);
        let (low, element) = (nest.program.exprs.of_linear(&range.low, &[]), nest.program.exprs.axis(axis));
        index[d] = nest.program.exprs.sum(low, element);
        places.iter_mut().zip(at).for_each(|(place, at)| place.1.push(at));
    }
    let outside = common_outside(nest, wanted, &taken)?;
    Ok(Footprint { axes, index, read_at, used: Vec::new(), outside, places, listed: pairs })
}

fn uses(nest: &StageNest<'_>, index: ExprId, axes: &[AxisId]) -> bool {
    nest.program.exprs.uses_axis(index, &mut |axis| axes.contains(&axis))
}

/// True if a read depends on one of `axes`.
fn depends(nest: &StageNest<'_>, seen: &Seen, axes: &[AxisId]) -> bool {
    seen.index.iter().any(|index| uses(nest, *index, axes))
}

/// Returns the axes that vary under the place, that a read depends on, and that are not listed.
fn left_out(nest: &StageNest<'_>, wanted: &Wanted<'_>, seen: &Seen, listed: &[AxisId]) -> Vec<AxisId> {
    let mut left = Vec::new();
    for index in &seen.index {
        nest.program.exprs.uses_axis(*index, &mut |a| {
            if wanted.place.inside.contains(&a) && !listed.contains(&a) && !left.contains(&a) {
                left.push(a);
            }
            false
        });
    }
    left
}

/// Reports two reads that the list serves, but that a single copy cannot hold.
fn differ(nest: &StageNest<'_>, wanted: &Wanted<'_>, [one, two]: [&Seen; 2], by_list: &[bool], of: &Listed) -> Error {
    let source = &wanted.promote.source;
    let error = Error::new(source.span, format!("the listed axes index both `{}` and `{}`", nest.text(one.id), nest.text(two.id)));
    let same = |d: &usize| one.index[*d] == two.index[*d];
    if (0..by_list.len()).filter(|d| by_list[*d]).all(|d| same(&d)) && of.rest.is_none() {
        let names = of.axes.iter().map(Name::as_str).chain(["*"]).collect::<Vec<_>>().join(", ");
        let whole = call(source, &format!("{}[{names}]", wanted.name));
        return error.help(format!("write `{whole}`: the copy then holds the whole range in the other dimensions"));
    }
    error.note("a copy has one element for each value of the listed axes").help(in_place(source))
}

/// Returns the help if no copy can hold the elements.
fn in_place(source: &Name) -> String {
    format!("leave this out: `{source}` is then read directly")
}

/// Returns the help for reads that do not fit one box: lists that serve some of them.
pub(super) fn instead_of_box(nest: &StageNest<'_>, wanted: &Wanted<'_>, seen: &[&Seen]) -> String {
    let source = &wanted.promote.source;
    let mut lists: Vec<(Vec<AxisId>, bool)> = Vec::new();
    for s in seen {
        let varying = left_out(nest, wanted, s, &[]);
        if lists.iter().any(|(other, _)| *other == varying) {
            continue;
        }
        let alike: Vec<&&Seen> = seen.iter().filter(|s| left_out(nest, wanted, s, &[]) == varying).collect();
        let by_list = |d: usize| alike.iter().any(|s| uses(nest, s.index[d], &varying));
        let dimensions = 0..s.index.len();
        let one = dimensions.clone().filter(|d| by_list(*d)).all(|d| alike.iter().all(|other| other.index[d] == s.index[d]));
        let rest = !dimensions.into_iter().all(by_list);
        if one {
            lists.push((varying, rest));
        }
    }
    let form = |(axes, rest): &(Vec<AxisId>, bool)| {
        let mut names: Vec<&str> = axes.iter().map(|axis| nest.name(*axis)).collect();
        names.extend(rest.then_some("*"));
        format!("`{}`", call(source, &format!("{}[{}]", wanted.name, names.join(", "))))
    };
    match lists.len() {
        0 => in_place(source),
        _ => format!("list the axes of the reads to promote: {}", lists.iter().map(form).collect::<Vec<_>>().join(" or ")),
    }
}

/// Checks that a listed axis varies under the place.
fn check_listed(nest: &StageNest<'_>, wanted: &Wanted<'_>, axis: AxisId, name: &Name) -> Result<(), Error> {
    if wanted.place.inside.contains(&axis) || !nest.is_bound(axis) {
        return Ok(());
    }
    let frame = nest.path.position(axis).map(|at| &nest.path.frames[at]);
    let at = &wanted.promote.at;
    if let Some(frame) = frame.filter(|f| is_invocation(f)) {
        let error =
            Error::new(name.span, format!("`{name}` is distributed to invocations, and each of them has its own registers"));
        return Err(error
            .note_at(frame.span, "it was distributed here")
            .help("leave it out of the list: it is fixed for a copy to registers"));
    }
    let error = Error::new(name.span, format!("`{name}` has one value under `{at}`, because its loop encloses it"));
    Err(error.help(format!("leave it out of the list, or promote outside the loop over `{name}`")))
}

/// Reports a list for which every read names an axis that it leaves out.
fn leaves_out(nest: &StageNest<'_>, wanted: &Wanted<'_>, seen: &[Seen], left: &[Vec<AxisId>], of: &Listed) -> Error {
    let nearest = left.iter().enumerate().min_by_key(|(_, l)| l.len()).map_or(0, |(i, _)| i);
    let missing: Vec<&str> = left[nearest].iter().map(|a| nest.name(*a)).collect();
    let (read, at) = (nest.text(seen[nearest].id), &wanted.promote.at);
    let span = wanted.promote.name.as_ref().map_or(wanted.span, |n| n.span);
    let error = Error::new(span, format!("the list leaves out {}, on which `{read}` depends under `{at}`", list(&missing)));
    if left[nearest].iter().any(|axis| !nest.axes.contains(axis)) {
        return error.help(
            "a list can only name axes of this stage; without a list, the copy has the tensor's dimensions and the whole range that is read",
        );
    }
    let all: Vec<&str> = of.axes.iter().map(Name::as_str).chain(missing.iter().copied()).chain(of.rest.map(|_| "*")).collect();
    let whole = call(&wanted.promote.source, &format!("{}[{}]", wanted.name, all.join(", ")));
    let inner = missing.first().map_or_else(String::new, |m| format!(", or promote inside the loop over `{m}`"));
    error.help(format!("write `{whole}`{inner}"))
}

/// Returns the extent of a listed axis, or an upper bound of it.
fn literal(nest: &mut StageNest<'_>, wanted: &Wanted<'_>, axis: AxisId, name: &Name) -> Result<i64, Error> {
    let extent = nest.program.axes[axis].extent;
    if let Some(n) = nest.program.exprs.as_int(extent) {
        return Ok(n.max(1));
    }
    let extent = nest.on_loops(extent);
    match nest.prover().upper(extent) {
        Some(most) => Ok(most.max(1)),
        None => Err(unbounded(nest, wanted, axis, name.span)),
    }
}
