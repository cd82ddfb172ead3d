//! Packed tensors: inputs, outputs and intermediates, at sizes that are multiples of the blocks and at others.

use crate::harness::{devices, profiles, variant};
use tilewright::{AnyTensor, Argument, Cause, DynKernel, Error};

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

#[test]
fn an_input_is_packed_when_it_is_prepared() {
    check("V: conv<T = f32> for p { pack(w[o, c, y, x] => [o / 4, c, y, x, o % 4], when: prepare, fill: 2.0); }", &SIZES);
    let schedule = "V: conv<T = f32> for p {
        pack(w[o, c, y, x] => [o / 4, c, y, x, o % 4], when: prepare);
        pack(y[n, c, h, w] => [n, c / 4, h, w, c % 4], when: caller);
        w_packed { fuse(oc_o, ic, fh, fw => p); tile(p: 64) => workgroup(x); distribute(p => thread(x)); unroll(oc); }
        specialize(OC % 4 == 0);
    }";
    let schedule = schedule.replace("fuse(oc_o, ic, fh, fw => p)", "fuse(o_o, c, y, x => p)").replace("unroll(oc)", "unroll(o)");
    check(&schedule, &SIZES);
}

#[test]
fn what_depends_on_one_input_is_precomputed() {
    let kernel = "fn scores<N, M, D>(q: f32[N, D], k: f32[M, D]) -> s: f32[N, M] {
        let t[j]: f32[M] = sum(d in 0..D) { k[j, d] * k[j, d] };
        let u[j, d]: f32[M, D] = k[j, d] / (t[j] + 1.0);
        s[i, j] = sum(d in 0..D) { q[i, d] * u[j, d] } + k[j, 0];
    }";
    let kernel = kernel.replace(" + k[j, 0]", " + t[j]");
    for profile in profiles() {
        for schedule in [
            "V: scores for p { precompute(t); }",
            "V: scores for p { precompute(t, u); specialize(N % 4 == 0); }",
            "V: scores for p { pack(u[j, d] => [j / 4, d, j % 4]); precompute(u); u { tile(j_o: 8) => workgroup(x); distribute(j_o => thread(x)); serial(d); unroll(j); } }",
        ] {
            let variant = variant(&kernel, schedule, &profile);
            for (n, m, d) in [(1, 1, 1), (3, 7, 5), (8, 12, 4), (5, 130, 3)] {
                variant.check(&[("N", n), ("M", m), ("D", d)], &[]);
            }
        }
    }
}

#[test]
fn what_a_launch_wants_packed_or_prepared_is_said() {
    let load = |schedule: &str| {
        let [_, descriptors] = profiles();
        let program = variant(CONV, schedule, &descriptors).program;
        // SAFETY: the compiler made it just now.
        unsafe { devices()[1].load_programs(vec![program]) }.expect("it loads")
    };
    let zeros = |shape: &[usize]| devices()[1].zeros::<f32>(shape).expect("zeros").into_any();
    let (x, w, b) = (zeros(&[1, 4, 5, 5]), zeros(&[8, 4, 3, 3]), zeros(&[8]));
    let run = |kernel: &DynKernel, w: &AnyTensor| {
        kernel
            .run([Argument::Read(&x), Argument::Read(w), Argument::Read(&b)])
            .map(|_| "it runs".to_owned())
            .unwrap_or_else(|e| e.to_string())
    };
    let prepares = "V: conv<T = f32> for p { pack(w[o, c, y, x] => [o / 4, c, y, x, o % 4], when: prepare); }";
    let (one, other) = (load(prepares), load(prepares));
    let prepared = one.prepare("w", &w).expect("it prepares");
    assert_eq!(run(&one, &prepared), "it runs");
    assert_eq!(run(&one, &w), "`conv`: `w` must be prepared, by `prepare_w` or `DynKernel::prepare`");
    assert_eq!(run(&other, &prepared), "`conv`: `w` was prepared by another kernel: prepare it by this one");
    assert_eq!(one.prepare("x", &x).expect_err("refused").to_string(), "`conv`: does not have a prepared input `x`");
    let eights = load(&prepares.replace("for p", "for p where OC % 8 == 0"));
    let error = eights.prepare("w", &zeros(&[4, 4, 3, 3])).expect_err("refused");
    assert_eq!(error.to_string(), "`conv`: `w` cannot be prepared: `OC % 8 == 0` does not hold for OC = 4");
    assert!(matches!(&error, Error::Unprepared { reasons, .. } if reasons[0].cause == Cause::Fact), "{error:?}");
    assert_eq!(prepared.reshape([8 * 36]).expect_err("refused").to_string(), "a tensor that is prepared cannot be reshaped");
    let packs = load("V: conv<T = f32> for p { pack(w[o, c, y, x] => [o / 4, c, y, x, o % 4], when: caller); }");
    assert_eq!(run(&packs, &w), "`conv`: `w` is row-major, but should be packed as [i0 / 4, i1, i2, i3, i0 % 4]");
    let packed = packs.pack("w", &w).expect("it packs");
    assert_eq!(run(&packs, &packed), "it runs");
    assert_eq!(
        run(&load("V: conv<T = f32> for p {}"), &packed),
        "`conv`: `w` is packed as [i0 / 4, i1, i2, i3, i0 % 4], but should be row-major"
    );
    assert_eq!(packs.unpack("w", &packed).expect_err("refused").to_string(), "`conv`: has no output `w` that is packed");
    let wrong = zeros(&[8, 3, 3, 3]);
    let shape = run(&packs, &packs.pack("w", &wrong).expect("it packs"));
    assert_eq!(shape, "`conv`: `w` has shape [8, 3, 3, 3], but should have [OC, IC, 3, 3] = [8, 4, 3, 3]");
}
