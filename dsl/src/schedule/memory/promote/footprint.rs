//! The footprint of the reads under a place, and the shape of the copy.
//!
//! Every index is expressed over the axes that loops bind. The axes *inside* vary under the place; the other axes are fixed there.
//! - Without a list: in each dimension the index is `low` plus a varying part, and `low` names fixed axes only. The copy holds all
//!   elements from the lowest to the highest that the varying part reaches, including those that a stride skips. Several reads must
//!   be at constant distances from each other.
//! - With a list: the copy holds the element that is read, at all values of the listed axes.

use super::distance::distance;
use super::{Wanted, as_read, block, call, clamps, listed, made_axis};
use crate::diag::Error;
use crate::expr::linear::Linear;
use crate::expr::{Binary, Expr, ExprId, Exprs, Outside, Read, Sides};
use crate::facts::Prover;
use crate::nest::{AxisId, Block, Exec, Node, NodeKind, Program, Space, walk};
use crate::schedule::StageNest;
use crate::schedule::loops::hull::bound;
use crate::syntax::schedule::Memory;
use std::collections::{HashMap, HashSet};

/// The axes of a copy, the source elements that they denote, and the indices of the reads in the copy.
pub(in crate::schedule) struct Footprint {
    /// One axis for each dimension.
    pub(in crate::schedule) axes: Vec<AxisId>,
    /// The index of the source element, over these axes and the fixed axes.
    pub(in crate::schedule) index: Vec<ExprId>,
    /// The indices of the elements that are read, over the axes that vary: the copy's axes if they are listed, otherwise the nest's
    /// own.
    pub(in crate::schedule) read_at: Vec<Vec<ExprId>>,
    /// The axes that vary under the place and that an index names.
    pub(in crate::schedule) used: Vec<AxisId>,
    /// The handling of out-of-bounds elements that the reads state.
    pub(in crate::schedule) outside: Outside,
    /// Every read that the copy serves, with its index in the copy.
    pub(in crate::schedule) places: Vec<(ExprId, Vec<ExprId>)>,
    /// The axes that the copy's axes replace, each with its replacement.
    pub(in crate::schedule) listed: Vec<(AxisId, AxisId)>,
}

/// A read, with its index over the axes that loops bind.
pub(super) struct Seen {
    pub(super) id: ExprId,
    pub(super) read: Read,
    pub(super) index: Vec<ExprId>,
}

/// Returns the reads under a place: reads of the stage itself, of its finish if that is computed there, and of attachments deeper
/// in the nest.
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

/// Returns the values that a block computes, including the finishes of its reductions.
fn values_of(block: &[Node]) -> Vec<ExprId> {
    let compute = |node: &Node| if let NodeKind::Compute(compute) = &node.kind { compute.values().collect() } else { Vec::new() };
    walk::nodes(block).flat_map(compute).collect()
}

/// Calls `f` on every value that a block computes, and on every index of data that it writes at; `f` may replace them.
pub(super) fn values_mut(exprs: &Exprs, block: &mut Block, f: &mut dyn FnMut(&mut ExprId)) {
    walk::each_mut(block, &mut |node| {
        if let NodeKind::Compute(compute) = &mut node.kind {
            compute.values_mut(exprs).for_each(&mut *f);
        }
    });
}

/// Returns every loop of a block.
pub(super) fn loops(block: &Block) -> impl Iterator<Item = (AxisId, Exec)> {
    walk::nodes(block).filter_map(|node| if let NodeKind::Loop(l) = &node.kind { Some((l.axis, l.exec)) } else { None })
}

/// True if a block reads a buffer of that name.
pub(super) fn block_reads(nest: &StageNest<'_>, block: &Block, name: &str) -> bool {
    let values = values_of(block);
    values.iter().flat_map(|v| nest.program.exprs.reads(*v)).any(|r| nest.program.buffers[r.buffer].name == name)
}

/// Returns the footprint of the source's reads under the place.
pub(in crate::schedule) fn of(nest: &mut StageNest<'_>, wanted: &Wanted<'_>) -> Result<Footprint, Error> {
    check_alive(nest, wanted)?;
    let is_wanted = |(_, read): &(ExprId, Read)| read.buffer == wanted.source || wanted.also.contains(&read.buffer);
    let reads = reads(nest, &wanted.place).into_iter().filter(is_wanted);
    let mut seen = Vec::new();
    let mut bound = nest.bound_axes();
    bound.extend(&wanted.place.inside);
    for (id, read) in reads.collect::<Vec<_>>() {
        if read.index.iter().any(|i| !is_known(nest, *i)) {
            let text = nest.text(id);
            let error = Error::new(wanted.promote.source.span, format!("`{text}` is read at an index that depends on data"));
            return Err(error.help("the elements that are read are known only at run time: read the tensor itself"));
        }
        let index = read.index.iter().map(|i| nest.program.over_leaves(*i, &bound));
        let index = index.map(|i| kept_in_tables(nest, block::of(nest, i))).collect();
        seen.push(Seen { id, read, index });
    }
    if seen.is_empty() {
        let error =
            Error::new(wanted.promote.source.span, format!("`{1}` is not read under `{0}`", wanted.promote.at, wanted.name));
        return Err(error.help("leave this out"));
    }
    let used = used(nest, wanted, &seen);
    let footprint = match &wanted.promote.list {
        Some(of) => listed::of(nest, wanted, seen, of)?,
        None => boxed(nest, wanted, &seen).or_else(|error| {
            let other = clamps::forms(nest, &seen).into_iter().find_map(|seen| boxed(nest, wanted, &seen).ok());
            other.ok_or(error)
        })?,
    };
    Ok(Footprint { used, ..footprint })
}

/// True if an index does not depend on data that only a launch knows. It may read constant tables.
fn is_known(nest: &StageNest<'_>, index: ExprId) -> bool {
    let program = &*nest.program;
    let reads = program.exprs.reads(index);
    let is_table = |read: &Read| matches!(program.buffers[read.buffer].space, Space::Constant(_));
    reads.is_empty() || program.exprs.is_index(index) && reads.iter().all(is_table)
}

/// Clamps the reads of tables in an index over loops, because loops can exceed the axes for which the reads were proved.
fn kept_in_tables(nest: &StageNest<'_>, index: ExprId) -> ExprId {
    let (program, prover) = (&*nest.program, nest.prover());
    program.exprs.replace(index, &mut |exprs, id| {
        let Expr::Read(read) = exprs.get(id) else { return None };
        let at: Vec<ExprId> = read.index.iter().map(|at| kept_in_tables(nest, *at)).collect();
        let shape = &program.buffers[read.buffer].shape;
        let sides: Sides = at.iter().zip(shape).map(|(at, n)| (!prover.nonneg(*at), !prover.less(*at, *n))).collect();
        let is_inside = sides.iter().all(|side| *side == (false, false));
        let outside = if is_inside { read.outside.clone() } else { Outside::Clamp(sides) };
        Some(exprs.add(Expr::Read(Read { buffer: read.buffer, index: at.into(), outside }), exprs.dtype(id)))
    })
}

/// Returns the axes that vary under the place and that indices name.
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

/// Checks that the place is in the scope of the source, if the source is a copy.
fn check_alive(nest: &StageNest<'_>, wanted: &Wanted<'_>) -> Result<(), Error> {
    let Some(attached) = nest.attached_buffer(wanted.source) else { return Ok(()) };
    if nest.place_of(attached) <= wanted.place.depth {
        return Ok(());
    }
    let (name, at) = (&wanted.promote.source, &wanted.promote.at);
    let error = Error::new(at.span, format!("`{name}` is a copy that is made further in than `{at}`"));
    Err(error.note_at(attached.span, "it is made here").help("promote from it in its scope: at the same loop, or further in"))
}

/// Rewrites an expression over the axes of a copy.
pub(super) fn replaced(nest: &mut StageNest<'_>, e: ExprId, pairs: &[(AxisId, AxisId)]) -> ExprId {
    let exprs = &nest.program.exprs;
    exprs.with_axes(e, &mut |axis| pairs.iter().find(|(old, _)| *old == axis).map(|(_, new)| exprs.axis(*new)))
}

/// Reports an axis without a bounded extent.
pub(super) fn unbounded(nest: &StageNest<'_>, wanted: &Wanted<'_>, axis: AxisId, span: crate::diag::SpanId) -> Error {
    let (name, extent) = (nest.name(axis), nest.text(nest.program.axes[axis].extent));
    let copy = &wanted.name;
    let error = Error::new(
        span,
        format!("the size of `{copy}` is not bounded: `{name}` runs over `0..{extent}` under `{}`", wanted.promote.at),
    );
    let place = if wanted.promote.computed { "compute it" } else { "promote" };
    error.help(format!("tile `{name}` and {place} inside the outer part, or state a bound: `where {extent} <= 64`"))
}

/// Returns the footprint of a copy with the tensor's dimensions.
fn boxed(nest: &mut StageNest<'_>, wanted: &Wanted<'_>, seen: &[Seen]) -> Result<Footprint, Error> {
    let seen = &seen.iter().collect::<Vec<_>>()[..];
    let dimensions = nest.program.buffers[wanted.source].shape.len();
    let order: Vec<AxisId> = nest.path.axes().collect();
    let (mut axes, mut index, mut names) = (Vec::new(), Vec::new(), Vec::new());
    let mut places: Vec<(ExprId, Vec<ExprId>)> = seen.iter().map(|s| (s.id, Vec::new())).collect();
    let mut ranges = Vec::new();
    for dimension in 0..dimensions {
        let (range, at) = ranged(nest, wanted, seen, dimension)?;
        places.iter_mut().zip(at).for_each(|(place, at)| place.1.push(at));
        ranges.push(range);
    }
    let outside = common_outside(nest, wanted, seen)?;
    for (dimension, range) in ranges.iter().enumerate() {
        let name = dimension_name(nest, seen[0], dimension, &mut names);
        let axis = made_axis(nest, &name, range.width, wanted.span);
        let low = nest.program.exprs.of_linear(&range.low, &order);
        let at = nest.program.exprs.axis(axis);
        index.push(nest.program.exprs.sum(low, at));
        axes.push(axis);
    }
    let read_at = seen.iter().map(|s| s.index.clone()).collect();
    Ok(Footprint { axes, index, read_at, used: Vec::new(), outside, places, listed: Vec::new() })
}

/// Returns the range of one dimension of the box, and the index of each read in it.
pub(super) fn ranged(
    nest: &mut StageNest<'_>,
    wanted: &Wanted<'_>,
    seen: &[&Seen],
    dimension: usize,
) -> Result<(Range, Vec<ExprId>), Error> {
    let range = range(nest, wanted, seen, dimension)?;
    let mut known = HashMap::new();
    let at = seen.iter().map(|s| match known.get(&s.index[dimension]) {
        Some(at) => Ok(*at),
        None => within(nest, wanted, s, &range, dimension).inspect(|at| _ = known.insert(s.index[dimension], *at)),
    });
    let at = at.collect::<Result<_, _>>()?;
    Ok((range, at))
}

/// Returns the index of a read in one dimension of the box.
fn within(nest: &mut StageNest<'_>, wanted: &Wanted<'_>, seen: &Seen, range: &Range, dimension: usize) -> Result<ExprId, Error> {
    let order: Vec<AxisId> = nest.path.axes().collect();
    let mut offset = nest.program.exprs.linear(seen.index[dimension]);
    offset.add(&range.low, -1);
    let at = if range.width == 1 { nest.program.exprs.int(0) } else { nest.program.exprs.of_linear(&offset, &order) };
    if offset.rest.is_empty() {
        return Ok(at);
    }
    check_place(nest, wanted, seen, (at, range.width), dimension)?;
    Ok(kept_inside(nest.program, at, range.width))
}

/// Clamps the index of a read to its copy, as far as it can be out of bounds. Past the end of an axis, the loops whose ends name the axis
/// run as for its last value, but an index over loops has the value past the end. The element that is read there is not used.
fn kept_inside(program: &Program, at: ExprId, width: i64) -> ExprId {
    if !program.is_clamped_apart(at) {
        return at;
    }
    let (exprs, prover) = (&program.exprs, Prover::new(program));
    let above = if prover.nonneg(at) { at } else { exprs.binary(Binary::Max, at, exprs.int(0)) };
    if prover.less(at, width) { above } else { exprs.binary(Binary::Min, above, exprs.int(width - 1)) }
}

/// Checks an index that is not a sum of axes: its distance from the lowest index must be proved to be in the box. In registers,
/// which are not addressable, it must also depend only on axes that vary.
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
            "the registers that hold `{read}` under `{}` would depend on `{name}`, but registers need constant indices",
            wanted.promote.at
        ),
    );
    Err(error.help(match wanted.promote.computed {
        true => "write `to: shared`",
        false => "write `to: shared`, or list the axes",
    }))
}

/// The range of elements in one dimension.
pub(super) struct Range {
    pub(super) low: Linear,
    pub(super) width: i64,
}

/// Returns the range from the lowest to the highest element that is read in a dimension.
fn range(nest: &mut StageNest<'_>, wanted: &Wanted<'_>, seen: &[&Seen], dimension: usize) -> Result<Range, Error> {
    let mut found: Option<Range> = None;
    let mut all: Vec<(Linear, Linear)> = Vec::new();
    // The first read that is not at a constant distance from the reads before it.
    let mut uneven = None;
    // The reads of a transform have few indices in a dimension, and each takes many proofs.
    let mut known = HashSet::new();
    for s in seen.iter().filter(|s| known.insert(s.index[dimension])) {
        let (low, high) = ends(nest, wanted, s, dimension)?;
        all.push((low.clone(), high.clone()));
        if uneven.is_some() {
            continue;
        }
        let Some(last) = distance(nest, &high, &low) else { return Err(opaque(nest, wanted, s, dimension)) };
        // If the range is empty, any width is valid.
        let width = last.max(0) + 1;
        let Some(range) = &mut found else {
            found = Some(Range { low, width });
            continue;
        };
        let mut apart = low.clone();
        apart.add(&range.low, -1);
        let Some(apart) = constant(nest, &apart) else {
            uneven = Some(s);
            continue;
        };
        let end = (range.width).max(apart + width);
        if apart < 0 {
            range.low = low;
        }
        range.width = end - apart.min(0);
    }
    let Some(s) = uneven else {
        return found
            .ok_or_else(|| Error::new(wanted.promote.source.span, format!("`{}` is not read there", wanted.promote.source)));
    };
    // Once for all reads, because each distance takes many proofs.
    hull(nest, &all).ok_or_else(|| {
        let (one, two) = (nest.text(seen[0].id), nest.text(s.id));
        let error = Error::new(wanted.promote.source.span, format!("`{one}` and `{two}` are not at a constant distance"));
        error.help(one_box(nest, wanted, seen))
    })
}

/// Returns a range that contains several ranges which are clamped differently. One of them must be proved to begin first for all
/// sizes.
fn hull(nest: &mut StageNest<'_>, all: &[(Linear, Linear)]) -> Option<Range> {
    let mut low = all[0].0.clone();
    for (other, _) in &all[1..] {
        let (here, there) = (nest.program.exprs.of_linear(&low, &[]), nest.program.exprs.of_linear(other, &[]));
        if !nest.prover().less_equal(here, there) {
            low = nest.prover().less_equal(there, here).then(|| other.clone())?;
        }
    }
    let last = all.iter().map(|(_, high)| distance(nest, high, &low)).try_fold(0, |most: i64, last| Some(most.max(last?)))?;
    Some(Range { low, width: last + 1 })
}

fn one_box(nest: &StageNest<'_>, wanted: &Wanted<'_>, seen: &[&Seen]) -> String {
    match wanted.promote.computed {
        true => "a stage is computed as one box: place it further in, or write `root` instead".to_owned(),
        false => listed::instead_of_box(nest, wanted, seen),
    }
}

/// Returns a difference that is proved to be constant.
fn constant(nest: &mut StageNest<'_>, difference: &Linear) -> Option<i64> {
    if difference.is_constant() {
        return Some(difference.constant);
    }
    let difference = nest.program.exprs.of_linear(difference, &[]);
    nest.prover().poly(difference)?.as_constant().and_then(|n| i64::try_from(n).ok())
}

/// Returns the lowest and the highest value of an index under the place, over fixed axes.
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
        let sum = times.checked_mul(last).and_then(|n| end.constant.checked_add(n));
        end.constant = sum.ok_or_else(|| far(nest, wanted, seen))?;
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
        low.plus(&from, *times).zip(high.plus(&to, *times)).ok_or_else(|| far(nest, wanted, seen))?;
    }
    if low.has_literals() && high.has_literals() { Ok((low, high)) } else { Err(far(nest, wanted, seen)) }
}

/// Reports a read whose indices do not fit in 32 bits.
fn far(nest: &StageNest<'_>, wanted: &Wanted<'_>, seen: &Seen) -> Error {
    let what = format!("`{}` has indices under `{}` that do not fit in 32 bits", nest.text(seen.id), wanted.promote.at);
    Error::new(wanted.promote.source.span, what).help("place it further in, so that it covers shorter ranges")
}

/// Returns the last value of an axis, or an upper bound of it.
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

/// Reports an index whose range is not bounded.
fn opaque(nest: &StageNest<'_>, wanted: &Wanted<'_>, seen: &Seen, dimension: usize) -> Error {
    let (read, index) = (nest.text(seen.id), nest.text(seen.read.index[dimension]));
    let error = Error::new(
        wanted.promote.source.span,
        format!("the number of elements that `{read}` reaches under `{}` is not bounded", wanted.promote.at),
    );
    let error = error.note(format!("cannot prove a bound of the range of `{index}`"));
    error.help(match wanted.promote.computed {
        true => "place it further in, or write `root` instead".to_owned(),
        false => format!("list the axes: `{}`", call(&wanted.promote.source, &format!("{}[…]", wanted.name))),
    })
}

/// Returns the name of a dimension: the names of the algorithm's axes that index it.
pub(super) fn dimension_name(nest: &StageNest<'_>, seen: &Seen, dimension: usize, taken: &mut Vec<String>) -> String {
    let mut names: Vec<String> = Vec::new();
    let index = nest.program.exprs.linear(seen.read.index[dimension]);
    for axis in index.axes.keys().flat_map(|axis| nest.program.roots(*axis)) {
        if names.iter().all(|name| name != nest.name(axis)) {
            names.push(nest.name(axis).to_owned());
        }
    }
    let mut name = if names.is_empty() { format!("d{dimension}") } else { names.join("_") };
    if taken.contains(&name) {
        name = format!("{name}{dimension}");
    }
    taken.push(name.clone());
    name
}

/// Returns the handling of out-of-bounds elements that all reads have in common.
pub(super) fn common_outside(nest: &StageNest<'_>, wanted: &Wanted<'_>, seen: &[&Seen]) -> Result<Outside, Error> {
    let mut common = Outside::Never;
    for s in seen {
        let outside = if is_inside(nest, &s.read) { Outside::Never } else { s.read.outside.clone() };
        common = match (common, outside) {
            (Outside::Never, other) | (other, Outside::Never) => other,
            (Outside::Clamp(a), Outside::Clamp(b)) => Outside::Clamp(join(&a, &b)),
            (Outside::Fill(f, a), Outside::Fill(g, b)) if f == g => Outside::Fill(f, join(&a, &b)),
            _ => {
                let error = Error::new(
                    wanted.promote.source.span,
                    format!("reads of `{}` differ in the values outside it", wanted.promote.source),
                );
                return Err(error.help(match wanted.promote.computed {
                    true => "a placed stage has one value there: write `root` instead".to_owned(),
                    false => listed::instead_of_box(nest, wanted, seen),
                }));
            }
        };
    }
    Ok(common)
}

/// True if a clamped read is proved to be in bounds. Inlining clamps every read that it does not prove, because it does not know
/// the nest yet.
fn is_inside(nest: &StageNest<'_>, read: &Read) -> bool {
    let shape = &nest.program.buffers[read.buffer].shape;
    matches!(read.outside, Outside::Clamp(_))
        && read.index.iter().zip(shape).all(|(index, extent)| nest.prover().inside(*index, *extent))
}

fn join(a: &Sides, b: &Sides) -> Sides {
    a.iter().zip(b).map(|((a, b), (c, d))| (*a || *c, *b || *d)).collect()
}
