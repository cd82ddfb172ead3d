//! Checks that local memory is written before it is read: on every path, all elements that are read, and by both init and update where a
//! result is read.

use crate::diag::Error;
use crate::nest::{Exec, Node, NodeKind, Phase, Space};
use crate::verify::Rule;
use crate::verify::context::Checks;
use crate::verify::site::{Role, Site, SiteAccess};
use std::collections::BTreeSet;

impl<'v> Checks<'v> {
    /// Checks every read of local memory.
    pub(in crate::verify) fn written(&self) {
        for site in self.sites {
            for touch in &site.touches {
                let local = !self.space(touch.buffer).is_global() && !matches!(self.space(touch.buffer), Space::Constant(_));
                if local && !self.is_pipelined(touch.buffer) && (!touch.writes || touch.role == Role::Update) {
                    self.is_written(site, touch);
                }
            }
        }
    }

    fn is_written(&self, site: &Site<'_>, touch: &SiteAccess) {
        let writers = self.writers(site, touch);
        let (updates, others): (Vec<_>, Vec<_>) = writers.into_iter().partition(|(_, by)| by.role == Role::Update);
        if !self.reaches(site, touch, &others, true) {
            self.unwritten(site, touch, "is not completely written before");
        } else if !updates.is_empty() && !self.is_updated(site, touch, &updates) {
            self.unwritten(site, touch, "is not completely updated before");
        }
    }

    /// True if the elements that are read have been updated. Updates of memory reach all elements that the items choose.
    fn is_updated(&self, site: &Site<'_>, touch: &SiteAccess, updates: &[(&Site<'_>, &SiteAccess)]) -> bool {
        let in_memory = updates.iter().any(|(update, _)| self.updates_memory(update).is_some());
        match touch.role {
            Role::Plain | Role::Finish if in_memory => updates.iter().all(|(update, _)| update.is_before(site)),
            Role::Finish => self.reaches(site, touch, updates, false),
            Role::Plain | Role::Init | Role::Update => true,
        }
    }

    /// Returns the accesses that write a buffer within the same scope.
    fn writers(&self, site: &Site<'_>, touch: &SiteAccess) -> Vec<(&'v Site<'v>, &'v SiteAccess)> {
        let life =
            |site: &Site<'_>| -> Option<*const Node> { site.life(touch.buffer).map(|at| std::ptr::from_ref(site.around[at].node)) };
        let here = life(site);
        let all = self.sites.iter().filter(|writer| here.is_some() && life(writer) == here);
        all.flat_map(|writer| writer.touches.iter().map(move |by| (writer, by)))
            .filter(|(_, by)| by.writes && by.buffer == touch.buffer)
            .collect()
    }

    /// True if one writer has written the elements that are read. An init must have run. An update may have had no items.
    fn reaches(&self, site: &Site<'_>, touch: &SiteAccess, writers: &[(&Site<'_>, &SiteAccess)], surely: bool) -> bool {
        writers.iter().any(|(writer, by)| {
            let depth = writer.common(site);
            let runs = || !surely || self.runs(writer, depth);
            writer.is_before(site) && runs() && self.covers_read((writer, by), (site, touch), depth)
        })
    }

    /// True if a leaf runs at least once whenever the block at a depth runs.
    fn runs(&self, site: &Site<'_>, depth: usize) -> bool {
        // A reduction that is not yet lowered gives a result even without items.
        let reduced = match &site.node.kind {
            NodeKind::Compute(compute) if compute.phase == Phase::Whole => self.made_of(self.reduced(site), site).leaves,
            _ => BTreeSet::new(),
        };
        site.around[depth.min(site.around.len())..].iter().all(|around| match &around.node.kind {
            NodeKind::Loop(looped) if reduced.contains(&looped.axis) => true,
            NodeKind::Loop(looped) if matches!(looped.exec, Exec::Bind(..)) => true,
            NodeKind::Loop(looped) => match self.literal(looped.axis) {
                Some(n) => n >= 1,
                None => self.provers.roots.positive(self.extent(looped.axis)),
            },
            _ => true,
        })
    }

    fn unwritten(&self, site: &Site<'_>, touch: &SiteAccess, how: &str) {
        if self.never_runs(site) {
            return;
        }
        let (line, name) = (self.line(site), self.buffer(touch.buffer));
        let what = format!("{}: `{line}` reads `{name}`, which {how}", Rule::Unwritten);
        let error = Error::new(site.span(), what);
        self.error(error.note_at(self.program.buffers[touch.buffer].span, format!("`{name}` was declared here")));
    }
}
