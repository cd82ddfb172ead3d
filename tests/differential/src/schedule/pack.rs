//! `pack`: other layouts. For later directives, the kernel reads at index components, has a stage over components for each packed
//! result and intermediate, and a stage that packs or unpacks if the launch does that.

use super::tree::{Argument, Directive};
use crate::kernel::text::commas;
use crate::kernel::tree::{ArgumentKind, Expr, ExprKind, INDEX, Kernel, Outside, Role, Stage, Type};
use fastrand::Rng;
use std::collections::BTreeSet;

/// The packs of a schedule.
#[derive(Default)]
pub(super) struct Packs {
    /// The statements.
    pub(super) directives: Vec<Directive>,
    /// Stages that other stages are not placed in, nor inlined, because packing made them.
    pub(super) stored: BTreeSet<String>,
}

/// A component of an index: the index, its divisor and its number of values; the highest component is unbounded.
#[derive(Clone, Copy)]
struct Digit {
    of: usize,
    by: i64,
    count: Option<i64>,
}

/// Chooses packs, and rewrites the kernel accordingly.
pub(super) fn packs(kernel: &mut Kernel, random: &mut Rng) -> Packs {
    let mut packs = Packs::default();
    if random.u8(..100) >= 13 {
        return packs;
    }
    for _ in 0..random.choice([1, 1, 1, 2]).unwrap_or(1) {
        let arguments = kernel.arguments.iter().filter_map(|a| match &a.kind {
            ArgumentKind::Input(shape) => Some((a.name.clone(), a.ty, shape.clone(), None)),
            _ => None,
        });
        // A result that is a decomposition's product has a different name than its stage.
        let product = |s: &Stage| s.name == "gemm" && s.role != Role::Intermediate;
        let stages = kernel.stages.iter().filter(|s| s.role != Role::Update && !packs.stored.contains(&s.name) && !product(s));
        let stages = stages.map(|s| (s.name.clone(), s.ty, s.shape.clone(), Some(s.role)));
        let taken = |name: &str| packs.stored.contains(name) || packs.stored.contains(&format!("{name}_packed"));
        let all: Vec<_> = arguments.chain(stages).filter(|(name, _, shape, _)| !shape.is_empty() && !taken(name)).collect();
        if let Some((name, ty, shape, role)) = random.choice(all) {
            packs.one(kernel, (name, ty, shape), role, random);
        }
    }
    packs
}

impl Packs {
    fn one(&mut self, kernel: &mut Kernel, (name, ty, shape): (String, Type, Vec<Expr>), role: Option<Role>, random: &mut Rng) {
        let digits = digits(shape.len(), random);
        let whens: &[&str] = match role {
            None => &["caller", "prepare", "dispatch"],
            Some(Role::Intermediate) => &[],
            Some(_) => &["caller", "dispatch"],
        };
        let when = random.choice(whens.iter().copied());
        let axes: Vec<String> = match kernel.stages.iter().find(|s| s.name == name) {
            Some(stage) if random.bool() => stage.axes.clone(),
            _ => ["a", "b", "c", "d", "e", "f", "g", "h"].iter().take(shape.len()).map(|a| (*a).to_owned()).collect(),
        };
        let text = |d: &Digit| match (d.by, d.count) {
            (1, None) => axes[d.of].clone(),
            (by, None) => format!("{} / {by}", axes[d.of]),
            (1, Some(n)) => format!("{} % {n}", axes[d.of]),
            (by, Some(n)) => format!("{} / {by} % {n}", axes[d.of]),
        };
        let map = format!("[{}]", commas(digits.iter().map(text)));
        let mut keys: Vec<(&'static str, String)> = when.iter().map(|when| ("when", (*when).to_owned())).collect();
        if ty.is_float() && random.u8(..4) == 0 {
            keys.push(("fill", random.choice(["0.0", "1.0", "-2.5"]).unwrap_or("0.0").to_owned()));
        }
        let arguments = vec![Argument::Text(format!("{name}[{}]", commas(&axes)))];
        self.directives.push(Directive { arguments, produced: vec![map], keys, ..Directive::new("pack", []) });
        let packed = match (role, when) {
            (None, Some("caller")) | (Some(_), Some("caller") | None) => name.clone(),
            _ => format!("{name}_packed"),
        };
        self.stored.insert(packed.clone());
        read_at_digits(kernel, &name, &packed, &digits);
        self.stages(kernel, (&name, &packed, ty, &shape), role, (&axes, &digits));
    }

    /// Adds the stages that compute, pack and unpack.
    fn stages(
        &mut self,
        kernel: &mut Kernel,
        (name, packed, ty, shape): (&str, &str, Type, &[Expr]),
        role: Option<Role>,
        (letters, digits): (&[String], &[Digit]),
    ) {
        let read = |tensor: &str, index: Vec<Expr>| {
            Expr::new(ExprKind::Read { tensor: tensor.to_owned(), outside: Outside::Clamp, index }, ty)
        };
        let names = |letters: &[String]| letters.iter().map(Expr::name).collect::<Vec<_>>();
        let stage = |name: &str, role: Role, axes: Vec<String>, shape: Vec<Expr>, value: Expr| Stage {
            name: name.to_owned(),
            role,
            ty,
            shape,
            axes,
            value,
            joined: false,
        };
        match role {
            None if packed != name => {
                let plain = stage(packed, Role::Intermediate, letters.to_vec(), shape.to_vec(), read(name, names(letters)));
                kernel.stages.insert(0, over_digits(plain, digits));
            }
            None => {}
            Some(role) => {
                let Some(at) = kernel.stages.iter().position(|s| s.name == name) else { return };
                let own = kernel.stages.remove(at);
                let computes = Stage { name: packed.to_owned(), ..over_digits(own, digits) };
                kernel.stages.insert(at, computes);
                if packed != name {
                    kernel.stages[at].role = Role::Intermediate;
                    let index = digits.iter().map(|d| digit(Expr::name(&letters[d.of]), *d)).collect();
                    kernel.stages.push(stage(name, role, letters.to_vec(), shape.to_vec(), read(packed, index)));
                }
            }
        }
    }
}

/// Chooses the components of some indices: each index is left whole, or split once or twice, and the components are in random
/// order.
fn digits(rank: usize, random: &mut Rng) -> Vec<Digit> {
    let mut digits = Vec::new();
    for of in 0..rank {
        let by = random.choice([2, 4, 4, 8, 3]).unwrap_or(4);
        match random.u8(..10) {
            0..5 => digits.push(Digit { of, by: 1, count: None }),
            5..9 => digits.extend([Digit { of, by, count: None }, Digit { of, by: 1, count: Some(by) }]),
            _ => digits.extend([
                Digit { of, by: by * 2, count: None },
                Digit { of, by, count: Some(2) },
                Digit { of, by: 1, count: Some(by) },
            ]),
        }
    }
    if random.bool() {
        random.shuffle(&mut digits);
    } else {
        // The low components are innermost.
        digits.sort_by_key(|d| d.by == 1 && d.count.is_some());
    }
    digits
}

fn digit(index: Expr, d: Digit) -> Expr {
    let index = if d.by == 1 { index } else { index.infix("/", Expr::int(d.by)) };
    match d.count {
        Some(n) => index.infix("%", Expr::int(n)),
        None => index,
    }
}

/// Replaces every read of a tensor by a read at its index components.
fn read_at_digits(kernel: &mut Kernel, of: &str, from: &str, digits: &[Digit]) {
    fn inside(e: &mut Expr, change: &dyn Fn(&mut Expr)) {
        e.children_mut().into_iter().for_each(|child| inside(child, change));
        change(e);
    }
    let change = |e: &mut Expr| {
        if let ExprKind::Read { tensor, index, .. } = &mut e.kind
            && tensor == of
        {
            from.clone_into(tensor);
            *index = digits.iter().filter_map(|d| Some(digit(index.get(d.of)?.clone(), *d))).collect();
        }
    };
    kernel.stages.iter_mut().for_each(|stage| inside(&mut stage.value, &change));
}

/// Returns a stage with an axis for each component: the lowest keeps the name, and those above are `c_o` and `c_oo`.
fn over_digits(stage: Stage, digits: &[Digit]) -> Stage {
    let (mut axes, mut shape) = (Vec::new(), Vec::new());
    let several = |of: usize| digits.iter().filter(|d| d.of == of).count() > 1;
    let name = |d: &Digit| match digits.iter().filter(|o| o.of == d.of && o.by < d.by).count() {
        0 => stage.axes[d.of].clone(),
        below => format!("{}_{}", stage.axes[d.of], "o".repeat(below)),
    };
    for d in digits {
        axes.push(name(d));
        let extent = stage.shape[d.of].clone();
        shape.push(match d.count {
            Some(n) => Expr::int(n),
            None if d.by == 1 => extent,
            None => extent.infix("+", Expr::int(d.by - 1)).infix("/", Expr::int(d.by)),
        });
    }
    let mut value = stage.value.clone();
    for (of, axis) in stage.axes.iter().enumerate().filter(|(of, _)| several(*of)) {
        let parts = digits.iter().filter(|d| d.of == of).map(|d| Expr::name(name(d)).infix("*", Expr::int(d.by)));
        let sum = parts.reduce(|a, b| a.infix("+", b)).unwrap_or_else(|| Expr::int(0));
        replace(&mut value, axis, &sum);
    }
    Stage { axes, shape, value, ..stage }
}

/// Replaces an index's name by an expression.
pub(super) fn replace(e: &mut Expr, name: &str, by: &Expr) {
    if matches!(&e.kind, ExprKind::Name(n) if n == name) && e.ty == INDEX {
        *e = by.clone();
        return;
    }
    e.children_mut().into_iter().for_each(|child| replace(child, name, by));
}
