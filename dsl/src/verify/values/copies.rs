//! Copies: checks that a leaf that reads a copy reads the element that its stage names. The copy holds elements of a tensor, or of a stage
//! that is computed where it is read.
//!
//! Each read of a copy is replaced by the element that the copy holds. The copy's stage determines that element, or `Notes::placed` for
//! a stage that is computed where it is read. The traced value must then have the buffers and operations of the reader's stage, and equal
//! indices. Past the end of an axis, a copy may hold any value: `fills` and `predicates` check that it is not used.

use crate::expr::{Binary, Compare, Expr, ExprId, Outside, Read, Sides};
use crate::nest::points::bring_inside;
use crate::nest::{Body, BufferId, NodeKind, Pipelined, Program, StageId};
use crate::verify::context::Checks;
use crate::verify::site::Site;
use crate::verify::trace::{Case, Contents, trace};
use std::collections::HashMap;

/// Values with every read of a copy replaced by a read of the copied tensor.
#[derive(Debug)]
pub(in crate::verify) struct Traced {
    /// The values of leaves and stages, and indices of written elements, that read copies, each with its traced value.
    values: HashMap<ExprId, ExprId>,
}

impl Traced {
    /// Traces the values of all leaves and stages, and the elements that leaves write.
    pub(in crate::verify) fn new(program: &Program, sites: &[Vec<Site<'_>>]) -> Traced {
        let copies = Copies { program, of: copies(program) };
        let mut all: Vec<ExprId> = Vec::new();
        for site in sites.iter().flatten() {
            if let NodeKind::Compute(compute) = &site.node.kind {
                all.extend(compute.values());
                all.extend(compute.dst.iter().flat_map(|to| &to.index));
            }
        }
        for stage in program.stages.values() {
            match &stage.body {
                Body::Map(value) => all.push(*value),
                Body::Reduce { lift, finish, .. } => all.extend(lift.iter().chain([finish])),
            }
            all.extend(stage.also.iter().map(|(_, value)| *value));
        }
        let one = |cases: Vec<Case>| cases.into_iter().next().map(|case| case.item);
        let traced = |value: ExprId| trace(&program.exprs, value, (), &copies, u32::MAX).and_then(one).unwrap_or(value);
        Traced { values: all.into_iter().map(|value| (value, traced(value))).collect() }
    }

    /// Returns the traced value of a value, or the value itself if it reads no copy.
    pub(in crate::verify) fn value(&self, value: ExprId) -> ExprId {
        self.values.get(&value).copied().unwrap_or(value)
    }
}

/// Returns the stages whose elements are elements of another tensor, by the buffer that each fills: copies, and stages that are computed
/// where they are read. Buffers that several stages fill are left out. A stage that only fills memory for a scattered reduction does not
/// count, because the reduction updates it afterwards ([`scattered`](crate::verify::reductions::scattered)).
fn copies(program: &Program) -> HashMap<BufferId, CopyContents> {
    let mut filled: HashMap<BufferId, Vec<CopyContents>> = HashMap::new();
    let scattered: Vec<BufferId> = program.notes.scattered.keys().map(|stage| program.stages[*stage].buffer).collect();
    let only_fills = |id: StageId| match program.stages[id].body {
        Body::Map(value) => scattered.contains(&program.stages[id].buffer) && matches!(program.exprs.get(value), Expr::Const(_)),
        Body::Reduce { .. } => false,
    };
    for id in program.stages.ids().filter(|id| !only_fills(*id)) {
        for (component, buffer) in program.stages[id].buffers().into_iter().enumerate() {
            filled.entry(buffer).or_default().push(CopyContents { stage: id, component });
        }
    }
    // `steps` checks that the version read belongs to the current step.
    let is_local = |buffer: BufferId| !program.buffers[buffer].space.is_global();
    let only = |(buffer, stages): (BufferId, Vec<CopyContents>)| match stages[..] {
        [copied] if element(program, copied).is_some() && is_local(buffer) => Some((buffer, copied)),
        _ => None,
    };
    filled.into_iter().filter_map(only).collect()
}

/// The contents of a buffer: a component of a stage's state.
#[derive(Clone, Copy)]
struct CopyContents {
    stage: StageId,
    component: usize,
}

/// Returns the element that each element of the stage holds: a read of the copied tensor, or of the buffer that the placed stage fills.
fn element(program: &Program, CopyContents { stage: id, component }: CopyContents) -> Option<ExprId> {
    if let Some(element) = program.notes.placed.get(&id) {
        let Expr::Read(read) = program.exprs.get(*element) else { return None };
        let buffer = *program.stages[program.definition(read.buffer)?].buffers().get(component)?;
        return Some(program.exprs.add(Expr::Read(Read { buffer, ..read.clone() }), program.buffers[buffer].dtype));
    }
    let stage = &program.stages[id];
    let Body::Map(value) = stage.body else { return None };
    // The registers of a pipeline hold the element for the loop's step, because it is stored from there.
    let fetched = |p: &Pipelined| p.made.filter(|made| made.registers == Some(id)).map(|made| (made.step, p.axis));
    if let Some((step, axis)) = program.notes.pipelines.iter().find_map(fetched) {
        return (component == 0).then(|| program.renamed(value, step, axis));
    }
    let mut element = value;
    while let Expr::Select(_, _, other) = program.exprs.get(element) {
        element = *other;
    }
    (component == 0 && stage.is_copy(program) && matches!(program.exprs.get(element), Expr::Read(_))).then_some(value)
}

/// The copies of a program, by their buffers. A copy may be made from another copy.
struct Copies<'p> {
    program: &'p Program,
    of: HashMap<BufferId, CopyContents>,
}

impl Contents for Copies<'_> {
    type At = ();

    fn is_known(&self, buffer: BufferId) -> bool {
        self.of.contains_key(&buffer)
    }

    fn held(&self, read: &Read, (): ()) -> Option<Vec<(Case, ())>> {
        let copied = *self.of.get(&read.buffer)?;
        let held = element(self.program, copied)?;
        let stage = &self.program.stages[copied.stage];
        // The leading indices select the owner of the element. `owners` checks them.
        let owned = read.index.len().checked_sub(stage.axes.len())?;
        let at: HashMap<_, _> = stage.axes.iter().copied().zip(read.index[owned..].iter().copied()).collect();
        let element = self.program.exprs.with_axes(held, &mut |axis| at.get(&axis).copied());
        Some(vec![(Case::always(element), ())])
    }
}

impl Checks<'_> {
    /// True if a traced element is the wanted one at all points where no axis exceeds its extent.
    pub(super) fn same_element(&self, got: ExprId, wanted: &Read) -> bool {
        let exprs = &self.program.exprs;
        match exprs.get(got) {
            // The fill replaces only elements past the end of an axis.
            Expr::Select(cond, _, element) => self.never(*cond, wanted) && self.same_element(*element, wanted),
            Expr::Read(read) => self.same_read(read, wanted).is_some_and(|left| left.is_empty()),
            _ => false,
        }
    }

    /// Compares a read with the wanted one. Returns `None` if they differ, and otherwise the pairs of indices that are not proved equal
    /// yet.
    pub(super) fn same_read(&self, got: &Read, wanted: &Read) -> Option<Vec<(ExprId, ExprId)>> {
        let alike = got.buffer == wanted.buffer && got.index.len() == wanted.index.len();
        let pairs = got.index.iter().copied().zip(wanted.index.iter().copied());
        let same_outside = || is_same_outside(&got.outside, &wanted.outside) || self.is_idle(wanted);
        let same = |(d, (a, b)): (usize, (ExprId, ExprId))| {
            let is_same = self.same_index(a, b) || self.same_clamped(got, d, b) || self.same_clamped(wanted, d, a);
            (!is_same).then_some((a, b))
        };
        let left = (alike && same_outside()).then(|| pairs.enumerate().filter_map(same).collect());
        // A copy that pads its elements holds the nearest element at the clamped index.
        let Outside::Clamp(sides) = &wanted.outside else { return left };
        let nearest = |(e, (extent, sides)): (&ExprId, (&ExprId, &(bool, bool)))| {
            bring_inside(&self.program.exprs, *e, *extent, *sides, &mut None)
        };
        let shape = &self.program.buffers[wanted.buffer].shape;
        let index = wanted.index.iter().zip(shape.iter().zip(sides)).map(nearest).collect();
        left.or_else(|| self.same_read(got, &Read { buffer: wanted.buffer, index, outside: Outside::Never }))
    }

    /// True if a clamped read accesses the element at an index of one of its dimensions, which is in bounds or clamped to the same range.
    fn same_clamped(&self, read: &Read, dimension: usize, index: ExprId) -> bool {
        let Outside::Clamp(sides) = &read.outside else { return false };
        let extent = self.program.buffers[read.buffer].shape[dimension];
        let clamped = |e: ExprId| bring_inside(&self.program.exprs, e, extent, sides[dimension], &mut None);
        let own = clamped(read.index[dimension]);
        sides[dimension] != (false, false) && (self.same_index(own, index) || self.same_index(own, clamped(index)))
    }

    /// True if the clamp of a read never applies, because the read is always in bounds. Inlining adds a clamp if a later proof might fail.
    fn is_idle(&self, read: &Read) -> bool {
        let is_inside = |(index, extent): (ExprId, ExprId)| self.provers.roots.inside(index, extent);
        matches!(read.outside, Outside::Clamp(_)) && self.program.dimensions(read).all(is_inside)
    }

    /// True if two indices are equal wherever the second one is defined, that is, where none of its divisors is 0.
    pub(super) fn same_index(&self, a: ExprId, b: ExprId) -> bool {
        let cheap = || self.provers.leaves.equal(a, b) || self.provers.roots.equal(a, b);
        // Two floored divisions can have bounds that leave one literal each, although the prover does not see that they are equal.
        let number = |e: ExprId| self.provers.roots.lower(e).filter(|n| self.provers.roots.upper(e) == Some(*n));
        let one = || number(a).is_some_and(|n| number(b) == Some(n));
        let words = || self.provers.leaves.same_word(a, b);
        a == b || cheap() || one() || words() || self.same_digit(a, b) || self.provers.inside(&[a, b]).where_defined(b).equal(a, b)
    }

    /// True if both indices are the same component of two minima whose operands have equal components. This holds because the floor of a
    /// minimum is the minimum of the floors.
    fn same_digit(&self, a: ExprId, b: ExprId) -> bool {
        let exprs = &self.program.exprs;
        let digits = |e: ExprId| match *exprs.get(e) {
            Expr::Binary(Binary::FloorDiv, place, by) if exprs.as_int(by).is_some_and(|by| by > 0) => match *exprs.get(place) {
                Expr::Binary(Binary::Min, x, y) => Some([x, y].map(|side| exprs.binary(Binary::FloorDiv, side, by))),
                _ => None,
            },
            _ => None,
        };
        digits(a).zip(digits(b)).is_some_and(|(a, b)| a.into_iter().zip(b).all(|(a, b)| self.same_index(a, b)))
    }

    /// True if a condition is false wherever the axes of the wanted read are within their extents.
    fn never(&self, cond: ExprId, wanted: &Read) -> bool {
        let inside = self.provers.inside(&[&[cond], &wanted.index[..]].concat());
        match *self.program.exprs.get(cond) {
            Expr::Compare(Compare::Ge, a, b) => self.provers.roots.less(a, b) || inside.less(a, b),
            _ => false,
        }
    }
}

/// True if two reads agree outside their tensor. They also agree if no side is clamped or filled by both. For example, if one read leaves a
/// side unchecked, that side is in bounds: [`bounds`](crate::verify::memory::bounds) checks this for reads of the nest, and the algorithm's own check for
/// wanted reads. A clamp or fill of the other read never applies on that side.
fn is_same_outside(got: &Outside, wanted: &Outside) -> bool {
    let sides = |outside: &Outside| match outside {
        Outside::Never => Sides::new(),
        Outside::Clamp(sides) | Outside::Fill(_, sides) => sides.clone(),
    };
    let both = |(a, b): (&(bool, bool), &(bool, bool))| (a.0 && b.0) || (a.1 && b.1);
    let same = match (got, wanted) {
        (Outside::Clamp(_), Outside::Clamp(_)) => true,
        (Outside::Fill(got, _), Outside::Fill(wanted, _)) => got == wanted,
        _ => false,
    };
    same || !sides(got).iter().zip(&sides(wanted)).any(both)
}
