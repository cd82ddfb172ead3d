//! The structure of a kernel: dims and their relations, and the stages with their shapes and reductions.

use super::builder::{Axis, Builder, Defined, Value, Window};
use super::tree::{Argument, ArgumentKind, Expr, ExprKind, Generic, GenericKind, INDEX, Kernel, Range, Role, Stage, Type};
use super::{bins, blocks, convolution, functions, online, products, proofs, rows, updates};
use crate::schedule::facts;
use fastrand::Rng;
use tilewright_check::Fill;
use tilewright_launch::DType;

const BOOL: Type = Type::Is(DType::Bool);
const F32: Type = Type::Is(DType::F32);
const LONG: Type = Type::Is(DType::I64);
const NARROW: [Type; 5] =
    [Type::Is(DType::BF16), Type::Is(DType::I16), Type::Is(DType::U16), Type::Is(DType::I8), Type::Is(DType::U8)];

/// A kernel and the fills of its inputs.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The kernel.
    pub kernel: Kernel,
    /// The fills of inputs; inputs that are not named have small values.
    pub fills: Vec<(String, Fill)>,
}

/// Generates a kernel; a large one has indices whose terms exceed 2^31.
pub fn generate(random: &mut Rng, large: bool) -> Generated {
    let has_functions = !large && random.u8(..100) < 15;
    let has_updates = !large && random.clone().u8(..100) >= 94;
    let has_bins = !large && (88..94).contains(&random.clone().u8(..100));
    let mut generated = without_functions(random, large);
    if has_bins {
        bins::conditional(random, &mut generated);
    }
    if has_updates {
        updates::updated(random, &mut generated.kernel);
    }
    if has_functions {
        functions::abstracted(random, &mut generated.kernel);
    }
    generated
}

fn without_functions(random: &mut Rng, large: bool) -> Generated {
    if !large {
        match random.u8(..100) {
            0..4 => return convolution::generate(random),
            4..7 => return online::generate(random),
            7..10 => return blocks::generate(random),
            10..16 => return products::generate(random),
            16..20 => return rows::generate(random),
            20..23 => return proofs::generate(random),
            _ => {}
        }
    }
    let kernel = Kernel {
        generics: Vec::new(),
        arguments: Vec::new(),
        facts: Vec::new(),
        functions: Vec::new(),
        tables: Vec::new(),
        stages: Vec::new(),
    };
    let mut builder = Builder {
        wild: random.u8(..100) < 7,
        large,
        random,
        kernel,
        windows: Vec::new(),
        fills: Vec::new(),
        extents: Vec::new(),
        palette: Vec::new(),
        defined: Vec::new(),
        scope: Vec::new(),
        update: None,
        fuel: 0,
        lets: 0,
    };
    builder.palette();
    builder.dims();
    builder.stages();
    if builder.percent(8) {
        builder.twin();
    }
    builder.determine_dims();
    builder.facts();
    Generated { kernel: builder.kernel, fills: builder.fills }
}

impl Builder<'_> {
    /// Chooses the types of tensors.
    fn palette(&mut self) {
        let is = Type::Is;
        let first = match self.random.u8(..100) {
            0..31 => F32,
            31..42 => Type::Generic,
            42..50 => is(DType::F16),
            50..60 => INDEX,
            60..66 => is(DType::U32),
            66..94 => self.pick(&NARROW),
            _ => BOOL,
        };
        self.palette.push(first);
        while self.percent(35) && self.palette.len() < 4 {
            let narrow = self.pick(&NARROW);
            let more = self.pick(&[F32, F32, INDEX, is(DType::U32), is(DType::F16), BOOL, narrow, narrow]);
            if !self.palette.contains(&more) {
                self.palette.push(more);
            }
        }
        if self.palette.contains(&Type::Generic) {
            let choices = vec![DType::F32, DType::F16];
            self.kernel.generics.push(Generic { name: "T".into(), kind: GenericKind::Dtype(choices) });
        }
    }

    fn generic(&mut self, name: &str, kind: GenericKind) -> Expr {
        self.kernel.generics.push(Generic { name: name.into(), kind });
        Expr::name(name)
    }

    fn parameter(&mut self, name: &str, low: i64, high: i64) -> Expr {
        let default = self.random.i64(low..=high);
        let value = if self.percent(50) { default } else { self.random.i64(low..=high) };
        self.generic(name, GenericKind::Parameter { default, value })
    }

    /// Declares dims, parameters, and the relations between them of convolutions.
    fn dims(&mut self) {
        let count = self.random.usize(1..=3);
        for name in ["N", "M", "K"].into_iter().take(count) {
            let dim = self.generic(name, GenericKind::Dim);
            self.extents.push(dim);
        }
        if self.percent(20) {
            let parameter = self.parameter("C", 1, 5);
            self.extents.push(parameter);
        }
        if self.percent(25) {
            let literal = Expr::int(self.random.i64(1..=6));
            self.extents.push(literal);
        }
        if self.percent(26) {
            self.window(["IH", "OH", "FH", "S", "D"]);
            if self.percent(35) {
                self.window(["IW", "OW", "FW", "SW", "DW"]);
            }
        }
        if self.percent(6) {
            let (n, by) = (Expr::name("N"), Expr::int(self.random.i64(2..=3)));
            let half = self.generic("H", GenericKind::Derived(n.infix("/", by)));
            self.extents.push(half);
        }
        self.combined();
    }

    /// Replaces an extent by a size of two dims: a minimum, a maximum, or a quotient.
    fn combined(&mut self) {
        // A copy of the random numbers, so that all other cases stay as they are.
        let mut random = self.random.clone();
        let [n, m, ..] = &self.extents[..] else { return };
        if random.u8(..100) >= 15 || self.large || m.names().is_empty() {
            return;
        }
        let (n, m, one) = (n.clone(), m.clone(), Expr::int(1));
        self.extents[1] = match random.u8(..6) {
            0 | 1 => n.method("min", [m]),
            2 => n.method("max", [m]),
            3 => n.infix("+", m).infix("/", Expr::int(2)),
            4 => n.clone().method("min", [m]).infix("/", Expr::int(2)).infix("+", one),
            _ => n.infix("/", m.method("max", [one])),
        };
    }

    /// Declares input and output extents of a convolution, in one of two spellings.
    fn window(&mut self, [input, output, taps, stride, dilation]: [&str; 5]) {
        let taps = if self.percent(80) { self.parameter(taps, 1, 4) } else { Expr::int(self.random.i64(1..=3)) };
        let stride = if self.percent(60) { self.parameter(stride, 1, 3) } else { Expr::int(self.random.i64(1..=2)) };
        let dilation = if self.percent(30) { Some(self.parameter(dilation, 1, 3)) } else { None };
        let reach = match &dilation {
            Some(by) => taps.clone().infix("-", Expr::int(1)).infix("*", by.clone()).infix("+", Expr::int(1)),
            None => taps.clone(),
        };
        let (size, outer) = if self.percent(70) {
            let size = self.generic(input, GenericKind::Dim);
            let outer = size.clone().infix("-", reach).infix("/", stride.clone()).infix("+", Expr::int(1));
            (size, self.generic(output, GenericKind::Derived(outer)))
        } else {
            let outer = self.generic(output, GenericKind::Dim);
            let size = outer.clone().infix("-", Expr::int(1)).infix("*", stride.clone()).infix("+", reach);
            (size, outer)
        };
        self.extents.push(outer.clone());
        self.windows.push(Window { outer, taps, size, stride, dilation });
    }

    /// Generates all stages.
    fn stages(&mut self) {
        let intermediates = self.pick(&[0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 3]);
        let results = self.pick(&[1, 1, 1, 1, 1, 1, 1, 2, 2, 3]);
        for n in 0..intermediates {
            let ty = self.pick(&self.palette.clone());
            self.stage(format!("s{n}"), Role::Intermediate, ty, false);
        }
        for n in 0..results {
            let last = n + 1 == results;
            let floats = last && self.defined.iter().any(|d| !d.read && d.ty.is_float());
            let mut types = self.palette.clone();
            types.retain(|t| !floats || t.is_float());
            if self.palette.contains(&INDEX) || self.percent(88) || floats {
                let ty = self.pick(&types);
                let role = if self.percent(13) { Role::Update } else { Role::Output };
                self.stage(format!("y{n}"), role, ty, last);
            } else {
                // The result of an argmin or argmax.
                self.stage(format!("y{n}"), Role::Output, INDEX, last);
            }
        }
    }

    fn stage(&mut self, name: String, role: Role, ty: Type, last: bool) {
        let shape = self.shape(role);
        let axes: Vec<String> = ["i", "j", "h", "w"].iter().take(shape.len()).map(|a| a.to_string()).collect();
        let axis = |(name, within): (&String, &Expr)| Axis { name: name.clone(), within: within.clone() };
        self.scope = axes.iter().zip(&shape).map(axis).collect();
        self.update = None;
        if role == Role::Update {
            let kind = ArgumentKind::Update(shape.clone());
            self.kernel.arguments.push(Argument { name: name.clone(), ty, kind });
            self.update = Some((name.clone(), ty));
        }
        self.fuel = self.random.u32(0..=9);
        let mut value = if self.percent(58) { self.reduction(ty) } else { self.map(ty) };
        // A copy of the random numbers, as below.
        if (ty.is_float() || ty == BOOL) && value.expr.reduces() && self.random.clone().u8(..100) < 12 {
            let (more, op) = (self.reduction(ty), if ty == BOOL { "^" } else { "-" });
            value = Value::new(value.expr.infix(op, more.expr), value.size + more.size, false);
        }
        if last {
            value = self.with_the_rest(value, ty);
        }
        let is_read = role == Role::Intermediate || (role == Role::Output && self.percent(25));
        if is_read {
            let read = role == Role::Output;
            self.defined.push(Defined { name: name.clone(), ty, shape: shape.clone(), size: value.size, read });
        }
        // Uses a copy of the random numbers, so that the rest of the case stays the same as before this type existed.
        let is_long = ty == INDEX && role == Role::Output && !is_read && self.random.clone().u8(..100) < 40;
        let (ty, value) = if is_long { (LONG, value.expr.cast(LONG)) } else { (ty, value.expr) };
        self.kernel.stages.push(Stage { name, role, ty, shape, axes, value, joined: false });
    }

    /// Generates a second result that reads the same tensors as another one, in the same order, so that one block can schedule
    /// both.
    fn twin(&mut self) {
        let results = self.kernel.stages.iter().filter(|s| s.role != Role::Intermediate).count();
        let reduced = |stage: &&Stage| stage.role == Role::Output && stage.reduction().is_some();
        let reduced: Vec<&Stage> = self.kernel.stages.iter().filter(reduced).collect();
        let Some(mut twin) = self.random.choice(reduced).cloned() else { return };
        twin.name = format!("y{results}");
        if self.percent(60) {
            other_reduction(&mut twin.value);
        }
        if twin.ty.is_float() && self.percent(40) {
            twin.value = twin.value.infix("*", Expr::literal("0.5", twin.ty));
        }
        self.kernel.stages.push(twin);
    }

    fn shape(&mut self, role: Role) -> Vec<Expr> {
        // The shape of an intermediate, for epilogues and for row statistics, or of a window's input.
        if let Some(defined) = self.defined.last().cloned()
            && self.percent(45)
        {
            return defined.shape;
        }
        if let (Some(window), Role::Intermediate) = (self.windows.first().cloned(), role)
            && self.percent(50)
        {
            let more: Vec<Expr> = (0..self.random.usize(..3)).map(|_| self.pick(&self.extents.clone())).collect();
            return more.into_iter().chain([window.size]).collect();
        }
        let rank = self.pick(&[0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4]);
        let mut shape: Vec<Expr> = (0..rank).map(|_| self.pick(&self.extents.clone())).collect();
        if let (Some(window), false) = (self.windows.first().cloned(), shape.is_empty())
            && self.percent(60)
        {
            let at = self.random.usize(..shape.len());
            shape[at] = window.outer;
        }
        shape
    }

    /// Generates a value without a reduction.
    fn map(&mut self, ty: Type) -> Value {
        if self.percent(12)
            && self.may_declare()
            && let Some(value) = self.guarded_read(ty)
        {
            return value;
        }
        let value = self.value(ty);
        match self.update.clone() {
            // An update mostly reads the element that it updates.
            Some((name, _)) if ty.is_float() && self.percent(70) => {
                let own = self.own_element(name, ty);
                Value::new(value.expr.infix("+", own), value.size + 1.0, false)
            }
            _ => value,
        }
    }

    /// Generates a value with a reduction, and often an expression around it.
    fn reduction(&mut self, ty: Type) -> Value {
        let outer = self.scope.clone();
        let op = self.operation(ty);
        let ranges = self.ranges(op.starts_with("arg"));
        let (body, size) = self.item(op, ty);
        self.scope = outer;
        let reduce = body.reduced(op, ranges, ty);
        let value = Value::new(reduce, size, false);
        if self.percent(60) {
            return value;
        }
        match ty {
            BOOL => Value::new(Expr::new(ExprKind::Prefix("!", value.expr.into()), BOOL), 1.0, true),
            t if t.is_float() => {
                let bias = self.float_leaf(ty);
                let scaled = value.expr.infix("*", Expr::literal("0.5", ty)).infix("+", bias.expr);
                let size = size * 0.5 + bias.size;
                let expr = if self.percent(50) { scaled.method("max", [Expr::literal("0.0", ty)]) } else { scaled };
                Value::new(expr, size, false)
            }
            _ => {
                let more = self.integer(ty);
                Value::new(value.expr.infix("+", more), f64::INFINITY, true)
            }
        }
    }

    fn operation(&mut self, ty: Type) -> &'static str {
        match ty {
            BOOL => self.pick(&["any", "all"]),
            INDEX => self.pick(&["argmin", "argmax", "argmin", "argmax", "sum", "sum", "prod", "min", "max"]),
            t if t.is_float() => self.pick(&["sum", "sum", "sum", "sum", "sum", "max", "max", "min", "min", "prod"]),
            _ => self.pick(&["sum", "prod", "min", "max"]),
        }
    }

    /// Generates the operand of a reduction, and returns the largest absolute result.
    fn item(&mut self, op: &'static str, ty: Type) -> (Expr, f64) {
        if op.starts_with("arg") {
            // Compared values must be exact.
            let types: Vec<Type> = self.palette.iter().copied().filter(|t| *t != BOOL).collect();
            let ty = if types.is_empty() { INDEX } else { self.pick(&types) };
            let item = if ty.is_float() { self.read(ty).expr } else { self.integer(ty) };
            return (item, f64::INFINITY);
        }
        if !ty.is_float() {
            return (self.value(ty).expr, f64::INFINITY);
        }
        if op == "sum" && self.percent(50) {
            let (a, b) = (self.read(ty), self.read(ty));
            return (a.expr.infix("*", b.expr), 500.0);
        }
        let value = self.float(ty);
        match op {
            "sum" => (self.bounded(value, 4.0).expr, 2000.0),
            "prod" => (self.bounded(value, 1.0).expr, 1.0),
            _ => (value.expr, value.size),
        }
    }

    /// Generates the ranges of a reduction, and adds their axes to the scope.
    fn ranges(&mut self, not_empty: bool) -> Vec<Range> {
        let outer = self.scope.clone();
        let mut ranges = Vec::new();
        let count = self.pick(&[1, 1, 1, 1, 2, 2, 3]);
        let taps: Vec<Expr> =
            self.windows.iter().filter(|w| outer.iter().any(|a| a.within == w.outer)).map(|w| w.taps.clone()).collect();
        for (n, name) in ["k", "l", "q"].into_iter().take(count.max(taps.len())).enumerate() {
            let extent = match taps.get(n) {
                Some(taps) if self.percent(85) => taps.clone(),
                _ if self.percent(25) => Expr::int(self.random.i64(1..=4)),
                _ => self.pick(&self.extents.clone()),
            };
            let full = |high: Expr| (Expr::int(0), high.clone(), false, high);
            let around = if outer.is_empty() { None } else { Some(self.pick(&outer)) };
            let bounded = count == 1 || !not_empty;
            let (low, high, inclusive, within) = match (self.random.u8(..100), around) {
                (0..7, Some(a)) if bounded => (Expr::int(0), Expr::name(&a.name).infix("+", Expr::int(1)), false, a.within),
                (7..11, Some(a)) if bounded => (Expr::int(0), Expr::name(&a.name), true, a.within),
                (11..17, Some(a)) if bounded => (Expr::name(&a.name), a.within.clone(), false, a.within),
                (17..20, Some(a)) if bounded && !not_empty => (Expr::int(0), Expr::name(&a.name), false, a.within),
                (20..23, _) => (Expr::int(1), extent.clone(), false, extent),
                _ => full(extent),
            };
            ranges.push(Range { axis: name.into(), low, high, inclusive });
            self.scope.push(Axis { name: name.into(), within });
        }
        ranges
    }

    /// Adds reads of all intermediates that no stage has read yet to a value.
    fn with_the_rest(&mut self, mut value: Value, ty: Type) -> Value {
        for defined in self.defined.clone().into_iter().filter(|d| !d.read) {
            self.mark_read(&defined.name);
            let read = self.read_defined(&defined);
            let bool_of = |e: Expr| match defined.ty {
                BOOL => e,
                _ => e.compare(">", Expr::literal("3", defined.ty)),
            };
            value.expr = match ty {
                BOOL => Expr::new(ExprKind::Infix("^", value.expr.into(), bool_of(read.expr).into()), BOOL),
                t if t.is_float() => {
                    let more = match defined.ty {
                        d if d == ty => read.expr,
                        BOOL => {
                            let (yes, no) = (Expr::literal("1.0", ty), Expr::literal("0.5", ty));
                            Expr::new(ExprKind::If(read.expr.into(), yes.into(), no.into()), ty)
                        }
                        d if d.is_float() => read.expr.cast(ty),
                        _ => read.expr.infix("%", Expr::literal("8", defined.ty)).cast(ty),
                    };
                    value.expr.infix("+", more)
                }
                _ => match defined.ty {
                    d if d == ty => value.expr.infix("+", read.expr),
                    _ => value.expr.infix("+", read.expr.cast(ty)),
                },
            };
            value = Value::new(value.expr, value.size + defined.size.min(64.0), false);
        }
        value
    }

    /// Generates the kernel's facts, which all schedules can rely on.
    fn facts(&mut self) {
        if self.percent(15) {
            self.kernel.facts = facts::facts(&self.kernel, self.random);
        }
    }

    /// Ensures that an input's shape determines each dim, or makes the dim an argument.
    fn determine_dims(&mut self) {
        let dims: Vec<String> = self.kernel.dims().map(str::to_owned).collect();
        for name in dims {
            let dim = Expr::name(&name);
            let tells = |a: &Argument| match &a.kind {
                ArgumentKind::Input(shape) | ArgumentKind::Update(shape) => shape.contains(&dim),
                ArgumentKind::Scalar | ArgumentKind::Size => false,
            };
            let names = |a: &Argument| match &a.kind {
                ArgumentKind::Input(shape) | ArgumentKind::Update(shape) => shape.iter().any(|e| e.names().contains(name.as_str())),
                ArgumentKind::Scalar | ArgumentKind::Size => false,
            };
            if self.kernel.arguments.iter().any(tells) {
                continue;
            }
            if !self.kernel.arguments.iter().any(names) && self.percent(60) {
                let at = self.random.usize(..=self.kernel.arguments.len());
                self.kernel.arguments.insert(at, Argument { name, ty: INDEX, kind: ArgumentKind::Size });
            } else {
                let ty = self.palette[0];
                self.input(ty, vec![dim]);
            }
        }
    }

    /// Returns how many of the axes in scope are the stage's own.
    pub(super) fn own_rank(&self) -> usize {
        self.scope.iter().take_while(|a| ["i", "j", "h", "w"].contains(&a.name.as_str())).count()
    }
}

/// Replaces a reduction's operation by another one whose results are not larger.
fn other_reduction(value: &mut Expr) {
    if let ExprKind::Reduce { op, .. } = &mut value.kind {
        *op = match *op {
            "any" => "all",
            "all" => "any",
            "argmin" => "argmax",
            "argmax" => "argmin",
            "max" => "min",
            _ => "max",
        };
    }
    value.children_mut().into_iter().for_each(other_reduction);
}
