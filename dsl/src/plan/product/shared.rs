//! Products through shared memory: a workgroup copies tiles of both factors, and each invocation keeps a tile of results.

use super::Product;
use crate::facts::Prover;
use crate::plan::draft::Draft;
use crate::plan::form::Side;
use crate::plan::machine::Machine;
use crate::plan::number::{Number, near};

/// The tile of a workgroup: how rows and columns are split into groups, invocations and adjacent elements.
struct Tile {
    rows: [i64; 3],
    columns: [i64; 3],
    /// The items of the reduction in shared memory at a time.
    depth: i64,
}

/// 32 accumulators, which all devices have registers for.
const SMALL: Tile = Tile { rows: [2, 8, 4], columns: [1, 16, 4], depth: 16 };

/// 128 accumulators, for devices with 255 registers.
const BIG: Tile = Tile { rows: [4, 8, 4], columns: [2, 16, 4], depth: 16 };

/// For few rows, or few columns.
const LOW: Tile = Tile { rows: [1, 4, 4], columns: [1, 32, 4], depth: 16 };
const NARROW: Tile = Tile { rows: [1, 32, 4], columns: [1, 4, 4], depth: 16 };

/// The rows or columns up to which a product is thin.
pub(super) const THIN: i64 = 16;

/// The side of a large tile.
pub(super) const LARGE: i64 = 128;

/// Plans a product. `None` if shared memory is ordinary memory, or if both factors are one tensor, whose copies would have one name.
pub(super) fn plan(product: &Product<'_>, machine: &Machine<'_>) -> Option<Draft> {
    if !machine.shares() || product.left.buffer == product.right.buffer {
        return None;
    }
    let thin = |sides: &[Side]| matches!(sides, [one] if one.most.is_some_and(|most| most <= THIN));
    let Tile { rows, columns, depth } = match (thin(product.rows), thin(product.columns)) {
        (true, _) => LOW,
        (false, true) => NARROW,
        (false, false) if is_large(product, machine) => BIG,
        (false, false) => SMALL,
    };
    let mut draft = Draft::default();
    let of = (machine, product.nest);
    // A loop over one group is left out, so the number of groups stays. Elements of a column are the lanes of a vector.
    let mut side = |name: &str, [groups, threads, each]: [i64; 3], widest: i64| {
        let mut number =
            |what: &str, n: i64, least: i64, most: i64| draft.number(of, &format!("{name}_{what}"), n, near(n, least..=most));
        let groups = if groups > 1 { number("GROUPS", groups, 2, 8) } else { groups.into() };
        [groups, number("THREADS", threads, 4, 32), number("EACH", each, 2, widest)]
    };
    let [row_groups, row_threads, row_each] = &side("ROW", rows, 8);
    let [column_groups, column_threads, column_each] = &side("COLUMN", columns, 4);
    let depth = draft.number(of, "STEP", depth, near(depth, 8..=32));
    let (row, column) = product.fused(&mut draft);
    let height = row_groups.times(row_threads).times(row_each);
    let width = column_groups.times(column_threads).times(column_each);
    product.tiled((&row, &height), (&column, &width), false, &mut draft);
    let items = product.steps(&depth, &|k| format!("{k}, {row}, {column}"), &mut draft)?;
    let (left, right, k, step) = (&product.left.name, &product.right.name, &items.axis, &items.step);
    let (left_copy, right_copy) = (machine.copy(product.nest, left), machine.copy(product.nest, right));
    let fill = product.fill();
    draft.line(
        format!("promote({left} => {left_copy}_s[{k}, {row}], at: {step}, to: shared{fill}, row_pad: 4)"),
        "each element serves many results",
    );
    draft.line(format!("promote({right} => {right_copy}_s[{k}, {column}], at: {step}, to: shared{fill})"), "");
    draft.line(format!("pipeline({step}, buffers: 1, prefetch: register)"), "the next step is loaded during this one");
    let split = |axis: &str, [groups, threads, each]: [&Number; 3]| {
        format!("split({axis}, [{groups}, {threads}, {each}] => {axis}_r, {axis}_t, {axis}_v)")
    };
    let (high, wide) = (row_groups.times(row_each), column_groups.times(column_each));
    draft.line(split(&row, [row_groups, row_threads, row_each]), format!("{high} rows an invocation"));
    draft.line(split(&column, [column_groups, column_threads, column_each]), format!("{wide} columns an invocation"));
    let threads = row_threads.times(column_threads);
    draft.line(format!("distribute({row}_t, {column}_t => thread(y, x))"), format!("{threads} invocations"));
    // An axis of one group is not a loop.
    let groups = |axis: &str, count: &Number| if count.value > 1 { format!("{axis}_r, ") } else { String::new() };
    let (row_r, column_r) = (groups(&row, row_groups), groups(&column, column_groups));
    draft.line(format!("promote({left_copy}_s => {left_copy}_r[{row_r}{row}_v], at: {k}, to: register)"), "");
    draft.line(format!("promote({right_copy}_s => {right_copy}_r[{column_r}{column}_v], at: {k}, to: register)"), "");
    draft.line(format!("unroll({k}, {column_r}{row_r}{row}_v)"), format!("{} accumulators", high.times(wide)));
    draft.line(format!("vectorize({column}_v, {column_each}, unaligned: scalar)"), "");
    Some(draft)
}

/// True if large tiles provably use all cores.
fn is_large(product: &Product<'_>, machine: &Machine<'_>) -> bool {
    let Some(cores) = machine.large() else { return false };
    let exprs = &machine.program.exprs;
    let count = |sides: &[Side]| {
        let all = sides.iter().map(|side| side.extent).reduce(|all, more| exprs.product(all, more));
        exprs.ceil_div(all.unwrap_or_else(|| exprs.int(1)), exprs.int(LARGE))
    };
    let tiles = exprs.product(count(product.rows), count(product.columns));
    let all = product.batch.iter().rev().fold(tiles, |all, side| exprs.product(side.extent, all));
    let wide = |sides: &[Side]| !matches!(sides, [one] if one.least < LARGE);
    wide(product.rows) && wide(product.columns) && Prover::new(machine.program).at_least(all, cores)
}
