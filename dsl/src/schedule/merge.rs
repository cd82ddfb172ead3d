//! The twins of a stage's nest in one nest. The last peel of a reduction's axis is undone first, and the first of a parallel
//! one last ([`super::reroot`]): the two twins of a peel differ in one axis.
//!
//! - Loops over workgroups stand around both. Where the twins have different numbers of them, a grid has the sum, and a
//!   branch in it gives the first workgroups to the full tiles and the others to the rest.
//! - Otherwise the loops that both have in common, from the outside, stand around both, and the rest follows the full tiles.
//!   A reduction's loop is common only to twins that are parts of one reduction: others have accumulators of their own.

use super::twins::{From, Twin, Twins};
use crate::diag::{Error, SpanId};
use crate::expr::{Compare, ExprId};
use crate::facts::Prover;
use crate::nest::path::{Frame, Head, Path};
use crate::nest::{Axis, AxisDef, AxisId, AxisKind, Block, Exec, Fate, Level, Node, NodeKind, Program, Split, Tail};

/// A nest that is being put together.
struct Merged {
    /// Loops over workgroups.
    groups: Vec<Frame>,
    /// Loops around all the rest.
    frames: Vec<Frame>,
    /// What they enclose.
    body: Block,
    /// The axes of all its twins: those that stand and have no loop have one value.
    axes: Vec<AxisId>,
    /// Those of `groups` that count the workgroups of several twins.
    sums: Vec<AxisId>,
}

/// One nest of all twins.
pub(super) fn merged(twins: &Twins, program: &mut Program) -> Result<Block, Error> {
    let one = merge_from(twins, 0, program)?;
    let frames = one.groups.into_iter().chain(one.frames);
    Ok(close(frames.collect(), one.body))
}

/// A twin with all that were taken from it, and from those.
fn merge_from(twins: &Twins, at: usize, program: &mut Program) -> Result<Merged, Error> {
    let mut one = open(&twins.all[at]);
    let from = |n: usize| Some((n, twins.all[n].from.filter(|from| from.twin == at)?));
    let (reductions, parallel): (Vec<_>, Vec<_>) =
        (0..twins.all.len()).rev().filter_map(from).partition(|(_, from)| from.kind == AxisKind::Reduction);
    for (n, from) in reductions.into_iter().chain(parallel) {
        let other = merge_from(twins, n, program)?;
        one = merge(program, one, other, from)?;
    }
    Ok(one)
}

fn open(twin: &Twin) -> Merged {
    let mut path = twin.path.clone();
    let frames = std::mem::take(&mut path.frames);
    let depth = frames.iter().take_while(|f| matches!(f.level(), Some((Level::Workgroup, _)))).count();
    let (groups, frames) = (frames[..depth].to_vec(), frames[depth..].to_vec());
    let body = Path { frames: Vec::new(), ..path }.close();
    Merged { groups, frames, body, axes: twin.axes.clone(), sums: Vec::new() }
}

/// Two twins in one.
fn merge(program: &mut Program, first: Merged, second: Merged, from: From) -> Result<Merged, Error> {
    let axes = [&first.axes[..], &second.axes].concat();
    let Grid { groups, cond, sums } = grid(program, &first, &second, from.span)?;
    if let Some(cond) = cond {
        let then = close(first.frames, first.body);
        let other = close(second.frames, second.body);
        let body = vec![Node::new(NodeKind::Branch { cond, then, other }, from.span)];
        return Ok(Merged { groups, frames: Vec::new(), body, axes, sums });
    }
    let (mut common, mut first_frames, mut second_frames) = (Vec::new(), first.frames.into_iter(), second.frames.into_iter());
    while let (Some(a), Some(b)) = (first_frames.as_slice().first(), second_frames.as_slice().first()) {
        if !is_common(program, a, b, from.kind) {
            break;
        }
        if let (Some((a, _)), Some((b, _))) = (a.as_loop(), b.as_loop()) {
            alias(program, b, a, from.span);
        }
        common.extend(first_frames.next());
        second_frames.next();
    }
    let mut body = close(first_frames.collect(), first.body);
    body.extend(close(second_frames.collect(), second.body));
    Ok(Merged { groups, frames: common, body, axes, sums })
}

fn close(frames: Vec<Frame>, body: Block) -> Block {
    frames.into_iter().rev().fold(body, |body, frame| frame.close(body))
}

/// Whether one loop can stand around both.
fn is_common(program: &Program, a: &Frame, b: &Frame, peeled: AxisKind) -> bool {
    let alone = |frame: &Frame| frame.before.is_empty() && frame.after.is_empty();
    let (Some((first, exec)), Some((second, other))) = (a.as_loop(), b.as_loop()) else { return false };
    let kind = program.axes[first].kind;
    exec == other
        && exec != Exec::Lanes
        && alone(a)
        && alone(b)
        && kind == program.axes[second].kind
        && (kind == AxisKind::Parallel || peeled == AxisKind::Reduction)
        && same_extent(program, first, second)
}

/// Whether two axes are equally long. Where an axis in an extent is empty, it is also shorter than itself: this says nothing
/// of the two.
fn same_extent(program: &Program, a: AxisId, b: AxisId) -> bool {
    let (a, b) = (program.axes[a].extent, program.axes[b].extent);
    let prover = Prover::on_leaves(program);
    a == b || (prover.equal(a, b) && !prover.less(a, b) && !prover.less(b, a))
}

/// Makes an axis the same as one that a loop binds.
fn alias(program: &mut Program, axis: AxisId, of: AxisId, span: SpanId) {
    if axis != of {
        program.axes[axis].fate = Fate::Split(Split { parts: vec![of], exact: true, tail: Tail::Exact, span });
    }
}

/// The loops over workgroups around two twins.
struct Grid {
    groups: Vec<Frame>,
    /// If they differ: whether it is the first's turn.
    cond: Option<ExprId>,
    sums: Vec<AxisId>,
}

/// The loops over workgroups around both, and the condition under which it is the first's turn, if they differ.
fn grid(program: &mut Program, first: &Merged, second: &Merged, span: SpanId) -> Result<Grid, Error> {
    let (mut groups, mut cond, mut sums) = (Vec::new(), None, first.sums.clone());
    let mut names: Vec<String> = Vec::new();
    for frame in first.groups.iter().chain(&second.groups) {
        let Some((axis, exec)) = frame.as_loop() else { continue };
        let name = program.axes[axis].name.clone();
        if names.contains(&name) {
            continue;
        }
        let (of_first, of_second) = (named(program, first, &name), named(program, second, &name));
        let (Some(a), Some(b)) = (of_first.first().copied(), of_second.first().copied()) else {
            return Err(second_difference(span, &name));
        };
        names.push(name);
        if same_extent(program, a, b) {
            alias(program, b, a, span);
            groups.push(Frame { head: Head::Loop { axis: a, exec }, ..frame.clone() });
            continue;
        }
        if cond.is_some() {
            return Err(second_difference(span, &program.axes[a].name));
        }
        if first.sums.contains(&a) || second.sums.contains(&b) {
            let name = &program.axes[a].name;
            let error = Error::new(span, format!("`{name}` counts the tiles of several peeled axes"));
            let error = error.note("each workgroup has a full tile or a rest of one axis");
            return Err(error.help("give each axis a loop of its own over workgroups, or write `guard` for some of the tails"));
        }
        let (sum, below) = concatenated(program, &of_first, &of_second, span);
        cond = Some(below);
        sums.push(sum);
        groups.push(Frame { head: Head::Loop { axis: sum, exec }, ..frame.clone() });
    }
    Ok(Grid { groups, cond, sums })
}

/// The axes of twins that have a name: the loop's first, and then those that have one value and no loop.
fn named(program: &Program, one: &Merged, name: &str) -> Vec<AxisId> {
    let looped: Vec<AxisId> = one.groups.iter().filter_map(|f| f.as_loop().map(|(a, _)| a)).collect();
    let single = one.axes.iter().copied().filter(|a| program.axes[*a].fate == Fate::Live && !looped.contains(a));
    looped.iter().copied().chain(single).filter(|axis| program.axes[*axis].name == name).collect()
}

/// An axis as long as both, which begins with the values of the first; and whether it is at one of these.
fn concatenated(program: &mut Program, first: &[AxisId], second: &[AxisId], span: SpanId) -> (AxisId, ExprId) {
    let (of_first, of_second) = (program.axes[first[0]].extent, program.axes[second[0]].extent);
    let extent = program.exprs.sum(of_first, of_second);
    let (name, kind) = (program.axes[first[0]].name.clone(), program.axes[first[0]].kind);
    let def = AxisDef::Part { of: first[0], part: 0 };
    let sum = program.axes.push(Axis { name, extent, kind, def, fate: Fate::Live, span });
    for (axes, tail) in [(first, Tail::Peel), (second, Tail::Rest)] {
        for axis in axes {
            program.axes[*axis].fate = Fate::Split(Split { parts: vec![sum], exact: false, tail, span });
        }
    }
    let value = program.exprs.axis(sum);
    (sum, program.exprs.compare(Compare::Lt, value, of_first))
}

fn second_difference(span: SpanId, name: &str) -> Error {
    let error =
        Error::new(span, format!("full tiles and rest differ in more than one loop over workgroups, and `{name}` is the second"));
    error.help("write `guard` for the tail")
}
