//! The walk over the nest: loops, computes, barriers, branches.

use crate::chunks::Chunks;
use crate::emit::{Bound, Emit, Region, Result};
use crate::math::Site;
use crate::module::{Code, Id};
use crate::resolve::View;
use crate::values::{Kind, Op as ValueOp, ValueId};
use rspirv::spirv::{Capability, LoopControl, MemorySemantics, Op, Scope as SpirvScope, SelectionControl};
use std::ops::Range;
use tilewright_dsl::arena::Id as _;
use tilewright_dsl::diag::Error;
use tilewright_dsl::expr::{Binary, Compare, Expr};
use tilewright_dsl::facts::Prover;
use tilewright_dsl::launch::{Bounds, DType};
use tilewright_dsl::nest::{
    AxisId, Block, Body, BufferId, Compute, Exec, Fate, Loop, Monoid, Node, NodeKind, Phase, Scope, Space, StageId,
};

/// A loop of fewer words than this has no hint against unrolling: for some it pays that the driver does it. The words are those of the
/// body times the iterations times the copies that enclosing `unroll`s make. Others have the hint: the schedule decides what is unrolled.
const SMALL: u64 = 8192;

/// Words of instructions times barriers that a loop written out may come to. Drivers for CPUs split a workgroup's invocations at each
/// barrier, over all that is alive there: beyond this lavapipe compiles for seconds, and for minutes at a hundred times of it.
const BETWEEN_BARRIERS: u64 = 1 << 19;

/// Branches in all copies of a loop that is written out, where a loop that stays a loop counts as [`LOOP`] of them. What NVIDIA's driver takes
/// for a module grows with these far more than with its words: 60 loops, or 800 branches, can be 10 seconds, and thousands are
/// minutes. For modules of many words without them there is a limit of their own (`tilewright_dsl::length`).
const BRANCHES: u32 = 640;

/// Branches that a loop counts as.
const LOOP: u32 = 20;

impl Emit<'_> {
    pub(crate) fn block(&mut self, block: &Block) -> Result<()> {
        block.iter().try_for_each(|node| self.node(node))
    }

    fn node(&mut self, node: &Node) -> Result<()> {
        self.span = node.span;
        match &node.kind {
            NodeKind::Loop(l) => self.loop_node(l),
            NodeKind::Alloc { body, .. } => self.block(body),
            NodeKind::Compute(c) => self.compute(c),
            NodeKind::Copy(_) => Err(self.error("a copy reaches the backend: lowering should have made it loops")),
            NodeKind::Fragment(_) => Err(self.no_fragments()),
            NodeKind::AllReduce(c) => self.all_reduce(c),
            NodeKind::Barrier { scope } => self.barrier(*scope),
            NodeKind::Branch { cond, then, other } => {
                self.resolved.clear();
                self.preds.clear();
                let cond = self.resolve(*cond)?;
                match self.values.as_bool(cond) {
                    Some(true) => self.block(then),
                    Some(false) => self.block(other),
                    None => self.branch(cond, then, other),
                }
            }
        }
    }

    pub(crate) fn no_fragments(&self) -> Error {
        self.error("cooperative matrices are not supported yet").help("leave `mma` out of the schedule")
    }

    fn loop_node(&mut self, l: &Loop) -> Result<()> {
        match l.exec {
            Exec::Serial => self.serial(l),
            Exec::Unroll => self.unroll(l),
            Exec::Lanes => self.in_lanes(l),
            Exec::Bind(level, slot) => {
                let bound = self.coordinate_of(l.axis, level, slot)?;
                self.binding(l.axis, bound, |e| e.block(&l.body))
            }
        }
    }

    /// An axis's extent where its loop stands.
    fn extent(&mut self, axis: AxisId) -> Result<ValueId> {
        self.resolved.clear();
        self.preds.clear();
        self.extent_in(axis, View::ALL)
    }

    fn literal_extent(&mut self, axis: AxisId, what: &str) -> Result<u32> {
        let extent = self.extent(axis)?;
        let name = &self.program.axes[axis].name;
        let error = || self.error(format!("the extent of `{name}` must be a literal: it is {what}"));
        self.values.as_int(extent).and_then(|n| u32::try_from(n).ok()).ok_or_else(error)
    }

    fn unroll(&mut self, l: &Loop) -> Result<()> {
        let (extent, span) = (self.literal_extent(l.axis, "unrolled")?, self.span);
        let before = (self.words_so_far(), self.barriers, self.loops, self.branches);
        self.unrolled.push((l.axis, extent));
        for n in 0..extent {
            let value = self.values.int(n.into());
            self.span = span;
            self.binding(l.axis, Bound { value, owner: false }, |e| e.block(&l.body))?;
        }
        self.unrolled.pop();
        self.span = span;
        let (loops, branches) = (self.loops - before.2, self.branches - before.3);
        if extent > 1 && loops.saturating_mul(LOOP).saturating_add(branches) > BRANCHES {
            let name = &self.program.axes[l.axis].name;
            return Err(self
                .error(format!("`{name}` written out {extent} times makes {loops} loops and {branches} branches"))
                .note(format!(
                    "at most {BRANCHES} branches are written out, and a loop counts as {LOOP}: drivers compile more for seconds"
                ))
                .help("unroll a smaller tile, or `reorder` so that the loops within it stand around it"));
        }
        let (words, barriers) = (self.words_so_far() - before.0, u64::from(self.barriers - before.1));
        if extent > 1 && words.saturating_mul(barriers) > BETWEEN_BARRIERS {
            let name = &self.program.axes[l.axis].name;
            let message =
                format!("`{name}` written out {extent} times makes {barriers} barriers among {words} words of instructions");
            return Err(self
                .error(message)
                .note(format!("barriers times words are at most {BETWEEN_BARRIERS}: drivers compile more of them for seconds"))
                .help("unroll a smaller tile, or leave the loop around the barriers a loop: `serial`"));
        }
        Ok(())
    }

    /// How often the enclosing unrolled loops replicate the code at hand.
    fn copies(&self) -> u64 {
        self.unrolled.iter().fold(1, |copies, (_, extent)| copies.saturating_mul((*extent).into()))
    }

    /// Words of instructions that the open regions have.
    fn words_so_far(&self) -> u64 {
        self.regions.iter().map(|region| region.code.0.len() as u64).sum()
    }

    fn in_lanes(&mut self, l: &Loop) -> Result<()> {
        let width = self.literal_extent(l.axis, "in lanes")?;
        if self.lanes.is_some() {
            return Err(self.error("a loop in lanes stands in another one").help("one axis of a stage can be in lanes"));
        }
        if width == 1 {
            let value = self.values.int(0);
            return self.binding(l.axis, Bound { value, owner: false }, |e| e.block(&l.body));
        }
        if !matches!(width, 2 | 4 | 8 | 16) {
            return Err(self.error(format!("{width} lanes are not possible")).help("2, 4, 8 or 16 are"));
        }
        let value = self.values.lane(width);
        self.lanes = Some((l.axis, width));
        let result = self.binding(l.axis, Bound { value, owner: false }, |e| e.block(&l.body));
        self.lanes = None;
        result
    }

    /// A loop that stays one.
    fn serial(&mut self, l: &Loop) -> Result<()> {
        let extent = self.extent(l.axis)?;
        self.serial.push(l.axis);
        let result = self.iterations(l, extent);
        self.serial.pop();
        result
    }

    /// A serial loop's iterations: none, one, or those of a variable for a counter.
    fn iterations(&mut self, l: &Loop, extent: ValueId) -> Result<()> {
        if let Some(n) = self.values.as_int(extent).filter(|n| *n <= 1) {
            let value = self.values.int(0);
            return if n < 1 { Ok(()) } else { self.binding(l.axis, Bound { value, owner: false }, |e| e.block(&l.body)) };
        }
        let zero = self.values.int(0);
        let Some((first, then, other)) = self.in_two(l)? else { return self.range(l.axis, zero..extent, &l.body) };
        let end = self.values.apply(ValueOp::Binary(Binary::Min), &[first, extent]);
        let start = self.values.apply(ValueOp::Binary(Binary::Max), &[first, zero]);
        self.range(l.axis, zero..end, then)?;
        self.range(l.axis, start..extent, other)
    }

    /// Of a loop around nothing but a branch that ends with an iteration: which that is, and the sides before and behind it. Each has a
    /// loop of its own then.
    fn in_two<'l>(&mut self, l: &'l Loop) -> Result<Option<(ValueId, &'l Block, &'l Block)>> {
        let [Node { kind: NodeKind::Branch { cond, then, other }, .. }] = &l.body[..] else { return Ok(None) };
        let Expr::Compare(Compare::Lt, counted, end) = *self.program.exprs.get(*cond) else { return Ok(None) };
        if !matches!(self.program.exprs.get(counted), Expr::Axis(axis) if *axis == l.axis) {
            return Ok(None);
        }
        // What depends on the loop itself is not known here.
        if self.program.exprs.uses_axis(end, &mut |axis| self.program.is_made_of(axis, l.axis)) {
            return Ok(None);
        }
        self.resolved.clear();
        self.preds.clear();
        Ok(Some((self.resolve(end)?, then, other)))
    }

    /// Some iterations of a serial loop.
    fn range(&mut self, axis: AxisId, range: Range<ValueId>, body: &Block) -> Result<()> {
        let bounds = self.values.node(range.end).range;
        // Nothing is known of how many there are from a start on.
        let skippable = bounds.0 < 1 || self.values.as_int(range.start) != Some(0);
        self.counted(range, skippable, |e, value| e.binding(axis, Bound { value, owner: false }, |e| e.block(body)))
    }

    /// A loop over a range of numbers that are not negative.
    pub(crate) fn counted(
        &mut self,
        range: Range<ValueId>,
        skippable: bool,
        body: impl FnOnce(&mut Self, ValueId) -> Result<()>,
    ) -> Result<()> {
        let extent = range.end;
        let int = self.scalar_type(DType::I32)?;
        let counter = self.variable(int);
        self.must_fit(extent)?;
        self.loops += 1;
        let one = self.values.int(1);
        let (end, start, one) = (self.scalar(extent)?, self.scalar(range.start)?, self.scalar(one)?);
        let at = self.module.id();
        let inner = self.region(skippable, |e| {
            let value = e.counter(extent);
            e.define(value, Chunks::one(at));
            body(e, value)
        })?;
        let written_out = match self.values.as_int(extent) {
            Some(n) => inner.weight.saturating_mul(n.unsigned_abs()),
            None => u64::MAX,
        };
        let (copies, is_known) = (self.copies(), self.values.as_int(extent).is_some());
        // The driver knows a bound that is a specialization constant, and how much it comes to.
        let control = if written_out.saturating_mul(copies) < SMALL
            || (written_out == u64::MAX && (copies == 1 || !is_known) && self.is_folded(extent))
        {
            LoopControl::NONE
        } else {
            LoopControl::DONT_UNROLL
        };
        // NVIDIA's driver ignores the hint if the bound is a literal, and takes 32 s for eight copies of a loop of 4 x 16 iterations.
        let end = if control == LoopControl::DONT_UNROLL && is_known && copies > 1 {
            self.hidden(Site { level: 0, n: 1, of: DType::I32, dtype: DType::I32 }, end)?
        } else {
            end
        };
        let truth = self.module.bool_type();
        let [header, test, inside, next, merge, more, after] = [(); 7].map(|()| self.module.id());
        self.weigh(written_out);
        let code = self.here();
        code.op(Op::Store, &[counter, start]);
        code.op(Op::Branch, &[header]);
        code.op(Op::Label, &[header]);
        code.op(Op::LoopMerge, &[merge, next, control.bits()]);
        code.op(Op::Branch, &[test]);
        code.op(Op::Label, &[test]);
        code.op(Op::Load, &[int, at, counter]);
        code.op(Op::SLessThan, &[truth, more, at, end]);
        code.op(Op::BranchConditional, &[more, inside, merge]);
        code.op(Op::Label, &[inside]);
        code.append(&inner.code);
        code.op(Op::Branch, &[next]);
        code.op(Op::Label, &[next]);
        code.op(Op::IAdd, &[int, after, at, one]);
        code.op(Op::Store, &[counter, after]);
        code.op(Op::Branch, &[header]);
        code.op(Op::Label, &[merge]);
        Ok(())
    }

    /// A new loop's counter.
    fn counter(&mut self, extent: ValueId) -> ValueId {
        let (level, instance) = (self.level(), self.regions.last().map_or(0, |r| r.instance));
        let Bounds(_, most) = self.values.node(extent).range.plus(Bounds::of(-1));
        let counter = self.values.add(Kind::Counter(instance), DType::I32, 1, level, Bounds(0, most.max(0)));
        self.note_counter(counter, extent);
        counter
    }

    fn branch(&mut self, cond: ValueId, then: &Block, other: &Block) -> Result<()> {
        let cond = self.scalar(cond)?;
        let then = self.region(true, |e| e.block(then))?;
        let other = self.region(true, |e| e.block(other))?;
        self.weigh(then.weight.saturating_add(other.weight));
        self.select(cond, &then.code, &other.code);
        Ok(())
    }

    /// A structured `if`.
    fn select(&mut self, cond: Id, then: &Code, other: &Code) {
        self.branches += 1;
        let [yes, no, merge] = [(); 3].map(|()| self.module.id());
        let code = self.here();
        code.op(Op::SelectionMerge, &[merge, SelectionControl::NONE.bits()]);
        code.op(Op::BranchConditional, &[cond, yes, no]);
        for (label, body) in [(yes, then), (no, other)] {
            code.op(Op::Label, &[label]);
            code.append(body);
            code.op(Op::Branch, &[merge]);
        }
        code.op(Op::Label, &[merge]);
    }

    /// A structured `if` without `else`.
    pub(crate) fn branch_if(&mut self, cond: Id, then: &Region) {
        self.weigh(then.weight);
        self.select(cond, &then.code, &Code::default());
    }

    pub(crate) fn barrier(&mut self, scope: Scope) -> Result<()> {
        let scope = match scope {
            Scope::Invocation => return Ok(()),
            Scope::Subgroup => {
                self.module.capability(Capability::GroupNonUniform);
                SpirvScope::Subgroup
            }
            Scope::Workgroup => SpirvScope::Workgroup,
            Scope::Device => return Err(self.defect("no barrier holds a whole device")),
        };
        let mut semantics = MemorySemantics::ACQUIRE_RELEASE | MemorySemantics::WORKGROUP_MEMORY;
        if self.buffers.coherent {
            semantics |= MemorySemantics::UNIFORM_MEMORY;
        }
        let (scope, semantics) = (self.module.uint(scope as u32), self.module.uint(semantics.bits()));
        self.here().op(Op::ControlBarrier, &[scope, scope, semantics]);
        self.barriers += 1;
        self.recent.clear();
        Ok(())
    }
}

/// Computes.
impl<'p> Emit<'p> {
    fn compute(&mut self, c: &Compute) -> Result<()> {
        self.resolved.clear();
        self.preds.clone_from(&c.preds);
        self.compute = std::ptr::from_ref(c) as usize;
        if self.preds.len() > 64 {
            return Err(self.error("more than 64 predicates on one compute"));
        }
        let reduction = matches!(self.program.stages[c.stage].body, Body::Reduce { .. });
        match c.phase {
            Phase::Update if self.must_not_run(c) => self.update_guarded(c),
            Phase::Update => self.update(c),
            Phase::Whole if reduction => Err(self.error("a whole reduction reaches the backend: lowering should have split it")),
            Phase::Whole | Phase::Init | Phase::Adjust | Phase::Finish if self.must_not_run(c) => self.assign_guarded(c),
            Phase::Whole | Phase::Init | Phase::Adjust | Phase::Finish => self.assign(c),
        }
    }

    fn assign(&mut self, c: &Compute) -> Result<()> {
        let values: Result<Vec<ValueId>> = c.value.iter().map(|v| self.resolve(*v)).collect();
        c.dst.iter().zip(values?).try_for_each(|(to, value)| self.store(to, value))
    }

    /// Whether a compute must not even read, or write registers, where it is out of range.
    fn must_not_run(&mut self, c: &Compute) -> bool {
        // Asked again in each iteration that is written out.
        if let Some(known) = self.confined.get(&self.compute) {
            return *known;
        }
        let guarded =
            self.reads_updated(c) || self.runs_into_others(c) || c.preds.iter().any(|pred| self.runs_over_nothing(pred.axis));
        self.confined.insert(self.compute, guarded);
        guarded
    }

    /// Whether a compute that can be out of range reads a tensor that it updates: it would read, at the clamped index, what
    /// another invocation writes. Or whether it writes back a shared copy of which nothing was written there.
    fn reads_updated(&self, c: &Compute) -> bool {
        let stored = |b: BufferId| self.program.buffers[b].space.is_global();
        let hosted = self.program.hosts.contains_key(&c.stage) && c.dst.iter().any(|to| stored(to.buffer));
        let updated = |b: BufferId| match self.program.buffers[b].space {
            Space::Update => true,
            Space::Shared => hosted,
            _ => false,
        };
        !c.preds.is_empty() && c.value.iter().any(|v| self.program.exprs.reads(*v).iter().any(|r| updated(r.buffer)))
    }

    /// Whether what it writes past the end of an axis is the register of another point: of an index that is made of that axis and
    /// others, the next tile begins there.
    fn runs_into_others(&self, c: &Compute) -> bool {
        let mut parts: Vec<AxisId> = Vec::new();
        for place in c.dst.iter().filter(|place| self.program.buffers[place.buffer].space == Space::Register) {
            for index in &place.index {
                self.program.exprs.uses_axis(*index, &mut |axis| {
                    parts.extend(self.parts(axis));
                    false
                });
            }
        }
        while let Some(axis) = parts.pop() {
            if c.preds.iter().any(|pred| pred.axis == axis) {
                return true;
            }
            parts.extend(self.parts(axis));
        }
        false
    }

    /// What an axis is made of here.
    fn parts(&self, axis: AxisId) -> &'p [AxisId] {
        match &self.program.axes[axis].fate {
            _ if self.bound[axis.index()].is_some() => &[],
            Fate::Live => &[],
            Fate::Split(split) => &split.parts,
            Fate::Fused { into, .. } => std::slice::from_ref(into),
        }
    }

    /// Whether loops may run over an axis that has no value at all, so that there is none to clamp to: hulls, and parts whose
    /// extents do not follow from the axis's, or which are made of such.
    pub(crate) fn runs_over_nothing(&mut self, axis: AxisId) -> bool {
        if let Some(known) = self.over_nothing.get(&axis) {
            return *known;
        }
        let runs = self.may_run_over_nothing(axis);
        self.over_nothing.insert(axis, runs);
        runs
    }

    fn may_run_over_nothing(&mut self, axis: AxisId) -> bool {
        let (axes, exprs) = (&self.program.axes, &self.program.exprs);
        let extent = axes[axis].extent;
        let split = match &axes[axis].fate {
            Fate::Live => return false,
            Fate::Fused { into, .. } => return self.runs_over_nothing(*into),
            Fate::Split(split) => split,
        };
        if exprs.as_int(extent).is_some_and(|n| n > 0) {
            return false;
        }
        // The quotient, rounded up: of nothing it is nothing.
        let prover = Prover::new(self.program);
        let follows = |part: &AxisId| match exprs.get(axes[*part].extent) {
            Expr::Binary(Binary::FloorDiv, whole, by) => exprs.as_int(*by).is_some_and(|by| {
                let most = prover.poly(extent).and_then(|e| e.plus(by - 1));
                most.is_some_and(|most| prover.less_equal(*whole, &most))
            }),
            _ => axes[*part].extent == extent,
        };
        !split.parts.iter().any(|part| follows(part) && !self.runs_over_nothing(*part)) && !prover.positive(extent)
    }

    /// Assigns with the reads, too, under the guard. Lanes that are not all in range have a guard each.
    fn assign_guarded(&mut self, c: &Compute) -> Result<()> {
        self.guarded(&mut |e, lane| match lane {
            None => e.assign(c),
            Some(view) => c.dst.iter().zip(&c.value).try_for_each(|(to, value)| {
                let value = e.resolve_in(*value, view)?.0;
                e.store_one(to, value, view)
            }),
        })
    }

    /// Updates with the reads, too, under the guard.
    fn update_guarded(&mut self, c: &Compute) -> Result<()> {
        self.guarded(&mut |e, lane| match lane {
            None => e.update(c),
            Some(view) => {
                let items: Vec<ValueId> = c.value.iter().map(|v| Ok(e.resolve_in(*v, view)?.0)).collect::<Result<_>>()?;
                e.note_states(c, &items)?;
                let states: Vec<ValueId> = c.dst.iter().map(|place| e.load_one(place, view)).collect::<Result<_>>()?;
                let monoid = e.monoid(c.stage)?;
                e.note_accumulators(monoid, &states);
                let combined = e.combined(monoid, states, items)?;
                c.dst.iter().zip(combined).try_for_each(|(to, value)| e.store_one(to, value, view))
            }
        })
    }

    /// Code where the compute is in range: for all lanes at once, or for each in its view.
    fn guarded(&mut self, f: &mut dyn FnMut(&mut Self, Option<View>) -> Result<()>) -> Result<()> {
        let guard = self.in_range(View::ALL)?;
        if self.values.width(guard) == 1 {
            return self.under(guard, |e| f(e, None));
        }
        for lane in 0..self.lanes.map_or(1, |(_, lanes)| lanes) {
            let view = View::ALL.lane(lane);
            let guard = self.in_range(view)?;
            self.under(guard, |e| f(e, Some(view)))?;
        }
        Ok(())
    }

    /// Code under a condition.
    pub(crate) fn under(&mut self, cond: ValueId, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        match self.values.as_bool(cond) {
            Some(true) => f(self),
            Some(false) => Ok(()),
            None => {
                let cond = self.scalar(cond)?;
                let region = self.region(true, f)?;
                self.branch_if(cond, &region);
                Ok(())
            }
        }
    }

    /// `dst = combine(dst, value)`.
    fn update(&mut self, c: &Compute) -> Result<()> {
        let monoid = self.monoid(c.stage)?;
        let mut items: Vec<ValueId> = c.value.iter().map(|v| self.resolve(*v)).collect::<Result<_>>()?;
        let counts = self.item_counts()?;
        for (item, identity) in items.iter_mut().zip(&monoid.identity) {
            let identity = self.resolve(*identity)?;
            *item = self.choose(counts, *item, identity);
        }
        self.note_states(c, &items)?;
        let states: Vec<ValueId> = c.dst.iter().map(|place| self.load_state(place)).collect::<Result<_>>()?;
        self.note_accumulators(monoid, &states);
        let combined = self.combined(monoid, states, items)?;
        c.dst.iter().zip(combined).try_for_each(|(to, value)| self.store(to, value))
    }

    pub(crate) fn monoid(&self, stage: StageId) -> Result<&'p Monoid> {
        let program = self.program;
        match &program.stages[stage].body {
            Body::Reduce { monoid, .. } => Ok(monoid),
            Body::Map(_) => Err(self.defect("an update of what is no reduction")),
        }
    }
}
