//! The rules of the index simplifier.

use super::rule::rules;
use super::term::{claim, term};

rules! {
    /// The rules for an operation with a literal operand.
    FOLDS
    /// 0 added to a number leaves the number.
    ADD_LEFT_ZERO [a] Both: rewrite (0 + a) => a;
    /// A number plus 0 is the number.
    ADD_ZERO [a] Both: rewrite (a + 0) => a;
    /// A number minus 0 is the number.
    SUB_ZERO [a] Both: rewrite (a - 0) => a;
    /// 1 times a number is the number.
    MUL_LEFT_ONE [a] Both: rewrite (1 * a) => a;
    /// A number times 1 is the number.
    MUL_ONE [a] Both: rewrite (a * 1) => a;
    /// 0 times a number is 0.
    MUL_LEFT_ZERO [a] Both: rewrite (0 * a) => 0;
    /// A number times 0 is 0.
    MUL_ZERO [a] Both: rewrite (a * 0) => 0;
    /// A truncated quotient by 1 is the number.
    QUOT_BY_ONE [a] Both: rewrite (a quot 1) => a;
    /// A quotient by 1 is the number.
    FLOOR_BY_ONE [a] Both: rewrite (a / 1) => a;
    /// The remainder of a truncated quotient by 1 is 0.
    REM_BY_ONE [a] Both: rewrite (a rem 1) => 0;
    /// The remainder of a quotient by 1 is 0.
    MOD_BY_ONE [a] Both: rewrite (a % 1) => 0;
}

rules! {
    /// The rules for the quotient of a literal by a divisor that is not a literal.
    LITERAL_QUOTIENTS
    /// The quotient of 0 is 0.
    FLOOR_OF_ZERO [d] Both given (d >= 1): rewrite (0 / d) => 0;
    /// The quotient of -1 is -1, whatever the divisor is.
    FLOOR_OF_MINUS_ONE [d] Both given (d >= 1): rewrite ((-1) / d) => (-1);
    /// The remainder of 0 is 0.
    MOD_OF_ZERO [d] Both given (d >= 1): rewrite (0 % d) => 0;
}

rules! {
    /// The operations that do not make a negative number of extents.
    SIGNS
    /// The sum of two extents is not negative.
    SIGN_OF_SUM [a b] Ints if (a >= 0), (b >= 0): claim ((a + b) >= 0);
    /// The product of two extents is not negative.
    SIGN_OF_PRODUCT [a b] Ints if (a >= 0), (b >= 0): claim ((a * b) >= 0);
    /// The smaller of two extents is not negative.
    SIGN_OF_MIN [a b] Ints if (a >= 0), (b >= 0): claim ((a min b) >= 0);
    /// The larger of two numbers is not negative if the first one is not.
    SIGN_OF_MAX [a b] Ints if (a >= 0): claim ((a max b) >= 0);
    /// The larger of two numbers is not negative if the second one is not.
    SIGN_OF_RIGHT_MAX [a b] Ints if (b >= 0): claim ((a max b) >= 0);
    /// A quotient of extents is not negative.
    SIGN_OF_FLOOR [a b] Ints given (b != 0) if (a >= 0), (b >= 0): claim ((a / b) >= 0);
    /// A remainder is not negative.
    SIGN_OF_MOD [a b] Ints given (b != 0) if (b >= 0): claim ((a % b) >= 0);
}

rules! {
    /// The laws of sums and products in a normal form.
    SUMS
    /// Sums do not depend on the order.
    ADD_COMMUTES [a b] Both: claim ((a + b) == (b + a));
    /// Sums do not depend on the grouping.
    ADD_ASSOCIATES [a b c] Both: claim (((a + b) + c) == (a + (b + c)));
    /// Products do not depend on the order.
    MUL_COMMUTES [a b] Both: claim ((a * b) == (b * a));
    /// Products do not depend on the grouping.
    MUL_ASSOCIATES [a b c] Both: claim (((a * b) * c) == (a * (b * c)));
    /// A product is multiplied out.
    MUL_DISTRIBUTES [a b c] Both: claim (((a + b) * c) == ((a * c) + (b * c)));
    /// A difference is a sum with a multiple by -1.
    SUB_IS_ADD [a b] Both: claim ((a - b) == (a + ((-1) * b)));
    /// The low bits of a sum depend on the low bits of its parts.
    LOW_OF_SUM [a b m] Ints given (m >= 1): claim (((a + b) % m) == (((a % m) + (b % m)) % m));
    /// The low bits of a product depend on the low bits of its factors.
    LOW_OF_PRODUCT [a b m] Ints given (m >= 1): claim (((a * b) % m) == (((a % m) * (b % m)) % m));
    /// A number is made of a quotient and a remainder.
    QUOTIENT_AND_REST [v b] Ints given (b >= 1): claim ((((v / b) * b) + (v % b)) == v);
    /// A difference from a negative number is a sum.
    SUB_OF_NEGATIVE [a n] Both: claim ((a - n) == (a + (0 - n)));
    /// A sum with a negative number is a difference.
    ADD_OF_NEGATIVE [a n] Both: claim ((a + n) == (a - (0 - n)));
    /// A quotient that is rounded up.
    CEIL_DIV [a b] Ints given (b >= 1): claim (((a + (b - 1)) / b) == (0 - ((0 - a) / b)));
}
