//! The verifier: whether a nest means what its stages say, on every device of its profile.
//!
//! It is the last check of a compilation, and runs between all passes in tests and debug builds; so it takes nests of every form, from the
//! naive one to the last. It trusts nobody: not the directives, not the lowering, not itself from the pass before. An error here is a
//! defect of the compiler, or of a directive that should have refused ([`Kind::Compiler`]). Each names the node, and blames the directive
//! that made it. The first one asks for a report, and shows the nest.
//!
//! The checks in order, each in a file of its own:
//! 0. `sides`: both sides of a branch compute the same, so all later checks look at the second one alone.
//! 1. `limits`: loops are of a kind that can be executed, and fit the profile. `local`: workgroups have the size that loops ask for.
//! 2. `axes`: every axis that a leaf names can be rebuilt from loops around it, which bind each part once; splits say
//!    the truth about their extents (`reach`).
//! 3. `scope`: local buffers are touched within their lives.
//! 4. `predicates`: what can run past its extent has a predicate where that matters. For a reduction, `fills` may make
//!    it needless: copies whose fills make the item the identity.
//! 5. `bounds`: what is read and written lies in its buffer.
//! 6. `owners`: registers and fragments are indexed by constants, and who reads an element has written it.
//! 7. `reductions`: init, update and finish stand where they must, and an update visits every point once. `all_reduces`: the
//!    parts of invocations become one, each once. `running`: what goes on from the block before has that one's result.
//! 8. `written`: what is read from local memory was written before, by all of init and update where there are both.
//!    Of copies that are made ahead, `steps`: the one of the step at hand.
//! 9. `uniform`: barriers, collectives and matrices run under uniform control.
//! 10. `parts`: who arrives at a barrier waits at it, once. `hazards`: between accesses of different invocations to shared memory, one of
//!     which writes, stands a barrier with both its parts (`ways`), on every path and around every loop.
//! 11. `races`: no two invocations write one element. `scratch`: all-reduces store over no buffer that is needed.
//! 12. `values`: a leaf computes what its stage says, with tensors in place of their `copies`; a stage that is computed where it is read
//!     computes what the algorithm's stage says (`placed`).
//! 13. `flow`: outputs are written, temporaries before they are read; every obligation has one state.
//!
//! Nothing here unrolls, so that the time grows with the nest as it is written.

mod all_reduces;
mod axes;
mod bounds;
mod context;
mod copies;
mod fills;
mod flow;
mod hazards;
mod limits;
mod local;
mod matrices;
mod owners;
mod parts;
mod placed;
mod predicates;
mod races;
mod reach;
mod reductions;
mod region;
mod running;
mod scope;
mod scratch;
mod sides;
mod signs;
mod site;
mod steps;
mod uniform;
mod values;
mod ways;
mod written;

use crate::diag::{Errors, Kind};
use crate::nest::{Program, print};
use crate::profile::Profile;
use context::Checks;
use std::fmt;

/// What a nest breaks. Every message begins with its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// A loop that no device of the profile can execute so.
    Limits,
    /// An axis that cannot be rebuilt from loops, or a split that is wrong about its extent.
    Axes,
    /// A local buffer outside its life.
    Scope,
    /// A predicate that is missing.
    Predicate,
    /// An access outside its buffer.
    Bounds,
    /// A register that another invocation has, or that has no constant index.
    Owner,
    /// Init, update or finish in the wrong place.
    Reduction,
    /// A read of what nobody wrote.
    Unwritten,
    /// A copy that is made ahead, and is another step's where it is read.
    Step,
    /// A barrier, collective or matrix that not all invocations reach.
    Uniformity,
    /// A barrier whose arrives and waits are no pairs.
    Parts,
    /// A barrier that is missing.
    Barrier,
    /// Two invocations that write one element.
    Race,
    /// A value that is not its stage's.
    Value,
    /// An output that is not written, or a temporary that is read before.
    Flow,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::Limits => "limits",
            Rule::Axes => "axes",
            Rule::Scope => "scope",
            Rule::Predicate => "missing predicate",
            Rule::Bounds => "bounds",
            Rule::Owner => "owner",
            Rule::Reduction => "reduction",
            Rule::Unwritten => "not written",
            Rule::Step => "step",
            Rule::Uniformity => "uniformity",
            Rule::Parts => "parts of a barrier",
            Rule::Barrier => "missing barrier",
            Rule::Race => "race",
            Rule::Value => "value",
            Rule::Flow => "flow",
        })
    }
}

/// How far a nest has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Before lowering has placed its barriers.
    Scheduled,
    /// Any form with barriers.
    Any,
    /// The last one: it says how many invocations a workgroup has.
    Lowered,
}

/// Checks a nest of the last form: as [`verify`], and that every workgroup has the invocations that loops are bound to.
///
/// # Errors
/// Everything that is wrong with it.
pub fn verify_lowered(program: &Program, profile: &Profile) -> Result<(), Errors> {
    check(program, profile, Form::Lowered)
}

/// Checks a nest of any form.
///
/// # Errors
/// Everything that is wrong with it.
pub fn verify(program: &Program, profile: &Profile) -> Result<(), Errors> {
    check(program, profile, Form::Any)
}

/// Checks a nest before lowering has placed its barriers.
///
/// # Errors
/// Everything else that is wrong with it.
pub fn verify_scheduled(program: &Program, profile: &Profile) -> Result<(), Errors> {
    check(program, profile, Form::Scheduled)
}

fn check(program: &Program, profile: &Profile, form: Form) -> Result<(), Errors> {
    let (plan, mut errors) = sides::second(program);
    let axes = program.axes.ids().map(|axis| program.exprs.axis(axis)).collect();
    let sites: Vec<_> = plan.iter().map(|dispatch| site::collect(dispatch, program)).collect();
    let within = context::within(program);
    let reach = (reach::cuts(program), reach::aliases(program, &sites));
    let traced = copies::Traced::new(program, &sites);
    let provers = context::Provers::new(program, axes, within, reach, traced);
    for (dispatch, sites) in plan.iter().zip(&sites) {
        let checks = Checks::new(program, profile, &provers, dispatch, sites);
        checks.limits();
        if form == Form::Lowered {
            checks.local_size();
        }
        checks.axes();
        checks.scope();
        // What follows asks what loops mean, and would only repeat what is wrong with them.
        if checks.errors.borrow().is_empty() {
            checks.predicates();
            checks.bounds();
            checks.owners();
            checks.reductions();
            checks.written();
            checks.steps();
            checks.uniform();
            checks.parts();
            checks.matrices();
            if form != Form::Scheduled {
                checks.hazards();
            }
            checks.races();
            checks.scratch();
            checks.values();
        }
        errors.extend(checks.errors.into_inner());
    }
    if errors.is_empty() {
        flow::check(program, &provers, &sites, &mut errors);
    }
    defects(program, errors)
}

/// The errors as what they are: the compiler's.
fn defects(program: &Program, mut errors: Errors) -> Result<(), Errors> {
    errors.0.iter_mut().for_each(|error| error.kind = Kind::Compiler);
    if let Some(first) = errors.0.first_mut() {
        *first = first.clone().defect(&print::plan(program));
    }
    errors.into_result()
}
