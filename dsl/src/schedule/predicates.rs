//! The predicates of a stage's compute: every inexact axis that its points are made of.

use super::StageNest;
use crate::nest::{AxisId, Fate, Pred, Program};

impl StageNest<'_> {
    /// Sets the compute's predicates anew, after axes have changed.
    pub fn refresh(&mut self) {
        let roots = self.program.root_axes(self.stage);
        self.path.compute.preds = self.program.predicates(&roots);
    }
}

impl Program {
    /// The predicates of a point of these root axes: inexact axes, what is made of others before those.
    pub fn predicates(&self, roots: &[AxisId]) -> Vec<Pred> {
        let mut found = Vec::new();
        let mut seen = std::collections::HashSet::new();
        roots.iter().for_each(|root| self.gather(*root, &mut found, &mut seen));
        found
    }

    fn gather(&self, axis: AxisId, found: &mut Vec<Pred>, seen: &mut std::collections::HashSet<AxisId>) {
        if !seen.insert(axis) {
            return;
        }
        match &self.axes[axis].fate {
            Fate::Live => {}
            Fate::Fused { into, .. } => self.gather(*into, found, seen),
            Fate::Split(split) => {
                if !split.exact {
                    found.push(Pred { axis, tail: split.tail });
                }
                split.parts.iter().for_each(|part| self.gather(*part, found, seen));
            }
        }
    }
}
