//! Schedules that no person would write, on every device, against the plain evaluation.
//!
//! A schedule grows directive by directive; one that is refused is dropped, and what is then left over is made serial or
//! unrolled as the error asks. `TILEWRIGHT_CASES` asks for more cases than the suite runs, `TILEWRIGHT_SEED` for others. A case
//! that fails prints its kernel and schedule.

use crate::conv::CONV2D;
use crate::harness::{Fill, profiles, try_variant};
use fastrand::Rng;

/// A kernel, its generics, its parallel axes, those of its reduction, its dims.
struct Subject {
    kernel: &'static str,
    head: &'static str,
    parallel: &'static [&'static str],
    reduction: &'static [&'static str],
    dims: &'static [&'static str],
    scalars: &'static [f64],
}

const SUBJECTS: [Subject; 8] = [
    Subject {
        kernel: "fn linear<M, N, K>(a: f32[M, K], b: f32[K, N], bias: f32[N]) -> c: f32[M, N] {
            c[i, j] = (sum(k in 0..K) { a[i, k] * b[k, j] } + bias[j]).max(0.0);
        }",
        head: "linear",
        parallel: &["i", "j"],
        reduction: &["k"],
        dims: &["M", "N", "K"],
        scalars: &[],
    },
    Subject {
        kernel: "fn scaled<M, N>(x: f32[M, N], c: &mut f32[M, N], by: f32) { c[i, j] = c[i, j] * by + x[i, j]; }",
        head: "scaled",
        parallel: &["i", "j"],
        reduction: &[],
        dims: &["M", "N"],
        scalars: &[0.5],
    },
    Subject {
        kernel: CONV2D,
        head: "conv2d<T = f32, FH = 2, S = 2>",
        parallel: &["n", "oh", "ow", "oc"],
        reduction: &["fh", "fw", "ic"],
        dims: &["N", "IH", "IW", "IC", "OC"],
        scalars: &[],
    },
    Subject {
        kernel: "fn below<N, M>(x: f32[N, N], w: f32[M]) -> y: f32[N, M] { y[i, m] = sum(j in 0..i + 1) { x[i, j] * w[m] }; }",
        head: "below",
        parallel: &["i", "m"],
        reduction: &["j"],
        dims: &["N", "M"],
        scalars: &[],
    },
    Subject {
        kernel: "fn above<N>(x: i32[N, N]) -> y: i32[N] { y[i] = max(j in i..N) { x[i, j] * 3 - j }; }",
        head: "above",
        parallel: &["i"],
        reduction: &["j"],
        dims: &["N"],
        scalars: &[],
    },
    Subject {
        kernel: "fn blur<H, W>(x: f32[H, W]) -> y: f32[H, W] {
            y[i, j] = sum(a in 0..3, b in 0..3) { x.pad(0.5)[i + a - 1, j + b - 1] * x.clamp()[i - a, j + b] };
        }",
        head: "blur",
        parallel: &["i", "j"],
        reduction: &["a", "b"],
        dims: &["H", "W"],
        scalars: &[],
    },
    Subject {
        kernel: "fn peak<N, H, W>(x: i32[N, H, W]) -> y: i32[N] { y[n] = argmax(i in 0..H, j in 0..W) { x[n, i, j] }; }",
        head: "peak",
        parallel: &["n"],
        reduction: &["i", "j"],
        dims: &["N", "H", "W"],
        scalars: &[],
    },
    Subject {
        kernel: "fn half<M, N>(x: f16[M, N], y: f16[N]) -> z: f16[N, M] { z[j, i] = if i >= 2 { x[i - 2, j] + y[j] } else { y[j] }; }",
        head: "half",
        parallel: &["j", "i"],
        reduction: &[],
        dims: &["M", "N"],
        scalars: &[],
    },
];

/// The names that a schedule may use, and how many it has made.
struct Names {
    names: Vec<String>,
    made: usize,
}

impl Names {
    fn any(&self, random: &mut Rng) -> String {
        self.names[random.usize(..self.names.len())].clone()
    }

    fn several(&self, random: &mut Rng, count: usize) -> Vec<String> {
        let mut names = self.names.clone();
        random.shuffle(&mut names);
        names.truncate(count.max(1));
        names
    }

    fn fresh(&mut self) -> String {
        self.made += 1;
        self.names.push(format!("x{}", self.made));
        format!("x{}", self.made)
    }
}

fn pick<'a>(random: &mut Rng, from: &[&'a str]) -> &'a str {
    from[random.usize(..from.len())]
}

/// A directive that may be legal.
fn directive(random: &mut Rng, names: &mut Names) -> String {
    let factor = |random: &mut Rng| pick(random, &["1", "2", "3", "4", "5", "8"]);
    let tail = |random: &mut Rng| pick(random, &["", "", " guard", " round_up", " exact", " peel", " peel", " shift"]);
    match random.u8(..12) {
        0 | 1 => {
            let (a, b, f, t) = (names.any(random), names.fresh(), factor(random), tail(random));
            format!("tile({a}: {f}{t} => {b});")
        }
        2 => {
            let (a, f, g) = (names.any(random), factor(random), factor(random));
            let list = pick(random, &["[_, F, G]", "[F, _, G]", "[F, G, _]"]).replace('F', f).replace('G', g);
            let (t, parts) = (tail(random), [names.fresh(), names.fresh(), names.fresh()]);
            format!("split({a}, {list}{t} => {});", parts.join(", "))
        }
        3 => {
            let axes = names.several(random, 2);
            format!("fuse({} => {});", axes.join(", "), names.fresh())
        }
        4 | 5 => {
            let count = 1 + random.usize(..2);
            let tiles: Vec<String> = names
                .several(random, count)
                .iter()
                .map(|a| format!("{a}: {}{} => {}", factor(random), tail(random), names.fresh()))
                .collect();
            let slots: Vec<&str> = tiles.iter().map(|_| pick(random, &["x", "y", "z"])).collect();
            format!("tile({}) => {}({});", tiles.join(", "), pick(random, &["workgroup", "workgroup", "thread"]), slots.join(", "))
        }
        6 | 7 => {
            let (a, slot) = (names.any(random), pick(random, &["x", "y", "z"]));
            format!("distribute({a} => {}({slot}));", pick(random, &["thread", "workgroup"]))
        }
        8 | 9 => format!("reorder({});", names.several(random, 3).join(", ")),
        10 => format!("unroll({});", names.any(random)),
        _ => {
            let scalar = pick(random, &["", ", unaligned: scalar"]);
            format!("vectorize({}, {}{scalar});", names.any(random), pick(random, &["2", "4", "8"]))
        }
    }
}

/// The name in backquotes after a text.
fn named<'a>(error: &'a str, after: &str) -> Option<&'a str> {
    let rest = &error[error.find(after)? + after.len()..];
    rest.split('`').nth(1)
}

#[test]
#[allow(clippy::print_stdout, reason = "a failed test shows what it had printed")]
fn schedules_at_random() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let (cases, seed) = (number("TILEWRIGHT_CASES").unwrap_or(48), number("TILEWRIGHT_SEED").unwrap_or(1));
    let mut taken = 0;
    for case in 0..cases {
        let mut random = Rng::with_seed(seed.wrapping_mul(1_000_003).wrapping_add(case));
        let subject = &SUBJECTS[random.usize(..SUBJECTS.len())];
        let [addresses, descriptors] = profiles();
        let profile = if random.bool() { addresses } else { descriptors };
        let all = subject.parallel.iter().chain(subject.reduction);
        let mut names = Names { names: all.map(|n| n.to_string()).collect(), made: 0 };
        let mut schedule: Vec<String> = Vec::new();
        let text = |schedule: &[String]| format!("V: {} for p {{ {} }}", subject.head, schedule.join(" "));
        let unfinished = |error: &str| error.contains("is left over") || error.contains("at run time");
        let length = 2 + random.usize(..8);
        for _ in 0..40 {
            if schedule.len() == length {
                break;
            }
            let before = names.names.clone();
            schedule.push(directive(&mut random, &mut names));
            if let Err(error) = try_variant(subject.kernel, &text(&schedule), &profile)
                && !unfinished(&error)
            {
                assert!(
                    !error.contains("in the dispatch of"),
                    "the verifier refuses {}\n{}\n{error}",
                    subject.kernel,
                    text(&schedule)
                );
                schedule.pop();
                names.names = before;
            }
        }
        for _ in 0..16 {
            let Err(error) = try_variant(subject.kernel, &text(&schedule), &profile) else { break };
            let repair = named(&error, "the parallel axis").map(|axis| format!("serial({axis});"));
            match repair.or_else(|| named(&error, "would be indexed by").map(|axis| format!("unroll({axis});"))) {
                Some(repair) => schedule.push(repair),
                None => break,
            }
        }
        let Ok(variant) = try_variant(subject.kernel, &text(&schedule), &profile) else { continue };
        taken += 1;
        println!("case {case}: {}\n{}", subject.kernel, text(&schedule));
        for _ in 0..3 {
            // A tile that is moved back needs room.
            let least = if schedule.iter().any(|d| d.contains(" shift")) { 9 } else { 3 };
            let dims: Vec<(&str, i64)> = subject.dims.iter().map(|d| (*d, random.i64(least..=least + 8))).collect();
            if variant.admits(&dims) {
                variant.check_filled(&dims, subject.scalars, &|_| Fill::Small);
            }
        }
    }
    println!("{taken} of {cases} schedules ran");
    assert!(taken * 2 > cases, "only {taken} of {cases} schedules were legal");
}
