//! Compiles a schedule with a change, and checks that the change improves the access that a lint names.

use super::memory::is_scattered;
use super::{Edit, Look};
use crate::words;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::collections::BTreeSet;
use tilewright_codegen::cost::touches;
use tilewright_dsl::syntax::{
    self,
    schedule::{Item, Schedule, Statement, StatementKind},
};
use tilewright_dsl::variant::{self, Variant};

impl Look<'_> {
    pub(super) fn compiles(&self, edit: &Edit) -> bool {
        self.followed(edit).is_some()
    }

    /// True if a version under a fact has more wide memory accesses than this one.
    pub(super) fn widens(&self, fact: &str) -> bool {
        let figures = self.figures;
        let is_wider = |made: Variant| {
            let mut versions = made.program.into_versions().ok()?;
            // The last version is the schedule itself, without the fact.
            versions.pop();
            // A fact that the given sizes contradict is not advised.
            versions.retain(|version| self.admits(version) != Some(false));
            let dispatches = versions.iter().flat_map(|version| &version.dispatches);
            let mut same = dispatches.filter(|dispatch| dispatch.name == figures.cost.name);
            Some(same.any(|dispatch| words::read(&dispatch.spirv).wide > figures.words.wide))
        };
        self.under(fact).and_then(is_wider).unwrap_or(false)
    }

    /// True if, with a change, neighbouring invocations access neighbouring elements of a tensor, and access all other tensors as
    /// before.
    pub(super) fn is_coalesced_by(&self, edit: &Edit, buffer: &str, write: bool) -> bool {
        let Some(made) = self.followed(edit) else { return false };
        let apart = |nest| {
            let all = touches(nest, &self.subject.profile).into_iter().flatten();
            all.filter(is_scattered).map(|touch| (touch.buffer, touch.write)).collect::<BTreeSet<_>>()
        };
        let (before, after) = (apart(self.nest), apart(&made.nest));
        !after.contains(&(buffer.to_owned(), write)) && after.is_subset(&before)
    }

    /// Compiles the schedule with a change. Returns `None` if it is refused.
    fn followed(&self, edit: &Edit) -> Option<Variant> {
        let mut numbers = edit.place.rsplit(':').map(|n| n.parse::<usize>().ok());
        let (column, line) = (numbers.next()??, numbers.next()??);
        let text = self.subject.written.as_ref()?.edited(line, column, &edit.from, &edit.to)?;
        self.compiled(text.parse().ok()?, |_| {})
    }

    /// Compiles the schedule with one version under a fact, and without its other versions. Returns `None` if it is refused.
    fn under(&self, fact: &str) -> Option<Variant> {
        let tokens: TokenStream = self.subject.written.as_ref()?.text.parse().ok()?;
        let mut trees: Vec<TokenTree> = tokens.into_iter().collect();
        let body = match trees.pop()? {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => group.stream(),
            _ => return None,
        };
        let body = [body, format!("specialize({fact});").parse().ok()?].into_iter().collect();
        trees.push(TokenTree::Group(Group::new(Delimiter::Brace, body)));
        let is_version = |item: &Item| matches!(item, Item::Statement(Statement { kind: StatementKind::Specialize(_), .. }));
        self.compiled(trees.into_iter().collect(), |schedule| {
            let own = schedule.items.pop();
            schedule.items.retain(|item| !is_version(item));
            schedule.items.extend(own);
        })
    }

    /// Compiles the schedule with a change of its items. Returns `None` if it is refused.
    pub(super) fn changed(&self, change: impl FnOnce(&mut Schedule)) -> Option<Variant> {
        let mut schedule = self.subject.schedule.clone();
        change(&mut schedule);
        let (kernel, profile) = (&self.subject.kernel, &self.subject.profile);
        variant::compile(kernel, &schedule, profile, &self.given.choice, &|_| None, tilewright_spirv::compile).ok()
    }

    fn compiled(&self, tokens: TokenStream, change: impl FnOnce(&mut Schedule)) -> Option<Variant> {
        // The kernel's places are in the same table.
        let mut spans = self.subject.spans.clone();
        let mut parsed = syntax::parse(tokens, &mut spans, Schedule::parse).into_result().ok()?;
        change(&mut parsed);
        self.changed(|schedule| *schedule = parsed)
    }
}
