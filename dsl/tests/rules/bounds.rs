//! The arithmetic of bounds and intervals: all small ones, with and without ends, hold every value.

use tilewright_dsl::launch::{Bounds, Interval, Size};

/// The least and the greatest number that a bound names, and one more number on each side that an open bound includes.
const FAR: i64 = 4;

/// Returns all bounds of small numbers, open ones included, each with the numbers in it.
fn all() -> Vec<(Bounds, Vec<i64>)> {
    let ends: Vec<i64> = (-FAR..=FAR).collect();
    let lows = ends.iter().copied().chain([i64::MIN]);
    lows.flat_map(|low| ends.iter().copied().chain([i64::MAX]).map(move |high| Bounds(low, high)))
        .filter(|b| b.0 <= b.1)
        .map(|b| (b, (b.0.max(-3 * FAR)..=b.1.min(3 * FAR)).collect()))
        .collect()
}

/// Checks an operation on bounds with each pair of numbers in each pair of bounds.
fn check(name: &str, bounds: fn(Bounds, Bounds) -> Bounds, value: fn(i64, i64) -> Option<i64>) {
    for (a, xs) in all() {
        for (b, ys) in all() {
            let result = bounds(a, b);
            for x in &xs {
                for value in ys.iter().filter_map(|y| value(*x, *y)) {
                    assert!(result.0 <= value && value <= result.1, "{name} of {a:?} and {b:?}: {result:?} lacks {value}");
                }
            }
        }
    }
}

#[test]
fn bounds_hold_every_value() {
    check("the sum", Bounds::plus, |x, y| Some(x + y));
    check("the difference", Bounds::minus, |x, y| Some(x - y));
    check("the product", Bounds::times, |x, y| Some(x * y));
    check("the quotient", Bounds::over, |x, y| (y > 0).then(|| x.div_euclid(y)));
    check("the remainder", Bounds::modulo, |x, y| (y > 0).then(|| x.rem_euclid(y)));
    check("the minimum", Bounds::least, |x, y| Some(x.min(y)));
    check("the maximum", Bounds::most, |x, y| Some(x.max(y)));
    check("either", Bounds::either, |x, _| Some(x));
    check("either", Bounds::either, |_, y| Some(y));
}

/// An end that is open stays open, whatever is added, so that a quotient of it is open, too.
#[test]
fn open_ends_stay_open() {
    let is_open = |n: i64| n == i64::MIN || n == i64::MAX;
    for (a, _) in all() {
        for (b, _) in all() {
            let (sum, difference) = (a.plus(b), a.minus(b));
            assert_eq!(is_open(sum.0), is_open(a.0) || is_open(b.0), "{a:?} + {b:?}");
            assert_eq!(is_open(sum.1), is_open(a.1) || is_open(b.1), "{a:?} + {b:?}");
            assert_eq!(is_open(difference.0), is_open(a.0) || is_open(b.1), "{a:?} - {b:?}");
            assert_eq!(is_open(difference.1), is_open(a.1) || is_open(b.0), "{a:?} - {b:?}");
        }
    }
}

/// The sizes of an interval's ends, evaluated for each pair of dims, enclose the values of the operation.
#[test]
fn intervals_hold_every_value() {
    let operand = |dim: u32, by: i64, past: i64| Interval::below(Size::Dim(dim)).scaled(by).plus(Interval::of(Size::Const(past)));
    type Case = (&'static str, fn(Interval, Interval) -> Interval, fn(i64, i64) -> Option<i64>);
    let cases: [Case; 6] = [
        ("the sum", Interval::plus, |x, y| Some(x + y)),
        ("the product", Interval::times, |x, y| Some(x * y)),
        ("the quotient", Interval::over, |x, y| (y > 0).then(|| x.div_euclid(y))),
        ("the remainder", Interval::modulo, |x, y| (y > 0).then(|| x.rem_euclid(y))),
        ("the minimum", Interval::least, |x, y| Some(x.min(y))),
        ("the maximum", Interval::most, |x, y| Some(x.max(y))),
    ];
    for (name, combine, value) in cases {
        for (by, past) in [-2, -1, 1, 3].into_iter().flat_map(|by| (-3..4).map(move |past| (by, past))) {
            for (other, beyond) in [-1, 1, 2].into_iter().flat_map(|by| (-2..4).map(move |past| (by, past))) {
                let interval = combine(operand(0, by, past), operand(1, other, beyond));
                for dims in (1..5).flat_map(|n| (1..4).map(move |m| [n, m])) {
                    let ends = [&interval.least, &interval.most].map(|end| end.eval_wide(&dims));
                    let points = (0..dims[0]).flat_map(|i| (0..dims[1]).map(move |j| (i * by + past, j * other + beyond)));
                    for value in points.filter_map(|(x, y)| value(x, y)) {
                        let [Some(least), Some(most)] = ends else { panic!("{name}: {interval:?} at {dims:?}") };
                        assert!((least..=most).contains(&value.into()), "{name}: {interval:?} at {dims:?} lacks {value}");
                    }
                }
            }
        }
    }
}
