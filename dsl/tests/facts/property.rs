//! Random indices in random programs: every proved claim is true at every point of small domains, and every counterexample is valid. The
//! seed is fixed. Set `PROPTEST_CASES` for a longer run.

use crate::facts::brute::{Env, axes_of, eval, points, sizes};
use crate::facts::world::World;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tilewright_dsl::expr::ExprId;
use tilewright_dsl::facts::{Claim, Prover};

const DIMS: &str = "N; M; Q = (N - 3) / 2 + 1; R = (M + 3) / 4";
const AXES: &str = "i < N; j < M; t < i + 1; p < N * M; q < Q; r < R; l < 4; s < N / 2; w < N - i";
const LEAVES: [&str; 15] = ["N", "M", "Q", "R", "i", "j", "t", "p", "q", "r", "l", "s", "w", "1", "3"];
const CONDITIONS: [&str; 18] = [
    "N % 2 == 0",
    "M % 4 == 0",
    "N % 3 == 1",
    "Q % 2 == 0",
    "(N + M) % 4 == 0",
    "(3 * M) % 2 == 0",
    "M % 2 == N % 2",
    "N >= 1",
    "M > 2",
    "N < M",
    "N == M",
    "M == 2 * N",
    "N != 0",
    "M != 4",
    "N <= 6",
    "Q == M",
    "N * M >= 2",
    "2 * R != M",
];

/// The most points at which a claim is compared with the truth, because conditions that name every axis have millions.
const MAX_POINTS: usize = 8_000;

fn cases() -> Config {
    // Each case evaluates thousands of points.
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(48);
    Config { cases, failure_persistence: None, ..Config::default() }
}

fn run<S: Strategy>(strategy: S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let mut runner = TestRunner::new_with_rng(cases(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    if let Err(error) = runner.run(&strategy, test) {
        panic!("{error}");
    }
}

/// Generates an index as text.
fn index() -> impl Strategy<Value = String> {
    let leaf = select(LEAVES.to_vec()).prop_map(String::from);
    let divisor = select(vec!["2", "3", "4", "N", "M", "(N + 1)", "(M * N)"]);
    leaf.prop_recursive(3, 12, 2, move |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            3 => pair.clone().prop_map(|(a, b)| format!("({a} + {b})")),
            2 => pair.clone().prop_map(|(a, b)| format!("({a} - {b})")),
            2 => pair.clone().prop_map(|(a, b)| format!("({a} * {b})")),
            3 => (inner.clone(), divisor.clone()).prop_map(|(a, b)| format!("({a} / {b})")),
            3 => (inner.clone(), divisor.clone()).prop_map(|(a, b)| format!("({a} % {b})")),
            1 => pair.clone().prop_map(|(a, b)| format!("min({a}, {b})")),
            1 => pair.clone().prop_map(|(a, b)| format!("max({a}, {b})")),
            1 => (pair.clone(), condition(inner.clone())).prop_map(|((a, b), c)| format!("if({c}, {a}, {b})")),
            1 => inner.clone().prop_map(|a| format!("i32(u32({a}))")),
            1 => (inner.clone(), inner).prop_map(|(a, b)| format!("div({a}, {b})")),
        ]
    })
}

fn condition(inner: impl Strategy<Value = String> + Clone + 'static) -> impl Strategy<Value = String> {
    let comparison = (inner.clone(), select(vec!["<", "<=", "==", "!=", ">="]), inner);
    let comparison = comparison.prop_map(|(a, op, b)| format!("{a} {op} {b}"));
    prop_oneof![
        4 => comparison.clone(),
        1 => (comparison.clone(), comparison.clone()).prop_map(|(a, b)| format!("({a} && {b})")),
        1 => (comparison.clone(), comparison.clone()).prop_map(|(a, b)| format!("({a} || {b})")),
        1 => comparison.prop_map(|a| format!("!({a})")),
    ]
}

fn conditions() -> impl Strategy<Value = String> {
    subsequence(CONDITIONS.to_vec(), 0..4).prop_map(|c| c.join(";"))
}

fn truth(claim: &Claim<'static>, world: &World, env: &Env, leaves: bool) -> Option<bool> {
    let value = |operand: &tilewright_dsl::facts::Operand<'_>| match operand {
        tilewright_dsl::facts::Operand::Expr(e) => eval(&world.program, *e, env, leaves),
        tilewright_dsl::facts::Operand::Int(n) => Some(*n),
        tilewright_dsl::facts::Operand::Poly(_) => None,
    };
    Some(match claim {
        Claim::Less(a, b) => value(a)? < value(b)?,
        Claim::LessEqual(a, b) => value(a)? <= value(b)?,
        Claim::Equal(a, b) => value(a)? == value(b)?,
        Claim::Inside(a, b) => (0..value(b)?).contains(&value(a)?),
        Claim::Divides(c, a) => value(a)?.rem_euclid(*c) == 0,
    })
}

/// Returns the first point at which the claim is false, among the points at which the assumption holds.
fn refuted(world: &World, claim: Claim<'static>, named: &[ExprId], assumed: Option<(ExprId, bool)>, leaves: bool) -> Option<Env> {
    let mut all = named.to_vec();
    all.extend(assumed.map(|(cond, _)| cond));
    let axes = axes_of(&world.program, &all, leaves);
    let (mut found, mut left) = (None, MAX_POINTS);
    points(world, &axes, leaves, &mut |env| {
        let here = assumed.is_none_or(|(cond, holds)| eval(&world.program, cond, env, leaves) == Some(i64::from(holds)));
        // A divisor below 1 counts as false, except in a `select` that may not use it.
        let chooses = |e: &ExprId| world.program.exprs.any(*e, &mut |e| matches!(e, tilewright_dsl::expr::Expr::Select(..)));
        let is = truth(&claim, world, env, leaves);
        if here && is != Some(true) && (is.is_some() || !named.iter().any(chooses)) {
            found = Some(env.clone());
        }
        left -= 1;
        found.is_none() && left > 0
    });
    found
}

/// Returns the claims about two indices that the prover proves.
fn proved(prover: &Prover<'_>, a: ExprId, b: ExprId) -> Vec<(Claim<'static>, Vec<ExprId>)> {
    let both = vec![a, b];
    let mut claims: Vec<(Claim<'static>, Vec<ExprId>)> = vec![
        (Claim::Less(a.into(), b.into()), both.clone()),
        (Claim::LessEqual(a.into(), b.into()), both.clone()),
        (Claim::Equal(a.into(), b.into()), both.clone()),
        (Claim::Inside(a.into(), b.into()), both),
    ];
    claims.extend((2..7).map(|c| (Claim::Divides(c, a.into()), vec![a])));
    claims.retain(|(claim, _)| prover.proves(*claim));
    if let Some(upper) = prover.upper(a) {
        claims.push((Claim::LessEqual(a.into(), upper.into()), vec![a]));
    }
    if let Some(lower) = prover.lower(a) {
        claims.push((Claim::LessEqual(lower.into(), a.into()), vec![a]));
    }
    claims
}

#[test]
fn proved_claims_are_true() {
    run((conditions(), index(), index()), |(conditions, a, b)| {
        let mut world = World::new(DIMS, AXES, &conditions);
        let (a, b) = (world.expr(&a), world.expr(&b));
        let prover = Prover::new(&world.program);
        for (claim, named) in proved(&prover, a, b) {
            let found = refuted(&world, claim, &named, None, false);
            prop_assert!(found.is_none(), "{} is false at {found:?}", prover.show_claim(claim));
        }
        Ok(())
    });
}

#[test]
fn differences_of_near_values_are_true() {
    // Bounds of differences are proved far more often than claims about unrelated values.
    run((conditions(), index(), select(LEAVES.to_vec())), |(conditions, a, b)| {
        let mut world = World::new(DIMS, AXES, &conditions);
        let (less, more) = (world.expr(&format!("{a} - {b}")), world.expr(&format!("{a} * 4 % (N + 4) + {b}")));
        let prover = Prover::new(&world.program);
        for (claim, named) in proved(&prover, less, more) {
            let found = refuted(&world, claim, &named, None, false);
            prop_assert!(found.is_none(), "{} is false at {found:?}", prover.show_claim(claim));
        }
        Ok(())
    });
}

#[test]
fn claims_under_assumptions_are_true() {
    let strategy = (conditions(), index(), index(), condition(index().boxed()), any::<bool>());
    run(strategy, |(conditions, a, b, cond, holds)| {
        let mut world = World::new(DIMS, AXES, &conditions);
        let (a, b, cond) = (world.expr(&a), world.expr(&b), world.expr(&cond));
        let prover = Prover::new(&world.program).assuming(cond, holds);
        for (claim, named) in proved(&prover, a, b) {
            let found = refuted(&world, claim, &named, Some((cond, holds)), false);
            prop_assert!(found.is_none(), "{} is false at {found:?}", prover.show_claim(claim));
        }
        Ok(())
    });
}

#[test]
fn claims_on_leaves_are_true() {
    let forms = select(vec![0, 1, 2, 3]);
    run((conditions(), index(), index(), forms), |(conditions, a, b, form)| {
        let mut world = World::new(DIMS, AXES, &conditions);
        if form & 1 == 1 {
            world.split("i", 4, "i_o", "i_i", false);
        }
        if form & 2 == 2 {
            world.fuse(&["q", "j"], "f");
            world.split("f", 3, "f_o", "f_i", false);
        }
        let (a, b) = (world.expr(&a), world.expr(&b));
        let prover = Prover::on_leaves(&world.program);
        for (claim, named) in proved(&prover, a, b) {
            let found = refuted(&world, claim, &named, None, true);
            prop_assert!(found.is_none(), "{} is false at {found:?}", prover.show_claim(claim));
        }
        Ok(())
    });
}

#[test]
fn contradictions_are_contradictions() {
    run(subsequence(CONDITIONS.to_vec(), 1..7), |conditions| {
        let world = World::new(DIMS, AXES, &conditions.join(";"));
        let prover = Prover::new(&world.program);
        if let Some(which) = prover.contradiction() {
            prop_assert!(!which.is_empty());
            let mut satisfied = false;
            sizes(&world.program, &|i| which.contains(&i), |_| satisfied = true);
            prop_assert!(!satisfied, "{which:?} of {conditions:?} can hold");
        }
        for i in 0..conditions.len() {
            if prover.is_redundant(i) {
                let (mut all, mut fewer) = (0, 0);
                sizes(&world.program, &|_| true, |_| all += 1);
                sizes(&world.program, &|other| other != i, |_| fewer += 1);
                prop_assert_eq!(all, fewer, "`{}` is not redundant in {:?}", conditions[i], conditions);
            }
        }
        Ok(())
    });
}

#[test]
fn counterexamples_are_counterexamples() {
    run((conditions(), index(), index()), |(conditions, a, b)| {
        let mut world = World::new(DIMS, AXES, &conditions);
        let (a, b) = (world.expr(&a), world.expr(&b));
        let prover = Prover::new(&world.program);
        let claims = [
            Claim::Less(a.into(), b.into()),
            Claim::Equal(a.into(), b.into()),
            Claim::Inside(a.into(), b.into()),
            Claim::Divides(4, a.into()),
        ];
        for claim in claims {
            let Some(found) = prover.counterexample(claim) else { continue };
            prop_assert!(!prover.proves(claim), "{} is proved", prover.show_claim(claim));
            let mut env = Env::default();
            let program = &world.program;
            for (name, value) in &found.values {
                let value = *value;
                if let Some((id, _)) = program.dims.iter().find(|(_, d)| d.name == *name) {
                    env.dims.insert(id, value);
                } else {
                    env.axes.insert(world.axis_id(name), value);
                }
            }
            for (id, dim) in program.dims.iter() {
                if let Some(value) = dim.derived {
                    // Dims that do not concern the claim are not named.
                    let Some(value) = known(program, value, &env).then(|| eval(program, value, &env, false)).flatten() else {
                        continue;
                    };
                    prop_assert!(value >= 0, "{found}");
                    prop_assert_eq!(*env.dims.entry(id).or_insert(value), value, "{}", found);
                }
            }
            for (axis, value) in env.axes.clone() {
                let extent = eval(program, program.axes[axis].extent, &env, false);
                prop_assert!(extent.is_some_and(|extent| (0..extent).contains(&value)), "{found}");
            }
            for c in &program.checks.conditions {
                if known(program, c.left, &env) && known(program, c.right, &env) {
                    let sides = eval(program, c.left, &env, false).zip(eval(program, c.right, &env, false));
                    prop_assert!(sides.is_some_and(|(a, b)| c.relation.holds(a, b)), "{found} against {}", c.text);
                }
            }
            prop_assert_eq!(truth(&claim, &world, &env, false), Some(false), "{} at {}", prover.show_claim(claim), found);
        }
        Ok(())
    });
}

/// True if all dims in an expression have values.
fn known(program: &tilewright_dsl::nest::Program, e: ExprId, env: &Env) -> bool {
    !program.exprs.any(e, &mut |e| matches!(e, tilewright_dsl::expr::Expr::Dim(d) if !env.dims.contains_key(d)))
}
