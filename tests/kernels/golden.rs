//! The SPIR-V of the blog's convolution under its schedule for Valhall, in readable form.

use crate::conv::{CONV2D, TILED};
use crate::harness::variant;
use std::io::Write;
use std::process::{Command, Stdio};
use tilewright_dsl::profile::Profile;

pub fn disassembled(words: &[u8]) -> String {
    let mut tool = Command::new("spirv-dis");
    tool.args(["--no-color", "--no-header", "--raw-id", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut tool = tool.spawn().expect("spirv-dis (Debian: apt install spirv-tools)");
    tool.stdin.take().expect("a pipe").write_all(words).expect("spirv-dis reads");
    String::from_utf8(tool.wait_with_output().expect("spirv-dis ends").stdout).expect("text")
}

#[test]
fn valhall_in_registers() {
    let schedule = format!("VALHALL: conv2d<T = f32, S = 2> for arm_valhall where OW % 8 == 0, OC % 32 == 0, IC == 3 {TILED}");
    let variant = variant(CONV2D, &schedule, &Profile::arm_valhall());
    let text = disassembled(&variant.program.dispatches[0].spirv);

    // fh and fw are loops; ow, oc and ic are not.
    assert_eq!(text.matches("OpLoopMerge").count(), 2, "{text}");
    let vec4 = text.lines().find(|l| l.contains("OpTypeVector") && l.trim_end().ends_with(" 4")).expect("a vec4 type");
    let vec4 = vec4.trim().split(' ').next().expect("its id");
    let inner = inner_loop(&text);
    let lines = |text: &str, what: &str| text.lines().filter(|l| l.contains(what)).count();
    // The inner loop loads the filter's three rows of the step as vectors, and does not divide.
    let variables: Vec<&str> = text.lines().filter(|l| l.contains("OpVariable") && l.contains(" Function")).collect();
    let names: Vec<&str> = variables.iter().filter_map(|l| l.trim().split(' ').next()).collect();
    let memory = |l: &&str| !names.contains(&l.trim().split(' ').nth(4).unwrap_or(""));
    let wide = inner.lines().filter(|l| l.contains(&format!("= OpLoad {vec4} "))).filter(memory).count();
    assert_eq!(wide, 3, "{inner}");
    for division in ["OpSDiv", "OpUDiv", "OpSMod", "OpSRem", "OpUMod"] {
        assert_eq!(lines(inner, division), 0, "{inner}");
    }
    // Four vectors of the output, each stored once, after the loops.
    let after = &text[text.rfind("OpLoopMerge").expect("a loop")..];
    let aligned = after.lines().filter(|l| l.contains("OpStore") && l.contains("Aligned 16")).count();
    assert_eq!(aligned, 4, "{after}");
    insta::assert_snapshot!(text);
}

/// Returns the text from the last loop's header to its back edge.
fn inner_loop(text: &str) -> &str {
    let head = text.rfind("OpLoopMerge").expect("a loop");
    let line = text[head..].lines().next().expect("a line");
    let merge = line.split(' ').nth(1).expect("the merge block");
    let end = text[head..].find(&format!("{merge} = OpLabel")).map_or(text.len(), |at| head + at);
    &text[head..end]
}
