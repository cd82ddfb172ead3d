//! Verdicts of `tilewright_prove`. In most tests, the module is compiled from one kernel and compared with another one, so that the proof
//! must fail.

use tilewright_differential::compile::{self, Variant};
use tilewright_dsl::profile::Profile;
use tilewright_prove::{Budget, Dims, Outcome, Proof, Subject, Verdict, prove, prove_at};

/// Compiles a kernel named `k`.
fn compiled(kernel: &str, schedule: &str) -> Variant {
    compile::variant(kernel, &format!("V: k for p {schedule}"), &Profile::mesa_lavapipe())
        .unwrap_or_else(|refusal| panic!("{}", refusal.text))
}

/// Proves a schedule of a kernel against the formulas of another one.
fn against(kernel: &str, schedule: &str, algorithm: &str) -> Proof {
    let (module, wanted) = (compiled(kernel, schedule), compiled(algorithm, "{}"));
    let subject = Subject::new(&module.program, &wanted.algorithm, vec![&module.nest]);
    prove(&subject, &Budget::default()).expect("sizes")
}

/// Proves a schedule of a kernel.
fn proved(kernel: &str, schedule: &str) -> Proof {
    against(kernel, schedule, kernel)
}

const PRODUCT: &str =
    "fn k<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] }; }";
const TILED: &str =
    "{ tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x)); split(k, [_, 4] => k_o, k); unroll(k); }";

#[test]
fn a_product_is_proved_on_both_sides_of_each_boundary() {
    let proof = proved(PRODUCT, TILED);
    assert_eq!((proof.verdict(), proof.unreached.len()), (Verdict::Proved, 0), "{proof:?}");
    let reaches = |size: i64| proof.equal.iter().any(|(dims, _)| dims.iter().any(|(_, n)| *n == size));
    assert!(proof.equal.len() >= 3 && reaches(9), "{:?}", proof.equal);
}

#[test]
fn every_other_formula_is_refuted() {
    let other = |from: &str, to: &str| {
        assert!(PRODUCT.contains(from), "{from}");
        let proof = against(PRODUCT, TILED, &PRODUCT.replace(from, to));
        assert_eq!(proof.verdict(), Verdict::Wrong, "{from} -> {to}: {proof:?}");
    };
    other("a[i, k] * b[k, j]", "a[i, k] * b[K - 1 - k, j]");
    other("a[i, k] * b[k, j]", "a[i, K - 1 - k] * b[k, j] + 0.0 * b[k, j]");
    // Floats cannot show these: the first is a part of 10^-7, and the second is one term of many.
    other("a[i, k] * b[k, j]", "a[i, k] * b[k, j] * 1.000_000_1");
    other("a[i, k] * b[k, j]", "if k + 1 < K { a[i, k] * b[k, j] } else { 0.0 }");
}

#[test]
fn scalars_of_the_same_facts_are_told_apart() {
    let axpby = |value: &str| format!("fn k<N>(a: f32, b: f32, x: f32[N], y: f32[N]) -> z: f32[N] {{ z[i] = {value}; }}");
    let module = axpby("a * x[i] + b * y[i]");
    assert_eq!(proved(&module, "{}").verdict(), Verdict::Proved);
    for wrong in ["b * x[i] + a * y[i]", "a * x[i] + a * y[i]", "x[i] + b * y[i]", "b * y[i]"] {
        assert_eq!(against(&module, "{}", &axpby(wrong)).verdict(), Verdict::Wrong, "{wrong}");
    }
}

#[test]
fn decisions_by_the_inputs_are_tested_only() {
    let of = |value: &str| format!("fn k<N>(x: f32[N], n: i32[N]) -> y: f32[N] {{ y[i] = {value}; }}");
    let float = |value: &str| of(value).replace(", n: i32[N]", "");
    for tested in
        [float("x[i].max(0.0)"), float("if x[i] == 0.0 { 1.0 } else { x[i] }"), float("x[i].abs()"), of("x[i] * n[i] as f32")]
    {
        let proof = proved(&tested, "{}");
        assert_eq!(proof.verdict(), Verdict::Tested, "{tested}");
        assert!(proof.equal.iter().any(|(_, fields)| *fields == 3), "{:?}", proof.equal);
    }
    assert_eq!(proved(&float("x[i] + x[N - 1 - i]"), "{}").verdict(), Verdict::Proved);
    // A rectifier that is dropped, and a branch on equality that is turned round.
    assert_eq!(against(&float("x[i]"), "{}", &float("x[i].max(0.0)")).verdict(), Verdict::Wrong);
    assert_eq!(
        against(&float("if x[i] == 0.0 { x[i] } else { 1.0 }"), "{}", &float("if x[i] != 0.0 { x[i] } else { 1.0 }")).verdict(),
        Verdict::Wrong
    );
}

#[test]
fn exponentials_obey_their_law() {
    let softmax = |weight: &str| {
        format!(
            "fn k<M, N>(x: f32[M, N]) -> y: f32[M, N] {{
                let m[i]: f32[M] = max(j in 0..N) {{ x[i, j] }};
                let l[i]: f32[M] = sum(j in 0..N) {{ (x[i, j] - m[i]).exp() }};
                y[i, j] = {weight};
            }}"
        )
    };
    let online = "{ decompose_online(m, l); }";
    let right = softmax("(x[i, j] - m[i]).exp() / l[i]");
    let proof = proved(&right, online);
    assert_eq!(proof.verdict(), Verdict::Tested, "{proof:?}");
    // The maximum cancels, so the same formula without it has the same value.
    let plain = "fn k<M, N>(x: f32[M, N]) -> y: f32[M, N] {
        let l[i]: f32[M] = sum(j in 0..N) { x[i, j].exp() };
        y[i, j] = x[i, j].exp() / l[i];
    }";
    assert_eq!(against(&right, online, plain).verdict(), Verdict::Tested);
    for stale in ["x[i, j].exp() / l[i]", "(x[i, j] - m[i]).exp() / (2.0 * l[i])", "(x[i, j] - m[i]).exp2() / l[i]"] {
        assert_eq!(against(&right, online, &softmax(stale)).verdict(), Verdict::Wrong, "{stale}");
    }
}

#[test]
fn functions_are_told_apart() {
    let of = |value: &str| format!("fn k<N>(x: f32[N], z: f32[N]) -> y: f32[N] {{ y[i] = {value}; }}");
    let all = [
        "x[i].exp_m1() + z[i]",
        "x[i].ln_1p() + z[i]",
        "x[i].log10() + z[i]",
        "x[i].round_ties_even() + z[i]",
        "x[i].round() + z[i]",
        "x[i].copysign(z[i])",
        "x[i].rem_euclid(z[i])",
        "x[i].div_euclid(z[i])",
        "x[i] % z[i]",
    ];
    for (n, value) in all.iter().enumerate() {
        assert_eq!(proved(&of(value), "{}").verdict(), Verdict::Proved, "{value}");
        let other = all[(n + 1) % all.len()];
        assert_eq!(against(&of(value), "{}", &of(other)).verdict(), Verdict::Wrong, "{value} and {other}");
    }
}

#[test]
fn what_is_not_shown_names_the_law() {
    let of = |value: &str| format!("fn k<N>(x: f32[N]) -> y: f32[N] {{ y[i] = {value}; }}");
    for (value, law) in [
        ("(x[i].exp() + 1.0).exp()", "an exponential of an exponential"),
        ("(x[i] as i32) as f32", "converted to an integer"),
        ("x[i].to_bits() as f32", "the bits of a float"),
        ("f32::from_bits(i as u32 + 1)", "the bits of an integer"),
    ] {
        let proof = proved(&of(value), "{}");
        let reasons: Vec<&String> = proof.not_shown.iter().flat_map(|(_, reasons)| reasons).collect();
        assert!(!reasons.is_empty() && reasons.iter().all(|reason| reason.contains(law)), "{value}: {reasons:?}");
        assert!(proof.equal.iter().all(|(dims, _)| dims.iter().any(|(_, n)| *n == 0)), "{value}: {:?}", proof.equal);
    }
    // The mean of no elements is NaN in the kernel, too.
    let mean = proved("fn k<N, M>(x: f32[N, M]) -> y: f32[N] { y[i] = sum(j in 0..M) { x[i, j] } / (M as f32); }", "{}");
    let open: Vec<&Dims> = mean.not_shown.iter().map(|(dims, _)| dims).collect();
    assert!(mean.verdict() == Verdict::Proved && open.iter().all(|dims| dims[1].1 == 0), "{mean:?}");
}

/// Exact arithmetic keeps half of a word as one element. So a byte beside a converted one is not known there, and not a fault.
#[test]
fn bytes_around_a_view_are_not_faults() {
    let kernel = "fn k<N, M>(x: f32[N, M]) -> y: u8[N, M] { y[i, j] = x[i, j] as u8; }";
    let proof = proved(kernel, "{ strided(y); }");
    assert_ne!(proof.verdict(), Verdict::Wrong, "{proof:?}");
}

#[test]
fn a_launch_that_is_refused_is_not_a_fault() {
    let module = compile::variant(PRODUCT, "V: k for p where M % 4 == 0 {}", &Profile::mesa_lavapipe())
        .unwrap_or_else(|e| panic!("{}", e.text));
    let subject = Subject::new(&module.program, &module.algorithm, vec![&module.nest]);
    let sizes = |m: i64| vec![("M".to_owned(), m), ("N".to_owned(), 3), ("K".to_owned(), 2)];
    let proof = prove_at(&subject, &Budget::default(), &[sizes(3), sizes(4)]).expect("it runs");
    assert_eq!((proof.verdict(), &proof.equal), (Verdict::Proved, &vec![(sizes(4), 1)]));
    let [(dims, reasons)] = &proof.not_shown[..] else { panic!("{:?}", proof.not_shown) };
    assert!(*dims == sizes(3) && reasons.iter().all(|reason| reason.starts_with("the launch is refused: ")), "{reasons:?}");
}

#[test]
fn a_difference_names_the_element() {
    let shifted = PRODUCT.replace("a[i, k]", "(a[i, k] + 1.0)");
    let proof = against(PRODUCT, TILED, &shifted);
    let Some((_, Outcome::Different { tensor, index, wanted, got })) = proof.wrong else { panic!("{proof:?}") };
    assert_eq!((tensor.as_str(), index.len()), ("c", 2));
    assert_ne!(wanted, got);
}

/// Integers of floats are not known in exact arithmetic. The host and the device agree on the known elements.
#[test]
fn packed_results_that_are_not_known_are_unpacked() {
    let kernel = "fn k<N>(x: f32[N, 4]) -> y: i8[N, N] { y[i, j] = x.clamp()[i, j] as i8; }";
    let proof = proved(kernel, "{ pack(y[a, b] => [a, b / 4, b % 4], when: caller); }");
    assert!(proof.wrong.is_none() && proof.not_shown.len() > 5, "{proof:?}");
}
