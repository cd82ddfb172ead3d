//! Replaces parts of expressions by calls of functions and closures that have the same value.

use super::tree::{Expr, ExprKind, Function, FunctionForm, Kernel, Type};
use fastrand::Rng;

/// The most functions of a kernel.
const FUNCTIONS: usize = 4;

/// Makes functions of random parts of a kernel's expressions.
pub(super) fn abstracted(random: &mut Rng, kernel: &mut Kernel) {
    for round in 0..random.usize(1..=FUNCTIONS) {
        let nodes: usize = kernel.stages.iter().map(|stage| count(&stage.value)).sum();
        let mut at = random.usize(..nodes.max(1));
        let Some(stage) = kernel.stages.iter_mut().find(|stage| {
            let inside = count(&stage.value);
            let is_here = at < inside;
            at -= if is_here { 0 } else { inside };
            is_here
        }) else {
            continue;
        };
        if let Some(node) = stage.value.nth_mut(&mut at) {
            kernel.functions.extend(call(random, round, node, &kernel.functions));
        }
    }
}

fn count(e: &Expr) -> usize {
    let mut nodes = 0;
    e.visit(&mut |_| nodes += 1);
    nodes
}

/// Replaces an expression by a call, and returns the function, unless it is a closure in a block around the call. An expression that is a leaf
/// stays, and so does one whose body would have a reduction or a `let`.
fn call(random: &mut Rng, round: usize, node: &mut Expr, known: &[Function]) -> Option<Function> {
    let (mut body, mut args, depth) = (node.clone(), Vec::new(), random.usize(1..=3));
    cut(random, round, &mut body, depth, &mut args);
    let (mut is_body, mut sees_scope, mut calls_closure) = (!node.children().is_empty(), false, false);
    let is_param = |name: &str| name.starts_with(&format!("p{round}_"));
    body.visit(&mut |e| match &e.kind {
        ExprKind::Reduce { .. } | ExprKind::Let(..) | ExprKind::Closure { .. } => is_body = false,
        ExprKind::Read { .. } => sees_scope = true,
        ExprKind::Name(name) => sees_scope |= !is_param(name),
        ExprKind::Call(name, _) => calls_closure |= known.iter().any(|f| f.name == *name && f.form == FunctionForm::Closure),
        _ => {}
    });
    if !is_body {
        return None;
    }
    let (name, ty) = (format!("f{round}"), node.ty);
    let params: Vec<(String, Option<Type>)> =
        args.iter().enumerate().map(|(n, arg)| (format!("p{round}_{n}"), dtype(random, arg))).collect();
    if sees_scope {
        let params = params.into_iter().map(|(name, _)| name).collect();
        *node = Expr::new(ExprKind::Closure { name, params, body: body.into(), args }, ty);
        return None;
    }
    *node = Expr::new(ExprKind::Call(name.clone(), args), ty);
    let form = if calls_closure || random.u8(..4) == 0 { FunctionForm::Closure } else { FunctionForm::Item };
    Some(Function { name, params, body, form })
}

/// Replaces parts at a depth by parameters, and some above it. Parts that are computed under a condition stay, because the proofs of their
/// reads need it.
fn cut(random: &mut Rng, round: usize, e: &mut Expr, depth: usize, args: &mut Vec<Expr>) {
    let is_conditional = matches!(e.kind, ExprKind::If(..) | ExprKind::Infix("&&" | "||", ..));
    for child in e.children_mut().into_iter().take(if is_conditional { 1 } else { usize::MAX }) {
        let is_leaf = child.children().is_empty();
        if depth > 1 && !is_leaf && random.u8(..4) > 0 {
            cut(random, round, child, depth - 1, args);
        } else if !matches!(child.kind, ExprKind::Literal(_)) || random.u8(..3) == 0 {
            let param = Expr::new(ExprKind::Name(format!("p{round}_{}", args.len())), child.ty);
            args.push(std::mem::replace(child, param));
        }
    }
}

/// Returns the dtype to write for a parameter, if any.
fn dtype(random: &mut Rng, arg: &Expr) -> Option<Type> {
    let is_known = matches!(arg.kind, ExprKind::Read { .. } | ExprKind::Name(_)) && arg.ty != Type::Generic;
    (is_known && random.bool()).then_some(arg.ty)
}

/// Returns a kernel with the values of all calls in their place.
pub fn inlined(kernel: &Kernel) -> Kernel {
    let mut plain = kernel.clone();
    let functions = std::mem::take(&mut plain.functions);
    plain.stages.iter_mut().for_each(|stage| replace(&mut stage.value, &functions));
    plain
}

fn replace(e: &mut Expr, functions: &[Function]) {
    e.children_mut().into_iter().for_each(|child| replace(child, functions));
    let (params, body, args) = match &e.kind {
        ExprKind::Closure { params, body, args, .. } => (params.clone(), (**body).clone(), args.clone()),
        ExprKind::Call(name, args) => {
            let Some(function) = functions.iter().find(|f| f.name == *name) else { return };
            let mut body = function.body.clone();
            replace(&mut body, functions);
            (function.params.iter().map(|(name, _)| name.clone()).collect(), body, args.clone())
        }
        _ => return,
    };
    *e = body;
    substitute(e, &params, &args);
}

fn substitute(e: &mut Expr, params: &[String], args: &[Expr]) {
    if let ExprKind::Name(name) = &e.kind
        && let Some(n) = params.iter().position(|param| param == name)
    {
        *e = args[n].clone();
        return;
    }
    e.children_mut().into_iter().for_each(|child| substitute(child, params, args));
}
