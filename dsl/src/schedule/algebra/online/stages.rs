//! The stage that replaces the members. Its state is the maximum so far and the sums relative to it. Two states combine relative to
//! the larger of both maxima (Milakov and Gimelshein, *Online normalizer calculation for softmax*, 2018). The combination is
//! associative and commutative, so the reduction is scheduled like any other.
//!
//! For members `m`, `l` and `o` with the scores `s[i, j]`, the stages are:
//!
//! | | without blocks | with blocks |
//! |---|---|---|
//! | `m_b[j_o, i]` | | the largest score of a block |
//! | `p[j_o, i, j]` | | the kernel's own pointwise `p`, if only members read it, relative to the block's maximum |
//! | `l_b[j_o, i]`, `o_b[j_o, i, e]` | | the sums of a block, relative to its maximum |
//! | `o[i, e]` | over `j`, of `(s, 1, v)` | over `j_o`, of `(m_b, l_b, o_b)` |

use super::blocks::{Blocks, Wanted};
use super::recognize::{Online, Sum, expanded, renamed, sees};
use crate::arena::{Arena, Id};
use crate::diag::{Error, SpanId};
use crate::expr::{Binary, Compare, Const, Expr, ExprId, Exprs, Outside};
use crate::facts::sources::defined::known_of;
use crate::nest::fill::known_by;
use crate::nest::{AxisDef, AxisId, Body, BufferId, Monoid, Program, Running, Space, Stage, StageId};
use crate::schedule::algebra::new_stages::open_before;
use crate::schedule::algebra::pack::rewrite::guard;
use crate::syntax::Name;
use std::collections::{HashMap, HashSet};

/// The inputs of the decomposition.
pub(super) struct Decomposition<'d> {
    pub(super) of: Online,
    /// The members' names, for errors.
    pub(super) members: &'d [Name],
    /// The requested blocks.
    pub(super) blocks: Option<Wanted<'d>>,
    /// The stages that the schedule places within others.
    pub(super) placed: Vec<String>,
    pub(super) span: SpanId,
}

impl Decomposition<'_> {
    pub(super) fn last(&self) -> &Sum {
        &self.of.sums[self.of.sums.len() - 1]
    }

    /// The stage that computes all members.
    pub(super) fn target(&self) -> StageId {
        self.last().stage
    }

    /// Makes the stages.
    pub(super) fn make(&self, program: &mut Program) -> Result<(), Error> {
        let hidden = self.hidden(program);
        let gone: Vec<StageId> = self.merged().chain(hidden.iter().copied()).collect();
        let also = self.also(program, &gone)?;
        let finishes = self.finishes(program)?;
        let score = renamed(&program.exprs, self.score(program), &self.last().axes);
        let weights = self.of.sums.iter().map(|sum| renamed(&program.exprs, sum.weight, &self.to_target(sum)));
        let mut lift: Vec<ExprId> = [score].into_iter().chain(weights).collect();
        let monoid = self.monoid(program, &lift);
        let blocks = self.blocks.as_ref().map(|wanted| Blocks::new(program, self, &hidden, wanted)).transpose()?;

        let opened = blocks.as_ref().map_or(0, Blocks::count);
        open_before(program, self.target(), opened);
        let moved = |stage: StageId| if stage < self.target() { stage } else { StageId::new(stage.index() + opened) };
        let target = moved(self.target());
        if let Some(blocks) = blocks {
            if blocks.computed_within {
                let below = self.below(program, &lift, blocks.has_scores);
                program.notes.running.push(Running { target: program.stages[target].buffer, below });
            }
            lift = blocks.make(program, target);
        }
        let stored = |(buffer, n): (BufferId, usize)| {
            let component = || program.exprs.add(Expr::State(0), program.exprs.dtype(monoid.identity[0]));
            (buffer, n.checked_sub(1).map_or_else(component, |n| finishes[n]))
        };
        let also = also.into_iter().map(stored).collect();
        let stage = &mut program.stages[target];
        stage.also = also;
        if let Body::Reduce { monoid: own, lift: items, finish, .. } = &mut stage.body {
            (*own, *items, *finish) = (monoid, lift, finishes[finishes.len() - 1]);
        }
        guard(program, target);
        let whole = program.stages[target].name.clone();
        for part in gone.iter().map(|stage| moved(*stage)) {
            let part = program.stages[part].name.clone();
            // A block can have its own stage of that name.
            if program.stages.values().filter(|stage| stage.name == part).count() == 1 {
                program.notes.merged.push((part, whole.clone()));
            }
        }
        remove(program, &gone.into_iter().map(moved).collect());
        Ok(())
    }

    pub(super) fn score(&self, program: &Program) -> ExprId {
        match &program.stages[self.of.max].body {
            Body::Reduce { lift, .. } => lift[0],
            Body::Map(value) => *value,
        }
    }

    /// True if a score can be -inf.
    pub(super) fn score_can_be_lowest(&self, program: &Program) -> bool {
        let known = known_by(program, self.score(program), &|e| match program.exprs.get(e) {
            Expr::Read(read) if matches!(read.outside, Outside::Never) && !program.checks.finite.contains(&read.buffer) => {
                Some(known_of(program, read.buffer, &|_| true))
            }
            _ => None,
        });
        known.admits(f64::NEG_INFINITY)
    }

    /// Returns the members that the last one computes.
    pub(super) fn merged(&self) -> impl Iterator<Item = StageId> {
        let sums = &self.of.sums[..self.of.sums.len() - 1];
        [self.of.max].into_iter().chain(sums.iter().map(|sum| sum.stage))
    }

    /// Maps the axes of a member to the target's axes.
    pub(super) fn in_target(&self, member: usize) -> HashMap<AxisId, AxisId> {
        match member.checked_sub(1) {
            None => self.last().axes.clone(),
            Some(n) => self.to_target(&self.of.sums[n]),
        }
    }

    /// Maps the axes of a sum to the target's axes.
    fn to_target(&self, sum: &Sum) -> HashMap<AxisId, AxisId> {
        sum.axes.iter().filter_map(|(of, own)| Some((*own, *self.last().axes.get(of)?))).collect()
    }

    /// Returns the pointwise intermediates that depend on the maximum, and that only members or other such intermediates read.
    fn hidden(&self, program: &Program) -> Vec<StageId> {
        let max = program.stages[self.of.max].buffer;
        let (mut hidden, mut read_elsewhere) = (Vec::new(), HashSet::new());
        for id in program.stages.ids().collect::<Vec<_>>().into_iter().rev() {
            let stage = &program.stages[id];
            let is_hidden = program.buffers[stage.buffer].space == Space::Temporary && sees(program, stage.buffer, max);
            if is_hidden && !read_elsewhere.contains(&stage.buffer) {
                hidden.push(id);
            } else if id != self.target() && self.merged().all(|member| member != id) {
                read_elsewhere.extend(reads(program, stage));
            }
        }
        hidden.reverse();
        hidden
    }

    /// Returns the members that other stages also read, each with its component of the state.
    fn also(&self, program: &Program, gone: &[StageId]) -> Result<Vec<(BufferId, usize)>, Error> {
        let mut also = Vec::new();
        for (n, member) in self.merged().enumerate() {
            let buffer = program.stages[member].buffer;
            let reads = |(id, stage): &(StageId, &Stage)| {
                *id != self.target() && !gone.contains(id) && reads(program, stage).contains(&buffer)
            };
            let readers: Vec<(StageId, &Stage)> = program.stages.iter().filter(reads).collect();
            if program.buffers[buffer].space == Space::Temporary && readers.is_empty() {
                continue;
            }
            let (name, last) = (&self.members[n], &self.members[self.members.len() - 1]);
            let of = self.in_target(n);
            let here = program.stages[member].axes.iter().map(|axis| of.get(axis).copied());
            if !here.eq(program.stages[self.target()].axes.iter().map(|axis| Some(*axis))) {
                let error = Error::new(name.span, format!("`{name}` is needed besides `{last}`, but has other axes"));
                let (error, other) = match readers.first() {
                    Some((_, reader)) => (error.note(format!("`{}` reads it", reader.name)), format!("`{}`", reader.name)),
                    None => (error.note("it is an output"), "the output".into()),
                };
                let help = format!(
                    "define it twice in the kernel, under two names: one for `{last}`, which then computes it, one for {other}"
                );
                return Err(error.help(help));
            }
            if let Some((_, reader)) = readers.iter().find(|(id, _)| *id < self.target()) {
                let error = Error::new(name.span, format!("`{}` reads `{name}` before `{last}` is defined", reader.name));
                let (own, reader) = (sees(program, reader.buffer, buffer), &reader.name);
                return Err(error.help(match own {
                    true => {
                        format!("name all sums that read `{reader}`, or define it twice: for those that are named, and for others")
                    }
                    false => format!("define `{reader}` after `{last}`, which then computes both"),
                }));
            }
            also.push((buffer, n));
        }
        Ok(also)
    }

    /// Returns the stored value of each sum, over the components of the state and the target's axes.
    fn finishes(&self, program: &Program) -> Result<Vec<ExprId>, Error> {
        let exprs = &program.exprs;
        let index = |stage: StageId, of: &HashMap<AxisId, AxisId>| {
            program.stages[stage].axes.iter().map(|axis| exprs.axis(*of.get(axis).unwrap_or(axis))).collect::<Vec<_>>()
        };
        let max = exprs.add(Expr::State(0), exprs.dtype(self.score(program)));
        let mut known = vec![(program.stages[self.of.max].buffer, index(self.of.max, &self.last().axes), max)];
        let mut finishes = Vec::new();
        for (n, sum) in self.of.sums.iter().enumerate() {
            let to_target = self.to_target(sum);
            let finish = renamed(exprs, sum.finish, &to_target);
            let finish = expanded(program, finish, &|buffer| known.iter().any(|(member, ..)| sees(program, buffer, *member)));
            let mut elsewhere = None;
            let finish = exprs.replace(finish, &mut |exprs, id| match exprs.get(id) {
                Expr::State(0) => Some(exprs.add(Expr::State(n as u32 + 1), exprs.dtype(id))),
                Expr::Read(read) => {
                    let (_, own, value) = known.iter().find(|(buffer, ..)| *buffer == read.buffer)?;
                    if own.as_slice() != read.index.as_slice() {
                        elsewhere = Some(program.buffers[read.buffer].name.clone());
                    }
                    Some(*value)
                }
                _ => None,
            });
            if let Some(other) = elsewhere {
                let name = &self.members[n + 1];
                let error = Error::new(name.span, format!("`{name}` reads `{other}` at another point than its own"));
                return Err(error.help(format!("read `{other}` at axes of `{name}` itself, each alone and once")));
            }
            known.push((program.stages[sum.stage].buffer, index(sum.stage, &to_target), finish));
            finishes.push(finish);
        }
        Ok(finishes)
    }

    /// Returns the monoid that combines two states relative to the larger maximum. A factor is 0 if its maximum is -inf, even if
    /// both are.
    fn monoid(&self, program: &Program, lift: &[ExprId]) -> Monoid {
        let exprs = &program.exprs;
        let dtype = |n: usize| exprs.dtype(lift[n]);
        let state = |n: usize| exprs.add(Expr::State(n as u32), dtype(n));
        let item = |n: usize| exprs.add(Expr::Item(n as u32), dtype(n));
        let max = exprs.binary(Binary::Max, state(0), item(0));
        let base = above_nothing(exprs, max);
        let factors = [state(0), item(0)].map(|max| self.of.rescale.factor(program, max, base));
        let sum = |n: usize| {
            let [old, new] = factors.map(|factor| exprs.cast(dtype(n), factor));
            exprs.sum(exprs.product(state(n), old), exprs.product(item(n), new))
        };
        let zero = |n: usize| exprs.constant(Const::number(0.0, dtype(n)));
        let lowest = exprs.constant(Const::number(f64::NEG_INFINITY, dtype(0)));
        let sums = 1..lift.len();
        Monoid {
            name: "online".into(),
            identity: [lowest].into_iter().chain(sums.clone().map(zero)).collect(),
            combine: [max].into_iter().chain(sums.map(sum)).collect(),
        }
    }

    /// Returns the state relative to an item's maximum, which must be at least the state's own. If every item has a score above -inf, its
    /// maximum is a number.
    fn below(&self, program: &Program, lift: &[ExprId], has_scores: bool) -> Vec<ExprId> {
        let exprs = &program.exprs;
        let state = |n: usize| exprs.add(Expr::State(n as u32), exprs.dtype(lift[n]));
        let max = exprs.add(Expr::Item(0), exprs.dtype(lift[0]));
        let base = if has_scores { max } else { above_nothing(exprs, max) };
        let factor = self.of.rescale.factor(program, state(0), base);
        let sum = |n: usize| exprs.product(state(n), exprs.cast(exprs.dtype(lift[n]), factor));
        [state(0)].into_iter().chain((1..lift.len()).map(sum)).collect()
    }
}

/// Returns the number that exponentials are taken relative to: the maximum, or 0 if all scores are -inf, so that their exponentials
/// are 0. The smallest finite number would not work instead of -inf, because drivers multiply both operands of a difference within
/// an exponential by the logarithm of its base.
pub(super) fn above_nothing(exprs: &Exprs, max: ExprId) -> ExprId {
    let number = |value: f64| exprs.constant(Const::number(value, exprs.dtype(max)));
    let nothing = exprs.compare(Compare::Eq, max, number(f64::NEG_INFINITY));
    exprs.select(nothing, number(0.0), max)
}

/// Returns the buffers that a stage reads.
fn reads(program: &Program, stage: &Stage) -> HashSet<BufferId> {
    stage.values().into_iter().flat_map(|value| program.exprs.reads(value)).map(|read| read.buffer).collect()
}

/// Removes stages. The stages after them get new ids.
fn remove(program: &mut Program, gone: &HashSet<StageId>) {
    let (old, mut new, mut numbers) = (std::mem::take(&mut program.stages), Arena::new(), HashMap::new());
    for (id, stage) in old.iter().filter(|(id, _)| !gone.contains(id)) {
        numbers.insert(id, new.push(stage.clone()));
    }
    program.stages = new;
    for axis in program.axes.ids().collect::<Vec<_>>() {
        if let AxisDef::Root(of) = program.axes[axis].def {
            program.axes[axis].def = numbers.get(&of).map_or(AxisDef::Made, |of| AxisDef::Root(*of));
        }
    }
}
