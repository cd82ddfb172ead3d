//! A whole variant: the nests of its versions, and the launch program that the backend makes from them.
//!
//! The macros compile variants through this module, and so do tuners and tests at run time.

use crate::chains;
use crate::compile::{Checked, Compiled, algebra, compile_checked, compile_plain, compile_unplanned};
use crate::diag::{Error, Errors, SourcePosition, SpanId};
use crate::launch::{self, Layout, Role, Version};
use crate::length;
use crate::lower::launch::Tensors;
use crate::nest::{BufferId, Program, Space, State};
use crate::plan::{self, Plan};
use crate::profile::Profile;
use crate::schedule;
use crate::schedule::At;
use crate::schedule::algebra::pack::program::{Conversion, conversions};
use crate::schedule::resolve::resolve;
use crate::schedule::statements::pin;
use crate::schedule::statements::precompute::{self, Preparation};
use crate::schedule::statements::specialize::{self, Specialize};
use crate::schedule::statements::tune::Choice;
use crate::syntax::Kernel;
use crate::syntax::schedule::Schedule;

/// A function that makes the launch program of a lowered nest, for a profile, under a variant's name.
pub type Backend = fn(&Program, &Profile, &str) -> Result<launch::Program, Errors>;

/// A compiled variant.
#[derive(Debug)]
pub struct Variant {
    /// The launch program.
    pub program: launch::Program,
    /// The nest that the launch program was made from.
    pub nest: Program,
    /// The nests of its specialized versions, in order.
    pub specialized: Vec<Program>,
    /// The numbers of the schedule's `specialize` statements for these versions, counted from 1. The others would change nothing, so they
    /// are left out.
    pub taken: Vec<usize>,
    /// The computations that prepare an input: the input's name, and the nests.
    pub prepared: Vec<(String, Program)>,
    /// The directives that the planner wrote for the variant.
    pub plan: Plan,
    /// The directives that it wrote for each of the specialized versions.
    pub plans: Vec<Plan>,
    /// The warnings.
    pub warnings: Errors,
}

/// Maps a span to its place in the user's files, if that is known.
pub type Where<'a> = dyn Fn(SpanId) -> Option<SourcePosition> + 'a;

/// Receives the program of every version after every step. Version 0 is the schedule itself, version 1 is made by its first `specialize`.
pub type Watch<'a> = dyn FnMut(usize, At, &dyn Fn() -> Program) + 'a;

/// The inputs that all versions are compiled from.
struct Compiler<'a> {
    kernel: &'a Kernel,
    profile: &'a Profile,
    choice: &'a Choice,
    place: &'a Where<'a>,
    backend: Backend,
    /// The checked algorithm, which versions share.
    checked: Checked,
}

/// Compiles a variant, with the tuned constants of a choice, in all its versions.
///
/// # Errors
/// As [`crate::compile::compile`]; also errors of the backend, for any version.
pub fn compile(
    kernel: &Kernel,
    schedule: &Schedule,
    profile: &Profile,
    choice: &Choice,
    place: &Where<'_>,
    backend: Backend,
) -> Result<Variant, Errors> {
    compile_watched(kernel, schedule, profile, choice, place, backend, &mut |_, _, _| {})
}

/// Compiles as [`compile`], and shows `watch` the programs.
///
/// # Errors
/// As [`compile`].
pub fn compile_watched(
    kernel: &Kernel,
    schedule: &Schedule,
    profile: &Profile,
    choice: &Choice,
    place: &Where<'_>,
    backend: Backend,
    watch: &mut Watch<'_>,
) -> Result<Variant, Errors> {
    let schedule = &schedule.of_members(kernel)?;
    // A schedule without items is planned in several versions.
    let checked = Checked::for_all(schedule.items.is_empty() || specialize::all(schedule).next().is_some());
    let compiler = Compiler { kernel, profile, choice, place, backend, checked };
    let (Compiled { program: nest, preparations, plan, mut warnings, .. }, mut program) =
        compiler.version(schedule, &mut |at, program| watch(0, at, program))?;
    warnings.extend(pin::unused(&nest, &program, schedule));
    warnings.extend(length::check(&nest, &program)?);
    program.conversions = compiler.conversions(&nest)?;
    program.preparations = compiler.preparations(&nest, &preparations)?;
    let prepared = preparations.into_iter().map(|p| (nest.buffers[p.input].name.clone(), p.program)).collect();
    let (specialized, taken, plans) = (Vec::new(), Vec::new(), Vec::new());
    let mut variant = Variant { program, nest, specialized, taken, prepared, plan, plans, warnings };
    let (mut taken, mut errors) = (Vec::new(), Errors::new());
    for (n, specialize) in (1..).zip(specialize::all(schedule)) {
        let watch = &mut |at, program: &dyn Fn() -> Program| watch(n, at, program);
        match errors.keep(compiler.specialize(schedule, &specialize, &taken, &mut variant, watch)) {
            Some(None) => {
                taken.push(specialize);
                variant.taken.push(n);
            }
            Some(Some(idle)) => variant.warnings.push(idle),
            None => {}
        }
    }
    let statements = specialize::all(schedule).count();
    if statements == 0 {
        compiler.add_regimes(schedule, &mut variant, watch);
    }
    owe_limits(&mut variant.nest, &variant.program.limits);
    let nests = std::iter::once(&mut variant.nest).chain(&mut variant.specialized);
    nests.chain(variant.prepared.iter_mut().map(|(_, nest)| nest)).for_each(chains::state);
    for (nest, version) in variant.specialized.iter_mut().zip(&variant.program.specialized) {
        owe_limits(nest, &version.limits);
    }
    errors.into_result().map(|()| variant)
}

/// Returns the names of the stages that have a nest and that neither a schedule nor its plan mentions. They have the plain schedule,
/// because the planner does not have a rule for such a stage, or the profile refuses its plans.
///
/// `facts` are the facts of the planned version, as they are written after `where`, or empty.
///
/// # Errors
/// The schedule's header, a rewrite of the algebra or a placement is wrong, or the plan is not valid.
pub fn unplanned(kernel: &Kernel, schedule: &Schedule, facts: &str, plan: &Plan) -> Result<Vec<String>, Errors> {
    let schedule = schedule.of_members(kernel)?;
    let schedule = if facts.is_empty() { schedule } else { plan::under(&schedule, facts)? };
    let schedule = plan::added(&schedule, plan)?;
    let (program, rewritten) = algebra(kernel, &schedule, &Choice::default(), &Checked::default())?;
    let resolved = resolve(&program, &schedule)?;
    Ok(plan::unmentioned(&program, &rewritten, &resolved))
}

/// Returns the length of a program's modules.
fn words(program: &launch::Program) -> usize {
    program.dispatches.iter().map(|d| d.spirv.len()).sum()
}

/// Records in a nest's ledger the checks that a launch makes of its indices.
fn owe_limits(nest: &mut Program, limits: &[launch::Limit]) {
    for limit in limits {
        nest.owe(format!("32 bits hold {}", limit.what), State::CheckedAtLaunch, SpanId::NONE);
    }
}

/// The form in which an input is taken or an output is returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    RowMajor,
    Packed(Layout),
    Prepared,
}

impl Form {
    fn packed(layout: Option<&Layout>) -> Form {
        layout.map_or(Form::RowMajor, |layout| Form::Packed(layout.clone()))
    }
}

/// Returns the forms of a compiled variant's inputs and outputs, in order.
pub(crate) fn forms(program: &launch::Program) -> Vec<Form> {
    let prepared = |n: usize| program.preparations.iter().any(|p| p.input as usize == n);
    let outer = program.tensors.iter().enumerate().filter(|(_, t)| matches!(t.role, Role::Input | Role::Output));
    outer.map(|(n, t)| if prepared(n) { Form::Prepared } else { Form::packed(t.layout.as_ref()) }).collect()
}

/// Returns the same for a variant whose directives may have errors. The list is empty if the rewrites of the algebra have errors.
pub(crate) fn forms_asked_for(kernel: &Kernel, schedule: &Schedule) -> Vec<Form> {
    let algebra = |schedule| algebra(kernel, &schedule, &Choice::default(), &Checked::default());
    let Ok((mut program, rewritten)) = schedule.of_members(kernel).and_then(algebra) else { return Vec::new() };
    let _ = precompute::split(&mut program, &rewritten);
    let prepared = |b: BufferId| program.statements.prepared.iter().any(|p| p.of == b);
    let tensors = Tensors::of(&program);
    let outer = tensors.buffers().iter().filter(|b| matches!(program.buffers[**b].space, Space::Input | Space::Output));
    let outer = outer.filter(|b| !program.statements.prepared.iter().any(|p| p.buffer == **b));
    outer.map(|b| if prepared(*b) { Form::Prepared } else { Form::packed(program.packed(*b).map(|p| &p.layout)) }).collect()
}

impl Compiler<'_> {
    /// Compiles one version from its schedule.
    fn version(&self, schedule: &Schedule, watch: &mut schedule::Watch<'_>) -> Result<(Compiled, launch::Program), Errors> {
        let compiled = compile_checked(self.kernel, schedule, self.profile, self.choice, &self.checked, watch)?;
        let is_planned = !compiled.plan.is_empty();
        match self.emitted(schedule, compiled) {
            // An error in a planned nest is at the schedule's name. In the plain schedule it is at the kernel's own expression.
            Err(errors) if is_planned && errors.0.iter().any(|error| error.span == schedule.name.span) => {
                let plain = compile_unplanned(self.kernel, schedule, self.profile, self.choice, &self.checked, watch)?;
                self.emitted(schedule, plain)
            }
            result => result,
        }
    }

    /// Makes the launch program of a compiled version.
    fn emitted(&self, schedule: &Schedule, mut compiled: Compiled) -> Result<(Compiled, launch::Program), Errors> {
        compiled.program.locate(schedule.name.span, self.place);
        compiled.preparations.iter_mut().for_each(|p| p.program.locate(p.span, self.place));
        let program = (self.backend)(&compiled.program, self.profile, &schedule.name.text)?;
        Ok((compiled, program))
    }

    /// Compiles the programs that pack and unpack the tensors of a launch.
    fn conversions(&self, nest: &Program) -> Result<Vec<launch::Conversion>, Errors> {
        let conversions = conversions(nest);
        if conversions.is_empty() {
            return Ok(Vec::new());
        }
        let tensors = Tensors::of(nest);
        let one = |Conversion { buffer, program }: Conversion| {
            let span = nest.packed(buffer).map_or(SpanId::NONE, |p| p.span);
            let name = program.name.clone();
            let mut plain = compile_plain(program, self.profile, span)?;
            plain.locate(span, self.place);
            let program = (self.backend)(&plain, self.profile, &name)?;
            Ok(launch::Conversion { tensor: tensors.index(buffer).unwrap_or_default(), program })
        };
        conversions.into_iter().map(one).collect()
    }

    /// Compiles the programs that prepare inputs.
    fn preparations(&self, nest: &Program, preparations: &[Preparation]) -> Result<Vec<launch::Preparation>, Errors> {
        if preparations.is_empty() {
            return Ok(Vec::new());
        }
        let tensors = Tensors::of(nest);
        let index = |buffer: &BufferId| tensors.index(*buffer).unwrap_or_default();
        let one = |p: &Preparation| {
            let program = (self.backend)(&p.program, self.profile, &p.program.name)?;
            Ok(launch::Preparation { input: index(&p.input), tensors: p.buffers.iter().map(index).collect(), program })
        };
        preparations.iter().map(one).collect()
    }

    /// Adds the versions that the planner asks for, under facts that make another plan better. A version that does not compile, or that
    /// equals the general one, is left out.
    fn add_regimes(&self, schedule: &Schedule, variant: &mut Variant, watch: &mut Watch<'_>) {
        let Ok((program, rewritten)) = algebra(self.kernel, schedule, self.choice, &self.checked) else { return };
        let Ok(resolved) = resolve(&program, schedule) else { return };
        for (n, facts) in (1..).zip(plan::regimes(&program, &rewritten, (schedule, &resolved), self.profile)) {
            let Ok(version) = plan::under(schedule, &facts) else { continue };
            let watch = &mut |at, program: &dyn Fn() -> Program| watch(n, at, program);
            let Ok((compiled, program)) = self.version(&version, watch) else { continue };
            // The same plan may have wider accesses under the facts. Then its modules are smaller.
            let idle = compiled.plan == variant.plan && words(&program) >= words(&variant.program);
            if idle || length::check(&compiled.program, &program).is_err() {
                continue;
            }
            variant.program.specialized.push(Version::of(&variant.program, program, facts));
            variant.specialized.push(compiled.program);
            variant.plans.push(compiled.plan);
            variant.taken.push(n);
        }
    }

    /// Adds a specialized version to a variant. Returns a warning instead if the version would not be an improvement.
    fn specialize(
        &self,
        schedule: &Schedule,
        specialize: &Specialize<'_>,
        taken: &[Specialize<'_>],
        variant: &mut Variant,
        watch: &mut schedule::Watch<'_>,
    ) -> Result<Option<Error>, Errors> {
        let schedule = specialize.schedule(schedule)?;
        let (compiled, program) = self.version(&schedule, watch).map_err(|errors| specialize.blame(errors))?;
        if let Some(shadowed) = specialize.is_shadowed(taken, &compiled.program) {
            return Ok(Some(shadowed));
        }
        // If the nests are equal, the backend may still have used wider accesses, so the sizes of the modules are compared.
        if words(&program) >= words(&variant.program)
            && let Some(idle) = specialize.is_idle(&variant.nest, &compiled.program)
        {
            return Ok(Some(idle));
        }
        // The warnings are dropped: a module that is long here is mostly long without these facts too, and was warned about then.
        length::check(&compiled.program, &program).map_err(|errors| specialize.blame(errors))?;
        let under = specialize.under(&compiled.program);
        variant.program.specialized.push(Version::of(&variant.program, program, under));
        variant.specialized.push(compiled.program);
        variant.plans.push(compiled.plan);
        Ok(None)
    }
}
