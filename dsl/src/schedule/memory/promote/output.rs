//! The promotion of a result: `promote(output => out[oc, p], at: workgroup, to: shared)`.
//!
//! The nest writes the copy, and a following stage writes it back to the tensor. The following stage has the tensor's axes, split
//! and fused like the nest's own axes, except that each group that varies under the place is one axis of the copy. So the tails of
//! the nest's own tiles are also the tails of the write-back.

use super::{Copy, Wanted, add_buffer, add_stage, attach, call, epilogue, loops};
use crate::diag::{Error, list};
use crate::expr::ExprId;
use crate::nest::{Access, Axis, AxisDef, AxisId, BufferId, Compute, Fate, Phase, Space, Split, Tail};
use crate::schedule::{Applied, StageNest, stage_names};
use crate::syntax::schedule::{Listed, Memory, Promote};
use std::collections::HashMap;

/// Returns the stage's result, if that is the promoted tensor.
pub(super) fn source(nest: &StageNest<'_>, promote: &Promote) -> Result<Option<BufferId>, Error> {
    let buffer = |dst: &Access| &nest.program.buffers[dst.buffer];
    let mut results = nest.path.compute.dst.iter();
    let Some(dst) = results.find(|dst| buffer(dst).name == promote.source.text) else { return Ok(None) };
    let buffer = buffer(dst);
    let refuse = |what: String, help: &str| Err(Error::new(promote.source.span, what).help(help));
    if buffer.space == Space::Update {
        return refuse(
            format!("`{}` is updated in place: each element is read and written by one invocation", promote.source),
            "a copy would be read once and written once: leave this out",
        );
    }
    if let Some(error) = stage_names::one_of_several(nest.program, dst.buffer, &promote.source, "promoted") {
        return Err(error.help("leave this out, or promote what it reads"));
    }
    if nest.attached_buffer(dst.buffer).is_some() {
        return refuse(format!("`{}` is already promoted", promote.source), "promote a result once");
    }
    Ok(Some(dst.buffer))
}

/// Promotes the result.
pub(super) fn apply(nest: &mut StageNest<'_>, wanted: Wanted<'_>) -> Applied {
    check(&wanted)?;
    let stage_axes = nest.program.stages[nest.stage].axes.clone();
    let mut mirror = Mirror { nodes: HashMap::new(), parts: Vec::new(), wanted: &wanted };
    let mut roots = Vec::new();
    for root in stage_axes {
        roots.push(mirror.of(nest, root)?);
    }
    let parts = ordered(nest, &wanted, mirror.parts)?;
    let axes: Vec<AxisId> = parts.iter().map(|(_, new)| *new).collect();
    let used: Vec<AxisId> = parts.iter().map(|(old, _)| *old).collect();
    let buffer = add_buffer(nest, &wanted, wanted.source, (&axes, &used))?;
    let dtype = nest.program.buffers[buffer].dtype;

    let index: Vec<ExprId> = parts.iter().map(|(_, new)| nest.program.exprs.axis(*new)).collect();
    let value = nest.program.exprs.read(buffer, dtype, index);
    let place = roots.iter().map(|root| nest.program.exprs.axis(*root)).collect();
    let dst = vec![Access { buffer: wanted.source, index: place }];
    let stage = add_stage(nest, &wanted, wanted.source, &roots, value);
    for root in &roots {
        if nest.program.axes[*root].def == AxisDef::Made {
            nest.program.axes[*root].def = AxisDef::Root(stage);
        }
    }
    let preds = nest.program.predicates(&roots);
    let block = loops(
        nest,
        &axes,
        Compute { stage, phase: Phase::Whole, dst, value: vec![value], finish: None, given: 0, preds },
        wanted.span,
    );

    let index = parts.iter().map(|(old, _)| nest.program.exprs.axis(*old)).collect();
    nest.path.compute.dst = vec![Access { buffer, index }];
    attach(nest, &wanted, Copy { buffer, stage, filled: Vec::new(), reordered: false }, (Vec::new(), block))?;
    if nest.has_matrices() { epilogue::with_write_back(nest, wanted.span) } else { Ok(()) }
}

fn check(wanted: &Wanted<'_>) -> Applied {
    let (promote, name) = (wanted.promote, &wanted.promote.source);
    if !wanted.place.has_result {
        let error = Error::new(
            promote.at.span,
            format!("`{name}` is not complete at `{}`, which is inside a loop of its reduction", promote.at),
        );
        return Err(error.help("promote a result outside the loops of its reduction"));
    }
    if let Some(fill) = &promote.fill {
        return Err(Error::new(fill.span, format!("`{name}` cannot be filled, because it is written")).help("leave out `fill`"));
    }
    let kind = match promote.to {
        Memory::Shared => return Ok(()),
        Memory::Register => "registers",
        Memory::Fragment => "fragments if it is on matrix units",
    };
    let error = Error::new(promote.to_span, format!("`{name}` is already computed in {kind}"));
    Err(error.help("a reduction has an accumulator; promote to `shared` to write back cooperatively"))
}

/// The axes of the stage that writes back, made like the axes of the nest.
struct Mirror<'m, 'p> {
    nodes: HashMap<AxisId, AxisId>,
    /// The axes that vary under the place, each with the copy's axis for it.
    parts: Vec<(AxisId, AxisId)>,
    wanted: &'m Wanted<'p>,
}

impl Mirror<'_, '_> {
    /// Returns the axis for one of the nest's axes. An axis that varies as a whole becomes a dimension of the copy. So does a fused
    /// axis, whose components are computed from it.
    fn of(&mut self, nest: &mut StageNest<'_>, axis: AxisId) -> Result<AxisId, Error> {
        if let Some(known) = self.nodes.get(&axis) {
            return Ok(*known);
        }
        let (fixed, varying) = self.leaves(nest, axis);
        // For partial results, a part of a reduction's axis can be one of the stage's own axes.
        let root = nest.program.stages[nest.stage].axes.contains(&axis);
        let new = if !varying && !root {
            axis
        } else if !fixed && !self.is_among(nest, axis) {
            self.part(nest, axis)?
        } else {
            self.copy(nest, axis)?
        };
        self.nodes.insert(axis, new);
        Ok(new)
    }

    /// Returns whether some leaf of an axis is fixed, and whether some leaf varies.
    fn leaves(&self, nest: &StageNest<'_>, axis: AxisId) -> (bool, bool) {
        let (mut fixed, mut varying, mut open) = (false, false, vec![axis]);
        while let Some(axis) = open.pop() {
            match &nest.program.axes[axis].fate {
                Fate::Live if self.wanted.place.inside.contains(&axis) => varying = true,
                Fate::Live => fixed |= nest.is_bound(axis),
                Fate::Split(split) => open.extend(&split.parts),
                Fate::Fused { into, .. } => open.push(*into),
            }
        }
        (fixed, varying)
    }

    /// True if a leaf of an axis is fused with axes that are not parts of it.
    fn is_among(&self, nest: &StageNest<'_>, axis: AxisId) -> bool {
        match &nest.program.axes[axis].fate {
            Fate::Live => false,
            Fate::Split(split) => split.parts.iter().any(|part| self.is_among(nest, *part)),
            Fate::Fused { .. } => true,
        }
    }

    /// Adds an axis to the copy.
    fn part(&mut self, nest: &mut StageNest<'_>, axis: AxisId) -> Result<AxisId, Error> {
        let old = nest.program.axes[axis].clone();
        if nest.program.exprs.as_int(old.extent).is_none() {
            let text = nest.text(old.extent);
            let error = Error::new(
                self.wanted.promote.source.span,
                format!("the size of `{}` is not bounded: `{}` runs over `0..{text}`", self.wanted.name, old.name),
            );
            return Err(error.help(format!("tile `{}` first, and promote inside the outer part", old.name)));
        }
        let def = AxisDef::Made;
        let new = nest.program.axes.push(Axis { def, fate: Fate::Live, span: self.wanted.span, ..old });
        self.parts.push((axis, new));
        Ok(new)
    }

    /// Copies an axis that has a fixed leaf, with the same structure.
    fn copy(&mut self, nest: &mut StageNest<'_>, axis: AxisId) -> Result<AxisId, Error> {
        let old = nest.program.axes[axis].clone();
        let new = nest.program.axes.push(Axis { def: AxisDef::Made, ..old.clone() });
        self.nodes.insert(axis, new);
        let fate = match old.fate {
            // A root that is bound directly: the copy has the same values under its own name.
            Fate::Live if nest.is_bound(axis) => {
                let span = self.wanted.span;
                Fate::Split(Split { parts: vec![axis], exact: true, tail: Tail::Exact, span })
            }
            Fate::Live => Fate::Live,
            Fate::Split(split) => {
                let mut parts = Vec::new();
                for (n, part) in split.parts.iter().enumerate() {
                    let made = self.of(nest, *part)?;
                    if made != *part && nest.program.axes[made].def == AxisDef::Made {
                        nest.program.axes[made].def = AxisDef::Part { of: new, part: n };
                    }
                    parts.push(made);
                }
                Fate::Split(Split { parts, ..split })
            }
            Fate::Fused { into, digit, span } => {
                let AxisDef::Fused(digits) = nest.program.axes[into].def.clone() else { return Ok(new) };
                let mut mirrored = Vec::new();
                for d in &digits {
                    mirrored.push(self.of(nest, *d)?);
                }
                let whole = self.of(nest, into)?;
                // An axis that is bound directly stays the nest's own.
                if whole != into {
                    nest.program.axes[whole].def = AxisDef::Fused(mirrored);
                }
                Fate::Fused { into: whole, digit, span }
            }
        };
        nest.program.axes[new].fate = fate;
        Ok(new)
    }
}

/// Returns the copy's axes in the order of the list.
fn ordered(nest: &StageNest<'_>, wanted: &Wanted<'_>, parts: Vec<(AxisId, AxisId)>) -> Result<Vec<(AxisId, AxisId)>, Error> {
    let Some(Listed { axes: names, rest }) = &wanted.promote.list else { return Ok(parts) };
    let mut listed = nest.axes(names)?;
    let known = |axis: &AxisId| parts.iter().find(|(old, _)| old == axis).copied();
    let there: Vec<&str> = parts.iter().map(|(old, _)| nest.name(*old)).collect();
    for (axis, name) in listed.iter().zip(names) {
        if known(axis).is_none() {
            let error = Error::new(name.span, format!("`{name}` is not an axis of the result under `{}`", wanted.promote.at));
            return Err(error.help(format!("the axes that vary there are {}", list(&there))));
        }
    }
    if rest.is_some() {
        let left: Vec<AxisId> = parts.iter().map(|(old, _)| *old).filter(|old| !listed.contains(old)).collect();
        listed.extend(left);
    }
    let left: Vec<&str> = parts
        .iter()
        .filter(|(old, _)| !listed.contains(old) && !nest.program.is_single(*old))
        .map(|(old, _)| nest.name(*old))
        .collect();
    if !left.is_empty() {
        let span = wanted.promote.name.as_ref().map_or(wanted.span, |n| n.span);
        let error = Error::new(
            span,
            format!(
                "the list leaves out {}, on which `{}` depends under `{}`",
                list(&left),
                wanted.promote.source,
                wanted.promote.at
            ),
        );
        let all: Vec<&str> = names.iter().map(|n| n.as_str()).chain(left.iter().copied()).collect();
        return Err(
            error.help(format!("write `{}`", call(&wanted.promote.source, &format!("{}[{}]", wanted.name, all.join(", ")))))
        );
    }
    Ok(listed.iter().filter_map(known).collect())
}
