//! `scatter(i)`: updates of one element for each operand of a reduction, if the operands choose the value of an axis.

use super::{some, step};
use crate::kernel::tree::{Expr, ExprKind, Kernel, Stage};
use crate::schedule::nest::{Exec, Memory, Nest};
use crate::schedule::tree::{Directive, Fact};
use fastrand::Rng;
use tilewright_launch::DType;

pub(super) fn propose(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    let open = open(nest);
    let axes = if random.u8(..4) == 0 { some(open, 2, random) } else { open };
    if axes.is_empty() {
        return None;
    }
    for axis in &axes {
        nest.axes[*axis].live = false;
        nest.path.retain(|a| a != axis);
    }
    nest.scattered = true;
    Some(Directive::new("scatter", axes.iter().map(|axis| nest.axes[*axis].name.clone())))
}

/// Returns the axes that can be scattered: operands choose them, and no directive has named them.
fn open(nest: &Nest<'_>) -> Vec<usize> {
    let is_bound = nest.axes.iter().any(|a| a.exec == Exec::Lanes || a.reduction && a.exec != Exec::Plain);
    let holds = !nest.copies.is_empty() || !nest.hosted.is_empty() || nest.by.is_some();
    let is_word = nest.bytes == 4 || nest.dtype == DType::Bool;
    if is_bound || holds || !is_word || nest.within == Some(Memory::Register) {
        return Vec::new();
    }
    let own = |name: &String| nest.axes.iter().position(|a| a.name == *name && !a.reduction);
    nest.chosen.iter().filter_map(own).filter(|a| nest.axes[*a].live && nest.axes[*a].exec == Exec::Plain).collect()
}

/// Generates the first directives of a stage whose operands choose an axis: mostly `scatter`, or partial results whose stage is scattered.
/// Other stages use no random numbers, so that they stay as they were before this directive existed.
pub(in crate::schedule) fn first(nest: &mut Nest<'_>, random: &mut Rng) -> Vec<Directive> {
    if open(nest).is_empty() {
        return Vec::new();
    }
    match random.u8(..100) {
        0..60 => {
            let mut made = step("scatter", nest, random);
            if random.u8(..100) < 50 {
                made.extend(step("strategy", nest, random));
            }
            made
        }
        60..85 => {
            let mut made = step("rfactor", nest, random);
            if random.u8(..100) < 50 {
                made.extend(step("strategy", nest, random));
            }
            if random.u8(..100) < 60 {
                made.extend(step("compute_at", nest, random));
            }
            made
        }
        _ => Vec::new(),
    }
}

/// Returns the axes of a stage whose value the operands of its reduction choose, if the axes have values.
pub(in crate::schedule) fn chosen(kernel: &Kernel, stage: &Stage, facts: &[Fact]) -> Vec<String> {
    let mut conditions = Vec::new();
    if stage.reduction().is_some_and(|(op, _)| !op.starts_with("arg")) {
        stage.value.visit(&mut |e| {
            if let ExprKind::Reduce { only, body, .. } = &e.kind {
                conditions.extend(only.as_deref());
                conditions.extend(match &body.kind {
                    ExprKind::If(cond, ..) => Some(&**cond),
                    _ => None,
                });
            }
        });
    }
    let own = stage.axes.iter().zip(&stage.shape);
    let found = own.filter(|(axis, size)| has_values(kernel, size, facts) && conditions.iter().any(|c| chooses(c, axis)));
    found.map(|(axis, _)| axis.clone()).collect()
}

/// True if a condition compares an axis for equality with a value that does not depend on it.
fn chooses(cond: &Expr, axis: &str) -> bool {
    let is_axis = |e: &Expr| matches!(&e.kind, ExprKind::Name(name) if name == axis);
    let is_moved = |e: &Expr| matches!(&e.kind, ExprKind::Infix("+" | "-", a, b) if is_axis(a) && b.as_int().is_some());
    match &cond.kind {
        ExprKind::Infix("&&", a, b) => chooses(a, axis) || chooses(b, axis),
        ExprKind::Infix("==", a, b) => {
            [(a, b), (b, a)].into_iter().any(|(of, other)| (is_axis(of) || is_moved(of)) && !other.names().contains(axis))
        }
        _ => false,
    }
}

/// True if a size is known to be above 0.
fn has_values(kernel: &Kernel, size: &Expr, facts: &[Fact]) -> bool {
    let says = |fact: &Fact| matches!(fact, Fact::Size(left, ">=" | "==", least) if left == size && *least > 0);
    kernel.size(size, &[]).map_or_else(|| kernel.facts.iter().chain(facts).any(says), |size| size > 0)
}
