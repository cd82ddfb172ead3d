//! Terms: the data that rules are written in, and their values in any arithmetic.

use crate::expr::{Binary, Compare};
use std::borrow::Cow;

/// An integer term over the variables of a rule. `/` and `%` round towards minus infinity, as indices do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Term {
    /// A literal.
    Int(i64),
    /// A variable, by its position in the rule's list.
    Var(usize),
    /// An operation on two terms.
    Op {
        /// The operation.
        op: Binary,
        /// The first operand.
        a: &'static Term,
        /// The second operand.
        b: &'static Term,
    },
    /// An operation on two 32-bit vectors that are read as unsigned numbers.
    Unsigned {
        /// The operation: a quotient, a remainder or a shift.
        op: Binary,
        /// The first operand.
        a: &'static Term,
        /// The second operand.
        b: &'static Term,
    },
    /// `yes` if the claim holds, otherwise `no`.
    If {
        /// The claim.
        claim: &'static Claim,
        /// The term if the claim holds.
        yes: &'static Term,
        /// The term if the claim does not hold.
        no: &'static Term,
    },
}

/// A comparison of two terms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Claim {
    /// The first term.
    pub left: Term,
    /// The relation between the two terms.
    pub relation: Compare,
    /// The second term.
    pub right: Term,
}

/// Arithmetic in which terms have values. A rule's terms have values in polynomials, in ranges, in the backend's instructions, and in
/// numbers. An operation that an arithmetic lacks, or that does not fit, is `None`.
pub trait Algebra {
    /// A value.
    type Value: Clone;

    /// Returns a literal.
    fn int(&mut self, n: i64) -> Option<Self::Value>;

    /// Applies an operation.
    fn apply(&mut self, op: Binary, a: &Self::Value, b: &Self::Value) -> Option<Self::Value>;

    /// Applies an operation on unsigned numbers.
    fn unsigned(&mut self, _op: Binary, _a: &Self::Value, _b: &Self::Value) -> Option<Self::Value> {
        None
    }

    /// Compares two values. The result is a condition of [`Algebra::choose`].
    fn compare(&mut self, _by: Compare, _a: &Self::Value, _b: &Self::Value) -> Option<Self::Value> {
        None
    }

    /// Selects one of two values by a condition.
    fn choose(&mut self, _condition: &Self::Value, _yes: &Self::Value, _no: &Self::Value) -> Option<Self::Value> {
        None
    }
}

impl Term {
    /// Returns the value of the term for these values of its variables.
    pub fn value<A: Algebra>(&self, algebra: &mut A, vars: &[&A::Value]) -> Option<A::Value> {
        self.shared(algebra, vars).map(Cow::into_owned)
    }

    /// Returns the value, without a copy if the term is a variable.
    fn shared<'v, A: Algebra>(&self, algebra: &mut A, vars: &[&'v A::Value]) -> Option<Cow<'v, A::Value>> {
        Some(match *self {
            Term::Var(n) => Cow::Borrowed(vars[n]),
            Term::Int(n) => Cow::Owned(algebra.int(n)?),
            Term::Op { op, a, b } => {
                let (a, b) = (a.shared(algebra, vars)?, b.shared(algebra, vars)?);
                Cow::Owned(algebra.apply(op, &a, &b)?)
            }
            Term::Unsigned { op, a, b } => {
                let (a, b) = (a.shared(algebra, vars)?, b.shared(algebra, vars)?);
                Cow::Owned(algebra.unsigned(op, &a, &b)?)
            }
            Term::If { claim, yes, no } => {
                let (a, b) = (claim.left.shared(algebra, vars)?, claim.right.shared(algebra, vars)?);
                let condition = algebra.compare(claim.relation, &a, &b)?;
                let (yes, no) = (yes.shared(algebra, vars)?, no.shared(algebra, vars)?);
                Cow::Owned(algebra.choose(&condition, &yes, &no)?)
            }
        })
    }
}

impl Claim {
    /// Returns a value that is at least 0 exactly if the claim holds. `None` for `==` and `!=`.
    pub fn difference<A: Algebra>(&self, algebra: &mut A, vars: &[&A::Value]) -> Option<A::Value> {
        self.shared_difference(algebra, vars).map(Cow::into_owned)
    }

    /// Returns the difference, without a copy if it is a variable.
    pub(super) fn shared_difference<'v, A: Algebra>(&self, algebra: &mut A, vars: &[&'v A::Value]) -> Option<Cow<'v, A::Value>> {
        let (more, less) = match self.relation {
            Compare::Ge | Compare::Gt => (&self.left, &self.right),
            Compare::Le | Compare::Lt => (&self.right, &self.left),
            Compare::Eq | Compare::Ne => return None,
        };
        let strict = matches!(self.relation, Compare::Gt | Compare::Lt);
        let value = match less {
            Term::Int(0) => more.shared(algebra, vars)?,
            _ => {
                let (more, less) = (more.shared(algebra, vars)?, less.shared(algebra, vars)?);
                Cow::Owned(algebra.apply(Binary::Sub, &more, &less)?)
            }
        };
        match strict {
            true => algebra.int(1).and_then(|one| algebra.apply(Binary::Sub, &value, &one)).map(Cow::Owned),
            false => Some(value),
        }
    }
}

/// Returns the position of a variable in a rule's list. A name that is not in the list does not compile.
pub(super) const fn position(vars: &[&str], name: &str) -> usize {
    let mut at = 0;
    while !is_equal(vars[at].as_bytes(), name.as_bytes()) {
        at += 1;
    }
    at
}

const fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// Makes a term. Each operation has its own parentheses, for example `((q * d) + r)`.
macro_rules! term {
    ($vars:ident, $n:literal) => { $crate::expr::rules::Term::Int($n) };
    ($vars:ident, $name:ident) => { $crate::expr::rules::Term::Var($crate::expr::rules::term::position($vars, stringify!($name))) };
    ($vars:ident, (- $n:literal)) => { $crate::expr::rules::Term::Int(-$n) };
    ($vars:ident, (- $a:tt)) => { term!($vars, (0 - $a)) };
    ($vars:ident, (if $claim:tt $yes:tt else $no:tt)) => {
        $crate::expr::rules::Term::If {
            claim: &claim!($vars, $claim), yes: &term!($vars, $yes), no: &term!($vars, $no),
        }
    };
    ($vars:ident, ($a:tt + $b:tt)) => { term!(@ Op Add, $vars, $a, $b) };
    ($vars:ident, ($a:tt - $b:tt)) => { term!(@ Op Sub, $vars, $a, $b) };
    ($vars:ident, ($a:tt * $b:tt)) => { term!(@ Op Mul, $vars, $a, $b) };
    ($vars:ident, ($a:tt / $b:tt)) => { term!(@ Op FloorDiv, $vars, $a, $b) };
    ($vars:ident, ($a:tt % $b:tt)) => { term!(@ Op FloorMod, $vars, $a, $b) };
    ($vars:ident, ($a:tt quot $b:tt)) => { term!(@ Op Div, $vars, $a, $b) };
    ($vars:ident, ($a:tt rem $b:tt)) => { term!(@ Op Rem, $vars, $a, $b) };
    ($vars:ident, ($a:tt min $b:tt)) => { term!(@ Op Min, $vars, $a, $b) };
    ($vars:ident, ($a:tt max $b:tt)) => { term!(@ Op Max, $vars, $a, $b) };
    ($vars:ident, ($a:tt & $b:tt)) => { term!(@ Op And, $vars, $a, $b) };
    ($vars:ident, ($a:tt | $b:tt)) => { term!(@ Op Or, $vars, $a, $b) };
    ($vars:ident, ($a:tt ^ $b:tt)) => { term!(@ Op Xor, $vars, $a, $b) };
    ($vars:ident, ($a:tt << $b:tt)) => { term!(@ Op Shl, $vars, $a, $b) };
    ($vars:ident, ($a:tt >> $b:tt)) => { term!(@ Op Shr, $vars, $a, $b) };
    ($vars:ident, ($a:tt udiv $b:tt)) => { term!(@ Unsigned Div, $vars, $a, $b) };
    ($vars:ident, ($a:tt umod $b:tt)) => { term!(@ Unsigned Rem, $vars, $a, $b) };
    ($vars:ident, ($a:tt ushr $b:tt)) => { term!(@ Unsigned Shr, $vars, $a, $b) };
    (@ $kind:ident $op:ident, $vars:ident, $a:tt, $b:tt) => {
        $crate::expr::rules::Term::$kind {
            op: $crate::expr::Binary::$op, a: &term!($vars, $a), b: &term!($vars, $b),
        }
    };
}

/// Makes a claim, for example `(d >= 1)`.
macro_rules! claim {
    ($vars:ident, ($a:tt == $b:tt)) => { claim!(@ Eq, $vars, $a, $b) };
    ($vars:ident, ($a:tt != $b:tt)) => { claim!(@ Ne, $vars, $a, $b) };
    ($vars:ident, ($a:tt < $b:tt)) => { claim!(@ Lt, $vars, $a, $b) };
    ($vars:ident, ($a:tt <= $b:tt)) => { claim!(@ Le, $vars, $a, $b) };
    ($vars:ident, ($a:tt > $b:tt)) => { claim!(@ Gt, $vars, $a, $b) };
    ($vars:ident, ($a:tt >= $b:tt)) => { claim!(@ Ge, $vars, $a, $b) };
    (@ $relation:ident, $vars:ident, $a:tt, $b:tt) => {
        $crate::expr::rules::Claim {
            left: term!($vars, $a), relation: $crate::expr::Compare::$relation, right: term!($vars, $b),
        }
    };
}

pub(super) use {claim, term};
