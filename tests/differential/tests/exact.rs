//! Kernels that exact arithmetic took for wrong, because it lacked a law.

use tilewright_differential::compile;
use tilewright_dsl::launch::Feature;
use tilewright_dsl::profile::Profile;
use tilewright_prove::{Outcome, Subject, run};

/// Returns the outcomes of runs in several fields.
fn outcomes(kernel: &str, schedule: &str, sizes: &[(&str, i64)]) -> Vec<Outcome> {
    let profile = Profile { features: [Feature::Storage16, Feature::F16].into(), ..Profile::vulkan_1_1() };
    let variant = compile::variant(kernel, schedule, &profile).unwrap_or_else(|refusal| panic!("{}", refusal.text));
    let subject = Subject::new(&variant.program, &variant.algorithm, vec![&variant.nest]);
    let dims = sizes.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
    (0..8).map(|seed| run(&subject, &dims, seed).expect("it runs").outcome).collect()
}

/// The compiler has computed that an item of zeros is 1, by comparing 1.5 with 1.
#[test]
fn constants_in_order() {
    let kernel = "fn k(x: f16[2], N: dim) -> y: f16[N] { y[i] = prod(k in 0..2) { (x[k] * x[k] + 1.5).min(1.0) }; }";
    let schedule = "V: k for p { tile(k: 128 round_up => k_o); distribute(i => workgroup(y)); }";
    assert_eq!(outcomes(kernel, schedule, &[("N", 2)]), vec![Outcome::Equal; 8]);
}

/// An accumulator of two elements begins with a word of two infinities. Its halves are stored, and are not the names of inputs.
#[test]
fn halves_of_a_literal() {
    let kernel = "fn k<N, M>(x: bf16[M, N]) -> y: bf16[N, M] { y[i, j] = min(l in 0..N, q in 1..1) { x[j, l] }; }";
    let schedule = "V: k for p where M % 4 == 0 { fuse(i, j => p); tile(p: 2) => workgroup(x); vectorize(p, 2); }";
    let reason = "a float of the bits of an integer";
    assert_eq!(outcomes(kernel, schedule, &[("N", 1), ("M", 4)]), vec![Outcome::NotShown([reason.to_owned()].into()); 8]);
}

/// The bins of floats are not known. Updates of the same unknown bin are not a race, because each invocation has a row of its own.
#[test]
fn bins_of_floats() {
    let kernel = "fn k<R, C>(x: f32[R, C]) -> count: i32[R, 8] { count[r, b] = sum(c in 0..C) where x[r, c] as i32 == b { 1 }; }";
    let schedule = "V: k for p { scatter(b); tile(r: 8) => workgroup(x); distribute(r => thread(x)); }";
    let reason = "a float that is converted to an integer";
    assert_eq!(outcomes(kernel, schedule, &[("R", 9), ("C", 5)]), vec![Outcome::NotShown([reason.to_owned()].into()); 8]);
}
