//! Products on matrix units whose factors have aligned rows, for sizes that no tile divides. The sums are a stage of their own in fragments.
//! Its results go through shared memory in slices, which takes less of it than whole tiles, so that steps can be longer.

use super::{Product, matrices};
use crate::plan::draft::Draft;
use crate::plan::machine::{ACCESS, Machine};
use crate::plan::number::near;

/// The tile of a workgroup of four subgroups, two by two, and the items of a step.
const HEIGHT: i64 = 128;
const WIDTH: i64 = 64;
const DEPTH: i64 = 64;

/// The side of a matrix, and the columns of a slice of each subgroup.
const MATRIX: i64 = 16;

/// Plans a product of factors with aligned rows, on a device with 255 registers an invocation. `None` if tiles are whole, because
/// fragments are then stored directly.
pub(super) fn plan(product: &Product<'_>, machine: &Machine<'_>) -> Option<Draft> {
    let shape = matrices::shape(product, machine)?;
    let ([row], [column], [items]) = (product.rows, product.columns, product.nest.reduced.as_slice()) else { return None };
    let access = ACCESS / product.left.dtype.bytes() as i64;
    let is_aligned = [column, items].iter().all(|side| side.divisor % access == 0);
    let is_one_product = product.plain && !product.ragged && product.piece.is_none() && product.left.buffer != product.right.buffer;
    let fits = machine.large().is_some() && shape[..2] == [MATRIX; 2] && !matrices::whole(product, machine);
    if !(is_aligned && is_one_product && fits) {
        return None;
    }
    let (i, j) = (&row.name, &column.name);
    let stage = &product.nest.name;
    let part = format!("{stage}_part");
    // A row of a slice begins at a multiple of 16 bytes.
    let pad = ACCESS / matrices::sum(product, machine)?.bytes() as i64;
    let mut rest = Draft::default();
    product.tiled((i, &HEIGHT.into()), (j, &WIDTH.into()), false, &mut rest);
    rest.line(
        format!("split({j}, [2, {}, {MATRIX}] => {j}_x, {j}_t, {j})", WIDTH / 2 / MATRIX),
        "a slice of each subgroup at a time",
    );
    rest.line(format!("reorder({j}_t, {i}, {j}_x, {j})"), "");
    rest.line(format!("compute_at({part}, workgroup, to: fragment)"), "");
    rest.line(
        format!("promote({part} => {part}_s[{i}, {j}_x, {j}], at: {j}_t, to: shared, row_pad: {pad})"),
        "writes with guards, and along rows",
    );
    rest.line(format!("unroll({j}_t)"), "");
    rest.line(format!("split({i}, [{MATRIX}, {}] => {i}_r, {i}_t)", HEIGHT / MATRIX), "");
    rest.line(format!("split({j}, [{}, 4] => {j}_v, {j})", MATRIX / 4), "");
    rest.line(format!("reorder({i}_r, {i}_t, {j}_x, {j}_v, {j})"), "");
    rest.line(format!("fuse({i}_t, {j}_x, {j}_v => t)"), "");
    rest.line("distribute(t => thread(x))", "128 invocations");
    rest.line(format!("unroll({i}_r)"), "");
    rest.line(format!("vectorize({j}, 4, unaligned: scalar)"), "");
    Some(sums(product, machine, (&part, shape)).of_part(&part, rest))
}

/// Plans the stage of the sums, and its copy in slices.
fn sums(product: &Product<'_>, machine: &Machine<'_>, (part, [m, n, depth]): (&str, [i64; 3])) -> Draft {
    let [i, j, k] = [product.rows, product.columns, &product.nest.reduced].map(|sides| sides[0].name.as_str());
    let mut draft = Draft::default();
    draft.first(format!("split({k}, [1, _] => whole, {k})"), "");
    draft.first(format!("rfactor(whole => {part})"), "the sums are a stage of their own, which stays in fragments");
    let step = draft.number((machine, product.nest), "STEP", DEPTH, near(DEPTH, 16..=DEPTH));
    let word = if product.nest.reduced[0].divisor >= DEPTH { "" } else { " round_up" };
    draft.line(format!("tile({k}: {step}{word} => {k}_o)"), format!("{step} items a step"));
    draft.line(format!("reorder({k}_o, {k}, {i}, {j})"), "");
    let (left, right) = (&product.left.name, &product.right.name);
    let [left_copy, right_copy] = [left, right].map(|name| machine.copy(product.nest, name));
    let (fill, [left_pad, right_pad]) = (product.fill(), matrices::pads(product));
    draft.line(
        format!("promote({left} => {left_copy}_s[{i}, {k}], at: {k}_o, to: shared{fill}, row_pad: {left_pad})"),
        "each element serves many results",
    );
    let axes = matrices::right_axes(product, k, j);
    draft.line(format!("promote({right} => {right_copy}_s[{axes}], at: {k}_o, to: shared{fill}, row_pad: {right_pad})"), "");
    draft.line(format!("pipeline({k}_o, buffers: 1, prefetch: register)"), "the next step is loaded during this one");
    draft.line(format!("tile({i}: {}, {j}: {}) => subgroup(y, x)", HEIGHT / 2, WIDTH / 2), "4 subgroups");
    draft.line(format!("mma({i}, {j}, {k}, {m} x {n} x {depth})"), format!("{} fragments", HEIGHT * WIDTH / 4 / (m * n)));
    draft.line(format!("unroll({k})"), "");
    let copy = format!("{part}_s");
    draft.of(&copy, format!("tile({i}: {}) => subgroup(y)", HEIGHT / 2), "");
    draft.of(&copy, format!("distribute({j}_x => subgroup(x))"), "");
    draft.of(&copy, format!("fragment({i}, {j}, {m} x {n})"), "");
    draft
}
