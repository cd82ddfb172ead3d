//! The choice of a variant for the arguments of a launch.
//!
//! A kernel keeps its last choices, because most launches have arguments of the same form as an earlier one.

use super::argument::Argument;
use super::bound::BoundArguments;
use super::load::{DynKernel, Loadable};
use super::recent::Recent;
use super::run::Target;
use crate::error::{Error, Refusal, Result};
use crate::launch::plan::Plan;
use crate::launch::work::{self, LaunchLimits, Request, Solved};
use crate::tensor::AnyTensor;
use std::sync::Arc;
use tilewright_launch::{Program, Temporaries};

/// The choices of a kernel by the forms of arguments.
pub(super) type Choices = Recent<u64, Arc<Choice>>;

/// A variant, with its plan for arguments of one form.
pub(super) struct Choice {
    /// Its index among the kernel's loaded variants.
    pub(super) at: usize,
    pub(super) plan: Plan,
    /// The memory of temporaries.
    pub(super) temporaries: Temporaries,
}

/// Returns the index of the variant that takes these arguments.
pub(crate) fn choose<'a>(kernel: &DynKernel, args: impl IntoIterator<Item = Argument<'a>>) -> Result<usize> {
    Ok(find(kernel, &BoundArguments::new(kernel, args)?, &Target::Allocate)?.0)
}

/// Chooses the first variant that takes the arguments, and plans its launch.
pub(super) fn choice(kernel: &DynKernel, bound: &BoundArguments<'_>, target: &Target<'_>) -> Result<Arc<Choice>> {
    // All variants have the same arguments and outputs, which come first among their tensors.
    let Some(Loadable { program: first, .. }) = kernel.loadable(0) else { return Err(Error::NothingToLoad) };
    let form = || bound.form(kernel, first, target);
    if let Some(known) = kernel.choices().find(|known| form().eq(known.iter().copied())) {
        return Ok(known);
    }
    let (at, Loadable { program, .. }, solved) = find(kernel, bound, target)?;
    let plan = Plan::new(kernel.name(), program, solved, &LaunchLimits::from(&kernel.device().info().limits))?;
    let shares = kernel.device().shares_temporaries();
    let temporaries = if shares { program.temporaries(&plan.bytes) } else { Temporaries::default() };
    let choice = Arc::new(Choice { at, plan, temporaries });
    if choice.plan.is_small() {
        kernel.choices().keep(&form().collect::<Vec<_>>(), choice.clone());
    }
    Ok(choice)
}

/// Finds the first variant that takes the arguments.
fn find<'k>(kernel: &'k DynKernel, bound: &BoundArguments<'_>, target: &Target<'_>) -> Result<(usize, &'k Loadable, Solved)> {
    let mut refusals: Vec<(bool, String, Refusal)> = Vec::new();
    let given = kernel.loadable(0).map_or_else(Vec::new, |v| bound.given(&v.program, target));
    let (shapes, limits) = (bound.shapes(), LaunchLimits::from(&kernel.device().info().limits));
    for (at, loadable) in kernel.loadables().iter().enumerate() {
        let Loadable { program, specialized, variant, .. } = loadable;
        let request = Request { shapes: &shapes, sizes: &bound.sizes, scalars: &bound.scalars, given: &given };
        let tried = request.solve(program, &limits).and_then(|solved| {
            prepared(program, *variant, bound)?;
            Ok(solved)
        });
        match tried {
            Ok(solved) => return Ok((at, loadable, solved)),
            Err(refusal) => refusals.push((*specialized, program.variant.clone(), refusal)),
        }
    }
    let same_parameters = kernel.variants().is_sorted_by(|a, b| a.parameters == b.parameters);
    Err(work::refused(kernel.name(), refusals, same_parameters))
}

/// Returns the tensors that were precomputed for a variant, with the indices of the program's tensors.
pub(super) fn prepared<'a>(
    program: &Program,
    variant: usize,
    bound: &BoundArguments<'a>,
) -> Result<Vec<(u32, &'a AnyTensor)>, Refusal> {
    let mut found = Vec::new();
    for preparation in &program.preparations {
        // Inputs and updates come first among the tensors.
        let Some(of) = bound.tensors.get(preparation.input as usize).and_then(|t| t.preparation()) else { continue };
        let tensors = of.of_variant(variant)?;
        found.extend(preparation.tensors.iter().copied().zip(tensors));
    }
    Ok(found)
}
