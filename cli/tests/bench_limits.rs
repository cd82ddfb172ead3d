//! Limits of `tilewright bench`: slow schedules that are dropped, times for the schedules of a kernel, and interrupted runs.

use crate::common::{Crate, Ran, product, run, tilewright, wrapper};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A kernel with a schedule that repeats a sum in each workgroup, and a schedule that does not.
const SUMS: &str = "use tilewright::devices::vulkan_1_1;
tilewright::kernel! {
    pub fn spread<R, N, K>(x: f32[R, K], z: f32[N]) -> y: f32[R, N] {
        let total[r]: f32[R] = sum(k in 0..K) { x[r, k] };
        y[r, i] = total[r] * z[i];
    }
}
tilewright::schedule! { pub ONCE: spread for vulkan_1_1 { root(total); distribute(r, i => workgroup(y, x)); } }
tilewright::schedule! { pub REPEATED: spread for vulkan_1_1 {
    distribute(r, i => workgroup(y, x));
    compute_at(total, workgroup, to: register);
} }
";

#[test]
fn a_schedule_that_is_much_slower_than_the_best_is_dropped() {
    let file = Crate::new(&[("src/lib.rs", SUMS)]);
    let (path, chart) = (file.arg("src/lib.rs"), file.arg("chart.svg"));
    let bench = |more: &[&str]| run(&[&["bench", &path, "--size", "R=1,N=512,K=2048", "--runs", "3"], more].concat());
    // The repeated sums take 450 times as long, unless other processes disturb the times.
    let rows = bench(&["--json", "--slower", "1.5"]).ends(0).json()["rows"].as_array().unwrap().clone();
    let of = |name: &str| rows.iter().find(|row| row["schedule"] == name).unwrap();
    assert_eq!((&of("ONCE")["dropped"], &of("ONCE")["runs"]), (&false.into(), &3.into()));
    assert_eq!((&of("REPEATED")["dropped"], &of("REPEATED")["runs"]), (&true.into(), &1.into()));
    assert!(of("REPEATED")["median_ns"].as_f64() > of("ONCE")["median_ns"].as_f64() && of("REPEATED")["error"].is_null());
    let text = bench(&["--svg", &chart, "--slower", "1.5"]).ends(0).out;
    assert!(text.contains("dropped after a launch") && text.contains("median of 3"), "{text}");
    assert!(file.read("chart.svg").contains("dropped after a launch"));
    let all = bench(&["--json", "--slower", "0"]).ends(0).json();
    assert!(all["rows"].as_array().unwrap().iter().all(|row| row["dropped"] == false && row["runs"] == 3), "{all}");
    bench(&["--slower", "0.5"]).ends(2).says("`0.5` is neither a number above 1 nor 0");
}

#[test]
fn schedules_that_fit_the_device_come_first() {
    let mut command = tilewright(&["bench", "catalog", "--kernel", "softmax", "--size", "R=3,C=64", "--runs", "1", "--json"]);
    let rows = crate::common::ran(command.env("TILEWRIGHT_DEVICE", "cpu")).json()["rows"].clone();
    let profiles: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["profile"].as_str().unwrap()).collect();
    let order: Vec<usize> =
        profiles.iter().map(|profile| ["mesa_lavapipe", "vulkan_1_1"].iter().position(|p| p == profile).unwrap_or(2)).collect();
    assert!(order.is_sorted() && order.starts_with(&[0]) && order.contains(&1) && order.ends_with(&[2]), "{profiles:?}");
}

#[test]
fn the_schedules_of_a_kernel_share_a_time() {
    let file = product();
    let bench = |time: &str| {
        let sizes = ["--size", "M=64,N=64,K=64", "--runs", "100", "--row-within", time, "--json"];
        run(&[&["bench", &file.arg("src/schedules.rs")][..], &sizes].concat())
    };
    // No schedule is measured, which is a failure.
    let late = bench("1ns").ends(1).json();
    for row in late["rows"].as_array().unwrap() {
        assert!(row["out_of_time"] == true && row["error"].as_str().unwrap().starts_with("out of time: "), "{row}");
    }
    let some = bench("400ms").ends(0).json();
    assert!(some["rows"][0]["runs"].as_u64().is_some_and(|runs| runs >= 1), "{some}");
}

/// Starts a run whose second runner does not answer, and sends it a signal.
fn interrupted(signal: &str, more: &[&str]) -> Ran {
    let file = product();
    let (path, hung) = (file.arg("src/schedules.rs"), file.path("hung"));
    let first = wrapper(&file, "exec \"$@\"");
    let second = Crate::new(&[]);
    let second = wrapper(&second, &format!("dd bs=1 count=3000 2>/dev/null | \"$@\"; touch {}; exec sleep 60", hung.display()));
    let arguments = ["bench", &path, "--size", "M=13,N=11,K=7", "--runs", "2", "--runner", &first, "--runner", &second];
    let mut command = tilewright(&[&arguments, more].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while !hung.exists() && start.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(10));
    }
    // A second signal soon after the first one belongs to it.
    for _ in 0..2 {
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    }
    let output = child.wait_with_output().unwrap();
    assert!(start.elapsed() < Duration::from_secs(50), "it has waited for the runner");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { exit: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn an_interrupted_run_prints_its_rows() {
    for signal in ["-INT", "-TERM"] {
        let json = interrupted(signal, &["--json"]).ends(130).says("interrupted: the results so far follow").json();
        assert_eq!(json["interrupted"], true);
        let rows = json["rows"].as_array().unwrap();
        assert!(rows.len() >= 2 && rows.iter().all(|row| row["median_ns"].is_number()), "{json}");
    }
    let folder = Crate::new(&[]);
    let text = interrupted("-INT", &["--svg", &folder.arg("chart.svg")]).ends(130).out;
    assert!(text.contains(" TILED ") && text.contains(" PLAIN "), "{text}");
    assert!(folder.read("chart.svg").ends_with("</svg>\n"));
}
