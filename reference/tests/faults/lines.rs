//! Faults name the line that `OpLine` gives their instruction.

use super::support::Run;

const FAULT: &str = "invocation [0, 0, 0] of workgroup [0, 0, 0] reads `x`[-2], which is out of bounds: there are 16 elements";

/// Reads out of bounds of `x`, with `before` directly before the load.
fn read(before: &str) -> String {
    let body = format!(
        "
        OpLine %file 3 9
        %k = OpISub %uint %g %c2
        %a = OpAccessChain %p_float %x %c0 %k
        {before}
        %v = OpLoad %float %a
    "
    );
    Run::new().fault(&body)
}

#[test]
fn a_line_holds_until_the_next_one() {
    assert_eq!(read(""), format!("{FAULT} (schedule.rs:3:9)"));
    assert_eq!(read("OpLine %file 4 1"), format!("{FAULT} (schedule.rs:4:1)"));
}

#[test]
fn a_line_ends() {
    assert_eq!(read("OpNoLine"), FAULT);
    // The line ends with its block.
    assert_eq!(read("OpBranch %next\n %next = OpLabel"), FAULT);
}

#[test]
fn of_a_race_one_line_is_named() {
    let body = "
        %a = OpAccessChain %p_float %y %c0 %c0
        OpLine %file 7 5
        OpStore %a %f1
    ";
    let fault = Run::new().fault(body);
    assert!(fault.ends_with("too, with no barrier between the two (one of the two is schedule.rs:7:5)"), "{fault}");
}
