//! Applies a schedule whose names are resolved: first the directives of stages in order, then the directives of the copies in their nests.

use super::placement::{self, dispatched};
use super::resolve::{ResolvedSchedule, Scheduled};
use super::{Applied, StageNest, default, left_over, plain, show};
use crate::diag::{Error, Errors, SpanId};
use crate::nest::{Program, StageId};
use crate::profile::Profile;
use crate::schedule::algebra::{accumulate, rfactor};
use crate::schedule::invocations::{distribute, subgroups, tile};
use crate::schedule::loops::{border, dot, fuse, reorder, serial, split, unroll, vectorize};
use crate::schedule::matrices::{fragment, mma};
use crate::schedule::memory::promote::Copied;
use crate::schedule::memory::{compute_at, copies, pipeline, promote, scatter};
use crate::syntax::schedule::{Directive, DirectiveKind};

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

/// Applies a schedule to the naive nests of a program. `errors` were found before, and `blame` is the schedule's name.
pub(crate) fn apply(
    program: &mut Program,
    (resolved, errors): (&ResolvedSchedule, Errors),
    profile: &Profile,
    blame: SpanId,
    watch: &mut Watch<'_>,
) -> Outcome {
    let resolved = &resolved.within(program);
    let mut outcome = Outcome { errors, ..Outcome::default() };
    let before = outcome.errors.0.len();
    for block in &resolved.blocks {
        if let Scheduled::Stage(stage) = block.of {
            factor(program, profile, stage, &block.before, &mut outcome);
        }
    }
    // Without these stages, later directives would report follow-on errors.
    if outcome.errors.0.len() > before {
        return outcome;
    }
    let (mut made, mut done): (Vec<(Copied, bool)>, Vec<StageId>) = (Vec::new(), Vec::new());
    // Stages that directives define follow the stages that define them.
    while let Some(stage) = dispatched(program).into_iter().find(|stage| !done.contains(stage)) {
        done.push(stage);
        // Stages that are placed at a loop are scheduled with the stage that contains them.
        if resolved.computed_at().any(|placed| placed.text == program.stages[stage].name) {
            continue;
        }
        let directives = resolved.of(program, stage);
        let copies = schedule_stage(program, profile, stage, directives, blame, &mut outcome, watch);
        made.extend(copies.into_iter().map(|copy| (copy, false)));
    }
    // The nest of a copy is nested in the nest of its reader, so it is scheduled after the reader. Scheduling it can add more
    // copies.
    let mut at = 0;
    while let Some((copy, scheduled)) = made.get_mut(at) {
        at += 1;
        let directives = resolved.of_copy(copy.name(program));
        if directives.is_empty() {
            continue;
        }
        *scheduled = directives.iter().any(|d| d.kind != DirectiveKind::Show);
        if *scheduled {
            copies::lanes(program, profile, copy, &mut outcome.errors);
        }
        let stage = copy.stage;
        let copies = schedule_stage(program, profile, stage, directives, blame, &mut outcome, watch);
        made.extend(copies.into_iter().map(|copy| (copy, false)));
        outcome.errors.keep(copies::gather(program, profile, stage, blame));
    }
    if outcome.errors.is_empty() {
        placement::all_computed(program, resolved, &mut outcome.errors);
    }
    if outcome.errors.is_empty() {
        copies::finish(program, profile, &made, &mut outcome, watch);
    }
    program.plan.retain(|dispatch| !dispatch.body.is_empty());
    outcome
}

/// Applies the directives up to `rfactor` of a stage that is placed at a loop, before it is placed.
fn factor(program: &mut Program, profile: &Profile, stage: StageId, directives: &[Directive], outcome: &mut Outcome) {
    let Some(mut nest) = StageNest::open(program, profile, stage).filter(|_| !directives.is_empty()) else { return };
    if let Some(early) = directives.iter().find(|d| distributes(&d.kind)) {
        let error =
            Error::new(early.span, "this directive must follow `rfactor`, which splits the reduction before the stage is placed");
        outcome.errors.push(error.help("move it after `rfactor`, into the block of the partial results"));
        return;
    }
    let warnings = &mut outcome.warnings;
    let mut directives = directives.iter().filter(|d| d.kind != DirectiveKind::Show);
    let applied = directives.try_for_each(|directive| one(&mut nest, directive, warnings));
    nest.store();
    outcome.errors.keep(applied);
}

/// True if a directive distributes axes to invocations, subgroups or lanes.
fn distributes(kind: &DirectiveKind) -> bool {
    match kind {
        DirectiveKind::Distribute { .. } | DirectiveKind::Mma { .. } | DirectiveKind::Fragment { .. } => true,
        DirectiveKind::Tile { target, .. } => target.is_some(),
        _ => false,
    }
}

/// Applies a stage's directives up to the first that fails, because later ones would fail as a consequence.
fn schedule_stage(
    program: &mut Program,
    profile: &Profile,
    stage: StageId,
    mut directives: Vec<&Directive>,
    blame: SpanId,
    outcome: &mut Outcome,
    watch: &mut Watch<'_>,
) -> Vec<Copied> {
    compute_at::consumers_first(program, &mut directives);
    let Some(mut nest) = StageNest::open(program, profile, stage) else { return Vec::new() };
    let mut applied = Ok(());
    // `show` does not count as scheduling. `rfactor` leaves a new reduction without directives.
    let said = directives.iter().rposition(|d| d.kind != DirectiveKind::Show);
    let from = match said {
        Some(last) if !matches!(directives[last].kind, DirectiveKind::Rfactor { .. }) => directives.len() + 1,
        last => last.map_or(0, |last| last + 1),
    };
    for (at, directive) in directives.iter().map(Some).chain([None]).enumerate() {
        // A copy without directives is scheduled after its host.
        if at == from && !nest.is_hosted() {
            applied = plain::apply(&mut nest, blame);
            watch(At::Plain(stage), &|| nest.shown());
        }
        let Some(directive) = directive.filter(|_| applied.is_ok()) else { break };
        let span = directive.span;
        if directive.kind == DirectiveKind::Show {
            outcome.warnings.push(show::apply(&nest.shown(), nest.dispatch, span));
            continue;
        }
        applied = one(&mut nest, directive, &mut outcome.warnings).and_then(|()| copies::check(&mut nest, span));
        if applied.is_err() {
            break;
        }
        let at = directive.planned.as_ref().map_or(At::Directive(span), |text| At::Planned(text.clone()));
        watch(at, &|| nest.shown());
    }
    // The first directive of a stage disables its plain schedule.
    let blame = directives.iter().find(|d| d.kind != DirectiveKind::Show).map_or(blame, |d| d.span);
    let checked = applied.and_then(|()| {
        left_over::check(&mut nest, blame)?;
        dot::check_words(&mut nest)?;
        fragment::check_whole(&nest)?;
        subgroups::check_whole(&nest)
    });
    if outcome.errors.keep(checked).is_some() {
        nest.store();
    }
    nest.copies
}

/// Applies one directive.
fn one(nest: &mut StageNest<'_>, directive: &Directive, warnings: &mut Errors) -> Applied {
    let span = directive.span;
    nest.check_not_scattered(directive)?;
    match &directive.kind {
        DirectiveKind::Split { axis, factors, tail, names } => split::apply(nest, axis, factors, *tail, names, span),
        DirectiveKind::Tile { tiles, target, by } => tile::apply(nest, tiles, target.as_ref(), *by, span),
        DirectiveKind::Fuse { axes, into } => fuse::apply(nest, axes, into, span),
        DirectiveKind::Reorder(axes) => reorder::apply(nest, axes, span),
        DirectiveKind::Distribute { axes, target, by } => distribute::apply(nest, axes, target, *by, span),
        DirectiveKind::Border(axes) => border::apply(nest, axes, span),
        DirectiveKind::Serial(axes) => serial::apply(nest, axes),
        DirectiveKind::Unroll(axes) => unroll::apply(nest, axes, span),
        DirectiveKind::Vectorize { axis, lanes, scalar } => vectorize::apply(nest, axis, lanes, *scalar, span),
        DirectiveKind::Dot { axis, bytes } => dot::apply(nest, axis, bytes, span),
        DirectiveKind::Mma { axes, shape } => mma::apply(nest, axes, shape, span),
        DirectiveKind::Fragment { axes, sides, by, span: blame } => fragment::apply(nest, axes, (sides, *blame), *by, span),
        DirectiveKind::Promote(arguments) => promote::apply(nest, arguments, span, warnings),
        DirectiveKind::ComputeAt(placed) => compute_at::apply(nest, placed, span, warnings),
        DirectiveKind::Pipeline(arguments) => pipeline::apply(nest, arguments, span),
        DirectiveKind::Rfactor { axis, into } => rfactor::apply(nest, axis, into, span),
        DirectiveKind::Scatter(axes) => scatter::apply(nest, axes, span),
        DirectiveKind::Accumulate(to) => accumulate::apply(nest, to, span),
        DirectiveKind::Default => default::apply(nest, span),
        DirectiveKind::Inline(_) | DirectiveKind::Root(_) | DirectiveKind::Show => Ok(()),
    }
}
