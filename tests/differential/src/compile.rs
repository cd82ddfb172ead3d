//! Compiles text to a variant, as the macros do, and keeps the intermediate results.

use tilewright_dsl::compile::{compile_watched, decomposed};
use tilewright_dsl::diag::{Errors, SourcePosition, SpanId, Spans};
use tilewright_dsl::launch;
use tilewright_dsl::nest::{Program, print};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::schedule::tune::{self, Choice};
use tilewright_dsl::schedule::{At, head};
use tilewright_dsl::syntax::{self, Kernel, schedule::Schedule};
use tilewright_dsl::variant::compile;

/// A compiled variant.
pub struct Variant {
    /// The launch program.
    pub program: launch::Program,
    /// The algorithm that it must agree with.
    pub algorithm: Program,
    /// The algorithm as the schedule decomposes it, if it does.
    pub decomposed: Option<Program>,
    /// The nest that its SPIR-V modules were made from.
    pub nest: Program,
    /// The nests of its specialized versions.
    pub specialized: Vec<Program>,
    /// The nests of the programs that prepare inputs.
    pub prepared: Vec<Program>,
}

/// The reason for which something did not compile.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// All errors, with places.
    pub text: String,
    /// The first error, without its notes.
    pub message: String,
    /// The rule of the first error: its message without names and numbers.
    pub rule: String,
    /// True if the compiler reports it as its own bug: the verifier or the backend refused a nest that the directives had accepted.
    pub is_defect: bool,
}

/// Compiles a kernel under a schedule, both as text: `V: matmul for p { … }`.
///
/// # Errors
/// The compiler's errors.
pub fn variant(kernel: &str, schedule: &str, profile: &Profile) -> Result<Variant, Refusal> {
    let mut spans = Spans::new();
    let parsed = parse(kernel, schedule, &mut spans)?;
    parsed.choice(&Choice::default(), profile, &spans).map_err(|e| Refusal::new(&e, &spans))
}

/// Returns the last nest that the compiler made, even if the compilation failed; `None` if there was none.
pub fn last_nest(kernel: &str, schedule: &str, profile: &Profile) -> Option<String> {
    let parsed = parse(kernel, schedule, &mut Spans::new()).ok()?;
    let mut last = None;
    let mut watch = |_: At, program: &dyn Fn() -> Program| last = Some(print::plan(&program()));
    let _ = compile_watched(&parsed.kernel, &parsed.schedule, profile, &mut watch);
    last
}

/// A choice of a schedule's tuned constants, as text, and the variant that it was compiled to, or the refusal.
pub type Chosen = (String, Result<Variant, Refusal>);

/// Compiles every choice of a schedule's tuned constants.
///
/// # Errors
/// Errors that affect all choices.
pub fn choices(kernel: &str, schedule: &str, profile: &Profile) -> Result<Vec<Chosen>, Refusal> {
    let mut spans = Spans::new();
    let parsed = parse(kernel, schedule, &mut spans)?;
    let all = tune::choices(&parsed.kernel, &parsed.schedule).map_err(|e| Refusal::new(&e, &spans))?;
    let one = |choice: &Choice| parsed.choice(choice, profile, &spans).map_err(|e| Refusal::new(&e, &spans));
    Ok(all.iter().map(|choice| (choice.to_string(), one(choice))).collect())
}

/// Parsed and checked text.
struct Parsed {
    kernel: Kernel,
    schedule: Schedule,
    algorithm: Program,
}

fn parse(kernel: &str, schedule: &str, spans: &mut Spans) -> Result<Parsed, Refusal> {
    let tokens = |text: &str| text.parse().map_err(|e| Refusal::of_text(format!("{e}")));
    let kernel = syntax::kernel::parse(tokens(kernel)?, spans).into_result().map_err(|e| Refusal::new(&e, spans))?;
    let schedule = syntax::parse(tokens(schedule)?, spans, Schedule::parse).into_result().map_err(|e| Refusal::new(&e, spans))?;
    let bindings = head::bindings(&kernel, &schedule).map_err(|e| Refusal::new(&e, spans))?;
    let algorithm = tilewright_dsl::algorithm::check(&kernel, &bindings).map_err(|e| Refusal::new(&e, spans))?;
    Ok(Parsed { kernel, schedule, algorithm })
}

impl Parsed {
    /// Texts are not in files, so the kernel's file is called `kernel.rs` and the schedule's `schedule.rs`. With these, every test
    /// has source lines.
    fn choice(&self, choice: &Choice, profile: &Profile, spans: &Spans) -> Result<Variant, Errors> {
        let of_kernel = spans.get(self.kernel.name.span).map(|(first, _)| first.file());
        let place = |span: SpanId| {
            let (first, _) = spans.get(span)?;
            let file = if Some(first.file()) == of_kernel { "kernel.rs" } else { "schedule.rs" };
            SourcePosition::new(file, first.start().line, first.start().column + 1)
        };
        let made = compile(&self.kernel, &self.schedule, profile, choice, &place, tilewright_spirv::compile)?;
        let prepared = made.prepared.into_iter().map(|(_, nest)| nest).collect();
        let decomposed = decomposed(&self.kernel, &self.schedule, choice)?;
        Ok(Variant {
            program: made.program,
            algorithm: self.algorithm.clone(),
            decomposed,
            nest: made.nest,
            specialized: made.specialized,
            prepared,
        })
    }
}

impl Refusal {
    fn new(errors: &Errors, spans: &Spans) -> Refusal {
        let message = errors.0.first().map_or("no error", |e| &e.message).to_owned();
        Refusal { text: errors.texts(spans), rule: rule(&message), message, is_defect: errors.are_of_compiler() }
    }

    fn of_text(text: String) -> Refusal {
        Refusal { rule: rule(&text), message: text.clone(), text, is_defect: false }
    }
}

/// Returns a message without the parts that differ from case to case: names in backquotes, and numbers.
pub fn rule(message: &str) -> String {
    let mut rule = String::new();
    for (n, part) in message.lines().next().unwrap_or_default().split('`').enumerate() {
        if n % 2 == 1 {
            rule.push('_');
            continue;
        }
        let mut digits = false;
        for c in part.chars() {
            if !c.is_ascii_digit() {
                rule.push(c);
            } else if !digits {
                rule.push('#');
            }
            digits = c.is_ascii_digit();
        }
    }
    rule
}
