//! Kernels from Bishop's *Pattern Recognition and Machine Learning* and Murphy's *Machine Learning*.

use super::case::{Case, Grid, least};
use crate::harness::Fill;

fn apart(x: &Grid<2>, i: usize, y: &Grid<2>, j: usize, d: usize) -> f64 {
    (0..d).map(|d| (x[[i, d]] - y[[j, d]]).powi(2)).sum()
}

/// A step of k-means (Lloyd, *Least squares quantization in PCM*, 1982): the nearest centre of each point, and the mean of each
/// centre's points.
#[test]
fn k_means() {
    Case {
        kernel: "fn kmeans<N, K, D>(x: f32[N, D], centre: f32[K, D]) -> (nearest: i32[N], moved: f32[K, D]) where K >= 1 {
            let distance[i, k]: f32[N, K] = sum(d in 0..D) { (x[i, d] - centre[k, d]).powi(2) };
            nearest[i] = argmin(k in 0..K) { distance[i, k] };
            let count[k]: i32[K] = sum(i in 0..N) { if nearest[i] == k { 1 } else { 0 } };
            let total[k, d]: f32[K, D] = sum(i in 0..N) { if nearest[i] == k { x[i, d] } else { 0.0 } };
            moved[k, d] = if count[k] > 0 { total[k, d] / count[k] as f32 } else { centre[k, d] };
        }",
        schedules: &[
            "{ nearest { tile(i: 64) => workgroup(x); distribute(i => thread(x)); }
               distance { tile(i: 16, k: 8) => workgroup(y, x); distribute(i, k => thread(y, x)); tile(d: 4 => d_o); unroll(d); }
               moved { tile(k: 4, d: 16) => workgroup(y, x); distribute(k, d => thread(y, x)); } }",
            "{ nearest { tile(i: 32) => workgroup(x); distribute(i => thread(x)); tile(k: 4 => k_o);
               compute_at(distance, k_o, to: register); unroll(k); }
               distance { reorder(d, k); unroll(k); }
               count { tile(i: 64 => i_o); distribute(i => thread(x), by: tree); distribute(k => workgroup(x)); }
               total { tile(i: 8 => i_o); tile(d: 8, k: 1) => workgroup(x, y); distribute(d => thread(y));
               distribute(i => thread(x), by: subgroup); }
               moved { tile(k: 4, d: 16) => workgroup(y, x); distribute(k, d => thread(y, x)); } }",
            "{ nearest { tile(i: 4) => workgroup(x); distribute(i => thread(y)); tile(k: 8 => k_o);
               distribute(k => thread(x), by: tree); }
               distance { tile(i: 8, k: 8) => workgroup(y, x); tile(d: 8 => d_o); distribute(i, k => thread(y, x));
               promote(x => x_s, at: d_o, to: shared); promote(centre => c_s, at: d_o, to: shared, row_pad: 1); }
               count { tile(i: 128 => i_o); distribute(i_o => workgroup(y), by: atomic); tile(k: 32) => workgroup(x);
               distribute(k => thread(x)); }
               total { tile(i: 16 => i_o); rfactor(i_o => part); fuse(k, d => p); tile(p: 32) => workgroup(x);
               distribute(p => thread(x)); }
               part { distribute(i_o => workgroup(y)); fuse(k, d => p); tile(p: 32) => workgroup(x); distribute(p => thread(x)); }
               moved { fuse(k, d => p); tile(p: 32) => workgroup(x); distribute(p => thread(x)); } }",
        ],
        sizes: &["N=1 K=1 D=1", "N=5 K=3 D=2", "N=37 K=5 D=7", "N=131 K=11 D=3", "N=0 K=2 D=3", "N=3 K=2 D=0"],
        ..Case::NEW
    }
    .check(|given| {
        let [n, k, d] = given.dims("N K D");
        let (x, centre) = (given.grid("x", [n, d]), given.grid("centre", [k, d]));
        let nearest = Grid::new([n], |[i]| least((0..k).map(|j| apart(&x, i, &centre, j, d))));
        let moved = Grid::new([k, d], |[j, d]| {
            let mine: Vec<f64> = (0..n).filter(|i| nearest[[*i]] == j as f64).map(|i| x[[i, d]]).collect();
            if mine.is_empty() { centre[[j, d]] } else { mine.iter().sum::<f64>() / mine.len() as f64 }
        });
        vec![("nearest", nearest.values), ("moved", moved.values)]
    });
}

/// The two nearest neighbours of each query, and the vote of their labels, weighted by distance.
#[test]
fn nearest_neighbours() {
    Case {
        kernel: "fn neighbours<Q, N, D>(q: f32[Q, D], x: f32[N, D], label: f32[N])
        -> (first: i32[Q], second: i32[Q], vote: f32[Q]) where N >= 2 {
            let norm[j]: f32[N] = sum(d in 0..D) { x[j, d] * x[j, d] };
            let distance[i, j]: f32[Q, N] = norm[j] - 2.0 * sum(d in 0..D) { q[i, d] * x[j, d] };
            let a[i]: i32[Q] = argmin(j in 0..N) { distance[i, j] };
            let b[i]: i32[Q] = argmin(j in 0..N) { if j == a[i] { f32::INFINITY } else { distance[i, j] } };
            first[i] = a[i];
            second[i] = b[i];
            vote[i] = 0.75 * label.clamp()[a[i]] + 0.25 * label.clamp()[b[i]];
        }",
        schedules: &[
            "{ distance { tile(i: 8, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x));
               compute_at(norm, thread, to: register); }
               a, b, first, second, vote { tile(i: 64) => workgroup(x); distribute(i => thread(x)); } }",
            "{ distance { tile(i: 8, j: 32) => workgroup(y, x); tile(i: 4, j: 4) => thread(y, x); tile(d: 8 => d_o);
               reorder(d_o, d, i, j); unroll(i, j);
                 promote(q => q_s, at: d_o, to: shared); promote(x => x_s, at: d_o, to: shared, swizzle: 4);
                 compute_at(norm, workgroup, to: shared); }
               a, b { tile(i: 1) => workgroup(x); tile(j: 32 => j_o); distribute(j => thread(x), by: tree); } }",
            "{ distance { tile(i: 1, j: 64) => workgroup(y, x); distribute(j => thread(x)); tile(d: 16 => d_o);
               promote(q => q_s, at: d_o, to: shared); }
               a { tile(j: 32 => j_o); rfactor(j_o => part); tile(i: 32) => workgroup(x); distribute(i => thread(x)); }
               part { tile(i: 16) => workgroup(x); distribute(i => thread(x)); distribute(j_o => workgroup(y)); }
               b { tile(i: 4) => workgroup(x); distribute(i => subgroup(x)); tile(j: 8 => j_o);
               distribute(j => lane(x), by: subgroup); } }",
        ],
        sizes: &["Q=1 N=2 D=1", "Q=3 N=5 D=2", "Q=13 N=67 D=7", "Q=0 N=3 D=3"],
        ..Case::NEW
    }
    .check(|given| {
        let [q, n, d] = given.dims("Q N D");
        let (queries, x, label) = (given.grid("q", [q, d]), given.grid("x", [n, d]), given.grid("label", [n]));
        let sorted = |i: usize| {
            let mut all: Vec<usize> = (0..n).collect();
            all.sort_by(|a, b| apart(&queries, i, &x, *a, d).total_cmp(&apart(&queries, i, &x, *b, d)));
            all
        };
        let of = |place: usize| Grid::new([q], |[i]| sorted(i)[place] as f64);
        let vote = Grid::new([q], |[i]| 0.75 * label[[sorted(i)[0]]] + 0.25 * label[[sorted(i)[1]]]);
        vec![("first", of(0).values), ("second", of(1).values), ("vote", vote.values)]
    });
}

/// A step of mean shift (Comaniciu and Meer, *Mean shift: a robust approach toward feature space analysis*, 2002).
#[test]
fn mean_shift() {
    Case {
        kernel: "fn mean_shift<N, M, D>(at: f32[M, D], x: f32[N, D], sharp: f32) -> moved: f32[M, D] where N >= 1 {
            let weight[i, j]: f32[M, N] = (-sharp * sum(d in 0..D) { (at[i, d] - x[j, d]) * (at[i, d] - x[j, d]) }).exp();
            let total[i]: f32[M] = sum(j in 0..N) { weight[i, j] };
            moved[i, d] = sum(j in 0..N) { weight[i, j] * x[j, d] } / total[i];
        }",
        schedules: &[
            "{ weight { tile(i: 8, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x)); }
               total { tile(i: 64) => workgroup(x); distribute(i => thread(x)); }
               tile(i: 4, d: 16) => workgroup(y, x); distribute(i, d => thread(y, x)); tile(j: 4 => j_o); unroll(j); }",
            "{ tile(i: 8, d: 8) => workgroup(y, x); tile(j: 16 => j_o); distribute(i, d => thread(y, x));
               promote(weight => w_s, at: j_o, to: shared); promote(x => x_s, at: j_o, to: shared);
               weight { tile(i: 8, j: 8) => workgroup(y, x); tile(d: 4 peel => d_o); distribute(i, j => thread(y, x)); unroll(d); }
               total { tile(i: 8) => workgroup(x); tile(j: 8 => j_o); distribute(i => thread(x));
               distribute(j => thread(y), by: tree); } }",
            "{ tile(i: 1) => workgroup(x); tile(j: 8 => j_o); distribute(j => lane(x), by: subgroup); serial(d);
               compute_at(total, workgroup, to: register);
               total { tile(j: 8 => j_o); distribute(j => lane(x), by: subgroup); } }",
        ],
        sizes: &["N=1 M=1 D=1", "N=5 M=3 D=2", "N=37 M=13 D=7", "N=19 M=2 D=17", "N=2 M=0 D=3"],
        scalars: &[1.5],
        ..Case::NEW
    }
    .check(|given| {
        let [n, m, d] = given.dims("N M D");
        let (at, x) = (given.grid("at", [m, d]), given.grid("x", [n, d]));
        let weight = |i: usize, j: usize| (-given.scalars[0] * apart(&at, i, &x, j, d)).exp();
        let moved = Grid::new([m, d], |[i, d]| {
            (0..n).map(|j| weight(i, j) * x[[j, d]]).sum::<f64>() / (0..n).map(|j| weight(i, j)).sum::<f64>()
        });
        vec![("moved", moved.values)]
    });
}

/// A step of the power iteration for a first principal component, without the covariance matrix: `X^T (X v)`, scaled to length 1.
#[test]
fn principal_component() {
    Case {
        kernel: "fn pca<N, D>(x: f32[N, D], v: f32[D]) -> (next: f32[D], value: f32[]) where N >= 2 {
            let mean[d]: f32[D] = sum(i in 0..N) { x[i, d] } / N as f32;
            let score[i]: f32[N] = sum(d in 0..D) { (x[i, d] - mean[d]) * v[d] };
            let w[d]: f32[D] = sum(i in 0..N) { (x[i, d] - mean[d]) * score[i] } / (N - 1) as f32;
            let norm[]: f32[] = sum(d in 0..D) { w[d] * w[d] }.sqrt();
            next[d] = if norm[] > 0.0 { w[d] / norm[] } else { v[d] };
            value[] = norm[];
        }",
        schedules: &[
            "{ mean, w, next { tile(d: 32) => workgroup(x); distribute(d => thread(x)); } score { tile(i: 32) => workgroup(x);
               distribute(i => thread(x)); } }",
            "{ mean, w { tile(d: 8) => workgroup(x); distribute(d => thread(x)); tile(i: 8 => i_o);
               distribute(i => thread(y), by: tree); }
               score { tile(i: 1) => workgroup(x); tile(d: 16 => d_o); distribute(d => thread(x), by: subgroup); }
               norm { tile(d: 64 => d_o); distribute(d => thread(x), by: subgroup); } next { tile(d: 64) => workgroup(x);
               distribute(d => thread(x)); } }",
            "{ mean, w { tile(i: 16 => i_o); rfactor(i_o => part); tile(d: 32) => workgroup(x); distribute(d => thread(x)); }
               part { distribute(i_o => workgroup(y)); tile(d: 32) => workgroup(x); distribute(d => thread(x)); tile(i: 4 => i_i);
               unroll(i); }
               score { tile(i: 8) => workgroup(x); distribute(i => thread(x)); tile(d: 8 => d_o);
                       promote(x => x_s, at: d_o, to: shared, row_pad: 1); promote(v => v_s, at: d_o, to: shared); } }",
        ],
        sizes: &["N=2 D=1", "N=3 D=5", "N=37 D=11", "N=67 D=33", "N=2 D=0"],
        fill: &[("v", Fill::Positive)],
        // The length of a vector may be as small as its error.
        vague: 1,
        ..Case::NEW
    }
    .check(|given| {
        let [n, d] = given.dims("N D");
        let (x, v) = (given.grid("x", [n, d]), given.grid("v", [d]));
        let mean = Grid::new([d], |[d]| (0..n).map(|i| x[[i, d]]).sum::<f64>() / n as f64);
        let w = Grid::new([d], |[a]| {
            let covariance =
                |b: usize| (0..n).map(|i| (x[[i, a]] - mean[[a]]) * (x[[i, b]] - mean[[b]])).sum::<f64>() / (n as f64 - 1.0);
            (0..d).map(|b| covariance(b) * v[[b]]).sum()
        });
        let norm = w.values.iter().map(|w| w * w).sum::<f64>().sqrt();
        vec![("next", w.values.iter().map(|w| w / norm).collect()), ("value", vec![norm])]
    });
}

/// A step of a beam search: the best beam and word of each batch, where finished beams continue only with the word 0.
#[test]
fn beam_search() {
    Case {
        kernel: "fn beam<N, B, V>(score: f32[N, B], logit: f32[N, B, V], finished: bool[N, B]) -> (beam: i32[N], word: i32[N], best: f32[N])
        where B >= 1, V >= 1 {
            let largest[n, b]: f32[N, B] = max(v in 0..V) { logit[n, b, v] };
            let total[n, b]: f32[N, B] = sum(v in 0..V) { (logit[n, b, v] - largest[n, b]).exp() };
            let next[n, b, v]: f32[N, B, V] = if finished[n, b] {
                if v == 0 { score[n, b] } else { f32::NEG_INFINITY }
            } else {
                score[n, b] + logit[n, b, v] - largest[n, b] - total[n, b].ln()
            };
            let place[n]: i32[N] = argmax(b in 0..B, v in 0..V) { next[n, b, v] };
            beam[n] = place[n] / V;
            word[n] = place[n] % V;
            best[n] = max(b in 0..B, v in 0..V) { next[n, b, v] };
        }",
        schedules: &[
            "{ largest, total { fuse(n, b => r); tile(r: 32) => workgroup(x); distribute(r => thread(x)); }
               place, best { tile(n: 1) => workgroup(x); fuse(b, v => t); tile(t: 32 => t_o); distribute(t => thread(x), by: tree);
               } }",
            "{ largest, total { tile(n: 1, b: 1) => workgroup(y, x); tile(v: 16 => v_o); distribute(v => thread(x), by: subgroup); }
               root(next); next { tile(v: 64) => workgroup(x); distribute(n, b => workgroup(z, y)); distribute(v => thread(x)); }
               place { fuse(b, v => t); tile(t: 64 => t_o); rfactor(t_o => part); tile(n: 1) => workgroup(x); }
               part { distribute(n, t_o => workgroup(y, x)); tile(t: 8 => t_i); distribute(t => lane(x), by: subgroup); }
               best { tile(n: 1) => workgroup(x); tile(v: 8 => v_o); distribute(v => lane(x), by: subgroup); } }",
            "{ place { tile(n: 1) => workgroup(x); fuse(b, v => t); tile(t: 8 => t_o); distribute(t => thread(x), by: subgroup); }
               best { tile(n: 1) => workgroup(x); tile(v: 32 => v_o); distribute(v => thread(x), by: tree); } }",
            "{ decompose_online(largest, total); total { tile(n: 1, b: 1) => workgroup(y, x); tile(v: 32 => v_o);
               distribute(v => thread(x), by: tree); } }",
        ],
        sizes: &["N=1 B=1 V=1", "N=2 B=3 V=5", "N=3 B=4 V=37", "N=5 B=2 V=131", "N=0 B=1 V=1"],
        ..Case::NEW
    }
    .check(|given| {
        let [n, b, v] = given.dims("N B V");
        let (score, logit, finished) = (given.grid("score", [n, b]), given.grid("logit", [n, b, v]), given.grid("finished", [n, b]));
        let next = |n: usize, b: usize, w: usize| {
            if finished[[n, b]] != 0.0 {
                return if w == 0 { score[[n, b]] } else { f64::NEG_INFINITY };
            }
            score[[n, b]] + logit[[n, b, w]] - (0..v).map(|v| logit[[n, b, v]].exp()).sum::<f64>().ln()
        };
        let place = |n: usize| least((0..b * v).map(|at| -next(n, at / v, at % v))) as usize;
        let of = |value: &dyn Fn(usize, usize) -> f64| (0..n).map(|n| value(n, place(n))).collect();
        vec![
            ("beam", of(&|_, place| (place / v) as f64)),
            ("word", of(&|_, place| (place % v) as f64)),
            ("best", of(&|n, place| next(n, place / v, place % v))),
        ]
    });
}
