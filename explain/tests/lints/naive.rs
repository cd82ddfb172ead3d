//! Lints of naive schedules, which judge schedules of every profile and advise the planner's directives.

use crate::lints::case::Case;
use tilewright_explain::{Lint, LintName};

/// The lints that judge schedules of every profile.
const ANYWHERE: [LintName; 4] = [LintName::FewWorkgroups, LintName::Idle, LintName::Reread, LintName::LongChain];

/// The sizes of `matmul` in the catalog.
const SQUARE: [(&str, i64); 3] = [("M", 512), ("N", 512), ("K", 512)];

/// The bundled profiles.
const DEVICES: [&str; 8] =
    ["vulkan_1_1", "mesa_lavapipe", "mesa_lavapipe_26", "arm_valhall", "nvidia_ampere", "nvidia_hopper", "amd_rdna3", "intel_xe2"];

/// Returns a schedule for a bundled profile.
fn bundled(name: &str, kernel: &str, device: &str, dims: &[(&str, i64)], directives: &str) -> Case {
    Case::new(name, dims, &format!("{kernel} for tilewright::devices::{device}"), directives)
}

#[test]
fn reread() {
    let by = |name: &str, device: &str, directives: &str| bundled(name, "matmul", device, &SQUARE, directives);
    let single = by("reread", "vulkan_1_1", "distribute(i, j => workgroup(y, x));");
    insta::assert_snapshot!(single.printed(&ANYWHERE));
    let tiles = "tile(i: 8, j: 16) => workgroup(y, x);\ndistribute(i, j => thread(y, x));";
    for (n, device) in DEVICES.into_iter().enumerate() {
        let naive = by(&format!("reread_{n}"), device, tiles);
        let texts = naive.texts(LintName::Reread);
        let what = "invocations read `a` 512 times and `b` 512 times in all, and do 1.0 operations for each element that they read";
        assert!(texts.len() == 1 && texts[0].starts_with(&format!("1:1: {what}; ")), "{device}: {texts:?}");
        let small = naive.at(&[("M", 64), ("N", 64), ("K", 64)]);
        assert_eq!(small.printed(&ANYWHERE[2..]), "", "{device}: caches hold the tensors");
        // An invocation that computes several elements reuses its operands.
        let tiles = "tile(i: 8, j: 64) => workgroup(y, x);\ntile(i: 1, j: 4) => thread(y, x);\nreorder(k, j);\nunroll(j);";
        let reused = by(&format!("reused_{n}"), device, tiles);
        assert_eq!(reused.printed(&ANYWHERE[2..]), "", "{device}");
    }
}

#[test]
fn one_invocation_for_a_sum() {
    let by = |name: &str, device: &str, n: i64| bundled(name, "total", device, &[("N", n)], "serial(k);");
    insta::assert_snapshot!(by("one", "vulkan_1_1", 1 << 24).printed(&ANYWHERE));
    for (n, device) in DEVICES.into_iter().enumerate() {
        let long = by(&format!("one_{n}"), device, 1 << 24);
        let lints: Vec<LintName> = long.lints().iter().map(|lint| lint.name).collect();
        assert!(lints.contains(&LintName::FewWorkgroups) && lints.contains(&LintName::LongChain), "{device}: {lints:?}");
        assert_eq!(by(&format!("one_short_{n}"), device, 1000).printed(&ANYWHERE), "", "{device}");
        let unknown = Case { dims: Vec::new(), ..by(&format!("one_unknown_{n}"), device, 0) };
        assert_eq!(unknown.printed(&ANYWHERE), "", "{device}");
    }
}

/// The advised directives, pasted, compile and remove the lints.
#[test]
fn plans_of_lints_are_schedules() {
    for (name, kernel, dims, directives) in [
        ("pasted_product", "matmul", &SQUARE[..], "distribute(i, j => workgroup(y, x));"),
        ("pasted_sum", "total", &[("N", 1 << 24)][..], "serial(k);"),
        ("pasted_rows", "transpose", &[("M", 4096), ("N", 4096)][..], "distribute(j, i => workgroup(y, x));"),
    ] {
        let naive = bundled(name, kernel, "vulkan_1_1", dims, directives);
        let lints: Vec<Lint> = naive.lints().into_iter().filter(|lint| ANYWHERE.contains(&lint.name)).collect();
        assert!(!lints.is_empty(), "{name}");
        for lint in lints {
            let pasted = bundled(name, kernel, "vulkan_1_1", dims, &lint.plan.join("\n"));
            assert!(!lint.plan.is_empty() && lint.instead.starts_with("remove the directives of `"), "{lint:?}");
            assert_eq!(pasted.printed(&ANYWHERE), "", "{lint:?}");
        }
    }
}

/// The planner's own schedules do not have these lints, in any version.
#[test]
fn plans_have_no_lints_of_naive_schedules() {
    for (n, device) in DEVICES.into_iter().enumerate() {
        for (kernel, dims) in [
            ("matmul", &SQUARE[..]),
            ("total", &[("N", 1 << 24)][..]),
            ("total", &[("N", 16384)][..]),
            ("transpose", &[("M", 4096), ("N", 4096)][..]),
            ("ends", &[("N", 1 << 24)][..]),
            ("smooth", &[("H", 1080), ("W", 1920)][..]),
        ] {
            assert_eq!(bundled(&format!("planned_{kernel}_{n}"), kernel, device, dims, "").printed(&ANYWHERE), "", "{device}");
        }
    }
}

/// Only the stage's own directives are replaced, and only its lines of the plan are shown. A stage that `rfactor` made exists only with
/// the others.
#[test]
fn directives_of_other_stages_stay() {
    let two = bundled("ends", "ends", "vulkan_1_1", &[("N", 1 << 20)], "y { serial(k); }\nz { serial(k); }");
    let planned = bundled("ends_planned", "ends", "vulkan_1_1", &[("N", 1 << 20)], "y { serial(k); }");
    let part =
        "tile(k: 1048576 => k_o);\nrfactor(k_o => part);\nserial(k_o);\npart { distribute(k_o => workgroup(x)); serial(k); }";
    let part = bundled("part", "total", "nvidia_hopper", &[("N", 1 << 24)], part);
    // The planner computes `t` in the dispatch of `y`.
    let placed = bundled("shares", "shares", "vulkan_1_1", &[("R", 4096), ("C", 1024)], "t { serial(i, k); }");
    let all = [two, planned, part, placed].map(|case| case.printed(&ANYWHERE));
    insta::assert_snapshot!(all.join("\n\n"));
}

/// If a plan would not help, or the stage is planned already, the advice is general.
#[test]
fn general_advice_without_a_better_plan() {
    let thin = [("M", 64), ("N", 64), ("K", 4096)];
    let planned = bundled("thin_planned", "matmul", "vulkan_1_1", &thin, "");
    let tiled = "tile(i: 64, j: 64) => workgroup(y, x);\ntile(i: 4, j: 8) => thread(y, x);\nreorder(k, i, j);\nunroll(i, j);";
    let tiled = bundled("thin_tiled", "matmul", "vulkan_1_1", &thin, tiled);
    let short = bundled("short", "short", "nvidia_hopper", &[("N", 3000)], "serial(k);");
    let tree = "tile(k: 32 => k_o);\ndistribute(k => thread(x), by: tree);";
    let tree = bundled("short_tree", "short", "nvidia_hopper", &[("N", 1 << 15)], tree);
    let all = [planned, tiled, short, tree].map(|case| case.printed(&ANYWHERE));
    insta::assert_snapshot!(all.join("\n\n"));
}

/// Sizes choose the version, so the lints of another version at these sizes would be wrong.
#[test]
fn versions_that_do_not_run_have_no_lints_of_sizes() {
    let version = "serial(k);\nspecialize(N <= 1000);";
    let names = |n: i64| -> Vec<usize> {
        let (told, _) = bundled("versions", "total", "vulkan_1_1", &[("N", n)], version).told();
        told.versions.iter().map(|v| v.lints.iter().filter(|lint| ANYWHERE.contains(&lint.name)).count()).collect()
    };
    assert_eq!(names(1 << 24)[0], 2);
    assert!(names(1 << 24)[1..].iter().chain(&names(1000)).all(|count| *count == 0), "{:?}", names(1 << 24));
}

/// A line says how many lints were left out because numbers are missing.
#[test]
fn lints_that_need_more_numbers_are_counted() {
    let last = |device: &str, dims: &[(&str, i64)]| {
        let case = bundled("left_out", "total", device, dims, "serial(k);");
        let lines: Vec<String> = case.told().0.lines().iter().map(ToString::to_string).collect();
        lines.into_iter().filter(|line| line.starts_with("left out")).collect::<Vec<_>>().join("\n")
    };
    let figures = "3 lints need figures that the profile lacks: `subgroup`, `banks`, `core_shared_bytes`";
    assert_eq!(last("vulkan_1_1", &[("N", 1000)]), format!("left out  {figures}"));
    assert_eq!(last("vulkan_1_1", &[]), format!("left out  6 lints need sizes: write `--size N=…`; {figures}"));
    assert_eq!(last("amd_rdna3", &[("N", 1000)]), "left out  1 lint needs `banks`, which the profile lacks");
    assert_eq!(last("nvidia_hopper", &[]), "left out  6 lints need sizes: write `--size N=…`");
    assert_eq!(last("nvidia_hopper", &[("N", 1000)]), "");
}
