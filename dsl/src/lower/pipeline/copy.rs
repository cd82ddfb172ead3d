//! A copy of a pipeline: its nest, which its own schedule has made, as a fetch into registers and a store of these.
//!
//! An invocation stores what it has fetched. So the registers have a dimension for each loop of the copy's nest: those over invocations own
//! theirs, and the others are written out.

use super::step::{Ranks, fills};
use crate::diag::{Error, SpanId};
use crate::expr::{Expr, ExprId};
use crate::nest::{
    Access, AxisId, Block, Body, Buffer, BufferId, Compute, Exec, Loop, Node, NodeKind, Phase, Program, Space, Stage, StageId,
    Step, print,
};
use std::collections::HashSet;

/// Registers of 32 bits that what is fetched takes at most, in each invocation: half of those that GPUs have for one.
const REGISTERS: i64 = 128;

/// A loop of a copy's nest, and the directive that made it.
type Looped = (AxisId, Exec, SpanId);

/// A copy that is made ahead.
pub(super) struct Ahead {
    /// Its number among the program's.
    pub(super) pipeline: usize,
    pub(super) ranks: Ranks,
    copy: BufferId,
    buffers: u32,
    span: SpanId,
    /// The loops of the copy's nest, outermost first.
    loops: Vec<Looped>,
    compute: Compute,
    /// The axis that counts the step.
    next: AxisId,
    /// What the copy holds, on that axis.
    value: ExprId,
    /// The stage of the registers, and their place.
    registers: Option<(StageId, Access)>,
}

impl Ahead {
    /// The copy of a pipeline, among the nests of a loop's copies.
    pub(super) fn new(program: &Program, n: usize, nests: &[Node], next: AxisId, ranks: Ranks) -> Result<Ahead, Error> {
        let pipeline = &program.pipelines[n];
        let own: HashSet<BufferId> = [pipeline.copy].into();
        let mut found = nests.iter().filter(|nest| fills(nest, &own));
        let parts = match (found.next(), found.next()) {
            (Some(nest), None) => leaf(nest),
            _ => None,
        };
        let name = &program.buffers[pipeline.copy].name;
        let Some((loops, compute)) = parts else {
            let error = Error::new(pipeline.span, format!("`{name}` is made by more than loops around one copy of an element"));
            return Err(error.help(format!("leave it out of the pipeline, or what the block of `{name}` promotes or computes")));
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

    /// What is read in another step than before must be there.
    fn check_source(&self, program: &Program, value: ExprId) -> Result<(), Error> {
        let is_there = |buffer: BufferId| {
            let space = &program.buffers[buffer].space;
            space.is_global() || matches!(space, Space::Constant(_))
        };
        let Some(read) = program.exprs.reads(value).into_iter().find(|read| !is_there(read.buffer)) else { return Ok(()) };
        let (name, source) = (&program.buffers[self.copy].name, &program.buffers[read.buffer]);
        let error = Error::new(self.span, format!("`{name}` is a copy of `{}`, which is itself made in the nest", source.name));
        let error = error.note_at(source.span, format!("`{}` is made here", source.name));
        Err(error.help(format!("pipeline copies of tensors: leave `{name}` out, or promote it from the tensor")))
    }

    /// What is fetched is indexed by constants.
    fn check_loops(&self, program: &Program) -> Result<(), Error> {
        if self.ranks.fetch.is_none() {
            return Ok(());
        }
        let is_known = |axis: AxisId| program.exprs.as_int(program.axes[axis].extent).is_some();
        let Some((axis, _, made)) = self.loops.iter().find(|(axis, ..)| !is_known(*axis)) else { return Ok(()) };
        let (name, axis) = (&program.buffers[self.copy].name, &program.axes[*axis].name);
        let error =
            Error::new(self.span, format!("`{name}` cannot be fetched to registers: its loop over `{axis}` has no literal extent"));
        let error = error.note_at(*made, format!("the loop over `{axis}` was made here"));
        Err(error.help(format!("tile by literals in the block of `{name}`, or leave `prefetch` out, with `buffers: 2`")))
    }

    /// Registers of 32 bits that an invocation needs for what it fetches.
    fn words(&self, program: &Program) -> i64 {
        let elements = self.kept().filter_map(|(axis, _)| program.exprs.as_int(program.axes[axis].extent));
        let elements = elements.fold(1, i64::saturating_mul);
        elements.saturating_mul(i64::from(program.buffers[self.copy].dtype.bytes())).saturating_add(3) / 4
    }

    /// The loops of which an invocation runs all iterations.
    fn kept(&self) -> impl Iterator<Item = (AxisId, Exec)> {
        self.loops.iter().map(|(axis, exec, _)| (*axis, *exec)).filter(|(_, exec)| !matches!(exec, Exec::Bind(..)))
    }

    /// Makes the registers, and says what they hold; and what the copy holds, on the loop over the steps.
    pub(super) fn make(&mut self, program: &mut Program) {
        let pipeline = program.pipelines[self.pipeline].clone();
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
        // Lanes are the last dimension: they are one access.
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
        if let Some(host) = program.hosts.get(&program.pipelines[self.pipeline].stage).copied() {
            program.hosts.insert(stage, host);
        }
        (stage, Access { buffer, index })
    }

    /// The stage of the registers.
    pub(super) fn stage(&self) -> Option<StageId> {
        self.registers.as_ref().map(|(stage, _)| *stage)
    }

    /// The registers.
    pub(super) fn registers(&self) -> Option<BufferId> {
        self.registers.as_ref().map(|(_, place)| place.buffer)
    }

    /// The fetch in a step.
    pub(super) fn fetch_ahead(&self, axis: AxisId) -> Block {
        self.fetch().map(|nest| self.once(Step::Ahead(axis, self.ranks.fetched), nest)).into_iter().collect()
    }

    /// The store in a step; without registers, the copy.
    pub(super) fn store_ahead(&self, program: &Program, axis: AxisId) -> Block {
        let ahead = program.exprs.int(i64::from(self.ranks.stored));
        let version = program.exprs.sum(program.exprs.axis(axis), ahead);
        let nest = self.store(program, version);
        match self.registers {
            Some(_) => vec![nest],
            None => vec![self.once(Step::Ahead(axis, self.ranks.stored), nest)],
        }
    }

    /// What of a first step is fetched before the loop.
    pub(super) fn fetch_first(&self, n: u32) -> Option<Node> {
        self.fetch().filter(|_| n < self.ranks.fetched)
    }

    /// What of a first step is stored before the loop.
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

    /// The store of a version; without registers, the copy.
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

    /// The copy's loops around a leaf.
    fn nest(&self, compute: Compute, written_out: bool) -> Node {
        let leaf = Node::new(NodeKind::Compute(compute), self.span);
        self.loops.iter().rev().fold(leaf, |body, (axis, exec, span)| {
            let exec = if written_out && *exec == Exec::Serial { Exec::Unroll } else { *exec };
            Node::new(NodeKind::Loop(Loop::new(*axis, exec, vec![body])), *span)
        })
    }
}

/// The loops of a nest with nothing but one whole compute in them, and that.
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

/// A copy's value on another axis in the place of a loop's, of which other axes are made.
fn on(program: &Program, value: ExprId, axis: AxisId, to: AxisId) -> ExprId {
    let new = program.exprs.axis(to);
    program.exprs.replace(value, &mut |exprs, id| match exprs.get(id) {
        Expr::Axis(named) if *named == axis => Some(new),
        Expr::Axis(named) if program.passes(*named, axis) => {
            let over = over_loop(program, *named, axis);
            Some(program.renamed(over, axis, to))
        }
        _ => None,
    })
}

/// An axis's value over a loop's axis that it is made of, and whatever else it is.
fn over_loop(program: &Program, named: AxisId, axis: AxisId) -> ExprId {
    let is_made = |other: AxisId| other != axis && program.passes(other, axis);
    program.axis_value(named, &|other| !is_made(other))
}

/// Refuses more registers than an invocation has.
pub(super) fn check_registers(program: &Program, ahead: &[Ahead]) -> Result<(), Error> {
    let fetched: Vec<&Ahead> = ahead.iter().filter(|copy| copy.ranks.fetch.is_some()).collect();
    let total: i64 = fetched.iter().fold(0, |sum, copy| sum.saturating_add(copy.words(program)));
    let Some(first) = fetched.first().filter(|_| total > REGISTERS) else { return Ok(()) };
    let axis = &program.axes[program.pipelines[first.pipeline].axis].name;
    let what = format!("what is fetched at `{axis}` takes {total} registers of each invocation, and {REGISTERS} are the most");
    let error = fetched.iter().fold(Error::new(first.span, what), |error, copy| {
        let buffer = &program.buffers[copy.copy];
        error.note_at(buffer.span, format!("`{}` takes {}", buffer.name, copy.words(program)))
    });
    Err(error.help("make the tiles smaller, distribute to more invocations, or leave `prefetch` out, with `buffers: 2`"))
}
