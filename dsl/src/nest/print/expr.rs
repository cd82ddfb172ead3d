//! Expressions as text, in Rust's syntax, with parentheses only where its precedences need them.

use super::Printer;
use crate::expr::{Binary, Compare, Const, Expr, ExprId, Outside, Read, Unary};
use crate::launch::{DType, Numbers};

/// Rust's precedences, from the loosest to the tightest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tight {
    Any,
    OrElse,
    AndAlso,
    Compared,
    Or,
    Xor,
    And,
    Shift,
    Sum,
    Product,
    Cast,
    Prefix,
    Postfix,
}

/// The most parts of an expression that are printed. A few shared values can have an exponential number of parts.
const LONGEST: u32 = 600;

impl Printer<'_> {
    /// Returns the text of an expression, or `…` if it is too long to read.
    pub fn expr(&self, id: ExprId) -> String {
        self.within(id, Tight::Any)
    }

    /// Returns the texts of expressions, separated by commas.
    pub fn exprs(&self, ids: &[ExprId]) -> String {
        ids.iter().map(|id| self.expr(*id)).collect::<Vec<_>>().join(", ")
    }

    /// Returns the text, in parentheses if the expression is looser than its place allows.
    fn within(&self, id: ExprId, place: Tight) -> String {
        if self.program.exprs.size(id) > LONGEST {
            return "…".into();
        }
        let (text, tight) = self.loose(id);
        if tight < place { format!("({text})") } else { text }
    }

    fn loose(&self, id: ExprId) -> (String, Tight) {
        match self.program.exprs.get(id) {
            Expr::Const(c) => constant(*c),
            Expr::Axis(axis) => (self.axis(*axis), Tight::Postfix),
            Expr::Dim(dim) => (self.program.dims[*dim].name.clone(), Tight::Postfix),
            Expr::Scalar(scalar) => (self.program.scalars[*scalar].name.clone(), Tight::Postfix),
            Expr::Read(read) => (self.read(id, read), Tight::Postfix),
            Expr::Unary(op, a) => self.unary(*op, *a),
            Expr::Binary(op, a, b) => self.binary(*op, *a, *b),
            Expr::Compare(op, a, b) => {
                let (left, right) = (self.within(*a, Tight::Or), self.within(*b, Tight::Or));
                (format!("{left} {} {right}", compare(*op)), Tight::Compared)
            }
            Expr::Select(c, a, b) => {
                let [c, a, b] = [c, a, b].map(|id| self.expr(*id));
                (format!("if {c} {{ {a} }} else {{ {b} }}"), Tight::Any)
            }
            Expr::Cast(to, a) => (format!("{} as {to}", self.within(*a, Tight::Cast)), Tight::Cast),
            Expr::MulAdd(a, b, c) => {
                let of = [b, c].map(|id| self.expr(*id)).join(", ");
                (format!("{}.mul_add({of})", self.within(*a, Tight::Postfix)), Tight::Postfix)
            }
            Expr::State(n) => (format!("state.{n}"), Tight::Postfix),
            Expr::Item(n) => (format!("item.{n}"), Tight::Postfix),
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

    fn unary(&self, op: Unary, a: ExprId) -> (String, Tight) {
        match op {
            Unary::Neg => (format!("-{}", self.within(a, Tight::Prefix)), Tight::Prefix),
            Unary::Not => (format!("!{}", self.within(a, Tight::Prefix)), Tight::Prefix),
            _ => (format!("{}.{}()", self.within(a, Tight::Postfix), op.name()), Tight::Postfix),
        }
    }

    fn binary(&self, op: Binary, a: ExprId, b: ExprId) -> (String, Tight) {
        let bools = self.program.exprs.dtype(a) == DType::Bool;
        let (sign, tight, next) = match op {
            // Sums of indices wrap, so their grouping makes no difference.
            Binary::Add if self.program.exprs.dtype(a) == DType::I32 => ("+", Tight::Sum, Tight::Sum),
            Binary::Add => ("+", Tight::Sum, Tight::Product),
            Binary::Sub => ("-", Tight::Sum, Tight::Product),
            Binary::Mul => ("*", Tight::Product, Tight::Cast),
            Binary::Div | Binary::FloorDiv => ("/", Tight::Product, Tight::Cast),
            Binary::Rem | Binary::FloorMod => ("%", Tight::Product, Tight::Cast),
            Binary::And if bools => ("&&", Tight::AndAlso, Tight::Compared),
            Binary::Or if bools => ("||", Tight::OrElse, Tight::AndAlso),
            Binary::And => ("&", Tight::And, Tight::Shift),
            Binary::Or => ("|", Tight::Or, Tight::Xor),
            Binary::Xor => ("^", Tight::Xor, Tight::And),
            Binary::Shl => ("<<", Tight::Shift, Tight::Sum),
            Binary::Shr => (">>", Tight::Shift, Tight::Sum),
            Binary::Min => return self.method("min", a, b),
            Binary::Max => return self.method("max", a, b),
            Binary::MulHi => return self.method("mul_hi", a, b),
            Binary::Pow => return self.method("powf", a, b),
            Binary::Atan2 => return self.method("atan2", a, b),
        };
        (format!("{} {sign} {}", self.within(a, tight), self.within(b, next)), tight)
    }

    fn method(&self, name: &str, a: ExprId, b: ExprId) -> (String, Tight) {
        (format!("{}.{name}({})", self.within(a, Tight::Postfix), self.expr(b)), Tight::Postfix)
    }
}

fn constant(c: Const) -> (String, Tight) {
    let value = c.value();
    let text = match c.dtype.numbers() {
        Numbers::Bool => (c.bits != 0).to_string(),
        // Prints the shortest text that reads back as the same f32. An f16 or bf16 value is also an f32.
        Numbers::Float(_) => format!("{:?}", value as f32),
        Numbers::Int { .. } => format!("{value}"),
    };
    let tight = if text.starts_with('-') { Tight::Prefix } else { Tight::Postfix };
    (text, tight)
}

fn compare(op: Compare) -> &'static str {
    match op {
        Compare::Eq => "==",
        Compare::Ne => "!=",
        Compare::Lt => "<",
        Compare::Le => "<=",
        Compare::Gt => ">",
        Compare::Ge => ">=",
    }
}
