//! Arithmetic on axes and dims is exact for terms of any size; data is 32 bits wide, and wraps.
//!
//! If a device needs an index that may exceed 32 bits, the launch is refused for the sizes at which it does.

use crate::harness::{Fill, profiles, refused, try_variant, variant};

const SCHEDULES: [&str; 2] = ["V: k for p {}", "V: k for p { tile(i: 64) => workgroup(x); distribute(i => thread(x)); }"];

/// Checks that a kernel is right at some sizes, and refused at others with a message that contains `why`.
fn bounded(kernel: &str, schedules: &[&str], right: &[&[(&str, i64)]], beyond: &[&[(&str, i64)]], why: &str) {
    for profile in profiles() {
        for schedule in schedules {
            let variant = variant(kernel, schedule, &profile);
            right.iter().for_each(|dims| variant.check_filled(dims, &[], &|_| Fill::Wild));
            for refusal in beyond.iter().flat_map(|dims| variant.refusals(dims)) {
                assert!(refusal.contains(why), "{refusal}");
            }
        }
    }
}

#[test]
fn a_product_of_axes_is_divided_where_32_bits_hold_it() {
    let kernel = "fn k<N>(x: i32[N]) -> y: i32[N] { y[i] = x[i * i / N]; }";
    bounded(kernel, &SCHEDULES, &[&[("N", 46_341)], &[("N", 0)]], &[&[("N", 46_342)], &[("N", 60_000)]], "`i * i` can be ");
    // A remainder of a term that counts backwards.
    let kernel = "fn k<N>(x: i32[N]) -> y: i32[N] { y[i] = x[(7 - i * i) % N]; }";
    bounded(kernel, &SCHEDULES, &[&[("N", 46_341)]], &[&[("N", 46_345)]], "indices have 32 bits");
}

#[test]
fn what_is_clamped_padded_or_compared_is_within_32_bits() {
    let large: [&[(&str, i64)]; 1] = [&[("N", 50_000), ("M", 50_000)]];
    let small: [&[(&str, i64)]; 2] = [&[("N", 40_000), ("M", 50_000)], &[("N", 7), ("M", 3)]];
    for body in ["x.clamp()[i * N / M]", "x.pad(3)[i * N - M]", "if i * N < M { 1 } else { x[0] }", "(i * N).max(M)"] {
        let kernel = format!("fn k<N, M>(x: i32[N], like: u32[M]) -> y: i32[M] {{ y[i] = {body}; }}");
        let kernel = kernel.replace("if i * N < M { 1 } else { x[0] }", "if i * N < M { 1 } else { x.pad(2)[0] }");
        bounded(&kernel, &SCHEDULES, &small, &large, "indices have 32 bits");
    }
    let kernel = "fn k<N, M>(x: i32[N], like: u32[M]) -> y: f32[M] { y[i] = (i * N - 5) as f32; }";
    bounded(kernel, &SCHEDULES, &small, &large, "indices have 32 bits");
}

#[test]
fn what_is_divided_by_a_literal_is_reduced_first() {
    let kernel = "fn k<N>(x: i32[N * 1001]) -> y: i32[N] { y[i] = x[i * 1000003 / 1000]; }";
    bounded(kernel, &SCHEDULES, &[&[("N", 2_200)]], &[], "");
    let kernel = "fn k<N>(x: i32[N]) -> y: i32[N] { y[i] = i * 1000003 / 1000003 + i * 1000003 % 1000; }";
    bounded(kernel, &SCHEDULES, &[&[("N", 2_200)]], &[], "");
}

#[test]
fn sums_that_leave_32_bits_and_come_back_are_harmless() {
    let kernel = "fn k<N>(x: i32[N]) -> y: i32[N] { y[i] = x[i * 2000003 * 1000 - i * 2000003 * 999 - i * 2000002]; }";
    bounded(kernel, &SCHEDULES, &[&[("N", 2_200)]], &[], "");
}

#[test]
fn sizes_are_exact_on_the_host() {
    let kernel = "fn k<N, M = N / 7>(x: i32[N]) -> (a: i32[N], b: i32[N], c: f32[N]) {
        a[i] = N * N * N / 7 + x[i];
        b[i] = N * N * N * N % 1000;
        c[i] = (N * N * N / 1000000) as f32;
    }";
    for profile in profiles() {
        let variant = variant(kernel, "V: k for p {}", &profile);
        [1, 2_190, 2_200, 10_000].iter().for_each(|n| variant.check(&[("N", *n)], &[]));
    }
}

#[test]
fn data_wraps() {
    let kernel = "fn k<N>(x: i32[N]) -> (a: i32[N], b: i32[N], c: u32[N], d: i32[N], e: bool[N], f: i32[N]) {
        a[i] = i as i32 * 1000003 / 1000003;
        b[i] = (i * 1000003) as i32 / 1000003;
        c[i] = (i * 1000003) as u32 / 3;
        d[i] = (x[i] + i * 1000003) / 7;
        e[i] = (i as i32) * 1000003 < 0;
        f[i] = (i * i * i * i * i) as i32 + x[i] * 65537;
    }";
    for profile in profiles() {
        let variant = variant(kernel, "V: k for p {}", &profile);
        variant.check_filled(&[("N", 5_000)], &[], &|_| Fill::Wild);
    }
}

/// A stored index is data from then on, even if a schedule keeps it in registers or shared memory.
#[test]
fn a_stored_index_wraps() {
    let kernel = "fn k<N>(x: i32[N]) -> y: i32[N] {
        let s[i]: i32[N] = i * i * 1000;
        y[i] = s[i] / 7 + s[i] * 3 % 11;
    }";
    for profile in profiles() {
        for schedule in [
            "V: k for p {}",
            "V: k for p { root(s); tile(i: 8) => workgroup(x); distribute(i => thread(x)); s { serial(i); } }",
            "V: k for p { tile(i: 64) => workgroup(x); tile(i: 4) => thread(x); compute_at(s, thread, to: register); unroll(i); }",
        ] {
            variant(kernel, schedule, &profile).check(&[("N", 3_000)], &[]);
        }
    }
    let kernel = "fn k<N>(x: i32[N]) -> y: i32[N] { y[i] = max(k in 0..N) { k * 1000003 - x[i] }; }";
    for profile in profiles() {
        variant(kernel, "V: k for p {}", &profile).check_filled(&[("N", 3_000)], &[], &|_| Fill::Wild);
    }
}

#[test]
fn data_proves_nothing_of_an_index() {
    let inside = "fn k<N>(x: i32[N]) -> y: i32[N] { y[i] = if 2 * i + 1 < N { x[2 * i] } else { 0 }; }";
    let data = "fn k<N>(x: i32[N]) -> y: i32[N] { y[i] = if 2 * (i as i32) + 1 < N { x[2 * i] } else { 0 }; }";
    for profile in profiles() {
        variant(inside, "V: k for p {}", &profile).check(&[("N", 77)], &[]);
        let refusal = try_variant(data, "V: k for p {}", &profile).err().expect("wrapped data is not a bound");
        assert!(refusal.text.contains("may be out of bounds"), "{}", refusal.text);
    }
}

/// Indices that lowering makes from axes: fused counters, their components, packed components, widened ranges, rounded-up tiles.
#[test]
fn what_schedules_make_is_checked_too() {
    // Only the product exceeds 32 bits, and only the fused axis is the product.
    let kernel = "fn k<N, M>(x: i32[N], z: i32[M]) -> y: i32[N] { y[i] = sum(j in 0..M, l in 0..N) { if j < 2 && l < 2 { z[j] * x[l] } else { 0 } }; }";
    let schedule = "V: k for p { fuse(j, l => f); tile(f: 8 => f_o); tile(i: 1) => workgroup(x); serial(i); }";
    for profile in profiles() {
        let variant = variant(kernel, schedule, &profile);
        variant.check(&[("N", 3), ("M", 5)], &[]);
        for refusal in variant.refusals(&[("N", 70_000), ("M", 70_000)]) {
            assert!(refusal.contains("indices have 32 bits"), "{refusal}");
        }
    }
}

/// Errors about a number beyond 64 bits do not mention numbers that the user has not written.
#[test]
fn numbers_beyond_64_bits() {
    let kernel = "fn k<N>(x: i32[N]) -> z: i32[N] { z[i] = i * 1000000007 * 1000000007 * 1000000007 / 3 + x[i]; }";
    SCHEDULES.iter().for_each(|schedule| refused(kernel, schedule, "error: a number in an index here does not fit 64 bits"));
}
