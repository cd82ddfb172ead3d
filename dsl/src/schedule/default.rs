//! `default`: plans the axes of a stage that the directives before it do not place.
//!
//! The planner ([`crate::plan`]) replaces the directive by the first of its plans that the compiler accepts after these directives.
//! If it has none, this rule distributes the axes that are left over: literal ones to invocations, and tiles of the others.
//!
//! Refused: a second `default` in a stage, and `default` in the block of a copy or of a stage that is computed in another's nest.

use super::invocations::distribute;
use super::loops::{serial, split};
use super::{Applied, StageNest};
use crate::diag::{Error, SpanId};
use crate::nest::{AxisId, Exec, Level, Slot};
use crate::syntax::Name;
use crate::syntax::schedule::{Directive, DirectiveKind, Target};

/// The invocations along the last axis if another axis has invocations, too: 32 elements of 4 bytes are a line of most caches.
const ALONG: i64 = 32;

/// True if the directive is `default`.
pub(crate) fn is_default(directive: &Directive) -> bool {
    directive.kind == DirectiveKind::Default
}

/// Distributes the parallel axes that are left over.
pub(super) fn apply(nest: &mut StageNest<'_>, span: SpanId) -> Applied {
    let stage = &nest.program.stages[nest.stage].name;
    if let Some(host) = nest.program.notes.hosts.get(&nest.stage) {
        let host = &nest.program.stages[*host].name;
        let error = Error::new(span, format!("`{stage}` is computed in the nest of `{host}`, and `default` plans dispatches"));
        return Err(error.help("write directives in this block, or remove the block if it has no other directive"));
    }
    if !nest.levels.iter().any(|level| *level != Level::Workgroup) {
        to_invocations(nest, span)?;
    }
    let rest = open(nest);
    if rest.is_empty() {
        return Ok(());
    }
    let taken: Vec<Slot> =
        nest.path.frames.iter().filter_map(|f| f.level()).filter(|(l, _)| *l == Level::Workgroup).map(|(_, s)| s).collect();
    let free = [Slot::X, Slot::Y, Slot::Z].into_iter().find(|slot| !taken.contains(slot));
    match free {
        _ if taken.is_empty() => bind(nest, &rest, Level::Workgroup, slots(rest.len()), span),
        Some(slot) => bind(nest, &rest, Level::Workgroup, vec![slot; rest.len()], span),
        None => serial::apply(nest, &names(nest, &rest, span)),
    }
}

/// Returns the parallel axes that no directive has placed, outermost first.
fn open(nest: &StageNest<'_>) -> Vec<AxisId> {
    let loops = nest.path.frames.iter().filter_map(|frame| frame.as_loop());
    let open = loops.filter(|(axis, exec)| *exec == Exec::Serial && !nest.is_reduction(*axis) && !nest.serial.contains(axis));
    open.map(|(axis, _)| axis).collect()
}

/// Distributes literal axes, and tiles of other axes, from the last axis on, as long as a workgroup has room.
fn to_invocations(nest: &mut StageNest<'_>, span: SpanId) -> Applied {
    let mut room = nest.profile.elementwise();
    let (mut chosen, axes) = (Vec::new(), open(nest));
    for (n, axis) in axes.iter().enumerate().rev() {
        let limit = room.min(nest.profile.local.get(chosen.len()).map_or(1, |most| i64::from(*most)));
        if limit < 2 {
            break;
        }
        let literal = nest.program.exprs.as_int(nest.program.axes[*axis].extent);
        let part = match literal {
            Some(extent) if extent <= limit => *axis,
            _ => tiled(nest, *axis, if n > 0 && room > ALONG { limit.min(ALONG) } else { limit }, span)?,
        };
        let count = nest.program.exprs.as_int(nest.program.axes[part].extent).unwrap_or(1).max(1);
        room /= count;
        chosen.insert(0, part);
    }
    let slots = slots(chosen.len());
    bind(nest, &chosen, Level::Thread, slots, span)
}

/// Splits an axis into tiles of `count` elements. Returns the axis within a tile.
fn tiled(nest: &mut StageNest<'_>, axis: AxisId, count: i64, span: SpanId) -> Result<AxisId, Error> {
    let name = nest.name(axis).to_owned();
    let parts = [nest.unused(&format!("{name}_o")), nest.unused(&format!("{name}_t"))];
    let parts = split::split(nest, axis, span, &[None, Some((count, span))], None, &parts, span)?;
    Ok(parts.last().copied().unwrap_or(axis))
}

/// Returns the coordinates of `count` axes: the last one is x, the one before is y, and all others are z.
fn slots(count: usize) -> Vec<Slot> {
    (0..count).map(|n| [Slot::X, Slot::Y, Slot::Z][(count - 1 - n).min(2)]).collect()
}

fn names(nest: &StageNest<'_>, axes: &[AxisId], span: SpanId) -> Vec<Name> {
    axes.iter().map(|axis| Name { text: nest.name(*axis).to_owned(), span }).collect()
}

/// Distributes axes to the coordinates of a level.
fn bind(nest: &mut StageNest<'_>, axes: &[AxisId], level: Level, slots: Vec<Slot>, span: SpanId) -> Applied {
    if axes.is_empty() {
        return Ok(());
    }
    let target =
        Target { level, down: vec![false; slots.len()], slots: slots.into_iter().map(|slot| (slot, span)).collect(), span };
    distribute::apply(nest, &names(nest, axes, span), &target, None, span)
}
