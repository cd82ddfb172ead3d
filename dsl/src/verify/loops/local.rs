//! The size of a workgroup, computed from its loops. The size that lowering has set is checked against it.

use crate::diag::SpanId;
use crate::nest::{Block, Exec, Level, NodeKind, Program, Slot, walk};
use crate::verify::Rule;
use crate::verify::context::Checks;
use std::collections::BTreeMap;

/// The workgroup size that loops require.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::verify) struct WorkgroupSize {
    /// Invocations in x, y and z.
    pub(in crate::verify) local: [u32; 3],
    /// Subgroups in x, y and z.
    pub(in crate::verify) subgroups: [i64; 3],
}

impl WorkgroupSize {
    /// Computes the size that a block requires. `subgroup` is the number of invocations of a subgroup, if it is fixed.
    pub(in crate::verify) fn by(program: &Program, block: &Block, subgroup: Option<u32>) -> WorkgroupSize {
        let mut longest = BTreeMap::new();
        let has_matrices = measure(program, block, &mut longest);
        let of = |level, slot| longest.get(&(level, slot)).copied().unwrap_or(1);
        let linear = of(Level::Subgroup, Slot::Linear);
        let subgroups = [of(Level::Subgroup, Slot::X).max(linear), of(Level::Subgroup, Slot::Y), of(Level::Subgroup, Slot::Z)];
        let count = product(&subgroups);
        let has_lanes = longest.keys().any(|(level, _)| *level == Level::Lane);
        let local = match subgroup {
            // The workgroup is one row of whole subgroups.
            Some(size) if has_lanes || has_matrices || count > 1 => [count.saturating_mul(size.into()), 1, 1],
            _ => {
                let [x, y, z] = [Slot::X, Slot::Y, Slot::Z].map(|slot| of(Level::Thread, slot));
                let rows = y.saturating_mul(z).max(1);
                let linear = of(Level::Thread, Slot::Linear);
                [x.max(linear / rows + i64::from(linear % rows != 0)), y, z]
            }
        };
        WorkgroupSize { local: local.map(|n| u32::try_from(n).unwrap_or(u32::MAX)), subgroups }
    }

    /// Returns the number of subgroups.
    pub(in crate::verify) fn count(&self) -> i64 {
        product(&self.subgroups)
    }
}

fn product(counts: &[i64]) -> i64 {
    counts.iter().fold(1, |product, n| product.saturating_mul(*n))
}

/// Collects the largest extent that is bound to each coordinate. Returns true if there are matrices, which need whole subgroups.
fn measure(program: &Program, block: &Block, longest: &mut BTreeMap<(Level, Slot), i64>) -> bool {
    let mut has_matrices = false;
    for node in walk::nodes(block) {
        let NodeKind::Loop(looped) = &node.kind else { continue };
        has_matrices |= matches!(looped.exec, Exec::Matrix(_));
        if let Exec::Bind(level, slot) = looped.exec {
            let extent = program.exprs.as_int(program.axes[looped.axis].extent).unwrap_or(1);
            let longest = longest.entry((level, slot)).or_insert(1);
            *longest = extent.max(*longest);
        }
    }
    has_matrices
}

impl Checks<'_> {
    /// Checks that the workgroup has exactly the invocations that its loops are bound to.
    pub(in crate::verify) fn local_size(&self) {
        let ([x, y, z], [a, b, c]) = (self.asked.local, self.dispatch.local);
        if [x, y, z] != [a, b, c] {
            let span = self.dispatch.body.first().map_or(SpanId::NONE, |node| node.span);
            let what = format!(
                "loops of `{}` are bound to {x} x {y} x {z} invocations, but its workgroup has {a} x {b} x {c}",
                self.dispatch.name
            );
            self.refuse(Rule::Limits, span, what);
        }
    }
}
