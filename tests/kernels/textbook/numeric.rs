//! Numerical kernels from Golub and Van Loan's *Matrix Computations*, Press and others' *Numerical Recipes*, Hull's *Options,
//! Futures, and Other Derivatives*, and Oppenheim and Schafer's *Discrete-Time Signal Processing*.

use super::case::{Case, Grid};
use crate::harness::Fill;

/// European options (Black and Scholes, *The pricing of options and corporate liabilities*, 1973): prices of calls and puts, and delta.
#[test]
fn black_scholes() {
    Case {
        kernel: "fn options<N>(spot: f32[N], strike: f32[N], years: f32[N], rate: f32, sigma: f32)
        -> (call: f32[N], put: f32[N], delta: f32[N]) {
            let d1[i]: f32[N] = ((spot[i] / strike[i]).ln() + (rate + 0.5 * sigma * sigma) * years[i]) / (sigma * years[i].sqrt());
            let d2[i]: f32[N] = d1[i] - sigma * years[i].sqrt();
            let n1[i]: f32[N] = 0.5 * (1.0 + (d1[i] * f32::consts::FRAC_1_SQRT_2).erf());
            let n2[i]: f32[N] = 0.5 * (1.0 + (d2[i] * f32::consts::FRAC_1_SQRT_2).erf());
            let later[i]: f32[N] = strike[i] * (-rate * years[i]).exp();
            call[i] = spot[i] * n1[i] - later[i] * n2[i];
            put[i] = later[i] * (1.0 - n2[i]) - spot[i] * (1.0 - n1[i]);
            delta[i] = n1[i];
        }",
        schedules: &[
            "{ call, put, delta { tile(i: 64) => workgroup(x); distribute(i => thread(x)); } }",
            "where N % 4 == 0 { call, put, delta { tile(i: 128) => workgroup(x); tile(i: 4) => thread(x); vectorize(i, 4); } }",
            "{ root(n1, n2); n1, n2 { tile(i: 64 peel) => workgroup(x); tile(i: 2) => thread(x); unroll(i); }
               call, put, delta { tile(i: 64) => workgroup(x); distribute(i => thread(x)); } }",
        ],
        sizes: &["N=1", "N=3", "N=64", "N=131", "N=0"],
        scalars: &[0.03, 0.3],
        fill: &[("spot", Fill::Positive), ("strike", Fill::Positive), ("years", Fill::Positive)],
        ..Case::NEW
    }
    .check(|given| {
        let [n] = given.dims("N");
        let (spot, strike, years) = (given.grid("spot", [n]), given.grid("strike", [n]), given.grid("years", [n]));
        let (rate, sigma) = (given.scalars[0], given.scalars[1]);
        // By Simpson's rule from 0, with 400 intervals.
        let normal = |x: f64| {
            let weight = |n: usize| if n.is_multiple_of(400) { 1.0 } else { 2.0 + 2.0 * (n % 2) as f64 };
            let f = |n: usize| weight(n) * (-0.5 * (x * n as f64 / 400.0).powi(2)).exp();
            0.5 + (0..=400).map(f).sum::<f64>() * x / 1200.0 / (2.0 * std::f64::consts::PI).sqrt()
        };
        let of = |i: usize| {
            let (s, k, t) = (spot[[i]], strike[[i]], years[[i]]);
            let d1 = ((s / k).ln() + (rate + sigma * sigma / 2.0) * t) / (sigma * t.sqrt());
            let (n1, n2, later) = (normal(d1), normal(d1 - sigma * t.sqrt()), k * (-rate * t).exp());
            let call = s * n1 - later * n2;
            // The put price follows from put-call parity.
            [call, call - s + later, n1]
        };
        let part = |part: usize| (0..n).map(|i| of(i)[part]).collect();
        vec![("call", part(0)), ("put", part(1)), ("delta", part(2))]
    });
}

/// A bank of filters over one signal, where each output keeps every `S`-th sample.
#[test]
fn filter_bank() {
    Case {
        kernel: "fn bank<F, N, T, S = 3, M = (N - T) / S + 1>(x: f32[N], h: f32[F, T]) -> y: f32[F, M] where T >= 1, N >= T {
            y[f, n] = sum(t in 0..T) { h[f, t] * x[n * S + T - 1 - t] };
        }",
        schedules: &[
            "{ tile(f: 4, n: 32) => workgroup(y, x); distribute(f => thread(y)); tile(n: 2) => thread(x); tile(t: 4 => t_o);
               reorder(t_o, t, n); unroll(t, n); }",
            "where T <= 32 { tile(f: 8, n: 16) => workgroup(y, x); distribute(f, n => thread(y, x));
               promote(x => x_s, at: workgroup, to: shared);
               promote(h => h_s, at: workgroup, to: shared, row_pad: 1); }",
            "{ tile(f: 1, n: 4) => workgroup(y, x); distribute(n => thread(y)); tile(t: 8 => t_o);
               distribute(t => thread(x), by: subgroup); }",
            "{ tile(t: 8 => t_o); rfactor(t_o => part); part { distribute(t_o => workgroup(z)); tile(f: 4, n: 16) => workgroup(y, x);
               distribute(f, n => thread(y, x));
                 promote(h => h_s, at: workgroup, to: shared); unroll(t); }
               tile(f: 4, n: 16) => workgroup(y, x); distribute(f, n => thread(y, x)); }",
        ],
        sizes: &["F=1 N=1 T=1", "F=3 N=11 T=5", "F=5 N=131 T=17", "F=9 N=200 T=31", "F=2 N=7 T=7", "F=0 N=3 T=2"],
        ..Case::NEW
    }
    .check(|given| {
        let [f, n, t] = given.dims("F N T");
        let (x, h) = (given.grid("x", [n]), given.grid("h", [f, t]));
        let y = Grid::new([f, (n - t) / 3 + 1], |[f, m]| (0..t).map(|k| h[[f, k]] * x[[m * 3 + t - 1 - k]]).sum());
        vec![("y", y.values)]
    });
}

/// A Householder reflection, applied to the rows of many matrices: `A - tau v (v^T A)`, where the first element of `v` is 1.
#[test]
fn householder() {
    Case {
        kernel: "fn householder<B, M, N>(a: f32[B, M, N], v: f32[B, M], tau: f32[B]) -> y: f32[B, M, N] {
            let u[b, i]: f32[B, M] = if i == 0 { 1.0 } else { v[b, i] };
            let w[b, j]: f32[B, N] = tau[b] * sum(i in 0..M) { u[b, i] * a[b, i, j] };
            y[b, i, j] = a[b, i, j] - u[b, i] * w[b, j];
        }",
        schedules: &[
            "{ w { tile(b: 1, j: 32) => workgroup(y, x); distribute(j => thread(x)); tile(i: 4 => i_o); unroll(i); }
               distribute(b => workgroup(z)); tile(i: 4, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x)); }",
            "{ w { distribute(b => workgroup(y)); tile(j: 8) => workgroup(x); distribute(j => thread(x)); tile(i: 8 => i_o);
               distribute(i => thread(y), by: tree); }
               fuse(b, i, j => p); tile(p: 64) => workgroup(x); distribute(p => thread(x)); }",
            "{ root(u); w { tile(i: 8 => i_o); rfactor(i_o => part); distribute(b => workgroup(y)); tile(j: 32) => workgroup(x);
               distribute(j => thread(x)); }
               part { distribute(b, i_o => workgroup(z, y)); tile(j: 32) => workgroup(x); distribute(j => thread(x));
               promote(u => u_s, at: workgroup, to: shared); unroll(i); }
               distribute(b => workgroup(z)); tile(i: 4, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x));
               promote(w => w_s, at: workgroup, to: shared); }",
        ],
        sizes: &["B=1 M=1 N=1", "B=2 M=3 N=5", "B=3 M=17 N=19", "B=1 M=9 N=67", "B=0 M=2 N=2", "B=1 M=0 N=3"],
        ..Case::NEW
    }
    .check(|given| {
        let [b, m, n] = given.dims("B M N");
        let (a, v, tau) = (given.grid("a", [b, m, n]), given.grid("v", [b, m]), given.grid("tau", [b]));
        let u = |b: usize, i: usize| if i == 0 { 1.0 } else { v[[b, i]] };
        let reflected = Grid::new([b, m, n], |[b, i, j]| {
            a[[b, i, j]] - (0..m).map(|k| tau[[b]] * u(b, i) * u(b, k) * a[[b, k, j]]).sum::<f64>()
        });
        vec![("y", reflected.values)]
    });
}

/// The residuals of many tridiagonal systems, and the largest residual of each.
#[test]
fn tridiagonal() {
    Case {
        kernel: "fn residual<B, N>(low: f32[B, N - 1], mid: f32[B, N], high: f32[B, N - 1], x: f32[B, N], d: f32[B, N])
        -> (r: f32[B, N], most: f32[B]) where N >= 1 {
            r[b, i] = d[b, i] - mid[b, i] * x[b, i] - (if i > 0 { low[b, i - 1] * x[b, i - 1] } else { 0.0 })
                - (if i < N - 1 { high[b, i] * x[b, i + 1] } else { 0.0 });
            most[b] = max(i in 0..N) { r[b, i].abs() };
        }",
        schedules: &[
            "{ r { tile(b: 4, i: 32) => workgroup(y, x); distribute(b, i => thread(y, x)); } most { tile(b: 64) => workgroup(x);
               distribute(b => thread(x)); } }",
            "{ r { tile(b: 1, i: 64) => workgroup(y, x); distribute(i => thread(x)); promote(x => x_s, at: workgroup, to: shared); }
               most { tile(b: 1) => workgroup(x); tile(i: 32 => i_o); distribute(i => thread(x), by: tree); } }",
            "where N >= 4 { r { tile(b: 64) => workgroup(x); distribute(b => thread(x)); tile(i: 4 shift => i_o); serial(i_o);
               unroll(i); }
               most { tile(b: 1) => workgroup(x); tile(i: 16 => i_o); distribute(i => thread(x), by: subgroup); } }",
        ],
        sizes: &["B=1 N=1", "B=2 N=3", "B=3 N=67", "B=5 N=32", "B=0 N=33"],
        ..Case::NEW
    }
    .check(|given| {
        let [b, n] = given.dims("B N");
        let grid = |name, n| given.grid(name, [b, n]);
        let (low, mid, high, x, d) = (grid("low", n - 1), grid("mid", n), grid("high", n - 1), grid("x", n), grid("d", n));
        let r = Grid::new([b, n], |[b, i]| {
            let before = if i > 0 { low[[b, i - 1]] * x[[b, i - 1]] } else { 0.0 };
            let after = if i + 1 < n { high[[b, i]] * x[[b, i + 1]] } else { 0.0 };
            d[[b, i]] - before - mid[[b, i]] * x[[b, i]] - after
        });
        let most = (0..b).map(|b| (0..n).map(|i| r[[b, i]].abs()).fold(f64::NEG_INFINITY, f64::max)).collect();
        vec![("r", r.values), ("most", most)]
    });
}

/// Accelerations of particles with a softened potential, and a step of leapfrog (Aarseth, *Gravitational N-Body Simulations*).
#[test]
fn particles() {
    Case {
        kernel: "fn nbody<N>(p: f32[N, 4], v: f32[N, 3], eps: f32, dt: f32) -> (q: f32[N, 3], w: f32[N, 3]) {
            let a[i, c]: f32[N, 3] = sum(j in 0..N) {
                let dx = p[j, 0] - p[i, 0];
                let dy = p[j, 1] - p[i, 1];
                let dz = p[j, 2] - p[i, 2];
                let r = (dx * dx + dy * dy + dz * dz + eps * eps).rsqrt();
                p[j, 3] * (p[j, c] - p[i, c]) * r * r * r
            };
            q[i, c] = p[i, c] + dt * (v[i, c] + dt * a[i, c]);
            w[i, c] = v[i, c] + dt * a[i, c];
        }",
        schedules: &[
            "{ a { tile(i: 64) => workgroup(x); distribute(i => thread(x)); reorder(j, c); unroll(c); }
               q, w { tile(i: 32) => workgroup(x); distribute(i, c => thread(x, y)); } }",
            "{ a { tile(i: 32) => workgroup(x); distribute(i => thread(x)); tile(j: 32 => j_o); reorder(j_o, j, c); unroll(c);
                 promote(p => p_s[j, *], at: j_o, to: shared); promote(p => p_i[*], at: thread, to: register);
                 promote(p_s => p_j[*], at: j, to: register); }
               q, w { fuse(i, c => t); tile(t: 64) => workgroup(x); distribute(t => thread(x)); } }",
            "{ a { tile(i: 4) => workgroup(x); distribute(i => thread(y)); reorder(j, c); tile(j: 8 => j_o);
               distribute(j => thread(x), by: subgroup); unroll(c); }
               q, w { tile(i: 32) => workgroup(x); distribute(i, c => thread(x, y)); } }",
        ],
        sizes: &["N=1", "N=2", "N=37", "N=67", "N=0"],
        scalars: &[0.1, 0.01],
        ..Case::NEW
    }
    .check(|given| {
        let [n] = given.dims("N");
        let (p, v, eps, dt) = (given.grid("p", [n, 4]), given.grid("v", [n, 3]), given.scalars[0], given.scalars[1]);
        let pull = |i: usize, j: usize, c: usize| {
            let r2 = eps * eps + (0..3).map(|c| (p[[j, c]] - p[[i, c]]).powi(2)).sum::<f64>();
            p[[j, 3]] * (p[[j, c]] - p[[i, c]]) / (r2 * r2.sqrt())
        };
        let faster = Grid::new([n, 3], |[i, c]| v[[i, c]] + dt * (0..n).map(|j| pull(i, j, c)).sum::<f64>());
        let q = Grid::new([n, 3], |[i, c]| p[[i, c]] + dt * faster[[i, c]]);
        vec![("q", q.values), ("w", faster.values)]
    });
}

/// The DCT of blocks of 8 x 8, followed by quantization (Wallace, *The JPEG still picture compression standard*, 1991).
#[test]
fn dct_of_blocks() {
    Case {
        kernel: "fn dct<BH, BW>(x: f32[8 * BH, 8 * BW], q: f32[8, 8]) -> y: f32[8 * BH, 8 * BW] {
            let row[i, j]: f32[8 * BH, 8 * BW] = sum(k in 0..8) {
                let norm = if j % 8 == 0 { 0.35355339 } else { 0.5 };
                norm * (((2 * k + 1) * (j % 8)) as f32 * f32::consts::PI / 16.0).cos() * x[i, j / 8 * 8 + k]
            };
            let both[i, j]: f32[8 * BH, 8 * BW] = sum(k in 0..8) {
                let norm = if i % 8 == 0 { 0.35355339 } else { 0.5 };
                norm * (((2 * k + 1) * (i % 8)) as f32 * f32::consts::PI / 16.0).cos() * row[i / 8 * 8 + k, j]
            };
            y[i, j] = (both[i, j] / q[i % 8, j % 8]).round() * q[i % 8, j % 8];
        }",
        schedules: &[
            "{ row, both { tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x)); unroll(k); }
               tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x)); }",
            "{ tile(i: 8 exact, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x));
               compute_at(row, workgroup, to: shared, row_pad: 1);
               compute_at(both, workgroup, to: shared); row, both { distribute(i, j => thread(y, x)); unroll(k);
               } promote(x => x_s, at: workgroup, to: shared); }",
            "{ tile(j: 32) => workgroup(x); distribute(j => thread(x)); split(i, [_, 8] exact => b, i);
               distribute(b => workgroup(y)); unroll(i);
               compute_at(row, thread, to: register); compute_at(both, thread, to: register); row, both { reorder(k, i);
               unroll(k, i); } }",
        ],
        sizes: &["BH=1 BW=1", "BH=3 BW=5", "BH=2 BW=3", "BH=0 BW=2"],
        fill: &[("q", Fill::Positive)],
        vague: 10,
        near: 3.0,
        ..Case::NEW
    }
    .check(|given| {
        let [bh, bw] = given.dims("BH BW");
        let (x, q) = (given.grid("x", [8 * bh, 8 * bw]), given.grid("q", [8, 8]));
        let basis = |f: usize, k: usize| {
            let norm = if f == 0 { (1f64 / 8.0).sqrt() } else { 0.5 };
            norm * ((2 * k + 1) as f64 * f as f64 * std::f64::consts::PI / 16.0).cos()
        };
        let y = Grid::new([8 * bh, 8 * bw], |[i, j]| {
            let pixel = |k: usize, l: usize| basis(i % 8, k) * basis(j % 8, l) * x[[i / 8 * 8 + k, j / 8 * 8 + l]];
            let sum: f64 = (0..64).map(|n| pixel(n / 8, n % 8)).sum();
            (sum / q[[i % 8, j % 8]]).round() * q[[i % 8, j % 8]]
        });
        vec![("y", y.values)]
    });
}

/// Otsu's threshold among `K` levels, without a histogram: the level for which the two sides differ most (*A threshold selection
/// method from gray-level histograms*, 1979). The differences are rounded, because several levels may have the same one, and then the first of
/// them counts on every device.
#[test]
fn otsu() {
    Case {
        kernel: "fn otsu<H, W, K = 15>(x: i32[H, W]) -> (level: i32[], spread: f32[K]) {
            let below[k]: i32[K] = sum(i in 0..H, j in 0..W) { (x[i, j] <= k) as i32 };
            let light[k]: i32[K] = sum(i in 0..H, j in 0..W) { if x[i, j] <= k { x[i, j] } else { 0 } };
            let all[]: i32[] = sum(i in 0..H, j in 0..W) { x[i, j] };
            spread[k] = {
                let n = (H * W) as f32;
                let w = below[k] as f32 / n;
                let m = all[] as f32 / n;
                let d = m * w - light[k] as f32 / n;
                if below[k] > 0 && below[k] < H * W { d * d / (w * (1.0 - w)) } else { 0.0 }
            };
            level[] = argmax(k in 0..K) { (spread[k] * 64.0).round() };
        }",
        schedules: &[
            "{ below, light { tile(k: 16 guard) => workgroup(x); distribute(k => thread(x)); tile(j: 4 => j_o); unroll(j);
               } spread { distribute(k => thread(x)); } level { unroll(k); }
               all { fuse(i, j => p); tile(p: 64 => p_o); distribute(p => thread(x), by: tree); } }",
            "{ below, light { fuse(i, j => p); tile(p: 64 => p_o); distribute(p_o => workgroup(y), by: atomic);
               tile(k: 4) => workgroup(x); distribute(k => thread(x)); }
               all { fuse(i, j => p); tile(p: 128 => p_o); distribute(p => thread(x), by: subgroup);
               } level { distribute(k => thread(x), by: tree); } }",
            "{ below, light { fuse(i, j => p); tile(p: 32 => p_o); rfactor(p_o => part); tile(k: 16 guard) => workgroup(x);
               distribute(k => thread(x)); }
               part { distribute(p_o => workgroup(y)); distribute(k => thread(y)); tile(p: 8 => p_i);
               distribute(p => thread(x), by: subgroup); }
               all { tile(i: 4 => i_o); rfactor(i_o => rows); } rows { distribute(i_o => workgroup(x)); tile(j: 16 => j_o);
               distribute(j => thread(x), by: tree); } }",
        ],
        sizes: &["H=1 W=1", "H=2 W=3", "H=17 W=13", "H=0 W=3"],
        fill: &[("x", Fill::Below(16))],
        ..Case::NEW
    }
    .check(|given| {
        let [h, w] = given.dims("H W");
        let x = given.grid("x", [h, w]).values;
        let spread = |k: usize| {
            let (dark, light): (Vec<f64>, Vec<f64>) = x.iter().partition(|x| **x <= k as f64);
            if dark.is_empty() || light.is_empty() {
                return 0.0;
            }
            let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
            let weight = (dark.len() * light.len()) as f64 / (x.len() * x.len()) as f64;
            weight * (mean(&dark) - mean(&light)).powi(2)
        };
        vec![("spread", (0..15).map(spread).collect())]
    });
}

/// The number of the first 4 steps of Mandelbrot's iteration at which a point stays within 2. The steps are unrolled by hand.
#[test]
fn mandelbrot() {
    Case {
        kernel: "fn mandelbrot(h: dim, w: dim, left: f32, top: f32, step: f32) -> y: i32[h, w] {
            let a1[i, j]: f32[h, w] = left + j as f32 * step;
            let b1[i, j]: f32[h, w] = top - i as f32 * step;
            let a2[i, j]: f32[h, w] = a1[i, j] * a1[i, j] - b1[i, j] * b1[i, j] + a1[i, j];
            let b2[i, j]: f32[h, w] = 2.0 * a1[i, j] * b1[i, j] + b1[i, j];
            let a3[i, j]: f32[h, w] = a2[i, j] * a2[i, j] - b2[i, j] * b2[i, j] + a1[i, j];
            let b3[i, j]: f32[h, w] = 2.0 * a2[i, j] * b2[i, j] + b1[i, j];
            let a4[i, j]: f32[h, w] = a3[i, j] * a3[i, j] - b3[i, j] * b3[i, j] + a1[i, j];
            let b4[i, j]: f32[h, w] = 2.0 * a3[i, j] * b3[i, j] + b1[i, j];
            y[i, j] = (a1[i, j].powi(2) + b1[i, j].powi(2) <= 4.0) as i32 + (a2[i, j].powi(2) + b2[i, j].powi(2) <= 4.0) as i32
                + (a3[i, j].powi(2) + b3[i, j].powi(2) <= 4.0) as i32 + (a4[i, j].powi(2) + b4[i, j].powi(2) <= 4.0) as i32;
        }",
        schedules: &[
            "{ tile(i: 8, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x)); }",
            "{ tile(i: 4, j: 64) => workgroup(y, x); distribute(i => thread(y)); tile(j: 4) => thread(x);
               vectorize(j, 4, unaligned: scalar); }",
            "{ root(a3, b3); a3, b3 { fuse(i, j => p); tile(p: 64) => workgroup(x); distribute(p => thread(x)); }
               tile(i: 2, j: 32) => workgroup(y, x); distribute(j => thread(x)); unroll(i); }",
        ],
        sizes: &["h=1 w=1", "h=3 w=5", "h=7 w=37", "h=5 w=64", "h=0 w=3"],
        scalars: &[-2.0, 1.25, 0.0625],
        vague: 20,
        ..Case::NEW
    }
    .check(|given| {
        let [h, w] = given.dims("h w");
        let y = Grid::new([h, w], |[i, j]| {
            let c = [given.scalars[0] + j as f64 * given.scalars[2], given.scalars[1] - i as f64 * given.scalars[2]];
            let next = |z: &[f64; 2]| Some([z[0] * z[0] - z[1] * z[1] + c[0], 2.0 * z[0] * z[1] + c[1]]);
            std::iter::successors(Some(c), next).take(4).filter(|z| z[0] * z[0] + z[1] * z[1] <= 4.0).count() as f64
        });
        vec![("y", y.values)]
    });
}
