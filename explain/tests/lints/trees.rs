//! Lints find directives, and write changes of them, by the schedule's tree: words in comments and unusual spaces do not matter.

use crate::lints::case::{Case, SUBGROUPS, matrices};
use tilewright_explain::LintName;

#[test]
fn letters_in_a_comment_stay() {
    let directives = "tile(i: 32, j: 32) => workgroup(y, x);\ndistribute(i, j /* not thread(x) */ => thread(x, y));";
    let rows = Case::new("tree_letters", &[], "matmul for board", directives);
    let texts = rows.texts(LintName::Uncoalesced);
    assert!(texts[1].ends_with("write `distribute(i, j /* not thread(x) */ => thread(y, x));`"), "{texts:?}");
    rows.follow(LintName::Uncoalesced);
}

#[test]
fn a_factor_in_a_comment_stays() {
    let directives = "tile(i: /* i: 64 */ 32, j: 64) => workgroup(y, x);
tile(i: 4, j: 4) => thread(y, x); reorder(k, i, j); unroll(i, j);";
    let dims = [("M", 40), ("N", 64), ("K", 64)];
    let idle = Case::new("tree_factor", &dims, "matmul for board where K % 4 == 0", directives);
    let texts = idle.texts(LintName::Idle);
    assert!(texts[0].ends_with("write `tile(i: /* i: 64 */ 16, j: 64) => workgroup(y, x);`"), "{texts:?}");
    idle.follow(LintName::Idle);
}

#[test]
fn a_pipeline_with_a_comment_has_several_buffers() {
    let two = "pipeline(k_o, /* not buffers: 1 */ buffers:2, prefetch: register);";
    let full = matrices("tree_buffers", SUBGROUPS, ", row_pad: 8", two);
    let texts = full.texts(LintName::Occupancy);
    assert!(texts[0].ends_with("write `pipeline(k_o, /* not buffers: 1 */ buffers:1, prefetch: register);`"), "{texts:?}");
    full.follow(LintName::Occupancy);
}

#[test]
fn an_argument_in_a_comment_is_not_given() {
    let directives = "tile(j: 32, i: 32) => workgroup(y, x);
promote(x => x_s, at: workgroup, /* row_pad: 1 */ to: shared);
tile(j: 8 => j_o); distribute(j, i => thread(y, x)); serial(j_o);";
    let conflict = Case::new("tree_argument", &[], "transpose for board where M % 32 == 0, N % 32 == 0", directives);
    let edit = conflict.lints().into_iter().find(|lint| lint.name == LintName::BankConflict).and_then(|lint| lint.edit);
    let to = edit.expect("an edit").to;
    assert_eq!(to, "promote(x => x_s, at: workgroup, /* row_pad: 1 */ to: shared, row_pad: 4)");
    conflict.follow(LintName::BankConflict);
}
