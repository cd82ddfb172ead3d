//! Products without copies in shared memory: for CPUs, whose shared memory is ordinary memory, and where copies are refused.

use super::Product;
use crate::plan::draft::Draft;
use crate::plan::machine::Machine;
use crate::plan::number::near;

/// The rows and columns of a workgroup and the rows of an invocation on a CPU. All invocations of a vector read the same row, so
/// its elements are uniform.
const CPU: [i64; 2] = [8, 8];

/// The same on a GPU, for 128 invocations.
const GPU: [i64; 2] = [32, 4];

/// Plans a product. `tail` is the treatment of items past the end.
pub(super) fn plan(product: &Product<'_>, machine: &Machine<'_>, tail: &str) -> Option<Draft> {
    let cpu = machine.profile.cpu;
    let (lanes, [height, each]) = if cpu { (machine.row(), CPU) } else { (16, GPU) };
    let vector = machine.vector(product.nest).min(4);
    let mut draft = Draft::default();
    let of = (machine, product.nest);
    let rows = draft.number(of, "ROW_THREADS", height / each, if cpu { vec![1] } else { near(height / each, 4..=32) });
    let lanes = draft.number(of, "COLUMN_THREADS", lanes, near(lanes, 4..=32));
    let each = draft.number(of, "ROW_EACH", each, near(each, 2..=16));
    let (row, column) = product.fused(&mut draft);
    product.tiled((&row, &rows.times(&each)), (&column, &lanes.times(vector)), false, &mut draft);
    let count = lanes.times(&rows);
    match rows.value {
        1 => draft.line(format!("tile({column}: {vector}) => thread(x)"), format!("{count} invocations")),
        _ => draft.line(format!("tile({row}: {each}, {column}: {vector}) => thread(y, x)"), format!("{count} invocations")),
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
    draft.line(format!("unroll({unrolled}{row})"), format!("{} accumulators", each.times(vector)));
    draft.line(format!("vectorize({column}, {vector}, unaligned: scalar)"), "");
    Some(draft)
}
