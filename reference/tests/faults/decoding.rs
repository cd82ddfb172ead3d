//! Modules that are refused.

use super::support::assemble;
use tilewright_launch::Dispatch;
use tilewright_reference::Kernel;

fn empty(spirv: Vec<u8>) -> Dispatch {
    Dispatch::alone("y", spirv)
}

#[track_caller]
fn refusal(dispatch: &Dispatch) -> String {
    Kernel::new(dispatch, 4).expect_err("it is refused").to_string()
}

const HEAD: &str = "
    OpCapability Shader
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %main \"main\"
    OpExecutionMode %main LocalSize 1 1 1
    %void = OpTypeVoid
    %func = OpTypeFunction %void
    %float = OpTypeFloat 32
    %one = OpConstant %float 1
";

fn module(more: &str, body: &str) -> Vec<u8> {
    assemble(&format!("{HEAD}{more}\n%main = OpFunction %void None %func\n%entry = OpLabel\n{body}\nOpReturn\nOpFunctionEnd\n"))
}

#[test]
fn what_is_not_known_is_named() {
    assert!(Kernel::new(&empty(module("", "")), 4).is_ok());
    let message = |more, body| refusal(&empty(module(more, body)));
    assert_eq!(message("", "%a = OpDPdx %float %one"), "the reference device does not support OpDPdx");
    assert_eq!(message("%d = OpTypeFloat 64", ""), "the reference device does not support floats of 64 bits");
    assert_eq!(message("%s = OpTypeInt 4 0", ""), "the reference device does not support integers of 4 bits");
    let import = "OpMemoryModel Logical GLSL450";
    let text = HEAD.replace(import, &format!("%g = OpExtInstImport \"GLSL.std.450\"\n{import}"));
    let body =
        "%main = OpFunction %void None %func\n%e = OpLabel\n%a = OpExtInst %float %g Degrees %one\nOpReturn\nOpFunctionEnd\n";
    assert_eq!(refusal(&empty(assemble(&format!("{text}{body}")))), "the reference device does not support OpExtInst Degrees");
}

#[test]
fn what_is_no_module_is_no_panic() {
    assert_eq!(refusal(&empty(vec![])), "the binary is not a valid SPIR-V module: it does not begin with a SPIR-V header");
    assert_eq!(refusal(&empty(vec![1, 2, 3])), "the binary is not a valid SPIR-V module: its size is not a multiple of 4 bytes");
    let whole = module("", "%a = OpFAdd %float %one %one");
    for cut in (20..whole.len()).step_by(4) {
        assert!(Kernel::new(&empty(whole[..cut].to_vec()), 4).is_err(), "cut at {cut}");
    }
    // Each word is damaged in several ways. The module may be refused, but it must not cause a panic.
    for at in (0..whole.len()).step_by(4) {
        for value in [0u32, 1, 7, 0xffff_ffff, 0x0001_0000] {
            let mut damaged = whole.clone();
            damaged[at..at + 4].copy_from_slice(&value.to_le_bytes());
            let _ = Kernel::new(&empty(damaged), 4);
        }
    }
}

#[test]
fn a_type_is_no_part_of_itself() {
    // The member of the struct is replaced by the struct itself.
    let mut words = module("%s = OpTypeStruct %float", "");
    let at = (0..words.len()).step_by(4).find(|at| words[*at..at + 4] == (3u32 << 16 | 30).to_le_bytes()).expect("it is there");
    let own: Vec<u8> = words[at + 4..at + 8].to_vec();
    words[at + 8..at + 12].copy_from_slice(&own);
    let message = refusal(&empty(words));
    assert!(message.ends_with("which is not a type that precedes it"), "{message}");
}

#[test]
fn words_and_launch_program_agree() {
    let mut other = empty(module("", ""));
    other.local = [2, 1, 1];
    assert_eq!(
        refusal(&other),
        "the binary is not a valid SPIR-V module: its local size is [1, 1, 1], not [2, 1, 1] as in the launch program"
    );
}

/// Checks the end of the message with which a module of these types and this body is refused.
#[track_caller]
fn refused(more: &str, body: &str, reason: &str) {
    let message = refusal(&empty(module(more, body)));
    assert!(message.ends_with(reason), "{message}");
}

#[test]
fn values_are_defined_before_they_are_used_on_every_way() {
    let reason = "is used where it is not defined on every path";
    // The value is used by itself, by an earlier instruction, or on only one of two paths.
    refused("", "%a = OpFAdd %float %a %one", reason);
    refused("", "%a = OpFAdd %float %b %one\n%b = OpFAdd %float %one %one", reason);
    let bool_ = "%bool = OpTypeBool\n%yes = OpConstantTrue %bool";
    let ways = |used: &str| {
        format!(
            "OpSelectionMerge %end None\nOpBranchConditional %yes %then %end\n%then = OpLabel\n%a = OpFAdd %float %one %one\n\
             OpBranch %end\n%end = OpLabel\n{used}"
        )
    };
    refused(bool_, &ways("%b = OpFAdd %float %a %one"), reason);
    refused(bool_, &ways("%b = OpPhi %float %a %then %a %entry"), reason);
    let phi = empty(module(bool_, &ways("%b = OpPhi %float %a %then %one %entry\n%c = OpFAdd %float %b %one")));
    assert_eq!(Kernel::new(&phi, 4).err(), None);
    refused(
        bool_,
        &ways("%b = OpFAdd %float %one %one\n%c = OpPhi %float %a %then %one %entry"),
        "not at the beginning of its block",
    );
}

#[test]
fn an_id_is_defined_once() {
    let mut words = module("%two = OpConstant %float 2", "");
    let constant =
        |words: &[u8]| (0..words.len()).step_by(4).filter(|at| words[*at..at + 4] == (4u32 << 16 | 43).to_le_bytes()).collect();
    let places: Vec<usize> = constant(&words);
    let first: Vec<u8> = words[places[0] + 8..places[0] + 12].to_vec();
    words[places[1] + 8..places[1] + 12].copy_from_slice(&first);
    let message = refusal(&empty(words));
    assert!(message.ends_with("is defined twice"), "{message}");
}

#[test]
fn no_type_takes_stack_time_or_memory_without_bounds() {
    let uint = "%uint = OpTypeInt 32 0\n%n1 = OpConstant %uint 1\n%big = OpConstant %uint 1048576\n";
    let nested = (1..40)
        .fold(format!("{uint}%t0 = OpTypeArray %float %n1\n"), |text, n| format!("{text}%t{n} = OpTypeArray %t{} %n1\n", n - 1));
    refused(&nested, "", "types that are nested more than 32 deep");
    // Each struct has two members that have twice as many (empty) members themselves.
    let empties =
        (1..30).fold("%s0 = OpTypeStruct\n".to_owned(), |text, n| format!("{text}%s{n} = OpTypeStruct %s{0} %s{0}\n", n - 1));
    let empties = format!("{empties}%z = OpConstantNull %s29\n");
    assert_eq!(Kernel::new(&empty(module(&empties, "")), 4).err(), None);
    refused("%v = OpTypeVector %float 5", "", "is not of 2 to 4 scalars");
    let array = format!("{uint}%a = OpTypeArray %float %big\n");
    let nulls = (0..5).fold(array.clone(), |text, n| format!("{text}%z{n} = OpConstantNull %a\n"));
    refused(&nulls, "", "a module whose constants have more than 4194304 words");
    let variables = |class: &str, count: usize| {
        let pointer = format!("{array}%p = OpTypePointer {class} %a\n");
        (0..count).fold(pointer, |text, n| format!("{text}%v{n} = OpVariable %p {class}\n"))
    };
    refused(&variables("Workgroup", 2), "", "more than 1048576 scalars of shared memory");
    refused(&variables("Private", 65), "", "a module whose values take 68157440 words");
}

#[test]
fn parts_that_are_not_there_are_not_taken() {
    let types = "%v2 = OpTypeVector %float 2\n%two = OpConstantComposite %v2 %one %one";
    refused(types, "%a = OpVectorShuffle %v2 %two %two 0 4294967294", "does not have a component 4294967292");
    refused(types, "%a = OpCompositeConstruct %v2 %one", "is composed of too few components");
    refused(types, "%a = OpDot %v2 %two %two", "the result of OpDot is not a scalar");
    refused(types, "%a = OpCompositeExtract %float %two 2", "does not have a part 2");
}
