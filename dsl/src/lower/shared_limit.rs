//! Checks that a dispatch's shared buffers and the scratch of its all-reduces fit in shared memory together. `promote` has already checked
//! the copies. The scratch is checked here, because only now the number of invocations is known.

use crate::diag::{Error, Errors, SpanId};
use crate::nest::walk;
use crate::nest::{AxisId, Block, Dispatch, Exec, NodeKind, Program, Space};
use crate::profile::Profile;
use std::collections::BTreeMap;

/// Refuses dispatches that need more shared memory than the profile has.
pub(super) fn check(program: &Program, profile: &Profile) -> Result<(), Errors> {
    let mut errors = Errors::new();
    for dispatch in &program.plan {
        let mut taken = Taken { program, profile, dispatch, parts: BTreeMap::new(), blame: SpanId::NONE };
        taken.block(&dispatch.body);
        errors.keep(taken.check());
    }
    errors.into_result()
}

struct Taken<'p> {
    program: &'p Program,
    profile: &'p Profile,
    dispatch: &'p Dispatch,
    /// The bytes of each buffer and reduction, and the directive that causes them.
    parts: BTreeMap<String, (i64, SpanId)>,
    /// The directive that distributes a reduction.
    blame: SpanId,
}

impl Taken<'_> {
    fn block(&mut self, block: &Block) {
        walk::within(block, &mut |node, around| match &node.kind {
            NodeKind::Alloc { buffer, .. } if self.program.buffers[*buffer].space == Space::Shared => {
                let bytes = self.program.local_bytes(*buffer, self.profile).unwrap_or(i64::MAX);
                self.parts.insert(self.program.buffers[*buffer].name.clone(), (bytes, node.span));
            }
            NodeKind::AllReduce(reduction) => {
                let extent = |axis: AxisId| self.program.exprs.as_int(self.program.axes[axis].extent).unwrap_or(1);
                let lanes = around.iter().filter(|l| l.exec == Exec::Lanes).map(|l| extent(l.axis)).product();
                let invocations = self.dispatch.local.iter().fold(1i64, |all, n| all.saturating_mul(i64::from(*n)));
                let bytes = self.program.all_reduce_bytes(reduction, lanes, invocations, self.profile);
                let of = format!("the reduction of `{}`", self.program.stages[reduction.stage].name);
                if bytes > 0 {
                    let bound = reduction.over.first().and_then(|axis| bound_at(&self.dispatch.body, *axis));
                    self.blame = bound.unwrap_or(node.span);
                    self.parts.insert(of, (bytes, self.blame));
                }
            }
            _ => {}
        });
    }

    fn check(self) -> Result<(), Error> {
        let (there, name) = (i64::from(self.profile.shared_bytes), &self.profile.name);
        let total = self.parts.values().fold(0i64, |sum, (bytes, _)| sum.saturating_add(*bytes));
        if total <= there {
            return Ok(());
        }
        let error = Error::new(self.blame, format!("the dispatch needs {total} bytes of shared memory in total"));
        let each = |error: Error, (part, (bytes, span)): (String, (i64, SpanId))| {
            let part = if part.contains(' ') { part } else { format!("`{part}`") };
            error.note_at(span, format!("{part} takes {bytes}"))
        };
        let error = self.parts.into_iter().fold(error.note(format!("`{name}` has {there}")), each);
        Err(error.help("reduce over fewer invocations, or make the tiles of copies smaller"))
    }
}

/// Returns the directive that bound the loop over an axis.
fn bound_at(block: &Block, axis: AxisId) -> Option<SpanId> {
    walk::nodes(block).find(|node| matches!(&node.kind, NodeKind::Loop(l) if l.axis == axis)).map(|node| node.span)
}
