//! Pieces: an axis whose full tiles one stage has and whose rest another, a copy of it ([`Peel`]); and branches, whose
//! arms have a range of an axis each.
//!
//! Of two pieces nothing is believed but that there is a record of them: the one has `0..full` and the other the rest, of
//! axes that are made of the algorithm's in the same way, in stages that compute the same. Then both together reach all
//! points, and neither has one of the other's.

use super::Rule;
use super::context::Checks;
use super::reductions::phase;
use super::site::{Role, Site, Touch};
use crate::expr::{Binary, Compare, Expr, ExprId};
use crate::facts::Prover;
use crate::nest::{AxisDef, AxisId, AxisKind, Body, Fate, NodeKind, Peel, Phase, Program, Split, StageId, Tail};
use std::collections::{BTreeMap, BTreeSet};

/// The axes of those peels that are what they say, and their copies in stages that were taken from those later; each with
/// the place of its peel. `scratch` takes new expressions.
pub(super) fn truthful(scratch: &mut Program) -> BTreeMap<AxisId, usize> {
    let mut known = BTreeMap::new();
    for (at, peel) in scratch.peels.clone().into_iter().enumerate() {
        if !is_partition(scratch, &peel) || !is_same(scratch, &peel) {
            continue;
        }
        let mut twins = Twins::of(scratch, &peel);
        let stage = |axis: AxisId| scratch.roots(axis).first().map(|root| scratch.axes[*root].def.clone());
        let of_main: Vec<AxisId> = known.keys().copied().filter(|a| stage(*a) == Some(AxisDef::Root(peel.main))).collect();
        let of_rest: Vec<AxisId> = scratch.axes.ids().filter(|a| stage(*a) == Some(AxisDef::Root(peel.rest))).collect();
        for axis in of_main {
            let copy = of_rest.iter().find(|copy| twins.alike(scratch, axis, **copy) && twins.split_alike(scratch, axis, **copy));
            known.extend(copy.zip(known.get(&axis)).map(|(copy, at)| (*copy, *at)).into_iter().collect::<Vec<_>>());
        }
        known.extend([(peel.axis, at), (peel.twin, at)]);
    }
    known
}

/// Whether full tiles and rest are one axis.
fn is_partition(program: &mut Program, peel: &Peel) -> bool {
    let (Fate::Split(full), Fate::Split(rest)) = (&program.axes[peel.axis].fate, &program.axes[peel.twin].fate) else {
        return false;
    };
    let (full, parts, Some((Tail::Rest, last))) = (full.clone(), rest.parts.clone(), rest.anchored()) else { return false };
    let rest = program.axes[last].extent;
    // What is before the last part has one value, where that has any.
    let one = program.exprs.int(1);
    let once = program.exprs.binary(Binary::Min, rest, one);
    if parts.iter().filter(|part| **part != last).any(|part| ![one, once].contains(&program.axes[*part].extent)) {
        return false;
    }
    let rest = Twins::of(program, peel).back(program, rest);
    let mut reached = program.exprs.int(1);
    for part in &full.parts {
        let extent = program.axes[*part].extent;
        reached = program.exprs.product(reached, extent);
    }
    let all = program.exprs.sum(reached, rest);
    let extent = unclamped(program, program.axes[peel.axis].extent);
    let [all, extent] = [all, extent].map(|e| unnamed(program, e));
    full.tail == Tail::Peel && Prover::new(program).equal(all, extent)
}

/// Whether both axes are made in one way, and both stages compute one thing.
fn is_same(program: &mut Program, peel: &Peel) -> bool {
    let mut twins = Twins::of(program, peel);
    let [main, rest] = [peel.main, peel.rest].map(|stage| program.stages[stage].clone());
    let values = |body: &Body| match body {
        Body::Map(value) => vec![*value],
        Body::Reduce { monoid, lift, finish, .. } => [&monoid.identity[..], &monoid.combine, lift, &[*finish]].concat(),
    };
    let (of_main, of_rest) = (values(&main.body), values(&rest.body));
    let roots = (program.root_axes(peel.main), program.root_axes(peel.rest));
    main.buffer == rest.buffer
        && main.also == rest.also
        && roots.0.len() == roots.1.len()
        && roots.0.iter().zip(&roots.1).all(|(a, b)| twins.alike(program, *a, *b))
        && twins.alike(program, peel.axis, peel.twin)
        && of_main.len() == of_rest.len()
        && of_main.iter().zip(&of_rest).all(|(a, b)| twins.same(program, *a, *b))
}

/// An expression with `axis` for `min(axis, its last value)`, which lowering makes of extents: within extents, it is the same.
fn unclamped(program: &mut Program, e: ExprId) -> ExprId {
    let mut clamps = BTreeMap::new();
    program.exprs.any(e, &mut |e| {
        if let Expr::Binary(Binary::Min, a, b) = e
            && let Expr::Axis(axis) = program.exprs.get(*a)
            && Prover::new(program).less(*b, program.axes[*axis].extent)
        {
            clamps.insert((*a, *b), *a);
        }
        false
    });
    program.exprs.replace(e, &mut |exprs, id| match exprs.get(id) {
        Expr::Binary(Binary::Min, a, b) => clamps.get(&(*a, *b)).copied(),
        _ => None,
    })
}

/// An expression with the axis that a loop around both stages binds for the name that one of them has for it.
fn unnamed(program: &mut Program, e: ExprId) -> ExprId {
    let mut names = BTreeMap::new();
    program.exprs.uses_axis(e, &mut |axis| {
        names.insert(axis, bound_as(program, axis));
        false
    });
    program.exprs.replace(e, &mut |exprs, id| match exprs.get(id) {
        Expr::Axis(axis) => names.get(axis).copied().filter(|named| named != axis).map(|named| exprs.axis(named)),
        _ => None,
    })
}

/// The axis that a loop around both stages binds for one, which is it or another name for it.
fn bound_as(program: &Program, mut axis: AxisId) -> AxisId {
    while let Fate::Split(split) = &program.axes[axis].fate
        && let ([part], true, Tail::Exact) = (&split.parts[..], split.exact, split.tail)
    {
        axis = *part;
    }
    axis
}

/// Which axis of the one stage is which of the other.
struct Twins {
    /// Of the rest's axes.
    main: BTreeMap<AxisId, AxisId>,
    /// The rest's axes that were looked for in the other one.
    sought: BTreeSet<AxisId>,
}

impl Twins {
    fn of(program: &Program, peel: &Peel) -> Twins {
        let (main, rest) = (program.family(peel.main), program.family(peel.rest));
        Twins { main: rest.into_iter().zip(main).collect(), sought: BTreeSet::new() }
    }

    /// Whether the other's expression and one of the rest are the same.
    fn same(&mut self, program: &mut Program, main: ExprId, rest: ExprId) -> bool {
        let (rest, main) = (self.back(program, rest), unclamped(program, main));
        unnamed(program, rest) == unnamed(program, main)
    }

    /// An expression of the rest, on the other's axes.
    fn back(&mut self, program: &mut Program, e: ExprId) -> ExprId {
        let e = unclamped(program, e);
        let mut named = BTreeSet::new();
        program.exprs.uses_axis(e, &mut |axis| {
            named.insert(axis);
            false
        });
        let pairs: BTreeMap<AxisId, AxisId> =
            named.into_iter().filter_map(|axis| Some((axis, self.of_main(program, axis)?))).collect();
        program.exprs.replace(e, &mut |exprs, id| match exprs.get(id) {
            Expr::Axis(axis) => pairs.get(axis).copied().map(|axis| exprs.axis(axis)),
            _ => None,
        })
    }

    /// The other's axis for one of the rest: where that is a part, the same part of what is split alike.
    fn of_main(&mut self, program: &mut Program, axis: AxisId) -> Option<AxisId> {
        if let Some(main) = self.main.get(&axis) {
            return Some(*main);
        }
        let AxisDef::Part { of, part } = program.axes[axis].def else { return None };
        if !self.sought.insert(axis) {
            return None;
        }
        let whole = self.of_main(program, of)?;
        let Fate::Split(split) = &program.axes[whole].fate else { return None };
        let main = split.parts.get(part).copied()?;
        if !self.split_alike(program, whole, of) {
            return None;
        }
        self.main.insert(axis, main);
        Some(main)
    }

    /// Whether two axes have the same points, and are made of the algorithm's in the same way.
    fn alike(&mut self, program: &mut Program, main: AxisId, rest: AxisId) -> bool {
        let extents = [main, rest].map(|axis| program.axes[axis].extent);
        if main == rest {
            return true;
        }
        let (kinds, defs) = ([main, rest].map(|a| program.axes[a].kind), [main, rest].map(|a| program.axes[a].def.clone()));
        let made = match defs {
            [AxisDef::Root(_), AxisDef::Root(_)] => self.main.get(&rest) == Some(&main),
            [AxisDef::Part { of: a, part: n }, AxisDef::Part { of: b, part: m }] => {
                n == m && self.alike(program, a, b) && self.split_alike(program, a, b)
            }
            [AxisDef::Fused(a), AxisDef::Fused(b)] => {
                a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| self.alike(program, *a, *b))
            }
            _ => false,
        };
        made && kinds[0] == kinds[1] && self.same(program, extents[0], extents[1])
    }

    /// Whether two axes were split in the same way.
    fn split_alike(&mut self, program: &mut Program, main: AxisId, rest: AxisId) -> bool {
        let (Fate::Split(a), Fate::Split(b)) = (program.axes[main].fate.clone(), program.axes[rest].fate.clone()) else {
            return false;
        };
        let mut same = |(a, b): (&AxisId, &AxisId)| {
            let [of_main, of_rest] = [a, b].map(|axis| program.axes[*axis].extent);
            self.same(program, of_main, of_rest)
        };
        a.tail == b.tail && a.exact == b.exact && a.parts.len() == b.parts.len() && a.parts.iter().zip(&b.parts).all(&mut same)
    }
}

/// The peel that took apart the stages of two leaves.
fn between(program: &Program, a: StageId, b: StageId) -> Option<&Peel> {
    let sides = |at: usize| side(program, at, a).zip(side(program, at, b));
    let at = (0..program.peels.len()).find(|at| sides(*at).is_some_and(|(a, b)| a != b))?;
    program.peels.get(at)
}

/// Whether a stage came from the rest of a peel; `None`: from neither side of it.
fn side(program: &Program, at: usize, mut stage: StageId) -> Option<bool> {
    let peel = program.peels.get(at)?;
    let mut before = program.peels.len();
    loop {
        if stage == peel.rest {
            return Some(true);
        }
        if stage == peel.main {
            return (before > at).then_some(false);
        }
        before = program.peels[..before].iter().position(|p| p.rest == stage)?;
        stage = program.peels[before].main;
    }
}

/// Whether two leaves have pieces of what was one stage. That these are what they say is checked where they are whole.
pub(super) fn are_pieces_of_one(program: &Program, a: &Site<'_>, b: &Site<'_>) -> bool {
    phase(a).zip(phase(b)).is_some_and(|(a, b)| between(program, a.0, b.0).is_some())
}

impl Checks<'_> {
    /// Whether an axis is reached by its parts, or by those and the rest, which another stage of the dispatch has.
    pub(super) fn reached_by_all(&self, axis: AxisId) -> bool {
        let computed = |stage| self.sites.iter().any(|site| phase(site).is_some_and(|(s, _)| s == stage));
        let peel = || self.peeled.get(&axis).and_then(|at| self.program.peels.get(*at));
        let whole = || peel().is_some_and(|peel| computed(peel.main) && computed(peel.rest));
        self.covers(axis) || self.covers_end(axis) || whole()
    }

    /// Whether an axis is all of the end of its only part: what a branch leaves of a grid.
    pub(super) fn covers_end(&self, axis: AxisId) -> bool {
        match &self.program.axes[axis].fate {
            Fate::Split(split) if split.tail == Tail::Rest && !split.exact => {
                let reach = |part: AxisId| {
                    let (extent, whole) = (self.extent(axis), self.extent(part));
                    self.provers.roots.less_equal(extent, whole) || self.has_term(whole, extent)
                };
                matches!(split.parts[..], [part] if reach(part))
            }
            _ => false,
        }
    }

    /// Whether the accumulators that an update adds to have all items of a peeled axis: the other piece is added to them too.
    pub(super) fn has_all_pieces(&self, axis: AxisId, site: &Site<'_>) -> bool {
        let Some(at) = self.peeled.get(&axis).filter(|_| !self.covers(axis) && !self.covers_end(axis)) else { return true };
        let of = |site: &Site<'_>| {
            phase(site).filter(|(_, phase)| *phase == Phase::Update).and_then(|(s, _)| side(self.program, *at, s))
        };
        let Some(own) = of(site) else { return true };
        let updated: Vec<_> = site.touches.iter().filter(|touch| touch.role == Role::Update).map(|touch| touch.buffer).collect();
        let together = |touch: &Touch| touch.role == Role::Update && updated.contains(&touch.buffer);
        self.sites.iter().any(|other| of(other) == Some(!own) && other.touches.iter().any(together))
    }

    /// Whether two updates have items of their own of one reduction.
    pub(super) fn other_items(&self, a: &Site<'_>, b: &Site<'_>) -> bool {
        let peel = phase(a).zip(phase(b)).and_then(|(a, b)| between(self.program, a.0, b.0));
        let kind = |peel: &Peel| self.program.axes[peel.axis].kind;
        peel.is_some_and(|peel| kind(peel) == AxisKind::Reduction && self.peeled.contains_key(&peel.axis))
    }

    /// The conditions of the branches around a leaf, and whether it stands where they hold.
    fn arms<'s>(&self, site: &'s Site<'_>) -> impl Iterator<Item = (ExprId, bool)> + 's {
        site.around.iter().filter_map(|around| match around.node.kind {
            NodeKind::Branch { cond, .. } => Some((cond, around.arm == 0)),
            _ => None,
        })
    }

    /// Whether the branches around a leaf keep an axis within its extent.
    pub(super) fn in_its_arm(&self, axis: AxisId, site: &Site<'_>) -> bool {
        let mut arms = self.arms(site).peekable();
        if arms.peek().is_none() || site.binds(axis) {
            return false;
        }
        if self.arms(site).any(|(cond, holds)| self.is_turn(axis, cond, holds, site)) {
            return true;
        }
        self.keeps(arms.collect(), axis)
    }

    /// Whether an arm has the part of a grid that is an axis's own: of a sum, the first values below it, or those above.
    fn is_turn(&self, axis: AxisId, cond: ExprId, holds: bool, site: &Site<'_>) -> bool {
        let Some((tail, first)) = self.turn(axis, cond, site) else { return false };
        let is_first = || first == self.extent(axis) || self.provers.roots.less_equal(first, self.extent(axis));
        if holds { tail == Tail::Peel && is_first() } else { tail == Tail::Rest }
    }

    /// Whether an arm has an axis's own part of a grid, and the other one none of it.
    fn is_all_of_turn(&self, axis: AxisId, cond: ExprId, holds: bool, site: &Site<'_>) -> bool {
        match self.turn(axis, cond, site) {
            Some((Tail::Peel, first)) => holds && first == self.extent(axis),
            turn => !holds && turn.is_some(),
        }
    }

    /// If a condition divides the grid that an axis is a part of: whether that has the first values or (all of) the others, and
    /// where these begin.
    fn turn(&self, axis: AxisId, cond: ExprId, site: &Site<'_>) -> Option<(Tail, ExprId)> {
        let Expr::Compare(Compare::Lt, counted, first) = *self.program.exprs.get(cond) else { return None };
        let (Expr::Axis(grid), Fate::Split(split)) = (self.program.exprs.get(counted), &self.program.axes[axis].fate) else {
            return None;
        };
        if split.parts[..] != [*grid] || !self.is_counted(*grid, site) {
            return None;
        }
        let (extent, whole) = (self.extent(axis), self.extent(*grid));
        let others = || matches!(*self.program.exprs.get(whole), Expr::Binary(Binary::Add, a, b) if a == first && b == extent);
        match split.tail {
            Tail::Peel => Some((Tail::Peel, first)),
            Tail::Rest if others() => Some((Tail::Rest, first)),
            _ => None,
        }
    }

    /// Whether a loop around a leaf binds an axis, or the only part of what it is exactly, to no more than it has values.
    fn is_counted(&self, axis: AxisId, site: &Site<'_>) -> bool {
        match &self.program.axes[axis].fate {
            _ if site.binds(axis) => !self.has_inactive(axis, site),
            Fate::Split(Split { parts, exact: true, tail: Tail::Exact, .. }) if parts.len() == 1 => self.is_counted(parts[0], site),
            _ => false,
        }
    }

    /// Whether the branches around a leaf leave one value of an axis.
    pub(super) fn only_one_in_arm(&self, axis: AxisId, site: &Site<'_>) -> bool {
        let end = |made: &AxisId| {
            let Fate::Split(split) = &self.program.axes[*made].fate else { return false };
            matches!(split.parts[..], [part] if bound_as(self.program, part) == axis)
                && self.single(*made)
                && self.in_its_arm(*made, site)
        };
        self.arms(site).next().is_some() && self.program.axes.ids().any(|made| end(&made))
    }

    /// What a branch keeps from a leaf that writes device memory is past the extent of an axis that the leaf has.
    pub(super) fn takes_its_arm(&self, site: &Site<'_>) {
        let written: Vec<_> = site.touches.iter().filter(|touch| touch.writes && self.space(touch.buffer).is_global()).collect();
        if written.is_empty() {
            return;
        }
        let consumed = self.made_of(self.named(&written.iter().flat_map(|t| t.index.clone()).collect::<Vec<_>>()), site).consumed;
        for (cond, holds) in self.arms(site) {
            let turn = consumed.iter().any(|axis| self.is_all_of_turn(*axis, cond, holds, site));
            if !turn && !self.leaves_out(vec![(cond, !holds)], consumed.iter()) {
                let what = format!("`{}` is left out where not `{}`", self.line(site), self.printer.expr(cond));
                self.refuse(Rule::Predicate, site.span(), what);
            }
        }
    }
}
