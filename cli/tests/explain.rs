//! `tilewright explain`.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{product, run};

#[test]
fn a_schedule_is_told() {
    let file = product();
    let path = file.arg("src/schedules.rs");
    let text = run(&["explain", &path, "TILED", "--size", "M=8,N=8,K=8", "--tune", "SIDE=4"]).ends(0).out;
    assert!(text.contains("TILED: matmul for vulkan_1_1") && text.contains("i_workgroup * 8"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    let brief = run(&["explain", &path, "TILED", "--brief"]).ends(0).out;
    assert!(brief.len() < text.len());
    let told = run(&["explain", &path, "--json"]).ends(0).json();
    assert_eq!((told[0]["schedule"].as_str(), told[1]["schedule"].as_str()), (Some("TILED"), Some("PLAIN")));
    let compared = run(&["explain", &path, "--compare", "TILED", "PLAIN", "--size", "M=8,N=8,K=8"]).ends(0).out;
    assert!(compared.contains("TILED") && compared.contains("PLAIN"), "{compared}");
}

#[test]
fn what_is_wrong_is_said() {
    let file = product();
    let path = file.arg("src/schedules.rs");
    run(&["explain", &path, "TYLED"]).ends(2).says("did you mean `TILED`?");
    run(&["explain", &path, "--compare", "TILED", "--json"]).ends(2).says("name two schedules or more");
    run(&["explain", &path, "--profile", "vulkan_1_1"]).ends(2).says("--compare");
    let wrong = run(&["explain", &path, "TILED", "--tune", "SIDE=64", "--json"]).ends(1).json();
    assert!(wrong[0]["errors"][0].as_str().unwrap().contains("invocations"), "{wrong}");
    file.write("src/schedules.rs", "//! None.\n");
    run(&["explain", &path]).ends(2).says("has no schedules");
}
