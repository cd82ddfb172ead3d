//! `tilewright devices`, `doctor`, `completions`, and the command line itself.

use crate::common::{Crate, ran, run, tilewright};

#[test]
fn the_reference_device_is_listed_last() {
    let devices = run(&["devices", "--json"]).ends(0).json();
    let last = devices.as_array().unwrap().last().unwrap();
    assert_eq!(last["name"], "reference device");
    assert_eq!(last["invocations"], 1024);
    let text = run(&["devices"]).ends(0).out;
    assert!(text.contains("reference device (cpu, Tilewright") && text.contains("matrices       of every shape"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn without_a_driver_that_is_said() {
    let none = |arguments: &[&str]| {
        ran(tilewright(arguments).env("VK_DRIVER_FILES", "/nowhere.json").env("VK_ICD_FILENAMES", "/nowhere.json"))
    };
    let listed =
        none(&["devices", "--json"]).ends(0).says("no Vulkan device was found").says("`tilewright doctor` says what to install");
    assert_eq!(listed.json().as_array().unwrap().len(), 1);
    let report = none(&["doctor", "--json"]).ends(1).json();
    assert!(report[0]["loader"].as_str().or(report[0]["driver"].as_str()).unwrap().contains("install"), "{report}");
    assert_eq!(report[0]["well"], false);
    let text = none(&["doctor"]).ends(1).out;
    assert!(text.starts_with("here (") && text.contains("): you can use only the reference device, which interprets"), "{text}");
    assert!(text.contains("missing:"), "{text}");
}

#[test]
fn doctor_compares_profiles_with_devices() {
    let file = Crate::new(&[(
        "src/lib.rs",
        "mod boards {
            tilewright::profile! { pub board: tilewright::devices::vulkan_1_1 { shared_bytes: 20000, features: [int64] } }
        }
        tilewright::profile! { pub giant: boards::board { invocations: 60000, local: [60000, 1024, 64] } }",
    )]);
    let report = run(&["doctor", &file.arg("src/lib.rs"), "--json"]).ends(1).json();
    let reference = report[0]["devices"].as_array().unwrap().last().unwrap()["index"].to_string();
    let of = &report[0]["profiles"][&reference];
    assert_eq!(of["vulkan_1_1"].as_array().unwrap().len(), 0);
    assert_eq!(of["board"].as_array().unwrap().len(), 0);
    assert_eq!(of["giant"][0], "invocations in a workgroup: 1024 of 60000");
    assert_eq!(of["giant"][1], "invocations in x: 1024 of 60000");
    let text = run(&["doctor", &file.arg("src/lib.rs")]).ends(1).out;
    assert!(text.contains("lacks giant (of the file): invocations in a workgroup: 1024 of 60000"), "{text}");
    // The reference device lacks a driver, so it lacks an entry.
    assert!(report[0]["defects"].get(&reference).is_none(), "{report}");
}

#[test]
fn doctor_begins_with_what_can_be_used() {
    let report = run(&["doctor", "--json"]).json();
    let usable = report[0]["usable"].as_str().unwrap();
    assert!(usable.starts_with("you can use ") && usable.ends_with("; and the reference device"), "{usable}");
    let (vulkan, _) = report[0]["devices"].as_array().unwrap().split_last().map(|(last, rest)| (rest, last)).unwrap();
    for device in vulkan {
        let (name, index) = (device["name"].as_str().unwrap(), device["index"].to_string());
        let met: Vec<_> =
            report[0]["profiles"][&index].as_object().unwrap().iter().filter(|(_, l)| l == &&serde_json::json!([])).collect();
        assert!(usable.contains(name) && met.iter().all(|(profile, _)| usable.contains(profile.as_str())), "{usable}");
        let of_driver = report[0]["defects"][&index].as_array().unwrap();
        let is_known = ["Mesa", "NVIDIA"].iter().any(|driver| device["driver"].as_str().unwrap().contains(driver));
        assert_eq!(of_driver.is_empty(), !is_known, "{device}");
    }
    let text = run(&["doctor"]).out;
    assert!(text.lines().next().unwrap().ends_with(usable), "{text}");
}

#[test]
fn wrong_files_and_command_lines_end_with_2() {
    run(&["doctor", "/nowhere/file.rs"]).ends(2).says("cannot read /nowhere/file.rs");
    let broken = Crate::new(&[("src/lib.rs", "fn {")]);
    let ran = run(&["doctor", &broken.arg("src/lib.rs"), "--json"]).ends(2).says("src/lib.rs:1:4: ");
    assert_eq!(ran.json()["exit"], 2);
    run(&["fly"]).ends(2).says("unrecognized subcommand");
    run(&["devices", "--answer-within", "soon"]).ends(2).says("soon");
    run(&["devices", "--runner", ""]).ends(2).says("the runner is an empty command");
    run(&["devices", "--runner", "'open"]).ends(2).says("the runner `'open`: missing closing quote");
}

#[test]
fn runners_that_fail_end_with_4() {
    run(&["devices", "--runner", "/nowhere/runner", "--json"]).ends(4).says("the runner `/nowhere/runner` does not start");
    run(&["devices", "--runner", "sh -c 'echo no route >&2; exit 255'"]).ends(4).says("no route");
    run(&["devices", "--runner", "sleep 60", "--answer-within", "300ms"]).ends(4).says("has not answered after 300ms");
    run(&["doctor", "--runner", "echo hello"]).ends(4).says("begins with \"hello\"");
}

#[test]
fn a_runner_elsewhere_is_asked() {
    let runner = format!("sh -c 'exec \"$0\" runner' {}", env!("CARGO_BIN_EXE_tilewright"));
    let own = run(&["devices", "--json"]).ends(0).json();
    assert_eq!(run(&["devices", "--json", "--runner", &runner]).ends(0).json(), own);
    // A runner that fails does not prevent the examination of the others.
    let both = run(&["doctor", "--json", "--runner", "false", "--runner", &runner]).ends(4);
    assert_eq!(both.json()[0]["devices"], own);
}

#[test]
fn every_shell_is_completed() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&["completions", shell]).ends(0).out;
        assert!(script.contains("tilewright") && script.contains("doctor"), "{shell}");
    }
    run(&["completions", "tcsh"]).ends(2).says("invalid value 'tcsh'");
    for command in ["devices", "doctor", "new", "tune", "bench", "explain"] {
        let help = run(&[command, "--help"]).ends(0).out;
        assert!(help.contains("Example") && help.contains("--json"), "{help}");
    }
}
