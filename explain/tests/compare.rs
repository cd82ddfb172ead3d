//! Tests of comparisons of schedules: sums over dispatches against hand-counted numbers, the tables, and the errors.

use std::path::{Path, PathBuf};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::schedule::tune::Choice;
use tilewright_explain::source::Source;
use tilewright_explain::{CompareError, Comparison, Given, Taken, compare, explain};

/// Writes a file with schedules into a fresh folder.
fn file(name: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(folder.join("src")).expect("a folder");
    std::fs::write(folder.join("Cargo.toml"), "").expect("a file");
    std::fs::write(folder.join("src/lib.rs"), text).expect("a file");
    folder.join("src/lib.rs")
}

/// Parses sets of sizes, for example `N=1,H=4`.
fn sizes(texts: &[&str]) -> Vec<Vec<(String, i64)>> {
    let one = |size: &str| {
        let (name, value) = size.split_once('=').expect("NAME=VALUE");
        (name.to_owned(), value.parse().expect("a number"))
    };
    texts.iter().map(|text| text.split(',').map(one).collect()).collect()
}

fn compared(file: &Path, names: &[&str], at: &[&str], profiles: &[Profile]) -> Result<Comparison, CompareError> {
    compare(&Source::open(file)?, names, &sizes(at), &Choice::default(), profiles)
}

fn text(comparison: &Comparison) -> String {
    comparison.lines().iter().map(|line| line.to_string().trim_end().to_owned() + "\n").collect()
}

fn refused(file: &Path, names: &[&str], at: &[&str]) -> String {
    let error = compared(file, names, at, &[]).expect_err("it is refused").to_string();
    error
        .replace(&file.canonicalize().expect("the file").display().to_string(), "lib.rs")
        .replace(&file.display().to_string(), "lib.rs")
}

/// A direct convolution and two by Winograd's algorithm, on a device with round rates: a thousand operations and ten bytes a
/// nanosecond.
const CONV: &str = "use tilewright::{kernel, profile, schedule, devices::{vulkan_1_1, nvidia_hopper}};
profile! { pub board: vulkan_1_1 { gflops: 1000, bandwidth: 10 } }
kernel! {
    pub fn conv<N, H, W, IC, OC>(x: f32[N, H, W, IC], w: f32[3, 3, IC, OC]) -> y: f32[N, H, W, OC] {
        y[n, oh, ow, oc] = sum(fh in 0..3, fw in 0..3, ic in 0..IC) { x.pad(0.0)[n, oh + fh - 1, ow + fw - 1, ic] * w[fh, fw, ic, oc] };
    }
}
kernel! { pub fn twice<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] * 2.0; } }
schedule! { pub DIRECT: conv for board { distribute(n, oh, ow => workgroup(z, y, x)); distribute(oc => workgroup(x)); } }
schedule! {
    pub F2: conv for board where IC <= 64, H % 2 == 0 {
        decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-4);
        precompute(u);
        v { distribute(n, th, tw => workgroup(z, y, x)); serial(ic); reorder(ic, p, q); unroll(p, q); }
        g { distribute(p, q, n, th => workgroup(z, z, y, y)); distribute(tw, oc => workgroup(x, x)); }
        tile(oh: 2 peel, ow: 2 peel) => workgroup(z, y); unroll(oh, ow); serial(n); distribute(oc => workgroup(x));
    }
}
schedule! {
    pub F4: conv for board where IC <= 8 {
        decompose_winograd(y => v, u, g, m: 4, tolerance: 1e-4);
        v { distribute(n, th, tw => workgroup(z, y, x)); serial(ic); reorder(ic, p, q); unroll(p, q); }
        u { distribute(ic, oc => workgroup(y, x)); unroll(p, q); }
        g { distribute(p, q, n, th => workgroup(z, z, y, y)); distribute(tw, oc => workgroup(x, x)); }
        tile(oh: 4 peel, ow: 4 peel) => workgroup(z, y); unroll(oh, ow); serial(n); distribute(oc => workgroup(x));
        specialize(H % 4 == 0, W % 4 == 0);
    }
}
schedule! {
    pub GUARDED: conv for board where IC <= 8 {
        decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-4);
        v { distribute(n, th, tw => workgroup(z, y, x)); serial(ic); distribute(p, q => thread(y, x)); }
        tile(oh: 2, ow: 2) => workgroup(z, y); unroll(oh, ow); serial(n); distribute(oc => workgroup(x));
    }
}
schedule! { pub WRONG: conv for board { tile(oh: 2) => workgroup(y); } }
schedule! { pub ELSEWHERE: conv for nvidia_hopper {} }
schedule! { pub OTHER: twice for board {} }
";

fn taken(comparison: &Comparison, schedule: usize) -> &Taken {
    comparison.at[0].costs[schedule].as_ref().expect("it is run")
}

/// 1 x 4 x 8 results, from 2 to 3 channels.
const SMALL: &str = "N=1,H=4,W=8,IC=2,OC=3";

#[test]
fn sums_over_dispatches() {
    let made = compared(&file("sums", CONV), &["DIRECT", "F2"], &[SMALL], &[]).expect("they are compared");
    let (results, inputs, outputs) = (4 * 8, 2, 3);
    let (x, w, y) = (results * inputs * 4, 9 * inputs * outputs * 4, results * outputs * 4);
    let direct = &taken(&made, 0).totals;
    // 9 x 2 products and sums for each result. Each product reads both factors.
    assert_eq!(direct.flops, Some(2 * results * outputs * 9 * inputs));
    assert_eq!(direct.asked, Some(2 * results * outputs * 9 * inputs * 4 + y));
    assert_eq!((direct.compulsory, direct.temporaries, direct.prepared), (Some(x + w + y), Some(0), Some(0)));
    assert_eq!((direct.dispatches, direct.shared_bytes, direct.errors.len()), (1, 0, 0));
    // 3.5 operations a byte: bound by memory, at ten bytes a nanosecond.
    assert_eq!(direct.nanoseconds, Some((x + w + y) as f64 / 10.0));

    let winograd = &taken(&made, 1).totals;
    let tiles = 2 * 4;
    // 32 additions a tile and input channel, 24 one and output channel (`codegen/tests/cost.rs`), and the product between them.
    let flops = [tiles * inputs * 32, 2 * tiles * 16 * inputs * outputs, tiles * outputs * 24];
    assert_eq!(winograd.flops, Some(flops.iter().sum()));
    assert_eq!(winograd.functions, Some(0));
    let (v, g, u) = (tiles * 16 * inputs * 4, tiles * 16 * outputs * 4, 16 * inputs * outputs * 4);
    assert_eq!((winograd.temporaries, winograd.prepared), (Some(v + g), Some(u)));
    // Each dispatch has its tensors. The filter is prepared, so the launch does not read it.
    let moved = [x + v, v + u + g, g + y];
    assert_eq!(winograd.compulsory, Some(moved.iter().sum()));
    assert_eq!(winograd.nanoseconds, Some(moved.iter().map(|bytes| *bytes as f64 / 10.0).sum()));
    // Each tile reads its 16 inputs; each product both factors; each tile of results its 16 sums.
    let asked = tiles * 16 * inputs * 4 + v + 2 * tiles * 16 * inputs * outputs * 4 + g + tiles * 16 * outputs * 4 + y;
    assert_eq!(winograd.asked, Some(asked));
    assert_eq!(winograd.dispatches, 3);
    // F(2, 3) in f32: the growth is 5/3 in each dimension, and 64 products are the most that the facts allow.
    let expected = (5.0 / 3.0) * 2f64.powi(-24) * (1.5f64 + 0.085 * 64.0).sqrt();
    assert_eq!(winograd.errors.iter().map(|e| e.result.as_str()).collect::<Vec<_>>(), ["y"]);
    assert!((winograd.errors[0].expected / expected - 1.0).abs() < 1e-3, "{expected}");
}

/// The explanation of a schedule ends with the cost of the launch, if that has several dispatches.
#[test]
fn a_launch_as_a_whole() {
    let source = Source::open(&file("whole", CONV)).expect("it is read");
    let told = |schedule: &str, dims: &str| {
        let given = Given { dims: sizes(&[dims]).remove(0), choice: Choice::default() };
        let lines = explain(&source.subject(schedule).expect("it is there"), &given).lines();
        lines.iter().map(|line| line.to_string() + "\n").skip_while(|line| line != "cost of a launch\n").collect::<String>()
    };
    assert_eq!(told("DIRECT", SMALL), "", "of one dispatch there is nothing to add");
    insta::assert_snapshot!(told("F2", SMALL) + "\n" + &told("F2", "N=1"));
}

/// The counted operations agree with the SPIR-V module's: straight-line code has an instruction for each operation of an
/// invocation.
#[test]
fn words_have_what_is_counted() {
    let source = Source::open(&file("words", CONV)).expect("it is read");
    // The last version of `F4`, which has no tails, chooses rows by numbers; `GUARDED` chooses them by invocations and by clamped
    // indices.
    for schedule in ["F4", "GUARDED"] {
        let told = explain(&source.subject(schedule).expect("it is there"), &Given::default());
        let version = told.versions.last().expect("it is compiled");
        let program = version.program.as_ref().unwrap_or_else(|| panic!("{:?}", told.errors));
        // `v` loops over the input channels, `y` over the batch. (`u` is not tested, because a product that is fused in one sum and
        // used in another occurs twice.)
        for (name, looped) in [("v", "IC"), ("y", "N")] {
            let at = program.dispatches.iter().position(|d| d.name == name).expect("the stage");
            let dims: Vec<i64> = program.dims.iter().map(|dim| if dim.name == looped { 7 } else { 1 }).collect();
            let counted = version.figures[at].cost.each.flops.eval(&dims).expect("a number");
            let invocations: i64 = program.dispatches[at].local.iter().map(|n| i64::from(*n)).product();
            assert_eq!(counted, 7 * invocations * float_operations(&program.dispatches[at].spirv), "{schedule}, {name}");
        }
    }
}

/// Counts the float operations in a module; a fused multiply-add counts as two.
fn float_operations(bytes: &[u8]) -> i64 {
    use spirv::Op;
    let words: Vec<u32> = bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
    let (mut rest, mut count) = (&words[5..], 0);
    while let [first, ..] = rest {
        let length = (*first >> 16) as usize;
        count += match Op::from_u32(*first & 0xffff) {
            Some(Op::FAdd | Op::FSub | Op::FMul | Op::FDiv) => 1,
            // The only extended instruction that is used here: a fused multiply-add.
            Some(Op::ExtInst) if rest[4] == 50 => 2,
            _ => 0,
        };
        rest = &rest[length..];
    }
    count
}

#[test]
fn a_table() {
    let hopper = [Profile::nvidia_hopper()];
    let at = [SMALL, "N=1,H=5,W=8,IC=2,OC=3", "N=1,H=6,W=7,IC=16,OC=3"];
    insta::assert_snapshot!(text(
        &compared(&file("table", CONV), &["DIRECT", "F2", "F4"], &at, &hopper).expect("they are compared")
    ));
}

/// Two different profiles, one of them without rates.
#[test]
fn a_table_by_several_profiles() {
    let slow = CONV.replace("ELSEWHERE: conv for nvidia_hopper", "ELSEWHERE: conv for vulkan_1_1");
    let table = |name: &str, text_of: &str| {
        let made = compared(&file(name, text_of), &["DIRECT", "ELSEWHERE"], &[SMALL], &[]).expect("they are compared");
        text(&made).lines().take(5).map(|line| line.to_owned() + "\n").collect::<String>()
    };
    insta::assert_snapshot!(table("profiles", CONV) + "\n" + &table("unknown", &slow));
}

#[test]
fn what_cannot_be_compared() {
    let file = file("refused", CONV);
    let told = [
        refused(&file, &["DIRECT", "F3"], &[SMALL]),
        refused(&file, &["DIRECT"], &[SMALL]),
        refused(&file, &["F2", "DIRECT", "F2"], &[SMALL]),
        refused(&file, &["DIRECT", "OTHER"], &[SMALL]),
        refused(&file, &["DIRECT", "F2"], &[]),
        refused(&file, &["DIRECT", "F2"], &["N=1,H=4,W=8,C=2"]),
        refused(&file, &["DIRECT", "F2"], &["N=1,H=4,W=8,IIC=2"]),
        refused(&file, &["DIRECT", "F2"], &["N=1,H=4,H=8"]),
        refused(&file, &["DIRECT", "F2"], &[SMALL, "N=1,H=4,W=8"]),
        refused(&file, &["DIRECT", "WRONG"], &[SMALL]),
    ];
    insta::assert_snapshot!(told.join("\n"));
    let unknown = compared(&file, &["DIRECT", "F2"], &[SMALL], &[Profile::vulkan_1_1()]).expect_err("it has no rates").to_string();
    assert_eq!(unknown, "the profile `vulkan_1_1` lacks `gflops` or `bandwidth`, so it gives no times");
}

#[test]
fn profiles_by_name() {
    let source = Source::open(&file("names", CONV)).expect("it is read");
    assert_eq!(source.profile_named("nvidia_hopper").expect("it is bundled"), Profile::nvidia_hopper());
    assert_eq!(source.profile_named("board").expect("it stands in the file").bandwidth, Some(10));
    assert_eq!(source.profile_named("self::board").expect("so it does").gflops, Some(1000));
    let why = |name: &str| source.profile_named(name).expect_err("it is nowhere").to_string();
    assert_eq!(why("nvidia_hoper"), "cannot find `nvidia_hoper`: did you mean `nvidia_hopper`?");
    assert_eq!(why("conv"), "`conv` is a kernel, not a profile");
}

/// The table in `docs/directives/decompose_winograd.md` is the output of the command above it. `UPDATE_DOCS=1` rewrites it.
#[test]
fn the_documentation_shows_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let path = root.join("docs/directives/decompose_winograd.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let command = page.split("tilewright explain ").nth(1).and_then(|rest| rest.split("\n```").next()).expect("a command");
    let words: Vec<&str> = command.split_whitespace().filter(|word| *word != "\\").collect();
    let names = words.iter().skip_while(|word| **word != "--compare").skip(1).take_while(|word| !word.starts_with("--"));
    let names: Vec<&str> = names.copied().collect();
    let at: Vec<&str> = words.windows(2).filter(|pair| pair[0] == "--size").map(|pair| pair[1]).collect();
    let printed = text(&compared(&root.join(words[0]), &names, &at, &[]).expect("they are compared"));
    let (before, rest) = page.split_once("tilewright explain ").expect("the command");
    let (command, rest) = rest.split_once("```text\n").expect("a table");
    let (shown, after) = rest.split_once("```").expect("its end");
    if shown != printed && std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}tilewright explain {command}```text\n{printed}```{after}")).expect("it is written");
    }
    assert_eq!(shown, printed, "run with UPDATE_DOCS=1");
}
