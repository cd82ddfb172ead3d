//! A schedule in a package of its own, and its lints.

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
profile! { pub signed: tilewright::devices::nvidia_hopper { fast_dots: [signed] } }
kernel! { pub fn bytes<M, N, K>(a: u8[M, K], b: i8[N, K], d: i8[M, K]) -> (c: i32[M, N], e: i32[M, N]) {
    c[i, j] = sum(k in 0..K) { a[i, k] as i32 * b[j, k] as i32 };
    e[i, j] = sum(k in 0..K) { d[i, k] as i32 * b[j, k] as i32 };
} }
profile! { pub silent: tilewright::devices::vulkan_1_1 {
    invocations: 1024, local: [1024, 1024, 64], shared_bytes: 49152
} }
";

/// A file with one schedule `S`, in its own package.
pub(crate) struct Case {
    pub(crate) file: PathBuf,
    pub(crate) text: String,
    pub(crate) dims: Vec<(String, i64)>,
}

impl Case {
    pub(crate) fn new(name: &str, dims: &[(&str, i64)], head: &str, directives: &str) -> Case {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lints").join(name);
        std::fs::create_dir_all(folder.join("src")).expect("a folder");
        std::fs::write(folder.join("Cargo.toml"), "").expect("a file");
        let dims = dims.iter().map(|(name, value)| (name.to_string(), *value)).collect();
        let text = format!("{KERNELS}schedule! {{ pub S: {head} {{\n{directives}\n}} }}\n");
        Case { file: folder.join("src/lib.rs"), text: text.replace("\\\n", "\n"), dims }
    }

    pub(crate) fn told(&self) -> (Explanation, Source) {
        std::fs::write(&self.file, &self.text).expect("a file");
        let source = Source::open(&self.file).expect("it is read");
        let subject = source.subject("S").unwrap_or_else(|e| panic!("{e}"));
        let told = explain(&subject, &Given { dims: self.dims.clone(), ..Given::default() });
        (told, source)
    }

    pub(crate) fn lints(&self) -> Vec<Lint> {
        let (told, source) = self.told();
        assert_eq!(told.errors, [] as [String; 0], "{}", source.place(&told.errors.join("\n")));
        told.versions[0].lints.clone()
    }

    /// Returns the printed lints of one name: the line and column within the schedule, and both sentences.
    pub(crate) fn texts(&self, name: LintName) -> Vec<String> {
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
    pub(crate) fn printed(&self, names: &[LintName]) -> String {
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
    pub(crate) fn at(self, dims: &[(&str, i64)]) -> Case {
        Case { dims: dims.iter().map(|(name, value)| (name.to_string(), *value)).collect(), ..self }
    }

    /// Returns the schedule after an edit.
    pub(crate) fn followed(&self, edit: &Edit) -> Case {
        let mut numbers = edit.place.rsplit(':').map(|n| n.parse::<usize>().expect("a number"));
        let (column, line) = (numbers.next().expect("a column"), numbers.next().expect("a line"));
        let before: usize = self.text.lines().take(line - 1).map(|line| line.len() + 1).sum();
        let at = before + column - 1;
        assert!(self.text[at..].starts_with(&edit.from), "{edit:?}");
        let text = format!("{}{}{}", &self.text[..at], edit.to, &self.text[at + edit.from.len()..]);
        Case { file: self.file.clone(), text, dims: self.dims.clone() }
    }

    /// Checks that every edit of a lint compiles, and that the last version does not have the same lint.
    pub(crate) fn follow(&self, name: LintName) {
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

/// Returns a product on matrix units, with these tiles of a subgroup, and these arguments of its promotions and its pipeline.
pub(crate) fn matrices(name: &str, tile: &str, pad: &str, pipeline: &str) -> Case {
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

pub(crate) const SUBGROUPS: &str = "tile(i: 64, j: 64) => subgroup(y, x);";
