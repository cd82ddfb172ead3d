//! Gives a reduction a condition that leaves operands out: mostly, all but those that data or axes choose for an element, as in a
//! histogram, `count[i] = sum(k in 0..N) where bins0[k] == i { 1 }`.

use super::skeleton::Generated;
use super::tree::{Argument, ArgumentKind, Expr, ExprKind, GenericKind, INDEX, Kernel, Outside, Range, Role, Stage, Type};
use super::updates::AXES;
use crate::schedule::tree::Fact;
use fastrand::Rng;
use tilewright_check::Fill;
use tilewright_launch::DType;

const BOOL: Type = Type::Is(DType::Bool);

/// The types of data that choose elements.
const TYPES: [DType; 12] = [
    DType::I32,
    DType::I32,
    DType::I32,
    DType::I32,
    DType::I32,
    DType::I32,
    DType::U32,
    DType::U8,
    DType::U8,
    DType::I8,
    DType::U16,
    DType::I64,
];

/// The parts of a condition.
struct Condition<'a> {
    /// The axes of the stage, with their extents.
    own: Vec<(&'a String, &'a Expr)>,
    ranges: &'a [Range],
    /// The data, as an index.
    data: Expr,
}

/// Gives a random reduction of a kernel a condition, or makes a value without a reduction one with a condition.
pub(super) fn conditional(random: &mut Rng, made: &mut Generated) {
    let Some((at, node)) = reduction(random, &mut made.kernel) else { return };
    add_axis(random, &mut made.kernel, at);
    let stage = made.kernel.stages[at].clone();
    let Some(Expr { kind: ExprKind::Reduce { op, ranges, body, .. }, ty }) = stage.value.nth(node).cloned() else { return };
    let own: Vec<(&String, &Expr)> = stage.axes.iter().zip(&stage.shape).collect();
    let data = data(random, made, &own, &ranges);
    let condition = Condition { own, ranges: &ranges, data };
    let (only, body) = operand(random, made, &condition, op, *body);
    let identity = identity(op, body.ty).filter(|_| random.u8(..100) < 30);
    let (only, body) = match identity {
        Some(identity) => (None, Expr::new(ExprKind::If(only.into(), body.into(), identity.into()), ty)),
        None => (Some(only), body),
    };
    let conditional = Expr::new(ExprKind::Reduce { op, ranges: ranges.clone(), only: only.map(Box::new), body: body.into() }, ty);
    if let Some(place) = made.kernel.stages[at].value.nth_mut(&mut { node }) {
        *place = conditional;
    }
    not_empty(random, &mut made.kernel, &stage);
}

/// Chooses a reduction over ranges that begin at 0 and do not depend on axes, by its stage and its place in the stage's value. Makes one if
/// there is none.
fn reduction(random: &mut Rng, kernel: &mut Kernel) -> Option<(usize, usize)> {
    let mut found = Vec::new();
    for (at, stage) in kernel.stages.iter().enumerate() {
        let (mut node, kernel) = (0, &*kernel);
        stage.value.visit(&mut |e| {
            if matches!(&e.kind, ExprKind::Reduce { ranges, .. } if ranges.iter().all(|range| is_plain(kernel, range))) {
                found.push((at, node));
            }
            node += 1;
        });
    }
    if let Some(found) = random.choice(found) {
        return Some(found);
    }
    let is_open = |stage: &Stage| !stage.value.reduces() && stage.ty != Type::Is(DType::I64);
    let at = random.choice(kernel.stages.iter().enumerate().filter(|(_, s)| is_open(s)).map(|(at, _)| at).collect::<Vec<_>>())?;
    let sizes = kernel.generics.iter().filter(|g| !matches!(g.kind, GenericKind::Dtype(_) | GenericKind::Derived(_)));
    let sizes: Vec<Expr> = sizes.map(|g| Expr::name(&g.name)).chain([Expr::int(random.i64(2..=40))]).collect();
    let range = |(axis, high): (&str, Expr)| Range { axis: axis.into(), low: Expr::int(0), high, inclusive: false };
    let ranges = ["k", "l"][..random.usize(1..=2)]
        .iter()
        .map(|axis| range((axis, random.choice(&sizes).cloned().unwrap_or_else(|| Expr::int(3)))));
    let ranges = ranges.collect();
    let stage = &mut kernel.stages[at];
    let op = match stage.ty {
        BOOL => random.choice(["any", "all"])?,
        ty if ty.is_float() => random.choice(["sum", "max", "min"])?,
        _ => random.choice(["sum", "sum", "prod", "max", "min"])?,
    };
    let ty = stage.ty;
    stage.value = std::mem::replace(&mut stage.value, Expr::int(0)).reduced(op, ranges, ty);
    Some((at, 0))
}

/// Sometimes adds an axis of bins to a result that is not read.
fn add_axis(random: &mut Rng, kernel: &mut Kernel, at: usize) {
    let stage = &kernel.stages[at];
    let is_read = kernel.stages.iter().any(|other| other.value.names().contains(stage.name.as_str()));
    if is_read || stage.role != Role::Output || random.u8(..100) >= 50 {
        return;
    }
    let free = AXES.iter().find(|axis| !stage.axes.iter().any(|own| own == *axis));
    let size = Expr::int(random.choice([1, 3, 5, 8, 10, 16, 33]).unwrap_or(8));
    if let Some(axis) = free {
        let place = if random.u8(..3) == 0 { random.usize(..=stage.axes.len()) } else { stage.axes.len() };
        kernel.stages[at].axes.insert(place, (*axis).to_owned());
        kernel.stages[at].shape.insert(place, size);
    }
}

/// True for a range from 0 to a size.
fn is_plain(kernel: &Kernel, range: &Range) -> bool {
    let is_size = |name: &&str| kernel.generics.iter().any(|g| g.name == **name);
    range.low == Expr::int(0) && !range.inclusive && range.high.names().iter().all(is_size)
}

/// Declares the data and reads them: an element for each operand, sometimes of each row.
fn data(random: &mut Rng, made: &mut Generated, own: &[(&String, &Expr)], ranges: &[Range]) -> Expr {
    let row = if random.u8(..100) < 25 && ranges.len() < 4 {
        random.choice(own).map(|(axis, size)| ((*axis).clone(), (*size).clone()))
    } else {
        None
    };
    let axes = row.into_iter().chain(ranges.iter().map(|range| (range.axis.clone(), range.high.clone())));
    let (index, shape): (Vec<Expr>, Vec<Expr>) = axes.map(|(axis, size)| (Expr::name(axis), size)).unzip();
    let ty = Type::Is(random.choice(TYPES).unwrap_or(DType::I32));
    made.kernel.arguments.push(Argument { name: "bins0".into(), ty, kind: ArgumentKind::Input(shape) });
    let fill = match random.u8(..100) {
        0..70 => Fill::Below(random.i64(1..=16)),
        70..90 => Fill::Small,
        _ => Fill::Wild,
    };
    made.fills.push(("bins0".into(), fill));
    let read = Expr::new(ExprKind::Read { tensor: "bins0".into(), outside: Outside::Never, index }, ty);
    if ty == INDEX { read } else { read.cast(INDEX) }
}

impl Condition<'_> {
    /// Generates the condition.
    fn generate(&self, random: &mut Rng) -> Expr {
        let Some((axis, size)) = self.bins(random) else { return self.without_axes(random) };
        let chosen = if random.u8(..100) < 8 { self.other_comparison(random, axis) } else { self.chosen(random, axis, size) };
        match random.u8(..100) {
            0..20 => chosen.infix("&&", self.truth(random)),
            20..30 => self.truth(random).infix("&&", chosen),
            30..50 => match random.choice(self.own.iter().filter(|(other, _)| *other != axis).collect::<Vec<_>>()) {
                Some((other, _)) if random.u8(..4) == 0 => chosen.infix("&&", Expr::name(axis).compare("==", Expr::name(*other))),
                Some((other, size)) => chosen.infix("&&", self.chosen(random, other, size)),
                None => chosen,
            },
            50..53 => chosen.infix("||", self.truth(random)),
            _ => chosen,
        }
    }

    /// Chooses an axis of the stage, mostly one of a known size.
    fn bins(&self, random: &mut Rng) -> Option<(&String, &Expr)> {
        let known: Vec<_> = self.own.iter().filter(|(_, size)| size.as_int().is_some()).collect();
        let chosen = random.choice(known).filter(|_| random.u8(..100) < 70).or_else(|| random.choice(&self.own));
        chosen.copied().filter(|_| random.u8(..100) < 88)
    }

    /// Generates a comparison for equality with an axis of the stage.
    fn chosen(&self, random: &mut Rng, axis: &str, size: &Expr) -> Expr {
        let number = |random: &mut Rng| Expr::int(random.i64(1..=4));
        let mut value = match random.u8(..100) {
            0..65 => self.data.clone(),
            65..72 => self.data.clone().infix(random.choice(["%", "/"]).unwrap_or("%"), number(random)),
            72..77 => self.data.clone().method("rem_euclid", [size.clone().method("max", [Expr::int(1)])]),
            77..83 => self.data.clone().infix(random.choice(["+", "-"]).unwrap_or("+"), self.position(random)),
            _ => self.position(random),
        };
        if random.u8(..100) < 25 {
            value = value.infix(random.choice(["+", "-"]).unwrap_or("+"), number(random));
        }
        let axis = match random.u8(..100) {
            0..12 => Expr::name(axis).infix(random.choice(["+", "-"]).unwrap_or("+"), number(random)),
            12..14 => number(random).infix("-", Expr::name(axis)),
            _ => Expr::name(axis),
        };
        if random.u8(..100) < 30 { axis.compare("==", value) } else { value.compare("==", axis) }
    }

    /// Generates arithmetic on an axis of the reduction.
    fn position(&self, random: &mut Rng) -> Expr {
        let Some(range) = random.choice(self.ranges) else { return Expr::int(0) };
        let name = Expr::name(&range.axis);
        match random.u8(..4) {
            0 => range.high.clone().infix("-", Expr::int(1)).infix("-", name),
            1 => name.infix("/", Expr::int(random.i64(2..=4))),
            2 => name.infix("%", Expr::int(random.i64(2..=5))),
            _ => name,
        }
    }

    /// Generates a comparison with an axis for which several elements may have an operand.
    fn other_comparison(&self, random: &mut Rng, axis: &str) -> Expr {
        match random.choice(["!=", "<=", "*", "/"]) {
            Some("*") => self.data.clone().compare("==", Expr::name(axis).infix("*", Expr::int(2))),
            Some("/") => self.data.clone().compare("==", Expr::name(axis).infix("/", Expr::int(2))),
            Some(op) => self.data.clone().compare(op, Expr::name(axis)),
            None => self.truth(random),
        }
    }

    /// Generates a condition on operands only.
    fn without_axes(&self, random: &mut Rng) -> Expr {
        let condition = self.truth(random);
        if random.u8(..100) < 20 {
            condition.infix(random.choice(["&&", "||"]).unwrap_or("&&"), self.truth(random))
        } else {
            condition
        }
    }

    /// Generates a comparison of data or of an axis of the reduction with a number.
    fn truth(&self, random: &mut Rng) -> Expr {
        let op = random.choice(["<", "<=", ">", ">=", "!=", "=="]).unwrap_or("<");
        let by = Expr::int(random.i64(0..=5));
        if random.u8(..3) == 0 { self.position(random).compare(op, by) } else { self.data.clone().compare(op, by) }
    }
}

/// Returns the condition and the operand: mostly the old one, or the number of a count, or a read that the condition keeps in bounds.
fn operand(random: &mut Rng, made: &mut Generated, condition: &Condition<'_>, op: &str, body: Expr) -> (Expr, Expr) {
    let only = condition.generate(random);
    let is_count = op == "sum" && !body.ty.is_float();
    match random.u8(..100) {
        0..30 if is_count => (only, Expr::literal("1", body.ty)),
        30..40 if body.ty != BOOL => {
            let (name, range, by) = ("bins1".to_owned(), &condition.ranges[0], Expr::int(random.i64(1..=3)));
            made.kernel.arguments.push(Argument {
                name: name.clone(),
                ty: body.ty,
                kind: ArgumentKind::Input(vec![range.high.clone()]),
            });
            let (inside, index) = (Expr::name(&range.axis).compare(">=", by.clone()), Expr::name(&range.axis).infix("-", by));
            let read = ExprKind::Read { tensor: name, outside: Outside::Never, index: vec![index] };
            (inside.infix("&&", only), Expr::new(read, body.ty))
        }
        _ => (only, body),
    }
}

/// Returns the identity of an operation, if it can be written.
pub(super) fn identity(op: &str, ty: Type) -> Option<Expr> {
    let (least, greatest) = match ty {
        Type::Is(dtype) if dtype.is_int() => {
            dtype.int_range().map(|(least, greatest)| (least.to_string(), greatest.to_string()))?
        }
        Type::Is(dtype) if dtype.is_float() => (format!("{dtype}::NEG_INFINITY"), format!("{dtype}::INFINITY")),
        _ => (String::new(), String::new()),
    };
    let text = match op {
        "sum" if ty.is_float() => "0.0",
        "sum" => "0",
        "prod" if ty.is_float() => "1.0",
        "prod" => "1",
        "any" => "false",
        "all" => "true",
        "max" => &least,
        "min" => &greatest,
        _ => "",
    };
    (!text.is_empty()).then(|| Expr::literal(text, ty))
}

/// Mostly states that the axes of a stage have values, without which no element can be chosen.
fn not_empty(random: &mut Rng, kernel: &mut Kernel, stage: &Stage) {
    for size in &stage.shape {
        let fact = Fact::Size(size.clone(), ">=", 1);
        let is_named = matches!(&size.kind, ExprKind::Name(name) if kernel.dims().any(|dim| dim == name));
        if is_named && !kernel.facts.contains(&fact) && random.u8(..100) < 85 {
            kernel.facts.push(fact);
        }
    }
}
