//! The resolution of a schedule's names: turns its items into directives of stages, by id.
//!
//! [`resolve`] runs after the rewrites of the algebra, which give stages their ids, and before the first nest is made. [`super::apply`]
//! applies the directives of each stage, and the planner asks which stages have directives. A copy or a stage of partial results exists
//! only after the directive that makes it is applied, so its block is found by its name.
//!
//! Refused: a name that is not the name of a stage with a nest; a directive outside of blocks, if the kernel has several outputs.

use super::algebra::decompose;
use super::default::is_default;
use super::placement::{self, Placement, Placements};
use super::stage_names;
use crate::diag::{Error, Errors, SpanId, list};
use crate::nest::{Level, Program, StageId};
use crate::syntax::Name;
use crate::syntax::schedule::{Directive, DirectiveKind, Item, Memory, Schedule};
use std::collections::HashSet;

/// A schedule whose names are resolved.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResolvedSchedule {
    pub(super) blocks: Vec<ResolvedBlock>,
    pub(super) placements: Placements,
}

/// Directives that rewrite the nest of one stage or copy.
#[derive(Clone, Debug)]
pub(super) struct ResolvedBlock {
    /// The name before its braces. `None` for a directive outside of blocks.
    name: Option<Name>,
    pub(super) of: Scheduled,
    /// The directives up to the last `rfactor`, which come before the stage is placed at a loop by `compute_at`.
    pub(super) before: Vec<Directive>,
    directives: Vec<Directive>,
}

/// The stage or copy that directives are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheduled {
    /// A stage of the program.
    Stage(StageId),
    /// A copy or stage that a directive of the schedule makes.
    Made,
    /// A stage that this decomposition replaces.
    Replaced(SpanId),
    /// An unknown stage, or the result of a kernel with several results.
    Unknown,
}

/// Resolves the names of a schedule. `program` has stages after the rewrites of the algebra.
///
/// # Errors
/// Reports invalid placements, and a second `default` of a stage.
pub(crate) fn resolve(program: &Program, schedule: &Schedule) -> Result<ResolvedSchedule, Errors> {
    let directives = || schedule.directives();
    let made = directives().filter_map(|directive| Some(directive.kind.makes()?.text)).collect();
    let placed = directives().filter_map(|directive| Some(placed_name(directive)?.text)).collect();
    let names = Names { program, schedule, made, placed };
    let mut blocks = Vec::new();
    for item in &schedule.items {
        match item {
            Item::Directive(directive) if directive.kind.is_placement() => {}
            Item::Directive(directive) => {
                let of = program.only_result().map_or(Scheduled::Unknown, Scheduled::Stage);
                blocks.push(ResolvedBlock { name: None, of, before: Vec::new(), directives: vec![directive.clone()] });
            }
            Item::Block { stages, directives } => {
                blocks.extend(stages.iter().map(|name| names.block(name, directives)));
            }
            // Statements are applied by the rewrites of the algebra.
            Item::Statement(_) => {}
        }
    }
    mark_distributed(&mut blocks);
    let mut errors = Errors::new();
    let placements = placement::placements(program, schedule, &mut errors);
    blocks.iter().for_each(|block| block.check_computed(&mut errors));
    plan_once(program, &blocks, &mut errors);
    errors.into_result().map(|()| ResolvedSchedule { blocks, placements })
}

/// The names of a schedule.
struct Names<'s> {
    program: &'s Program,
    schedule: &'s Schedule,
    /// The copies and stages that its directives make.
    made: HashSet<String>,
    /// The copies and stages that its directives place in the nests of stages.
    placed: HashSet<String>,
}

impl Names<'_> {
    /// Resolves a block of one stage or copy.
    fn block(&self, name: &Name, directives: &[Directive]) -> ResolvedBlock {
        let of = match (self.program.stage_named(&name.text), decompose::of(self.schedule, name)) {
            (Some(stage), _) => Scheduled::Stage(stage),
            _ if self.made.contains(&name.text) || self.placed.contains(&name.text) => Scheduled::Made,
            (None, Some(statement)) => Scheduled::Replaced(statement.span),
            (None, None) => Scheduled::Unknown,
        };
        let is_rfactor = |d: &Directive| matches!(d.kind, DirectiveKind::Rfactor { .. });
        let mut before: Vec<Directive> = directives.iter().filter(|d| !d.kind.is_placement()).cloned().collect();
        let last = before.iter().rposition(is_rfactor).filter(|_| self.placed.contains(&name.text));
        let directives = before.split_off(last.map_or(0, |last| last + 1));
        ResolvedBlock { name: Some(name.clone()), of, before, directives }
    }
}

impl ResolvedBlock {
    fn is_named(&self, name: &str) -> bool {
        self.name.as_ref().is_some_and(|own| own.text == name)
    }

    fn all(&self) -> impl Iterator<Item = &Directive> {
        self.before.iter().chain(&self.directives)
    }

    /// Checks that the block does not place its own stage.
    fn check_computed(&self, errors: &mut Errors) {
        for placed in self.all().filter_map(placement::computed).filter(|placed| self.is_named(&placed.text)) {
            let error = Error::new(placed.span, format!("`{placed}` would be computed within its own nest"));
            errors.push(error.help("place it at a loop of a stage that reads it"));
        }
    }

    /// True if a directive of the block makes the copy or stage of another block.
    fn makes(&self, other: &ResolvedBlock) -> bool {
        let names = self.all().flat_map(|directive| directive.kind.makes().into_iter().chain(placed_name(directive)));
        names.into_iter().any(|name| other.is_named(&name.text))
    }
}

/// Returns the name of the copy or stage that a directive places in the nest of its stage.
fn placed_name(directive: &Directive) -> Option<Name> {
    match &directive.kind {
        DirectiveKind::Promote(placed) | DirectiveKind::ComputeAt(placed) => Some(placed.copy_name()),
        _ => None,
    }
}

/// Marks the copies to registers that a block distributes.
fn mark_distributed(blocks: &mut [ResolvedBlock]) {
    let deals = |d: &Directive| match &d.kind {
        DirectiveKind::Distribute { target, by: None, .. } | DirectiveKind::Tile { target: Some(target), by: None, .. } => {
            target.level != Level::Workgroup
        }
        _ => false,
    };
    let dealing = blocks.iter().filter(|block| block.all().any(deals));
    let dealt: HashSet<String> = dealing.filter_map(|block| Some(block.name.as_ref()?.text.clone())).collect();
    for directive in blocks.iter_mut().flat_map(|block| block.before.iter_mut().chain(&mut block.directives)) {
        if let DirectiveKind::Promote(p) | DirectiveKind::ComputeAt(p) = &mut directive.kind {
            p.dealt |= p.to == Memory::Register && dealt.contains(&p.copy_name().text);
        }
    }
}

impl ResolvedSchedule {
    /// Returns the directives for the nest of a stage, in order.
    pub(super) fn of(&self, program: &Program, stage: StageId) -> Vec<&Directive> {
        let name = &program.stages[stage].name;
        let is_own = |b: &&ResolvedBlock| b.of == Scheduled::Stage(stage) || (b.of == Scheduled::Made && b.is_named(name));
        self.blocks.iter().filter(is_own).flat_map(|block| &block.directives).collect()
    }

    /// Returns the directives for a copy, or for a stage that is placed at a loop.
    pub(super) fn of_copy(&self, name: &str) -> Vec<&Directive> {
        self.blocks.iter().filter(|block| block.is_named(name)).flat_map(|block| &block.directives).collect()
    }

    /// Returns the place of the user's first directive for a stage's nest, if there is one.
    pub(super) fn written(&self, stage: StageId) -> Option<SpanId> {
        let own = self.blocks.iter().filter(|block| block.of == Scheduled::Stage(stage));
        let block = own.into_iter().find(|block| block.all().all(|d| d.planned.is_none()))?;
        block.name.as_ref().map(|name| name.span).or(block.all().next().map(|d| d.span))
    }

    /// True if the schedule places an intermediate.
    pub(crate) fn places(&self, stage: StageId) -> bool {
        self.placements.contains_key(&stage)
    }

    /// True if the schedule places an intermediate, and does not inline it.
    pub(crate) fn keeps(&self, stage: StageId) -> bool {
        self.placements.get(&stage).is_some_and(|(placement, _)| *placement != Placement::Inlined)
    }

    /// True if the schedule shapes the nest of a stage, and does not leave the rest to the planner by `default`.
    pub(crate) fn shapes(&self, program: &Program, stage: StageId) -> bool {
        let directives = self.of(program, stage);
        let is_shaped = !directives.iter().any(|d| is_default(d)) && directives.iter().any(|d| d.kind.shapes());
        is_shaped || matches!(self.placements.get(&stage), Some((Placement::Computed, _)))
    }

    /// True if the `default` of a stage is in a block.
    pub(crate) fn has_default_in_block(&self, stage: StageId) -> bool {
        let is_own = |block: &&ResolvedBlock| block.of == Scheduled::Stage(stage) && block.name.is_some();
        self.blocks.iter().filter(is_own).any(|block| block.all().any(is_default))
    }

    /// Returns the stages that `compute_at` places, which include stages of partial results.
    pub(super) fn computed_at(&self) -> impl Iterator<Item = &Name> {
        self.blocks.iter().flat_map(|block| block.all().filter_map(placement::computed))
    }

    /// Returns the part of the schedule for the stages that a program computes, and for the copies in their nests.
    pub(super) fn within(&self, program: &Program) -> ResolvedSchedule {
        let (mut left, mut own): (Vec<&ResolvedBlock>, Vec<ResolvedBlock>) = (self.blocks.iter().collect(), Vec::new());
        let is_own = |block: &ResolvedBlock, own: &[ResolvedBlock]| match block.of {
            Scheduled::Stage(stage) => program.is_planned(stage),
            _ => own.iter().any(|other| other.makes(block)),
        };
        while let Some(at) = left.iter().position(|block| is_own(block, &own)) {
            own.push(left.remove(at).clone());
        }
        ResolvedSchedule { blocks: own, placements: self.placements.clone() }
    }

    /// Reports directives that are not for a stage with a nest. `program` has naive nests, and `others` compute some of its stages.
    pub(crate) fn misplaced(&self, program: &Program, others: &[&Program]) -> Errors {
        let mut errors = Errors::new();
        let has_nest = |stage: StageId| program.is_planned(stage) || others.iter().any(|other| other.is_planned(stage));
        for ResolvedBlock { name, of, before, directives } in &self.blocks {
            match (of, name) {
                (Scheduled::Stage(stage), _) if has_nest(*stage) => {}
                (Scheduled::Made, _) if before.is_empty() => {}
                (of, Some(name)) => errors.push(without_nest(program, *of, name)),
                (_, None) => directives.iter().for_each(|directive| errors.push(of_several(program, directive.span))),
            }
        }
        errors
    }
}

/// Checks that each stage has one `default` at most.
fn plan_once(program: &Program, blocks: &[ResolvedBlock], errors: &mut Errors) {
    let name = |block: &ResolvedBlock| match block.of {
        Scheduled::Stage(stage) => Some(program.stages[stage].name.clone()),
        _ => block.name.as_ref().map(|name| name.text.clone()),
    };
    let mut seen: Vec<(Option<String>, SpanId)> = Vec::new();
    for (block, directive) in blocks.iter().flat_map(|block| block.all().map(move |directive| (block, directive))) {
        if !is_default(directive) {
            continue;
        }
        match seen.iter().find(|(other, _)| *other == name(block)) {
            Some((_, first)) => {
                let error = Error::new(directive.span, "`default` is written twice for one stage");
                errors.push(error.note_at(*first, "the first one is here").help("remove one of them"));
            }
            None => seen.push((name(block), directive.span)),
        }
    }
}

/// Reports a directive outside of blocks, if the kernel has several outputs.
fn of_several(program: &Program, span: SpanId) -> Error {
    let results = program.stages.ids().filter(|stage| program.is_result(*stage));
    let names = list(results.map(|stage| &program.stages[stage].name));
    let error = Error::new(span, "this kernel has several outputs, and the directive does not name one of them");
    error.help(format!("write the directives of each in its block, `name {{ … }}`: {names}"))
}

/// Reports the name of a block that is not the name of a stage with a nest.
fn without_nest(program: &Program, of: Scheduled, name: &Name) -> Error {
    let planned = program.stages.ids().filter(|stage| program.is_planned(*stage));
    let names: Vec<&str> = planned.map(|stage| program.stages[stage].name.as_str()).collect();
    if let Scheduled::Stage(_) = of {
        let what = format!("stage `{name}` is pointwise and inlined into its readers, so it does not have its own nest");
        let nests = format!("the stages with nests are {}", list(&names));
        return Error::new(name.span, what).help(format!("write `root({name});` to store it from a dispatch of its own; {nests}"));
    }
    if let Some(error) = stage_names::merged_and_scheduled(program, name) {
        return error;
    }
    let error = stage_names::unknown(program, name, "stage", &names);
    match of {
        Scheduled::Replaced(statement) => error.note_at(statement, "it is replaced by other stages here"),
        _ => error,
    }
}
