//! A step of a pipeline: its parts in order, the readers of the copies, and the places of fetches and stores between the parts.

use super::hint;
use crate::diag::{Error, list};
use crate::expr::{Expr, ExprId};
use crate::nest::walk;
use crate::nest::{AxisId, Block, BufferId, Node, NodeKind, Point, Program, StageId, StepPlace};
use std::collections::{BTreeMap, HashSet};

/// The phases in a gap between two parts of a step, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    EarlyStore,
    EarlyFetch,
    Store,
    Fetch,
}

/// A place between the parts of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    /// The number of parts before the place.
    pub(super) gap: usize,
    pub(super) phase: Phase,
}

/// The places where a copy is fetched and stored, and the steps that this is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranks {
    pub(super) fetch: Option<Rank>,
    pub(super) store: Rank,
    /// The distance from the current step to the step that is fetched, and to the step that is stored.
    pub(super) fetched: u32,
    pub(super) stored: u32,
}

impl Ranks {
    /// Returns the number of steps that are started before the loop.
    pub(super) fn first_steps(&self) -> u32 {
        self.fetched.max(self.stored)
    }
}

/// The parts of a step, in order.
pub(super) struct Steps<'p> {
    program: &'p Program,
    parts: Vec<&'p Node>,
}

impl<'p> Steps<'p> {
    pub(super) fn of(program: &'p Program, body: &'p Block) -> Steps<'p> {
        let mut parts = Vec::new();
        add_parts(body, &mut parts);
        Steps { program, parts }
    }

    /// Returns the places where a pipeline's copy is fetched and stored.
    pub(super) fn ranks(&self, axis: AxisId, n: usize) -> Result<Ranks, Error> {
        let pipeline = &self.program.notes.pipelines[n];
        let reads: Vec<usize> = (0..self.parts.len()).filter(|at| reads(self.program, self.parts[*at], pipeline.copy)).collect();
        let (first, last) = (reads.first().copied().unwrap_or(0), reads.last().copied().unwrap_or(0));
        let store = self.rank(axis, pipeline.store, [Phase::EarlyStore, Phase::Store])?;
        let Some(fetch) = pipeline.fetch else {
            return Ok(Ranks { fetch: None, store, fetched: 0, stored: pipeline.buffers - 1 });
        };
        let fetch_at = self.rank(axis, fetch, [Phase::EarlyFetch, Phase::Fetch])?;
        let name = &self.program.buffers[pipeline.copy].name;
        let is_for_this = store.gap <= first;
        if pipeline.buffers == 1 && !is_for_this && store.gap <= last {
            let what = format!("`{name}` has one buffer, but would be stored between its readers");
            let error = Error::new(pipeline.store.span, what);
            let (from, to) = (self.stages_of(first), self.stages_of(last));
            let error = error.note(format!("it is read by {}, and later by {}", list(from), list(to)));
            return Err(error.help("write `store: end`, a `store` before all its readers, or `buffers: 2`"));
        }
        if !is_for_this && fetch_at > store {
            let error = Error::new(fetch.span, format!("`{name}` is stored for the next step before it is fetched"));
            let error = error.note("a store after the first reader of the copy is for the next step");
            return Err(error.help("write a `fetch` before the `store`, or `store: start`, so that the store precedes all readers"));
        }
        let further = pipeline.buffers.saturating_sub(2);
        let stored = u32::from(!is_for_this) + further;
        let fetched = stored + u32::from(fetch_at > store);
        Ok(Ranks { fetch: Some(fetch_at), store, fetched, stored })
    }

    fn rank(&self, axis: AxisId, place: StepPlace, [early, late]: [Phase; 2]) -> Result<Rank, Error> {
        let gap = match place.at {
            Point::Start => 0,
            Point::End => self.parts.len(),
            Point::Before(stage) => self.computing(axis, place, stage)?[0],
            Point::After(stage) => self.computing(axis, place, stage)?[1] + 1,
        };
        Ok(Rank { gap, phase: if place.early { early } else { late } })
    }

    /// Returns the first and the last part in which a stage is computed.
    fn computing(&self, axis: AxisId, place: StepPlace, stage: StageId) -> Result<[usize; 2], Error> {
        let computes = |at: &usize| stages(self.parts[*at]).contains(&stage);
        let mut found = (0..self.parts.len()).filter(computes);
        if let Some(first) = found.next() {
            return Ok([first, found.next_back().unwrap_or(first)]);
        }
        let (name, axis) = (&self.program.stages[stage].name, &self.program.axes[axis].name);
        let error = Error::new(place.span, format!("`{name}` is not computed in the steps of `{axis}`"));
        let error = match self.program.notes.pipelines.iter().find(|p| p.stage == stage) {
            Some(other) => {
                error.note_at(other.span, format!("`{name}` is a copy of a pipeline, which determines where it is made"))
            }
            None => error,
        };
        let mut there: Vec<StageId> = Vec::new();
        for stage in self.parts.iter().flat_map(|part| stages(part)) {
            if !there.contains(&stage) {
                there.push(stage);
            }
        }
        let there = list(there.into_iter().map(|stage| &self.program.stages[stage].name));
        Err(error.help(format!("name a stage that is computed in a step: {there}")))
    }

    fn stages_of(&self, part: usize) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for stage in self.parts.get(part).into_iter().flat_map(|part| stages(part)) {
            let name = self.program.stages[stage].name.clone();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

fn add_parts<'p>(block: &'p Block, parts: &mut Vec<&'p Node>) {
    for node in block {
        match &node.kind {
            NodeKind::Alloc { body, .. } => add_parts(body, parts),
            _ => parts.push(node),
        }
    }
}

/// Returns the stages whose leaves are in a node.
fn stages(node: &Node) -> Vec<StageId> {
    let of = |node: &Node| match &node.kind {
        NodeKind::Compute(compute) => Some(compute.stage),
        NodeKind::AllReduce(reduction) => Some(reduction.stage),
        _ => None,
    };
    walk::nodes(std::slice::from_ref(node)).filter_map(of).collect()
}

/// True if a node, or a node inside it, reads a buffer.
fn reads(program: &Program, node: &Node, buffer: BufferId) -> bool {
    walk::nodes(std::slice::from_ref(node)).any(|node| node.reads(&program.exprs, buffer))
}

/// Removes the allocations and nests of copies from a step. Adds the nests to `nests`.
pub(super) fn without(block: Block, copies: &HashSet<BufferId>, nests: &mut Vec<Node>) -> Block {
    let mut left = Vec::new();
    for node in block {
        match node.kind {
            NodeKind::Alloc { buffer, body } => {
                let body = without(body, copies, nests);
                match copies.contains(&buffer) {
                    true => left.extend(body),
                    false => left.push(Node::new(NodeKind::Alloc { buffer, body }, node.span)),
                }
            }
            _ if fills(&node, copies) => nests.push(node),
            _ => left.push(node),
        }
    }
    left
}

/// True if a node, or a node inside it, writes one of some buffers.
pub(super) fn fills(node: &Node, buffers: &HashSet<BufferId>) -> bool {
    walk::nodes(std::slice::from_ref(node)).any(|node| node.writes().iter().any(|buffer| buffers.contains(buffer)))
}

/// Inserts the fetches and stores into the gaps of a step.
pub(super) fn with(body: Block, groups: BTreeMap<(usize, Phase), Block>) -> Block {
    let mut gaps: BTreeMap<usize, Block> = BTreeMap::new();
    for ((gap, phase), nodes) in groups {
        let Some(span) = nodes.first().map(|node| node.span) else { continue };
        let into = gaps.entry(gap).or_default();
        // Later phases follow the barrier, if there is one.
        if !into.is_empty() && phase >= Phase::Store {
            into.push(hint(span));
        }
        into.extend(nodes);
        if phase <= Phase::EarlyFetch {
            into.push(hint(span));
        }
    }
    // The start of the step is outside all allocations, so that a barrier there belongs to the loop.
    let mut whole = gaps.remove(&0).unwrap_or_default();
    whole.extend(in_gaps(body, &mut 0, &mut gaps));
    whole.extend(gaps.into_values().flatten());
    whole
}

fn in_gaps(block: Block, at: &mut usize, gaps: &mut BTreeMap<usize, Block>) -> Block {
    let mut filled = Vec::new();
    for mut node in block {
        if let NodeKind::Alloc { body, .. } = &mut node.kind {
            *body = in_gaps(std::mem::take(body), at, gaps);
        } else {
            filled.extend(gaps.remove(at).unwrap_or_default());
            *at += 1;
        }
        filled.push(node);
    }
    filled
}

/// Lets the readers of copies with several buffers read the version of the current step.
pub(super) fn version_reads(program: &Program, body: &mut Block, axis: AxisId, copies: &HashSet<BufferId>) {
    let version = program.exprs.axis(axis);
    let has_versions = |buffer: BufferId| copies.contains(&buffer) && program.buffers[buffer].versions > 1;
    let versioned = |value: ExprId| {
        program.exprs.replace(value, &mut |exprs, id| match exprs.get(id) {
            Expr::Read(read) if has_versions(read.buffer) => {
                let mut read = read.clone();
                read.index.insert(0, version);
                Some(exprs.add(Expr::Read(read), exprs.dtype(id)))
            }
            _ => None,
        })
    };
    walk::each_mut(body, &mut |node| {
        if let NodeKind::Compute(compute) = &mut node.kind {
            compute.values_mut(&program.exprs).for_each(|value| *value = versioned(*value));
        }
    });
}
