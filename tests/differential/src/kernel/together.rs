//! Defines a further result together with one that is not a reduction. Schedules do not mention it, because both share a nest.

use super::tree::{Argument, ArgumentKind, Expr, ExprKind, Kernel, Outside, Role, Stage, Type};
use fastrand::Rng;
use tilewright_launch::DType;

/// Adds the result to a kernel. Sometimes it updates a tensor that was not there before.
pub(crate) fn joined(random: &mut Rng, kernel: &mut Kernel) {
    let is_open = |(_, stage): &(usize, &Stage)| {
        stage.role != Role::Intermediate && !stage.value.reduces() && stage.ty != Type::Is(DType::I64)
    };
    let open: Vec<usize> = kernel.stages.iter().enumerate().filter(is_open).map(|(at, _)| at).collect();
    let Some(at) = random.choice(open) else { return };
    let first = kernel.stages[at].clone();
    let name = "also".to_owned();
    let update = random.u8(..100) < 40;
    let index = first.axes.iter().map(Expr::name).collect();
    let old = Expr::new(ExprKind::Read { tensor: name.clone(), outside: Outside::Never, index }, first.ty);
    let value = match (first.ty, update) {
        (Type::Is(DType::Bool), true) => first.value.clone().infix("^", old),
        (Type::Is(DType::Bool), false) => Expr::new(ExprKind::Prefix("!", first.value.clone().into()), first.ty),
        (ty, true) if ty.is_float() => first.value.clone().infix("+", old),
        (ty, false) if ty.is_float() => first.value.clone().infix("*", Expr::literal("0.5", ty)),
        (_, true) => first.value.clone().infix("^", old),
        (ty, false) => first.value.clone().infix("^", Expr::literal("5", ty)),
    };
    if update {
        let kind = ArgumentKind::Update(first.shape.clone());
        kernel.arguments.push(Argument { name: name.clone(), ty: first.ty, kind });
    }
    let role = if update { Role::Update } else { Role::Output };
    kernel.stages.insert(at + 1, Stage { name, role, value, joined: true, ..first });
}
