//! Products on matrix units: four subgroups multiply fragments of narrow dtypes that a workgroup copies to shared memory.

use super::Product;
use crate::launch::Feature;
use crate::nest::Body;
use crate::plan::draft::Draft;
use crate::plan::form::Step;
use crate::plan::machine::{ACCESS, Machine};
use crate::plan::number::near;
use tilewright_launch::DType;

/// The tile of a workgroup of four subgroups, two by two.
struct Tile {
    height: i64,
    width: i64,
    depth: i64,
}

/// For devices with 255 registers an invocation.
const BIG: Tile = Tile { height: 128, width: 64, depth: 32 };

/// For whole tiles, whose results need no copy in shared memory.
const WHOLE: Tile = Tile { height: 128, width: 128, depth: 64 };

/// For other GPUs.
const SMALL: Tile = Tile { height: 64, width: 64, depth: 32 };

/// For CPUs, which emulate the matrices.
const CPU: Tile = Tile { height: 32, width: 32, depth: 32 };

/// Plans a product of factors that the device multiplies as matrices. `None` if the device does not multiply such matrices.
pub(super) fn plan(product: &Product<'_>, machine: &Machine<'_>) -> Option<Draft> {
    let shape = shape(product, machine)?;
    if !product.plain || product.ragged || product.left.buffer == product.right.buffer {
        return None;
    }
    let whole = whole(product, machine);
    let tile = match (machine.profile.cpu, machine.large()) {
        (true, _) => CPU,
        _ if whole => WHOLE,
        (_, Some(_)) => BIG,
        _ => SMALL,
    };
    let mut draft = Draft::default();
    let of = (machine, product.nest);
    // The tiles of the facts are whole, and a tile of twice their size may not be.
    let most = |planned: i64, most: i64| if whole { planned } else { most };
    let height = draft.number(of, "ROWS", tile.height, near(tile.height, 32..=most(tile.height, 256)));
    let width = draft.number(of, "COLUMNS", tile.width, near(tile.width, 32..=most(tile.width, 256)));
    let depth = draft.number(of, "STEP", tile.depth, near(tile.depth, 16..=most(tile.depth, 64)));
    let (row, column) = product.fused(&mut draft);
    product.tiled((&row, &height), (&column, &width), whole, &mut draft);
    let items = product.steps(&depth, &|k| format!("{k}, {column}, {row}"), &mut draft)?;
    let (left, right, k, step) = (&product.left.name, &product.right.name, &items.axis, &items.step);
    let (left_copy, right_copy) = (machine.copy(product.nest, left), machine.copy(product.nest, right));
    let fill = if whole { "" } else { product.fill() };
    let [left_pad, right_pad] = pads(product);
    draft.line(
        format!("promote({left} => {left_copy}_s[{row}, {k}], at: {step}, to: shared{fill}, row_pad: {left_pad})"),
        "each element serves many results",
    );
    let axes = right_axes(product, k, &column);
    draft.line(format!("promote({right} => {right_copy}_s[{axes}], at: {step}, to: shared{fill}, row_pad: {right_pad})"), "");
    if !machine.profile.cpu {
        draft.line(format!("pipeline({step}, buffers: 1, prefetch: register)"), "the next step is loaded during this one");
    }
    if !whole {
        let result = product.stage();
        draft.line(
            format!("promote({result} => {result}_s[{row}, {column}], at: workgroup, to: shared)"),
            "writes with guards, and along rows",
        );
    }
    draft.line(format!("tile({row}: {}, {column}: {}) => subgroup(y, x)", height.over(2), width.over(2)), "4 subgroups");
    let [m, n, depth] = shape;
    draft.line(
        format!("mma({row}, {column}, {k}, {m} x {n} x {depth})"),
        format!("{} fragments", tile.height * tile.width / 4 / (m * n)),
    );
    draft.line(format!("unroll({k})"), "");
    Some(draft)
}

/// True if a plan of whole tiles is legal.
pub(super) fn whole(product: &Product<'_>, machine: &Machine<'_>) -> bool {
    machine.large().is_some() && product.is_exact(WHOLE.height, WHOLE.width, WHOLE.depth)
}

/// Returns the facts under which tiles are whole.
pub(super) fn whole_facts(product: &Product<'_>, machine: &Machine<'_>) -> Vec<String> {
    let ([row], [column], Some(k)) = (product.rows, product.columns, product.nest.reduced.last()) else { return Vec::new() };
    if machine.large().is_none() || product.nest.reduced.len() > 1 {
        return Vec::new();
    }
    [row.multiple(WHOLE.height), column.multiple(WHOLE.width), k.multiple(WHOLE.depth)].into_iter().flatten().collect()
}

/// Returns the matrices that the device multiplies with the types of a product.
pub(super) fn shape(product: &Product<'_>, machine: &Machine<'_>) -> Option<[i64; 3]> {
    let sum = sum(product, machine)?;
    let profile = machine.profile;
    if !profile.has(Feature::CooperativeMatrix) {
        return None;
    }
    let factors = [product.left.dtype, product.right.dtype];
    let fits = profile.matrices.iter().find(|row| row.factors == factors && row.sum == sum)?;
    Some(fits.shape.map(i64::from))
}

/// Returns the padding of the factors' rows in shared memory: 16 bytes, so that rows begin in different banks.
pub(super) fn pads(product: &Product<'_>) -> [i64; 2] {
    [product.left, product.right].map(|factor| ACCESS / factor.dtype.bytes() as i64)
}

/// Returns the axes of a copy of the right factor in their order in memory, so that copies are wide.
pub(super) fn right_axes(product: &Product<'_>, k: &str, column: &str) -> String {
    let is_along = |n: usize| product.right.steps[product.nest.reduced_at(n)] == Step::Next;
    let last = product.nest.reduced.len().checked_sub(1);
    if last.is_some_and(is_along) { format!("{column}, {k}") } else { format!("{k}, {column}") }
}

/// Returns the type of a product's sum.
pub(super) fn sum(product: &Product<'_>, machine: &Machine<'_>) -> Option<DType> {
    let program = machine.program;
    let Body::Reduce { lift, .. } = &program.stages[product.nest.stage].body else { return None };
    let [item] = lift.as_slice() else { return None };
    Some(program.exprs.dtype(*item))
}
