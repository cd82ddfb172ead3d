//! Runs the program.

use std::process::Command;

#[test]
fn the_program_prints_its_accuracy() {
    let output = Command::new(env!("CARGO_BIN_EXE_tilewright-digits")).env("TILEWRIGHT_CACHE", "off").output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("right      755 of 797 images, 94.7 %\n"), "{text}");
}
