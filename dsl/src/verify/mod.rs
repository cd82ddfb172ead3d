//! The verifier: checks that a nest computes what its stages define, on every device of its profile.
//!
//! It is the last check of a compilation. In tests and debug builds it also runs between all passes, so it accepts nests of every form,
//! from the naive one to the lowered one. It relies on no other pass: not on the directives, not on the lowering, and not on its own
//! earlier runs. An error here is a bug in the compiler, or in a directive that should have refused ([`Kind::Compiler`]). Each error names
//! the node and the directive that made it. The first one asks for a report and prints the nest.
//!
//! The checks in order, each in its own file:
//! 0. `sides`: both blocks of a branch compute the same, so all later checks look at the second block only.
//! 1. `limits`: loops are of a kind that can be executed, and fit the profile. `local`: workgroups have the size that loops require.
//! 2. `axes`: every axis that a leaf names can be rebuilt from the loops around it, and these bind each part once. Splits agree with their
//!    axes' extents (`reach`).
//! 3. `scope`: local buffers are accessed within their scopes.
//! 4. `predicates`: an axis that can exceed its extent has a predicate where that matters. A reduction may not need one (`fills`), because
//!    the values that fill its copies make the item the identity.
//! 5. `bounds`: every access is in bounds.
//! 6. `owners`: registers and fragments have constant indices, and an invocation reads only elements that it has written.
//! 7. `reductions`: init, update and finish are correctly placed, and an update visits every point once. `all_reduces`: the partial results
//!    are combined, each once. `running`: a loop-carried item starts from the result of the previous block.
//!    `dots`: a dot product updates a sum by a product of bytes that are read.
//! 8. `written`: local memory is written before it is read, by both init and update where both exist. `steps`: a prefetched copy is read at
//!    the step that it was fetched for.
//! 9. `uniform`: barriers, collectives and matrices run under uniform control.
//! 10. `hazards`: on every path and around every loop, a barrier separates accesses of different invocations to shared memory if one
//!     of them writes.
//! 11. `races`: no two invocations write one element. `scratch`: the scratch of all-reduces, and buffers that share memory, alias only
//!     buffers that are dead.
//! 12. `values`: a leaf computes the value of its stage, after `copies` are traced to their tensors. A stage that is computed where it is
//!     read computes the value of the algorithm's stage (`placed`), and so does a reduction in another dtype (`accumulated`).
//! 13. `flow`: outputs are written, and temporaries are written before they are read. Every obligation has one state.
//!
//! Some rules are written here and in `schedule` or `lower` a second time, each in its own way. This is meant, because the verifier would
//! not find an error in a rule that both shared. They share the meaning of the nest only: the value of an axis
//! ([`nest::meaning`](crate::nest::meaning)) and the accesses of a node ([`Node::accesses`](crate::nest::Node::accesses)). Within the
//! verifier, each rule is written once. For example, `trace` alone follows a value through local memory.
//!
//! No check unrolls loops, so the time is proportional to the size of the nest.

mod context;
mod dots;
mod loops;
mod matrices;
mod memory;
mod reductions;
mod signs;
mod site;
mod trace;
mod values;

use crate::diag::{Errors, Kind};
use crate::nest::{Program, print};
use crate::profile::Profile;
use context::Checks;
use std::fmt;

/// The rule that a nest breaks. Every message begins with its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// A loop that some device of the profile cannot execute.
    Limits,
    /// An axis that cannot be rebuilt from loops, or a split that disagrees with its axis's extent.
    Axes,
    /// An access of a local buffer outside its scope.
    Scope,
    /// A predicate that is missing.
    Predicate,
    /// An access outside its buffer.
    Bounds,
    /// A register that belongs to another invocation, or whose index is not constant.
    Owner,
    /// Init, update or finish in the wrong place.
    Reduction,
    /// A read of memory that was not written before.
    Unwritten,
    /// A prefetched copy that is read at another step than it was fetched for.
    Step,
    /// A barrier, collective or matrix that not all invocations reach.
    Uniformity,
    /// A barrier that is missing.
    Barrier,
    /// Two invocations that write one element.
    Race,
    /// A value that differs from its stage's definition.
    Value,
    /// An output that is not written, or a temporary that is read before it is written.
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
            Rule::Barrier => "missing barrier",
            Rule::Race => "race",
            Rule::Value => "value",
            Rule::Flow => "flow",
        })
    }
}

/// The stage of lowering that a nest has reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Before lowering has placed its barriers.
    Scheduled,
    /// After lowering: the nest has barriers, and each dispatch has its workgroup size.
    Lowered,
}

/// Checks a lowered nest.
///
/// # Errors
/// All violations that the checks find.
pub fn verify(program: &Program, profile: &Profile) -> Result<(), Errors> {
    check(program, profile, Form::Lowered)
}

/// Checks a nest before lowering has placed its barriers.
///
/// # Errors
/// All other violations that the checks find.
pub fn verify_scheduled(program: &Program, profile: &Profile) -> Result<(), Errors> {
    check(program, profile, Form::Scheduled)
}

fn check(program: &Program, profile: &Profile, form: Form) -> Result<(), Errors> {
    let (plan, mut errors) = loops::sides::second(program);
    let axes = program.axes.ids().map(|axis| program.exprs.axis(axis)).collect();
    let sites: Vec<_> = plan.iter().map(|dispatch| site::collect(dispatch, program)).collect();
    let within = context::within(program);
    let reach = (loops::reach::cuts(program), loops::reach::aliases(program, &sites));
    let traced = values::copies::Traced::new(program, &sites);
    let provers = context::Provers::new(program, axes, within, reach, traced);
    for (dispatch, sites) in plan.iter().zip(&sites) {
        let checks = Checks::new(program, profile, &provers, dispatch, sites);
        checks.limits();
        if form == Form::Lowered {
            checks.local_size();
            checks.shared();
        }
        checks.axes();
        checks.scope();
        // The following checks interpret the loops. If the loops are wrong, they would only repeat the same errors.
        if checks.errors.borrow().is_empty() {
            checks.predicates();
            checks.bounds();
            checks.owners();
            checks.reductions();
            checks.written();
            checks.steps();
            checks.uniform();
            checks.matrices();
            checks.dots();
            if form == Form::Lowered {
                checks.hazards();
            }
            checks.races();
            checks.scratch();
            checks.overlaid();
            checks.values();
        }
        errors.extend(checks.errors.into_inner());
    }
    if errors.is_empty() {
        memory::flow::check(program, &provers, &sites, &mut errors);
        values::accumulated::check(program, &mut errors);
    }
    defects(program, errors)
}

/// Marks the errors as bugs in the compiler.
fn defects(program: &Program, mut errors: Errors) -> Result<(), Errors> {
    errors.0.iter_mut().for_each(|error| error.kind = Kind::Compiler);
    if let Some(first) = errors.0.first_mut() {
        *first = first.clone().defect(&print::plan(program));
    }
    errors.into_result()
}
