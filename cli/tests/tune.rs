//! `tilewright tune`, on the reference device: the values, files, records and refusals.

use crate::common::{Crate, Ran, SCHEDULES, product, ran, run, tilewright, wrapper};

const SIZES: [&str; 2] = ["--size", "M=13,N=11,K=7"];

fn tune(file: &str, more: &[&str]) -> Ran {
    run(&[&["tune", file], &SIZES[..], more].concat())
}

#[test]
fn every_choice_is_measured_merged_or_refused() {
    let file = product();
    let tuned = &tune(&file.arg("src/schedules.rs"), &["--json"]).ends(0).json()[0];
    assert_eq!((tuned["kernel"].as_str(), tuned["choices"].as_u64()), (Some("matmul"), Some(6)));
    assert_eq!((&tuned["default"]["SIDE"], &tuned["default"]["DEPTH"]), (&2.into(), &1.into()));
    let candidates = tuned["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 2);
    for candidate in candidates {
        let choices = candidate["choices"].as_array().unwrap();
        assert_eq!((choices.len(), &choices[0]["SIDE"]), (2, &choices[1]["SIDE"]));
        assert!(candidate["median_ns"][0].as_f64().unwrap() > 0.0);
    }
    assert_ne!(candidates[0]["module"], candidates[1]["module"]);
    assert_eq!(candidates.iter().filter(|c| c["default"] == true).count(), 1);
    assert_eq!(candidates.iter().filter(|c| c["best"] == true).count(), 1);
    let refused = tuned["refused"].as_array().unwrap();
    assert_eq!(refused.len(), 2);
    for choice in refused {
        assert_eq!((&choice["choice"]["SIDE"], &choice["at"]), (&64.into(), &"compile".into()));
        assert!(choice["why"].as_str().unwrap().contains("invocations"), "{choice}");
    }
    // Without `--write`, the files do not change.
    assert_eq!(file.read("src/schedules.rs"), SCHEDULES);
    assert!(!file.path("src/schedules.tuned.json").exists());
    let text = tune(&file.arg("src/schedules.rs"), &[]).ends(0).out;
    assert!(text.contains("6 choices, 2 candidates, 2 refused") && text.contains("the module of 2 choices"), "{text}");
}

#[test]
fn only_the_defaults_literal_is_written_and_the_record_says_when_it_is_stale() {
    let file = product();
    let path = file.arg("src/schedules.rs");
    run(&["tune", &path, "--check"]).ends(1).says("does not exist: `tilewright tune --write` makes it");
    let tuned = tune(&path, &["--write", "--json"]).ends(0).json();
    assert_eq!(tuned[0]["written"], true);
    let side = tuned[0]["chosen"]["SIDE"].as_i64().unwrap();
    assert!([2, 4].contains(&side), "{tuned}");
    let expected = if side == 2 { SCHEDULES.to_owned() } else { SCHEDULES.replace("= 0_2;", "= 4;") };
    assert_eq!(file.read("src/schedules.rs"), expected);
    let record: serde_json::Value = serde_json::from_str(&file.read("src/schedules.tuned.json")).unwrap();
    let tiled = &record["schedules"]["TILED"];
    assert_eq!((&tiled["chosen"]["SIDE"], &tiled["kernel"]), (&side.into(), &"matmul".into()));
    assert_eq!(tiled["modules"].as_object().unwrap().len(), 4);
    let devices = tiled["devices"].as_object().unwrap();
    assert!(devices.keys().all(|device| device.starts_with("reference device; ")), "{devices:?}");

    assert_eq!(run(&["tune", &path, "--check"]).ends(0).out, "TILED: as it was tuned\n");
    // Comments and names of files do not affect a module.
    file.write("src/schedules.rs", &expected.replace("//! Schedules", "//!\n//! All schedules"));
    run(&["tune", &path, "--check"]).ends(0);
    let other = if side == 2 { 4 } else { 2 };
    let literal = format!("= {};", if side == 2 { "0_2" } else { "4" });
    file.write("src/schedules.rs", &expected.replace(&literal, &format!("= {other};")));
    let checked = run(&["tune", &path, "--check", "--json"]).ends(1).json();
    let stale = format!("the file has DEPTH = 1, SIDE = {other}, and DEPTH = 1, SIDE = {side} was tuned");
    assert_eq!((&checked["stale"], &checked["schedules"][0]["stale"][0]), (&true.into(), &stale.into()));
    file.write("src/schedules.rs", &expected.replace("tile(i: 2, j: 1)", "tile(i: 1, j: 1)"));
    let checked = run(&["tune", &path, "--check"]).ends(1).out;
    assert_eq!(checked, "TILED: 4 of 4 choices have a module that differs from the tuned one\n");
    file.write("src/schedules.rs", &expected.replace("[2, 4, 64]", "[1, 2, 4]"));
    assert!(run(&["tune", &path, "--check"]).ends(1).out.contains("2 of 6 choices have a module that was not tuned"));
    file.write("src/schedules.tuned.json", "{}");
    run(&["tune", &path, "--check"]).ends(2).says("is not a record");
}

/// On Vulkan, with the validation layer: every right candidate is measured, as on the reference device.
#[test]
fn a_driver_takes_the_same_candidates() {
    let file = product();
    let path = file.arg("src/schedules.rs");
    let arguments = [&["tune", &path], &SIZES[..], &["--json"]].concat();
    let mut command = tilewright(&arguments);
    command.env("TILEWRIGHT_VALIDATION", "1");
    match std::env::var_os("TILEWRIGHT_DEVICE") {
        Some(device) => command.env("TILEWRIGHT_DEVICE", device),
        None => command.env_remove("TILEWRIGHT_DEVICE"),
    };
    let tuned = &ran(&mut command).ends(0).json()[0];
    assert_ne!(tuned["devices"][0]["device"], "reference device");
    assert_eq!(tuned["candidates"].as_array().unwrap().len(), 2, "{tuned}");
    assert!(tuned["refused"].as_array().unwrap().iter().all(|r| r["at"] == "compile"), "{tuned}");
}

#[test]
fn what_was_measured_before_is_not_measured_again() {
    let (file, cache) = (product(), Crate::new(&[]));
    let path = file.arg("src/schedules.rs");
    let tuned = |more: &[&str]| {
        let arguments = [&["tune", &path], &SIZES[..], &["--json"], more].concat();
        let tuned = ran(tilewright(&arguments).env("TILEWRIGHT_CACHE", cache.folder.path())).ends(0).json();
        let candidates = tuned[0]["candidates"].as_array().unwrap().clone();
        candidates.iter().filter(|c| c["measured_before"] == true).count()
    };
    assert_eq!(tuned(&[]), 0);
    assert_eq!(tuned(&[]), 2);
    assert_eq!(tuned(&["--fresh"]), 0);
    assert_eq!(tuned(&["--size", "M=3,N=3,K=3"]), 0);
}

#[test]
fn several_sizes_count_and_updates_scalars_and_facts_are_checked() {
    let file = Crate::new(&[(
        "src/lib.rs",
        "tilewright::kernel! {
            pub fn step<T: f32 | f16, N, S = 2>(a: f32, x: T[N * S], y: &mut i32[N]) -> z: T[N] where N >= 4 {
                z[i] = x[i * S] + a as T;
                y[i] = y[i] + 1;
            }
        }
        tilewright::schedule! {
            pub STEP: step<T = f32> for tilewright::devices::vulkan_1_1 where N % 8 == 0 {
                z, y { tile(i: W) => workgroup(x); tile(i: 1) => thread(x); }
                tune W in [8, 16] = 8;
                specialize(N % 64 == 0);
            }
        }",
    )]);
    let path = file.arg("src/lib.rs");
    let tuned = &run(&["tune", &path, "--size", "N=8", "--size", "N=128", "--json"]).ends(0).json()[0];
    assert_eq!(tuned["sizes"].as_array().unwrap().len(), 2);
    assert_eq!(tuned["candidates"][0]["median_ns"].as_array().unwrap().len(), 2);
    // The schedule does not take this size.
    let refused = run(&["tune", &path, "--size", "N=9", "--json"]).ends(1).json();
    assert_eq!(refused[0]["refused"][0]["at"], "sizes");
    assert!(refused[0]["refused"][0]["why"].as_str().unwrap().contains("`N % 8 == 0` does not hold"), "{refused}");
}

#[test]
fn what_asks_memory_for_much_more_than_another_is_not_measured_unless_all_are_wanted() {
    let schedules = SCHEDULES.split("tilewright::schedule!").next().unwrap().to_owned()
        + "tilewright::schedule! {
            pub TILED: matmul for vulkan_1_1 {
                tile(i: 16, j: 8) => workgroup(y, x);
                tile(i: ROWS, j: COLUMNS) => thread(y, x);
                reorder(k, i, j);
                unroll(i, j);
                tune ROWS in [1, 16] = 16;
                tune COLUMNS in [1, 8] = 8;
            }
        }";
    let file = product();
    file.write("src/schedules.rs", &schedules);
    let path = file.arg("src/schedules.rs");
    let sizes = ["--size", "M=16,N=16,K=64", "--json"];
    let refused = |more: &[&str]| {
        let tuned = run(&[&["tune", &path], &sizes[..], more].concat()).ends(0).json();
        tuned[0]["refused"].as_array().unwrap().clone()
    };
    let left_out = refused(&[]);
    assert_eq!(left_out.len(), 1, "{left_out:?}");
    assert_eq!((&left_out[0]["at"], &left_out[0]["choice"]), (&"cost".into(), &serde_json::json!({ "COLUMNS": 1, "ROWS": 1 })));
    // In each step, 2 elements are read for a sum, against 24 for 128 sums. Each result is written: 129 elements against 13.
    assert!(left_out[0]["why"].as_str().unwrap().contains(" 9.9 times as many bytes"), "{left_out:?}");
    assert_eq!(refused(&["--all"]).len(), 0);
}

#[test]
fn decompositions_preparations_and_views_are_checked() {
    let file = Crate::new(&[(
        "src/lib.rs",
        "use tilewright::devices::vulkan_1_1;
        tilewright::kernel! {
            pub fn conv<N, H, W, IC, OC>(x: f32[N, H, W, IC], w: f32[3, 3, IC, OC]) -> y: f32[N, H, W, OC] {
                y[n, oh, ow, oc] = sum(fh in 0..3, fw in 0..3, ic in 0..IC) {
                    x.pad(0.0)[n, oh + fh - 1, ow + fw - 1, ic] * w[fh, fw, ic, oc]
                };
            }
        }
        tilewright::schedule! {
            pub F2: conv for vulkan_1_1 where IC <= 64 {
                strided(x);
                decompose_winograd(y => v, u, g, m: 2, tolerance: 2e-6);
                precompute(u);
                g {
                    fuse(n, th, tw => t);
                    distribute(p, q => workgroup(z, z));
                    tile(t: T, oc: 8) => workgroup(y, x);
                    tile(t: 4, oc: 4) => thread(y, x);
                    reorder(ic, t, oc);
                    unroll(t, oc);
                }
                tile(oh: 2 peel, ow: 2 peel) => workgroup(z, y);
                serial(n);
                tile(oc: 64) => workgroup(x);
                tile(oc: 1) => thread(x);
                unroll(oh, ow);
                tune T in [8, 16] = 8;
            }
        }",
    )]);
    let tuned = run(&["tune", &file.arg("src/lib.rs"), "--size", "N=1,H=5,W=7,IC=3,OC=9", "--json"]).ends(0).json();
    assert_eq!(tuned[0]["candidates"].as_array().unwrap().len(), 2, "{tuned}");
    assert_eq!(tuned[0]["refused"].as_array().unwrap().len(), 0, "{tuned}");
}

#[test]
fn what_no_small_size_can_check_is_measured_only_if_that_is_asked_for() {
    let file = product();
    file.write(
        "src/schedules.rs",
        &SCHEDULES
            .replace("matmul for vulkan_1_1 {\n        tile", "matmul for vulkan_1_1 where N == 8192, K == 4096 {\n        tile"),
    );
    let path = file.arg("src/schedules.rs");
    let tuned = run(&["tune", &path, "--size", "M=0", "--json"]).ends(1).json();
    let result = tuned[0]["refused"].as_array().unwrap().iter().find(|r| r["at"] == "result").unwrap().clone();
    assert!(result["why"].as_str().unwrap().contains("takes no sizes that are small enough to check"), "{result}");
}

#[test]
fn every_schedule_of_a_file_is_tuned_and_written() {
    let file = product();
    let path = file.arg("src/schedules.rs");
    file.write(
        "src/schedules.rs",
        &SCHEDULES.replace("PLAIN: matmul for vulkan_1_1 {}", "OTHER: matmul for vulkan_1_1 { tune A in [3, 5] = 5; }"),
    );
    let tuned = tune(&path, &["--write", "--json"]).ends(0).json();
    // All choices of `OTHER` are one module, so the default stays.
    assert_eq!((&tuned[0]["written"], &tuned[1]["written"], &tuned[1]["chosen"]["A"]), (&true.into(), &true.into(), &5.into()));
    let text = file.read("src/schedules.tuned.json");
    let record: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(record["schedules"].as_object().unwrap().keys().collect::<Vec<_>>(), ["OTHER", "TILED"]);
    assert_eq!(run(&["tune", &path, "--check"]).ends(0).out, "TILED: as it was tuned\nOTHER: as it was tuned\n");
    assert_eq!(run(&["tune", &path, "--check", "--schedule", "OTHER"]).ends(0).out, "OTHER: as it was tuned\n");
    file.write("src/schedules.rs", SCHEDULES);
    assert!(run(&["tune", &path, "--check"]).ends(1).out.contains("OTHER: the file no longer has it"));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let file = product();
    let path = file.arg("src/schedules.rs");
    run(&["tune", &path]).ends(2).says("write `--size M=…,N=…,K=…`");
    run(&["tune", &path, "--size", "M=3"]).ends(2).says("write `--size M=3,N=…,K=…`");
    run(&["tune", &path, "--size", "M=3,N=3,KK=3"]).ends(2).says("`KK` is not a size of `matmul` (did you mean `K`?)");
    run(&["tune", &path, "--size", "M"]).ends(2).says("write NAME=VALUE");
    tune(&path, &["--schedule", "PLAIN"]).ends(2).says("`PLAIN` has no `tune` line");
    tune(&path, &["--schedule", "NONE"]).ends(2).says("`NONE` is not a schedule of the file");
    tune(&path, &["--write", "--check"]).ends(2);
    tune(&path, &["--budget", "later"]).ends(2);
    tune(&path, &["--budget", "1000years"]).ends(2).says("a budget is at most 366 days");
    tune(&path, &["--jobs", "0"]).ends(2);
    tune("/nowhere.rs", &[]).ends(2).says("cannot read /nowhere.rs");
    assert_eq!(tune(&path, &["--device", "an unknown device", "--json"]).ends(3).json()["exit"], 3);
    file.write("src/schedules.rs", &SCHEDULES.replace("tune SIDE", "tune DEPTH"));
    tune(&path, &[]).ends(1).says("`DEPTH` is tuned twice");
    file.write("src/schedules.rs", &SCHEDULES.replace("crate::kernel::matmul", "other::matmul"));
    tune(&path, &[]).ends(2).says("`matmul` is in the crate `other`");
}

#[test]
fn a_budget_that_is_over_is_said() {
    let file = product();
    let tuned = tune(&file.arg("src/schedules.rs"), &["--budget", "0s", "--json", "--write"]).ends(1).json();
    assert_eq!(tuned[0]["chosen"], serde_json::Value::Null);
    assert!(tuned[0]["refused"].as_array().unwrap().iter().any(|r| r["at"] == "budget"), "{tuned}");
    assert_eq!(file.read("src/schedules.rs"), SCHEDULES);
}

#[test]
fn runners_that_fail_lose_nothing() {
    let file = product();
    let path = file.arg("src/schedules.rs");
    let unwritten = || assert_eq!(file.read("src/schedules.rs"), SCHEDULES);
    for (script, why) in [
        ("exec sleep 60", "has not answered after 2s"),
        ("exit 7", "has ended (exit status: 7)"),
        ("echo hello; exec \"$@\"", "begins with \"hello\""),
    ] {
        tune(&path, &["--write", "--answer-within", "2s", "--runner", &wrapper(&file, script)]).ends(4).says(why);
        unwritten();
    }
    // Each time, the runner greets, opens a device and then dies.
    let dies = wrapper(&file, "dd bs=1 count=100 2>/dev/null | \"$@\"");
    let tuned = tune(&path, &["--write", "--json", "--runner", &dies]).ends(4);
    let tuned = &tuned.json()[0];
    assert_eq!(tuned["chosen"], serde_json::Value::Null);
    let loads = tuned["refused"].as_array().unwrap().iter().filter(|r| r["at"] == "load");
    let whys: Vec<&str> = loads.map(|r| r["why"].as_str().unwrap()).collect();
    assert!(whys.len() == 4 && whys.iter().all(|why| why.contains("it was asked to load a kernel")), "{tuned}");
    unwritten();
    // The restarted runner works. The candidate of the failed request is refused, and all others are measured.
    let once =
        format!("if [ -e {0} ]; then exec \"$@\"; fi; touch {0}; dd bs=1 count=100 2>/dev/null | \"$@\"", file.arg("marker"));
    let tuned = tune(&path, &["--json", "--runner", &wrapper(&file, &once)]).ends(0).json();
    assert_eq!(tuned[0]["candidates"].as_array().unwrap().len(), 1);
    assert!(tuned[0]["refused"].as_array().unwrap().iter().any(|r| r["at"] == "load"), "{tuned}");
    let through = tune(&path, &["--json", "--runner", &wrapper(&file, "exec \"$@\"")]).ends(0).json();
    assert_eq!(through[0]["candidates"].as_array().unwrap().len(), 2);
}

#[test]
fn several_runners_count_alike_and_each_is_recorded() {
    let file = product();
    let path = file.arg("src/schedules.rs");
    let through = wrapper(&file, "exec \"$@\"");
    let on = |device: &str| format!("env TILEWRIGHT_DEVICE={device} {through}");
    let both = ["--runner", &on("reference"), "--runner", &on("cpu")];
    let tuned = &tune(&path, &[&both[..], &["--write", "--json", "--size", "M=5,N=3,K=2"]].concat()).ends(0).json()[0];
    let devices = tuned["devices"].as_array().unwrap();
    assert_eq!((devices.len(), &devices[0]["device"]), (2, &"reference device".into()));
    for candidate in tuned["candidates"].as_array().unwrap() {
        assert_eq!(candidate["median_ns"].as_array().unwrap().len(), 4, "{candidate}");
    }
    let record: serde_json::Value = serde_json::from_str(&file.read("src/schedules.tuned.json")).unwrap();
    let recorded = record["schedules"]["TILED"]["devices"].as_object().unwrap();
    assert_eq!(recorded.len(), 2);
    for device in recorded.values() {
        assert!(device["nanoseconds"].as_object().unwrap().values().all(|times| times.as_array().unwrap().len() == 2), "{device}");
    }
    // If one runner fails at once, no values are chosen for the other one alone.
    tune(&path, &["--runner", &through, "--runner", "false"]).ends(4).says("`false` has ended");
}

#[test]
fn the_processor_can_be_timed() {
    let file = product();
    let tuned = &tune(&file.arg("src/schedules.rs"), &["--cpu", "--json"]).ends(0).json()[0];
    assert!(tuned["devices"][0]["driver"].as_str().unwrap().ends_with(", by the processor's time"), "{tuned}");
    assert!(tuned["candidates"].as_array().unwrap().iter().all(|c| c["median_ns"][0].as_f64().unwrap() > 0.0), "{tuned}");
}

/// A schedule that is wrong, one that cannot be read and one of another kernel's sizes are reported at the end; the others are tuned.
#[test]
fn one_schedule_does_not_stop_the_others() {
    let text = "use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};
kernel! { pub fn scale<N, C>(x: f32[N, C]) -> y: f32[N, C] { y[i, j] = 2.0 * x[i, j]; } }
kernel! { pub fn twice<H>(x: f32[H]) -> y: f32[H] { y[i] = 2.0 * x[i]; } }
schedule! { pub WRONG: scale for vulkan_1_1 { tile(i: 4096) => workgroup(x); tile(i: B) => thread(x); serial(j); unroll(i); tune B in [1, 2] = 1; } }
schedule! { pub FOUR: scale for vulkan_1_1 where C == 4 { tile(i: B) => workgroup(x); distribute(i => thread(x)); serial(j); tune B in [2, 4] = 4; } }
schedule! { pub OTHER: twice for vulkan_1_1 { tile(i: B) => workgroup(x); distribute(i => thread(x)); tune B in [2, 4] = 4; } }
schedule! { pub BROKEN: scale for vulkan_1_1 { tile(i 4); } }
";
    let file = Crate::new(&[("src/lib.rs", text)]);
    let path = file.arg("src/lib.rs");
    let ran = run(&["tune", &path, "--size", "N=8,C=4", "--json"]).ends(1);
    for (name, why) in [("WRONG", "invocations"), ("OTHER", "write `--size H=…`"), ("BROKEN", "src/lib.rs:8:")] {
        assert!(ran.err.contains(&format!("`{name}` is not tuned: ")) && ran.err.contains(why), "{}", ran.err);
    }
    let tuned = ran.json();
    assert_eq!((&tuned[0]["schedule"], &tuned[0]["sizes"][0]), (&"FOUR".into(), &"N=8,C=4".into()));
    assert_eq!(tuned.as_array().unwrap().iter().filter(|one| one["error"].is_string()).count(), 3, "{tuned}");
    let both =
        run(&["tune", &path, "--schedule", "FOUR", "--schedule", "OTHER", "--size", "N=8", "--size", "H=9", "--json"]).ends(0);
    assert_eq!(both.json()[1]["sizes"][0], "H=9");
    run(&["tune", &path, "--schedule", "FOUR", "--size", "N=8,C=5"]).ends(1);
    // If no schedule can be tuned, all reasons are reported. A size that only a wrong schedule has is not a mistake.
    let none = run(&["tune", &path, "--schedule", "WRONG", "--schedule", "OTHER", "--size", "N=8,C=4"]).ends(1);
    assert!(none.err.contains("invocations") && none.err.contains("write `--size H=…`"), "{}", none.err);
    run(&["tune", &path, "--schedule", "FOUR", "--size", "N=8,H=5"]).ends(2).says("`H` is not a size of `scale`");
}

/// The plans of a kernel are tuned without a schedule in the file. Each size counts for the version that a launch takes, and the result is
/// a schedule that compiles.
#[test]
fn plans_are_tuned() {
    let kernel = "use tilewright::kernel;\n\nkernel! {\n    pub fn rows<R, C>(x: f32[R, C]) -> y: f32[R] { y[i] = sum(k in 0..C) { x[i, k] }; }\n}\n";
    let file = Crate::new(&[("src/kernels.rs", kernel)]);
    let path = file.arg("src/kernels.rs");
    let more = ["--plan", "--for", "vulkan_1_1", "--size", "R=5,C=64", "--size", "R=3,C=33"];
    let tuned = run(&[&["tune", &path, "--json"], &more[..]].concat()).ends(0).json();
    let named: Vec<(&str, usize)> =
        tuned.as_array().unwrap().iter().map(|t| (t["schedule"].as_str().unwrap(), t["sizes"].as_array().unwrap().len())).collect();
    assert_eq!(named, [("PLAN_1", 1), ("PLAN", 1)]);
    for tuned in tuned.as_array().unwrap() {
        let source = tuned["source"].as_str().unwrap();
        assert!(source.starts_with("schedule! {\n    pub PLAN") && source.contains("tune THREADS in ["), "{source}");
        assert!(source.contains("pin(R, C);"), "{source}");
        file.write("src/planned.rs", &format!("{kernel}use tilewright::{{devices::vulkan_1_1, schedule}};\n{source}\n"));
        run(&["explain", &file.arg("src/planned.rs")]).ends(0);
    }
    let text = run(&[&["tune", &path], &more[..]].concat()).ends(0).out;
    assert!(
        text.contains("\nschedule! {\n    pub PLAN_1: rows for tilewright::devices::vulkan_1_1 where C % 4 == 0 {\n"),
        "{text}"
    );
    assert_eq!(file.read("src/kernels.rs"), kernel);
    // A dim that a fact makes a literal is not pinned, because `pin` would be refused.
    file.write("src/fixed.rs", &kernel.replace("-> y: f32[R] {", "-> y: f32[R] where C == 4 {"));
    let fixed = run(&["tune", &file.arg("src/fixed.rs"), "--plan", "--for", "vulkan_1_1", "--size", "R=5"]).ends(0);
    assert!(fixed.out.contains("pin(R);"), "{}", fixed.out);
    // A kernel without a plan does not stop the others.
    let broken = format!("{kernel}kernel! {{ pub fn broken<N>(x: f32[N]) -> y: f32[N] {{ for i in N {{ }} }} }}\n");
    file.write("src/two.rs", &broken);
    let two = run(&[&["tune", &file.arg("src/two.rs")], &more[..]].concat()).ends(1).says("`broken` is not tuned");
    assert!(two.out.contains("ROWS_PLAN_1: rows"), "{}", two.out);
    let usage = |more: &[&str], says: &str| run(&[&["tune", &path], more].concat()).ends(2).says(says);
    usage(&["--plan"], "--for <PROFILE>");
    usage(&["--for", "vulkan_1_1"], "--plan");
    usage(&["--plan", "--for", "vulkan_1_1", "--write"], "cannot be used with");
    usage(&["--plan", "--for", "vulkan_1_1", "--kernel", "row"], "row");
    usage(&SIZES, "`--plan --for PROFILE` tunes the plans of its kernels");
}
