//! Splits off the components of a reduction's state that do not depend on the innermost axes of its tile. For example, the maximum and the
//! sum of weights of an online softmax are the same for all columns of a row. They must be the first components. They get registers without
//! these axes, and a separate update after the update of the other components.
//!
//! ```text
//! unroll e in 0..8                                              unroll e in 0..8
//!   update (m[e], l[e], o[e]) online= (m_b, l_b, o_b[e])          update o[e] online= (m_b, l_b, o_b[e])
//!                                                               update (m, l) online= (m_b, l_b)
//! ```

use super::accumulate::is_of;
use crate::expr::{Expr, ExprId};
use crate::nest::path::{Frame, Head, Path};
use crate::nest::{AxisId, AxisKind, Block, Exec, Monoid, Program};

/// The first components that depend on fewer axes than the others.
pub(super) struct First {
    /// The number of these components.
    pub(super) count: usize,
    /// The position of the first loop that encloses only further loops.
    pub(super) at: usize,
    /// The axes of these loops that the components do not depend on.
    axes: Vec<AxisId>,
}

impl First {
    /// Finds the first components of a reduction whose loops are `inside`.
    pub(super) fn of(program: &Program, path: &Path, inside: &[Frame], monoid: &Monoid, over: &[AxisId]) -> First {
        let none = First { count: 0, at: inside.len(), axes: Vec::new() };
        let distributed = |f: &Frame| f.as_loop().is_some_and(|(a, e)| matches!(e, Exec::Bind(..)) && is_of(program, a, over));
        if monoid.identity.len() < 2 || path.frames.iter().chain(inside).any(distributed) {
            return none;
        }
        let items = &path.compute.value;
        let apart = |component: usize, axis: AxisId| !depends(program, monoid, items, component, axis);
        let at = innermost(program, path, inside, &|axis| apart(0, axis));
        let loops = || inside[at..].iter().filter_map(Frame::as_loop);
        let axes: Vec<AxisId> = loops().map(|(axis, _)| axis).filter(|axis| apart(0, *axis)).collect();
        let lives = |buffer| inside[at..].iter().any(|f| matches!(f.head, Head::Alloc { buffer: b } if b == buffer));
        let first = |n: &usize| {
            let reads = program.exprs.reads(items[*n]);
            axes.iter().all(|axis| apart(*n, *axis)) && !reads.iter().any(|read| lives(read.buffer))
        };
        let count = (0..items.len()).take_while(first).count();
        // Loops over lanes must stay innermost.
        let in_lanes = loops().any(|(axis, exec)| exec == Exec::Lanes && !axes.contains(&axis));
        if axes.is_empty() || count == items.len() || count == 0 || in_lanes { none } else { First { count, at, axes } }
    }

    /// Returns the loops around a component.
    pub(super) fn without(&self, frames: &[Frame], component: usize) -> Vec<Frame> {
        let apart = |f: &Frame| f.as_loop().is_some_and(|(a, _)| component < self.count && self.axes.contains(&a));
        frames.iter().filter(|f| !apart(f)).cloned().collect()
    }

    /// Places the update of the first components after the innermost loops.
    pub(super) fn arrange(&self, inside: &mut [Frame], update: Block) {
        if let Some(frame) = inside.get_mut(self.at) {
            frame.after = update;
        }
    }
}

/// Returns the position of the first of the innermost loops that are parallel and unrolled, in lanes or sides of matrices. A loop that the
/// first component depends on may only enclose other loops. Other nodes inside the remaining loops do not concern that component.
fn innermost(program: &Program, path: &Path, inside: &[Frame], apart: &dyn Fn(AxisId) -> bool) -> usize {
    let mut at = inside.len();
    let mut bare = path.before.is_empty() && path.after.is_empty();
    for (n, frame) in inside.iter().enumerate().rev().take_while(|(_, frame)| frame.after.is_empty()) {
        match frame.as_loop() {
            None => bare = false,
            Some((axis, Exec::Unroll | Exec::Lanes | Exec::Matrix(_)))
                if program.axes[axis].kind == AxisKind::Parallel && (bare || apart(axis)) =>
            {
                at = n
            }
            _ => break,
        }
        bare &= frame.before.is_empty();
    }
    at
}

/// True if a component's state varies with an axis: its items do, or another component that it is combined with does.
fn depends(program: &Program, monoid: &Monoid, items: &[ExprId], component: usize, axis: AxisId) -> bool {
    let (mut open, mut seen) = (vec![component], Vec::new());
    while let Some(n) = open.pop() {
        if seen.contains(&n) {
            continue;
        }
        seen.push(n);
        if program.exprs.uses_axis(items[n], &mut |a| program.passes(a, axis)) {
            return true;
        }
        program.exprs.any(monoid.combine[n], &mut |e| {
            if let Expr::State(other) | Expr::Item(other) = e {
                open.push(*other as usize);
            }
            false
        });
    }
    false
}
