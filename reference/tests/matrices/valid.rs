//! Validates modules with `spirv-val`, if it supports cooperative matrices. If it is too old, a message is printed once.
//! `TILEWRIGHT_SPIRV_VAL=new` makes this an error.

use std::collections::HashSet;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};

/// Checks that a module is valid.
pub(crate) fn validate(words: &[u8], text: &str) {
    static KNOWS: LazyLock<bool> = LazyLock::new(knows);
    static SEEN: LazyLock<Mutex<HashSet<Vec<u8>>>> = LazyLock::new(Mutex::default);
    if *KNOWS && SEEN.lock().unwrap_or_else(PoisonError::into_inner).insert(words.to_vec()) {
        let said = refuses(words);
        assert!(said.is_none(), "{}{text}", said.unwrap_or_default());
    }
}

/// Returns the message of `spirv-val` if it refuses a module.
fn refuses(words: &[u8]) -> Option<String> {
    let args = ["--target-env", "vulkan1.3", "-"];
    let run = Command::new("spirv-val").args(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = run.unwrap_or_else(|e| panic!("spirv-val is needed (Debian and Ubuntu: apt install spirv-tools): {e}"));
    // Errors are ignored, because `spirv-val` may refuse a module before it has read all of it.
    let _ = child.stdin.take().expect("piped").write_all(words);
    let output = child.wait_with_output().expect("it ends");
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// True if it supports the types of cooperative matrices and bfloat16.
fn knows() -> bool {
    let module = crate::assemble::assemble(
        "OpCapability Shader
         OpCapability VulkanMemoryModel
         OpCapability CooperativeMatrixKHR
         OpCapability BFloat16TypeKHR
         OpExtension \"SPV_KHR_cooperative_matrix\"
         OpExtension \"SPV_KHR_bfloat16\"
         OpMemoryModel Logical Vulkan
         OpEntryPoint GLCompute %main \"main\"
         OpExecutionMode %main LocalSize 8 1 1
         %void = OpTypeVoid
         %func = OpTypeFunction %void
         %bfloat = OpTypeFloat 16 BFloat16KHR
         %main = OpFunction %void None %func
         %entry = OpLabel
         OpReturn
         OpFunctionEnd",
    );
    let knows = refuses(&module).is_none();
    if !knows {
        let must = std::env::var("TILEWRIGHT_SPIRV_VAL").is_ok_and(|value| value == "new");
        assert!(!must, "this machine's spirv-val does not know cooperative matrices");
        eprintln!("NOT VALIDATED: this machine's spirv-val does not know cooperative matrices (scripts/mesa26 has one that does)");
    }
    knows
}
