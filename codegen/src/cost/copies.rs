//! Counts the values of a leaf in the copies that unrolled loops make of it. In a copy, the loops' axes are numbers, so that `select`s on
//! them are decided, and quotients that depend on the copy's position in a tile are known. So copies share values that differ only by
//! name, such as `oh / 2` in both rows of a tile, and a row that no copy selects is not computed. The [`Resolver`] evaluates the copies,
//! as it does for a backend.

use super::count::{Count, Loops};
use super::leaves::operations;
use crate::values::{Kind, ValueId};
use crate::{BoundAxis, Resolver, Result, Wanted};
use std::collections::{HashMap, HashSet};
use tilewright_dsl::expr::{Binary, Expr, ExprId};
use tilewright_dsl::nest::{AxisId, BufferId, Compute, Exec, Fate, Program};

/// The values of unrolled loops' axes in a copy.
pub(super) type Numbers = HashMap<AxisId, i64>;

/// True if a value can simplify in a copy: it contains `select`s, quotients, or components of fused axes.
pub(super) fn can_differ(program: &Program, value: ExprId) -> bool {
    program.exprs.any(value, &mut |e| match e {
        Expr::Select(..) | Expr::Binary(Binary::FloorDiv | Binary::FloorMod, ..) => true,
        Expr::Axis(axis) => is_digit(program, *axis),
        _ => false,
    })
}

/// True if an axis is computed from a component of a fused axis.
fn is_digit(program: &Program, axis: AxisId) -> bool {
    match &program.axes[axis].fate {
        Fate::Live => false,
        Fate::Split(split) => split.parts.iter().any(|part| is_digit(program, *part)),
        Fate::Fused { .. } => true,
    }
}

/// The values of a leaf's copies.
struct Copies<'r, 'p> {
    resolver: &'r mut Resolver<'p>,
    /// The counter of each loop that is not unrolled, by the loop's number and, for a serial loop, the numbers of the unrolled loops around
    /// it, because each copy of a serial loop computes its values again.
    counters: HashMap<(usize, Vec<i64>), ValueId>,
    /// The loops that each value depends on, if they are known.
    depends: HashMap<ValueId, Loops>,
    /// The reads of memory that is written: the buffer and the index.
    reads: HashMap<ValueId, (BufferId, ValueId)>,
    counted: HashSet<ValueId>,
}

/// Counts the values of a compute in these copies. A value that several copies share counts once.
pub(super) fn count_copies(
    count: &mut Count<'_>,
    resolver: &mut Resolver<'_>,
    compute: &Compute,
    copies: &[Numbers],
) -> Result<()> {
    resolver.forget_reads();
    resolver.forget_registers();
    let unrolled = count.loops().map(|(axis, _)| axis).filter(|axis| copies[0].contains_key(axis));
    let unrolled: Vec<(AxisId, u32)> =
        unrolled.map(|axis| Ok((axis, resolver.literal_extent(axis, "unrolled")?))).collect::<Result<_>>()?;
    unrolled.iter().for_each(|(axis, extent)| resolver.enter_unrolled(*axis, *extent));
    let (counters, depends, reads, counted) = Default::default();
    let mut all = Copies { resolver, counters, depends, reads, counted };
    let mut roots = Vec::new();
    let found = copies.iter().try_for_each(|numbers| {
        all.enter(count, numbers)?;
        roots.extend(all.values(count, compute)?);
        Ok(())
    });
    unrolled.iter().for_each(|_| all.resolver.leave_unrolled());
    count.loops().for_each(|(axis, _)| all.resolver.unbind(axis, None));
    all.resolver.leave_lanes();
    found?;
    all.count(count, roots);
    Ok(())
}

impl Copies<'_, '_> {
    /// Binds the axes of all loops as they are in a copy.
    fn enter(&mut self, count: &Count<'_>, numbers: &Numbers) -> Result<()> {
        let mut outer = Vec::new();
        for (n, (axis, exec)) in count.loops().enumerate() {
            let bound = match (exec, numbers.get(&axis)) {
                (_, Some(number)) => {
                    outer.push(*number);
                    BoundAxis { value: self.resolver.values.int(*number), owner: false }
                }
                (Exec::Bind(level, slot), None) => self.resolver.coordinate_of(axis, level, slot)?,
                (Exec::Lanes | Exec::Dot, None) => {
                    let lanes = self.resolver.literal_extent(axis, "in lanes")?;
                    let value = if lanes == 1 { self.resolver.values.int(0) } else { self.resolver.values.lane(lanes) };
                    self.resolver.enter_lanes(axis, lanes);
                    BoundAxis { value, owner: false }
                }
                (Exec::Serial | Exec::Unroll | Exec::Matrix(_) | Exec::Step(_), None) => {
                    let around = if exec == Exec::Serial { outer.clone() } else { Vec::new() };
                    BoundAxis { value: self.counter(count, (n, around), axis)?, owner: false }
                }
            };
            self.resolver.bind(axis, bound)?;
        }
        Ok(())
    }

    /// Returns the counter of a loop.
    fn counter(&mut self, count: &Count<'_>, key: (usize, Vec<i64>), axis: AxisId) -> Result<ValueId> {
        if let Some(known) = self.counters.get(&key) {
            return Ok(*known);
        }
        let extent = self.resolver.extent(axis)?;
        let counter = self.resolver.counter(extent);
        self.depends.insert(counter, count.of_axis(axis));
        self.counters.insert(key, counter);
        Ok(counter)
    }

    /// Returns the values of a compute in the copy that is bound.
    fn values(&mut self, count: &Count<'_>, compute: &Compute) -> Result<Vec<ValueId>> {
        self.resolver.begin_compute(compute);
        let values: Result<Vec<ValueId>> = compute.value.iter().map(|value| self.resolver.resolve(*value)).collect();
        for wanted in self.resolver.take_wanted() {
            match wanted {
                Wanted::Load { value, buffer, index } => _ = self.reads.insert(value, (buffer, index)),
                Wanted::Register { value, buffer, .. } => _ = self.depends.insert(value, count.of_buffer(buffer)),
                Wanted::Param(_) => {}
            }
        }
        values
    }

    /// Counts values and those that they are computed from.
    fn count(&mut self, count: &mut Count<'_>, mut open: Vec<ValueId>) {
        while let Some(id) = open.pop() {
            if !self.counted.insert(id) {
                continue;
            }
            let depends = self.loops(count, id);
            let node = self.resolver.values.node(id);
            let width = i64::from(node.width);
            match &node.kind {
                Kind::Load(load) => count.read(load.buffer, load.count.into(), depends),
                Kind::Op(op, _) if node.dtype.is_float() => {
                    let (flops, functions) = operations(*op);
                    count.arithmetic(flops * width, functions * width, depends);
                }
                _ => {
                    if let Some((buffer, _)) = self.reads.get(&id) {
                        count.read(*buffer, width, depends);
                    }
                }
            }
            open.extend(self.operands(id));
        }
    }

    /// Returns the loops that a value depends on.
    fn loops(&mut self, count: &Count<'_>, id: ValueId) -> Loops {
        if let Some(known) = self.depends.get(&id) {
            return *known;
        }
        let own = self.reads.get(&id).map_or(0, |(buffer, _)| count.of_buffer(*buffer));
        let all = self.operands(id).into_iter().fold(own, |all, operand| all | self.loops(count, operand));
        self.depends.insert(id, all);
        all
    }

    fn operands(&self, id: ValueId) -> Vec<ValueId> {
        match &self.resolver.values.node(id).kind {
            Kind::Sum(sum) => sum.terms.iter().flat_map(|term| term.factors.iter().copied()).collect(),
            Kind::Op(_, operands) => operands.to_vec(),
            Kind::Load(load) => vec![load.index],
            _ => self.reads.get(&id).map(|(_, index)| *index).into_iter().collect(),
        }
    }
}
