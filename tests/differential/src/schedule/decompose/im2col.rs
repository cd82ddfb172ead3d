//! `decompose_im2col`: for later directives, the kernel has a stage of columns, and the convolution is a product of these with the
//! filter, under another name.

use super::Decomposed;
use crate::kernel::tree::{Expr, ExprKind, Kernel, Outside, Range, Role, Stage};
use crate::schedule::tree::{Argument, Directive};
use fastrand::Rng;

/// Decomposes the convolution that is the stage at `at`.
pub(super) fn decompose(kernel: &mut Kernel, at: usize, random: &mut Rng) -> Option<Decomposed> {
    let stage = kernel.stages[at].clone();
    let (_, ranges) = stage.reduction()?;
    let columns = columns(&stage, ranges)?;
    let index = columns.axes.iter().map(Expr::name).collect();
    let read = Expr::new(ExprKind::Read { tensor: columns.name.clone(), outside: Outside::Never, index }, columns.ty);
    let mut product = Stage { name: "gemm".into(), ..stage.clone() };
    replace(&mut product.value, &|e| *e == columns.value, &read);
    let produced = [&columns.name, &product.name].map(Clone::clone).to_vec();
    let arguments = vec![Argument::Name(stage.name.clone())];
    let directive = Directive { arguments, produced, ..Directive::new("decompose_im2col", []) };
    let is_stored = random.u8(..100) < 40;
    let (stored, placed) = if is_stored { (vec![columns.name.clone()], None) } else { (Vec::new(), Some(columns.name.clone())) };
    let product_name = product.name.clone();
    kernel.stages.splice(at..=at, [columns, product]);
    if stage.role == Role::Intermediate {
        let renamed = |e: &mut Expr| match &mut e.kind {
            ExprKind::Read { tensor, .. } if *tensor == stage.name => "gemm".clone_into(tensor),
            _ => {}
        };
        kernel.stages.iter_mut().for_each(|other| each(&mut other.value, &renamed));
    }
    let result = (stage.role != Role::Intermediate).then_some((product_name, stage.name));
    Some(Decomposed { directive, stored, placed, result })
}

/// Returns the stage of columns: the factor that reads the input, on the axes that it names.
fn columns(stage: &Stage, ranges: &[Range]) -> Option<Stage> {
    let mut factor = None;
    stage.value.visit(&mut |e| {
        if let ExprKind::Reduce { body, .. } = &e.kind
            && let ExprKind::Infix("*", a, b) = &body.kind
        {
            factor = [a, b].into_iter().find(|side| reads_input(side)).map(|side| Expr::clone(side));
        }
    });
    // Conversions are made where columns are read.
    let value = match factor? {
        Expr { kind: ExprKind::Cast(inner), .. } => *inner,
        value => value,
    };
    let names = value.names();
    let own = stage.axes.iter().cloned().zip(stage.shape.iter().cloned());
    let all = own.chain(ranges.iter().map(|range| (range.axis.clone(), range.high.clone())));
    let (axes, shape) = all.filter(|(axis, _)| names.contains(axis.as_str())).unzip();
    Some(Stage { name: "cols".into(), role: Role::Intermediate, ty: value.ty, shape, axes, value, joined: false })
}

fn reads_input(e: &Expr) -> bool {
    let mut found = false;
    e.visit(&mut |e| found |= matches!(&e.kind, ExprKind::Read { tensor, .. } if tensor == "x"));
    found
}

/// Replaces the expressions that satisfy `is`.
fn replace(e: &mut Expr, is: &dyn Fn(&Expr) -> bool, by: &Expr) {
    if is(e) {
        *e = by.clone();
        return;
    }
    e.children_mut().into_iter().for_each(|child| replace(child, is, by));
}

fn each(e: &mut Expr, change: &dyn Fn(&mut Expr)) {
    change(e);
    e.children_mut().into_iter().for_each(|child| each(child, change));
}
