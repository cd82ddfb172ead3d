//! Functions: `fn cube(v: f32) -> f32 { v * v * v }` in `functions!` or before a kernel, and closures, `let avg = |a, b| (a + b) / 2;`.
//!
//! This file defines the trees. `parse` reads functions, closures and the content of `functions!`, `import` reads `use`, and `split`
//! finds the items in tokens that are not parsed yet.

mod import;
mod parse;
mod split;

pub use import::paths as imported_paths;
pub use import::{Import, imports};
pub use parse::parse;
pub(super) use parse::{add, closure, function, items};
pub use split::{ItemTokens, kernel_tokens, plain, split};

use super::Name;
use super::expr::{Block, ExprKind};
use crate::diag::SpanId;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A function or a closure.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name. A closure has the name of its `let`.
    pub name: Name,
    /// The dtype generics, each with its choices.
    pub generics: Vec<(Name, Vec<Name>)>,
    /// The parameters.
    pub params: Vec<Param>,
    /// The dtype of the result, if it is written.
    pub result: Option<Name>,
    /// The body.
    pub body: Block,
    /// The place of the header.
    pub span: SpanId,
    /// The scope whose functions the body calls. A closure calls the functions where it is defined.
    pub scope: usize,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: Name,
    /// Its dtype or a generic. Without a dtype, the parameter is a `let` of the argument.
    pub dtype: Option<Name>,
}

/// The functions of an item, and of the items that it imports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Functions {
    /// The functions of all scopes.
    pub all: Vec<Arc<Function>>,
    /// The names of each scope. The first scope is the item's own. Each other scope belongs to imported functions.
    pub scopes: Vec<Vec<Scoped>>,
}

/// A name in a scope.
#[derive(Clone, Debug, PartialEq)]
pub struct Scoped {
    /// The name, where the function is defined or imported.
    pub name: Name,
    /// The function's number. `None` for an import with errors, which are reported where it is defined.
    pub function: Option<usize>,
}

impl Functions {
    /// Returns the functions that the item itself defines, with their numbers.
    pub fn own(&self) -> impl Iterator<Item = (usize, &Arc<Function>)> {
        self.all.iter().enumerate().filter(|(_, function)| function.scope == 0)
    }

    /// True if no import has errors.
    pub fn are_whole(&self) -> bool {
        self.scopes.iter().flatten().all(|scoped| scoped.function.is_some())
    }

    /// Returns the function of a name in a scope.
    pub fn find(&self, scope: usize, name: &str) -> Option<usize> {
        self.scopes.get(scope)?.iter().find(|scoped| scoped.name.text == name)?.function
    }
}

impl Function {
    /// Returns the names of the functions that the body calls.
    pub fn calls(&self) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        self.body.each(&mut |e| {
            if let ExprKind::Call { function, .. } = &e.kind {
                found.insert(function.as_str());
            }
        });
        found
    }
}
