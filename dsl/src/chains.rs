//! The longest chain of a float reduction: the number of elements and partial results that may be added one after another. The
//! rounding error of a sum grows with it. For example, a chain of more than 2^24 ones in f32 stops at 2^24.
//!
//! The chain is computed from the last nest. The loops around an update count, unless their iterations are distributed across
//! invocations. The partial results of invocations are combined in a tree, or in a chain if by atomics. (Subgroup arithmetic counts
//! as a tree, although the driver chooses its order.)

use crate::diag::SpanId;
use crate::expr::{Binary, Expr};
use crate::launch::{DType, Size};
use crate::lower::launch::size;
use crate::nest::walk::{self, Around};
use crate::nest::{AxisId, Body, Dispatch, Exec, How, Monoid, NodeKind, Phase, Program, Side, StageId, State};
use crate::schedule::loops::hull::largest;

/// The longest chain of a float reduction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloatChain {
    /// The number of the dispatch.
    pub dispatch: usize,
    /// The reduction's stage.
    pub stage: String,
    /// The reduction's name, for example `sum`.
    pub reduction: String,
    /// The operations of the chain, as the ledger names them: additions or multiplications.
    pub verb: &'static str,
    /// The type of the combined values.
    pub dtype: DType,
    /// The number of operations; `None` if no size gives it.
    pub length: Option<Size>,
}

/// Returns the longest chain of each float reduction of a lowered program.
pub fn chains(program: &Program) -> Vec<FloatChain> {
    let of = |(n, dispatch): (usize, &Dispatch)| links(program, dispatch).into_iter().map(move |chain| chain.whole(program, n));
    program.plan.iter().enumerate().flat_map(of).collect()
}

/// Records the longest chain of each float reduction in the ledger.
pub(crate) fn state(program: &mut Program) {
    for chain in chains(program) {
        let dim = |d: u32| program.dims.values().nth(d as usize).map_or_else(|| "?".to_owned(), |dim| dim.name.clone());
        let FloatChain { reduction, stage, verb, .. } = &chain;
        let what = match &chain.length {
            Some(length) => format!("{reduction} of `{stage}`: chains of up to {} {verb}", length.display(&dim)),
            None => format!("{reduction} of `{stage}`: the length of the chains of {verb} is unknown"),
        };
        program.owe(what, State::Stated, SpanId::NONE);
    }
}

/// The parts of a reduction that make its chain.
struct Links {
    stage: StageId,
    verb: &'static str,
    dtype: DType,
    /// The loops around the update.
    loops: Vec<Around>,
    /// True if the state is loop-carried: the update begins with the state of the previous block.
    goes_on: bool,
    /// True if the items of all invocations update the same elements, by atomics.
    is_shared: bool,
    /// The operations that combine partial results of invocations; `None` if no size gives their number.
    more: Option<Size>,
}

/// Returns the links of each float reduction of a dispatch.
fn links(program: &Program, dispatch: &Dispatch) -> Vec<Links> {
    let mut all: Vec<Links> = Vec::new();
    walk::within(&dispatch.body, &mut |node, around| {
        let stage = match &node.kind {
            NodeKind::Compute(c) if matches!(c.phase, Phase::Update | Phase::Atomic | Phase::Resume) => c.stage,
            NodeKind::AllReduce(c) => c.stage,
            _ => return,
        };
        let Body::Reduce { monoid, .. } = &program.stages[stage].body else { return };
        let Some((verb, dtype)) = rounds(program, monoid) else { return };
        let at = all.iter().position(|links| links.stage == stage).unwrap_or_else(|| {
            all.push(Links { stage, verb, dtype, loops: Vec::new(), goes_on: false, is_shared: false, more: Some(Size::Const(0)) });
            all.len() - 1
        });
        let Some(links) = all.get_mut(at) else { return };
        match &node.kind {
            NodeKind::AllReduce(c) => links.join(program, c.how, &c.over),
            // The main part of a peeled loop has all loops; its tail has fewer.
            NodeKind::Compute(c) => {
                links.goes_on |= c.phase == Phase::Resume;
                links.is_shared |= c.phase == Phase::Atomic;
                if c.phase != Phase::Resume && around.len() > links.loops.len() {
                    links.loops = around.to_vec();
                }
            }
            _ => {}
        }
    });
    all
}

impl Links {
    /// Adds the operations that combine the partial results over some axes.
    fn join(&mut self, program: &Program, how: How, over: &[AxisId]) {
        let links = product(program, over.iter().copied()).map(|parts| match (how, parts) {
            (How::Subgroup | How::Tree | How::Matrix, Size::Const(n)) => Size::Const(depth(n)),
            (_, parts) => parts,
        });
        self.more = self.more.take().zip(links).map(|(more, links)| more.plus(links));
    }

    /// Returns the chain of a dispatch.
    fn whole(self, program: &Program, dispatch: usize) -> FloatChain {
        let stage = &program.stages[self.stage];
        let (name, over) = match &stage.body {
            Body::Reduce { monoid, over, .. } => (monoid.name.as_str(), over.as_slice()),
            Body::Map(_) => ("", &[][..]),
        };
        let is_link = |around: &&Around| match around.exec {
            Exec::Step(_) | Exec::Matrix(Side::Rows | Side::Columns) => false,
            Exec::Bind(..) if !self.is_shared => false,
            Exec::Serial if self.goes_on => true,
            Exec::Bind(..) | Exec::Serial | Exec::Unroll | Exec::Lanes | Exec::Dot | Exec::Matrix(Side::Depth) => {
                over.iter().any(|root| program.is_made_of(*root, around.axis))
            }
        };
        let loops = product(program, self.loops.iter().filter(is_link).map(|around| around.axis));
        let length = loops.zip(self.more).map(|(loops, more)| loops.plus(more));
        let (stage, reduction) = (stage.name.clone(), name.to_owned());
        FloatChain { dispatch, stage, reduction, verb: self.verb, dtype: self.dtype, length }
    }
}

/// Returns the name of a monoid's operations and their type, if they round.
fn rounds(program: &Program, monoid: &Monoid) -> Option<(&'static str, DType)> {
    let exprs = &program.exprs;
    let mut verbs = monoid.combine.iter().filter(|e| exprs.dtype(**e).is_float()).filter_map(|combine| {
        let has = |op: Binary| exprs.any(*combine, &mut |e| matches!(e, Expr::Binary(of, ..) if *of == op));
        let adds = has(Binary::Add) || exprs.any(*combine, &mut |e| matches!(e, Expr::MulAdd(..)));
        let verb = if adds { Some("additions") } else { has(Binary::Mul).then_some("multiplications") };
        verb.map(|verb| (verb, exprs.dtype(*combine)))
    });
    verbs.next()
}

/// Returns the depth of a tree with this number of leaves.
fn depth(leaves: i64) -> i64 {
    i64::from(leaves.max(1).unsigned_abs().next_power_of_two().ilog2())
}

/// Returns an upper bound of the product of some axes' extents.
fn product(program: &Program, mut axes: impl Iterator<Item = AxisId>) -> Option<Size> {
    axes.try_fold(Size::Const(1), |all, axis| Some(all.times(extent(program, axis)?)))
}

/// Returns an upper bound of an axis's extent.
fn extent(program: &Program, axis: AxisId) -> Option<Size> {
    let of = program.axes[axis].extent;
    size(program, of).or_else(|| {
        let all = program.axes.ids().collect();
        largest(program, of, &all).and_then(|most| size(program, most))
    })
}
