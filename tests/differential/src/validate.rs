//! `spirv-val`, which must be installed, and accept every module. One that is too old for cooperative matrices is told apart: that is said
//! once, and is an error where `TILEWRIGHT_SPIRV_VAL=new`.

use crate::compile::Variant;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Once;

/// What a `spirv-val` says that does not know `CooperativeMatrixKHR`, or what came with `SPV_NV_cooperative_matrix2`.
const UNKNOWN: [&str; 3] =
    ["Invalid capability operand: 6022", "Invalid capability operand: 5430", "Invalid capability operand: 5431"];

/// Whether `spirv-val` accepts every module of a variant, of all its versions, bare and with its lines.
///
/// # Errors
/// What it says of the first that it refuses.
pub fn validate(variant: &Variant) -> Result<(), String> {
    let versions = variant.program.clone().into_versions()?;
    versions.iter().flat_map(|p| &p.dispatches).try_for_each(|dispatch| {
        module(&dispatch.spirv)?;
        module(&dispatch.words_with_lines())
    })
}

/// Whether `spirv-val` accepts a module.
fn module(words: &[u8]) -> Result<(), String> {
    let mut tool = Command::new("spirv-val")
        .args(["--target-env", "vulkan1.2", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("spirv-val does not start (Debian: apt install spirv-tools): {e}"))?;
    // A module that it refuses early it does not read to the end.
    let written = tool.stdin.take().map_or(Ok(()), |mut pipe| pipe.write_all(words));
    let output = tool.wait_with_output().map_err(|e| format!("spirv-val does not end: {e}"))?;
    match (output.status.success(), written) {
        (true, Ok(())) => Ok(()),
        (true, Err(e)) => Err(format!("spirv-val does not read: {e}")),
        _ => refused(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// What comes of a refusal.
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
