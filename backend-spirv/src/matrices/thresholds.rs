//! Comparisons of indices for each element of a matrix.
//!
//! Most comparisons move by fixed steps along rows and columns, such as `a row + b column + first <= 0`. The part of an element itself,
//! `a row + b column`, is the same for all matrices of a shape. Each element compares its own part with a threshold of its matrix. Both are
//! f32, because conversions between floats and integers are as slow as exponentials on many devices.

use super::coordinates::OwnParts;
use super::masks::{Comparison, comparisons};
use super::{Matrices, Shape};
use crate::Result;
use crate::chunks::Chunks;
use crate::context::BlockContext;
use crate::math::Site;
use crate::module::Id;
use spirv::Op;
use tilewright_codegen::values::ValueId;
use tilewright_dsl::expr::{Binary, Compare, ExprId};
use tilewright_dsl::launch::{Bounds, DType, REACH};

/// Integers with magnitudes up to this one are exact in f32.
const EXACT: i64 = 1 << 24;

/// A comparison of an element's own part with its matrix's threshold.
pub(super) struct Threshold {
    pub(super) cond: ExprId,
    op: Compare,
    /// The variable of the elements' own parts.
    own: Id,
    threshold: Id,
}

impl Matrices {
    /// Returns the comparisons in a value that compare with a threshold, except those that are known to hold.
    pub(super) fn thresholds(
        &mut self,
        ctx: &mut BlockContext<'_>,
        (value, hold): (ExprId, &[ExprId]),
        shape: Shape,
        own_parts: &mut OwnParts,
    ) -> Result<Vec<Threshold>> {
        let axes: Vec<_> = shape.axes().collect();
        let mut found: Vec<Threshold> = Vec::new();
        for Comparison { cond, op, difference } in comparisons(ctx.program, value, &axes) {
            if hold.contains(&cond) || found.iter().any(|known| known.cond == cond) {
                continue;
            }
            let Some(moves) = ctx.resolving(|r| r.affine(difference, &axes))? else { continue };
            let values = &ctx.resolver.values;
            let steps = moves.along.iter().map(|step| values.as_int(*step));
            let Some(steps) = steps.collect::<Option<Vec<i64>>>() else { continue };
            let own = steps.iter().zip(&axes).fold(Bounds::of(0), |sum, (step, (_, length))| {
                sum.plus(Bounds::of(*step).times(Bounds(0, i64::from(*length) - 1)))
            });
            if own == Bounds::of(0) {
                continue;
            }
            let Some(threshold) = ctx.threshold(moves.first, own)? else { continue };
            let own = self.own_parts(ctx, shape, [steps[0], steps.get(1).copied().unwrap_or(0)], own_parts)?;
            found.push(Threshold { cond, op, own, threshold });
        }
        Ok(found)
    }
}

impl BlockContext<'_> {
    /// Returns the threshold for elements' own parts within some bounds, as f32. It is clamped, because all thresholds past the bounds give
    /// the same result ([`THRESHOLD_LESS`](tilewright_dsl::expr::rules::THRESHOLD_LESS),
    /// [`THRESHOLD_AT_MOST`](tilewright_dsl::expr::rules::THRESHOLD_AT_MOST),
    /// [`THRESHOLD_EQUAL`](tilewright_dsl::expr::rules::THRESHOLD_EQUAL)).
    fn threshold(&mut self, first: ValueId, own: Bounds) -> Result<Option<Id>> {
        let values = &mut self.resolver.values;
        let zero = values.int(0);
        let room = values.minus(zero, first);
        if !own.is_within(Bounds(1 - EXACT, EXACT - 1)) || !values.node(room).range.is_within(REACH) {
            return Ok(None);
        }
        let [low, high] = [own.0 - 1, own.1 + 1].map(|n| values.int(n));
        let least = values.extreme(Binary::Max, room, low);
        let clamped = values.extreme(Binary::Min, least, high);
        let (clamped, float) = (self.scalar(clamped)?, self.scalar_type(DType::F32)?);
        Ok(Some(self.ins_here(Op::ConvertSToF, float, &[clamped])))
    }

    /// Compares an element's own part with its threshold.
    pub(super) fn compared(&mut self, at: Id, of: &Threshold) -> Result<ValueId> {
        let own = self.element_of(of.own, at, DType::F32)?;
        let site = Site { level: self.level(), n: 1, of: DType::F32, dtype: DType::Bool };
        let id = self.comparison(of.op, site, own, of.threshold)?;
        Ok(self.now(DType::Bool, Chunks::one(id)))
    }
}
