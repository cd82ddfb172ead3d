//! Applies the items of a schedule in order: assigns each directive to its stage, and schedules stages without directives.

use super::opened::Opened;
use super::{Applied, StageNest, default, left_over, merged, placement, plain, show};
use crate::diag::{Error, Errors, SpanId, did_you_mean, list};
use crate::nest::{Program, StageId};
use crate::profile::Profile;
use crate::schedule::algebra::{decompose, rfactor};
use crate::schedule::invocations::{distribute, subgroups, tile};
use crate::schedule::loops::{fuse, reorder, serial, split, unroll, vectorize};
use crate::schedule::matrices::{fragment, mma};
use crate::schedule::memory::promote::Copied;
use crate::schedule::memory::{compute_at, copies, pipeline, promote};
use crate::syntax::Name;
use crate::syntax::schedule::{Directive, DirectiveKind, Item};

/// The result of applying a schedule, besides the rewritten program.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Warnings, which include the nests to show.
    pub warnings: Errors,
    /// The errors.
    pub errors: Errors,
}

/// A point in a schedule at which a nest can be observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// Before the first directive.
    Start,
    /// After the directive at this place.
    Directive(SpanId),
    /// After a directive that the planner wrote.
    Planned(String),
    /// After the plain schedule of a stage without directives.
    Plain(StageId),
    /// After lowering, in its final form.
    Lowered,
}

/// A callback that can inspect the program after every step.
pub type Watch<'a> = dyn FnMut(At, &dyn Fn() -> Program) + 'a;

/// Applies a schedule's items to the naive nests of a program. `blame` is the schedule's name.
pub fn apply(program: &mut Program, items: &[Item], profile: &Profile, blame: SpanId, watch: &mut Watch<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let items = &copies::dealt::marked(items);
    let scheduled: Vec<StageId> = program.stages.ids().filter(|s| program.is_planned(*s)).collect();
    let mut of_stage: Vec<(StageId, Vec<&Directive>)> = scheduled.iter().map(|s| (*s, Vec::new())).collect();
    let mut of_copy: Vec<(&Name, &[Directive])> = Vec::new();
    let mut factored: Vec<(StageId, &[Directive])> = Vec::new();
    let mut later: Vec<(&Name, &Vec<Directive>)> = Vec::new();
    for item in items {
        match item {
            // Placements were applied before the first nest was made.
            Item::Directive(directive) if placement::is_placement(&directive.kind) => {}
            Item::Directive(directive) => match the_output(program, &scheduled) {
                Ok(stage) => give(&mut of_stage, stage, [directive]),
                Err(help) => {
                    let error =
                        Error::new(directive.span, "this kernel has several outputs, and the directive does not name one of them");
                    outcome.errors.push(error.help(help));
                }
            },
            // Statements were bound before any nest was made.
            Item::Statement(_) => {}
            Item::Block { stages, directives } => {
                for name in stages {
                    if copies::is_promised(items, name) {
                        let (before, after) = directives.split_at(until_factored(directives));
                        of_copy.push((name, after));
                        if !before.is_empty()
                            && let Some(stage) = outcome.errors.keep(stage_of(program, items, &scheduled, name))
                        {
                            factored.push((stage, before));
                        }
                    } else if placement::made(items, name) {
                        later.push((name, directives));
                    } else if let Some(stage) = outcome.errors.keep(stage_of(program, items, &scheduled, name)) {
                        give(&mut of_stage, stage, directives.iter().filter(|d| !placement::is_placement(&d.kind)));
                    }
                }
            }
        }
    }
    // `rfactor` of a stage that is placed at a loop runs before the stage is placed.
    let before = outcome.errors.0.len();
    for (stage, directives) in factored {
        let Some(mut nest) = Opened::new(program, profile, stage) else { continue };
        if let Some(early) = directives.iter().find(|d| distributes(&d.kind)) {
            let error = Error::new(
                early.span,
                "this directive must follow `rfactor`, which splits the reduction before the stage is placed",
            );
            outcome.errors.push(error.help("move it after `rfactor`, into the block of the partial results"));
            continue;
        }
        let warnings = &mut outcome.warnings;
        let mut directives = directives.iter().filter(|d| d.kind != DirectiveKind::Show);
        let applied = directives.try_for_each(|d| nest.apply(program, profile, &mut |nest| one(nest, d, warnings)));
        nest.store(program);
        outcome.errors.keep(applied);
    }
    // Without these stages, later directives would report follow-on errors.
    if outcome.errors.0.len() > before {
        return outcome;
    }
    let mut made: Vec<(Copied, bool)> = Vec::new();
    // Stages that are placed at a loop are scheduled with the stage that contains them.
    let placed = |name: &str| placement::computed_at(items).any(|p| p.source.text == name);
    let mut at = 0;
    while let Some((stage, mut directives)) = of_stage.get(at).cloned() {
        at += 1;
        if placed(&program.stages[stage].name) {
            continue;
        }
        compute_at::consumers_first(program, &mut directives);
        let copies = schedule_stage(program, profile, stage, &directives, blame, &mut outcome, watch);
        made.extend(copies.into_iter().map(|copy| (copy, false)));
        // Stages that directives defined follow the stages that defined them, each with its block.
        for stage in dispatched(program) {
            if of_stage.iter().all(|(of, _)| *of != stage) {
                let name = &program.stages[stage].name;
                let blocks = later.iter().filter(|(of, _)| of.text == *name);
                of_stage.push((stage, blocks.flat_map(|(_, directives)| directives.iter()).collect()));
            }
        }
    }
    // The nest of a copy is nested in the nest of its reader, so it is scheduled after the reader. Scheduling it can add more
    // copies.
    let mut at = 0;
    while let Some((copy, scheduled)) = made.get_mut(at) {
        at += 1;
        let named = |(name, _): &&(&Name, &[Directive])| program.buffers[copy.buffer].name == name.text;
        let mut directives: Vec<&Directive> = of_copy.iter().filter(named).flat_map(|(_, directives)| directives.iter()).collect();
        if directives.is_empty() {
            continue;
        }
        *scheduled = directives.iter().any(|d| d.kind != DirectiveKind::Show);
        if *scheduled {
            copies::lanes(program, profile, copy, &mut outcome.errors);
        }
        compute_at::consumers_first(program, &mut directives);
        let stage = copy.stage;
        let copies = schedule_stage(program, profile, stage, &directives, blame, &mut outcome, watch);
        made.extend(copies.into_iter().map(|copy| (copy, false)));
        outcome.errors.keep(copies::gather(program, profile, stage, blame));
    }
    if outcome.errors.is_empty() {
        placement::all_computed(program, items, &mut outcome.errors);
    }
    if outcome.errors.is_empty() {
        copies::finish(program, profile, &made, &mut outcome, watch);
    }
    program.plan.retain(|dispatch| !dispatch.body.is_empty());
    outcome
}

/// Returns the number of a block's directives up to and including its last `rfactor`.
fn until_factored(directives: &[Directive]) -> usize {
    directives.iter().rposition(|d| matches!(d.kind, DirectiveKind::Rfactor { .. })).map_or(0, |last| last + 1)
}

/// True if a directive distributes axes to invocations, subgroups or lanes.
fn distributes(kind: &DirectiveKind) -> bool {
    match kind {
        DirectiveKind::Distribute { .. } | DirectiveKind::Mma { .. } | DirectiveKind::Fragment { .. } => true,
        DirectiveKind::Tile { target, .. } => target.is_some(),
        _ => false,
    }
}

/// Returns the stages that have a dispatch, without copies in their nests.
fn dispatched(program: &Program) -> Vec<StageId> {
    let of = |stage: &StageId| program.is_planned(*stage) && !program.hosts.contains_key(stage);
    program.stages.ids().filter(of).collect()
}

fn give<'a>(of_stage: &mut [(StageId, Vec<&'a Directive>)], stage: StageId, more: impl IntoIterator<Item = &'a Directive>) {
    if let Some((_, directives)) = of_stage.iter_mut().find(|(s, _)| *s == stage) {
        directives.extend(more);
    }
}

/// Returns the stage that directives outside blocks apply to: the only output or updated tensor.
fn the_output(program: &Program, scheduled: &[StageId]) -> Result<StageId, String> {
    let results: Vec<StageId> = scheduled.iter().copied().filter(|s| program.is_result(*s)).collect();
    match results.as_slice() {
        [one] => Ok(*one),
        several => {
            let names = list(several.iter().map(|s| &program.stages[*s].name));
            Err(format!("write the directives of each in its block, `name {{ … }}`: {names}"))
        }
    }
}

fn stage_of(program: &Program, items: &[Item], scheduled: &[StageId], name: &Name) -> Result<StageId, Error> {
    let named = |s: &&StageId| program.stages[**s].name == name.text;
    if let Some(stage) = scheduled.iter().find(named) {
        return Ok(*stage);
    }
    let names = || scheduled.iter().map(|s| program.stages[*s].name.as_str());
    if program.stages.ids().any(|s| program.stages[s].name == name.text) {
        let error = Error::new(
            name.span,
            format!("stage `{name}` is pointwise and inlined into its readers, so it does not have its own nest"),
        );
        let nests = format!("the stages with nests are {}", list(names()));
        return Err(error.help(format!("write `root({name});` to store it from a dispatch of its own; {nests}")));
    }
    if let Some(error) = merged::scheduled(program, name) {
        return Err(error);
    }
    let error = Error::new(name.span, format!("unknown stage `{name}`"));
    let error = match decompose::of(items, name) {
        Some(statement) => error.note_at(statement.span, "it is replaced by other stages here"),
        None => error,
    };
    Err(error.help(did_you_mean(&name.text, names()).unwrap_or_else(|| format!("the stages are {}", list(names())))))
}

/// Applies a stage's directives up to the first that fails, because later ones would fail as a consequence.
fn schedule_stage(
    program: &mut Program,
    profile: &Profile,
    stage: StageId,
    directives: &[&Directive],
    blame: SpanId,
    outcome: &mut Outcome,
    watch: &mut Watch<'_>,
) -> Vec<Copied> {
    let Some(mut nest) = Opened::new(program, profile, stage) else { return Vec::new() };
    let mut applied = Ok(());
    // `show` does not count as scheduling. `rfactor` leaves a new reduction without directives.
    let said = directives.iter().rposition(|d| d.kind != DirectiveKind::Show);
    let from = match said {
        Some(last) if !matches!(directives[last].kind, DirectiveKind::Rfactor { .. }) => directives.len() + 1,
        last => last.map_or(0, |last| last + 1),
    };
    for (at, directive) in directives.iter().map(Some).chain([None]).enumerate() {
        // A copy without directives is scheduled after its host.
        if at == from && !program.hosts.contains_key(&stage) {
            applied = nest.apply(program, profile, &mut |nest| plain::apply(nest, blame));
            watch(At::Plain(stage), &|| nest.shown(program));
        }
        let Some(directive) = directive.filter(|_| applied.is_ok()) else { break };
        let span = directive.span;
        if directive.kind == DirectiveKind::Show {
            outcome.warnings.push(show::apply(&nest.shown(program), nest.dispatch(), span));
            continue;
        }
        let warnings = &mut outcome.warnings;
        applied = nest.apply(program, profile, &mut |nest| {
            one(nest, directive, warnings)?;
            copies::check(nest, span)
        });
        if applied.is_err() {
            break;
        }
        let at = directive.planned.as_ref().map_or(At::Directive(span), |text| At::Planned(text.clone()));
        watch(at, &|| nest.shown(program));
    }
    // The first directive of a stage disables its plain schedule.
    let blame = directives.iter().find(|d| d.kind != DirectiveKind::Show).map_or(blame, |d| d.span);
    let checked = applied.and_then(|()| {
        nest.apply(program, profile, &mut |nest| {
            left_over::check(nest, blame)?;
            fragment::check_whole(nest)?;
            subgroups::check_whole(nest)
        })
    });
    if outcome.errors.keep(checked).is_some() {
        nest.store(program);
    }
    nest.copies()
}

/// Applies one directive.
fn one(nest: &mut StageNest<'_>, directive: &Directive, warnings: &mut Errors) -> Applied {
    let span = directive.span;
    match &directive.kind {
        DirectiveKind::Split { axis, factors, tail, names } => split::apply(nest, axis, factors, *tail, names, span),
        DirectiveKind::Tile { tiles, target, by } => tile::apply(nest, tiles, target.as_ref(), *by, span),
        DirectiveKind::Fuse { axes, into } => fuse::apply(nest, axes, into, span),
        DirectiveKind::Reorder(axes) => reorder::apply(nest, axes, span),
        DirectiveKind::Distribute { axes, target, by } => distribute::apply(nest, axes, target, *by, span),
        DirectiveKind::Serial(axes) => serial::apply(nest, axes),
        DirectiveKind::Unroll(axes) => unroll::apply(nest, axes, span),
        DirectiveKind::Vectorize { axis, lanes, scalar } => vectorize::apply(nest, axis, lanes, *scalar, span),
        DirectiveKind::Mma { axes, shape } => mma::apply(nest, axes, shape, span),
        DirectiveKind::Fragment { axes, sides, by, span: blame } => fragment::apply(nest, axes, (sides, *blame), *by, span),
        DirectiveKind::Promote(arguments) => promote::apply(nest, arguments, span, warnings),
        DirectiveKind::ComputeAt(placed) => compute_at::apply(nest, placed, span, warnings),
        DirectiveKind::Pipeline(arguments) => pipeline::apply(nest, arguments, span),
        DirectiveKind::Rfactor { axis, into } => rfactor::apply(nest, axis, into, span),
        DirectiveKind::Default => default::apply(nest, span),
        DirectiveKind::Inline(_) | DirectiveKind::Root(_) | DirectiveKind::Show => Ok(()),
    }
}
