//! Reads outside the tensor, padded and clamped; several outputs; constants.

use crate::harness::{profiles, variant};

#[test]
fn padded_box_filter() {
    let kernel = "fn blur<H, W>(x: f32[H, W]) -> y: f32[H, W] {
        y[i, j] = sum(a in 0..3, b in 0..3) { x.pad(0.5)[i + a - 1, j + b - 1] } / 9.0;
    }";
    for profile in profiles() {
        for schedule in [
            "V: blur for p {}",
            "V: blur for p { tile(i: 4, j: 16) => workgroup(y, x); tile(i: 2, j: 4) => thread(y, x); unroll(i, j); unroll(a, b); }",
            "V: blur for p where W % 4 == 0 { tile(i: 4, j: 16) => workgroup(y, x); tile(i: 2, j: 4) => thread(y, x); reorder(a, b, i, j); unroll(i); vectorize(j, 4); }",
        ] {
            let variant = variant(kernel, schedule, &profile);
            for (h, w) in [(1, 4), (3, 8), (7, 12), (130, 4)] {
                variant.check(&[("H", h), ("W", w)], &[]);
            }
        }
    }
}

#[test]
fn bilinear_resize() {
    // Even sizes: no sample falls on a jump of `floor`, where the evaluation could give no bound.
    let kernel = "fn resize<H, W, C, P, Q>(x: f32[H, W, C], like: f32[P, Q]) -> y: f32[P, Q, C] {
        y[p, q, c] = {
            let v = (p as f32 + 0.5) * (H as f32 / P as f32) - 0.5;
            let u = (q as f32 + 0.5) * (W as f32 / Q as f32) - 0.5;
            let (i, j) = (v.floor() as i32, u.floor() as i32);
            let a = v - v.floor();
            let b = u - u.floor();
            x.clamp()[i, j, c] * (1.0 - a) * (1.0 - b) + x.clamp()[i, j + 1, c] * (1.0 - a) * b
                + x.clamp()[i + 1, j, c] * a * (1.0 - b) + x.clamp()[i + 1, j + 1, c] * a * b
        };
    }"
    .replace("let (i, j) = (v.floor() as i32, u.floor() as i32);", "let i = v.floor() as i32; let j = u.floor() as i32;");
    for profile in profiles() {
        let variant = variant(
            &kernel,
            "V: resize for p { tile(p: 4, q: 8, c: 2) => workgroup(z, y, x); distribute(p, q => thread(y, x)); serial(c); }",
            &profile,
        );
        for (h, w, p, q) in [(1, 1, 4, 6), (3, 7, 8, 4), (5, 5, 12, 14)] {
            variant.check(&[("H", h), ("W", w), ("C", 3), ("P", p), ("Q", q)], &[]);
        }
    }
}

#[test]
fn a_constant_tensor_and_two_outputs() {
    let kernel = "fn edges<H, W>(x: f32[H, W]) -> (gx: f32[H, W], gy: f32[H, W]) {
        const SOBEL: f32[3, 3] = [[1.0, 0.0, -1.0], [2.0, 0.0, -2.0], [1.0, 0.0, -1.0]];
        gx[i, j] = sum(a in 0..3, b in 0..3) { x.clamp()[i + a - 1, j + b - 1] * SOBEL[a, b] };
        gy[i, j] = sum(a in 0..3, b in 0..3) { x.clamp()[i + a - 1, j + b - 1] * SOBEL[b, a] };
    }";
    for profile in profiles() {
        for schedule in [
            "V: edges for p {}",
            "V: edges for p { gx, gy { tile(i: 4, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x)); unroll(a, b); } }",
        ] {
            let variant = variant(kernel, schedule, &profile);
            for (h, w) in [(1, 1), (3, 7), (13, 11)] {
                variant.check(&[("H", h), ("W", w)], &[]);
            }
        }
    }
}
