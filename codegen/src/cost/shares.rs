//! Computes the shared memory of a workgroup, the stages that each of their readers recomputes, and how much of a grid is within the
//! tensors.

use super::count::Count;
use std::collections::BTreeMap;
use tilewright_dsl::diag::SpanId;
use tilewright_dsl::expr::Expr;
use tilewright_dsl::launch::Size;
use tilewright_dsl::lower::launch::size;
use tilewright_dsl::nest::{AxisId, BufferId, Dispatch, Exec, Fate, Level, NodeKind, Program, Tail, walk};
use tilewright_dsl::profile::Profile;

/// A stage that is computed where it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// Its name in the algorithm.
    pub name: String,
    /// The number of elements that a workgroup computes.
    pub computed: Size,
    /// The number of elements of the whole stage.
    pub elements: Size,
    /// The directive that placed it.
    pub span: SpanId,
}

/// A split over workgroups that can exceed its axis's extent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Covered {
    /// The axis.
    pub axis: String,
    /// The extent of the axis.
    pub needed: Size,
    /// The number of points of all tiles.
    pub run: Size,
    /// The directive that split it.
    pub span: SpanId,
}

/// A tile that executes all its points, even if its axis is shorter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Long {
    /// The axis.
    pub axis: String,
    /// The number of points that the tile always executes.
    pub run: i64,
    /// The extent of the axis.
    pub needed: Size,
    /// The directive that made the tile.
    pub span: SpanId,
}

/// Records how many elements of a stage are computed where it is read, if this buffer belongs to such a stage.
pub(super) fn note(count: &mut Count<'_>, buffer: BufferId, span: SpanId) {
    let program = count.program;
    let mut placed = program.notes.placed.iter().filter(|(stage, _)| program.stages[**stage].buffer == buffer);
    let Some(Expr::Read(read)) = placed.next().map(|(_, element)| program.exprs.get(*element)) else { return };
    let elements = |buffer: BufferId| {
        let extents = program.buffers[buffer].shape.iter().map(|n| size(program, *n));
        extents.collect::<Option<Vec<Size>>>().map(|all| all.into_iter().fold(Size::Const(1), Size::times))
    };
    let Some((own, all)) = elements(buffer).zip(elements(read.buffer)) else { return };
    let computed = count.times(count.everywhere()).times(own);
    let name = program.buffers[read.buffer].name.clone();
    match count.repeated.iter_mut().find(|r| r.name == name) {
        // The stage is computed at several places, such as the main part and the tail of a tile.
        Some(repeated) => repeated.computed = repeated.computed.clone().plus(computed),
        None => count.repeated.push(Repeated { name, computed, elements: all, span }),
    }
}

/// Returns the bytes of shared memory that a dispatch needs.
pub(super) fn shared_bytes(program: &Program, profile: &Profile, dispatch: &Dispatch) -> u32 {
    u32::try_from(tilewright_dsl::lower::shared_bytes(program, profile, &dispatch.body)).unwrap_or(u32::MAX)
}

/// Returns the splits over a dispatch's workgroups that can exceed an axis's extent.
pub(super) fn covered(program: &Program, dispatch: &Dispatch) -> Vec<Covered> {
    let mut over = Vec::new();
    for node in walk::nodes(&dispatch.body) {
        if let NodeKind::Loop(l) = &node.kind
            && matches!(l.exec, Exec::Bind(Level::Workgroup, _))
        {
            over.push(l.axis);
        }
    }
    let of = |(_, axis): (_, &tilewright_dsl::nest::Axis)| {
        let Fate::Split(split) = &axis.fate else { return None };
        let outer = split.parts.first().filter(|_| !split.exact && split.parts.len() > 1)?;
        if !over.iter().any(|workgroups| program.is_made_of(*outer, *workgroups)) {
            return None;
        }
        let run = split.parts.iter().map(|part| size(program, program.axes[*part].extent)).collect::<Option<Vec<_>>>()?;
        let run = run.into_iter().fold(Size::Const(1), Size::times);
        Some(Covered { axis: axis.name.clone(), needed: size(program, axis.extent)?, run, span: split.span })
    };
    program.axes.iter().filter_map(of).collect()
}

/// Returns the tiles that execute all their points, even if their axis is shorter: unrolled and vectorized tiles, sides of matrices,
/// and tiles that are rounded up. Tiles that are distributed to invocations are left out. So are serial loops, because they can end
/// at the extent.
pub(super) fn long(program: &Program, dispatch: &Dispatch) -> Vec<Long> {
    let mut loops = Vec::new();
    for node in walk::nodes(&dispatch.body) {
        if let NodeKind::Loop(l) = &node.kind
            && !loops.contains(&(l.axis, l.exec))
        {
            loops.push((l.axis, l.exec));
        }
    }
    let of = |(_, axis): (_, &tilewright_dsl::nest::Axis)| {
        let Fate::Split(split) = &axis.fate else { return None };
        let inner = split.parts.get(1..).filter(|inner| !split.exact && !inner.is_empty())?;
        let within = |parts: &[AxisId], looped: AxisId| parts.iter().any(|part| program.is_made_of(*part, looped));
        if loops.iter().any(|(looped, exec)| matches!(exec, Exec::Bind(..) | Exec::Step(_)) && within(&split.parts, *looped)) {
            return None;
        }
        // Several loops can bind one axis: a reduction has one for each phase.
        let mut extents: BTreeMap<AxisId, i64> = BTreeMap::new();
        for (looped, exec) in loops.iter().filter(|(looped, _)| within(inner, *looped)) {
            match exec {
                Exec::Serial if split.tail != Tail::RoundUp => {}
                _ => _ = extents.insert(*looped, program.exprs.as_int(program.axes[*looped].extent)?),
            }
        }
        let run = extents.into_values().try_fold(1i64, i64::checked_mul).filter(|run| *run > 1)?;
        let needed = size(program, axis.extent)?;
        Some(Long { axis: axis.name.clone(), run, needed, span: split.span })
    };
    program.axes.iter().filter_map(of).collect()
}
