//! Layers of neural networks (Goodfellow, Bengio and Courville, *Deep Learning*), and of transformers.

use super::case::{Case, Grid};
use crate::harness::Fill;

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// A step of a recurrent network: two products in one activation.
#[test]
fn recurrent_cell() {
    Case {
        kernel: "fn rnn<B, I, H>(x: f32[B, I], h: f32[B, H], w: f32[H, I], u: f32[H, H], bias: f32[H]) -> next: f32[B, H] {
            let wx[b, o]: f32[B, H] = sum(k in 0..I) { w[o, k] * x[b, k] };
            let uh[b, o]: f32[B, H] = sum(k in 0..H) { u[o, k] * h[b, k] };
            next[b, o] = (wx[b, o] + uh[b, o] + bias[o]).tanh();
        }",
        schedules: &[
            "{ tile(b: 4, o: 16) => workgroup(y, x); distribute(b, o => thread(y, x)); compute_at(wx, thread, to: register);
               compute_at(uh, thread, to: register); wx, uh { tile(k: 4 peel => k_o); unroll(k); } }",
            "{ tile(b: 8, o: 16) => workgroup(y, x); tile(b: 2, o: 2) => thread(y, x); unroll(b, o);
               compute_at(wx, thread, to: register); compute_at(uh, thread, to: register);
               wx { tile(k: 8 => k_o); reorder(k_o, k, b, o); unroll(b, o); promote(x => x_s, at: k_o, to: shared);
               promote(w => w_s, at: k_o, to: shared, row_pad: 1); }
               uh { tile(k: 8 => k_o); reorder(k_o, k, b, o); unroll(b, o); promote(h => h_s, at: k_o, to: shared);
               promote(u => u_s, at: k_o, to: shared, row_pad: 1); } }",
            "{ tile(b: 1, o: 1) => workgroup(y, x); compute_at(wx, workgroup, to: register); compute_at(uh, workgroup, to: register);
               wx, uh { tile(k: 8 => k_o); distribute(k => lane(x), by: subgroup); } }",
            "{ wx, uh { tile(k: 16 => k_o); rfactor(k_o => part); tile(b: 4, o: 16) => workgroup(y, x);
               distribute(b, o => thread(y, x)); }
               part { tile(b: 2, o: 8) => workgroup(y, x); distribute(b, o => thread(y, x)); distribute(k_o => workgroup(z));
               unroll(k); }
               fuse(b, o => p); tile(p: 64) => workgroup(x); distribute(p => thread(x)); }",
        ],
        sizes: &["B=1 I=1 H=1", "B=3 I=5 H=7", "B=5 I=17 H=19", "B=9 I=0 H=33", "B=0 I=2 H=3"],
        ..Case::NEW
    }
    .check(|given| {
        let [b, i, h] = given.dims("B I H");
        let (x, state, bias) = (given.grid("x", [b, i]), given.grid("h", [b, h]), given.grid("bias", [h]));
        let (w, u) = (given.grid("w", [h, i]), given.grid("u", [h, h]));
        let next = Grid::new([b, h], |[b, o]| {
            let wx: f64 = (0..i).map(|k| w[[o, k]] * x[[b, k]]).sum();
            let uh: f64 = (0..h).map(|k| u[[o, k]] * state[[b, k]]).sum();
            (wx + uh + bias[[o]]).tanh()
        });
        vec![("next", next.values)]
    });
}

/// A step of a long short-term memory: four gates, and two outputs (Hochreiter and Schmidhuber, 1997; Gers and others, 2000).
#[test]
fn lstm_cell() {
    Case {
        kernel: "fn lstm<B, I, H>(x: f32[B, I], h: f32[B, H], c: f32[B, H], w: f32[I, 4, H], u: f32[H, 4, H], bias: f32[4, H])
        -> (hn: f32[B, H], cn: f32[B, H]) {
            let wx[b, g, o]: f32[B, 4, H] = sum(k in 0..I) { x[b, k] * w[k, g, o] };
            let gate[b, g, o]: f32[B, 4, H] = wx[b, g, o] + bias[g, o] + sum(k in 0..H) { h[b, k] * u[k, g, o] };
            let next[b, o]: f32[B, H] = {
                let i = 1.0 / (1.0 + (-gate[b, 0, o]).exp());
                let f = 1.0 / (1.0 + (-gate[b, 1, o]).exp());
                f * c[b, o] + i * gate[b, 2, o].tanh()
            };
            cn[b, o] = next[b, o];
            hn[b, o] = next[b, o].tanh() / (1.0 + (-gate[b, 3, o]).exp());
        }",
        schedules: &[
            "{ hn, cn { tile(b: 2, o: 32) => workgroup(y, x); distribute(b, o => thread(y, x)); }
               wx, gate { tile(b: 4, o: 16) => workgroup(y, x); distribute(b, o => thread(y, x)); reorder(k, g); unroll(g); } }",
            "{ hn, cn { fuse(b, o => p); tile(p: 64) => workgroup(x); distribute(p => thread(x)); }
               gate { tile(b: 4, o: 16) => workgroup(y, x); distribute(b, o => thread(y, x)); reorder(k, g); unroll(g);
                      compute_at(wx, thread, to: register); tile(k: 8 => k_o); promote(u => u_s, at: k_o, to: shared);
                      promote(h => h_s, at: k_o, to: shared); }
               wx { reorder(k, g); unroll(g); } }",
            "{ gate { tile(b: 1, o: 4) => workgroup(y, x); distribute(o => thread(y)); tile(k: 8 => k_o);
               distribute(k => thread(x), by: subgroup); unroll(g); }
               wx { tile(k: 4 => k_o); rfactor(k_o => part); }
               part { tile(b: 1, o: 32) => workgroup(y, x); distribute(o => thread(x)); unroll(g, k);
               distribute(k_o => workgroup(z)); } }",
        ],
        sizes: &["B=1 I=1 H=1", "B=3 I=5 H=7", "B=5 I=11 H=19", "B=2 I=0 H=33", "B=0 I=2 H=3"],
        ..Case::NEW
    }
    .check(|given| {
        let [b, i, h] = given.dims("B I H");
        let (x, state, c) = (given.grid("x", [b, i]), given.grid("h", [b, h]), given.grid("c", [b, h]));
        let (w, u, bias) = (given.grid("w", [i, 4, h]), given.grid("u", [h, 4, h]), given.grid("bias", [4, h]));
        let gate = |b: usize, g: usize, o: usize| {
            let wx: f64 = (0..i).map(|k| w[[k, g, o]] * x[[b, k]]).sum();
            bias[[g, o]] + wx + (0..h).map(|k| u[[k, g, o]] * state[[b, k]]).sum::<f64>()
        };
        let cn = Grid::new([b, h], |[b, o]| sigmoid(gate(b, 1, o)) * c[[b, o]] + sigmoid(gate(b, 0, o)) * gate(b, 2, o).tanh());
        let hn = Grid::new([b, h], |[b, o]| sigmoid(gate(b, 3, o)) * cn[[b, o]].tanh());
        vec![("hn", hn.values), ("cn", cn.values)]
    });
}

/// Batch normalization in training: the statistics over images and pixels, and the running statistics, which are updated in place
/// (Ioffe and Szegedy, *Batch normalization*, 2015).
#[test]
fn batch_norm() {
    Case {
        kernel:
            "fn batch_norm<N, P, C>(x: f32[N, P, C], gain: f32[C], bias: f32[C], running: &mut f32[C], rate: f32) -> y: f32[N, P, C]
        where N >= 1, P >= 1 {
            let mean[c]: f32[C] = sum(n in 0..N, p in 0..P) { x[n, p, c] } / (N * P) as f32;
            let variance[c]: f32[C] = sum(n in 0..N, p in 0..P) { (x[n, p, c] - mean[c]).powi(2) } / (N * P) as f32;
            y[n, p, c] = (x[n, p, c] - mean[c]) * (variance[c] + 1e-5).rsqrt() * gain[c] + bias[c];
            running[c] = (1.0 - rate) * running[c] + rate * mean[c];
        }",
        schedules: &[
            "{ mean, variance { tile(c: 32) => workgroup(x); distribute(c => thread(x)); tile(p: 4 => p_o); unroll(p); }
               y { tile(c: 32) => workgroup(x); distribute(c => thread(x)); tile(p: 4) => workgroup(y);
               distribute(n => workgroup(z)); distribute(p => thread(y)); }
               running { tile(c: 32) => workgroup(x); distribute(c => thread(x)); } }",
            "{ mean, variance { fuse(n, p => r); tile(r: 8 => r_o); tile(c: 4) => workgroup(x); distribute(c => thread(x));
               distribute(r => thread(y), by: tree); }
               y { fuse(n, p, c => t); tile(t: 64) => workgroup(x); distribute(t => thread(x)); } }",
            "{ mean, variance { fuse(n, p => r); tile(r: 16 => r_o); rfactor(r_o => part); tile(c: 32) => workgroup(x);
               distribute(c => thread(x)); }
               part { tile(c: 16) => workgroup(x); distribute(c => thread(x)); distribute(r_o => workgroup(y)); tile(r: 4 => r_i);
               unroll(r); }
               y { tile(p: 2, c: 16) => workgroup(y, x); distribute(n => workgroup(z)); distribute(p, c => thread(y, x));
               promote(mean => m_r, at: thread, to: register); } }",
        ],
        sizes: &["N=1 P=1 C=1", "N=2 P=3 C=5", "N=3 P=7 C=37", "N=5 P=13 C=4", "N=2 P=3 C=0"],
        scalars: &[0.1],
        ..Case::NEW
    }
    .check(|given| {
        let [n, p, c] = given.dims("N P C");
        let x = given.grid("x", [n, p, c]);
        let (gain, bias, running) = (given.grid("gain", [c]), given.grid("bias", [c]), given.grid("running", [c]));
        let over = |f: &dyn Fn(usize, usize) -> f64| (0..n * p).map(|at| f(at / p, at % p)).sum::<f64>() / (n * p) as f64;
        let mean = Grid::new([c], |[c]| over(&|n, p| x[[n, p, c]]));
        let variance = Grid::new([c], |[c]| over(&|n, p| (x[[n, p, c]] - mean[[c]]).powi(2)));
        let y =
            Grid::new([n, p, c], |[n, p, c]| (x[[n, p, c]] - mean[[c]]) / (variance[[c]] + 1e-5).sqrt() * gain[[c]] + bias[[c]]);
        let rate = given.scalars[0];
        let running = Grid::new([c], |[c]| (1.0 - rate) * running[[c]] + rate * mean[[c]]);
        vec![("y", y.values), ("running", running.values)]
    });
}

/// The cross-entropy of rows of logits with smoothed labels (Szegedy and others, *Rethinking the Inception architecture*, 2016).
#[test]
fn cross_entropy() {
    Case {
        kernel: "fn cross_entropy<B, C>(logits: f32[B, C], label: i32[B], smooth: f32) -> loss: f32[] where B >= 1, C >= 1 {
            let largest[b]: f32[B] = max(c in 0..C) { logits[b, c] };
            let total[b]: f32[B] = sum(c in 0..C) { (logits[b, c] - largest[b]).exp() };
            let row[b]: f32[B] = sum(c in 0..C) {
                let target = smooth / C as f32 + if c == label[b] { 1.0 - smooth } else { 0.0 };
                -target * (logits[b, c] - largest[b] - total[b].ln())
            };
            loss[] = sum(b in 0..B) { row[b] } / B as f32;
        }",
        schedules: &[
            "{ largest, total, row { tile(b: 32) => workgroup(x); distribute(b => thread(x)); } tile(b: 64 => b_o);
               distribute(b => thread(x), by: tree); }",
            "{ row { tile(b: 1) => workgroup(x); compute_at(largest, workgroup, to: register);
               compute_at(total, workgroup, to: register);
                     tile(c: 8 => c_o); distribute(c => lane(x), by: subgroup); }
               largest, total { tile(c: 8 => c_o); distribute(c => lane(x), by: subgroup); }
               tile(b: 8 => b_o); distribute(b => lane(x), by: subgroup); }",
            "{ decompose_online(largest, total); total { tile(b: 4) => workgroup(x); distribute(b => thread(y)); tile(c: 16 => c_o);
               distribute(c => thread(x), by: tree); }
               tile(b: 16 => b_o); rfactor(b_o => part); part { distribute(b_o => workgroup(x)); compute_at(row, b, to: register); } }",
        ],
        sizes: &["B=1 C=1", "B=3 C=5", "B=17 C=37", "B=2 C=130"],
        scalars: &[0.1],
        fill: &[("label", Fill::Below(5))],
        ..Case::NEW
    }
    .check(|given| {
        let [b, c] = given.dims("B C");
        let (logits, label) = (given.grid("logits", [b, c]), given.grid("label", [b]));
        let loss = |b: usize| {
            let log_total = (0..c).map(|c| logits[[b, c]].exp()).sum::<f64>().ln();
            let target = |n: usize| given.scalars[0] / c as f64 + if label[[b]] == n as f64 { 1.0 - given.scalars[0] } else { 0.0 };
            (0..c).map(|n| target(n) * (log_total - logits[[b, n]])).sum::<f64>()
        };
        vec![("loss", vec![(0..b).map(loss).sum::<f64>() / b as f64])]
    });
}

/// Rotary positions (Su and others, *RoFormer*, 2021), and the scores of queries whose heads share keys in groups (Ainslie and
/// others, *GQA*, 2023).
#[test]
fn grouped_scores() {
    Case {
        kernel: "fn scores<T, K, G, D>(q: f32[T, K * G, 2 * D], k: f32[T, K, 2 * D]) -> s: f32[K * G, T, T] {
            let qr[t, h, d]: f32[T, K * G, 2 * D] = {
                let angle = t as f32 * (-9.210_340_4 * (d % D) as f32 / D as f32).exp();
                if d < D { q[t, h, d] * angle.cos() - q[t, h, d + D] * angle.sin() }
                else { q[t, h, d] * angle.cos() + q[t, h, d - D] * angle.sin() }
            };
            let kr[t, h, d]: f32[T, K, 2 * D] = {
                let angle = t as f32 * (-9.210_340_4 * (d % D) as f32 / D as f32).exp();
                if d < D { k[t, h, d] * angle.cos() - k[t, h, d + D] * angle.sin() }
                else { k[t, h, d] * angle.cos() + k[t, h, d - D] * angle.sin() }
            };
            s[h, i, j] = if j <= i { sum(d in 0..2 * D) { qr[i, h, d] * kr[j, h / G, d] } / (2.0 * D as f32).sqrt() }
                else { f32::NEG_INFINITY };
        }",
        schedules: &[
            "{ root(qr, kr); qr, kr { fuse(t, h, d => p); tile(p: 64) => workgroup(x); distribute(p => thread(x)); }
               distribute(h => workgroup(z)); tile(i: 4, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x));
               tile(d: 4 => d_o); unroll(d); }",
            "where D == 4 { distribute(h => workgroup(z)); tile(i: 8, j: 8) => workgroup(y, x); compute_at(qr, workgroup, to: shared);
               compute_at(kr, workgroup, to: shared); distribute(i, j => thread(y, x)); unroll(d); }",
            "where G == 2 { root(qr, kr); split(h, [_, 2] exact => kv, g); distribute(kv => workgroup(z));
               tile(i: 4, j: 4) => workgroup(y, x);
               distribute(i, j => thread(z, y)); tile(d: 8 => d_o); distribute(d => thread(x), by: subgroup); unroll(g); }",
        ],
        sizes: &["T=1 K=1 G=1 D=1", "T=5 K=2 G=2 D=3", "T=11 K=3 G=2 D=4", "T=9 K=1 G=5 D=4", "T=3 K=1 G=1 D=0", "T=0 K=1 G=1 D=1"],
        ..Case::NEW
    }
    .check(|given| {
        let [t, k, g, d] = given.dims("T K G D");
        let (q, key) = (given.grid("q", [t, k * g, 2 * d]), given.grid("k", [t, k, 2 * d]));
        let turned = |x: &Grid<3>, t: usize, h: usize, n: usize| {
            let angle = t as f64 * 10000f64.powf(-((n % d) as f64) / d as f64);
            let other = if n < d { -x[[t, h, n + d]] } else { x[[t, h, n - d]] };
            x[[t, h, n]] * angle.cos() + other * angle.sin()
        };
        let s = Grid::new([k * g, t, t], |[h, i, j]| {
            let dot: f64 = (0..2 * d).map(|n| turned(&q, i, h, n) * turned(&key, j, h / g, n)).sum();
            if j <= i { dot / (2.0 * d as f64).sqrt() } else { f64::NEG_INFINITY }
        });
        vec![("s", s.values)]
    });
}

/// A dilated causal convolution with a gate (van den Oord and others, *WaveNet*, 2016).
#[test]
fn dilated_convolution() {
    Case {
        kernel: "fn wavenet<N, T, C, O, F = 2, S = 4>(x: f32[N, T, C], w: f32[F, C, O], v: f32[F, C, O]) -> y: f32[N, T, O] {
            let filter[n, t, o]: f32[N, T, O] = sum(f in 0..F, c in 0..C) { x.pad(0.0)[n, t - (F - 1 - f) * S, c] * w[f, c, o] };
            let gate[n, t, o]: f32[N, T, O] = sum(f in 0..F, c in 0..C) { x.pad(0.0)[n, t - (F - 1 - f) * S, c] * v[f, c, o] };
            y[n, t, o] = filter[n, t, o].tanh() / (1.0 + (-gate[n, t, o]).exp());
        }",
        schedules: &[
            "{ distribute(n => workgroup(z)); tile(t: 4, o: 16) => workgroup(y, x); distribute(t, o => thread(y, x));
               compute_at(filter, thread, to: register); compute_at(gate, thread, to: register); filter, gate { unroll(f); } }",
            "where C <= 16 { distribute(n => workgroup(z)); tile(t: 16, o: 16) => workgroup(y, x); tile(t: 4, o: 2) => thread(y, x);
               unroll(t, o);
               compute_at(filter, thread, to: register); compute_at(gate, thread, to: register);
               filter, gate { reorder(f, c, t, o); unroll(t, o); promote(x => x_s, at: workgroup, to: shared); } }",
            "where O % 4 == 0 { fuse(n, t => r); tile(r: 4, o: 16) => workgroup(y, x); distribute(r => thread(y));
               tile(o: 4) => thread(x); vectorize(o, 4);
               filter, gate { fuse(f, c => k); tile(k: 8 => k_o); rfactor(k_o => part); fuse(n, t => r);
               tile(r: 4, o: 16) => workgroup(y, x); distribute(r, o => thread(y, x)); }
               part { distribute(k_o => workgroup(z)); fuse(n, t => r); tile(r: 4, o: 16) => workgroup(y, x);
               distribute(r => thread(y)); tile(o: 4) => thread(x); reorder(k, o); vectorize(o, 4); } }",
        ],
        sizes: &["N=1 T=1 C=1 O=1", "N=2 T=7 C=3 O=5", "N=3 T=19 C=5 O=20", "N=1 T=37 C=16 O=17", "N=2 T=3 C=0 O=4", "N=0 T=1 C=2 O=4"],
        ..Case::NEW
    }
    .check(|given| {
        let [n, t, c, o] = given.dims("N T C O");
        let (x, w, v) = (given.grid("x", [n, t, c]), given.grid("w", [2, c, o]), given.grid("v", [2, c, o]));
        let at = |w: &Grid<3>, [n, t, o]: [usize; 3]| -> f64 {
            let tap = |f: usize, c: usize| w[[f, c, o]] * x.pad([n as isize, t as isize - (1 - f as isize) * 4, c as isize]);
            (0..2 * c).map(|k| tap(k / c, k % c)).sum()
        };
        let y = Grid::new([n, t, o], |index| at(&w, index).tanh() * sigmoid(at(&v, index)));
        vec![("y", y.values)]
    });
}
