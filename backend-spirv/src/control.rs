//! Structured control flow: branches, loops and barriers.

use crate::Result;
use crate::chunks::Chunks;
use crate::context::BlockContext;
use crate::function::Region;
use crate::module::Id;
use crate::writer::Writer;
use spirv::{Capability, LoopControl, Op, Scope as SpirvScope, SelectionControl};
use std::ops::Range;
use tilewright_codegen::values::ValueId;
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::Scope;

/// The counter of a loop.
pub(crate) struct Counter {
    /// Its type, and the type of its comparison with the end.
    pub(crate) types: [Id; 2],
    /// The comparison that holds while it is below the end.
    pub(crate) less: Op,
    pub(crate) variable: Id,
    pub(crate) start: Id,
    pub(crate) end: Id,
    pub(crate) one: Id,
    /// Its value in an iteration.
    pub(crate) at: Id,
}

/// A counter that starts again from 0 after `of` iterations. It selects the buffer that an iteration of a pipeline uses.
pub(crate) struct Turn {
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

impl Writer<'_> {
    /// Emits a structured `if` around regions that were detached.
    pub(crate) fn select(&mut self, cond: Id, then: &Region, other: &Region) {
        let [yes, no, merge] = self.module.ids();
        self.function.weigh(then.weight.saturating_add(other.weight));
        let code = self.function.here();
        code.op(Op::SelectionMerge, &[merge, SelectionControl::NONE.bits()]);
        code.op(Op::BranchConditional, &[cond, yes, no]);
        for (label, body) in [(yes, then), (no, other)] {
            code.op(Op::Label, &[label]);
            code.append(&body.code);
            code.op(Op::Branch, &[merge]);
        }
        code.op(Op::Label, &[merge]);
    }

    /// Begins a structured `if` without `else` in the region of a level. Returns the label of its end.
    pub(crate) fn begin_if(&mut self, level: u32, cond: Id) -> Id {
        let [then, merge] = self.module.ids();
        let code = self.function.at(level);
        code.op(Op::SelectionMerge, &[merge, SelectionControl::NONE.bits()]);
        code.op(Op::BranchConditional, &[cond, then, merge]);
        code.op(Op::Label, &[then]);
        merge
    }

    /// Ends a structured `if` without `else`.
    pub(crate) fn end_if(&mut self, level: u32, merge: Id) {
        let code = self.function.at(level);
        code.op(Op::Branch, &[merge]);
        code.op(Op::Label, &[merge]);
    }

    /// Emits a loop around a region that was detached. `weight` is the number of 32-bit words in all iterations.
    pub(crate) fn repeat(&mut self, counter: &Counter, turn: Option<&Turn>, inner: &Region, control: LoopControl, weight: u64) {
        let [header, test, inside, next, merge, more, after] = self.module.ids();
        let Counter { types: [ty, truth], less, variable, start, end, one, at } = *counter;
        self.function.weigh(weight);
        let code = self.function.here();
        code.op(Op::Store, &[variable, start]);
        if let Some(turn) = turn {
            code.op(Op::Store, &[turn.variable, turn.start]);
        }
        code.op(Op::Branch, &[header]);
        code.op(Op::Label, &[header]);
        code.op(Op::LoopMerge, &[merge, next, control.bits()]);
        code.op(Op::Branch, &[test]);
        code.op(Op::Label, &[test]);
        code.op(Op::Load, &[ty, at, variable]);
        if let Some(turn) = turn {
            code.op(Op::Load, &[ty, turn.at, turn.variable]);
        }
        code.op(less, &[truth, more, at, end]);
        code.op(Op::BranchConditional, &[more, inside, merge]);
        code.op(Op::Label, &[inside]);
        code.append(&inner.code);
        code.op(Op::Branch, &[next]);
        code.op(Op::Label, &[next]);
        code.op(Op::IAdd, &[ty, after, at, one]);
        code.op(Op::Store, &[variable, after]);
        if let Some(turn) = turn {
            let [sum, is_whole, next] = turn.ids;
            code.op(Op::IAdd, &[ty, sum, turn.at, one]);
            code.op(Op::IEqual, &[truth, is_whole, sum, turn.whole]);
            code.op(Op::Select, &[ty, next, is_whole, turn.zero, sum]);
            code.op(Op::Store, &[turn.variable, next]);
        }
        code.op(Op::Branch, &[header]);
        code.op(Op::Label, &[merge]);
    }

    /// Emits a barrier in the region of a level.
    pub(crate) fn control_barrier(&mut self, level: u32, scope: SpirvScope) {
        let [scope, semantics] = [scope as u32, self.memory_model.barrier_semantics()].map(|n| self.module.uint(n));
        self.function.at(level).op(Op::ControlBarrier, &[scope, scope, semantics]);
    }
}

impl BlockContext<'_> {
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
        let level = self.level();
        self.control_barrier(level, scope);
        self.resolver.forget_reads();
        Ok(())
    }

    /// Declares a second counter of a loop, which begins with the loop and starts again after `of` iterations.
    fn turn(&mut self, start: ValueId, of: u32) -> Result<Turn> {
        let int = self.scalar_type(DType::I32)?;
        let variable = self.variable(int);
        let [zero, whole] = [0, i64::from(of)].map(|n| self.resolver.values.int(n));
        let start = self.resolver.values.floor_mod(start, whole);
        let (start, zero, whole) = (self.scalar(start)?, self.scalar(zero)?, self.scalar(whole)?);
        let (at, ids) = (self.module.id(), self.module.ids());
        Ok(Turn { of, variable, start, zero, whole, at, ids })
    }
}

/// A context that writes code in loops and branches: a block's context, or the walk over the nest that has one.
pub(crate) trait Structured<'p>: Sized {
    /// Returns the context of the current block.
    fn ctx(&mut self) -> &mut BlockContext<'p>;

    /// Builds a region and detaches it. Values that were read are forgotten at its start and at its end, because memory may have
    /// changed in between.
    fn region(&mut self, skippable: bool, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<Region> {
        let ctx = self.ctx();
        ctx.flush()?;
        ctx.resolver.open(skippable);
        ctx.function.open();
        f(self)?;
        let ctx = self.ctx();
        ctx.flush()?;
        ctx.resolver.close();
        Ok(ctx.function.close())
    }

    /// Emits code under a condition.
    fn under(&mut self, cond: ValueId, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        match self.ctx().resolver.values.as_bool(cond) {
            Some(true) => f(self),
            Some(false) => Ok(()),
            None => {
                let cond = self.ctx().scalar(cond)?;
                let region = self.region(true, f)?;
                self.ctx().select(cond, &region, &Region::default());
                Ok(())
            }
        }
    }

    /// Emits code for both outcomes of a condition, or for one if it is known. `f` gets the outcome.
    fn either(&mut self, cond: ValueId, mut f: impl FnMut(&mut Self, bool) -> Result<()>) -> Result<()> {
        if let Some(known) = self.ctx().resolver.values.as_bool(cond) {
            return f(self, known);
        }
        let (cond, span) = (self.ctx().scalar(cond)?, self.ctx().resolver.span);
        let [then, other] = [self.region(true, |e| f(e, true))?, self.region(true, |e| f(e, false))?];
        self.ctx().stand_at(span);
        self.ctx().select(cond, &then, &other);
        Ok(())
    }

    /// Emits a loop over a range of nonnegative numbers. With `turns`, a second counter starts again after that many iterations.
    fn counted(
        &mut self,
        range: Range<ValueId>,
        skippable: bool,
        turns: Option<u32>,
        body: impl FnOnce(&mut Self, ValueId) -> Result<()>,
    ) -> Result<()> {
        let ctx = self.ctx();
        let (extent, span) = (range.end, ctx.resolver.span);
        let int = ctx.scalar_type(DType::I32)?;
        let variable = ctx.variable(int);
        ctx.resolver.must_fit(extent)?;
        let one = ctx.resolver.values.int(1);
        let (end, start, one) = (ctx.scalar(extent)?, ctx.scalar(range.start)?, ctx.scalar(one)?);
        let turn = turns.map(|of| ctx.turn(range.start, of)).transpose()?;
        let at = ctx.module.id();
        let inner = self.region(skippable, |e| {
            let ctx = e.ctx();
            let value = ctx.resolver.counter(extent);
            ctx.define(value, Chunks::one(at));
            if let Some(turn) = &turn {
                let of = ctx.resolver.values.int(turn.of.into());
                let counted = ctx.resolver.counter(of);
                ctx.define(counted, Chunks::one(turn.at));
                ctx.resolver.note_turn(value, turn.of, counted);
            }
            body(e, value)
        })?;
        let ctx = self.ctx();
        ctx.stand_at(span);
        let weight = match ctx.resolver.values.as_int(extent) {
            Some(n) => inner.weight.saturating_mul(n.unsigned_abs()),
            None => u64::MAX,
        };
        let (control, end) = ctx.against_unrolling(extent, end, weight)?;
        let types = [int, ctx.module.bool_type()];
        ctx.repeat(&Counter { types, less: Op::SLessThan, variable, start, end, one, at }, turn.as_ref(), &inner, control, weight);
        Ok(())
    }
}

impl<'p> Structured<'p> for BlockContext<'p> {
    fn ctx(&mut self) -> &mut BlockContext<'p> {
        self
    }
}
