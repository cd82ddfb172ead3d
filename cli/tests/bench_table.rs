//! `tilewright bench table`, and the times of other libraries.

use crate::common::{Crate, Ran, ran, run, tilewright};

/// A row that lavapipe computes fast.
const ROW: &str = "conv1x1 1x56x56x240 to 64";

/// Times the row on lavapipe.
fn table(more: &[&str]) -> Ran {
    let arguments = ["bench", "table", "--row", ROW, "--runs", "1", "--sets", "1"];
    ran(tilewright(&[&arguments, more].concat()).env("TILEWRIGHT_DEVICE", "cpu"))
}

#[test]
fn the_table_lists_rows_with_all_their_sizes() {
    let list = run(&["bench", "table", "--list", "--json"]).ends(0).json();
    let rows = list.as_array().unwrap();
    let row = rows.iter().find(|row| row["work"] == ROW).unwrap();
    assert_eq!((&row["kernel"], &row["sizes"]["IC"], &row["sizes"]["OC"]), (&"conv1x1".into(), &240.into(), &64.into()));
    let some = run(&["bench", "table", "--list", "--kernel", "matmul"]).ends(0).out;
    assert!(some.contains(" matmul 4096 ") && !some.contains("softmax"), "{some}");
}

#[test]
fn the_table_has_the_best_schedule_of_each_row_beside_other_libraries() {
    let file = Crate::new(&[(
        "anchors.jsonl",
        "{\"work\": \"conv1x1 1x56x56x240 to 64\", \"variant\": \"slow\", \"ms\": 3.5, \"tflops\": 1.0}\n\n\
         {\"work\": \"conv1x1 1x56x56x240 to 64\", \"variant\": \"fast\", \"ms\": 1e-3}\n\
         {\"work\": \"conv1x1 1x56x56x240 to 64\", \"variant\": \"failed\", \"error\": \"no such kernel\"}\n\
         {\"work\": \"copy\", \"variant\": \"a\", \"ms\": 1}\n",
    )]);
    let anchors = file.arg("anchors.jsonl");
    let json = table(&["--json", "--torch", &anchors]).ends(0).says("the table has no rows of these names").json();
    let line = &json["table"][0];
    assert_eq!((&line["work"], &line["torch_variant"], &line["torch_ns"]), (&ROW.into(), &"fast".into(), &1000.0.into()));
    let rows = json["rows"].as_array().unwrap();
    let best = rows.iter().filter_map(|row| row["median_ns"].as_f64()).min_by(f64::total_cmp);
    assert!(rows.iter().all(|row| row["work"] == ROW) && best == line["median_ns"].as_f64(), "{json}");
    assert!((line["torch_ratio"].as_f64().unwrap() - 1000.0 / best.unwrap()).abs() < 1e-9, "{line}");
    let planned = rows.iter().find(|row| row["schedule"] == "DEFAULT").unwrap();
    assert_eq!(line["any_device_ns"], planned["median_ns"]);

    let text = table(&["--markdown", "--torch", &anchors]).ends(0).out;
    assert!(text.contains("| row ") && text.contains(&format!("| {ROW} ")) && text.contains(" fast "), "{text}");
}

#[test]
fn wrong_tables_are_refused() {
    let file = Crate::new(&[
        ("broken.jsonl", "{\"work\": \"add 16M\", \"variant\": \"a\", \"ms\": 1}\nms 3\n"),
        ("zero.jsonl", "{\"work\": \"add 16M\", \"variant\": \"a\", \"ms\": 0}\n"),
        ("lacking.jsonl", "{\"work\": \"add 16M\", \"variant\": \"a\"}\n"),
    ]);
    table(&["--torch", &file.arg("broken.jsonl")]).ends(2).says("broken.jsonl:2: this is not a time of scripts/anchors.py");
    table(&["--torch", &file.arg("zero.jsonl")]).ends(2).says("zero.jsonl:1: ").says("`ms` is 0, which is not above 0");
    table(&["--torch", &file.arg("lacking.jsonl")]).ends(2).says("`ms` is missing");
    table(&["--torch", "/nowhere.jsonl"]).ends(2).says("cannot read /nowhere.jsonl");
    run(&["bench", "table", "--row", "matmul 51"]).ends(2).says("did you mean `matmul 512`?");
    run(&["bench", "table", "--size", "M=1"]).ends(2).says("the rows of the table have their own sizes");
    run(&["bench", "catalog", "--markdown"]).ends(2).says("write `tilewright bench table`");
}
