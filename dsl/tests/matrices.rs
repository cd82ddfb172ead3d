//! Tests the matrices of Winograd's filtering against the identity that defines them.

use num_traits::{One, Zero};
use tilewright_dsl::schedule::algebra::winograd::matrices::{Matrices, Rational, usual};

/// Checks the defining identity exactly: `sum(j) AT[i, j] G[j, k] BT[j, s]` is 1 if `s = i + k`, and 0 otherwise.
fn check(m: usize, r: usize, points: &[Rational]) {
    let matrices = Matrices::new(m, r, points).expect("distinct points");
    for i in 0..m {
        for k in 0..r {
            for s in 0..m + r - 1 {
                let terms = (0..m + r - 1).map(|j| matrices.result[i][j] * matrices.filter[j][k] * matrices.input[j][s]);
                let wanted = if s == i + k { Rational::one() } else { Rational::zero() };
                assert_eq!(terms.sum::<Rational>(), wanted, "F({m}, {r}) at {i}, {k}, {s}");
            }
        }
    }
}

#[test]
fn the_identity() {
    for (m, r) in [(2, 3), (4, 3), (6, 3), (2, 5)] {
        check(m, r, &usual(m + r - 2).expect("points"));
    }
    let points: Vec<Rational> = [0, 1, -1, 2, -2].into_iter().map(Rational::from_integer).collect();
    check(4, 3, &points);
    check(2, 5, &points);
    let points = [(1, 3), (5, 1), (-7, 2)].map(|(a, b)| Rational::new(a, b));
    check(2, 3, &points);
}

#[test]
fn growth_of_the_usual_points() {
    let growth = |m: usize, r: usize| Matrices::new(m, r, &usual(m + r - 2).expect("points")).expect("distinct").growth();
    for (got, wanted) in [(growth(2, 3), 1.67), (growth(4, 3), 4.76), (growth(6, 3), 20.6)] {
        assert!((got / wanted - 1.0).abs() < 0.01, "{got} is not {wanted}");
    }
    let points: Vec<Rational> = [0, 1, -1, 2, -2].into_iter().map(Rational::from_integer).collect();
    assert!((Matrices::new(4, 3, &points).expect("distinct").growth() / 10.8 - 1.0).abs() < 0.01);
}

#[test]
fn equal_points() {
    assert!(Matrices::new(2, 3, &[Rational::one(), Rational::one(), Rational::zero()]).is_none());
}
