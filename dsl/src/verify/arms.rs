//! What is known where branches have chosen. A prover that knows it is costly to make, and most axes of most leaves are asked
//! about: so there is one for each choice.

use super::context::Checks;
use crate::expr::ExprId;
use crate::facts::Prover;
use crate::nest::AxisId;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Conditions, and whether each holds.
pub(super) type Choice = Vec<(ExprId, bool)>;

/// Those that were asked about.
pub(super) type Arms<'v> = RefCell<BTreeMap<Choice, Arm<'v>>>;

/// Where a choice was made.
#[derive(Debug)]
pub(super) struct Arm<'v> {
    prover: Prover<'v>,
    /// Whether nothing is there.
    is_impossible: bool,
    /// Whether axes are within their extents there, as far as that was asked.
    keeps: BTreeMap<AxisId, bool>,
}

impl<'v> Checks<'v> {
    /// Whether a choice keeps an axis within its extent.
    pub(super) fn keeps(&self, choice: Choice, axis: AxisId) -> bool {
        let inside = |prover: &Prover<'v>| prover.inside(self.provers.value(axis), self.extent(axis));
        self.chosen(choice, |arm| arm.is_impossible || *arm.keeps.entry(axis).or_insert_with(|| inside(&arm.prover)))
    }

    /// Whether a choice leaves nothing of the values that some axes have within their extents: one of them is past its own, or
    /// nothing is there.
    pub(super) fn leaves_out<'a>(&self, choice: Choice, mut axes: impl Iterator<Item = &'a AxisId>) -> bool {
        let past = |prover: &Prover<'v>, axis: AxisId| {
            let (value, extent) = (self.provers.value(axis), self.extent(axis));
            prover.less_equal(extent, value) || prover.less(value, 0)
        };
        self.chosen(choice, |arm| arm.is_impossible || axes.any(|axis| past(&arm.prover, *axis)))
    }

    fn chosen<T>(&self, choice: Choice, f: impl FnOnce(&mut Arm<'v>) -> T) -> T {
        let make = |choice: &Choice| {
            let leaves = self.provers.leaves.within([]);
            let prover = choice.iter().fold(leaves, |prover, (cond, holds)| prover.assuming(*cond, *holds));
            Arm { is_impossible: prover.is_impossible(), prover, keeps: BTreeMap::new() }
        };
        let mut arms = self.chosen.borrow_mut();
        f(arms.entry(choice).or_insert_with_key(make))
    }
}
