//! Products of matrices whose rows are reduced, for `fragment(…, by: …)`: softmax and norms of a product, and attention, whose
//! weights are factors of a second product. The axes are `i` of rows, `j` of the reduced columns, `k` or `d` of the product's sum,
//! and `e` of values.

use super::skeleton::Generated;
use super::tree::{Argument, ArgumentKind, Expr, ExprKind, Generic, GenericKind, INDEX, Kernel, Outside, Range, Role, Stage, Type};
use crate::schedule::tree::Fact;
use fastrand::Rng;
use tilewright_launch::DType;

const F32: Type = Type::Is(DType::F32);
const F16: Type = Type::Is(DType::F16);

/// The axis that is reduced.
const COLUMNS: &str = "j";

/// An axis and its extent.
type Dim = (String, Expr);

/// Generates a kernel of this kind.
pub(super) fn generate(random: &mut Rng) -> Generated {
    let kernel = Kernel {
        generics: Vec::new(),
        arguments: Vec::new(),
        facts: Vec::new(),
        functions: Vec::new(),
        tables: Vec::new(),
        stages: Vec::new(),
    };
    let mut maker = Maker { kernel, lead: Vec::new(), columns: Expr::name("N"), high: Expr::name("N"), mask: None };
    if random.bool() {
        maker.attention(random)
    } else {
        maker.chain(random)
    }
    Generated { kernel: maker.kernel, fills: Vec::new() }
}

struct Maker {
    kernel: Kernel,
    /// The axes of a row's results.
    lead: Vec<Dim>,
    /// The number of columns, and the number of them that are reduced.
    columns: Expr,
    high: Expr,
    /// The condition under which an element counts.
    mask: Option<Expr>,
}

impl Maker {
    fn dim(&mut self, axis: &str, name: &str) -> Dim {
        self.kernel.generics.push(Generic { name: name.to_owned(), kind: GenericKind::Dim });
        (axis.to_owned(), Expr::name(name))
    }

    /// Returns an axis whose extent is a dim or a known number.
    fn known(&mut self, axis: &str, name: &str, random: &mut Rng) -> Dim {
        if random.u8(..100) < 75 {
            return self.dim(axis, name);
        }
        let value = random.choice([16, 16, 16, 32, 32, 32, 48, 48, 24]).unwrap_or(16);
        self.kernel.generics.push(Generic { name: name.to_owned(), kind: GenericKind::Parameter { default: value, value } });
        (axis.to_owned(), Expr::name(name))
    }

    fn input(&mut self, name: &str, dims: &[Dim], ty: Type) -> Expr {
        let shape = dims.iter().map(|(_, dim)| dim.clone()).collect();
        self.kernel.arguments.push(Argument { name: name.to_owned(), ty, kind: ArgumentKind::Input(shape) });
        read(name, dims, ty)
    }

    /// Declares a factor of a product, and converts it to the sum's type.
    fn factor(&mut self, name: &str, mut dims: Vec<Dim>, random: &mut Rng) -> Expr {
        if random.u8(..100) < 20 {
            let last = dims.len() - 1;
            dims.swap(last - 1, last);
        }
        self.input(name, &dims, F16).cast(F32)
    }

    fn stage(&mut self, name: &str, role: Role, dims: &[Dim], value: Expr) -> Expr {
        let ty = value.ty;
        let (axes, shape) = dims.iter().cloned().unzip();
        self.kernel.stages.push(Stage { name: name.to_owned(), role, ty, shape, axes, value, joined: false });
        read(name, dims, ty)
    }

    fn columns(&self) -> Dim {
        (COLUMNS.to_owned(), self.columns.clone())
    }

    /// Returns the axes of the product.
    fn square(&self) -> Vec<Dim> {
        self.lead.iter().cloned().chain([self.columns()]).collect()
    }

    /// Returns a reduction of the columns.
    fn reduce(&self, op: &'static str, body: Expr) -> Expr {
        reduce(op, (COLUMNS.to_owned(), self.high.clone()), body)
    }

    fn kept(&self, value: Expr, otherwise: &str) -> Expr {
        let Some(mask) = self.mask.clone() else { return value };
        let (ty, otherwise) = (value.ty, Expr::literal(otherwise, value.ty));
        Expr::new(ExprKind::If(Box::new(mask), Box::new(value), Box::new(otherwise)), ty)
    }

    /// Adds a batch axis, sometimes, and the rows.
    fn rows(&mut self, share: u8, random: &mut Rng) {
        if random.u8(..100) < share {
            let batch = self.dim("z", "B");
            self.lead.push(batch);
        }
        let rows = self.dim("i", "M");
        self.lead.push(rows);
    }

    /// Adds the product of two inputs, as a stage.
    fn score(&mut self, names: [&str; 2], inner: &str, random: &mut Rng) -> Expr {
        // The keys are called `k`.
        let axis = if names.contains(&"k") { "d" } else { "k" };
        let inner = if random.bool() { self.dim(axis, inner) } else { self.known(axis, inner, random) };
        let batch = self.lead[..self.lead.len() - 1].to_vec();
        let row = self.lead[self.lead.len() - 1].clone();
        let a = self.factor(names[0], [batch.clone(), vec![row, inner.clone()]].concat(), random);
        let b = self.factor(names[1], [batch, vec![self.columns(), inner.clone()]].concat(), random);
        let product = if random.u8(..4) == 0 { b.infix("*", a) } else { a.infix("*", b) };
        let sum = reduce("sum", inner, product);
        let sum = if random.u8(..3) == 0 { sum.infix("*", Expr::literal("0.25", F32)) } else { sum };
        self.stage("score", Role::Intermediate, &self.square(), sum)
    }

    /// Masks elements, in a separate stage or where they are read.
    fn masked(&mut self, score: Expr, otherwise: &str, random: &mut Rng) -> Expr {
        let masked = self.kept(score, otherwise);
        if self.mask.is_some() && random.bool() {
            return self.stage("masked", Role::Intermediate, &self.square(), masked);
        }
        masked
    }

    /// Generates a result that reads a product and the reductions of its rows.
    fn chain(&mut self, random: &mut Rng) {
        self.rows(20, random);
        (_, self.columns) = self.known(COLUMNS, "N", random);
        self.choose_mask(random);
        let score = self.score(["a", "b"], "K", random);
        let op = random.choice(["max", "max", "max", "sum", "sum", "min", "prod"]).unwrap_or("max");
        let otherwise = match op {
            "max" if random.bool() => "-f32::INFINITY",
            "max" => "-1000.0",
            _ => "0.0",
        };
        let score = self.masked(score, otherwise, random);
        let (lead, square) = (self.lead.clone(), self.square());
        let softmax = op == "max" && random.u8(..100) < 55;
        let item = if softmax { score.clone() } else { self.item(op, score.clone(), random) };
        let row = self.reduce(op, item);
        let row = match random.u8(..100) {
            0..15 if !softmax => row.infix("*", Expr::literal("0.5", F32)),
            15..25 if !softmax => row.infix("+", self.input("d", &lead, F32)),
            _ => row,
        };
        let row = self.stage("row", Role::Intermediate, &lead, row);
        let form = random.u8(..100);
        let value = if softmax { self.softmax(score, row, random) } else { self.result((op, form), score, row, random) };
        let value = if random.u8(..4) == 0 { value.cast(F16) } else { value };
        self.stage("y", Role::Output, &square, value);
    }

    /// Chooses the mask of a row's columns, if not all count.
    fn choose_mask(&mut self, random: &mut Rng) {
        match random.u8(..100) {
            0..15 => self.mask = Some(Expr::name(COLUMNS).compare("<=", Expr::name("i"))),
            // Out of a whole number of matrices of columns, only `C` columns count.
            15..30 => {
                let (_, count) = self.dim("c", "C");
                self.kernel.arguments.push(Argument { name: "C".to_owned(), ty: INDEX, kind: ArgumentKind::Size });
                self.kernel.facts.push(Fact::Size(count.clone(), ">=", 1));
                self.mask = Some(Expr::name(COLUMNS).compare("<", count));
            }
            _ => {}
        }
    }

    /// Returns exponentials relative to a row's maximum, mostly divided by their sum.
    fn softmax(&mut self, score: Expr, row: Expr, random: &mut Rng) -> Expr {
        let (lead, square) = (self.lead.clone(), self.square());
        let mut weight = score.infix("-", row).method(random.choice(["exp", "exp", "exp2"]).unwrap_or("exp"), []);
        if random.u8(..100) < 80 {
            weight = self.stage("weight", Role::Intermediate, &square, weight);
        }
        if random.u8(..100) < 75 {
            let total = self.stage("total", Role::Intermediate, &lead, self.reduce("sum", weight.clone()));
            weight.infix("/", total)
        } else {
            weight
        }
    }

    /// Returns a result computed from an element and its row's reduction, in one of a hundred forms.
    fn result(&mut self, (op, form): (&str, u8), score: Expr, row: Expr, random: &mut Rng) -> Expr {
        let (lead, square) = (self.lead.clone(), self.square());
        match form {
            0..25 if op == "sum" => {
                let apart = score.infix("-", row.infix("*", Expr::literal("0.03125", F32)));
                let apart = if random.bool() { self.stage("weight", Role::Intermediate, &square, apart) } else { apart };
                let total = self.reduce("sum", apart.clone().infix("*", apart.clone()));
                apart.infix("*", self.stage("total", Role::Intermediate, &lead, total))
            }
            25..45 => score.infix("*", row),
            45..60 => score.infix("+", row.infix("*", self.input("c", &[self.columns()], F32))),
            _ => score.infix("-", row),
        }
    }

    /// Returns the operand of a row's reduction.
    fn item(&mut self, op: &str, score: Expr, random: &mut Rng) -> Expr {
        let small = |value: Expr| value.infix("*", Expr::literal("0.03125", F32)).infix("+", Expr::literal("1.0", F32));
        match random.u8(..100) {
            // Masked elements are not numbers to compute with.
            _ if self.mask.is_some() && op == "max" => score,
            _ if op == "prod" => small(score),
            0..15 => small(score.infix("+", self.input("r", &self.square(), F32))),
            15..30 => score.infix("+", self.input("t", &[self.columns()], F32)),
            30..40 => score.clone().infix("*", score),
            40..50 => score.method("abs", []),
            _ => score,
        }
    }

    /// Generates attention: rounded weights from a row's maximum and sum, and a weighted sum of values.
    fn attention(&mut self, random: &mut Rng) {
        self.rows(55, random);
        if random.u8(..100) < 40 {
            (self.columns, self.high) = (Expr::name("M"), Expr::name("M"));
            match random.u8(..100) {
                0..60 => self.high = Expr::name("i").infix("+", Expr::int(1)),
                _ => self.mask = Some(Expr::name(COLUMNS).compare("<=", Expr::name("i"))),
            }
        } else {
            self.dim(COLUMNS, "N");
        }
        let score = self.score(["q", "k"], "D", random);
        let score = self.masked(score, random.choice(["-f32::INFINITY", "-1000.0"]).unwrap_or("-1000.0"), random);
        let (lead, square) = (self.lead.clone(), self.square());
        let max = self.stage("largest", Role::Intermediate, &lead, self.reduce("max", score.clone()));
        let weight = self.below(score, max, random);
        // One stage, in f16, or two.
        let (weight, rounded) = if random.u8(..100) < 20 {
            let weight = self.stage("weight", Role::Intermediate, &square, weight.cast(F16));
            (weight.clone().cast(F32), weight)
        } else {
            let weight = self.stage("weight", Role::Intermediate, &square, weight);
            (weight.clone(), self.stage("rounded", Role::Intermediate, &square, weight.cast(F16)))
        };
        let outer = self.known("e", "E", random);
        let batch = lead[..lead.len() - 1].to_vec();
        let v = self.factor("v", [batch, vec![self.columns(), outer.clone()]].concat(), random);
        let total = self.stage("total", Role::Intermediate, &lead, self.reduce("sum", weight));
        let value = self.reduce("sum", rounded.cast(F32).infix("*", v));
        let value = if random.u8(..100) < 85 { value.infix("/", total) } else { value.infix("+", total) };
        let value = if random.u8(..3) == 0 { value.cast(F16) } else { value };
        self.stage("output", Role::Output, &[lead, vec![outer]].concat(), value);
    }

    /// Returns the exponential of a score relative to the maximum.
    fn below(&mut self, score: Expr, max: Expr, random: &mut Rng) -> Expr {
        let function = random.choice(["exp", "exp", "exp2"]).unwrap_or("exp");
        let factor = match random.u8(..3) {
            0 => {
                self.kernel.arguments.push(Argument { name: "scale".to_owned(), ty: F32, kind: ArgumentKind::Scalar });
                self.kernel.facts.push(Fact::Bound("scale".to_owned(), ">", "0.01"));
                Expr { ty: F32, ..Expr::name("scale") }
            }
            _ => Expr::literal(random.choice(["0.5", "2.0", "0.125"]).unwrap_or("0.5"), F32),
        };
        match random.u8(..100) {
            0..50 => score.infix("-", max).method(function, []),
            50..75 => score.infix("-", max).infix("*", factor).method(function, []),
            _ => {
                let max = Expr::new(ExprKind::Prefix("-", Box::new(max)), F32).infix("*", factor.clone());
                score.method("mul_add", [factor, max]).method(function, [])
            }
        }
    }
}

fn reduce(op: &'static str, (axis, high): Dim, body: Expr) -> Expr {
    let (range, ty) = (Range { axis, low: Expr::int(0), high, inclusive: false }, body.ty);
    body.reduced(op, vec![range], ty)
}

fn read(tensor: &str, dims: &[Dim], ty: Type) -> Expr {
    let index = dims.iter().map(|(axis, _)| Expr::name(axis)).collect();
    Expr::new(ExprKind::Read { tensor: tensor.to_owned(), outside: Outside::Never, index }, ty)
}
