//! Checks the rules of `dsl/src/expr/rules`: each is correct, needed, and simpler on its right side. Writes `docs/rules.md`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod bounds;
mod numbers;
mod order;
mod page;
mod smt;
mod solver;
mod used;

use tilewright_dsl::expr::rules::{Rule, tables};

/// Returns all rules, in the order of the tables.
fn all() -> impl Iterator<Item = &'static Rule> {
    tables().into_iter().flat_map(|table| table.rules.iter().copied())
}
