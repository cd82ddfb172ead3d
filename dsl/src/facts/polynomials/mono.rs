//! Products of atoms, packed into one number. A proof is mostly arithmetic on these products, and must be fast even in the
//! users' debug builds, in which the compiler runs unoptimized.

use crate::arena::{Id, id};
use std::fmt;

id! {
    /// An atom of a prover: a variable of its polynomials.
    AtomId
}

/// The bits of an atom.
const WIDTH: u32 = 13;
/// The most atoms in a product, counting repeated ones. It suffices for the extents of a tensor of eight dimensions with an
/// index or quotient.
const MAX_DEGREE: u32 = 9;
/// The bit position of the degree, above the atoms.
const DEGREE: u32 = WIDTH * MAX_DEGREE;
const MASK: u128 = (1 << WIDTH) - 1;
/// The most atoms of a prover.
pub const MAX_ATOMS: usize = MASK as usize;

/// A product of atoms. From the top, the number holds the degree and the atoms in ascending order, with repetitions. So the
/// order of the numbers is graded, multiplication preserves it, and polynomial division terminates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mono(u128);

impl Mono {
    /// The empty product.
    pub const ONE: Mono = Mono(0);

    /// Returns the monomial of one atom. Its id fits, because [`super::atoms::Atoms`] limits the number of atoms.
    pub fn atom(atom: AtomId) -> Mono {
        Mono((1 << DEGREE) | ((atom.index() as u128 & MASK) << (DEGREE - WIDTH)))
    }

    /// Returns the number of atoms, counting repeated ones.
    pub fn degree(self) -> u32 {
        (self.0 >> DEGREE) as u32
    }

    /// Returns the id of atom number `n`, for an `n` below the degree.
    fn slot(self, n: u32) -> u128 {
        (self.0 >> (DEGREE - WIDTH * (n + 1))) & MASK
    }

    /// Returns the atoms, ascending.
    pub fn atoms(self) -> impl Iterator<Item = AtomId> {
        (0..self.degree()).map(move |n| AtomId::new(self.slot(n) as usize))
    }

    /// Returns the atom, if the degree is 1.
    pub fn single(self) -> Option<AtomId> {
        (self.degree() == 1).then(|| AtomId::new(self.slot(0) as usize))
    }

    /// True if the atom is one of them.
    pub fn contains(self, atom: AtomId) -> bool {
        let atom = atom.index() as u128;
        let mut n = 0;
        while n < self.degree() {
            if self.slot(n) == atom {
                return true;
            }
            n += 1;
        }
        false
    }

    /// Returns the product. `None` if its degree is too high.
    pub fn times(self, other: Mono) -> Option<Mono> {
        let (a, b) = (self.degree(), other.degree());
        if a == 0 || b == 0 {
            return Some(if a == 0 { other } else { self });
        }
        if a + b > MAX_DEGREE {
            return None;
        }
        let (mut i, mut j) = (0, 0);
        let mut packed = u128::from(a + b);
        while i < a || j < b {
            let left = j == b || (i < a && self.slot(i) <= other.slot(j));
            packed = (packed << WIDTH) | if left { self.slot(i) } else { other.slot(j) };
            if left { i += 1 } else { j += 1 }
        }
        Some(Mono(packed << (WIDTH * (MAX_DEGREE - a - b))))
    }

    /// Returns `self / other`, if `other` divides it.
    pub fn over(self, other: Mono) -> Option<Mono> {
        let (a, b) = (self.degree(), other.degree());
        if b == 0 {
            return Some(self);
        }
        if b > a {
            return None;
        }
        let (mut i, mut j) = (0, 0);
        let mut packed = u128::from(a - b);
        while i < a {
            if j < b && self.slot(i) == other.slot(j) {
                j += 1;
            } else if i - j == a - b {
                // More atoms remain than the quotient has.
                return None;
            } else {
                packed = (packed << WIDTH) | self.slot(i);
            }
            i += 1;
        }
        Some(Mono(packed << (WIDTH * (MAX_DEGREE - (a - b)))))
    }
}

impl fmt::Debug for Mono {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.atoms()).finish()
    }
}
