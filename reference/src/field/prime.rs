//! Two prime fields: `P` for values, and `Q` for exponents.
//!
//! `P = 2 Q + 1`, so the nonzero residues modulo `P` have a subgroup of order `Q`. A generator of it, to the power of a residue modulo
//! `Q`, is an exponential: `exp(a + b) = exp(a) exp(b)`. Both primes are just below a power of two, so that a product is reduced by
//! two small multiplications.

/// The modulus of values: `2^61 - 2373`.
pub(super) const P: u64 = (1 << 61) - 2373;

/// The modulus of exponents: `2^60 - 1187`.
pub(super) const Q: u64 = (1 << 60) - 1187;

/// Returns a residue of a number of 128 bits modulo `2^BITS - SMALL`.
#[inline]
fn reduced<const BITS: u32, const SMALL: u64>(x: u128) -> u64 {
    let (mask, modulus) = ((1u128 << BITS) - 1, (1u64 << BITS) - SMALL);
    let once = (x & mask) + (x >> BITS) * u128::from(SMALL);
    let twice = (once & mask) + (once >> BITS) * u128::from(SMALL);
    let (rest, over) = (twice as u64).overflowing_sub(modulus);
    if over { twice as u64 } else { rest }
}

/// Arithmetic modulo one of the primes.
pub(super) trait Modulus {
    /// The prime.
    const PRIME: u64;

    /// Returns the residue of a number.
    fn reduce(x: u128) -> u64;

    /// Returns the sum of two residues.
    #[inline]
    fn add(a: u64, b: u64) -> u64 {
        let (rest, over) = (a + b).overflowing_sub(Self::PRIME);
        if over { a + b } else { rest }
    }

    /// Returns the difference of two residues.
    #[inline]
    fn sub(a: u64, b: u64) -> u64 {
        if a >= b { a - b } else { a + Self::PRIME - b }
    }

    /// Returns the product of two residues.
    #[inline]
    fn mul(a: u64, b: u64) -> u64 {
        Self::reduce(u128::from(a) * u128::from(b))
    }

    /// Returns a power of a residue.
    fn power(mut base: u64, mut exponent: u64) -> u64 {
        let mut result = 1;
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = Self::mul(result, base);
            }
            base = Self::mul(base, base);
            exponent >>= 1;
        }
        result
    }

    /// Returns the inverse of a residue, by Fermat's little theorem; `None` for 0.
    fn inverse(a: u64) -> Option<u64> {
        (a != 0).then(|| Self::power(a, Self::PRIME - 2))
    }

    /// Returns the residue of a signed number.
    fn of(number: i128) -> u64 {
        let rest = number.rem_euclid(i128::from(Self::PRIME));
        rest as u64
    }
}

/// Arithmetic modulo [`P`].
pub(super) struct Values;

/// Arithmetic modulo [`Q`].
pub(super) struct Exponents;

impl Modulus for Values {
    const PRIME: u64 = P;

    #[inline]
    fn reduce(x: u128) -> u64 {
        reduced::<61, 2373>(x)
    }
}

impl Modulus for Exponents {
    const PRIME: u64 = Q;

    #[inline]
    fn reduce(x: u128) -> u64 {
        reduced::<60, 1187>(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decides by Miller and Rabin's test whether a number is prime. The first twelve primes as bases suffice below 3 * 10^24.
    fn is_prime(n: u64) -> bool {
        let mul = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(n)) as u64;
        let power = |base: u64, exponent: u64| {
            (0..64).rev().fold(1, |r, bit| if exponent >> bit & 1 == 1 { mul(mul(r, r), base) } else { mul(r, r) })
        };
        let twos = (n - 1).trailing_zeros();
        [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37].into_iter().all(|base| {
            let first = power(base, (n - 1) >> twos);
            let mut squares = std::iter::successors(Some(first), |x| Some(mul(*x, *x))).take(twos as usize);
            first == 1 || squares.any(|x| x == n - 1)
        })
    }

    #[test]
    fn both_moduli_are_prime_and_one_is_twice_the_other_and_one() {
        assert!(is_prime(P) && is_prime(Q) && !is_prime(P - 2));
        assert_eq!(P, 2 * Q + 1);
    }

    fn arithmetic_is_right<M: Modulus>() {
        let wide = u128::from(M::PRIME);
        let mut random = fastrand::Rng::with_seed(7);
        let ends = [0, 1, 2, M::PRIME / 2, M::PRIME - 2, M::PRIME - 1];
        for n in 0..20_000 {
            let mut pick = || if n < 400 { ends[random.usize(..ends.len())] } else { random.u64(..M::PRIME) };
            let (a, b) = (pick(), pick());
            let (x, y) = (u128::from(a), u128::from(b));
            assert_eq!(u128::from(M::mul(a, b)), x * y % wide, "{a} * {b}");
            assert_eq!(u128::from(M::add(a, b)), (x + y) % wide, "{a} + {b}");
            assert_eq!(u128::from(M::sub(a, b)), (x + wide - y) % wide, "{a} - {b}");
        }
        assert_eq!(M::reduce(u128::MAX), (u128::MAX % wide) as u64);
        for a in [1, 2, M::PRIME - 1, 1 << 40] {
            assert_eq!(M::inverse(a).map(|inverse| M::mul(a, inverse)), Some(1));
        }
        assert_eq!((M::inverse(0), M::of(-1), M::of(i128::from(M::PRIME))), (None, M::PRIME - 1, 0));
    }

    #[test]
    fn products_sums_and_differences_are_those_of_wide_integers() {
        arithmetic_is_right::<Values>();
        arithmetic_is_right::<Exponents>();
    }
}
