//! Components of a reduction's state that do not depend on the innermost axes of its tile: the maximum and the sum of weights of an online
//! softmax, of which a row has one for all its columns. They are the first components, have registers without these axes, and are updated by
//! a leaf of their own, after the one that has the others.
//!
//! ```text
//! unroll e in 0..8                                              unroll e in 0..8
//!   update (m[e], l[e], o[e]) online= (m_b, l_b, o_b[e])          update o[e] online= (m_b, l_b, o_b[e])
//!                                                               update (m, l) online= (m_b, l_b)
//! ```

use super::accumulate::is_of;
use crate::expr::{Expr, ExprId};
use crate::nest::path::{Frame, Path};
use crate::nest::{AxisId, AxisKind, Block, Exec, Monoid, Program};

/// The first components, as far as they depend on fewer axes.
pub(super) struct First {
    /// How many there are.
    pub(super) count: usize,
    /// Where the loops begin that stand in nothing but each other.
    pub(super) at: usize,
    /// The axes of those loops that the components do not depend on.
    axes: Vec<AxisId>,
}

impl First {
    /// Those of a reduction, whose loops are `inside`.
    pub(super) fn of(program: &Program, path: &Path, inside: &[Frame], monoid: &Monoid, over: &[AxisId]) -> First {
        let none = First { count: 0, at: inside.len(), axes: Vec::new() };
        let distributed = |f: &Frame| f.as_loop().is_some_and(|(a, e)| matches!(e, Exec::Bind(..)) && is_of(program, a, over));
        if monoid.identity.len() < 2 || path.frames.iter().chain(inside).any(distributed) || !is_bare(&path.before, &path.after) {
            return none;
        }
        let at = innermost(program, inside);
        let loops: Vec<AxisId> = inside[at..].iter().filter_map(|f| f.as_loop().map(|(a, _)| a)).collect();
        let items = &path.compute.value;
        let apart = |component: usize| -> Vec<AxisId> {
            loops.iter().copied().filter(|axis| !depends(program, monoid, items, component, *axis)).collect()
        };
        let axes = apart(0);
        let count = (0..items.len()).take_while(|n| axes.iter().all(|axis| apart(*n).contains(axis))).count();
        // Lanes stay innermost.
        let in_lanes = inside[at..].iter().any(|f| matches!(f.as_loop(), Some((a, Exec::Lanes)) if !axes.contains(&a)));
        if axes.is_empty() || count == items.len() || in_lanes { none } else { First { count, at, axes } }
    }

    /// The loops that a component stands in.
    pub(super) fn without(&self, frames: &[Frame], component: usize) -> Vec<Frame> {
        let apart = |f: &Frame| f.as_loop().is_some_and(|(a, _)| component < self.count && self.axes.contains(&a));
        frames.iter().filter(|f| !apart(f)).cloned().collect()
    }

    /// Puts the update of the first components behind the innermost loops.
    pub(super) fn arrange(&self, inside: &mut [Frame], update: Block) {
        if let Some(frame) = inside.get_mut(self.at) {
            frame.after = update;
        }
    }
}

/// Where the innermost loops begin that are parallel, written out or in lanes, and stand in nothing but each other.
fn innermost(program: &Program, inside: &[Frame]) -> usize {
    let mut at = inside.len();
    for (n, frame) in inside.iter().enumerate().rev() {
        let Some((axis, Exec::Unroll | Exec::Lanes)) = frame.as_loop() else { break };
        if program.axes[axis].kind != AxisKind::Parallel || !frame.after.is_empty() {
            break;
        }
        at = n;
        if !frame.before.is_empty() {
            break;
        }
    }
    at
}

fn is_bare(before: &Block, after: &Block) -> bool {
    before.is_empty() && after.is_empty()
}

/// Whether a component's state differs with an axis: its items do, or another component does with which it is combined.
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
