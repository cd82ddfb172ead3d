//! Tests that the known bounds of a result hold for all values of its operands. The values are compared with f32 and f16 arithmetic, with
//! subnormal numbers kept or flushed to 0.

use half::f16;
use proptest::prelude::*;
use tilewright_dsl::launch::{DType, Relation};
use tilewright_dsl::nest::known::Known;

/// Generates numbers of all kinds: of any size, at the limits of the type, and NaN.
fn number() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => any::<i8>().prop_map(f32::from),
        4 => any::<f32>(),
        1 => Just(0.0),
        1 => Just(f32::INFINITY),
        1 => Just(f32::NEG_INFINITY),
        1 => Just(f32::NAN),
        1 => Just(f32::MAX),
        1 => Just(f32::MIN_POSITIVE),
        1 => Just(-f32::MIN_POSITIVE / 2.0),
    ]
}

/// Returns the known bounds of a value that is one of `values`.
fn one_of(values: &[f32]) -> Known {
    let all = values.iter().map(|value| Known::exactly(f64::from(*value)));
    all.reduce(Known::or).expect("a value").flushed(DType::F32)
}

/// Returns the values that an operand may have: also 0 for subnormal values, because devices may flush them.
fn taken(values: &[f32]) -> Vec<f32> {
    values.iter().flat_map(|value| if value.is_subnormal() { vec![*value, 0.0] } else { vec![*value] }).collect()
}

/// Returns the results that a device may give instead of this one.
fn given(result: f32) -> Vec<f64> {
    let flushed = result.is_subnormal().then_some(0.0);
    [f64::from(result)].into_iter().chain(flushed).collect()
}

fn check(known: Known, results: impl IntoIterator<Item = f32>, what: &str) {
    for result in results.into_iter().flat_map(given) {
        assert!(known.admits(result), "{what} gives {result:e}, and {known:?} is said");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn of_two(a in prop::collection::vec(number(), 1..4), b in prop::collection::vec(number(), 1..4)) {
        let (x, y) = (one_of(&a), one_of(&b));
        let (a, b) = (taken(&a), taken(&b));
        let pairs = |f: fn(f32, f32) -> f32| a.iter().flat_map(|a| b.iter().map(|b| f(*a, *b)).collect::<Vec<_>>()).collect::<Vec<_>>();
        check(x.plus(y).rounded(DType::F32), pairs(|a, b| a + b), "+");
        check(x.plus(y.negative()).rounded(DType::F32), pairs(|a, b| a - b), "-");
        check(x.times(y).rounded(DType::F32), pairs(|a, b| a * b), "*");
        check(x.times_plus(y, x, DType::F32), pairs(|a, b| a.mul_add(b, a)), "mul_add");
        check(x.times_plus(y, x, DType::F32), pairs(|a, b| a * b + a), "* and +");
        check(x.over(y, DType::F32), pairs(|a, b| a / b), "/");
        check(x.extreme(y, true), pairs(f32::max), "max");
        check(x.extreme(y, false), pairs(f32::min), "min");
        check(x.or(y), a.iter().chain(&b).copied(), "either");
    }

    #[test]
    fn of_one(a in prop::collection::vec(number(), 1..5), bound in number()) {
        let x = one_of(&a);
        let a = taken(&a);
        let each = |f: fn(f32) -> f32| a.iter().map(|a| f(*a)).collect::<Vec<_>>();
        check(x.negative(), each(|a| -a), "-");
        check(x.magnitude(), each(f32::abs), "abs");
        check(x.root(DType::F32), each(f32::sqrt), "sqrt");
        check(x.exponential(DType::F32), each(f32::exp), "exp");
        check(x.exponential(DType::F32), each(f32::exp2), "exp2");
        check(x.rounded(DType::F16), each(|a| f16::from_f32(a).to_f32()), "as f16");
        for infinity in [f64::INFINITY, f64::NEG_INFINITY] {
            check(x.except(infinity), a.iter().copied().filter(|a| f64::from(*a) != infinity), "except");
        }
        if bound.is_finite() {
            for relation in [Relation::Eq, Relation::Ne, Relation::Lt, Relation::Le, Relation::Gt, Relation::Ge] {
                let that_is = a.iter().copied().filter(|a| relation.holds(*a, bound));
                let known = x.that_is(relation, f64::from(bound));
                for value in that_is {
                    prop_assert!(known.admits(f64::from(value)), "{value} {} {bound}, and {known:?} is said", relation.symbol());
                }
            }
        }
    }

    #[test]
    fn of_sums(items in prop::collection::vec(number(), 1..40)) {
        let one = one_of(&items);
        let sum = items.iter().fold(0.0f32, |sum, item| sum + item);
        check(one.summed(items.len() as f64, DType::F32), [sum], "a sum");
    }
}

/// Checks the rules that proofs rely on with exact results.
#[test]
fn exactly() {
    let (least, half) = (Known::exactly(f64::NEG_INFINITY), Known::within(0.5, 2.0));
    assert!(least.times_plus(half, Known::within(-7.0, 7.0), DType::F32).exponential(DType::F32).is(0.0));
    assert!(Known::exactly(0.0).times(half).is(0.0));
    assert_eq!(Known::exactly(0.0).times(Known::any(DType::F32)).value(), None, "0 times infinity is NaN");
    assert!(!least.times(Known::within(0.0, 2.0)).is(f64::NEG_INFINITY), "-inf times 0 is NaN");
    assert!(least.extreme(half, true).is_finite());
    assert!(Known::within(1.0, 2.0).that_is(Relation::Lt, 1.0).is_impossible());
    assert!(!Known::within(1.0, 2.0).that_is(Relation::Le, 1.0).is_impossible());
    assert!(Known::any(DType::I32).is_finite() && !Known::any(DType::F16).is_finite());
    assert!(!Known::within(1e-30, 1.0).times(Known::within(1e-30, 1.0)).rounded(DType::F32).is_above_zero(), "it may be flushed");
    assert!(Known::finite(DType::F16).times(Known::finite(DType::F16)).rounded(DType::F32).summed(64.0, DType::F32).is_finite());
    assert!(!Known::finite(DType::F32).times(Known::finite(DType::F32)).rounded(DType::F32).is_finite());
}
