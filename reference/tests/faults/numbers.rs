//! Operations that are undefined for their operands, and values that are undefined.

use super::support::Run;

/// Computes integers from the parameter, which is 3.
fn of_ints(op: &str) -> String {
    format!("%three = OpIAdd %int %p %i0\n%zero = OpISub %int %three %three\n%one = OpIAdd %int %zero %i1\n%v = {op}\n")
}

#[test]
fn division_by_zero() {
    let message = |op| Run::new().fault(&of_ints(op));
    let who = "invocation [0, 0, 0] of workgroup [0, 0, 0]";
    assert_eq!(message("OpSDiv %int %three %zero"), format!("{who} divides 3 by zero (OpSDiv)"));
    assert_eq!(message("OpSRem %int %three %zero"), format!("{who} divides 3 by zero (OpSRem)"));
    assert_eq!(message("OpSMod %int %three %zero"), format!("{who} divides 3 by zero (OpSMod)"));
    assert_eq!(message("OpUDiv %uint %i %c0"), format!("{who} divides 0 by zero (OpUDiv)"));
    assert_eq!(message("OpUMod %uint %i %c0"), format!("{who} divides 0 by zero (OpUMod)"));
}

#[test]
fn division_by_zero_where_nobody_divides() {
    // 8 / i, in all invocations except 0.
    let body = "
        %c = OpINotEqual %bool %i %c0
        OpSelectionMerge %join None
        OpBranchConditional %c %then %join
        %then = OpLabel
        %v = OpUDiv %uint %local %i
        %f = OpConvertUToF %float %v
        %a = OpAccessChain %p_float %y %c0 %i
        OpStore %a %f
        OpBranch %join
        %join = OpLabel
    ";
    assert_eq!(Run::new().y(body)[..8], [0.0, 8.0, 4.0, 2.0, 2.0, 1.0, 1.0, 1.0]);
    assert_eq!(
        Run::new().fault(&body.replace("INotEqual %bool %i %c0", "ULessThan %bool %i %c2")),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] divides 8 by zero (OpUDiv)"
    );
}

#[test]
fn quotients_and_shifts_that_do_not_exist() {
    let message = |param, op: &str| Run { param, ..Run::new() }.fault(&of_ints(op));
    let who = "invocation [0, 0, 0] of workgroup [0, 0, 0] uses a value that is undefined:";
    let minus = "OpISub %int %zero %one\n%q = ";
    assert_eq!(message(i32::MIN, &format!("{minus} OpSDiv %int %three %v")), format!("{who} -2147483648 divided by -1 (OpSDiv)"));
    assert_eq!(message(-7, "OpSRem %int %three %one"), format!("{who} the remainder of -7 by 1 (OpSRem)"));
    assert_eq!(message(3, "OpShiftLeftLogical %int %three %c40"), format!("{who} a shift by 40 bits (OpShiftLeftLogical)"));
    assert_eq!(
        message(32, "OpShiftRightArithmetic %int %one %three"),
        format!("{who} a shift by 32 bits (OpShiftRightArithmetic)")
    );
}

#[test]
fn floats_that_are_no_integers() {
    let who = "invocation [0, 0, 0] of workgroup [0, 0, 0] uses a value that is undefined:";
    assert_eq!(Run::new().fault("%v = OpConvertFToS %int %huge\n"), format!("{who} 30000000000 as an integer (OpConvertFToS)"));
    let nan = "%n0 = OpFDiv %float %f0 %f0\n%v = OpConvertFToU %uint %n0\n";
    assert_eq!(Run::new().fault(nan), format!("{who} NaN as an integer (OpConvertFToU)"));
}

#[test]
fn undefined_values() {
    let message = Run::new().fault("%u = OpUndef %float\n%v = OpFAdd %float %u %f1\n");
    let start = "invocation [0, 0, 0] of workgroup [0, 0, 0] uses a value that is undefined: %";
    assert!(message.starts_with(start) && message.ends_with(", in OpFAdd"), "{message}");
    let condition = "
        %u = OpUndef %bool
        OpSelectionMerge %join None
        OpBranchConditional %u %then %join
        %then = OpLabel
        OpBranch %join
        %join = OpLabel
    ";
    let message = Run::new().fault(condition);
    assert!(message.starts_with(start) && message.ends_with(", in OpBranchConditional"), "{message}");
}

/// The words are four times -1 or 255, and the bytes 0x48, 0x61, 0 and 0.
#[test]
fn dot_products_of_bytes() {
    let of = |op: &str| {
        let store = "%a = OpAccessChain %p_word %yi %c0 %i\nOpStore %a %s\n";
        let body = format!("%v = {op} PackedVectorFormat4x8Bit\n%s = OpBitcast %uint %v\n{store}");
        Run::new().words(&body)[0] as i32
    };
    assert_eq!(of("OpSDot %int %minus %all"), -(0x48 + 0x61));
    assert_eq!(of("OpUDot %uint %minus %all"), 255 * (0x48 + 0x61));
    assert_eq!(of("OpSUDot %int %minus %all"), -(0x48 + 0x61));
    assert_eq!(of("OpSUDot %int %all %minus"), 255 * (0x48 + 0x61));
    assert_eq!(of("OpUDot %uint %minus %minus"), 4 * 255 * 255);
    let message = Run::new().fault("%u = OpUndef %uint\n%v = OpSDot %int %u %all PackedVectorFormat4x8Bit\n");
    assert!(message.ends_with(", in OpSDot"), "{message}");
}
