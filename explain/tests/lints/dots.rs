//! The lint of dot products without an instruction.

use crate::lints::case::Case;
use tilewright_explain::LintName;

/// Of two dot products, the one whose signs the profile does not have is reported.
#[test]
fn slow_dot() {
    let one = "tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x));";
    let by = |name: &str, profile: &str| {
        let directives = format!("c {{ {one}\ndot(k, 4); }}\ne {{ {one} dot(k, 4); }}");
        Case::new(name, &[], &format!("bytes for {profile} where K % 4 == 0"), &directives)
    };
    assert_eq!(
        by("slow_dot", "signed").texts(LintName::SlowDot),
        ["2:1: the device unpacks the bytes of a dot product of mixed factors, because `signed` has no instruction for it; leave \
             `dot` out and compare, or add `mixed` to the profile's `fast_dots` (`signed` so far)"]
    );
    assert_eq!(by("fast_dot", "board").texts(LintName::SlowDot), [""; 0]);
}
