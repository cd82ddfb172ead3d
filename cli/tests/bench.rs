//! `tilewright bench`, on the reference device: tables, JSON, charts, comparisons, several runners.

use crate::common::{Crate, Ran, SCHEDULES, product, run, wrapper};

fn bench(file: &str, more: &[&str]) -> Ran {
    run(&[&["bench", file, "--size", "M=13,N=11,K=7", "--runs", "3"], more].concat())
}

#[test]
fn a_files_schedules_are_timed_beside_each_other() {
    let file = product();
    let path = file.arg("src/schedules.rs");
    let chart = file.arg("chart.svg");
    let run = bench(&path, &["--json", "--svg", &chart]).ends(0).says("its times do not predict a GPU's");
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
        assert!(row["bound_by"] == "memory" && row["error"].is_null());
    }
    let svg = file.read("chart.svg");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.matches("<title>").count() == 2, "{svg}");

    file.write("before.json", &run.out);
    let text = bench(&path, &["--against", &file.arg("before.json"), "--schedule", "PLAIN"]).ends(0).out;
    assert!(text.contains("before") && text.contains(" %\n") && !text.contains("TILED"), "{text}");
    let again = bench(&path, &["--against", &file.arg("before.json"), "--json"]).ends(0).json();
    assert_eq!(again["rows"][0]["before_ns"], rows[0]["median_ns"]);
}

/// Returns the curve of the first device, as bytes and nanoseconds.
fn curve(json: &serde_json::Value) -> Vec<[f64; 2]> {
    let points = json["devices"][0]["curve"].as_array().unwrap();
    points.iter().map(|point| ["bytes", "nanoseconds"].map(|name| point[name].as_f64().unwrap())).collect()
}

#[test]
fn the_roofline_is_by_measured_copies_and_the_profiles_arithmetic() {
    let file = product();
    let path = file.arg("src/schedules.rs");
    let slow = "PLAIN: matmul for slow { distribute(i, j => workgroup(y, x)); }";
    let profile = "tilewright::profile! { pub slow: vulkan_1_1 { gflops: 1 } }";
    file.write("src/schedules.rs", &format!("{}{profile}\n", SCHEDULES.replace("PLAIN: matmul for vulkan_1_1 {}", slow)));
    let timed = |size| run(&["bench", &path, "--json", "--schedule", "PLAIN", "--runs", "1", "--size", size]).ends(0).json();
    let few = timed("M=13,N=11,K=7");
    let (row, curve) = (&few["rows"][0], curve(&few));
    assert!(curve.len() >= 2 && curve.is_sorted_by(|a, b| a[0] < b[0]), "{curve:?}");
    // 1244 bytes are between the first two points.
    let (bound, [[_, a], [_, b]]) = (row["bound_ns"].as_f64().unwrap(), [curve[0], curve[1]]);
    assert!(row["bound_by"] == "memory" && (a.min(b)..=a.max(b)).contains(&bound), "{row} {curve:?}");
    assert!((row["roofline"].as_f64().unwrap() * row["median_ns"].as_f64().unwrap() - bound).abs() < 1e-6 * bound, "{row}");
    // 2^25 operations at 1 GFLOP/s take longer than the bytes.
    let row = timed("M=256,N=256,K=256")["rows"][0].clone();
    assert_eq!((&row["bound_by"], &row["bound_ns"]), (&"arithmetic".into(), &33_554_432.0.into()));
    let text = bench(&path, &["--schedule", "PLAIN"]).ends(0).out;
    assert!(text.contains("memory by a vector sum that moves 48 B at ") && text.contains(" % memory"), "{text}");
}

#[test]
fn the_catalog_is_timed_at_sizes_of_its_own() {
    let arguments =
        ["bench", "catalog", "--kernel", "matmul", "--size", "M=8,N=12", "--size", "K=64,M=64,N=64", "--runs", "1", "--json"];
    let rows = run(&arguments).ends(0).json()["rows"].as_array().unwrap().clone();
    assert!(rows.iter().any(|r| r["sizes"] == "M=8,N=12,K=512") && rows.iter().any(|r| r["sizes"] == "M=64,N=64,K=64"), "{rows:?}");
    let hopper = rows.iter().find(|r| r["schedule"] == "REGISTERS_4X4" && r["sizes"] == "M=64,N=64,K=64").unwrap();
    assert_eq!((&hopper["operations"], &hopper["bytes"]), (&524_288.0.into(), &49_152.0.into()));
    let list = run(&["bench", "catalog", "--list", "--kernel", "matmul"]).ends(0).out;
    assert!(list.contains("sizes: M=512,N=512,K=512") && list.contains("DEFAULT for vulkan_1_1"), "{list}");
    let list = run(&["bench", &product().arg("src/schedules.rs"), "--list", "--json"]).ends(0).json();
    assert_eq!((list[0]["sizes"][2].as_str(), list[0]["schedules"][1].as_str()), (Some("K"), Some("PLAIN for vulkan_1_1")));
}

/// A ready schedule for a literal size is not timed at another one.
#[test]
fn a_size_that_facts_contradict_is_refused() {
    let timed =
        |size: &str| run(&["bench", "catalog", "--kernel", "softmax", "--schedule", "SOFTMAX_4096", "--size", size, "--runs", "1"]);
    let refused = timed("R=2,C=33").ends(1);
    assert!(refused.out.contains("SOFTMAX_4096 is not measured: `C == 4096` does not hold: `C` is 33"), "{}", refused.out);
    timed("R=2,C=4096").ends(0);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let file = product();
    let path = file.arg("src/schedules.rs");
    run(&["bench", &path]).ends(2).says("write `--size M=…,N=…,K=…`");
    bench(&path, &["--schedule", "TYLED"]).ends(2).says("did you mean `TILED`?");
    bench(&path, &["--kernel", "softmax"]).ends(2).says("unknown kernel `softmax`");
    run(&["bench", "catalog", "--kernel", "matmull"]).ends(2).says("did you mean `matmul`?");
    run(&["bench", "catalog", "--kernel", "matmul", "--size", "Z=3"]).ends(2).says("no kernel that is timed has a size `Z`");
    run(&["bench", "catalog", "--kernel", "matmul", "--schedule", "NONE"]).ends(2).says("the options select no schedule");
    bench(&path, &["--runs", "0"]).ends(2);
    bench(&path, &["--against", "/nowhere.json"]).ends(2).says("cannot read /nowhere.json");
    file.write("before.json", "{\"rows\": []}");
    bench(&path, &["--against", &file.arg("before.json")]).ends(2).says("is not the output of `tilewright bench --json`");
    bench(&path, &["--svg", "/nowhere/chart.svg"]).ends(2).says("cannot write /nowhere/chart.svg");
    bench(&path, &["--device", "an unknown device"]).ends(3).says("an unknown device");
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

/// A kernel with schedules that make different sizes literals, and a schedule of another kernel.
const PINNED: &str = "use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};
kernel! { pub fn scale<N, C>(x: f32[N, C]) -> y: f32[N, C] { y[i, j] = 2.0 * x[i, j]; } }
kernel! { pub fn twice<H>(x: f32[H]) -> y: f32[H] { y[i] = 2.0 * x[i]; } }
schedule! { pub FOUR: scale for vulkan_1_1 where C == 4 {} }
schedule! { pub ROWS: scale for vulkan_1_1 where N == 8 {} }
schedule! { pub ANY: scale for vulkan_1_1 { pin(C); specialize(C == 4); } }
schedule! { pub OTHER: twice for vulkan_1_1 {} }
";

/// Returns the name, the sizes and the error of each row.
fn rows(ran: &Ran) -> Vec<(String, String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let rows = ran.json()["rows"].as_array().unwrap().clone();
    rows.iter().map(|row| (text(&row["schedule"]), text(&row["sizes"]), text(&row["error"]))).collect()
}

#[test]
fn a_size_that_one_schedule_pins_is_one_of_the_others() {
    let file = Crate::new(&[("src/lib.rs", PINNED)]);
    let path = file.arg("src/lib.rs");
    let bench = |more: &[&str]| run(&[&["bench", &path, "--runs", "1", "--json"], more].concat());
    let measured = |names: &[&str], sizes: &str| -> Vec<(String, String, String)> {
        names.iter().map(|name| ((*name).to_owned(), sizes.to_owned(), String::new())).collect()
    };
    let of_one = bench(&["--kernel", "scale", "--size", "N=8,C=4"]).ends(0);
    assert_eq!(rows(&of_one), measured(&["FOUR", "ROWS", "ANY"], "N=8,C=4"));
    // The literal may be left out if only the schedule that has it is timed.
    assert_eq!(rows(&bench(&["--schedule", "FOUR", "--size", "N=3"]).ends(0)), measured(&["FOUR"], "N=3,C=4"));
    // A size that contradicts a fact excludes only that schedule, and is not a failure.
    let other = bench(&["--kernel", "scale", "--size", "N=8,C=5"]).ends(0);
    let got = rows(&other);
    assert_eq!(got[0].2, "`C == 4` does not hold: `C` is 5");
    assert_eq!(got[1..], measured(&["ROWS", "ANY"], "N=8,C=5")[..]);
    // A schedule whose sizes are incomplete is named at the end.
    let lacking = bench(&["--kernel", "scale", "--size", "N=8"]).ends(1).says("not measured: `ROWS`, `ANY`");
    let got = rows(&lacking);
    assert!(got.iter().any(|row| *row == measured(&["FOUR"], "N=8,C=4")[0]), "{got:?}");
    assert!(got.iter().any(|row| row.2 == "some sizes of `ANY` are missing; write `--size N=8,C=…`"), "{got:?}");
    // Sets for each kernel, one set for both, and sizes of one kernel alone.
    let both = bench(&["--size", "N=8,C=4", "--size", "H=5"]).ends(0);
    assert_eq!(rows(&both).len(), 4);
    assert_eq!(rows(&bench(&["--size", "N=8,C=4,H=5"]).ends(0)).len(), 4);
    let one = bench(&["--size", "N=8,C=4"]).ends(1).says("not measured: `OTHER`");
    assert_eq!(rows(&one).iter().filter(|row| row.2.is_empty()).count(), 3);
    // A name that no kernel has, and a set that suffices for no schedule, are wrong command lines.
    bench(&["--size", "N=8,C=4,Z=1"]).ends(2).says("no kernel of these schedules has a size `Z`");
    bench(&["--schedule", "ANY", "--size", "N=8,H=3"]).ends(2).says("`H` is not a size of `scale`; there are N, C");
    bench(&["--schedule", "ANY", "--size", "N=8,C=4", "--size", "N=8"]).ends(2).says("write `--size N=8,C=…`");
}

#[test]
fn one_wrong_schedule_does_not_stop_the_others() {
    let wrong = "schedule! { pub WRONG: scale for vulkan_1_1 { tile(i: 2048) => workgroup(x); tile(i: 1) => thread(x); } }
schedule! { pub BROKEN: scale for vulkan_1_1 { tile(i 4); } }
schedule! { pub GONE: nowhere for vulkan_1_1 {} }\n";
    let file = Crate::new(&[("src/lib.rs", &format!("{PINNED}{wrong}"))]);
    let path = file.arg("src/lib.rs");
    let chart = file.arg("chart.svg");
    let ran = run(&["bench", &path, "--size", "N=8,C=4,H=5", "--runs", "1", "--svg", &chart]).ends(1);
    let ran = ran.says("not measured: `WRONG`, `BROKEN`, `GONE`");
    for name in ["FOUR", "ROWS", "ANY", "OTHER"] {
        assert!(ran.out.lines().any(|line| line.trim_start().starts_with(&format!("{name} "))), "{}", ran.out);
    }
    assert!(ran.out.contains("WRONG is not measured: ") && ran.out.contains("2048 invocations"), "{}", ran.out);
    let only = run(&["bench", &path, "--schedule", "WRONG", "--size", "N=8,C=4", "--runs", "1"]).ends(1);
    only.says("2048 invocations");
    run(&["bench", &path, "--list"]).ends(0);
}

/// Labels begin within the chart, however long they are.
#[test]
fn labels_of_charts_have_room() {
    let name = "A_SCHEDULE_WHOSE_NAME_IS_LONGER_THAN_THOSE_THAT_MOST_OTHER_SCHEDULES_HAVE";
    let file = Crate::new(&[("src/lib.rs", &PINNED.replace("OTHER:", &format!("{name}:")))]);
    let chart = file.arg("chart.svg");
    run(&["bench", &file.arg("src/lib.rs"), "--kernel", "twice", "--size", "H=5", "--runs", "1", "--svg", &chart]).ends(0);
    let svg = file.read("chart.svg");
    let number = |before: &str| svg.split(before).nth(1).unwrap().split('"').next().unwrap().parse::<f64>().unwrap();
    let label = svg.lines().find(|line| line.starts_with("<text") && line.contains(name)).unwrap();
    let end: f64 = label.split("x=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
    // Half of the font's size is less than the mean width of capitals.
    assert!(label.contains("text-anchor=\"end\"") && end > (name.len() + " (vulkan_1_1)".len()) as f64 * 8.0, "{label}");
    assert!(number("width=\"") > end + 400.0, "{svg}");
}
