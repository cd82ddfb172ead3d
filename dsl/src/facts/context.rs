//! The state of a prover: its atoms, its facts, and the expressions that it has translated.

use super::View;
use crate::expr::{Expr, ExprId};
use crate::facts::polynomials::atoms::{Atom, Atoms, dim_rank};
use crate::facts::polynomials::mono::AtomId;
use crate::facts::polynomials::poly::Poly;
use crate::facts::proof::prove::{MAX_WORK, Query, ROUNDS};
use crate::facts::refutation::samples::Sizes;
use crate::facts::sources::data::Data;
use crate::facts::sources::known::Ground;
use crate::nest::{AxisDef, AxisId, DimId, Fate, Program};
use crate::table::Map;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The most proofs nested in each other. For example, a floor needs a proof that its divisor is positive.
const MAX_NESTING: u32 = 4;

/// The most work for a nested proof.
const NESTED_WORK: u32 = 80;

/// The most sets of axes for which facts and samples are kept.
const MAX_GROUNDS: usize = 64;

/// A set of axes.
pub(super) type Axes = Rc<BTreeSet<AxisId>>;

/// The state of a prover, as the module's page describes it.
#[derive(Debug)]
pub(super) struct Context<'p> {
    pub(super) program: &'p Program,
    pub(super) view: View,
    pub(super) atoms: Atoms,
    /// Atoms that a fact equates with a polynomial of other atoms. The polynomials do not contain these atoms, at any depth.
    pub(super) equal: BTreeMap<AtomId, Poly>,
    /// Polynomials that are at least 0 everywhere.
    pub(super) facts: Vec<Poly>,
    /// Polynomials that are 0 but could not be solved for an atom of `equal`.
    pub(super) zeros: Vec<Poly>,
    /// Polynomials that are not 0.
    pub(super) nonzeros: Vec<Poly>,
    /// The axes that are in range in every claim, because the assumptions name them.
    pub(super) scope: BTreeSet<AxisId>,
    /// True if some facts are assumptions.
    pub(super) assumes: bool,
    /// True if the facts were found to contradict each other.
    pub(super) absurd: bool,
    /// The state of reading data, if this prover reads data.
    pub(super) data: Option<Data>,
    pub(super) translated: Map<ExprId, Option<Poly>>,
    pub(super) axes: Map<ExprId, Axes>,
    /// The results of brief proofs.
    pub(super) brief: Map<Poly, bool>,
    /// Brief proofs that failed within the current claim, with their nesting. They fail again at this nesting or a deeper one, because
    /// less work is left.
    pub(super) failed: Map<Poly, u32>,
    /// The facts and samples from which proofs about some axes start.
    pub(super) grounds: Map<Vec<AxisId>, Ground>,
    /// Sizes that satisfy the program's conditions, computed on first use.
    pub(super) sizes: Option<Sizes>,
    /// The work that may still be spent on the claim.
    pub(super) work: u32,
    pub(super) nesting: u32,
    pub(super) depth: u32,
}

impl<'p> Context<'p> {
    pub(super) fn new(program: &'p Program, view: View) -> Context<'p> {
        Context {
            program,
            view,
            atoms: Atoms::default(),
            equal: BTreeMap::new(),
            facts: Vec::new(),
            zeros: Vec::new(),
            nonzeros: Vec::new(),
            scope: BTreeSet::new(),
            assumes: false,
            absurd: false,
            data: None,
            translated: Map::default(),
            axes: Map::default(),
            brief: Map::default(),
            failed: Map::default(),
            grounds: Map::default(),
            sizes: None,
            work: 0,
            nesting: 0,
            depth: 0,
        }
    }

    /// Returns the atom as a polynomial, or the polynomial that it equals.
    pub(super) fn atom(&mut self, atom: Atom, rank: u32) -> Option<Poly> {
        let id = self.atoms.add(atom, rank)?;
        Some(self.equal.get(&id).cloned().unwrap_or_else(|| Poly::atom(id)))
    }

    pub(super) fn dim(&mut self, dim: DimId) -> Option<Poly> {
        let rank = dim_rank(self.program, dim);
        self.atom(Atom::Dim(dim), rank)
    }

    /// Returns an axis as an atom.
    pub(super) fn axis_atom(&mut self, axis: AxisId) -> Option<Poly> {
        if let Some(id) = self.atoms.find(&Atom::Axis(axis)) {
            return Some(self.equal.get(&id).cloned().unwrap_or_else(|| Poly::atom(id)));
        }
        let extent = self.poly(self.program.axes[axis].extent);
        if extent.as_ref().and_then(Poly::as_constant) == Some(1) {
            return Some(Poly::default());
        }
        let rank = extent.map_or(0, |e| self.atoms.rank(&e));
        self.atom(Atom::Axis(axis), rank + 1)
    }

    /// Replaces all atoms that equal another polynomial.
    pub(super) fn resolve(&mut self, p: &Poly) -> Option<Poly> {
        if self.equal.is_empty() {
            return Some(p.clone());
        }
        self.rebuild(p, &mut |cx, id| cx.equal.get(&id).cloned(), &|cx, id| {
            cx.atoms.get(id).within.iter().any(|a| cx.equal.contains_key(a))
        })
    }

    /// Returns the axes in an expression that are atoms in this view, and those in their extents.
    pub(super) fn axes_of(&mut self, e: ExprId) -> Axes {
        if let Some(axes) = self.axes.get(&e) {
            return axes.clone();
        }
        let mut found = BTreeSet::new();
        let mut open = Vec::new();
        let exprs = &self.program.exprs;
        let gather = |e: ExprId, open: &mut Vec<AxisId>| {
            exprs.any(e, &mut |e| {
                if let Expr::Axis(a) = e {
                    open.push(*a);
                }
                false
            });
        };
        gather(e, &mut open);
        let mut seen = BTreeSet::new();
        while let Some(axis) = open.pop() {
            if !seen.insert(axis) {
                continue;
            }
            match &self.program.axes[axis].fate {
                Fate::Split(split) if self.view == View::Leaves => {
                    open.extend(&split.parts);
                    if let Some([_, point]) = split.shifted() {
                        gather(self.program.axes[axis].extent, &mut open);
                        gather(self.program.axes[point].extent, &mut open);
                    }
                }
                Fate::Fused { into, .. } if self.view == View::Leaves => {
                    open.push(*into);
                    if let AxisDef::Fused(digits) = &self.program.axes[*into].def {
                        digits.iter().for_each(|d| gather(self.program.axes[*d].extent, &mut open));
                    }
                }
                _ => {
                    found.insert(axis);
                    gather(self.program.axes[axis].extent, &mut open);
                }
            }
        }
        let found = Rc::new(found);
        self.axes.insert(e, found.clone());
        found
    }

    /// Returns the axes that occur in polynomials, at any depth, and those in their extents.
    pub(super) fn axes_in<'a>(&mut self, polys: impl IntoIterator<Item = &'a Poly>) -> BTreeSet<AxisId> {
        let mut axes = BTreeSet::new();
        for p in polys {
            for id in self.atoms.deep(p) {
                if let Atom::Axis(axis) = self.atoms.get(id).atom {
                    axes.insert(axis);
                }
            }
        }
        for axis in axes.clone() {
            axes.extend(self.axes_of(self.program.axes[axis].extent).iter());
        }
        axes
    }

    /// True if `p >= 0` is proved wherever these axes are in range. The set must contain the axes of its own extents.
    pub(super) fn prove_in(&mut self, axes: &BTreeSet<AxisId>, p: &Poly) -> bool {
        self.prove_rounds(axes, p, ROUNDS.len())
    }

    /// True if `p >= 0` is proved with little effort wherever its axes are in range. It is used for simplifications, which are optional.
    pub(super) fn prove_briefly(&mut self, p: &Poly) -> bool {
        if let Some(known) = self.brief.get(p) {
            return *known;
        }
        if self.nesting > 0 && self.failed.get(p).is_some_and(|nesting| *nesting <= self.nesting) {
            return false;
        }
        let axes = self.axes_in([p]);
        let proved = self.prove_rounds(&axes, p, 1);
        if proved || self.nesting == 0 {
            self.brief.insert(p.clone(), proved);
        } else {
            self.failed.insert(p.clone(), self.nesting);
        }
        proved
    }

    /// True if `p >= 0` is proved in the first `rounds` rounds.
    pub(super) fn prove_rounds(&mut self, axes: &BTreeSet<AxisId>, p: &Poly, rounds: usize) -> bool {
        if let Some(c) = p.as_constant() {
            return c >= 0;
        }
        if self.is_plain(axes, p) {
            return true;
        }
        if self.nesting == 0 {
            self.work = MAX_WORK;
            self.failed.clear();
        }
        if self.nesting >= MAX_NESTING || self.work == 0 {
            return false;
        }
        self.nesting += 1;
        let (axes, ground) = self.take_ground(axes);
        if self.nesting == 1 {
            // The cost of the ground is not charged to the claim, because the same claim, asked again, would find it in the cache.
            self.work = MAX_WORK;
        }
        // A nested proof is for a step that the claim may not need, so it must leave most of the work to the others.
        let kept = if self.nesting == 1 { 0 } else { self.work.saturating_sub(NESTED_WORK) };
        self.work -= kept;
        let (proved, ground) = Query::ask(self, ground, p, rounds);
        self.work += kept;
        self.nesting -= 1;
        self.keep_ground(axes, ground);
        proved
    }

    fn take_ground(&mut self, axes: &BTreeSet<AxisId>) -> (Vec<AxisId>, Ground) {
        let axes: Vec<AxisId> = axes.union(&self.scope).copied().collect();
        let ground = match self.grounds.remove(&axes) {
            Some(ground) => ground,
            None => self.ground(&axes),
        };
        (axes, ground)
    }

    fn keep_ground(&mut self, axes: Vec<AxisId>, ground: Ground) {
        // A ground made in a nested proof may have fewer facts, so it is not kept.
        if self.nesting <= 1 && self.grounds.len() < MAX_GROUNDS {
            self.grounds.insert(axes, ground);
        }
    }

    /// Returns the least value of `p` at the sample points with these axes in range.
    pub(super) fn least_seen(&mut self, axes: &BTreeSet<AxisId>, p: &Poly) -> Option<i128> {
        let (axes, mut ground) = self.take_ground(axes);
        let least = ground.samples.iter_mut().filter_map(|sample| self.value_at(p, sample)).min();
        self.keep_ground(axes, ground);
        least
    }

    /// True if one of these axes is provably empty wherever the axes of its extent are in range. A claim about them then holds,
    /// because a claim about an empty set of points is true.
    pub(super) fn is_about_nothing(&mut self, axes: &BTreeSet<AxisId>) -> bool {
        let (axes, ground) = self.take_ground(axes);
        let is_seen = !ground.samples.is_empty();
        self.keep_ground(axes.clone(), ground);
        let is_empty = |axis: AxisId| {
            let extent = self.poly(self.program.axes[axis].extent);
            extent.and_then(|p| p.neg()).is_some_and(|p| self.prove_briefly(&p))
        };
        !is_seen && axes.into_iter().any(is_empty)
    }

    /// Returns a copy of the state, to which facts can be added.
    pub(super) fn fork(&self) -> Context<'p> {
        Context {
            atoms: self.atoms.clone(),
            equal: self.equal.clone(),
            facts: self.facts.clone(),
            zeros: self.zeros.clone(),
            nonzeros: self.nonzeros.clone(),
            scope: self.scope.clone(),
            assumes: self.assumes,
            absurd: self.absurd,
            data: self.data.clone(),
            axes: self.axes.clone(),
            sizes: self.sizes.clone(),
            ..Context::new(self.program, self.view)
        }
    }

    /// Drops results that were computed with fewer facts.
    pub(super) fn forget(&mut self) {
        self.translated.clear();
        self.brief.clear();
        self.grounds.clear();
    }

    pub(super) fn spend(&mut self, work: u32) {
        self.work = self.work.saturating_sub(work);
    }
}
