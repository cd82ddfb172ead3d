//! The order and use of definitions: names across the statements of a kernel, and the checks of the whole kernel.

use super::Checker;
use crate::diag::{Error, list};
use crate::nest::Space;
use crate::syntax::Kernel;
use crate::syntax::expr::{Expr, ExprKind};
use crate::syntax::kernel::{Define, Statement};
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
        _ => {}
    });
}

impl Checker<'_> {
    /// Checks the whole kernel: every result is defined, every intermediate is used, and every dim is determined.
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
        let mut used = BTreeSet::new();
        for statement in &kernel.statements {
            match statement {
                Statement::Define(define) => gather(&define.value, &mut used),
                Statement::Let(bound) => gather(&bound.value, &mut used),
                Statement::Const { .. } => {}
            }
        }
        for define in definitions(kernel).filter(|d| d.ty.is_some() && !used.contains(&d.name.text)) {
            let error = Error::new(define.span, format!("`{}` is never read", define.name));
            self.errors.push(error.help("remove it, or make it an output"));
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
