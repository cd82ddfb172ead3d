//! The rules in numbers: of a few bits, all of them.

use super::all;
use tilewright_dsl::expr::Binary;
use tilewright_dsl::expr::rules::{Algebra, Claim, Over, Rule, Term};
use tilewright_dsl::launch::Relation;

/// The bits of the numbers in an exhaustive check.
pub(crate) const BITS: u32 = 6;

/// The bits of the numbers among which a counterexample is looked for.
const FEW_BITS: u32 = 4;

/// Numbers: integers, or two's complement of some bits.
#[derive(Clone, Copy)]
pub(crate) enum Numbers {
    Ints,
    Words(u32),
}

impl Numbers {
    /// Wraps a number.
    fn kept(self, n: i64) -> i64 {
        match self {
            Numbers::Ints => n,
            Numbers::Words(bits) => n << (64 - bits) >> (64 - bits),
        }
    }

    /// Returns the count of a shift, which is taken modulo the length of the vector.
    fn count(self, n: i64) -> i64 {
        match self {
            Numbers::Ints => n.rem_euclid(32),
            Numbers::Words(bits) => n.rem_euclid(bits.into()),
        }
    }

    /// Reads a vector as an unsigned number.
    fn unsigned_value(self, n: i64) -> i64 {
        match self {
            Numbers::Ints => n,
            Numbers::Words(bits) => n & ((1 << bits) - 1),
        }
    }
}

impl Algebra for Numbers {
    type Value = i64;

    fn int(&mut self, n: i64) -> Option<i64> {
        Some(self.kept(n))
    }

    fn apply(&mut self, op: Binary, a: &i64, b: &i64) -> Option<i64> {
        let value = match op {
            Binary::Shl => a << self.count(*b),
            Binary::Shr => a >> self.count(*b),
            _ => op.exact(*a, *b)?,
        };
        Some(self.kept(value))
    }

    fn unsigned(&mut self, op: Binary, a: &i64, b: &i64) -> Option<i64> {
        let (count, a, b) = (self.count(*b), self.unsigned_value(*a), self.unsigned_value(*b));
        let value = match op {
            Binary::Div => a.checked_div(b)?,
            Binary::Rem => a.checked_rem(b)?,
            _ => a >> count,
        };
        Some(self.kept(value))
    }

    fn compare(&mut self, by: Relation, a: &i64, b: &i64) -> Option<i64> {
        Some(by.holds(a, b).into())
    }

    fn choose(&mut self, condition: &i64, yes: &i64, no: &i64) -> Option<i64> {
        Some(if *condition != 0 { *yes } else { *no })
    }
}

/// Returns whether a claim holds. `None` if a term is not defined, for example a quotient by 0.
fn holds(claim: &Claim, numbers: Numbers, point: &[i64]) -> Option<bool> {
    let vars: Vec<&i64> = point.iter().collect();
    let mut numbers = numbers;
    let (left, right) = (claim.left.value(&mut numbers, &vars)?, claim.right.value(&mut numbers, &vars)?);
    Some(claim.relation.holds(left, right))
}

/// Returns the number of variables that a term needs to be known, from the first on.
fn known_after(term: &Term) -> usize {
    match term {
        Term::Int(_) => 0,
        Term::Var(n) => n + 1,
        Term::Op { a, b, .. } | Term::Unsigned { a, b, .. } => known_after(a).max(known_after(b)),
        Term::If { claim, yes, no } => needs(claim).max(known_after(yes)).max(known_after(no)),
    }
}

fn needs(claim: &Claim) -> usize {
    known_after(&claim.left).max(known_after(&claim.right))
}

/// Looks for numbers of `bits` bits that satisfy the conditions, and not the claim. Conditions are tested as soon as their variables have
/// values, and a variable that a condition equates with a term has that value only.
pub(crate) fn counterexample(rule: &Rule, conditions: &[Claim], numbers: Numbers, bits: u32) -> Option<Vec<i64>> {
    search(rule, conditions, numbers, bits, &mut Vec::new())
}

fn search(rule: &Rule, conditions: &[Claim], numbers: Numbers, bits: u32, point: &mut Vec<i64>) -> Option<Vec<i64>> {
    let now = conditions.iter().filter(|claim| needs(claim) == point.len());
    if !now.into_iter().all(|claim| holds(claim, numbers, point) == Some(true)) {
        return None;
    }
    if point.len() == rule.vars.len() {
        return (holds(&rule.then, numbers, point) != Some(true)).then(|| point.clone());
    }
    let equated = conditions.iter().find(|claim| {
        claim.relation == Relation::Eq && claim.left == Term::Var(point.len()) && known_after(&claim.right) <= point.len()
    });
    let values = match equated {
        Some(claim) => {
            let mut numbers = numbers;
            let value = claim.right.value(&mut numbers, &point.iter().collect::<Vec<_>>())?;
            value..value + 1
        }
        None => -(1 << (bits - 1))..1 << (bits - 1),
    };
    for value in values {
        point.push(value);
        if let Some(found) = search(rule, conditions, numbers, bits, point) {
            return Some(found);
        }
        point.pop();
    }
    None
}

/// Returns the conditions of a rule.
pub(crate) fn conditions(rule: &Rule) -> Vec<Claim> {
    [rule.given, rule.when].concat()
}

/// Returns the kinds of numbers for which a rule holds.
pub(crate) fn kinds(rule: &Rule, bits: u32) -> Vec<Numbers> {
    match rule.over {
        Over::Ints => vec![Numbers::Ints],
        Over::Words => vec![Numbers::Words(bits)],
        Over::Both => vec![Numbers::Ints, Numbers::Words(bits)],
    }
}

/// Shows a point with the names of the variables.
pub(crate) fn shown(rule: &Rule, point: &[i64]) -> String {
    let parts: Vec<String> = rule.vars.iter().zip(point).map(|(name, value)| format!("{name} = {value}")).collect();
    parts.join(", ")
}

/// Rules of one or two variables hold for all numbers of six bits. The other rules hold for all numbers of four bits.
#[test]
fn rules_hold_for_small_numbers() {
    let mut wrong = Vec::new();
    for rule in all() {
        let bits = if rule.vars.len() <= 2 { BITS } else { FEW_BITS };
        for numbers in kinds(rule, bits) {
            let found = counterexample(rule, &conditions(rule), numbers, bits);
            wrong.extend(found.map(|point| format!("{}: {}", rule.name, shown(rule, &point))));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Without any of its conditions, a rule is wrong.
#[test]
fn conditions_are_needed() {
    let mut idle = Vec::new();
    for rule in all() {
        let all = conditions(rule);
        for n in 0..all.len() {
            let fewer: Vec<Claim> = all.iter().enumerate().filter(|(other, _)| *other != n).map(|(_, claim)| *claim).collect();
            let refuted = |numbers| counterexample(rule, &fewer, numbers, FEW_BITS).is_some();
            if !kinds(rule, FEW_BITS).into_iter().any(refuted) {
                idle.push(format!("{}: condition {n}", rule.name));
            }
        }
    }
    assert!(idle.is_empty(), "needless conditions:\n{}", idle.join("\n"));
}

/// Each rule is of use: some numbers satisfy its conditions.
#[test]
fn conditions_can_hold() {
    for rule in all() {
        let never = Claim { left: Term::Int(0), relation: Relation::Eq, right: Term::Int(1) };
        let contradicted = Rule { then: never, ..*rule };
        let is_possible = |numbers| counterexample(&contradicted, &conditions(rule), numbers, FEW_BITS).is_some();
        assert!(kinds(rule, FEW_BITS).into_iter().all(is_possible), "{}", rule.name);
    }
}
