//! `tilewright explain`.

use crate::common::{Crate, product, ran, run, tilewright};

#[test]
fn a_schedule_is_told() {
    let file = product();
    let path = file.arg("src/schedules.rs");
    let text = run(&["explain", &path, "--schedule", "TILED", "--size", "M=8,N=8,K=8", "--tune", "SIDE=4"]).ends(0).out;
    assert!(text.contains("TILED: matmul for vulkan_1_1") && text.contains("i_workgroup * 8"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    let brief = run(&["explain", &path, "--schedule", "TILED", "--size", "M=8,N=8,K=8", "--brief"]).ends(0).out;
    assert!(brief.len() < text.len());
    let told = run(&["explain", &path, "--json"]).ends(0).json();
    assert_eq!((told[0]["schedule"].as_str(), told[1]["schedule"].as_str()), (Some("TILED"), Some("PLAIN")));
    let compared = run(&["explain", &path, "--compare", "TILED", "PLAIN", "--size", "M=8,N=8,K=8"]).ends(0).out;
    assert!(compared.contains("TILED") && compared.contains("PLAIN"), "{compared}");
}

#[test]
fn what_is_wrong_is_said() {
    let file = product();
    let path = file.arg("src/schedules.rs");
    run(&["explain", &path, "--schedule", "TYLED"]).ends(2).says("did you mean `TILED`?");
    run(&["explain", &path, "--compare", "TILED", "--json"]).ends(2).says("name two schedules or more");
    run(&["explain", &path, "--size", "M=8,Z=1"]).ends(2).says("`Z` is not a size of `matmul`; there are M, N, K");
    run(&["explain", &path, "--size", "M=8", "--size", "M=9"]).ends(2).says("`M` has two values");
    run(&["explain", &path, "--profile", "vulkan_1_1"]).ends(2).says("--compare");
    let wrong = run(&["explain", &path, "--schedule", "TILED", "--tune", "SIDE=64", "--json"]).ends(1).json();
    assert!(wrong[0]["errors"][0].as_str().unwrap().contains("invocations"), "{wrong}");
    file.write("src/schedules.rs", "//! None.\n");
    run(&["explain", &path]).ends(2).says("does not contain schedules");
}

#[test]
fn a_comparison_is_json_too() {
    let file = product();
    let arguments = ["explain", &file.arg("src/schedules.rs"), "--compare", "TILED", "PLAIN", "--size", "M=8,N=8,K=8", "--json"];
    let compared = run(&[&arguments[..], &["--size", "M=3,N=5,K=7", "--profile", "nvidia_hopper"]].concat()).ends(0).json();
    assert_eq!((&compared["kernel"], &compared["sizes"][1]["dims"]["N"]), (&"matmul".into(), &5.into()));
    let tiled = &compared["sizes"][0]["schedules"][0];
    assert_eq!((&tiled["schedule"], &tiled["launch"]["flops"], &tiled["refused"]), (&"TILED".into(), &1024.into(), &().into()));
    assert!(tiled["nanoseconds"]["vulkan_1_1"].is_null() && tiled["nanoseconds"]["nvidia_hopper"].is_number(), "{tiled}");
}

const ROWS: &str = "use tilewright::{kernel, schedule, devices::nvidia_hopper};
kernel! { pub fn doubled<M, N>(x: f32[M, N]) -> y: f32[M, N] { y[i, j] = x[i, j] * 2.0; } }
schedule! { pub ROWS: doubled for nvidia_hopper { tile(i: 32, j: 1) => workgroup(y, x); distribute(i => thread(x)); } }
";

#[test]
fn colours_are_left_out_where_they_are_not_wanted() {
    let file = Crate::new(&[("src/lib.rs", ROWS)]);
    let arguments = ["explain", &file.arg("src/lib.rs")];
    let has = |variables: &[(&str, &str)]| {
        let mut command = tilewright(&arguments);
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").envs(variables.iter().copied());
        ran(&mut command).ends(0).out.contains('\u{1b}')
    };
    assert!(!has(&[]), "not to a pipe");
    assert!(has(&[("CLICOLOR_FORCE", "1")]));
    assert!(!has(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}

#[test]
fn lints_have_their_places_and_the_spirv_its_statistics() {
    let file = Crate::new(&[("src/lib.rs", ROWS)]);
    let told = run(&["explain", &file.arg("src/lib.rs"), "--brief"]).ends(0).out;
    let lints = told.split("worth a look\n").nth(1).expect("lints");
    assert!(lints.starts_with("  uncoalesced       neighbouring invocations read elements of `x` that are a row apart"), "{lints}");
    assert!(lints.lines().next().is_some_and(|line| line.ends_with("src/lib.rs:3:89")), "{lints}");
    let words = &run(&["explain", &file.arg("src/lib.rs"), "--json"]).ends(0).json()[0]["versions"][0]["dispatches"][0]["spirv"];
    assert!(words["instructions"].as_u64().unwrap() > 20, "{words}");
}

#[test]
fn a_page_is_written_or_not() {
    let file = Crate::new(&[("src/lib.rs", ROWS)]);
    let ran = run(&["explain", &file.arg("src/lib.rs"), "--html", &file.arg("page.html")]).ends(0);
    assert_eq!(ran.out, "");
    let page = file.read("page.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<title>ROWS</title>"));
    let missing = file.arg("missing/page.html");
    run(&["explain", &file.arg("src/lib.rs"), "--html", &missing]).ends(2).says("missing/page.html cannot be written: ");
}

/// A workspace of three crates: kernels, boards, and schedules for both.
#[test]
fn a_kernel_of_another_crate_of_the_workspace_is_found() {
    let file = Crate::new(&[
        (
            "Cargo.toml",
            "[workspace]\nmembers = [\"kernels\", \"boards\", \"tuned\"]\n[workspace.dependencies]\nour-kernels = { path = \"kernels\" }\n",
        ),
        ("kernels/Cargo.toml", "[package]\nname = \"our-kernels\"\n[lib]\npath = \"all.rs\"\n"),
        ("kernels/all.rs", "mod inner;\npub use inner::doubled;\n"),
        ("kernels/inner.rs", "tilewright::kernel! { pub fn doubled<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] * 2.0; } }\n"),
        ("boards/Cargo.toml", "[package]\nname = \"boards\"\n[dependencies]\ntw = { version = \"0.1\", package = \"tilewright\" }\n"),
        ("boards/src/lib.rs", "tw::profile! { pub small: tw::devices::vulkan_1_1 { invocations: 64, local: [64, 64, 64] } }\n"),
        (
            "tuned/Cargo.toml",
            "[package]\nname = \"tuned\"\n[dependencies]\nour-kernels.workspace = true\nserde = \"1\"\n[target.'cfg(unix)'.dependencies]\nb = { path = \"../boards\", package = \"boards\" }\ngone = { path = \"../gone\" }\n",
        ),
        ("tuned/src/lib.rs", "pub mod schedules;\n"),
        (
            "tuned/src/schedules.rs",
            "use our_kernels::*;
            tilewright::schedule! { pub BOTH: doubled for b::small { tile(i: W) => workgroup(x); tile(i: 1) => thread(x); tune W in [32, 64] = 32; } }
            tilewright::schedule! { pub REGISTRY: serde::doubled for b::small {} }
            tilewright::schedule! { pub NOBODY: other::doubled for b::small {} }
            tilewright::schedule! { pub GONE: gone::doubled for b::small {} }
            ",
        ),
        ("tuned/tests/own.rs", "tilewright::schedule! { pub PLAIN: tuned::schedules::doubled for our_kernels::missing {} }\n"),
    ]);
    let path = file.arg("tuned/src/schedules.rs");
    let told = run(&["explain", &path, "--schedule", "BOTH"]).ends(0).out;
    assert!(told.contains("BOTH: doubled for small"), "{told}");
    let tuned = run(&["tune", &path, "--schedule", "BOTH", "--size", "N=100", "--write", "--json"]).ends(0).json();
    assert_eq!((&tuned[0]["written"], tuned[0]["candidates"].as_array().unwrap().len()), (&true.into(), 2));
    let why = |name: &str| run(&["explain", &path, "--schedule", name]).ends(2).err;
    assert!(
        why("REGISTRY").contains("`serde::doubled` is in the crate `serde`, which is not read: it is not a dependency by `path`")
    );
    assert!(why("NOBODY").contains("`other`, which is not read: no dependency of the package has that name"));
    assert!(why("GONE").contains("gone does not contain a library"), "{}", why("GONE"));
    // The package's own library is another crate to its tests.
    run(&["explain", &file.arg("tuned/tests/own.rs")]).ends(2).says("cannot find `our_kernels::missing`");
}

const PINNED: &str = "use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};
kernel! { pub fn scale<N, C>(x: f32[N, C]) -> y: f32[N, C] { y[i, j] = 2.0 * x[i, j]; } }
schedule! { pub FOUR: scale for vulkan_1_1 where C == 4 {} }
schedule! { pub ROWS: scale for vulkan_1_1 where N == 8 {} }
schedule! { pub ANY: scale for vulkan_1_1 {} }
";

#[test]
fn a_size_that_one_schedule_pins_is_one_of_the_others() {
    let file = Crate::new(&[("src/lib.rs", PINNED)]);
    let path = file.arg("src/lib.rs");
    run(&["explain", &path, "--size", "C=4"]).ends(0);
    let told = run(&["explain", &path, "--size", "N=8,C=5", "--json"]).ends(0).json();
    let refused = |n: usize| told[n]["versions"][0]["refused"].as_str().map(str::to_owned);
    assert_eq!(refused(0).as_deref(), Some("`C == 4` does not hold: `C` is 5"));
    assert_eq!((refused(1), refused(2)), (None, None));
    assert_eq!(told[2]["versions"][0]["launch"]["flops"], 512, "one workgroup of 128 invocations, four elements each");
    let text = run(&["explain", &path, "--size", "N=8,C=5", "--brief"]).ends(0).out;
    assert_eq!(text.matches("not run at these sizes: `C == 4` does not hold: `C` is 5").count(), 1, "{text}");
    run(&["explain", &path, "--size", "Z=5"]).ends(2).says("`Z` is not a size of `scale`; there are N, C");

    let compare = |sizes: &str| run(&["explain", &path, "--compare", "FOUR", "ROWS", "ANY", "--size", sizes]);
    let all = compare("N=8,C=4").ends(0).out;
    assert!(!all.contains("not run"), "{all}");
    let some = compare("N=8,C=5").ends(0).out;
    assert!(some.contains("FOUR is not run at these sizes: `C == 4` does not hold: `C` is 5"), "{some}");
    let lacking = compare("N=9").ends(0).out;
    assert!(lacking.contains("ANY is not run at these sizes: the sizes N=9 do not give `C`"), "{lacking}");
    assert!(lacking.contains("ROWS is not run at these sizes: "), "{lacking}");
    run(&["explain", &path, "--compare", "ROWS", "ANY", "--size", "N=8"]).ends(2).says("do not give `C`");
    run(&["explain", &path, "--compare", "FOUR", "ANY"]).ends(2).says("write `--size N=…,C=…`");
}

#[test]
fn one_schedule_that_cannot_be_read_does_not_stop_the_others() {
    let file =
        Crate::new(&[("src/lib.rs", &format!("{PINNED}schedule! {{ pub BROKEN: scale for vulkan_1_1 {{ tile(i 4); }} }}\n"))]);
    let ran = run(&["explain", &file.arg("src/lib.rs"), "--brief"]).ends(1);
    assert!(ran.out.contains("FOUR: scale") && ran.out.contains("ANY: scale"), "{}", ran.out);
    assert!(ran.err.contains("src/lib.rs:7:"), "{}", ran.err);
    run(&["explain", &file.arg("src/lib.rs"), "--schedule", "BROKEN"]).ends(2);
}

#[test]
fn without_sizes_figures_are_formulas_and_examples() {
    let file = Crate::new(&[("src/lib.rs", PINNED)]);
    let text = run(&["explain", &file.arg("src/lib.rs"), "--schedule", "ANY", "--brief"]).ends(0).out;
    assert!(text.contains("flops in all          about N C\n"), "{text}");
    assert!(text.contains("traffic of x          about 4 N C B read, of 4 N C B\n"), "{text}");
    assert!(text.contains("each tensor once      8 N C B\n") && text.contains("unknown: write `--size N=…,C=…`"), "{text}");
    // The catalog has a kernel of that name with these dims.
    let file = product();
    let path = file.arg("src/schedules.rs");
    let text = run(&["explain", &path, "--schedule", "TILED", "--brief"]).ends(0).out;
    assert!(text.contains("at M=512,N=512,K=512, the example sizes of the catalog (`--size` sets others)\n"), "{text}");
    assert!(text.contains("flops in all          about 2 M N K = 268.4 M\n"), "{text}");
    let json = run(&["explain", &path, "--schedule", "TILED", "--json"]).ends(0).json();
    assert_eq!((&json[0]["dims"]["M"], &json[0]["example"]), (&512.into(), &"the example sizes of the catalog".into()));
    let text = run(&["explain", &path, "--schedule", "TILED", "--brief", "--size", "M=8,N=8,K=8"]).ends(0).out;
    assert!(!text.contains("example sizes") && text.contains("flops in all          1.0 k\n"), "{text}");
    // The sizes that a schedule was tuned for come first.
    run(&["tune", &path, "--size", "M=13,N=11,K=7", "--write"]).ends(0);
    let text = run(&["explain", &path, "--schedule", "TILED", "--brief"]).ends(0).out;
    assert!(text.contains("at M=13,N=11,K=7, which it was tuned for"), "{text}");
}

#[test]
fn warnings_are_no_errors() {
    let text = "use tilewright::{kernel, schedule, devices::vulkan_1_1};
kernel! { pub fn doubled<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] * 2.0; } }
schedule! { pub COPIED: doubled for vulkan_1_1 { tile(i: 64) => workgroup(x); promote(x => x_s, at: workgroup, to: shared); distribute(i => thread(x)); } }
";
    let file = Crate::new(&[("src/lib.rs", text)]);
    let told = run(&["explain", &file.arg("src/lib.rs"), "--brief", "--size", "N=64"]).ends(0).out;
    assert!(told.contains(": warning: nothing reuses `x_s`: ") && !told.contains("error"), "{told}");
}
