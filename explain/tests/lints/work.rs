//! Lints of wasted work.

use crate::lints::case::Case;
use tilewright_explain::LintName;

#[test]
fn recomputed() {
    let by = |name: &str, rows: u32| {
        let directives = format!(
            "tile(i: {rows}, j: 32) => workgroup(y, x);\ncompute_at(s, workgroup, to: shared);\ndistribute(j => thread(x)); serial(i);"
        );
        Case::new(name, &[("H", 256), ("W", 64)], "smooth for board where H % 4 == 0, W % 32 == 0", &directives)
    };
    let again = by("recomputed", 4);
    assert_eq!(
        again.texts(LintName::Recomputed),
        ["2:1: `s` is computed 2.0 times as often as it has elements; write `root(s);` instead of \
             `compute_at(s, workgroup, to: shared);`, so that it is computed once, in its own dispatch"]
    );
    again.follow(LintName::Recomputed);
    assert_eq!(by("computed_little", 32).texts(LintName::Recomputed), [] as [&str; 0]);
    assert_eq!(Case { dims: Vec::new(), ..by("recomputed_unknown", 4) }.texts(LintName::Recomputed), [] as [&str; 0]);
}

#[test]
fn idle_past_the_end() {
    let by = |name: &str, rows: i64| {
        let directives =
            "tile(i: 32, j: 64) => workgroup(y, x);\ntile(i: 4, j: 4) => thread(y, x); reorder(k, i, j); unroll(i, j);";
        Case::new(name, &[("M", rows), ("N", 64), ("K", 64)], "matmul for board where K % 4 == 0", directives)
    };
    let idle = by("idle", 40);
    assert_eq!(
        idle.texts(LintName::Idle),
        ["1:1: 37 % of the invocations are idle: the tiles of `i` have room for 64, and it has 40; write \
          `tile(i: 16, j: 64) => workgroup(y, x);`"]
    );
    idle.follow(LintName::Idle);
    assert_eq!(by("busy", 60).texts(LintName::Idle), [] as [&str; 0]);
}

#[test]
fn idle_part_of_a_subgroup() {
    let by = |name: &str, columns: u32| {
        let directives = format!("tile(i: 1, j: {columns}) => workgroup(y, x);\ntile(j: 2) => thread(x); unroll(j);");
        Case::new(name, &[], "matmul for board where K % 4 == 0", &directives)
    };
    let idle = by("idle_lanes", 40);
    assert_eq!(
        idle.texts(LintName::Idle),
        ["1:1: 37 % of the invocations are idle: a workgroup has 20, and subgroups have 32; write \
          `tile(i: 1, j: 64) => workgroup(y, x);`"]
    );
    idle.follow(LintName::Idle);
    assert_eq!(by("busy_lanes", 128).texts(LintName::Idle), [] as [&str; 0]);
}

#[test]
fn long_tile() {
    let by = |name: &str, k: i64, directives: &str| {
        let directives = format!("tile(i: 8, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x));\n{directives}");
        Case::new(name, &[("M", 64), ("N", 64), ("K", k)], "matmul for board", &directives)
    };
    let unrolled = by("long_unrolled", 5, "tile(k: 32 => k_o); unroll(k);");
    assert_eq!(
        unrolled.texts(LintName::LongTile),
        ["2:1: 27 of 32 points of a tile of `k` are wasted: all 32 are computed, but `k` has 5; write `tile(k: 4 => k_o);`"]
    );
    unrolled.follow(LintName::LongTile);
    assert_eq!(by("long_enough", 33, "tile(k: 32 => k_o); unroll(k);").texts(LintName::LongTile), [""; 0]);
    // A serial loop ends with its axis, but not in tiles that are rounded up.
    assert_eq!(by("long_serial", 5, "tile(k: 32 => k_o);").texts(LintName::LongTile), [""; 0]);
    assert_eq!(by("long_rounded", 5, "tile(k: 32 round_up => k_o);").texts(LintName::LongTile).len(), 1);
    // Tiles that are distributed to invocations have another lint.
    let few = vec![("M".to_owned(), 5), ("N".to_owned(), 5), ("K".to_owned(), 64)];
    assert_eq!(Case { dims: few, ..by("long_distributed", 64, "") }.texts(LintName::LongTile), [""; 0]);
    assert_eq!(
        Case { dims: Vec::new(), ..by("long_unknown", 5, "tile(k: 32 => k_o); unroll(k);") }.texts(LintName::LongTile),
        [""; 0]
    );
    let vectors = Case::new("long_vectors", &[("N", 5)], "window for board", "distribute(i => workgroup(x));");
    assert_eq!(vectors.texts(LintName::LongTile), [""; 0]);
    let vectors = Case::new(
        "long_lanes",
        &[("M", 64), ("N", 2)],
        "transpose for board",
        "distribute(i => workgroup(x));\ntile(j: 4 => j_o); serial(j_o); vectorize(j, 4, unaligned: scalar);",
    );
    let texts = vectors.texts(LintName::LongTile);
    assert!(texts.len() == 1 && texts[0].starts_with("2:1: 2 of 4 points of a tile of `j` are wasted"), "{texts:?}");
}
