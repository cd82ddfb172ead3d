//! The rules for floors and minima of polynomials.

use super::rule::rules;
use super::term::{claim, term};

rules! {
    /// The normal forms of floors, minima and remainders, and the facts that follow from the definition of a floor.
    NORMAL_FORMS
    /// Multiples of the divisor are taken out of a floor.
    FLOOR_OF_MULTIPLE [q d r] Ints given (d >= 1): rewrite (((q * d) + r) / d) => (q + (r / d));
    /// A quotient of a multiple of the divisor.
    EXACT_QUOTIENT [q d] Ints given (d >= 1): rewrite ((q * d) / d) => q;
    /// A common factor is cancelled. The constant term is rounded down.
    FLOOR_OF_COMMON_FACTOR [g d r k x] Ints given (d >= 1), (r >= 0), (r < g):
        rewrite (((g * x) + ((g * k) + r)) / (g * d)) => ((x + k) / d);
    /// A floor of a floor is one floor by the product of the divisors.
    FLOOR_OF_FLOOR [a b k c] Ints given (b >= 1), (c >= 1): rewrite (((a / b) + k) / c) => ((a + (b * k)) / (b * c));
    /// The floor of a component of a mixed-radix number is 0.
    FLOOR_OF_DIGIT [p d] Both if (p >= 0), (p < d): rewrite (p / d) => 0;
    /// A minimum with 0 of a number that is not negative is 0.
    MIN0_OF_NONNEG [p] Ints if (p >= 0): rewrite (p min 0) => 0;
    /// A minimum with 0 of a number that is not positive is the number.
    MIN0_OF_NONPOS [p] Ints if (0 >= p): rewrite (p min 0) => p;
    /// A minimum with 0 is written with the operand whose last factor is positive.
    MIN0_FLIPPED [p] Ints: claim ((p min 0) == (p + ((0 - p) min 0)));
    /// A minimum is written as a minimum with 0.
    MIN_BY_MIN0 [a b] Ints: claim ((a min b) == (b + ((a - b) min 0)));
    /// A maximum is written as a minimum with 0.
    MAX_BY_MIN0 [a b] Ints: claim ((a max b) == (a - ((a - b) min 0)));
    /// The absolute value is a maximum.
    ABS_BY_MAX [a] Both: claim ((if (a >= 0) a else (0 - a)) == (a max (0 - a)));
    /// A remainder is written with a floor.
    MOD_BY_FLOOR [a d] Ints given (d >= 1): claim ((a % d) == (a - (d * (a / d))));
    /// The remainder of a floor is not negative.
    FLOOR_REST_LOW [a d q] Ints given (q == (a / d)): claim ((a - (d * q)) >= 0);
    /// The remainder of a floor is below the divisor.
    FLOOR_REST_HIGH [a d q] Ints given (q == (a / d)): claim ((a - (d * q)) < d);
    /// A floor by a product is a floor of a floor.
    FLOOR_BY_PRODUCT [a d k] Ints given (d >= 1), (k >= 1): claim ((a / (d * k)) == ((a / d) / k));
    /// Truncation is flooring if no operand is negative.
    QUOT_IS_FLOOR [a b] Both if (a >= 0), (b >= 1): rewrite (a quot b) => (a / b);
    /// The remainder of a truncated quotient is the remainder of the floor if no operand is negative.
    REM_IS_MOD [a b] Both if (a >= 0), (b >= 1): rewrite (a rem b) => (a % b);
    /// A comparison is one of a difference with 0.
    AT_LEAST_BY_DIFFERENCE [a b] Ints: claim ((if (a >= b) 1 else 0) == (if ((a - b) >= 0) 1 else 0));
    /// A strict comparison is one of a smaller difference with 0, because the numbers are integers.
    ABOVE_BY_DIFFERENCE [a b] Ints: claim ((if (a > b) 1 else 0) == (if (((a - b) - 1) >= 0) 1 else 0));
    /// An equation without a solution: the constant is not a multiple of the common factor of the other terms.
    NO_SOLUTION [g x c] Ints given ((c % g) != 0): claim (((g * x) + c) != 0);
    /// A choice between equal numbers is the number.
    CHOICE_OF_EQUAL [a b x] Both: claim ((if (a < b) x else x) == x);
    /// A floor is at most a dividend that is not negative.
    FLOOR_AT_MOST [a b] Ints given (b >= 1), (a >= 0): claim ((a / b) <= a);
    /// A floor is at least a dividend that is not positive.
    FLOOR_AT_LEAST [a b] Ints given (b >= 1), (a <= 0): claim ((a / b) >= a);
    /// A polynomial is at least 0 for the same integers if a common factor is cancelled and the constant term is rounded down.
    TIGHTENED [g x c] Ints given (g >= 1):
        claim ((if (((g * x) + c) >= 0) 1 else 0) == (if ((x + (c / g)) >= 0) 1 else 0));
}
