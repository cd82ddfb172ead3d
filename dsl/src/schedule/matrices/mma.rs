//! `mma(i, j, k, 16 x 16 x 16)`: computes a sum of products on matrix units, by cooperative matrices of M x N x K that a subgroup
//! holds.
//!
//! Each axis is split exactly. The inner parts become the sides of matrices, and the outer parts keep the names. The loops over `i`
//! and `j` within the reduction are unrolled, because each of their iterations is an accumulator, and accumulators cannot be
//! indexed at run time.
//!
//! Refused: a stage that is not a sum of products of an `i`-by-`k` and a `k`-by-`j` factor, each read from memory; a shape or types
//! that the profile does not have; a side that is not proved to divide its axis's extent; threads or lanes in the same nest.

use crate::diag::{Error, SpanId, list};
use crate::expr::{Binary, Expr, ExprId, Read};
use crate::launch::{Feature, Matrices};
use crate::nest::path::{Frame, Head};
use crate::nest::{Access, AxisId, Body, BufferId, Exec, Level, Side, Space, State};
use crate::profile::Profile;
use crate::schedule::invocations::subgroups;
use crate::schedule::loops::split;
use crate::schedule::memory::promote::epilogue;
use crate::schedule::{Applied, StageNest};
use crate::syntax::Name;
use crate::syntax::schedule::Shape;

/// The sides in the order of the directive's axes.
const SIDES: [Side; 3] = [Side::Rows, Side::Columns, Side::Depth];

/// Applies the directive.
pub fn apply(nest: &mut StageNest<'_>, names: &[Name; 3], shape: &Shape, span: SpanId) -> Applied {
    let axes = [nest.axis(&names[0])?, nest.axis(&names[1])?, nest.axis(&names[2])?];
    check_axes(nest, names, axes)?;
    check_device(nest, "mma", span)?;
    check_reads(nest, span)?;
    let factors = factors(nest, names, axes, span)?;
    let mut sides = [0; 3];
    for (side, number) in sides.iter_mut().zip(&shape.sides) {
        *side = nest.positive(number, "a side of a matrix")?;
    }
    let matrices = check_shape(nest, &factors, sides, shape.span)?;
    for ((axis, name), (side, number)) in axes.into_iter().zip(names).zip(sides.into_iter().zip(&shape.sides)) {
        check_divides(nest, axis, name, side, number.span)?;
    }
    for ((axis, name), (side, which)) in axes.into_iter().zip(names).zip(sides.into_iter().zip(SIDES)) {
        let at = nest.path.position(axis);
        let inner = split::inner(nest, (axis, at), name, (side, "matrix"), span);
        nest.path.frames.push(Frame::looped(inner, Exec::Matrix(which), span));
    }
    write_out(nest, span);
    nest.take_hulls(span)?;
    nest.refresh();
    epilogue::with_write_back(nest, span)?;
    nest.program.owe(
        format!("the device multiplies matrices of {matrices} (VK_KHR_cooperative_matrix)"),
        State::CheckedAtLaunch,
        span,
    );
    Ok(())
}

/// Checks that there are two parallel axes and one axis of the reduction, each a plain loop of a stage without lanes.
fn check_axes(nest: &StageNest<'_>, names: &[Name; 3], axes: [AxisId; 3]) -> Applied {
    let Body::Reduce { .. } = nest.program.stages[nest.stage].body else {
        let stage = &nest.program.stages[nest.stage].name;
        let error = Error::new(names[0].span, format!("`{stage}` is not a sum of products"));
        return Err(error.help("`mma` needs a sum of products, for example a matrix product"));
    };
    check_alone(nest, names[0].span)?;
    for ((axis, name), side) in axes.into_iter().zip(names).zip(SIDES) {
        split::plain(nest, axis, name.span)?;
        if nest.is_reduction(axis) != (side == Side::Depth) {
            let (is, wanted) = match side {
                Side::Depth => ("parallel", "the last axis of `mma` is the reduction's"),
                Side::Rows | Side::Columns => ("a reduction's", "the first two axes of `mma` are parallel"),
            };
            return Err(Error::new(name.span, format!("`{name}` is {is} axis")).note(wanted).help(ordered(nest, names, &axes)));
        }
    }
    if let Some(n) = (1..3).find(|n| axes[..*n].contains(&axes[*n])) {
        return Err(Error::new(names[n].span, format!("`{}` is named twice", names[n])).help("name three axes"));
    }
    Ok(())
}

/// Checks that a stage does not have lanes or matrices yet.
pub(super) fn check_alone(nest: &StageNest<'_>, blame: SpanId) -> Applied {
    let other = |f: &&Frame| matches!(f.as_loop(), Some((_, Exec::Lanes | Exec::Matrix(_))));
    let Some(frame) = nest.path.frames.iter().find(other) else { return Ok(()) };
    let error = Error::new(blame, "this stage is already in lanes or on matrix units");
    Err(error.note_at(frame.span, "by this directive").help("leave one of the two out"))
}

/// Checks that the profile has matrix units, and that no axis is distributed to threads or lanes.
pub(super) fn check_device(nest: &StageNest<'_>, directive: &str, span: SpanId) -> Applied {
    let profile = nest.profile;
    for feature in [Feature::CooperativeMatrix, Feature::MemoryModel, Feature::SubgroupSize] {
        if !profile.has(feature) {
            let error = Error::new(span, format!("the profile `{}` does not have `{}`", profile.name, feature.name()));
            return Err(error
                .note(format!("`{directive}` needs matrix units"))
                .help(format!("leave `{directive}` out, or take {}", Profile::that_have(feature))));
        }
    }
    if profile.subgroup.is_none() {
        let error = Error::new(span, format!("the profile `{}` does not say how large subgroups are", profile.name));
        return Err(error
            .note("a matrix belongs to a whole subgroup")
            .help("state the size in the profile, for example `subgroup: 32`"));
    }
    let by_invocation = |f: &&Frame| matches!(f.level(), Some((Level::Thread | Level::Lane, _)));
    if let Some(frame) = nest.path.frames.iter().find(by_invocation) {
        let name = frame.as_loop().map_or("", |(a, _)| nest.name(a));
        let error = Error::new(span, format!("`{name}` is distributed to invocations, but a matrix belongs to a whole subgroup"));
        return Err(error.note_at(frame.span, "here").help("distribute it to subgroups, as in `=> subgroup(y, x)`"));
    }
    subgroups::check_size(nest, span)
}

/// Returns the axes in the order that `mma` needs: two parallel axes, and the reduction's axis.
fn ordered(nest: &StageNest<'_>, names: &[Name; 3], axes: &[AxisId; 3]) -> String {
    let named = |reduces: bool| {
        let of_kind = axes.iter().zip(names).filter(move |(axis, _)| nest.is_reduction(**axis) == reduces);
        of_kind.map(|(_, name)| name.text.clone())
    };
    let reduction =
        named(true).next().or_else(|| nest.path.axes().find(|a| nest.is_reduction(*a)).map(|a| nest.name(a).to_owned()));
    match (named(false).collect::<Vec<_>>().as_slice(), reduction) {
        ([i, j, ..], Some(k)) => format!("write `mma({i}, {j}, {k}, …)`"),
        _ => "name two parallel axes and the reduction's".into(),
    }
}

/// Checks that the stage does not read registers that each invocation has for itself.
pub(in crate::schedule) fn check_reads(nest: &StageNest<'_>, span: SpanId) -> Applied {
    let (program, compute) = (&*nest.program, &nest.path.compute);
    let values = compute.value.iter().copied().chain(compute.finish);
    let reads: Vec<BufferId> = values.flat_map(|value| program.exprs.reads(value)).map(|read| read.buffer).collect();
    if let Some(updated) = program.updated(nest.stage).into_iter().find(|buffer| reads.contains(buffer)) {
        let name = &program.buffers[updated].name;
        let error = Error::new(span, format!("`{name}` is updated in place, and matrices are loaded from it and stored in it"));
        let error = error.note("the invocations of a subgroup load and store parts of a matrix, and these accesses have no order");
        return Err(error.help(format!("make the new values an output, and pass the old `{name}` as an input")));
    }
    let mut copies = reads.iter().map(|buffer| &program.buffers[*buffer]);
    let Some(copy) = copies.find(|copy| copy.space == Space::Register) else { return Ok(()) };
    let error = Error::new(span, format!("`{}` is in registers, but matrices are loaded from memory", copy.name));
    Err(error.note_at(copy.span, "it is placed in registers here").help("write `to: shared` there"))
}

/// Returns the reads of the factors: first rows by depth, then depth by columns.
fn factors(nest: &mut StageNest<'_>, names: &[Name; 3], axes: [AxisId; 3], span: SpanId) -> Result<[Read; 2], Error> {
    let [i, j, k] = names.each_ref().map(|name| name.text.as_str());
    let help = format!("`mma` needs `sum({k} in …) {{ a * b }}`, where `a` is read at `{i}` and `{k}`, and `b` at `{k}` and `{j}`");
    let refuse = |what: &str| Error::new(span, what.to_owned()).help(help.clone());
    let stage = &nest.program.stages[nest.stage];
    let Body::Reduce { monoid, .. } = &stage.body else { return Err(refuse("this is not a sum")) };
    if monoid.name != "sum" || nest.path.compute.value.len() != 1 {
        let what = format!("`{}` is a `{}`, but matrix units only sum products", stage.name, monoid.name);
        return Err(refuse(&what));
    }
    let Expr::Binary(Binary::Mul, a, b) = *nest.program.exprs.get(nest.path.compute.value[0]) else {
        return Err(refuse(&format!("the items of `{}` are not products", stage.name)));
    };
    let mut found = Vec::new();
    for factor in [a, b] {
        let Expr::Read(read) = nest.program.exprs.get(nest.program.exprs.widened(factor)).clone() else {
            let text = nest.text(factor);
            let error = Error::new(span, format!("the factor `{text}` is computed, but matrices are loaded from memory"));
            return Err(error.help("compute it in a stage of its own, placed by `compute_at(…, to: shared)` or stored by `root`"));
        };
        let index: Vec<ExprId> = read.index.iter().map(|index| nest.on_loops(*index)).collect();
        let at = axes.map(|axis| index.iter().any(|e| nest.program.exprs.uses_axis(*e, &mut |a| a == axis)));
        let refused = match at {
            [true, true, _] => Some(format!("depends on `{i}` and on `{j}`")),
            [false, false, _] => Some(format!("depends on neither `{i}` nor `{j}`")),
            [.., false] => Some(format!("does not depend on `{k}`")),
            _ => None,
        };
        if let Some(why) = refused {
            let what = format!("the factor `{}` {why}", nest.text(factor));
            let buffer = &nest.program.buffers[read.buffer];
            // A copy that is made within the loops over rows and columns holds only a part of a row or a column.
            return Err(match buffer.space {
                Space::Shared => Error::new(span, what)
                    .note_at(buffer.span, format!("`{}` is made here, within the loops around its place", buffer.name))
                    .help(format!("`reorder` so that `{i}` and `{j}` are inside that place, before the directive that makes it")),
                _ => refuse(&what),
            });
        }
        found.push((read, at));
    }
    found.sort_by_key(|(_, at)| at[1]);
    match <[_; 2]>::try_from(found) {
        Ok([(a, [true, false, true]), (b, [false, true, true])]) => Ok([a, b]),
        _ => Err(refuse("both factors depend on the same of these axes")),
    }
}

/// Checks that the profile has matrices of this shape for these factors and this sum.
fn check_shape(nest: &StageNest<'_>, factors: &[Read; 2], sides: [i64; 3], blame: SpanId) -> Result<Matrices, Error> {
    let dtype = |read: &Read| nest.program.buffers[read.buffer].dtype;
    let factors = factors.each_ref().map(dtype);
    let sum = nest.program.exprs.dtype(nest.path.compute.value[0]);
    let shape = sides.map(|side| u32::try_from(side).unwrap_or(u32::MAX));
    let wanted = Matrices { shape, factors, sum };
    let profile = nest.profile;
    if profile.matrices.contains(&wanted) {
        return Ok(wanted);
    }
    let [m, n, k] = sides;
    let ([a, b], name) = (factors, &profile.name);
    let fitting: Vec<&Matrices> = profile.matrices.iter().filter(|row| row.factors == factors && row.sum == sum).collect();
    if fitting.is_empty() {
        let error = Error::new(blame, format!("`{name}` does not support matrices of {a} and {b} with sums of {sum}"));
        let rows = profile.matrices.iter().map(ToString::to_string);
        return Err(error.help(format!("it has {}: choose dtypes, and casts of the factors, that make one of these", list(rows))));
    }
    let error = Error::new(blame, format!("`{name}` does not support matrices of {m} x {n} x {k} for {a}, {b} and sums of {sum}"));
    let shapes = fitting.iter().map(|row| row.shape.map(|side| side.to_string()).join(" x "));
    Err(error.help(format!("it has {}", list(shapes))))
}

pub(in crate::schedule) fn check_divides(nest: &StageNest<'_>, axis: AxisId, name: &Name, side: i64, blame: SpanId) -> Applied {
    let extent = nest.program.axes[axis].extent;
    if nest.prover().divides(side, extent) {
        return Ok(());
    }
    let text = nest.text(extent);
    let error = Error::new(blame, format!("the extent `{text}` of `{name}` is not proved to be a multiple of {side}"));
    Err(error.note("matrices are whole").help(match nest.program.exprs.as_int(extent) {
        Some(_) => format!("choose a tile of `{name}` that {side} divides"),
        None => format!("tile it first, `tile({name}: {side} round_up …)`, and promote the factors with `fill`"),
    }))
}

/// Unrolls the parallel loops within the reduction, which run over accumulators. If the result is in fragments, all parallel loops
/// are unrolled.
pub(in crate::schedule) fn write_out(nest: &mut StageNest<'_>, span: SpanId) {
    let is_fragment = |to: &Access| matches!(nest.program.buffers[to.buffer].space, Space::Fragment { .. });
    let all = nest.path.compute.dst.iter().any(is_fragment);
    let reduces = |f: &Frame| f.as_loop().is_some_and(|(axis, exec)| nest.is_reduction(axis) && !matches!(exec, Exec::Bind(..)));
    let Some(first) = nest.path.frames.iter().position(|f| all || reduces(f)) else { return };
    for at in first..nest.path.frames.len() {
        let Some((axis, Exec::Serial)) = nest.path.frames[at].as_loop() else { continue };
        if !nest.is_reduction(axis) && nest.program.exprs.as_int(nest.program.axes[axis].extent).is_some() {
            nest.path.frames[at].head = Head::Loop { axis, exec: Exec::Unroll };
            nest.path.frames[at].span = span;
        }
    }
}
