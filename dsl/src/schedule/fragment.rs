//! `fragment(i, j, 16 x 8)`: a stage without a product on a subgroup's matrices, element by element. What it reads of matrices is there
//! already, so scores of a matrix product become weights without a way through memory.
//!
//! Both axes are split exactly, as `mma` does it, and their loops are written out: each of their points is a matrix of its own. A reduction
//! over other axes combines whole matrices. Where the columns are the reduction's, `by: matrix | shared` says how the elements of a row
//! become one, when whole matrices have been combined: by an instruction (`cooperativeMatrixReductions`), or in shared memory, where each
//! lane has rows. The result has one value for each row, in fragments whose columns are all the same.
//!
//! Refused: sides of no matrix of the profile; a reduction's axis as rows, or without a strategy; what each invocation has in registers;
//! threads or lanes beside it; ends that cut matrices of what is stored.

use super::{Applied, StageNest, mma, split, strategy};
use crate::diag::{Error, SpanId, list};
use crate::launch::Feature;
use crate::nest::path::{Frame, Head};
use crate::nest::{Access, Axis, AxisId, Body, Exec, Fate, How, Side, Space, State, Tail};
use crate::syntax::Name;
use crate::syntax::expr::Expr;
use crate::syntax::schedule::By;

/// The directive.
pub(super) fn apply(
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
        *length = nest.positive(number, "a matrix's side")?;
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
            nest.program.strategies.insert(inner, by.how);
        }
    }
    if let Some(By { how: How::Matrix, .. }) = by {
        let what = "the device combines the elements of a matrix's rows (cooperativeMatrixReductions of VK_NV_cooperative_matrix2)";
        nest.program.owe(what, State::CheckedAtLaunch, span);
    }
    mma::write_out(nest, span);
    nest.take_hulls(span)?;
    without_guards(nest);
    nest.refresh();
    Ok(())
}

/// Matrices have no predicates, and need none past the end of an axis where the items are the identity by themselves.
fn without_guards(nest: &mut StageNest<'_>) {
    for axis in nest.program.root_axes(nest.stage) {
        if nest.program.neutral.contains(&axis)
            && let Fate::Split(split) = &mut nest.program.axes[axis].fate
            && split.tail == Tail::Guard
        {
            split.tail = Tail::RoundUp;
        }
    }
}

/// Two axes, each a plain loop of a stage without lanes: parallel ones, or as columns one of the reduction, with a strategy.
fn check_axes(nest: &StageNest<'_>, names: &[Name; 2], by: Option<By>) -> Applied {
    mma::check_alone(nest, names[0].span)?;
    for (name, side) in names.iter().zip([Side::Rows, Side::Columns]) {
        let axis = nest.axis(name)?;
        split::plain(nest, axis, name.span)?;
        match (nest.is_reduction(axis), side, by) {
            (true, Side::Rows, _) => {
                let error =
                    Error::new(name.span, format!("`{name}` is a reduction's axis, and columns of a matrix do not combine"));
                return Err(error.help(format!("name `{name}` second: elements of a row combine")));
            }
            (true, _, None) => {
                let error = Error::new(name.span, format!("`{name}` is a reduction's axis: elements of a row become one"));
                let help = "say how: `by: matrix` by an instruction, where the profile has `matrix_reductions`, or `by: shared`";
                return Err(error.help(help));
            }
            (false, Side::Columns, Some(by)) => {
                let error = Error::new(by.span, format!("`{name}` is a parallel axis, and no elements of a row become one"));
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

/// That elements of a row can become one in this way, and have a place then.
fn check_rows(nest: &StageNest<'_>, columns: &Name, by: By) -> Applied {
    let (program, profile) = (&*nest.program, nest.profile);
    let stage = &program.stages[nest.stage].name;
    let is_one = strategy::monoid(nest).is_some_and(|monoid| monoid.of_subgroups(&program.exprs).is_some());
    if !is_one {
        let error = Error::new(columns.span, format!("the rows of `{stage}` are not combined by one operation on floats"));
        return Err(error.help("reduce it in lanes: `distribute(… => lane(x), by: …)`, from shared memory"));
    }
    if by.how == How::Matrix && !profile.has(Feature::MatrixReductions) {
        let what = format!("`by: matrix` needs `matrix_reductions`, which `{}` does not have", profile.name);
        return Err(Error::new(by.span, what).help("write `by: shared`"));
    }
    let is_fragment = |to: &Access| matches!(program.buffers[to.buffer].space, Space::Fragment { .. });
    if !nest.path.compute.dst.iter().all(is_fragment) {
        let error = Error::new(by.span, format!("`{stage}` is not in fragments, where each row of a matrix has one value"));
        return Err(error.help(format!("place it there: `compute_at({stage}, …, to: fragment);`")));
    }
    Ok(())
}

/// When all directives are applied: that no end cuts matrices that are stored. (Of sums, lowering says it.)
pub(super) fn check_whole(nest: &StageNest<'_>) -> Applied {
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
        let error = Error::new(*span, format!("the end of `{name}`, at {text}, cuts matrices that are stored"));
        let help = "or make this the epilogue of the sum that it reads, whose promoted result is written back with guards";
        return Err(error.help(format!("state that the tile divides {text}, {help}")));
    }
    Ok(())
}

/// That accumulators of the profile have these sides.
fn check_shape(nest: &StageNest<'_>, sides: [i64; 2], blame: SpanId) -> Applied {
    let profile = nest.profile;
    let shapes = || profile.matrices.iter().map(|row| [row.shape[0], row.shape[1]]);
    if shapes().any(|shape| shape.map(i64::from) == sides) {
        return Ok(());
    }
    let [rows, columns] = sides;
    let error = Error::new(blame, format!("`{}` has no sums of products of {rows} x {columns}", profile.name));
    let mut known: Vec<String> = shapes().map(|[rows, columns]| format!("{rows} x {columns}")).collect();
    known.sort();
    known.dedup();
    Err(error.help(format!("it has {}", list(known))))
}

/// Writes out the loop that is left of an axis.
fn write_out(nest: &mut StageNest<'_>, at: Option<usize>, span: SpanId) {
    let Some(frame) = at.and_then(|at| nest.path.frames.get_mut(at)) else { return };
    if let Head::Loop { axis, exec: Exec::Serial } = frame.head
        && nest.program.exprs.as_int(nest.program.axes[axis].extent).is_some()
    {
        frame.head = Head::Loop { axis, exec: Exec::Unroll };
        frame.span = span;
    }
}
