//! Walks over the nest: loops, computes, barriers, branches.

use crate::Result;
use crate::chunks::Chunks;
use crate::emit::Emit;
use crate::function::Region;
use crate::module::{Code, Id};
use rspirv::spirv::{Capability, Op, Scope as SpirvScope, SelectionControl};
use std::ops::Range;
use tilewright_codegen::values::{Op as ValueOp, ValueId};
use tilewright_codegen::{BoundAxis, Resolver, View};
use tilewright_dsl::expr::{Binary, Compare, Expr};
use tilewright_dsl::launch::DType;
use tilewright_dsl::length;
use tilewright_dsl::nest::{Access, AxisId, Block, Body, Compute, Exec, Loop, Node, NodeKind, Phase, Scope, Step};

/// A counter that starts again from 0 after `of` iterations. It selects the buffer that an iteration of a pipeline uses.
struct Turn {
    of: u32,
    variable: Id,
    start: Id,
    zero: Id,
    whole: Id,
    /// Its value in an iteration.
    at: Id,
    /// The ids that compute its next value.
    ids: [Id; 3],
}

impl Emit<'_> {
    pub(crate) fn block(&mut self, block: &Block) -> Result<()> {
        block.iter().try_for_each(|node| self.node(node))
    }

    fn node(&mut self, node: &Node) -> Result<()> {
        self.stand_at(node.span);
        match &node.kind {
            NodeKind::Loop(l) => self.loop_node(l),
            NodeKind::Alloc { body, .. } => self.block(body),
            NodeKind::Compute(c) => self.compute(c),
            NodeKind::AllReduce(c) => self.all_reduce(c),
            NodeKind::Barrier { scope } => self.barrier(*scope),
            NodeKind::Branch { cond, then, other } => {
                let cond = self.resolving(|r| r.bound_of(*cond))?;
                match self.resolver.values.as_bool(cond) {
                    Some(true) => self.block(then),
                    Some(false) => self.block(other),
                    None => self.branch(cond, then, other),
                }
            }
        }
    }

    fn loop_node(&mut self, l: &Loop) -> Result<()> {
        match l.exec {
            Exec::Serial => self.serial(l),
            Exec::Unroll if self.masked_tile(l)? => Ok(()),
            Exec::Unroll => self.unroll(l),
            Exec::Lanes => self.in_lanes(l),
            Exec::Matrix(side) => self.over_side(l, side),
            Exec::Step(step) => self.step(l, step),
            Exec::Bind(level, slot) => {
                let bound = self.resolving(|r| r.coordinate_of(l.axis, level, slot))?;
                self.binding(l.axis, bound, |e| e.block(&l.body))
            }
        }
    }

    /// Emits a loop, iteration by iteration.
    pub(crate) fn unroll(&mut self, l: &Loop) -> Result<()> {
        let (extent, span) = (self.resolving(|r| r.literal_extent(l.axis, "unrolled"))?, self.resolver.span);
        let before = (self.function.words(), self.written);
        self.resolver.enter_unrolled(l.axis, extent);
        for n in 0..extent {
            let value = self.resolver.values.int(n.into());
            self.stand_at(span);
            self.binding(l.axis, BoundAxis { value, owner: false }, |e| e.block(&l.body))?;
            // The module will be refused, so the remaining iterations are not emitted.
            if self.function.words() > length::MOST {
                return Err(length::beyond(self.program, self.dispatch));
            }
        }
        self.resolver.leave_unrolled();
        self.stand_at(span);
        if extent > 1 { self.check_written(&self.program.axes[l.axis].name, extent, before) } else { Ok(()) }
    }

    fn in_lanes(&mut self, l: &Loop) -> Result<()> {
        let width = self.resolving(|r| r.literal_extent(l.axis, "in lanes"))?;
        if self.resolver.lane_count() > 1 {
            return Err(self.error("a loop in lanes is nested in another one").help("put only one axis of a stage in lanes"));
        }
        if width == 1 {
            let value = self.resolver.values.int(0);
            return self.binding(l.axis, BoundAxis { value, owner: false }, |e| e.block(&l.body));
        }
        if !matches!(width, 2 | 4 | 8 | 16) {
            return Err(self.error(format!("a loop of {width} lanes is not possible")).help("use 2, 4, 8 or 16 lanes"));
        }
        let value = self.resolver.values.lane(width);
        self.resolver.enter_lanes(l.axis, width);
        let result = self.binding(l.axis, BoundAxis { value, owner: false }, |e| e.block(&l.body));
        self.resolver.leave_lanes();
        result
    }

    /// Emits a loop that is not unrolled.
    fn serial(&mut self, l: &Loop) -> Result<()> {
        let extent = self.resolving(|r| match l.end {
            None => r.extent(l.axis),
            Some(end) => r.bound_of(end),
        })?;
        self.resolver.enter_serial(l.axis);
        let result = self.iterations(l, extent);
        self.resolver.leave_serial();
        result
    }

    /// Emits the iterations of a serial loop: none, a single one, or a loop with a counter variable.
    fn iterations(&mut self, l: &Loop, extent: ValueId) -> Result<()> {
        if let Some(n) = self.resolver.values.as_int(extent).filter(|n| *n <= 1) {
            let value = self.resolver.values.int(0);
            return if n < 1 { Ok(()) } else { self.binding(l.axis, BoundAxis { value, owner: false }, |e| e.block(&l.body)) };
        }
        let zero = self.resolver.values.int(0);
        if let Some((first, then, other)) = self.in_two(l)? {
            let [end, start] = self.cut_at(first, extent);
            self.range(l.axis, zero..end, then)?;
            return self.range(l.axis, start..extent, other);
        }
        let Some(whole) = self.whole_iterations(l, extent)? else { return self.range(l.axis, zero..extent, &l.body) };
        let [end, start] = self.cut_at(whole.count, extent);
        self.in_part(&whole.conditions, true, |e| e.range(l.axis, zero..end, &l.body))?;
        self.in_part(&whole.ending, false, |e| e.range(l.axis, start..extent, &l.body))
    }

    /// Returns the end of a first loop and the start of a second one that share the iterations below `extent`. The first loop has `first`
    /// iterations if possible.
    fn cut_at(&mut self, first: ValueId, extent: ValueId) -> [ValueId; 2] {
        let zero = self.resolver.values.int(0);
        [(Binary::Min, extent), (Binary::Max, zero)]
            .map(|(op, with)| self.resolver.values.apply(ValueOp::Binary(op), &[first, with]))
    }

    /// Recognizes a loop around a single branch whose condition holds up to some iteration. Returns this iteration, the branch's block
    /// before it, and the block from it on. Each block then gets a loop of its own.
    fn in_two<'l>(&mut self, l: &'l Loop) -> Result<Option<(ValueId, &'l Block, &'l Block)>> {
        let [Node { kind: NodeKind::Branch { cond, then, other }, .. }] = &l.body[..] else { return Ok(None) };
        let Expr::Compare(Compare::Lt, counted, end) = *self.program.exprs.get(*cond) else { return Ok(None) };
        if !matches!(self.program.exprs.get(counted), Expr::Axis(axis) if *axis == l.axis) {
            return Ok(None);
        }
        // An end that depends on the loop itself is not known before the loop.
        if self.program.exprs.uses_axis(end, &mut |axis| self.program.is_made_of(axis, l.axis)) {
            return Ok(None);
        }
        Ok(Some((self.resolving(|r| r.bound_of(end))?, then, other)))
    }

    /// Emits some iterations of a serial loop.
    fn range(&mut self, axis: AxisId, range: Range<ValueId>, body: &Block) -> Result<()> {
        let bounds = self.resolver.values.node(range.end).range;
        // If the first iteration is not number 0, the number of iterations is unknown.
        let skippable = bounds.0 < 1 || self.resolver.values.as_int(range.start) != Some(0);
        let turns =
            self.program.notes.pipelines.iter().filter(|p| p.axis == axis).map(|p| p.buffers).find(|n| !n.is_power_of_two());
        self.counted(range, skippable, turns, |e, value| e.binding(axis, BoundAxis { value, owner: false }, |e| e.block(body)))
    }

    /// Emits one iteration of a loop as a step of a pipeline.
    fn step(&mut self, l: &Loop, step: Step) -> Result<()> {
        let extent = self.resolving(|r| r.extent(l.axis))?;
        let [zero, one] = [0, 1].map(|n| self.resolver.values.int(n));
        let last = self.resolver.values.minus(extent, one);
        let wanted = match step {
            Step::First(0) => zero,
            Step::First(n) => self.resolver.values.int(n.into()),
            Step::Ahead(of, n) => {
                let at = self.resolving(|r| r.bound_of(r.program.exprs.axis(of)))?;
                let by = self.resolver.values.int(n.into());
                self.resolver.values.plus(at, by)
            }
        };
        if wanted == zero {
            let some = self.resolver.values.less(zero, extent);
            return self.under(some, |e| e.binding(l.axis, BoundAxis { value: zero, owner: false }, |e| e.block(&l.body)));
        }
        // Wherever this code is executed, the loop has a last iteration.
        let at = self.resolver.values.extreme(Binary::Min, wanted, last);
        let counted = |e: &mut Self| {
            let chunks = Chunks::one(e.scalar(at)?);
            let value = e.resolver.counter(extent);
            e.define(value, chunks);
            e.binding(l.axis, BoundAxis { value, owner: false }, |e| e.block(&l.body))
        };
        match step {
            Step::First(_) => {
                let some = self.resolver.values.less(zero, extent);
                self.under(some, counted)
            }
            Step::Ahead(..) => counted(self),
        }
    }

    /// Emits a loop over a range of nonnegative numbers. With `turns`, a second counter starts again after that many iterations.
    pub(crate) fn counted(
        &mut self,
        range: Range<ValueId>,
        skippable: bool,
        turns: Option<u32>,
        body: impl FnOnce(&mut Self, ValueId) -> Result<()>,
    ) -> Result<()> {
        let (extent, span) = (range.end, self.resolver.span);
        let int = self.scalar_type(DType::I32)?;
        let counter = self.variable(int);
        self.resolver.must_fit(extent)?;
        self.written.loops += 1;
        let one = self.resolver.values.int(1);
        let (end, start, one) = (self.scalar(extent)?, self.scalar(range.start)?, self.scalar(one)?);
        let turn = turns.map(|of| self.turn(range.start, of)).transpose()?;
        let at = self.module.id();
        let inner = self.region(skippable, |e| {
            let value = e.resolver.counter(extent);
            e.define(value, Chunks::one(at));
            if let Some(turn) = &turn {
                let (of, number) = (e.resolver.values.int(turn.of.into()), Chunks::one(turn.at));
                let counted = e.resolver.counter(of);
                e.define(counted, number);
                e.resolver.note_turn(value, turn.of, counted);
            }
            body(e, value)
        })?;
        self.stand_at(span);
        let written_out = match self.resolver.values.as_int(extent) {
            Some(n) => inner.weight.saturating_mul(n.unsigned_abs()),
            None => u64::MAX,
        };
        let (control, end) = self.against_unrolling(extent, end, written_out)?;
        let truth = self.module.bool_type();
        let [header, test, inside, next, merge, more, after] = [(); 7].map(|()| self.module.id());
        self.function.weigh(written_out);
        let code = self.function.here();
        code.op(Op::Store, &[counter, start]);
        if let Some(turn) = &turn {
            code.op(Op::Store, &[turn.variable, turn.start]);
        }
        code.op(Op::Branch, &[header]);
        code.op(Op::Label, &[header]);
        code.op(Op::LoopMerge, &[merge, next, control.bits()]);
        code.op(Op::Branch, &[test]);
        code.op(Op::Label, &[test]);
        code.op(Op::Load, &[int, at, counter]);
        if let Some(turn) = &turn {
            code.op(Op::Load, &[int, turn.at, turn.variable]);
        }
        code.op(Op::SLessThan, &[truth, more, at, end]);
        code.op(Op::BranchConditional, &[more, inside, merge]);
        code.op(Op::Label, &[inside]);
        code.append(&inner.code);
        code.op(Op::Branch, &[next]);
        code.op(Op::Label, &[next]);
        code.op(Op::IAdd, &[int, after, at, one]);
        code.op(Op::Store, &[counter, after]);
        if let Some(turn) = &turn {
            let [sum, is_whole, next] = turn.ids;
            code.op(Op::IAdd, &[int, sum, turn.at, one]);
            code.op(Op::IEqual, &[truth, is_whole, sum, turn.whole]);
            code.op(Op::Select, &[int, next, is_whole, turn.zero, sum]);
            code.op(Op::Store, &[turn.variable, next]);
        }
        code.op(Op::Branch, &[header]);
        code.op(Op::Label, &[merge]);
        Ok(())
    }

    /// Declares a second counter of a loop, which begins with the loop and starts again after `of` iterations.
    fn turn(&mut self, start: ValueId, of: u32) -> Result<Turn> {
        let int = self.scalar_type(DType::I32)?;
        let variable = self.variable(int);
        let [zero, whole] = [0, i64::from(of)].map(|n| self.resolver.values.int(n));
        let start = self.resolver.values.floor_mod(start, whole);
        let (start, zero, whole) = (self.scalar(start)?, self.scalar(zero)?, self.scalar(whole)?);
        let (at, ids) = (self.module.id(), [(); 3].map(|()| self.module.id()));
        Ok(Turn { of, variable, start, zero, whole, at, ids })
    }

    fn branch(&mut self, cond: ValueId, then: &Block, other: &Block) -> Result<()> {
        let cond = self.scalar(cond)?;
        let span = self.resolver.span;
        let then = self.region(true, |e| e.block(then))?;
        let other = self.region(true, |e| e.block(other))?;
        self.stand_at(span);
        self.function.weigh(then.weight.saturating_add(other.weight));
        self.select(cond, &then.code, &other.code);
        Ok(())
    }

    /// Emits a structured `if`.
    pub(crate) fn select(&mut self, cond: Id, then: &Code, other: &Code) {
        self.written.branches += 1;
        let [yes, no, merge] = [(); 3].map(|()| self.module.id());
        let code = self.function.here();
        code.op(Op::SelectionMerge, &[merge, SelectionControl::NONE.bits()]);
        code.op(Op::BranchConditional, &[cond, yes, no]);
        for (label, body) in [(yes, then), (no, other)] {
            code.op(Op::Label, &[label]);
            code.append(body);
            code.op(Op::Branch, &[merge]);
        }
        code.op(Op::Label, &[merge]);
    }

    /// Emits a structured `if` without `else`.
    pub(crate) fn branch_if(&mut self, cond: Id, then: &Region) {
        self.function.weigh(then.weight);
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
            Scope::Device => return Err(self.defect("a barrier cannot synchronize a whole device")),
        };
        let (scope, semantics) = (self.module.uint(scope as u32), self.module.uint(self.barrier_semantics()));
        self.function.here().op(Op::ControlBarrier, &[scope, scope, semantics]);
        self.written.barriers += 1;
        self.resolver.forget_reads();
        self.matrices.forget();
        Ok(())
    }
}

/// Computes.
impl<'p> Emit<'p> {
    fn compute(&mut self, c: &Compute) -> Result<()> {
        if self.in_matrices() {
            return self.matrix_compute(c);
        }
        self.resolver.begin_compute(c);
        if c.preds.len() > 64 {
            return Err(self.error("more than 64 predicates on one compute"));
        }
        let reduction = matches!(self.program.stages[c.stage].body, Body::Reduce { .. });
        match c.phase {
            Phase::Update if self.resolver.must_not_run(c) => self.update_guarded(c),
            Phase::Update => self.update(c),
            Phase::Whole if reduction => Err(self.error("a whole reduction reaches the backend: lowering should have split it")),
            Phase::Whole | Phase::Init | Phase::Resume | Phase::Finish if self.resolver.must_not_run(c) => self.assign_guarded(c),
            Phase::Whole | Phase::Init | Phase::Resume | Phase::Finish => self.assign(c),
        }
    }

    fn assign(&mut self, c: &Compute) -> Result<()> {
        let values: Result<Vec<ValueId>> = c.value.iter().map(|v| self.resolve(*v)).collect();
        c.dst.iter().zip(values?).skip(c.given).try_for_each(|(to, value)| self.store(to, value))
    }

    /// Assigns under the guard, which covers the reads too. If the lanes are not all in range together, each lane has a guard.
    fn assign_guarded(&mut self, c: &Compute) -> Result<()> {
        self.guarded(&mut |e, lane| match lane {
            None => e.assign(c),
            Some(view) => c.dst.iter().zip(&c.value).skip(c.given).try_for_each(|(to, value)| {
                let value = e.resolve_in(*value, view)?;
                e.store_one(to, value, view)
            }),
        })
    }

    /// Updates under the guard, which covers the reads too.
    fn update_guarded(&mut self, c: &Compute) -> Result<()> {
        self.guarded(&mut |e, lane| match lane {
            None => e.update(c),
            Some(view) => {
                let items = c.value.iter().map(|v| e.resolve_in(*v, view)).collect::<Result<_>>()?;
                let combined = e.taken_in(c, items, |r, place| r.load_one(place, view))?;
                c.dst.iter().zip(combined).skip(c.given).try_for_each(|(to, value)| e.store_one(to, value, view))
            }
        })
    }

    /// Emits code that runs if the compute is in range: once for all lanes, or once for each lane in its view.
    fn guarded(&mut self, f: &mut dyn FnMut(&mut Self, Option<View>) -> Result<()>) -> Result<()> {
        let guard = self.resolving(|r| r.in_range(View::ALL))?;
        if self.resolver.values.width(guard) == 1 {
            return self.under(guard, |e| f(e, None));
        }
        for lane in 0..self.resolver.lane_count() {
            let view = View::ALL.lane(lane);
            let guard = self.resolving(|r| r.in_range(view))?;
            self.under(guard, |e| f(e, Some(view)))?;
        }
        Ok(())
    }

    /// Emits code under a condition.
    pub(crate) fn under(&mut self, cond: ValueId, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        match self.resolver.values.as_bool(cond) {
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

    /// Emits `dst = combine(dst, value)`.
    fn update(&mut self, c: &Compute) -> Result<()> {
        let monoid = self.resolver.monoid(c.stage)?;
        let mut items: Vec<ValueId> = c.value.iter().map(|v| self.resolve(*v)).collect::<Result<_>>()?;
        let counts = self.resolving(|r| r.item_counts())?;
        let goes_on = monoid.goes_on(&self.program.exprs);
        for (item, identity) in items.iter_mut().zip(&monoid.identity).filter(|_| !goes_on) {
            let identity = self.resolve(*identity)?;
            *item = self.resolver.choose(counts, *item, identity);
        }
        let mut combined = self.taken_in(c, items, |r, place| r.load_state(place))?;
        for (new, place) in combined.iter_mut().zip(&c.dst).skip(c.given).filter(|_| goes_on) {
            let state = self.resolving(|r| r.load_state(place))?;
            *new = self.resolver.choose(counts, *new, state);
        }
        c.dst.iter().zip(combined).skip(c.given).try_for_each(|(to, value)| self.store(to, value))
    }

    /// Combines items into the states that `load` reads, and returns the new states.
    fn taken_in(
        &mut self,
        c: &Compute,
        items: Vec<ValueId>,
        load: impl Fn(&mut Resolver<'p>, &Access) -> Result<ValueId>,
    ) -> Result<Vec<ValueId>> {
        let monoid = self.resolver.monoid(c.stage)?;
        self.classes.note_states(&self.resolver, monoid, c, &items);
        let states: Vec<ValueId> = c.dst.iter().map(|place| self.resolving(|r| load(r, place))).collect::<Result<_>>()?;
        self.fuse.note_accumulators(&self.resolver, monoid, &states);
        self.combined(monoid, states, items)
    }
}
