//! Lints of memory accesses.

use crate::lints::case::{Case, SUBGROUPS, matrices};
use tilewright_explain::LintName;

/// Returns a matrix product in tiles of 32 x 32, with one element for each invocation, and with these letters.
fn tiled(name: &str, letters: &str, facts: &str) -> Case {
    let directives = format!("tile(i: 32, j: 32) => workgroup(y, x);\ndistribute(i, j => thread({letters}));");
    Case::new(name, &[], &format!("matmul for board {facts}"), &directives)
}

#[test]
fn uncoalesced() {
    let rows = tiled("uncoalesced", "x, y", "");
    assert_eq!(
        rows.texts(LintName::Uncoalesced),
        [
            "2:1: neighbouring invocations read elements of `a` that are a row apart; copy what a workgroup needs: \
             `tile(k: 16 => k_o); promote(a => a_s, at: k_o, to: shared);`",
            "2:1: neighbouring invocations write elements of `c` that are a row apart; write `distribute(i, j => thread(y, x));`",
        ]
    );
    rows.follow(LintName::Uncoalesced);
    assert_eq!(tiled("coalesced", "y, x", "").texts(LintName::Uncoalesced), [] as [&str; 0]);
    let silent = Case::new(
        "uncoalesced_silent",
        &[],
        "matmul for silent",
        "tile(i: 32, j: 32) => workgroup(y, x); distribute(i, j => thread(x, y));",
    );
    assert_eq!(silent.texts(LintName::Uncoalesced), [] as [&str; 0], "the lint is silent about subgroups");
}

/// The advised copy follows the directive that makes the loop at which it is placed.
#[test]
fn uncoalesced_in_tiles() {
    let directives = "tile(i: 32, j: 32) => workgroup(y, x);\ndistribute(i, j => thread(x, y));\ntile(k: 16 => k_o);\nunroll(k);";
    let rows = Case::new("uncoalesced_tiles", &[], "matmul for board where K % 16 == 0", directives);
    assert_eq!(
        rows.texts(LintName::Uncoalesced)[0],
        "2:1: neighbouring invocations read elements of `a` that are a row apart; copy what a workgroup needs: \
         `promote(a => a_s, at: k_o, to: shared);`"
    );
    rows.follow(LintName::Uncoalesced);
}

#[test]
fn bank_conflict() {
    let transposed = |name: &str, pad: &str| {
        let promote = format!("promote(x => x_s, at: workgroup, to: shared{pad});");
        let directives = format!(
            "tile(j: 32, i: 32) => workgroup(y, x);\n{promote}\ntile(j: 8 => j_o); distribute(j, i => thread(y, x)); serial(j_o);"
        );
        Case::new(name, &[], "transpose for board where M % 32 == 0, N % 32 == 0", &directives)
    };
    let conflict = transposed("bank_conflict", "");
    assert_eq!(
        conflict.texts(LintName::BankConflict),
        ["2:1: `x_s` is read in 32 turns, because its rows share banks; write `row_pad: 4`, which leaves 4 turns"]
    );
    conflict.follow(LintName::BankConflict);
    assert_eq!(transposed("bank_padded", ", row_pad: 1").texts(LintName::BankConflict), [] as [&str; 0]);
}

#[test]
fn bank_conflict_of_matrices() {
    let conflict = matrices("bank_matrices", SUBGROUPS, "", "");
    assert_eq!(
        conflict.texts(LintName::BankConflict),
        [
            "4:1: `a_s` is read as matrices in 4 turns, because its rows share banks; write `row_pad: 8`, which leaves 2 turns",
            "5:1: `b_s` is read as matrices in 8 turns, because its rows share banks; write `row_pad: 8`",
        ]
    );
    conflict.follow(LintName::BankConflict);
    assert_eq!(matrices("bank_matrices_padded", SUBGROUPS, ", row_pad: 8", "").lints(), []);
}

#[test]
fn scalar_access() {
    let by = |name: &str, facts: &str| {
        let directives = "tile(i: 8, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x));\ntile(k: 4 => k_o);\nunroll(k);";
        Case::new(name, &[], &format!("matmul for board {facts}"), directives)
    };
    let scalar = by("scalar_access", "");
    assert_eq!(
        scalar.texts(LintName::ScalarAccess),
        ["1:39: `a` is read element by element, because `K % 4 == 0` is not known; write `where K % 4 == 0` in the header, or \
          `specialize(K % 4 == 0);` for a separate version"]
    );
    scalar.follow(LintName::ScalarAccess);
    assert_eq!(by("wide_access", "where K % 4 == 0").texts(LintName::ScalarAccess), [] as [&str; 0]);
}

/// A fact is not advised at sizes for which it does not hold.
#[test]
fn scalar_access_at_sizes() {
    let at = |name: &str, k: i64| {
        let directives = "tile(i: 8, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x));\ntile(k: 4 => k_o);\nunroll(k);";
        Case::new(name, &[("M", 64), ("N", 64), ("K", k)], "matmul for board", directives).texts(LintName::ScalarAccess).len()
    };
    assert_eq!([at("scalar_odd", 66), at("scalar_even", 64)], [0, 1]);
}

/// No fact in a schedule's header can give the alignment of a window's start.
#[test]
fn scalar_access_that_no_fact_makes_wide() {
    let directives = "tile(i: 128) => workgroup(x);\ntile(i: 4) => thread(x);\nreorder(k, i);\nunroll(k, i);";
    let window = Case::new("scalar_window", &[], "window for board", directives);
    assert_eq!(window.texts(LintName::ScalarAccess), [""; 0]);
}

#[test]
fn scalar_access_of_a_copy() {
    let by = |name: &str, facts: &str| {
        let directives = "tile(i: 32, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x));\ntile(k: 16 round_up => k_o);\npromote(a => a_s, at: k_o, to: shared, fill: 0.0);";
        Case::new(name, &[], &format!("matmul for board {facts}"), directives)
    };
    let scalar = by("scalar_copy", "");
    assert_eq!(
        scalar.texts(LintName::ScalarAccess),
        ["3:1: `a` is read element by element, because `K % 4 == 0` is not known; write `where K % 4 == 0` in the header, or \
          `specialize(K % 4 == 0);` for a separate version"]
    );
    scalar.follow(LintName::ScalarAccess);
    assert_eq!(by("wide_copy", "where K % 4 == 0").texts(LintName::ScalarAccess), [] as [&str; 0]);
}

/// An element whose index is clamped at the end of a tile is read alone, even if rows are aligned. Whole tiles make the access
/// wide.
#[test]
fn scalar_access_under_tails() {
    let by = |name: &str, facts: &str| {
        let directives = "tile(i: 8, j: 64) => workgroup(y, x);\ntile(j: 8) => thread(x);\nreorder(k, i, j);\nunroll(i, j);";
        Case::new(name, &[], &format!("matmul for tilewright::devices::mesa_lavapipe {facts}"), directives)
    };
    let advice = "`b` is read element by element, because `N % 64 == 0` is not known; write `where N % 64 == 0` in the header, or \
                  `specialize(N % 64 == 0);` for a separate version";
    let wide = |case: &Case| case.told().0.versions.last().expect("a version").figures[0].words.wide;
    for (name, facts) in [
        ("tail_aligned", "where N % 32 == 0, M % 8 == 0"),
        ("tail_odd", ""),
        ("tail_rows", "where M % 8 == 0"),
        ("tail_other_version", "where N % 4 == 0"),
    ] {
        let scalar = by(name, facts);
        assert_eq!(scalar.texts(LintName::ScalarAccess), [format!("2:1: {advice}")], "{facts}");
        assert_eq!(wide(&scalar), 0, "{facts}");
        scalar.follow(LintName::ScalarAccess);
        let edit = scalar.lints().into_iter().find_map(|lint| lint.edit.filter(|_| lint.name == LintName::ScalarAccess));
        assert!(wide(&scalar.followed(&edit.expect("an edit"))) > 0, "{facts}");
    }
    assert_eq!(by("tail_whole", "where N % 64 == 0").texts(LintName::ScalarAccess), [""; 0]);
    // The tile of a reduction can have a tail, too.
    let directives = "tile(i: 8, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x));\ntile(k: 8 => k_o);\nunroll(k);";
    let reduction = Case::new("tail_reduction", &[], "matmul for board where K % 4 == 0", directives);
    assert!(reduction.texts(LintName::ScalarAccess)[0].contains("because `K % 8 == 0` is not known"), "{:?}", reduction.lints());
    reduction.follow(LintName::ScalarAccess);
    // An index that is clamped at the tensor's own end stays clamped for all sizes.
    let directives = "tile(i: 8, j: 32) => workgroup(y, x); tile(j: 4) => thread(x); unroll(i, j);";
    let clamped = Case::new("tail_of_the_tensor", &[], "smooth for board where H % 8 == 0", directives);
    assert!(clamped.texts(LintName::ScalarAccess).iter().all(|text| text.contains("`W % 32 == 0`")), "{:?}", clamped.lints());
}

/// A version for sizes that the header excludes is refused, so the lint does not offer an edit.
#[test]
fn what_does_not_compile_is_not_offered() {
    let directives = "tile(i: 8, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x));\ntile(k: 4 => k_o);\nunroll(k);";
    let odd = Case::new("not_offered", &[], "matmul for board where K % 4 == 1", directives);
    assert_eq!(odd.texts(LintName::ScalarAccess), [""; 0]);
}

/// Every distribution of a transposition has one tensor whose accesses are far apart. So a copy is the advice, and no warning
/// advises to leave it out.
#[test]
fn a_transposition_has_no_contradictions() {
    let by = |name: &str, device: &str, directives: &str| Case::new(name, &[], &format!("transpose for {device}"), directives);
    for (name, letters, tensor) in [("transposed_reads", "y, x", "x"), ("transposed_writes", "x, y", "y")] {
        let directives = format!("tile(j: 8, i: 32) => workgroup(y, x);\ndistribute(j, i => thread({letters}));");
        let direct = by(name, "board", &directives);
        let copy = format!("copy what a workgroup needs: `promote({tensor} => {tensor}_s, at: workgroup, to: shared);`");
        let texts = direct.texts(LintName::Uncoalesced);
        assert!(texts.len() == 1 && texts[0].ends_with(&copy), "{texts:?}");
        direct.follow(LintName::Uncoalesced);
        let edit = direct.lints()[0].edit.clone().expect("an edit");
        let (told, _) = direct.followed(&edit).told();
        assert_eq!(told.warnings, [""; 0]);
        assert!(told.versions[0].lints.iter().all(|lint| lint.name != LintName::Uncoalesced), "{:?}", told.versions[0].lints);
        // On a CPU, shared memory is not faster.
        let cpu = by(&format!("{name}_cpu"), "tilewright::devices::mesa_lavapipe", &directives);
        assert_eq!(cpu.texts(LintName::Uncoalesced), [""; 0]);
    }
    let promoted =
        "tile(j: 32, i: 32) => workgroup(y, x);\npromote(x => x_s, at: workgroup, to: shared);\ndistribute(j, i => thread(y, x));";
    let warnings = |device: &str, name: &str| by(name, device, promoted).told().0.warnings;
    assert_eq!(warnings("board", "transposed_shared"), [""; 0]);
    let on_cpu = warnings("tilewright::devices::mesa_lavapipe", "transposed_shared_cpu");
    assert!(on_cpu[0].contains("warning: nothing reuses `x_s`"), "{on_cpu:?}");
}

/// A copy that the compiler advises to leave out is not improved.
#[test]
fn a_useless_copy_is_not_improved() {
    let directives =
        "tile(i: 32, j: 32) => workgroup(y, x);\npromote(x => x_s, at: workgroup, to: shared);\ndistribute(j, i => thread(y, x));";
    let useless = Case::new("useless_copy", &[], "transpose for tilewright::devices::mesa_lavapipe", directives);
    assert!(useless.told().0.warnings[0].contains("nothing reuses"));
    assert!(useless.lints().iter().all(|lint| lint.name != LintName::ScalarAccess && lint.name != LintName::BankConflict));
}

/// On profiles of CPUs, no lint advises a copy in shared memory.
#[test]
fn no_copies_for_cpus() {
    for (name, directives) in [
        ("cpu_rows", "distribute(i, j => thread(x, y));"),
        ("cpu_columns", "distribute(i, j => thread(y, x));"),
        ("cpu_tiles", "tile(i: 4, j: 8) => thread(y, x); reorder(k, i, j); unroll(i, j);"),
    ] {
        let directives = format!("tile(i: 32, j: 32) => workgroup(y, x);\n{directives}");
        let case =
            Case::new(name, &[("M", 64), ("N", 64), ("K", 64)], "matmul for tilewright::devices::mesa_lavapipe", &directives);
        case.lints().iter().for_each(|lint| assert!(!lint.instead.contains("shared"), "{lint:?}"));
    }
}
