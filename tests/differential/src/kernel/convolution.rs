//! Convolutions in any layout, for `decompose_im2col`, and for `decompose_winograd` if their stride and dilation are 1 and their
//! windows have 3 or 5 taps. The axes of their windows are `i` and `j` in the result and `r` and `s` in the sum, and schedules
//! recognize them by these names.

use super::skeleton::Generated;
use super::tree::{Argument, ArgumentKind, Expr, ExprKind, Generic, GenericKind, Kernel, Outside, Range, Role, Stage, Type};
use fastrand::Rng;
use tilewright_launch::DType;

/// The axes of windows: in the result, in the sum, and the dims.
pub(crate) const WINDOWS: [(&str, &str, &str); 2] = [("i", "r", "H"), ("j", "s", "W")];

/// Generates a convolution.
pub(super) fn generate(random: &mut Rng) -> Generated {
    let count = if random.u8(..4) == 0 { 1 } else { 2 };
    let dense = random.u8(..100) < 60;
    let windows: Vec<Window> = WINDOWS.into_iter().take(count).map(|names| Window::new(names, dense, random)).collect();
    let mut generics: Vec<Generic> = Vec::new();
    let mut dim = |name: &str| {
        generics.push(Generic { name: name.to_owned(), kind: GenericKind::Dim });
        Expr::name(name)
    };
    windows.iter().for_each(|w| drop(dim(w.names.2)));
    // Axes of batches, groups, channels and results, and their dims.
    let [batch, group, channel, result] = [("b", "N", 40), ("e", "G", 20), ("c", "C", 90), ("k", "K", 85)]
        .map(|(axis, name, percent)| (random.u8(..100) < percent).then(|| (axis, dim(name))));
    let plain = |axis: &Option<(&'static str, Expr)>| axis.clone().map(|(axis, dim)| (Expr::name(axis), dim));
    let items = random.choice([F32, F32, F16, Type::Generic]).unwrap_or(F32);
    if items == Type::Generic {
        generics.insert(0, Generic { name: "T".into(), kind: GenericKind::Dtype(vec![DType::F32, DType::F16]) });
    }
    let sum = if items == F32 || random.u8(..3) == 0 { items } else { F32 };
    let tensor = |name: &str, outside: Outside, mut dims: Vec<(Expr, Expr)>, random: &mut Rng| {
        random.shuffle(&mut dims);
        let (index, shape) = dims.into_iter().unzip();
        let read = Expr::new(ExprKind::Read { tensor: name.to_owned(), outside, index }, items);
        (
            Argument { name: name.to_owned(), ty: items, kind: ArgumentKind::Input(shape) },
            if sum == items { read } else { read.cast(sum) },
        )
    };
    let padded = windows.iter().any(|w| w.padded);
    let slid = windows.iter().map(Window::input).chain([&batch, &group, &channel].into_iter().filter_map(plain)).collect();
    let outside = if padded { Outside::Pad(random.choice(["0.0", "0.5"]).unwrap_or("0.0").to_owned()) } else { Outside::Never };
    let (input, x) = tensor("x", outside, slid, random);
    let taps = windows.iter().map(|w| (Expr::name(w.names.1), Expr::int(w.taps)));
    let weights = taps.chain([&group, &channel, &result].into_iter().filter_map(plain)).collect();
    let (filter, w) = tensor("w", Outside::Never, weights, random);
    let x = if random.u8(..5) == 0 { x.method("abs", []) } else { x };
    let body = if random.bool() { x.infix("*", w) } else { w.infix("*", x) };
    let range = |axis: &str, high: Expr| Range { axis: axis.to_owned(), low: Expr::int(0), high, inclusive: false };
    let mut ranges: Vec<Range> = windows.iter().map(|w| range(w.names.1, Expr::int(w.taps))).collect();
    ranges.extend(channel.into_iter().map(|(axis, dim)| range(axis, dim)));
    random.shuffle(&mut ranges);
    let value = body.reduced("sum", ranges, sum);
    let value = if random.u8(..3) == 0 { value.infix("*", Expr::literal("0.5", sum)) } else { value };
    let mut dims: Vec<(String, Expr)> = windows.iter().map(|w| (w.names.0.to_owned(), Expr::name(w.names.2))).collect();
    dims.extend([batch, group, result].into_iter().flatten().map(|(axis, dim)| (axis.to_owned(), dim)));
    random.shuffle(&mut dims);
    let (axes, shape): (Vec<String>, Vec<Expr>) = dims.into_iter().unzip();
    let mut stages = vec![Stage { name: "y0".into(), role: Role::Output, ty: sum, shape, axes, value, joined: false }];
    if random.u8(..4) == 0 {
        // A stage that reads the result.
        let mut last = stages[0].clone();
        let index = last.axes.iter().map(Expr::name).collect();
        last.value = Expr::new(ExprKind::Read { tensor: "s0".into(), outside: Outside::Never, index }, sum)
            .method("max", [Expr::literal("0.0", sum)]);
        stages[0] = Stage { name: "s0".into(), role: Role::Intermediate, ..stages[0].clone() };
        stages.push(last);
    }
    let kernel =
        Kernel { generics, arguments: vec![input, filter], facts: Vec::new(), functions: Vec::new(), tables: Vec::new(), stages };
    Generated { kernel, fills: Vec::new() }
}

const F32: Type = Type::Is(DType::F32);
const F16: Type = Type::Is(DType::F16);

struct Window {
    names: (&'static str, &'static str, &'static str),
    taps: i64,
    stride: i64,
    dilation: i64,
    padded: bool,
}

impl Window {
    /// Generates a window. A dense window has adjacent elements, and a number of taps that Winograd's algorithm takes.
    fn new(names: (&'static str, &'static str, &'static str), dense: bool, random: &mut Rng) -> Window {
        let mut of =
            |dense_ones: &[i64], others: &[i64]| random.choice(if dense { dense_ones } else { others }).copied().unwrap_or(3);
        let (taps, stride, dilation) = (of(&[3, 3, 3, 5], &[1, 2, 3, 3, 4, 5]), of(&[1], &[1, 2, 2, 3]), of(&[1], &[1, 1, 2, 3]));
        Window { names, taps, stride, dilation, padded: random.bool() }
    }

    /// Returns the index of the input, and its extent.
    fn input(&self) -> (Expr, Expr) {
        let (axis, tap, dim) = self.names;
        let times = |name: &str, by: i64| if by == 1 { Expr::name(name) } else { Expr::name(name).infix("*", Expr::int(by)) };
        let (at, extent) = (times(axis, self.stride).infix("+", times(tap, self.dilation)), times(dim, self.stride));
        let reach = (self.taps - 1) * self.dilation;
        if self.padded {
            return (at.infix("-", Expr::int(reach / 2)), extent);
        }
        // If windows do not meet, the input includes the elements between them.
        match reach + 1 - self.stride {
            more @ 1.. => (at, extent.infix("+", Expr::int(more))),
            _ => (at, extent),
        }
    }
}
