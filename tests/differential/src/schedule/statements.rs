//! Statements about the whole schedule: `precompute`, `pin`, `strided`, `specialize`, and `tune` with directives whose numbers are constant
//! expressions.

use super::facts::bounds;
use super::flow::Flow;
use super::tree::{Argument, Block, Directive, Fact, Factor, Schedule};
use crate::kernel::tree::{ArgumentKind, Expr, GenericKind, Kernel, Role, Stage};
use fastrand::Rng;
use std::collections::BTreeSet;

/// Chooses the intermediates that are precomputed.
pub(super) fn precomputed(kernel: &Kernel, flow: &Flow, packed: &BTreeSet<String>, random: &mut Rng) -> Vec<String> {
    let likely = |stage: &&Stage| stage.role == Role::Intermediate && !packed.contains(&stage.name);
    let all = kernel.stages.iter().filter(likely).filter(|s| of_one_input(kernel, flow, s));
    all.filter(|_| random.u8(..100) < 45).map(|s| s.name.clone()).collect()
}

/// Returns true if a stage depends on a single input, whose shape determines all sizes.
fn of_one_input(kernel: &Kernel, flow: &Flow, stage: &Stage) -> bool {
    let reads = flow.reads(&stage.name);
    let Some(first) = reads.first() else { return false };
    let input = kernel.arguments.iter().find(|a| a.name == first.tensor);
    let Some(ArgumentKind::Input(shape)) = input.map(|a| &a.kind) else { return false };
    let told: BTreeSet<&str> = shape.iter().flat_map(Expr::names).collect();
    let scalar = |name: &str| kernel.arguments.iter().any(|a| a.name == name && a.kind == ArgumentKind::Scalar);
    let symbolic = |name: &str| {
        let generic = kernel.generics.iter().find(|g| g.name == name);
        generic.is_some_and(|g| matches!(g.kind, GenericKind::Dim | GenericKind::Derived(_)))
    };
    let known = |e: &Expr| e.names().iter().all(|name| !scalar(name) && (!symbolic(name) || told.contains(name)));
    let inlined = |name: &&str| kernel.stages.iter().any(|s| s.name == **name);
    let others = stage.value.names().iter().any(inlined);
    let sizes = stage.shape.iter().chain([&stage.value]).all(known);
    sizes && !others && reads.iter().all(|read| read.tensor == first.tensor)
}

/// Adds statements to a schedule that has its directives.
pub(super) fn add(kernel: &Kernel, schedule: &mut Schedule, random: &mut Rng) {
    if random.u8(..100) < 9 {
        let equated = |name: &str| schedule.facts.iter().any(|f| matches!(f, Fact::Size(l, "==", _) if *l == Expr::name(name)));
        let dims: Vec<String> = kernel.dims().filter(|name| !equated(name)).map(str::to_owned).collect();
        if let Some(dim) = random.choice(dims) {
            alone(schedule, Directive::new("pin", [dim]), random);
        }
    }
    if random.u8(..100) < 4 {
        alone(schedule, Directive::new("emit", ["readonly: no".to_owned()]), random);
    }
    if random.u8(..100) < 12 {
        for _ in 0..random.u8(1..=2) {
            schedule.versions.extend(version(kernel, schedule, random));
        }
    }
    if random.u8(..100) < 12 {
        tune(schedule, random);
    }
    if random.u8(..100) < 12 {
        strided(kernel, schedule, random);
    }
}

/// Adds strided tensors, and facts about their strides.
fn strided(kernel: &Kernel, schedule: &mut Schedule, random: &mut Rng) {
    let arguments = kernel.arguments.iter().filter_map(|a| match &a.kind {
        ArgumentKind::Input(shape) | ArgumentKind::Update(shape) => Some((&a.name, shape.len())),
        ArgumentKind::Scalar | ArgumentKind::Size => None,
    });
    let outputs = kernel.stages.iter().filter(|s| s.role == Role::Output).map(|s| (&s.name, s.shape.len()));
    let mut written = Vec::new();
    for (name, axes) in arguments.chain(outputs).filter(|(_, axes)| *axes > 0) {
        let free: Vec<usize> = match random.u8(..10) {
            0..5 => continue,
            5..8 if axes > 1 => (0..axes - 1).collect(),
            _ => (0..axes).filter(|_| random.bool()).collect(),
        };
        if free.is_empty() {
            continue;
        }
        if random.u8(..10) < 6 {
            let stride = |axis: &usize| Fact::Size(Expr::name(format!("{name}.stride({axis})")).infix("%", Expr::int(4)), "==", 0);
            schedule.facts.extend(free.iter().filter(|axis| **axis + 1 < axes).map(stride));
        }
        let listed: Vec<String> = free.iter().map(usize::to_string).collect();
        written.push(match free.iter().copied().eq(0..axes - 1) {
            true => name.clone(),
            false => format!("{name}[{}]", listed.join(", ")),
        });
    }
    if !written.is_empty() {
        alone(schedule, Directive::new("strided", written), random);
    }
}

/// Adds a directive without a block, at a random place among the blocks.
fn alone(schedule: &mut Schedule, directive: Directive, random: &mut Rng) {
    let first = schedule.blocks.iter().take_while(|b| b.directives.iter().any(Directive::rewrites)).count();
    let at = random.usize(first..=schedule.blocks.len());
    schedule.blocks.insert(at, Block { stages: Vec::new(), directives: vec![directive] });
}

/// Returns facts about dims that have none.
fn version(kernel: &Kernel, schedule: &Schedule, random: &mut Rng) -> Option<Vec<Fact>> {
    let said = |name: &str| schedule.facts.iter().any(|f| matches!(f, Fact::Size(l, ..) if l.names().contains(name)));
    let dims: Vec<&str> = kernel.dims().filter(|name| !said(name)).collect();
    let mut facts = Vec::new();
    for dim in dims {
        let dim = Expr::name(dim);
        match random.u8(..10) {
            0..5 => {
                let by = random.choice([2, 4, 4, 8])?;
                facts.push(Fact::Size(dim.infix("%", Expr::int(by)), "==", 0));
            }
            5 => facts.push(Fact::Size(dim, "==", random.i64(1..=8))),
            6 => facts.push(Fact::Size(dim, "<=", random.i64(2..=12))),
            _ => {}
        }
    }
    for scalar in kernel.arguments.iter().filter(|a| a.kind == ArgumentKind::Scalar && a.ty.is_float()) {
        if random.u8(..100) < 25 {
            facts.extend(bounds(&scalar.name));
        }
    }
    (!facts.is_empty()).then_some(facts)
}

/// Replaces some factors by a tuned constant.
fn tune(schedule: &mut Schedule, random: &mut Rng) {
    let name = "TUNED";
    let factors = schedule.blocks.iter_mut().flat_map(|b| &mut b.directives).flat_map(|d| &mut d.arguments);
    let mut factors: Vec<&mut Factor> = factors
        .filter_map(|a| match a {
            Argument::Tile { factor, .. } if factor.value > 0 => Some(factor),
            _ => None,
        })
        .collect();
    random.shuffle(&mut factors);
    let Some(value) = factors.first().map(|f| f.value) else { return };
    let default = random.choice((1..=value).filter(|n| value % n == 0).collect::<Vec<_>>()).unwrap_or(value);
    for factor in factors.into_iter().take(3) {
        let times = factor.value / default;
        factor.written = Some(match (factor.value - times * default, times) {
            (0, 1) => name.to_owned(),
            (0, n) => format!("{name} * {n}"),
            (more, 0) => format!("{name} - {}", default - more),
            (more, n) => format!("{name} * {n} + {more}"),
        });
    }
    let mut candidates: Vec<i64> = [1, 2, 3, 4, 8, 16].into_iter().filter(|n| *n != default && random.bool()).collect();
    candidates.truncate(3);
    candidates.insert(random.usize(..=candidates.len()), default);
    let list: Vec<String> = candidates.iter().map(i64::to_string).collect();
    let arguments = vec![Argument::Name(name.to_owned()), Argument::Text(format!("[{}] = {default}", list.join(", ")))];
    alone(schedule, Directive { arguments, ..Directive::new("tune", []) }, random);
}
