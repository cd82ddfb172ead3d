//! Results that the language defines but hardware disagrees on: NaN, integer division, floors, casts, empty dims.

use crate::harness::{Fill, profiles, variant};

#[test]
fn integer_division_and_remainder() {
    let kernel = "fn divide<N>(a: i32[N], b: i32[N], c: u32[N], d: u32[N]) -> (q: i32[N], r: i32[N], s: u32[N], t: u32[N]) {
        q[i] = a[i] / b[i];
        r[i] = a[i] % b[i];
        s[i] = c[i] / d[i];
        t[i] = c[i] % d[i];
    }";
    for profile in profiles() {
        variant(kernel, "V: divide for p {}", &profile).check_filled(&[("N", 1000)], &[], &|_| Fill::Wild);
    }
}

#[test]
fn axes_floor_and_dims_are_values() {
    let kernel = "fn floors<N>(x: i32[N]) -> y: i32[N] { y[i] = x[i] + (i - 5) / 3 * 100 + (i - 5) % 3 + N; }";
    for profile in profiles() {
        variant(kernel, "V: floors for p {}", &profile).check(&[("N", 17)], &[]);
    }
}

#[test]
fn casts_saturate() {
    let kernel = "fn cast<N>(x: f32[N], y: i32[N]) -> (a: i32[N], b: u32[N], c: f32[N], d: u32[N]) {
        a[i] = (x[i] * 8589934592.0) as i32;
        b[i] = (x[i] * 8589934592.0) as u32;
        c[i] = y[i] as f32;
        d[i] = y[i] as u32;
    }";
    for profile in profiles() {
        variant(kernel, "V: cast for p {}", &profile).check_filled(&[("N", 1000)], &[], &|_| Fill::Wild);
    }
}

#[test]
fn nan_compares_false() {
    let kernel = "fn compare<N>(x: f32[N], y: f32[N]) -> (a: bool[N], b: bool[N], c: bool[N], d: f32[N], e: f32[N]) {
        a[i] = x[i] < y[i];
        b[i] = x[i] != y[i];
        c[i] = x[i] >= y[i] || !(x[i] == y[i]);
        d[i] = x[i].max(y[i]);
        e[i] = x[i].min(y[i]);
    }";
    for profile in profiles() {
        variant(kernel, "V: compare for p {}", &profile).check_filled(&[("N", 1000)], &[], &|_| Fill::Wild);
    }
}

#[test]
fn a_read_under_if_stays_there() {
    let kernel = "fn shifted<N>(x: f32[N]) -> y: f32[N] { y[i] = if i >= 3 { x[i - 3] } else if i > 0 { x[0] } else { -1.0 }; }";
    for profile in profiles() {
        for schedule in [
            "V: shifted for p {}",
            "V: shifted for p { tile(i: 16) => workgroup(x); tile(i: 4) => thread(x); vectorize(i, 4, unaligned: scalar); }",
        ] {
            let variant = variant(kernel, schedule, &profile);
            for n in [1, 2, 3, 7, 130] {
                variant.check(&[("N", n)], &[]);
            }
        }
    }
}

/// `x` may be empty where the other side decides the result.
#[test]
fn a_side_that_is_not_needed_reads_nothing() {
    let kernel = "fn sides<N, H = N / 3>(x: f32[H, N]) -> (a: bool[], b: bool[]) {
        a[] = all(k in 0..N) { k < 5 || x.clamp()[k, k] < 1.0 };
        b[] = any(k in 0..N) { k >= 5 && x.clamp()[k, k] < 1.0 };
    }";
    for profile in profiles() {
        let variant = variant(kernel, "V: sides for p {}", &profile);
        for n in [1, 2, 5, 6, 17] {
            variant.check(&[("N", n)], &[]);
        }
    }
}

#[test]
fn empty_dims() {
    let kernel = "fn scale<N, M>(x: f32[N, M], by: f32) -> y: f32[N, M] { y[i, j] = x[i, j] * by; }";
    for profile in profiles() {
        for schedule in
            ["V: scale for p {}", "V: scale for p { tile(i: 4, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x)); }"]
        {
            let variant = variant(kernel, schedule, &profile);
            for (n, m) in [(0, 5), (5, 0), (0, 0), (1, 1)] {
                variant.check(&[("N", n), ("M", m)], &[2.5]);
            }
        }
    }
}

#[test]
fn more_workgroups_than_a_dimension_holds() {
    let kernel = "fn next<N>(x: i32[N]) -> y: i32[N] { y[i] = x[i] + 1; }";
    for profile in profiles() {
        let variant = variant(kernel, "V: next for p { distribute(i => workgroup(x)); }", &profile);
        variant.check(&[("N", 70_001)], &[]);
    }
}

#[test]
fn more_parameters_than_push_constants_hold() {
    let tensors: Vec<String> = (0..18).map(|n| format!("x{n}: f32[D{n}]")).collect();
    let dims: Vec<String> = (0..18).map(|n| format!("D{n}")).collect();
    let terms: Vec<String> = (0..18).map(|n| format!("x{n}.clamp()[i]")).collect();
    let kernel = format!(
        "fn many<{}>({}, a: f32, b: i32) -> y: f32[D0] {{ y[i] = {} * a + b as f32; }}",
        dims.join(", "),
        tensors.join(", "),
        terms.join(" + ")
    );
    for profile in profiles() {
        let variant = variant(&kernel, "V: many for p {}", &profile);
        assert!(
            variant.program.dispatches[0].spilled
                || profile.features.is_empty()
                || variant.program.dispatches[0].param_bytes <= 128
        );
        let dims: Vec<(String, i64)> = (0..18).map(|n| (format!("D{n}"), n + 3)).collect();
        let dims: Vec<(&str, i64)> = dims.iter().map(|(n, v)| (n.as_str(), *v)).collect();
        variant.check(&dims, &[0.5, 7.0]);
    }
}

#[test]
fn index_arithmetic_has_32_bits() {
    let kernel = "fn outer<N, M>(x: f32[N], y: f32[M]) -> z: f32[N, M] { z[i, j] = x[i] * y[j]; }";
    for profile in profiles() {
        for schedule in
            ["V: outer for p {}", "V: outer for p { tile(i: 4, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x)); }"]
        {
            for error in variant(kernel, schedule, &profile).refusals(&[("N", 65_536), ("M", 32_768)]) {
                assert!(error.contains("more than 2130706432 elements"), "{error}");
            }
        }
    }
}
