//! The rules of instructions: formulas of 32-bit vectors.

use super::rule::rules;
use super::term::{claim, term};

rules! {
    /// The instructions for quotients, remainders, absolute values and choices.
    INSTRUCTIONS
    /// A quotient by a power of two is a shift.
    FLOOR_BY_POWER [a k] Words given ((1 << k) >= 1): rewrite (a / (1 << k)) => (a >> k);
    /// A remainder by a power of two is a mask.
    MOD_BY_POWER [a k] Words given ((1 << k) >= 1): rewrite (a % (1 << k)) => (a & ((1 << k) - 1));
    /// An unsigned quotient by a power of two is a shift.
    UDIV_BY_POWER [a k] Words: rewrite (a udiv (1 << k)) => (a ushr k);
    /// An unsigned remainder by a power of two is a mask.
    UMOD_BY_POWER [a k] Words: rewrite (a umod (1 << k)) => (a & ((1 << k) - 1));
    /// A quotient of numbers that are not negative is an unsigned one.
    FLOOR_IS_UNSIGNED [a b] Words given (b >= 1) if (a >= 0): rewrite (a / b) => (a udiv b);
    /// A remainder of numbers that are not negative is an unsigned one.
    MOD_IS_UNSIGNED [a b] Words given (b >= 1) if (a >= 0): rewrite (a % b) => (a umod b);
    /// A quotient is the truncated one, or one less if the remainder is negative.
    FLOOR_BY_QUOT [a b q r] Words given (b >= 1), (q == (a quot b)), (r == (a - (q * b))):
        claim ((a / b) == (if (r < 0) (q - 1) else q));
    /// A remainder is the truncated one, or the divisor more if that is negative.
    MOD_BY_QUOT [a b q r] Words given (b >= 1), (q == (a quot b)), (r == (a - (q * b))):
        claim ((a % b) == (if (r < 0) (r + b) else r));
    /// A truncated remainder is computed from the quotient.
    REM_BY_QUOT [a b] Words given (b != 0): claim ((a rem b) == (a - ((a quot b) * b)));
    /// A truncated quotient by 0 is 0.
    QUOT_BY_ZERO [a] Words: rewrite (a quot 0) => 0;
    /// The lowest number divided by -1 is itself, as divided by 1.
    QUOT_OF_LOWEST [a b] Words given (a == (0 - a)), (b == (-1)): claim ((a quot b) == (a quot 1));
    /// The common bits of two numbers are not negative if one number is not.
    AND_NONNEG [a b] Words given (a >= 0): claim ((a & b) >= 0);
    /// The common bits of two numbers are at most a number that is not negative.
    AND_AT_MOST [a b] Words given (a >= 0): claim ((a & b) <= a);
    /// The bits of either number are below each power of two that both numbers are below.
    OR_BELOW_POWER [a b k] Words given ((a >> k) == 0), ((b >> k) == 0): claim (((a | b) >> k) == 0);
    /// The different bits of two numbers are below each power of two that both numbers are below.
    XOR_BELOW_POWER [a b k] Words given ((a >> k) == 0), ((b >> k) == 0): claim (((a ^ b) >> k) == 0);
    /// A swizzled group is in the row: the number of the row is taken modulo the largest power of two that divides the number of groups.
    SWIZZLE_INSIDE [n r g] Words given (n >= 0), (n < g), (r >= 0), (r < (g & (0 - g))):
        claim ((if ((n ^ r) >= 0) (n ^ r) else g) < g);
    /// No two groups of a row have the same place.
    SWIZZLE_UNDONE [n r] Words: claim (((n ^ r) ^ r) == n);
    /// An absolute value is a choice, not a maximum. The negative of the lowest number is itself.
    ABS_BY_CHOICE [a] Words: claim ((a max (0 - a)) == (if (a < 0) (0 - a) else a));
    /// A choice by a mask of 1 bits gives the first number.
    BITS_OF_FIRST [y n] Words: claim ((n ^ ((y ^ n) & (-1))) == y);
    /// A choice by a mask of 0 bits gives the second number.
    BITS_OF_SECOND [y n] Words: claim ((n ^ ((y ^ n) & 0)) == n);
}
