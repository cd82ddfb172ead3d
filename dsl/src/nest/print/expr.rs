//! Expressions as text, in Rust's syntax, with parentheses only where its precedences need them.

use super::Printer;
use crate::expr::operators::{Level, Spelling};
use crate::expr::{Binary, Const, Expr, ExprId, Outside, Read, Unary};
use crate::launch::{DType, Numbers};

/// The most parts of an expression that are printed. A few shared values can have an exponential number of parts.
const LONGEST: u32 = 600;

impl Printer<'_> {
    /// Returns the text of an expression, or `…` if it is too long to read.
    pub fn expr(&self, id: ExprId) -> String {
        self.within(id, Level::Any)
    }

    /// Returns the texts of expressions, separated by commas.
    pub fn exprs(&self, ids: &[ExprId]) -> String {
        ids.iter().map(|id| self.expr(*id)).collect::<Vec<_>>().join(", ")
    }

    /// Returns the text, in parentheses if the expression is looser than its place allows.
    pub(super) fn within(&self, id: ExprId, place: Level) -> String {
        if self.program.exprs.size(id) > LONGEST {
            return "…".into();
        }
        let (text, tight) = self.loose(id);
        if tight < place { format!("({text})") } else { text }
    }

    fn loose(&self, id: ExprId) -> (String, Level) {
        match self.program.exprs.get(id) {
            Expr::Const(c) => constant(*c),
            Expr::Axis(axis) => (self.axis(*axis), Level::Postfix),
            Expr::Dim(dim) => (self.program.dims[*dim].name.clone(), Level::Postfix),
            Expr::Scalar(scalar) => (self.program.scalars[*scalar].name.clone(), Level::Postfix),
            Expr::Read(read) => (self.read(id, read), Level::Postfix),
            Expr::Unary(op, a) => self.unary(*op, *a),
            Expr::Binary(op, a, b) => self.binary(*op, *a, *b),
            Expr::Compare(op, a, b) => {
                let (left, right) = (self.within(*a, Level::Or), self.within(*b, Level::Or));
                (format!("{left} {} {right}", op.symbol()), Level::Compared)
            }
            Expr::Select(c, a, b) => {
                let [c, a, b] = [c, a, b].map(|id| self.expr(*id));
                (format!("if {c} {{ {a} }} else {{ {b} }}"), Level::Any)
            }
            Expr::Cast(to, a) => (format!("{} as {to}", self.within(*a, Level::Cast)), Level::Cast),
            Expr::MulAdd(a, b, c) => {
                let of = [b, c].map(|id| self.expr(*id)).join(", ");
                (format!("{}.mul_add({of})", self.within(*a, Level::Postfix)), Level::Postfix)
            }
            Expr::State(n) => (format!("state.{n}"), Level::Postfix),
            Expr::Item(n) => (format!("item.{n}"), Level::Postfix),
        }
    }

    fn read(&self, id: ExprId, read: &Read) -> String {
        let clamps = &self.program.clamps;
        let name = &self.program.buffers[read.buffer].name;
        let outside = match &read.outside {
            Outside::Never => String::new(),
            Outside::Clamp(_) if self.is_written && (!clamps.written.contains(&read.buffer) || clamps.guarded.contains(&id)) => {
                String::new()
            }
            Outside::Clamp(_) => ".clamp()".into(),
            Outside::Fill(value, _) => format!(".pad({})", self.expr(*value)),
        };
        format!("{name}{outside}[{}]", self.exprs(&read.index))
    }

    fn unary(&self, op: Unary, a: ExprId) -> (String, Level) {
        if op == Unary::FromBits {
            let float = op.result(self.program.exprs.dtype(a));
            return (format!("{float}::{}({})", op.name(), self.expr(a)), Level::Postfix);
        }
        match op.prefix() {
            Some(sign) => (format!("{sign}{}", self.within(a, Level::Prefix)), Level::Prefix),
            None => (format!("{}.{}()", self.within(a, Level::Postfix), op.name()), Level::Postfix),
        }
    }

    fn binary(&self, op: Binary, a: ExprId, b: ExprId) -> (String, Level) {
        let dtype = self.program.exprs.dtype(a);
        // A quotient of data that is rounded down.
        let euclidean = match op {
            Binary::FloorDiv => Some("div_euclid"),
            Binary::FloorMod => Some("rem_euclid"),
            _ => None,
        };
        if let (Some(name), Expr::Unary(Unary::Index, of)) = (euclidean, self.program.exprs.get(a)) {
            return (format!("{}.{name}({})", self.within(*of, Level::Postfix), self.expr(b)), Level::Postfix);
        }
        match op.spelling(dtype) {
            Spelling::Infix(sign, level) => {
                // Sums of indices wrap, so their grouping makes no difference.
                let is_free = op == Binary::Add && dtype == DType::I32;
                let next = if is_free { level } else { level.tighter() };
                (format!("{} {sign} {}", self.within(a, level), self.within(b, next)), level)
            }
            Spelling::Method(name) => (format!("{}.{name}({})", self.within(a, Level::Postfix), self.expr(b)), Level::Postfix),
        }
    }
}

fn constant(c: Const) -> (String, Level) {
    let value = c.value();
    let text = match c.dtype.numbers() {
        Numbers::Bool => (c.bits != 0).to_string(),
        // Prints the shortest text that reads back as the same f32. An f16 or bf16 value is also an f32.
        Numbers::Float(_) => format!("{:?}", value as f32),
        Numbers::Int { .. } => format!("{value}"),
    };
    let tight = if text.starts_with('-') { Level::Prefix } else { Level::Postfix };
    (text, tight)
}
