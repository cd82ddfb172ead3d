//! Rules: the rows of the tables, and their application to operands.

use super::term::{Algebra, Claim, Term};
use crate::expr::Binary;

/// The use of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Replaces the left term by the right one. The replacement is simpler in the order of the tests, so that rewriting ends.
    Rewrite,
    /// States a fact that a proof, a bound or an emitted formula uses.
    Lemma,
}

/// The numbers for which a rule holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    /// Integers without a width: indices and sizes.
    Ints,
    /// 32-bit vectors, whose arithmetic wraps: data, and the instructions of a device.
    Words,
    /// Both.
    Both,
}

/// A rule: under its conditions, its claim holds for all values of its variables.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The name by which the code and the page of the rules refer to it.
    pub name: &'static str,
    /// A sentence about it, for the page.
    pub about: &'static str,
    /// Its variables.
    pub vars: &'static [&'static str],
    /// The conditions that hold wherever the rule is used, by the meaning of its operands. For example, a divisor is at least 1.
    pub given: &'static [Claim],
    /// The conditions that the code checks.
    pub when: &'static [Claim],
    /// The claim. The claim of a rewrite is an equation, which is used from left to right.
    pub then: Claim,
    /// The use.
    pub form: Form,
    /// The numbers.
    pub over: Over,
}

/// The result of a rule for an operation on literals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Folded {
    /// The operand with this number.
    Operand(usize),
    /// A literal.
    Int(i64),
}

impl Rule {
    /// Returns the operation on the left side of the claim.
    pub fn operation(&self) -> Option<Binary> {
        if let Term::Op { op, .. } = self.then.left { Some(op) } else { None }
    }

    /// Returns the right side of the claim.
    pub fn result<A: Algebra>(&self, algebra: &mut A, vars: &[&A::Value]) -> Option<A::Value> {
        self.then.right.value(algebra, vars)
    }

    /// Returns the operands of the operation on the left side of the claim.
    pub fn operands<A: Algebra>(&self, algebra: &mut A, vars: &[&A::Value]) -> Option<[A::Value; 2]> {
        let Term::Op { a, b, .. } = self.then.left else { return None };
        Some([a.value(algebra, vars)?, b.value(algebra, vars)?])
    }

    /// Returns a value that is at least 0 if and only if the claim holds.
    pub fn claimed<A: Algebra>(&self, algebra: &mut A, vars: &[&A::Value]) -> Option<A::Value> {
        self.then.difference(algebra, vars)
    }

    /// Returns a value that is at least 0 if and only if condition number `n` holds.
    pub fn goal<A: Algebra>(&self, n: usize, algebra: &mut A, vars: &[&A::Value]) -> Option<A::Value> {
        self.when.get(n)?.difference(algebra, vars)
    }

    /// True if all conditions hold. `holds` decides whether a value is at least 0.
    pub fn applies<A: Algebra>(&self, algebra: &mut A, vars: &[&A::Value], mut holds: impl FnMut(&A::Value) -> bool) -> bool {
        self.when.iter().all(|claim| claim.shared_difference(algebra, vars).is_some_and(|value| holds(&value)))
    }

    /// Returns the result of the rule for an operation. Some of its operands are literals. `None` if the rule does not match.
    fn fold(&self, of: Binary, literals: [Option<i64>; 2]) -> Option<Folded> {
        let Term::Op { op, a, b } = self.then.left else { return None };
        let is = |term: &Term, literal: Option<i64>| match term {
            Term::Int(n) => literal == Some(*n),
            Term::Var(_) => true,
            _ => false,
        };
        if op != of || !is(a, literals[0]) || !is(b, literals[1]) {
            return None;
        }
        match self.then.right {
            Term::Int(n) => Some(Folded::Int(n)),
            right => [a, b].iter().position(|side| **side == right).map(Folded::Operand),
        }
    }
}

/// Returns the result of the first rule that matches an operation. Each rule has a literal operand, so none matches an operation without
/// literals.
pub fn folded(rules: &[&Rule], op: Binary, literals: [Option<i64>; 2]) -> Option<Folded> {
    if literals == [None, None] {
        return None;
    }
    rules.iter().find_map(|rule| rule.fold(op, literals))
}

/// Defines rules, and the list of them. A rule has a name, its variables, the numbers for which it holds, its conditions and its claim:
///
/// ```text
/// /// A multiple of the divisor leaves a quotient.
/// FLOOR_OF_MULTIPLE [q d r] Ints given (d >= 1): rewrite (((q * d) + r) / d) => (q + (r / d));
/// ```
macro_rules! rules {
    ($(#[$docs:meta])* $list:ident $(
        $(#[doc = $about:literal])+
        $name:ident [$($var:ident)+] $over:ident $(given $($given:tt),+)? $(if $($when:tt),+)?: $form:ident $($side:tt)=>+;
    )+) => {
        $(
            $(#[doc = $about])+
            pub static $name: $crate::expr::rules::Rule = {
                const VARS: &[&str] = &[$(stringify!($var)),+];
                $crate::expr::rules::Rule {
                    name: stringify!($name),
                    about: concat!($($about),+),
                    vars: VARS,
                    given: &[$($(claim!(VARS, $given)),+)?],
                    when: &[$($(claim!(VARS, $when)),+)?],
                    then: rules!(@ $form VARS, $($side),+),
                    form: rules!(@form $form),
                    over: $crate::expr::rules::Over::$over,
                }
            };
        )+
        $(#[$docs])*
        pub static $list: &[&$crate::expr::rules::Rule] = &[$(&$name),+];
    };
    (@ rewrite $vars:ident, $left:tt, $right:tt) => {
        $crate::expr::rules::Claim {
            left: term!($vars, $left), relation: $crate::expr::Compare::Eq, right: term!($vars, $right),
        }
    };
    (@ claim $vars:ident, $claim:tt) => { claim!($vars, $claim) };
    (@form rewrite) => { $crate::expr::rules::Form::Rewrite };
    (@form claim) => { $crate::expr::rules::Form::Lemma };
}

pub(super) use rules;
