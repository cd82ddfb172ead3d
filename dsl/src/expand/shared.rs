//! Decides where errors in the kernel are reported when a schedule is compiled: at the schedule's header, or in the kernel itself. The
//! kernel's own errors are shown once.
//!
//! `kernel!` has checked the kernel already. So such an error mostly belongs to the schedule's header: its dtypes, parameters or profile do
//! not fit. But if the kernel also has an error at that place without directives, on a device with all features, the error is the kernel's
//! own. Every schedule detects it, and each schedule is expanded on its own. All of them emit the same text at the same span, so that rustc
//! shows it once. Therefore no state is kept, and no error is lost where items are expanded one by one, as in rust-analyzer.

use super::{Backend, variant};
use crate::diag::{Error, Errors, SpanId, Spans};
use crate::profile::Profile;
use crate::schedule::statements::tune::Choice;
use crate::syntax::Kernel;
use crate::syntax::schedule::Schedule;
use crate::variant::compile;
use proc_macro2::Span;

/// A kernel and one of its schedules that was refused.
pub(super) struct Refused<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) schedule: &'a Schedule,
    pub(super) backend: Backend,
    /// The place of the schedule's header.
    pub(super) head: SpanId,
    pub(super) name: Span,
    /// The spans after the first and up to the second of these are the kernel's.
    pub(super) in_kernel: (SpanId, SpanId),
}

impl Refused<'_> {
    /// Returns the errors to report.
    pub(super) fn said(&self, errors: Errors, spans: &mut Spans) -> Errors {
        if !errors.0.iter().any(|e| self.is_in_kernel(e)) {
            return errors;
        }
        let own = self.of_kernel();
        let one = |error: Error| match own.0.iter().find(|own| own.span == error.span) {
            _ if !self.is_in_kernel(&error) => error,
            // The kernel's own error has the same text under any schedule.
            Some(own) => Error { span: self.bare(own.span, spans), ..own.clone() },
            None => {
                let at = error.span;
                Error { span: self.head, ..error }.note_at(at, "it comes from this part of the kernel")
            }
        };
        Errors(errors.0.into_iter().map(one).collect())
    }

    fn is_in_kernel(&self, error: &Error) -> bool {
        self.in_kernel.0 < error.span && error.span <= self.in_kernel.1
    }

    /// Returns a place of the kernel as if its tokens had not passed through macros, because those make spans differ between schedules.
    fn bare(&self, span: SpanId, spans: &mut Spans) -> SpanId {
        let Some((first, last)) = spans.get(span) else { return span };
        spans.add_range(first.resolved_at(self.name), last.resolved_at(self.name))
    }

    /// Returns the errors of the kernel itself, for the dtypes and parameters that the schedule binds.
    fn of_kernel(&self) -> Errors {
        let plain = Schedule { bindings: self.schedule.bindings.clone(), ..variant::default_schedule(self.kernel) };
        compile(self.kernel, &plain, &Profile::with_everything(), &Choice::default(), &|_| None, self.backend)
            .err()
            .unwrap_or_default()
    }
}
