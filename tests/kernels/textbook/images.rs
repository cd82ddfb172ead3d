//! Image kernels from Szeliski's *Computer Vision: Algorithms and Applications* and Gonzalez and Woods' *Digital Image Processing*.

use super::case::{Case, Grid, least};

/// An image moved by a flow field, interpolated between the four nearest pixels. Past the border, the nearest pixel is used.
#[test]
fn warp() {
    Case {
        kernel: "fn warp<H, W, C>(image: f32[H, W, C], flow: f32[H, W, 2]) -> y: f32[H, W, C] {
            y[i, j, c] = {
                let r = i as f32 + 3.0 * flow[i, j, 0];
                let s = j as f32 + 3.0 * flow[i, j, 1];
                let r0 = r.floor() as i32;
                let s0 = s.floor() as i32;
                let v = r.fract();
                let u = s - s.floor();
                let above = image.clamp()[r0, s0, c] * (1.0 - u) + image.clamp()[r0, s0 + 1, c] * u;
                let below = image.clamp()[r0 + 1, s0, c] * (1.0 - u) + image.clamp()[r0 + 1, s0 + 1, c] * u;
                above * (1.0 - v) + below * v
            };
        }",
        schedules: &[
            "{ tile(i: 4, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x)); serial(c); }",
            "where C == 3 { tile(i: 4, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x));
               promote(flow => f_r, at: thread, to: register); unroll(c); }",
            "where C % 4 == 0 { fuse(i, j => p); tile(p: 32) => workgroup(x); distribute(p => thread(x)); tile(c: 4 => c_o);
               serial(c_o);
               vectorize(c, 4); }",
        ],
        sizes: &["H=1 W=1 C=1", "H=3 W=2 C=3", "H=7 W=17 C=3", "H=5 W=13 C=4", "H=0 W=2 C=3"],
        vague: 20,
        ..Case::NEW
    }
    .check(|given| {
        let [h, w, c] = given.dims("H W C");
        let (image, flow) = (given.grid("image", [h, w, c]), given.grid("flow", [h, w, 2]));
        let y = Grid::new([h, w, c], |[i, j, c]| {
            let (r, s) = (i as f64 + 3.0 * flow[[i, j, 0]], j as f64 + 3.0 * flow[[i, j, 1]]);
            let at = |di: isize, dj: isize| image.clamp([r.floor() as isize + di, s.floor() as isize + dj, c as isize]);
            let (v, u) = (r - r.floor(), s - s.floor());
            (1.0 - v) * ((1.0 - u) * at(0, 0) + u * at(0, 1)) + v * ((1.0 - u) * at(1, 0) + u * at(1, 1))
        });
        vec![("y", y.values)]
    });
}

/// Sobel's gradient, where only maxima along its direction are kept (Canny, *A computational approach to edge detection*, 1986).
#[test]
fn edges() {
    Case {
        kernel: "fn edges<H, W>(x: f32[H, W]) -> e: f32[H, W] {
            let gx[i, j]: f32[H, W] = x.clamp()[i - 1, j + 1] + 2.0 * x.clamp()[i, j + 1] + x.clamp()[i + 1, j + 1]
                - x.clamp()[i - 1, j - 1] - 2.0 * x.clamp()[i, j - 1] - x.clamp()[i + 1, j - 1];
            let gy[i, j]: f32[H, W] = x.clamp()[i + 1, j - 1] + 2.0 * x.clamp()[i + 1, j] + x.clamp()[i + 1, j + 1]
                - x.clamp()[i - 1, j - 1] - 2.0 * x.clamp()[i - 1, j] - x.clamp()[i - 1, j + 1];
            let m[i, j]: f32[H, W] = (gx[i, j] * gx[i, j] + gy[i, j] * gy[i, j]).sqrt();
            e[i, j] = {
                let ax = gx[i, j].abs();
                let ay = gy[i, j].abs();
                let falls = gx[i, j] * gy[i, j] < 0.0;
                let a = if ay < 0.41421357 * ax { m.pad(0.0)[i, j - 1] } else if ax < 0.41421357 * ay { m.pad(0.0)[i - 1, j] }
                    else if falls { m.pad(0.0)[i - 1, j + 1] } else { m.pad(0.0)[i - 1, j - 1] };
                let b = if ay < 0.41421357 * ax { m.pad(0.0)[i, j + 1] } else if ax < 0.41421357 * ay { m.pad(0.0)[i + 1, j] }
                    else if falls { m.pad(0.0)[i + 1, j - 1] } else { m.pad(0.0)[i + 1, j + 1] };
                if m[i, j] >= a && m[i, j] >= b { m[i, j] } else { 0.0 }
            };
        }",
        schedules: &[
            "{ tile(i: 4, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x)); }",
            "{ tile(i: 8, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x)); compute_at(m, workgroup, to: shared);
               compute_at(gx, workgroup, to: shared); compute_at(gy, workgroup, to: shared);
               promote(x => x_s, at: workgroup, to: shared); }",
            "{ root(gx, gy, m); gx, gy, m { tile(i: 1, j: 64) => workgroup(y, x); distribute(j => thread(x)); }
               tile(i: 8, j: 32) => workgroup(y, x); tile(i: 2, j: 2) => thread(y, x);
               promote(m => m_s, at: workgroup, to: shared, row_pad: 1);
               unroll(i, j); }",
        ],
        sizes: &["H=1 W=1", "H=2 W=3", "H=7 W=17", "H=9 W=37", "H=3 W=0"],
        vague: 20,
        ..Case::NEW
    }
    .check(|given| {
        let [h, w] = given.dims("H W");
        let x = given.grid("x", [h, w]);
        let gradient = |[i, j]: [usize; 2]| {
            let at = |di: isize, dj: isize| x.clamp([i as isize + di, j as isize + dj]);
            let along =
                |a: &dyn Fn(isize, isize) -> f64| a(-1, 1) + 2.0 * a(0, 1) + a(1, 1) - a(-1, -1) - 2.0 * a(0, -1) - a(1, -1);
            [along(&at), along(&|u, v| at(v, u))]
        };
        let m = Grid::new([h, w], |at| gradient(at)[0].hypot(gradient(at)[1]));
        let e = Grid::new([h, w], |at| {
            let [gx, gy] = gradient(at);
            let angle = gy.atan2(gx).to_degrees().rem_euclid(180.0);
            let (di, dj) = match angle {
                22.5..67.5 => (1, 1),
                67.5..112.5 => (1, 0),
                112.5..157.5 => (1, -1),
                _ => (0, 1),
            };
            let [i, j] = at.map(|n| n as isize);
            let here = m[at];
            if here >= m.pad([i + di, j + dj]) && here >= m.pad([i - di, j - dj]) { here } else { 0.0 }
        });
        vec![("e", e.values)]
    });
}

/// The bilateral filter (Tomasi and Manduchi, *Bilateral filtering for gray and color images*, 1998).
#[test]
fn bilateral() {
    Case {
        kernel: "fn bilateral<H, W, R = 2>(x: f32[H, W], space: f32, range: f32) -> y: f32[H, W] {
            let weight[i, j]: f32[H, W] = sum(u in -R..=R, v in -R..=R) {
                let d = x.clamp()[i + u, j + v] - x[i, j];
                (-((u * u + v * v) as f32) * space - d * d * range).exp()
            };
            y[i, j] = sum(u in -R..=R, v in -R..=R) {
                let d = x.clamp()[i + u, j + v] - x[i, j];
                (-((u * u + v * v) as f32) * space - d * d * range).exp() * x.clamp()[i + u, j + v]
            } / weight[i, j];
        }",
        schedules: &[
            "{ tile(i: 4, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x)); unroll(v); }",
            "{ tile(i: 8, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x)); compute_at(weight, thread, to: register);
               promote(x => x_s, at: workgroup, to: shared); unroll(u, v); weight { unroll(u, v); } }",
            "{ tile(i: 4, j: 4) => workgroup(y, x); distribute(i, j => thread(z, y)); fuse(u, v => t); tile(t: 8 => t_o);
               distribute(t => thread(x), by: tree);
               weight { tile(j: 64) => workgroup(x); distribute(i => workgroup(y)); distribute(j => thread(x)); unroll(u, v); } }",
        ],
        sizes: &["H=1 W=1", "H=2 W=3", "H=7 W=17", "H=9 W=37", "H=3 W=0"],
        scalars: &[0.2, 1.5],
        ..Case::NEW
    }
    .check(|given| {
        let [h, w] = given.dims("H W");
        let (x, [space, range]) = (given.grid("x", [h, w]), [given.scalars[0], given.scalars[1]]);
        let y = Grid::new([h, w], |[i, j]| {
            let (mut sum, mut weights) = (0.0, 0.0);
            for (u, v) in (0..25).map(|n| (n / 5 - 2, n % 5 - 2)) {
                let there = x.clamp([i as isize + u, j as isize + v]);
                let weight = (-((u * u + v * v) as f64) * space - (there - x[[i, j]]).powi(2) * range).exp();
                weights += weight;
                sum += weight * there;
            }
            sum / weights
        });
        vec![("y", y.values)]
    });
}

/// The slice of a bilateral grid: a read between the cells of a volume, at a depth given by the pixel (Chen, Paris and Durand,
/// *Real-time edge-aware image processing with the bilateral grid*, 2007).
#[test]
fn bilateral_grid() {
    Case {
        kernel: "fn slice<GH, GW, GD, S = 4>(grid: f32[GH, GW, GD], guide: f32[GH * S, GW * S]) -> y: f32[GH * S, GW * S] {
            y[i, j] = {
                let d = guide[i, j].abs() * (GD - 1) as f32;
                let d0 = d.floor() as i32;
                sum(a in 0..2, b in 0..2, k in 0..2) {
                    let wa = if a == 0 { 1.0 - (i % S) as f32 / S as f32 } else { (i % S) as f32 / S as f32 };
                    let wb = if b == 0 { 1.0 - (j % S) as f32 / S as f32 } else { (j % S) as f32 / S as f32 };
                    let wk = if k == 0 { 1.0 - d.fract() } else { d.fract() };
                    wa * wb * wk * grid.clamp()[i / S + a, j / S + b, d0 + k]
                }
            };
        }",
        schedules: &[
            "{ tile(i: 4, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x)); unroll(a, b, k); }",
            "{ tile(i: 4 exact, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x));
               promote(guide, at: thread, to: register); unroll(k); }",
            "{ split(i, [_, 4] exact => bi, i); split(j, [_, 4] exact => bj, j); distribute(bi, bj => workgroup(y, x));
               distribute(i, j => thread(z, y));
               fuse(a, b, k => t); distribute(t => thread(x), by: subgroup); }",
        ],
        sizes: &["GH=1 GW=1 GD=1", "GH=2 GW=3 GD=5", "GH=3 GW=5 GD=8", "GH=0 GW=2 GD=3"],
        vague: 20,
        ..Case::NEW
    }
    .check(|given| {
        let [gh, gw, gd] = given.dims("GH GW GD");
        let (grid, guide) = (given.grid("grid", [gh, gw, gd]), given.grid("guide", [gh * 4, gw * 4]));
        let y = Grid::new([gh * 4, gw * 4], |at| {
            let place = [at[0] as f64 / 4.0, at[1] as f64 / 4.0, guide[at].abs() * (gd as f64 - 1.0)];
            let mut y = 0.0;
            for corner in (0..8).map(|n| [n / 4, n / 2 % 2, n % 2]) {
                let weight = |n: usize| if corner[n] == 0 { 1.0 - place[n].fract() } else { place[n].fract() };
                let index: [isize; 3] = std::array::from_fn(|n| place[n] as isize + corner[n]);
                y += weight(0) * weight(1) * weight(2) * grid.clamp(index);
            }
            y
        });
        vec![("y", y.values)]
    });
}

/// The median of 3 x 3 by a network of minima and maxima (Smith, *Implementing median filters in XC4000E FPGAs*, 1996).
#[test]
fn median() {
    Case {
        kernel: "fn median<H, W>(x: f32[H, W]) -> y: f32[H, W] {
            let low[i, j]: f32[H, W] = x.clamp()[i - 1, j].min(x.clamp()[i, j]).min(x.clamp()[i + 1, j]);
            let high[i, j]: f32[H, W] = x.clamp()[i - 1, j].max(x.clamp()[i, j]).max(x.clamp()[i + 1, j]);
            let mid[i, j]: f32[H, W] = {
                let a = x.clamp()[i - 1, j];
                let b = x.clamp()[i, j];
                let c = x.clamp()[i + 1, j];
                a.min(b).max(a.max(b).min(c))
            };
            y[i, j] = {
                let a = low.clamp()[i, j - 1].max(low[i, j]).max(low.clamp()[i, j + 1]);
                let c = high.clamp()[i, j - 1].min(high[i, j]).min(high.clamp()[i, j + 1]);
                let d = mid.clamp()[i, j - 1];
                let e = mid[i, j];
                let f = mid.clamp()[i, j + 1];
                let b = d.min(e).max(d.max(e).min(f));
                a.min(b).max(a.max(b).min(c))
            };
        }",
        schedules: &[
            "{ tile(i: 4, j: 32) => workgroup(y, x); tile(j: 2) => thread(x); distribute(i => thread(y)); unroll(j); }",
            "{ tile(i: 4, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x)); compute_at(low, workgroup, to: shared);
               compute_at(mid, workgroup, to: shared); compute_at(high, workgroup, to: shared);
               promote(x => x_s, at: workgroup, to: shared); }",
            "where W % 4 == 0 { tile(i: 2, j: 64) => workgroup(y, x); distribute(i => thread(y)); tile(j: 4) => thread(x);
               compute_at(low, thread, to: register); compute_at(mid, thread, to: register); compute_at(high, thread, to: register);
               unroll(j); }",
        ],
        sizes: &["H=1 W=1", "H=2 W=3", "H=7 W=17", "H=9 W=36", "H=3 W=0"],
        ..Case::NEW
    }
    .check(|given| {
        let [h, w] = given.dims("H W");
        let x = given.grid("x", [h, w]);
        let y = Grid::new([h, w], |[i, j]| {
            let mut all: Vec<f64> = (0..9).map(|n| x.clamp([i as isize + n / 3 - 1, j as isize + n % 3 - 1])).collect();
            all.sort_by(f64::total_cmp);
            all[4]
        });
        vec![("y", y.values)]
    });
}

/// The disparity of a stereo pair, which minimizes the sum of absolute differences of 3 x 3 pixels (Scharstein and Szeliski, *A
/// taxonomy of dense stereo algorithms*, 2002).
#[test]
fn disparity() {
    Case {
        kernel: "fn disparity<H, W, D = 5>(left: f32[H, W], right: f32[H, W]) -> best: i32[H, W] {
            let cost[i, j, d]: f32[H, W, D] = sum(u in -1..=1, v in -1..=1) {
                (left.clamp()[i + u, j + v] - right.clamp()[i + u, j + v - d]).abs()
            };
            best[i, j] = argmin(d in 0..D) { cost[i, j, d] };
        }",
        schedules: &[
            "{ tile(i: 4, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x)); unroll(d);
               cost { tile(i: 4, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x)); unroll(d, u, v); } }",
            "{ tile(i: 4, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x)); compute_at(cost, thread, to: register);
               cost { unroll(d, u, v); } promote(right => right_s, at: workgroup, to: shared);
               promote(left => left_s, at: workgroup, to: shared); unroll(d); }",
            "{ tile(i: 1, j: 8) => workgroup(y, x); distribute(j => thread(y)); tile(d: 8 guard => d_o);
               distribute(d => thread(x), by: subgroup);
               cost { fuse(i, j => p); tile(p: 16) => workgroup(x); distribute(p, d => thread(x, y)); } }",
        ],
        sizes: &["H=1 W=1", "H=2 W=3", "H=7 W=17", "H=5 W=33", "H=3 W=0"],
        ..Case::NEW
    }
    .check(|given| {
        let [h, w] = given.dims("H W");
        let (left, right) = (given.grid("left", [h, w]), given.grid("right", [h, w]));
        let best = Grid::new([h, w], |[i, j]| {
            let cost = |d: isize| -> f64 {
                let at = |n: isize| [i as isize + n / 3 - 1, j as isize + n % 3 - 1];
                (0..9).map(|n| (left.clamp(at(n)) - right.clamp([at(n)[0], at(n)[1] - d])).abs()).sum()
            };
            least((0..5).map(cost))
        });
        vec![("best", best.values)]
    });
}

/// Channels to pixels (Shi and others, *Real-time single image and video super-resolution*, 2016), and back again.
#[test]
fn pixel_shuffle() {
    Case {
        kernel: "fn shuffle<H, W, C, R = 2>(x: f32[H, W, C * R * R]) -> (y: f32[H * R, W * R, C], z: f32[H, W, C * R * R]) {
            y[i, j, c] = x[i / R, j / R, c * R * R + i % R * R + j % R];
            z[i, j, c] = y[i * R + c / R % R, j * R + c % R, c / (R * R)];
        }",
        schedules: &[
            "{ y { tile(i: 4, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x)); serial(c); }
               z { fuse(i, j, c => p); tile(p: 64) => workgroup(x); distribute(p => thread(x)); } }",
            "where C == 3 { y { split(i, [_, 2] exact => bi, i); split(j, [_, 16, 2] => bj, tj, j);
               distribute(bi, bj => workgroup(y, x));
                 distribute(tj => thread(x)); reorder(i, j, c); unroll(i, j, c); promote(x => x_r, at: thread, to: register); }
               z { tile(i: 2, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x)); unroll(c);
               promote(y => y_s, at: workgroup, to: shared); } }",
            "where C % 4 == 0 { y { fuse(i, j => p); tile(p: 16, c: 16) => workgroup(y, x); distribute(p => thread(y));
               tile(c: 4) => thread(x);
                 vectorize(c, 4); }
               z { fuse(i, j => p); tile(p: 4, c: 16) => workgroup(y, x); distribute(p => thread(y)); tile(c: 4) => thread(x);
               vectorize(c, 4); } }",
        ],
        sizes: &["H=1 W=1 C=1", "H=2 W=3 C=3", "H=5 W=17 C=3", "H=3 W=7 C=8", "H=2 W=0 C=3"],
        ..Case::NEW
    }
    .check(|given| {
        let [h, w, c] = given.dims("H W C");
        let x = given.grid("x", [h, w, 4 * c]);
        let y = Grid::new([2 * h, 2 * w, c], |[i, j, c]| x[[i / 2, j / 2, 4 * c + 2 * (i % 2) + j % 2]]);
        vec![("y", y.values), ("z", x.values)]
    });
}
