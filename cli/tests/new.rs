//! `tilewright new`: the crate compiles and is right under both schedules, and invalid options are refused.

use crate::common::run;
use std::path::Path;
use tempfile::TempDir;

fn made(arguments: &[&str]) -> (TempDir, String) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("my-kernels").to_str().unwrap().to_owned();
    let ran = run(&[&["new", &path], arguments].concat()).ends(0);
    assert!(ran.out.contains("cargo test") || ran.out.contains("\"files\""), "{}", ran.out);
    (folder, path)
}

#[test]
fn its_schedules_compile_and_run() {
    let (_folder, path) = made(&[]);
    let file = format!("{path}/src/schedules.rs");
    run(&["explain", &file]).ends(0);
    let told = run(&["explain", &file, "--schedule", "TILED", "--json"]).ends(0).json();
    assert_eq!(told[0]["tuned"][0]["value"], 8);
    let tuned = run(&["tune", &file, "--size", "M=9,N=7,K=5", "--json", "--all"]).ends(0).json();
    assert_eq!((tuned[0]["schedule"].as_str(), tuned[0]["choices"].as_u64()), (Some("TILED"), Some(18)));
    assert_eq!(tuned[0]["refused"].as_array().unwrap().len(), 0, "{tuned}");
    let timed = run(&["bench", &file, "--size", "M=9,N=7,K=5", "--runs", "2", "--json"]).ends(0).json();
    assert_eq!(timed["rows"].as_array().unwrap().len(), 2);
    let manifest = std::fs::read_to_string(format!("{path}/Cargo.toml")).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().canonicalize().unwrap();
    assert!(manifest.contains("name = \"my-kernels\"\n"), "{manifest}");
    assert!(manifest.contains(&format!("tilewright = {{ path = \"{}\" }}\n", root.display())), "{manifest}");
    assert!(std::fs::read_to_string(format!("{path}/tests/results.rs")).unwrap().contains("use my_kernels::{PLAIN, TILED};"));
    assert!(std::fs::read_to_string(format!("{path}/tests/results.rs")).unwrap().contains("expected, \"{schedule}\")"));
    for file in ["src/lib.rs", "src/kernel.rs", "src/schedules.rs", "tests/results.rs", "Cargo.toml"] {
        assert!(!std::fs::read_to_string(format!("{path}/{file}")).unwrap().contains("{name}"), "{file}");
    }
}

/// Names sort before and after `tilewright`, and long ones fill lines, so several are tried.
#[test]
fn what_it_writes_is_formatted() {
    for name in ["a", "my-kernels", "zeta-kernels", "a-name-that-is-longer-than-those-that-most-crates-have"] {
        let (_folder, path) = made(&["--name", name]);
        let output = std::process::Command::new("cargo").args(["fmt", "--check"]).current_dir(&path).output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn it_can_depend_on_a_repository() {
    let (_folder, path) = made(&["--git", "https://example.org/a\"b", "--name", "other", "--json"]);
    let manifest = std::fs::read_to_string(format!("{path}/Cargo.toml")).unwrap();
    assert!(manifest.contains("tilewright = { git = \"https://example.org/a\\\"b\" }\n"), "{manifest}");
    assert!(manifest.contains("name = \"other\"\n"), "{manifest}");
}

#[test]
fn wrong_names_and_folders_are_refused() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (name, why) in [
        ("1st", "it begins with neither a letter nor an underscore"),
        ("a.b", "it has '.'"),
        ("match", "it is a keyword of Rust"),
        ("std", "another crate has it"),
        ("tilewright", "another crate has it"),
    ] {
        run(&["new", &at(name)]).ends(2).says(why);
        assert!(!folder.path().join(name).exists(), "{name}");
    }
    std::fs::create_dir(folder.path().join("full")).unwrap();
    std::fs::write(folder.path().join("full/mine"), "mine").unwrap();
    run(&["new", &at("full")]).ends(2).says("exists and is not empty");
    run(&["new", &at("new"), "--checkout", folder.path().to_str().unwrap()]).ends(2).says("is not a checkout of Tilewright");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    run(&["new", &format!("{}/mine/deep", at("full"))]).ends(2).says("cannot make");
}
