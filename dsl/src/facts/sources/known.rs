//! The facts that hold for a question, indexed by the atoms in them.

use crate::arena::Id as _;
use crate::expr::rules::{MIN0_BOUNDS_OPERAND, MIN0_BOUNDS_ZERO, POSITIVE_BY_TILES};
use crate::expr::{Binary, Expr, ExprId};
use crate::facts::context::Context;
use crate::facts::polynomials::atoms::{Atom, Atoms};
use crate::facts::polynomials::mono::AtomId;
use crate::facts::polynomials::poly::{Poly, Polys};
use crate::facts::refutation::samples::Sample;
use crate::nest::AxisId;
use smallvec::SmallVec;
use std::rc::Rc;

/// Facts, in the order in which they were learned.
#[derive(Clone, Debug, Default)]
pub(in crate::facts) struct FactIndex {
    facts: Vec<Rc<Poly>>,
    /// The positions of the facts in which an atom occurs.
    by_atom: Vec<SmallVec<[u32; 6]>>,
    /// Atoms whose own facts were learned: in this order, and as a flag for each atom.
    atoms: Vec<AtomId>,
    covered: Vec<bool>,
}

/// A state to which the facts can be reset.
#[derive(Clone, Copy, Debug)]
pub(in crate::facts) struct Mark {
    facts: usize,
    atoms: usize,
}

impl FactIndex {
    /// Adds a fact, and the facts that follow from the definitions of its atoms.
    pub(in crate::facts) fn learn(&mut self, atoms: &Atoms, fact: Poly) {
        let fact = fact.tightened();
        if fact.as_constant().is_some_and(|c| c >= 0) || self.contains(&fact) {
            return;
        }
        let index = self.facts.len() as u32;
        for atom in fact.atoms() {
            at(&mut self.by_atom, atom).push(index);
        }
        let fact = Rc::new(fact);
        self.facts.push(fact.clone());
        self.learn_atoms(atoms, &fact);
        self.learn_operands(atoms, &fact);
    }

    /// Adds the facts that a lower bound of a minimum implies for its operands. For example, `N.min(M) >= 1` implies `N >= 1` and `M >= 1`.
    fn learn_operands(&mut self, atoms: &Atoms, fact: &Poly) {
        let minimum = fact.atoms().into_iter().find_map(|id| match &atoms.get(id).atom {
            Atom::Min0(of) => Some((id, of)),
            _ => None,
        });
        let Some((id, of)) = minimum else { return };
        let (factor, rest) = fact.split(id);
        if factor.as_constant().is_some_and(|factor| factor > 0) {
            for rule in [&MIN0_BOUNDS_ZERO, &MIN0_BOUNDS_OPERAND] {
                rule.claimed(&mut Polys, &[&factor, of, &rest]).into_iter().for_each(|bound| self.learn(atoms, bound));
            }
        }
    }

    /// Adds the facts that follow from the definitions of a polynomial's atoms.
    pub(in crate::facts) fn learn_atoms(&mut self, atoms: &Atoms, p: &Poly) {
        for (mono, _) in &p.terms {
            for atom in mono.atoms() {
                self.learn_atom(atoms, atom);
            }
        }
    }

    fn learn_atom(&mut self, atoms: &Atoms, atom: AtomId) {
        if std::mem::replace(at(&mut self.covered, atom), true) {
            return;
        }
        self.atoms.push(atom);
        for inner in &atoms.get(atom).within {
            self.learn_atom(atoms, *inner);
        }
        for fact in atoms.facts(atom) {
            self.learn(atoms, fact);
        }
    }

    fn contains(&self, fact: &Poly) -> bool {
        match fact.terms.last().and_then(|(mono, _)| mono.atoms().next()) {
            Some(atom) => self.about(atom).iter().any(|i| *self.facts[*i as usize] == *fact),
            None => self.facts.iter().any(|f| **f == *fact),
        }
    }

    /// Returns the positions of the facts in which an atom occurs.
    pub(in crate::facts) fn about(&self, atom: AtomId) -> &[u32] {
        self.by_atom.get(atom.index()).map_or(&[], SmallVec::as_slice)
    }

    pub(in crate::facts) fn get(&self, place: u32) -> Rc<Poly> {
        self.facts[place as usize].clone()
    }

    pub(in crate::facts) fn mark(&self) -> Mark {
        Mark { facts: self.facts.len(), atoms: self.atoms.len() }
    }

    /// Returns the facts that were learned after the mark.
    pub(in crate::facts) fn since(&self, mark: Mark) -> &[Rc<Poly>] {
        &self.facts[mark.facts..]
    }

    /// Forgets the facts that were learned after the mark.
    pub(in crate::facts) fn undo(&mut self, mark: Mark) {
        for fact in self.facts.drain(mark.facts..).rev() {
            for atom in fact.atoms() {
                at(&mut self.by_atom, atom).pop();
            }
        }
        for atom in self.atoms.drain(mark.atoms..) {
            *at(&mut self.covered, atom) = false;
        }
    }
}

/// Returns an atom's entry. The list grows as atoms are made.
fn at<T: Default + Clone>(list: &mut Vec<T>, atom: AtomId) -> &mut T {
    if list.len() <= atom.index() {
        list.resize(atom.index() + 1, T::default());
    }
    &mut list[atom.index()]
}

/// The facts and samples from which a question starts. They are kept, because many questions are about the same axes.
#[derive(Debug, Default)]
pub(in crate::facts) struct Ground {
    pub(in crate::facts) known: FactIndex,
    /// Points at which all facts hold.
    pub(in crate::facts) samples: Vec<Sample>,
}

impl Context<'_> {
    /// Returns the ground for these axes in range. The set must contain the axes of its own extents.
    pub(in crate::facts) fn ground(&mut self, axes: &[AxisId]) -> Ground {
        let mut known = FactIndex::default();
        for fact in &self.facts {
            known.learn(&self.atoms, fact.clone());
        }
        for axis in axes {
            self.learn_axis(&mut known, *axis);
        }
        Ground { known, samples: self.samples(axes) }
    }

    /// Learns `0 <= axis < extent`, and so `extent >= 1`.
    fn learn_axis(&mut self, known: &mut FactIndex, axis: AxisId) {
        let Some(value) = self.axis_atom(axis) else { return };
        let extent = self.program.axes[axis].extent;
        known.learn(&self.atoms, value.clone());
        if let Some(above) = self.poly(extent).and_then(|e| e.sub(&value)?.plus(-1)) {
            known.learn(&self.atoms, above);
        }
        self.learn_positive(known, extent);
    }

    /// Learns that an extent is at least 1. If it is a product of factors that are not negative, each of them is at least 1, too, by
    /// [`POSITIVE_EXTENT`](crate::expr::rules::POSITIVE_EXTENT).
    fn learn_positive(&mut self, known: &mut FactIndex, extent: ExprId) {
        if let Some(less) = self.poly(extent).and_then(|e| e.plus(-1)) {
            known.learn(&self.atoms, less);
        }
        let exprs = &self.program.exprs;
        match *exprs.get(extent) {
            Expr::Binary(Binary::Mul, a, b) if self.is_nonneg(a) && self.is_nonneg(b) => {
                self.learn_positive(known, a);
                self.learn_positive(known, b);
            }
            // A quotient `(x + r) / d` counts the tiles of `x`.
            Expr::Binary(Binary::FloorDiv, a, d) => {
                let (x, r) = match *exprs.get(a) {
                    Expr::Binary(Binary::Add, x, r) => (x, self.poly(r)),
                    _ => (a, Some(Poly::default())),
                };
                let operands = r.zip(self.poly(d));
                if operands.is_some_and(|(r, d)| POSITIVE_BY_TILES.applies(&mut Polys, &[&r, &d], |p| self.prove_briefly(p))) {
                    self.learn_positive(known, x);
                }
            }
            _ => {}
        }
    }

    fn is_nonneg(&mut self, e: ExprId) -> bool {
        self.poly(e).is_some_and(|p| self.prove_briefly(&p))
    }
}
