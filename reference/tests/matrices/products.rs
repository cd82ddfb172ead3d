//! Computes `d = a * b + c` with several shapes, types, layouts and strides, and compares with a plain product in f64
//! or in exact integers.

use crate::support::{AVAILABLE, BARRIER, Run, Tensor, VISIBLE, matrix, size_of};
use fastrand::Rng;
use half::{bf16, f16};

/// The layout of a matrix in its tensor.
#[derive(Clone, Copy, Debug)]
struct MatrixLayout {
    by_column: bool,
    /// The type that the pointer points to.
    pointee: &'static str,
    /// The number of components from a row (or column) to the next, and before the first.
    stride: usize,
    start: usize,
}

/// A product: the numbers of rows, columns and depth, and the types of `a`, `b`, `c` and of the result.
#[derive(Clone, Debug)]
struct Product {
    shape: [usize; 3],
    types: [&'static str; 4],
    places: [MatrixLayout; 4],
    operands: &'static str,
    subgroup: u32,
    /// True if `a` and `b` are passed through shared memory.
    shared: bool,
}

/// Converts a component from its bytes, and back.
fn value(ty: &str, bytes: &[u8]) -> f64 {
    let two = || [bytes[0], bytes[1]];
    let four = || [bytes[0], bytes[1], bytes[2], bytes[3]];
    match ty {
        "schar" => (bytes[0] as i8).into(),
        "uchar" => bytes[0].into(),
        "half" => f16::from_le_bytes(two()).to_f64(),
        "bfloat" => bf16::from_le_bytes(two()).to_f64(),
        "float" => f32::from_le_bytes(four()).into(),
        "int" => i32::from_le_bytes(four()).into(),
        _ => u32::from_le_bytes(four()).into(),
    }
}

fn bytes(ty: &str, value: f64) -> Vec<u8> {
    match ty {
        "schar" => vec![value as i8 as u8],
        "uchar" => vec![value as u8],
        "half" => f16::from_f64(value).to_le_bytes().to_vec(),
        "bfloat" => bf16::from_f64(value).to_le_bytes().to_vec(),
        "float" => (value as f32).to_le_bytes().to_vec(),
        "int" => (value as i32).to_le_bytes().to_vec(),
        _ => (value as u32).to_le_bytes().to_vec(),
    }
}

fn is_signed(ty: &str) -> bool {
    !ty.starts_with('u')
}

impl Product {
    /// Returns a product whose rows follow each other as closely as alignment allows.
    fn new(shape: [usize; 3], types: [&'static str; 4]) -> Product {
        let [_, n, k] = shape;
        let place = |at: usize, row: usize| {
            let least = 16 / size_of(types[at]);
            let stride = if row < least { row } else { row.next_multiple_of(least) };
            MatrixLayout { by_column: false, pointee: types[at], stride, start: 0 }
        };
        let places = [place(0, k), place(1, n), place(2, n), place(3, n)];
        let integers = types[0].ends_with("char") || types[0].ends_with("int");
        let operands = match (integers, is_signed(types[0]), is_signed(types[1])) {
            (false, ..) => "None",
            (_, true, true) => "MatrixASigned|MatrixBSigned|MatrixCSigned|MatrixResultSigned",
            (_, true, false) => "MatrixASigned|MatrixCSigned|MatrixResultSigned",
            (_, false, true) => "MatrixBSigned|MatrixCSigned|MatrixResultSigned",
            (_, false, false) => "None",
        };
        Product { shape, types, places, operands, subgroup: 8, shared: false }
    }

    /// Sets the layout of a matrix: by column or not, the type that is pointed to, the padding of a row, and the start.
    fn at(mut self, n: usize, by_column: bool, pointee: &'static str, more: usize, start: usize) -> Product {
        let (rows, columns) = self.extents(n);
        let stride = if by_column { rows } else { columns } + more;
        self.places[n] = MatrixLayout { by_column, pointee, stride, start };
        self
    }

    /// Returns the numbers of rows and columns of a matrix.
    fn extents(&self, n: usize) -> (usize, usize) {
        let [m, columns, k] = self.shape;
        [(m, k), (k, columns), (m, columns), (m, columns)][n]
    }

    /// Returns the index of an element in components.
    fn index(&self, n: usize, row: usize, column: usize) -> usize {
        let place = self.places[n];
        place.start + if place.by_column { column * place.stride + row } else { row * place.stride + column }
    }

    /// Returns a tensor that holds a matrix.
    fn tensor(&self, n: usize, values: &[f64]) -> Tensor {
        let (rows, columns) = self.extents(n);
        let size = size_of(self.types[n]);
        let whole = (self.index(n, rows - 1, columns - 1) + 1) * size;
        let whole = whole.next_multiple_of(size_of(self.places[n].pointee));
        let mut all = vec![0; whole];
        for row in 0..rows {
            for column in 0..columns {
                let at = self.index(n, row, column) * size;
                all[at..at + size].copy_from_slice(&bytes(self.types[n], values[row * columns + column]));
            }
        }
        if n == 3 { Tensor::empty(self.places[n].pointee, whole) } else { Tensor::new(self.places[n].pointee, all) }
    }

    /// Returns the pointer, layout and stride of a matrix, as operands.
    fn operands(&self, n: usize) -> (String, String) {
        let (name, place) = (["a", "b", "c", "d"][n], self.places[n]);
        let per = |components: usize| components * size_of(self.types[n]) / size_of(place.pointee);
        let chain = format!("%at_{name} = OpAccessChain %p_{name} %{name} %u0 %u{}\n", per(place.start));
        (chain, format!("%u{} %u{}", u32::from(place.by_column), per(place.stride)))
    }

    fn body(&self) -> String {
        let mut body = String::new();
        for (n, name) in ["a", "b", "c"].iter().enumerate() {
            let (chain, operands) = self.operands(n);
            body += &format!("{chain}%m{name} = OpCooperativeMatrixLoadKHR %M{name} %at_{name} {operands}\n");
            if self.shared && n < 2 {
                // The matrix is stored in shared memory and loaded again, transposed both times.
                let (rows, columns) = self.extents(n);
                let (turned, stride) = if self.places[n].by_column { (0, columns) } else { (1, rows) };
                let stride = stride * size_of(self.types[n]) / size_of(self.types[0]).max(1);
                body += &format!(
                    "%s{name} = OpAccessChain %p_tile %tile %u{at}\n\
                     OpCooperativeMatrixStoreKHR %s{name} %m{name} %u{turned} %u{stride} {AVAILABLE}\n{BARRIER}\
                     %t{name} = OpCooperativeMatrixLoadKHR %M{name} %s{name} %u{turned} %u{stride} {VISIBLE}\n",
                    at = 512 * n
                );
            } else {
                body += &format!("%t{name} = OpCopyObject %M{name} %m{name}\n");
            }
        }
        let (chain, operands) = self.operands(3);
        let signs = self.operands;
        body + &format!(
            "%product = OpCooperativeMatrixMulAddKHR %Md %ta %tb %tc {signs}\n{chain}\
             OpCooperativeMatrixStoreKHR %at_d %product {operands}\n"
        )
    }

    /// Runs the product, and returns the elements of `d`.
    fn run(&self, values: [&[f64]; 3]) -> Vec<f64> {
        let [m, n, k] = self.shape.map(|n| n as u32);
        let types = [matrix("Ma", self.types[0], m, k, 0), matrix("Mb", self.types[1], k, n, 1)].concat();
        let accumulators = match self.types[2] == self.types[3] {
            // Each type is declared only once.
            true => matrix("Md", self.types[3], m, n, 2),
            false => [matrix("Mc", self.types[2], m, n, 2), matrix("Md", self.types[3], m, n, 2)].concat(),
        };
        let body = if self.types[2] == self.types[3] { self.body().replace("%Mc", "%Md") } else { self.body() };
        let [a, b, c] = values;
        let run = Run {
            local: self.subgroup,
            subgroup: self.subgroup,
            tensors: [self.tensor(0, a), self.tensor(1, b), self.tensor(2, c), self.tensor(3, &vec![0.0; c.len()])],
            tile: self.types[0],
            types: types + &accumulators,
            ..Run::new()
        };
        let all = run.bytes(&body);
        let size = size_of(self.types[3]);
        let element = |at: usize| {
            let at = self.index(3, at / self.shape[1], at % self.shape[1]) * size;
            value(self.types[3], &all[at..at + size])
        };
        (0..c.len()).map(element).collect()
    }

    /// Returns values that a type represents exactly: small multiples of 1/16, or of 1.
    fn values(&self, n: usize, rng: &mut Rng) -> Vec<f64> {
        let (rows, columns) = self.extents(n);
        let ty = self.types[n];
        let one = |rng: &mut Rng| match ty {
            "schar" => f64::from(rng.i8(..)),
            "uchar" => f64::from(rng.u8(..)),
            "int" => f64::from(rng.i32(-100_000..100_000)),
            "uint" => f64::from(rng.u32(..100_000)),
            _ => f64::from(rng.i32(-64..=64)) / 16.0,
        };
        (0..rows * columns).map(|_| one(rng)).collect()
    }

    /// Runs the product with random values, and checks the result. All sums are exact in the result's type.
    fn check(&self, seed: u64) {
        let mut rng = Rng::with_seed(seed);
        let [a, b, c] = [0, 1, 2].map(|n| self.values(n, &mut rng));
        let [_, n, k] = self.shape;
        let wanted = |(at, c): (usize, &f64)| {
            let sum: f64 = (0..k).map(|d| a[at / n * k + d] * b[d * n + at % n]).sum();
            // The sum is exact in f64. It is then converted to the result's type, in which integers wrap.
            let sum = if self.types[3].ends_with("int") { (c + sum).rem_euclid(4_294_967_296.0) } else { c + sum };
            let sum = if self.types[3] == "int" { f64::from(sum as u32 as i32) } else { sum };
            value(self.types[3], &bytes(self.types[3], sum))
        };
        let wanted: Vec<f64> = c.iter().enumerate().map(wanted).collect();
        assert_eq!(self.run([&a, &b, &c]), wanted, "{self:?}");
    }
}

/// Rows, columns and depth.
const SHAPES: [[usize; 3]; 5] = [[8, 8, 8], [16, 16, 16], [16, 8, 16], [8, 16, 16], [4, 12, 20]];

#[test]
fn of_floats_at_several_shapes_and_subgroups() {
    for (seed, shape) in (0..).zip(SHAPES) {
        for subgroup in [1, 4, 8, 32, 128] {
            for types in [["half", "half", "float", "float"], ["float"; 4], ["bfloat", "bfloat", "float", "float"]] {
                Product { subgroup, ..Product::new(shape, types) }.check(seed);
            }
        }
    }
}

#[test]
fn of_integers() {
    let integers = [
        ["schar", "schar", "int", "int"],
        ["uchar", "uchar", "uint", "uint"],
        ["schar", "uchar", "int", "int"],
        ["uchar", "schar", "int", "int"],
        ["uint"; 4],
    ];
    for (seed, types) in (10..).zip(integers) {
        for shape in SHAPES {
            Product::new(shape, types).check(seed);
        }
    }
}

#[test]
fn in_both_layouts_with_padding_and_an_offset() {
    let types = ["half", "half", "float", "float"];
    for layouts in 0..16u64 {
        let by_column = |n: usize| layouts >> n & 1 == 1;
        let product = Product::new([16, 8, 16], types)
            .at(0, by_column(0), "half", 8, 16)
            .at(1, by_column(1), "half", 24, 8)
            .at(2, by_column(2), "float", 4, 12)
            .at(3, by_column(3), "float", 8, 4);
        product.check(layouts);
        Product { shared: true, ..product }.check(layouts);
    }
}

#[test]
fn by_pointers_to_vectors_and_to_other_scalars() {
    for (seed, pointee) in (30..).zip(["half", "half4", "uint", "uint4", "float4"]) {
        let product = Product::new([8, 16, 16], ["half", "half", "float", "float"])
            .at(0, false, pointee, 8, 16)
            .at(1, true, pointee, 16, 8)
            .at(2, false, "float4", 4, 4)
            .at(3, true, "uint4", 8, 8);
        product.check(seed);
    }
    Product::new([8, 8, 32], ["schar", "schar", "int", "int"]).at(0, false, "uint", 16, 16).at(1, true, "uint4", 32, 0).check(40);
    // A matrix of floats is accessed by a pointer to halves.
    Product::new([8, 8, 8], ["half", "half", "float", "float"]).at(2, false, "half4", 4, 8).at(3, false, "half", 4, 4).check(41);
}

/// Checks products in which all matrices have a 16-bit float type. `bits` is the precision of that type.
fn check_rounding(ty: &'static str, round: fn(f32) -> f32, bits: i32) {
    let mut rng = Rng::with_seed(50);
    for shape in SHAPES {
        let product = Product::new(shape, [ty; 4]);
        let [m, n, k] = shape;
        let mut numbers = |count: usize| -> Vec<f64> { (0..count).map(|_| round(rng.f32() * 2.0 - 1.0).into()).collect() };
        let (a, b, c) = (numbers(m * k), numbers(k * n), numbers(m * n));
        let got = product.run([&a, &b, &c]);
        for (at, got) in got.iter().enumerate() {
            let terms = |d: usize| a[at / n * k + d] * b[d * n + at % n];
            let exact: f64 = c[at] + (0..k).map(terms).sum::<f64>();
            let size: f64 = c[at].abs() + (0..k).map(|d| terms(d).abs()).sum::<f64>();
            assert!((got - exact).abs() <= size * (k + 1) as f64 * 0.5f64.powi(bits), "{got} {exact} {shape:?}");
            let stepwise = (0..k).fold(c[at] as f32, |sum, d| round(sum + terms(d) as f32));
            assert_eq!(*got as f32, stepwise);
        }
    }
}

#[test]
fn sums_of_16_bits_are_rounded_each() {
    check_rounding("half", |x| f16::from_f32(x).to_f32(), 11);
    check_rounding("bfloat", |x| bf16::from_f32(x).to_f32(), 8);
}

#[test]
fn sums_in_floats_are_rounded_each() {
    let (k, big) = (8, f64::from(1 << 24));
    let product = Product::new([1, 1, k], ["half", "half", "float", "float"]);
    // 2^24 + 1 - 2^24, in this order, so that the 1 is lost.
    let (mut a, mut b) = (vec![0.0; k], vec![0.0; k]);
    (a[0], b[0], a[1], b[1]) = (1.0, 1.0, -4096.0, 4096.0);
    assert_eq!(product.run([&a, &b, &[big]]), [0.0]);
}

#[test]
fn integers_wrap_or_saturate() {
    let product = Product::new([1, 4, 4], ["uchar", "uchar", "uint", "uint"]);
    let (a, b) = (vec![255.0; 4], vec![255.0; 16]);
    let most = f64::from(u32::MAX);
    let c = [most, most - 260_100.0, most - 260_101.0, 0.0];
    assert_eq!(product.run([&a, &b, &c]), [260_099.0, most, most - 1.0, 260_100.0]);
    let saturating = Product { operands: "SaturatingAccumulation", ..product };
    assert_eq!(saturating.run([&a, &b, &c]), [most, most, most - 1.0, 260_100.0]);
    let signed = Product::new([1, 2, 4], ["schar", "schar", "int", "int"]);
    let all = "MatrixASigned|MatrixBSigned|MatrixCSigned|MatrixResultSigned|SaturatingAccumulation";
    let signed = Product { operands: all, ..signed };
    let b = [127.0, -128.0].repeat(4);
    let (least, most) = (f64::from(i32::MIN), f64::from(i32::MAX));
    assert_eq!(signed.run([&[-128.0; 4], &b, &[least + 1.0, most - 1.0]]), [least, most]);
}
