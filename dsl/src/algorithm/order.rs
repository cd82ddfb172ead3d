//! The order and use of definitions: names across the statements of a kernel, and the checks of the whole kernel.

use super::Checker;
use crate::diag::{Error, list};
use crate::nest::Space;
use crate::syntax::expr::{Expr, ExprKind};
use crate::syntax::kernel::{Define, Statement};
use crate::syntax::{Kernel, Name, families};
use std::collections::BTreeSet;

/// Returns the definitions of a kernel, in order.
pub(super) fn definitions(kernel: &Kernel) -> impl Iterator<Item = &Define> {
    kernel.statements.iter().filter_map(|s| match s {
        Statement::Define(define) => Some(define),
        _ => None,
    })
}

/// Returns all names that an expression uses.
pub(super) fn names(e: &Expr) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    gather(e, &mut found);
    found
}

/// Returns the name of a `let` of the kernel, and its value.
fn bound(statement: &Statement) -> Option<(&Name, &Expr)> {
    match statement {
        Statement::Define(Define { name, value, ty: Some(_), .. }) => Some((name, value)),
        Statement::Let(bound) => Some((&bound.name, &bound.value)),
        Statement::Define(_) | Statement::Const { .. } => None,
    }
}

/// Returns the statements of a kernel, those together that define tensors together.
fn groups(kernel: &Kernel) -> impl Iterator<Item = &[Statement]> {
    kernel.statements.chunk_by(|_, next| matches!(next, Statement::Define(define) if define.joined))
}

/// Returns the names of `let`s that no other statement uses. A family is one name, and a name that begins with `_` may be unused, as in
/// Rust.
pub(crate) fn unused(kernel: &Kernel) -> Vec<&Name> {
    let of_family = |name: &str| families::parts(name).map_or(name, |(family, _)| family).to_owned();
    let mut used = BTreeSet::new();
    for statement in &kernel.statements {
        let (own, value) = match statement {
            Statement::Define(define) => (&define.name, &define.value),
            Statement::Let(bound) => (&bound.name, &bound.value),
            Statement::Const { .. } => continue,
        };
        let own = of_family(&own.text);
        used.extend(names(value).iter().map(|name| of_family(name)).filter(|name| *name != own));
    }
    let mut unused: Vec<&Name> = Vec::new();
    for group in groups(kernel) {
        // One reduction computes tensors that are defined together, so it is used if one of them is.
        let is_used = group.iter().filter_map(bound).any(|(name, _)| used.contains(&of_family(&name.text)));
        for (name, _) in group.iter().filter_map(bound).filter(|_| !is_used) {
            let family = of_family(&name.text);
            let is_new = unused.iter().all(|other| of_family(&other.text) != family);
            unused.extend(Some(name).filter(|_| is_new && !family.starts_with('_')));
        }
    }
    unused
}

/// Returns the kernel without the `let`s that no result depends on, and their names. `None` if there are none.
pub(super) fn without_unread(kernel: &Kernel) -> Option<(Kernel, Vec<Name>)> {
    let mut live: BTreeSet<String> = BTreeSet::new();
    let results = kernel.statements.iter().filter(|statement| bound(statement).is_none());
    let mut open: Vec<String> =
        results.flat_map(|s| if let Statement::Define(d) = s { names(&d.value) } else { BTreeSet::new() }).collect();
    while let Some(name) = open.pop() {
        for group in groups(kernel).filter(|group| group.iter().filter_map(bound).any(|(bound, _)| bound.text == name)) {
            let all =
                group.iter().filter_map(bound).flat_map(|(bound, value)| names(value).into_iter().chain([bound.text.clone()]));
            open.extend(all.filter(|other| *other != name && !live.contains(other)));
        }
        live.insert(name);
    }
    let is_live = |statement: &&Statement| bound(statement).is_none_or(|(name, _)| live.contains(&name.text));
    let unread: Vec<Name> =
        kernel.statements.iter().filter(|s| !is_live(s)).filter_map(|s| bound(s).map(|(name, _)| name.clone())).collect();
    if unread.is_empty() {
        return None;
    }
    let statements = kernel.statements.iter().filter(is_live).cloned().collect();
    Some((Kernel { statements, ..kernel.clone() }, unread))
}

/// True if the definition of `from` reads `to`, directly or indirectly.
pub(super) fn depends(kernel: &Kernel, from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![from.to_string()];
    while let Some(name) = open.pop() {
        for define in definitions(kernel).filter(|d| d.name.text == name) {
            for read in names(&define.value) {
                if read == to {
                    return true;
                }
                if seen.insert(read.clone()) {
                    open.push(read);
                }
            }
        }
    }
    false
}

fn gather(e: &Expr, found: &mut BTreeSet<String>) {
    e.each(&mut |e| match &e.kind {
        ExprKind::Name(name) => drop(found.insert(name.clone())),
        ExprKind::Index { tensor, .. } => drop(found.insert(tensor.text.clone())),
        ExprKind::Call { function, .. } => drop(found.insert(function.text.clone())),
        _ => {}
    });
}

impl Checker<'_> {
    /// Checks the whole kernel: every result is defined, and every dim is determined.
    pub(super) fn whole(&mut self) {
        let kernel = self.kernel;
        if !kernel.whole {
            return;
        }
        let defined: BTreeSet<&str> = definitions(kernel).map(|d| d.name.text.as_str()).collect();
        let results = kernel.outputs.iter().map(|o| (&o.name, "output"));
        let updates = kernel.params.iter().filter(|p| p.update && p.ty.shape.is_some()).map(|p| (&p.name, "argument"));
        for (name, what) in results.chain(updates).filter(|(name, _)| !defined.contains(name.as_str())) {
            let error = Error::new(name.span, format!("the {what} `{name}` is never defined"));
            let help = match what {
                "output" => format!("add `{name}[…] = …;`"),
                _ => format!("add `{name}[…] = …;`, or drop the `&mut`"),
            };
            self.errors.push(error.help(help));
        }
        if self.errors.is_empty() {
            self.dims_are_determined();
        }
    }

    /// Checks that the arguments' shapes determine every symbolic dim.
    fn dims_are_determined(&mut self) {
        let Err(missing) = crate::lower::solve::plan(&self.program) else { return };
        for dim in missing {
            let dim = &self.program.dims[dim];
            let error = Error::new(dim.span, format!("no argument's shape determines `{}`", dim.name));
            let given: Vec<&str> = self
                .program
                .buffers
                .values()
                .filter(|b| matches!(b.space, Space::Input | Space::Update))
                .map(|b| b.name.as_str())
                .collect();
            let error = error.note(match given.is_empty() {
                true => "no argument is a tensor".into(),
                false => format!("the shapes of {} are known at launch", list(given)),
            });
            let help = format!(
                "give it a value, `{0} = 1`: it is then a parameter; let the caller give it, by an argument `{0}: dim`; or use it in a \
                 shape as `factor * {0} + other dims`",
                dim.name
            );
            self.errors.push(error.help(help));
        }
    }
}
