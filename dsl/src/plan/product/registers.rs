//! Products without copies in shared memory: for CPUs, whose shared memory is ordinary memory, and where copies are refused.

use super::Product;
use crate::plan::draft::Draft;
use crate::plan::machine::Machine;
use crate::plan::number::near;

/// The rows of a workgroup, and the rows and columns of an invocation.
struct Tile {
    height: i64,
    each: [i64; 2],
}

/// For a CPU. All invocations of a vector read the same rows, so the elements of these are uniform.
const CPU: Tile = Tile { height: 16, each: [16, 4] };

/// The same for many columns.
const WIDE: Tile = Tile { height: 16, each: [16, 8] };

/// The columns from which on a tile for a CPU is wide.
pub(super) const COLUMNS: i64 = 64;

/// For a GPU, for 128 invocations.
const GPU: Tile = Tile { height: 32, each: [4, 4] };

/// Plans a product. `tail` is the treatment of items past the end.
pub(super) fn plan(product: &Product<'_>, machine: &Machine<'_>, tail: &str) -> Option<Draft> {
    let cpu = machine.profile.cpu;
    let is_wide = product.columns.iter().any(|side| side.least >= COLUMNS);
    let tile = if is_wide { WIDE } else { CPU };
    let (lanes, Tile { height, each: [each, wide] }) = if cpu { (machine.row(), tile) } else { (16, GPU) };
    let vector = machine.vector(product.nest).min(4);
    let mut draft = Draft::default();
    let of = (machine, product.nest);
    let rows = draft.number(of, "ROW_THREADS", height / each, if cpu { vec![1] } else { near(height / each, 4..=32) });
    let lanes = draft.number(of, "COLUMN_THREADS", lanes, near(lanes, 4..=32));
    let each = draft.number(of, "ROW_EACH", each, near(each, 2..=32));
    // An invocation of a GPU computes one access of a row.
    let wide =
        if cpu && wide > vector { draft.number(of, "COLUMN_EACH", wide, near(wide, 2 * vector..=16)) } else { vector.into() };
    let (row, column) = product.fused(&mut draft);
    product.tiled((&row, &rows.times(&each)), (&column, &lanes.times(&wide)), false, &mut draft);
    let count = lanes.times(&rows);
    match rows.value {
        1 => draft.line(format!("tile({column}: {wide}) => thread(x)"), format!("{count} invocations")),
        _ => draft.line(format!("tile({row}: {each}, {column}: {wide}) => thread(y, x)"), format!("{count} invocations")),
    }
    // Several accesses of a row are a loop, which is reordered with the others.
    let accesses = wide.value > vector;
    let vectorize = |draft: &mut Draft| draft.line(format!("vectorize({column}, {vector}, unaligned: scalar)"), "");
    if accesses {
        vectorize(&mut draft);
    }
    let (channel, window) = product.nest.reduced.split_last()?;
    let k = &channel.name;
    let loops = window.iter().map(|side| format!("{}, ", side.name)).collect::<String>();
    let short = channel.exact.is_some_and(|n| n <= 8);
    // Groups of four items are read by one access. Without whole groups, each item would be guarded.
    let grouped = !short && (channel.divisor >= 4 || (product.plain && !product.ragged && !tail.is_empty()));
    if product.piece.is_some() && !grouped {
        return None;
    }
    if grouped {
        let tail = if channel.divisor >= 4 { "" } else { tail };
        draft.first(format!("tile({k}: 4{tail} => {k}_o)"), "16 bytes of a factor at a time");
        product.split(&format!("{k}_o"), &4.into(), true, &mut draft);
    }
    let steps = if grouped { format!("{k}_o, ") } else { String::new() };
    draft.line(format!("reorder({loops}{steps}{k}, {row}, {column})"), "");
    let unrolled = if grouped || short { format!("{k}, ") } else { String::new() };
    let along = if accesses { format!(", {column}") } else { String::new() };
    draft.line(format!("unroll({unrolled}{row}{along})"), format!("{} accumulators", each.times(&wide)));
    if !accesses {
        vectorize(&mut draft);
    }
    Some(draft)
}
