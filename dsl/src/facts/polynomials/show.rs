//! Indices, polynomials and claims as the user would write them.

use super::atoms::{Atom, Formula};
use super::mono::AtomId;
use super::poly::Poly;
use crate::expr::operators::{Level, Spelling};
use crate::expr::{Expr, ExprId};
use crate::facts::context::Context;
use crate::facts::{Claim, Operand, Prover};
use crate::nest::Program;
use tilewright_launch::DType;

/// The maximum depth of an expression that is shown, because longer texts are not readable.
const MAX_DEPTH: u32 = 24;

/// The most atoms nested in an atom that is shown. The number is limited, because each can be named several times.
const MAX_WITHIN: usize = 12;

impl Prover<'_> {
    /// Returns an operand with the program's names, for example `oh * S + fh`.
    pub fn show<'a>(&self, a: impl Into<Operand<'a>>) -> String {
        self.context.borrow().show(a.into(), Level::Any)
    }

    /// Returns a claim with the program's names, for example `ow * S + fw < IW`.
    pub fn show_claim(&self, claim: Claim<'_>) -> String {
        let context = self.context.borrow();
        let show = |a| context.show(a, Level::Sum);
        match claim {
            Claim::Less(a, b) => format!("{} < {}", show(a), show(b)),
            Claim::LessEqual(a, b) => format!("{} <= {}", show(a), show(b)),
            Claim::Equal(a, b) => format!("{} == {}", show(a), show(b)),
            Claim::Inside(a, b) => format!("0 <= {} < {}", show(a), show(b)),
            Claim::Divides(c, a) => format!("{} % {c} == 0", context.show(a, Level::Product)),
        }
    }
}

impl Context<'_> {
    fn show(&self, operand: Operand<'_>, outer: Level) -> String {
        match operand {
            Operand::Expr(e) => show_expr(self.program, e, outer, MAX_DEPTH),
            Operand::Int(n) => n.to_string(),
            Operand::Poly(p) => self.show_poly(p, outer),
        }
    }

    /// Returns a sum of products: positive terms first, the constant last.
    pub(super) fn show_poly(&self, p: &Poly, outer: Level) -> String {
        let mut terms: Vec<(bool, String)> = Vec::new();
        for (mono, c) in p.variable_terms().iter().rev() {
            let mut factors: Vec<String> = mono.atoms().map(|a| self.show_atom(a)).collect();
            if c.unsigned_abs() != 1 {
                factors.insert(0, c.unsigned_abs().to_string());
            }
            terms.push((*c < 0, factors.join(" * ")));
        }
        let constant = p.constant_term();
        if constant != 0 || terms.is_empty() {
            terms.push((constant < 0, constant.unsigned_abs().to_string()));
        }
        terms.sort_by_key(|(negative, _)| *negative);
        let mut text = String::new();
        for (i, (negative, term)) in terms.iter().enumerate() {
            text += match (i, negative) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            };
            text += term;
        }
        parenthesized(text, Level::Sum, if terms.len() > 1 { outer } else { Level::Any })
    }

    fn show_atom(&self, id: AtomId) -> String {
        if self.atoms.get(id).within.len() > MAX_WITHIN {
            return "…".into();
        }
        match &self.atoms.get(id).atom {
            Atom::Dim(dim) => self.program.dims[*dim].name.clone(),
            Atom::Axis(axis) => self.program.axes[*axis].name.clone(),
            Atom::Floor { num, den } | Atom::Quotient { num, den } => {
                let den = match den.variable_terms() {
                    [] => self.show_poly(den, Level::Prefix),
                    [(mono, 1)] if mono.degree() == 1 && den.terms.len() == 1 => self.show_poly(den, Level::Prefix),
                    _ => format!("({})", self.show_poly(den, Level::Any)),
                };
                let num = self.show_poly(num, Level::Product);
                format!("({num} / {den})")
            }
            Atom::Data { of, .. } => crate::nest::print::expr(self.program, *of),
            Atom::Element { of, index, .. } => {
                let index: Vec<String> = index.iter().map(|at| self.show_poly(at, Level::Any)).collect();
                format!("{}[{}]", self.program.buffers[*of].name, index.join(", "))
            }
            Atom::Min0(p) => format!("({}).min(0)", self.show_poly(p, Level::Any)),
            Atom::Select(select) => format!(
                "(if {} {{ {} }} else {{ {} }})",
                self.show_formula(&select.yes),
                self.show_poly(&select.then, Level::Any),
                self.show_poly(&select.other, Level::Any)
            ),
        }
    }

    fn show_formula(&self, formula: &Formula) -> String {
        let join = |parts: &[Formula], by: &str| parts.iter().map(|p| self.show_formula(p)).collect::<Vec<_>>().join(by);
        match formula {
            Formula::NonNeg(p) => format!("{} >= 0", self.show_poly(p, Level::Sum)),
            Formula::Zero(p) => format!("{} == 0", self.show_poly(p, Level::Sum)),
            Formula::NonZero(p) => format!("{} != 0", self.show_poly(p, Level::Sum)),
            Formula::All(parts) => join(parts, " && "),
            Formula::Any(parts) => format!("({})", join(parts, " || ")),
            Formula::Unknown => "…".into(),
        }
    }
}

fn parenthesized(text: String, own: Level, outer: Level) -> String {
    if own < outer { format!("({text})") } else { text }
}

fn show_expr(program: &Program, e: ExprId, outer: Level, depth: u32) -> String {
    let Some(depth) = depth.checked_sub(1).filter(|_| program.exprs.is_walkable(e)) else { return "…".into() };
    let show = |e: ExprId, outer: Level| show_expr(program, e, outer, depth);
    // Operators are left-associative, so the right operand must bind tighter.
    let infix = |a: ExprId, op: &str, b: ExprId, own: Level| {
        parenthesized(format!("{} {op} {}", show(a, own), show(b, own.tighter())), own, outer)
    };
    let call = |a: ExprId, name: &str, b: ExprId| format!("{}.{name}({})", show(a, Level::Postfix), show(b, Level::Any));
    match program.exprs.get(e) {
        Expr::Const(c) if c.dtype == DType::Bool => (c.bits != 0).to_string(),
        Expr::Const(c) => parenthesized(c.value().to_string(), if c.value() < 0.0 { Level::Prefix } else { Level::Postfix }, outer),
        Expr::Axis(axis) => program.axes[*axis].name.clone(),
        Expr::Dim(dim) => program.dims[*dim].name.clone(),
        Expr::Scalar(scalar) => program.scalars[*scalar].name.clone(),
        Expr::Read(read) => {
            let index: Vec<String> = read.index.iter().map(|i| show(*i, Level::Any)).collect();
            format!("{}[{}]", program.buffers[read.buffer].name, index.join(", "))
        }
        Expr::Unary(op, a) => match op.prefix() {
            Some(sign) => parenthesized(format!("{sign}{}", show(*a, Level::Prefix)), Level::Prefix, outer),
            None => format!("{}.{}()", show(*a, Level::Postfix), op.name()),
        },
        Expr::Binary(op, a, b) => match op.spelling(program.exprs.dtype(*a)) {
            Spelling::Infix(symbol, level) => infix(*a, symbol, *b, level),
            Spelling::Method(name) => call(*a, name, *b),
        },
        Expr::Compare(op, a, b) => infix(*a, op.symbol(), *b, Level::Compared),
        Expr::Select(c, a, b) => {
            format!("(if {} {{ {} }} else {{ {} }})", show(*c, Level::Any), show(*a, Level::Any), show(*b, Level::Any))
        }
        Expr::Cast(to, a) => parenthesized(format!("{} as {to}", show(*a, Level::Cast)), Level::Cast, outer),
        Expr::MulAdd(a, b, c) => {
            format!("{}.mul_add({}, {})", show(*a, Level::Postfix), show(*b, Level::Any), show(*c, Level::Any))
        }
        Expr::State(n) => format!("state.{n}"),
        Expr::Item(n) => format!("item.{n}"),
    }
}
