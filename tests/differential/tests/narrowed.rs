//! Kernels whose sizes are minima, maxima and quotients of dims.

use tilewright_differential::Case;
use tilewright_differential::judge::{Judge, Kind, Orders, Verdict};
use tilewright_differential::report::{Report, rust_test};

/// The seed of the cases.
const SEED: u64 = 2;

#[test]
fn sizes_of_several_dims() {
    let judge = Judge::open(true).expect("a Vulkan device, and the reference device");
    let mut report = Report::default();
    for (number, case) in (0..1200).map(|number| (number, Case::new(SEED, number))).filter(|(_, case)| case.is_narrowed()) {
        let verdict = judge.judge(&case, Orders { vulkan: number % 3 == 0, twice: false });
        report.add(number, &case, &verdict);
        if let Verdict::Found(find) = verdict
            && find.kind != Kind::Slow
        {
            panic!("{}\n\nscripts/fuzz --seed {SEED} --case {number}", rust_test(&case, SEED, number, &find));
        }
    }
    assert!(report.executed > 40 && report.on_vulkan > 10, "too few are legal:\n{report}");
}
