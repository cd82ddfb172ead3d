//! Tests that the shrinker's result is as small as the failure allows.

use std::time::Duration;
use tilewright_differential::Case;
use tilewright_differential::judge::{Find, Kind};
use tilewright_differential::report::rust_test;
use tilewright_differential::shrink::shrink;

/// Returns a failure for every schedule that unrolls.
fn unrolls(case: &Case) -> Option<Find> {
    let found = case.schedule.blocks.iter().flat_map(|b| &b.directives).any(|d| d.name == "unroll");
    found.then(|| Find { kind: Kind::Value, text: "it unrolls".into() })
}

#[test]
fn nothing_is_left_but_what_fails() {
    for number in 0..20 {
        let case = Case::new(5, number);
        let Some(find) = unrolls(&case) else { continue };
        let (small, find) = shrink(&case, &find, Duration::from_secs(60), &unrolls);
        let directives: Vec<_> = small.schedule.blocks.iter().flat_map(|b| &b.directives).collect();
        assert_eq!(directives.len(), 1, "{}", small.schedule);
        assert_eq!((small.kernel.stages.len(), small.launches.len(), small.schedule.facts.len()), (1, 1, 0));
        assert!(rust_test(&small, 5, number, &find).contains("variant.check_filled("));
    }
}
