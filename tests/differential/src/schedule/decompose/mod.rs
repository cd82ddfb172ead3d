//! Chooses the decomposition of the kernel's convolution, if it has one: the stage and the directive.

mod im2col;
mod winograd;

use crate::kernel::WINDOWS;
use crate::kernel::tree::{ExprKind, Kernel, Range, Stage};
use crate::schedule::tree::{Argument, Block, Directive, Fact};
use fastrand::Rng;

/// A decomposition of a kernel.
pub(super) struct Decomposed {
    /// The statement.
    pub(super) directive: Directive,
    /// Stages that are stored.
    pub(super) stored: Vec<String>,
    /// A stage that is stored if no directive places it.
    pub(super) placed: Option<String>,
    /// A stage whose result has another name: the stage, and that name.
    pub(super) result: Option<(String, String)>,
}

impl Decomposed {
    /// Renames copies of a result, which are named after the tensor and not after the stage.
    pub(super) fn name_results(&self, blocks: &mut [Block]) {
        let Some((stage, tensor)) = &self.result else { return };
        for directive in blocks.iter_mut().flat_map(|block| &mut block.directives).filter(|d| d.name == "promote") {
            if let Some(Argument::Name(source)) = directive.arguments.first_mut().filter(|a| **a == Argument::Name(stage.clone())) {
                source.clone_from(tensor);
            }
        }
    }
}

/// Decomposes the kernel's convolution, mostly.
pub(super) fn decompose(kernel: &mut Kernel, facts: &mut Vec<Fact>, random: &mut Rng) -> Option<Decomposed> {
    let slides = |stage: &Stage| stage.reduction().is_some_and(|(_, ranges)| ranges.iter().any(is_window));
    let at = kernel.stages.iter().position(slides).filter(|_| random.u8(..100) < 92)?;
    // Winograd's algorithm requires dense windows.
    let share = if is_dense(&kernel.stages[at]) { 50 } else { 4 };
    match random.u8(..100) < share {
        true => winograd::decompose(kernel, at, facts, random),
        false => im2col::decompose(kernel, at, random),
    }
}

/// Returns true if a range of a sum is a window's.
pub(super) fn is_window(range: &Range) -> bool {
    WINDOWS.iter().any(|(_, tap, _)| range.axis == *tap)
}

/// Returns true if the windows have 3 or 5 taps, a stride of 1 and a dilation of 1.
fn is_dense(stage: &Stage) -> bool {
    let mut dense = true;
    stage.value.visit(&mut |e| match &e.kind {
        ExprKind::Read { index, .. } => {
            index.iter().for_each(|i| i.visit(&mut |e| dense &= !matches!(e.kind, ExprKind::Infix("*", ..))))
        }
        ExprKind::Reduce { ranges, .. } => {
            dense &= ranges.iter().filter(|r| is_window(r)).all(|r| matches!(r.high.as_int(), Some(3 | 5)))
        }
        _ => {}
    });
    dense
}
