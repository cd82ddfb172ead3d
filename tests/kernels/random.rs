//! Random schedules on every device, compared with the evaluation.
//!
//! A schedule grows directive by directive. Refused directives are dropped, and axes that are left over are made serial or unrolled
//! as the error asks. `TILEWRIGHT_CASES` sets the number of cases, and `TILEWRIGHT_SEED` the seed. A case that fails prints its
//! kernel and schedule.

use crate::conv::CONV2D;
use crate::harness::{Fill, profiles, try_variant};
use fastrand::Rng;
use tilewright_differential::compile::Refusal;
use tilewright_dsl::profile::Profile;

/// A kernel, its generics, its parallel axes, its reduction's axes, and its dims.
struct Subject {
    kernel: &'static str,
    head: &'static str,
    parallel: &'static [&'static str],
    reduction: &'static [&'static str],
    dims: &'static [&'static str],
    scalars: &'static [f64],
    /// The tensors that can be promoted.
    tensors: &'static [&'static str],
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
        tensors: &["a", "b", "bias", "c"],
    },
    Subject {
        kernel: "fn scaled<M, N>(x: f32[M, N], c: &mut f32[M, N], by: f32) { c[i, j] = c[i, j] * by + x[i, j]; }",
        head: "scaled",
        parallel: &["i", "j"],
        reduction: &[],
        dims: &["M", "N"],
        scalars: &[0.5],
        tensors: &["x", "c"],
    },
    Subject {
        kernel: CONV2D,
        head: "conv2d<T = f32, FH = 2, S = 2>",
        parallel: &["n", "oh", "ow", "oc"],
        reduction: &["fh", "fw", "ic"],
        dims: &["N", "IH", "IW", "IC", "OC"],
        scalars: &[],
        tensors: &["input", "filter", "output"],
    },
    Subject {
        kernel: "fn below<N, M>(x: f32[N, N], w: f32[M]) -> y: f32[N, M] { y[i, m] = sum(j in 0..i + 1) { x[i, j] * w[m] }; }",
        head: "below",
        parallel: &["i", "m"],
        reduction: &["j"],
        dims: &["N", "M"],
        scalars: &[],
        tensors: &["x", "w", "y"],
    },
    Subject {
        kernel: "fn above<N>(x: i32[N, N]) -> y: i32[N] { y[i] = max(j in i..N) { x[i, j] * 3 - j }; }",
        head: "above",
        parallel: &["i"],
        reduction: &["j"],
        dims: &["N"],
        scalars: &[],
        tensors: &["x", "y"],
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
        tensors: &["x", "y"],
    },
    Subject {
        kernel: "fn peak<N, H, W>(x: i32[N, H, W]) -> y: i32[N] { y[n] = argmax(i in 0..H, j in 0..W) { x[n, i, j] }; }",
        head: "peak",
        parallel: &["n"],
        reduction: &["i", "j"],
        dims: &["N", "H", "W"],
        scalars: &[],
        tensors: &["x", "y"],
    },
    Subject {
        kernel: "fn half<M, N>(x: f16[M, N], y: f16[N]) -> z: f16[N, M] { z[j, i] = if i >= 2 { x[i - 2, j] + y[j] } else { y[j] }; }",
        head: "half",
        parallel: &["j", "i"],
        reduction: &[],
        dims: &["M", "N"],
        scalars: &[],
        tensors: &["x", "y", "z"],
    },
];

/// The names that a schedule may use, and the number of names that it has made.
#[derive(Clone)]
struct Names {
    names: Vec<String>,
    /// Tensors, and copies of them.
    tensors: Vec<String>,
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

/// Returns a directive that may be legal.
fn directive(random: &mut Rng, names: &mut Names) -> String {
    let factor = |random: &mut Rng| pick(random, &["1", "2", "3", "4", "5", "8"]);
    let tail = |random: &mut Rng| pick(random, &["", "", " guard", " round_up", " exact", " peel", " peel", " shift"]);
    match random.u8(..15) {
        12.. => promote(random, names),
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

/// Returns a copy of a box or of some axes, at a random place.
fn promote(random: &mut Rng, names: &mut Names) -> String {
    let source = names.tensors[random.usize(..names.tensors.len())].clone();
    names.made += 1;
    let copy = format!("copy{}", names.made);
    names.tensors.push(copy.clone());
    let count = random.usize(..4);
    let list = if random.u8(..4) > 0 { String::new() } else { format!("[{}]", names.several(random, count).join(", ")) };
    let at = if random.u8(..3) == 0 { pick(random, &["workgroup", "thread"]).to_owned() } else { names.any(random) };
    let to = pick(random, &["shared", "shared", "register"]);
    let fill = pick(random, &["", "", "", "", "", "", ", fill: 0.0", ", fill: 0"]);
    let layout = pick(random, &["", "", "", ", row_pad: 1", ", row_pad: 4", ", swizzle: 1", ", swizzle: 2"]);
    let vector = pick(random, &["", "", "", "", "", "", "", "", ", vector: 2", ", vector: 4"]);
    format!("promote({source} => {copy}{list}, at: {at}, to: {to}{fill}{layout}{vector});")
}

/// Returns the name in backquotes after a text.
fn named<'a>(error: &'a str, after: &str) -> Option<&'a str> {
    let rest = &error[error.find(after)? + after.len()..];
    rest.split('`').nth(1)
}

/// Returns a number from the environment.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok())
}

/// A schedule in the making: directives that are refused are dropped.
struct Draft<'s> {
    subject: &'s Subject,
    profile: Profile,
    schedule: Vec<String>,
}

impl Draft<'_> {
    fn text(&self) -> String {
        format!("V: {} for p {{ {} }}", self.subject.head, self.schedule.join(" "))
    }

    /// Adds a directive, if it is not refused. A refusal by the verifier is a bug.
    fn add(&mut self, directive: String) -> bool {
        let unfinished = |error: &str| error.contains("left over") || error.contains("at run time");
        self.schedule.push(directive);
        if let Err(refusal) = try_variant(self.subject.kernel, &self.text(), &self.profile)
            && !unfinished(&refusal.text)
        {
            assert!(!refusal.is_defect, "the verifier refuses {}\n{}\n{}", self.subject.kernel, self.text(), refusal.text);
            self.schedule.pop();
            return false;
        }
        true
    }

    /// Makes axes that are left over serial or unrolls them, and runs the variant.
    fn finish(mut self, case: u64, random: &mut Rng) -> bool {
        for _ in 0..16 {
            let Err(Refusal { text: error, .. }) = try_variant(self.subject.kernel, &self.text(), &self.profile) else { break };
            let repair = named(&error, "left over").and_then(|_| named(&error, "or write")).map(|serial| format!("{serial};"));
            match repair.or_else(|| named(&error, "would be indexed by").map(|axis| format!("unroll({axis});"))) {
                Some(repair) => self.schedule.push(repair),
                None => break,
            }
        }
        let Ok(variant) = try_variant(self.subject.kernel, &self.text(), &self.profile) else { return false };
        println!("case {case}: {}\n{}", self.subject.kernel, self.text());
        for _ in 0..3 {
            // A tile that is moved back needs room.
            let least = if self.schedule.iter().any(|d| d.contains(" shift")) { 9 } else { 3 };
            let dims: Vec<(&str, i64)> = self.subject.dims.iter().map(|d| (*d, random.i64(least..=least + 8))).collect();
            if variant.admits(&dims) {
                variant.check_filled(&dims, self.subject.scalars, &|_| Fill::Small);
            }
        }
        true
    }
}

#[test]
#[allow(clippy::print_stdout, reason = "a failed test shows what it had printed")]
fn schedules_at_random() {
    let (cases, seed) = (number("TILEWRIGHT_CASES").unwrap_or(48), number("TILEWRIGHT_SEED").unwrap_or(1));
    let mut taken = 0;
    for case in 0..cases {
        let mut random = Rng::with_seed(seed.wrapping_mul(1_000_003).wrapping_add(case));
        let (mut draft, mut names) = begin(&mut random);
        let length = 2 + random.usize(..8);
        for _ in 0..40 {
            if draft.schedule.len() == length {
                break;
            }
            let before = names.clone();
            let directive = directive(&mut random, &mut names);
            if !draft.add(directive) {
                names = Names { made: names.made, ..before };
            }
        }
        taken += u64::from(draft.finish(case, &mut random));
    }
    println!("{taken} of {cases} schedules ran");
    assert!(taken * 2 > cases, "only {taken} of {cases} schedules were legal");
}

/// Returns a subject without directives, and the names that directives may use.
fn begin(random: &mut Rng) -> (Draft<'static>, Names) {
    let subject = &SUBJECTS[random.usize(..SUBJECTS.len())];
    let [addresses, descriptors] = profiles();
    let profile = if random.bool() { addresses } else { descriptors };
    let all = subject.parallel.iter().chain(subject.reduction);
    let tensors = subject.tensors.iter().map(|n| n.to_string()).collect();
    let names = Names { names: all.map(|n| n.to_string()).collect(), tensors, made: 0 };
    (Draft { subject, profile, schedule: Vec::new() }, names)
}

/// Tiles for workgroups, threads and steps, and copies between them: most of such schedules are legal.
#[test]
#[allow(clippy::print_stdout, reason = "a failed test shows what it had printed")]
fn copies_at_random() {
    let (cases, seed) = (number("TILEWRIGHT_CASES").unwrap_or(12), number("TILEWRIGHT_SEED").unwrap_or(2));
    let (mut taken, mut copies) = (0, 0);
    for case in 0..cases {
        let mut random = Rng::with_seed(seed.wrapping_mul(1_000_003).wrapping_add(case));
        let (mut draft, mut names) = begin(&mut random);
        let subject = draft.subject;
        let factor = |random: &mut Rng| pick(random, &["2", "3", "4", "5", "8"]);
        let tail = |random: &mut Rng| pick(random, &["", "", " round_up"]);
        for (axis, slot) in subject.parallel.iter().zip(["y", "x", "z", "z"]) {
            draft.add(format!("tile({axis}: {}{}) => workgroup({slot});", factor(&mut random), tail(&mut random)));
        }
        for axis in subject.reduction {
            let outer = names.fresh();
            if random.u8(..4) == 0 || !draft.add(format!("tile({axis}: {}{} => {outer});", factor(&mut random), tail(&mut random)))
            {
                names.names.pop();
            }
        }
        for round in 0..2 {
            if random.bool() {
                let several = names.several(&mut random, 3);
                draft.add(format!("reorder({});", several.join(", ")));
            }
            for _ in 0..random.usize(..10) {
                let before = names.tensors.clone();
                let directive = promote(&mut random, &mut names);
                if !draft.add(directive) {
                    names.tensors = before;
                }
            }
            if round == 0 {
                for (axis, slot) in subject.parallel.iter().zip(["y", "x", "z"]) {
                    let ways = [format!("distribute({axis} => thread({slot}));"), format!("tile({axis}: 2) => thread({slot});")];
                    draft.add(ways[random.usize(..2)].clone());
                }
            }
        }
        for axis in names.names.clone() {
            if random.bool() {
                draft.add(format!("unroll({axis});"));
            }
        }
        let made = draft.schedule.iter().filter(|d| d.starts_with("promote")).count();
        if draft.finish(case, &mut random) {
            (taken, copies) = (taken + 1, copies + made);
        }
    }
    println!("{taken} of {cases} schedules ran, with {copies} copies");
    assert!(taken * 2 > cases && copies as u64 > cases / 4, "only {taken} of {cases} schedules were legal, with {copies} copies");
}
