//! Products of atoms, packed into one number. A proof is mostly arithmetic on these products, and must be fast even in the
//! users' debug builds, in which the compiler runs unoptimized.

use crate::arena::{Id, id};
use std::fmt;

id! {
    #[allow(unreachable_pub, reason = "ids are public by their macro")]
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
pub(super) const MAX_ATOMS: usize = MASK as usize;

/// A product of atoms. From the top, the number holds the degree and the atoms in ascending order, with repetitions. So the
/// order of the numbers is graded, multiplication preserves it, and polynomial division terminates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::facts) struct Mono(u128);

impl Mono {
    /// The empty product.
    pub(super) const ONE: Mono = Mono(0);

    /// Returns the monomial of one atom. Its id fits, because [`super::atoms::Atoms`] limits the number of atoms.
    pub(in crate::facts) fn atom(atom: AtomId) -> Mono {
        Mono((1 << DEGREE) | ((atom.index() as u128 & MASK) << (DEGREE - WIDTH)))
    }

    pub(in crate::facts) fn degree(self) -> u32 {
        (self.0 >> DEGREE) as u32
    }

    /// Returns the id of atom number `n`, for an `n` below the degree.
    fn slot(self, n: u32) -> u128 {
        (self.0 >> (DEGREE - WIDTH * (n + 1))) & MASK
    }

    /// The atoms, ascending.
    pub(in crate::facts) fn atoms(self) -> impl Iterator<Item = AtomId> {
        (0..self.degree()).map(move |n| AtomId::new(self.slot(n) as usize))
    }

    /// Returns the atom, if the degree is 1.
    pub(in crate::facts) fn single(self) -> Option<AtomId> {
        (self.degree() == 1).then(|| AtomId::new(self.slot(0) as usize))
    }

    pub(in crate::facts) fn contains(self, atom: AtomId) -> bool {
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
    pub(in crate::facts) fn times(self, other: Mono) -> Option<Mono> {
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
    pub(in crate::facts) fn over(self, other: Mono) -> Option<Mono> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn mono(atoms: &[usize]) -> Mono {
        let product = |m: Mono, a: &usize| m.times(Mono::atom(AtomId::new(*a)));
        atoms.iter().try_fold(Mono::ONE, product).expect("few atoms")
    }

    #[test]
    fn products_are_sorted_and_divide() {
        assert_eq!(mono(&[3, 0, 7, 0]), mono(&[0, 0, 3, 7]));
        assert_eq!(mono(&[3, 0, 7, 0]).over(mono(&[7, 0])), Some(mono(&[0, 3])));
        assert_eq!(mono(&[3, 0, 7, 0]).over(mono(&[7, 7])), None);
        assert_eq!(mono(&[3, 0]).over(mono(&[0, 3])), Some(Mono::ONE));
        assert_eq!(mono(&[1]).over(mono(&[1, 1])), None);
        assert_eq!(mono(&[5, 2]).atoms().map(Id::index).collect::<Vec<_>>(), [2, 5]);
        assert_eq!(mono(&[1; 9]).times(mono(&[1])), None);
        assert!(mono(&[0, MAX_ATOMS - 1]).contains(AtomId::new(MAX_ATOMS - 1)));
    }

    #[test]
    fn multiplication_keeps_the_order() {
        let all = [mono(&[]), mono(&[1]), mono(&[2]), mono(&[0, 4]), mono(&[1, 1]), mono(&[2, 3]), mono(&[0, 0, 9])];
        for a in all {
            for b in all {
                for c in all {
                    assert_eq!(a < b, a.times(c) < b.times(c), "{a:?} {b:?} {c:?}");
                }
            }
        }
    }
}
