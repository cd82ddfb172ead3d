//! Judges the same few pairs each time, as in a long run. A finding fails the test, and is printed as a test.

use tilewright_differential::Case;
use tilewright_differential::judge::{Judge, Kind, Orders, Verdict};
use tilewright_differential::report::{Report, rust_test};
use tilewright_dsl::syntax::schedule::DIRECTIVES;

/// The seed of the cases.
const SEED: u64 = 1;

/// The number of cases.
const CASES: u64 = 150;

/// The interval of cases that also run on Vulkan.
const VULKAN_EVERY: u64 = 12;

#[test]
fn a_few_pairs() {
    let judge = Judge::open(true).expect("a Vulkan device, and the reference device");
    let mut report = Report::default();
    for number in 0..CASES {
        let case = Case::new(SEED, number);
        let orders = Orders { vulkan: number.is_multiple_of(VULKAN_EVERY), twice: number.is_multiple_of(4) };
        let verdict = judge.judge(&case, orders);
        report.add(number, &case, &verdict);
        // The time depends on the machine, so slow cases are ignored.
        if let Verdict::Found(find) = verdict
            && find.kind != Kind::Slow
        {
            panic!("{}\n\nscripts/fuzz --seed {SEED} --case {number}", rust_test(&case, SEED, number, &find));
        }
    }
    assert!(report.executed * 3 > CASES, "too few are legal:\n{report}");
    assert!(report.on_vulkan > 0, "none ran on Vulkan:\n{report}");
}

#[test]
fn the_same_again() {
    for number in 0..100 {
        let text = |seed| format!("{:?}", tilewright_differential::pair(seed, number));
        assert_eq!(text(3), text(3));
        assert_ne!(text(3), text(4));
    }
}

/// Checks that the generator uses every directive.
#[test]
fn every_directive_is_generated() {
    let mut left: Vec<&str> = DIRECTIVES.iter().map(|row| row.name).collect();
    for number in 0..2000 {
        let schedule = tilewright_differential::pair(SEED, number).schedule;
        left.retain(|name| !["(", ";", " "].iter().any(|after| schedule.contains(&format!("{name}{after}"))));
    }
    assert!(left.is_empty(), "the generator writes no {left:?}");
}
