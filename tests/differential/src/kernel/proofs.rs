//! Kernels whose indices are hard to prove: tensors of eight dimensions, chains and pyramids of clamped and padded stages, offsets and
//! places from tables, and scalars in indices.

use super::skeleton::Generated;
use super::tree::{
    Argument, ArgumentKind, Expr, ExprKind, Generic, GenericKind, INDEX, Kernel, Outside, Range, Role, Stage, Table, Type,
};
use fastrand::Rng;
use tilewright_launch::DType;

const F32: Type = Type::Is(DType::F32);

/// Generates a kernel of this kind.
pub(super) fn generate(random: &mut Rng) -> Generated {
    let ty = if random.bool() { F32 } else { INDEX };
    let empty = Kernel {
        generics: Vec::new(),
        arguments: Vec::new(),
        facts: Vec::new(),
        functions: Vec::new(),
        tables: Vec::new(),
        stages: Vec::new(),
    };
    let mut made = Proofs { ty, kernel: empty, random };
    match made.random.u8(..10) {
        0..2 => made.many_dims(),
        2..6 => made.chain(),
        6..8 => made.offsets(),
        _ => made.scalars(),
    }
    Generated { kernel: made.kernel, fills: Vec::new() }
}

/// A kernel in the making.
struct Proofs<'r> {
    ty: Type,
    kernel: Kernel,
    random: &'r mut Rng,
}

impl Proofs<'_> {
    fn dim(&mut self, name: &str) -> Expr {
        self.kernel.generics.push(Generic { name: name.to_owned(), kind: GenericKind::Dim });
        Expr::name(name)
    }

    fn argument(&mut self, name: &str, ty: Type, kind: ArgumentKind) {
        self.kernel.arguments.push(Argument { name: name.to_owned(), ty, kind });
    }

    fn stage(&mut self, name: &str, axes: &[&str], shape: &[Expr], value: Expr) {
        let role = if name.starts_with('y') { Role::Output } else { Role::Intermediate };
        let axes = axes.iter().map(|axis| (*axis).to_owned()).collect();
        self.kernel.stages.push(Stage {
            name: name.to_owned(),
            role,
            ty: self.ty,
            shape: shape.to_vec(),
            axes,
            value,
            joined: false,
        });
    }

    fn read(&mut self, tensor: &str, index: Vec<Expr>, outside: Outside) -> Expr {
        Expr::new(ExprKind::Read { tensor: tensor.to_owned(), outside, index }, self.ty)
    }

    /// Picks the value out of bounds of a tensor, for reads that can be there.
    fn outside(&mut self) -> Outside {
        match self.random.u8(..3) {
            0 => Outside::Pad(if self.ty == F32 { "0.5" } else { "7" }.to_owned()),
            _ => Outside::Clamp,
        }
    }

    /// Sums a body over `k` in `0..count`.
    fn sum(&self, count: i64, body: Expr) -> Expr {
        let range = Range { axis: "k".to_owned(), low: Expr::int(0), high: Expr::int(count), inclusive: false };
        body.reduced("sum", vec![range], self.ty)
    }

    /// Generates five to eight symbolic dims, in order or transposed, longer than the input or not.
    fn many_dims(&mut self) {
        let count = self.random.usize(5..=8);
        let axes = &["a", "b", "c", "d", "e", "f", "g", "h"][..count];
        let dims: Vec<Expr> = axes.iter().map(|axis| self.dim(&axis.to_uppercase())).collect();
        let mut order: Vec<usize> = (0..count).collect();
        if self.random.bool() {
            self.random.shuffle(&mut order);
        }
        self.argument("x", self.ty, ArgumentKind::Input(order.iter().map(|n| dims[*n].clone()).collect()));
        let more = self.random.u8(..3) == 0;
        let shape: Vec<Expr> = dims.into_iter().map(|dim| if more { dim.infix("+", Expr::int(1)) } else { dim }).collect();
        let index = order.iter().map(|n| Expr::name(axes[*n])).collect();
        let outside = if more { self.outside() } else { Outside::Never };
        let value = self.read("x", index, outside);
        self.stage("y0", axes, &shape, value);
    }

    /// Generates stages that read each other out of bounds. Each is as long as the previous one, or all are twice or half as long.
    fn chain(&mut self) {
        let (count, rank) = (self.random.usize(2..=6), self.random.usize(1..=2));
        let scale = if count > 4 { 0 } else { self.random.u8(..3) };
        let (axes, dims) = (&["i", "j"][..rank], [self.dim("N"), Expr::int(5)]);
        let length = |times: u32| {
            let first = if times == 0 { dims[0].clone() } else { dims[0].clone().infix("*", Expr::int(1 << times)) };
            [first, dims[1].clone()][..rank].to_vec()
        };
        let at = |n: usize| match scale {
            0 => length(0),
            1 => length(n as u32),
            _ => length((count - n) as u32),
        };
        self.argument("x", self.ty, ArgumentKind::Input(at(0)));
        for n in 1..=count {
            let from = if n == 1 { "x".to_owned() } else { format!("s{}", n - 1) };
            let name = if n == count { "y0".to_owned() } else { format!("s{n}") };
            let outside = self.outside();
            let element = |made: &mut Self, outside: Outside| {
                let i = match scale {
                    0 => Expr::name("i"),
                    1 => Expr::name("i").infix("/", Expr::int(2)),
                    _ => Expr::name("i").infix("*", Expr::int(2)),
                };
                let mut index = vec![i, Expr::name("j")][..rank].to_vec();
                let moved = made.random.usize(..rank);
                let by = Expr::int(made.random.i64(1..=2));
                index[moved] = index[moved].clone().infix(if made.random.bool() { "+" } else { "-" }, by);
                made.read(&from, index, outside)
            };
            let (one, other) = (element(self, outside.clone()), element(self, outside));
            self.stage(&name, axes, &at(n), one.infix("-", other));
        }
    }

    /// Generates a stencil whose offsets or places are read from a table.
    fn offsets(&mut self) {
        let (rank, count) = (self.random.usize(1..=2), self.random.usize(2..=4));
        let dims = [self.dim("N"), self.dim("M")][..rank].to_vec();
        if rank == 1 {
            self.kernel.generics.truncate(1);
        }
        self.argument("x", self.ty, ArgumentKind::Input(dims.clone()));
        let unsigned = self.random.u8(..4) == 0;
        let least = if unsigned { 0 } else { -2 };
        let rows = (0..count).map(|_| (0..2).map(|_| self.random.i64(least..=3).to_string()).collect()).collect();
        let ty = if unsigned { Type::Is(DType::U32) } else { INDEX };
        self.kernel.tables.push(Table { name: "t0".into(), ty, rows });
        let chosen = (0..count).map(|_| self.random.usize(..count).to_string()).collect();
        self.kernel.tables.push(Table { name: "t1".into(), ty: INDEX, rows: vec![chosen] });
        let read = |tensor: &str, ty: Type, index: Vec<Expr>| {
            Expr::new(ExprKind::Read { tensor: tensor.to_owned(), outside: Outside::Never, index }, ty)
        };
        let row = match self.random.u8(..3) {
            0 => read("t1", INDEX, vec![Expr::int(0), Expr::name("k")]),
            _ => Expr::name("k"),
        };
        let index = (0..rank as i64).map(|column| {
            let offset = read("t0", ty, vec![row.clone(), Expr::int(column)]);
            let offset = if unsigned { offset.cast(INDEX) } else { offset };
            Expr::name(["i", "j"][column as usize]).infix("+", offset)
        });
        let (index, outside) = (index.collect(), self.outside());
        let body = self.read("x", index, outside.clone());
        let value = self.sum(count as i64, body);
        let axes = &["i", "j"][..rank];
        if self.random.bool() {
            self.stage("s0", axes, &dims, value);
            let index = axes.iter().map(|axis| Expr::name(*axis).infix("-", Expr::int(1))).collect();
            let value = self.read("s0", index, outside);
            self.stage("y0", axes, &dims, value);
        } else {
            self.stage("y0", axes, &dims, value);
        }
    }

    /// Generates scalars in indices of a tensor or of a stage that is copied.
    fn scalars(&mut self) {
        let dims = [self.dim("N")];
        self.argument("x", self.ty, ArgumentKind::Input(dims.to_vec()));
        let unsigned = self.random.bool();
        let ty = if unsigned { Type::Is(DType::U32) } else { INDEX };
        self.argument("p", ty, ArgumentKind::Scalar);
        let by = Expr::new(ExprKind::Name("p".into()), ty);
        let by = if unsigned { by.cast(INDEX) } else { by };
        let at = |name: Expr, made: &mut Self| {
            name.infix("+", Expr::name("k")).infix(if made.random.bool() { "+" } else { "-" }, by.clone())
        };
        let from = if self.random.bool() {
            let two = Expr::literal(if self.ty == F32 { "2.0" } else { "2" }, self.ty);
            let value = self.read("x", vec![Expr::name("i")], Outside::Never).infix("*", two);
            self.stage("s0", &["i"], &dims, value);
            "s0"
        } else {
            "x"
        };
        let (index, outside) = (at(Expr::name("i"), self), self.outside());
        let body = self.read(from, vec![index], outside);
        let value = self.sum(3, body);
        self.stage("y0", &["i"], &dims, value);
    }
}
