//! Pairs come from a seed and a number alone, and many of them are legal.

use tilewright_differential::{Pair, pair};
use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::syntax::{self, schedule::Schedule};

fn is_legal(pair: &Pair) -> bool {
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(pair.kernel.parse().expect("tokens"), &mut spans).into_result();
    let schedule = syntax::parse(pair.schedule.parse().expect("tokens"), &mut spans, Schedule::parse).into_result();
    let (Ok(kernel), Ok(schedule)) = (kernel, schedule) else { return false };
    compile(&kernel, &schedule, &pair.profile).is_ok()
}

#[test]
fn a_third_is_legal() {
    let legal = (0..60).filter(|case| is_legal(&pair(7, *case))).count();
    assert!(legal >= 20, "only {legal} of 60 pairs are legal");
}

#[test]
fn the_same_again() {
    for case in 0..100 {
        assert_eq!(format!("{:?}", pair(3, case)), format!("{:?}", pair(3, case)));
        assert_ne!(format!("{:?}", pair(3, case)), format!("{:?}", pair(4, case)));
    }
}
