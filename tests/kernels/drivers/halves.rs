//! Selects of f16 values, which a driver computes wrongly (`docs/drivers.md`).

use crate::drivers::{of_each, with_controls};
use crate::harness::{Fill, profiles, variant};

/// An f16 value that a condition may select, and that is also used elsewhere: the driver computes both uses as one pair of f16
/// values, and selected the wrong one.
#[test]
fn halves_that_are_chosen_and_used() {
    let mut values = Vec::new();
    for (x, y) in [("w[]", "(n[] as f16)"), ("w[]", "z[i]"), ("z[i]", "w[]"), ("z[i]", "(n[] as f16)"), ("1.5", "w[]")] {
        for condition in ["m[] >= 1", "v[] > 0.0"] {
            for [yes, no] in [[y, x], [x, y]] {
                let choice = format!("(if {condition} {{ {yes} }} else {{ {no} }})");
                values.push(format!("((m[] as f16) + {x}) + (v[].round() - {choice} * 1.0)"));
                values.push(format!("((m[] as f16) + {x}) + (v[].round() - {choice} * w[])"));
                let wide = format!("((if {condition} {{ {yes} as f32 }} else {{ {no} as f32 }}) as f16)");
                values.push(format!("((m[] as f16) + {x}) + (v[].round() - {wide} * 1.0)"));
            }
        }
    }
    let arguments = "m: u32[], n: u32[], v: f16[], w: f16[], z: f16[N]";
    for values in values.chunks(8) {
        for profile in with_controls().into_iter().chain(profiles()) {
            let variant = variant(&of_each(arguments, "f16", values), "V: k for p {}", &profile);
            for n in [1, 70] {
                variant.check(&[("N", n)], &[]);
            }
        }
    }
}

/// These were wrong if instructions selected between hidden f16 values: by one operation in both arms, and by two.
#[test]
fn halves_that_are_chosen_in_bodies_written_out() {
    let reciprocals = "fn k<N, M>(x: f16[M], q: f16[M], z: f16[N], m: i32[M]) -> y: f16[N, M] {
        const t: f16[3, 2] = [[0.0, -1.0], [0.25, -1.0], [-0.5, 1.0]];
        let s[i]: f16[M] = ((-((if x[0] == t[i % 3, i % 2] { x[0] } else { q[i] }) * z.pad(-1.0)[m[i]])).abs() + 0.5).recip()
            / (x[0].abs() + 1.0);
        y[i, j] = z[i] + s[j];
    }";
    let rounded = "fn k<N, M>(x: f16[N, N, N], q: f32[N, M]) -> y: f16[N, N, N, N] {
        y[i, j, h, w] = ((x[h, w, i] * 4.0).round() - ((x[h, w, i] * 4.0).signum() / x.clamp()[i, j, h]))
            + (q.pad(0.0)[i, j + h - 2] as f16);
    }";
    let unrolled = "V: k for p where N >= 1 {
        tile(h: 3 peel => z1) => workgroup(z);
        distribute(i => workgroup(y));
        serial(j);
        unroll(h);
        distribute(w => workgroup(z));
    }";
    let nested = "fn k<N, M>(x: f16[N, N, M], q: f16[N, M, N]) -> y: f16[M, N, N] {
        const t: f16[1, 2] = [[0.75, 0.75]];
        y[i, j, h] = (if !(x[j / 2, h, i] >= 0.0) {
            (if (h >= i) || (h != (j + 2)) { t[h % 1, i % 2] } else { q.clamp()[j, i + 3, h] })
        } else { x[h, j, (M - 1) - i] }).clamp(0.0, 0.75);
    }";
    let pairs = "V: k for p where N == 7, M >= 3 {
        tile(h: 6, j: 5 => z1, i: 8) => workgroup(x, z, x);
        vectorize(h, 2, unaligned: scalar);
        unroll(i);
        unroll(j);
        distribute(h => thread(z));
    }";
    let serial = "V: k for p where M >= 1 { root(s); y { serial(i, j); } }";
    for profile in with_controls().into_iter().chain(profiles()) {
        for (kernel, schedule) in [(reciprocals, serial), (rounded, unrolled), (nested, pairs)] {
            let variant = variant(kernel, schedule, &profile);
            // A quotient by zero does not have an error bound.
            (0..3).for_each(|_| variant.check_partly(&[("N", 7), ("M", 3)], &[], &|_| Fill::Small, |n| n / 8));
        }
    }
}

/// The same defect for a padding that is a factor elsewhere, in two unrolled iterations.
#[test]
fn halves_that_pad_and_multiply() {
    let mut kernels = Vec::new();
    for fill in ["0.0", "1.5"] {
        for (factor, shifted) in ["1.0", "q[h]"].into_iter().flat_map(|f| [(f, true), (f, false)]) {
            let (x, y) = match shifted {
                true => (format!("x.pad({fill})[i - 1]"), format!("y.pad({fill})[j - 1, i]")),
                false => (
                    "(if i >= 1 { x.clamp()[i - 1] } else { q[0] })".into(),
                    "(if j >= 1 { y.clamp()[j - 1, i] } else { q[0] })".into(),
                ),
            };
            kernels.push(format!("s[i, j, h] = sum(k in 0..2) {{ {x}.mul_add({factor}, {y}) }};"));
        }
    }
    let schedule = "V: k for p where N == 2 { s { reorder(k, i); fuse(j, h => f); unroll(i); distribute(f => thread(y)); } }";
    for body in kernels {
        let kernel = format!("fn k<N>(x: f16[N], y: f16[N, N], q: f16[N]) -> s: f16[N, N, N] {{ {body} }}");
        for profile in profiles() {
            let variant = variant(&kernel, schedule, &profile);
            (0..3).for_each(|_| variant.check(&[("N", 2)], &[]));
        }
    }
}
