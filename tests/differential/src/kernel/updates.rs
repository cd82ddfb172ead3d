//! Makes an input of a kernel a tensor that is updated in place: other definitions read its values before the launch.

use super::tree::{Argument, ArgumentKind, Expr, ExprKind, Kernel, Outside, Role, Stage, Type};
use fastrand::Rng;
use tilewright_launch::DType;

/// The names of axes.
pub(super) const AXES: [&str; 4] = ["i", "j", "h", "w"];

/// Updates a random input, after the last definition that reads it. Later definitions can use its old values by intermediates. Sometimes,
/// the input changes places with another tensor, so that each of both needs the old values of the other.
pub(super) fn updated(random: &mut Rng, kernel: &mut Kernel) {
    let is_open = |argument: &&Argument| {
        matches!(&argument.kind, ArgumentKind::Input(shape) if shape.len() <= AXES.len()) && argument.ty != Type::Is(DType::I64)
    };
    let Some(chosen) = random.choice(kernel.arguments.iter().filter(is_open).collect::<Vec<_>>()).cloned() else { return };
    let ArgumentKind::Input(shape) = chosen.kind.clone() else { return };
    let own = element(&chosen, shape.len());
    let define = |name: &str, role, value| {
        let axes = AXES[..shape.len()].iter().map(|axis| (*axis).to_owned()).collect();
        Stage { name: name.to_owned(), role, ty: chosen.ty, shape: shape.clone(), axes, value, joined: false }
    };
    let at = kernel.stages.iter().rposition(|stage| reads(stage, &chosen.name)).map_or(0, |last| last + 1);
    let stages = if random.u8(..100) < 30 {
        let other = Argument { name: "z".into(), ty: chosen.ty, kind: ArgumentKind::Update(shape.clone()) };
        let kept = format!("s{}", kernel.stages.iter().filter(|stage| stage.role == Role::Intermediate).count());
        let old = Argument { name: kept.clone(), ..other.clone() };
        kernel.arguments.push(other.clone());
        vec![
            define(&kept, Role::Intermediate, changed(own)),
            define(&chosen.name, Role::Update, element(&other, shape.len())),
            define(&other.name, Role::Update, element(&old, shape.len())),
        ]
    } else {
        let is_same = |stage: &&Stage| stage.role == Role::Intermediate && stage.ty == chosen.ty && stage.shape == shape;
        let same = random.choice(kernel.stages[..at].iter().filter(is_same).collect::<Vec<_>>());
        let value = match same {
            Some(stage) => element(&Argument { name: stage.name.clone(), ..chosen.clone() }, shape.len()),
            None => changed(own),
        };
        vec![define(&chosen.name, Role::Update, value)]
    };
    kernel.stages.splice(at..at, stages);
    let argument = kernel.arguments.iter_mut().find(|argument| argument.name == chosen.name);
    argument.into_iter().for_each(|argument| argument.kind = ArgumentKind::Update(shape.clone()));
}

/// Returns the element of a tensor at a definition's own axes.
fn element(of: &Argument, rank: usize) -> Expr {
    let index = AXES[..rank].iter().map(|axis| Expr::name(*axis)).collect();
    Expr::new(ExprKind::Read { tensor: of.name.clone(), outside: Outside::Never, index }, of.ty)
}

/// Returns a new value for an element.
fn changed(old: Expr) -> Expr {
    let ty = old.ty;
    match ty {
        Type::Is(DType::Bool) => Expr::new(ExprKind::Prefix("!", old.into()), ty),
        _ if ty.is_float() => old.infix("*", Expr::literal("0.5", ty)),
        _ => old.infix("^", Expr::literal("3", ty)),
    }
}

/// True if a stage reads a tensor.
fn reads(stage: &Stage, name: &str) -> bool {
    let mut found = false;
    stage.value.visit(&mut |e| found |= matches!(&e.kind, ExprKind::Read { tensor, .. } if tensor == name));
    found
}
