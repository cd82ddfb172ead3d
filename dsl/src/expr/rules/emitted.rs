//! The rules for values that are emitted: quotients, minima, tiles, and components of fused axes.

use super::rule::rules;
use super::term::{claim, term};

rules! {
    /// The rewrites and formulas of emitted indices.
    EMITTED
    /// Multiples of the divisor do not change a remainder.
    MOD_OF_MULTIPLE [q d r] Ints given (d >= 1): rewrite (((q * d) + r) % d) => (r % d);
    /// The remainder of a component of a mixed-radix number is the component.
    MOD_OF_DIGIT [p d] Both if (p >= 0), (p < d): rewrite (p % d) => p;
    /// The quotient of a negative number that is at least the negative divisor is -1.
    FLOOR_JUST_NEGATIVE [p d] Ints if (p < 0), ((p + d) >= 0): rewrite (p / d) => (-1);
    /// The remainder of a negative number that is at least the negative divisor.
    MOD_JUST_NEGATIVE [p d] Ints if (p < 0), ((p + d) >= 0): rewrite (p % d) => (p + d);
    /// The smaller of two equal numbers.
    MIN_OF_EQUAL [a] Both: rewrite (a min a) => a;
    /// The larger of two equal numbers.
    MAX_OF_EQUAL [a] Both: rewrite (a max a) => a;
    /// The first number is the smaller one.
    MIN_IS_FIRST [a b] Both if (a <= b): rewrite (a min b) => a;
    /// The second number is the smaller one.
    MIN_IS_SECOND [a b] Both if (a >= b): rewrite (a min b) => b;
    /// The first number is the larger one.
    MAX_IS_FIRST [a b] Both if (a >= b): rewrite (a max b) => a;
    /// The second number is the larger one.
    MAX_IS_SECOND [a b] Both if (a <= b): rewrite (a max b) => b;
    /// The innermost axis of a fused axis is a remainder.
    DIGIT_INNERMOST [q n i] Ints given (i >= 0), (i < n): claim ((((q * n) + i) % n) == i);
    /// The outer axes of a fused axis are a quotient.
    DIGITS_OUTER [q n i] Ints given (i >= 0), (i < n): claim ((((q * n) + i) / n) == q);
    /// A point of a tile whose start is moved back is within the axis.
    SHIFTED_TILE [t p n e] Ints given (t >= 0), (p >= 0), (p < n), (n <= e):
        claim (((((t * n) min (e - n)) + p) % e) == (((t * n) min (e - n)) + p));
    /// Each point of an axis is a point of a tile whose start may be moved back.
    SHIFTED_TILES_COVER [x n e] Ints given (x < e), (n >= 1):
        claim (((x - (((x / n) * n) min (e - n))) % n) == (x - (((x / n) * n) min (e - n))));
    /// The number of a buffer, some steps after a step of a known buffer.
    VERSION_AHEAD [t k n] Ints given (t >= 0), (t < n), (k >= 0), (k < n):
        claim (((t + k) % n) == (if ((t + k) < n) (t + k) else (t + (k - n))));
    /// A clamped index is in bounds.
    CLAMPED_INSIDE [i n] Both given (n >= 1):
        claim ((if (((i min ((n - 1) max 0)) max 0) >= 0) ((i min ((n - 1) max 0)) max 0) else n) < n);
    /// A clamp keeps an index that is in bounds.
    CLAMPED_SAME [i n] Both given (i >= 0), (i < n): claim (((i min ((n - 1) max 0)) max 0) == i);
    /// A vector is in bounds exactly if its number is below the number of vectors.
    VECTOR_INSIDE [b l w e] Ints given (l >= 0), (l < w):
        claim ((if (((b * w) + l) < (e * w)) 1 else 0) == (if (b < e) 1 else 0));
    /// The start of the group of elements that an element is loaded with.
    GROUP_START [x c g] Ints given (g >= 1): claim (((((x * g) + c) - (c % g)) % g) == 0);
    /// The bounds of a product by the bounds of the absolute values of its factors.
    PRODUCT_MAGNITUDE [m n a b] Ints given (a <= m), (a >= (0 - m)), (b <= n), (b >= (0 - n)): claim ((a * b) <= (m * n));
    /// The lower bound of a product by the bounds of the absolute values of its factors.
    PRODUCT_MAGNITUDE_LOW [m n a b] Ints given (a <= m), (a >= (0 - m)), (b <= n), (b >= (0 - n)): claim ((a * b) >= (0 - (m * n)));
    /// A number within bounds compares with a threshold as with the threshold clamped to one past the bounds.
    THRESHOLD_LESS [l h o t] Ints given (l <= o), (o <= h):
        claim ((if (o < t) 1 else 0) == (if (o < ((t max (l - 1)) min (h + 1))) 1 else 0));
    /// The same for a comparison that is not strict.
    THRESHOLD_AT_MOST [l h o t] Ints given (l <= o), (o <= h):
        claim ((if (o <= t) 1 else 0) == (if (o <= ((t max (l - 1)) min (h + 1))) 1 else 0));
    /// The same for an equation.
    THRESHOLD_EQUAL [l h o t] Ints given (l <= o), (o <= h):
        claim ((if (o == t) 1 else 0) == (if (o == ((t max (l - 1)) min (h + 1))) 1 else 0));
    /// The bounds of a quotient with a dividend that is not negative: the largest divisor gives the least quotient.
    FLOOR_LOW_END [a b l h] Ints given (b >= 1), (l >= 0), (a >= l), (b <= h): claim ((a / b) >= (l / h));
    /// The bounds of a quotient with a negative dividend: the smallest divisor gives the least quotient.
    FLOOR_NEGATIVE_END [a b l m] Ints given (m >= 1), (l <= 0), (a >= l), (b >= m): claim ((a / b) >= (l / m));
    /// The bounds of a remainder.
    MOD_HIGH_END [a b h] Ints given (b >= 1), (b <= h): claim ((a % b) < h);
    /// A remainder is at most a dividend that is not negative.
    MOD_AT_MOST [a b] Ints given (a >= 0), (b >= 1): claim ((a % b) <= a);
}
