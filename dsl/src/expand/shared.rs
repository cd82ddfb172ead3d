//! Errors at places of the kernel that compiling a schedule finds: the schedule's, or the kernel's own, which are shown once.
//!
//! `kernel!` has checked the kernel. So such an error is mostly that of the schedule's head: its dtypes, parameters or profile do not fit.
//! But if the kernel also has an error at that place without directives, on a device with all features, it is the kernel's own. Every
//! schedule finds it, and each is expanded for itself: all emit the same text at the same span, of which rustc shows one. So no state is
//! kept, and no error is lost where items are expanded one by one, as in rust-analyzer.

use super::{Backend, variant};
use crate::diag::{Error, Errors, SpanId, Spans};
use crate::profile::Profile;
use crate::schedule::tune::Choice;
use crate::syntax::Kernel;
use crate::syntax::schedule::Schedule;
use crate::variant::compile;
use proc_macro2::Span;

/// A kernel and a schedule of it that was refused.
pub(super) struct Refused<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) schedule: &'a Schedule,
    pub(super) backend: Backend,
    /// The schedule's head, and a token of it.
    pub(super) head: SpanId,
    pub(super) name: Span,
    /// The spans between these are the kernel's.
    pub(super) in_kernel: (SpanId, SpanId),
}

impl Refused<'_> {
    /// The errors as they are to be said.
    pub(super) fn said(&self, errors: Errors, spans: &mut Spans) -> Errors {
        if !errors.0.iter().any(|e| self.is_in_kernel(e)) {
            return errors;
        }
        let own = self.of_kernel();
        let one = |error: Error| match own.0.iter().find(|own| own.span == error.span) {
            _ if !self.is_in_kernel(&error) => error,
            // As it is said without directives: the same text under any.
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

    /// A place of the kernel as if its tokens had not come through macros, which makes spans differ from schedule to schedule.
    fn bare(&self, span: SpanId, spans: &mut Spans) -> SpanId {
        let Some((first, last)) = spans.get(span) else { return span };
        spans.add_range(first.resolved_at(self.name), last.resolved_at(self.name))
    }

    /// What is wrong with the kernel itself, of the dtypes and parameters that the schedule binds.
    fn of_kernel(&self) -> Errors {
        let plain = Schedule { bindings: self.schedule.bindings.clone(), ..variant::default_schedule(self.kernel) };
        compile(self.kernel, &plain, &Profile::with_everything(), &Choice::default(), &|_| None, self.backend)
            .err()
            .unwrap_or_default()
    }
}
