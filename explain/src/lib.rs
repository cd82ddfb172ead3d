//! Explains the compilation of a schedule step by step: the nest after every directive with the changes marked, the ledger, and the
//! cost of a launch.
//!
//! [`explain`] takes a parsed kernel, schedule and profile. [`source`] finds all three in the Rust files of a package, which are
//! parsed but not built. An [`Explanation`] is data. [`Explanation::lines`] renders it as lines, each part with a [`Style`] that a
//! terminal may show as a colour. A [`Report`] is all of it as plain data, which [`json`] writes for other programs and [`page`] as
//! a page for a browser. A schedule that is specialized has several [`Version`]s, and a schedule that tunes constants is explained
//! for one [`Choice`] of their values.
//!
//! ```text
//! source ─▶ kernel, schedule, profile ─▶ explain ─▶ versions ─▶ steps   (the compiler, watched; each compared with the one before)
//!                                                             ├─▶ ledger
//!                                                             ├─▶ figures (the nest's cost at given dims; statistics of the SPIR-V) ─▶ totals
//!                                                             └─▶ lints (problems, with the text to write instead)
//! ```
//!
//! [`compare`] compares the totals of several schedules of one kernel, at any number of sizes.

mod admit;
mod beside;
mod compare;
mod diff;
mod estimate;
mod figures;
mod flow;
mod lint;
mod page;
mod report;
pub mod source;
mod steps;
mod summary;
mod table;
mod text;
mod totals;
mod words;

pub use beside::{ComparisonReport, SizedReport, TakenReport};
pub use compare::{CompareError, Compared, Comparison, Sized, Taken, compare};
pub use estimate::Estimate;
pub use figures::{Figures, Moved};
pub use flow::Passed;
pub use lint::{Edit, Lint, LintName};
pub use page::page;
pub use report::{Report, SCHEMA, json};
pub use steps::{Line, NestStep};
pub use text::{Style, Text};
pub use totals::{LaunchEstimate, Totals};
pub use words::Words;

use figures::DimValues;
use lint::JudgedVersion;
use source::Subject;
use steps::Steps;
pub use tilewright_codegen::cost::{Bottleneck, Roofline};
use tilewright_dsl::diag::{Error, Errors};
use tilewright_dsl::launch::Program;
use tilewright_dsl::nest::{self, Obligation};
use tilewright_dsl::plan::Plan;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::schedule::tune::Choice;
use tilewright_dsl::syntax::expr::Expr;
use tilewright_dsl::syntax::schedule::{Statement, StatementKind};
use tilewright_dsl::variant::{self, Variant};

/// The result of compiling a schedule.
#[derive(Debug)]
pub struct Explanation {
    /// The variant's name.
    pub variant: String,
    /// The kernel's name.
    pub kernel: String,
    /// The profile.
    pub profile: Profile,
    /// The sizes of the figures, if they are only an example.
    pub example: Option<Example>,
    /// The verdict of a run in exact arithmetic, if the caller made one: `proved at 11 sizes; …`.
    pub exact: Option<String>,
    /// The schedule's tuned constants; empty if the schedule is wrong.
    pub tuned: Vec<Tuned>,
    /// The schedule as it is written, and then its versions under more facts: of each `specialize` that changes something, or of the
    /// planner.
    pub versions: Vec<Version>,
    /// The compiler's errors, with places.
    pub errors: Vec<String>,
    /// The compiler's warnings (the nests of `show` are among the steps).
    pub warnings: Vec<String>,
}

/// Sizes that are only an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The sizes.
    pub dims: Vec<(String, i64)>,
    /// The source of the sizes, for example `the example sizes of the catalog`.
    pub from: String,
}

/// A version of a schedule.
#[derive(Debug)]
pub struct Version {
    /// The additional facts of this version, as they are written; empty for the schedule as it is written.
    pub facts: Vec<String>,
    /// The directives that the planner wrote, with reasons.
    pub plan: Plan,
    /// The nest before the first directive, after each directive, and after lowering; up to the directive that failed.
    pub steps: Vec<NestStep>,
    /// Every obligation, and how it was discharged.
    pub ledger: Vec<Obligation>,
    /// The cost of a launch, for every dispatch; empty if the schedule is wrong.
    pub figures: Vec<Figures>,
    /// The tensors that dispatches pass on to later dispatches.
    pub flow: Vec<Passed>,
    /// The lints, judged by the figures of the profile, the most important first.
    pub lints: Vec<Lint>,
    /// The total cost; `None` if the schedule is wrong.
    pub totals: Option<Totals>,
    /// The launch program; `None` if the schedule is wrong.
    pub program: Option<Program>,
    /// True if the sizes are only an example, so that formulas say more than numbers.
    pub is_example: bool,
    /// The reason why a launch refuses the version at the given sizes. It is `None` if the launch accepts it, or if sizes are
    /// missing.
    pub refused: Option<String>,
    /// True if a launch at the given sizes takes this version. It is `None` if sizes are missing, or if a launch refuses all versions.
    pub taken: Option<bool>,
}

/// A tuned constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuned {
    /// Its name.
    pub name: String,
    /// Its value here.
    pub value: i64,
    /// Its possible values.
    pub candidates: Vec<i64>,
}

/// The parameters of an explanation.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Values of symbolic dims, as many as are known. Figures whose dims are known are shown as numbers, the others as expressions.
    pub dims: Vec<(String, i64)>,
    /// Values of tuned constants. Constants that are not named have their defaults.
    pub choice: Choice,
}

/// Compiles a schedule and records each step.
pub fn explain(subject: &Subject, given: &Given) -> Explanation {
    let Subject { schedule, kernel, profile, spans, .. } = subject;
    let mut steps: Vec<Steps> = Vec::new();
    let watch = &mut |version: usize, at, program: &dyn Fn() -> _| {
        steps.resize_with(steps.len().max(version + 1), Steps::default);
        steps[version].take(at, &program(), spans);
    };
    let made = variant::compile_watched(
        kernel,
        schedule,
        profile,
        &given.choice,
        &|at| subject.place(at),
        tilewright_spirv::compile,
        watch,
    );
    let facts = facts(subject);
    let facts = |version: usize| version.checked_sub(1).and_then(|n| facts.get(n)).cloned().unwrap_or_default();
    let version = |(n, steps): (usize, Steps)| Version {
        facts: facts(n),
        plan: Plan::default(),
        steps: steps.done,
        ledger: Vec::new(),
        figures: Vec::new(),
        flow: Vec::new(),
        lints: Vec::new(),
        totals: None,
        program: None,
        is_example: false,
        refused: None,
        taken: None,
    };
    let mut told = Explanation {
        variant: schedule.name.text.clone(),
        kernel: kernel.name.text.clone(),
        profile: profile.clone(),
        example: None,
        exact: None,
        tuned: Vec::new(),
        versions: steps.into_iter().enumerate().map(version).collect(),
        errors: Vec::new(),
        warnings: Vec::new(),
    };
    let texts = |errors: &Errors| errors.0.iter().map(|e| Errors::from(e.clone()).texts(spans)).collect();
    match made {
        Ok(made) => {
            let shown = |e: &&Error| !e.message.starts_with("the nest here:");
            let warnings = made.warnings.0.iter().filter(shown);
            told.warnings = warnings.map(|warning| Errors::from(warning.clone()).warnings(spans)).collect();
            let broken = told.fill(made, subject, given).err();
            told.errors.extend(broken);
        }
        Err(errors) => told.errors = texts(&errors),
    }
    told
}

/// Returns the facts of every `specialize` of a schedule, as they are written.
fn facts(subject: &Subject) -> Vec<Vec<String>> {
    let text = |fact: &Expr| subject.spans.source(fact.span).unwrap_or_else(|| "a fact".into());
    let of = |statement: &Statement| match &statement.kind {
        StatementKind::Specialize(facts) => Some(facts.iter().map(text).collect()),
        _ => None,
    };
    subject.schedule.statements().filter_map(of).collect()
}

impl Explanation {
    /// Marks the sizes as an example: figures are shown with their formulas and the source of the sizes.
    #[must_use]
    pub fn at_example(mut self, dims: &[(String, i64)], from: &str) -> Explanation {
        self.example = Some(Example { dims: dims.to_vec(), from: from.into() });
        self.versions.iter_mut().for_each(|version| version.is_example = true);
        self
    }

    /// Adds the results of a schedule that compiled, and leaves out versions that change nothing.
    fn fill(&mut self, made: Variant, subject: &Subject, given: &Given) -> Result<(), String> {
        let constant = |t: &nest::Tuned| Tuned { name: t.name.clone(), value: t.value, candidates: t.candidates.clone() };
        self.tuned = made.nest.statements.tuned.iter().map(constant).collect();
        // A launch tries the schedule without more facts last.
        let told = std::mem::take(&mut self.versions).into_iter().enumerate();
        self.versions = told.filter(|(n, _)| *n == 0 || made.taken.contains(n)).map(|(_, version)| version).collect();
        let warnings = made.warnings;
        let under: Vec<String> = made.program.specialized.iter().map(|version| version.under.clone()).collect();
        for (version, under) in self.versions.iter_mut().skip(1).zip(under).filter(|(version, _)| version.facts.is_empty()) {
            version.facts = vec![under];
        }
        let plans = [made.plan].into_iter().chain(made.plans);
        self.versions.iter_mut().zip(plans).for_each(|(version, plan)| version.plan = plan);
        let mut programs = made.program.into_versions()?;
        programs.rotate_right(1);
        let nests = [made.nest].into_iter().chain(made.specialized);
        let known: Vec<DimValues> = programs.iter().zip(&mut self.versions).map(|(p, version)| version.admit(p, given)).collect();
        let taken = self.taken(&known);
        let parts = programs.into_iter().zip(nests).zip(&known);
        for (n, (version, ((program, nest), known))) in self.versions.iter_mut().zip(parts).enumerate() {
            version.figures = figures::figures(&nest, &program, &self.profile, known);
            version.totals = Some(Totals::new(&version.figures, &program, known, &nest.report.rounding, &self.profile));
            version.flow = flow::flow(&program, known);
            version.taken = taken.map(|taken| taken == n);
            let is_run = version.refused.is_none() && taken.is_none_or(|taken| taken == n);
            let judged = JudgedVersion { nest: &nest, plan: &version.plan, figures: &version.figures, known, is_run };
            version.lints = lint::lints(subject, given, &judged, &warnings);
            version.ledger = nest.report.ledger;
            version.program = Some(program);
        }
        Ok(())
    }

    /// Returns the number of the version that a launch takes, if all sizes are known. The schedule without more facts is tried last.
    fn taken(&self, known: &[DimValues]) -> Option<usize> {
        let is_taken = |n: &usize| self.versions.get(*n).is_some_and(|version| version.refused.is_none());
        let first = (1..known.len()).chain([0]).find(is_taken)?;
        known.get(first).and_then(DimValues::all).map(|_| first)
    }
}

impl Version {
    /// Records why a launch refuses the version's program at the given sizes, and returns the values of its dims.
    fn admit(&mut self, program: &Program, given: &Given) -> DimValues {
        let known = DimValues::new(program, &given.dims);
        self.refused = known.contradicted(program, &given.dims);
        match (&self.refused, known.all()) {
            // The launch does not take this schedule at the given sizes, so they are not used.
            (Some(_), _) => return DimValues::new(program, &[]),
            (None, Some(all)) => self.refused = admit::refusal(program, &all),
            (None, None) => {}
        }
        known
    }
}
