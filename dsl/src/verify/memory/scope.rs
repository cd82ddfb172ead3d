//! Checks that local buffers are accessed only within their scopes, and that no scope of a buffer is nested in another one of the same
//! buffer.

use crate::diag::Error;
use crate::nest::{NodeKind, Space};
use crate::verify::Rule;
use crate::verify::context::Checks;
use std::collections::BTreeSet;

impl Checks<'_> {
    /// Checks the scopes, ranks and access rights of every access.
    pub(in crate::verify) fn scope(&self) {
        for site in self.sites {
            for touch in &site.touches {
                let local = matches!(self.space(touch.buffer), Space::Shared | Space::Register | Space::Fragment { .. });
                if local && site.life(touch.buffer).is_none() {
                    let (name, line) = (self.buffer(touch.buffer), self.line(site));
                    let error = Error::new(site.span(), format!("{}: `{line}` is outside the scope of `{name}`", Rule::Scope));
                    self.error(error.note_at(self.program.buffers[touch.buffer].span, format!("`{name}` was declared here")));
                }
                let indices = touch.index.len();
                let buffer = &self.program.buffers[touch.buffer];
                let wanted = buffer.shape.len() + usize::from(buffer.versions > 1);
                if indices != wanted {
                    let what = format!("`{}` has {indices} indices for `{}`, not {wanted}", self.line(site), buffer.name);
                    self.refuse(Rule::Scope, site.span(), what);
                }
                let written = matches!(buffer.space, Space::Input | Space::Constant(_)) && touch.writes;
                if written {
                    let what = format!("`{}` writes `{}`, which is read only", self.line(site), buffer.name);
                    self.refuse(Rule::Scope, site.span(), what);
                }
            }
            self.alive_once(site);
        }
    }

    fn alive_once(&self, site: &crate::verify::site::Site<'_>) {
        let mut alive = BTreeSet::new();
        for around in &site.around {
            if let NodeKind::Alloc { buffer, .. } = around.node.kind
                && !alive.insert(buffer)
            {
                let what = format!("`{}` is allocated again within its own scope", self.buffer(buffer));
                self.refuse(Rule::Scope, around.node.span, what);
            }
        }
    }
}
