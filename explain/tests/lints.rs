//! Tests, for each lint, a schedule that has it and one that does not, with the whole text; and that following the lint's advice
//! compiles, and removes the lint.

use std::path::{Path, PathBuf};
use tilewright_explain::source::Source;
use tilewright_explain::{Edit, Explanation, Given, Lint, LintName, explain};

const KERNELS: &str = "use tilewright::{kernel, profile, schedule};
kernel! { pub fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] }; } }
kernel! { pub fn halves<M, N, K>(a: f16[M, K], b: f16[K, N]) -> c: f32[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 };
} }
kernel! { pub fn transpose<M, N>(x: f32[M, N]) -> y: f32[N, M] { y[j, i] = x[i, j]; } }
kernel! { pub fn smooth<H, W>(x: f32[H, W]) -> y: f32[H, W] {
    let s[i, j]: f32[H, W] = x.clamp()[i - 1, j] + x.clamp()[i + 1, j];
    y[i, j] = s.clamp()[i - 2, j] + s.clamp()[i + 2, j];
} }
kernel! { pub fn window<N, M = N - 2>(x: f32[N]) -> y: f32[M] { y[i] = sum(k in 0..3) { x[i + k] }; } }
kernel! { pub fn total<N>(x: f32[N]) -> y: f32[] { y[] = sum(k in 0..N) { x[k] }; } }
kernel! { pub fn short<N>(x: f16[N]) -> y: f16[] { y[] = sum(k in 0..N) { x[k] }; } }
kernel! { pub fn ends<N>(x: f32[N]) -> (y: f32[], z: f32[]) {
    y[] = sum(k in 0..N) { x[k] };
    z[] = max(k in 0..N) { x[k] };
} }
kernel! { pub fn shares<R, C>(x: f32[R, C]) -> y: f32[R, C] {
    let t[i]: f32[R] = sum(k in 0..C) { x[i, k] };
    y[i, j] = x[i, j] / t[i];
} }
profile! { pub board: tilewright::devices::nvidia_hopper { gflops: 1000, matrix_gflops: 10000, bandwidth: 100 } }
profile! { pub silent: tilewright::devices::vulkan_1_1 {
    invocations: 1024, local: [1024, 1024, 64], shared_bytes: 49152
} }
";

/// A file with one schedule `S`, in its own package.
struct Case {
    file: PathBuf,
    text: String,
    dims: Vec<(String, i64)>,
}

impl Case {
    fn new(name: &str, dims: &[(&str, i64)], head: &str, directives: &str) -> Case {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lints").join(name);
        std::fs::create_dir_all(folder.join("src")).expect("a folder");
        std::fs::write(folder.join("Cargo.toml"), "").expect("a file");
        let dims = dims.iter().map(|(name, value)| (name.to_string(), *value)).collect();
        let text = format!("{KERNELS}schedule! {{ pub S: {head} {{\n{directives}\n}} }}\n");
        Case { file: folder.join("src/lib.rs"), text: text.replace("\\\n", "\n"), dims }
    }

    fn told(&self) -> (Explanation, Source) {
        std::fs::write(&self.file, &self.text).expect("a file");
        let source = Source::open(&self.file).expect("it is read");
        let subject = source.subject("S").unwrap_or_else(|e| panic!("{e}"));
        let told = explain(&subject, &Given { dims: self.dims.clone(), ..Given::default() });
        (told, source)
    }

    fn lints(&self) -> Vec<Lint> {
        let (told, source) = self.told();
        assert_eq!(told.errors, [] as [String; 0], "{}", source.place(&told.errors.join("\n")));
        told.versions[0].lints.clone()
    }

    /// Returns the printed lints of one name: the line and column within the schedule, and both sentences.
    fn texts(&self, name: LintName) -> Vec<String> {
        let shown = |lint: Lint| {
            let numbers: Vec<i64> =
                lint.place.iter().flat_map(|p| p.rsplit(':').take(2)).map(|n| n.parse().expect("a number")).collect();
            let first = i64::try_from(KERNELS.lines().count()).expect("few lines") + 1;
            let place = numbers.get(1).map_or("nowhere".into(), |line| format!("{}:{}", line - first, numbers[0]));
            format!("{place}: {}; {}", lint.what, lint.instead)
        };
        self.lints().into_iter().filter(|lint| lint.name == name).map(shown).collect()
    }

    /// Returns the lints of some names in all versions, with the directives that they advise.
    fn printed(&self, names: &[LintName]) -> String {
        let (told, source) = self.told();
        assert_eq!(told.errors, [] as [String; 0], "{}", source.place(&told.errors.join("\n")));
        let lints = told.versions.iter().flat_map(|version| &version.lints).filter(|lint| names.contains(&lint.name));
        let shown = |lint: &Lint| {
            let plan: String = lint.plan.iter().map(|line| format!("\n    {line}")).collect();
            format!("{} of {}: {}\n  {}{plan}", lint.name, lint.dispatch, lint.what, lint.instead)
        };
        lints.map(shown).collect::<Vec<_>>().join("\n")
    }

    /// Returns the schedule with other sizes.
    fn at(self, dims: &[(&str, i64)]) -> Case {
        Case { dims: dims.iter().map(|(name, value)| (name.to_string(), *value)).collect(), ..self }
    }

    /// Returns the schedule after an edit.
    fn followed(&self, edit: &Edit) -> Case {
        let mut numbers = edit.place.rsplit(':').map(|n| n.parse::<usize>().expect("a number"));
        let (column, line) = (numbers.next().expect("a column"), numbers.next().expect("a line"));
        let before: usize = self.text.lines().take(line - 1).map(|line| line.len() + 1).sum();
        let at = before + column - 1;
        assert!(self.text[at..].starts_with(&edit.from), "{edit:?}");
        let text = format!("{}{}{}", &self.text[..at], edit.to, &self.text[at + edit.from.len()..]);
        Case { file: self.file.clone(), text, dims: self.dims.clone() }
    }

    /// Checks that every edit of a lint compiles, and that the last version does not have the same lint.
    fn follow(&self, name: LintName) {
        let lints: Vec<Lint> = self.lints().into_iter().filter(|lint| lint.name == name).collect();
        assert!(!lints.is_empty(), "there is no {name}");
        for lint in lints {
            let edit = lint.edit.clone().unwrap_or_else(|| panic!("{lint:?} has no edit"));
            let new = self.followed(&edit);
            let (told, source) = new.told();
            assert_eq!(told.errors, [] as [String; 0], "{edit:?}: {}", source.place(&told.errors.join("\n")));
            let version = told.versions.last().expect("a version");
            let left: Vec<&Lint> = version.lints.iter().filter(|other| other.name == name && other.what == lint.what).collect();
            assert_eq!(left, [] as [&Lint; 0], "{edit:?}");
        }
    }
}

/// Returns a matrix product in tiles of 32 x 32, with one element for each invocation, and with these letters.
fn tiled(name: &str, letters: &str, facts: &str) -> Case {
    let directives = format!("tile(i: 32, j: 32) => workgroup(y, x);\ndistribute(i, j => thread({letters}));");
    Case::new(name, &[], &format!("matmul for board {facts}"), &directives)
}

#[test]
fn uncoalesced() {
    let rows = tiled("uncoalesced", "x, y", "");
    assert_eq!(
        rows.texts(LintName::Uncoalesced),
        [
            "2:1: neighbouring invocations read elements of `a` that are a row apart; copy what a workgroup needs: \
             `tile(k: 16 => k_o); promote(a => a_s, at: k_o, to: shared);`",
            "2:1: neighbouring invocations write elements of `c` that are a row apart; write `distribute(i, j => thread(y, x));`",
        ]
    );
    rows.follow(LintName::Uncoalesced);
    assert_eq!(tiled("coalesced", "y, x", "").texts(LintName::Uncoalesced), [] as [&str; 0]);
    let silent = Case::new(
        "uncoalesced_silent",
        &[],
        "matmul for silent",
        "tile(i: 32, j: 32) => workgroup(y, x); distribute(i, j => thread(x, y));",
    );
    assert_eq!(silent.texts(LintName::Uncoalesced), [] as [&str; 0], "the lint is silent about subgroups");
}

#[test]
fn bank_conflict() {
    let transposed = |name: &str, pad: &str| {
        let promote = format!("promote(x => x_s, at: workgroup, to: shared{pad});");
        let directives = format!(
            "tile(j: 32, i: 32) => workgroup(y, x);\n{promote}\ntile(j: 8 => j_o); distribute(j, i => thread(y, x)); serial(j_o);"
        );
        Case::new(name, &[], "transpose for board where M % 32 == 0, N % 32 == 0", &directives)
    };
    let conflict = transposed("bank_conflict", "");
    assert_eq!(
        conflict.texts(LintName::BankConflict),
        ["2:1: `x_s` is read in 32 turns, because its rows share banks; write `row_pad: 4`, which leaves 4 turns"]
    );
    conflict.follow(LintName::BankConflict);
    assert_eq!(transposed("bank_padded", ", row_pad: 1").texts(LintName::BankConflict), [] as [&str; 0]);
}

/// Returns a product on matrix units, with these tiles of a subgroup, and these arguments of its promotions and its pipeline.
fn matrices(name: &str, tile: &str, pad: &str, pipeline: &str) -> Case {
    let directives = format!(
        "tile(i: 128, j: 128) => workgroup(y, x);
tile(k: 32 round_up => k_o);
reorder(k_o, k, i, j);
promote(a => a_s, at: k_o, to: shared, fill: 0.0{pad});
promote(b => b_s, at: k_o, to: shared, fill: 0.0{pad});
{pipeline}
{tile}
mma(i, j, k, 16 x 16 x 16);
unroll(k);"
    );
    Case::new(name, &[], "halves for board where M % 128 == 0, N % 128 == 0, K % 8 == 0", &directives)
}

const SUBGROUPS: &str = "tile(i: 64, j: 64) => subgroup(y, x);";

#[test]
fn bank_conflict_of_matrices() {
    let conflict = matrices("bank_matrices", SUBGROUPS, "", "");
    assert_eq!(
        conflict.texts(LintName::BankConflict),
        [
            "4:1: `a_s` is read as matrices in 4 turns, because its rows share banks; write `row_pad: 8`, which leaves 2 turns",
            "5:1: `b_s` is read as matrices in 8 turns, because its rows share banks; write `row_pad: 8`",
        ]
    );
    conflict.follow(LintName::BankConflict);
    assert_eq!(matrices("bank_matrices_padded", SUBGROUPS, ", row_pad: 8", "").lints(), []);
}

#[test]
fn scalar_access() {
    let by = |name: &str, facts: &str| {
        let directives = "tile(i: 8, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x));\ntile(k: 4 => k_o);\nunroll(k);";
        Case::new(name, &[], &format!("matmul for board {facts}"), directives)
    };
    let scalar = by("scalar_access", "");
    assert_eq!(
        scalar.texts(LintName::ScalarAccess),
        ["1:39: `a` is read element by element, because `K % 4 == 0` is not known; write `where K % 4 == 0` in the header, or \
          `specialize(K % 4 == 0);` for a separate version"]
    );
    scalar.follow(LintName::ScalarAccess);
    assert_eq!(by("wide_access", "where K % 4 == 0").texts(LintName::ScalarAccess), [] as [&str; 0]);
}

/// No fact in a schedule's header can give the alignment of a window's start.
#[test]
fn scalar_access_that_no_fact_makes_wide() {
    let directives = "tile(i: 128) => workgroup(x);\ntile(i: 4) => thread(x);\nreorder(k, i);\nunroll(k, i);";
    let window = Case::new("scalar_window", &[], "window for board", directives);
    assert_eq!(window.texts(LintName::ScalarAccess), [""; 0]);
}

#[test]
fn scalar_access_of_a_copy() {
    let by = |name: &str, facts: &str| {
        let directives = "tile(i: 32, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x));\ntile(k: 16 round_up => k_o);\npromote(a => a_s, at: k_o, to: shared, fill: 0.0);";
        Case::new(name, &[], &format!("matmul for board {facts}"), directives)
    };
    let scalar = by("scalar_copy", "");
    assert_eq!(
        scalar.texts(LintName::ScalarAccess),
        ["3:1: `a` is read element by element, because `K % 4 == 0` is not known; write `where K % 4 == 0` in the header, or \
          `specialize(K % 4 == 0);` for a separate version"]
    );
    scalar.follow(LintName::ScalarAccess);
    assert_eq!(by("wide_copy", "where K % 4 == 0").texts(LintName::ScalarAccess), [] as [&str; 0]);
}

/// A version for sizes that the header excludes is refused, so the lint has no edit.
#[test]
fn what_does_not_compile_is_not_offered() {
    let directives = "tile(i: 8, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x));\ntile(k: 4 => k_o);\nunroll(k);";
    let odd = Case::new("not_offered", &[], "matmul for board where K % 4 == 1", directives);
    assert_eq!(odd.texts(LintName::ScalarAccess), [""; 0]);
}

/// An element whose index is clamped at the end of a tile is read alone, even if rows are aligned. Whole tiles make the access
/// wide.
#[test]
fn scalar_access_under_tails() {
    let by = |name: &str, facts: &str| {
        let directives = "tile(i: 8, j: 64) => workgroup(y, x);\ntile(j: 8) => thread(x);\nreorder(k, i, j);\nunroll(i, j);";
        Case::new(name, &[], &format!("matmul for tilewright::devices::mesa_lavapipe {facts}"), directives)
    };
    let advice = "`b` is read element by element, because `N % 64 == 0` is not known; write `where N % 64 == 0` in the header, or \
                  `specialize(N % 64 == 0);` for a separate version";
    let wide = |case: &Case| case.told().0.versions.last().expect("a version").figures[0].words.wide;
    for (name, facts) in [
        ("tail_aligned", "where N % 32 == 0, M % 8 == 0"),
        ("tail_odd", ""),
        ("tail_rows", "where M % 8 == 0"),
        ("tail_other_version", "where N % 4 == 0"),
    ] {
        let scalar = by(name, facts);
        assert_eq!(scalar.texts(LintName::ScalarAccess), [format!("2:1: {advice}")], "{facts}");
        assert_eq!(wide(&scalar), 0, "{facts}");
        scalar.follow(LintName::ScalarAccess);
        let edit = scalar.lints().into_iter().find_map(|lint| lint.edit.filter(|_| lint.name == LintName::ScalarAccess));
        assert!(wide(&scalar.followed(&edit.expect("an edit"))) > 0, "{facts}");
    }
    assert_eq!(by("tail_whole", "where N % 64 == 0").texts(LintName::ScalarAccess), [""; 0]);
    // The tile of a reduction can have a tail, too.
    let directives = "tile(i: 8, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x));\ntile(k: 8 => k_o);\nunroll(k);";
    let reduction = Case::new("tail_reduction", &[], "matmul for board where K % 4 == 0", directives);
    assert!(reduction.texts(LintName::ScalarAccess)[0].contains("because `K % 8 == 0` is not known"), "{:?}", reduction.lints());
    reduction.follow(LintName::ScalarAccess);
    // An index that is clamped at the tensor's own end stays clamped for all sizes.
    let directives = "tile(i: 8, j: 32) => workgroup(y, x); tile(j: 4) => thread(x); unroll(i, j);";
    let clamped = Case::new("tail_of_the_tensor", &[], "smooth for board where H % 8 == 0", directives);
    assert!(clamped.texts(LintName::ScalarAccess).iter().all(|text| text.contains("`W % 32 == 0`")), "{:?}", clamped.lints());
}

/// Every distribution of a transposition has one tensor whose accesses are far apart. So a copy is the advice, and no warning
/// advises to leave it out.
#[test]
fn a_transposition_has_no_contradictions() {
    let by = |name: &str, device: &str, directives: &str| Case::new(name, &[], &format!("transpose for {device}"), directives);
    for (name, letters, tensor) in [("transposed_reads", "y, x", "x"), ("transposed_writes", "x, y", "y")] {
        let directives = format!("tile(j: 8, i: 32) => workgroup(y, x);\ndistribute(j, i => thread({letters}));");
        let direct = by(name, "board", &directives);
        let copy = format!("copy what a workgroup needs: `promote({tensor} => {tensor}_s, at: workgroup, to: shared);`");
        let texts = direct.texts(LintName::Uncoalesced);
        assert!(texts.len() == 1 && texts[0].ends_with(&copy), "{texts:?}");
        direct.follow(LintName::Uncoalesced);
        let edit = direct.lints()[0].edit.clone().expect("an edit");
        let (told, _) = direct.followed(&edit).told();
        assert_eq!(told.warnings, [""; 0]);
        assert!(told.versions[0].lints.iter().all(|lint| lint.name != LintName::Uncoalesced), "{:?}", told.versions[0].lints);
        // On a CPU, shared memory is not faster.
        let cpu = by(&format!("{name}_cpu"), "tilewright::devices::mesa_lavapipe", &directives);
        assert_eq!(cpu.texts(LintName::Uncoalesced), [""; 0]);
    }
    let promoted =
        "tile(j: 32, i: 32) => workgroup(y, x);\npromote(x => x_s, at: workgroup, to: shared);\ndistribute(j, i => thread(y, x));";
    let warnings = |device: &str, name: &str| by(name, device, promoted).told().0.warnings;
    assert_eq!(warnings("board", "transposed_shared"), [""; 0]);
    let on_cpu = warnings("tilewright::devices::mesa_lavapipe", "transposed_shared_cpu");
    assert!(on_cpu[0].contains("warning: nothing reuses `x_s`"), "{on_cpu:?}");
}

/// A copy that the compiler advises to leave out is not improved.
#[test]
fn a_useless_copy_is_not_improved() {
    let directives =
        "tile(i: 32, j: 32) => workgroup(y, x);\npromote(x => x_s, at: workgroup, to: shared);\ndistribute(j, i => thread(y, x));";
    let useless = Case::new("useless_copy", &[], "transpose for tilewright::devices::mesa_lavapipe", directives);
    assert!(useless.told().0.warnings[0].contains("nothing reuses"));
    assert!(useless.lints().iter().all(|lint| lint.name != LintName::ScalarAccess && lint.name != LintName::BankConflict));
}

/// On profiles of CPUs, no lint advises a copy in shared memory.
#[test]
fn no_copies_for_cpus() {
    for (name, directives) in [
        ("cpu_rows", "distribute(i, j => thread(x, y));"),
        ("cpu_columns", "distribute(i, j => thread(y, x));"),
        ("cpu_tiles", "tile(i: 4, j: 8) => thread(y, x); reorder(k, i, j); unroll(i, j);"),
    ] {
        let directives = format!("tile(i: 32, j: 32) => workgroup(y, x);\n{directives}");
        let case =
            Case::new(name, &[("M", 64), ("N", 64), ("K", 64)], "matmul for tilewright::devices::mesa_lavapipe", &directives);
        case.lints().iter().for_each(|lint| assert!(!lint.instead.contains("shared"), "{lint:?}"));
    }
}

#[test]
fn long_tile() {
    let by = |name: &str, k: i64, directives: &str| {
        let directives = format!("tile(i: 8, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x));\n{directives}");
        Case::new(name, &[("M", 64), ("N", 64), ("K", k)], "matmul for board", &directives)
    };
    let unrolled = by("long_unrolled", 5, "tile(k: 32 => k_o); unroll(k);");
    assert_eq!(
        unrolled.texts(LintName::LongTile),
        ["2:1: 27 of 32 points of a tile of `k` are wasted: all 32 are computed, but `k` has 5; write `tile(k: 4 => k_o);`"]
    );
    unrolled.follow(LintName::LongTile);
    assert_eq!(by("long_enough", 33, "tile(k: 32 => k_o); unroll(k);").texts(LintName::LongTile), [""; 0]);
    // A serial loop ends with its axis, but not in tiles that are rounded up.
    assert_eq!(by("long_serial", 5, "tile(k: 32 => k_o);").texts(LintName::LongTile), [""; 0]);
    assert_eq!(by("long_rounded", 5, "tile(k: 32 round_up => k_o);").texts(LintName::LongTile).len(), 1);
    // Tiles that are distributed to invocations have another lint.
    let few = vec![("M".to_owned(), 5), ("N".to_owned(), 5), ("K".to_owned(), 64)];
    assert_eq!(Case { dims: few, ..by("long_distributed", 64, "") }.texts(LintName::LongTile), [""; 0]);
    assert_eq!(
        Case { dims: Vec::new(), ..by("long_unknown", 5, "tile(k: 32 => k_o); unroll(k);") }.texts(LintName::LongTile),
        [""; 0]
    );
    let vectors = Case::new("long_vectors", &[("N", 5)], "window for board", "distribute(i => workgroup(x));");
    assert_eq!(vectors.texts(LintName::LongTile), [""; 0]);
    let vectors = Case::new(
        "long_lanes",
        &[("M", 64), ("N", 2)],
        "transpose for board",
        "distribute(i => workgroup(x));\ntile(j: 4 => j_o); serial(j_o); vectorize(j, 4, unaligned: scalar);",
    );
    let texts = vectors.texts(LintName::LongTile);
    assert!(texts.len() == 1 && texts[0].starts_with("2:1: 2 of 4 points of a tile of `j` are wasted"), "{texts:?}");
}

/// The advised copy follows the directive that makes the loop at which it is placed.
#[test]
fn uncoalesced_in_tiles() {
    let directives = "tile(i: 32, j: 32) => workgroup(y, x);\ndistribute(i, j => thread(x, y));\ntile(k: 16 => k_o);\nunroll(k);";
    let rows = Case::new("uncoalesced_tiles", &[], "matmul for board where K % 16 == 0", directives);
    assert_eq!(
        rows.texts(LintName::Uncoalesced)[0],
        "2:1: neighbouring invocations read elements of `a` that are a row apart; copy what a workgroup needs: \
         `promote(a => a_s, at: k_o, to: shared);`"
    );
    rows.follow(LintName::Uncoalesced);
}

#[test]
fn recomputed() {
    let by = |name: &str, rows: u32| {
        let directives = format!(
            "tile(i: {rows}, j: 32) => workgroup(y, x);\ncompute_at(s, workgroup, to: shared);\ndistribute(j => thread(x)); serial(i);"
        );
        Case::new(name, &[("H", 256), ("W", 64)], "smooth for board where H % 4 == 0, W % 32 == 0", &directives)
    };
    let again = by("recomputed", 4);
    assert_eq!(
        again.texts(LintName::Recomputed),
        [
            "2:1: `s` is computed 2.0 times as often as it has elements; write `root(s);`, so that it is computed once, in its own dispatch"
        ]
    );
    again.follow(LintName::Recomputed);
    assert_eq!(by("computed_little", 32).texts(LintName::Recomputed), [] as [&str; 0]);
    assert_eq!(Case { dims: Vec::new(), ..by("recomputed_unknown", 4) }.texts(LintName::Recomputed), [] as [&str; 0]);
}

#[test]
fn idle_past_the_end() {
    let by = |name: &str, rows: i64| {
        let directives =
            "tile(i: 32, j: 64) => workgroup(y, x);\ntile(i: 4, j: 4) => thread(y, x); reorder(k, i, j); unroll(i, j);";
        Case::new(name, &[("M", rows), ("N", 64), ("K", 64)], "matmul for board where K % 4 == 0", directives)
    };
    let idle = by("idle", 40);
    assert_eq!(
        idle.texts(LintName::Idle),
        ["1:1: 37 % of the invocations are idle: the tiles of `i` have room for 64, and it has 40; write \
          `tile(i: 16, j: 64) => workgroup(y, x);`"]
    );
    idle.follow(LintName::Idle);
    assert_eq!(by("busy", 60).texts(LintName::Idle), [] as [&str; 0]);
}

#[test]
fn idle_part_of_a_subgroup() {
    let by = |name: &str, columns: u32| {
        let directives = format!("tile(i: 1, j: {columns}) => workgroup(y, x);\ntile(j: 2) => thread(x); unroll(j);");
        Case::new(name, &[], "matmul for board where K % 4 == 0", &directives)
    };
    let idle = by("idle_lanes", 40);
    assert_eq!(
        idle.texts(LintName::Idle),
        ["1:1: 37 % of the invocations are idle: a workgroup has 20, and subgroups have 32; write \
          `tile(i: 1, j: 64) => workgroup(y, x);`"]
    );
    idle.follow(LintName::Idle);
    assert_eq!(by("busy_lanes", 128).texts(LintName::Idle), [] as [&str; 0]);
}

#[test]
fn occupancy() {
    let two = "pipeline(k_o, buffers: 2, prefetch: register);";
    let full = matrices("occupancy", SUBGROUPS, ", row_pad: 8", two);
    assert_eq!(
        full.texts(LintName::Occupancy),
        ["6:1: one workgroup fits a core, because it takes 37888 of 49152 bytes of shared memory, so the core is idle while it \
          waits; write `pipeline(k_o, buffers: 1, prefetch: register);`"]
    );
    full.follow(LintName::Occupancy);
    let one = matrices("occupancy_one", SUBGROUPS, ", row_pad: 8", &two.replace('2', "1"));
    assert_eq!(one.texts(LintName::Occupancy), [] as [&str; 0]);
}

#[test]
fn registers() {
    let large = matrices("registers", "tile(i: 128, j: 128) => subgroup(y, x);", ", row_pad: 8", "");
    assert_eq!(
        large.texts(LintName::Registers),
        ["7:1: an invocation holds 548 registers (512 of accumulators and 36 of operands of matrix units), and has 255; write \
          `tile(i: 64, j: 128) => subgroup(y, x);`"]
    );
    large.follow(LintName::Registers);
    assert_eq!(matrices("registers_few", SUBGROUPS, ", row_pad: 8", "").texts(LintName::Registers), [] as [&str; 0]);
}

/// The lints that judge schedules of every profile.
const ANYWHERE: [LintName; 4] = [LintName::FewWorkgroups, LintName::Idle, LintName::Reread, LintName::LongChain];

/// The sizes of `matmul` in the catalog.
const SQUARE: [(&str, i64); 3] = [("M", 512), ("N", 512), ("K", 512)];

/// The bundled profiles.
const DEVICES: [&str; 8] =
    ["vulkan_1_1", "mesa_lavapipe", "mesa_lavapipe_26", "arm_valhall", "nvidia_ampere", "nvidia_hopper", "amd_rdna3", "intel_xe2"];

/// Returns a schedule for a bundled profile.
fn bundled(name: &str, kernel: &str, device: &str, dims: &[(&str, i64)], directives: &str) -> Case {
    Case::new(name, dims, &format!("{kernel} for tilewright::devices::{device}"), directives)
}

#[test]
fn reread() {
    let by = |name: &str, device: &str, directives: &str| bundled(name, "matmul", device, &SQUARE, directives);
    let single = by("reread", "vulkan_1_1", "distribute(i, j => workgroup(y, x));");
    insta::assert_snapshot!(single.printed(&ANYWHERE));
    let tiles = "tile(i: 8, j: 16) => workgroup(y, x);\ndistribute(i, j => thread(y, x));";
    for (n, device) in DEVICES.into_iter().enumerate() {
        let naive = by(&format!("reread_{n}"), device, tiles);
        let texts = naive.texts(LintName::Reread);
        let what = "invocations read `a` 512 times and `b` 512 times in all, and do 1.0 operations for each element that they read";
        assert!(texts.len() == 1 && texts[0].starts_with(&format!("1:1: {what}; ")), "{device}: {texts:?}");
        let small = naive.at(&[("M", 64), ("N", 64), ("K", 64)]);
        assert_eq!(small.printed(&ANYWHERE[2..]), "", "{device}: caches hold the tensors");
        // An invocation that computes several elements reuses its operands.
        let tiles = "tile(i: 8, j: 64) => workgroup(y, x);\ntile(i: 1, j: 4) => thread(y, x);\nreorder(k, j);\nunroll(j);";
        let reused = by(&format!("reused_{n}"), device, tiles);
        assert_eq!(reused.printed(&ANYWHERE[2..]), "", "{device}");
    }
}

#[test]
fn one_invocation_for_a_sum() {
    let by = |name: &str, device: &str, n: i64| bundled(name, "total", device, &[("N", n)], "serial(k);");
    insta::assert_snapshot!(by("one", "vulkan_1_1", 1 << 24).printed(&ANYWHERE));
    for (n, device) in DEVICES.into_iter().enumerate() {
        let long = by(&format!("one_{n}"), device, 1 << 24);
        let lints: Vec<LintName> = long.lints().iter().map(|lint| lint.name).collect();
        assert!(lints.contains(&LintName::FewWorkgroups) && lints.contains(&LintName::LongChain), "{device}: {lints:?}");
        assert_eq!(by(&format!("one_short_{n}"), device, 1000).printed(&ANYWHERE), "", "{device}");
        let unknown = Case { dims: Vec::new(), ..by(&format!("one_unknown_{n}"), device, 0) };
        assert_eq!(unknown.printed(&ANYWHERE), "", "{device}");
    }
}

/// The advised directives, pasted, compile and remove the lints.
#[test]
fn plans_of_lints_are_schedules() {
    for (name, kernel, dims, directives) in [
        ("pasted_product", "matmul", &SQUARE[..], "distribute(i, j => workgroup(y, x));"),
        ("pasted_sum", "total", &[("N", 1 << 24)][..], "serial(k);"),
        ("pasted_rows", "transpose", &[("M", 4096), ("N", 4096)][..], "distribute(j, i => workgroup(y, x));"),
    ] {
        let naive = bundled(name, kernel, "vulkan_1_1", dims, directives);
        let lints: Vec<Lint> = naive.lints().into_iter().filter(|lint| ANYWHERE.contains(&lint.name)).collect();
        assert!(!lints.is_empty(), "{name}");
        for lint in lints {
            let pasted = bundled(name, kernel, "vulkan_1_1", dims, &lint.plan.join("\n"));
            assert!(!lint.plan.is_empty() && lint.instead.starts_with("remove the directives of `"), "{lint:?}");
            assert_eq!(pasted.printed(&ANYWHERE), "", "{lint:?}");
        }
    }
}

/// The planner's own schedules do not have these lints, in any version.
#[test]
fn plans_have_no_lints_of_naive_schedules() {
    for (n, device) in DEVICES.into_iter().enumerate() {
        for (kernel, dims) in [
            ("matmul", &SQUARE[..]),
            ("total", &[("N", 1 << 24)][..]),
            ("total", &[("N", 16384)][..]),
            ("transpose", &[("M", 4096), ("N", 4096)][..]),
            ("ends", &[("N", 1 << 24)][..]),
            ("smooth", &[("H", 1080), ("W", 1920)][..]),
        ] {
            assert_eq!(bundled(&format!("planned_{kernel}_{n}"), kernel, device, dims, "").printed(&ANYWHERE), "", "{device}");
        }
    }
}

/// Only the stage's own directives are replaced, and only its lines of the plan are shown. A stage that `rfactor` made exists only with
/// the others.
#[test]
fn directives_of_other_stages_stay() {
    let two = bundled("ends", "ends", "vulkan_1_1", &[("N", 1 << 20)], "y { serial(k); }\nz { serial(k); }");
    let planned = bundled("ends_planned", "ends", "vulkan_1_1", &[("N", 1 << 20)], "y { serial(k); }");
    let part =
        "tile(k: 1048576 => k_o);\nrfactor(k_o => part);\nserial(k_o);\npart { distribute(k_o => workgroup(x)); serial(k); }";
    let part = bundled("part", "total", "nvidia_hopper", &[("N", 1 << 24)], part);
    // The planner computes `t` in the dispatch of `y`.
    let placed = bundled("shares", "shares", "vulkan_1_1", &[("R", 4096), ("C", 1024)], "t { serial(i, k); }");
    let all = [two, planned, part, placed].map(|case| case.printed(&ANYWHERE));
    insta::assert_snapshot!(all.join("\n\n"));
}

/// If a plan would not help, or the stage is planned already, the advice is general.
#[test]
fn general_advice_without_a_better_plan() {
    let thin = [("M", 64), ("N", 64), ("K", 4096)];
    let planned = bundled("thin_planned", "matmul", "vulkan_1_1", &thin, "");
    let tiled = "tile(i: 64, j: 64) => workgroup(y, x);\ntile(i: 4, j: 8) => thread(y, x);\nreorder(k, i, j);\nunroll(i, j);";
    let tiled = bundled("thin_tiled", "matmul", "vulkan_1_1", &thin, tiled);
    let short = bundled("short", "short", "nvidia_hopper", &[("N", 3000)], "serial(k);");
    let tree = "tile(k: 32 => k_o);\ndistribute(k => thread(x), by: tree);";
    let tree = bundled("short_tree", "short", "nvidia_hopper", &[("N", 1 << 15)], tree);
    let all = [planned, tiled, short, tree].map(|case| case.printed(&ANYWHERE));
    insta::assert_snapshot!(all.join("\n\n"));
}

/// Sizes choose the version, so the lints of another version at these sizes would be wrong.
#[test]
fn versions_that_do_not_run_have_no_lints_of_sizes() {
    let version = "serial(k);\nspecialize(N <= 1000);";
    let names = |n: i64| -> Vec<usize> {
        let (told, _) = bundled("versions", "total", "vulkan_1_1", &[("N", n)], version).told();
        told.versions.iter().map(|v| v.lints.iter().filter(|lint| ANYWHERE.contains(&lint.name)).count()).collect()
    };
    assert_eq!(names(1 << 24)[0], 2);
    assert!(names(1 << 24)[1..].iter().chain(&names(1000)).all(|count| *count == 0), "{:?}", names(1 << 24));
}

/// A line says how many lints were left out because numbers are missing.
#[test]
fn lints_that_need_more_numbers_are_counted() {
    let last = |device: &str, dims: &[(&str, i64)]| {
        let case = bundled("left_out", "total", device, dims, "serial(k);");
        let lines: Vec<String> = case.told().0.lines().iter().map(ToString::to_string).collect();
        lines.into_iter().filter(|line| line.starts_with("left out")).collect::<Vec<_>>().join("\n")
    };
    let figures = "3 lints need figures that the profile lacks: `subgroup`, `banks`, `core_shared_bytes`";
    assert_eq!(last("vulkan_1_1", &[("N", 1000)]), format!("left out  {figures}"));
    assert_eq!(last("vulkan_1_1", &[]), format!("left out  6 lints need sizes: write `--size N=…`; {figures}"));
    assert_eq!(last("amd_rdna3", &[("N", 1000)]), "left out  1 lint needs `banks`, which the profile lacks");
    assert_eq!(last("nvidia_hopper", &[]), "left out  6 lints need sizes: write `--size N=…`");
    assert_eq!(last("nvidia_hopper", &[("N", 1000)]), "");
}
