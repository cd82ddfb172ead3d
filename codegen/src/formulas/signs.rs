//! Signs of floats.

use super::formula::{Formula, Part, SIGN};

/// The first operand with the sign of the second.
pub(super) fn copysign(f: &mut Formula, of: &[Part]) -> Part {
    let [x, y] = [of[0], of[1]].map(|operand| f.bits(operand));
    let (size, sign) = (f.and(x, !SIGN), f.and(y, SIGN));
    let bits = f.or(size, sign);
    f.float(bits)
}
