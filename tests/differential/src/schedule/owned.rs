//! Blocks that an invocation owns: if a stage reads at `i / 4 * 4 + k`, its axis is split into blocks, and the block that it reads
//! is copied to registers, or computed there.

use super::directives::{cut, place, step};
use super::nest::Nest;
use super::tree::{Argument, Directive};
use crate::kernel::tree::{Expr, ExprKind, Stage};
use fastrand::Rng;

/// Generates directives of a stage that reads blocks, mostly.
pub(super) fn blocks(nest: &mut Nest<'_>, stage: &Stage, random: &mut Rng) -> Option<Vec<Directive>> {
    let (axis, block) = block(stage).filter(|_| random.u8(..100) < 75)?;
    let by = if random.u8(..5) == 0 { block * 2 } else { block };
    let tail = (random.bool() && nest.axes[axis].extent.divisible(by)).then_some("exact");
    let (name, into) = (nest.axes[axis].name.clone(), nest.fresh());
    let tile = Argument::Tile { axis: name.clone(), factor: by.into(), tail, outer: Some(into.clone()) };
    let mut made = vec![Directive { arguments: vec![tile], ..Directive::new("tile", []) }];
    let (outer, inner) = cut(nest, axis, by, (name, into));
    // The inner axis belongs to the owner.
    nest.axes[inner].fixed = true;
    if random.u8(..100) < 70 {
        made.extend(place(nest, &[outer], "workgroup", random));
    }
    for name in ["to workgroups", "to threads", "outward"] {
        if random.u8(..100) < 50 {
            made.extend(step(name, nest, random));
        }
    }
    for _ in 0..6 {
        let own = step(random.choice(["compute_at", "promote"])?, nest, random);
        let held = own.iter().any(|d| d.keys.contains(&("to", "register".into())));
        made.extend(own);
        if held {
            break;
        }
    }
    Some(made)
}

/// Returns the first axis whose blocks a stage reads, and the length of a block: `i / 4 * 4`, or `i - i % 4`.
fn block(stage: &Stage) -> Option<(usize, i64)> {
    let mut found = None;
    let digit = |e: &Expr, op: &str| match &e.kind {
        ExprKind::Infix(by, axis, n) if *by == op => match &axis.kind {
            ExprKind::Name(name) => stage.axes.iter().position(|axis| axis == name).zip(n.as_int()),
            _ => None,
        },
        _ => None,
    };
    stage.value.visit(&mut |e| {
        let block = match &e.kind {
            ExprKind::Infix("*", tile, n) => digit(tile, "/").filter(|(_, by)| n.as_int() == Some(*by)),
            ExprKind::Infix("-", _, point) => digit(point, "%"),
            _ => None,
        };
        found = found.or(block.filter(|(_, n)| *n > 1));
    });
    found
}
