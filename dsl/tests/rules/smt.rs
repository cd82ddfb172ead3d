//! The rules in SMT-LIB.

use super::numbers::conditions;
use tilewright_dsl::expr::Binary;
use tilewright_dsl::expr::rules::{Claim, Rule, Term};
use tilewright_dsl::launch::Relation;

/// The theory in which a rule is printed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Theory {
    Ints,
    /// 32-bit vectors.
    Words,
}

impl Theory {
    fn sort(self) -> &'static str {
        match self {
            Theory::Ints => "Int",
            Theory::Words => "(_ BitVec 32)",
        }
    }

    fn function(self, op: Binary) -> &'static str {
        match (self, op) {
            (Theory::Ints, Binary::Add) => "+",
            (Theory::Ints, Binary::Sub) => "-",
            (Theory::Ints, Binary::Mul) => "*",
            // For a positive divisor, the quotient of SMT-LIB is rounded towards minus infinity.
            (Theory::Ints, Binary::FloorDiv) => "div",
            (Theory::Ints, Binary::FloorMod) => "mod",
            (Theory::Words, Binary::Add) => "bvadd",
            (Theory::Words, Binary::Sub) => "bvsub",
            (Theory::Words, Binary::Mul) => "bvmul",
            (Theory::Words, Binary::FloorDiv) => "floor-div",
            (Theory::Words, Binary::FloorMod) => "floor-mod",
            (_, Binary::Div) => "quot",
            (_, Binary::Rem) => "rem",
            (_, Binary::Min) => "min",
            (_, Binary::Max) => "max",
            (Theory::Words, Binary::And) => "bvand",
            (Theory::Words, Binary::Or) => "bvor",
            (Theory::Words, Binary::Xor) => "bvxor",
            (Theory::Words, Binary::Shl) => "shl",
            (Theory::Words, Binary::Shr) => "shr",
            (_, other) => panic!("{other:?} has no function"),
        }
    }

    fn unsigned(self, op: Binary) -> &'static str {
        match op {
            Binary::Div => "bvudiv",
            Binary::Rem => "bvurem",
            Binary::Shr => "ushr",
            other => panic!("{other:?} has no function of unsigned numbers"),
        }
    }

    fn relation(self, relation: Relation) -> &'static str {
        match (self, relation) {
            (_, Relation::Eq) => "=",
            (_, Relation::Ne) => "distinct",
            (Theory::Ints, _) => relation.symbol(),
            (Theory::Words, Relation::Lt) => "bvslt",
            (Theory::Words, Relation::Le) => "bvsle",
            (Theory::Words, Relation::Gt) => "bvsgt",
            (Theory::Words, Relation::Ge) => "bvsge",
        }
    }

    fn int(self, n: i64) -> String {
        match self {
            Theory::Ints if n < 0 => format!("(- {})", n.unsigned_abs()),
            Theory::Ints => n.to_string(),
            Theory::Words => format!("#x{:08x}", n as u32),
        }
    }

    /// Returns the definitions of the functions that SMT-LIB lacks, and of quotients by the unsigned quotient, as SMT-LIB defines them too.
    pub(crate) fn prelude(self) -> &'static str {
        match self {
            Theory::Ints => {
                "(define-fun min ((a Int) (b Int)) Int (ite (< a b) a b))
(define-fun max ((a Int) (b Int)) Int (ite (< a b) b a))
(define-fun quot ((a Int) (b Int)) Int (ite (= b 0) 0 (ite (>= a 0) (div a b) (- (div (- a) b)))))
(define-fun rem ((a Int) (b Int)) Int (ite (= b 0) 0 (- a (* b (quot a b)))))
"
            }
            Theory::Words => {
                "(define-sort W () (_ BitVec 32))
(define-fun min ((a W) (b W)) W (ite (bvslt a b) a b))
(define-fun max ((a W) (b W)) W (ite (bvslt a b) b a))
(define-fun pos ((a W)) Bool (bvsge a #x00000000))
(define-fun quot ((a W) (b W)) W (ite (= b #x00000000) #x00000000
  (ite (pos a) (ite (pos b) (bvudiv a b) (bvneg (bvudiv a (bvneg b))))
               (ite (pos b) (bvneg (bvudiv (bvneg a) b)) (bvudiv (bvneg a) (bvneg b))))))
(define-fun rem ((a W) (b W)) W (ite (= b #x00000000) #x00000000
  (ite (pos a) (ite (pos b) (bvurem a b) (bvurem a (bvneg b)))
               (ite (pos b) (bvneg (bvurem (bvneg a) b)) (bvneg (bvurem (bvneg a) (bvneg b)))))))
(define-fun floor-div ((a W) (b W)) W (ite (pos (rem a b)) (quot a b) (bvsub (quot a b) #x00000001)))
(define-fun floor-mod ((a W) (b W)) W (ite (pos (rem a b)) (rem a b) (bvadd (rem a b) b)))
(define-fun shl ((a W) (b W)) W (bvshl a (bvand b #x0000001f)))
(define-fun ushr ((a W) (b W)) W (bvlshr a (bvand b #x0000001f)))
(define-fun shr ((a W) (b W)) W (bvashr a (bvand b #x0000001f)))
"
            }
        }
    }

    fn term(self, term: &Term, vars: &[&str]) -> String {
        let of = |term: &Term| self.term(term, vars);
        match term {
            Term::Int(n) => self.int(*n),
            Term::Var(n) => vars[*n].to_owned(),
            Term::Op { op, a, b } => format!("({} {} {})", self.function(*op), of(a), of(b)),
            Term::Unsigned { op, a, b } => format!("({} {} {})", self.unsigned(*op), of(a), of(b)),
            Term::If { claim, yes, no } => format!("(ite {} {} {})", self.claim(claim, vars), of(yes), of(no)),
        }
    }

    fn claim(self, claim: &Claim, vars: &[&str]) -> String {
        let [left, right] = [claim.left, claim.right].map(|side| self.term(&side, vars));
        format!("({} {left} {right})", self.relation(claim.relation))
    }

    /// Adds the conditions under which a term has a value: the divisors of floors are at least 1.
    fn defined(self, term: &Term, vars: &[&str], out: &mut Vec<String>) {
        match term {
            Term::Int(_) | Term::Var(_) => {}
            Term::Op { op, a, b } => {
                if matches!(op, Binary::FloorDiv | Binary::FloorMod) {
                    out.push(format!("({} {} {})", self.relation(Relation::Ge), self.term(b, vars), self.int(1)));
                }
                self.defined(a, vars, out);
                self.defined(b, vars, out);
            }
            Term::Unsigned { a, b, .. } => {
                self.defined(a, vars, out);
                self.defined(b, vars, out);
            }
            Term::If { claim, yes, no } => {
                [&claim.left, &claim.right, *yes, *no].into_iter().for_each(|part| self.defined(part, vars, out));
            }
        }
    }

    /// Returns a query that is satisfiable exactly if some numbers satisfy the conditions, and not the claim. If `last` is given, it is the
    /// value of the last variable.
    pub(crate) fn query(self, rule: &Rule, last: Option<i64>) -> String {
        let mut text = String::from("(push)\n");
        for (n, name) in rule.vars.iter().enumerate() {
            text += &match last.filter(|_| n + 1 == rule.vars.len()) {
                Some(value) => format!("(define-fun {name} () {} {})\n", self.sort(), self.int(value)),
                None => format!("(declare-const {name} {})\n", self.sort()),
            };
        }
        for condition in conditions(rule) {
            let mut known = vec![self.claim(&condition, rule.vars)];
            [condition.left, condition.right].iter().for_each(|side| self.defined(side, rule.vars, &mut known));
            known.iter().for_each(|known| text += &format!("(assert {known})\n"));
        }
        let mut holds = vec![self.claim(&rule.then, rule.vars)];
        [rule.then.left, rule.then.right].iter().for_each(|side| self.defined(side, rule.vars, &mut holds));
        text + &format!("(assert (not (and true {})))\n(check-sat)\n(pop)\n", holds.join(" "))
    }
}
