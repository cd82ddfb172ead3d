//! Makes the results and reductions of a kernel shorter: `N` becomes `N.min(M)`, `N / M` or another size that is at most `N`. Reads stay in
//! bounds, because each axis has a part of its range.

use super::tree::{Expr, ExprKind, Kernel, Range, Role};
use fastrand::Rng;
use std::collections::BTreeSet;

/// Shortens results that no stage reads, and reductions over sizes.
pub(crate) fn narrowed(random: &mut Rng, kernel: &mut Kernel) {
    let dims: Vec<String> = kernel.dims().map(str::to_owned).collect();
    let sizes: BTreeSet<String> = kernel.generics.iter().map(|generic| generic.name.clone()).collect();
    let read: BTreeSet<String> = kernel.stages.iter().flat_map(|stage| stage.value.names()).map(str::to_owned).collect();
    let together: Vec<usize> =
        (1..kernel.stages.len()).filter(|at| kernel.stages[*at].joined).flat_map(|at| [at - 1, at]).collect();
    for (at, stage) in kernel.stages.iter_mut().enumerate() {
        if stage.role == Role::Output && !read.contains(&stage.name) && !together.contains(&at) {
            stage.shape.iter_mut().for_each(|size| shorten(random, size, &dims, &sizes));
        }
        reductions(random, &mut stage.value, &dims, &sizes);
    }
}

/// Shortens the ranges of reductions that begin at 0. The result of `argmin` and `argmax` needs an item.
fn reductions(random: &mut Rng, e: &mut Expr, dims: &[String], sizes: &BTreeSet<String>) {
    if let ExprKind::Reduce { op, ranges, .. } = &mut e.kind
        && !op.starts_with("arg")
    {
        for Range { low, high, inclusive, .. } in ranges {
            if low.as_int() == Some(0) && !*inclusive {
                shorten(random, high, dims, sizes);
            }
        }
    }
    e.children_mut().into_iter().for_each(|child| reductions(random, child, dims, sizes));
}

/// Sometimes makes a size shorter by other dims.
fn shorten(random: &mut Rng, size: &mut Expr, dims: &[String], sizes: &BTreeSet<String>) {
    let is_of_sizes = !size.names().is_empty() && size.names().iter().all(|name| sizes.contains(*name));
    let other = |random: &mut Rng| random.choice(dims).map(Expr::name);
    let Some((one, two)) = other(random).zip(other(random)).filter(|_| is_of_sizes && random.u8(..100) < 60) else { return };
    let whole = size.clone();
    *size = match random.u8(..6) {
        0..2 => whole.method("min", [one]),
        2 => whole.method("min", [one.method("max", [two])]),
        3 => whole.method("min", [one.infix("/", two)]),
        4 => whole.infix("/", one),
        _ => whole.infix("/", one.method("max", [two])).method("max", [Expr::int(0)]),
    };
}
