//! Modules with matrices that are refused.

use crate::support::{Run, matrix};

/// Checks the end of the message with which a body with these types is refused.
#[track_caller]
fn refused(types: &str, body: &str, message: &str) {
    let types =
        [matrix("A", "float", 8, 8, 0), matrix("B", "float", 8, 8, 1), matrix("F", "float", 8, 8, 2), types.to_owned()].concat();
    let said = Run { types, valid: false, ..Run::new() }.refusal(body);
    assert!(said.ends_with(message), "{said}");
}

const LOAD: &str = "%at_a = OpAccessChain %p_a %a %u0 %u0\n%x = OpCooperativeMatrixLoadKHR %F %at_a %u0 %u8\n";

#[test]
fn other_scopes_are_not_supported() {
    let of = |scope: u32| format!("%M = OpTypeCooperativeMatrixKHR %float %u{scope} %u8 %u8 %u2\n");
    for scope in [1, 2, 4, 5] {
        refused(
            &of(scope),
            "",
            &format!(
                "the reference device does not support cooperative matrices of the scope number {scope}: only the scope of a subgroup"
            ),
        );
    }
}

#[test]
fn types_that_cannot_be() {
    refused(&matrix("M", "float", 0, 8, 2), "", "cooperative matrices of 0 x 8: they have 1 to 65536 elements");
    refused(&matrix("M", "float", 1024, 1024, 2), "", "cooperative matrices of 1024 x 1024: they have 1 to 65536 elements");
    refused(&matrix("M", "float", 65536, 65536, 2), "", "cooperative matrices of 65536 x 65536: they have 1 to 65536 elements");
    refused(&matrix("M", "float", 8, 8, 3), "", "cooperative matrices of the use number 3");
    refused(&matrix("M", "bool", 8, 8, 2), "", "is a cooperative matrix of booleans");
    refused(&matrix("M", "float4", 8, 8, 2), "", "is a cooperative matrix of a type that is not numeric");
    refused(
        "%p = OpTypePointer Workgroup %F\n%v = OpVariable %p Workgroup\n",
        "",
        "of the storage class Workgroup holds cooperative matrices",
    );
}

#[test]
fn shapes_and_uses_that_do_not_fit() {
    let product = |operands: &str| format!("{LOAD}%y = OpCooperativeMatrixMulAddKHR {operands}\n");
    let constants = "%a1 = OpConstantNull %A\n%b1 = OpConstantNull %B\n%f1 = OpConstantNull %F\n";
    for operands in ["%F %b1 %a1 %f1", "%F %a1 %b1 %a1", "%F %f1 %b1 %f1", "%A %a1 %b1 %f1"] {
        refused(constants, &product(operands), "do not fit");
    }
    let wider = [constants.to_owned(), matrix("W", "float", 8, 16, 0), "%w1 = OpConstantNull %W\n".to_owned()].concat();
    refused(&wider, &product("%F %w1 %b1 %f1"), "do not fit");
    refused(constants, &product("%F %a1 %b1 %f1 MatrixASigned"), "that are for integers");
    refused(constants, "%y = OpFAdd %F %f1 %a1\n", "OpFAdd of cooperative matrices of different types");
    refused(constants, "%y = OpIAdd %F %f1 %f1\n", "OpIAdd of a cooperative matrix of floats");
    let halves = [constants.to_owned(), matrix("H", "half", 8, 8, 0)].concat();
    refused(&halves, "%y = OpFConvert %H %f1\n", "OpFConvert between cooperative matrices of different shapes or uses");
    refused(constants, "%y = OpFMod %F %f1 %f1\n", "OpFMod of cooperative matrices");
    refused(
        constants,
        "%y = OpCompositeConstruct %F %u1\n",
        "is composed of a value that does not have the type of its components",
    );
    refused(constants, "%y = OpMatrixTimesScalar %F %f1 %u1\n", "OpMatrixTimesScalar of other types than its result");
}

#[test]
fn loads_and_stores_that_cannot_be() {
    refused("", &LOAD.replace("%at_a %u0 %u8", "%at_a %u7 %u8"), "the layout None of cooperative matrices");
    refused("", &LOAD.replace("%at_a %u0 %u8", "%at_a %u0"), "OpCooperativeMatrixLoadKHR does not have a stride");
    let private = "%p_part = OpTypePointer Private %float\n%parts = OpTypeArray %float %u64\n%p_parts = OpTypePointer Private %parts\n\
                   %own = OpVariable %p_parts Private\n";
    refused(private, &LOAD.replace("%p_a %a %u0", "%p_part %own"), "in the storage class Private");
    let three = "%float3 = OpTypeVector %float 3\n%threes = OpTypeArray %float3 %u64\n%p_threes = OpTypePointer Workgroup %threes\n\
                 %p_three = OpTypePointer Workgroup %float3\n%three = OpVariable %p_threes Workgroup\n";
    refused(three, &LOAD.replace("%p_a %a %u0", "%p_three %three"), "by a pointer to vectors of three");
    let shared = "%s = OpAccessChain %p_tile %tile %u0\n%x = OpCooperativeMatrixLoadKHR %F %s %u0 %u8\n";
    refused("", shared, "an OpCooperativeMatrixLoadKHR of shared memory is private, in the Vulkan memory model");
}

/// Damaged modules may be refused or run, but they must not cause a panic.
#[test]
fn damaged_words_are_no_panic() {
    let types = [matrix("A", "half", 8, 8, 0), matrix("B", "half", 8, 8, 1), matrix("F", "float", 8, 8, 2)].concat();
    let mut run = Run { types, tile: "half", ..Run::new() };
    run.tensors[0].ty = "half";
    let body = "%at_a = OpAccessChain %p_a %a %u0 %u0
        %at_d = OpAccessChain %p_d %d %u0 %u0
        %s = OpAccessChain %p_tile %tile %u0
        %x = OpCooperativeMatrixLoadKHR %A %at_a %u0 %u8
        %y = OpCooperativeMatrixLoadKHR %B %at_a %u1 %u8
        OpCooperativeMatrixStoreKHR %s %x %u0 %u8 MakePointerAvailable|NonPrivatePointer %u2
        %n = OpCooperativeMatrixLengthKHR %uint %F
        %f = OpConvertUToF %float %n
        %z = OpCompositeConstruct %F %f
        %p = OpCooperativeMatrixMulAddKHR %F %x %y %z
        %h = OpFNegate %F %p
        OpCooperativeMatrixStoreKHR %at_d %h %u0 %u8
    ";
    let whole = run.assembled(body);
    run.run_words(&whole).expect("it runs").expect("and without a fault");
    for at in (20..whole.len()).step_by(4) {
        for value in [0u32, 1, 3, 7, 19, 0xffff_ffff, 0x0001_0000] {
            let mut damaged = whole.clone();
            damaged[at..at + 4].copy_from_slice(&value.to_le_bytes());
            let _ = run.run_words(&damaged);
        }
    }
}
