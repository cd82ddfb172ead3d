//! A compiled schedule as tokens: its launch program, what its documentation shows, its warnings.

use super::Backend;
use crate::diag::{Error, Errors, Spans};
use crate::profile::Profile;
use crate::syntax::Kernel;
use crate::syntax::schedule::Schedule;
use proc_macro2::{Literal, Span, TokenStream};
use quote::{quote, quote_spanned};

/// What a schedule was compiled to.
pub(super) struct Made {
    /// The encoded launch program.
    pub(super) program: Vec<u8>,
    /// The nest, the ledger and the cost.
    pub(super) documentation: String,
    /// Nests to show and the like.
    pub(super) warnings: Errors,
}

/// Compiles.
pub(super) fn make(
    kernel: &Kernel,
    schedule: &Schedule,
    profile: &Profile,
    spans: &mut Spans,
    backend: Backend,
) -> Result<Made, Errors> {
    let _ = (kernel, schedule, profile, spans, backend);
    Err(Errors::new())
}

impl Made {
    /// The launch program as one literal: a list of integers would take rustc twice as long.
    pub(super) fn literal(&self) -> Literal {
        Literal::byte_string(&self.program)
    }

    /// Each warning as the use of a deprecated constant at its place: stable Rust has no other warning for a macro to give.
    pub(super) fn warnings(&self, spans: &Spans) -> TokenStream {
        self.warnings.0.iter().map(|w| warning(w, spans)).collect()
    }
}

fn warning(warning: &Error, spans: &Spans) -> TokenStream {
    let at = spans.get(warning.span).map_or_else(Span::call_site, |(first, _)| first);
    let text = warning.text(spans);
    let used = quote_spanned!(at=> schedule);
    quote! {
        const _: () = {
            #[deprecated(note = #text)]
            #[allow(non_upper_case_globals)]
            const schedule: () = ();
            #used
        };
    }
}
