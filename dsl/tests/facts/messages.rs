//! Tests the prover's output: counterexamples, contradictions, bounds, claims as text, and its assumptions.

use crate::facts::world::World;
use tilewright_dsl::facts::{Claim, Poly, Prover};

fn counterexample(dims: &str, axes: &str, conditions: &str, index: &str, extent: &str) -> (String, Option<String>) {
    let mut world = World::new(dims, axes, conditions);
    let claim = Claim::Inside(world.expr(index).into(), world.expr(extent).into());
    let prover = Prover::new(&world.program);
    (prover.show_claim(claim), prover.counterexample(claim).map(|c| c.to_string()))
}

#[test]
fn counterexamples_are_small() {
    let found = counterexample("IW; FW; OW = IW - FW + 2", "ow < OW; fw < FW", "FW == 3", "ow + fw", "IW");
    assert_eq!(found, ("0 <= ow + fw < IW".into(), Some("IW = 2, FW = 3, ow = 0, fw = 2".into())));
    let found = counterexample("N", "i < N", "N % 32 == 0", "i * 2", "N");
    assert_eq!(found, ("0 <= i * 2 < N".into(), Some("N = 32, i = 31".into())));
    let found = counterexample("N", "i < N; j < i + 1", "", "j - 1", "N");
    assert_eq!(found, ("0 <= j - 1 < N".into(), Some("N = 1, i = 0, j = 0".into())));
    let found = counterexample("N; M", "i < N", "M == 7", "i - (M - 2) / 3 % 2", "N");
    assert_eq!(found, ("0 <= i - (M - 2) / 3 % 2 < N".into(), Some("N = 1, M = 7, i = 0".into())));
    let found = counterexample("N", "i < N", "", "i", "N");
    assert_eq!(found.1, None);
}

#[test]
fn counterexamples_respect_assumptions() {
    let mut world = World::new("N; M", "i < N", "");
    let claim = Claim::Less(world.expr("i").into(), world.expr("M").into());
    let cond = world.expr("i + 2 < M");
    let prover = Prover::new(&world.program);
    assert_eq!(prover.assuming(cond, true).counterexample(claim), None);
    let found = prover.assuming(cond, false).counterexample(claim).map(|c| c.to_string());
    assert_eq!(found.as_deref(), Some("N = 2, M = 1, i = 1"));
}

#[test]
fn contradictions_name_the_fewest_conditions() {
    let contradiction = |dims: &str, conditions: &str| {
        let world = World::new(dims, "", conditions);
        let which = Prover::new(&world.program).contradiction();
        which.map(|which| which.iter().map(|i| world.program.checks.conditions[*i].text.clone()).collect::<Vec<_>>().join(", "))
    };
    let is = |dims: &str, conditions: &str, expected: &str| {
        assert_eq!(contradiction(dims, conditions).as_deref(), Some(expected), "{conditions}");
    };
    is("N; M", "M > 3; N % 4 == 0; N == 6", "N % 4 == 0, N == 6");
    is("N; M", "N < 2; M == 1; N > 5", "N < 2, N > 5");
    is("N", "N < 0", "N < 0");
    is("N", "N != 4; N == 4", "N != 4, N == 4");
    is("N; M; K", "N < M; M < K; K < N; N > 1", "N < M, M < K, K < N");
    is("N; M", "N == M; N % 2 == 0; M % 2 == 1", "N == M, N % 2 == 0, M % 2 == 1");
    is("IW; OW = (IW - 3) / 2 + 1", "OW % 8 == 0; IW == 6", "OW % 8 == 0, IW == 6");
    is("IW; OW = (IW - 3) / 2 + 1", "IW == 0; IW >= 0", "IW == 0");
    for possible in ["N % 4 == 0; N == 8", "N >= 2; N <= 2", "N != 4; N <= 4", "N % 2 == 1; N % 3 == 2; N > 100"] {
        assert_eq!(contradiction("N", possible), None, "{possible}");
    }
}

#[test]
fn redundant_conditions() {
    let world = World::new("N; M", "", "N % 8 == 0; N % 4 == 0; N == M; M % 2 == 0; M >= 0; N >= 8");
    let prover = Prover::new(&world.program);
    let redundant: Vec<usize> = (0..6).filter(|i| prover.is_redundant(*i)).collect();
    assert_eq!(redundant, [1, 3, 4]);
}

#[test]
fn bounds() {
    let mut world = World::new("N; M; OW = (N - 3) / 2 + 1", "i < N; l < 4; m < 3; k < i + 1", "M <= 20; M >= 7");
    let expected = [
        ("l * 4 + m", Some(0), Some(14)),
        ("i", Some(0), None),
        ("i % 5", Some(0), Some(4)),
        ("i - N", None, Some(-1)),
        ("M", Some(7), Some(20)),
        ("M / 4 + l", Some(1), Some(8)),
        ("i - k", Some(0), None),
        ("min(i, 6) - 2", Some(-2), Some(4)),
        ("17", Some(17), Some(17)),
        ("N - 2 * OW", Some(1), Some(2)),
    ];
    let queries: Vec<_> = expected.iter().map(|(text, low, high)| (*text, world.expr(text), *low, *high)).collect();
    let prover = Prover::new(&world.program);
    for (text, e, low, high) in queries {
        assert_eq!((prover.lower(e), prover.upper(e)), (low, high), "{text}");
    }
}

#[test]
fn assumptions_hold_where_they_were_made() {
    let mut world = World::new("N; M", "i < N; j < M", "");
    let (i, j, n, m) = (world.expr("i"), world.expr("j"), world.expr("N"), world.expr("M"));
    let cond = world.expr("i < M && !(N <= j || N % 4 != 0)");
    let prover = Prover::new(&world.program);
    let assumed = prover.assuming(cond, true);
    assert!(assumed.less(i, m) && assumed.less(j, n) && assumed.divides(4, n) && assumed.at_least(n, 4) && assumed.positive(m));
    assert!(!prover.less(i, m) && !prover.less(j, n) && !prover.divides(4, n) && !prover.positive(n) && !prover.positive(m));
    let otherwise = prover.assuming(cond, false);
    assert!(!otherwise.less(i, m) && !otherwise.divides(4, n));
    // The axes that the condition names were in range where it was evaluated.
    assert!(otherwise.positive(m) && otherwise.positive(n));
    let within = prover.within([world.axis_id("i")]);
    assert!(within.positive(n) && !within.positive(m) && !within.is_impossible());
    let never = world.expr("i >= N");
    assert!(Prover::new(&world.program).assuming(never, true).is_impossible());
}

#[test]
fn polynomials_are_operands_and_texts() {
    let mut world = World::new("N; S; OW = (N - 3) / S + 1", "i < OW; f < 3", "S >= 1; N % 2 == 0");
    let (e, n) = (world.expr("i * S + f"), world.expr("N"));
    let prover = Prover::new(&world.program);
    let p = prover.poly(e).expect("a polynomial");
    assert!(prover.less(&p, n) && prover.nonneg(&p) && !prover.positive(&p));
    let twice = p.add(&p).expect("small");
    assert!(prover.divides(2, &twice) && !prover.divides(4, &twice));
    assert_eq!(prover.show(&twice), "2 * S * i + 2 * f");
    assert_eq!(prover.show(e), "i * S + f");
    assert_eq!(prover.show(&Poly::constant(-3)), "-3");
    assert_eq!(prover.poly(n).map(|p| prover.show(&p)).as_deref(), Some("2 * (N / 2)"));
}

#[test]
fn data_and_overflow_are_not_proved() {
    let mut world = World::new("N", "i < N", "");
    let (i, n) = (world.expr("i"), world.expr("N"));
    let mut huge = world.expr("2147483647");
    let mut deep = i;
    for _ in 0..6 {
        huge = world.program.exprs.binary(tilewright_dsl::expr::Binary::Mul, huge, n);
    }
    for _ in 0..5000 {
        deep = world.program.exprs.sum(deep, i);
    }
    let square = world.program.exprs.binary(tilewright_dsl::expr::Binary::Mul, huge, huge);
    let scalar = world.program.exprs.scalar(tilewright_dsl::arena::Id::new(0), tilewright_dsl::launch::DType::I32);
    let prover = Prover::new(&world.program);
    for e in [square, deep, scalar] {
        assert!(prover.poly(e).is_none() && !prover.nonneg(e) && !prover.divides(1, e) && prover.upper(e).is_none());
        assert!(prover.counterexample(Claim::Less(e.into(), 0.into())).is_none() || e != scalar);
    }
    assert!(!prover.divides(0, i) && !prover.divides(-2, i));
}
