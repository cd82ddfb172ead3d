//! Packed tensors: inputs, outputs and intermediates, at sizes that the digits divide and at others.

use crate::harness::{profiles, variant};

const CONV: &str = "fn conv<T: f32 | f16, N, IC, OC, IH, IW, FH = 3, FW = 3, OH = IH - FH + 1, OW = IW - FW + 1>(
    x: T[N, IC, IH, IW], w: T[OC, IC, FH, FW], b: T[OC]
) -> y: T[N, OC, OH, OW] {
    y[n, oc, oh, ow] = b[oc] + sum(ic in 0..IC, fh in 0..FH, fw in 0..FW) { x[n, ic, oh + fh, ow + fw] * w[oc, ic, fh, fw] };
}";

const SIZES: [(i64, i64, i64, i64); 5] = [(1, 4, 8, 5), (2, 3, 5, 4), (1, 1, 1, 3), (3, 7, 13, 6), (1, 8, 4, 9)];

fn check(schedule: &str, sizes: &[(i64, i64, i64, i64)]) {
    for profile in profiles() {
        let variant = variant(CONV, schedule, &profile);
        for (n, ic, oc, size) in sizes {
            variant.check(&[("N", *n), ("IC", *ic), ("OC", *oc), ("IH", *size), ("IW", size + 1)], &[]);
        }
    }
}

#[test]
fn an_input_is_packed_at_each_launch() {
    check("V: conv<T = f32> for p { pack(w[o, c, y, x] => [o, c / 4, y, x, c % 4], when: dispatch); }", &SIZES);
    check("V: conv<T = f16> for p { pack(w[o, c, y, x] => [y, x, c, o / 8, o % 8], when: dispatch, fill: -1.5); }", &SIZES);
    check(
        "V: conv<T = f32> for p { pack(w[o, c, y, x] => [o, y, x, c], when: dispatch); w_packed { fuse(o, y, x, c => p); tile(p: 64) => workgroup(x); distribute(p => thread(x)); } }",
        &SIZES,
    );
}

#[test]
fn an_output_is_unpacked_at_each_launch() {
    check("V: conv<T = f32> for p { pack(y[n, c, h, w] => [n, c / 4, h, w, c % 4], when: dispatch, fill: 7); }", &SIZES);
}

#[test]
fn channels_in_the_innermost_place_go_wide() {
    let schedule = "V: conv<T = f32> for p {
        pack(w[o, c, y, x] => [o / 4, c, y, x, o % 4], when: dispatch);
        pack(y[n, c, h, w] => [n, c / 4, h, w, c % 4], when: dispatch);
        y_packed {
            tile(oh: 4, ow: 4) => workgroup(y, x);
            distribute(n, oc_o => workgroup(z, z));
            distribute(oh, ow => thread(y, x));
            reorder(ic, fh, fw, oc);
            vectorize(oc, 4);
        }
    }";
    check(schedule, &SIZES);
}

#[test]
fn several_digits_and_padded_reads() {
    let kernel = "fn blur<H, W>(x: f32[H, W]) -> y: f32[H, W] { y[i, j] = sum(a in 0..3, b in 0..3) { x.pad(1.0)[i + a - 1, j + b - 1] } * x.clamp()[i - 2, j + 3]; }";
    for profile in profiles() {
        for schedule in [
            "V: blur for p { pack(x[i, j] => [j / 6, i / 2, j / 2 % 3, i % 2, j % 2], when: dispatch); }",
            "V: blur for p { pack(x[i, j] => [j, i], when: dispatch); pack(y[i, j] => [j / 6, i / 2, j / 2 % 3, i % 2, j % 2], when: dispatch); }",
        ] {
            let variant = variant(kernel, schedule, &profile);
            for (h, w) in [(1, 1), (3, 7), (12, 12), (5, 37)] {
                variant.check(&[("H", h), ("W", w)], &[]);
            }
        }
    }
}

#[test]
fn an_intermediate_is_packed() {
    let kernel = "fn norm<R, C>(x: f32[R, C]) -> y: f32[R, C] {
        let d[i, j]: f32[R, C] = x[i, j] * x[i, j];
        let t[i]: f32[R] = sum(k in 0..C) { d[i, k] };
        y[i, j] = t[i] - d[i, j];
    }";
    for profile in profiles() {
        for schedule in [
            "V: norm for p { pack(d[i, j] => [j / 4, i, j % 4]); }",
            "V: norm for p { pack(t[i] => [i / 5, i % 5], fill: 3.0); pack(d[i, j] => [j, i]); }",
        ] {
            let variant = variant(kernel, schedule, &profile);
            for (r, c) in [(1, 1), (3, 7), (8, 12), (130, 5)] {
                variant.check(&[("R", r), ("C", c)], &[]);
            }
        }
    }
}

#[test]
fn the_caller_packs_and_unpacks() {
    check("V: conv<T = f32> for p { pack(w[o, c, y, x] => [o / 4, c, y, x, o % 4], when: caller, fill: 2.0); }", &SIZES);
    check("V: conv<T = f16> for p { pack(y[n, c, h, w] => [n, c / 8, h, w, c % 8], when: caller); }", &SIZES);
    let schedule = "V: conv<T = f32> for p {
        pack(x[n, c, h, w] => [n, h, w, c], when: caller);
        pack(w[o, c, y, x] => [o / 4, y, x, c, o % 4], when: caller);
        pack(y[n, c, h, w] => [n, h, w, c / 4, c % 4], when: caller);
        tile(oh: 4, ow: 4) => workgroup(y, x);
        distribute(n, oc_o => workgroup(z, z));
        distribute(oh, ow => thread(y, x));
        reorder(fh, fw, ic, oc);
        vectorize(oc, 4);
        specialize(OC % 4 == 0);
    }";
    check(schedule, &SIZES);
}
