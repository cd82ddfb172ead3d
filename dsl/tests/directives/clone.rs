//! Tests the stages that `clone` makes, and its refusals. Read the snapshots in review.

use crate::decompositions::{refusals, stages};

/// One reader of `g` is a stencil, which computes its clone in its tiles. The other one loads `g` from device memory.
const TWO: &str = "fn k<H, W>(x: f32[H + 2, W]) -> (y: f32[H, W], z: f32[H + 2]) {
    let g[i, j]: f32[H + 2, W] = (x[i, j] * 0.5).exp();
    y[i, j] = g[i, j] + g[i + 1, j] + g[i + 2, j];
    z[i] = sum(j in 0..W) { g[i, j] };
}";

#[test]
fn stages_of_a_clone_in_tiles() {
    let schedule = "{
        clone(g => g_y, reader: y);
        root(g);
        y {
            tile(i: 4, j: 16) => workgroup(y, x);
            compute_at(g_y, workgroup, to: shared);
            distribute(i, j => thread(y, x));
        }
        g_y { fuse(i, j => point); distribute(point => thread(linear)); }
    }";
    insta::assert_snapshot!(stages(TWO, schedule));
}

/// A reduction is cloned with axes of its own, whose ranges depend on one another. Two of its three readers read the clone, also where the
/// read is clamped, and at an index that the intermediate gives.
#[test]
fn stages_of_a_cloned_reduction() {
    let kernel = "fn k<N>(x: i32[N, N]) -> (a: i32[N], b: i32[N], c: i32[N]) {
        let s[i]: i32[N] = sum(j in 0..i) { x[i, j] } + 1;
        a[i] = s.clamp()[i + 1];
        b[i] = x.clamp()[i, s[i]] + s[i];
        c[i] = s[i];
    }";
    insta::assert_snapshot!(stages(kernel, "{ clone(s => t, reader: [a, b]); }"));
}

#[test]
fn a_clone_is_cloned_and_decomposed() {
    let kernel = "fn k<N, C>(x: f32[N + 2, C], w: f32[3, C]) -> (a: f32[N], b: f32[N], d: f32[N]) {
        let s[i]: f32[N] = sum(t in 0..3, c in 0..C) { x[i + t, c] * w[t, c] };
        a[i] = s[i].exp();
        b[i] = s[i].sqrt();
        d[i] = s[i] * 2.0;
    }";
    let schedule = "{
        clone(s => t, reader: [a, b]);
        clone(t => u, reader: a);
        decompose_im2col(u => cols, gemm);
    }";
    insta::assert_snapshot!(stages(kernel, schedule));
}

#[test]
fn refused() {
    insta::assert_snapshot!(refusals(&[
        ("an unknown stage", TWO, "{ clone(h => g_y, reader: y); }"),
        ("a result", TWO, "{ clone(y => y2, reader: z); }"),
        ("an input", TWO, "{ clone(x => x2, reader: y); }"),
        ("a stage that does not read it", TWO, "{ clone(g => g_y, reader: g); }"),
        ("an unknown reader", TWO, "{ clone(g => g_y, reader: q); }"),
        ("the only readers", TWO, "{ clone(g => g_y, reader: [y, z]); }"),
        ("a name that is used", TWO, "{ clone(g => z, reader: y); }"),
        ("a reader that has its clone", TWO, "{ clone(g => g_y, reader: y); clone(g => g_2, reader: y); }"),
        ("no reader", TWO, "{ clone(g => g_y); }"),
        ("another key", TWO, "{ clone(g => g_y, readers: y); }"),
        ("no readers", TWO, "{ clone(g => g_y, reader: []); }"),
        ("after a directive", TWO, "{ y { serial(i); } clone(g => g_y, reader: y); }"),
        ("within a block", TWO, "{ y { clone(g => g_y, reader: y); } }"),
    ]));
}
