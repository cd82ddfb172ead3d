//! Families of stages: pyramids and chains, against Rust's loops.

use crate::harness::{Fill, Variant, profiles, variant};

/// A pyramid of means, expanded again: each level adds what its coarser neighbour lost.
const PYRAMID: &str = "fn k<H, W>(x: f32[H, W]) -> y: f32[H, W] where H >= 8, W >= 8 {
    let down[0][i, j]: f32[H, W] = x[i, j];
    for l in 1..4 {
        let down[l][i, j]: f32[H >> l, W >> l] = {
            let at = |di, dj| down[l - 1][2 * i + di, 2 * j + dj];
            (at(0, 0) + at(0, 1) + at(1, 0) + at(1, 1)) / 4.0
        };
    }
    let up[3][i, j]: f32[H >> 3, W >> 3] = down[3][i, j];
    for n in 0..3 {
        let up[2 - n][i, j]: f32[H >> (2 - n), W >> (2 - n)] =
            up[3 - n].clamp()[i / 2, j / 2] + 0.5 * (down[2 - n][i, j] - down[3 - n].clamp()[i / 2, j / 2]);
    }
    y[i, j] = up[0][i, j];
}";

/// An image and its shape.
#[derive(Clone)]
struct Image(Vec<f64>, [usize; 2]);

impl Image {
    fn of(shape: [usize; 2], value: impl Fn(usize, usize) -> f64) -> Image {
        let [rows, columns] = shape;
        Image((0..rows * columns).map(|e| value(e / columns, e % columns)).collect(), shape)
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        let Image(values, [rows, columns]) = self;
        values[i.min(rows - 1) * columns + j.min(columns - 1)]
    }
}

/// Returns the result of `PYRAMID`.
fn pyramid(x: &Image) -> Image {
    let mut down = vec![x.clone()];
    for l in 1..4 {
        let finer = &down[l - 1];
        let mean = |i, j| {
            (finer.at(2 * i, 2 * j) + finer.at(2 * i, 2 * j + 1) + finer.at(2 * i + 1, 2 * j) + finer.at(2 * i + 1, 2 * j + 1))
                / 4.0
        };
        down.push(Image::of(x.1.map(|size| size >> l), mean));
    }
    (0..3).rev().fold(down[3].clone(), |coarser, l| {
        let value = |i, j| coarser.at(i / 2, j / 2) + 0.5 * (down[l].at(i, j) - down[l + 1].at(i / 2, j / 2));
        Image::of(down[l].1, value)
    })
}

fn compare(made: &Variant, [rows, columns]: [usize; 2]) {
    let dims = [("H", rows as i64), ("W", columns as i64)];
    made.check(&dims, &[]);
    for (given, got) in made.results(&dims, &[], &|_| Fill::Small) {
        let wanted = pyramid(&Image(given["x"].clone(), [rows, columns]));
        assert!(got["y"].iter().zip(&wanted.0).all(|(a, b)| (a - b).abs() <= 1e-5 * b.abs().max(1.0)), "{rows} x {columns}");
    }
}

#[test]
fn pyramids() {
    let stored = "down[1..], up[..] { tile(i: 4, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x)); }
        tile(i: 4, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x));";
    for schedule in [String::new(), format!("root(down[1..], up[..]); {stored}")] {
        for profile in profiles() {
            let made = variant(PYRAMID, &format!("V: k for p {{ {schedule} }}"), &profile);
            [[8, 8], [9, 23], [40, 33]].into_iter().for_each(|shape| compare(&made, shape));
        }
    }
}

/// A chain of filters that look further with each step. The last but one is computed in the tiles of its reader.
#[test]
fn chains_in_tiles() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] where N >= 1 {
        let s[0][i]: f32[N] = x[i];
        for l in 1..=4 { let s[l][i]: f32[N] = 0.5 * s[l - 1][i] + 0.5 * s[l - 1].clamp()[i - (1 << l)]; }
        y[i] = s[4][i];
    }";
    let schedule = "V: k for p {
        root(s[1..3]);
        inline(s[0], s[4]);
        s[1..3] { tile(i: 64) => workgroup(x); distribute(i => thread(x)); }
        tile(i: 64) => workgroup(x);
        compute_at(s[3], workgroup, to: shared);
        distribute(i => thread(x));
        s[3] { distribute(i => thread(linear)); }
    }";
    for profile in profiles() {
        let made = variant(kernel, schedule, &profile);
        for n in [1usize, 63, 200] {
            made.check(&[("N", n as i64)], &[]);
            for (given, got) in made.results(&[("N", n as i64)], &[], &|_| Fill::Small) {
                let chained = (1..=4).fold(given["x"].clone(), |s: Vec<f64>, l| {
                    (0..n).map(|i| 0.5 * s[i] + 0.5 * s[i.saturating_sub(1 << l)]).collect()
                });
                assert!(got["y"].iter().zip(&chained).all(|(a, b)| (a - b).abs() <= 1e-5), "{n}");
            }
        }
    }
}
