//! What is read under a place, and the copy of it.
//!
//! Every index is looked at over the axes that loops bind. Those *inside* vary under the place; the others are fixed there.
//! - Without a list: in each dimension the index is `low + what varies`, where `low` names fixed axes alone; the copy holds
//!   the elements from the lowest to the highest that any value of what varies reaches. The steps of a stride are not left
//!   out. Several reads must lie at constant distances from each other.
//! - With a list: the copy holds the element that is read, at all values of the listed axes.

use super::{Wanted, as_read, call, made_axis};
use crate::diag::{Error, list};
use crate::expr::linear::Linear;
use crate::expr::{Expr, ExprId, Read};
use crate::nest::walk;
use crate::nest::{AxisId, Block, Exec, Node, NodeKind};
use crate::schedule::attach::is_invocation;
use crate::schedule::hull::bound;
use crate::schedule::{Applied, StageNest};
use crate::syntax::Name;
use crate::syntax::schedule::Memory;
use std::collections::HashSet;

/// A copy's axes, what they stand for in the source, and where reads find their elements.
pub(in crate::schedule) struct Footprint {
    /// One for each dimension.
    pub(in crate::schedule) axes: Vec<AxisId>,
    /// The source's element, over these axes and the fixed ones.
    pub(in crate::schedule) index: Vec<ExprId>,
    /// The elements that are read, each over the axes that vary: the copy's where they are listed, else the nest's own.
    pub(in crate::schedule) read_at: Vec<Vec<ExprId>>,
    /// The axes that vary under the place and that the index names.
    pub(in crate::schedule) used: Vec<AxisId>,
    /// What the reads say of elements outside.
    pub(in crate::schedule) outside: crate::expr::Outside,
    /// Every read that the copy serves, with its index there.
    pub(in crate::schedule) places: Vec<(ExprId, Vec<ExprId>)>,
    /// Axes that the copy's axes stand for, each with its replacement.
    pub(in crate::schedule) listed: Vec<(AxisId, AxisId)>,
}

/// A read, with its index over the axes that loops bind.
struct Seen {
    id: ExprId,
    read: Read,
    index: Vec<ExprId>,
}

/// The reads under a place: of the stage itself, of its result if that is computed there, and of what is attached deeper.
pub(in crate::schedule) fn reads(nest: &StageNest<'_>, place: &super::Place) -> Vec<(ExprId, Read)> {
    let mut values: Vec<ExprId> = nest.path.compute.value.clone();
    values.extend(nest.path.compute.finish.filter(|_| place.has_result));
    for attached in nest.placed.attached.iter().filter(|a| place.serves(a, nest.place_of(a))) {
        values.extend([&attached.before, &attached.after].into_iter().flat_map(|block| values_of(block)));
    }
    let exprs = &nest.program.exprs;
    let mut found: Vec<(ExprId, Read)> = Vec::new();
    let mut seen = HashSet::new();
    let mut open: Vec<ExprId> = values.into_iter().rev().collect();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        if let Some(read) = as_read(exprs, id) {
            found.push((id, read.clone()));
        }
        open.extend(exprs.get(id).operands().into_iter().rev());
    }
    found
}

/// What a block computes, the results of its reductions included.
fn values_of(block: &[Node]) -> Vec<ExprId> {
    let compute = |node: &Node| if let NodeKind::Compute(compute) = &node.kind { compute.values().collect() } else { Vec::new() };
    walk::nodes(block).flat_map(compute).collect()
}

/// Shows every value that a block computes to `f`, which may replace it.
pub(super) fn values_mut(block: &mut Block, f: &mut dyn FnMut(&mut ExprId)) {
    walk::each_mut(block, &mut |node| {
        if let NodeKind::Compute(compute) = &mut node.kind {
            compute.values_mut().for_each(&mut *f);
        }
    });
}

/// Every loop of a block.
pub(super) fn loops(block: &Block) -> impl Iterator<Item = (AxisId, Exec)> {
    walk::nodes(block).filter_map(|node| if let NodeKind::Loop(l) = &node.kind { Some((l.axis, l.exec)) } else { None })
}

/// Whether a block reads a buffer of that name.
pub(super) fn block_reads(nest: &StageNest<'_>, block: &Block, name: &str) -> bool {
    let values = values_of(block);
    values.iter().flat_map(|v| nest.program.exprs.reads(*v)).any(|r| nest.program.buffers[r.buffer].name == name)
}

/// The copy of what is read of the source under the place.
pub(in crate::schedule) fn of(nest: &mut StageNest<'_>, wanted: &Wanted<'_>) -> Result<Footprint, Error> {
    check_alive(nest, wanted)?;
    let is_wanted = |(_, read): &(ExprId, Read)| read.buffer == wanted.source || wanted.also.contains(&read.buffer);
    let reads = reads(nest, &wanted.place).into_iter().filter(is_wanted);
    let mut seen = Vec::new();
    let mut bound = nest.bound_axes();
    bound.extend(&wanted.place.inside);
    for (id, read) in reads.collect::<Vec<_>>() {
        if read.index.iter().any(|i| !nest.program.exprs.reads(*i).is_empty()) {
            let text = nest.text(id);
            let error = Error::new(wanted.promote.source.span, format!("`{text}` is read at an index that depends on data"));
            return Err(error.help("which elements are read is known only at run time: read the tensor itself"));
        }
        let index = read.index.iter().map(|i| nest.program.over_leaves(*i, &bound)).collect();
        seen.push(Seen { id, read, index });
    }
    if seen.is_empty() {
        let error =
            Error::new(wanted.promote.source.span, format!("nothing under `{}` needs `{}`", wanted.promote.at, wanted.name));
        return Err(error.help("leave this out"));
    }
    let used = used(nest, wanted, &seen);
    let footprint = match &wanted.promote.list {
        Some(names) => listed(nest, wanted, seen, names)?,
        None => boxed(nest, wanted, &seen)?,
    };
    check_shared(nest, wanted, &footprint)?;
    Ok(Footprint { used, ..footprint })
}

/// Within what each invocation computes for itself, all of them share only what is the same for all.
fn check_shared(nest: &StageNest<'_>, wanted: &Wanted<'_>, footprint: &Footprint) -> Applied {
    if wanted.promote.to != Memory::Shared {
        return Ok(());
    }
    for frame in nest.placed.outside().filter(|f| is_invocation(f)) {
        let Some((axis, _)) = frame.as_loop() else { continue };
        if footprint.index.iter().any(|index| nest.program.exprs.uses_axis(*index, &mut |a| a == axis)) {
            let (source, stage, name) = (&wanted.promote.source, &nest.program.stages[nest.stage].name, nest.name(axis));
            let what =
                format!("the elements of `{source}` differ among the invocations, each of which computes `{stage}` for itself");
            let error = Error::new(wanted.promote.to_span, what);
            let error = error.note_at(frame.span, format!("they depend on `{name}`, which is distributed here"));
            return Err(error.help(format!("write `to: register`, or compute `{stage}` in shared memory")));
        }
    }
    Ok(())
}

/// The axes that vary and that indices name.
fn used(nest: &StageNest<'_>, wanted: &Wanted<'_>, seen: &[Seen]) -> Vec<AxisId> {
    let mut used = Vec::new();
    for index in seen.iter().flat_map(|s| &s.index) {
        nest.program.exprs.uses_axis(*index, &mut |a| {
            if wanted.place.inside.contains(&a) && !used.contains(&a) {
                used.push(a);
            }
            false
        });
    }
    used
}

/// A copy's source must live where it is copied from.
fn check_alive(nest: &StageNest<'_>, wanted: &Wanted<'_>) -> Result<(), Error> {
    let Some(attached) = nest.attached_buffer(wanted.source) else { return Ok(()) };
    if nest.place_of(attached) <= wanted.place.depth {
        return Ok(());
    }
    let (name, at) = (&wanted.promote.source, &wanted.promote.at);
    let error = Error::new(at.span, format!("`{name}` is a copy that is made further in than `{at}`"));
    Err(error.note_at(attached.span, "it is made here").help("promote from it where it lives: at the same loop, or further in"))
}

/// The copy that the listed axes index.
fn listed(nest: &mut StageNest<'_>, wanted: &Wanted<'_>, seen: Vec<Seen>, names: &[Name]) -> Result<Footprint, Error> {
    let ids = nest.axes(names)?;
    for (axis, name) in ids.iter().zip(names) {
        check_listed(nest, wanted, *axis, name)?;
    }
    let inside = &wanted.place.inside;
    let missing = |nest: &StageNest<'_>, seen: &Seen| {
        let mut missing = Vec::new();
        for index in &seen.index {
            nest.program.exprs.uses_axis(*index, &mut |a| {
                if inside.contains(&a) && !ids.contains(&a) && !missing.contains(&a) {
                    missing.push(a);
                }
                false
            });
        }
        missing
    };
    let left_out: Vec<Vec<AxisId>> = seen.iter().map(|s| missing(nest, s)).collect();
    let Some(first) = left_out.iter().position(Vec::is_empty) else {
        return Err(leaves_out(nest, wanted, &seen, &left_out, names));
    };
    let same = |s: &Seen| s.index == seen[first].index && s.read.outside == seen[first].read.outside;
    if let Some(other) = seen.iter().zip(&left_out).find(|(s, left)| left.is_empty() && !same(s)) {
        let (one, two) = (nest.text(seen[first].id), nest.text(other.0.id));
        let error = Error::new(wanted.promote.source.span, format!("the listed axes index both `{one}` and `{two}`"));
        return Err(error.help("leave out the list: the copy then has the tensor's dimensions, and holds both"));
    }
    // What is read at all values of an axis alike is one element, and is also read where that has none.
    let depends = |nest: &StageNest<'_>, axis: AxisId| {
        seen[first].index.iter().any(|index| nest.program.exprs.uses_axis(*index, &mut |a| a == axis))
    };
    let (mut axes, mut place, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
    for (axis, name) in ids.iter().zip(names) {
        let depends = depends(nest, *axis);
        let extent = if depends { literal(nest, wanted, *axis, name)? } else { 1 };
        let made = made_axis(nest, &name.text, extent, name.span);
        axes.push(made);
        place.push(if depends { nest.program.exprs.axis(*axis) } else { nest.program.exprs.int(0) });
        pairs.extend(depends.then_some((*axis, made)));
    }
    let index: Vec<ExprId> = seen[first].index.iter().map(|i| replaced(nest, *i, &pairs)).collect();
    let places = seen.iter().filter(|s| same(s)).map(|s| (s.id, place.clone())).collect();
    let read_at = vec![index.clone()];
    Ok(Footprint { axes, index, read_at, used: Vec::new(), outside: seen[first].read.outside.clone(), places, listed: pairs })
}

/// An expression over a copy's axes instead of those that they stand for.
pub(super) fn replaced(nest: &mut StageNest<'_>, e: ExprId, pairs: &[(AxisId, AxisId)]) -> ExprId {
    nest.program.exprs.replace(e, &mut |exprs, id| match exprs.get(id) {
        Expr::Axis(a) => pairs.iter().find(|(old, _)| old == a).map(|(_, new)| *new).map(|new| exprs.axis(new)),
        _ => None,
    })
}

/// A listed axis varies under the place.
fn check_listed(nest: &StageNest<'_>, wanted: &Wanted<'_>, axis: AxisId, name: &Name) -> Result<(), Error> {
    if wanted.place.inside.contains(&axis) || !nest.is_bound(axis) {
        return Ok(());
    }
    let frame = nest.path.position(axis).map(|at| &nest.path.frames[at]);
    let at = &wanted.promote.at;
    if let Some(frame) = frame.filter(|f| is_invocation(f)) {
        let error = Error::new(name.span, format!("`{name}` is distributed to invocations, and each has registers of its own"));
        return Err(error
            .note_at(frame.span, "it was distributed here")
            .help("leave it out of the list: it is fixed for a copy to registers"));
    }
    let error = Error::new(name.span, format!("`{name}` has one value under `{at}`: its loop stands around it"));
    Err(error.help(format!("leave it out of the list, or promote outside the loop over `{name}`")))
}

/// Every read names axes that the list leaves out.
fn leaves_out(nest: &StageNest<'_>, wanted: &Wanted<'_>, seen: &[Seen], left: &[Vec<AxisId>], names: &[Name]) -> Error {
    let nearest = left.iter().enumerate().min_by_key(|(_, l)| l.len()).map_or(0, |(i, _)| i);
    let missing: Vec<&str> = left[nearest].iter().map(|a| nest.name(*a)).collect();
    let (read, at) = (nest.text(seen[nearest].id), &wanted.promote.at);
    let span = wanted.promote.name.as_ref().map_or(wanted.span, |n| n.span);
    let error = Error::new(span, format!("the list leaves out {}, on which `{read}` depends under `{at}`", list(&missing)));
    let all: Vec<&str> = names.iter().map(|n| n.as_str()).chain(missing.iter().copied()).collect();
    let whole = call(&wanted.promote.source, &format!("{}[{}]", wanted.name, all.join(", ")));
    let inner = missing.first().map_or_else(String::new, |m| format!(", or promote inside the loop over `{m}`"));
    error.help(format!("write `{whole}`{inner}"))
}

/// The extent of a listed axis, or a bound of it.
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

/// An extent that nothing bounds.
fn unbounded(nest: &StageNest<'_>, wanted: &Wanted<'_>, axis: AxisId, span: crate::diag::SpanId) -> Error {
    let (name, extent) = (nest.name(axis), nest.text(nest.program.axes[axis].extent));
    let copy = &wanted.name;
    let error = Error::new(
        span,
        format!("the size of `{copy}` is not bounded: `{name}` runs over `0..{extent}` under `{}`", wanted.promote.at),
    );
    let place = if wanted.promote.computed { "compute it" } else { "promote" };
    error.help(format!("tile `{name}` and {place} inside the outer part, or state a bound: `where {extent} <= 64`"))
}

/// The copy with the tensor's dimensions.
fn boxed(nest: &mut StageNest<'_>, wanted: &Wanted<'_>, seen: &[Seen]) -> Result<Footprint, Error> {
    let dimensions = nest.program.buffers[wanted.source].shape.len();
    let order: Vec<AxisId> = nest.path.axes().collect();
    let (mut axes, mut index, mut names) = (Vec::new(), Vec::new(), Vec::new());
    let mut places: Vec<(ExprId, Vec<ExprId>)> = seen.iter().map(|s| (s.id, Vec::new())).collect();
    for dimension in 0..dimensions {
        let range = range(nest, wanted, seen, dimension)?;
        let name = dimension_name(nest, seen, dimension, &mut names);
        let axis = made_axis(nest, &name, range.width, wanted.span);
        let low = nest.program.exprs.of_linear(&range.low, &order);
        let at = nest.program.exprs.axis(axis);
        index.push(nest.program.exprs.sum(low, at));
        for (place, s) in places.iter_mut().zip(seen) {
            let mut offset = nest.program.exprs.linear(s.index[dimension]);
            offset.add(&range.low, -1);
            let at = if range.width == 1 { nest.program.exprs.int(0) } else { nest.program.exprs.of_linear(&offset, &order) };
            if !offset.rest.is_empty() {
                check_place(nest, wanted, s, (at, range.width), dimension)?;
            }
            place.1.push(at);
        }
        axes.push(axis);
    }
    let outside = common_outside(wanted, seen)?;
    let read_at = seen.iter().map(|s| s.index.clone()).collect();
    Ok(Footprint { axes, index, read_at, used: Vec::new(), outside, places, listed: Vec::new() })
}

/// Where an index is no sum of axes, its distance from the lowest is proved to lie in the box; and in registers, which have
/// no address, to depend on nothing but what varies.
fn check_place(
    nest: &mut StageNest<'_>,
    wanted: &Wanted<'_>,
    seen: &Seen,
    (at, width): (ExprId, i64),
    dimension: usize,
) -> Result<(), Error> {
    let width = nest.program.exprs.int(width);
    if !(nest.prover().nonneg(at) && nest.prover().less(at, width)) {
        return Err(opaque(nest, wanted, seen, dimension));
    }
    let mut fixed = None;
    nest.program.exprs.uses_axis(at, &mut |a| {
        fixed = fixed.or(Some(a).filter(|a| !wanted.place.inside.contains(a)));
        false
    });
    let Some(axis) = fixed.filter(|_| wanted.promote.to == Memory::Register) else { return Ok(()) };
    let (read, name) = (nest.text(seen.id), nest.name(axis));
    let error = Error::new(
        wanted.promote.source.span,
        format!(
            "which registers hold `{read}` under `{}` would depend on `{name}`, and registers have no address",
            wanted.promote.at
        ),
    );
    Err(error.help(match wanted.promote.computed {
        true => "write `to: shared`",
        false => "write `to: shared`, or list the axes",
    }))
}

/// Elements of one dimension.
struct Range {
    low: Linear,
    width: i64,
}

/// From the lowest to the highest element that is read in a dimension.
fn range(nest: &mut StageNest<'_>, wanted: &Wanted<'_>, seen: &[Seen], dimension: usize) -> Result<Range, Error> {
    let mut found: Option<Range> = None;
    for s in seen {
        let (low, high) = ends(nest, wanted, s, dimension)?;
        let mut span = high;
        span.add(&low, -1);
        let span = nest.program.exprs.of_linear(&span, &[]);
        let Some(last) = nest.prover().upper(span) else { return Err(opaque(nest, wanted, s, dimension)) };
        // Of nothing, anything is a bound.
        let width = last.max(0) + 1;
        let Some(range) = &mut found else {
            found = Some(Range { low, width });
            continue;
        };
        let mut distance = low.clone();
        distance.add(&range.low, -1);
        let Some(distance) = constant(nest, &distance) else {
            let (one, two) = (nest.text(seen[0].id), nest.text(s.id));
            let error = Error::new(wanted.promote.source.span, format!("`{one}` and `{two}` do not lie at a constant distance"));
            return Err(error.help(one_box(wanted)));
        };
        let end = (range.width).max(distance + width);
        if distance < 0 {
            range.low = low;
        }
        range.width = end - distance.min(0);
    }
    found.ok_or_else(|| Error::new(wanted.promote.source.span, format!("`{}` is not read there", wanted.promote.source)))
}

fn one_box(wanted: &Wanted<'_>) -> &'static str {
    match wanted.promote.computed {
        true => "what is computed is one box: place it further in, or write `root` instead",
        false => "a copy without a list is one box: list the axes of the read that is to be promoted",
    }
}

/// A difference that is a number.
fn constant(nest: &mut StageNest<'_>, difference: &Linear) -> Option<i64> {
    if difference.is_constant() {
        return Some(difference.constant);
    }
    let difference = nest.program.exprs.of_linear(difference, &[]);
    nest.prover().poly(difference)?.as_constant().and_then(|n| i64::try_from(n).ok())
}

/// The lowest and the highest that an index can be under the place, over fixed axes.
fn ends(nest: &mut StageNest<'_>, wanted: &Wanted<'_>, seen: &Seen, dimension: usize) -> Result<(Linear, Linear), Error> {
    let inside = &wanted.place.inside;
    let index = nest.program.exprs.linear(seen.index[dimension]);
    let mut low = Linear { constant: index.constant, ..Linear::default() };
    let mut high = low.clone();
    for (axis, times) in &index.axes {
        if !inside.contains(axis) {
            low.axes.insert(*axis, *times);
            high.axes.insert(*axis, *times);
            continue;
        }
        let last = last(nest, wanted, *axis)?;
        let end = if *times < 0 { &mut low } else { &mut high };
        end.constant += times * last;
    }
    for (e, times) in &index.rest {
        let varies = nest.program.exprs.uses_axis(*e, &mut |a| inside.contains(&a));
        let (from, to) = match varies {
            false => (*e, *e),
            true => {
                let ends = bound(nest.program, *e, inside, *times < 0).zip(bound(nest.program, *e, inside, *times > 0));
                ends.ok_or_else(|| opaque(nest, wanted, seen, dimension))?
            }
        };
        let (from, to) = (nest.program.exprs.linear(from), nest.program.exprs.linear(to));
        low.add(&from, *times);
        high.add(&to, *times);
    }
    Ok((low, high))
}

/// The last value of an axis, or a bound of it.
fn last(nest: &mut StageNest<'_>, wanted: &Wanted<'_>, axis: AxisId) -> Result<i64, Error> {
    let extent = nest.program.axes[axis].extent;
    if let Some(n) = nest.program.exprs.as_int(extent) {
        return Ok((n - 1).max(0));
    }
    let extent = nest.on_loops(extent);
    match nest.prover().upper(extent) {
        Some(most) => Ok((most - 1).max(0)),
        None => Err(unbounded(nest, wanted, axis, wanted.promote.source.span)),
    }
}

/// An index of which no range is found.
fn opaque(nest: &StageNest<'_>, wanted: &Wanted<'_>, seen: &Seen, dimension: usize) -> Error {
    let (read, index) = (nest.text(seen.id), nest.text(seen.read.index[dimension]));
    let error = Error::new(
        wanted.promote.source.span,
        format!("how many elements `{read}` reaches under `{}` is not bounded", wanted.promote.at),
    );
    let error = error.note(format!("no bound is found for the range of `{index}`"));
    error.help(match wanted.promote.computed {
        true => "place it further in, or write `root` instead".to_owned(),
        false => format!("list the axes: `{}`", call(&wanted.promote.source, &format!("{}[…]", wanted.name))),
    })
}

/// What a dimension is called: after the axes that index it.
fn dimension_name(nest: &StageNest<'_>, seen: &[Seen], dimension: usize, taken: &mut Vec<String>) -> String {
    let mut names: Vec<String> = Vec::new();
    let index = nest.program.exprs.linear(seen[0].read.index[dimension]);
    for axis in index.axes.keys() {
        names.push(nest.name(*axis).to_owned());
    }
    let mut name = if names.is_empty() { format!("d{dimension}") } else { names.join("_") };
    if taken.contains(&name) {
        name = format!("{name}{dimension}");
    }
    taken.push(name.clone());
    name
}

/// What all reads say of elements outside the tensor.
fn common_outside(wanted: &Wanted<'_>, seen: &[Seen]) -> Result<crate::expr::Outside, Error> {
    use crate::expr::Outside;
    let mut common = Outside::Never;
    for s in seen {
        common = match (common, s.read.outside.clone()) {
            (Outside::Never, other) | (other, Outside::Never) => other,
            (Outside::Clamp(a), Outside::Clamp(b)) => Outside::Clamp(join(&a, &b)),
            (Outside::Fill(f, a), Outside::Fill(g, b)) if f == g => Outside::Fill(f, join(&a, &b)),
            _ => {
                let error = Error::new(
                    wanted.promote.source.span,
                    format!("reads of `{}` differ in what lies outside it", wanted.promote.source),
                );
                return Err(error.help(match wanted.promote.computed {
                    true => "it has one value there: write `root` instead",
                    false => "a copy has one value there: list the axes of the read that is to be promoted",
                }));
            }
        };
    }
    Ok(common)
}

fn join(a: &crate::expr::Sides, b: &crate::expr::Sides) -> crate::expr::Sides {
    a.iter().zip(b).map(|((a, b), (c, d))| (*a || *c, *b || *d)).collect()
}
