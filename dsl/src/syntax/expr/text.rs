//! Writes expressions as Rust text, for the lines that helps show.

use super::{BinaryOp, Block, Expr, ExprKind, Let, Outside, Range, Reduce};
use crate::expr::Compare;
use crate::expr::operators::Level;
use crate::syntax::kernel::{Dimension, Type};
use std::fmt;

/// The most characters of an expression that a help repeats.
const LONG: usize = 64;

impl Expr {
    /// Returns the text, or `…` if it is too long for a help.
    pub fn short(&self) -> String {
        let text = self.to_string();
        if text.chars().count() > LONG { "…".into() } else { text }
    }

    /// Returns the text as an operand of `* / %`, `as` or a method, in parentheses if it needs them.
    pub fn short_operand(&self) -> String {
        let text = self.short();
        if self.level() < Level::Postfix && text != "…" { format!("({text})") } else { text }
    }

    fn level(&self) -> Level {
        match &self.kind {
            ExprKind::Binary(op, ..) => op.level(),
            ExprKind::Compare(..) => Level::Compared,
            ExprKind::Cast(..) => Level::Cast,
            ExprKind::Neg(_) | ExprKind::Not(_) => Level::Prefix,
            ExprKind::If { .. } | ExprKind::Reduce(_) => Level::Any,
            _ => Level::Postfix,
        }
    }

    /// Writes the expression as an operand, in parentheses if its precedence is below `least`.
    fn operand(&self, f: &mut fmt::Formatter<'_>, least: Level) -> fmt::Result {
        if self.level() < least { write!(f, "({self})") } else { write!(f, "{self}") }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExprKind::Int { value, suffix } => write!(f, "{value}{}", suffix.as_deref().unwrap_or_default()),
            ExprKind::Float { value, suffix } => write!(f, "{value:?}{}", suffix.as_deref().unwrap_or_default()),
            ExprKind::Bool(value) => write!(f, "{value}"),
            ExprKind::Name(name) => f.write_str(name),
            ExprKind::Path(names) => {
                let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
                f.write_str(&names.join("::"))
            }
            ExprKind::Index { tensor, outside, index } => match outside {
                Outside::Never => write!(f, "{tensor}[{}]", commas(index)),
                Outside::Clamp => write!(f, "{tensor}.clamp()[{}]", commas(index)),
                Outside::Pad(value) => write!(f, "{tensor}.pad({value})[{}]", commas(index)),
            },
            ExprKind::Method { receiver, name, args } => {
                receiver.operand(f, Level::Postfix)?;
                write!(f, ".{name}({})", commas(args))
            }
            ExprKind::Call { function, args } => write!(f, "{function}({})", commas(args)),
            ExprKind::Neg(a) => {
                f.write_str("-")?;
                a.operand(f, Level::Prefix)
            }
            ExprKind::Not(a) => {
                f.write_str("!")?;
                a.operand(f, Level::Prefix)
            }
            ExprKind::Binary(op, _, a, b) => infix(f, a, op.symbol(), b, op.level()),
            ExprKind::Compare(op, _, a, b) => comparison(f, a, *op, b),
            ExprKind::Cast(a, to) => {
                a.operand(f, Level::Cast)?;
                write!(f, " as {to}")
            }
            ExprKind::If { cond, then, other } => write!(f, "if {cond} {then} else {other}"),
            ExprKind::Block(block) => write!(f, "{block}"),
            ExprKind::Reduce(reduce) => write!(f, "{reduce}"),
            ExprKind::Closure(function) => {
                let params: Vec<&str> = function.params.iter().map(|param| param.name.as_str()).collect();
                write!(f, "|{}| {}", params.join(", "), function.body)
            }
            ExprKind::Array(items) => write!(f, "[{}]", commas(items)),
        }
    }
}

fn infix(f: &mut fmt::Formatter<'_>, a: &Expr, symbol: &str, b: &Expr, level: Level) -> fmt::Result {
    a.operand(f, level)?;
    write!(f, " {symbol} ")?;
    b.operand(f, level.tighter())
}

/// Writes a comparison. Its operands need parentheses if they are comparisons.
fn comparison(f: &mut fmt::Formatter<'_>, a: &Expr, op: Compare, b: &Expr) -> fmt::Result {
    let above = Level::Compared.tighter();
    a.operand(f, above)?;
    write!(f, " {} ", op.symbol())?;
    b.operand(f, above)
}

impl fmt::Display for Reduce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}) ", self.op.name(), commas(&self.ranges))?;
        self.only.iter().try_for_each(|only| write!(f, "where {only} "))?;
        match (&self.items[..], &self.combiner) {
            ([item], None) => write!(f, "{item}"),
            _ => write!(f, "{{ … }} from … by …"),
        }
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The block of an `else if` has the place of its `if`. It is written without braces.
        if self.lets.is_empty() && matches!(self.value.kind, ExprKind::If { .. }) && self.span == self.value.span {
            return write!(f, "{}", self.value);
        }
        f.write_str("{ ")?;
        for Let { name, dtype, value } in &self.lets {
            match dtype {
                Some(dtype) => write!(f, "let {name}: {dtype} = {value}; ")?,
                None => write!(f, "let {name} = {value}; ")?,
            }
        }
        write!(f, "{} }}", self.value)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { axis, low, high, inclusive } = self;
        write!(f, "{axis} in {low}{}{high}", if *inclusive { "..=" } else { ".." })
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Dimension { start, end, inclusive } = self;
        match start {
            Some(start) => write!(f, "{start}{}{end}", if *inclusive { "..=" } else { ".." }),
            None => write!(f, "{end}"),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.shape {
            Some(shape) => write!(f, "{}[{}]", self.dtype, commas(shape)),
            None => write!(f, "{}", self.dtype),
        }
    }
}

/// Returns items with commas between them.
pub fn commas(items: &[impl fmt::Display]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl BinaryOp {
    /// Returns the reduction that combines values by the operator.
    pub fn reduction(self) -> Option<&'static str> {
        match self {
            BinaryOp::Add => Some("sum"),
            BinaryOp::Mul => Some("prod"),
            BinaryOp::And => Some("all"),
            BinaryOp::Or => Some("any"),
            _ => None,
        }
    }
}
