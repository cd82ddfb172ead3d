//! The page of the rules, `docs/rules.md`. `UPDATE_DOCS=1 cargo test -p tilewright-dsl --test dsl rules` writes it.

use super::numbers::BITS;
use super::smt::Theory;
use super::solver::{BY_CASES, EXHAUSTED, theories};
use super::used::{Uses, root, uses, uses_of};
use std::fs;
use tilewright_dsl::expr::Binary;
use tilewright_dsl::expr::rules::{Claim, Form, Rule, Term, tables};

const OPENING: &str = "# Rules

Each rule by which the compiler rewrites indices, proves facts about them, or emits their arithmetic is a row of a table in
`dsl/src/expr/rules`. This page lists the rows. You can look up a rule that a comment or a test names, its conditions, and how it was
checked.

For example, `FLOOR_OF_DIGIT` is this row:

```text
/// The floor of a component of a mixed-radix number is 0.
FLOOR_OF_DIGIT [p d] Both if (p >= 0), (p < d): rewrite (p / d) => 0;
```

The prover asks for its conditions with `FLOOR_OF_DIGIT.applies`, in polynomials. Code generation asks for them in ranges of values. The
test prints the row for the solver. So a condition that is missing in the row is missing in all three.

## How to read a row

- `/` and `%` round towards minus infinity, and their divisor is at least 1. `quot` and `rem` truncate, as Rust does. `udiv`, `umod` and
  `ushr` read 32-bit vectors as unsigned numbers.
- *Given* conditions hold wherever the rule is used, by the meaning of the operands. For example, a divisor is at least 1. The code checks
  the conditions after *if*.
- A rule with `=>` replaces the left side by the right side. Other rules are facts.
- A file in *used in* applies the row. A file in parentheses has an algorithm that the rule is part of, and names it in a comment.

## How rules are checked

`cargo test -p tilewright-dsl --test dsl rules` makes these checks:

- z3 proves each rule for all integers (*integers*), and for all 32-bit vectors if it is used for numbers that wrap (*32 bits*). A rule
  about a power of two is proved for each power (*by cases*). A rule that z3 does not decide is checked for all numbers of 6 bits
  (*6 bits*). Without z3, the proofs are skipped with a line that says so.
- Each rule holds for all small numbers, and without any of its conditions it does not. So no condition is needless.
- The right side of each rewrite is simpler than its left side, whatever its variables stand for. So rewriting ends.
- No rule repeats an earlier one.
- The code names each rule.
- The arithmetic of bounds and intervals (`launch/src/interval.rs`) holds every value of all small bounds, with and without ends.

To add a rule, add a row and apply it by its name. If z3 does not decide it, add it to `EXHAUSTED` in `dsl/tests/rules/solver.rs`.
`UPDATE_DOCS=1 cargo test -p tilewright-dsl --test dsl rules` writes this page.
";

/// Returns an operation's symbol.
fn symbol(op: Binary, unsigned: bool) -> &'static str {
    match op {
        Binary::Add => "+",
        Binary::Sub => "-",
        Binary::Mul => "*",
        Binary::FloorDiv => "/",
        Binary::FloorMod => "%",
        Binary::Div if unsigned => "udiv",
        Binary::Rem if unsigned => "umod",
        Binary::Div => "quot",
        Binary::Rem => "rem",
        Binary::Min => "min",
        Binary::Max => "max",
        Binary::And => "&",
        // The mark would end a cell of the table.
        Binary::Or => "\\|",
        Binary::Xor => "^",
        Binary::Shl => "<<",
        Binary::Shr if unsigned => "ushr",
        Binary::Shr => ">>",
        other => panic!("{other:?} has no symbol"),
    }
}

/// Returns a term with parentheses around each operation, except around the whole if it is at the `top`.
fn shown(term: &Term, vars: &[&str], top: bool) -> String {
    let of = |term: &Term| shown(term, vars, false);
    let text = match term {
        Term::Int(n) => return n.to_string(),
        Term::Var(n) => return vars[*n].to_owned(),
        Term::Op { op: Binary::Sub, a: Term::Int(0), b } => format!("-{}", of(b)),
        Term::Op { op, a, b } => format!("{} {} {}", of(a), symbol(*op, false), of(b)),
        Term::Unsigned { op, a, b } => format!("{} {} {}", of(a), symbol(*op, true), of(b)),
        Term::If { claim, yes, no } => format!("if {} {{ {} }} else {{ {} }}", claimed(claim, vars), of(yes), of(no)),
    };
    if top { text } else { format!("({text})") }
}

fn claimed(claim: &Claim, vars: &[&str]) -> String {
    format!("{} {} {}", shown(&claim.left, vars, true), claim.relation.symbol(), shown(&claim.right, vars, true))
}

fn conditions(rule: &Rule) -> String {
    let list =
        |claims: &[Claim]| claims.iter().map(|claim| format!("`{}`", claimed(claim, rule.vars))).collect::<Vec<_>>().join(", ");
    let parts = [("given ", rule.given), ("if ", rule.when)];
    let texts = parts.iter().filter(|(_, claims)| !claims.is_empty()).map(|(word, claims)| format!("{word}{}", list(claims)));
    texts.collect::<Vec<_>>().join("; ")
}

fn places(uses: &Uses) -> String {
    let applied = uses.applied.iter().map(|path| format!("`{path}`"));
    let stated = uses.stated.iter().filter(|path| !uses.applied.contains(path)).map(|path| format!("(`{path}`)"));
    applied.chain(stated).collect::<Vec<_>>().join(", ")
}

fn checked(rule: &Rule) -> String {
    let of = |theory: &Theory| match (EXHAUSTED.contains(&(rule.name, *theory)), theory) {
        _ if BY_CASES.contains(&(rule.name, *theory)) => "32 bits, by cases".to_owned(),
        (false, Theory::Ints) => "integers".to_owned(),
        (false, Theory::Words) => "32 bits".to_owned(),
        (true, Theory::Ints) => format!("{BITS} bits"),
        (true, Theory::Words) => format!("{BITS} bits, wrapping"),
    };
    theories(rule).iter().map(of).collect::<Vec<_>>().join(", ")
}

fn page() -> String {
    let (mut page, uses) = (OPENING.to_owned(), uses());
    for table in tables() {
        page += &format!("\n## {}\n\n| rule | claim | conditions | used in | checked |\n|---|---|---|---|---|\n", table.title);
        for rule in table.rules {
            let claim = match rule.form {
                Form::Rewrite => {
                    format!("{} => {}", shown(&rule.then.left, rule.vars, true), shown(&rule.then.right, rule.vars, true))
                }
                Form::Lemma => claimed(&rule.then, rule.vars),
            };
            let (name, about, uses) = (rule.name, rule.about.trim(), uses_of(&uses, &table, rule));
            page += &format!("| `{name}`: {about} | `{claim}` | {} | {} | {} |\n", conditions(rule), places(&uses), checked(rule));
        }
    }
    page
}

#[test]
fn the_page_lists_the_rules() {
    let (path, page) = (root().join("docs/rules.md"), page());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(known == page, "docs/rules.md is out of date: UPDATE_DOCS=1 cargo test -p tilewright-dsl --test dsl rules");
}
