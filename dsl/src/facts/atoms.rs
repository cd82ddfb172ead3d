//! Atoms: what polynomials count as variables, hash-consed, and what is known of each by what it is.
//!
//! Equal atoms have equal ids, so two spellings of a value compare as polynomials once their floors and minima are brought
//! to one form ([`super::floor`]).

use super::mono::{AtomId, MAX_ATOMS};
use super::poly::Poly;
use crate::arena::Arena;
use crate::expr::ExprId;
use crate::nest::{AxisId, BufferId, DimId, Program};
use crate::table::Map;
use smallvec::SmallVec;
use tilewright_launch::DType;

/// What an atom stands for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Atom {
    /// A dim. A derived one, unless a polynomial says all of it.
    Dim(DimId),
    /// An axis: `0 <= a < extent`.
    Axis(AxisId),
    /// `num` divided by `den >= 1`, rounded to minus infinity.
    Floor { num: Poly, den: Poly },
    /// `min(p, 0)`: with it, `min(a, b) = b + min(a - b, 0)` and `max(a, b) = a - min(a - b, 0)`.
    Min0(Poly),
    /// A choice.
    Select(Box<Select>),
    /// `num / den`, which leaves no remainder, by a fact.
    Quotient { num: Poly, den: Poly },
    /// A value of data; with an axis, where in its range an argmin or argmax found what is read.
    Data { of: ExprId, axis: Option<AxisId> },
    /// An element of a constant table, converted to `to`.
    Element { of: BufferId, to: DType, index: Vec<Poly> },
}

/// `then` where `yes` holds, `other` where `no` does: exactly one of them does, but both may know less than that.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Select {
    pub(super) yes: Formula,
    pub(super) no: Formula,
    pub(super) then: Poly,
    pub(super) other: Poly,
}

/// What a condition says, as far as the prover reads it: negations pushed down to the comparisons.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Formula {
    /// `p >= 0`.
    NonNeg(Poly),
    /// `p == 0`.
    Zero(Poly),
    /// `p != 0`.
    NonZero(Poly),
    /// All hold.
    All(Vec<Formula>),
    /// One holds.
    Any(Vec<Formula>),
    /// Nothing is known.
    Unknown,
}

impl Formula {
    /// The polynomials in it.
    pub(super) fn polys<'a>(&'a self, out: &mut Vec<&'a Poly>) {
        match self {
            Formula::NonNeg(p) | Formula::Zero(p) | Formula::NonZero(p) => out.push(p),
            Formula::All(parts) | Formula::Any(parts) => parts.iter().for_each(|f| f.polys(out)),
            Formula::Unknown => {}
        }
    }

    /// The same of other polynomials; a part whose polynomial is lost is unknown.
    pub(super) fn map(&self, f: &mut dyn FnMut(&Poly) -> Option<Poly>) -> Formula {
        match self {
            Formula::NonNeg(p) => f(p).map_or(Formula::Unknown, Formula::NonNeg),
            Formula::Zero(p) => f(p).map_or(Formula::Unknown, Formula::Zero),
            Formula::NonZero(p) => f(p).map_or(Formula::Unknown, Formula::NonZero),
            Formula::All(parts) => Formula::All(parts.iter().map(|part| part.map(f)).collect()),
            Formula::Any(parts) => Formula::Any(parts.iter().map(|part| part.map(f)).collect()),
            Formula::Unknown => Formula::Unknown,
        }
    }
}

impl Atom {
    /// The polynomials that it is made of.
    pub(super) fn parts(&self) -> SmallVec<[&Poly; 4]> {
        match self {
            Atom::Dim(_) | Atom::Axis(_) | Atom::Data { .. } => SmallVec::new(),
            Atom::Floor { num, den } | Atom::Quotient { num, den } => SmallVec::from_slice(&[num, den]),
            Atom::Min0(p) => SmallVec::from_slice(&[p]),
            Atom::Element { index, .. } => index.iter().collect(),
            Atom::Select(select) => {
                let mut parts = vec![&select.then, &select.other];
                select.yes.polys(&mut parts);
                select.no.polys(&mut parts);
                parts.into_iter().collect()
            }
        }
    }
}

/// An atom, and what it depends on.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) atom: Atom,
    /// Eliminations go from high ranks to low ones: an atom ranks above what it is made of, an axis above what its extent
    /// is made of.
    pub(super) rank: u32,
    /// The atoms that occur within it, at any depth.
    pub(super) within: Vec<AtomId>,
}

/// The atoms of a prover.
#[derive(Clone, Debug, Default)]
pub(super) struct Atoms {
    entries: Arena<AtomId, Entry>,
    known: Map<Atom, AtomId>,
    /// What is known of floors besides their definition: how they relate to floors of the same numerator.
    relations: Map<AtomId, Vec<Poly>>,
}

impl Atoms {
    /// The entry of an atom.
    pub(super) fn get(&self, id: AtomId) -> &Entry {
        &self.entries[id]
    }

    /// The atom's id, if it was ever made.
    pub(super) fn find(&self, atom: &Atom) -> Option<AtomId> {
        self.known.get(atom).copied()
    }

    /// Adds an atom, or finds it; `None`: there are too many. `floor` is the least rank it may have.
    pub(super) fn add(&mut self, atom: Atom, floor: u32) -> Option<AtomId> {
        if let Some(id) = self.known.get(&atom) {
            return Some(*id);
        }
        if self.entries.len() >= MAX_ATOMS {
            return None;
        }
        let mut within: Vec<AtomId> = Vec::new();
        // A quotient stands for a dim from then on: what it is made of is gone.
        let parts = if matches!(atom, Atom::Quotient { .. }) { SmallVec::new() } else { atom.parts() };
        for part in parts {
            for inner in part.atoms() {
                within.push(inner);
                within.extend_from_slice(&self.entries[inner].within);
            }
        }
        within.sort_unstable();
        within.dedup();
        let above = within.iter().map(|id| self.entries[*id].rank + 1).max().unwrap_or(0);
        let rank = above.max(floor);
        let id = self.entries.push(Entry { atom: atom.clone(), rank, within });
        self.known.insert(atom, id);
        Some(id)
    }

    /// The highest rank in a polynomial.
    pub(super) fn rank(&self, p: &Poly) -> u32 {
        p.atoms().iter().map(|a| self.entries[*a].rank).max().unwrap_or(0)
    }

    /// Whether `atom` occurs in the polynomial, at any depth.
    pub(super) fn occurs(&self, atom: AtomId, p: &Poly) -> bool {
        p.atoms().iter().any(|a| *a == atom || self.occurs_within(atom, *a))
    }

    /// Whether `atom` occurs within `whole`.
    pub(super) fn occurs_within(&self, atom: AtomId, whole: AtomId) -> bool {
        self.entries[whole].within.binary_search(&atom).is_ok()
    }

    /// The atoms of a polynomial, at any depth.
    pub(super) fn deep(&self, p: &Poly) -> Vec<AtomId> {
        let mut all: Vec<AtomId> = Vec::new();
        for atom in p.atoms() {
            all.push(atom);
            all.extend_from_slice(&self.entries[atom].within);
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Notes that the polynomials, in which `atom` occurs, are at least 0.
    pub(super) fn relate(&mut self, atom: AtomId, facts: impl IntoIterator<Item = Poly>) {
        let known = self.relations.entry(atom).or_default();
        for fact in facts {
            if !known.contains(&fact) {
                known.push(fact);
            }
        }
    }

    /// What is at least 0 because of what the atom is; not an axis's bounds, which hold only where it is in scope.
    pub(super) fn facts(&self, id: AtomId) -> Vec<Poly> {
        let this = Poly::atom(id);
        let own = match &self.entries[id].atom {
            Atom::Floor { num, den } => {
                let scaled = den.mul(&this);
                let below = scaled.as_ref().and_then(|q| num.sub(q));
                let above = below.as_ref().and_then(|rest| den.plus(-1)?.sub(rest));
                [below, above]
            }
            // Minima and choices are taken apart into their cases.
            Atom::Dim(_)
            | Atom::Axis(_)
            | Atom::Min0(_)
            | Atom::Select(_)
            | Atom::Quotient { .. }
            | Atom::Data { .. }
            | Atom::Element { .. } => [None, None],
        };
        let related = self.relations.get(&id).into_iter().flatten().cloned();
        own.into_iter().flatten().chain(related).collect()
    }
}

/// The least rank of an atom that is a dim: above the dims that its definition names.
pub(super) fn dim_rank(program: &Program, dim: DimId) -> u32 {
    u32::from(program.dims[dim].derived.is_some())
}
