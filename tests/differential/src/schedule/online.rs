//! `decompose_online`: for later directives, the kernel has one stage for all reductions, and in blocks, stages with their partial
//! results.

use super::facts::bounds;
use super::pack::replace;
use super::tree::{Argument, Directive, Fact};
use crate::kernel::KEYS;
use crate::kernel::tree::{Argument as Tensor, ArgumentKind, Expr, ExprKind, Kernel, Outside, Range, Role, Stage};
use fastrand::Rng;

/// Decomposes the kernel's maximum and sums, if it has them.
pub(super) fn decompose(kernel: &mut Kernel, facts: &mut Vec<Fact>, random: &mut Rng) -> Option<Directive> {
    let is = |name: &str, op: &str| kernel.stages.iter().any(|s| s.name == name && s.reduction().is_some_and(|(by, _)| by == op));
    if !is("m", "max") || random.u8(..100) >= 92 {
        return None;
    }
    let mut members: Vec<String> = ["l", "o"].into_iter().filter(|name| is(name, "sum")).map(str::to_owned).collect();
    if members.len() > 1 && random.u8(..10) == 0 {
        members.pop();
    }
    members.insert(0, "m".to_owned());
    let size = (random.u8(..100) < 65).then(|| random.choice([1, 2, 3, 4, 4, 8, 16]).unwrap_or(4));
    let arguments = members.iter().cloned().map(Argument::Name).collect();
    let produced = size.map_or(Vec::new(), |_| members.iter().map(|name| format!("{name}_b")).collect());
    let keys = size.iter().map(|size: &i64| ("block", size.to_string())).collect();
    let mut directive = Directive { arguments, produced, keys, ..Directive::new("decompose_online", []) };
    // Scores of ranges that end with the row, without a mask.
    let ends = |stage: &Stage| stage.reduction().is_some_and(|(_, ranges)| ranges[0].high.names().contains("i"));
    let plain = kernel.stages.iter().any(|s| s.name == "s") && kernel.stages.iter().any(|s| s.name == "m" && ends(s));
    if let Some(size) = size.filter(|_| random.u8(..100) < if plain { 60 } else { 3 }) {
        directive = directive.with("mask", random.choice(["s", "s", "s", "s", "s", "s", "s", "t", "x"]).unwrap_or("s"));
        state_bounds(kernel, size, facts);
    }
    if random.u8(..100) < 8 {
        wrong(&mut directive, random);
        return Some(directive);
    }
    Decomposition { kernel, members, size }.apply();
    Some(directive)
}

/// Adds the facts that a mask of the scores needs: that they are finite, and that blocks divide them.
fn state_bounds(kernel: &Kernel, size: i64, facts: &mut Vec<Fact>) {
    let dim = |name: &str| kernel.generics.iter().any(|generic| generic.name == name);
    let of = |name: &str| Expr::name(name);
    let sizes = [("D", Fact::Size(of("D"), "<=", 16)), ("N", Fact::Size(of("N").infix("%", Expr::int(size)), "==", 0))];
    let told = |name: &str| facts.iter().any(|f| matches!(f, Fact::Size(left, ..) if left.names().contains(name)));
    let mut needed: Vec<Fact> = sizes.into_iter().filter(|(name, _)| dim(name) && !told(name)).map(|(_, fact)| fact).collect();
    let inputs = kernel.arguments.iter().filter(|a| matches!(a.kind, ArgumentKind::Input(_)));
    needed.extend(inputs.map(|input| Fact::Finite(input.name.clone())));
    let scalars = kernel.arguments.iter().filter(|a| a.kind == ArgumentKind::Scalar);
    needed.extend(scalars.flat_map(|scalar| bounds(&scalar.name)));
    needed.retain(|fact| !facts.contains(fact));
    facts.extend(needed);
}

/// Introduces an error that must be refused, or is harmless.
fn wrong(directive: &mut Directive, random: &mut Rng) {
    match random.u8(..7) {
        0 => directive.arguments.reverse(),
        1 => directive.arguments.truncate(1),
        2 => drop(directive.produced.pop()),
        3 => directive.produced = directive.produced.iter().map(|_| "m_b".to_owned()).collect(),
        4 => directive.arguments.push(Argument::Name(random.choice(["s", "p", "y", "x", "m"]).unwrap_or("s").to_owned())),
        5 => directive.keys = vec![("block", random.choice(["0", "-1", "N", "1.5"]).unwrap_or("0").to_owned())],
        _ => drop(directive.arguments.remove(0)),
    }
}

/// The decomposed kernel.
struct Decomposition<'k> {
    kernel: &'k mut Kernel,
    members: Vec<String>,
    size: Option<i64>,
}

impl Decomposition<'_> {
    fn apply(self) {
        let Decomposition { kernel, members, size } = self;
        let Some(last) = members.last().cloned() else { return };
        let is_member = |stage: &Stage| members.contains(&stage.name);
        let mut of_blocks = Vec::new();
        if let Some(size) = size {
            let own = |stage: &&Stage| is_member(stage) || stage.name == "p";
            let parts = kernel.stages.iter().filter(own).map(|stage| of_block(stage, &members, size));
            of_blocks = parts.collect();
        }
        let Some(whole) = kernel.stages.iter().find(|stage| stage.name == last).cloned() else { return };
        // The other reductions are read where the last one stored them.
        for stage in kernel.stages.iter().filter(|stage| is_member(stage) && stage.name != last) {
            let kind = ArgumentKind::Input(stage.shape.clone());
            kernel.arguments.push(Tensor { name: stage.name.clone(), ty: stage.ty, kind });
        }
        let is_gone = |stage: &Stage| is_member(stage) || stage.name == "p";
        let weights = kernel.stages.iter().find(|stage| stage.name == "p").cloned();
        kernel.stages.retain(|stage| !is_gone(stage));
        let before = kernel.stages.iter().position(|stage| stage.name == "y").unwrap_or(kernel.stages.len());
        let whole = match size {
            None => below_all(whole, weights),
            Some(size) => over_blocks(whole, &of_blocks, size),
        };
        kernel.stages.splice(before..before, of_blocks.into_iter().chain([whole]));
    }
}

/// Returns the number of blocks of a length.
fn blocks(length: Expr, size: i64) -> Expr {
    length.infix("+", Expr::int(size - 1)).infix("/", Expr::int(size))
}

/// Returns a stage of partial results of a block.
fn of_block(stage: &Stage, members: &[String], size: i64) -> Stage {
    let outer = format!("{KEYS}_o");
    let keys = stage.axes.iter().position(|axis| axis == KEYS);
    let range = stage.reduction().map(|(op, ranges)| (op, ranges[0].clone()));
    let longest = |e: &Expr| if e.names().contains("i") { Expr::name("N") } else { e.clone() };
    let extent = match (&range, keys) {
        (Some((_, range)), _) => longest(&range.high),
        (None, Some(at)) => stage.shape[at].clone(),
        (None, None) => Expr::int(1),
    };
    let mut value = match &stage.value {
        Expr { kind: ExprKind::Reduce { body, .. }, .. } => (**body).clone(),
        _ => item(&stage.value),
    };
    let at = Expr::name(&outer).infix("*", Expr::int(size)).infix("+", Expr::name(KEYS));
    replace(&mut value, KEYS, &at);
    in_block(&mut value, members, &outer);
    let (mut axes, mut shape) = (stage.axes.clone(), stage.shape.clone());
    if let Some(at) = keys {
        shape[at] = Expr::int(size);
    }
    axes.insert(0, outer);
    shape.insert(0, blocks(extent, size));
    let (name, value) = match range {
        None => (stage.name.clone(), value),
        Some((op, _)) => {
            let range = Range { axis: KEYS.to_owned(), low: Expr::int(0), high: Expr::int(size), inclusive: false };
            let ty = value.ty;
            (format!("{}_b", stage.name), value.reduced(op, vec![range], ty))
        }
    };
    Stage { name, role: Role::Intermediate, ty: value.ty, shape, axes, value, joined: false }
}

/// Returns the operand of the reduction in a value.
fn item(value: &Expr) -> Expr {
    let mut found = None;
    value.visit(&mut |e| {
        if let ExprKind::Reduce { body, .. } = &e.kind {
            found = Some((**body).clone());
        }
    });
    found.unwrap_or_else(|| value.clone())
}

/// Replaces reads of reductions and of weights by reads of the block's. Other reads may be out of bounds.
fn in_block(e: &mut Expr, members: &[String], outer: &str) {
    e.children_mut().into_iter().for_each(|child| in_block(child, members, outer));
    if let ExprKind::Read { tensor, outside, index } = &mut e.kind {
        if members.contains(tensor) {
            *tensor = format!("{tensor}_b");
            index.insert(0, Expr::name(outer));
        } else if tensor == "p" {
            *index = index.iter().map(|e| if e.names().contains(KEYS) { Expr::name(KEYS) } else { e.clone() }).collect();
            index.insert(0, Expr::name(outer));
        } else {
            *outside = Outside::Clamp;
        }
    }
}

/// Returns the last sum, over blocks.
fn over_blocks(stage: Stage, of_blocks: &[Stage], size: i64) -> Stage {
    let outer = format!("{KEYS}_o");
    let read = |of: &Stage| {
        let index = of.axes.iter().map(Expr::name).collect();
        Expr::new(ExprKind::Read { tensor: of.name.clone(), outside: Outside::Never, index }, of.ty)
    };
    let items = of_blocks.iter().filter(|of| of.name.ends_with("_b")).map(read);
    let body = items.reduce(|a, b| a.infix("+", b)).unwrap_or_else(|| Expr::int(0));
    let high = stage.reduction().map_or(Expr::int(1), |(_, ranges)| blocks(ranges[0].high.clone(), size));
    let ranges = vec![Range { axis: outer, low: Expr::int(0), high, inclusive: false }];
    let value = body.reduced("sum", ranges, stage.ty);
    Stage { value, ..stage }
}

/// Returns the last sum, with operands that are not relative to the maximum.
fn below_all(mut stage: Stage, weights: Option<Stage>) -> Stage {
    let mut value = item(&stage.value);
    if let Some(weights) = weights {
        put(&mut value, &weights);
    }
    let ranges = stage.reduction().map(|(_, ranges)| ranges.to_vec()).unwrap_or_default();
    drop_reads(&mut value, &["m", "l"]);
    stage.value = value.reduced("sum", ranges, stage.ty);
    stage
}

/// Replaces reads of a stage by its value, on the same axes.
fn put(e: &mut Expr, stage: &Stage) {
    e.children_mut().into_iter().for_each(|child| put(child, stage));
    if matches!(&e.kind, ExprKind::Read { tensor, .. } if *tensor == stage.name) {
        *e = stage.value.clone();
    }
}

/// Replaces reads of some stages by numbers.
fn drop_reads(e: &mut Expr, of: &[&str]) {
    e.children_mut().into_iter().for_each(|child| drop_reads(child, of));
    if matches!(&e.kind, ExprKind::Read { tensor, .. } if of.contains(&tensor.as_str())) {
        *e = Expr::literal("1.0", e.ty);
    }
}
