//! The program: what it prints and writes, and colours where they are wanted.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const FILE: &str = "use tilewright::{kernel, schedule, devices::nvidia_hopper};
kernel! { pub fn doubled<M, N>(x: f32[M, N]) -> y: f32[M, N] { y[i, j] = x[i, j] * 2.0; } }
schedule! { pub ROWS: doubled for nvidia_hopper { tile(i: 32, j: 1) => workgroup(y, x); distribute(i => thread(x)); } }
schedule! { pub WRONG: doubled for nvidia_hopper { tile(k: 32); } }
";

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("explain").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("schedules.rs"), FILE).expect("a file");
    folder
}

/// Runs the program in a folder, with these variables.
fn run(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_explain"));
    program.current_dir(folder).arg("schedules.rs").args(arguments);
    program.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").envs(variables.iter().copied());
    program.output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[test]
fn colours_are_left_out_where_they_are_not_wanted() {
    let folder = folder("colours");
    let has = |variables: &[(&str, &str)]| text(&run(&folder, &["ROWS"], variables).stdout).contains('\u{1b}');
    assert!(!has(&[]), "not to a pipe");
    assert!(has(&[("CLICOLOR_FORCE", "1")]));
    assert!(!has(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}

#[test]
fn lints_have_their_places() {
    let told = text(&run(&folder("lints"), &["ROWS", "--brief"], &[]).stdout);
    let lints = told.split("worth a look\n").nth(1).expect("lints");
    let first = "  uncoalesced       neighbouring invocations read elements of `x` that are a row apart  schedules.rs:3:89\n";
    assert!(lints.starts_with(first), "{lints}");
}

#[test]
fn json_is_a_list_of_reports() {
    let ran = run(&folder("json"), &["--json", "--dims", "M=64,N=32"], &[]);
    assert!(!ran.status.success(), "one schedule is wrong");
    let reports: serde_json::Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    let names: Vec<&str> = reports.as_array().expect("a list").iter().filter_map(|r| r["schedule"].as_str()).collect();
    assert_eq!(names, ["ROWS", "WRONG"]);
    assert_eq!(reports[0]["versions"][0]["dispatches"][0]["flops"], 64 * 32);
    assert_eq!(reports[1]["errors"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_page_is_written_or_not() {
    let folder = folder("page");
    let ran = run(&folder, &["ROWS", "--html", "page.html"], &[]);
    assert!(ran.status.success() && ran.stdout.is_empty(), "{}", text(&ran.stderr));
    let page = std::fs::read_to_string(folder.join("page.html")).expect("a page");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<title>ROWS</title>"));
    let ran = run(&folder, &["ROWS", "--html", "missing/page.html"], &[]);
    assert!(!ran.status.success());
    assert!(text(&ran.stderr).starts_with("missing/page.html cannot be written: "), "{}", text(&ran.stderr));
}
