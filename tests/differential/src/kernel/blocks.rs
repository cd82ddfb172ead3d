//! Transforms of blocks, for example of an image's blocks of 8 x 8. An element depends on the elements of its own block, which are
//! read at `i / 8 * 8 + k`. The numbers of blocks are the dims `B0` and `B1`.

use super::skeleton::Generated;
use super::tree::{Argument, ArgumentKind, Expr, ExprKind, Generic, GenericKind, Kernel, Outside, Range, Role, Stage, Table, Type};
use fastrand::Rng;
use tilewright_launch::DType;

const AXES: [&str; 2] = ["i", "j"];

/// Generates a kernel of this kind.
pub(super) fn generate(random: &mut Rng) -> Generated {
    let rank = if random.u8(..4) == 0 { 1 } else { 2 };
    let ty = random.choice([F32, F32, F16, Type::Generic, U32]).unwrap_or(F32);
    let block = random.choice([2, 3, 4, 4, 4, 8]).unwrap_or(4);
    // The last block of a tensor that is not made of whole blocks ends out of bounds.
    let whole = random.u8(..100) < 85;
    let mut generics: Vec<Generic> = (0..rank).map(|n| Generic { name: format!("B{n}"), kind: GenericKind::Dim }).collect();
    let extents =
        generics.iter().map(|dim| if whole { Expr::name(&dim.name).infix("*", Expr::int(block)) } else { Expr::name(&dim.name) });
    let shape: Vec<Expr> = extents.collect();
    if ty == Type::Generic {
        generics.insert(0, Generic { name: "T".into(), kind: GenericKind::Dtype(vec![DType::F32, DType::F16]) });
    }
    let arguments = vec![Argument { name: "x".into(), ty, kind: ArgumentKind::Input(shape.clone()) }];
    let mut made = Blocks { ty, block, whole, shape, tables: Vec::new(), random };
    let mut stages = Vec::new();
    let source = match made.random.u8(..100) {
        0..75 => {
            let value = made.first("x");
            stages.push(made.stage("s0", Role::Intermediate, value));
            "s0"
        }
        _ => "x",
    };
    let axis = made.random.usize(..rank);
    let value = made.of_block(source, axis);
    stages.push(made.stage("y0", Role::Output, value));
    let kernel = Kernel { generics, arguments, facts: Vec::new(), functions: Vec::new(), tables: made.tables, stages };
    Generated { kernel, fills: Vec::new() }
}

const F32: Type = Type::Is(DType::F32);
const F16: Type = Type::Is(DType::F16);
const U32: Type = Type::Is(DType::U32);

/// A kernel in the making.
struct Blocks<'r> {
    ty: Type,
    /// Elements of a block along an axis.
    block: i64,
    /// True if the tensors are made of whole blocks.
    whole: bool,
    shape: Vec<Expr>,
    tables: Vec<Table>,
    random: &'r mut Rng,
}

impl Blocks<'_> {
    fn stage(&self, name: &str, role: Role, value: Expr) -> Stage {
        let axes = AXES.iter().take(self.shape.len()).map(|axis| axis.to_string()).collect();
        Stage { name: name.into(), role, ty: self.ty, shape: self.shape.clone(), axes, value, joined: false }
    }

    /// Returns the index of the element itself.
    fn point(&self) -> Vec<Expr> {
        AXES.into_iter().take(self.shape.len()).map(Expr::name).collect()
    }

    /// Returns the value to transform: an element, neighbours, or another axis's transform.
    fn first(&mut self, source: &str) -> Expr {
        let at = self.point();
        match self.random.u8(..4) {
            0 => self.read(source, at, false).infix("*", self.literal("2")),
            1 => {
                let mut at = at;
                let last = at.len() - 1;
                at[last] = at[last].clone().infix("+", Expr::name("k"));
                let item = self.read(source, at, true);
                let count = self.random.i64(1..=3);
                self.reduce(count, item)
            }
            _ => self.of_block(source, self.shape.len() - 1),
        }
    }

    /// Returns an element computed from the elements of its block along an axis.
    fn of_block(&mut self, source: &str, axis: usize) -> Expr {
        let at = self.point();
        let element = |k: Expr, made: &mut Self| {
            let mut at = at.clone();
            at[axis] = made.place(AXES[axis], k);
            made.read(source, at, !made.whole)
        };
        if self.random.u8(..100) < 12 {
            let (first, last) = (element(Expr::int(0), self), element(Expr::int(self.block - 1), self));
            return first.infix("+", last);
        }
        let item = element(Expr::name("k"), self);
        let item = if self.ty.is_float() && self.random.u8(..100) < 60 { self.factor(axis).infix("*", item) } else { item };
        let value = self.reduce(self.block, item);
        match self.random.u8(..4) {
            0 => value.infix("+", self.read(source, at.clone(), false)),
            _ => value,
        }
    }

    /// Returns the index of element `k` of the block that contains an axis's value.
    fn place(&mut self, axis: &str, k: Expr) -> Expr {
        let (axis, block) = (Expr::name(axis), || Expr::int(self.block));
        match self.random.u8(..5) {
            0 => axis.clone().infix("-", axis.infix("%", block())).infix("+", k),
            1 => axis.infix("/", block()).infix("*", block()).infix("+", Expr::int(self.block - 1)).infix("-", k),
            _ => axis.infix("/", block()).infix("*", block()).infix("+", k),
        }
    }

    fn read(&mut self, tensor: &str, index: Vec<Expr>, open: bool) -> Expr {
        let outside = match self.random.u8(..2) {
            _ if !open => Outside::Never,
            0 => Outside::Clamp,
            _ => Outside::Pad(if self.ty.is_float() { "0.5" } else { "7" }.into()),
        };
        Expr::new(ExprKind::Read { tensor: tensor.into(), outside, index }, self.ty)
    }

    /// Returns the weight of an element of the block, by the place in the block of the computed element.
    fn factor(&mut self, axis: usize) -> Expr {
        let name = format!("t{}", self.tables.len());
        let mut row =
            || (0..self.block).map(|_| self.random.choice(["1.0", "-0.5", "0.25", "0.75"]).unwrap_or("1.0").to_owned()).collect();
        let rows = (0..self.block).map(|_| row()).collect();
        self.tables.push(Table { name: name.clone(), ty: self.ty, rows });
        let index = vec![Expr::name(AXES[axis]).infix("%", Expr::int(self.block)), Expr::name("k")];
        Expr::new(ExprKind::Read { tensor: name, outside: Outside::Never, index }, self.ty)
    }

    fn reduce(&mut self, count: i64, item: Expr) -> Expr {
        let op = self.random.choice(["sum", "sum", "sum", "max", "min"]).unwrap_or("sum");
        let range = Range { axis: "k".into(), low: Expr::int(0), high: Expr::int(count), inclusive: false };
        item.reduced(op, vec![range], self.ty)
    }

    fn literal(&self, digits: &str) -> Expr {
        let text = if self.ty.is_float() { format!("{digits}.0") } else { digits.to_owned() };
        Expr::literal(text, self.ty)
    }
}
