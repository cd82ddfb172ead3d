//! Walks over the nest: loops, computes, barriers, branches.

use crate::Result;
use crate::chunks::Chunks;
use crate::context::BlockContext;
use crate::control::Structured;
use crate::matrices::Matrices;
use crate::matrices::whole::WholeIterations;
use std::ops::Range;
use tilewright_codegen::BoundAxis;
use tilewright_codegen::values::{Op as ValueOp, ValueId, Values};
use tilewright_dsl::expr::{Binary, Compare, Expr};
use tilewright_dsl::length;
use tilewright_dsl::nest::{AxisId, Block, Dispatch, Exec, Loop, Node, NodeKind, Program, Side, Step};
use tilewright_dsl::profile::Profile;

/// The walk over the nest of one dispatch.
pub(crate) struct Emit<'p> {
    dispatch: &'p Dispatch,
    pub(crate) ctx: BlockContext<'p>,
    pub(crate) matrices: Matrices,
}

impl<'p> Structured<'p> for Emit<'p> {
    fn ctx(&mut self) -> &mut BlockContext<'p> {
        &mut self.ctx
    }
}

impl<'p> Emit<'p> {
    pub(crate) fn new(program: &'p Program, profile: &'p Profile, dispatch: &'p Dispatch) -> Result<Emit<'p>> {
        Ok(Emit { dispatch, ctx: BlockContext::new(program, profile, dispatch)?, matrices: Matrices::default() })
    }

    pub(crate) fn block(&mut self, block: &Block) -> Result<()> {
        block.iter().try_for_each(|node| self.node(node))
    }

    fn node(&mut self, node: &Node) -> Result<()> {
        self.ctx.stand_at(node.span);
        match &node.kind {
            NodeKind::Loop(l) => self.loop_node(l),
            NodeKind::Alloc { body, .. } => self.block(body),
            NodeKind::Compute(c) if self.matrices.in_loop() => self.matrices.compute(&mut self.ctx, c),
            NodeKind::Compute(c) => self.ctx.compute(c),
            NodeKind::AllReduce(c) if self.matrices.in_loop() => self.matrices.reduce_rows(&mut self.ctx, c),
            NodeKind::AllReduce(c) => self.ctx.all_reduce(c),
            NodeKind::Barrier { scope } => self.ctx.barrier(*scope),
            NodeKind::Branch { cond, then, other } => {
                let cond = self.ctx.resolving(|r| r.bound_of(*cond))?;
                self.either(cond, |e, holds| e.block(if holds { then } else { other }))
            }
        }
    }

    fn loop_node(&mut self, l: &Loop) -> Result<()> {
        match l.exec {
            Exec::Serial => self.serial(l),
            Exec::Unroll => match self.matrices.masks.of_tile(&mut self.ctx, l)? {
                Some((cond, everywhere)) => self.either(everywhere, |e, everywhere| {
                    e.matrices.masks.enter_branch(cond, everywhere);
                    e.unroll(l)?;
                    e.matrices.masks.leave_branch();
                    Ok(())
                }),
                None => self.unroll(l),
            },
            Exec::Lanes => self.in_lanes(l),
            Exec::Dot => self.dot(l),
            Exec::Matrix(side) => self.over_side(l, side),
            Exec::Step(step) => self.step(l, step),
            Exec::Bind(level, slot) => {
                let bound = self.ctx.resolving(|r| r.coordinate_of(l.axis, level, slot))?;
                self.bound(l.axis, bound, &l.body)
            }
        }
    }

    /// Emits a block with an axis bound.
    fn bound(&mut self, axis: AxisId, bound: BoundAxis, block: &Block) -> Result<()> {
        let before = self.ctx.resolver.bind(axis, bound)?;
        self.block(block)?;
        self.ctx.resolver.unbind(axis, before);
        Ok(())
    }

    /// Emits an iteration of a loop.
    fn iteration(&mut self, axis: AxisId, value: ValueId, block: &Block) -> Result<()> {
        self.bound(axis, BoundAxis { value, owner: false }, block)
    }

    /// Emits a loop, iteration by iteration.
    fn unroll(&mut self, l: &Loop) -> Result<()> {
        let (extent, span) = (self.ctx.resolving(|r| r.literal_extent(l.axis, "unrolled"))?, self.ctx.resolver.span);
        let before = self.ctx.function.size();
        self.ctx.resolver.enter_unrolled(l.axis, extent);
        for n in 0..extent {
            let value = self.ctx.resolver.values.int(n.into());
            self.ctx.stand_at(span);
            self.iteration(l.axis, value, &l.body)?;
            // The module will be refused, so the remaining iterations are not emitted.
            if self.ctx.function.size().words > length::MOST {
                return Err(length::beyond(self.ctx.program, self.dispatch));
            }
        }
        self.ctx.resolver.leave_unrolled();
        self.ctx.stand_at(span);
        if extent > 1 { self.ctx.check_written(&self.ctx.program.axes[l.axis].name, extent, before) } else { Ok(()) }
    }

    fn in_lanes(&mut self, l: &Loop) -> Result<()> {
        let width = self.ctx.resolving(|r| r.literal_extent(l.axis, "in lanes"))?;
        if self.ctx.resolver.lane_count() > 1 {
            return Err(self.ctx.error("a loop in lanes is nested in another one").help("put only one axis of a stage in lanes"));
        }
        if width == 1 {
            let value = self.ctx.resolver.values.int(0);
            return self.iteration(l.axis, value, &l.body);
        }
        if !matches!(width, 2 | 4 | 8 | 16) {
            return Err(self.ctx.error(format!("a loop of {width} lanes is not possible")).help("use 2, 4, 8 or 16 lanes"));
        }
        let value = self.ctx.resolver.values.lane(width);
        self.ctx.resolver.enter_lanes(l.axis, width);
        self.iteration(l.axis, value, &l.body)?;
        self.ctx.resolver.leave_lanes();
        Ok(())
    }

    /// Emits a loop whose products one instruction adds.
    fn dot(&mut self, l: &Loop) -> Result<()> {
        let factors = self.ctx.resolving(|r| r.literal_extent(l.axis, "a dot product"))?;
        if factors != 4 || self.ctx.resolver.lane_count() > 1 {
            return Err(self.ctx.defect("a dot product of other than four factors, or in lanes"));
        }
        let value = self.ctx.resolver.values.lane(factors);
        self.ctx.resolver.enter_dot(l.axis, factors);
        self.iteration(l.axis, value, &l.body)?;
        self.ctx.resolver.leave_lanes();
        Ok(())
    }

    /// Emits a loop over a side of matrices. Its axis is bound to 0.
    fn over_side(&mut self, l: &Loop, side: Side) -> Result<()> {
        let length = self.ctx.resolving(|r| r.literal_extent(l.axis, "a side of matrices"))?;
        let (value, span) = (self.ctx.resolver.values.int(0), self.ctx.resolver.span);
        self.matrices.enter(side, l.axis, length, span);
        self.iteration(l.axis, value, &l.body)?;
        self.matrices.leave();
        self.ctx.stand_at(span);
        Ok(())
    }

    /// Emits a loop that is not unrolled.
    fn serial(&mut self, l: &Loop) -> Result<()> {
        let extent = self.ctx.resolving(|r| match l.end {
            None => r.extent(l.axis),
            Some(end) => r.bound_of(end),
        })?;
        self.ctx.resolver.enter_serial(l.axis);
        self.iterations(l, extent)?;
        self.ctx.resolver.leave_serial();
        Ok(())
    }

    /// Emits the iterations of a serial loop: none, a single one, or a loop with a counter variable.
    fn iterations(&mut self, l: &Loop, extent: ValueId) -> Result<()> {
        let zero = self.ctx.resolver.values.int(0);
        if let Some(n) = self.ctx.resolver.values.as_int(extent).filter(|n| *n <= 1) {
            return if n < 1 { Ok(()) } else { self.iteration(l.axis, zero, &l.body) };
        }
        if let Some((first, then, other)) = self.in_two(l)? {
            let [end, start] = cut_at(&mut self.ctx.resolver.values, first, extent);
            self.range(l.axis, zero..end, then)?;
            return self.range(l.axis, start..extent, other);
        }
        let Some(whole) = WholeIterations::of(&mut self.ctx, l, extent)? else { return self.range(l.axis, zero..extent, &l.body) };
        let [end, start] = cut_at(&mut self.ctx.resolver.values, whole.count, extent);
        for (conditions, holds, range) in [(&whole.conditions, true, zero..end), (&whole.ending, false, start..extent)] {
            self.matrices.masks.enter_part(conditions, holds);
            self.range(l.axis, range, &l.body)?;
            self.matrices.masks.leave_part(conditions);
        }
        Ok(())
    }

    /// Recognizes a loop around a single branch whose condition holds up to some iteration. Returns this iteration, the branch's block
    /// before it, and the block from it on. Each block then gets a loop of its own.
    fn in_two<'l>(&mut self, l: &'l Loop) -> Result<Option<(ValueId, &'l Block, &'l Block)>> {
        let program = self.ctx.program;
        let [Node { kind: NodeKind::Branch { cond, then, other }, .. }] = &l.body[..] else { return Ok(None) };
        let Expr::Compare(Compare::Lt, counted, end) = *program.exprs.get(*cond) else { return Ok(None) };
        if !matches!(program.exprs.get(counted), Expr::Axis(axis) if *axis == l.axis) {
            return Ok(None);
        }
        // An end that depends on the loop itself is not known before the loop.
        if program.exprs.uses_axis(end, &mut |axis| program.is_made_of(axis, l.axis)) {
            return Ok(None);
        }
        Ok(Some((self.ctx.resolving(|r| r.bound_of(end))?, then, other)))
    }

    /// Emits some iterations of a serial loop.
    fn range(&mut self, axis: AxisId, range: Range<ValueId>, body: &Block) -> Result<()> {
        let values = &self.ctx.resolver.values;
        // If the first iteration is not number 0, the number of iterations is unknown.
        let skippable = values.node(range.end).range.0 < 1 || values.as_int(range.start) != Some(0);
        let pipelines = self.ctx.program.notes.pipelines.iter().filter(|p| p.axis == axis);
        let turns = pipelines.map(|p| p.buffers).find(|n| !n.is_power_of_two());
        self.counted(range, skippable, turns, |e, value| e.iteration(axis, value, body))
    }

    /// Emits one iteration of a loop as a step of a pipeline.
    fn step(&mut self, l: &Loop, step: Step) -> Result<()> {
        let extent = self.ctx.resolving(|r| r.extent(l.axis))?;
        let [zero, one] = [0, 1].map(|n| self.ctx.resolver.values.int(n));
        let last = self.ctx.resolver.values.minus(extent, one);
        let wanted = match step {
            Step::First(n) => self.ctx.resolver.values.int(n.into()),
            Step::Ahead(of, n) => {
                let at = self.ctx.resolving(|r| r.bound_of(r.program.exprs.axis(of)))?;
                let by = self.ctx.resolver.values.int(n.into());
                self.ctx.resolver.values.plus(at, by)
            }
        };
        if wanted == zero {
            let some = self.ctx.resolver.values.less(zero, extent);
            return self.under(some, |e| e.iteration(l.axis, zero, &l.body));
        }
        // Wherever this code is executed, the loop has a last iteration.
        let at = self.ctx.resolver.values.extreme(Binary::Min, wanted, last);
        let counted = |e: &mut Self| {
            let chunks = Chunks::one(e.ctx.scalar(at)?);
            let value = e.ctx.resolver.counter(extent);
            e.ctx.define(value, chunks);
            e.iteration(l.axis, value, &l.body)
        };
        match step {
            Step::First(_) => {
                let some = self.ctx.resolver.values.less(zero, extent);
                self.under(some, counted)
            }
            Step::Ahead(..) => counted(self),
        }
    }
}

/// Returns the end of a first loop and the start of a second one that share the iterations below `extent`. The first loop has `first`
/// iterations if possible.
fn cut_at(values: &mut Values, first: ValueId, extent: ValueId) -> [ValueId; 2] {
    let zero = values.int(0);
    [(Binary::Min, extent), (Binary::Max, zero)].map(|(op, with)| values.apply(ValueOp::Binary(op), &[first, with]))
}
