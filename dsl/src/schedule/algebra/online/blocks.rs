//! The stages that reduce a block of items, each relative to the block's own maximum.
//!
//! Items beyond the range must not contribute: they are -inf for the maximum, and 0 for pointwise stages relative to it. A sum
//! whose items such a stage makes 0 needs no mask of its own. For example, `p * v` is 0 for a `v` without infinities, so it stays a
//! sum of products.

use super::recognize::{expanded, sees, without_totals};
use super::scores::{self, Scores};
use super::stages::{Decomposition, above_nothing};
use crate::arena::Id;
use crate::diag::{Error, SpanId};
use crate::expr::{Compare, Const, Expr, ExprId, Outside};
use crate::facts::Prover;
use crate::nest::fill::at_fill;
use crate::nest::{Axis, AxisDef, AxisId, AxisKind, Body, Buffer, BufferId, Fate, Monoid, Program, Space, Stage, StageId};
use crate::schedule::algebra::pack::rewrite::guard;
use crate::schedule::algebra::winograd::stages::replaced;
use crate::schedule::loops::hull::largest;
use crate::syntax::Name;
use std::collections::HashMap;

/// The blocks that the user requests.
pub(super) struct Wanted<'w> {
    /// The names for the stages of the members.
    pub(super) names: Vec<String>,
    /// The number of items of a block.
    pub(super) size: i64,
    /// The scores to mask.
    pub(super) masked: Option<&'w Name>,
}

/// The stages of a block. They are on the kernel's axes until they are made.
pub(super) struct Blocks {
    size: i64,
    /// The maximum.
    max: BufferId,
    /// The stages: the maximum, the pointwise stages, and the sums.
    stages: Vec<Blocked>,
    /// The scores, if one mask in them serves all stages.
    scores: Option<Scores>,
    /// True if every stage is placed within another's nest, and does not have its own dispatch.
    pub(super) computed_within: bool,
    /// True if every block has only scores above -inf.
    pub(super) has_scores: bool,
    span: SpanId,
}

/// A stage of a block.
pub(super) struct Blocked {
    pub(super) name: String,
    /// The buffer that it takes over from a pointwise stage of the kernel.
    pub(super) buffer: Option<BufferId>,
    parallel: Vec<AxisId>,
    /// The items' axis, and an upper bound of its extent.
    pub(super) over: AxisId,
    most: ExprId,
    pub(super) value: ExprId,
    pub(super) mask: Option<Mask>,
    reduction: Option<Reduction>,
}

/// The mask of items beyond the range.
#[derive(Clone, Copy)]
pub(super) struct Mask {
    /// The end of the range, over the parallel axes.
    pub(super) end: ExprId,
    nothing: f64,
    /// True if the items have the mask's value by themselves, for any number that their out-of-bounds reads give.
    implied: bool,
}

/// The reduction of the items of a block.
struct Reduction {
    monoid: Monoid,
    /// The target's axes that correspond to the parallel ones.
    in_target: Vec<AxisId>,
}

impl Blocks {
    pub(super) fn new(
        program: &Program,
        whole: &Decomposition<'_>,
        hidden: &[StageId],
        Wanted { names, size, masked }: &Wanted<'_>,
    ) -> Result<Blocks, Error> {
        let totals: Vec<BufferId> = whole.of.sums.iter().map(|sum| program.stages[sum.stage].buffer).collect();
        let max = program.stages[whole.of.max].buffer;
        let mut shared: Vec<Blocked> = Vec::new();
        for stage in hidden {
            shared.extend(self::shared(program, whole, *stage, &totals, &shared));
        }
        let mut members = Vec::new();
        for (n, id) in whole.merged().chain([whole.target()]).enumerate() {
            let (member, stage) = (&whole.members[n], &program.stages[id]);
            let Body::Reduce { monoid, over, lift, .. } = &stage.body else { continue };
            let [range] = over[..] else {
                let error = Error::new(member.span, format!("`{member}` runs over several axes, but blocks divide one axis"));
                return Err(error.help("leave the blocks out, or run over one axis in the kernel"));
            };
            let extent = program.axes[range].extent;
            let Some(most) = largest(program, extent, &stage.axes.iter().copied().collect()) else {
                let text = crate::nest::print::expr(program, extent);
                let error = Error::new(member.span, format!("`{member}` runs over `0..{text}`, whose upper bound is not known"));
                return Err(error.help("blocks need a range that ends at a sum of axes and dims"));
            };
            let inlined = |buffer| sees(program, buffer, max) && shared.iter().all(|of| of.buffer != Some(buffer));
            let (value, _) = without_totals(program, expanded(program, lift[0], &inlined), over, &totals);
            let nothing = if n == 0 { f64::NEG_INFINITY } else { 0.0 };
            let passes = !Prover::new(program).divides(*size, extent);
            let mask = passes.then_some(Mask { end: extent, nothing, implied: false });
            let in_target = whole.in_target(n);
            let in_target = stage.axes.iter().map(|axis| *in_target.get(axis).unwrap_or(axis)).collect();
            let reduction = Some(Reduction { monoid: monoid.clone(), in_target });
            let (name, parallel) = (names[n].clone(), stage.axes.clone());
            members.push(Blocked { name, buffer: None, parallel, over: range, most, value, mask, reduction });
        }
        let scores = match masked {
            Some(name) => Some(mask_scores(program, whole, (name, *size), hidden, &mut shared, &mut members)?),
            None => {
                mask(program, whole, &mut shared, &mut members[1..]);
                None
            }
        };
        let sums = members.split_off(1);
        let stages: Vec<Blocked> = members.into_iter().chain(shared).chain(sums).collect();
        let computed_within = stages.iter().all(|stage| whole.placed.contains(&stage.name));
        let has_scores = scores.is_none() && stages.iter().all(|stage| stage.mask.is_none()) && !whole.score_can_be_lowest(program);
        Ok(Blocks { size: *size, max, stages, scores, computed_within, has_scores, span: whole.span })
    }

    /// Returns the number of stages.
    pub(super) fn count(&self) -> usize {
        self.stages.len()
    }

    /// Makes the stages at the reserved ids before the target, and makes the target run over blocks. Returns the target's items.
    pub(super) fn make(&self, program: &mut Program, target: StageId) -> Vec<ExprId> {
        if let Some(scores) = &self.scores {
            scores.mask(program);
        }
        let first = target.index() - self.count();
        let (mut made, mut members) = (HashMap::new(), Vec::new());
        for (n, blocked) in self.stages.iter().enumerate() {
            let buffer = self.stage(program, StageId::new(first + n), blocked, &made);
            if n == 0 {
                made.insert(self.max, buffer);
            }
            match &blocked.reduction {
                Some(reduction) => members.push((buffer, &reduction.in_target)),
                None => made.extend(blocked.buffer.map(|old| (old, buffer))),
            }
        }
        let block = self.over_blocks(program, target);
        if self.computed_within {
            program.notes.neutral.insert(block);
        }
        let read = |(buffer, index): (BufferId, &Vec<AxisId>)| {
            let index = [block].into_iter().chain(index.iter().copied()).map(|axis| program.exprs.axis(axis));
            program.exprs.read(buffer, program.buffers[buffer].dtype, index)
        };
        members.into_iter().map(read).collect()
    }

    /// Makes one stage.
    fn stage(&self, program: &mut Program, id: StageId, of: &Blocked, made: &HashMap<BufferId, BufferId>) -> BufferId {
        let kind = if of.reduction.is_some() { AxisKind::Reduction } else { AxisKind::Parallel };
        let axis = |program: &mut Program, from: AxisId, extent: ExprId, kind: AxisKind| {
            let Axis { name, span, .. } = program.axes[from].clone();
            program.axes.push(Axis { name, extent, kind, def: AxisDef::Root(id), fate: Fate::Live, span })
        };
        let size = program.exprs.int(self.size);
        let count = program.exprs.ceil_div(of.most, size);
        let block = axis(program, of.over, count, AxisKind::Parallel);
        program.axes[block].name = self.block_name(program, of.over, &of.parallel);
        let item = axis(program, of.over, size, kind);
        let mut known: HashMap<AxisId, ExprId> = HashMap::new();
        let mut axes = vec![block];
        for old in &of.parallel {
            let own = if *old == of.over { item } else { axis(program, *old, program.axes[*old].extent, AxisKind::Parallel) };
            axes.push(own);
            known.insert(*old, program.exprs.axis(own));
        }
        let exprs = &program.exprs;
        let index = exprs.sum(exprs.product(exprs.axis(block), size), exprs.axis(item));
        known.insert(of.over, index);
        let value = self.value(program, of, made, &known, [block, item]);
        let masked = |mask: Mask| {
            let nothing = exprs.constant(Const::number(mask.nothing, exprs.dtype(value)));
            exprs.select(exprs.compare(Compare::Lt, index, replaced(exprs, mask.end, &known)), value, nothing)
        };
        let value = of.mask.map_or(value, masked);
        let body = match &of.reduction {
            None => Body::Map(value),
            Some(Reduction { monoid, .. }) => {
                let finish = exprs.add(Expr::State(0), exprs.dtype(value));
                Body::Reduce { monoid: monoid.clone(), over: vec![item], lift: vec![value], finish }
            }
        };
        let (name, span) = (of.name.clone(), self.span);
        let shape: Vec<ExprId> = axes.iter().map(|axis| program.axes[*axis].extent).collect();
        let dtype = program.exprs.dtype(value);
        let buffer = match of.buffer {
            Some(buffer) => buffer,
            None => {
                let space = Space::Temporary;
                program.buffers.push(Buffer {
                    name: name.clone(),
                    dtype,
                    shape: Vec::new(),
                    space,
                    row_pad: 0,
                    swizzle: 0,
                    versions: 1,
                    span,
                })
            }
        };
        program.buffers[buffer].shape = shape;
        program.stages[id] = Stage { name, buffer, axes, body, also: Vec::new(), span };
        guard(program, id);
        if of.mask.is_some_and(|mask| mask.implied) {
            self.unmask(program, id);
        }
        buffer
    }

    /// Removes the mask from a sum's items. Their reads stay in bounds as if the mask were there.
    fn unmask(&self, program: &mut Program, id: StageId) {
        if let Body::Reduce { lift, .. } = &mut program.stages[id].body
            && let Expr::Select(_, item, _) = *program.exprs.get(lift[0])
        {
            lift[0] = item;
        }
    }

    /// Rewrites a value over a stage's own axes. Reads of the maximum and of pointwise stages relative to it become reads of the
    /// block's.
    fn value(
        &self,
        program: &Program,
        of: &Blocked,
        made: &HashMap<BufferId, BufferId>,
        known: &HashMap<AxisId, ExprId>,
        [block, item]: [AxisId; 2],
    ) -> ExprId {
        let exprs = &program.exprs;
        let [block, item] = [block, item].map(|axis| exprs.axis(axis));
        let over = exprs.axis(of.over);
        // Reads that are already the block's own are on its axes, so they are not rewritten again.
        exprs.replace(of.value, &mut |exprs, id| match exprs.get(id) {
            Expr::Axis(_) => Some(replaced(exprs, id, known)),
            Expr::Read(read) => {
                let Some(buffer) = made.get(&read.buffer) else { return Some(replaced(exprs, id, known)) };
                let own = |index: &ExprId| if *index == over { item } else { replaced(exprs, *index, known) };
                let index: Vec<ExprId> = [block].into_iter().chain(read.index.iter().map(own)).collect();
                let read_here = exprs.read(*buffer, exprs.dtype(id), index);
                Some(if read.buffer == self.max && !self.has_scores { above_nothing(exprs, read_here) } else { read_here })
            }
            _ => None,
        })
    }

    /// Replaces the target's range by one over blocks.
    fn over_blocks(&self, program: &mut Program, target: StageId) -> AxisId {
        let Body::Reduce { over, .. } = &program.stages[target].body else { return AxisId::new(0) };
        let (old, axes) = (over[0], program.stages[target].axes.clone());
        let Axis { extent, span, .. } = program.axes[old].clone();
        let extent = program.exprs.ceil_div(extent, program.exprs.int(self.size));
        let name = self.block_name(program, old, &axes);
        let (kind, def) = (AxisKind::Reduction, AxisDef::Root(target));
        let block = program.axes.push(Axis { name, extent, kind, def, fate: Fate::Live, span });
        program.axes[old].def = AxisDef::Made;
        if let Body::Reduce { over, .. } = &mut program.stages[target].body {
            *over = vec![block];
        }
        block
    }

    /// Returns a name for the axis over blocks that none of `others` has.
    fn block_name(&self, program: &Program, of: AxisId, others: &[AxisId]) -> String {
        let mut name = format!("{}_o", program.axes[of].name);
        while others.iter().any(|axis| program.axes[*axis].name == name) {
            name.push('_');
        }
        name
    }
}

impl Blocked {
    /// True if a value reads the stage's tensor along an axis, so that each block reads only its own elements.
    fn is_read_along(&self, program: &Program, value: ExprId, over: AxisId) -> bool {
        let along = |index: ExprId| *program.exprs.get(index) == Expr::Axis(over);
        let uses = |index: ExprId| program.exprs.uses_axis(index, &mut |axis| axis == over);
        program.exprs.reads(value).into_iter().filter(|read| Some(read.buffer) == self.buffer).all(|read| {
            let mut dimensions = self.parallel.iter().zip(&read.index);
            let fits = |(axis, index): (&AxisId, &ExprId)| if *axis == self.over { along(*index) } else { !uses(*index) };
            read.outside == Outside::Never && dimensions.all(fits)
        })
    }
}

/// Masks the pointwise stages relative to the maximum instead of the sums, if that makes the items of the sums 0.
fn mask(program: &Program, whole: &Decomposition<'_>, shared: &mut [Blocked], sums: &mut [Blocked]) {
    if sums.iter().all(|sum| sum.mask.is_none()) {
        return;
    }
    let mut masked: Vec<BufferId> = Vec::new();
    let is_nothing = |value: ExprId, masked: &[BufferId]| at_fill(program, value, &|read| masked.contains(&read.buffer)).is(0.0);
    for of in shared.iter_mut() {
        if !is_nothing(of.value, &masked) {
            of.mask = whole.of.sums.iter().find_map(|sum| end_of(program, of, sum.stage));
        }
        if of.mask.is_some() || is_nothing(of.value, &masked) {
            masked.extend(of.buffer);
        }
    }
    if sums.iter().all(|sum| is_nothing(sum.value, &masked)) {
        sums.iter_mut().filter_map(|sum| sum.mask.as_mut()).for_each(|mask| mask.implied = true);
    } else {
        shared.iter_mut().for_each(|of| of.mask = None);
    }
}

/// Masks the scores instead of all their readers.
fn mask_scores(
    program: &Program,
    whole: &Decomposition<'_>,
    wanted: (&Name, i64),
    hidden: &[StageId],
    shared: &mut [Blocked],
    members: &mut [Blocked],
) -> Result<Scores, Error> {
    let end = |of: &Blocked| whole.of.sums.iter().find_map(|sum| end_of(program, of, sum.stage));
    shared.iter_mut().for_each(|of| of.mask = end(of));
    let stages: Vec<&Blocked> = members[..1].iter().chain(&*shared).chain(&members[1..]).collect();
    let gone: Vec<StageId> = whole.merged().chain(hidden.iter().copied()).collect();
    let scores = scores::scores(program, whole, wanted, &stages, &gone)?;
    shared.iter_mut().for_each(|of| of.mask = None);
    members.iter_mut().filter_map(|of| of.mask.as_mut()).for_each(|mask| mask.implied = true);
    Ok(scores)
}

/// Returns a mask with the end of a sum's range, over the axes of an intermediate that the sum reads.
fn end_of(program: &Program, of: &Blocked, sum: StageId) -> Option<Mask> {
    let Body::Reduce { over, lift, .. } = &program.stages[sum].body else { return None };
    let read = program.exprs.reads(lift[0]).into_iter().find(|read| Some(read.buffer) == of.buffer)?;
    let axis = |index: &ExprId| if let Expr::Axis(axis) = *program.exprs.get(*index) { Some(axis) } else { None };
    let own: HashMap<AxisId, ExprId> =
        read.index.iter().zip(&of.parallel).filter_map(|(index, own)| Some((axis(index)?, program.exprs.axis(*own)))).collect();
    let end = program.axes[*over.first()?].extent;
    let known = program.exprs.uses_axis(end, &mut |axis| !own.contains_key(&axis));
    (!known).then(|| Mask { end: replaced(&program.exprs, end, &own), nothing: 0.0, implied: false })
}

/// Returns a pointwise intermediate as a stage of the block, if the members read it on their axes. It can read the stages in
/// `before`.
fn shared(program: &Program, whole: &Decomposition<'_>, id: StageId, totals: &[BufferId], before: &[Blocked]) -> Option<Blocked> {
    let stage = &program.stages[id];
    let mut dimension = None;
    for sum in &whole.of.sums {
        let Body::Reduce { over, lift, .. } = &program.stages[sum.stage].body else { return None };
        for read in program.exprs.reads(lift[0]).into_iter().filter(|read| read.buffer == stage.buffer) {
            let axis = |index: &ExprId| if let Expr::Axis(axis) = *program.exprs.get(*index) { Some(axis) } else { None };
            let axes: Option<Vec<AxisId>> = read.index.iter().map(axis).collect();
            let axes = axes.filter(|_| read.outside == Outside::Never)?;
            let at = axes.iter().position(|axis| over.contains(axis))?;
            let others = axes.iter().filter(|axis| over.contains(axis)).count() > 1;
            if others || dimension.replace(at).is_some_and(|other| other != at) {
                return None;
            }
        }
    }
    let over = stage.axes[dimension?];
    let Body::Map(value) = stage.body else { return None };
    let max = program.stages[whole.of.max].buffer;
    let kept = |buffer| before.iter().any(|of| of.buffer == Some(buffer) && of.is_read_along(program, value, over));
    let inlined = |buffer| sees(program, buffer, max) && !kept(buffer);
    let (value, _) = without_totals(program, expanded(program, value, &inlined), &[over], totals);
    let (name, most) = (stage.name.clone(), program.axes[over].extent);
    Some(Blocked { name, buffer: Some(stage.buffer), parallel: stage.axes.clone(), over, most, value, mask: None, reduction: None })
}
