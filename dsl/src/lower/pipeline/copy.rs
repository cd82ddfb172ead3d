//! Turns the nest of a pipeline's copy, as its own schedule has made it, into a fetch into registers and a store from them.
//!
//! An invocation stores the elements that it has fetched. So the registers have a dimension for each loop of the copy's nest: loops bound
//! to invocations own their dimensions, and the others are unrolled.

use super::step::{Ranks, fills};
use crate::diag::{Error, SpanId};
use crate::expr::ExprId;
use crate::nest::{
    Access, AxisId, Block, Body, Buffer, BufferId, Compute, Exec, Loop, Node, NodeKind, Phase, Program, Space, Stage, StageId,
    Step, print,
};
use std::collections::HashSet;

/// The most 32-bit registers that prefetched elements may take in each invocation: half of the registers that GPUs have for one.
const REGISTERS: i64 = 128;

/// A loop of a copy's nest, and the directive that made it.
type Looped = (AxisId, Exec, SpanId);

/// A prefetched copy.
pub(super) struct Ahead {
    /// The index of its pipeline in the program.
    pub(super) pipeline: usize,
    pub(super) ranks: Ranks,
    copy: BufferId,
    buffers: u32,
    span: SpanId,
    /// The loops of the copy's nest, outermost first.
    loops: Vec<Looped>,
    compute: Compute,
    /// The axis whose value is the fetched step.
    next: AxisId,
    /// The value of the copy over that axis.
    value: ExprId,
    /// The stage of the registers, and the element of them that a point of the nest uses.
    registers: Option<(StageId, Access)>,
}

impl Ahead {
    /// Finds the nest of a pipeline's copy among the nests of a loop's copies.
    pub(super) fn new(program: &Program, n: usize, nests: &[Node], next: AxisId, ranks: Ranks) -> Result<Ahead, Error> {
        let pipeline = &program.notes.pipelines[n];
        let own: HashSet<BufferId> = [pipeline.copy].into();
        let mut found = nests.iter().filter(|nest| fills(nest, &own));
        let parts = match (found.next(), found.next()) {
            (Some(nest), None) => leaf(nest),
            _ => None,
        };
        let name = &program.buffers[pipeline.copy].name;
        let Some((loops, compute)) = parts else {
            let error = Error::new(pipeline.span, format!("`{name}` is not made by one loop nest that copies one element"));
            return Err(error.help(format!(
                "leave `{name}` out of the pipeline, or remove the `promote` and `compute_at` directives from the block of `{name}`"
            )));
        };
        let [value] = compute.value[..] else {
            return Err(Error::new(pipeline.span, format!("`{name}` has several values")).defect(&print::plan(program)));
        };
        let copy = Ahead {
            pipeline: n,
            ranks,
            copy: pipeline.copy,
            buffers: pipeline.buffers,
            span: pipeline.span,
            loops,
            compute: compute.clone(),
            next,
            value: on(program, value, pipeline.axis, next),
            registers: None,
        };
        copy.check_source(program, value)?;
        copy.check_loops(program)?;
        Ok(copy)
    }

    /// Checks that the copy reads a tensor, because other buffers may not hold their elements yet when a later step is fetched.
    fn check_source(&self, program: &Program, value: ExprId) -> Result<(), Error> {
        let is_there = |buffer: BufferId| {
            let space = &program.buffers[buffer].space;
            space.is_global() || matches!(space, Space::Constant(_))
        };
        let Some(read) = program.exprs.reads(value).into_iter().find(|read| !is_there(read.buffer)) else { return Ok(()) };
        let (name, source) = (&program.buffers[self.copy].name, &program.buffers[read.buffer]);
        let error =
            Error::new(self.span, format!("cannot prefetch `{name}`: it is copied from `{}`, which the nest fills", source.name));
        let error = error.note_at(source.span, format!("`{}` is made here", source.name));
        let error = error.note("only tensors have their elements before the step that uses them");
        Err(error.help(format!("leave `{name}` out of the pipeline, or promote it directly from the tensor")))
    }

    /// Checks that the loops have literal extents, because registers need constant indices.
    fn check_loops(&self, program: &Program) -> Result<(), Error> {
        if self.ranks.fetch.is_none() {
            return Ok(());
        }
        let is_known = |axis: AxisId| program.exprs.as_int(program.axes[axis].extent).is_some();
        let Some((axis, _, made)) = self.loops.iter().find(|(axis, ..)| !is_known(*axis)) else { return Ok(()) };
        let (name, axis) = (&program.buffers[self.copy].name, &program.axes[*axis].name);
        let error = Error::new(
            self.span,
            format!("`{name}` cannot be fetched to registers: the extent of its loop over `{axis}` is not a literal"),
        );
        let error = error.note_at(*made, format!("the loop over `{axis}` was made here"));
        Err(error.help(format!("tile by literals in the block of `{name}`, or leave `prefetch` out, with `buffers: 2`")))
    }

    /// Returns the 32-bit registers that an invocation needs for the elements that it fetches.
    fn words(&self, program: &Program) -> i64 {
        let elements = self.kept().filter_map(|(axis, _)| program.exprs.as_int(program.axes[axis].extent));
        let elements = elements.fold(1, i64::saturating_mul);
        elements.saturating_mul(i64::from(program.buffers[self.copy].dtype.bytes())).saturating_add(3) / 4
    }

    /// Returns the loops that an invocation runs completely.
    fn kept(&self) -> impl Iterator<Item = (AxisId, Exec)> {
        self.loops.iter().map(|(axis, exec, _)| (*axis, *exec)).filter(|(_, exec)| !matches!(exec, Exec::Bind(..)))
    }

    /// Creates the registers and their stage, and expresses the copy's stage over the loop over the steps.
    pub(super) fn make(&mut self, program: &mut Program) {
        let pipeline = program.notes.pipelines[self.pipeline].clone();
        if let Body::Map(value) = program.stages[pipeline.stage].body {
            let value = on(program, value, pipeline.axis, pipeline.axis);
            program.stages[pipeline.stage].body = Body::Map(value);
            if self.ranks.fetch.is_some() {
                let value = program.renamed(value, pipeline.axis, self.next);
                self.registers = Some(self.add_registers(program, value));
            }
        }
        program.buffers[self.copy].versions = self.buffers;
    }

    fn add_registers(&self, program: &mut Program, value: ExprId) -> (StageId, Access) {
        // Lanes are the last dimension, because they are one access.
        let is_lanes = |(_, exec, _): &&Looped| *exec == Exec::Lanes;
        let others = self.loops.iter().filter(|l| !is_lanes(l));
        let axes: Vec<AxisId> = others.chain(self.loops.iter().filter(is_lanes)).map(|(axis, ..)| *axis).collect();
        let of = program.buffers[self.copy].clone();
        let (name, shape) = (format!("{}_next", of.name), axes.iter().map(|axis| program.axes[*axis].extent).collect());
        let (space, span) = (Space::Register, self.span);
        let made = Buffer { name: name.clone(), shape, space, row_pad: 0, swizzle: 0, versions: 1, span, ..of };
        let buffer = program.buffers.push(made);
        let index = axes.iter().map(|axis| program.exprs.axis(*axis)).collect();
        let stage = program.stages.push(Stage { name, buffer, axes, body: Body::Map(value), also: Vec::new(), span });
        if let Some(host) = program.notes.hosts.get(&program.notes.pipelines[self.pipeline].stage).copied() {
            program.notes.hosts.insert(stage, host);
        }
        (stage, Access { buffer, index })
    }

    /// Returns the stage of the registers.
    pub(super) fn stage(&self) -> Option<StageId> {
        self.registers.as_ref().map(|(stage, _)| *stage)
    }

    /// Returns the registers.
    pub(super) fn registers(&self) -> Option<BufferId> {
        self.registers.as_ref().map(|(_, place)| place.buffer)
    }

    /// Returns the fetch in a step.
    pub(super) fn fetch_ahead(&self, axis: AxisId) -> Block {
        self.fetch().map(|nest| self.once(Step::Ahead(axis, self.ranks.fetched), nest)).into_iter().collect()
    }

    /// Returns the store in a step, or, without registers, the copy.
    pub(super) fn store_ahead(&self, program: &Program, axis: AxisId) -> Block {
        let ahead = program.exprs.int(i64::from(self.ranks.stored));
        let version = program.exprs.sum(program.exprs.axis(axis), ahead);
        let nest = self.store(program, version);
        match self.registers {
            Some(_) => vec![nest],
            None => vec![self.once(Step::Ahead(axis, self.ranks.stored), nest)],
        }
    }

    /// Returns the fetch for step `n` before the loop, if there is one.
    pub(super) fn fetch_first(&self, n: u32) -> Option<Node> {
        self.fetch().filter(|_| n < self.ranks.fetched)
    }

    /// Returns the store for step `n` before the loop, if there is one.
    pub(super) fn store_first(&self, program: &Program, n: u32) -> Option<Node> {
        (n < self.ranks.stored).then(|| self.store(program, program.exprs.int(i64::from(n))))
    }

    fn once(&self, step: Step, nest: Node) -> Node {
        Node::new(NodeKind::Loop(Loop::new(self.next, Exec::Step(step), vec![nest])), self.span)
    }

    fn fetch(&self) -> Option<Node> {
        let (stage, place) = self.registers.as_ref()?;
        let compute = Compute { stage: *stage, dst: vec![place.clone()], value: vec![self.value], ..self.compute.clone() };
        Some(self.nest(compute, true))
    }

    /// Returns the store of a version, or, without registers, the copy.
    fn store(&self, program: &Program, version: ExprId) -> Node {
        let mut compute = self.compute.clone();
        if self.buffers > 1 {
            compute.dst.iter_mut().for_each(|to| to.index.insert(0, version));
        }
        compute.value = match &self.registers {
            Some((_, Access { buffer, index })) => {
                vec![program.exprs.read(*buffer, program.buffers[*buffer].dtype, index.iter().copied())]
            }
            None => vec![self.value],
        };
        self.nest(compute, self.registers.is_some())
    }

    /// Nests a leaf in the copy's loops.
    fn nest(&self, compute: Compute, written_out: bool) -> Node {
        let leaf = Node::new(NodeKind::Compute(compute), self.span);
        self.loops.iter().rev().fold(leaf, |body, (axis, exec, span)| {
            let exec = if written_out && *exec == Exec::Serial { Exec::Unroll } else { *exec };
            Node::new(NodeKind::Loop(Loop::new(*axis, exec, vec![body])), *span)
        })
    }
}

/// Returns the loops of a nest and its compute, if they enclose only one whole compute.
fn leaf(nest: &Node) -> Option<(Vec<Looped>, &Compute)> {
    let (mut loops, mut node) = (Vec::new(), nest);
    loop {
        match &node.kind {
            NodeKind::Loop(Loop { axis, exec, end: None, body }) if !matches!(exec, Exec::Step(_)) => {
                let [inner] = &body[..] else { return None };
                loops.push((*axis, *exec, node.span));
                node = inner;
            }
            NodeKind::Compute(compute) if compute.phase == Phase::Whole && compute.dst.len() == 1 => return Some((loops, compute)),
            _ => return None,
        }
    }
}

/// Rewrites a copy's value from a loop's axis to another axis. Axes that are computed from the loop's axis are rewritten too.
fn on(program: &Program, value: ExprId, axis: AxisId, to: AxisId) -> ExprId {
    let new = program.exprs.axis(to);
    program.exprs.with_axes(value, &mut |named| {
        if named == axis {
            return Some(new);
        }
        program.passes(named, axis).then(|| program.renamed(over_loop(program, named, axis), axis, to))
    })
}

/// Returns an axis's value over the loop's axis that it is computed from, and over other axes.
fn over_loop(program: &Program, named: AxisId, axis: AxisId) -> ExprId {
    let is_made = |other: AxisId| other != axis && program.passes(other, axis);
    program.axis_value(named, &|other| !is_made(other))
}

/// Refuses pipelines that need more registers than an invocation may use.
pub(super) fn check_registers(program: &Program, ahead: &[Ahead]) -> Result<(), Error> {
    let fetched: Vec<&Ahead> = ahead.iter().filter(|copy| copy.ranks.fetch.is_some()).collect();
    let total: i64 = fetched.iter().fold(0, |sum, copy| sum.saturating_add(copy.words(program)));
    let Some(first) = fetched.first().filter(|_| total > REGISTERS) else { return Ok(()) };
    let axis = &program.axes[program.notes.pipelines[first.pipeline].axis].name;
    let what =
        format!("the copies fetched at `{axis}` need {total} registers in each invocation, but at most {REGISTERS} are allowed");
    let error = fetched.iter().fold(Error::new(first.span, what), |error, copy| {
        let buffer = &program.buffers[copy.copy];
        error.note_at(buffer.span, format!("`{}` takes {}", buffer.name, copy.words(program)))
    });
    Err(error.help("make the tiles smaller, distribute to more invocations, or leave `prefetch` out, with `buffers: 2`"))
}
