//! Intermediates whose indices do not begin at 0, against Rust's loops.

use crate::harness::{Fill, Variant, profiles, variant};
use tilewright::{Argument, Tensor};

/// Two filters of rows and columns whose borders are in the ranges: only the first one pads.
const HALOS: &str = "fn k<H, W, R = 2>(x: f32[H, W]) -> y: f32[H, W] {
    let gray[i, j]: f32[-R..H + R, -1..=W] = x.pad(0.0)[i, j] * 2.0 + i as f32;
    let rows[i, j]: f32[-1..=H, W] = gray[i - 1, j - 1] + gray[i, j] + gray[i + 1, j + 1];
    y[i, j] = rows[i - 1, j] - rows[i + 1, j];
}";

/// Returns the result of `HALOS`.
fn halos(x: &[f64], [h, w]: [usize; 2]) -> Vec<f64> {
    let (rows_of_x, columns_of_x) = (h as i64, w as i64);
    let at = |i: i64, j: i64| {
        let inside = (0..rows_of_x).contains(&i) && (0..columns_of_x).contains(&j);
        if inside { x[(i * columns_of_x + j) as usize] } else { 0.0 }
    };
    let gray = |i, j| at(i, j) * 2.0 + i as f64;
    let rows = |i, j| gray(i - 1, j - 1) + gray(i, j) + gray(i + 1, j + 1);
    (0..rows_of_x).flat_map(|i| (0..columns_of_x).map(move |j| rows(i - 1, j) - rows(i + 1, j))).collect()
}

fn compare(made: &Variant, [h, w]: [usize; 2]) {
    let dims = [("H", h as i64), ("W", w as i64)];
    made.check(&dims, &[]);
    for (given, got) in made.results(&dims, &[], &|_| Fill::Small) {
        let wanted = halos(&given["x"], [h, w]);
        assert!(
            got["y"].iter().zip(&wanted).all(|(a, b)| (a - b).abs() <= 1e-4 * b.abs().max(1.0)),
            "{h} x {w}: {got:?} {wanted:?}"
        );
    }
}

#[test]
fn halos_are_in_the_ranges() {
    let tiles = "tile(i: 8, j: 16) => workgroup(y, x);";
    let threads = "distribute(i, j => thread(y, x));";
    let schedules = [
        String::new(),
        format!("root(gray, rows); gray, rows {{ {tiles} {threads} }} {tiles} {threads}"),
        format!(
            "{tiles} compute_at(rows, workgroup, to: shared); compute_at(gray, workgroup, to: shared); {threads}
            gray, rows {{ distribute(i, j => thread(linear, linear)); }}"
        ),
    ];
    for schedule in &schedules {
        for profile in profiles() {
            let made = variant(HALOS, &format!("V: k for p {{ {schedule} }}"), &profile);
            [[1, 1], [3, 5], [17, 40]].into_iter().for_each(|shape| compare(&made, shape));
        }
    }
}

/// A chain of filters, each on a smaller range than the one before.
#[test]
fn ranges_of_families() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] where N >= 1 {
        let s[0][i]: f32[-4..N + 4] = x.clamp()[i];
        for l in 1..=4 { let s[l][i]: f32[l - 4..N + (4 - l)] = 0.5 * s[l - 1][i - 1] + 0.5 * s[l - 1][i + 1]; }
        y[i] = s[4][i];
    }";
    let tiled = "root(s[1..4]); s[1..4] { tile(i: 64) => workgroup(x); distribute(i => thread(x)); }
        tile(i: 64) => workgroup(x); distribute(i => thread(x));";
    for schedule in ["", tiled] {
        for profile in profiles() {
            let made = variant(kernel, &format!("V: k for p {{ {schedule} }}"), &profile);
            for n in [1i64, 63, 200] {
                made.check(&[("N", n)], &[]);
                for (given, got) in made.results(&[("N", n)], &[], &|_| Fill::Small) {
                    let x = |i: i64| given["x"][i.clamp(0, n - 1) as usize];
                    // Four steps of half the sum of both neighbours have binomial weights.
                    let wanted = (0..n).map(|i| (x(i - 4) + 4.0 * x(i - 2) + 6.0 * x(i) + 4.0 * x(i + 2) + x(i + 4)) / 16.0);
                    assert!(got["y"].iter().zip(wanted).all(|(a, b)| (a - b).abs() <= 1e-5), "{n}");
                }
            }
        }
    }
}

/// Data at the ends of 32 bits: their differences to the start of a range wrap.
#[test]
fn data_as_indices_of_ranges() {
    data_in_the_range(-3, 12);
    data_in_the_range(3, 14);
}

/// Checks reads of a stage with a range, whose ends are written as a number and as a sum with the size 9.
fn data_in_the_range(start: i64, end: i64) {
    let (n, rest) = (9i64, end - 9);
    let ends = [i32::MIN, i32::MIN + 2, -2_147_483_640, -4, -3, -2, 0, 8, 11, 12, 13, 2_147_483_640, i32::MAX - 1, i32::MAX];
    let at: Vec<i32> = ends.into_iter().chain(-6..16).collect();
    let value = |i: i64| (i * i + 1) as f32;
    type Wanted<'a> = &'a dyn Fn(i64) -> f32;
    let bodies: [(String, Wanted<'_>); 4] = [
        ("s.clamp()[at[i]]".into(), &|at| value(at.clamp(start, end - 1))),
        ("s.pad(-1.0)[at[i]]".into(), &|at| if (start..end).contains(&at) { value(at) } else { -1.0 }),
        (format!("if at[i] >= {start} && at[i] < N + {rest} {{ s[at[i]] }} else {{ -2.0 }}"), &|at| {
            if (start..end).contains(&at) { value(at) } else { -2.0 }
        }),
        (format!("s[at[i].clamp({start}, N + {rest} - 1)]"), &|at| value(at.clamp(start, end - 1))),
    ];
    for (body, wanted) in bodies {
        let kernel = format!(
            "fn k<M, N>(x: f32[N], at: i32[M]) -> y: f32[M] {{
                let s[i]: f32[{start}..N + {rest}] = i as f32 * i as f32 + 1.0 + 0.0 * x.pad(0.0)[i];
                y[i] = {body};
            }}"
        );
        for (schedule, profile) in ["", "root(s);"].into_iter().flat_map(|schedule| profiles().map(|profile| (schedule, profile))) {
            let made = variant(&kernel, &format!("V: k for p {{ {schedule} }}"), &profile);
            for device in crate::harness::devices() {
                // SAFETY: the compiler made this program.
                let loaded = unsafe { device.load_programs(vec![made.program.clone()]) }.expect("it loads");
                let x = device.upload([n as usize], &[0.5f32; 9]).expect("it fits");
                let positions = device.upload([at.len()], &at).expect("it fits");
                let outputs = loaded.run([Argument::from(&x), Argument::from(&positions)]).expect("it runs");
                let result: Tensor<f32> = outputs.into_iter().next().expect("one output").typed().expect("its dtype");
                let got = result.download().expect("it ends");
                let wrong = at.iter().zip(&got).find(|(at, got)| **got != wanted(i64::from(**at)));
                assert_eq!(wrong.map(|(at, got)| (*at, *got, wanted(i64::from(*at)))), None, "{body} with {schedule:?}");
            }
        }
    }
}
