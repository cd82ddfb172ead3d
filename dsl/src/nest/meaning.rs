//! The meaning of a consumed axis: its value in terms of the axes that it was split into or fused into. [`value`] is the one definition,
//! and each form of an index implements [`IndexAlgebra`] for it: expressions ([`Program::axis_value`]), the prover's polynomials, and
//! numbers at one point.

use super::{AxisDef, AxisId, Fate, Program, Split};
use crate::expr::Binary;

/// Arithmetic on indices of one form.
pub trait IndexAlgebra {
    /// An index.
    type Index;
    /// The reason why an index cannot be computed in this form.
    type Failure;

    /// True if the quotient by several extents is a quotient of quotients, from the innermost extent on. Otherwise it is one quotient
    /// by their product.
    const NESTED: bool;

    /// Applies an operation: `+`, `-`, `*`, the minimum, or the quotient and the remainder of a division by an extent, rounded down.
    fn apply(&mut self, op: Binary, a: Self::Index, b: Self::Index) -> Result<Self::Index, Self::Failure>;

    /// Returns the extent of an axis.
    fn extent(&mut self, axis: AxisId) -> Result<Self::Index, Self::Failure>;

    /// Returns the value of an axis: the value that this form has for it, or else [`value`].
    fn axis(&mut self, axis: AxisId) -> Result<Self::Index, Self::Failure>;

    /// Returns the value of an axis that was not consumed.
    fn live(&mut self, axis: AxisId) -> Result<Self::Index, Self::Failure>;
}

/// Returns the value of an axis in terms of the axes that consumed it.
pub fn value<A: IndexAlgebra>(program: &Program, axis: AxisId, algebra: &mut A) -> Result<A::Index, A::Failure> {
    match &program.axes[axis].fate {
        Fate::Live => algebra.live(axis),
        Fate::Split(split) => match split.shifted() {
            Some(parts) => shifted(axis, parts, algebra),
            None => joined(axis, split, algebra),
        },
        Fate::Fused { into, digit, .. } => {
            let whole = algebra.axis(*into)?;
            component(program, *into, *digit, whole, algebra)
        }
    }
}

/// Returns the value of an axis whose last tile is moved back: `min(tile * length, extent - length) + point`. The tiles are within the
/// axis and cover it ([`SHIFTED_TILE`](crate::expr::rules::SHIFTED_TILE),
/// [`SHIFTED_TILES_COVER`](crate::expr::rules::SHIFTED_TILES_COVER)).
fn shifted<A: IndexAlgebra>(axis: AxisId, [tile, point]: [AxisId; 2], algebra: &mut A) -> Result<A::Index, A::Failure> {
    let (extent, length) = (algebra.extent(axis)?, algebra.extent(point)?);
    let last = algebra.apply(Binary::Sub, extent, length)?;
    let (tile, length) = (algebra.axis(tile)?, algebra.extent(point)?);
    let tile = algebra.apply(Binary::Mul, tile, length)?;
    let start = algebra.apply(Binary::Min, tile, last)?;
    let offset = algebra.axis(point)?;
    algebra.apply(Binary::Add, start, offset)
}

/// Returns the mixed-radix number whose digits are the parts of a split. The extent of the outermost part does not matter.
fn joined<A: IndexAlgebra>(axis: AxisId, split: &Split, algebra: &mut A) -> Result<A::Index, A::Failure> {
    let Some((outermost, inner)) = split.parts.split_first() else { return algebra.live(axis) };
    inner.iter().try_fold(algebra.axis(*outermost)?, |value, part| {
        let (extent, digit) = (algebra.extent(*part)?, algebra.axis(*part)?);
        let scaled = algebra.apply(Binary::Mul, value, extent)?;
        algebra.apply(Binary::Add, scaled, digit)
    })
}

/// Returns a digit of a fused axis, which is a mixed-radix number of the axes that it consists of. Digits are removed from the end
/// ([`DIGITS_OUTER`](crate::expr::rules::DIGITS_OUTER)) and the last of the others is the one
/// ([`DIGIT_INNERMOST`](crate::expr::rules::DIGIT_INNERMOST)).
fn component<A: IndexAlgebra>(
    program: &Program,
    fused: AxisId,
    digit: usize,
    whole: A::Index,
    algebra: &mut A,
) -> Result<A::Index, A::Failure> {
    let AxisDef::Fused(digits) = &program.axes[fused].def else { return Ok(whole) };
    let quotient = match digits.get(digit + 1..).unwrap_or_default() {
        [] => whole,
        later if A::NESTED => later.iter().rev().try_fold(whole, |value, axis| by(Binary::FloorDiv, value, *axis, algebra))?,
        [first, rest @ ..] => {
            let size = algebra.extent(*first)?;
            let size = rest.iter().try_fold(size, |size, axis| by(Binary::Mul, size, *axis, algebra))?;
            algebra.apply(Binary::FloorDiv, whole, size)?
        }
    };
    match digits.get(digit).filter(|_| digit > 0) {
        Some(own) => by(Binary::FloorMod, quotient, *own, algebra),
        None => Ok(quotient),
    }
}

/// Applies an operation to a value and an axis's extent.
fn by<A: IndexAlgebra>(op: Binary, value: A::Index, axis: AxisId, algebra: &mut A) -> Result<A::Index, A::Failure> {
    let extent = algebra.extent(axis)?;
    algebra.apply(op, value, extent)
}
