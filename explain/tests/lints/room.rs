//! Lints of a core's resources.

use crate::lints::case::{SUBGROUPS, matrices};
use tilewright_explain::LintName;

#[test]
fn occupancy() {
    let two = "pipeline(k_o, buffers: 2, prefetch: register);";
    let full = matrices("occupancy", SUBGROUPS, ", row_pad: 8", two);
    assert_eq!(
        full.texts(LintName::Occupancy),
        ["6:1: one workgroup fits a core, because it takes 37888 of 49152 bytes of shared memory, so the core is idle while it \
          waits; write `pipeline(k_o, buffers: 1, prefetch: register);`"]
    );
    full.follow(LintName::Occupancy);
    let one = matrices("occupancy_one", SUBGROUPS, ", row_pad: 8", &two.replace('2', "1"));
    assert_eq!(one.texts(LintName::Occupancy), [] as [&str; 0]);
}

#[test]
fn registers() {
    let large = matrices("registers", "tile(i: 128, j: 128) => subgroup(y, x);", ", row_pad: 8", "");
    assert_eq!(
        large.texts(LintName::Registers),
        ["7:1: an invocation holds 548 registers (512 of accumulators and 36 of operands of matrix units), and has 255; write \
          `tile(i: 64, j: 128) => subgroup(y, x);`"]
    );
    large.follow(LintName::Registers);
    assert_eq!(matrices("registers_few", SUBGROUPS, ", row_pad: 8", "").texts(LintName::Registers), [] as [&str; 0]);
}
