//! Products of bytes by dot products of words, for devices with an instruction for them and without matrices of bytes. The words are made by
//! copies in which the items of the reduction are last: in shared memory, or in registers where shared memory is ordinary memory.

use super::Product;
use super::matrices::sum;
use crate::launch::{DType, DotSigns, Feature};
use crate::plan::draft::Draft;
use crate::plan::machine::Machine;
use crate::plan::number::near;

/// The rows and columns of invocations in a workgroup, the rows and columns of an invocation, and the items of a step.
struct Tile {
    threads: [i64; 2],
    each: [i64; 2],
    depth: i64,
}

/// With copies in shared memory.
const SHARED: Tile = Tile { threads: [16, 16], each: [4, 4], depth: 32 };

/// With words in registers only.
const REGISTERS: Tile = Tile { threads: [8, 16], each: [8, 4], depth: 4 };

/// Plans a product. `None` if the device does not have an instruction for the signs of the factors.
pub(super) fn plan(product: &Product<'_>, machine: &Machine<'_>) -> Option<Draft> {
    let profile = machine.profile;
    let signs = DotSigns::of([product.left.dtype, product.right.dtype])?;
    let is_fast = profile.has(Feature::IntegerDotProduct) && profile.fast_dots.contains(&signs);
    let is_wide = matches!(sum(product, machine)?, DType::I32 | DType::U32);
    if !is_fast || !is_wide || !product.plain || product.ragged || product.left.buffer == product.right.buffer {
        return None;
    }
    let shares = machine.shares() && profile.has(Feature::I8);
    let Tile { threads: [high, wide], each: [rows, columns], depth } = if shares { SHARED } else { REGISTERS };
    let mut draft = Draft::default();
    let of = (machine, product.nest);
    let high = draft.number(of, "ROW_THREADS", high, near(high, 4..=32));
    let wide = draft.number(of, "COLUMN_THREADS", wide, near(wide, 4..=32));
    let rows = draft.number(of, "ROW_EACH", rows, near(rows, 2..=16));
    let columns = draft.number(of, "COLUMN_EACH", columns, near(columns, 2..=16));
    let depth = draft.number(of, "STEP", depth, near(depth, 4..=64));
    let (row, column) = product.fused(&mut draft);
    product.tiled((&row, &high.times(&rows)), (&column, &wide.times(&columns)), false, &mut draft);
    let items = product.steps(&depth, &|k| format!("{k}, {row}, {column}"), &mut draft)?;
    let (left, right, k, step) = (&product.left.name, &product.right.name, &items.axis, &items.step);
    let (left_copy, right_copy) = (machine.copy(product.nest, left), machine.copy(product.nest, right));
    let (fill, threads) = (product.fill(), high.times(&wide));
    let tiles = format!("tile({row}: {rows}, {column}: {columns}) => thread(y, x)");
    let (memory, short, pad) = if shares { ("shared", "s", ", row_pad: 4") } else { ("register", "r", "") };
    if !shares {
        draft.line(tiles.clone(), format!("{threads} invocations"));
    }
    let words = "words of four items, which serve many results";
    draft.line(format!("promote({left} => {left_copy}_{short}[{row}, {k}], at: {step}, to: {memory}{fill}{pad})"), words);
    draft.line(format!("promote({right} => {right_copy}_{short}[{column}, {k}], at: {step}, to: {memory}{fill}{pad})"), "");
    if shares {
        draft.line(tiles, format!("{threads} invocations"));
    }
    draft.line(format!("dot({k}, 4)"), "four products an instruction");
    // A loop over one word is left out.
    let several = if depth.value > 4 { format!("{k}, ") } else { String::new() };
    let unrolled = if shares { String::new() } else { several };
    draft.line(format!("unroll({unrolled}{row}, {column})"), format!("{} accumulators", rows.times(&columns)));
    Some(draft)
}
