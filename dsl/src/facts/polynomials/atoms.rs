//! Atoms: the variables of polynomials, hash-consed, with the facts that follow from each atom's definition.
//!
//! Equal atoms have equal ids. Two spellings of a value therefore compare as equal polynomials, once their floors and minima
//! are normalized ([`super::floor`]).

use super::mono::{AtomId, MAX_ATOMS};
use super::poly::{Poly, Polys};
use crate::arena::Arena;
use crate::expr::ExprId;
use crate::expr::rules::{FLOOR_REST_HIGH, FLOOR_REST_LOW};
use crate::nest::{AxisId, BufferId, DimId, Program};
use crate::table::Map;
use smallvec::SmallVec;
use tilewright_launch::DType;

/// The value that an atom stands for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::facts) enum Atom {
    /// A dim. A derived dim is an atom only if its definition is not fully a polynomial.
    Dim(DimId),
    /// An axis: `0 <= a < extent`.
    Axis(AxisId),
    /// `num` divided by `den >= 1`, rounded towards minus infinity.
    Floor { num: Poly, den: Poly },
    /// `min(p, 0)`. Other minima and maxima are written with it: `min(a, b) = b + min(a - b, 0)` and `max(a, b) = a - min(a - b, 0)`.
    Min0(Poly),
    /// A select.
    Select(Box<Select>),
    /// `num / den`, which leaves no remainder because of a fact.
    Quotient { num: Poly, den: Poly },
    /// A value of data. With an axis, the position in its range at which the argmin or argmax `of` found its value.
    Data { of: ExprId, axis: Option<AxisId> },
    /// An element of a constant table, converted to `to`.
    Element { of: BufferId, to: DType, index: Vec<Poly> },
}

/// `then` if `yes` holds, `other` if `no` holds. Exactly one of the conditions is true, but both formulas may be weaker than
/// the conditions.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::facts) struct Select {
    pub(in crate::facts) yes: Formula,
    pub(in crate::facts) no: Formula,
    pub(in crate::facts) then: Poly,
    pub(in crate::facts) other: Poly,
}

/// The part of a condition that the prover understands, with negations pushed down to the comparisons.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::facts) enum Formula {
    /// `p >= 0`.
    NonNeg(Poly),
    /// `p == 0`.
    Zero(Poly),
    /// `p != 0`.
    NonZero(Poly),
    /// All parts hold.
    All(Vec<Formula>),
    /// At least one part holds.
    Any(Vec<Formula>),
    /// The condition is not understood, so it implies no facts.
    Unknown,
}

impl Formula {
    /// Collects the polynomials in it.
    pub(in crate::facts) fn polys<'a>(&'a self, out: &mut Vec<&'a Poly>) {
        match self {
            Formula::NonNeg(p) | Formula::Zero(p) | Formula::NonZero(p) => out.push(p),
            Formula::All(parts) | Formula::Any(parts) => parts.iter().for_each(|f| f.polys(out)),
            Formula::Unknown => {}
        }
    }

    /// Maps the polynomials. A part whose polynomial maps to `None` becomes unknown.
    pub(in crate::facts) fn map(&self, f: &mut dyn FnMut(&Poly) -> Option<Poly>) -> Formula {
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
    /// The polynomials in the atom's definition.
    pub(in crate::facts) fn parts(&self) -> SmallVec<[&Poly; 4]> {
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

/// An atom, and the atoms that it depends on.
#[derive(Clone, Debug)]
pub(in crate::facts) struct Entry {
    pub(in crate::facts) atom: Atom,
    /// The order of elimination: proofs replace atoms of high rank first. An atom ranks above the atoms in its definition, and an
    /// axis above the atoms in its extent.
    pub(in crate::facts) rank: u32,
    /// The atoms that occur within it, at any depth.
    pub(in crate::facts) within: Vec<AtomId>,
}

/// The atoms of a prover.
#[derive(Clone, Debug, Default)]
pub(in crate::facts) struct Atoms {
    entries: Arena<AtomId, Entry>,
    known: Map<Atom, AtomId>,
    /// Facts about floors that do not follow from one definition alone: relations to floors of the same numerator.
    relations: Map<AtomId, Vec<Poly>>,
}

impl Atoms {
    /// The entry of an atom.
    pub(in crate::facts) fn get(&self, id: AtomId) -> &Entry {
        &self.entries[id]
    }

    /// Returns the atom's id, if the atom exists.
    pub(in crate::facts) fn find(&self, atom: &Atom) -> Option<AtomId> {
        self.known.get(atom).copied()
    }

    /// Returns the id of an atom, which is added if needed. `None` if there are too many atoms. `floor` is its least rank.
    pub(in crate::facts) fn add(&mut self, atom: Atom, floor: u32) -> Option<AtomId> {
        if let Some(id) = self.known.get(&atom) {
            return Some(*id);
        }
        if self.entries.len() >= MAX_ATOMS {
            return None;
        }
        let mut within: Vec<AtomId> = Vec::new();
        // A quotient stands for a dim from now on, and the dim in its definition is replaced by it. So it contains no other atoms.
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

    /// Returns the highest rank in a polynomial.
    pub(in crate::facts) fn rank(&self, p: &Poly) -> u32 {
        p.atoms().iter().map(|a| self.entries[*a].rank).max().unwrap_or(0)
    }

    /// True if `atom` occurs in the polynomial, at any depth.
    pub(in crate::facts) fn occurs(&self, atom: AtomId, p: &Poly) -> bool {
        p.atoms().iter().any(|a| *a == atom || self.occurs_within(atom, *a))
    }

    /// True if `atom` occurs within `whole`.
    pub(in crate::facts) fn occurs_within(&self, atom: AtomId, whole: AtomId) -> bool {
        self.entries[whole].within.binary_search(&atom).is_ok()
    }

    /// Returns the atoms of a polynomial, at any depth.
    pub(in crate::facts) fn deep(&self, p: &Poly) -> Vec<AtomId> {
        let mut all: Vec<AtomId> = Vec::new();
        for atom in p.atoms() {
            all.push(atom);
            all.extend_from_slice(&self.entries[atom].within);
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Records that these polynomials, in which `atom` occurs, are at least 0.
    pub(in crate::facts) fn relate(&mut self, atom: AtomId, facts: impl IntoIterator<Item = Poly>) {
        let known = self.relations.entry(atom).or_default();
        for fact in facts {
            if !known.contains(&fact) {
                known.push(fact);
            }
        }
    }

    /// Returns polynomials that are at least 0 by the definition of the atom. The bounds of an axis are not included, because they
    /// hold only in its scope.
    pub(in crate::facts) fn facts(&self, id: AtomId) -> Vec<Poly> {
        let this = Poly::atom(id);
        let own = match &self.entries[id].atom {
            Atom::Floor { num, den } => {
                [&FLOOR_REST_LOW, &FLOOR_REST_HIGH].map(|rule| rule.claimed(&mut Polys, &[num, den, &this]))
            }
            // Proofs split minima and selects into their cases instead.
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

/// Returns the least rank of a dim's atom: a derived dim ranks above the dims in its definition.
pub(in crate::facts) fn dim_rank(program: &Program, dim: DimId) -> u32 {
    u32::from(program.dims[dim].derived.is_some())
}
