//! Tests positions of `argmin` and `argmax` at sizes that are too large to run: compares whether the launch takes them with the
//! exact end of the positions, which is computed here from the ranges alone.

use crate::compile::Variant;
use fastrand::Rng;
use tilewright_dsl::expr::{Expr, ExprId};
use tilewright_dsl::launch::{MOST, Role, Size};
use tilewright_dsl::lower::launch::size;
use tilewright_dsl::nest::{AxisId, Body, Program, Stage};
use tilewright_prove::launch::dim_values;

/// Sizes of dims, around the roots of 2^31.
const SIZES: [i64; 14] = [1, 2, 3, 7, 1290, 1291, 32_767, 32_768, 46_340, 46_341, 65_535, 65_536, 1 << 24, MOST];

/// Choices of sizes for each variant.
const TRIES: usize = 8;

/// The ranges of a reduction whose positions are known for each choice of sizes.
struct Positions {
    /// The first position.
    first: Size,
    /// Numbers whose product is the number of positions.
    counts: Vec<Size>,
    /// Extents of the stage's own axes. If one is 0, the stage does not have positions.
    around: Vec<Size>,
}

/// The positions that all stages compare.
#[derive(Default)]
struct Compared {
    positions: Vec<Positions>,
    /// True if stages compare other indices, too, so that a launch may be refused because of them.
    more: bool,
}

/// Checks that a launch takes exactly the sizes whose positions fit.
///
/// # Errors
/// Sizes that are wrongly taken or refused.
pub fn check(variant: &Variant, random: &mut Rng) -> Result<(), String> {
    let compared = Compared::of(&variant.algorithm);
    if compared.positions.is_empty() {
        return Ok(());
    }
    (0..TRIES).try_for_each(|_| compared.at_some_sizes(variant, random))
}

impl Compared {
    fn of(program: &Program) -> Compared {
        let mut all = Compared::default();
        for stage in program.stages.values() {
            let Body::Reduce { monoid, over, lift, .. } = &stage.body else { continue };
            match (monoid.name.as_str(), lift.as_slice()) {
                ("argmin" | "argmax", [item, position]) => {
                    all.more |= program.exprs.is_index(*item);
                    match positions(program, stage, over, *position) {
                        Some(positions) => all.positions.push(positions),
                        None => all.more = true,
                    }
                }
                ("min" | "max" | "reduce", items) => all.more |= items.iter().any(|item| program.exprs.is_index(*item)),
                _ => {}
            }
        }
        all
    }

    fn at_some_sizes(&self, variant: &Variant, random: &mut Rng) -> Result<(), String> {
        let (program, algorithm) = (&variant.program, &variant.algorithm);
        let free = algorithm.dims.values().filter(|dim| dim.derived.is_none());
        let dims: Vec<(&str, i64)> = free.map(|dim| (dim.name.as_str(), random.choice(SIZES).unwrap_or(1))).collect();
        let Some(values) = dim_values(program, &dims) else { return Ok(()) };
        let holds = program.facts.iter().all(|fact| fact.condition.holds_of_sizes(&values));
        if !holds || values.iter().any(|n| !(0..=MOST).contains(n)) || !has_tensors(program, &values) {
            return Ok(());
        }
        let ranges: Vec<Option<[i128; 2]>> = self.positions.iter().map(|of| of.range(&values)).collect();
        let is_held = |[first, end]: &[i128; 2]| *first >= i32::MIN.into() && *end <= i32::MAX.into();
        let fits = ranges.iter().flatten().all(is_held);
        let is_taken = program.limits.iter().all(|limit| limit.holds(&values));
        if !fits && is_taken {
            return Err(format!("positions beyond 32 bits are taken at {dims:?}"));
        }
        let refused = algorithm
            .checks
            .limits
            .iter()
            .find(|limit| !limit.holds(&values))
            .filter(|_| fits && !self.more && !ranges.contains(&None));
        refused.map_or(Ok(()), |limit| Err(format!("{} is refused at {dims:?}, and every position fits", limit.what)))
    }
}

impl Positions {
    /// Returns the first position and the end of the positions; `None` if there are none.
    fn range(&self, dims: &[i64]) -> Option<[i128; 2]> {
        let values =
            |sizes: &[Size]| -> Option<Vec<i128>> { sizes.iter().map(|size| size.eval_wide(dims).filter(|n| *n > 0)).collect() };
        let (counts, _) = (values(&self.counts)?, values(&self.around)?);
        let all = counts.into_iter().try_fold(1i128, i128::checked_mul).unwrap_or(i128::MAX / 2);
        let first = self.first.eval_wide(dims)?;
        Some([first, first.saturating_add(all)])
    }
}

/// Returns the positions of a reduction; `None` if they depend on other axes.
fn positions(program: &Program, stage: &Stage, over: &[AxisId], position: ExprId) -> Option<Positions> {
    let exprs = &program.exprs;
    // An operand that is NaN or left out does not count.
    let position = if let Expr::Select(_, _, position) = exprs.get(position) { *position } else { position };
    let zero = exprs.int(0);
    let first = exprs.replace(position, &mut |exprs, id| match exprs.get(id) {
        Expr::Axis(axis) if over.contains(axis) => Some(zero),
        _ => None,
    });
    let extents = |axes: &[AxisId]| axes.iter().map(|axis| size(program, program.axes[*axis].extent)).collect::<Option<_>>();
    Some(Positions { first: size(program, first)?, counts: extents(over)?, around: extents(&stage.axes)? })
}

/// True if all tensors of the caller can have these sizes.
fn has_tensors(program: &tilewright_dsl::launch::Program, dims: &[i64]) -> bool {
    let given = program.tensors.iter().filter(|t| t.role != Role::Temporary);
    given.map(|t| t.shape.iter().map(|n| n.eval_wide(dims)).collect::<Option<Vec<i128>>>()).all(|shape| {
        shape.is_some_and(|shape| {
            shape.iter().all(|n| *n >= 0)
                && shape.iter().try_fold(1i128, |all, n| all.checked_mul(*n)).is_some_and(|n| n <= MOST.into())
        })
    })
}
