//! The reads of each stage of a program, and the work for one of its elements.

use crate::expr::{Expr, ExprId, Outside, Read};
use crate::nest::{AxisId, Body, BufferId, Program, Stage, StageId};
use crate::plan::pointwise::UNROLLED;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The largest literal extent of an axis that a block has as a whole, as an axis of colours.
const FEW: i64 = 4;

/// The operations that a function costs.
const FUNCTION: i64 = 16;

/// The reads of the stages of a program, each computed once.
pub(super) struct Survey<'p> {
    pub(super) program: &'p Program,
    reads: BTreeMap<StageId, Vec<Read>>,
    readers: BTreeMap<BufferId, Vec<StageId>>,
    arithmetic: BTreeMap<StageId, i64>,
}

impl<'p> Survey<'p> {
    /// Reads a program.
    pub(super) fn of(program: &'p Program) -> Survey<'p> {
        let stages: Vec<StageId> = program.stages.ids().collect();
        let reads: BTreeMap<StageId, Vec<Read>> = stages.iter().map(|stage| (*stage, reads(program, *stage))).collect();
        let mut readers: BTreeMap<BufferId, Vec<StageId>> = BTreeMap::new();
        for (stage, reads) in &reads {
            let buffers: BTreeSet<BufferId> = reads.iter().map(|read| read.buffer).collect();
            buffers.into_iter().for_each(|buffer| readers.entry(buffer).or_default().push(*stage));
        }
        let all = |stage: &StageId| program.stages[*stage].values().into_iter().map(|value| arithmetic(program, value)).sum();
        let arithmetic = stages.iter().map(|stage| (*stage, all(stage))).collect();
        Survey { program, reads, readers, arithmetic }
    }

    /// Returns the reads of a stage, each once.
    pub(super) fn reads(&self, stage: StageId) -> &[Read] {
        self.reads.get(&stage).map_or(&[], Vec::as_slice)
    }

    /// Returns the reads of a buffer by a stage, each once.
    pub(super) fn reads_of(&self, stage: StageId, buffer: BufferId) -> impl Iterator<Item = &Read> {
        self.reads(stage).iter().filter(move |read| read.buffer == buffer)
    }

    /// Returns the stages that read a stage.
    pub(super) fn readers(&self, stage: StageId) -> &[StageId] {
        self.readers_of(self.program.stages[stage].buffer)
    }

    /// Returns the stages that read a buffer.
    pub(super) fn readers_of(&self, buffer: BufferId) -> &[StageId] {
        self.readers.get(&buffer).map_or(&[], Vec::as_slice)
    }

    /// Returns the number of elements of a stage that a reader needs for one of its own.
    pub(super) fn places(&self, reader: StageId, of: StageId) -> i64 {
        let at: HashSet<_> = self.reads_of(reader, self.program.stages[of].buffer).map(|read| &read.index).collect();
        at.len() as i64 * items(self.program, &self.program.stages[reader]).unwrap_or(1)
    }

    /// True if elements of a stage are used several times: all readers together need several for one of their own, or a reader has a short axis
    /// and the elements do not depend on it.
    pub(super) fn is_used_again(&self, stage: StageId) -> bool {
        let (readers, buffer) = (self.readers(stage), self.program.stages[stage].buffer);
        let depends = |reader: StageId, axis: AxisId| self.reads_of(reader, buffer).any(|read| uses(self.program, read, axis));
        let is_repeated = |reader: &StageId| {
            let mut axes = self.program.stages[*reader].axes.iter();
            axes.any(|axis| is_short(self.program, *axis) && !depends(*reader, *axis))
        };
        readers.iter().map(|reader| self.places(*reader, stage)).sum::<i64>() > 1 || readers.iter().any(is_repeated)
    }

    /// Counts the work of a stage. The elements of the stages `near` are in registers.
    pub(super) fn work(&self, stage: StageId, near: &BTreeSet<StageId>) -> Work {
        let of = &self.program.stages[stage];
        let times = items(self.program, of).unwrap_or(UNROLLED);
        let is_near = |read: &&Read| self.program.definition(read.buffer).is_some_and(|made| near.contains(&made));
        let reads = self.reads(stage);
        let near = reads.iter().filter(is_near).count() as i64;
        let combined = i64::from(matches!(of.body, Body::Reduce { .. }));
        let arithmetic = self.arithmetic.get(&stage).copied().unwrap_or(0) + combined;
        Work { arithmetic: arithmetic * times, near: near * times, far: (reads.len() as i64 - near) * times }
    }
}

fn reads(program: &Program, stage: StageId) -> Vec<Read> {
    let mut all: Vec<Read> = Vec::new();
    for read in program.stages[stage].values().into_iter().flat_map(|value| program.exprs.reads(value)) {
        if !all.contains(&read) {
            all.push(read);
        }
    }
    all
}

/// True if the indices of a read depend on an axis.
pub(super) fn uses(program: &Program, read: &Read, axis: AxisId) -> bool {
    read.index.iter().any(|index| program.exprs.uses_axis(*index, &mut |a| a == axis))
}

/// True if a block has all elements of an axis.
pub(super) fn is_short(program: &Program, axis: AxisId) -> bool {
    program.exprs.as_int(program.axes[axis].extent).is_some_and(|n| (2..=FEW).contains(&n))
}

/// Returns the items of a stage's reduction, or 1. `None` if they are not few, or if their number is not a literal.
pub(super) fn items(program: &Program, stage: &Stage) -> Option<i64> {
    let Body::Reduce { over, .. } = &stage.body else { return Some(1) };
    let extent = |axis: &AxisId| program.exprs.as_int(program.axes[*axis].extent);
    over.iter().try_fold(1i64, |all, axis| all.checked_mul(extent(axis)?)).filter(|items| (1..=UNROLLED).contains(items))
}

/// The work for one element of a stage.
pub(super) struct Work {
    /// The operations.
    pub(super) arithmetic: i64,
    /// The reads of elements that are in registers.
    pub(super) near: i64,
    /// The reads of other elements.
    pub(super) far: i64,
}

impl Work {
    /// Returns the number of operations and reads.
    pub(super) fn parts(&self) -> i64 {
        self.arithmetic + self.near + self.far
    }
}

/// Returns the operations of a value outside of indices.
fn arithmetic(program: &Program, value: ExprId) -> i64 {
    let exprs = &program.exprs;
    let (mut open, mut seen, mut count) = (vec![value], HashSet::new(), 0);
    while let Some(e) = open.pop() {
        if exprs.is_index(e) || !seen.insert(e) {
            continue;
        }
        let of = exprs.get(e);
        count += match of {
            Expr::Unary(op, _) if op.is_function() => FUNCTION,
            Expr::Binary(op, ..) if op.is_function() => FUNCTION,
            Expr::Unary(..) | Expr::Binary(..) | Expr::Compare(..) | Expr::Select(..) => 1,
            _ => 0,
        };
        match of {
            Expr::Read(Read { outside: Outside::Fill(fill, _), .. }) => open.push(*fill),
            Expr::Read(_) => {}
            of => open.extend(of.operands()),
        }
    }
    count
}
