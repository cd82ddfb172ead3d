//! `fragment(i, j, 16 x 8)`: computes a stage that is not a matrix product element by element, on the matrices of a subgroup. The
//! matrices that it reads are already in registers. For example, the scores of a matrix product become weights without a round trip
//! through memory.
//!
//! Both axes are split exactly, as in `mma`, and their loops are unrolled: each iteration is a separate matrix. A reduction over
//! other axes combines whole matrices. If the columns are the reduction's axis, `by: matrix | shared` says how the elements of a
//! row are combined after whole matrices are: by an instruction (`cooperativeMatrixReductions`), or in shared memory, where each
//! lane has rows. The result has one value for each row, in fragments whose columns are all equal.
//!
//! Refused: a shape that is not among the profile's matrices; a reduction's axis as rows, or without a strategy; reads of buffers
//! in each invocation's registers; threads or lanes in the same nest; axis ends that cut matrices which are stored.

use super::mma;
use crate::diag::{Error, SpanId, list};
use crate::launch::Feature;
use crate::nest::path::{Frame, Head};
use crate::nest::{Access, Axis, AxisId, Body, Exec, Fate, How, Side, Space, State, Tail};
use crate::schedule::invocations::strategy;
use crate::schedule::loops::split;
use crate::schedule::{Applied, StageNest};
use crate::syntax::Name;
use crate::syntax::expr::Expr;
use crate::syntax::schedule::By;

/// Applies the directive.
pub(in crate::schedule) fn apply(
    nest: &mut StageNest<'_>,
    names: &[Name; 2],
    (sides, blame): (&[Expr; 2], SpanId),
    by: Option<By>,
    span: SpanId,
) -> Applied {
    let axes = [nest.axis(&names[0])?, nest.axis(&names[1])?];
    check_axes(nest, names, by)?;
    mma::check_device(nest, "fragment", span)?;
    mma::check_reads(nest, span)?;
    by.map_or(Ok(()), |by| check_rows(nest, &names[1], by))?;
    let mut lengths = [0; 2];
    for (length, number) in lengths.iter_mut().zip(sides) {
        *length = nest.positive(number, "a side of a matrix")?;
    }
    check_shape(nest, lengths, blame)?;
    for ((axis, name), (length, number)) in axes.into_iter().zip(names).zip(lengths.into_iter().zip(sides)) {
        mma::check_divides(nest, axis, name, length, number.span)?;
    }
    for ((axis, name), (length, side)) in axes.into_iter().zip(names).zip(lengths.into_iter().zip([Side::Rows, Side::Columns])) {
        let at = nest.path.position(axis);
        let inner = split::inner(nest, (axis, at), name, (length, "matrix"), span);
        nest.path.frames.push(Frame::looped(inner, Exec::Matrix(side), span));
        write_out(nest, at, span);
        if let (Some(by), Side::Columns) = (by, side) {
            nest.program.notes.strategies.insert(inner, by.how);
        }
    }
    if let Some(By { how: How::Matrix, .. }) = by {
        let what = "the device reduces the rows of a matrix (cooperativeMatrixReductions of VK_NV_cooperative_matrix2)";
        nest.program.owe(what, State::CheckedAtLaunch, span);
    }
    mma::write_out(nest, span);
    nest.take_hulls(span)?;
    without_guards(nest);
    nest.refresh();
    Ok(())
}

/// Removes guards, because matrices do not support predicates. Out of bounds, no guard is needed if the reduction operands are the
/// identity by themselves.
fn without_guards(nest: &mut StageNest<'_>) {
    for axis in nest.program.root_axes(nest.stage) {
        if nest.program.notes.neutral.contains(&axis)
            && let Fate::Split(split) = &mut nest.program.axes[axis].fate
            && split.tail == Tail::Guard
        {
            split.tail = Tail::RoundUp;
        }
    }
}

/// Checks that both axes are plain loops of a stage without lanes. Both must be parallel; the columns may instead be an axis of the
/// reduction, with a strategy.
fn check_axes(nest: &StageNest<'_>, names: &[Name; 2], by: Option<By>) -> Applied {
    mma::check_alone(nest, names[0].span)?;
    for (name, side) in names.iter().zip([Side::Rows, Side::Columns]) {
        let axis = nest.axis(name)?;
        split::plain(nest, axis, name.span)?;
        match (nest.is_reduction(axis), side, by) {
            (true, Side::Rows, _) => {
                let error = Error::new(
                    name.span,
                    format!("`{name}` is a reduction's axis, but only the elements of a row can be combined"),
                );
                return Err(error.help(format!("name `{name}` second, as the columns")));
            }
            (true, _, None) => {
                let error =
                    Error::new(name.span, format!("`{name}` is a reduction's axis, so the elements of each row must be combined"));
                let help = "say how: `by: matrix` by an instruction, where the profile has `matrix_reductions`, or `by: shared`";
                return Err(error.help(help));
            }
            (false, Side::Columns, Some(by)) => {
                let error = Error::new(by.span, format!("`{name}` is a parallel axis, so no elements of a row are combined"));
                return Err(error.help("leave `by` out, or name the reduction's axis second"));
            }
            _ => {}
        }
    }
    if names[0].text == names[1].text {
        return Err(Error::new(names[1].span, format!("`{}` is named twice", names[1])).help("name two axes"));
    }
    Ok(())
}

/// Checks that the elements of a row can be combined by this strategy, and that their result can be stored in fragments.
fn check_rows(nest: &StageNest<'_>, columns: &Name, by: By) -> Applied {
    let (program, profile) = (&*nest.program, nest.profile);
    let stage = &program.stages[nest.stage].name;
    let is_one = strategy::monoid(nest).is_some_and(|monoid| monoid.of_subgroups(&program.exprs).is_some());
    if !is_one {
        let error = Error::new(columns.span, format!("the reduction of `{stage}` is not a single operation on floats"));
        return Err(error.help("reduce it in lanes, from shared memory: `distribute(… => lane(x), by: …)`"));
    }
    if by.how == How::Matrix && !profile.has(Feature::MatrixReductions) {
        let what = format!("`by: matrix` needs `matrix_reductions`, which `{}` does not have", profile.name);
        return Err(Error::new(by.span, what).help("write `by: shared`"));
    }
    let is_fragment = |to: &Access| matches!(program.buffers[to.buffer].space, Space::Fragment { .. });
    if !nest.path.compute.dst.iter().all(is_fragment) {
        let error = Error::new(by.span, format!("`{stage}` is not in fragments, which hold the one value of each row"));
        return Err(error.help(format!("place it there: `compute_at({stage}, …, to: fragment);`")));
    }
    Ok(())
}

/// Checks, when all directives are applied, that no axis ends within a matrix that is stored. Lowering reports the case of sums.
pub(in crate::schedule) fn check_whole(nest: &StageNest<'_>) -> Applied {
    let (program, compute) = (&*nest.program, &nest.path.compute);
    let is_private = |to: &Access| matches!(program.buffers[to.buffer].space, Space::Register | Space::Fragment { .. });
    if matches!(program.stages[nest.stage].body, Body::Reduce { .. }) || compute.dst.iter().all(is_private) {
        return Ok(());
    }
    let side = |frame: &Frame| frame.as_loop().filter(|(_, exec)| matches!(exec, Exec::Matrix(_))).map(|(axis, _)| axis);
    let sides: Vec<(AxisId, SpanId)> = nest.path.frames.iter().filter_map(|f| Some((side(f)?, f.span))).collect();
    for pred in &compute.preds {
        let Axis { name, extent, .. } = &program.axes[pred.axis];
        let ends = |side| {
            program.is_made_of(pred.axis, side) || program.exprs.uses_axis(*extent, &mut |named| program.is_made_of(named, side))
        };
        let Some((_, span)) = sides.iter().find(|(side, _)| ends(*side)) else { continue };
        let text = nest.text(*extent);
        let error = Error::new(*span, format!("`{name}` ends at {text}, which may be within a matrix that is stored"));
        let help = "or make this the epilogue of the sum that it reads, whose promoted result is written back with guards";
        return Err(error.help(format!("state that the tile divides {text}, {help}")));
    }
    Ok(())
}

/// Checks that the profile has accumulators of this shape.
fn check_shape(nest: &StageNest<'_>, sides: [i64; 2], blame: SpanId) -> Applied {
    let profile = nest.profile;
    let shapes = || profile.matrices.iter().map(|row| [row.shape[0], row.shape[1]]);
    if shapes().any(|shape| shape.map(i64::from) == sides) {
        return Ok(());
    }
    let [rows, columns] = sides;
    let error = Error::new(blame, format!("`{}` does not support accumulators of {rows} x {columns}", profile.name));
    let mut known: Vec<String> = shapes().map(|[rows, columns]| format!("{rows} x {columns}")).collect();
    known.sort();
    known.dedup();
    Err(error.help(format!("it has {}", list(known))))
}

/// Marks the remaining loop of a split axis as unrolled.
fn write_out(nest: &mut StageNest<'_>, at: Option<usize>, span: SpanId) {
    let Some(frame) = at.and_then(|at| nest.path.frames.get_mut(at)) else { return };
    if let Head::Loop { axis, exec: Exec::Serial } = frame.head
        && nest.program.exprs.as_int(nest.program.axes[axis].extent).is_some()
    {
        frame.head = Head::Loop { axis, exec: Exec::Unroll };
        frame.span = span;
    }
}
