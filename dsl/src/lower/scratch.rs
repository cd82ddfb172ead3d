//! Lets the scratch of an all-reduce of matrices' rows alias a shared buffer that is dead at that time, if there is one. Then only the
//! lanes' results need extra shared memory.
//!
//! Each subgroup stores its matrices over elements that only it accesses ([`barriers::shares_of`]). So it needs to synchronize only with
//! itself: a barrier of the subgroup precedes the all-reduce's stores, and another one follows its reads. Other subgroups are not involved.
//!
//! A buffer is dead outside its scope. Within its scope, it is dead before all accesses or after all of them, if no loop encloses both.
//! This remains true if a backend moves the all-reduce after loops around it, because the move passes no access of the buffer in its scope.

use super::barriers::{self, Share};
use crate::nest::{AllReduce, Block, BufferId, Exec, How, Node, NodeKind, Program, Scratch, Space, walk};
use crate::profile::Profile;

/// Chooses the scratch of the all-reduces of every dispatch.
pub(super) fn run(program: &mut Program, profile: &Profile) {
    let mut plan = std::mem::take(&mut program.plan);
    for dispatch in &mut plan {
        if !walk::nodes(&dispatch.body).any(|node| matrices(program, node).is_some()) {
            continue;
        }
        let (shares, leaves) = (barriers::shares_of(program, profile, &dispatch.body), leaves(&dispatch.body));
        let found: Vec<Option<Scratch>> =
            leaves.iter().map(|leaf| shares.iter().find_map(|share| lies_over(program, share, leaf, &leaves))).collect();
        let mut found = found.into_iter();
        walk::each_mut(&mut dispatch.body, &mut |node| {
            if node.blocks().next().is_none() {
                let scratch = found.next().flatten();
                if let NodeKind::AllReduce(reduction) = &mut node.kind {
                    reduction.scratch = scratch;
                }
            }
        });
    }
    program.plan = plan;
}

/// A leaf, its number among all leaves, and the nodes around it, each with the index of the block that contains the leaf.
struct Leaf<'n> {
    at: usize,
    node: &'n Node,
    around: Vec<(&'n Node, usize)>,
}

impl Leaf<'_> {
    /// Returns the number of nodes that enclose both leaves.
    fn common(&self, other: &Leaf<'_>) -> usize {
        let same = |(a, b): &(&(&Node, usize), &(&Node, usize))| std::ptr::eq(a.0, b.0) && a.1 == b.1;
        self.around.iter().zip(&other.around).take_while(same).count()
    }

    /// True if the leaves are in different blocks of a branch, so that only one of them runs.
    fn excludes(&self, other: &Leaf<'_>) -> bool {
        let depth = self.common(other);
        self.around.get(depth).zip(other.around.get(depth)).is_some_and(|(a, b)| std::ptr::eq(a.0, b.0))
    }
}

fn leaves(body: &Block) -> Vec<Leaf<'_>> {
    fn go<'n>(block: &'n Block, around: &mut Vec<(&'n Node, usize)>, found: &mut Vec<Leaf<'n>>) {
        for node in block {
            if node.blocks().next().is_none() {
                found.push(Leaf { at: found.len(), node, around: around.clone() });
            }
            for (n, inner) in node.blocks().enumerate() {
                around.push((node, n));
                go(inner, around, found);
                around.pop();
            }
        }
    }
    let mut found = Vec::new();
    go(body, &mut Vec::new(), &mut found);
    found
}

/// Returns the sides of the matrices that an all-reduce stores, and their buffer.
fn matrices(program: &Program, node: &Node) -> Option<([i64; 2], BufferId)> {
    let NodeKind::AllReduce(AllReduce { how: How::Tree, src, .. }) = &node.kind else { return None };
    let buffer = src.first()?.buffer;
    match program.buffers[buffer].space {
        Space::Fragment { rows, columns, .. } => Some(([rows.into(), columns.into()], buffer)),
        _ => None,
    }
}

/// Returns the layout of an all-reduce's matrices in a subgroup's share of a buffer, if they fit.
fn lies_over(program: &Program, share: &Share, leaf: &Leaf<'_>, leaves: &[Leaf<'_>]) -> Option<Scratch> {
    let ([rows, columns], matrix) = matrices(program, leaf.node)?;
    let Share { buffer, run, stride, runs } = *share;
    let [row, column] = if rows.checked_mul(columns)? <= run {
        [columns, 1]
    } else if rows <= run && columns <= runs {
        [1, stride]
    } else if columns <= run && rows <= runs {
        [stride, 1]
    } else {
        return None;
    };
    let dtype = program.buffers[matrix].dtype;
    // The rows (or columns) of matrices are stored at multiples of 16 bytes.
    let is_aligned = |n: i64| n * i64::from(dtype.bytes()) % 16 == 0;
    let fits = program.buffers[buffer].dtype == dtype && is_aligned(run) && is_aligned(row.max(column));
    (fits && is_dead(program, buffer, leaf, leaves)).then_some(Scratch { buffer, part: run, row, column })
}

/// True if a buffer is dead at a leaf.
fn is_dead(program: &Program, buffer: BufferId, leaf: &Leaf<'_>, leaves: &[Leaf<'_>]) -> bool {
    let is_life = |(node, _): &(&Node, usize)| matches!(node.kind, NodeKind::Alloc { buffer: of, .. } if of == buffer);
    let Some(life) = leaf.around.iter().rposition(is_life) else { return true };
    let is_within = |other: &&Leaf<'_>| leaf.common(other) > life && !leaf.excludes(other);
    let accesses = |other: &&Leaf<'_>| other.node.accesses(&program.exprs).iter().any(|access| access.place.buffer == buffer);
    let touches: Vec<&Leaf<'_>> = leaves.iter().filter(is_within).filter(accesses).collect();
    let repeats =
        |(node, _): &(&Node, usize)| matches!(&node.kind, NodeKind::Loop(l) if matches!(l.exec, Exec::Serial | Exec::Unroll));
    let repeated = |other: &&Leaf<'_>| leaf.around[life..leaf.common(other)].iter().any(repeats);
    let is_before = |other: &&Leaf<'_>| other.at < leaf.at;
    !touches.iter().any(repeated) && (touches.iter().all(is_before) || !touches.iter().any(is_before))
}
