//! Sizes with minima, maxima and quotients by dims of a launch, against Rust's loops.

use crate::harness::{Fill, Named, profiles, variant};

/// Checks a kernel `k` under schedules, at sizes, against a function of its inputs and the sizes.
fn check(kernel: &str, schedules: &[&str], sizes: &[&[(&str, i64)]], plain: impl Fn(&Named, &dyn Fn(&str) -> i64) -> Vec<f64>) {
    for schedule in ["{}"].iter().chain(schedules) {
        for profile in profiles() {
            let made = variant(kernel, &format!("V: k for p {schedule}"), &profile);
            let mut runs = 0;
            for dims in sizes.iter().filter(|dims| made.admits(dims)) {
                runs += 1;
                let (given, results) = made.checked(dims, &[], &|_| Fill::Small, |_| 0);
                let size = |name: &str| dims.iter().find(|(dim, _)| *dim == name).expect("a dim").1;
                let wanted = plain(&given, &size);
                for got in results {
                    let is_near = got["y"].iter().zip(&wanted).all(|(a, b)| (a - b).abs() <= 1e-4 * b.abs().max(1.0));
                    assert!(got["y"].len() == wanted.len() && is_near, "{dims:?} under {schedule}: {got:?} {wanted:?}");
                }
            }
            assert!(runs > 0, "no sizes for {schedule}");
        }
    }
}

/// The elements of a list, or another value out of its bounds.
fn at(list: &[f64], index: i64, other: f64) -> f64 {
    usize::try_from(index).ok().and_then(|index| list.get(index)).copied().unwrap_or(other)
}

#[test]
fn as_long_as_the_shorter_one() {
    let kernel = "fn k<N, M>(x: f32[N, M]) -> y: f32[N.min(M)] { y[i] = x[i, i] + sum(k in 0..N.min(M) / 2) { x[k, i] }; }";
    let schedules = [
        "{ tile(i: 32) => workgroup(x); tile(i: 4) => thread(x); unroll(i); }",
        "{ tile(i: 32 peel) => workgroup(x); distribute(i => thread(x)); tile(k: 4 => k_o); unroll(k); }",
        "where N.min(M) >= 3 { tile(i: 8) => workgroup(x); tile(k: 8 => k_o); distribute(i => thread(x)); promote(x => x_s, at: k_o, to: shared); }",
        "{ tile(k: 4 => k_o); rfactor(k_o => part); part { distribute(k_o => workgroup(y)); tile(i: 8) => workgroup(x); distribute(i => thread(x)); }
           tile(i: 8) => workgroup(x); distribute(i => thread(x)); }",
    ];
    let sizes: [&[(&str, i64)]; 6] = [
        &[("N", 0), ("M", 3)],
        &[("N", 1), ("M", 1)],
        &[("N", 3), ("M", 7)],
        &[("N", 37), ("M", 5)],
        &[("N", 33), ("M", 41)],
        &[("N", 64), ("M", 64)],
    ];
    check(kernel, &schedules, &sizes, |given, size| {
        let (x, m, least) = (&given["x"], size("M"), size("N").min(size("M")));
        let sum = |i| (0..least / 2).map(|k| x[(k * m + i) as usize]).sum::<f64>();
        (0..least).map(|i| x[(i * m + i) as usize] + sum(i)).collect()
    });
}

#[test]
fn as_long_as_the_longer_one() {
    let kernel = "fn k<N, M>(x: f32[N], z: f32[M]) -> y: f32[N.max(M)] {
        let t[i]: f32[-1..N.max(M)] = x.pad(0.0)[i] - z.pad(1.0)[i];
        y[i] = t[i] * t[i - 1] + max(k in N.min(M)..N.max(M) + 1) { (k - i) as f32 };
    }";
    let schedules = [
        "{ tile(i: 64) => workgroup(x); promote(x => x_s, at: workgroup, to: shared); distribute(i => thread(x)); }",
        "{ root(t); t { tile(i: 64) => workgroup(x); distribute(i => thread(x)); } tile(i: 64) => workgroup(x); distribute(i => thread(x)); }",
        "{ tile(i: 64) => workgroup(x); compute_at(t, workgroup, to: shared); distribute(i => thread(x)); t { distribute(i => thread(linear)); } }",
    ];
    let sizes: [&[(&str, i64)]; 4] =
        [&[("N", 1), ("M", 1)], &[("N", 0), ("M", 5)], &[("N", 67), ("M", 30)], &[("N", 5), ("M", 129)]];
    check(kernel, &schedules, &sizes, |given, size| {
        let most = size("N").max(size("M"));
        let t = |i| at(&given["x"], i, 0.0) - at(&given["z"], i, 1.0);
        (0..most).map(|i| t(i) * t(i - 1) + (most - i) as f64).collect()
    });
}

#[test]
fn quotients_by_a_dim() {
    let kernel = "fn k<N, G, L = N / G>(x: f32[N], w: f32[G]) -> y: f32[G] where G >= 1 {
        let part[g, i]: f32[G, N / G] = x[g * L + i] * w[g];
        y[g] = sum(k in 0..N / G) { part[g, k] };
    }";
    let schedules = [
        "{ tile(g: 1) => workgroup(x); tile(k: 64 => k_o); distribute(k => thread(x), by: tree); }",
        "{ tile(g: 8) => workgroup(x); distribute(g => thread(x)); tile(k: 4 => k_o); promote(x => x_r, at: k_o, to: register); unroll(k); }",
        "{ root(part); part { tile(g: 2, i: 32) => workgroup(y, x); distribute(g, i => thread(y, x)); } tile(g: 8) => workgroup(x); distribute(g => thread(x)); }",
        "where N % G == 0 { tile(g: 8) => workgroup(x); distribute(g => thread(x)); }",
        "where L % 4 == 0 { root(part); part { tile(g: 1, i: 32) => workgroup(y, x); tile(i: 4) => thread(x); vectorize(i, 4, unaligned: scalar); } }",
    ];
    let sizes: [&[(&str, i64)]; 6] = [
        &[("N", 0), ("G", 3)],
        &[("N", 1), ("G", 1)],
        &[("N", 3), ("G", 7)],
        &[("N", 37), ("G", 5)],
        &[("N", 133), ("G", 19)],
        &[("N", 256), ("G", 8)],
    ];
    check(kernel, &schedules, &sizes, |given, size| {
        let (x, w, length) = (&given["x"], &given["w"], size("N") / size("G"));
        (0..size("G")).map(|g| (0..length).map(|k| x[(g * length + k) as usize]).sum::<f64>() * w[g as usize]).collect()
    });
}

/// Bins whose ends are quotients of products, as in adaptive pooling.
#[test]
fn ranges_between_quotients() {
    let kernel = "fn k<N>(x: f32[N], m: dim) -> y: f32[m] {
        y[i] = sum(k in i * N / m..((i + 1) * N + m - 1) / m) { x[k] };
    }";
    let schedules = ["{ tile(i: 8) => workgroup(x); distribute(i => thread(x)); tile(k: 4 => k_o); }"];
    let sizes: [&[(&str, i64)]; 4] =
        [&[("N", 1), ("m", 1)], &[("N", 3), ("m", 7)], &[("N", 37), ("m", 5)], &[("N", 40), ("m", 33)]];
    check(kernel, &schedules, &sizes, |given, size| {
        let (n, m) = (size("N"), size("m"));
        let sum = |i: i64| (i * n / m..((i + 1) * n + m - 1) / m).map(|k| given["x"][k as usize]).sum();
        (0..m).map(sum).collect()
    });
}

/// A temporary as long as blocks of a size of the caller are many.
#[test]
fn blocks_of_a_size_of_the_caller() {
    let kernel = "fn k<N>(x: f32[N], s: dim) -> y: f32[N] {
        let t[b]: f32[(N + s - 1) / s] = sum(k in 0..s.min(N - b * s)) { x[b * s + k] };
        y[i] = x[i] / (1.0 + t[i / s] * t[i / s]) + (i % s) as f32;
    }";
    let schedules = [
        "{ t { tile(b: 8) => workgroup(x); distribute(b => thread(x)); } tile(i: 32) => workgroup(x); distribute(i => thread(x)); }",
        "where s >= 3 { tile(i: 32) => workgroup(x); compute_at(t, workgroup, to: shared); distribute(i => thread(x)); t { distribute(b => thread(linear)); } }",
    ];
    let sizes: [&[(&str, i64)]; 4] =
        [&[("N", 1), ("s", 1)], &[("N", 3), ("s", 7)], &[("N", 37), ("s", 5)], &[("N", 70), ("s", 35)]];
    check(kernel, &schedules, &sizes, |given, size| {
        let (n, s, x) = (size("N"), size("s"), &given["x"]);
        let t = |b: i64| (b * s..((b + 1) * s).min(n)).map(|k| x[k as usize]).sum::<f64>();
        (0..n).map(|i| x[i as usize] / (1.0 + t(i / s).powi(2)) + (i % s) as f64).collect()
    });
}

/// The components of a fused axis are minima and quotients.
#[test]
fn fused_axes_of_such_sizes() {
    let kernel = "fn k<H, W, C, K>(x: f32[W * 3, H * 3 + 1, C], w: f32[4, K, 1, C]) -> y: f32[K, H, W.min(H.max(W))] {
        y[k, i, j] = sum(c in 0..C / W, s in 0..1, r in 0..4) { w[r, k, s, c] * x[j * 3 + s, i * 3 + r, c] };
    }";
    let schedules = [
        "{ decompose_im2col(y => cols, gemm); root(cols); }",
        "{ decompose_im2col(y => cols, gemm); root(cols); cols { fuse(j, c => f); serial(i, r); tile(f: 8) => workgroup(x); distribute(f => thread(x)); } }",
    ];
    let sizes: [&[(&str, i64)]; 2] = [&[("H", 3), ("W", 2), ("C", 5), ("K", 3)], &[("H", 1), ("W", 3), ("C", 7), ("K", 1)]];
    check(kernel, &schedules, &sizes, |given, size| {
        let [h, w, c, k] = ["H", "W", "C", "K"].map(size);
        let (x, weights) = (&given["x"], &given["w"]);
        let x = |i: i64, j: i64, l: i64| x[((i * (3 * h + 1) + j) * c + l) as usize];
        let one = |n: i64, i: i64, j: i64| {
            let terms = (0..c / w).flat_map(|l| (0..4).map(move |r| (l, r)));
            terms.map(|(l, r)| weights[((r * k + n) * c + l) as usize] * x(j * 3, i * 3 + r, l)).sum::<f64>()
        };
        (0..k).flat_map(|n| (0..h).flat_map(move |i| (0..w).map(move |j| (n, i, j)))).map(|(n, i, j)| one(n, i, j)).collect()
    });
}

/// A launch checks the divisors of sizes, the facts that it divides by, and each part of a fact about a minimum.
#[test]
fn launches_check_divisors() {
    let kernel = "fn k<N, M>(x: f32[N], z: f32[M]) -> y: f32[N / M] { y[i] = x[i] + z[i % M] + (N / (M - 3)) as f32; }";
    let facts =
        "fn k<N, M, G>(x: f32[N], z: f32[M], w: f32[G]) -> y: f32[N] where N.min(M) >= 3, M % G == 0 { y[i] = x[i] + z[2]; }";
    for profile in profiles() {
        let made = variant(kernel, "V: k for p {}", &profile);
        for refusal in made.refusals(&[("N", 8), ("M", 0)]) {
            assert_eq!(refusal, "`k`: `y` would have shape [N / M] with N = 8, M = 0, which divides by 0");
        }
        for refusal in made.refusals(&[("N", 8), ("M", 2)]) {
            assert_eq!(refusal, "`k` needs `M - 3 >= 1`; M is 2");
        }
        made.check(&[("N", 9), ("M", 4)], &[]);
        let made = variant("fn k<N, M, L = N / M>(x: f32[N], z: f32[M]) -> y: f32[L] { y[i] = x[i]; }", "V: k for p {}", &profile);
        for refusal in made.refusals(&[("N", 8), ("M", 0)]) {
            assert_eq!(refusal, "`k`: L = N / M divides by 0 for N = 8, M = 0: `x` has shape [8], `z` has shape [0]");
        }
        // The extent of a range is a size, also where the result has no element.
        let made = variant(
            "fn k<N, M>(x: f32[N], z: f32[M]) -> y: f32[M] { y[i] = z[i] + sum(k in 0..N / M) { x[k] }; }",
            "V: k for p {}",
            &profile,
        );
        for refusal in made.refusals(&[("N", 8), ("M", 0)]) {
            assert_eq!(refusal, "`k` needs `M >= 1`; M is 0");
        }
        let made = variant(facts, "V: k for p {}", &profile);
        for (dims, wanted) in [
            ([5, 2, 1], "`k` needs `M >= 3`; M is 2"),
            ([5, 4, 0], "`k` needs `G >= 1`; G is 0"),
            ([5, 4, 3], "`k` needs `M % G == 0`; M is 4, G is 3"),
        ] {
            for refusal in made.refusals(&[("N", dims[0]), ("M", dims[1]), ("G", dims[2])]) {
                assert_eq!(refusal, wanted);
            }
        }
        made.check(&[("N", 5), ("M", 4), ("G", 2)], &[]);
    }
}
