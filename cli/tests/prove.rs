//! `tilewright prove`.

use crate::common::{product, run};

#[test]
fn right_schedules_are_proved() {
    let file = product();
    let path = file.arg("src/schedules.rs");
    let text = run(&["prove", &path]).ends(0).out;
    let proved = |name: &str| text.lines().any(|line| line.starts_with(&format!("{name} (matmul): proved at ")));
    assert!(proved("TILED") && proved("PLAIN") && !text.contains('\u{1b}'), "{text}");
    let told = run(&["prove", &path, "--schedule", "TILED", "--size", "M=9,N=5,K=3", "--seed", "7", "--json"]).ends(0).json();
    let told = &told[0];
    assert_eq!((&told["verdict"], &told["sizes"], &told["runs"]), (&"proved".into(), &vec!["M=9,N=5,K=3"].into(), &1.into()));
    assert!(
        told["degree"] == 2 && told["probability"] == -58.0 && told["blocks_run"].as_u64() <= told["blocks"].as_u64(),
        "{told}"
    );
}

#[test]
fn an_explanation_has_the_verdict_on_request() {
    let file = product();
    let path = file.arg("src/schedules.rs");
    let text = run(&["explain", &path, "--schedule", "TILED", "--brief", "--prove"]).ends(0).out;
    assert!(text.contains("  in exact arithmetic: proved at ") && text.contains(" blocks; error below 2^-58\n"), "{text}");
    let told = run(&["explain", &path, "--schedule", "TILED", "--json", "--prove"]).ends(0).json();
    assert!(told[0]["exact"].as_str().is_some_and(|exact| exact.starts_with("proved at ")), "{told}");
    let told = run(&["explain", &path, "--schedule", "TILED", "--json"]).ends(0).json();
    assert!(told[0]["exact"].is_null(), "{told}");
}

#[test]
fn what_is_wrong_is_said() {
    let file = product();
    let path = file.arg("src/schedules.rs");
    run(&["prove", &path, "--schedule", "TYLED"]).ends(2).says("did you mean `TILED`?");
    run(&["prove", &path, "--size", "M=8,Z=1"]).ends(2).says("`Z` is not a size of `matmul`; there are M, N, K");
    run(&["prove", &path, "--schedule", "TILED", "--size", "M=8"]).ends(2).says("write `--size M=8,N=…,K=…`");
    run(&["prove", &path, "--work", "-1"]).ends(2);
    run(&["prove", &path, "--work=0"]).ends(2).says("`0` is not a number above 0");
    file.write("src/schedules.rs", "//! None.\n");
    run(&["prove", &path]).ends(2).says("does not contain schedules");
}
