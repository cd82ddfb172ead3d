//! Programs that consist only of dims, axes and conditions, with indices written as text.

use tilewright_dsl::arena::Id;
use tilewright_dsl::diag::SpanId;
use tilewright_dsl::expr::{Binary, Compare, ExprId, Unary};
use tilewright_dsl::launch::{DType, Relation};
use tilewright_dsl::nest::{Axis, AxisDef, AxisId, AxisKind, Condition, Dim, Fate, Program, Split, StageId, Tail};

/// A program under construction.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) program: Program,
}

impl World {
    /// Creates a program from dims (`N`, `OW = (IW - 3) / S + 1`), axes (`i < N`) and conditions, each list separated by `;`.
    pub(crate) fn new(dims: &str, axes: &str, conditions: &str) -> World {
        let mut world = World::default();
        let parts = |text: &str| text.split(';').map(str::trim).filter(|t| !t.is_empty()).map(String::from).collect::<Vec<_>>();
        for dim in parts(dims) {
            let (name, derived) = match dim.split_once('=') {
                Some((name, value)) => (name.trim().to_string(), Some(world.expr(value))),
                None => (dim, None),
            };
            world.program.dims.push(Dim { name, derived, span: SpanId::NONE });
        }
        for axis in parts(axes) {
            let (name, extent) = axis.split_once('<').expect("an axis has an extent");
            world.axis(name.trim(), extent);
        }
        for text in parts(conditions) {
            world.condition(&text);
        }
        world
    }

    pub(crate) fn axis(&mut self, name: &str, extent: &str) -> AxisId {
        let extent = self.expr(extent);
        self.add_axis(name, extent, AxisDef::Root(StageId::new(0)))
    }

    fn add_axis(&mut self, name: &str, extent: ExprId, def: AxisDef) -> AxisId {
        let (kind, fate) = (AxisKind::Parallel, Fate::Live);
        self.program.axes.push(Axis { name: name.into(), extent, kind, def, fate, span: SpanId::NONE })
    }

    pub(crate) fn condition(&mut self, text: &str) {
        let relations = [
            ("==", Relation::Eq),
            ("!=", Relation::Ne),
            ("<=", Relation::Le),
            (">=", Relation::Ge),
            ("<", Relation::Lt),
            (">", Relation::Gt),
        ];
        let (sign, relation) = relations.into_iter().find(|(sign, _)| text.contains(sign)).expect("a relation");
        let (left, right) = text.split_once(sign).expect("two sides");
        let (left, right) = (self.expr(left), self.expr(right));
        self.program.checks.conditions.push(Condition {
            left,
            relation,
            right,
            text: text.into(),
            span: SpanId::NONE,
            needed: false,
        });
    }

    /// Splits `of` into an outer part and an inner one of `size`.
    pub(crate) fn split(&mut self, of: &str, size: i64, outer: &str, inner: &str, exact: bool) {
        let of = self.axis_id(of);
        let (extent, size) = (self.program.axes[of].extent, self.program.exprs.int(size));
        let count = self.program.exprs.ceil_div(extent, size);
        let parts = vec![
            self.add_axis(outer, count, AxisDef::Part { of, part: 0 }),
            self.add_axis(inner, size, AxisDef::Part { of, part: 1 }),
        ];
        self.program.axes[of].fate = Fate::Split(Split { parts, exact, tail: Tail::Guard, span: SpanId::NONE });
    }

    /// Fuses axes, outermost first.
    pub(crate) fn fuse(&mut self, names: &[&str], into: &str) {
        let digits: Vec<AxisId> = names.iter().map(|n| self.axis_id(n)).collect();
        let mut extent = self.program.exprs.int(1);
        for axis in &digits {
            extent = self.program.exprs.product(extent, self.program.axes[*axis].extent);
        }
        let into = self.add_axis(into, extent, AxisDef::Fused(digits.clone()));
        for (digit, axis) in digits.into_iter().enumerate() {
            self.program.axes[axis].fate = Fate::Fused { into, digit, span: SpanId::NONE };
        }
    }

    pub(crate) fn axis_id(&self, name: &str) -> AxisId {
        self.program.axes.iter().find(|(_, a)| a.name == name).map(|(id, _)| id).expect("an axis")
    }

    /// Parses an index or condition: names, literals, `+ - * / %`, comparisons, `&& || !`, `min(a, b)`, `max(a, b)`, `if(c, a, b)`,
    /// `u32(a)`, `i32(a)`.
    pub(crate) fn expr(&mut self, text: &str) -> ExprId {
        let mut reader = Reader { world: self, text: text.trim(), whole: text.to_string() };
        let e = reader.level(0);
        assert!(reader.text.is_empty(), "`{}` is left of `{text}`", reader.text);
        e
    }
}

struct Reader<'w> {
    world: &'w mut World,
    text: &'w str,
    whole: String,
}

const LEVELS: [&[&str]; 5] = [&["||"], &["&&"], &["==", "!=", "<=", ">=", "<", ">"], &["+", "-"], &["*", "/", "%"]];

impl Reader<'_> {
    fn take(&mut self, token: &str) -> bool {
        match self.text.strip_prefix(token) {
            Some(rest) => {
                self.text = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn level(&mut self, level: usize) -> ExprId {
        let Some(operators) = LEVELS.get(level) else { return self.prefix() };
        let mut left = self.level(level + 1);
        while let Some(op) = operators.iter().find(|op| self.take(op)) {
            let right = self.level(level + 1);
            let exprs = &mut self.world.program.exprs;
            let binary = match *op {
                "||" => Binary::Or,
                "&&" => Binary::And,
                "+" => Binary::Add,
                "-" => Binary::Sub,
                "*" => Binary::Mul,
                "/" => Binary::FloorDiv,
                "%" => Binary::FloorMod,
                _ => {
                    let compare = match *op {
                        "==" => Compare::Eq,
                        "!=" => Compare::Ne,
                        "<=" => Compare::Le,
                        ">=" => Compare::Ge,
                        "<" => Compare::Lt,
                        _ => Compare::Gt,
                    };
                    left = exprs.compare(compare, left, right);
                    continue;
                }
            };
            left = exprs.binary(binary, left, right);
        }
        left
    }

    fn prefix(&mut self) -> ExprId {
        if self.take("-") {
            let operand = self.prefix();
            return self.world.program.exprs.unary(Unary::Neg, operand);
        }
        if self.take("!") {
            let operand = self.prefix();
            return self.world.program.exprs.unary(Unary::Not, operand);
        }
        if self.take("(") {
            let inner = self.level(0);
            assert!(self.take(")"), "`)` is missing in `{}`", self.whole);
            return inner;
        }
        let end = self.text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.text.len());
        let (word, rest) = self.text.split_at(end);
        self.text = rest.trim_start();
        if let Ok(n) = word.parse() {
            return self.world.program.exprs.int(n);
        }
        if self.take("(") {
            let mut arguments = vec![self.level(0)];
            while self.take(",") {
                arguments.push(self.level(0));
            }
            assert!(self.take(")"), "`)` is missing in `{}`", self.whole);
            return self.call(word, &arguments);
        }
        self.name(word)
    }

    fn call(&mut self, name: &str, arguments: &[ExprId]) -> ExprId {
        let exprs = &mut self.world.program.exprs;
        match (name, arguments) {
            ("min", [a, b]) => exprs.binary(Binary::Min, *a, *b),
            ("max", [a, b]) => exprs.binary(Binary::Max, *a, *b),
            ("div", [a, b]) => exprs.binary(Binary::Div, *a, *b),
            ("rem", [a, b]) => exprs.binary(Binary::Rem, *a, *b),
            ("abs", [a]) => exprs.unary(Unary::Abs, *a),
            ("if", [c, a, b]) => exprs.select(*c, *a, *b),
            ("u32", [a]) => exprs.cast(DType::U32, *a),
            ("i32", [a]) => exprs.cast(DType::I32, *a),
            _ => panic!("no function `{name}` of {} values", arguments.len()),
        }
    }

    fn name(&mut self, name: &str) -> ExprId {
        let program = &mut self.world.program;
        if let Some((id, _)) = program.dims.iter().find(|(_, d)| d.name == name) {
            return program.exprs.dim(id);
        }
        let (id, _) = program.axes.iter().find(|(_, a)| a.name == name).unwrap_or_else(|| panic!("no `{name}`"));
        program.exprs.axis(id)
    }
}
