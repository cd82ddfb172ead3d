//! Sizes in a kernel's signature: facts, and dims that the caller gives.

use crate::harness::{check, profiles, refused, variant};

const IOTA: &str = "fn iota(n: dim) -> y: i32[n] { y[i] = i * 3 - n; }";

const NEAREST: &str = "fn nearest<IH, IW>(x: f32[IH, IW], oh: dim, s: f32, ow: dim) -> y: f32[oh, ow] where IH >= 1, IW >= 1 {
    y[r, c] = x.clamp()[r * IH / oh, c * IW / ow] * s;
}";

/// Pixel centres are half a pixel from the border. The weights are quotients of whole numbers.
const BILINEAR: &str = "fn bilinear<IH, IW>(x: f32[IH, IW], oh: dim, ow: dim) -> y: f32[oh, ow] where IH >= 1, IW >= 1 {
    y[r, c] = {
        let down = (2 * r + 1) * IH - oh;
        let right = (2 * c + 1) * IW - ow;
        let v = (down % (2 * oh)) as f32 / (2 * oh) as f32;
        let u = (right % (2 * ow)) as f32 / (2 * ow) as f32;
        let i = down / (2 * oh);
        let j = right / (2 * ow);
        let high = x.clamp()[i, j] * (1.0 - u) + x.clamp()[i, j + 1] * u;
        let low = x.clamp()[i + 1, j] * (1.0 - u) + x.clamp()[i + 1, j + 1] * u;
        high * (1.0 - v) + low * v
    };
}";

#[test]
fn a_kernel_of_sizes_alone() {
    for schedule in [
        "V: iota for p {}",
        "V: iota for p { tile(i: 64) => workgroup(x); tile(i: 4) => thread(x); unroll(i); }",
        "V: iota for p { pin(n); tile(i: 64) => workgroup(x); distribute(i => thread(x)); }",
        "V: iota for p { specialize(n % 4 == 0); tile(i: 64) => workgroup(x); tile(i: 4) => thread(x); unroll(i); }",
    ] {
        check(IOTA, schedule, &[&[("n", 0)], &[("n", 1)], &[("n", 7)], &[("n", 64)], &[("n", 1003)]]);
    }
}

/// A version under a fact of the given dim is taken if the fact holds.
#[test]
fn a_schedule_knows_the_dims_that_are_given() {
    let tiled = "tile(i: 64) => workgroup(x); tile(i: 4) => thread(x); vectorize(i, 4);";
    for profile in profiles() {
        let fours = variant(IOTA, &format!("V: iota for p where n % 4 == 0 {{ {tiled} }}"), &profile);
        fours.check(&[("n", 68)], &[]);
        for refusal in fours.refusals(&[("n", 67)]) {
            assert_eq!(refusal, "`iota`: no variant takes these arguments\n  `V`: `n % 4 == 0` does not hold for n = 67");
        }
        let four = variant(IOTA, "V: iota for p where n == 4 { unroll(i); }", &profile);
        four.check(&[("n", 4)], &[]);
        for refusal in four.refusals(&[("n", 5)]) {
            assert_eq!(refusal, "`iota`: no variant takes these arguments\n  `V`: `n == 4` does not hold for n = 5");
        }
    }
    let both = variant(
        IOTA,
        "V: iota for p { specialize(n == 8); tile(i: 8) => workgroup(x); distribute(i => thread(x)); }",
        &profiles()[0],
    );
    both.check(&[("n", 8)], &[]);
    both.check(&[("n", 9)], &[]);
    assert!(both.taken(&[("n", 8)]).iter().all(|name| name == "V where n == 8"), "{:?}", both.taken(&[("n", 8)]));
    assert!(both.taken(&[("n", 9)]).iter().all(|name| name == "V"));
}

#[test]
fn results_have_the_sizes_that_are_asked_for() {
    let sizes: [[i64; 4]; 8] =
        [[1, 1, 1, 1], [1, 1, 5, 3], [7, 5, 1, 1], [7, 5, 14, 10], [7, 5, 3, 2], [4, 9, 11, 13], [3, 3, 0, 4], [3, 3, 4, 0]];
    for profile in profiles() {
        for schedule in ["{}", "{ tile(r: 4, c: 8) => workgroup(y, x); distribute(r, c => thread(y, x)); }"] {
            let nearest = variant(NEAREST, &format!("V: nearest for p {schedule}"), &profile);
            let bilinear = variant(BILINEAR, &format!("V: bilinear for p {schedule}"), &profile);
            for [ih, iw, oh, ow] in sizes {
                let dims = [("IH", ih), ("IW", iw), ("oh", oh), ("ow", ow)];
                nearest.check(&dims, &[0.5]);
                bilinear.check(&dims, &[]);
            }
        }
    }
}

#[test]
fn a_fact_of_the_kernel_is_an_error_of_the_launch() {
    for profile in profiles() {
        let bilinear = variant(BILINEAR, "V: bilinear for p {}", &profile);
        for refusal in bilinear.refusals(&[("IH", 0), ("IW", 3), ("oh", 2), ("ow", 2)]) {
            assert_eq!(refusal, "`bilinear` needs `IH >= 1`; IH is 0");
        }
        // Also if the results are empty.
        for refusal in bilinear.refusals(&[("IH", 2), ("IW", 0), ("oh", 0), ("ow", 2)]) {
            assert_eq!(refusal, "`bilinear` needs `IW >= 1`; IW is 0");
        }
        let last = variant("fn last<N>(x: f32[N]) -> y: f32[] where N >= 1 { y[] = x[N - 1]; }", "V: last for p {}", &profile);
        last.check(&[("N", 1)], &[]);
        last.check(&[("N", 9)], &[]);
        for refusal in last.refusals(&[("N", 0)]) {
            assert_eq!(refusal, "`last` needs `N >= 1`; N is 0");
        }
        // Facts that the kernel needs but does not state are reported in the same way.
        let most = variant("fn most<N>(x: f32[N]) -> y: i32[] { y[] = argmax(k in 0..N) { x[k] }; }", "V: most for p {}", &profile);
        for refusal in most.refusals(&[("N", 0)]) {
            assert_eq!(refusal, "`most` needs `N >= 1`; N is 0");
        }
    }
}

/// A fact that a kernel states holds in all its schedules.
#[test]
fn a_schedule_relies_on_the_facts_of_its_kernel() {
    let kernel = "fn double<N>(x: f32[N]) -> y: f32[N] where N % 4 == 0 { y[i] = x[i] * 2.0; }";
    let schedule = "V: double for p { tile(i: 64) => workgroup(x); tile(i: 4) => thread(x); vectorize(i, 4); }";
    check(kernel, schedule, &[&[("N", 0)], &[("N", 4)], &[("N", 68)], &[("N", 1000)]]);
    refused(&kernel.replace(" where N % 4 == 0", ""), schedule, "N % 4 == 0");
    let three = "fn sums<N, C>(x: f32[N, C]) -> y: f32[N] where C == 3 { y[i] = sum(c in 0..C) { x[i, c] }; }";
    check(
        three,
        "V: sums for p { tile(i: 64) => workgroup(x); distribute(i => thread(x)); unroll(c); }",
        &[&[("N", 70), ("C", 3)]],
    );
}

/// Pads the input to a length that the caller gives.
#[test]
fn padding_to_a_multiple() {
    let kernel =
        "fn padded<N, M = blocks * 8>(x: f32[N], blocks: dim) -> y: f32[M] where M >= N, M < N + 8 { y[i] = x.pad(-1.0)[i]; }";
    let schedule = "V: padded for p { tile(i: 64) => workgroup(x); tile(i: 8) => thread(x); vectorize(i, 4); unroll(i); }";
    for (n, blocks) in [(0, 0), (1, 1), (8, 1), (9, 2), (130, 17)] {
        check(kernel, schedule, &[&[("N", n), ("blocks", blocks)]]);
    }
    for refusal in variant(kernel, schedule, &profiles()[0]).refusals(&[("N", 9), ("blocks", 1)]) {
        assert_eq!(refusal, "`padded` needs `M >= N`; M is 8, N is 9");
    }
}
