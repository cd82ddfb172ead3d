//! Whether a schedule compiles with a change.

use super::{Edit, Look};
use proc_macro2::TokenStream;
use tilewright_dsl::syntax::{self, schedule::Schedule};
use tilewright_dsl::variant;

impl Look<'_> {
    pub(super) fn compiles(&self, edit: &Edit) -> bool {
        self.with(edit).is_some()
    }

    fn with(&self, edit: &Edit) -> Option<()> {
        let subject = self.subject;
        let mut numbers = edit.place.rsplit(':').map(|n| n.parse::<usize>().ok());
        let (column, line) = (numbers.next()??, numbers.next()??);
        let text = subject.written.as_ref()?.edited(line, column, &edit.from, &edit.to)?;
        let tokens: TokenStream = text.parse().ok()?;
        // The kernel's places are in the same table.
        let mut spans = subject.spans.clone();
        let schedule = syntax::parse(tokens, &mut spans, Schedule::parse).into_result().ok()?;
        let (kernel, profile) = (&subject.kernel, &subject.profile);
        variant::compile(kernel, &schedule, profile, self.choice, &|_| None, tilewright_spirv::compile).ok().map(drop)
    }
}
