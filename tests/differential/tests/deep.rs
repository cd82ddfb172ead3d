//! Checks a fixed set of deep kernels: each compiles in time, within its memory, and is right.

use tilewright_differential::Pair;
use tilewright_differential::compile::variant;
use tilewright_differential::deep::run;
use tilewright_differential::judge::{Judge, Verdict};
use tilewright_differential::memory::{Counting, Most};
use tilewright_dsl::profile::Profile;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The seed of the cases.
const SEED: u64 = 1;

/// The number of cases: five of each family.
const CASES: u64 = 45;

/// The interval of cases that run on Vulkan, too. A driver takes longer for one case than all other checks take.
const VULKAN_EVERY: u64 = 8;

#[test]
fn a_few_deep_kernels() {
    let judge = Judge::open(true).expect("a Vulkan device, and the reference device");
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let tally = run(&judge, SEED, 0..CASES, jobs, VULKAN_EVERY, None);
    assert!(tally.finds.is_empty(), "{tally}\nscripts/fuzz --deep --seed {SEED} --case NUMBER");
    assert!(tally.executed * 3 > CASES * 2, "too few are legal:\n{tally}");
}

/// Checks that a kernel has this number of dispatches, is right, and compiles in time, for all sizes of `N`.
fn right(kernel: &str, dispatches: usize, sizes: &[i64]) {
    let pair = Pair {
        kernel: kernel.into(),
        schedule: "V: k for p {}".into(),
        profile: Profile::vulkan_1_1(),
        dims: sizes.iter().map(|n| vec![("N".to_owned(), *n)]).collect(),
        scalars: Vec::new(),
        fills: Vec::new(),
        values: 1,
    };
    let (verdict, took, bytes) = Judge::open(true).expect("the devices").judge_deep(&pair, Most::default(), true);
    let Verdict::Right(ran) = verdict else { panic!("{verdict:?}") };
    assert_eq!((ran.launches as usize, ran.on_vulkan as usize), (sizes.len(), sizes.len()), "{ran:?}");
    let made = variant(&pair.kernel, &pair.schedule, &pair.profile).unwrap_or_else(|refusal| panic!("{}", refusal.text));
    assert_eq!(made.program.dispatches.len(), dispatches, "after {took:?} and {bytes} bytes");
}

/// Returns stages that each read the previous stage at three places.
fn chain(signature: &str, length: &dyn Fn(usize) -> String, read: &dyn Fn(&str, usize) -> String) -> String {
    let mut text = format!("pub fn k{signature} {{\n");
    for n in 1..=16 {
        let before = if n == 1 { "x".into() } else { format!("s{}", n - 1) };
        let reads = (0..3).map(|tap| read(&before, tap)).collect::<Vec<_>>().join(" + ");
        text += &format!("let s{n}[i]: f32[{}] = ({reads}) * 0.5;\n", length(n));
    }
    text + "y[i] = s16[i]; }"
}

#[test]
fn sixteen_stages() {
    let read = |of: &str, tap: usize| format!("{of}[i + {tap}]");
    let length = |n: usize| format!("N - {}", 2 * n);
    right(&chain("<N>(x: f32[N]) -> y: f32[N - 32] where N >= 32", &length, &read), 2, &[100]);
    let read = |of: &str, tap: usize| format!("{of}.clamp()[i + {tap} - 1]");
    right(&chain("<N>(x: f32[N]) -> y: f32[N] where N >= 1", &|_| "N".into(), &read), 4, &[70]);
}

/// Fills transparent pixels from coarser levels.
#[test]
fn a_pyramid_of_two_dimensions() {
    const LEVELS: usize = 7;
    let size = |of: &str, n: usize| if n == 0 { of.to_owned() } else { format!("{of}{n}") };
    let (mut dims, mut body) = (String::new(), String::new());
    body += "let d0[c, y, x]: f32[4, H, N] = if c < 3 { input[c, y, x] * input[3, y, x] } else { input[3, y, x] };\n";
    for n in 1..=LEVELS {
        for of in ["H", "N"] {
            dims += &format!(", {of}{n} = ({of} + {}) / {}", (1 << n) - 1, 1 << n);
        }
        let before = n - 1;
        body += &format!(
            "let d{n}[c, y, x]: f32[4, H{n}, N{n}] = sum(a in 0..2, b in 0..2) {{ 0.25 * d{before}.clamp()[c, 2 * y + a, 2 * x + b] }};\n"
        );
    }
    for n in (0..LEVELS).rev() {
        let above = if n + 1 == LEVELS { format!("d{LEVELS}") } else { format!("v{}", n + 1) };
        let read = |y: &str, x: &str| format!("{above}.clamp()[c, {y}, {x}]");
        let (half, up) = (["y / 2", "(y + 1) / 2"], ["x / 2", "(x + 1) / 2"]);
        let sum = half.iter().flat_map(|y| up.iter().map(|x| read(y, x))).collect::<Vec<_>>().join(" + ");
        let (h, w) = (size("H", n), size("N", n));
        body += &format!("let v{n}[c, y, x]: f32[4, {h}, {w}] = d{n}[c, y, x] + (1.0 - d{n}[3, y, x]) * 0.25 * ({sum});\n");
    }
    body += "output[c, y, x] = v0[c, y, x];\n";
    let signature = format!("<N, H = (N + 1) / 2{dims}>(input: f32[4, H, N]) -> output: f32[3, H, N] where N >= 1");
    right(&format!("pub fn k{signature} {{\n{body}}}"), 11, &[34]);
}

#[test]
fn indices_of_many_lets_and_factors() {
    let lets = |count: usize| {
        let lets = (1..=count).map(|n| format!("let a{n} = a{} * 2 + a{} - {};\n", n - 1, n - 1, n + 1)).collect::<String>();
        format!("y[i] = {{ let a0 = i;\n{lets}x.clamp()[a{count}] }};")
    };
    let kernel = |value: &str| format!("pub fn k<N>(x: f32[N]) -> y: f32[N] where N >= 1, N <= 1000 {{ {value} }}");
    right(&kernel(&lets(10)), 1, &[40]);
    // The values of these do not fit 32 bits, which the launch reports.
    let product = (0..20).map(|n| format!("(i + N + {n})")).collect::<Vec<_>>().join(" * ");
    for value in [lets(24), format!("y[i] = x.clamp()[{product}];")] {
        let ((), took, bytes) = Most::default().measured(|| {
            let made = variant(&kernel(&value), "V: k for p {}", &Profile::vulkan_1_1());
            assert!(made.is_ok(), "{}", made.err().map(|refusal| refusal.text).unwrap_or_default());
        });
        assert_eq!(Most::default().exceeded(took, bytes), None);
    }
}
