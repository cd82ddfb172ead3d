//! Deep kernels: chains of stages, pyramids, and `let`s of indices or values that name earlier ones. The expressions that a compiler
//! builds from these can double with each step. So the time and memory of a compilation are judged, too.
//!
//! The kernels are texts that depend only on a seed and a number. Their schedules have few directives, so that the compiler chooses
//! the stages to inline.

mod run;

pub use run::{Tally, run};

use crate::case::{Pair, mix};
use fastrand::Rng;
use std::fmt::Write as _;
use tilewright_dsl::profile::Profile;

/// Returns the deep pair of a seed and a number, which determine it.
pub fn pair(seed: u64, number: u64) -> Pair {
    let mut random = Rng::with_seed(mix(seed ^ 0x6465_6570).wrapping_add(mix(number)));
    let families = [chain, plane, pyramid, indices, values, products, conditions, several, reduced];
    let family = families[(number % families.len() as u64) as usize];
    let Made { kernel, nest } = family(&mut random);
    let schedule = format!("V: k for p {{ {} }}", if random.u8(..3) == 0 { nest } else { "" });
    let launches = [random.i64(1..=4), random.i64(5..=40)];
    Pair {
        kernel,
        schedule,
        profile: Profile::vulkan_1_1(),
        dims: launches.iter().map(|n| vec![("N".to_owned(), *n)]).collect(),
        scalars: Vec::new(),
        fills: Vec::new(),
        values: random.u64(..),
    }
}

/// A kernel `k` over `N`, and a schedule of its results.
struct Made {
    kernel: String,
    nest: &'static str,
}

/// The directives for a result with one axis.
const LINE: &str = "tile(i: 8) => workgroup(x); distribute(i => thread(x));";

impl Made {
    fn new(signature: &str, body: &str) -> Made {
        Made { kernel: format!("pub fn k{signature} {{\n{body}}}"), nest: LINE }
    }
}

/// The reads of a stage that are out of bounds.
#[derive(Clone, Copy)]
enum Ends {
    /// Not needed, because the stage is shorter than the tensor that it reads.
    Inside,
    Clamp,
    Pad,
}

impl Ends {
    fn any(random: &mut Rng) -> Ends {
        [Ends::Inside, Ends::Clamp, Ends::Pad][random.usize(..3)]
    }

    /// Returns the read of a tensor's element at an index.
    fn read(self, of: &str, index: &str) -> String {
        match self {
            Ends::Inside => format!("{of}[{index}]"),
            Ends::Clamp => format!("{of}.clamp()[{index}]"),
            Ends::Pad => format!("{of}.pad(0.0)[{index}]"),
        }
    }
}

/// Returns an axis plus a distance.
fn shifted(axis: &str, by: i64) -> String {
    match by {
        0 => axis.to_owned(),
        1.. => format!("{axis} + {by}"),
        _ => format!("{axis} - {}", -by),
    }
}

/// Returns the name of stage number `n`. Stage 0 is the input.
fn stage(n: usize) -> String {
    if n == 0 { "x".into() } else { format!("s{n}") }
}

/// Stages that each read the previous stage at several places.
fn chain(random: &mut Rng) -> Made {
    let (count, taps, ends) = (random.usize(4..=40), random.i64(2..=4), Ends::any(random));
    let mut body = String::new();
    let by = match ends {
        Ends::Inside => taps - 1,
        _ => 0,
    };
    for n in 1..=count {
        let first = if by > 0 { 0 } else { -(taps / 2) };
        let reads = (first..first + taps).map(|tap| ends.read(&stage(n - 1), &shifted("i", tap)));
        let sum = reads.collect::<Vec<_>>().join(" + ");
        let long = (count - n) as i64 * by;
        let _ = writeln!(body, "let s{n}[i]: f32[N + {long}] = ({sum}) * 0.5;");
    }
    let _ = writeln!(body, "y[i] = {}[i];", stage(count));
    Made::new(&format!("<N>(x: f32[N + {}]) -> y: f32[N] where N >= 1", count as i64 * by), &body)
}

/// Stages in two dimensions that each read the previous stage at up to nine places.
fn plane(random: &mut Rng) -> Made {
    let (count, ends) = (random.usize(2..=6), [Ends::Clamp, Ends::Pad][random.usize(..2)]);
    let mut body = String::new();
    for n in 1..=count {
        let mut sum = Vec::new();
        for (a, b) in (-1..=1).flat_map(|a| (-1..=1).map(move |b| (a, b))) {
            if random.u8(..4) > 0 || (a, b) == (0, 0) {
                sum.push(ends.read(&stage(n - 1), &format!("{}, {}", shifted("j", a), shifted("i", b))));
            }
        }
        let _ = writeln!(body, "let s{n}[j, i]: f32[5, N] = ({}) * 0.125;", sum.join(" + "));
    }
    let _ = writeln!(body, "y[j, i] = {}[j, i];", stage(count));
    let nest = "tile(j: 2, i: 4) => workgroup(y, x); distribute(j, i => thread(y, x));";
    Made { nest, ..Made::new("<N>(x: f32[5, N]) -> y: f32[5, N] where N >= 1", &body) }
}

/// Levels that each have half the length of the previous one, and back up. Each level on the way up also reads the same level on the
/// way down.
fn pyramid(random: &mut Rng) -> Made {
    let levels = random.usize(2..=10);
    let (is_sum, ends) = (random.bool(), [Ends::Clamp, Ends::Pad][random.usize(..2)]);
    let mut dims = String::new();
    let mut body = String::new();
    let length = |n: usize| if n == 0 { "N".into() } else { format!("N{n}") };
    for n in 1..=levels {
        let _ = write!(dims, ", N{n} = (N + {}) / {}", (1 << n) - 1, 1 << n);
        let value = match is_sum {
            true => format!("sum(a in 0..2) {{ 0.5 * {} }}", ends.read(&stage(n - 1), "2 * i + a")),
            false => format!("({} + {}) * 0.5", ends.read(&stage(n - 1), "2 * i"), ends.read(&stage(n - 1), "2 * i + 1")),
        };
        let _ = writeln!(body, "let s{n}[i]: f32[{}] = {value};", length(n));
    }
    let mut above = stage(levels);
    for n in (0..levels).rev() {
        let (near, far) = (ends.read(&above, "i / 2"), ends.read(&above, "(i + 1) / 2"));
        let _ = writeln!(body, "let up{n}[i]: f32[{}] = {}[i] * 0.5 + ({near} + {far}) * 0.25;", length(n), stage(n));
        above = format!("up{n}");
    }
    let _ = writeln!(body, "y[i] = {above}[i];");
    Made::new(&format!("<N{dims}>(x: f32[N]) -> y: f32[N] where N >= 1"), &body)
}

/// `let`s of indices that each name the previous one several times.
fn indices(random: &mut Rng) -> Made {
    let count = random.usize(3..=26);
    let mut body = "let a0 = i;\n".to_owned();
    for n in 1..=count {
        let (a, c) = (format!("a{}", n - 1), random.i64(1..=9));
        let value = match random.u8(..9) {
            0 | 1 => format!("{a} * 2 + {a} - {c}"),
            2 => format!("{a} % {} + {a} / {}", c + 1, c + 2),
            3 => format!("{a}.min({a} + {c} - N)"),
            4 => format!("({a} - {c}).max({a} / 3)"),
            5 => format!("({a} - {c}).abs() + {a}"),
            6 => format!("if {a} % 2 == 0 {{ {a} / 2 }} else {{ {a} - {c} }}"),
            7 => format!("{a} / 5 * ({a} % 3)"),
            _ => format!("({a} + {c}).clamp(0, N) - {a} % {}", c + 1),
        };
        let _ = writeln!(body, "let a{n} = {value};");
    }
    let read = if random.bool() { "x.clamp()" } else { "x.pad(0.5)" };
    Made::new("<N>(x: f32[N]) -> y: f32[N] where N >= 1, N <= 1000", &format!("y[i] = {{ {body}{read}[a{count}] }};\n"))
}

/// `let`s of values that each name the previous one several times.
fn values(random: &mut Rng) -> Made {
    let count = random.usize(3..=60);
    let mut body = "let v0 = x[i];\n".to_owned();
    for n in 1..=count {
        let v = format!("v{}", n - 1);
        let value = match random.u8(..6) {
            0 => format!("{v} * 0.5 + {v} * 0.25"),
            1 => format!("({v} - 0.25).max({v} * 0.5)"),
            2 => format!("if {v} > 0.0 {{ {v} * 0.5 }} else {{ {v} + 0.125 }}"),
            3 => format!("({v} * 0.25).powi(3) + {v} * 0.5"),
            4 => format!("{v}.abs().min({v} + 1.0) * 0.5"),
            _ => format!("{v}.mul_add(0.5, {v} * 0.125)"),
        };
        let _ = writeln!(body, "let v{n} = {value};");
    }
    Made::new("<N>(x: f32[N]) -> y: f32[N] where N >= 1", &format!("y[i] = {{ {body}v{count} }};\n"))
}

/// An index that is a product of sums.
fn products(random: &mut Rng) -> Made {
    let index = match random.bool() {
        true => (0..random.usize(2..=20)).map(|n| format!("(i + N + {n})")).collect::<Vec<_>>().join(" * "),
        false => {
            let count = random.usize(1..=11);
            let squares = (1..=count).map(|n| format!("let a{n} = a{} * a{}; ", n - 1, n - 1)).collect::<String>();
            format!("{{ let a0 = i + 1; {squares}a{count} }}")
        }
    };
    Made::new("<N>(x: f32[N]) -> y: f32[N] where N >= 1, N <= 50", &format!("y[i] = x.clamp()[({index}) % N];\n"))
}

/// Nested choices, and conditions of many parts.
fn conditions(random: &mut Rng) -> Made {
    let count = random.usize(2..=40);
    let mut body = String::new();
    for n in 1..=count {
        let (before, c) = (stage(n - 1), random.i64(1..=20));
        let value = match random.u8(..3) {
            0 => format!("if i >= {c} && i < N {{ {before}[i - {c}] }} else {{ {before}[i] * 0.5 }}"),
            1 => format!("if i + {c} < N && {before}[i] > 0.0 {{ {before}[i + {c}] }} else {{ {before}[i] + 0.25 }}"),
            _ => format!("{before}[i].max({before}.pad(0.0)[i - {c}] * 0.5)"),
        };
        let _ = writeln!(body, "let s{n}[i]: f32[N] = {value};");
    }
    let _ = writeln!(body, "y[i] = {}[i];", stage(count));
    Made::new("<N>(x: f32[N]) -> y: f32[N] where N >= 1", &body)
}

/// Intermediates that several results read.
fn several(random: &mut Rng) -> Made {
    let count = random.usize(2..=20);
    let mut body = String::new();
    for n in 1..=count {
        let (one, two) = (stage(n - 1), stage(n.saturating_sub(2)));
        let _ = writeln!(body, "let s{n}[i]: f32[N] = ({one}.clamp()[i - 1] + {two}.clamp()[i + 1]) * 0.5;");
    }
    let half = count / 2 + 1;
    let _ = writeln!(body, "z[i] = {}.pad(1.0)[i + 2] + {}[i];\ny[i] = s{count}[i] * z[i];", stage(half), stage(count));
    let nest = "y, z { tile(i: 8) => workgroup(x); distribute(i => thread(x)); }";
    Made { nest, ..Made::new("<N>(x: f32[N]) -> (y: f32[N], z: f32[N]) where N >= 1", &body) }
}

/// Stages that reductions read.
fn reduced(random: &mut Rng) -> Made {
    let (count, ends) = (random.usize(2..=12), [Ends::Clamp, Ends::Pad][random.usize(..2)]);
    let mut body = String::new();
    for n in 1..=count {
        let before = stage(n - 1);
        let reads = (-1..=1).map(|tap| ends.read(&before, &shifted("i", tap))).collect::<Vec<_>>().join(" + ");
        let value = match n % 5 {
            4 => format!("sum(a in 0..3) {{ {} * 0.25 }}", ends.read(&before, "i + a")),
            _ => format!("({reads}) * 0.25"),
        };
        let _ = writeln!(body, "let s{n}[i]: f32[N] = {value};");
    }
    let _ = writeln!(body, "y[i] = max(a in 0..3) {{ {} }};", ends.read(&stage(count), "i + a - 1"));
    Made::new("<N>(x: f32[N]) -> y: f32[N] where N >= 1", &body)
}
