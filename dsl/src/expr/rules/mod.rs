//! The rules by which the compiler rewrites indices, proves facts about them, and emits their arithmetic, as data.
//!
//! A rule is a row: its variables, its conditions and its claim ([`Rule`]). The code applies a row by name. It evaluates the terms of the
//! row in its own arithmetic ([`Algebra`]), for example in polynomials, so a result or a condition has one definition. The test
//! `dsl/tests/rules` prints the same rows for an SMT solver, and writes the page `docs/rules.md`.
//!
//! Some rules are part of an algorithm, such as the division of polynomials. Their row is next to the others, and the comment of the code
//! names it.

mod emitted;
mod index;
mod polynomials;
mod proofs;
mod rule;
mod term;
mod words;

pub use emitted::*;
pub use index::*;
pub use polynomials::*;
pub use proofs::*;
pub use rule::{Folded, Form, Over, Rule, folded};
pub use term::{Algebra, Claim, Term};
pub use words::*;

/// A table of rules.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The name by which the code refers to the table.
    pub name: &'static str,
    /// The title of its section on the page.
    pub title: &'static str,
    /// Its rules.
    pub rules: &'static [&'static Rule],
}

/// Returns all tables.
pub fn tables() -> [Table; 9] {
    [
        Table { name: "FOLDS", title: "Literals in indices", rules: FOLDS },
        Table { name: "LITERAL_QUOTIENTS", title: "Quotients of literals", rules: LITERAL_QUOTIENTS },
        Table { name: "SIGNS", title: "Signs of extents", rules: SIGNS },
        Table { name: "SUMS", title: "Sums and products", rules: SUMS },
        Table { name: "NORMAL_FORMS", title: "Floors and minima of polynomials", rules: NORMAL_FORMS },
        Table { name: "PROOFS", title: "Proofs", rules: PROOFS },
        Table { name: "CLAMPS", title: "Clamps", rules: CLAMPS },
        Table { name: "EMITTED", title: "Emitted indices", rules: EMITTED },
        Table { name: "INSTRUCTIONS", title: "Instructions", rules: INSTRUCTIONS },
    ]
}
