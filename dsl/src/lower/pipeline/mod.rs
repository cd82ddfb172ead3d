//! Makes pipelines: shared copies of later steps are prefetched while a step is computed, as `pipeline` says.
//!
//! The loop over the steps moves out of the copies' scopes, and the copies' nests move out of the loop. Each nest becomes a fetch into
//! registers and a store from them ([`copy`]). Both are placed at their points in the step ([`step`]), and before the loop for the first
//! steps:
//!
//! ```text
//! for k_o                               shared a_s
//!   shared a_s                            register a_s_next
//!     for …: write a_s = a[k_o, …]          once k_o_next = min(0, …): fetch, store
//!     for k: update c += a_s[…]     ──▶     for k_o
//!                                             once k_o_next = min(k_o + 1, …): write a_s_next = a[k_o_next, …]
//!                                             for k: update c += a_s[…]
//!                                             for …: write a_s = a_s_next
//! ```
//!
//! A store before the copy's first reader is for this step, and any other store is for the next step. With three buffers, it is for one
//! step later. A fetch is for the store that follows it. Without registers, a copy is made as many steps ahead as it has spare buffers.
//!
//! [`super::barriers`] places the barriers. If it has several places to choose from, the hints that are left here decide.

mod copy;
mod step;

use crate::diag::{Error, Errors, SpanId};
use crate::nest::walk;
use crate::nest::{AxisId, Block, BufferId, Exec, Loop, Made, Node, NodeKind, Program, Scope, Step};
use copy::Ahead;
use std::collections::{BTreeMap, HashSet};
use step::{Phase, Steps};

/// Lowers all pipelines.
pub(super) fn run(program: &mut Program) -> Result<(), Errors> {
    let mut work = Work { program, done: HashSet::new(), errors: Errors::new() };
    if work.program.notes.pipelines.is_empty() {
        return Ok(());
    }
    for at in 0..work.program.plan.len() {
        let mut body = std::mem::take(&mut work.program.plan[at].body);
        work.block(&mut body);
        work.program.plan[at].body = body;
    }
    let lost: Vec<usize> = (0..work.program.notes.pipelines.len()).filter(|n| !work.done.contains(n)).collect();
    for n in lost {
        let error = no_loop(work.program, n);
        work.errors.push(error);
    }
    work.errors.into_result()
}

struct Work<'p> {
    program: &'p mut Program,
    /// The pipelines whose loops were found.
    done: HashSet<usize>,
    errors: Errors,
}

impl Work<'_> {
    fn block(&mut self, block: &mut Block) {
        for mut node in std::mem::take(block) {
            node.blocks_mut().for_each(|inner| self.block(inner));
            let here = match &node.kind {
                NodeKind::Loop(looped) if looped.exec == Exec::Serial => self.made_in(looped),
                _ => Vec::new(),
            };
            self.done.extend(&here);
            match &node.kind {
                NodeKind::Loop(looped) if !here.is_empty() => match self.pipelined(looped, node.span, &here) {
                    Ok(nodes) => block.extend(nodes),
                    Err(error) => self.errors.push(error),
                },
                _ => block.push(node),
            }
        }
    }

    /// Returns the pipelines over a loop whose copies are allocated directly in it.
    fn made_in(&self, looped: &Loop) -> Vec<usize> {
        let lives = lives(&looped.body);
        let is_here = |n: &usize| {
            let pipeline = &self.program.notes.pipelines[*n];
            pipeline.axis == looped.axis && lives.contains(&pipeline.copy)
        };
        (0..self.program.notes.pipelines.len()).filter(is_here).collect()
    }

    /// Rewrites a loop to its pipelines.
    fn pipelined(&mut self, looped: &Loop, span: SpanId, here: &[usize]) -> Result<Block, Error> {
        let axis = looped.axis;
        let mut body = looped.body.clone();
        let copies: HashSet<BufferId> = here.iter().map(|n| self.program.notes.pipelines[*n].copy).collect();
        let mut nests = Vec::new();
        body = step::without(body, &copies, &mut nests);
        let steps = Steps::of(self.program, &body);
        let ranks = here.iter().map(|n| steps.ranks(axis, *n)).collect::<Result<Vec<_>, Error>>()?;
        let next = self.next_axis(axis, span);
        let copies_at = here.iter().zip(ranks);
        let ahead = copies_at.map(|(n, ranks)| Ahead::new(self.program, *n, &nests, next, ranks));
        let mut ahead = ahead.collect::<Result<Vec<_>, Error>>()?;
        copy::check_registers(self.program, &ahead)?;
        for copy in &mut ahead {
            copy.make(self.program);
            self.program.notes.pipelines[copy.pipeline].made = Some(Made { step: next, registers: copy.stage() });
        }
        let mut groups: BTreeMap<(usize, Phase), Block> = BTreeMap::new();
        for (phase, fetches) in [(Phase::EarlyFetch, true), (Phase::Fetch, true), (Phase::EarlyStore, false), (Phase::Store, false)]
        {
            for copy in &ahead {
                let rank = if fetches { copy.ranks.fetch } else { Some(copy.ranks.store) };
                let Some(rank) = rank.filter(|rank| rank.phase == phase) else { continue };
                let nodes = if fetches { copy.fetch_ahead(axis) } else { copy.store_ahead(self.program, axis) };
                groups.entry((rank.gap, phase)).or_default().extend(nodes);
            }
        }
        step::version_reads(self.program, &mut body, axis, &copies);
        let body = step::with(body, groups);
        let mut whole = self.prologue(&ahead, next, span);
        whole.push(Node::new(NodeKind::Loop(Loop { body, ..looped.clone() }), span));
        let copies = here.iter().map(|n| self.program.notes.pipelines[*n].copy);
        let buffers: Vec<BufferId> = copies.chain(ahead.iter().filter_map(|copy| copy.registers())).collect();
        let alloc =
            |body: Block, buffer: BufferId| vec![Node::new(NodeKind::Alloc { buffer, body }, self.program.buffers[buffer].span)];
        Ok(buffers.into_iter().rev().fold(whole, alloc))
    }

    /// Returns the code before the loop: it makes the first steps, and the copies for which the first fetch in the loop is too late.
    fn prologue(&self, ahead: &[Ahead], next: AxisId, span: SpanId) -> Block {
        let last = ahead.iter().map(|copy| copy.ranks.first_steps()).max().unwrap_or(0);
        let mut block = Vec::new();
        for n in 0..last {
            let fetches = ahead.iter().flat_map(|copy| copy.fetch_first(n));
            let stores = ahead.iter().flat_map(|copy| copy.store_first(self.program, n));
            let body: Block = fetches.chain(stores).collect();
            let looped = Loop::new(next, Exec::Step(Step::First(n)), body);
            block.push(Node::new(NodeKind::Loop(looped), span));
        }
        block
    }

    /// Creates the axis whose value is the fetched step.
    fn next_axis(&mut self, axis: AxisId, span: SpanId) -> AxisId {
        use crate::nest::{Axis, AxisDef, Fate};
        let of = self.program.axes[axis].clone();
        let name = format!("{}_next", of.name);
        self.program.axes.push(Axis { name, def: AxisDef::Made, fate: Fate::Live, span, ..of })
    }
}

/// Returns the buffers that are allocated in a block, or directly in those allocations.
fn lives(block: &Block) -> Vec<BufferId> {
    let mut found = Vec::new();
    for node in block {
        if let NodeKind::Alloc { buffer, body } = &node.kind {
            found.push(*buffer);
            found.extend(lives(body));
        }
    }
    found
}

/// Returns a hint for the placement of a barrier.
fn hint(span: SpanId) -> Node {
    Node::barrier(Scope::Invocation, span)
}

/// Returns the error for a pipeline whose loop was changed by directives after `pipeline`.
fn no_loop(program: &Program, n: usize) -> Error {
    let pipeline = &program.notes.pipelines[n];
    let (axis, copy) = (&program.axes[pipeline.axis], &program.buffers[pipeline.copy].name);
    let mut made_at = None;
    for dispatch in &program.plan {
        walk::within(&dispatch.body, &mut |node, around| {
            if matches!(node.kind, NodeKind::Alloc { buffer, .. } if buffer == pipeline.copy) {
                made_at = around.iter().rfind(|l| matches!(l.exec, Exec::Serial | Exec::Unroll)).copied();
            }
        });
    }
    let what = format!("cannot pipeline `{copy}`: it is not made in a serial loop over `{}`", axis.name);
    let error = Error::new(pipeline.span, what);
    match made_at {
        Some(at) if at.axis == pipeline.axis => {
            let error = error.note_at(at.span, format!("`{}` is unrolled here", axis.name));
            error.help(format!("keep `{}` a serial loop, because its iterations are the steps", axis.name))
        }
        Some(at) => {
            let name = &program.axes[at.axis].name;
            let error = error
                .note_at(at.span, format!("it is made at the loop over `{name}`, because of this directive and those after it"));
            error.help(format!("move `pipeline({name}, …)` below the directives that make and move loops"))
        }
        None => error.help("move `pipeline` below the directives that make and move loops"),
    }
}
