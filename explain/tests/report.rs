//! Tests the JSON of a schedule, and that the documentation names all of its fields.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use tilewright_explain::source::Source;
use tilewright_explain::{Given, Report, SCHEMA, explain, json};

const FILE: &str = "use tilewright::{kernel, profile, schedule};
kernel! { pub fn scaled<M, N>(x: f32[M, N]) -> y: f32[M, N] { y[i, j] = x[i, j] * 2.0; } }
profile! { pub board: tilewright::devices::nvidia_hopper { gflops: 1000, bandwidth: 100 } }
schedule! {
    pub COLUMNS: scaled for board {
        tune B in [32, 64] = 32;
        tile(i: B, j: 1) => workgroup(y, x);
        distribute(i => thread(x));
    }
}
schedule! { pub WRONG: scaled for board { tile(k: 4); } }
";

/// Returns the reports of the file's schedules as JSON, with the folder removed from paths.
fn reports(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reports").join(name);
    std::fs::create_dir_all(folder.join("src")).expect("a folder");
    std::fs::write(folder.join("Cargo.toml"), "").expect("a file");
    std::fs::write(folder.join("src/lib.rs"), FILE).expect("a file");
    let source = Source::open(&folder.join("src/lib.rs")).expect("it is read");
    let given = Given { dims: vec![("M".into(), 100), ("N".into(), 64)], ..Given::default() };
    let report = |name: &str| {
        let subject = source.subject(name).unwrap_or_else(|e| panic!("{e}"));
        Report::new(&subject, &given, &explain(&subject, &given))
    };
    let reports: Vec<Report> = source.schedules().into_iter().map(report).collect();
    let here = std::env::current_dir().expect("a folder");
    let path = folder.canonicalize().expect("the folder");
    let shown = path.strip_prefix(here).unwrap_or(&path).display().to_string();
    let text = json(&reports).expect("JSON").replace(&format!("{shown}/"), "");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_report_says_all_that_is_known() {
    let reports = reports("whole");
    insta::assert_snapshot!(serde_json::to_string_pretty(&reports[0]).expect("JSON"));
}

#[test]
fn a_wrong_schedule_has_steps_and_errors() {
    let reports = reports("wrong");
    let wrong = &reports[1];
    assert_eq!(wrong["schema"], SCHEMA);
    assert_eq!(wrong["versions"][0]["steps"].as_array().map(Vec::len), Some(1));
    assert_eq!(wrong["versions"][0]["launch"], Value::Null);
    let error = wrong["errors"][0].as_str().expect("an error");
    assert!(error.starts_with("src/lib.rs:11:48: error: "), "{error}");
}

/// Collects the names of all fields, except for names of dims.
fn names(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                found.insert(name.clone());
                if name != "dims" {
                    names(value, found);
                }
            }
        }
        Value::Array(all) => all.iter().for_each(|value| names(value, found)),
        _ => {}
    }
}

#[test]
fn all_fields_are_documented() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/explain.md")).expect("the page");
    let mut found = BTreeSet::new();
    names(&reports("names"), &mut found);
    assert!(found.len() > 80, "{} fields", found.len());
    let missing: Vec<&String> = found.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert_eq!(missing, [] as [&String; 0]);
    assert!(page.contains(&format!("`schema` is {SCHEMA}")));
}
