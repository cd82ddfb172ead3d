//! The order in which the right side of each rewrite is simpler than its left side, and rewrites that repeat others.
//!
//! The weight of a term is a linear form of the weights of its variables. A replacement is simpler if no variable has a larger factor and
//! the weight is less for variables of weight 1. So it is simpler whatever the variables stand for, and rewriting ends.

use super::all;
use super::numbers::conditions;
use tilewright_dsl::expr::Binary;
use tilewright_dsl::expr::rules::{Claim, Form, Rule, Term};

/// A linear form: the factors of the variables, and the constant.
#[derive(Clone, Debug, PartialEq)]
struct Weight(Vec<i64>, i64);

impl Weight {
    fn plus(&self, other: &Weight) -> Weight {
        Weight(self.0.iter().zip(&other.0).map(|(a, b)| a + b).collect(), self.1 + other.1)
    }

    fn times(&self, by: i64) -> Weight {
        Weight(self.0.iter().map(|n| n * by).collect(), self.1 * by)
    }
}

/// Returns the factor and the summand of an operation. Truncated quotients are heavier than floors, floors are heavier than unsigned
/// quotients, and these are heavier than all other operations.
fn of_operation(op: Binary, unsigned: bool) -> (i64, i64) {
    match op {
        Binary::Div | Binary::Rem if unsigned => (1, 5),
        Binary::Div | Binary::Rem => (2, 9),
        Binary::FloorDiv | Binary::FloorMod => (2, 8),
        Binary::Mul => (1, 0),
        _ => (1, 1),
    }
}

fn weight(term: &Term, vars: usize) -> Weight {
    match term {
        Term::Int(_) => Weight(vec![0; vars], 1),
        Term::Var(n) => Weight((0..vars).map(|v| i64::from(v == *n)).collect(), 0),
        Term::Op { op, a, b } | Term::Unsigned { op, a, b } => {
            let (factor, summand) = of_operation(*op, matches!(term, Term::Unsigned { .. }));
            let sum = weight(a, vars).plus(&weight(b, vars)).times(factor);
            Weight(sum.0, sum.1 + summand)
        }
        Term::If { .. } => panic!("a rewrite has no choices"),
    }
}

/// True if `right` weighs less than `left` for all weights of the variables that are at least 1.
fn is_simpler(right: &Weight, left: &Weight) -> bool {
    let less = left.plus(&right.times(-1));
    less.0.iter().all(|n| *n >= 0) && less.0.iter().sum::<i64>() + less.1 > 0
}

#[test]
fn rewrites_end() {
    let mut wrong = Vec::new();
    for rule in all().filter(|rule| rule.form == Form::Rewrite) {
        let [left, right] = [rule.then.left, rule.then.right].map(|side| weight(&side, rule.vars.len()));
        if !is_simpler(&right, &left) {
            wrong.push(format!("{}: {left:?} to {right:?}", rule.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The order is not always true.
    let [sum, variable] = [Weight(vec![1, 1], 1), Weight(vec![2, 0], 0)];
    assert!(!is_simpler(&variable, &sum) && !is_simpler(&sum, &sum) && is_simpler(&Weight(vec![1, 0], 0), &sum));
}

/// Finds the terms for the variables of `pattern` that make it equal to `term`.
fn matches(pattern: &Term, term: &Term, found: &mut Vec<Option<Term>>) -> bool {
    match (pattern, term) {
        (Term::Var(n), _) => *found[*n].get_or_insert(*term) == *term,
        (Term::Op { op, a, b }, Term::Op { op: other, a: x, b: y }) => op == other && matches(a, x, found) && matches(b, y, found),
        (Term::Unsigned { op, a, b }, Term::Unsigned { op: other, a: x, b: y }) => {
            op == other && matches(a, x, found) && matches(b, y, found)
        }
        (Term::If { claim, yes, no }, Term::If { claim: other, yes: x, no: y }) => {
            matches_claim(claim, other, found) && matches(yes, x, found) && matches(no, y, found)
        }
        _ => pattern == term,
    }
}

fn matches_claim(pattern: &Claim, claim: &Claim, found: &mut Vec<Option<Term>>) -> bool {
    pattern.relation == claim.relation && matches(&pattern.left, &claim.left, found) && matches(&pattern.right, &claim.right, found)
}

/// True if `general` applies wherever `special` does, with the same result, because its claim and conditions match the claim and
/// conditions of `special`.
fn covers(general: &Rule, special: &Rule) -> bool {
    let mut found = vec![None; general.vars.len()];
    let wider = general.over == special.over || general.over == tilewright_dsl::expr::rules::Over::Both;
    let known = conditions(special);
    wider
        && matches_claim(&general.then, &special.then, &mut found)
        && conditions(general).iter().all(|needed| {
            known.iter().any(|claim| matches_claim(needed, claim, &mut found.clone()))
                // A condition on a literal.
                || matches!((needed.left, needed.right), (Term::Var(n), Term::Int(least)) if
                    matches!(found[n], Some(Term::Int(value)) if needed.relation.holds(value, least)))
        })
}

#[test]
fn no_rule_repeats_an_earlier_one() {
    let rules: Vec<&Rule> = all().collect();
    let mut wrong = Vec::new();
    for (n, rule) in rules.iter().enumerate() {
        let earlier = rules[..n].iter().filter(|earlier| covers(earlier, rule));
        wrong.extend(earlier.map(|earlier| format!("{} is covered by {}", rule.name, earlier.name)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The check finds a rule that repeats another.
    use tilewright_dsl::expr::rules::{FLOOR_OF_DIGIT, FLOOR_OF_ZERO, MIN_IS_FIRST, MIN_OF_EQUAL};
    let stricter = Rule { given: FLOOR_OF_ZERO.given, ..FLOOR_OF_DIGIT };
    assert!(covers(&FLOOR_OF_DIGIT, &stricter) && !covers(&stricter, &FLOOR_OF_DIGIT));
    assert!(!covers(&MIN_IS_FIRST, &MIN_OF_EQUAL), "its condition is not known");
}
