//! `tilewright bench`, on the reference device: tables, JSON, charts, comparisons, several runners.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{Crate, SCHEDULES, product, run, wrapper};

fn bench(file: &str, more: &[&str]) -> common::Ran {
    run(&[&["bench", file, "--size", "M=13,N=11,K=7", "--runs", "3"], more].concat())
}

#[test]
fn a_files_schedules_are_timed_beside_each_other() {
    let file = product();
    let path = file.arg("src/schedules.rs");
    let chart = file.arg("chart.svg");
    let run = bench(&path, &["--json", "--svg", &chart]).ends(0).says("its times say nothing of a GPU's");
    let rows = run.json()["rows"].as_array().unwrap().clone();
    assert_eq!(rows.len(), 2);
    for (row, schedule) in rows.iter().zip(["TILED", "PLAIN"]) {
        assert_eq!(
            (&row["schedule"], &row["kernel"], &row["sizes"]),
            (&schedule.into(), &"matmul".into(), &"M=13,N=11,K=7".into())
        );
        assert_eq!((&row["device"], &row["runner"], &row["runs"]), (&"reference device".into(), &"here".into(), &3.into()));
        assert!(row["median_ns"].as_f64().unwrap() >= row["least_ns"].as_f64().unwrap());
        // Each input and output once, in bytes.
        assert_eq!(row["bytes"], 4.0 * (13.0 * 7.0 + 7.0 * 11.0 + 13.0 * 11.0));
        assert!(row["roofline"].is_null() && row["error"].is_null());
    }
    let svg = file.read("chart.svg");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.matches("<title>").count() == 2, "{svg}");

    file.write("before.json", &run.out);
    let text = bench(&path, &["--against", &file.arg("before.json"), "--schedule", "PLAIN"]).ends(0).out;
    assert!(text.contains("before") && text.contains(" %\n") && !text.contains("TILED"), "{text}");
    let again = bench(&path, &["--against", &file.arg("before.json"), "--json"]).ends(0).json();
    assert_eq!(again["rows"][0]["before_ns"], rows[0]["median_ns"]);
}

#[test]
fn the_rooflines_share_is_by_the_profiles_rates() {
    let file = product();
    let path = file.arg("src/schedules.rs");
    file.write(
        "src/schedules.rs",
        &SCHEDULES.replace("PLAIN: matmul for vulkan_1_1", "PLAIN: matmul for tilewright::devices::nvidia_hopper"),
    );
    let rows = bench(&path, &["--json", "--schedule", "PLAIN"]).ends(0).json()["rows"].as_array().unwrap().clone();
    // 1244 bytes at 4800 GB/s; the arithmetic takes less at 67 TFLOP/s.
    let share = rows[0]["roofline"].as_f64().unwrap() * rows[0]["median_ns"].as_f64().unwrap();
    assert!((share - 1244.0 / 4800.0).abs() < 1e-9, "{rows:?}");
}

#[test]
fn the_catalog_is_timed_at_sizes_of_its_own() {
    let arguments =
        ["bench", "catalog", "--kernel", "matmul", "--size", "M=8,N=12", "--size", "K=64,M=64,N=64", "--runs", "1", "--json"];
    let rows = run(&arguments).ends(0).json()["rows"].as_array().unwrap().clone();
    assert!(rows.iter().any(|r| r["sizes"] == "M=8,N=12,K=512") && rows.iter().any(|r| r["sizes"] == "M=64,N=64,K=64"), "{rows:?}");
    let hopper = rows.iter().find(|r| r["schedule"] == "REGISTERS_4X4" && r["sizes"] == "M=64,N=64,K=64").unwrap();
    // 2^19 operations at 67 TFLOP/s, and 49152 bytes at 4800 GB/s, which take longer.
    assert_eq!((&hopper["operations"], &hopper["bytes"]), (&524_288.0.into(), &49_152.0.into()));
    let share = hopper["roofline"].as_f64().unwrap() * hopper["median_ns"].as_f64().unwrap();
    assert!((share - 49_152.0 / 4800.0).abs() < 1e-9, "{hopper}");
    let list = run(&["bench", "catalog", "--list", "--kernel", "matmul"]).ends(0).out;
    assert!(list.contains("sizes: M=512,N=512,K=512") && list.contains("DEFAULT for vulkan_1_1"), "{list}");
    let list = run(&["bench", &product().arg("src/schedules.rs"), "--list", "--json"]).ends(0).json();
    assert_eq!((list[0]["sizes"][2].as_str(), list[0]["schedules"][1].as_str()), (Some("K"), Some("PLAIN for vulkan_1_1")));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let file = product();
    let path = file.arg("src/schedules.rs");
    run(&["bench", &path]).ends(2).says("write `--size M=…,N=…,K=…`");
    bench(&path, &["--schedule", "TYLED"]).ends(2).says("did you mean `TILED`?");
    bench(&path, &["--kernel", "softmax"]).ends(2).says("there is no kernel `softmax`");
    run(&["bench", "catalog", "--kernel", "matmull"]).ends(2).says("did you mean `matmul`?");
    run(&["bench", "catalog", "--kernel", "matmul", "--size", "Z=3"]).ends(2).says("no kernel that is timed has a size `Z`");
    run(&["bench", "catalog", "--kernel", "matmul", "--schedule", "NONE"]).ends(2).says("nothing of that name");
    bench(&path, &["--runs", "0"]).ends(2);
    bench(&path, &["--against", "/nowhere.json"]).ends(2).says("cannot read /nowhere.json");
    file.write("before.json", "{\"rows\": []}");
    bench(&path, &["--against", &file.arg("before.json")]).ends(2).says("is no run that `tilewright bench --json` printed");
    bench(&path, &["--svg", "/nowhere/chart.svg"]).ends(2).says("cannot write /nowhere/chart.svg");
    bench(&path, &["--device", "a device that nobody has"]).ends(3).says("a device that nobody has");
}

#[test]
fn what_the_device_lacks_is_no_failure_unless_nothing_else_is_there() {
    let wide = "tilewright::kernel! { pub fn twice<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] * 2.0; } }
        tilewright::profile! { pub wide: tilewright::devices::vulkan_1_1 { invocations: 4096, local: [4096, 1024, 64] } }
        tilewright::schedule! { pub WIDE: twice for wide { tile(i: 4096) => workgroup(x); tile(i: 1) => thread(x); } }
        tilewright::schedule! { pub PLAIN: twice for wide { } }";
    let file = Crate::new(&[("src/lib.rs", wide)]);
    let both = run(&["bench", &file.arg("src/lib.rs"), "--size", "N=100", "--runs", "1", "--json"]).ends(0).json();
    let lacking = both["rows"].as_array().unwrap().iter().find(|r| r["schedule"] == "WIDE").unwrap().clone();
    assert_eq!(lacking["unsupported"], true);
    assert!(lacking["error"].as_str().unwrap().contains("needs 4096 invocations"), "{lacking}");
    let one = run(&["bench", &file.arg("src/lib.rs"), "--size", "N=100", "--runs", "1", "--schedule", "WIDE"]).ends(1).out;
    assert!(one.contains("WIDE is not measured: "), "{one}");
}

#[test]
fn several_runners_are_timed_and_one_that_fails_loses_nothing() {
    let file = product();
    let path = file.arg("src/schedules.rs");
    let through = wrapper(&file, "exec \"$@\"");
    let rows = bench(&path, &["--json", "--runner", &through, "--runner", "sh -c 'exit 9'", "--runner", &through]).ends(4);
    assert!(rows.err.contains("has ended (exit status: 9)"), "{}", rows.err);
    let rows = rows.json()["rows"].as_array().unwrap().clone();
    assert_eq!(rows.iter().filter(|row| row["median_ns"].is_number()).count(), 4);
    let hangs = wrapper(&file, "dd bs=1 count=3000 2>/dev/null | \"$@\"; exec sleep 60");
    let ran = bench(&path, &["--json", "--answer-within", "2s", "--runner", &hangs]);
    assert!(ran.exit != 0 && ran.json()["rows"].as_array().unwrap().iter().any(|r| r["error"].is_string()), "{}", ran.out);
}

#[test]
fn the_processor_can_be_timed() {
    let file = product();
    let rows = bench(&file.arg("src/schedules.rs"), &["--cpu", "--json"]).ends(0).json()["rows"].as_array().unwrap().clone();
    for row in rows {
        assert!(row["driver"].as_str().unwrap().ends_with(", by the processor's time"), "{row}");
        assert!(row["median_ns"].as_f64().unwrap() > 0.0, "{row}");
    }
}
