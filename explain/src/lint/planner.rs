//! The planner as an advice: compiles a schedule without the directives of a dispatch's stages, so that the planner plans them, and
//! judges whether a figure of the dispatch becomes better.

use super::{Advice, LintName, Look};
use crate::admit;
use crate::figures::{self, DimValues, Figures};
use std::collections::BTreeSet;
use tilewright_dsl::chains::{FloatChain, chains};
use tilewright_dsl::diag::SpanId;
use tilewright_dsl::launch;
use tilewright_dsl::nest::{NodeKind, Program, walk};
use tilewright_dsl::plan::{Block, Plan};
use tilewright_dsl::syntax::kernel::Statement as Definition;
use tilewright_dsl::syntax::schedule::{Item, Schedule};
use tilewright_dsl::variant::Variant;

/// The factor by which a figure has to become better.
const BETTER: f64 = 2.0;

/// A dispatch, as a lint judges it.
pub(super) struct JudgedDispatch<'a> {
    pub(super) figures: &'a Figures,
    pub(super) chains: Vec<FloatChain>,
    pub(super) known: &'a DimValues,
}

/// The version of a planned schedule that a launch takes.
#[derive(Debug)]
pub(super) struct Replanned {
    /// The advice, in a sentence.
    instead: String,
    /// The directives that the planner writes.
    plan: Plan,
    /// The dispatches, with their longest chains.
    dispatches: Vec<(Figures, Vec<FloatChain>)>,
    known: DimValues,
}

impl Look<'_> {
    /// Adds a lint about a figure of the dispatch. The planner's directives are the advice if they make the figure at least twice as
    /// good. Smaller figures are better.
    pub(super) fn note_planned(
        &mut self,
        name: LintName,
        what: String,
        advice: Advice,
        now: f64,
        figure: &dyn Fn(&JudgedDispatch<'_>) -> Option<f64>,
    ) {
        let stages = self.stages();
        let span = self.first_directive(&stages);
        let planned = span.and_then(|_| self.planned.get_or_init(|| self.replanned(&stages)).as_ref());
        let is_better = |planned: &&Replanned| self.after(planned, figure).is_some_and(|then| then * BETTER <= now);
        let advice = match planned.filter(is_better) {
            Some(Replanned { instead, plan, .. }) => Advice { plan: plan.clone(), ..advice.or(instead.clone(), None) },
            None => advice,
        };
        let definition = || self.nest.stages.iter().find(|(_, stage)| stages.contains(&stage.name)).map(|(_, stage)| stage.span);
        let span = span.or_else(definition).unwrap_or(SpanId::NONE);
        self.note(name, span, what, advice);
    }

    /// Returns the sum of a figure over the dispatches that replace this one.
    fn after(&self, planned: &Replanned, figure: &dyn Fn(&JudgedDispatch<'_>) -> Option<f64>) -> Option<f64> {
        let name = &self.figures.cost.name;
        let others: Vec<&String> = self.nest.plan.iter().map(|dispatch| &dispatch.name).filter(|other| *other != name).collect();
        let replaces = |(figures, _): &(Figures, _)| !others.contains(&&figures.cost.name);
        // The planner may compute the stage in the dispatch of another one.
        let is_placed = !planned.dispatches.iter().any(replaces);
        let new = planned.dispatches.iter().filter(|dispatch| is_placed || replaces(dispatch));
        new.map(|(figures, chains)| figure(&JudgedDispatch { figures, chains: chains.clone(), known: &planned.known })).sum()
    }

    /// Returns the names of the stages that the dispatch computes.
    fn stages(&self) -> BTreeSet<String> {
        let Some(dispatch) = self.nest.plan.get(self.dispatch) else { return BTreeSet::new() };
        let computed = walk::nodes(&dispatch.body).filter_map(|node| match &node.kind {
            NodeKind::Compute(compute) => Some(self.nest.stages[compute.stage].name.clone()),
            _ => None,
        });
        computed.chain([dispatch.name.clone()]).collect()
    }

    /// True if directives outside of blocks are for one of these stages.
    fn has_result(&self, stages: &BTreeSet<String>) -> bool {
        self.nest.stages.iter().any(|(id, stage)| self.nest.is_result(id) && stages.contains(&stage.name))
    }

    /// Returns the first directive that shapes the nest of one of these stages.
    fn first_directive(&self, stages: &BTreeSet<String>) -> Option<SpanId> {
        let has_result = self.has_result(stages);
        self.subject.schedule.items.iter().find_map(|item| match item {
            Item::Directive(directive) => (has_result && directive.kind.shapes()).then_some(directive.span),
            Item::Block { stages: named, directives } => {
                let own = named.iter().any(|name| stages.contains(&name.text));
                directives.iter().find(|directive| own && directive.kind.shapes()).map(|directive| directive.span)
            }
            Item::Statement(_) => None,
        })
    }

    /// Compiles the schedule without the directives of these stages, or, if that is refused, without any directives.
    fn replanned(&self, stages: &BTreeSet<String>) -> Option<Replanned> {
        let is_defined = |name: &String| {
            let mut defined = self.subject.kernel.statements.iter();
            defined.any(|statement| matches!(statement, Definition::Define(define) if define.name.text == *name))
        };
        let own: Vec<&String> = stages.iter().filter(|name| is_defined(name)).collect();
        let names = own.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
        // A stage that `rfactor` made exists only with the directives of another stage.
        let some = (own.len() == stages.len()).then(|| self.planned_by(&format!("the directives of {names}"), stages));
        some.flatten().or_else(|| {
            let all: BTreeSet<String> = self.nest.stages.iter().map(|(_, stage)| stage.name.clone()).collect();
            self.planned_by("all directives", &all)
        })
    }

    /// Returns the version that a launch takes, after the removal of some stages' directives. `removed` names these directives.
    fn planned_by(&self, removed: &str, stages: &BTreeSet<String>) -> Option<Replanned> {
        let has_result = self.has_result(stages);
        let all = self.nest.stages.iter().all(|(_, stage)| stages.contains(&stage.name));
        let stays = |item: &Item| match item {
            Item::Directive(directive) => !has_result || !directive.kind.shapes(),
            // A block can be for a copy, which exists only with its directive.
            Item::Block { stages: named, .. } => !all && !named.iter().any(|name| stages.contains(&name.text)),
            Item::Statement(_) => true,
        };
        let made = self.changed(|schedule: &mut Schedule| schedule.items.retain(stays))?;
        self.taken(made, removed)
    }

    /// Returns true if a launch at the given sizes can take a version. `None` if not all sizes are given.
    pub(super) fn admits(&self, program: &launch::Program) -> Option<bool> {
        let known = DimValues::new(program, &self.given.dims);
        if known.contradicted(program, &self.given.dims).is_some() {
            return Some(false);
        }
        known.all().map(|all| admit::refusal(program, &all).is_none())
    }

    /// Returns the version of a variant that a launch takes at the known sizes.
    fn taken(&self, made: Variant, removed: &str) -> Option<Replanned> {
        let under: Vec<String> = made.program.specialized.iter().map(|version| format!(" where `{}`", version.under)).collect();
        let under = under.into_iter().chain([String::new()]);
        let plans = made.plans.into_iter().chain([made.plan]);
        let nests = made.specialized.into_iter().chain([made.nest]);
        let versions = made.program.into_versions().ok()?.into_iter().zip(under).zip(nests.zip(plans));
        let is_taken = |((program, _), _): &((launch::Program, String), (Program, Plan))| self.admits(program) == Some(true);
        let ((program, under), (nest, plan)) = versions.into_iter().find(is_taken).filter(|(_, (_, plan))| !plan.is_empty())?;
        // The planner writes the same directives for the stages that it plans already.
        let is_there = |block: &Block| self.version.plan.blocks.iter().any(|other| other.reads_like(block));
        let blocks = plan.blocks.into_iter().filter(|block| !is_there(block)).collect();
        let known = DimValues::new(&program, &self.given.dims);
        let all = figures::figures(&nest, &program, &self.subject.profile, &known);
        let of = |(n, figures): (usize, Figures)| (figures, chains_of(&nest, n));
        let dispatches = all.into_iter().enumerate().map(of).collect();
        let instead = format!("remove {removed}, because the planner writes better ones{under}");
        Some(Replanned { instead, plan: Plan { blocks, ..Plan::default() }, dispatches, known })
    }
}

/// Returns the longest chains of a dispatch.
pub(super) fn chains_of(nest: &Program, dispatch: usize) -> Vec<FloatChain> {
    chains(nest).into_iter().filter(|chain| chain.dispatch == dispatch).collect()
}
