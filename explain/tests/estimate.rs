//! Compares estimates with measured times of an H100 (`docs/measurements/table-h100.json`), and checks their reasons.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tilewright_explain::source::{Source, Subject};
use tilewright_explain::{Bottleneck, Given, explain};

/// The bandwidth of the measured card in GB/s. The profile describes an H200.
const BANDWIDTH: u32 = 3350;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found)
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path)
        }
    }
}

/// Returns the schedules for Hopper by kernel and name.
fn subjects() -> BTreeMap<(String, String), Subject> {
    let mut paths = Vec::new();
    files(&root().join("schedules/src/hopper"), &mut paths);
    let mut subjects = BTreeMap::new();
    for source in paths.iter().filter_map(|path| Source::open(path).ok()) {
        for mut subject in source.schedules().into_iter().filter_map(|name| source.subject(name).ok()) {
            subject.profile.bandwidth = Some(BANDWIDTH);
            subjects.entry((subject.kernel.name.text.clone(), subject.schedule.name.text.clone())).or_insert(subject);
        }
    }
    subjects
}

/// Returns the estimated microseconds of a launch.
fn estimated(subject: &Subject, sizes: &str) -> Option<f64> {
    let size = |pair: &str| pair.split_once('=').map(|(name, value)| (name.to_owned(), value.parse().expect("a number")));
    let dims = sizes.split(',').filter_map(size).collect();
    let told = explain(subject, &Given { dims, ..Given::default() });
    let taken = told.versions.iter().find(|version| version.taken == Some(true))?;
    taken.totals.as_ref()?.estimate.map(|estimate| estimate.nanoseconds / 1e3)
}

#[test]
fn estimates_are_near_measured_times() {
    let table = std::fs::read_to_string(root().join("docs/measurements/table-h100.json")).expect("the table");
    let table: Value = serde_json::from_str(&table).expect("JSON");
    let subjects = subjects();
    let mut ratios = Vec::new();
    for row in table["rows"].as_array().expect("rows") {
        let kernel = row["row"].as_str().and_then(|row| row.split(' ').next()).expect("a kernel");
        let sizes = row["sizes"].as_str().expect("sizes");
        // The fastest schedule of a row is the first.
        let all = row["after"].as_array().expect("schedules").iter();
        for measured in all.filter(|measured| measured["profile"] == "nvidia_hopper").take(1) {
            let name = measured["schedule"].as_str().expect("a name");
            let subject = subjects.get(&(kernel.to_owned(), name.to_owned()));
            let estimate = subject.and_then(|subject| estimated(subject, sizes));
            ratios.extend(estimate.map(|estimate| measured["us"].as_f64().expect("a time") / estimate));
        }
    }
    ratios.sort_by(f64::total_cmp);
    let at = |share: f64| ratios[((ratios.len() - 1) as f64 * share) as usize];
    assert!(ratios.len() > 25, "{} launches", ratios.len());
    assert!((1.0..1.6).contains(&at(0.5)), "{ratios:?}");
    assert!(at(0.1) > 0.7 && at(0.9) < 2.0, "{ratios:?}");
}

const PRODUCT: &str = "use tilewright::{kernel, schedule, devices::nvidia_hopper};
kernel! { pub fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] }; } }
schedule! { pub ONE: matmul for nvidia_hopper { tile(i: 8, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x)); } }
schedule! { pub ACROSS: matmul for nvidia_hopper { tile(i: 32, j: 8) => workgroup(y, x); distribute(i, j => thread(x, y)); } }
";

/// Returns the nanoseconds and the bottleneck of a schedule of [`PRODUCT`].
fn product(name: &str, sizes: [i64; 3]) -> (f64, Bottleneck) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("estimates").join(format!("{name}-{}", sizes[2]));
    std::fs::create_dir_all(folder.join("src")).expect("a folder");
    std::fs::write(folder.join("Cargo.toml"), "").expect("a file");
    std::fs::write(folder.join("src/lib.rs"), PRODUCT).expect("a file");
    let source = Source::open(&folder.join("src/lib.rs")).expect("it is read");
    let subject = source.subject(name).unwrap_or_else(|e| panic!("{e}"));
    let dims = ["M", "N", "K"].into_iter().map(str::to_owned).zip(sizes).collect();
    let told = explain(&subject, &Given { dims, ..Given::default() });
    let estimate = told.versions[0].figures[0].estimate.clone().expect("the sizes and rates are known");
    (estimate.nanoseconds, estimate.bound)
}

#[test]
fn an_estimate_has_the_reason_for_its_time() {
    assert_eq!(product("ONE", [8, 8, 8]).1, Bottleneck::Launch);
    assert_eq!(product("ONE", [128, 128, 65536]).1, Bottleneck::Occupancy, "64 workgroups for 132 cores");
    let (time, bound) = product("ONE", [2048; 3]);
    assert_eq!(bound, Bottleneck::Caches, "each invocation reads two elements for two operations");
    let (across, _) = product("ACROSS", [2048; 3]);
    assert!(across > 4.0 * time, "neighbours that read different rows take longer: {across} and {time}");
}
