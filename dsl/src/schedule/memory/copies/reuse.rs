//! Warns of copies that do not pay off because each element is read at most once.
//!
//! The compiler does not warn about a copy that changes the layout of its elements: one in another order than the tensor's, with
//! padded or permuted rows, or with vectors. Nor does it warn about a result, which is written back cooperatively. A copy in shared memory
//! can also pay if neighbouring invocations read it along another dimension than the last, as in a transposition, because with the
//! copy they read the tensor along its rows. On a profile of a CPU this does not pay, so there the compiler does warn. A pipelined copy can
//! pay because it is prefetched. A copy in registers can pay because its accesses are wider: a sum reads one element at a time, and a vector
//! of f32 reads at most 4 halves. A copy of fragments is needed to index their elements.

use crate::diag::{Error, Errors};
use crate::expr::{Expr, ExprId};
use crate::nest::walk::{self, Around};
use crate::nest::{AxisId, Block, Buffer, BufferId, Compute, Exec, Level, NodeKind, Program, Slot, Space};
use crate::profile::Profile;
use crate::schedule::memory::promote::Copied;

/// The bytes of the widest access of memory.
const WIDEST: i64 = 16;

/// Warns of a copy whose elements are not reused.
pub(super) fn check(program: &Program, profile: &Profile, copy: &Copied, warnings: &mut Errors) {
    let buffer = &program.buffers[copy.buffer];
    if copy.computed
        || copy.vector.is_some()
        || copy.reordered
        || buffer.row_pad > 0
        || buffer.swizzle > 0
        || program.pipeline_of(copy.buffer).is_some()
        || !profile.cpu && buffer.space == Space::Shared && is_read_across(program, copy.buffer)
        || buffer.space == Space::Register && is_wider(program, copy.buffer)
        || is_from_fragments(program, copy)
        || program.stages[copy.stage].buffer != copy.buffer
    {
        return;
    }
    let elements = of_each(program, copy).iter().try_fold(1i64, |n, e| n.checked_mul(program.exprs.as_int(*e)?));
    let reads = program
        .plan
        .iter()
        .find_map(|d| life(&d.body, copy.buffer))
        .map(|body| Count { program, copy, private: buffer.space == Space::Register }.block(body, Some(1)));
    let (Some(elements), Some(Some(reads))) = (elements, reads) else { return };
    if reads <= elements {
        let source = if buffer.space == Space::Register { "an invocation" } else { "a workgroup" };
        let noun = if elements == 1 { "element" } else { "elements" };
        let what = format!("nothing reuses `{}`: {source} copies {elements} {noun} and reads {reads}", buffer.name);
        let error = Error::new(copy.span, what).useless_copy();
        warnings.push(error.help("leave the copy out, or promote further out"));
    }
}

/// True if neighbouring invocations read different rows of a copy.
fn is_read_across(program: &Program, buffer: BufferId) -> bool {
    let mut across = false;
    for dispatch in &program.plan {
        walk::within(&dispatch.body, &mut |node, around| {
            let NodeKind::Compute(compute) = &node.kind else { return };
            // Neighbouring invocations differ in the first coordinate that a loop is bound to.
            let order = |exec: Exec| match exec {
                Exec::Bind(Level::Lane, _) | Exec::Bind(Level::Thread, Slot::Linear) => Some(0),
                Exec::Bind(Level::Thread, slot) => Some(slot.index()),
                _ => None,
            };
            let bound = around.iter().rev().filter_map(|l| Some((order(l.exec)?, l.axis)));
            let Some((_, axis)) = bound.min_by_key(|(order, _)| *order) else { return };
            for read in compute.values().flat_map(|value| program.exprs.reads(value)).filter(|read| read.buffer == buffer) {
                let varies = |index: &ExprId| program.exprs.uses_axis(*index, &mut |a| program.is_made_of(a, axis));
                if let Some((last, rows)) = read.index.split_last() {
                    across |= !varies(last) && rows.iter().any(varies);
                }
            }
        });
    }
    across
}

/// True if a copy reads fragments, whose elements an invocation cannot index.
fn is_from_fragments(program: &Program, copy: &Copied) -> bool {
    let values = program.stages[copy.stage].values();
    let mut reads = values.into_iter().flat_map(|value| program.exprs.reads(value));
    reads.any(|read| matches!(program.buffers[read.buffer].space, Space::Fragment { .. }))
}

/// True if the rows of a copy consist of vectors, and no reader has vectors as wide. For example, a sum reads a row of 4 halves one by one.
fn is_wider(program: &Program, copy: BufferId) -> bool {
    let Buffer { dtype, shape, .. } = &program.buffers[copy];
    let bytes = dtype.bytes();
    let row = shape.last().and_then(|row| program.exprs.as_int(*row)).unwrap_or(0).saturating_mul(bytes.into());
    if row == 0 {
        return false;
    }
    let vector = WIDEST.min(1 << row.trailing_zeros());
    let mut widest = 0;
    for dispatch in &program.plan {
        walk::within(&dispatch.body, &mut |node, around| {
            let NodeKind::Compute(compute) = &node.kind else { return };
            if compute.values().flat_map(|value| program.exprs.reads(value)).any(|read| read.buffer == copy) {
                let lanes = around.iter().filter(|l| l.exec == Exec::Lanes);
                let lanes: i64 = lanes.map(|l| program.exprs.as_int(program.axes[l.axis].extent).unwrap_or(1)).product();
                widest = widest.max(lanes.saturating_mul(bytes.into()));
            }
        });
    }
    widest < vector
}

/// Returns the dimensions of a copy, except those that select its owner.
fn of_each(program: &Program, copy: &Copied) -> Vec<ExprId> {
    let buffer = &program.buffers[copy.buffer];
    let mut owned = vec![false; buffer.shape.len()];
    for dispatch in program.plan.iter().filter(|_| program.notes.dealt.contains(&copy.buffer)) {
        walk::within(&dispatch.body, &mut |node, around| {
            let NodeKind::Compute(compute) = &node.kind else { return };
            for dst in compute.dst.iter().filter(|dst| dst.buffer == copy.buffer) {
                for (owned, index) in owned.iter_mut().zip(&dst.index) {
                    let owner = |l: &Around| {
                        matches!(l.exec, Exec::Bind(level, _) if level != Level::Workgroup)
                            && *program.exprs.get(*index) == Expr::Axis(l.axis)
                    };
                    *owned = around.iter().any(owner);
                }
            }
        });
    }
    buffer.shape.iter().zip(owned).filter(|(_, owned)| !owned).map(|(extent, _)| *extent).collect()
}

/// Returns the nodes in the scope of a buffer.
fn life(block: &Block, buffer: BufferId) -> Option<&Block> {
    walk::nodes(block).find_map(|node| match &node.kind {
        NodeKind::Alloc { buffer: b, body } if *b == buffer => Some(body),
        _ => None,
    })
}

struct Count<'c> {
    program: &'c Program,
    copy: &'c Copied,
    private: bool,
}

impl Count<'_> {
    /// Returns the number of elements of the copy that a block reads when it runs that many times, or `None` if it is unknown.
    fn block(&self, block: &Block, times: Option<i64>) -> Option<i64> {
        block.iter().try_fold(0i64, |total, node| {
            let more = match &node.kind {
                NodeKind::Compute(c) if c.stage == self.copy.stage => 0,
                NodeKind::Compute(c) => match self.reads(c) {
                    0 => 0,
                    reads => times?.checked_mul(reads)?,
                },
                NodeKind::Loop(l) => {
                    self.block(&l.body, times.zip(self.runs(l.axis, l.exec)).and_then(|(a, b)| a.checked_mul(b)))?
                }
                _ => node.blocks().try_fold(0i64, |n, inner| n.checked_add(self.block(inner, times)?))?,
            };
            total.checked_add(more)
        })
    }

    fn runs(&self, axis: AxisId, exec: Exec) -> Option<i64> {
        match exec {
            Exec::Bind(level, _) if self.private && level != Level::Workgroup => Some(1),
            _ => self.program.exprs.as_int(self.program.axes[axis].extent),
        }
    }

    fn reads(&self, compute: &Compute) -> i64 {
        let reads = compute.values().flat_map(|v| self.program.exprs.reads(v));
        reads.filter(|r| r.buffer == self.copy.buffer).count() as i64
    }
}
