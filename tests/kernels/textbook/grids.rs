//! Stencils, and steps of methods that run until they converge.

use super::case::{Case, Grid};

/// Heat in a solid whose border keeps its temperature (Chapra and Canale, *Numerical Methods for Engineers*, part 8).
#[test]
fn seven_points() {
    Case {
        kernel: "fn seven_points<D, H, W>(u: f32[D, H, W], c: f32) -> v: f32[D, H, W] {
            v[z, y, x] = if z > 0 && z < D - 1 && y > 0 && y < H - 1 && x > 0 && x < W - 1 {
                u[z, y, x] + c * (u[z - 1, y, x] + u[z + 1, y, x] + u[z, y - 1, x] + u[z, y + 1, x] + u[z, y, x - 1] + u[z, y, x + 1]
                    - 6.0 * u[z, y, x])
            } else {
                u[z, y, x]
            };
        }",
        schedules: &[
            "{ tile(y: 4, x: 32) => workgroup(y, x); distribute(z => workgroup(z)); distribute(y => thread(y));
               tile(x: 2) => thread(x); unroll(x); }",
            // A column of planes passes through a tile in shared memory.
            "{ tile(z: 4, y: 4, x: 16) => workgroup(z, y, x); distribute(y, x => thread(y, x));
               promote(u => u_s, at: workgroup, to: shared); serial(z); }",
            "where W % 4 == 0 { tile(z: 2, y: 4, x: 32) => workgroup(z, y, x); distribute(y => thread(y)); tile(x: 4) => thread(x);
               vectorize(x, 4); unroll(z); }",
            "{ tile(z: 1, y: 8 peel, x: 16 peel) => workgroup(z, y, x); distribute(y, x => thread(y, x));
               promote(u => u_r, at: thread, to: register); specialize(W % 16 == 0); }",
        ],
        sizes: &["D=1 H=1 W=1", "D=3 H=3 W=3", "D=5 H=7 W=17", "D=2 H=9 W=33", "D=4 H=5 W=36", "D=3 H=8 W=32", "D=0 H=2 W=3"],
        scalars: &[0.1],
        ..Case::NEW
    }
    .check(|given| {
        let [d, h, w] = given.dims("D H W");
        let u = given.grid("u", [d, h, w]);
        let v = Grid::new([d, h, w], |[z, y, x]| {
            let here = u[[z, y, x]];
            if z == 0 || y == 0 || x == 0 || z == d - 1 || y == h - 1 || x == w - 1 {
                return here;
            }
            let around = u[[z - 1, y, x]] + u[[z + 1, y, x]] + u[[z, y - 1, x]] + u[[z, y + 1, x]] + u[[z, y, x - 1]] + u[[z, y, x + 1]];
            here + given.scalars[0] * (around - 6.0 * here)
        });
        vec![("v", v.values)]
    });
}

/// 27 weights that depend on a neighbour's distance: the residual of a multigrid method (NAS Parallel Benchmarks, MG). The grid is
/// a torus.
#[test]
fn weighted_27() {
    Case {
        kernel: "fn weighted<D, H, W>(u: f32[D, H, W], a: f32[4]) -> r: f32[D, H, W] {
            r[z, y, x] = sum(dz in 0..3, dy in 0..3, dx in 0..3) {
                a[(dz - 1).abs() + (dy - 1).abs() + (dx - 1).abs()] * u[(z + dz + D - 1) % D, (y + dy + H - 1) % H, (x + dx + W - 1) % W]
            };
        }",
        schedules: &[
            "{ tile(z: 1, y: 4, x: 16) => workgroup(z, y, x); distribute(y, x => thread(y, x)); unroll(dz, dy, dx); }",
            "where W % 16 == 0, H % 4 == 0 { tile(z: 1, y: 4, x: 16) => workgroup(z, y, x); distribute(y, x => thread(y, x));
               promote(u => u_s[dz, dy, y, dx, x], at: workgroup, to: shared); unroll(dx); }",
            "{ tile(z: 1, y: 1, x: 4) => workgroup(z, y, x); distribute(x => thread(y)); fuse(dz, dy, dx => t);
               tile(t: 8 => t_o); distribute(t => thread(x), by: subgroup); }",
        ],
        sizes: &["D=1 H=1 W=1", "D=3 H=2 W=3", "D=5 H=7 W=17", "D=2 H=8 W=32", "D=0 H=2 W=3"],
        ..Case::NEW
    }
    .check(|given| {
        let [d, h, w] = given.dims("D H W");
        let (u, a) = (given.grid("u", [d, h, w]), given.grid("a", [4]));
        let r = Grid::new([d, h, w], |[z, y, x]| {
            let mut r = 0.0;
            for (dz, dy, dx) in (0..27).map(|n| (n / 9, n / 3 % 3, n % 3)) {
                let far = [dz, dy, dx].iter().filter(|d| **d != 1).count();
                r += a[[far]] * u[[(z + d + dz - 1) % d, (y + h + dy - 1) % h, (x + w + dx - 1) % w]];
            }
            r
        });
        vec![("r", r.values)]
    });
}

/// A step of two reacting and diffusing substances on a torus (Pearson, *Complex patterns in a simple system*, 1993).
#[test]
fn gray_scott() {
    Case {
        kernel: "fn gray_scott<H, W>(u: f32[H, W], v: f32[H, W], feed: f32, kill: f32, dt: f32) -> (un: f32[H, W], vn: f32[H, W]) {
            let lu[i, j]: f32[H, W] = u[(i + H - 1) % H, j] + u[(i + 1) % H, j] + u[i, (j + W - 1) % W] + u[i, (j + 1) % W] - 4.0 * u[i, j];
            let lv[i, j]: f32[H, W] = v[(i + H - 1) % H, j] + v[(i + 1) % H, j] + v[i, (j + W - 1) % W] + v[i, (j + 1) % W] - 4.0 * v[i, j];
            let r[i, j]: f32[H, W] = u[i, j] * v[i, j] * v[i, j];
            un[i, j] = u[i, j] + dt * (0.16 * lu[i, j] - r[i, j] + feed * (1.0 - u[i, j]));
            vn[i, j] = v[i, j] + dt * (0.08 * lv[i, j] + r[i, j] - (feed + kill) * v[i, j]);
        }",
        schedules: &[
            "{ un, vn { tile(i: 4, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x)); } }",
            "{ un { tile(i: 8, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x)); compute_at(lu, thread, to: register); }
               vn { tile(i: 8, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x)); compute_at(lv, workgroup, to: shared); } }",
            "{ root(r, lu, lv); r, lu, lv { fuse(i, j => p); tile(p: 64) => workgroup(x); distribute(p => thread(x)); }
               un, vn { tile(i: 2, j: 32) => workgroup(y, x); distribute(j => thread(x)); unroll(i); } }",
        ],
        sizes: &["H=1 W=1", "H=2 W=3", "H=7 W=17", "H=9 W=33", "H=0 W=5"],
        scalars: &[0.035, 0.065, 0.5],
        ..Case::NEW
    }
    .check(|given| {
        let [h, w] = given.dims("H W");
        let (u, v) = (given.grid("u", [h, w]), given.grid("v", [h, w]));
        let &[feed, kill, dt] = given.scalars else { unreachable!("three scalars") };
        let around = |g: &Grid<2>, [i, j]: [usize; 2]| {
            g[[(i + h - 1) % h, j]] + g[[(i + 1) % h, j]] + g[[i, (j + w - 1) % w]] + g[[i, (j + 1) % w]] - 4.0 * g[[i, j]]
        };
        let reaction = |at: [usize; 2]| u[at] * v[at] * v[at];
        let un = Grid::new([h, w], |at| u[at] + dt * (0.16 * around(&u, at) - reaction(at) + feed * (1.0 - u[at])));
        let vn = Grid::new([h, w], |at| v[at] + dt * (0.08 * around(&v, at) + reaction(at) - (feed + kill) * v[at]));
        vec![("un", un.values), ("vn", vn.values)]
    });
}

/// A step of the optical flow of Horn and Schunck (*Determining optical flow*, 1981), from means of the neighbours and the
/// gradients of two frames.
#[test]
fn horn_schunck() {
    Case {
        kernel: "fn horn_schunck<H, W>(a: f32[H, W], b: f32[H, W], u: f32[H, W], v: f32[H, W], alpha: f32)
        -> (un: f32[H, W], vn: f32[H, W]) {
            const K: f32[3, 3] = [[0.083333336, 0.16666667, 0.083333336], [0.16666667, 0.0, 0.16666667],
                [0.083333336, 0.16666667, 0.083333336]];
            let ix[i, j]: f32[H, W] = 0.25 * (sum(di in 0..2) {
                a.clamp()[i + di, j + 1] - a.clamp()[i + di, j] + b.clamp()[i + di, j + 1] - b.clamp()[i + di, j]
            });
            let iy[i, j]: f32[H, W] = 0.25 * (sum(dj in 0..2) {
                a.clamp()[i + 1, j + dj] - a.clamp()[i, j + dj] + b.clamp()[i + 1, j + dj] - b.clamp()[i, j + dj]
            });
            let it[i, j]: f32[H, W] = 0.25 * (sum(di in 0..2, dj in 0..2) { b.clamp()[i + di, j + dj] - a.clamp()[i + di, j + dj] });
            let um[i, j]: f32[H, W] = sum(di in 0..3, dj in 0..3) { K[di, dj] * u.clamp()[i + di - 1, j + dj - 1] };
            let vm[i, j]: f32[H, W] = sum(di in 0..3, dj in 0..3) { K[di, dj] * v.clamp()[i + di - 1, j + dj - 1] };
            let step[i, j]: f32[H, W] = (ix[i, j] * um[i, j] + iy[i, j] * vm[i, j] + it[i, j])
                / (alpha * alpha + ix[i, j] * ix[i, j] + iy[i, j] * iy[i, j]);
            un[i, j] = um[i, j] - ix[i, j] * step[i, j];
            vn[i, j] = vm[i, j] - iy[i, j] * step[i, j];
        }",
        schedules: &[
            "{ un, vn, ix, iy, it, um, vm { tile(i: 4, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x)); }
               ix { unroll(di); } iy { unroll(dj); } it, um, vm { unroll(di, dj); } }",
            "{ un, vn { tile(i: 4, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x)); }
               um, vm { tile(i: 8, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x)); }
               um { promote(u => u_s, at: workgroup, to: shared); unroll(di, dj); }
               vm { promote(v => v_r, at: thread, to: register); unroll(di, dj); } }",
            "{ root(step); step { tile(i: 4, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x));
                 compute_at(it, thread, to: register); } it { unroll(di, dj); }
               un, vn { fuse(i, j => p); tile(p: 64) => workgroup(x); tile(p: 2) => thread(x); unroll(p); } }",
        ],
        sizes: &["H=1 W=1", "H=2 W=3", "H=7 W=17", "H=9 W=33", "H=3 W=0"],
        scalars: &[0.8],
        ..Case::NEW
    }
    .check(|given| {
        let [h, w] = given.dims("H W");
        let grid = |name| given.grid(name, [h, w]);
        let (a, b, u, v) = (grid("a"), grid("b"), grid("u"), grid("v"));
        let cube = |i: usize, j: usize, s: [f64; 3]| {
            // A derivative is a difference of means over the cube of eight pixels.
            let mut d = 0.0;
            for (t, di, dj) in (0..8).map(|n| (n / 4, n / 2 % 2, n % 2)) {
                let value = if t == 1 { &b } else { &a }.clamp([(i + di) as isize, (j + dj) as isize]);
                let sign = |n: usize, s: f64| if s == 0.0 || n == 1 { 1.0 } else { -1.0 };
                d += sign(t, s[0]) * sign(di, s[1]) * sign(dj, s[2]) * value;
            }
            d / 4.0
        };
        let mean = |g: &Grid<2>, i: usize, j: usize| {
            let at = |di: isize, dj: isize| g.clamp([i as isize + di, j as isize + dj]);
            (at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1)) / 6.0 + (at(-1, -1) + at(-1, 1) + at(1, -1) + at(1, 1)) / 12.0
        };
        let moved = |i: usize, j: usize| {
            let (ix, iy, it) = (cube(i, j, [0.0, 0.0, 1.0]), cube(i, j, [0.0, 1.0, 0.0]), cube(i, j, [1.0, 0.0, 0.0]));
            let (um, vm) = (mean(&u, i, j), mean(&v, i, j));
            let step = (ix * um + iy * vm + it) / (given.scalars[0].powi(2) + ix * ix + iy * iy);
            [um - ix * step, vm - iy * step]
        };
        let part = |n: usize| Grid::new([h, w], |[i, j]| moved(i, j)[n]).values;
        vec![("un", part(0)), ("vn", part(1))]
    });
}
