//! Functions that consist of several instructions, and bit functions, in kernels.

use crate::harness::{Fill, instructions, profiles, variant};

/// Schedules with vectors of four, of one axis and of two.
const LANES: &str = "tile(i: 64) => workgroup(x); tile(i: 4) => thread(x); vectorize(i, 4, unaligned: scalar);";
const ROWS: &str = "distribute(i => workgroup(y)); tile(j: 16) => workgroup(x); tile(j: 4) => thread(x);
    vectorize(j, 4, unaligned: scalar);";

const BITS: &str = "fn bits<N>(a: u32[N], b: i32[N], n: u32[N]) -> (ones: u32[N], above: u32[N], below: i32[N], left: u32[N],
        right: i32[N], by: u32[N]) {
    ones[i] = a[i].count_ones() + b[i].count_ones();
    above[i] = a[i].leading_zeros() * 100 + (b[i] - b[i]).leading_zeros();
    below[i] = b[i].trailing_zeros() as i32 + (a[i] & 0).trailing_zeros() as i32;
    left[i] = a[i].rotate_left(n[i]) ^ a[i].rotate_left(7) ^ a[i].rotate_left(64);
    right[i] = b[i].rotate_right(n[i]) + b[i].rotate_right(33);
    by[i] = i.rotate_left(31) as u32 ^ n[i].rotate_right(a[i]);
}";

#[test]
fn functions_of_bits() {
    for profile in profiles() {
        for body in ["", &format!("ones, above, below, left, right, by {{ {LANES} }}")] {
            let variant = variant(BITS, &format!("V: bits for p {{ {body} }}"), &profile);
            for n in [0, 4, 1000] {
                variant.check_filled(&[("N", n)], &[], &|_| Fill::Wild);
            }
        }
    }
}

#[test]
fn high_halves_of_products() {
    let kernel = "fn high<N>(a: u32[N], b: u32[N], c: i32[N], d: i32[N]) -> (u: u32[N], s: i32[N], axis: i32[N]) {
        u[i] = a[i].mul_hi(b[i]) ^ a[i].mul_hi(3);
        s[i] = c[i].mul_hi(d[i]) + c[i].mul_hi(-1) + i32::MIN.mul_hi(d[i]);
        axis[i] = (i * 65536).mul_hi(i * 65536 - 7) + (i * 65536 * 65536).mul_hi(c[i]);
    }";
    for profile in profiles() {
        let variant = variant(kernel, "V: high for p {}", &profile);
        variant.check_filled(&[("N", 1000)], &[], &|_| Fill::Wild);
    }
}

/// Bit counts are between 0 and 32, so that an index needs no clamp at 0.
#[test]
fn counts_of_bits_as_indices() {
    let kernel = "fn table<N>(x: u32[N], t: f32[33], u: f32[32]) -> (y: f32[N], z: f32[N]) {
        y[i] = t.clamp()[x[i].count_ones() as i32];
        z[i] = u.pad(-1.0)[x[i].leading_zeros() as i32];
    }";
    for profile in profiles() {
        variant(kernel, "V: table for p {}", &profile).check_filled(&[("N", 500)], &[], &|_| Fill::Wild);
    }
}

#[test]
fn the_error_function() {
    let kernel = "fn erf<T: f32 | f16, N, M>(x: T[N, M]) -> (y: T[N, M], gelu: T[N, M], all: T[N]) {
        y[i, j] = (x[i, j] * 4.0).erf();
        gelu[i, j] = 0.5 * x[i, j] * (1.0 + (x[i, j] * 0.707).erf());
        all[i] = sum(j in 0..M) { x[i, j].erf() };
    }";
    for profile in profiles() {
        for dtype in ["f32", "f16"] {
            for body in ["", &format!("y, gelu {{ {ROWS} }}")] {
                let variant = variant(kernel, &format!("V: erf<T = {dtype}> for p {{ {body} }}"), &profile);
                variant.check(&[("N", 13), ("M", 31)], &[]);
                variant.check_partly(&[("N", 40), ("M", 17)], &[], &|_| Fill::Wild, |n| n);
            }
        }
    }
}

/// Operands of every size, from the smallest to those whose result is 1. Each element is judged, because all have a bound.
#[test]
fn the_error_function_of_many() {
    let kernel = "fn many<N>(by: f32) -> y: f32[N] { y[i] = ((i - N / 2) as f32 * by).erf(); }";
    let kernel = kernel.replace("<N>(by", "<N>(x: f32[N], by");
    for profile in profiles() {
        let variant = variant(&kernel, "V: many for p {}", &profile);
        for by in [1e-7, 1.0 / 3000.0, 1.0 / 4096.0, 1e-3, 1e30] {
            variant.check(&[("N", 10_001)], &[by]);
        }
    }
}

#[test]
fn products_with_sums() {
    let kernel = "fn fused<T: f32 | f16, N, M>(x: T[N, M], w: T[M], c: T) -> (y: T[N, M], z: T[N], m: T[N]) {
        y[i, j] = x[i, j].mul_add(w[j], c);
        z[i] = sum(j in 0..M) { x[i, j].mul_add(2.0, w[j]) };
        m[i] = max(j in 0..M) { x[i, j].mul_add(x[i, j], -w[j]) };
    }";
    for profile in profiles() {
        for dtype in ["f32", "f16"] {
            for body in ["", &format!("y {{ {ROWS} }}")] {
                let variant = variant(kernel, &format!("V: fused<T = {dtype}> for p {{ {body} }}"), &profile);
                variant.check(&[("N", 9), ("M", 22)], &[0.75]);
            }
        }
    }
}

/// In f32, `mul_add` is one instruction, while a product and a sum are two.
#[test]
fn a_product_with_a_sum_is_one_instruction() {
    let of = |body: &str| {
        let kernel = format!("fn k<N>(x: f32[N], y: f32[N]) -> z: f32[N] {{ z[i] = {body}; }}");
        let program = variant(&kernel, "V: k for p { distribute(i => workgroup(x)); }", &profiles()[0]).program;
        let fma = spirv::GlslStd450Op::Fma as u32;
        let all = instructions(&program.dispatches[0].spirv);
        all.iter().filter(|(op, words)| *op == spirv::Op::ExtInst as u32 && words[3] == fma).count()
    };
    assert_eq!((of("x[i].mul_add(y[i], 3.0)"), of("x[i] * y[i] + 3.0")), (1, 0));
}

/// Threefry-2x32-20 (Salmon and others, *Parallel random numbers: as easy as 1, 2, 3*, SC'11): each round uses the previous one
/// three times, so the compiler must not walk expressions as trees.
#[test]
fn many_rounds_of_rotations() {
    const BY: [u32; 8] = [13, 15, 26, 6, 17, 29, 16, 24];
    let mut lets = "let k2 = 466688986 ^ k0 ^ k1; let a = x[i] + k0; let b = k1 + i as u32;".to_owned();
    for round in 0..20 {
        let by = BY[round % 8];
        let (a, b, c, d) = match round {
            0 => ("a".into(), "b".into(), "a0".to_owned(), "b0".to_owned()),
            n => (format!("a{}", n - 1), format!("b{}", n - 1), format!("a{n}"), format!("b{n}")),
        };
        let (first, second) = match (round + 1) % 4 {
            0 => (format!(" + k{}", round.div_ceil(4) % 3), format!(" + k{} + {}", (round.div_ceil(4) + 1) % 3, round.div_ceil(4))),
            _ => Default::default(),
        };
        lets +=
            &format!("let s{round} = {a} + {b}; let {d} = ({b}.rotate_left({by}) ^ s{round}){second}; let {c} = s{round}{first};");
    }
    let kernel = format!("fn threefry<N>(x: u32[N], k0: u32, k1: u32) -> y: u32[N] {{ y[i] = {{ {lets} a19 ^ b19 }}; }}");
    let plain = |x: u32, i: u32, k: [u32; 2]| {
        let keys = [k[0], k[1], 0x1BD1_1BDA ^ k[0] ^ k[1]];
        let (mut a, mut b) = (x.wrapping_add(keys[0]), i.wrapping_add(keys[1]));
        for round in 0..20 {
            a = a.wrapping_add(b);
            b = b.rotate_left(BY[round % 8]) ^ a;
            if round % 4 == 3 {
                let step = round / 4 + 1;
                a = a.wrapping_add(keys[step % 3]);
                b = b.wrapping_add(keys[(step + 1) % 3]).wrapping_add(step as u32);
            }
        }
        [a, b]
    };
    assert_eq!(plain(0, 0, [0, 0]), [0x6b20_0159, 0x99ba_4efe], "the known answer of Random123");
    let variant =
        variant(&kernel, "V: threefry for p { tile(i: 32) => workgroup(x); distribute(i => thread(x)); }", &profiles()[0]);
    for (given, made) in variant.results(&[("N", 100)], &[7.0, 4_294_967_295.0], &|_| Fill::Wild) {
        let wanted = given["x"].iter().zip(0..).map(|(x, i)| {
            let [a, b] = plain(*x as u32, i, [7, u32::MAX]);
            f64::from(a ^ b)
        });
        assert_eq!(made["y"], wanted.collect::<Vec<_>>());
    }
}
