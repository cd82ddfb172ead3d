//! Words that are not run at all.

use super::support::assemble;
use tilewright_launch::{Addressing, Dispatch, Size};
use tilewright_reference::Kernel;

fn empty(spirv: Vec<u8>) -> Dispatch {
    Dispatch {
        name: "y".into(),
        spirv,
        grid: [1, 1, 1].map(Size::Const),
        local: [1; 3],
        buffers: vec![],
        addressing: Addressing::Descriptor,
        params: vec![],
        param_bytes: 0,
        constants: vec![],
        spilled: false,
    }
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
    assert_eq!(message("", "%a = OpDPdx %float %one"), "the reference device does not know OpDPdx");
    assert_eq!(message("%d = OpTypeFloat 64", ""), "the reference device does not know floats of 64 bits");
    assert_eq!(message("%l = OpTypeInt 64 0", ""), "the reference device does not know integers of 64 bits");
    let import = "OpMemoryModel Logical GLSL450";
    let text = HEAD.replace(import, &format!("%g = OpExtInstImport \"GLSL.std.450\"\n{import}"));
    let body =
        "%main = OpFunction %void None %func\n%e = OpLabel\n%a = OpExtInst %float %g Degrees %one\nOpReturn\nOpFunctionEnd\n";
    assert_eq!(refusal(&empty(assemble(&format!("{text}{body}")))), "the reference device does not know OpExtInst Degrees");
}

#[test]
fn what_is_no_module_is_no_panic() {
    assert_eq!(refusal(&empty(vec![])), "the words are no SPIR-V module: they do not begin with its header");
    assert_eq!(refusal(&empty(vec![1, 2, 3])), "the words are no SPIR-V module: their bytes are no multiple of 4");
    let whole = module("", "%a = OpFAdd %float %one %one");
    for cut in (20..whole.len()).step_by(4) {
        assert!(Kernel::new(&empty(whole[..cut].to_vec()), 4).is_err(), "cut at {cut}");
    }
    // Each word damaged in several ways: refused or not, it returns.
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
    // The struct's member is patched to be the struct.
    let mut words = module("%s = OpTypeStruct %float", "");
    let at = (0..words.len()).step_by(4).find(|at| words[*at..at + 4] == (3u32 << 16 | 30).to_le_bytes()).expect("it is there");
    let own: Vec<u8> = words[at + 4..at + 8].to_vec();
    words[at + 8..at + 12].copy_from_slice(&own);
    let message = refusal(&empty(words));
    assert!(message.ends_with("which is no type before it"), "{message}");
}

#[test]
fn words_and_launch_program_agree() {
    let mut other = empty(module("", ""));
    other.local = [2, 1, 1];
    assert_eq!(
        refusal(&other),
        "the words are no SPIR-V module: its local size is [1, 1, 1], not [2, 1, 1] as the launch program says"
    );
}
