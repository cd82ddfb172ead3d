//! Tests the error function, which is computed by one method for small arguments and by another one from 3 on.

use std::f64::consts::FRAC_2_SQRT_PI;
use tilewright_dsl::expr::Unary;

fn erf(x: f64) -> f64 {
    Unary::Erf.of_float(x)
}

/// Checks values of Abramowitz and Stegun, table 7.1, and special values.
#[test]
fn values_of_the_table() {
    let known = [(0.5, 0.520_499_877_8), (1.0, 0.842_700_792_9), (1.5, 0.966_105_146_5), (2.0, 0.995_322_265_0)];
    for (x, y) in known {
        assert!((erf(x) - y).abs() < 5.1e-11, "erf({x}) is {}", erf(x));
        assert_eq!(erf(-x), -erf(x));
    }
    assert!((erf(1e-20) / 1e-20 - FRAC_2_SQRT_PI).abs() < 1e-15);
    assert_eq!((erf(0.0), erf(f64::INFINITY), erf(f64::NEG_INFINITY), erf(30.0)), (0.0, 1.0, -1.0, 1.0));
    assert!(erf(-0.0).is_sign_negative() && erf(f64::NAN).is_nan());
}

/// The method changes at 3. The C library computed the values.
#[test]
fn both_methods_are_right_where_one_takes_over_from_the_other() {
    let known = [
        (2.75, 0.999_899_378_077_880_3),
        (2.999, 0.999_977_769_831_400_2),
        (3.0, 0.999_977_909_503_001_4),
        (3.001, 0.999_978_048_339_082_2),
        (3.25, 0.999_995_697_220_536_3),
    ];
    for (x, y) in known {
        assert!((erf(x) - y).abs() < 1e-15, "erf({x}) is {}", erf(x));
    }
}
