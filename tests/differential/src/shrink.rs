//! Makes a failing case smaller as long as it fails in the same way.
//!
//! It works on the trees: stages, blocks, directives and their arguments, facts, expressions, sizes, the profile. Candidates are
//! ordered by how much they remove. The first that still fails is the next case.

use crate::case::Case;
use crate::judge::Find;
use crate::kernel::inlined;
use crate::kernel::tree::{ArgumentKind, Expr, ExprKind, GenericKind, Role, Type};
use crate::schedule::tree::{Argument, Directive};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tilewright_dsl::profile::Profile;
use tilewright_launch::DType;

/// Returns a case that fails like `find` and cannot be made smaller by one step, or the smallest that was reached in time.
pub fn shrink(case: &Case, find: &Find, time: Duration, judge: &dyn Fn(&Case) -> Option<Find>) -> (Case, Find) {
    let (mut best, mut found) = (case.clone(), find.clone());
    let start = Instant::now();
    'smaller: loop {
        for candidate in candidates(&best) {
            if start.elapsed() > time {
                break 'smaller;
            }
            if let Some(other) = judge(&candidate)
                && other.key() == found.key()
            {
                (best, found) = (candidate, other);
                continue 'smaller;
            }
        }
        break;
    }
    (best, found)
}

/// Returns cases that are one step smaller, the smallest first.
fn candidates(case: &Case) -> Vec<Case> {
    let mut all = Vec::new();
    launches(case, &mut all);
    stages(case, &mut all);
    schedule(case, &mut all);
    declarations(case, &mut all);
    expressions(case, &mut all);
    ranks(case, &mut all);
    profile(case, &mut all);
    dims(case, &mut all);
    all
}

/// Adds a changed copy.
fn changed(case: &Case, all: &mut Vec<Case>, change: impl FnOnce(&mut Case)) {
    let mut copy = case.clone();
    change(&mut copy);
    all.push(copy);
}

fn launches(case: &Case, all: &mut Vec<Case>) {
    for n in 0..case.launches.len() {
        if case.launches.len() > 1 {
            changed(case, all, |c| c.launches = vec![case.launches[n].clone()]);
        }
    }
}

/// Removes a stage that is not read, with its block.
fn stages(case: &Case, all: &mut Vec<Case>) {
    for (n, stage) in case.kernel.stages.iter().enumerate() {
        let read = |s: &crate::kernel::tree::Stage| s.name != stage.name && s.value.names().contains(stage.name.as_str());
        if case.kernel.stages.len() < 2 || case.kernel.stages.iter().any(read) {
            continue;
        }
        changed(case, all, |c| {
            c.kernel.stages.remove(n);
            c.kernel.arguments.retain(|a| a.name != stage.name);
            for block in &mut c.schedule.blocks {
                block.stages.retain(|s| *s != stage.name);
            }
            forget(c, &stage.name);
            // A block without stages is now one of the output, which may or may not be useful.
            c.schedule.blocks.retain(|b| !b.directives.is_empty());
        });
    }
}

fn schedule(case: &Case, all: &mut Vec<Case>) {
    for (b, block) in case.schedule.blocks.iter().enumerate() {
        changed(case, all, |c| drop(c.schedule.blocks.remove(b)));
        for s in 0..block.stages.len() {
            changed(case, all, |c| drop(c.schedule.blocks[b].stages.remove(s)));
        }
        for (d, directive) in block.directives.iter().enumerate().rev() {
            changed(case, all, |c| {
                let gone = c.schedule.blocks[b].directives.remove(d);
                made_by(&gone).iter().for_each(|name| forget(c, name));
            });
            for smaller in directives(directive) {
                changed(case, all, |c| c.schedule.blocks[b].directives[d] = smaller);
            }
        }
    }
    for (n, facts) in case.schedule.versions.iter().enumerate() {
        changed(case, all, |c| drop(c.schedule.versions.remove(n)));
        for m in 0..facts.len() {
            if facts.len() > 1 {
                changed(case, all, |c| drop(c.schedule.versions[n].remove(m)));
            }
        }
    }
    for n in 0..case.kernel.facts.len() {
        changed(case, all, |c| drop(c.kernel.facts.remove(n)));
    }
    for n in 0..case.schedule.facts.len() {
        changed(case, all, |c| drop(c.schedule.facts.remove(n)));
    }
}

/// Returns the names whose blocks depend on a directive.
fn made_by(directive: &Directive) -> Vec<String> {
    let name = |text: &String| text.split('[').next().unwrap_or_default().to_owned();
    let placed = directive.arguments.iter().take(1).filter_map(|a| match a {
        Argument::Name(stage) if directive.name == "compute_at" => Some(stage.clone()),
        _ => None,
    });
    let makes = ["promote", "rfactor"].contains(&directive.name);
    directive.produced.iter().filter(|_| makes).map(name).chain(placed).collect()
}

/// Removes the block of a stage or copy, and the directives that place or copy it.
fn forget(case: &mut Case, gone: &str) {
    let names = |d: &Directive| matches!(d.arguments.first(), Some(Argument::Name(first)) if first == gone);
    let places = ["inline", "root", "compute_at", "promote", "precompute"];
    let packed = format!("{gone}[");
    let packs = |d: &Directive| matches!(d.arguments.first(), Some(Argument::Text(first)) if first.starts_with(&packed));
    for block in &mut case.schedule.blocks {
        let own = !block.stages.is_empty();
        block.stages.retain(|stage| stage != gone);
        block.directives.retain(|d| !(packs(d) || places.contains(&d.name) && names(d)));
        if own && block.stages.is_empty() {
            block.directives.clear();
        }
    }
    case.schedule.blocks.retain(|b| !b.directives.is_empty());
}

/// Returns smaller versions of a directive.
fn directives(directive: &Directive) -> Vec<Directive> {
    let mut all = Vec::new();
    let mut push = |change: &dyn Fn(&mut Directive)| {
        let mut copy = directive.clone();
        change(&mut copy);
        all.push(copy);
    };
    for n in 0..directive.keys.len() {
        push(&|d| drop(d.keys.remove(n)));
    }
    if let Some(bracket) = directive.produced.first().and_then(|name| name.find('[')) {
        push(&|d| d.produced[0].truncate(bracket));
    }
    if directive.target.is_some() && directive.name != "distribute" {
        push(&|d| d.target = None);
    }
    for (n, argument) in directive.arguments.iter().enumerate() {
        if directive.arguments.len() > 1 {
            push(&|d| {
                d.arguments.remove(n);
                if let Some(target) = &mut d.target
                    && n < target.slots.len()
                {
                    target.slots.remove(n);
                }
            });
        }
        match argument {
            Argument::Tile { factor, tail, .. } => {
                if tail.is_some() {
                    push(&|d| {
                        set(&mut d.arguments[n], |a| {
                            if let Argument::Tile { tail, .. } = a {
                                *tail = None
                            }
                        })
                    });
                }
                if factor.written.is_some() {
                    push(&|d| {
                        set(&mut d.arguments[n], |a| {
                            if let Argument::Tile { factor, .. } = a {
                                factor.written = None
                            }
                        })
                    });
                }
                for less in [1, 2, factor.value / 2].into_iter().filter(|less| *less < factor.value && *less > 0) {
                    push(&|d| {
                        set(&mut d.arguments[n], |a| {
                            if let Argument::Tile { factor, .. } = a {
                                *factor = less.into()
                            }
                        })
                    });
                }
            }
            Argument::Factors(factors, tail) => {
                if tail.is_some() {
                    push(&|d| {
                        set(&mut d.arguments[n], |a| {
                            if let Argument::Factors(_, tail) = a {
                                *tail = None
                            }
                        })
                    });
                }
                for at in 0..factors.len() {
                    if factors[at].is_some_and(|f| f > 2) {
                        push(&|d| {
                            set(&mut d.arguments[n], |a| {
                                if let Argument::Factors(f, _) = a {
                                    f[at] = Some(2)
                                }
                            })
                        });
                    }
                }
            }
            Argument::Number(number) if *number > 2 => push(&|d| d.arguments[n] = Argument::Number(2)),
            _ => {}
        }
    }
    all
}

fn set(argument: &mut Argument, change: impl FnOnce(&mut Argument)) {
    change(argument);
}

/// Removes arguments, tables and generics that are not used.
fn declarations(case: &Case, all: &mut Vec<Case>) {
    let kernel = &case.kernel;
    let plain = inlined(kernel);
    if plain != *kernel {
        changed(case, all, |c| c.kernel = plain);
    }
    let used: BTreeSet<&str> = kernel.stages.iter().flat_map(|s| s.value.names()).collect();
    for (n, argument) in kernel.arguments.iter().enumerate() {
        if used.contains(argument.name.as_str()) || matches!(argument.kind, ArgumentKind::Update(_)) {
            continue;
        }
        changed(case, all, |c| {
            if argument.kind == ArgumentKind::Scalar {
                let at = kernel.arguments[..n].iter().filter(|a| a.kind == ArgumentKind::Scalar).count();
                c.scalars.remove(at);
            }
            c.kernel.arguments.remove(n);
        });
    }
    for (n, table) in kernel.tables.iter().enumerate() {
        if !used.contains(table.name.as_str()) {
            changed(case, all, |c| drop(c.kernel.tables.remove(n)));
        }
    }
    for (n, generic) in kernel.generics.iter().enumerate() {
        // An argument declares it.
        if kernel.arguments.iter().any(|a| a.kind == ArgumentKind::Size && a.name == generic.name) {
            continue;
        }
        changed(case, all, |c| {
            c.kernel.generics.remove(n);
            c.schedule.bindings.retain(|(name, _)| *name != generic.name);
            c.launches.iter_mut().for_each(|dims| dims.retain(|(name, _)| *name != generic.name));
        });
        match generic.kind {
            // Replaces it by its value.
            GenericKind::Parameter { value, .. } => changed(case, all, |c| {
                c.kernel.generics.remove(n);
                c.schedule.bindings.retain(|(name, _)| *name != generic.name);
                rename(c, &generic.name, &Expr::int(value));
            }),
            GenericKind::Dim | GenericKind::Derived(_) => {
                let other = kernel.generics.iter().find(|g| g.kind == GenericKind::Dim && g.name != generic.name);
                if let Some(other) = other {
                    changed(case, all, |c| {
                        c.kernel.generics.remove(n);
                        c.launches.iter_mut().for_each(|dims| dims.retain(|(name, _)| *name != generic.name));
                        rename(c, &generic.name, &Expr::name(&other.name));
                    });
                }
            }
            GenericKind::Dtype(_) => changed(case, all, |c| {
                c.kernel.generics.remove(n);
                c.schedule.bindings.retain(|(name, _)| *name != generic.name);
                retype(c, case.generic);
            }),
        }
    }
}

/// Calls `f` for every expression of a case.
fn every(case: &mut Case, f: &mut dyn FnMut(&mut Expr)) {
    fn inside(e: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
        f(e);
        e.children_mut().into_iter().for_each(|child| inside(child, f));
    }
    let kernel = &mut case.kernel;
    for argument in &mut kernel.arguments {
        if let ArgumentKind::Input(shape) | ArgumentKind::Update(shape) = &mut argument.kind {
            shape.iter_mut().for_each(|e| inside(e, f));
        }
    }
    for generic in &mut kernel.generics {
        if let GenericKind::Derived(value) = &mut generic.kind {
            inside(value, f);
        }
    }
    for stage in &mut kernel.stages {
        stage.shape.iter_mut().for_each(|e| inside(e, f));
        inside(&mut stage.value, f);
    }
    let facts = kernel.facts.iter_mut().chain(&mut case.schedule.facts).chain(case.schedule.versions.iter_mut().flatten());
    for fact in facts {
        if let crate::schedule::tree::Fact::Size(left, ..) = fact {
            inside(left, f);
        }
    }
}

/// Replaces a name by an expression.
fn rename(case: &mut Case, name: &str, by: &Expr) {
    every(case, &mut |e| {
        if matches!(&e.kind, ExprKind::Name(n) if n == name) {
            *e = by.clone();
        }
    });
}

/// Replaces the dtype generic by a dtype.
fn retype(case: &mut Case, dtype: DType) {
    let plain = |ty: &mut Type| *ty = Type::Is(ty.dtype(dtype));
    case.kernel.arguments.iter_mut().for_each(|a| plain(&mut a.ty));
    case.kernel.tables.iter_mut().for_each(|t| plain(&mut t.ty));
    case.kernel.stages.iter_mut().for_each(|s| plain(&mut s.ty));
    every(case, &mut |e| plain(&mut e.ty));
}

/// Replaces an expression by one of its operands, or by a literal; removes ranges of reductions.
fn expressions(case: &Case, all: &mut Vec<Case>) {
    for (s, stage) in case.kernel.stages.iter().enumerate() {
        let mut count = 0;
        stage.value.visit(&mut |_| count += 1);
        for at in 0..count {
            let Some(node) = stage.value.nth(at) else { continue };
            for smaller in simpler(node) {
                changed(case, all, |c| {
                    if let Some(place) = c.kernel.stages[s].value.nth_mut(&mut { at }) {
                        *place = smaller;
                    }
                });
            }
        }
    }
}

fn simpler(e: &Expr) -> Vec<Expr> {
    let mut all = Vec::new();
    if let ExprKind::Reduce { op, ranges, only, body } = &e.kind {
        let with = |ranges, only| Expr::new(ExprKind::Reduce { op, ranges, only, body: body.clone() }, e.ty);
        if only.is_some() {
            all.push(with(ranges.clone(), None));
        }
        for n in 0..ranges.len() {
            let mut fewer = ranges.clone();
            fewer.remove(n);
            if !fewer.is_empty() {
                all.push(with(fewer, only.clone()));
            }
            let mut plain = ranges.clone();
            if ranges[n].inclusive || ranges[n].low.as_int() != Some(0) {
                (plain[n].low, plain[n].inclusive) = (Expr::int(0), false);
                all.push(with(plain, only.clone()));
            }
        }
    }
    all.extend(e.children().into_iter().filter(|child| child.ty == e.ty).cloned());
    let literal = match e.ty {
        Type::Is(DType::Bool) => "true",
        ty if ty.is_float() => "1.0",
        _ => "1",
    };
    if !matches!(e.kind, ExprKind::Literal(_)) {
        all.push(Expr::literal(literal, e.ty));
    }
    all
}

/// Removes a dimension of a stage, and of the tensors that it reads, if the dimension's axis is not used elsewhere.
fn ranks(case: &Case, all: &mut Vec<Case>) {
    for (s, stage) in case.kernel.stages.iter().enumerate() {
        for d in 0..stage.axes.len() {
            if stage.value.names().contains(stage.axes[d].as_str()) {
                continue;
            }
            changed(case, all, |c| {
                let of_update = stage.role == Role::Update;
                c.kernel.stages[s].axes.remove(d);
                c.kernel.stages[s].shape.remove(d);
                for argument in c.kernel.arguments.iter_mut().filter(|a| of_update && a.name == stage.name) {
                    if let ArgumentKind::Update(shape) = &mut argument.kind {
                        shape.remove(d);
                    }
                }
                without_index(c, &stage.name, d);
            });
        }
    }
    for (n, argument) in case.kernel.arguments.iter().enumerate() {
        let ArgumentKind::Input(shape) = &argument.kind else { continue };
        for d in 0..shape.len() {
            changed(case, all, |c| {
                if let ArgumentKind::Input(shape) = &mut c.kernel.arguments[n].kind {
                    shape.remove(d);
                }
                without_index(c, &argument.name, d);
            });
        }
    }
}

/// Removes one index from the reads of a tensor.
fn without_index(case: &mut Case, of: &str, d: usize) {
    every(case, &mut |e| {
        if let ExprKind::Read { tensor, index, .. } = &mut e.kind
            && tensor == of
            && d < index.len()
        {
            index.remove(d);
        }
    });
}

fn profile(case: &Case, all: &mut Vec<Case>) {
    let plain = Profile { name: "p".into(), features: case.profile.features.clone(), ..Profile::vulkan_1_1() };
    if case.profile != plain {
        changed(case, all, |c| c.profile = plain.clone());
    }
    for feature in &case.profile.features {
        changed(case, all, |c| {
            c.profile.features.remove(feature);
        });
    }
    if !case.fills.is_empty() {
        changed(case, all, |c| c.fills.clear());
    }
}

/// Reduces sizes.
fn dims(case: &Case, all: &mut Vec<Case>) {
    for (n, launch) in case.launches.iter().enumerate() {
        for (d, (_, value)) in launch.iter().enumerate() {
            let less: BTreeSet<i64> = [1, 2, value / 2, value - 1].into_iter().filter(|v| v < value && *v >= 0).collect();
            for smaller in less {
                changed(case, all, |c| c.launches[n][d].1 = smaller);
            }
        }
    }
}
