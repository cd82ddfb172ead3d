//! A compiled schedule as tokens: its launch program, its documentation and its warnings.

use super::{Backend, Costs};
use crate::diag::{Error, Errors, Kind, Spans};
use crate::launch;
use crate::nest::{Program, Rounding, State, print};
use crate::plan::Plan;
use crate::profile::Profile;
use crate::schedule::statements::tune::Choice;
use crate::syntax::schedule::Schedule;
use crate::syntax::{Kernel, Name};
use crate::variant::{Form, Variant, compile, forms};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use std::fmt::Write;
use syn::Attribute;

/// The results of compiling a schedule.
pub(super) struct Made {
    /// The launch program.
    program: launch::Program,
    /// The encoded launch program.
    bytes: Vec<u8>,
    /// The summary: dispatches, work, and what bounds them.
    pub(super) summary: String,
    /// The plan, the nest, the ledger and the cost.
    pub(super) documentation: String,
    /// The rounding errors that decompositions are expected to add to their results.
    rounding: Vec<Rounding>,
    /// The warnings, with the nests to show.
    warnings: Errors,
}

/// Compiles a schedule.
pub(super) fn make(
    kernel: &Kernel,
    schedule: &Schedule,
    profile: &Profile,
    spans: &Spans,
    backend: Backend,
    costs: Costs,
) -> Result<Made, Errors> {
    let place = |span| spans.place(span);
    let Variant { program, nest, specialized, taken: _, prepared, plan, plans, warnings } =
        compile(kernel, schedule, profile, &Choice::default(), &place, backend)?;
    let costs = costs(&nest, &program, profile);
    let mut documentation = planned(&plan) + &documentation(&nest, &costs.figures);
    for ((version, nest), plan) in program.specialized.iter().zip(&specialized).zip(&plans) {
        let section = section(&format!("Where `{}`", version.under), nest);
        documentation += &section.replacen("\n\n```text", &format!("\n\n{}```text", planned(plan)), 1);
    }
    for (input, nest) in &prepared {
        documentation += &section(&format!("When `{input}` is prepared"), nest);
    }
    let bytes =
        program.encode().map_err(|e| Error::new(schedule.name.span, format!("the launch program cannot be encoded: {e}")))?;
    Ok(Made { program, bytes, summary: summary(&costs.summary), documentation, rounding: nest.report.rounding, warnings })
}

/// Returns a kernel's default schedule: no directives, and the parameters' defaults.
pub(super) fn default_schedule(kernel: &Kernel) -> Schedule {
    let name = |text: &str| Name { text: text.into(), span: kernel.name.span };
    Schedule { name: name("DEFAULT"), kernel: vec![kernel.name.clone()], profile: vec![name("vulkan_1_1")], ..Schedule::default() }
}

impl Made {
    /// Returns the forms of inputs and outputs, in order.
    pub(super) fn forms(&self) -> Vec<Form> {
        forms(&self.program)
    }

    /// Returns `unsafe { Variant::__new("NAME", b"…") }`. The launch program is one literal, because rustc takes twice as long for a list
    /// of integers.
    ///
    /// `__new` is unsafe, because the runtime trusts the bytes. These bytes are the compiler's own. The block has spans of this macro, so
    /// that rustc's lint `unsafe_code`, which skips macros of other crates, does not apply. Therefore crates that forbid unsafe code can
    /// have kernels and schedules.
    pub(super) fn value(&self, at: Span) -> TokenStream {
        let (name, program) = (&self.program.variant, Literal::byte_string(&self.bytes));
        let value = quote_spanned!(at=> unsafe { ::tilewright::__private::Variant::__new(#name, #program) });
        if self.rounding.is_empty() {
            return value;
        }
        let rounding = self.rounding.iter().map(|Rounding { result, expected, worst }| {
            quote_spanned!(at=> ::tilewright::__private::Rounding { result: #result, expected: #expected, worst: #worst })
        });
        quote_spanned!(at=> #value.__rounds(&[#(#rounding),*]))
    }

    /// Returns each warning as the use of a deprecated macro at its place, under the schedule's own `allow`s, because stable Rust gives
    /// macros no other way to warn. rustc shows the macro's name and then the text. For a constant it would show a path, `_::name`.
    pub(super) fn warnings(&self, spans: &Spans, attributes: &[Attribute]) -> TokenStream {
        let levels = || attributes.iter().filter(|a| ["allow", "warn", "deny"].iter().any(|level| a.path().is_ident(level)));
        self.warnings.0.iter().map(|w| warning(w, spans, levels())).collect()
    }
}

fn warning<'a>(warning: &Error, spans: &Spans, levels: impl Iterator<Item = &'a Attribute>) -> TokenStream {
    let at = spans.get(warning.span).map_or_else(Span::call_site, |(first, _)| first);
    let text = warning.text(spans);
    let name = match warning.kind {
        Kind::Asked => "tilewright_show",
        Kind::UselessCopy | Kind::Source | Kind::Compiler => "tilewright_warning",
    };
    let (name, used) = (Ident::new(name, Span::call_site()), Ident::new(name, at));
    let used = quote_spanned!(at=> #used!{});
    quote! {
        #(#levels)*
        const _: () = {
            #[deprecated(note = #text)]
            macro_rules! #name { () => {}; }
            #used
        };
    }
}

/// Returns the lines of the summary as a paragraph, each with its own line.
fn summary(lines: &[String]) -> String {
    lines.join("  \n")
}

/// Returns the directives that the planner wrote, as a block of code.
fn planned(plan: &Plan) -> String {
    if plan.is_empty() {
        return String::new();
    }
    format!("The planner wrote:\n\n```text\n{}\n```\n\n", plan.source(0).trim_end())
}

/// Returns the documentation of a variant: its nest, its ledger and its cost.
fn documentation(program: &Program, costs: &str) -> String {
    let mut text = format!("```text\n{}\n", print::plan(program).trim_end());
    tuned(program, &mut text);
    ledger(program, &mut text);
    text + costs + "```"
}

/// Returns the documentation of another part of the variant: its nest and its ledger.
fn section(heading: &str, nest: &Program) -> String {
    let mut text = format!("\n\n{heading}:\n\n```text\n{}\n", print::plan(nest).trim_end());
    ledger(nest, &mut text);
    text + "```"
}

/// Writes the tuned constants, with their values and candidates.
fn tuned(program: &Program, text: &mut String) {
    if !program.statements.tuned.is_empty() {
        let _ = writeln!(text, "\ntuned:");
    }
    for tuned in &program.statements.tuned {
        let candidates: Vec<String> = tuned.candidates.iter().map(i64::to_string).collect();
        let _ = writeln!(text, "  {} = {} of {}", tuned.name, tuned.value, candidates.join(", "));
    }
}

fn ledger(program: &Program, text: &mut String) {
    const STATES: [(State, &str); 5] = [
        (State::Assumed, "assumed"),
        (State::CheckedAtLaunch, "checked at launch"),
        (State::Guarded, "guarded"),
        (State::Proved, "proved"),
        (State::Stated, "stated"),
    ];
    if !program.statements.pinned.is_empty() {
        let names: Vec<&str> = program.statements.pinned.iter().map(|d| program.dims[*d].name.as_str()).collect();
        let _ = writeln!(text, "\nspecialization constants:\n  {}", names.join(", "));
    }
    for (state, heading) in STATES {
        let mut entries: Vec<&str> = program.report.ledger.iter().filter(|o| o.state == state).map(|o| o.what.as_str()).collect();
        entries.dedup();
        if !entries.is_empty() {
            let _ = writeln!(text, "\n{heading}:");
        }
        for entry in entries {
            let _ = writeln!(text, "  {entry}");
        }
    }
}
