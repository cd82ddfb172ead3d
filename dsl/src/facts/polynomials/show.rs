//! Indices, polynomials and claims as the user would write them.

use super::atoms::{Atom, Formula};
use super::mono::AtomId;
use super::poly::Poly;
use crate::expr::operators::Level;
use crate::facts::context::Context;
use crate::facts::{Claim, Operand, Prover};
use crate::nest::print;

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
            Operand::Expr(e) => print::operand(self.program, e, outer),
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
            Atom::Data { of, .. } => print::expr(self.program, *of),
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
