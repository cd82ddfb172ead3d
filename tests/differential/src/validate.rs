//! Runs `spirv-val`, which must be installed and must accept every module. A version that is too old for cooperative matrices is
//! recognized: it is reported once, and is an error if `TILEWRIGHT_SPIRV_VAL=new`.

use crate::compile::Variant;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Once;

/// Messages of a `spirv-val` that does not know `CooperativeMatrixKHR`, or the capabilities of `SPV_NV_cooperative_matrix2` or of
/// `SPV_KHR_bfloat16`.
const UNKNOWN: [&str; 5] = [
    "Invalid capability operand: 6022",
    "Invalid capability operand: 5430",
    "Invalid capability operand: 5431",
    "Invalid capability operand: 5116",
    "Invalid capability operand: 5118",
];

/// Checks that `spirv-val` accepts every module of a variant, of all its versions, with and without source lines.
///
/// # Errors
/// The message for the first module that it refuses.
pub fn validate(variant: &Variant) -> Result<(), String> {
    let versions = variant.program.clone().into_versions()?;
    versions.iter().flat_map(|p| &p.dispatches).try_for_each(|dispatch| {
        module(&dispatch.spirv)?;
        module(&dispatch.words_with_lines())
    })
}

/// Checks that `spirv-val` accepts a module.
fn module(words: &[u8]) -> Result<(), String> {
    let mut tool = Command::new("spirv-val")
        .args(["--target-env", "vulkan1.2", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("spirv-val does not start (Debian: apt install spirv-tools): {e}"))?;
    // If it refuses a module early, it does not read it to the end.
    let written = tool.stdin.take().map_or(Ok(()), |mut pipe| pipe.write_all(words));
    let output = tool.wait_with_output().map_err(|e| format!("spirv-val does not end: {e}"))?;
    match (output.status.success(), written) {
        (true, Ok(())) => Ok(()),
        (true, Err(e)) => Err(format!("spirv-val does not read: {e}")),
        _ => refused(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Handles a refusal.
fn refused(why: String) -> Result<(), String> {
    static SAID: Once = Once::new();
    let is_new = std::env::var("TILEWRIGHT_SPIRV_VAL").is_ok_and(|value| value == "new");
    if is_new || !UNKNOWN.iter().any(|unknown| why.contains(unknown)) {
        return Err(why);
    }
    SAID.call_once(|| {
        eprintln!("NOT VALIDATED: this machine's spirv-val does not know cooperative matrices (scripts/mesa26 has one that does)");
    });
    Ok(())
}
