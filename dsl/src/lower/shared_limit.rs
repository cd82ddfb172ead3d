//! Checks that a dispatch's shared buffers and the scratch of its all-reduces fit in shared memory together. `promote` has already checked
//! the copies of one stage together. The whole dispatch is checked here, because now the buffers that reuse memory and the number of a
//! workgroup's invocations are known.

use crate::diag::{Error, Errors, SpanId, list};
use crate::nest::walk;
use crate::nest::{AxisId, Block, BufferId, Exec, NodeKind, Program};
use crate::profile::Profile;
use std::collections::BTreeMap;

/// Refuses dispatches that need more shared memory than the profile has.
pub(super) fn check(program: &Program, profile: &Profile) -> Result<(), Errors> {
    let mut errors = Errors::new();
    for dispatch in &program.plan {
        errors.keep(Taken::of(program, profile, &dispatch.body).check(profile));
    }
    errors.into_result()
}

/// Returns the bytes of shared memory that a dispatch needs.
pub fn shared_bytes(program: &Program, profile: &Profile, body: &Block) -> i64 {
    Taken::of(program, profile, body).total()
}

/// The shared memory of a dispatch.
struct Taken {
    /// A line for each buffer, array and reduction, with its bytes and the directive that causes it.
    parts: Vec<(String, i64, SpanId)>,
    /// The directive that an error blames: one that distributes a reduction, or else the one that makes the largest buffer.
    blame: SpanId,
}

impl Taken {
    fn of(program: &Program, profile: &Profile, body: &Block) -> Taken {
        let (mut parts, mut largest) = (Vec::new(), (0, SpanId::NONE));
        for part in program.shared_parts(body, profile) {
            let name = |(buffer, ..): &(BufferId, i64, SpanId)| program.buffers[*buffer].name.clone();
            let Some((_, bytes, span)) = part.buffers.iter().copied().max_by_key(|(_, bytes, _)| *bytes) else { continue };
            if bytes > largest.0 {
                largest = (bytes, span);
            }
            let verb = if part.buffers.len() == 1 { "takes" } else { "at different times take" };
            parts.push((format!("{} {verb} {}", list(part.buffers.iter().map(name)), part.bytes), part.bytes, span));
        }
        let reductions = reductions(program, profile, body);
        let blame = reductions.values().last().map_or(largest.1, |(_, span)| *span);
        let of = |(name, (bytes, span)): (String, (i64, SpanId))| (format!("the reduction of `{name}` takes {bytes}"), bytes, span);
        parts.extend(reductions.into_iter().map(of));
        Taken { parts, blame }
    }

    fn total(&self) -> i64 {
        self.parts.iter().fold(0, |sum, (_, bytes, _)| sum.saturating_add(*bytes))
    }

    fn check(self, profile: &Profile) -> Result<(), Error> {
        let (total, there, name) = (self.total(), i64::from(profile.shared_bytes), &profile.name);
        if total <= there {
            return Ok(());
        }
        let error = Error::new(self.blame, format!("the dispatch needs {total} bytes of shared memory in total"));
        let error = error.note(format!("`{name}` has {there}"));
        let error = self.parts.into_iter().fold(error, |error, (part, _, span)| error.note_at(span, part));
        Err(error.help("reduce over fewer invocations, or make the tiles of copies smaller"))
    }
}

/// Returns the bytes of each stage's all-reduces, and the directive that distributes the reduction.
fn reductions(program: &Program, profile: &Profile, body: &Block) -> BTreeMap<String, (i64, SpanId)> {
    let size = super::local::size(program, body, profile.subgroup);
    let invocations = size.iter().fold(1i64, |all, n| all.saturating_mul(i64::from(*n)));
    let mut found = BTreeMap::new();
    walk::within(body, &mut |node, around| {
        let NodeKind::AllReduce(reduction) = &node.kind else { return };
        let extent = |axis: AxisId| program.exprs.as_int(program.axes[axis].extent).unwrap_or(1);
        let lanes = around.iter().filter(|l| l.exec == Exec::Lanes).map(|l| extent(l.axis)).product();
        let bytes = program.all_reduce_bytes(reduction, lanes, invocations, profile);
        if bytes > 0 {
            let bound = reduction.over.first().and_then(|axis| bound_at(body, *axis));
            found.insert(program.stages[reduction.stage].name.clone(), (bytes, bound.unwrap_or(node.span)));
        }
    });
    found
}

/// Returns the directive that bound the loop over an axis.
fn bound_at(block: &Block, axis: AxisId) -> Option<SpanId> {
    walk::nodes(block).find(|node| matches!(&node.kind, NodeKind::Loop(l) if l.axis == axis)).map(|node| node.span)
}
