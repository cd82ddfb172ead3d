//! Products of matrices in any layout, for `mma`: plain, in batches or under a window, with an epilogue and with stages that read
//! them. The axes are `i` and `j` of the result and `k` of the sum; a second sum is over `n`.

use super::skeleton::Generated;
use super::tree::{Argument, ArgumentKind, Expr, ExprKind, Generic, GenericKind, Kernel, Outside, Range, Role, Stage, Type};
use fastrand::Rng;
use tilewright_launch::DType;

const F32: Type = Type::Is(DType::F32);
const F16: Type = Type::Is(DType::F16);

/// The types of factors that matrix units multiply, besides f16, each with the type of its sums.
const NARROW: [(DType, DType); 3] = [(DType::BF16, DType::F32), (DType::I8, DType::I32), (DType::U8, DType::U32)];

/// The types of both factors and of the sum, of products of bytes that dot products compute.
const BYTES: [(DType, DType, DType); 4] = [
    (DType::I8, DType::U8, DType::I32),
    (DType::U8, DType::I8, DType::I32),
    (DType::U8, DType::U8, DType::I32),
    (DType::I8, DType::I8, DType::I32),
];

/// An axis and its extent.
type Dim = (String, Expr);

/// Generates a product.
pub(super) fn generate(random: &mut Rng) -> Generated {
    let (items, sum) = match random.choice(NARROW) {
        Some((items, sum)) if random.u8(..100) < 40 => (Type::Is(items), Type::Is(sum)),
        _ => {
            let items = random.choice([F16, F16, F16, Type::Generic]).unwrap_or(F16);
            (items, if random.u8(..100) < 65 { F32 } else { items })
        }
    };
    let kernel = Kernel {
        generics: Vec::new(),
        arguments: Vec::new(),
        facts: Vec::new(),
        functions: Vec::new(),
        tables: Vec::new(),
        stages: Vec::new(),
    };
    let (mut items, mut sum, mut other) = (items, sum, items);
    if random.u8(..100) < 15
        && let Some((first, second, of_sum)) = random.choice(BYTES)
    {
        (items, other, sum) = (Type::Is(first), Type::Is(second), Type::Is(of_sum));
    }
    let mut maker = Maker { kernel, items, other, sum };
    if items == Type::Generic {
        maker.kernel.generics.push(Generic { name: "T".into(), kind: GenericKind::Dtype(vec![DType::F32, DType::F16]) });
    }
    let batch = if random.u8(..100) < 25 { vec![maker.dim("z", "B", random)] } else { Vec::new() };
    let [i, j, k] = [("i", "M"), ("j", "N"), ("k", "K")].map(|(axis, name)| maker.dim(axis, name, random));
    let taps = (random.u8(..100) < 20).then(|| random.choice([1, 2, 3, 3]).unwrap_or(3));
    let of_batch = |random: &mut Rng| if random.u8(..4) == 0 { Vec::new() } else { batch.clone() };
    let a = [of_batch(random), vec![i.clone(), k.clone()]].concat();
    let b = [of_batch(random), vec![k.clone(), j.clone()]].concat();
    let both = [batch.clone(), vec![i.clone(), j.clone()]].concat();
    let value = maker.product(["a", "b"], [a, b], &k, taps, random);
    // A product whose factor is a product, a stage that reads a product, or the product alone.
    match random.u8(..100) {
        0..10 => {
            let value = maker.rounded(value);
            let read = maker.stage("s0", Role::Intermediate, &both, value, random);
            let n = maker.dim("n", "L", random);
            let other = maker.input("d", vec![j.clone(), n.clone()], maker.items, random);
            let value = maker.sum(read, other, &[(j.0.clone(), j.1.clone())]);
            let dims = [batch, vec![i, n]].concat();
            let value = maker.epilogue(value, &dims, random);
            maker.stage("y0", Role::Output, &dims, value, random);
        }
        10..25 => {
            let value = if random.bool() { maker.epilogue(value, &both, random) } else { value };
            let read = maker.stage("s0", Role::Intermediate, &both, value, random);
            let value = maker.epilogue(read, &both, random);
            maker.stage("y0", Role::Output, &both, value, random);
        }
        25..60 => drop(maker.stage("y0", Role::Output, &both, value, random)),
        _ => {
            let value = maker.epilogue(value, &both, random);
            maker.stage("y0", Role::Output, &both, value, random);
        }
    }
    Generated { kernel: maker.kernel, fills: Vec::new() }
}

struct Maker {
    kernel: Kernel,
    /// The type of factors.
    items: Type,
    /// The type of the second factor.
    other: Type,
    /// The type of sums.
    sum: Type,
}

impl Maker {
    fn dim(&mut self, axis: &str, name: &str, random: &mut Rng) -> Dim {
        // Weights often have known lengths.
        let kind = match random.u8(..100) {
            0..12 => {
                let value = random.choice([1, 3, 8, 16, 16, 24, 32]).unwrap_or(16);
                GenericKind::Parameter { default: value, value }
            }
            _ => GenericKind::Dim,
        };
        self.kernel.generics.push(Generic { name: name.to_owned(), kind });
        (axis.to_owned(), Expr::name(name))
    }

    /// Declares an input over axes, in any order.
    fn input(&mut self, name: &str, mut dims: Vec<Dim>, ty: Type, random: &mut Rng) -> Expr {
        random.shuffle(&mut dims);
        let (index, shape): (Vec<Expr>, Vec<Expr>) = dims.into_iter().map(|(axis, dim)| (Expr::name(axis), dim)).unzip();
        self.tensor(name, index, shape, ty)
    }

    fn tensor(&mut self, name: &str, index: Vec<Expr>, shape: Vec<Expr>, ty: Type) -> Expr {
        self.kernel.arguments.push(Argument { name: name.to_owned(), ty, kind: ArgumentKind::Input(shape) });
        Expr::new(ExprKind::Read { tensor: name.to_owned(), outside: Outside::Never, index }, ty)
    }

    /// Returns the sum of products of two inputs. With taps, the rows of the first input slide.
    fn product(&mut self, names: [&str; 2], dims: [Vec<Dim>; 2], k: &Dim, taps: Option<i64>, random: &mut Rng) -> Expr {
        let [mut a, mut b] = dims;
        let mut ranges = vec![k.clone()];
        if let Some(taps) = taps {
            let tap = ("r".to_owned(), Expr::int(taps));
            b.push(tap.clone());
            ranges.insert(random.usize(..=1), tap);
        }
        random.shuffle(&mut a);
        let slid = |(axis, dim): Dim| match (axis.as_str(), taps) {
            ("i", Some(taps)) => (Expr::name(axis).infix("+", Expr::name("r")), dim.infix("+", Expr::int(taps - 1))),
            _ => (Expr::name(axis), dim),
        };
        let (index, shape) = a.into_iter().map(slid).unzip();
        let a = self.tensor(names[0], index, shape, self.items);
        let b = self.input(names[1], b, self.other, random);
        if random.bool() { self.sum(a, b, &ranges) } else { self.sum(b, a, &ranges) }
    }

    /// Returns the sum of products over ranges.
    fn sum(&self, a: Expr, b: Expr, ranges: &[Dim]) -> Expr {
        let [a, b] = [a, b].map(|factor| if factor.ty == self.sum { factor } else { factor.cast(self.sum) });
        let range = |(axis, high): &Dim| Range { axis: axis.clone(), low: Expr::int(0), high: high.clone(), inclusive: false };
        let (ranges, ty) = (ranges.iter().map(range).collect(), self.sum);
        a.infix("*", b).reduced("sum", ranges, ty)
    }

    /// Converts a value to a factor of another product.
    fn rounded(&self, value: Expr) -> Expr {
        if value.ty == self.items { value } else { value.cast(self.items) }
    }

    /// Adds an epilogue to a value: a scale of rows, a bias of columns, an addend, an activation, or a conversion.
    fn epilogue(&mut self, mut value: Expr, dims: &[Dim], random: &mut Rng) -> Expr {
        let ty = value.ty;
        let number = |float: &str, int: &str| Expr::literal(if ty.is_float() { float } else { int }, ty);
        for n in 0..random.u8(1..=3) {
            let name = format!("e{}{n}", self.kernel.arguments.len());
            let shared = random.bool();
            let dim = |at: usize| vec![dims[dims.len() - at].clone()];
            value = match random.u8(..7) {
                0 => value.infix("+", self.input(&name, dim(1), ty, random)),
                1 => value.infix("*", self.input(&name, dim(2), ty, random)),
                2 => {
                    let rest = self.input(&name, dims.to_vec(), if shared { ty } else { self.items }, random);
                    value.infix("+", if rest.ty == ty { rest } else { rest.cast(ty) })
                }
                3 => value.method("max", [number("0.0", "0")]),
                4 => value.infix("*", number("0.5", "3")),
                5 => {
                    self.kernel.arguments.push(Argument { name: name.clone(), ty, kind: ArgumentKind::Scalar });
                    value.infix("*", Expr { ty, ..Expr::name(name) })
                }
                _ if ty == F32 && random.u8(..3) == 0 => value.infix("+", Expr::name(&dims[dims.len() - 1].0).cast(F32)),
                _ if !ty.is_float() && random.bool() => return value.cast(F32).infix("*", Expr::literal("0.125", F32)),
                _ => value.infix("-", number("0.25", "5")),
            };
        }
        if random.u8(..3) == 0 { self.rounded(value) } else { value }
    }

    fn stage(&mut self, name: &str, role: Role, dims: &[Dim], value: Expr, random: &mut Rng) -> Expr {
        let mut dims = dims.to_vec();
        if random.u8(..100) < 15 {
            random.shuffle(&mut dims);
        }
        let (axes, shape): (Vec<String>, Vec<Expr>) = dims.into_iter().unzip();
        let (ty, index) = (value.ty, axes.iter().map(Expr::name).collect());
        self.kernel.stages.push(Stage { name: name.to_owned(), role, ty, shape, axes, value, joined: false });
        Expr::new(ExprKind::Read { tensor: name.to_owned(), outside: Outside::Never, index }, ty)
    }
}
