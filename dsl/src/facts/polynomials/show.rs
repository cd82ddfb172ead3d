//! Indices, polynomials and claims as the user would write them.

use super::atoms::{Atom, Formula};
use super::mono::AtomId;
use super::poly::Poly;
use crate::expr::{Binary, Compare, Expr, ExprId, Unary};
use crate::facts::context::Context;
use crate::facts::{Claim, Operand, Prover};
use crate::nest::Program;
use tilewright_launch::DType;

/// The precedence levels of operators.
mod level {
    pub(super) const OR: u8 = 1;
    pub(super) const AND: u8 = 2;
    pub(super) const COMPARE: u8 = 3;
    pub(super) const SUM: u8 = 4;
    pub(super) const PRODUCT: u8 = 5;
    pub(super) const PREFIX: u8 = 6;
}

/// The maximum depth of an expression that is shown, because longer texts are not readable.
const MAX_DEPTH: u32 = 24;

/// The most atoms nested in an atom that is shown. The number is limited, because each can be named several times.
const MAX_WITHIN: usize = 12;

impl Prover<'_> {
    /// Returns an operand with the program's names, for example `oh * S + fh`.
    pub fn show<'a>(&self, a: impl Into<Operand<'a>>) -> String {
        self.context.borrow().show(a.into(), 0)
    }

    /// Returns a claim with the program's names, for example `ow * S + fw < IW`.
    pub fn show_claim(&self, claim: Claim<'_>) -> String {
        let context = self.context.borrow();
        let show = |a| context.show(a, level::SUM);
        match claim {
            Claim::Less(a, b) => format!("{} < {}", show(a), show(b)),
            Claim::LessEqual(a, b) => format!("{} <= {}", show(a), show(b)),
            Claim::Equal(a, b) => format!("{} == {}", show(a), show(b)),
            Claim::Inside(a, b) => format!("0 <= {} < {}", show(a), show(b)),
            Claim::Divides(c, a) => format!("{} % {c} == 0", context.show(a, level::PRODUCT)),
        }
    }
}

impl Context<'_> {
    fn show(&self, operand: Operand<'_>, outer: u8) -> String {
        match operand {
            Operand::Expr(e) => show_expr(self.program, e, outer, MAX_DEPTH),
            Operand::Int(n) => n.to_string(),
            Operand::Poly(p) => self.show_poly(p, outer),
        }
    }

    /// Returns a sum of products: positive terms first, the constant last.
    pub(super) fn show_poly(&self, p: &Poly, outer: u8) -> String {
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
        parenthesized(text, level::SUM, if terms.len() > 1 { outer } else { 0 })
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
                    [] => self.show_poly(den, level::PREFIX),
                    [(mono, 1)] if mono.degree() == 1 && den.terms.len() == 1 => self.show_poly(den, level::PREFIX),
                    _ => format!("({})", self.show_poly(den, 0)),
                };
                let num = self.show_poly(num, level::PRODUCT);
                format!("({num} / {den})")
            }
            Atom::Data { of, .. } => crate::nest::print::expr(self.program, *of),
            Atom::Element { of, index, .. } => {
                let index: Vec<String> = index.iter().map(|at| self.show_poly(at, 0)).collect();
                format!("{}[{}]", self.program.buffers[*of].name, index.join(", "))
            }
            Atom::Min0(p) => format!("({}).min(0)", self.show_poly(p, 0)),
            Atom::Select(select) => format!(
                "(if {} {{ {} }} else {{ {} }})",
                self.show_formula(&select.yes),
                self.show_poly(&select.then, 0),
                self.show_poly(&select.other, 0)
            ),
        }
    }

    fn show_formula(&self, formula: &Formula) -> String {
        let join = |parts: &[Formula], by: &str| parts.iter().map(|p| self.show_formula(p)).collect::<Vec<_>>().join(by);
        match formula {
            Formula::NonNeg(p) => format!("{} >= 0", self.show_poly(p, level::SUM)),
            Formula::Zero(p) => format!("{} == 0", self.show_poly(p, level::SUM)),
            Formula::NonZero(p) => format!("{} != 0", self.show_poly(p, level::SUM)),
            Formula::All(parts) => join(parts, " && "),
            Formula::Any(parts) => format!("({})", join(parts, " || ")),
            Formula::Unknown => "…".into(),
        }
    }
}

fn parenthesized(text: String, own: u8, outer: u8) -> String {
    if own < outer { format!("({text})") } else { text }
}

fn show_expr(program: &Program, e: ExprId, outer: u8, depth: u32) -> String {
    let Some(depth) = depth.checked_sub(1).filter(|_| program.exprs.is_walkable(e)) else { return "…".into() };
    let show = |e: ExprId, outer: u8| show_expr(program, e, outer, depth);
    // Operators are left-associative, so the right operand must bind tighter.
    let infix =
        |a: ExprId, op: &str, b: ExprId, own: u8| parenthesized(format!("{} {op} {}", show(a, own), show(b, own + 1)), own, outer);
    let call = |a: ExprId, name: &str, b: ExprId| format!("{}.{name}({})", show(a, level::PREFIX + 1), show(b, 0));
    match program.exprs.get(e) {
        Expr::Const(c) if c.dtype == DType::Bool => (c.bits != 0).to_string(),
        Expr::Const(c) => parenthesized(c.value().to_string(), if c.value() < 0.0 { level::PREFIX } else { u8::MAX }, outer),
        Expr::Axis(axis) => program.axes[*axis].name.clone(),
        Expr::Dim(dim) => program.dims[*dim].name.clone(),
        Expr::Scalar(scalar) => program.scalars[*scalar].name.clone(),
        Expr::Read(read) => {
            let index: Vec<String> = read.index.iter().map(|i| show(*i, 0)).collect();
            format!("{}[{}]", program.buffers[read.buffer].name, index.join(", "))
        }
        Expr::Unary(Unary::Neg, a) => parenthesized(format!("-{}", show(*a, level::PREFIX)), level::PREFIX, outer),
        Expr::Unary(Unary::Not, a) => parenthesized(format!("!{}", show(*a, level::PREFIX)), level::PREFIX, outer),
        Expr::Unary(op, a) => format!("{}.{}()", show(*a, level::PREFIX + 1), op.name()),
        Expr::Binary(op, a, b) => match op {
            Binary::Add => infix(*a, "+", *b, level::SUM),
            Binary::Sub => infix(*a, "-", *b, level::SUM),
            Binary::Mul => infix(*a, "*", *b, level::PRODUCT),
            Binary::Div | Binary::FloorDiv => infix(*a, "/", *b, level::PRODUCT),
            Binary::Rem | Binary::FloorMod => infix(*a, "%", *b, level::PRODUCT),
            Binary::And => infix(*a, "&&", *b, level::AND),
            Binary::Or => infix(*a, "||", *b, level::OR),
            Binary::MulHi => call(*a, "mul_hi", *b),
            _ => call(*a, &format!("{op:?}").to_lowercase(), *b),
        },
        Expr::Compare(op, a, b) => {
            let op = match op {
                Compare::Eq => "==",
                Compare::Ne => "!=",
                Compare::Lt => "<",
                Compare::Le => "<=",
                Compare::Gt => ">",
                Compare::Ge => ">=",
            };
            infix(*a, op, *b, level::COMPARE)
        }
        Expr::Select(c, a, b) => format!("(if {} {{ {} }} else {{ {} }})", show(*c, 0), show(*a, 0), show(*b, 0)),
        Expr::Cast(to, a) => parenthesized(format!("{} as {}", show(*a, level::PREFIX), to.name()), level::PREFIX, outer),
        Expr::MulAdd(a, b, c) => format!("{}.mul_add({}, {})", show(*a, level::PREFIX + 1), show(*b, 0), show(*c, 0)),
        Expr::State(n) => format!("state.{n}"),
        Expr::Item(n) => format!("item.{n}"),
    }
}
