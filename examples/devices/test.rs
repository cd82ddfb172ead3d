//! Runs the program.

use std::process::Command;

#[test]
fn the_program_prints_the_share_of_each_device() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tilewright-devices"));
    let output =
        command.args(["--rows", "500", "--part", "60", "--reference"]).env("TILEWRIGHT_CACHE", "off").output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let parts = |line: &str| line.split_once(" parts on ").and_then(|(parts, _)| parts.trim().parse::<usize>().ok());
    assert_eq!(text.lines().filter_map(parts).sum::<usize>(), 9, "{text}");
    assert!(text.contains("reference device") && text.contains(" is the greatest difference from plain Rust in f64\n"), "{text}");
}
