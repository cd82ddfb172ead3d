//! Checks whether a reduction's item is the identity past an axis's extent, so that it needs no predicate there.
//!
//! The item is traced: each read of local memory is replaced by the value that was written there, up to reads of device memory. Past the
//! axis's extent, a read outside its tensor gives its fill value, and a `select` whose condition is known becomes one arm.
//! [`crate::nest::fill`] evaluates the remaining expression.

use crate::expr::{Compare, Expr, ExprId, Exprs, Outside, Read, Unary};
use crate::facts::sources::defined::known_of;
use crate::facts::{Poly, Prover};
use crate::nest::fill::{Known, at_fill, is_same, known_by};
use crate::nest::{AxisId, Body, BufferId, NodeKind, Phase, Program, Space};
use crate::verify::context::Checks;
use crate::verify::site::{Site, SiteAccess};
use crate::verify::trace::{Case, Contents, trace};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

/// The depth to which copies of copies are traced.
const MAX_DEPTH: u32 = 6;

impl Checks<'_> {
    /// True if a leaf's items are the identity where `axis` is past its extent. If `filled`, every read that depends on the axis gives 0
    /// there.
    pub(super) fn item_is_identity(&self, site: &Site<'_>, axis: AxisId, filled: bool) -> bool {
        let program = self.program;
        let (stage, items) = match &site.node.kind {
            NodeKind::Compute(compute) => (compute.stage, compute.value.clone()),
            _ => return false,
        };
        let Body::Reduce { monoid, .. } = &self.program.stages[stage].body else { return false };
        let (value, extent) = (self.provers.value(axis), self.extent(axis));
        let past = program.exprs.compare(Compare::Ge, value, extent);
        items.len() <= monoid.identity.len()
            && items.iter().zip(&monoid.identity).all(|(item, identity)| {
                let item = program.exprs.replace(*item, &mut |exprs, e| match exprs.get(e) {
                    // The emitted code does not fill the reads of an index.
                    Expr::Unary(Unary::Index, _) => Some(e),
                    // The emitted code fills the reads whose index depends on the axis itself, not only on its parts.
                    Expr::Read(read)
                        if filled
                            && *self.space(read.buffer) != Space::Register
                            && read.index.iter().any(|i| exprs.uses_axis(*i, &mut |a| self.program.passes(a, axis))) =>
                    {
                        let dtype = exprs.dtype(e);
                        Some(exprs.constant(crate::expr::Const::number(0.0, dtype)))
                    }
                    _ => None,
                });
                let (summed, site) = self.summed(Case::always(item), site, *identity, 0);
                let mut cases = trace(&program.exprs, summed.item, site, &Stored { checks: self }, MAX_DEPTH).unwrap_or_default();
                cases.iter_mut().for_each(|case| case.given.extend(&summed.given));
                cases.iter_mut().for_each(|case| tell(case, &program.exprs));
                !cases.is_empty() && cases.iter().all(|case| self.is_identity(axis, past, case, *identity))
            })
    }

    /// Follows an item that reads the result of a reduction in local memory, and returns the item of that reduction with the leaf that sums
    /// it. If all summed items are the identity, so is the result.
    fn summed<'s>(&'s self, case: Case, site: &'s Site<'s>, identity: ExprId, depth: u32) -> (Case, &'s Site<'s>) {
        let program = self.program;
        let found = || {
            let Expr::Read(read) = program.exprs.get(case.item) else { return None };
            let phase = |site: &&Site<'_>, wanted: Phase| match &site.node.kind {
                NodeKind::Compute(c) if c.phase == wanted => Some((c.stage, c.value.first().copied())),
                _ => None,
            };
            // (A running maximum begins with the identity, and a loop-carried state without items is unchanged.)
            let writes = |site: &&&Site<'_>| {
                phase(site, Phase::Init).is_none() && site.touches.iter().any(|touch| touch.writes && touch.buffer == read.buffer)
            };
            let mut writers = self.sites.iter().filter(|site| writes(&site));
            let (writer, None) = (writers.next()?, writers.next()) else { return None };
            let touch = writer.touches.iter().find(|touch| touch.writes)?;
            // Before lowering, one leaf is the whole reduction.
            let (stage, stored) = phase(&writer, Phase::Finish).or_else(|| match &writer.node.kind {
                NodeKind::Compute(c) if c.phase == Phase::Whole => Some((c.stage, c.finish)),
                _ => None,
            })?;
            let Body::Reduce { monoid, .. } = &program.stages[stage].body else { return None };
            let is_plain = match program.exprs.get(stored?) {
                Expr::Read(own) => self.is_private(own.buffer),
                state => matches!(state, Expr::State(0)),
            };
            if !is_plain || monoid.identity != [identity] {
                return None;
            }
            let of_items = |site: &&Site<'_>| match &site.node.kind {
                NodeKind::Compute(c) => c.stage == stage && matches!(c.phase, Phase::Update | Phase::Whole),
                _ => false,
            };
            let mut updates = self.sites.iter().filter(of_items);
            let (update, None) = (updates.next()?, updates.next()) else { return None };
            let NodeKind::Compute(items) = &update.node.kind else { return None };
            let places = Stored { checks: self }.places(touch, read)?;
            Some((Stored { checks: self }.moved(*items.value.first()?, update, &places), update))
        };
        match found().filter(|_| depth < MAX_DEPTH) {
            Some((mut deeper, site)) => {
                deeper.given.extend(&case.given);
                self.summed(deeper, site, identity, depth + 1)
            }
            None => (case, site),
        }
    }

    /// True if no predicate of a leaf that writes the buffer leaves an element unwritten. Each predicate must only exclude points that are
    /// not elements, or items of a reduction.
    fn is_whole(&self, buffer: BufferId) -> bool {
        let made_of = |index: &ExprId, axis: AxisId| self.program.exprs.uses_axis(*index, &mut |a| self.program.passes(a, axis));
        self.sites.iter().all(|site| {
            let Some(touch) = site.touches.iter().find(|touch| touch.writes && touch.buffer == buffer) else { return true };
            let reduced = self.reduced(site);
            let tells = |axis: AxisId| touch.index.iter().any(|index| made_of(index, axis));
            site.preds().iter().all(|pred| tells(pred.axis) || reduced.iter().any(|own| self.program.passes(*own, pred.axis)))
        })
    }

    fn is_identity(&self, axis: AxisId, past: ExprId, case: &Case, identity: ExprId) -> bool {
        let (program, plain) = (self.program, Prover::on_leaves(self.program));
        let excess = excess(&plain, self.provers.value(axis), self.extent(axis));
        let (given, [beyond, assumed]) = (&case.given[..], [const { OnceCell::new() }; 2]);
        let past = Past { checks: self, program, axis, plain, excess, past, given, beyond, assumed };
        let wanted = at_fill(program, identity, &|_| false);
        is_same(past.evaluate(case.item), wanted) || past.assumed().is_impossible()
    }
}

/// The points at which an axis is past its extent, and the provers for them.
struct Past<'p, 'v> {
    checks: &'p Checks<'v>,
    program: &'p Program,
    axis: AxisId,
    /// The prover without assumptions.
    plain: Prover<'p>,
    /// The distance from the extent to the axis. It is not negative at these points.
    excess: Option<Poly>,
    /// The condition that the axis is past its extent.
    past: ExprId,
    /// Further conditions that hold at the points of the case.
    given: &'p [ExprId],
    /// A prover that assumes `past`. Created on demand.
    beyond: OnceCell<Prover<'p>>,
    /// A prover that assumes `past` and `given`.
    assumed: OnceCell<Prover<'p>>,
}

impl<'p> Past<'p, '_> {
    fn beyond(&self) -> &Prover<'p> {
        self.beyond.get_or_init(|| self.plain.assuming(self.past, true))
    }

    fn assumed(&self) -> &Prover<'p> {
        let [first, rest @ ..] = self.given else { return self.beyond() };
        self.assumed.get_or_init(|| {
            let first = self.beyond().assuming(*first, true);
            rest.iter().fold(first, |prover, given| prover.assuming(*given, true))
        })
    }

    /// Returns the value of a comparison, if it is known. The case's own conditions are tried second: most of them are already in the item,
    /// and more facts can make a claim harder to prove.
    fn decided(&self, cond: ExprId) -> Option<bool> {
        let first = decided(self.program, self.beyond(), cond);
        if first.is_some() || self.given.is_empty() {
            return first;
        }
        decided(self.program, self.assumed(), cond)
    }

    /// Evaluates an item as far as it is known past the extent.
    fn evaluate(&self, item: ExprId) -> Known {
        known_by(self.program, item, &|e| match self.program.exprs.get(e) {
            Expr::Read(read) => self.filled(read).or_else(|| self.defined(read)),
            Expr::Select(cond, yes, no) => match self.decided(*cond) {
                Some(true) => Some(self.evaluate(*yes)),
                Some(false) => Some(self.evaluate(*no)),
                None => None,
            },
            _ => None,
        })
    }

    /// Returns what the definition of an element implies about its value, if the element does not depend on the axis.
    fn defined(&self, read: &Read) -> Option<Known> {
        let told = |index: &ExprId| self.program.exprs.uses_axis(*index, &mut |a| self.program.passes(a, self.axis));
        let is_inside = read.outside == Outside::Never && !self.program.checks.finite.contains(&read.buffer);
        (is_inside && !read.index.iter().any(told))
            .then(|| known_of(self.program, read.buffer, &|buffer| self.checks.is_whole(buffer)))
    }

    /// Returns the fill value of a read that is outside its tensor.
    fn filled(&self, read: &Read) -> Option<Known> {
        let Outside::Fill(value, sides) = &read.outside else { return None };
        let dimensions = || self.program.dimensions(read).zip(sides).map(|((index, n), sides)| (index, n, *sides));
        // The read exceeds its extent by at least as much as the axis does. This needs no proof search.
        let as_far = |(index, extent, (_, high)): (ExprId, ExprId, (bool, bool))| {
            let further = excess(&self.plain, index, extent).zip(self.excess.as_ref());
            let further = further.and_then(|(excess, past)| excess.sub(past)?.as_constant());
            high && further.is_some_and(|further| further >= 0)
        };
        let outside = |(index, extent, (low, high)): (ExprId, ExprId, (bool, bool))| {
            (high && self.assumed().less_equal(extent, index)) || (low && self.assumed().less(index, 0))
        };
        (dimensions().any(as_far) || dimensions().any(outside)).then(|| at_fill(self.program, *value, &|_| false))
    }
}

/// Returns the distance from an extent to an index.
fn excess(prover: &Prover<'_>, index: ExprId, extent: ExprId) -> Option<Poly> {
    prover.poly(index)?.sub(&prover.poly(extent)?)
}

/// Returns the value of a comparison of indices, if it is known. Refuting it is tried first, because masks are false past an extent.
fn decided(program: &Program, prover: &Prover<'_>, cond: ExprId) -> Option<bool> {
    let Expr::Compare(op, a, b) = *program.exprs.get(cond) else { return None };
    let (less, at_most) = (|a: ExprId, b: ExprId| prover.less(a, b), |a: ExprId, b: ExprId| prover.less_equal(a, b));
    let differ = || less(a, b) || less(b, a);
    match op {
        Compare::Lt => refuted_or(at_most(b, a), || less(a, b)),
        Compare::Le => refuted_or(less(b, a), || at_most(a, b)),
        Compare::Gt => refuted_or(at_most(a, b), || less(b, a)),
        Compare::Ge => refuted_or(less(a, b), || at_most(b, a)),
        Compare::Eq => refuted_or(differ(), || prover.equal(a, b)),
        Compare::Ne => refuted_or(prover.equal(a, b), differ),
    }
}

fn refuted_or(refuted: bool, proved: impl FnOnce() -> bool) -> Option<bool> {
    if refuted { Some(false) } else { proved().then_some(true) }
}

/// Replaces sums in the item's indices by what the case's equalities say they are equal to.
fn tell(case: &mut Case, exprs: &Exprs) {
    for given in &case.given {
        if let Expr::Compare(Compare::Eq, sum, equal) = *exprs.get(*given) {
            case.item = exprs.replace(case.item, &mut |exprs, e| told_by(exprs, e, sum, equal));
        }
    }
}

/// Returns an index in which a multiple of `sum` is replaced by the same multiple of `equal`.
fn told_by(exprs: &Exprs, e: ExprId, sum: ExprId, equal: ExprId) -> Option<ExprId> {
    if !exprs.is_index(e) || !matches!(exprs.get(e), Expr::Binary(..) | Expr::Axis(_)) {
        return None;
    }
    let (mut whole, part) = (exprs.linear(e), exprs.linear(sum));
    let (axis, times) = part.axes.first_key_value()?;
    let by = whole.axes.get(axis)?.checked_div(*times)?;
    let same = |(axis, times): (&AxisId, &i64)| whole.axes.get(axis) == Some(&(times * by));
    if by == 0 || !part.rest.is_empty() || !part.axes.iter().all(same) {
        return None;
    }
    whole.add(&part, -by);
    whole.add(&exprs.linear(equal), by);
    Some(exprs.of_linear(&whole, &[]))
}

/// The values that leaves store in local memory.
struct Stored<'t, 'v> {
    checks: &'t Checks<'v>,
}

impl<'t> Contents for Stored<'t, '_> {
    type At = &'t Site<'t>;

    fn is_known(&self, buffer: BufferId) -> bool {
        matches!(self.checks.program.buffers[buffer].space, Space::Shared | Space::Register | Space::Fragment { .. })
    }

    fn held(&self, read: &Read, site: &'t Site<'t>) -> Option<Vec<(Case, &'t Site<'t>)>> {
        if let Some(case) = self.of_pipeline(read, site) {
            return Some(vec![(case, site)]);
        }
        let life = |site: &Site<'_>| site.life(read.buffer).map(|at| std::ptr::from_ref(site.around[at].node));
        let mut cases = Vec::new();
        for writer in self.checks.sites.iter().filter(|writer| life(writer).is_some() && life(writer) == life(site)) {
            let Some(touch) = writer.touches.iter().find(|touch| touch.writes && touch.buffer == read.buffer) else { continue };
            cases.push((self.value_at(writer, touch, read)?, writer));
        }
        Some(cases)
    }
}

impl Stored<'_, '_> {
    /// Returns the value of a prefetched copy where it is read: the value of its stage at the current step.
    fn of_pipeline(&self, read: &Read, site: &Site<'_>) -> Option<Case> {
        let program = self.checks.program;
        let pipeline = program.pipeline_of(read.buffer).filter(|p| p.made.is_some())?;
        let stage = &program.stages[pipeline.stage];
        let Body::Map(value) = stage.body else { return None };
        let versions = read.index.len().checked_sub(stage.axes.len())?;
        let places: HashMap<AxisId, ExprId> = stage.axes.iter().copied().zip(read.index[versions..].iter().copied()).collect();
        let bound: HashSet<AxisId> = site.loops().map(|looped| looped.axis).chain(stage.axes.iter().copied()).collect();
        let value = program.over_leaves(value, &bound);
        let item = program.exprs.with_axes(value, &mut |axis| places.get(&axis).copied());
        Some(Case::always(item))
    }

    /// Returns the value that a writer stores to the element that `read` reads.
    fn value_at(&self, writer: &Site<'_>, touch: &SiteAccess, read: &Read) -> Option<Case> {
        let value = match &writer.node.kind {
            NodeKind::Compute(compute) if compute.dst.first()?.buffer == read.buffer => {
                match (&self.checks.program.stages[compute.stage].body, compute.phase) {
                    (Body::Map(_), Phase::Whole) => *compute.value.first()?,
                    // Only the masked elements of a reduction's result are known.
                    (Body::Reduce { .. }, Phase::Whole) => compute.finish.filter(|finish| self.is_masked(*finish))?,
                    (Body::Reduce { .. }, Phase::Finish) => *compute.value.first().filter(|value| self.is_masked(**value))?,
                    _ => return None,
                }
            }
            _ => return None,
        };
        let places = self.places(touch, read)?;
        Some(self.moved(value, writer, &places))
    }

    fn is_masked(&self, value: ExprId) -> bool {
        matches!(self.checks.program.exprs.get(value), Expr::Select(..))
    }

    /// Maps the writer's axes to the reader's indices.
    fn places(&self, touch: &SiteAccess, read: &Read) -> Option<HashMap<AxisId, ExprId>> {
        let mut places: HashMap<AxisId, ExprId> = HashMap::new();
        for (to, from) in touch.index.iter().zip(&read.index) {
            match self.checks.program.exprs.get(*to) {
                Expr::Axis(axis) => drop(places.insert(*axis, *from)),
                _ if to == from => {}
                _ => return None,
            }
        }
        Some(places)
    }

    /// Rewrites a writer's value for the reader. The element determines the writer's own axes, and the other axes are bound by loops around
    /// both. If the value names loops that an axis is computed from, the case records the equation between them.
    fn moved(&self, value: ExprId, writer: &Site<'_>, places: &HashMap<AxisId, ExprId>) -> Case {
        let (program, exprs) = (self.checks.program, &self.checks.program.exprs);
        let loops: HashSet<AxisId> = writer.loops().map(|looped| looped.axis).collect();
        let bound: HashSet<AxisId> = loops.iter().chain(places.keys()).copied().collect();
        let value = program.over_leaves(value, &bound);
        let item = exprs.with_axes(value, &mut |axis| places.get(&axis).copied());
        let mut case = Case::always(item);
        for (axis, from) in places.iter().filter(|(axis, _)| !loops.contains(axis)) {
            let made = program.over_leaves(exprs.axis(*axis), &loops);
            let named = program.named(case.item);
            if program.named(made).iter().any(|leaf| named.contains(leaf)) {
                case.given.push(exprs.compare(Compare::Eq, made, *from));
            }
        }
        case
    }
}
