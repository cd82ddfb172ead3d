//! A compiled schedule as tokens: its launch program, what its documentation shows, its warnings.

use super::Backend;
use crate::compile::compile;
use crate::diag::{Error, Errors, Spans};
use crate::launch;
use crate::nest::{Program, State, print};
use crate::profile::Profile;
use crate::syntax::schedule::Schedule;
use crate::syntax::{Kernel, Name, Prefix};
use proc_macro2::{Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use std::fmt::Write;

/// What a schedule was compiled to.
pub(super) struct Made {
    /// The launch program.
    program: launch::Program,
    /// The nest, the ledger and the cost.
    pub(super) documentation: String,
    /// Nests to show and the like.
    warnings: Errors,
}

/// Compiles a schedule.
pub(super) fn make(kernel: &Kernel, schedule: &Schedule, profile: &Profile, backend: Backend) -> Result<Made, Errors> {
    let compiled = compile(kernel, schedule, profile)?;
    let program = backend(&compiled.program, profile, &schedule.name.text)?;
    let documentation = documentation(&compiled.program, &program);
    Ok(Made { program, documentation, warnings: compiled.warnings })
}

/// The schedule that a kernel has of itself: no directives, parameters by their defaults.
pub(super) fn default_schedule(kernel: &Kernel) -> Schedule {
    let name = |text: &str| Name { text: text.into(), span: kernel.name.span };
    Schedule {
        prefix: Prefix::default(),
        name: name("DEFAULT"),
        kernel: vec![kernel.name.clone()],
        bindings: Vec::new(),
        profile: vec![name("vulkan_1_1")],
        facts: Vec::new(),
        items: Vec::new(),
    }
}

impl Made {
    /// `Variant::__new("NAME", b"…")`. The launch program is one literal: of a list of integers rustc takes twice as long.
    pub(super) fn value(&self, at: Span) -> TokenStream {
        let (name, program) = (&self.program.variant, Literal::byte_string(&self.program.encode()));
        quote_spanned!(at=> ::tilewright::__private::Variant::__new(#name, #program))
    }

    /// Each warning as the use of a deprecated constant at its place: a macro has no other warning to give on stable Rust.
    pub(super) fn warnings(&self, spans: &Spans) -> TokenStream {
        self.warnings.0.iter().map(|w| warning(w, spans)).collect()
    }
}

fn warning(warning: &Error, spans: &Spans) -> TokenStream {
    let at = spans.get(warning.span).map_or_else(Span::call_site, |(first, _)| first);
    let text = warning.text(spans);
    let used = quote_spanned!(at=> note);
    quote! {
        const _: () = {
            #[deprecated(note = #text)]
            #[allow(non_upper_case_globals)]
            const note: () = ();
            #used
        };
    }
}

/// What a variant became: its nest, its ledger, its cost.
fn documentation(program: &Program, launched: &launch::Program) -> String {
    let mut text = format!("```text\n{}\n", print::plan(program).trim_end());
    ledger(program, &mut text);
    cost(launched, &mut text);
    text + "```"
}

fn ledger(program: &Program, text: &mut String) {
    const STATES: [(State, &str); 4] = [
        (State::Assumed, "assumed"),
        (State::CheckedAtLaunch, "checked at launch"),
        (State::Guarded, "guarded"),
        (State::Proved, "proved"),
    ];
    for (state, heading) in STATES {
        let mut entries: Vec<&str> = program.ledger.iter().filter(|o| o.state == state).map(|o| o.what.as_str()).collect();
        entries.dedup();
        if !entries.is_empty() {
            let _ = writeln!(text, "\n{heading}:");
        }
        for entry in entries {
            let _ = writeln!(text, "  {entry}");
        }
    }
}

fn cost(launched: &launch::Program, text: &mut String) {
    let name = |dim: u32| launched.dims.get(dim as usize).map_or_else(|| "?".into(), |d| d.name.clone());
    let _ = writeln!(text, "\ncost:");
    for dispatch in &launched.dispatches {
        let grid: Vec<String> = dispatch.grid.iter().map(|size| factor(size.display(&name).to_string())).collect();
        let (grid, local) = (grid.join(" x "), dispatch.local.map(|n| n.to_string()).join(" x "));
        let _ = writeln!(text, "  {}: {grid} workgroups of {local} invocations", dispatch.name);
        let _ = writeln!(text, "    {} bytes of SPIR-V, {} of parameters", dispatch.spirv.len(), dispatch.param_bytes);
    }
    let requires = &launched.requires;
    let _ = writeln!(text, "  {} bytes of shared memory at most", requires.shared_bytes);
    let features: Vec<&str> = requires.features.iter().map(|f| f.name()).collect();
    let features = if features.is_empty() { "no features".into() } else { features.join(", ") };
    let _ = writeln!(text, "  requires {features}");
}

/// In parentheses, where it is more than one word.
fn factor(text: String) -> String {
    if text.contains(' ') { format!("({text})") } else { text }
}
