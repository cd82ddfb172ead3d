//! The interior of a nest with `border`: the blocks in which no read along the given axes is out of bounds.
//!
//! The condition names the axes of loops over workgroups and of serial loops that are parts of the given axes. It is the same for all
//! invocations of a workgroup. For each clamp, the index has its least or greatest value over all other axes.

use super::{Case, Kind};
use crate::diag::{Error, SpanId, list};
use crate::expr::{Binary, Compare, ExprId, Outside, Read};
use crate::nest::print::Printer;
use crate::nest::{AxisId, Exec, Fate, Interior, Level, Node, NodeKind, Program, Tail, walk};
use std::collections::{BTreeMap, HashSet};

/// Returns the case of an interior. `None` if no loop of the dispatch is over a part of its axes.
pub(super) fn of(program: &Program, of: &Interior, body: &[Node], bound: &[(AxisId, Exec)]) -> Result<Option<Case>, Error> {
    let is_part = |axis: AxisId| of.axes.iter().any(|whole| program.passes(*whole, axis));
    if !bound.iter().any(|(axis, _)| is_part(*axis)) {
        return Ok(None);
    }
    let is_uniform = |exec: Exec| matches!(exec, Exec::Serial | Exec::Bind(Level::Workgroup, _));
    let is_outer = |axis: AxisId| bound.iter().any(|(a, exec)| *a == axis && is_uniform(*exec)) && is_part(axis);
    // Axes of copies and of other stages in the nest count as a whole, however they are split.
    let whole = program.axes.ids().filter(|axis| !is_part(*axis));
    let known: HashSet<AxisId> = bound.iter().map(|(axis, _)| *axis).chain(whole).collect();
    let mut ends =
        Ends { program, bound: bound.iter().map(|(axis, _)| *axis).collect(), is_outer: &is_outer, needed: BTreeMap::new() };
    let (mut reads, mut unclear) = (HashSet::new(), None);
    for read in all_reads(program, body) {
        for (d, (index, extent)) in program.dimensions(&read).enumerate() {
            let (low, high) = sides(&read, d);
            if !(low || high) {
                continue;
            }
            let over = program.over_leaves(index, &known);
            if !program.exprs.uses_axis(over, &mut |axis| is_part(axis)) {
                continue;
            }
            if !program.is_clamped_apart(index) && ends.add(over, extent, (low, high)).is_some() {
                reads.insert(without_clamps(&read));
            } else {
                unclear = unclear.or(Some(index));
            }
        }
    }
    let full = guarded_tiles(program, &is_part, &|cond| ends.is_known(cond));
    match (ends.condition(), unclear) {
        (Some(cond), _) => {
            let cond = full.iter().fold(cond, |all, (_, cond)| program.exprs.binary(Binary::And, *cond, all));
            let kind = Kind::Interior { reads, full: full.into_iter().map(|(axis, _)| axis).collect() };
            Ok(Some(Case { kind, cond, leaves: Vec::new(), span: of.span, is_done: false }))
        }
        (None, Some(index)) => {
            let names = list(of.axes.iter().map(|axis| &program.axes[*axis].name));
            let index = Printer::new(program).expr(index);
            let what = format!("the interior along {names} cannot be described: `{index}` is not a sum of multiples of axes");
            Err(Error::new(of.span, what).help("remove `border`"))
        }
        (None, None) => Err(no_effect(of.span)),
    }
}

/// Returns the axes that need no predicates in the interior, each with the condition that its tile is full. Peeled axes have a case of their own.
fn guarded_tiles(program: &Program, is_part: &dyn Fn(AxisId) -> bool, is_known: &dyn Fn(ExprId) -> bool) -> Vec<(AxisId, ExprId)> {
    let is_guarded = |axis: &AxisId| match &program.axes[*axis].fate {
        Fate::Split(split) => split.tail == Tail::Guard && !split.exact,
        _ => false,
    };
    let axes = program.axes.ids().filter(|axis| is_guarded(axis) && is_part(*axis));
    axes.filter_map(|axis| Some((axis, program.in_full_tile(axis).filter(|cond| is_known(*cond))?))).collect()
}

/// Reports a `border` that removes no clamp.
pub(super) fn no_effect(span: SpanId) -> Error {
    Error::new(span, "`border` has no effect: no read along these axes loses a clamp or padding in the interior")
        .help("remove `border`")
}

/// Counts the sides on which the given reads, and the same reads without some clamps, are clamped or filled in a block.
pub(super) fn count(program: &Program, body: &[Node], of: &HashSet<Read>) -> usize {
    let reads = all_reads(program, body).filter(|read| of.contains(&without_clamps(read)));
    reads
        .map(|read| {
            (0..read.index.len()).map(|d| sides(&read, d)).map(|(low, high)| usize::from(low) + usize::from(high)).sum::<usize>()
        })
        .sum()
}

fn without_clamps(read: &Read) -> Read {
    Read { outside: Outside::Never, ..read.clone() }
}

fn all_reads<'a>(program: &'a Program, body: &'a [Node]) -> impl Iterator<Item = Read> + 'a {
    let values = walk::nodes(body).filter_map(|node| match &node.kind {
        NodeKind::Compute(compute) => Some(compute.values()),
        _ => None,
    });
    values.flatten().flat_map(|value| program.exprs.reads(value))
}

/// Returns the sides on which a read is clamped or filled along a dimension.
fn sides(read: &Read, d: usize) -> (bool, bool) {
    match &read.outside {
        Outside::Never => (false, false),
        Outside::Clamp(sides) | Outside::Fill(_, sides) => sides.get(d).copied().unwrap_or((true, true)),
    }
}

/// An index without its constant: the multiples of axes, and the other terms.
type Terms = (Vec<(AxisId, i64)>, Vec<(ExprId, i64)>);

/// The ends of indices that must be in bounds.
struct Ends<'e> {
    program: &'e Program,
    bound: HashSet<AxisId>,
    is_outer: &'e dyn Fn(AxisId) -> bool,
    /// For equal terms, and the extent at a high end: the constant that is nearest to the end of the dimension.
    needed: BTreeMap<(Terms, Option<ExprId>), i64>,
}

impl Ends<'_> {
    /// True if a condition depends on outer axes only.
    fn is_known(&self, cond: ExprId) -> bool {
        let over = self.program.over_leaves(cond, &self.bound);
        !self.program.exprs.uses_axis(over, &mut |axis| !(self.is_outer)(axis))
    }

    /// Adds the ends of an index over leaves. `None` if it is not a sum of multiples of axes.
    fn add(&mut self, index: ExprId, extent: ExprId, (low, high): (bool, bool)) -> Option<()> {
        let low = if low { Some(self.end(index, false)?) } else { None };
        let high = if high { Some(self.end(index, true)?) } else { None };
        if let Some((terms, constant)) = low {
            self.needed.entry((terms, None)).and_modify(|least| *least = constant.min(*least)).or_insert(constant);
        }
        if let Some((terms, constant)) = high {
            self.needed.entry((terms, Some(extent))).and_modify(|most| *most = constant.max(*most)).or_insert(constant);
        }
        Some(())
    }

    /// Returns the least or the greatest value of an index over all axes that the condition does not name.
    fn end(&self, index: ExprId, is_high: bool) -> Option<(Terms, i64)> {
        let (program, exprs) = (self.program, &self.program.exprs);
        let mut sum = exprs.linear(index);
        for (axis, times) in sum.axes.clone().into_iter().filter(|(axis, _)| !(self.is_outer)(*axis)) {
            sum.axes.remove(&axis);
            if (times > 0) == is_high {
                sum.plus(&exprs.linear(program.axes[axis].extent), times)?;
                sum.constant = sum.constant.checked_sub(times)?;
            }
        }
        let is_free = |e: &ExprId| exprs.reads(*e).is_empty() && !exprs.uses_axis(*e, &mut |_| true);
        let is_known =
            sum.has_literals() && sum.axes.keys().all(|axis| (self.is_outer)(*axis)) && sum.rest.iter().all(|(e, _)| is_free(e));
        is_known.then(|| ((sum.axes.into_iter().collect(), sum.rest), sum.constant))
    }

    /// Returns the condition that all ends are in bounds. `None` if there are none.
    fn condition(&self) -> Option<ExprId> {
        let exprs = &self.program.exprs;
        let sum = |(axes, rest): &Terms, constant: i64| {
            let terms = axes.iter().map(|(axis, n)| (exprs.axis(*axis), *n)).chain(rest.iter().copied());
            let terms = terms.map(|(term, n)| exprs.binary(Binary::Mul, term, exprs.int(n)));
            let sum = terms.reduce(|sum, term| exprs.binary(Binary::Add, sum, term)).unwrap_or_else(|| exprs.int(0));
            let op = if constant < 0 { Binary::Sub } else { Binary::Add };
            exprs.binary(op, sum, exprs.int(constant.abs()))
        };
        let conds = self.needed.iter().map(|((terms, extent), constant)| match extent {
            None => exprs.compare(Compare::Ge, sum(terms, *constant), exprs.int(0)),
            Some(extent) => exprs.compare(Compare::Lt, sum(terms, *constant), *extent),
        });
        conds.reduce(|all, cond| exprs.binary(Binary::And, all, cond))
    }
}
