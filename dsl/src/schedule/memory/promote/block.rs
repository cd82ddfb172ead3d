//! Indices of blocks by components. For example, `(i_o * 4 + i) / 4` with `i` in `0..4` is the tile `i_o`. So a read by the owner
//! of a block depends only on the index of the block.

use crate::expr::linear::Linear;
use crate::expr::{Binary, Expr, ExprId};
use crate::schedule::StageNest;
use crate::table::Map;

/// Rewrites an index so that its components are components of tiles, as far as this is proved.
pub(super) fn of(nest: &StageNest<'_>, index: ExprId) -> ExprId {
    // Operands first, because otherwise nested components would double the work at each level.
    let new = nest.program.exprs.rebuilt(index, &mut Map::default(), &mut |exprs, new, old| {
        Some(digit(nest, &new).unwrap_or_else(|| exprs.remade(new, old)))
    });
    new.unwrap_or(index)
}

/// Returns the component of tiles that is proved to equal a quotient or remainder.
fn digit(nest: &StageNest<'_>, e: &Expr) -> Option<ExprId> {
    let exprs = &nest.program.exprs;
    let Expr::Binary(op @ (Binary::FloorDiv | Binary::FloorMod), value, by) = *e else { return None };
    let n = exprs.as_int(by).filter(|n| *n > 1 && exprs.is_walkable(value))?;
    let (mut tiles, mut rest) = (Linear::default(), exprs.linear(value));
    rest.constant = rest.constant.rem_euclid(n);
    tiles.add(&exprs.linear(value), 1);
    rest.axes.retain(|_, times| *times % n != 0);
    rest.rest.retain(|(_, times)| *times % n != 0);
    tiles.add(&rest, -1);
    let rest = exprs.of_linear(&rest, &[]);
    if !nest.prover().inside(rest, i64::from(i32::try_from(n).ok()?)) {
        return None;
    }
    for times in tiles.axes.values_mut().chain(tiles.rest.iter_mut().map(|(_, times)| times)).chain([&mut tiles.constant]) {
        *times /= n;
    }
    Some(if op == Binary::FloorDiv { exprs.of_linear(&tiles, &[]) } else { rest })
}
