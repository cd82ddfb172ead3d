//! The whole compiler up to the backend, on one screen. It makes a final nest from a kernel, a schedule and a profile.

use crate::algorithm::inline::inline_those;
use crate::algorithm::{self, Bindings};
use crate::diag::{Errors, SpanId};
use crate::lower;
use crate::nest::{Program, build};
use crate::plan::{self, Drafts, Plan};
use crate::profile::Profile;
use crate::schedule::algebra::pack::Rewritten;
use crate::schedule::algebra::{decompose, pack, quotients};
use crate::schedule::resolve::{ResolvedSchedule, resolve};
use crate::schedule::statements::precompute::Preparation;
use crate::schedule::statements::tune::{self, Choice};
use crate::schedule::statements::{emit, head, pin, precompute, strided};
use crate::schedule::{self, At, Watch, placement};
use crate::syntax::Kernel;
use crate::syntax::schedule::Schedule;
use crate::verify;
use std::cell::RefCell;

/// A compiled variant, before the backend.
#[derive(Debug)]
pub struct Compiled {
    /// The final nest, with its ledger and its other tables.
    pub program: Program,
    /// The computations before the launches, each from one input.
    pub(crate) preparations: Vec<Preparation>,
    /// The directives of the stages that the schedule does not mention.
    pub plan: Plan,
    /// The errors of the planner's first choice, if it was refused and another plan was taken.
    pub refused: Errors,
    /// The warnings.
    pub warnings: Errors,
}

/// Compiles one variant.
///
/// # Errors
/// Returns the errors in the kernel under this schedule's bindings, in the header, and in the directives. They include the warnings of a
/// schedule with errors.
pub fn compile(kernel: &Kernel, schedule: &Schedule, profile: &Profile) -> Result<Compiled, Errors> {
    compile_choice(kernel, schedule, profile, &Choice::default(), &mut |_, _| {})
}

/// Compiles as [`compile`], and shows `watch` the program after every step, up to the one that failed.
///
/// # Errors
/// As [`compile`].
pub fn compile_watched(kernel: &Kernel, schedule: &Schedule, profile: &Profile, watch: &mut Watch<'_>) -> Result<Compiled, Errors> {
    compile_choice(kernel, schedule, profile, &Choice::default(), watch)
}

/// Compiles as [`compile_watched`], with the given values of tuned constants instead of the defaults.
///
/// # Errors
/// As [`compile`]. Also returns an error if a tuned constant cannot have its given value.
pub fn compile_choice(
    kernel: &Kernel,
    schedule: &Schedule,
    profile: &Profile,
    choice: &Choice,
    watch: &mut Watch<'_>,
) -> Result<Compiled, Errors> {
    compile_checked(kernel, &schedule.of_members(kernel)?, profile, choice, &Checked::default(), watch)
}

/// The checked algorithm of a kernel, which further versions of a schedule reuse.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    wanted: bool,
    known: RefCell<Option<(Bindings, Program)>>,
}

impl Checked {
    /// Returns an empty cache. `wanted` is true if there will be another version.
    pub(crate) fn for_all(wanted: bool) -> Checked {
        Checked { wanted, known: RefCell::default() }
    }

    /// Returns the kernel's program, as [`algorithm::check`] makes it.
    fn program(&self, kernel: &Kernel, bindings: &Bindings) -> Result<Program, Errors> {
        if let Some((of, program)) = &*self.known.borrow()
            && of == bindings
        {
            return Ok(program.clone());
        }
        let program = algorithm::check(kernel, bindings)?;
        if self.wanted {
            self.known.replace(Some((bindings.clone(), program.clone())));
        }
        Ok(program)
    }
}

/// Compiles as [`compile_choice`], with an algorithm that may be checked already.
pub(crate) fn compile_checked(
    kernel: &Kernel,
    schedule: &Schedule,
    profile: &Profile,
    choice: &Choice,
    checked: &Checked,
    watch: &mut Watch<'_>,
) -> Result<Compiled, Errors> {
    let (program, rewritten) = algebra(kernel, schedule, choice, checked)?;
    let resolved = resolve(&program, schedule)?;
    for plan in plan::rewrites(&program, schedule, profile) {
        if let Ok(planned) = plan::added(schedule, &plan)
            && let Ok((program, rewritten)) = algebra(kernel, &planned, choice, checked)
            && let Ok(compiled) = scheduled(program, rewritten, &planned, profile, watch)
        {
            return Ok(Compiled { plan, ..compiled });
        }
    }
    let drafts = plan::drafts(&program, &rewritten, &resolved, profile, true);
    if drafts.is_empty() {
        return scheduled(program, rewritten, schedule, profile, watch);
    }
    let attempt = |drafts: &Drafts, chosen: &[Option<usize>], watch: &mut Watch<'_>| {
        let plan = drafts.plan(chosen);
        let planned = plan::added(schedule, &plan)?;
        let compiled = scheduled(program.clone(), rewritten.clone(), &planned, profile, watch)?;
        Ok::<_, Errors>(Compiled { plan, ..compiled })
    };
    let refused = match attempt(&drafts, &drafts.first(), watch) {
        Ok(compiled) => return Ok(compiled),
        Err(errors) => errors,
    };
    // Errors in the schedule's own directives occur without a plan, too.
    let plain = |watch: &mut Watch<'_>| scheduled(program.clone(), rewritten.clone(), schedule, profile, watch);
    plain(watch)?;
    let choose = |drafts: &Drafts| drafts.chosen(&|chosen| attempt(drafts, chosen, &mut |_, _| {}).is_ok());
    let mut chosen = choose(&drafts);
    let mut drafts = drafts;
    if drafts.lacks(&chosen) {
        drafts = plan::drafts(&program, &rewritten, &resolved, profile, false);
        chosen = choose(&drafts);
    }
    let compiled = attempt(&drafts, &chosen, watch).or_else(|_| plain(watch))?;
    Ok(Compiled { refused, ..compiled })
}

/// Compiles as [`compile_checked`], without plans: stages that the schedule does not mention have the plain schedule.
pub(crate) fn compile_unplanned(
    kernel: &Kernel,
    schedule: &Schedule,
    profile: &Profile,
    choice: &Choice,
    checked: &Checked,
    watch: &mut Watch<'_>,
) -> Result<Compiled, Errors> {
    let (program, rewritten) = algebra(kernel, schedule, choice, checked)?;
    scheduled(program, rewritten, schedule, profile, watch)
}

/// Compiles a program under a schedule that mentions all stages, except those that have the plain schedule.
fn scheduled(
    mut program: Program,
    rewritten: Rewritten,
    schedule: &Schedule,
    profile: &Profile,
    watch: &mut Watch<'_>,
) -> Result<Compiled, Errors> {
    let resolved = resolve(&program, schedule)?;
    let inlined = inline_those(&mut program, &|_, stage| !resolved.keeps(stage) && !rewritten.stored.contains(&stage));
    let stored = placement::stored(&program, &resolved, &inlined.stored)?;
    let mut preparations = precompute::split(&mut program, &rewritten)?;
    build::naive(&mut program);
    let programs: Vec<&Program> = preparations.iter().map(|p| &p.program).collect();
    let misplaced = resolved.misplaced(&program, &programs);
    for preparation in &mut preparations {
        finish(&mut preparation.program, &resolved, profile, preparation.span)?;
    }
    check_form(&program, profile)?;
    watch(At::Start, &|| program.clone());
    let outcome = schedule::apply(&mut program, (&resolved, misplaced), profile, schedule.name.span, watch);
    let mut errors = outcome.errors;
    if !errors.is_empty() {
        errors.extend(outcome.warnings);
        return Err(errors);
    }
    decompose::state_errors(&mut program, rewritten)?;
    check_form(&program, profile)?;
    lower::lower(&mut program, profile)?;
    watch(At::Lowered, &|| program.clone());
    verify::verify(&program, profile)?;
    let mut warnings = stored;
    warnings.extend(outcome.warnings);
    warnings.extend(tune::unused(&program));
    Ok(Compiled { program, preparations, plan: Plan::default(), refused: Errors::new(), warnings })
}

/// Returns a kernel's stages under a schedule's header, after the rewrites of the algebra and without nests.
pub(crate) fn algebra(
    kernel: &Kernel,
    schedule: &Schedule,
    choice: &Choice,
    checked: &Checked,
) -> Result<(Program, Rewritten), Errors> {
    let mut program = headed(kernel, schedule, choice, checked)?;
    pack::come_first(schedule)?;
    pack::not_inlined(schedule)?;
    let mut rewritten = Rewritten::default();
    decompose::apply(&mut program, schedule, &mut rewritten)?;
    pack::apply(&mut program, schedule, &mut rewritten)?;
    precompute::apply(&program, schedule, &mut rewritten)?;
    Ok((program, rewritten))
}

/// Returns the algorithm as a schedule decomposes it, if that changes how results round. Devices round as the decomposed algorithm does.
/// The algorithm's tensors keep their ids.
///
/// # Errors
/// Returns the errors in the schedule's header and decompositions.
pub fn decomposed(kernel: &Kernel, schedule: &Schedule, choice: &Choice) -> Result<Option<Program>, Errors> {
    if !decompose::rounds(schedule) {
        return Ok(None);
    }
    let mut program = headed(kernel, schedule, choice, &Checked::default())?;
    decompose::apply(&mut program, schedule, &mut Rewritten::default())?;
    Ok(Some(program))
}

/// Returns a kernel's stages under a schedule's header.
fn headed(kernel: &Kernel, schedule: &Schedule, choice: &Choice, checked: &Checked) -> Result<Program, Errors> {
    let bindings = head::bindings(kernel, schedule)?;
    let mut program = checked.program(kernel, &bindings)?;
    tune::bind(&mut program, kernel, schedule, choice)?;
    strided::bind(&mut program, schedule)?;
    head::facts(&mut program, schedule)?;
    quotients::decide(&mut program);
    pin::bind(&mut program, kernel, schedule)?;
    emit::bind(&mut program, schedule)?;
    program.specialized = schedule.specialized;
    Ok(program)
}

/// Compiles a program with the plain schedule for each stage.
pub(crate) fn compile_plain(mut program: Program, profile: &Profile, blame: SpanId) -> Result<Program, Errors> {
    build::naive(&mut program);
    finish(&mut program, &ResolvedSchedule::default(), profile, blame)?;
    Ok(program)
}

/// Compiles from naive nests to the final form, without a watcher.
fn finish(program: &mut Program, resolved: &ResolvedSchedule, profile: &Profile, blame: SpanId) -> Result<(), Errors> {
    schedule::apply(program, (resolved, Errors::new()), profile, blame, &mut |_, _| {}).errors.into_result()?;
    lower::lower(program, profile)?;
    verify::verify(program, profile)
}

/// Runs the verifier between passes, in debug builds only. The first pass after the directives clamps the reads of copies, so this runs on
/// a clamped copy of the program.
fn check_form(program: &Program, profile: &Profile) -> Result<(), Errors> {
    if !cfg!(debug_assertions) {
        return Ok(());
    }
    let mut clamped = program.clone();
    lower::clamp_copies::run(&mut clamped);
    verify::verify_scheduled(&clamped, profile)
}
