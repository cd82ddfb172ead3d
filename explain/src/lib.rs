//! What Tilewright makes of a schedule, told step by step: the nest after every directive with what changed marked, the
//! ledger, and what a launch costs.
//!
//! [`explain`] takes the trees of a kernel and a schedule and a profile; [`source`] finds all three in the Rust files of a package,
//! which are parsed and not built. An [`Explanation`] is data; [`Explanation::lines`] makes lines of it, each part
//! with a [`Style`] that a terminal may show as a colour.
//!
//! ```text
//! source ─▶ kernel, schedule, profile ─▶ explain ─▶ steps   (the compiler, watched; each compared with the one before)
//!                                               ├─▶ ledger
//!                                               └─▶ figures (the nest's cost at given dims; what the words hold; roofline)
//! ```

mod diff;
mod figures;
pub mod source;
mod steps;
mod text;
mod words;

pub use figures::{Bound, Figures, Moved, Roofline};
pub use steps::{Line, Step};
pub use text::{Style, Text};
pub use words::Words;

use source::Subject;
use steps::Steps;
use tilewright_dsl::compile::compile_choice;
use tilewright_dsl::diag::Errors;
use tilewright_dsl::launch::Program;
use tilewright_dsl::nest::Obligation;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::schedule::tune::Choice;

/// What became of a schedule.
#[derive(Debug)]
pub struct Explanation {
    /// The variant's name.
    pub variant: String,
    /// The kernel's name.
    pub kernel: String,
    /// The profile.
    pub profile: Profile,
    /// The nest before the first directive, after each, and after lowering; up to the directive that failed.
    pub steps: Vec<Step>,
    /// Every obligation of the variant, and what became of it.
    pub ledger: Vec<Obligation>,
    /// What a launch costs, for every dispatch; none of a schedule that is wrong.
    pub figures: Vec<Figures>,
    /// The launch program; `None` of a schedule that is wrong.
    pub program: Option<Program>,
    /// Why the schedule is wrong, in the compiler's words with their places.
    pub errors: Vec<String>,
    /// What the compiler warns of (the nests of `show` are among the steps).
    pub warnings: Vec<String>,
}

/// What is asked about a schedule.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Values of symbolic dims, as many as are known: what they suffice for is shown as numbers, the rest as expressions.
    pub dims: Vec<(String, i64)>,
    /// Values of tuned constants; those that are not named have their defaults.
    pub choice: Choice,
}

/// Compiles a schedule and tells how.
pub fn explain(subject: &Subject, given: &Given) -> Explanation {
    let Subject { schedule, kernel, profile, spans } = subject;
    let mut steps = Steps::default();
    let watch = &mut |at, program: &dyn Fn() -> _| steps.take(at, &program(), spans);
    let compiled = compile_choice(kernel, schedule, profile, &given.choice, watch);
    let mut told = Explanation {
        variant: schedule.name.text.clone(),
        kernel: kernel.name.text.clone(),
        profile: profile.clone(),
        steps: steps.done,
        ledger: Vec::new(),
        figures: Vec::new(),
        program: None,
        errors: Vec::new(),
        warnings: Vec::new(),
    };
    let texts = |errors: &Errors| errors.0.iter().map(|e| Errors::from(e.clone()).texts(spans)).collect();
    let made = compiled.and_then(|compiled| {
        let program = tilewright_spirv::compile(&compiled.program, profile, &schedule.name.text)?;
        Ok((compiled, program))
    });
    match made {
        Ok((compiled, program)) => {
            told.figures = figures::figures(&compiled.program, &program, profile, &given.dims);
            let shown = |e: &tilewright_dsl::diag::Error| !e.message.starts_with("the nest here:");
            told.warnings = texts(&Errors(compiled.warnings.0.into_iter().filter(shown).collect()));
            told.ledger = compiled.program.ledger;
            told.program = Some(program);
        }
        Err(errors) => told.errors = texts(&errors),
    }
    told
}
