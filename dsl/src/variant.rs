//! A whole variant: the nests of its versions, and the launch program that the backend makes of them.
//!
//! What the macros compile, and what tuners and tests compile at run time, goes this way.

use crate::compile::{self, Compiled};
use crate::diag::Errors;
use crate::launch;
use crate::nest::Program;
use crate::profile::Profile;
use crate::schedule::tune::Choice;
use crate::syntax::Kernel;
use crate::syntax::schedule::Schedule;

/// What makes a launch program of a lowered nest, for a profile, under a variant's name.
pub type Backend = fn(&Program, &Profile, &str) -> Result<launch::Program, Errors>;

/// A compiled variant.
#[derive(Debug)]
pub struct Variant {
    /// What a launch runs.
    pub program: launch::Program,
    /// The nest that it was made of.
    pub compiled: Compiled,
}

/// Compiles a variant, with the tuned constants of a choice.
///
/// # Errors
/// Those of [`compile::compile`], and what the backend refuses.
pub fn compile(
    kernel: &Kernel,
    schedule: &Schedule,
    profile: &Profile,
    choice: &Choice,
    backend: Backend,
) -> Result<Variant, Errors> {
    let compiled = compile::compile_choice(kernel, schedule, profile, choice, &mut |_, _| {})?;
    let program = backend(&compiled.program, profile, &schedule.name.text)?;
    Ok(Variant { program, compiled })
}
