//! Softmax and similar kernels, for `decompose_online`: a maximum `m` of scores, and sums `l` and `o` of exponentials relative to
//! it. Schedules recognize the stages by these names. The axis of the scores that they reduce is `j`.

use super::skeleton::Generated;
use super::tree::{Argument, ArgumentKind, Expr, ExprKind, Generic, GenericKind, Kernel, Outside, Range, Role, Stage, Type};
use crate::schedule::tree::Fact;
use fastrand::Rng;
use tilewright_check::Fill;
use tilewright_launch::DType;

/// The axis that the maximum and the sums run over.
pub(crate) const KEYS: &str = "j";

const F32: Type = Type::Is(DType::F32);
const F16: Type = Type::Is(DType::F16);

/// Generates a kernel of this kind.
pub(super) fn generate(random: &mut Rng) -> Generated {
    let causal = random.u8(..100) < 40;
    let mut maker = Maker {
        kernel: Kernel {
            generics: Vec::new(),
            arguments: Vec::new(),
            facts: Vec::new(),
            functions: Vec::new(),
            tables: Vec::new(),
            stages: Vec::new(),
        },
        items: random.choice([F32, F32, F16, Type::Generic]).unwrap_or(F32),
        lead: Vec::new(),
        keys: (Expr::name("M"), Expr::name("M")),
        mask: None,
        function: if random.u8(..4) == 0 { "exp2" } else { "exp" },
        scale: None,
    };
    if maker.items == Type::Generic {
        maker.kernel.generics.push(Generic { name: "T".into(), kind: GenericKind::Dtype(vec![DType::F32, DType::F16]) });
    }
    for (axis, dim) in [("b", "B"), ("h", "H")].into_iter().take(random.choice([0, 0, 1, 1, 2]).unwrap_or(0)) {
        maker.dim(axis, dim);
    }
    maker.dim("i", "N");
    if causal {
        maker.keys = (Expr::name("N"), Expr::name("N"));
        match random.u8(..3) {
            0 => maker.keys.1 = Expr::name("i").infix("+", Expr::int(1)),
            // With `<`, all scores of the first row are masked.
            _ => maker.mask = Some(random.choice(["<=", "<=", "<=", "<"]).unwrap_or("<=")),
        }
    } else {
        maker.generic("M");
    }
    maker.scale = random.choice([None, None, Some(Expr::literal("0.5", F32)), Some(Expr::literal("2.0", F32))]).flatten();
    if random.u8(..100) < 15 {
        maker.kernel.arguments.push(Argument { name: "a".to_owned(), ty: F32, kind: ArgumentKind::Scalar });
        maker.kernel.facts.push(Fact::Bound("a".to_owned(), ">", "0.01"));
        maker.scale = Some(Expr { ty: F32, ..Expr::name("a") });
    }
    if random.u8(..100) < 45 {
        maker.rows(random)
    } else {
        maker.attention(random)
    }
    let fills = if random.u8(..100) < 5 { vec![("x".to_owned(), Fill::Wild)] } else { Vec::new() };
    Generated { kernel: maker.kernel, fills }
}

struct Maker {
    kernel: Kernel,
    /// The type of inputs; scores and sums are f32.
    items: Type,
    /// The axes of the maximum, and their dims.
    lead: Vec<(String, Expr)>,
    /// The number of scores, and the number of them that are reduced.
    keys: (Expr, Expr),
    /// The comparison of `j` with `i` that holds for the scores that count.
    mask: Option<&'static str>,
    /// `exp` or `exp2`.
    function: &'static str,
    /// The factor of differences.
    scale: Option<Expr>,
}

impl Maker {
    fn generic(&mut self, name: &str) -> Expr {
        self.kernel.generics.push(Generic { name: name.to_owned(), kind: GenericKind::Dim });
        Expr::name(name)
    }

    fn dim(&mut self, axis: &str, name: &str) {
        let dim = self.generic(name);
        self.lead.push((axis.to_owned(), dim));
    }

    /// Declares an input, and returns its read at these axes, as f32.
    fn input(&mut self, name: &str, axes: &[(String, Expr)]) -> Expr {
        let kind = ArgumentKind::Input(axes.iter().map(|(_, dim)| dim.clone()).collect());
        self.kernel.arguments.push(Argument { name: name.to_owned(), ty: self.items, kind });
        let read = read(name, axes, self.items);
        if self.items == F32 { read } else { read.cast(F32) }
    }

    fn stage(&mut self, name: &str, role: Role, axes: &[(String, Expr)], value: Expr) -> Expr {
        let ty = value.ty;
        let (names, shape) = axes.iter().cloned().unzip();
        self.kernel.stages.push(Stage { name: name.to_owned(), role, ty, shape, axes: names, value, joined: false });
        read(name, axes, ty)
    }

    fn reduce(&self, op: &'static str, body: Expr) -> Expr {
        let range = Range { axis: KEYS.to_owned(), low: Expr::int(0), high: self.keys.1.clone(), inclusive: false };
        let ty = body.ty;
        body.reduced(op, vec![range], ty)
    }

    /// Returns the axes of the scores.
    fn square(&self) -> Vec<(String, Expr)> {
        let keys = (KEYS.to_owned(), self.keys.0.clone());
        self.lead.iter().cloned().chain([keys]).collect()
    }

    fn kept(&self, value: Expr, otherwise: Expr) -> Expr {
        let Some(op) = self.mask else { return value };
        let (ty, cond) = (value.ty, Expr::name(KEYS).compare(op, Expr::name("i")));
        Expr::new(ExprKind::If(Box::new(cond), Box::new(value), Box::new(otherwise)), ty)
    }

    /// Returns the exponential of a score relative to the maximum.
    fn below(&self, score: &Expr, max: &Expr) -> Expr {
        let difference = score.clone().infix("-", max.clone());
        let scaled = match &self.scale {
            Some(scale) => difference.infix("*", scale.clone()),
            None => difference,
        };
        scaled.method(self.function, [])
    }

    /// Returns the masked scores, as a separate stage or as an expression. If exponentials are masked instead, also returns the
    /// unmasked scores.
    fn scores(&mut self, plain: Expr, random: &mut Rng) -> (Expr, Option<Expr>) {
        let lowest = random.choice(["-f32::INFINITY", "-f32::INFINITY", "-1000.0"]).unwrap_or("-1000.0");
        let masked = self.kept(plain.clone(), Expr::literal(lowest, F32));
        if self.mask.is_some() && random.bool() {
            return (masked, Some(plain));
        }
        if self.mask.is_some() || random.bool() {
            return (self.stage("t", Role::Intermediate, &self.square(), masked), None);
        }
        (masked, None)
    }

    /// Returns the exponentials, which may be a separate stage.
    fn weights(&mut self, (score, plain): (Expr, Option<Expr>), max: &Expr, random: &mut Rng) -> Expr {
        let value = match plain {
            Some(plain) => self.kept(self.below(&plain, max), Expr::literal("0.0", F32)),
            None => self.below(&score, max),
        };
        if random.u8(..3) == 0 {
            return value;
        }
        let value = if random.u8(..5) == 0 && self.kernel.arguments.iter().any(|a| a.ty == F16) { value.cast(F16) } else { value };
        let weights = self.stage("p", Role::Intermediate, &self.square(), value);
        if weights.ty == F32 { weights } else { weights.cast(F32) }
    }

    /// Generates softmax, its sum, or the logarithm of the sum.
    fn rows(&mut self, random: &mut Rng) {
        let square = self.square();
        let plain = self.input("x", &square);
        let scores = self.scores(plain, random);
        let lead = self.lead.clone();
        let role = if random.u8(..8) == 0 { Role::Output } else { Role::Intermediate };
        let max = self.stage("m", role, &lead, self.reduce("max", scores.0.clone()));
        let weights = self.weights(scores.clone(), &max, random);
        let sum = self.reduce("sum", weights.clone());
        match random.u8(..4) {
            0 => drop(self.stage("l", Role::Output, &lead, sum)),
            1 => drop(self.stage("l", Role::Output, &lead, sum.method("ln", []).infix("+", max))),
            2 => {
                let sum = self.stage("l", Role::Intermediate, &lead, sum);
                let total = self.reduce("sum", weights.infix("*", scores.0));
                // With masked scores, 0 times infinity would be NaN.
                match self.mask {
                    None => drop(self.stage("o", Role::Output, &lead, total.infix("/", sum))),
                    Some(_) => drop(self.stage("y", Role::Output, &lead, sum.infix("+", max))),
                }
            }
            _ => {
                let sum = self.stage("l", Role::Intermediate, &lead, sum);
                // There is no value beyond the end of a row.
                let value = self.below(&scores.0, &max).infix("/", sum);
                drop(self.stage("y", Role::Output, &square, value));
            }
        }
    }

    /// Generates attention: scores that are products of queries and keys, and weighted sums of values.
    fn attention(&mut self, random: &mut Rng) {
        let (square, lead) = (self.square(), self.lead.clone());
        let batch = |last: [(String, Expr); 2]| lead[..lead.len() - 1].iter().cloned().chain(last).collect::<Vec<_>>();
        let inner = ("d".to_owned(), self.generic("D"));
        let outer = ("e".to_owned(), self.generic("E"));
        let keys = square[square.len() - 1].clone();
        let row = lead[lead.len() - 1].clone();
        let (q, k) = (self.input("q", &batch([row, inner.clone()])), self.input("k", &batch([keys.clone(), inner.clone()])));
        let v = self.input("v", &batch([keys, outer.clone()]));
        let range = Range { axis: inner.0, low: Expr::int(0), high: inner.1, inclusive: false };
        let product = q.infix("*", k).reduced("sum", vec![range], F32);
        let product = if random.bool() { product.infix("*", Expr::literal("0.25", F32)) } else { product };
        let plain = self.stage("s", Role::Intermediate, &square, product);
        let scores = self.scores(plain, random);
        let max = self.stage("m", Role::Intermediate, &lead, self.reduce("max", scores.0.clone()));
        let weights = self.weights(scores, &max, random);
        let all: Vec<(String, Expr)> = lead.iter().cloned().chain([outer]).collect();
        let weighted = |of: Expr| of.infix("*", v.clone());
        match random.u8(..6) {
            0 => drop(self.stage("o", Role::Output, &all, self.reduce("sum", weighted(weights)))),
            1 => {
                let sum = self.stage("l", Role::Intermediate, &lead, self.reduce("sum", weights.clone()));
                drop(self.stage("o", Role::Output, &all, self.reduce("sum", weighted(weights.infix("/", sum)))));
            }
            _ => {
                let sum = self.stage("l", Role::Intermediate, &lead, self.reduce("sum", weights.clone()));
                drop(self.stage("o", Role::Output, &all, self.reduce("sum", weighted(weights)).infix("/", sum)));
            }
        }
    }
}

fn read(tensor: &str, axes: &[(String, Expr)], ty: Type) -> Expr {
    let index = axes.iter().map(|(axis, _)| Expr::name(axis)).collect();
    Expr::new(ExprKind::Read { tensor: tensor.to_owned(), outside: Outside::Never, index }, ty)
}
