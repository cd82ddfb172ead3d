//! The rules of proofs. A condition after `if` is the goal that remains to be proved.

use super::rule::rules;
use super::term::{claim, term};

rules! {
    /// The steps of a proof that a polynomial is at least 0.
    PROOFS
    /// A multiple of a fact is subtracted from a multiple of the polynomial. The slack is allowed because the polynomial is an integer.
    SCALED_FACT [p f s m] Ints given (s >= 1), (m >= 0), (f >= 0) if ((((p * s) + (s - 1)) - (m * f)) >= 0): claim (p >= 0);
    /// An atom whose factor is not negative is replaced by a lower bound.
    AT_LOWER_BOUND [f r l x] Ints given (f >= 0), (x >= l) if ((r + (f * l)) >= 0): claim (((f * x) + r) >= 0);
    /// An atom whose factor is not positive is replaced by an upper bound.
    AT_UPPER_BOUND [f r h x] Ints given (f <= 0), (x <= h) if ((r + (f * h)) >= 0): claim (((f * x) + r) >= 0);
    /// A polynomial that is linear in an axis is least at an end of the axis.
    AT_BOTH_ENDS [f r n x] Ints given (x >= 0), (x < n) if (r >= 0), (((f * (n - 1)) + r) >= 0): claim (((f * x) + r) >= 0);
    /// Two floors by one divisor are compared by their numerators.
    FLOORS_COMPARED [a b r m] Ints given (m >= 1) if ((((r * m) + a) - b) >= 0): claim (((a / m) + r) >= (b / m));
    /// The floor of a numerator and a divisor that are both multiplied, with all the slack that the floor allows.
    FLOOR_WIDENED [a d k] Ints given (d >= 1), (k >= 1): claim ((((k * a) + (k - 1)) / (k * d)) == (a / d));
    /// The floor of a numerator and a divisor that are both multiplied.
    FLOOR_SCALED [a d k] Ints given (d >= 1), (k >= 1): claim (((k * a) / (k * d)) == (a / d));
    /// A minimum is monotone and does not increase distances.
    MINIMA_APART [a b] Ints: claim (((a min 0) - (b min 0)) >= ((a - b) min 0));
    /// A minimum with 0 is not positive.
    MIN0_AT_MOST_ZERO [p] Ints: claim ((p min 0) <= 0);
    /// A bound of a minimum with 0 is a bound of the 0.
    MIN0_BOUNDS_ZERO [f p r] Ints given (f >= 0), (((f * (p min 0)) + r) >= 0): claim (r >= 0);
    /// A bound of a minimum with 0 is a bound of the number.
    MIN0_BOUNDS_OPERAND [f p r] Ints given (f >= 0), (((f * (p min 0)) + r) >= 0): claim (((f * p) + r) >= 0);
    /// A factor of a positive product is positive if the other factor is not negative.
    POSITIVE_FACTOR [p o] Ints given (((p + 1) * o) >= 1) if (o >= 0): claim (p >= 0);
    /// A number that is not 0 and not negative is at least 1.
    NONZERO_ABOVE [p] Ints given (p != 0) if (p >= 0): claim (p >= 1);
    /// A number that is not 0 and not positive is at most -1.
    NONZERO_BELOW [p] Ints given (p != 0) if (0 >= p): claim ((0 - p) >= 1);
    /// A floor is monotone in its numerator.
    FLOOR_MONOTONE [a b d] Ints given (d >= 1), (a <= b): claim ((a / d) <= (b / d));
    /// The floor of a number that is not negative is not negative.
    FLOOR_NONNEG [a d] Ints given (d >= 1) if (a >= 0): claim ((a / d) >= 0);
    /// A product of numbers that are not negative is at least the product of their lower bounds.
    PRODUCT_LOW [a b l m] Ints given (l >= 0), (m >= 0), (a >= l), (b >= m): claim ((a * b) >= (l * m));
    /// A product of numbers that are not negative is at most the product of their upper bounds.
    PRODUCT_HIGH [a b h k] Ints given (a >= 0), (b >= 0), (a <= h), (b <= k): claim ((a * b) <= (h * k));
    /// A multiple of a polynomial that is 0 does not change divisibility.
    DIVIDES_WITH_ZERO [c p z k] Ints given (z == 0), (((p + (k * z)) % c) == 0): claim ((p % c) == 0);
    /// A divisor of a factor divides the product.
    DIVIDES_PRODUCT [c a b] Ints given ((a % c) == 0): claim (((a * b) % c) == 0);
    /// A divisor of all terms divides the sum.
    DIVIDES_SUM [c a b] Ints given ((a % c) == 0), ((b % c) == 0): claim (((a + b) % c) == 0);
    /// A divisor of a number divides its minimum with 0.
    DIVIDES_MIN0 [c p] Ints given ((p % c) == 0): claim (((p min 0) % c) == 0);
    /// Both factors of an extent are positive where the extent is, if they are not negative.
    POSITIVE_EXTENT [a b] Ints given ((a * b) >= 1), (a >= 0): claim (b >= 1);
    /// An axis that has a tile is not empty.
    POSITIVE_BY_TILES [r d x] Ints given (((x + r) / d) >= 1) if (r < d): claim (x >= 1);
}

rules! {
    /// The laws by which a sum of minima and maxima becomes one interval.
    CLAMPS
    /// A sum distributes over a minimum.
    MIN_PLUS [a b c] Ints: claim (((a min b) + c) == ((a + c) min (b + c)));
    /// A sum distributes over a maximum.
    MAX_PLUS [a b c] Ints: claim (((a max b) + c) == ((a + c) max (b + c)));
    /// A negative of a minimum is a maximum.
    MIN_NEGATED [a b] Ints: claim ((0 - (a min b)) == ((0 - a) max (0 - b)));
    /// A negative of a maximum is a minimum.
    MAX_NEGATED [a b] Ints: claim ((0 - (a max b)) == ((0 - a) min (0 - b)));
    /// A multiple by a number that is not negative distributes over a minimum.
    MIN_TIMES [a b n] Ints given (n >= 0): claim (((a min b) * n) == ((a * n) min (b * n)));
    /// A multiple by a number that is not negative distributes over a maximum.
    MAX_TIMES [a b n] Ints given (n >= 0): claim (((a max b) * n) == ((a * n) max (b * n)));
    /// A multiple of a minimum by a negative number is a maximum.
    MIN_TIMES_NEGATIVE [a b n] Ints given (n <= 0): claim (((a min b) * n) == ((a * n) max (b * n)));
    /// A multiple of a maximum by a negative number is a minimum.
    MAX_TIMES_NEGATIVE [a b n] Ints given (n <= 0): claim (((a max b) * n) == ((a * n) min (b * n)));
    /// A floor distributes over a minimum.
    MIN_FLOORED [a b d] Ints given (d >= 1): claim (((a min b) / d) == ((a / d) min (b / d)));
    /// A floor distributes over a maximum.
    MAX_FLOORED [a b d] Ints given (d >= 1): claim (((a max b) / d) == ((a / d) max (b / d)));
    /// A minimum distributes over a maximum.
    MIN_OF_MAX [a b c] Ints: claim (((a max b) min c) == ((a min c) max (b min c)));
    /// A maximum distributes over a minimum.
    MAX_OF_MIN [a b c] Ints: claim (((a min b) max c) == ((a max c) min (b max c)));
}
