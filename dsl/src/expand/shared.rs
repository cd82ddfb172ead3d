//! Errors at places of the kernel that a schedule's compilation finds: whose they are, and that the kernel's own are said once.
//!
//! `kernel!` has checked the kernel, so mostly it is the schedule's dtypes, parameters or profile that do not fit: then the error is that
//! of the schedule's head. But an error that the kernel also has without directives, on a device that has everything, is its own. Every
//! schedule finds it, and each is expanded for itself. What one has said is remembered within the process, under the place and the text:
//! a later one says nothing more, as rustc has the error already. Where places are not known nothing is remembered (rust-analyzer, whose
//! process outlives expansions and expands items one by one): there each schedule says it at its head.

use super::{Backend, variant};
use crate::diag::{Error, Errors, SpanId, Spans};
use crate::launch::Feature;
use crate::profile::Profile;
use crate::schedule::tune::Choice;
use crate::syntax::Kernel;
use crate::syntax::schedule::Schedule;
use crate::variant::compile;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// What is wrong with which kernel, as it was said in this process.
static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// A kernel and a schedule of it that was refused.
pub(super) struct Refused<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) schedule: &'a Schedule,
    pub(super) backend: Backend,
    /// The schedule's head.
    pub(super) head: SpanId,
    /// The spans between these are the kernel's.
    pub(super) in_kernel: (SpanId, SpanId),
}

impl Refused<'_> {
    /// The errors as they are to be said here; none, where others have said them all.
    pub(super) fn said(&self, errors: Errors, spans: &Spans) -> Errors {
        if !errors.0.iter().any(|e| self.is_in_kernel(e)) {
            return errors;
        }
        let own = self.of_kernel();
        Errors(errors.0.into_iter().filter_map(|error| self.one(error, &own, spans)).collect())
    }

    fn is_in_kernel(&self, error: &Error) -> bool {
        self.in_kernel.0 < error.span && error.span <= self.in_kernel.1
    }

    fn one(&self, error: Error, own: &Errors, spans: &Spans) -> Option<Error> {
        if !self.is_in_kernel(&error) {
            return Some(error);
        }
        match spans.place(error.span).and_then(|_| spans.locate(error.span)) {
            Some(place) if own.0.contains(&error) => {
                let first = SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(format!("{place}: {}", error.text(spans)));
                first.then_some(error)
            }
            _ => {
                let at = error.span;
                Some(Error { span: self.head, ..error }.note_at(at, "it comes from this part of the kernel"))
            }
        }
    }

    /// What is wrong with the kernel itself, of the dtypes and parameters that the schedule binds.
    fn of_kernel(&self) -> Errors {
        let plain = Schedule { bindings: self.schedule.bindings.clone(), ..variant::default_schedule(self.kernel) };
        let everything = Profile {
            invocations: 1024,
            local: [1024; 3],
            shared_bytes: u32::MAX,
            push_bytes: 256,
            features: Feature::ALL.iter().map(|(feature, _)| *feature).collect(),
            ..Profile::vulkan_1_1()
        };
        compile(self.kernel, &plain, &everything, &Choice::default(), &|_| None, self.backend).err().unwrap_or_default()
    }
}
