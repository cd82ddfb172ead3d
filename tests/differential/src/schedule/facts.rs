//! Facts of a kernel or a schedule about sizes and tensors.

use super::tree::Fact;
use crate::kernel::Kernel;
use crate::kernel::tree::{ArgumentKind, Expr, GenericKind};
use fastrand::Rng;

/// Generates some facts.
pub(crate) fn facts(kernel: &Kernel, random: &mut Rng) -> Vec<Fact> {
    let mut facts = Vec::new();
    for generic in &kernel.generics {
        let derived = matches!(generic.kind, GenericKind::Derived(_));
        if !derived && generic.kind != GenericKind::Dim {
            continue;
        }
        let dim = Expr::name(&generic.name);
        match random.u8(..100) {
            0..20 => {
                let by = random.choice([2, 4, 4, 8, 3]).unwrap_or(4);
                facts.push(Fact::Size(dim.infix("%", Expr::int(by)), "==", 0));
            }
            20..28 => facts.push(Fact::Size(dim, "==", random.i64(1..=8))),
            28..36 => facts.push(Fact::Size(dim, "<=", random.i64(2..=12))),
            36..42 => facts.push(Fact::Size(dim, ">=", random.i64(1..=6))),
            _ => {}
        }
    }
    for argument in &kernel.arguments {
        let tensor = matches!(argument.kind, ArgumentKind::Input(_) | ArgumentKind::Update(_));
        if tensor && argument.ty.is_float() && random.u8(..100) < 15 {
            facts.push(Fact::Finite(argument.name.clone()));
        }
    }
    for argument in kernel.arguments.iter().filter(|argument| argument.kind == ArgumentKind::Scalar) {
        if argument.ty.is_float() && random.u8(..100) < 30 {
            facts.extend(bounds(&argument.name).into_iter().filter(|_| random.u8(..100) < 80));
        }
    }
    facts
}

/// Returns facts that a scalar is above 0 and finite.
pub(super) fn bounds(scalar: &str) -> [Fact; 2] {
    [(">", "0.01"), ("<", "1000.0")].map(|(op, number)| Fact::Bound(scalar.to_owned(), op, number))
}

/// Returns true if a scalar satisfies the facts.
pub(crate) fn admit(facts: &[Fact], scalar: &str, value: f64) -> bool {
    facts.iter().all(|fact| match fact {
        Fact::Bound(of, op, number) if of == scalar => {
            let number: f64 = number.parse().unwrap_or(f64::NAN);
            if *op == ">" { value > number } else { value < number }
        }
        _ => true,
    })
}

/// Returns true if sizes satisfy the facts.
pub(crate) fn hold(kernel: &Kernel, facts: &[Fact], dims: &[(String, i64)]) -> bool {
    facts.iter().all(|fact| match fact {
        Fact::Finite(_) | Fact::Bound(..) => true,
        Fact::Size(left, op, right) => kernel.size(left, dims).is_some_and(|left| match *op {
            "==" => left == *right,
            "<=" => left <= *right,
            _ => left >= *right,
        }),
    })
}
