//! Tests the kernels of `docs/instead.md` against plain loops.

use crate::harness::{Fill, variant};
use std::collections::HashMap;
use tilewright_dsl::profile::Profile;
use tilewright_tests::root;

/// The inputs or results of a launch, by name.
type Tensors = HashMap<String, Vec<f64>>;

/// Runs a kernel of the page under its default schedule, or the page's schedule, and passes each device's results to `check`.
fn each(kernel: &str, schedule: &str, dims: &[(&str, i64)], scalars: &[f64], fill: Fill, check: impl Fn(&Tensors, &Tensors)) {
    let page = std::fs::read_to_string(root().join("docs/instead.md")).expect("the page");
    let from = page.find(&format!("    pub fn {kernel}<")).unwrap_or_else(|| panic!("no kernel `{kernel}` on the page"));
    let text = &page[from..from + page[from..].find("\n    }\n").expect("its end") + 6];
    let schedule = match schedule {
        "" => format!("V: {kernel} for p {{}}"),
        name => {
            let from = page.find(&format!("    pub {name}: ")).expect("the schedule");
            page[from..from + page[from..].find("\n    }\n").expect("its end") + 6].to_owned()
        }
    };
    let profile = schedule.split_once(" for ").and_then(|(_, rest)| Profile::bundled(rest.split_whitespace().next()?));
    let made = variant(text, &schedule, &profile.unwrap_or_else(Profile::vulkan_1_1));
    made.check_filled(dims, scalars, &|_| fill);
    made.results(dims, scalars, &|_| fill).iter().for_each(|(given, results)| check(given, results));
}

fn near(got: &[f64], wanted: impl IntoIterator<Item = f64>) {
    let wanted: Vec<f64> = wanted.into_iter().collect();
    assert_eq!(got.len(), wanted.len());
    let wrong = got.iter().zip(&wanted).position(|(a, b)| (a - b).abs() > 1e-4 * b.abs().max(1.0));
    assert!(wrong.is_none(), "at {wrong:?}: {got:?}, not {wanted:?}");
}

fn prefix(x: &[f64]) -> impl Iterator<Item = f64> {
    x.iter().scan(0.0, |sum, x| {
        *sum += x;
        Some(*sum)
    })
}

#[test]
fn scans() {
    for (r, n) in [(1, 1), (3, 70), (0, 5), (2, 0)] {
        each("prefix", "", &[("R", r), ("N", n)], &[], Fill::Small, |given, got| {
            near(&got["y"], given["x"].chunks(n.max(1) as usize).flat_map(prefix));
        });
    }
    for (c, b) in [(1, 1), (37, 11), (5, 64), (0, 3)] {
        each("blocked_prefix", "", &[("C", c), ("B", b)], &[], Fill::Small, |given, got| near(&got["y"], prefix(&given["x"])));
    }
}

/// Returns the indices of a row's elements, the largest first; equal elements keep their order.
fn sorted(row: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..row.len()).collect();
    places.sort_by(|a, b| row[*b].total_cmp(&row[*a]));
    places
}

#[test]
fn the_largest() {
    for (r, n) in [(1, 8), (3, 100), (17, 9)] {
        each("top", "", &[("R", r), ("N", n)], &[], Fill::Small, |given, got| {
            let rows = || given["x"].chunks(n as usize);
            near(&got["place"], rows().flat_map(|row| sorted(row).into_iter().take(8).map(|at| at as f64)));
            near(&got["value"], rows().flat_map(|row| sorted(row).into_iter().take(8).map(|at| row[at])));
        });
        each("top_two", "", &[("R", r), ("N", n)], &[], Fill::Small, |given, got| {
            for (n, (place, value)) in [("first", "high"), ("second", "low")].into_iter().enumerate() {
                let of = |row: &[f64]| sorted(row)[n];
                let rows = || given["x"].chunks(given["x"].len() / r as usize);
                near(&got[place], rows().map(|row| of(row) as f64));
                near(&got[value], rows().map(|row| row[of(row)]));
            }
        });
    }
}

#[test]
fn histograms() {
    for n in [0, 1, 1000] {
        // Every element is well within a bin, because rounding of the division may move an element at a border to either side.
        each("histogram", "", &[("N", n)], &[20.5, 2.0], Fill::Below(600), |given, got| {
            let mut count = vec![0.0; 256];
            for x in &given["x"] {
                let bin = ((*x - 20.5) / 2.0).floor();
                if (0.0..256.0).contains(&bin) {
                    count[bin as usize] += 1.0;
                }
            }
            near(&got["count"], count);
        });
    }
    for (n, m, c) in [(1, 1, 3), (300, 7, 2), (0, 2, 2), (20, 90, 65)] {
        for schedule in ["", "ATOMICS"] {
            each("add_rows", schedule, &[("N", n), ("M", m), ("C", c)], &[], Fill::Small, |given, got| {
                let mut table = given["table"].clone();
                for (row, to) in given["x"].chunks(c as usize).zip(&given["to"]) {
                    if (0.0..m as f64).contains(to) {
                        table[*to as usize * c as usize..].iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
                    }
                }
                near(&got["table"], table);
            });
        }
    }
}

#[test]
fn scatter() {
    for (n, m) in [(1, 1), (50, 33), (7, 100), (0, 4)] {
        each("gathered", "", &[("N", n), ("M", m)], &[], Fill::Small, |given, got| {
            let at = |from: &f64| if *from >= 0.0 { given["x"].get(*from as usize).copied() } else { None };
            near(&got["y"], given["from"].iter().map(|from| at(from).unwrap_or(0.0)));
        });
        each("scattered", "", &[("N", n), ("M", m)], &[], Fill::Small, |given, got| {
            let mut y = given["y"].clone();
            for (x, to) in given["x"].iter().zip(&given["to"]) {
                if (0.0..m as f64).contains(to) {
                    y[*to as usize] = *x;
                }
            }
            near(&got["y"], y);
        });
        each("segments", "", &[("N", n), ("M", m)], &[], Fill::Below(n + 1), |given, got| {
            // Arbitrary starts: an empty segment, and one with more than `L` elements, where the first `L` count.
            let of = |j: usize| {
                let (start, end) = (given["start"][j] as usize, given["start"][j + 1] as usize);
                (start..end.min(start + 32)).map(|at| given["x"].get(at).copied().unwrap_or(0.0)).sum()
            };
            near(&got["y"], (0..m as usize).map(of));
        });
    }
}

#[test]
fn sparse_rows() {
    for (r, c, l, k) in [(1, 1, 1, 1), (20, 33, 5, 7), (3, 8, 0, 2)] {
        each("sparse", "", &[("R", r), ("C", c), ("L", l), ("K", k)], &[], Fill::Small, |given, got| {
            let mut y = vec![0.0; (r * k) as usize];
            for (n, (column, value)) in given["column"].iter().zip(&given["value"]).enumerate() {
                for j in 0..k as usize {
                    if (0.0..c as f64).contains(column) {
                        y[n / l as usize * k as usize + j] += value * given["x"][*column as usize * k as usize + j];
                    }
                }
            }
            near(&got["y"], y);
        });
    }
}

#[test]
fn a_step_of_a_loop() {
    each("step", "", &[("N", 77)], &[], Fill::Small, |given, got| {
        let (u, f) = (&given["u"], &given["f"]);
        let at = |i: usize| u.get(i).copied().unwrap_or(0.0);
        let next: Vec<f64> = (0..77).map(|i: usize| 0.5 * (at(i.wrapping_sub(1)) + at(i + 1) - f[i])).collect();
        near(&got["change"], [next.iter().zip(u).map(|(a, b)| (a - b).abs()).fold(f64::NEG_INFINITY, f64::max)]);
        near(&got["next"], next);
    });
}
